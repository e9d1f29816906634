//! The laws by name.

use std::fmt;

use crate::Audit;

/// Makes the enum of the laws and the list of all of them from one list.
macro_rules! laws {
    ($($(#[$doc:meta])* $law:ident = $words:literal),+ $(,)?) => {
        /// A law that every game obeys; `docs/testing.md` says more of each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Law {
            $($(#[$doc])* $law,)+
        }

        impl Law {
            /// Every law.
            pub const ALL: &[Self] = &[$(Self::$law),+];

            /// The law in a few words, with which the message of a broken one begins.
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
    /// Indices below the number of actions, actions and labels name one another.
    RoundTrip = "index, action and label name one another",
    /// What fields, axes, actions and columns say about tables is so.
    Described = "what names a table stays within it",
    /// The game's own audit refuses no position that is reached.
    Audited = "every position passes its audit",
    /// A seat of the table owes a choice exactly when it has one.
    Pending = "a pending seat has a legal action, and others have none",
    /// There is an outcome exactly when nobody owes a choice.
    Outcome = "an outcome comes when nobody owes a choice",
    /// Both methods say the same of every action, for seats that the table does not have as well.
    LegalAgrees = "is_legal says the same as legal",
    /// A view is as long as its layout, nothing is left of what the memory held, and the values are as their field says.
    Views = "a view fills its layout and keeps to what it says",
    /// Nothing but the arguments decides what a game answers.
    Pure = "equal questions get equal answers",
    /// Neither the seat whose knowledge is sampled nor the public can tell.
    ResampleKeeps = "resample keeps what its seat is shown",
    /// For every seat of a game with hidden information some sample is not the true state.
    ResampleVaries = "resample varies what its seat cannot know",
    /// Equal words of chance give equal samples of two states that the seat cannot tell apart.
    ResampleFollows = "what is sampled follows from what the seat knows alone",
    /// A position that forgets goes on as one that does not, and so do samples of both.
    Forgets = "what forgets goes on alike",
    /// The order of two simultaneous choices makes no difference.
    CommitsCommute = "commits commute",
    /// Which choice a seat made shows to nobody else while others owe theirs.
    CommitsHidden = "a commit shows to nobody else",
    /// A choice that is refused is refused for the right reason, and state and chance stay as they are.
    Refusals = "a refusal changes nothing",
    /// An episode restored at any ply plays on to the same end.
    Restored = "a restored episode plays on as the original",
    /// A state takes at most 2 KiB.
    Small = "a state is small",
    /// No game is longer than its table says.
    Ends = "play ends within max_plies",
    /// Every seat's score is explained in full and lies in the table's range.
    Scores = "scores are explained and within their range",
    /// Seed and choices decide everything.
    Repeatable = "equal seed and choices give equal digests",
    /// An episode that is restarted is like one that is begun.
    Restarted = "a restarted episode is a new one",
    /// A world that is drawn could have come about, and its seat would have been shown the same all along.
    Histories = "every world drawn has a history that showed its seat the same",
    /// Worlds are drawn with the probabilities that follow from all the seat was shown.
    Frequencies = "worlds are drawn as often as they are likely",
}

impl Law {
    /// Does nothing when the law has held.
    ///
    /// # Panics
    /// When it has not: with the law and what did not hold.
    #[track_caller]
    pub fn require(self, held: Audit) {
        if let Err(broken) = held {
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
