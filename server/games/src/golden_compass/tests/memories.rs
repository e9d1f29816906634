//! Tests that a memory never excludes the true state.

use boardwire_kernel::{BySeat, Seat, testkit};

use super::super::GoldenCompass;
use super::super::catalogue::CardId;
use super::super::limits::{MAX_SEATS, MAX_TAKEN};
use super::super::memory::{MAX_SHARE, Memory, NOT_HIDDEN, TakenCard};
use super::super::state::{Hand, State};
use super::support::{Table, seat};

/// Returns whether the memory of `viewer` allows these hands of the other seats. The cards taken from it need holders,
/// and all other places need copies.
pub(super) fn allows(
    game: &GoldenCompass,
    memory: &Memory,
    viewer: Seat,
    hands: &BySeat<Hand, MAX_SEATS>,
) -> bool {
    allows_with_holders(game, memory, viewer, memory.taken(), *hands, memory.drawn_after)
}

fn allows_with_holders(
    game: &GoldenCompass,
    memory: &Memory,
    viewer: Seat,
    taken: &[TakenCard],
    hands: BySeat<Hand, MAX_SEATS>,
    drawn_after: BySeat<Hand, MAX_SEATS>,
) -> bool {
    let Some((entry, rest)) = taken.split_first() else {
        let mut places: Vec<(u8, Seat)> = Vec::new();
        for seat in game.others(viewer) {
            places.extend(drawn_after[seat].as_slice().iter().map(|&reshuffle| (reshuffle, seat)));
        }
        places.sort_unstable();
        return can_fill_hands(game, &places, hands, &mut memory.last_seen.clone());
    };
    game.others(viewer).filter(|&seat| entry.may_be_with(seat)).any(|seat| {
        let (mut hands, mut drawn_after) = (hands, drawn_after);
        let is_there = hands[seat].remove(entry.card);
        if !entry.is_certain(seat) && !drawn_after[seat].is_empty() {
            // A card that may be elsewhere takes the oldest place, which leaves the widest choice for the other cards.
            drawn_after[seat].take(0);
        }
        is_there && allows_with_holders(game, memory, viewer, rest, hands, drawn_after)
    })
}

/// Returns whether hidden copies can fill these places, sorted by reshuffle and seat, to give these hands. A copy that
/// fits a place fits every later place, so any copy of a type will do.
fn can_fill_hands(
    game: &GoldenCompass,
    places: &[(u8, Seat)],
    hands: BySeat<Hand, MAX_SEATS>,
    last_seen: &mut [u8],
) -> bool {
    let Some((&(reshuffle, seat), rest)) = places.split_first() else {
        return hands.all().iter().all(Hand::is_empty);
    };
    hands[seat].types().iter().any(|card| {
        let block = game.blocks[usize::from(card)];
        let copy = (block.start.into()..block.end())
            .find(|&copy| last_seen[copy] != NOT_HIDDEN && last_seen[copy] <= reshuffle);
        copy.is_some_and(|copy| {
            let seen_at = std::mem::replace(&mut last_seen[copy], NOT_HIDDEN);
            let mut left = hands;
            left[seat].remove(card);
            let is_filled = can_fill_hands(game, rest, left, last_seen);
            last_seen[copy] = seen_at;
            is_filled
        })
    })
}

pub(super) fn other_hands(game: &GoldenCompass, state: &State, viewer: Seat) -> BySeat<Hand, MAX_SEATS> {
    let mut hands = BySeat::default();
    for seat in game.others(viewer) {
        hands[seat] = state.seats[seat].hand;
    }
    hands
}

#[test]
fn a_memory_never_excludes_the_hands_there_are() {
    // GC-13.2
    let mut looked_at = [0u32; 2];
    for seats in 2..=4 {
        for seed in 0..60 {
            let game = testkit::table::<GoldenCompass>(seats, &[("stall_guard_turns", "200")]);
            testkit::random_game(&game, seed, |episode| {
                let s = episode.state();
                for viewer in game.all_seats() {
                    let memory = &s.memory[viewer];
                    let hands = other_hands(&game, s, viewer);
                    assert!(allows(&game, memory, viewer, &hands), "{viewer} excludes the hands: {s:?}");
                    looked_at[0] += u32::from(memory.reshuffles > 0);
                    let may_have_moved =
                        |taken: &&TakenCard| !game.others(viewer).any(|seat| taken.is_certain(seat));
                    looked_at[1] += u32::from(memory.taken().iter().any(|taken| may_have_moved(&taken)));
                }
            });
        }
    }
    assert!(looked_at.iter().all(|&count| count > 30), "{looked_at:?}");
}

