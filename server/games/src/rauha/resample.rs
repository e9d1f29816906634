//! Another position that a seat cannot tell from this one.

use boardwire_kernel::{BitSet, RngStream, Seat};

use super::Rules;
use super::memory::Known;
use super::pieces::PACK;
use super::state::{Phase, SEATS, State};

impl Rules {
    /// Draws anew what `viewer` does not know: every assignment of the cards it has not seen to the places it
    /// has not seen is as likely, and so is every pick out of a pack.
    pub(super) fn redraw(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let mut known = [[[Known::Nothing; PACK]; SEATS]; 4];
        for (round, satellite) in self.dealt(state) {
            known[usize::from(round - 1)][usize::from(satellite)] =
                self.known(state, viewer, round, satellite);
        }
        for age in 0..2 {
            self.redraw_age(state, age, &known, rng);
        }
        for (round, satellite) in self.dealt(state) {
            let (at, satellite) = (usize::from(round - 1), usize::from(satellite));
            let pack = &mut state.packs[at][satellite];
            shuffle_among(pack, known[at][satellite], rng);
        }
        let (round, picks) = (usize::from(state.round() - 1), state.picks());
        if picks < 3 {
            state.packs[round].iter_mut().for_each(|pack| pack[picks..].sort_unstable());
        }
        self.redraw_kept(state, viewer, rng);
    }

    /// Deals the unknown cards of one Age to the unknown places; what is left is undealt.
    fn redraw_age(
        &self,
        state: &mut State,
        age: u8,
        known: &[[[Known; PACK]; SEATS]; 4],
        rng: &mut RngStream,
    ) {
        let rounds = usize::from(2 * age)..usize::from(state.round()).min(usize::from(2 * age + 2));
        if rounds.is_empty() {
            return;
        }
        let mut pool = state.undealt.intersection(self.ages[usize::from(age)]);
        state.undealt = state.undealt.difference(pool);
        let places = |round: usize| {
            (0..usize::from(self.seats)).flat_map(move |satellite| {
                (0..PACK)
                    .filter(move |&place| known[round][satellite][place] == Known::Nothing)
                    .map(move |place| (satellite, place))
            })
        };
        for round in rounds.clone() {
            for (satellite, place) in places(round) {
                pool.insert(state.packs[round][satellite][place]);
            }
        }
        for round in rounds {
            for (satellite, place) in places(round) {
                state.packs[round][satellite][place] = rng.draw(&mut pool);
            }
        }
        state.undealt = state.undealt.union(pool);
    }

    /// Chooses the hidden picks anew, and lets the kept cards be those of the packs.
    fn redraw_kept(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let turn = state.turn();
        for seat in Seat::all(self.seats).filter(|&seat| seat != viewer) {
            if state.kept[seat.index()] == 0 {
                continue;
            }
            state.kept[seat.index()] = if state.phase == Phase::Draft {
                let mut hand: BitSet<2> = self.hand(state, seat).iter().copied().collect();
                rng.draw(&mut hand)
            } else {
                self.drafted(state, seat, state.round(), turn)
            };
        }
    }
}

/// Shuffles the cards of the places marked [`Known::Among`].
fn shuffle_among(pack: &mut [u8; PACK], known: [Known; PACK], rng: &mut RngStream) {
    if let Some(first) = known.iter().position(|&known| known == Known::Among) {
        rng.shuffle(&mut pack[first..]);
    }
}
