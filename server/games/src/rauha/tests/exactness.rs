//! `resample` draws from the exact distribution: compared with an enumeration of every history that a seat cannot
//! tell from the true one.
//!
//! A history is a deal with the picks out of its packs. Every deal is as likely, a hidden pick is as likely to be
//! any card of the pack, and a choice that all saw only says that it could be made. Nothing here asks what the game
//! says of memories: two histories are the same to a seat when it is shown the same at every ply.

use std::collections::BTreeMap;
use std::sync::Arc;

use boardwire_kernel::{Chance, Episode, RngStream, Seat, apply, testkit};
use testkit::Shown;

use super::Rauha;
use crate::rauha::action::Action;
use crate::rauha::state::{BiomeId, CardSet, PACK, Pack, Phase, State};
use crate::rauha::turn::set_of;

/// Worlds drawn at each position.
const DRAWS: u32 = 20_000;

/// The positions that a seat cannot tell from the true one, by their bytes, with the number of histories of each.
type Histories = BTreeMap<Vec<u8>, (State, u64)>;

fn key(state: &State) -> Vec<u8> {
    borsh::to_vec(state).expect("memory")
}

/// A game in which each Age has few cards, followed by one seat.
struct Enumeration {
    game: Arc<Rauha>,
    viewer: Seat,
    truth: State,
    chance: Chance,
    histories: Histories,
    /// The last stop that is followed.
    last: u8,
}

impl Enumeration {
    /// A deal after which `undealt` cards of Age 1 are left.
    fn new(seats: u8, viewer: u8, undealt: usize, last: u8, seed: u64) -> Self {
        let game: Arc<Rauha> = testkit::table(seats, &[]);
        let mut chance = Chance::seeded(seed, 3);
        let mut truth = game.deal(&mut chance);
        let left = truth.undealt.intersection(game.ages[0]).iter().take(undealt);
        truth.undealt = left.collect::<CardSet>().union(game.ages[1]);
        let viewer = Seat::new(viewer);
        let mut all = Self { game, viewer, truth, chance, histories: Histories::new(), last };
        let deals = all.deals(&truth);
        all.keep(deals.into_iter().map(|state| (state, 1)));
        all
    }

    /// The position with every deal of its round that gives the viewer the pack it looks at first; all others
    /// would show it something else.
    fn deals(&self, state: &State) -> Vec<State> {
        let round = state.round();
        let [own, _] = self.game.satellites(round, self.viewer);
        let shown = *self.truth.pack(round, own);
        let mut none = *state;
        for satellite in Seat::all(self.game.seats) {
            none.undealt = none.undealt.union(set_of(state.pack(round, satellite)));
        }
        let age = self.game.ages[usize::from(round - 1) / 2];
        let mut deals = vec![none];
        for satellite in Seat::all(self.game.seats) {
            deals = deals
                .iter()
                .flat_map(|state| {
                    let free = state.undealt.intersection(age);
                    let packs = if satellite == own { vec![shown] } else { packs_of(free) };
                    packs.into_iter().filter_map(move |pack| {
                        let cards = set_of(&pack);
                        let mut next = *state;
                        next.undealt = next.undealt.difference(cards);
                        *next.pack_mut(round, satellite) = pack;
                        cards.difference(free).is_empty().then_some(next)
                    })
                })
                .collect();
        }
        deals
    }

    /// Keeps the positions that show the viewer what the true one does.
    fn keep(&mut self, positions: impl Iterator<Item = (State, u64)>) {
        let shown = Shown::to(&*self.game, &self.truth, self.viewer);
        self.histories = Histories::new();
        for (state, count) in positions {
            if Shown::to(&*self.game, &state, self.viewer) == shown {
                self.histories.entry(key(&state)).or_insert((state, 0)).1 += count;
            }
        }
        assert!(self.histories.contains_key(&key(&self.truth)), "the truth is possible");
    }

