//! The flaws of the broken variants.

/// The one thing that a broken variant does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// None: the variant obeys all laws.
    None,
    /// The table describes a column of numbers as flags.
    CallsNumbersFlags,
    /// A legal action has no index.
    ForgetsAnAction,
    /// An action has the index of another.
    EncodesWrongly,
    /// The last action has no label.
    MissesALabel,
    /// A field of the view has a maximum beyond the rows of its table.
    NamesARowTooMany,
    /// An axis of the view counts rows of a table that does not exist.
    AxisNamesUnknownTable,
    /// The usual maximum of a field exceeds its maximum.
    UsualMaxAboveMax,
    /// The layout has a field that the view does not write.
    HasAFieldTooMany,
    /// The view does not write its last byte.
    LeavesAByteUnwritten,
    /// The size of the deck exceeds its maximum.
    ExceedsAMaximum,
    /// The view shows a hand in descending order.
    HandNotAscending,
    /// The view shows a hand with one card twice.
    ShowsACardTwice,
    /// The audit refuses the second round.
    RefusesWhatIsReached,
    /// A seat that the table does not have has a pending decision.
    PendingUnknownSeat,
    /// The winner of a round has no legal action.
    OffersNothing,
    /// A seat may choose again after its choice.
    LegalAfterChoice,
    /// The finished game has no outcome.
    HasNoOutcome,
    /// The game has an outcome before its last choice.
    EndsTooSoon,
    /// `is_legal` lets a seat keep a card when it must play one.
    AllowsMoreThanIsLegal,
    /// `is_legal` returns true for a seat that the table does not have.
    LegalForUnknownSeat,
    /// Every second call of `is_legal` lets the first seat keep a card when it must play one.
    AppliesIllegalAction,
    /// The text contains the number of its calls.
    CountsQuestions,
    /// `resample` does not draw from the random stream that it is given.
    DrawsFromElsewhere,
    /// The view shows a seat a card of another hand.
    LeaksInTheView,
    /// The text shows a seat a card of another hand.
    LeaksInTheText,
    /// The view shows the public a card of a hand.
    LeaksToThePublic,
    /// `resample` changes the hand of its own seat.
    ResamplesItsOwnHand,
    /// `resample` loses the cards of the deck.
    ResamplesWhatCannotBe,
    /// After `resample` and another choice, the audit refuses the state.
    SampleFailsAuditLater,
    /// `reduce_for_playouts` loses a card of the first hand.
    ReducesAwayACard,
    /// At the end of the game, `reduce_for_playouts` loses a played card.
    ReducesAwayTheEnd,
    /// `resample` changes nothing for the last seat.
    NeverResamplesForOne,
    /// The state remembers which seat chose last.
    RemembersTheOrder,
    /// The text shows whether a hidden choice is a card with an odd number.
    ShowsACommit,
    /// All actions have the same phrase.
    SharesAPhrase,
    /// A report names the hidden choice of another seat.
    ReportsACommit,
    /// A part of the state that affects play is neither compared nor saved.
    ForgetsToSave,
    /// A part of the state is saved, but not restored.
    ForgetsToRestore,
    /// The saved state takes more than 2 KiB.
    SavesTooMuch,
    /// A game has one ply more than the maximum.
    LastsTooLong,
    /// The explanation of a score omits its last line.
    ExplainsTooLittle,
    /// Scores are outside the range of the table.
    ScoresBeyondItsRange,
    /// The second deal from a seed differs from the first.
    DealsOtherwiseTheSecondTime,
    /// The fourth deal from a seed differs from the deals before.
    DealsOtherwiseTheFourthTime,
    /// The view does not show a seat what it has buried, and `resample` changes that card.
    ForgetsWhatItBuried,
    /// In determinizations, another seat drew a card that it had played before.
    RemembersTheImpossible,
    /// The history of a world has one random outcome too many.
    RemembersTooMuch,
    /// In one sampled world of a thousand, another seat drew a card that it had played before.
    SeldomDrawsTheImpossible,
    /// One sampled world in fifty is the true one.
    KeepsTheTruth,
    /// One sampled world in fifty exchanges a high card of another hand for a low card of the deck.
    DealsOthersLowCards,
    /// In sampled worlds, other seats remember that they kept the lowest card that they can have kept.
    RemembersTheLowest,
}
