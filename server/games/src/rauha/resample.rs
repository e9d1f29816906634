//! Another position that a seat cannot tell from this one.
//!
//! A deal and the picks out of its packs are a row of four cards for every pack: the first, second and third pick
//! and the card left over. Dealing makes every row as likely, and so do picks that are as likely to be any card the
//! chooser had, since all choose from equally many. So, whatever a seat has seen, every assignment of cards to
//! places that agrees with it is as likely. What it has seen gives the places of some cards, and of some packs the
//! cards without their places, but never says anything about cards that it has not seen. So the latter are dealt
//! to the places they may be in, and the former are shuffled within their pack.

use boardwire_kernel::{BySeat, RngStream, Seat};

use super::Rauha;
use super::memory::Known;
use super::state::{BiomeId, PACK, Phase, ROUNDS, SEATS, State};
use super::turn::set_of;

/// What a seat knows of every place of every pack.
type KnownPacks = [BySeat<[Known; PACK], SEATS>; ROUNDS];

impl Rauha {
    /// Draws anew what `viewer` does not know.
    pub(super) fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let mut known: KnownPacks = [BySeat::new([[Known::Nothing; PACK]; SEATS]); ROUNDS];
        for (round, satellite) in self.dealt(state) {
            known[usize::from(round - 1)][satellite] = self.known(state, viewer, round, satellite);
        }
        self.deal_unknown_cards(state, &known, rng);
        for (round, satellite) in self.dealt(state) {
            let known = known[usize::from(round - 1)][satellite];
            if let Some(first) = known.iter().position(|&known| known == Known::Among) {
                rng.shuffle(&mut state.pack_mut(round, satellite)[first..]);
            }
        }
        let (round, picks) = (state.round(), state.picks());
        if picks < 3 {
            for satellite in Seat::all(self.seats) {
                state.pack_mut(round, satellite)[picks..].sort_unstable();
            }
        }
        self.redraw_kept_cards(state, viewer, rng);
    }

    /// Deals the unknown cards of each Age to the unknown places; what is left is undealt.
    fn deal_unknown_cards(&self, state: &mut State, known: &KnownPacks, rng: &mut RngStream) {
        let last = state.round();
        for (age, first) in [(0, 1), (1, 3)] {
            let rounds = first..=last.min(first + 1);
            let places = rounds.flat_map(|round| {
                Seat::all(self.seats).flat_map(move |satellite| {
                    let known = known[usize::from(round - 1)][satellite];
                    let places = (0..PACK).filter(move |&place| known[place] == Known::Nothing);
                    places.map(move |place| (round, satellite, place))
                })
            });
            let mut pool = state.undealt.intersection(self.ages[age]);
            state.undealt = state.undealt.difference(pool);
            for (round, satellite, place) in places.clone() {
                pool.insert(state.pack(round, satellite)[place]);
            }
            for (round, satellite, place) in places {
                state.pack_mut(round, satellite)[place] = BiomeId::new(rng.draw(&mut pool));
            }
            state.undealt = state.undealt.union(pool);
        }
    }

    /// Chooses the hidden picks anew, and lets the kept cards be those of the packs.
    fn redraw_kept_cards(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        for seat in Seat::all(self.seats).filter(|&seat| seat != viewer) {
            if state.kept[seat].is_none() {
                continue;
            }
            state.kept[seat] = Some(if state.phase == Phase::Draft {
                BiomeId::new(rng.draw(&mut set_of(self.hand(state, seat))))
            } else {
                self.drafted(state, seat, state.round(), state.turn())
            });
        }
    }
}
