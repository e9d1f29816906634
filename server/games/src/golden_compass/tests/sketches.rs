//! What is drawn for estimates.

use boardwire_kernel::{Estimate as _, RESAMPLE_STREAM, RngStream, testkit};

use super::super::action::Action;
use super::super::catalogue::{CityId, DaemonId, TokenSet};
use super::super::memory::{SEEN, TABLE, place_of};
use super::super::state::{SetKind, Step};
use super::super::trace::Event;
use super::super::{GoldenCompass, State, streams};
use super::support::{Table, seat};

#[test]
fn a_sketch_follows_from_what_its_seat_knows_alone() {
    // GC-13.1: of all worlds that the seat may be in the sketches are the same. Only where its hand must leave another seat
    // a choice, and no hand drawn does, a world is drawn instead.
    let mut rng = RngStream::new(6, RESAMPLE_STREAM);
    let (mut same, mut drawn) = (0, 0);
    for seats in 2..=4 {
        let game = testkit::table::<GoldenCompass>(seats, &[]);
        for seed in 0..4 {
            testkit::random_game(&game, seed, |episode| {
                let state = episode.state();
                for viewer in game.all_seats() {
                    let mut world = *state;
                    game.resample(&mut world, viewer, &mut rng);
                    let laid = [state, &world]
                        .map(|state| (state.circles, state.places.all().map(|place| place.laid)));
                    if world.memory[viewer] != state.memory[viewer] || laid[0] != laid[1] {
                        continue; // Equal tokens have other numbers.
                    }
                    let sketches = [*state, world].map(|mut state| {
                        game.sketch_once(&mut state, viewer, &mut rng.clone());
                        state
                    });
                    if sketches[0].trace.is_condensed {
                        assert_eq!(sketches[0], sketches[1]);
                        same += 1;
                    } else {
                        assert!(matches!(state.step, Step::Fill(_)) && viewer != state.active);
                        drawn += 1;
                    }
                }
            });
        }
    }
    assert!(same > 1000 && drawn > 0, "{same} sketches, {drawn} worlds");
}

#[test]
fn a_sketch_has_a_card_surely_among_five_gone_once_in_two() {
    // GC-13.2: a world has it gone once in five, as it is likely.
    let mut table = Table::new(3);
    table.hand(1, &["moth.baby", "mouse.baby", "hawk.madonna", "spy"]);
    table.hand(0, &["hawk.baby"]);
    for (thief, victim) in [(1, 0), (2, 1)] {
        table.state.active = seat(thief);
        table.game.steal_card(&mut table.state, seat(victim), &mut table.chance);
    }
    let hawk = table.card("hawk.baby");
    let mut rng = RngStream::new(5, RESAMPLE_STREAM);
    let (draws, mut gone) = (40_000, 0);
    for _ in 0..draws {
        let mut sketch = table.state;
        table.game.sketch_once(&mut sketch, seat(0), &mut rng);
        gone += u32::from(sketch.places[seat(2)].hand.contains(hawk));
    }
    // Where it has not, the other copy is the card stolen once in 75. The standard deviation is 100.
    let expected = draws / 2 + draws / (2 * 75);
    assert!(gone.abs_diff(expected) < 400, "{gone}, not {expected}");
}

/// A sketch for the first seat; no world instead.
fn sketched(table: &Table, rng: &mut RngStream) -> State {
    let mut sketch = table.state;
    table.game.sketch_once(&mut sketch, seat(0), rng);
    assert!(sketch.trace.is_condensed);
    let held = |state: &State| state.places.all().map(|place| place.hand.len());
    assert_eq!(held(&sketch), held(&table.state));
    sketch
}

fn steal(table: &mut Table, thief: u8, victim: u8) {
    table.state.active = seat(thief);
    table.game.steal_card(&mut table.state, seat(victim), &mut table.chance);
}

