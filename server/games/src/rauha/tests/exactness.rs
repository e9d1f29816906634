//! Checks the probabilities of `resample` against all histories of games in which an Age has few cards.
//!
//! A history is a deal with the picks from its packs, and all deals are equally likely. The test does not use the
//! game's memory code: two determinizations are equal for a seat if its observations are equal at every ply.

use std::sync::Arc;

use boardwire_kernel::testkit::{self, Posterior, check_frequencies, uniform_likelihood};
use boardwire_kernel::{Choices, RandomSource, RngStream, Seat, Turns, apply};

use super::Rauha;
use crate::rauha::state::{BiomeId, CardSet, PACK_SIZE, Pack, Phase, State};
use crate::rauha::turn::set_of;

/// A game in which Age 1 has few cards, seen by one seat.
struct TrackedGame {
    game: Arc<Rauha>,
    viewer: Seat,
}

impl TrackedGame {
    /// Returns the state after a deal that leaves only `undealt` cards of Age 1.
    fn dealt(&self, undealt: usize, chance: &mut RandomSource) -> State {
        let mut state = self.game.deal(chance);
        let left = state.undealt.intersection(self.game.ages[0]).iter().take(undealt);
        state.undealt = left.collect::<CardSet>().union(self.game.ages[1]);
        state
    }

    /// Returns one copy of the state for each deal of its round that gives the viewer its true first pack. The viewer
    /// would see any other deal differ.
    fn deals(&self, state: &State, truth: &State) -> Vec<State> {
        let round = state.round();
        let [own, _] = self.game.satellites(round, self.viewer);
        let shown = *truth.pack(round, own);
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

    /// Returns the viewer's posterior after a deal, from the possible states `before` it. All deals are equally likely,
    /// whatever the true deal was.
    fn after_a_deal(
        &self,
        before: impl IntoIterator<Item = (State, u128)>,
        truth: &State,
    ) -> Posterior<Rauha> {
        let deals = |(state, weight)| self.deals(&state, truth).into_iter().map(move |deal| (deal, weight));
        Posterior::of(&*self.game, self.viewer, before.into_iter().flat_map(deals), truth)
    }

    /// Plays at random until the stop `last` is over. Compares at every `every`-th ply of the draft and main phases, in
    /// which new cards become known. Returns the greatest number of worlds.
    fn compare(&self, undealt: usize, last: u8, seed: u64, every: usize) -> usize {
        let game = &*self.game;
        let (mut rng, mut worlds) = (RngStream::new(seed, 0), RngStream::new(seed, 1));
        let mut chance = RandomSource::seeded(seed, 3);
        let mut truth = self.dealt(undealt, &mut chance);
        let mut posterior = self.after_a_deal([(truth, 1)], &truth);
        let (mut maximum, mut plies) = (0, self.viewer.index());
        while truth.stop <= last {
            if matches!(truth.phase, Phase::Draft | Phase::UseCard) {
                plies += 1;
                if plies.is_multiple_of(every) {
                    check_frequencies(game, &truth, &posterior, &mut worlds);
                }
                maximum = maximum.max(posterior.len());
            }
            let seat = game.pending(&truth).lowest().expect("the game goes on");
            let action = rng.draw(&mut game.legal(&truth, seat));
            let play = |state: &State, chance: &mut RandomSource| {
                let mut next = *state;
                apply(game, &mut next, seat, action.into(), chance).expect("a legal action is accepted");
                next
            };
            let mut later = chance.clone();
            let next = play(&truth, &mut later);
            if truth.is_scoring() {
                // All seats see the choices at a corner, and so whether a deal follows.
                let worlds = posterior
                    .weighted_states()
                    .map(|(state, weight)| (play(state, &mut chance.clone()), weight));
                let worlds: Vec<_> = worlds.collect();
                posterior = if next.round() == truth.round() {
                    Posterior::of(game, self.viewer, worlds, &next)
                } else {
                    self.after_a_deal(worlds, &next)
                };
            } else {
                posterior.update(game, (seat, action), &next, uniform_likelihood);
            }
            (truth, chance) = (next, later);
        }
        maximum
    }
}

/// Returns all packs of four of the cards.
fn packs_of(cards: CardSet) -> Vec<Pack> {
    let mut packs: Vec<Vec<u8>> = vec![vec![]];
    for _ in 0..PACK_SIZE {
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

#[test]
fn worlds_are_drawn_as_often_as_histories_lead_to_them() {
    // RA-11.3: both readers of both packs, over two rounds of one Age.
    let game: Arc<Rauha> = testkit::table(2, &[]);
    for (seed, viewer) in (0..).zip(Seat::all(2)) {
        let maximum = TrackedGame { game: Arc::clone(&game), viewer }.compare(10, 7, seed, 5);
        assert!(maximum > 200, "{maximum} worlds at most");
    }
}

#[test]
fn worlds_of_those_who_have_not_read_a_pack_are_drawn_likewise() {
    // RA-11.3
    let game: Arc<Rauha> = testkit::table(3, &[]);
    for (seed, viewer) in (0..).zip(Seat::all(3)) {
        let maximum = TrackedGame { game: Arc::clone(&game), viewer }.compare(1, 3, seed, 5);
        assert!(maximum > 1000, "{maximum} worlds at most");
    }
}
