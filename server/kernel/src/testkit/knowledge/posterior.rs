//! The exact probability of each determinization (world) for a seat, by enumeration.

use std::collections::BTreeMap;

use borsh::BorshSerialize;

use crate::testkit::Shown;
use crate::{ActionSet, Chance, Game, Seat, SeatSet, Setup, apply};

/// A function that returns `n` if a choice of another seat has the probability `1 / n`, in the state before it.
///
/// The last argument states whether several seats chose simultaneously. A game with hidden choices of another kind
/// needs its own function.
pub type Likelihood<G> = fn(&G, &<G as Setup>::State, Seat, bool) -> u32;

/// Returns the likelihood that most games use. A hidden simultaneous choice is uniform over the legal actions. A choice
/// that all seats see shows only that it was legal.
pub fn usual_likelihood<G: Game>(game: &G, state: &G::State, seat: Seat, is_simultaneous: bool) -> u32 {
    if is_simultaneous { game.legal(state, seat).len() } else { 1 }
}

/// Returns every state that the game can deal, with its weight.
///
/// It enumerates all random outcomes. Use it for games with some thousand deals.
pub fn deals<G: Game>(game: &G) -> Vec<(G::State, u128)> {
    let mut worlds = Worlds::new();
    for (state, one_in) in Chance::enumerate(|chance| game.deal(chance)) {
        worlds.add(state, 1, one_in);
    }
    worlds.weighed().into_values().collect()
}

/// Computes the posterior of `viewer` after the first plies of a game. `states` starts at the deal, and each choice
/// leads from one state to the next.
///
/// # Panics
/// When there is no state, or not one more than choices; also as [`Posterior::of`] and [`Posterior::follow`].
pub fn posterior<G: Game>(
    game: &G,
    viewer: Seat,
    states: &[G::State],
    choices: &[(Seat, u8)],
    likelihood: Likelihood<G>,
) -> Posterior<G> {
    let (first, later) = states.split_first().expect("a game has a deal");
    assert_eq!(later.len(), choices.len(), "every choice leads to one state");
    let mut posterior = Posterior::of(game, viewer, deals(game), first);
    for (&choice, state) in choices.iter().zip(later) {
        posterior.follow(game, choice, state, likelihood);
    }
    posterior
}

/// The worlds that a seat considers possible. The probability of a world is its weight divided by the sum of weights.
pub struct Posterior<G: Game> {
    viewer: Seat,
    worlds: ByBytes<G::State>,
    /// The seats of a simultaneous choice that have not chosen yet.
    choosing: SeatSet,
}

impl<G: Game> Posterior<G> {
    /// Keeps the prior states that show `viewer` the same as `truth`, with their weights. The prior is [`deals`], or the
    /// worlds of any position where the caller can list them.
    ///
    /// # Panics
    /// When `truth` is not among the states.
    pub fn of(
        game: &G,
        viewer: Seat,
        prior: impl IntoIterator<Item = (G::State, u128)>,
        truth: &G::State,
    ) -> Self {
        let shown = Shown::to(game, truth, viewer);
        let mut worlds = Worlds::new();
        for (state, weight) in prior {
            if Shown::to(game, &state, viewer) == shown {
                worlds.add(state, weight, 1);
            }
        }
        let posterior = Self { viewer, worlds: worlds.weighed(), choosing: several(shown.pending()) };
        posterior.believes(truth);
        posterior
    }