#[test]
fn cards_taken_are_sketched_where_there_is_room_for_them() {
    // GC-13.2: one of two cards went on, so each of the two hands has one.
    let mut rng = RngStream::new(9, RESAMPLE_STREAM);
    let mut table = Table::new(3);
    table.hand(0, &["ermine.baby", "hawk.baby"]);
    for (thief, victim) in [(1, 0), (1, 0), (2, 1)] {
        steal(&mut table, thief, victim);
    }
    for _ in 0..50 {
        let sketch = sketched(&table, &mut rng);
        assert_eq!([1, 2].map(|number| sketch.places[seat(number)].hand.len()), [1, 1]);
    }
    // A card that is surely with seat 1 is there beside the others.
    let mut table = Table::new(3);
    table.hand(1, &["moth.baby", "mouse.baby"]);
    table.hand(0, &["hawk.baby"]);
    steal(&mut table, 1, 0);
    for _ in 0..50 {
        assert!(sketched(&table, &mut rng).places[seat(1)].hand.contains(table.card("hawk.baby")));
    }
    // Seat 2 has shown what it stole, so it has nothing but what it just drew.
    let mut table = Table::new(3);
    table.hand(1, &["moth.baby"]);
    table.hand(0, &["hawk.baby"]);
    table.scripted(streams::STOLEN_CARDS, &[0, 0]);
    table.chance.extend(streams::CARDS, [0, 0, 0]);
    steal(&mut table, 1, 0);
    let (moth, hawk) = (table.card("moth.baby"), table.card("hawk.baby"));
    steal(&mut table, 2, 1);
    assert!(table.state.places[seat(2)].hand.contains(moth));
    table.game.discard(&mut table.state, seat(2), moth, 0);
    table.ally(2, "librarian");
    table.light_blue();
    table.play(&[Action::Ally]);
    for _ in 0..50 {
        assert!(sketched(&table, &mut rng).places[seat(1)].hand.contains(hawk));
    }
    // Ermine is with 1 or 2, hawk with 1 or 3, and 3 has nothing.
    let mut table = Table::new(4);
    table.hand(0, &["ermine.baby", "hawk.baby"]);
    table.scripted(streams::STOLEN_CARDS, &[0; 4]);
    for (thief, victim) in [(1, 0), (2, 1), (3, 0), (1, 3)] {
        steal(&mut table, thief, victim);
    }
    let ermine = table.card("ermine.baby");
    for _ in 0..50 {
        let places = sketched(&table, &mut rng).places;
        assert!(places[seat(2)].hand.contains(ermine) && places[seat(1)].hand.contains(hawk));
    }
}

#[test]
fn cards_just_drawn_stand_apart_in_the_past_of_a_sketch() {
    // GC-8.6
    let mut rng = RngStream::new(10, RESAMPLE_STREAM);
    let mut table = Table::new(2);
    table.hand(1, &["hawk.baby"]);
    table.ally(1, "librarian");
    table.state.active = seat(1);
    table.light_blue();
    let mut past = |table: &Table| -> Vec<Event> {
        sketched(table, &mut rng).trace.events().map(|entry| entry.event).collect()
    };
    assert!(!past(&table).contains(&Event::Apart));
    table.play(&[Action::Ally]);
    let events = past(&table);
    assert_eq!(events[events.len() - 4], Event::Apart, "before the three cards drawn");
}

#[test]
fn who_remembers_nothing_in_a_sketch_knows_its_own_tokens() {
    // GC-13.1
    let mut rng = RngStream::new(11, RESAMPLE_STREAM);
    let mut table = Table::new(3);
    table.tokens(1, &["london.3", "bolvangar.7"]);
    let sketch = sketched(&table, &mut rng);
    for other in [1, 2].map(seat) {
        for token in 1..=24u8 {
            let is_own = sketch.places[other].tokens.contains(token);
            let due = if is_own { place_of(other) } else { (TABLE | 0b111) & !place_of(other) };
            assert_eq!(sketch.memory[other].tokens[usize::from(token) - 1], due, "{other} {token}");
        }
    }
}

#[test]
fn who_remembers_nothing_in_a_sketch_knows_what_lies_open_and_its_own_hand() {
    // GC-13.1
    let mut rng = RngStream::new(13, RESAMPLE_STREAM);
    let mut table = Table::in_period(3, 2);
    table.discarded(&["spy", "spy", "moth.baby"]);
    table.hand(1, &["spy", "hawk.baby"]);
    table.lay(2, 1, &["bolvangar.7", "london.4"]);
    let sketch = sketched(&table, &mut rng);
    for other in [1, 2].map(seat) {
        let (memory, hand) = (&sketch.memory[other], &sketch.places[other].hand);
        for (card, &block) in (0u8..).zip(&table.game.blocks).skip(1) {
            let seen = memory.stamps(block).iter().map(|&stamp| usize::from(stamp == SEEN)).sum::<usize>();
            let open = sketch.discard.count(card);
            assert_eq!(seen, usize::from(open + hand.count(card)), "{other}: card {card}");
        }
        let laid = table.state.places[seat(2)].laid;
        let known = (1..=24u8).filter(|&token| memory.tokens[usize::from(token) - 1] == 0);
        assert_eq!(known.collect::<TokenSet>(), laid);
    }
}