    /// Plays a choice in the true position, and all that it may have been in the others.
    fn play(&mut self, seat: Seat, action: Action) {
        let round = self.truth.round();
        let is_hidden = self.truth.phase == Phase::Draft && seat != self.viewer;
        let index = Rauha::encode(action);
        let step = |state: &State, index: u8, chance: &mut Chance| {
            let mut next = *state;
            apply(&*self.game, &mut next, seat, index.into(), chance).ok().map(|()| next)
        };
        let mut next = Vec::new();
        for (state, count) in self.histories.values() {
            let legal = self.game.legal(state, seat);
            let choices = legal.iter().filter(|&choice| is_hidden || choice == index);
            for choice in choices {
                let position = step(state, choice, &mut self.chance.clone());
                next.push((position.expect("legal"), *count));
            }
        }
        self.truth = step(&self.truth, index, &mut self.chance.clone()).expect("legal");
        if self.truth.stop > self.last {
            return;
        }
        if self.truth.round() > round {
            // Whatever was dealt, every other deal was as likely.
            next = next
                .into_iter()
                .flat_map(|(state, count)| self.deals(&state).into_iter().map(move |state| (state, count)))
                .collect();
        }
        self.keep(next.into_iter());
    }

    /// Compares drawn worlds with the histories.
    fn check(&self, rng: &mut RngStream, at: &str) {
        let mut drawn: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        for _ in 0..DRAWS {
            let mut world = self.truth;
            self.game.resample(&mut world, self.viewer, rng);
            *drawn.entry(key(&world)).or_default() += 1;
        }
        for world in drawn.keys() {
            assert!(self.histories.contains_key(world), "{at}: a world that no history leads to");
        }
        let histories: u64 = self.histories.values().map(|(_, count)| count).sum();
        let times = |key: &Vec<u8>| u64::from(drawn.get(key).copied().unwrap_or(0));
        // Of each fact that may be so or not, how often it is so in the histories and in the worlds.
        let mut facts: BTreeMap<(u8, Seat, usize, BiomeId), (u64, u64)> = BTreeMap::new();
        for (key, (state, count)) in &self.histories {
            for fact in facts_of(&self.game, state) {
                let entry = facts.entry(fact).or_default();
                *entry = (entry.0 + count, entry.1 + times(key));
            }
        }
        let worlds = u64::from(DRAWS);
        for (fact, (expected, got)) in facts {
            // The variance of the number of draws is `worlds * p * (1 - p)`; four and a half deviations are allowed.
            let off = (got * histories).abs_diff(expected * worlds);
            let variance = worlds * expected * (histories - expected);
            assert!(
                u128::from(off) * u128::from(off) * 4 <= 81 * u128::from(variance),
                "{at}: {fact:?} in {expected} of {histories} histories, but in {got} of {worlds} worlds"
            );
        }
    }
}

/// Which card is where: by round and Satellite its place, and by seat (as round 0) what it keeps.
fn facts_of(game: &Rauha, state: &State) -> Vec<(u8, Seat, usize, BiomeId)> {
    let packs = game.dealt(state).flat_map(|(round, satellite)| {
        let pack = *state.pack(round, satellite);
        (0..PACK).map(move |place| (round, satellite, place, pack[place]))
    });
    let kept = Seat::all(game.seats).filter_map(|seat| Some((0, seat, 0, state.kept[seat]?)));
    packs.chain(kept).collect()
}

/// Every pack of four cards out of some.
fn packs_of(cards: CardSet) -> Vec<Pack> {
    let mut packs: Vec<Vec<u8>> = vec![vec![]];
    for _ in 0..PACK {
        packs = packs
            .iter()
            .flat_map(|pack| {
                let more = cards.iter().filter(|&card| pack.last().is_none_or(|&last| card > last));
                more.map(|card| [&pack[..], &[card]].concat())
            })
            .collect();
    }
    let pack = |cards: Vec<u8>| std::array::from_fn(|place| BiomeId::new(cards[place]));
    packs.into_iter().map(pack).collect()
}

/// Plays at random until `last` stops are over, and compares at every ply at which cards are known anew.
fn follow(mut all: Enumeration, seed: u64) -> usize {
    let (mut rng, mut worlds) = (RngStream::new(seed, 0), RngStream::new(seed, 1));
    let (mut most, mut ply) = (0, 0);
    while all.truth.stop <= all.last {
        if matches!(all.truth.phase, Phase::Draft | Phase::Main) {
            let at = format!("seed {seed}, {}, ply {ply}, stop {}", all.viewer, all.truth.stop);
            all.check(&mut worlds, &at);
            most = most.max(all.histories.len());
        }
        let seat = all.game.pending(&all.truth).lowest().expect("the game goes on");
        let action = rng.draw(&mut all.game.legal(&all.truth, seat));
        all.play(seat, Rauha::decode(action).expect("a legal action"));
        ply += 1;
    }
    most
}

