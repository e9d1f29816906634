//! The exact probability of each determinization for a seat, by enumeration.

use std::collections::BTreeMap;

use borsh::BorshSerialize;

use crate::testkit::ViewerSnapshot;
use crate::{ActionSet, Game, RandomSource, Seat, SeatSet, Setup, apply};

/// A function that returns `n` if a choice of another seat has the probability `1 / n`, in the state before it.
///
/// The last argument states whether several seats chose simultaneously. A game with hidden choices of another kind
/// needs its own function.
pub type InverseLikelihood<G> = fn(&G, &<G as Setup>::State, Seat, bool) -> u32;

/// Returns the inverse likelihood that most games use. A hidden simultaneous choice is uniform over the legal actions. A choice
/// that all seats see shows only that it was legal.
pub fn uniform_likelihood<G: Game>(game: &G, state: &G::State, seat: Seat, is_simultaneous: bool) -> u32 {
    if is_simultaneous { game.legal(state, seat).len() } else { 1 }
}

/// Returns every state that the game can deal, with its weight.
///
/// It enumerates all random outcomes. Use it for games with some thousand deals.
pub fn deals<G: Game>(game: &G) -> Vec<(G::State, u128)> {
    let mut states = WeightedStates::new();
    for (state, inverse_probability) in RandomSource::enumerate(|chance| game.deal(chance)) {
        states.add(state, 1, inverse_probability);
    }
    states.into_weights().into_values().collect()
}

/// Computes the posterior of `viewer` after the first plies of a game. `states` starts at the deal, and each choice
/// leads from one state to the next.
///
/// # Panics
/// When there is no state, or not one more than choices; also as [`Posterior::of`] and [`Posterior::update`].
pub fn posterior<G: Game>(
    game: &G,
    viewer: Seat,
    states: &[G::State],
    choices: &[(Seat, u8)],
    likelihood: InverseLikelihood<G>,
) -> Posterior<G> {
    let (first, later) = states.split_first().expect("a game has a deal");
    assert_eq!(later.len(), choices.len(), "every choice leads to one state");
    let mut posterior = Posterior::of(game, viewer, deals(game), first);
    for (&choice, state) in choices.iter().zip(later) {
        posterior.update(game, choice, state, likelihood);
    }
    posterior
}

/// The states that a seat considers possible. The probability of a state is its weight divided by the sum of weights.
pub struct Posterior<G: Game> {
    viewer: Seat,
    states: ByBytes<G::State>,
    /// The seats of a simultaneous choice that have not chosen yet.
    simultaneous_pending: SeatSet,
}

impl<G: Game> Posterior<G> {
    /// Keeps the prior states that show `viewer` the same as `truth`, with their weights. The prior is [`deals`], or the
    /// states of any position where the caller can list them.
    ///
    /// # Panics
    /// When `truth` is not among the states.
    pub fn of(
        game: &G,
        viewer: Seat,
        prior: impl IntoIterator<Item = (G::State, u128)>,
        truth: &G::State,
    ) -> Self {
        let shown = ViewerSnapshot::of(game, truth, viewer);
        let mut states = WeightedStates::new();
        for (state, weight) in prior {
            if ViewerSnapshot::of(game, &state, viewer) == shown {
                states.add(state, weight, 1);
            }
        }
        let simultaneous_pending = if_several(shown.pending());
        let posterior = Self { viewer, states: states.into_weights(), simultaneous_pending };
        posterior.assert_contains(truth);
        posterior
    }