#[test]
fn beyond_max_taken_the_least_certain_card_counts_as_hidden() {
    // GC-13.2
    let game = testkit::table::<GoldenCompass>(4, &[]);
    let mut memory = Memory::new(game.copies, game.catalogue().tokens.len());
    let rows = (1..=20).map(CardId::new);
    for card in rows.clone() {
        memory.drew(game.blocks[card.index()]);
        memory.lost_card(Seat::new(1), card, &game.blocks);
    }
    assert_eq!(memory.taken().len(), MAX_TAKEN);
    assert_eq!(
        memory.drawn_after[Seat::new(1)].as_slice(),
        [0; 20 - MAX_TAKEN],
        "the others are hidden in that hand"
    );
    for card in rows {
        let last_seen = memory.last_seen(game.blocks[card.index()]).iter();
        let seen = last_seen.filter(|&&seen_at| seen_at == NOT_HIDDEN).map(|_| 1).sum::<usize>();
        let taken = memory.taken().iter().filter(|taken| taken.card == card.get()).count();
        assert_eq!(seen, taken);
    }
}

#[test]
fn a_shown_card_removes_the_most_certain_entry_and_makes_the_others_less_certain() {
    // GC-13.2: two spies may be with seat 1 or 2, and one with seat 1 or 3. Then seat 1 shows a spy.
    let table = Table::new(4);
    let (spy, hawk) = (table.card("flying spy"), table.card("hawk baby"));
    let blocks = &table.game.blocks;
    let mut memory = Memory::new(table.game.copies, table.game.catalogue().tokens.len());
    let steal = |memory: &mut Memory, thief: u8, card: CardId| {
        memory.drew(blocks[card.index()]);
        memory.lost_card(seat(thief), card, blocks);
    };
    steal(&mut memory, 1, spy);
    steal(&mut memory, 1, spy);
    memory.saw_card_stolen(seat(1), seat(2));
    steal(&mut memory, 3, spy);
    memory.saw_card_stolen(seat(3), seat(1));
    steal(&mut memory, 2, hawk);
    let holders = |memory: &Memory, card: CardId| {
        let taken = memory.taken().iter().filter(|taken| taken.card == card.get());
        taken.map(|taken| taken.holders()).collect::<Vec<_>>()
    };
    assert_eq!(holders(&memory, spy), [0b0110, 0b0110, 0b1010]);
    let hidden = memory.drawn_after[seat(1)].as_slice().len();
    memory.saw_card_leave(seat(1), spy, blocks[spy.index()], 0);
    assert_eq!(holders(&memory, spy), [0b1110, 0b1110]);
    assert_eq!(holders(&memory, hawk), [0b0100], "it is another card, and surely there");
    assert_eq!(memory.drawn_after[seat(1)].as_slice().len(), hidden - 1);
}

#[test]
fn a_card_that_may_have_been_stolen_moves_with_the_share_of_one_card_of_the_hand() {
    // GC-13.2, GC-R38: one of five cards went from seat 1 to seat 2, then one of two from seat 2 to seat 3.
    let mut table = Table::new(4);
    table.hand(1, &["moth baby", "mouse baby", "hawk madonna", "flying spy"]);
    table.hand(2, &["joker"]);
    table.hand(0, &["hawk baby"]);
    let mut shares = Vec::new();
    for (thief, victim) in [(1, 0), (2, 1), (3, 2)] {
        table.state.active = seat(thief);
        table.game.steal_card(&mut table.state, seat(victim), &mut table.chance);
        shares.push(table.state.memory[seat(0)].taken()[0].shares);
    }
    assert_eq!(shares, [[0, 252, 0, 0], [0, 202, 50, 0], [0, 202, 25, 25]]);
}

#[test]
fn a_card_may_move_from_the_largest_hand() {
    // GC-13.2, GC-R38: one of eleven cards.
    let table = Table::new(3);
    let hawk = table.card("hawk baby");
    let mut memory = Memory::new(table.game.copies, table.game.catalogue().tokens.len());
    memory.drew(table.game.blocks[hawk.index()]);
    memory.lost_card(seat(1), hawk, &table.game.blocks);
    (1..11).for_each(|_| memory.saw_draw(seat(1)));
    memory.saw_card_stolen(seat(1), seat(2));
    assert_eq!(memory.taken()[0].shares, [0, 229, 23, 0]);
}

#[test]
fn shares_never_exceed_max_share() {
    // GC-13.2, GC-R38: seats 1 and 2 take each other's only card in turn. Then seat 1 has eleven cards.
    let table = Table::new(4);
    let hawk = table.card("hawk baby");
    let mut memory = Memory::new(table.game.copies, table.game.catalogue().tokens.len());
    memory.drew(table.game.blocks[hawk.index()]);
    memory.lost_card(seat(1), hawk, &table.game.blocks);
    for (victim, thief) in [(1, 2), (2, 1), (1, 2), (2, 1)] {
        memory.saw_card_stolen(seat(victim), seat(thief));
        assert!(memory.taken()[0].shares.iter().all(|&share| share <= MAX_SHARE));
    }
    (0..10).for_each(|_| memory.saw_draw(seat(1)));
    memory.saw_card_stolen(seat(1), seat(3));
    let shares = memory.taken()[0].shares;
    assert!(shares[1] > 200 && (20..30).contains(&shares[3]), "{shares:?}");
}