#[test]
fn worlds_are_drawn_as_often_as_histories_lead_to_them() {
    // RA-11.3: both readers of both packs, over two rounds of one Age.
    for seed in 0..3 {
        for viewer in 0..2 {
            let most = follow(Enumeration::new(2, viewer, 10, 7, seed), seed);
            assert!(most > 200, "{most} positions at most");
        }
    }
}

#[test]
fn worlds_of_those_who_have_not_read_a_pack_are_drawn_likewise() {
    // RA-11.3
    for seed in 0..2 {
        for viewer in 0..3 {
            let most = follow(Enumeration::new(3, viewer, 1, 3, seed), seed);
            assert!(most > 1000, "{most} positions at most");
        }
    }
}

/// A game played so far, and what one seat was shown before each ply.
struct Played {
    plies: Vec<(Seat, Action)>,
    shown: Vec<Vec<Shown>>,
}

/// Plays a drawn world from its deal, with the picks that it says were made, and compares what `viewer` is shown.
fn replay(game: &Rauha, world: &State, leader: Seat, played: &Played, viewer: Seat) {
    let dealt = |age: u8| {
        let rounds = (2 * age + 1)..=(2 * age + 2).min(world.round());
        rounds.flat_map(|round| Seat::all(game.seats).map(move |satellite| (round, satellite)))
    };
    let cards = |age| {
        let packs = dealt(age).map(|(round, satellite)| world.pack(round, satellite).map(BiomeId::get));
        packs.flatten().collect::<Vec<u8>>()
    };
    let mut chance = Chance::scripted([cards(0), cards(1), vec![leader.number()]]);
    let mut state = game.deal(&mut chance);
    for (&(seat, action), shown) in played.plies.iter().zip(&played.shown) {
        assert_eq!(Shown::to(game, &state, viewer), shown[viewer.index()]);
        let choice = match action {
            Action::Draft { .. } => {
                let (round, turn) = (state.round(), state.turn());
                let is_taken = round < world.round() || usize::from(turn) <= world.picks();
                let kept = world.kept[seat];
                let card = if is_taken { Some(game.drafted(world, seat, round, turn)) } else { kept };
                Action::Draft { card: card.expect("the seat has chosen") }
            }
            Action::Place { .. }
            | Action::TakeCrystals
            | Action::TakeSpore { .. }
            | Action::ActivateCell { .. }
            | Action::ActivateEntity { .. }
            | Action::PutSpore { .. }
            | Action::End => action,
        };
        assert!(seat != viewer || choice == action, "{choice:?} instead of the own {action:?}");
        let index = Rauha::encode(choice).into();
        assert_eq!(apply(game, &mut state, seat, index, &mut chance), Ok(()), "{choice:?}");
    }
    assert_eq!((&state, chance.fault()), (world, None));
}

#[test]
fn a_drawn_world_shows_its_seat_the_same_at_every_earlier_ply() {
    // RA-11.3
    for (seats, every) in [(2, 5), (3, 17), (5, 41)] {
        let game: Arc<Rauha> = testkit::table(seats, &[]);
        for seed in 0..3 {
            let (mut choices, mut rng) = (RngStream::new(seed, 0), RngStream::new(seed, 1));
            let mut episode = Episode::seeded(Arc::clone(&game), seed);
            let leader = episode.state().leader;
            let mut played = Played { plies: Vec::new(), shown: Vec::new() };
            while let Some(seat) = episode.pending().lowest() {
                if episode.ply() % every == 0 {
                    for viewer in Seat::all(seats) {
                        let mut world = *episode.state();
                        game.resample(&mut world, viewer, &mut rng);
                        replay(&game, &world, leader, &played, viewer);
                    }
                }
                let shown = Seat::all(seats).map(|seat| Shown::to(&*game, episode.state(), seat));
                let action = choices.draw(&mut game.legal(episode.state(), seat));
                played.shown.push(shown.collect());
                played.plies.push((seat, Rauha::decode(action).expect("a legal action")));
                episode.apply(seat, action.into()).expect("a legal action");
            }
        }
    }
}