    /// Updates the posterior after a choice that led to the true state `truth`.
    ///
    /// The viewer knows its own choice. Of another seat's choice it knows only what it is shown afterwards.
    ///
    /// # Panics
    /// When the choice cannot lead to `truth`, or when the weights do not fit 128 bits.
    pub fn update(
        &mut self,
        game: &G,
        (seat, action): (Seat, u8),
        truth: &G::State,
        likelihood: InverseLikelihood<G>,
    ) {
        let shown = ViewerSnapshot::of(game, truth, self.viewer);
        let is_simultaneous = self.simultaneous_pending.contains(seat);
        let mut states = WeightedStates::new();
        for (state, weight) in self.states.values() {
            let (choices, inverse_probability) = if seat == self.viewer {
                (ActionSet::single(action), 1)
            } else {
                (game.legal(state, seat), likelihood(game, state, seat, is_simultaneous))
            };
            for choice in choices {
                let sequences = RandomSource::enumerate(|chance| {
                    let mut next = *state;
                    apply(game, &mut next, seat, choice.into(), chance).expect("a legal action is accepted");
                    next
                });
                for (next, of_sequence) in
                    sequences.filter(|sequence| ViewerSnapshot::of(game, &sequence.0, self.viewer) == shown)
                {
                    states.add(
                        next,
                        *weight,
                        of_sequence.checked_mul(inverse_probability.into()).expect(FITS_128_BITS),
                    );
                }
            }
        }
        self.states = states.into_weights();
        self.assert_contains(truth);
        self.simultaneous_pending = match (if_several(shown.pending()), self.simultaneous_pending.len()) {
            (SeatSet::EMPTY, 0 | 1) => SeatSet::EMPTY,
            // The last seats of the group have not chosen yet.
            (SeatSet::EMPTY, _) => {
                self.simultaneous_pending.iter().filter(|&seat| shown.pending().contains(seat)).collect()
            }
            (group, _) => group,
        };
    }

    fn assert_contains(&self, truth: &G::State) {
        assert!(
            self.states.contains_key(&bytes(truth)),
            "the posterior of {} does not contain the true state {truth:?}",
            self.viewer
        );
    }

    /// Returns the seat whose knowledge this is.
    #[must_use]
    pub fn viewer(&self) -> Seat {
        self.viewer
    }

    /// Returns the states with their weights, in the order of their bytes.
    pub fn weighted_states(&self) -> impl Iterator<Item = (&G::State, u128)> {
        self.states.values().map(|(state, weight)| (state, *weight))
    }

    /// Returns the bytes of the states with their weights, ascending.
    pub fn weights(&self) -> impl Iterator<Item = (&[u8], u128)> {
        self.states.iter().map(|(bytes, (_, weight))| (bytes.as_slice(), *weight))
    }

    /// Returns the number of states: at least one, the true state.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.states.len()
    }
}

/// Returns the seats if there are several, else none.
fn if_several(seats: SeatSet) -> SeatSet {
    if seats.len() > 1 { seats } else { SeatSet::EMPTY }
}

/// Returns the bytes that identify a state. Unlike states, bytes have an order.
pub(super) fn bytes<S: BorshSerialize>(state: &S) -> Vec<u8> {
    borsh::to_vec(state).expect("writing to memory does not fail")
}

/// States with their weights, keyed by their bytes.
type ByBytes<S> = BTreeMap<Vec<u8>, (S, u128)>;

/// States under construction. Each has a weight as a sum of fractions.
struct WeightedStates<S>(BTreeMap<Vec<u8>, (S, Fractions)>);

/// The sum of numerators for each denominator.
type Fractions = BTreeMap<u128, u128>;

const FITS_128_BITS: &str = "the weights of a small game fit 128 bits";

impl<S: BorshSerialize> WeightedStates<S> {
    fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds `weight / inverse_probability` to the weight of a state.
    fn add(&mut self, state: S, weight: u128, inverse_probability: u128) {
        let (_, fractions) = self.0.entry(bytes(&state)).or_insert((state, Fractions::new()));
        let sum = fractions.entry(inverse_probability).or_default();
        *sum = sum.checked_add(weight).expect(FITS_128_BITS);
    }

    /// Returns the weights as the smallest whole numbers in the same proportions.
    fn into_weights(self) -> ByBytes<S> {
        let denominators = self.0.values().flat_map(|(_, fractions)| fractions.keys());
        let common = denominators.fold(1u128, |common, &denominator| {
            (common / divisor(common, denominator)).checked_mul(denominator).expect(FITS_128_BITS)
        });
        let weigh = |fractions: &Fractions| {
            fractions.iter().fold(0u128, |sum, (denominator, numerator)| {
                let part = numerator.checked_mul(common / denominator).expect(FITS_128_BITS);
                sum.checked_add(part).expect(FITS_128_BITS)
            })
        };
        let weights = self.0.into_iter().map(|(bytes, (state, parts))| (bytes, (state, weigh(&parts))));
        let mut weights: ByBytes<S> = weights.collect();
        let shared = weights.values().fold(0, |shared, (_, weight)| divisor(shared, *weight));
        for (_, weight) in weights.values_mut() {
            *weight /= shared;
        }
        weights
    }
}

/// Returns the greatest common divisor.
fn divisor(mut one: u128, mut other: u128) -> u128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
