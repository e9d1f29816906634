//! Samples another state that a seat cannot distinguish from this one (a determinization).
//!
//! A deal and the picks from its packs form a row of four cards for every pack: the first, second and third pick and
//! the card left over. The deal makes all rows equally likely. The picks keep them so: each is uniform over the
//! chooser's cards, and all choose from equally many. So all assignments of cards to places that agree with a seat's
//! knowledge are equally likely. The seat knows the places of some cards, and for some packs the cards without their
//! places. It knows nothing about cards it has not seen. So `resample` deals the unseen cards to the places they may be
//! in, and shuffles cards without a known place within their pack.

use boardwire_kernel::{BitSet, BySeat, Hidden, RngStream, Seat};

use super::Rauha;
use super::catalogue::CARDS_PER_AGE;
use super::memory::Known;
use super::state::{BiomeId, MAX_SEATS, PACK_SIZE, Phase, ROUND_COUNT, State};
use super::turn::{age_of, set_of};

/// What a seat knows of every place of every pack.
type PackKnowledge = [BySeat<[Known; PACK_SIZE], MAX_SEATS>; ROUND_COUNT];

impl Hidden for Rauha {
    fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let mut known: PackKnowledge = [BySeat::new([[Known::Unknown; PACK_SIZE]; MAX_SEATS]); ROUND_COUNT];
        for (round, known) in (1..=state.round()).zip(&mut known) {
            for (satellite, known) in Seat::all(self.seats).zip(known.of_mut(self.seats)) {
                *known = self.known(state, viewer, round, satellite);
            }
        }
        let (first_age, second_age) = known.split_at(2);
        self.deal_unknown_cards(state, 1, first_age, rng);
        self.deal_unknown_cards(state, 3, second_age, rng);
        for (round, known) in (1..=state.round()).zip(&known) {
            for (satellite, known) in Seat::all(self.seats).zip(known.of(self.seats)) {
                if let Some(first) = known.iter().position(|&known| known == Known::OneOfMarked) {
                    let marked = &mut state.pack_mut(round, satellite)[first..];
                    // The viewer does not know their order.
                    marked.sort_unstable();
                    rng.shuffle(marked);
                }
            }
        }
        let (round, picks) = (state.round(), state.picks());
        for satellite in Seat::all(self.seats) {
            state.pack_mut(round, satellite)[picks..].sort_unstable();
        }
        self.resample_kept_cards(state, viewer, rng);
    }
}

impl Rauha {
    /// Deals the unknown cards of an Age to the unknown places of its rounds. The rest stays undealt.
    fn deal_unknown_cards(
        &self,
        state: &mut State,
        first_round: u8,
        known: &[BySeat<[Known; PACK_SIZE], MAX_SEATS>],
        rng: &mut RngStream,
    ) {
        if state.round() < first_round {
            return;
        }
        let age = age_of(first_round);
        let undealt = state.undealt.intersection(self.ages[age]);
        // The cards of one Age, counted from 1, fit one word.
        let before = if age == 0 { 0 } else { CARDS_PER_AGE };
        let mut pool: BitSet<1> = undealt.renumbered(before + 1, 1);
        state.undealt = state.undealt.difference(undealt);
        let rounds = || (first_round..=state.round()).zip(known);
        let mut places = [(0, Seat::FIRST, 0); 2 * MAX_SEATS * PACK_SIZE];
        let mut unknown = 0;
        for (round, known) in rounds() {
            for (satellite, known) in Seat::all(self.seats).zip(known.of(self.seats)) {
                for place in (0..PACK_SIZE).filter(|&place| known[place] == Known::Unknown) {
                    pool.insert(state.pack(round, satellite)[place].get() - before);
                    places[unknown] = (round, satellite, place);
                    unknown += 1;
                }
            }
        }
        for &(round, satellite, place) in &places[..unknown] {
            state.pack_mut(round, satellite)[place] = BiomeId::new(before + rng.draw(&mut pool));
        }
        state.undealt = state.undealt.union(pool.renumbered(1, before + 1));
    }

    /// Resamples the hidden picks, and takes the kept cards from the packs.
    fn resample_kept_cards(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
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