#[test]
fn a_set_being_put_together_stands_in_the_past_of_a_sketch() {
    // GC-8.11
    let mut rng = RngStream::new(14, RESAMPLE_STREAM);
    let mut table = Table::new(2);
    table.hand(1, &["ermine.baby", "ermine.madonna", "ermine.hourglass", "joker", "hawk.baby"]);
    table.state.active = seat(1);
    table.at_sets();
    table.play(&[Action::Pair(DaemonId::new(1))]);
    table.play_cards(&["ermine.baby"]);
    assert!(matches!(table.state.step, Step::Fill(_)));
    let sketch = sketched(&table, &mut rng);
    let events: Vec<_> = sketch.trace.events().map(|entry| (entry.actor, entry.event)).collect();
    let set = [
        Event::Begin(SetKind::Pair(DaemonId::new(1))),
        Event::Asked,
        Event::Show { card: table.card("ermine.baby"), among: 0 },
        Event::Asked,
    ];
    assert_eq!(events[events.len() - 4..], set.map(|event| (seat(1), event)));
    assert!(events[..events.len() - 4].iter().all(|event| !matches!(event.1, Event::Begin(_))));
    // Once the set is complete, its cards are like any others that lie open.
    table.play_cards(&["joker"]);
    let events = |table: &Table, rng: &mut RngStream| sketched(table, rng).trace.events().collect::<Vec<_>>();
    assert!(events(&table, &mut rng).iter().all(|entry| !matches!(entry.event, Event::Begin(_))));
}

#[test]
fn a_sketch_has_every_token_once_and_what_was_stolen_from_its_seat_with_the_thief() {
    // GC-13.2, GC-R38
    let mut rng = RngStream::new(15, RESAMPLE_STREAM);
    let mut table = Table::in_period(3, 2);
    table.tokens(1, &["london.3", "bolvangar.4"]);
    table.tokens(0, &["london.alethiometer"]);
    table.lay(2, 1, &["london.4"]);
    table.state.active = seat(1);
    table.game.steal_token(&mut table.state, seat(0), CityId::new(2), &mut table.chance);
    let (mut others, truth) = (TokenSet::EMPTY, table.state.places.all().map(|place| place.tokens));
    let stolen = TokenSet::single(12);
    assert!(!truth[1].intersection(stolen).is_empty());
    for _ in 0..100 {
        let sketch = sketched(&table, &mut rng);
        let held = sketch.places.all().map(|place| place.tokens);
        assert_eq!(held.map(|held| held.len()), truth.map(|held| held.len()));
        assert_eq!(held[1].intersection(stolen), stolen);
        others = others.union(held[1].difference(stolen));
        let all = held.into_iter().chain(sketch.piles).chain([sketch.places[seat(2)].laid]);
        assert_eq!(all.clone().map(|tokens| tokens.len()).sum::<u32>(), 24);
        assert_eq!(all.fold(TokenSet::EMPTY, TokenSet::union).len(), 24);
    }
    // London has six, of which one was stolen and one laid out; Bolvangar has six.
    assert_eq!(others.len(), 4 + 6);
}

#[test]
fn a_sketch_gives_every_token_of_a_city_as_often_to_its_holder() {
    // GC-13.1
    let mut table = Table::new(3);
    table.tokens(1, &["london.3"]);
    let (mut rng, mut held) = (RngStream::new(12, RESAMPLE_STREAM), [0u32; 6]);
    for _ in 0..6_000 {
        let sketch = sketched(&table, &mut rng);
        let token = sketch.places[seat(1)].tokens.lowest().expect("one of London's");
        held[usize::from(token) - 7] += 1;
    }
    // The standard deviation is 29.
    assert!(held.iter().all(|&count| count.abs_diff(1_000) < 150), "{held:?}");
}
