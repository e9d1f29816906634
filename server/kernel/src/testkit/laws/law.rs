//! The names of the laws.

use std::fmt;

use crate::CheckResult;

/// Defines the enum of the laws and the list of all laws.
macro_rules! laws {
    ($($(#[$doc:meta])* $law:ident = $words:literal),+ $(,)?) => {
        /// A law that every game obeys. `docs/testing.md` describes each law.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Law {
            $($(#[$doc])* $law,)+
        }

        impl Law {
            /// Every law.
            pub const ALL: &[Self] = &[$(Self::$law),+];

            /// Returns the law in a few words. The message for a broken law begins with them.
            #[must_use]
            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$law => $words,)+
                }
            }
        }
    };
}

laws! {
    /// Each index below the number of actions has exactly one action and one label, and no two indices share them.
    RoundTrip = "each index has one action and one label, and the reverse",
    /// The descriptions of fields, axes, actions and columns agree with the tables.
    Described = "descriptions agree with their tables",
    /// The game's audit accepts every reached position.
    Audited = "every position passes its audit",
    /// A seat of the table is pending exactly when it has a legal action.
    Pending = "exactly the pending seats have legal actions",
    /// There is an outcome exactly when no decision is pending.
    Outcome = "an outcome exists exactly when no decision is pending",
    /// `is_legal` and `legal` agree on every action, also for seats that the table does not have.
    LegalAgrees = "is_legal agrees with legal",
    /// A view has the length of its layout, overwrites the buffer, and its values agree with their fields.
    Views = "a view fills its layout and agrees with its fields",
    /// The results of a game depend only on the arguments.
    Pure = "equal arguments give equal results",
    /// A sample shows its seat and the public the same as the true state.
    ResampleKeeps = "resample does not change the seat's view",
    /// For every seat of a game with hidden information, some sample differs from the true state.
    ResampleVaries = "resample changes what the seat cannot know",
    /// Equal random words give equal samples of two states that the seat cannot distinguish.
    ResampleFollows = "samples depend only on what the seat knows",
    /// `reduce_for_playouts` changes neither the further play of a position nor that of its samples.
    Reduced = "reduce_for_playouts does not change play",
    /// The order of two simultaneous choices makes no difference.
    CommitsCommute = "simultaneous choices commute",
    /// No other viewer can see a choice while other decisions are pending.
    CommitsHidden = "other seats cannot see a commit",
    /// The phrases of legal actions are unique and take one line.
    Phrases = "each legal action has its own phrase",
    /// A report of another seat's choice tells a viewer nothing that its views before and after do not determine.
    Reports = "a report depends only on what its viewer sees",
    /// A choice is refused for the right reason, and state and random streams stay unchanged.
    Refusals = "a refused action changes nothing",
    /// An episode restored at any ply continues to the same end.
    Restored = "a restored episode continues like the original",
    /// A state takes at most 2 KiB.
    Small = "a state is small",
    /// No game exceeds the maximum number of plies of its table.
    Ends = "play ends within max_plies",
    /// The explanation of every score is complete, and every score is in the table's range.
    Scores = "scores are explained and within their range",
    /// Seed and choices determine everything.
    Repeatable = "equal seed and choices give equal digests",
    /// A restarted episode equals a new one.
    Restarted = "a restarted episode equals a new one",
    /// A sampled determinization has a history in which its seat saw the same observations.
    Histories = "every sample has a history in which its seat saw the same observations",
    /// Worlds are sampled with the probabilities that follow from everything that the seat was shown.
    Frequencies = "samples are drawn with their probabilities",
}

impl Law {
    /// Does nothing if the law holds.
    ///
    /// # Panics
    /// When the law does not hold. The message names the law and the problem.
    #[track_caller]
    pub fn assert_ok(self, result: CheckResult) {
        if let Err(broken) = result {
            panic!("{self}: {broken}");
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_every_law_once() {
        let page = include_str!("../../../../../docs/testing.md");
        for law in Law::ALL {
            assert_eq!(page.matches(&format!("| {law} |")).count(), 1, "{law}");
        }
    }
}
