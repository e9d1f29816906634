//! Enumeration of all sequences of random outcomes.

use super::{Chance, Source};

/// One sequence of random outcomes: a number with one digit per draw. The last digit counts up first.
#[derive(Debug, Clone, Default)]
pub(super) struct Odometer {
    digits: Vec<Digit>,
    /// How many digits have been used.
    given: usize,
}

#[derive(Debug, Clone, Copy)]
struct Digit {
    value: u32,
    base: u32,
}

impl Odometer {
    /// Returns the outcome of the next draw. A new draw begins at 0.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        assert!(n > 0, "nothing is below 0");
        if self.given == self.digits.len() {
            self.digits.push(Digit { value: 0, base: n });
        }
        let digit = self.digits[self.given];
        assert_eq!(digit.base, n, "equal outcomes so far, and yet another draw");
        self.given += 1;
        digit.value
    }

    /// Shuffles `items`. The enumeration reaches every order once, each with the same probability.
    pub(super) fn shuffle(&mut self, items: &mut [u8]) {
        for last in (1..items.len()).rev() {
            let bound = u32::try_from(last + 1).expect("what is shuffled is short");
            items.swap(last, self.below(bound) as usize);
        }
    }

    /// Returns the number of draws so far.
    pub(super) fn given(&self) -> usize {
        self.given
    }

    /// Returns `n`, if this sequence has the probability `1 / n`.
    fn one_in(&self) -> u128 {
        self.digits.iter().fold(1u128, |ways, digit| {
            ways.checked_mul(digit.base.into()).expect("chance falls in fewer than 2^128 ways")
        })
    }

    /// Advances to the next sequence. Returns whether there is one.
    fn advance(&mut self) -> bool {
        self.given = 0;
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

impl Chance {
    /// Calls `play` once for every sequence of random outcomes. Returns each result with `n` for its probability `1 / n`.
    ///
    /// `play` draws from its argument. After equal outcomes it must make equal draws.
    ///
    /// ```
    /// use boardwire_kernel::Chance;
    ///
    /// let ways = Chance::enumerate(|chance| match chance.below(0, 2) {
    ///     0 => 0,
    ///     _ => chance.below(0, 3),
    /// });
    /// assert_eq!(ways, [(0, 2), (0, 6), (1, 6), (2, 6)]);
    /// ```
    ///
    /// # Panics
    /// When `play` draws differently after equal outcomes.
    pub fn enumerate<T>(mut play: impl FnMut(&mut Self) -> T) -> Vec<(T, u128)> {
        let mut ways = Vec::new();
        let mut odometer = Odometer::default();
        loop {
            let mut chance = Self(Source::Enumerated(odometer));
            let result = play(&mut chance);
            let Self(Source::Enumerated(used)) = chance else {
                panic!("the chance to enumerate was exchanged for another");
            };
            odometer = used;
            assert_eq!(odometer.given, odometer.digits.len(), "equal outcomes so far, and yet fewer draws");
            ways.push((result, odometer.one_in()));
            if !odometer.advance() {
                return ways;
            }
        }
    }
}