    /// Updates the posterior after a choice that led to the true state `truth`.
    ///
    /// The viewer knows its own choice. Of another seat's choice it knows only what it is shown afterwards.
    ///
    /// # Panics
    /// When the choice cannot lead to `truth`, or when the weights do not fit 128 bits.
    pub fn follow(
        &mut self,
        game: &G,
        (seat, action): (Seat, u8),
        truth: &G::State,
        likelihood: Likelihood<G>,
    ) {
        let shown = Shown::to(game, truth, self.viewer);
        let is_simultaneous = self.choosing.contains(seat);
        let mut worlds = Worlds::new();
        for (state, weight) in self.worlds.values() {
            let (choices, one_in) = if seat == self.viewer {
                (ActionSet::single(action), 1)
            } else {
                (game.legal(state, seat), likelihood(game, state, seat, is_simultaneous))
            };
            for choice in choices {
                let ways = Chance::enumerate(|chance| {
                    let mut next = *state;
                    apply(game, &mut next, seat, choice.into(), chance).expect("a legal action is accepted");
                    next
                });
                for (next, ways) in
                    ways.into_iter().filter(|way| Shown::to(game, &way.0, self.viewer) == shown)
                {
                    worlds.add(next, *weight, ways.checked_mul(one_in.into()).expect(FEW));
                }
            }
        }
        self.worlds = worlds.weighed();
        self.believes(truth);
        self.choosing = match (several(shown.pending()), self.choosing.len()) {
            (SeatSet::EMPTY, 0 | 1) => SeatSet::EMPTY,
            // The last seats of the group have not chosen yet.
            (SeatSet::EMPTY, _) => {
                self.choosing.iter().filter(|&seat| shown.pending().contains(seat)).collect()
            }
            (several, _) => several,
        };
    }

    fn believes(&self, truth: &G::State) {
        assert!(
            self.worlds.contains_key(&bytes(truth)),
            "{} cannot believe the truth: {truth:?}",
            self.viewer
        );
    }

    /// Returns the seat whose knowledge this is.
    #[must_use]
    pub fn viewer(&self) -> Seat {
        self.viewer
    }

    /// Returns the worlds with their weights, in the order of their bytes.
    pub fn worlds(&self) -> impl Iterator<Item = (&G::State, u128)> {
        self.worlds.values().map(|(state, weight)| (state, *weight))
    }

    /// Returns the bytes of the worlds with their weights, ascending.
    pub fn weights(&self) -> impl Iterator<Item = (&[u8], u128)> {
        self.worlds.iter().map(|(bytes, (_, weight))| (bytes.as_slice(), *weight))
    }

    /// Returns the number of worlds: at least one, the truth.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.worlds.len()
    }
}

/// Returns the seats if there are several, else none.
fn several(seats: SeatSet) -> SeatSet {
    if seats.len() > 1 { seats } else { SeatSet::EMPTY }
}

/// Returns the bytes that identify a state. Unlike states, bytes have an order.
pub(super) fn bytes<S: BorshSerialize>(state: &S) -> Vec<u8> {
    borsh::to_vec(state).expect("writing to memory does not fail")
}

/// States with their weights, keyed by their bytes.
type ByBytes<S> = BTreeMap<Vec<u8>, (S, u128)>;

/// States under construction. Each has a weight as a sum of fractions.
struct Worlds<S>(BTreeMap<Vec<u8>, (S, Fractions)>);

/// The sum of numerators for each denominator.
type Fractions = BTreeMap<u128, u128>;

const FEW: &str = "a small game has weights of fewer than 128 bits";

impl<S: BorshSerialize> Worlds<S> {
    fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds `weight / one_in` to the weight of a state.
    fn add(&mut self, state: S, weight: u128, one_in: u128) {
        let (_, fractions) = self.0.entry(bytes(&state)).or_insert((state, Fractions::new()));
        let sum = fractions.entry(one_in).or_default();
        *sum = sum.checked_add(weight).expect(FEW);
    }

    /// Returns the weights as the smallest whole numbers in the same proportions.
    fn weighed(self) -> ByBytes<S> {
        let denominators = self.0.values().flat_map(|(_, fractions)| fractions.keys());
        let common = denominators.fold(1u128, |common, &denominator| {
            (common / divisor(common, denominator)).checked_mul(denominator).expect(FEW)
        });
        let weigh = |fractions: &Fractions| {
            fractions.iter().fold(0u128, |sum, (denominator, numerator)| {
                let part = numerator.checked_mul(common / denominator).expect(FEW);
                sum.checked_add(part).expect(FEW)
            })
        };
        let weighed = self.0.into_iter().map(|(bytes, (state, parts))| (bytes, (state, weigh(&parts))));
        let mut weighed: ByBytes<S> = weighed.collect();
        let shared = weighed.values().fold(0, |shared, (_, weight)| divisor(shared, *weight));
        for (_, weight) in weighed.values_mut() {
            *weight /= shared;
        }
        weighed
    }
}

/// Returns the greatest common divisor.
fn divisor(mut one: u128, mut other: u128) -> u128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
