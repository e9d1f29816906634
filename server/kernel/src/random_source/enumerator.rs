//! Enumeration of all sequences of random outcomes.

use super::{RandomSource, Source};

/// One sequence of random outcomes: a number with one digit per draw. The last digit counts up first.
#[derive(Debug, Clone, Default)]
pub(super) struct OutcomeEnumerator {
    digits: Vec<Digit>,
    /// The number of draws so far: the digits used.
    draws: usize,
}

#[derive(Debug, Clone, Copy)]
struct Digit {
    value: u32,
    base: u32,
}

impl OutcomeEnumerator {
    /// Returns the outcome of the next draw. A new draw begins at 0.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        assert!(n > 0, "nothing is below 0");
        if self.draws == self.digits.len() {
            self.digits.push(Digit { value: 0, base: n });
        }
        let digit = self.digits[self.draws];
        assert_eq!(
            digit.base, n,
            "`play` is not deterministic: it made a different draw after the same outcomes"
        );
        self.draws += 1;
        digit.value
    }

    /// Shuffles `items`. The enumeration reaches every order once, each with the same probability.
    pub(super) fn shuffle(&mut self, items: &mut [u8]) {
        for last in (1..items.len()).rev() {
            let bound = u32::try_from(last + 1).expect("a deck has at most 2^32 cards");
            items.swap(last, self.below(bound) as usize);
        }
    }

    /// Returns the number of draws so far.
    pub(super) fn draws(&self) -> usize {
        self.draws
    }

    /// Returns `n`, if this sequence has the probability `1 / n`.
    fn inverse_probability(&self) -> u128 {
        self.digits.iter().fold(1u128, |inverse, digit| {
            inverse.checked_mul(digit.base.into()).expect("a sequence has a probability above 2^-128")
        })
    }

    /// Advances to the next sequence. Returns whether there is one.
    fn advance(&mut self) -> bool {
        self.draws = 0;
        while let Some(digit) = self.digits.last_mut() {
            digit.value += 1;
            if digit.value < digit.base {
                return true;
            }
            self.digits.pop();
        }
        false
    }
}

impl RandomSource {
    /// Calls `play` once for every sequence of random outcomes. Yields each result with `n` for its probability `1 / n`.
    ///
    /// `play` draws from its argument. After equal outcomes it must make equal draws.
    ///
    /// ```
    /// use boardwire_kernel::RandomSource;
    ///
    /// let sequences = RandomSource::enumerate(|chance| match chance.below(0, 2) {
    ///     0 => 0,
    ///     _ => chance.below(0, 3),
    /// });
    /// assert_eq!(sequences.collect::<Vec<_>>(), [(0, 2), (0, 6), (1, 6), (2, 6)]);
    /// ```
    ///
    /// # Panics
    /// The iterator panics when `play` draws differently after equal outcomes.
    pub fn enumerate<T>(mut play: impl FnMut(&mut Self) -> T) -> impl Iterator<Item = (T, u128)> {
        let mut rest = Some(OutcomeEnumerator::default());
        std::iter::from_fn(move || {
            let mut chance = Self(Source::Enumerated(rest.take()?));
            let result = play(&mut chance);
            let Self(Source::Enumerated(mut used)) = chance else {
                panic!("`play` replaced its random source");
            };
            assert_eq!(
                used.draws,
                used.digits.len(),
                "`play` is not deterministic: it made fewer draws after equal outcomes"
            );
            let inverse_probability = used.inverse_probability();
            rest = used.advance().then_some(used);
            Some((result, inverse_probability))
        })
    }
}
