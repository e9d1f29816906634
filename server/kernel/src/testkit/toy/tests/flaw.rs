//! What can be wrong with a game, one thing each.

/// What a broken twin does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Nothing: as law-abiding as the toy.
    None,
    /// A column of numbers is said to be one of flags.
    CallsNumbersFlags,
    /// An action that can be chosen has no index.
    ForgetsAnAction,
    /// An action has the index of another.
    EncodesWrongly,
    /// The last action has no label.
    MissesALabel,
    /// A field of the view claims a card that its table does not have.
    NamesARowTooMany,
    /// An axis of the view counts rows of a table that there is not.
    CountsStrangeRows,
    /// A field is usually more than it ever is.
    IsUsuallyTooMuch,
    /// The layout has a field that the view does not write.
    HasAFieldTooMany,
    /// The last byte of a view is left as it was.
    LeavesAByteUnwritten,
    /// The size of the deck is greater than its maximum.
    ExceedsAMaximum,
    /// A hand is shown in descending order.
    TurnsAHand,
    /// A hand is shown with one of its cards twice.
    ShowsACardTwice,
    /// The audit refuses the second round.
    RefusesWhatIsReached,
    /// A seat that the table does not have owes a choice.
    AsksAStranger,
    /// The winner of a round may do nothing.
    OffersNothing,
    /// A seat may choose again what it has chosen.
    OffersMoreThanIsOwed,
    /// The finished game has no outcome.
    HasNoOutcome,
    /// The game has an outcome before its last choice.
    EndsTooSoon,
    /// `is_legal` lets a seat keep a card when it is to play one.
    AllowsMoreThanIsLegal,
    /// `is_legal` says yes to a seat that the table does not have.
    AllowsAStranger,
    /// Every second time `is_legal` lets the first seat keep a card when it is to play one.
    MovesOnRefusal,
    /// The text counts how often it was asked for.
    CountsQuestions,
    /// `resample` draws from elsewhere than the words of chance it is given.
    DrawsFromElsewhere,
    /// The view shows a seat a card of another hand.
    LeaksInTheView,
    /// The text shows a seat a card of another hand.
    LeaksInTheText,
    /// The public is shown a card of a hand.
    LeaksToThePublic,
    /// `resample` changes the hand of its own seat.
    ResamplesItsOwnHand,
    /// `resample` loses the cards of the deck.
    ResamplesWhatCannotBe,
    /// `resample` gives what the audit refuses once something has been chosen.
    ResamplesADeadEnd,
    /// A position that forgets loses a card of the first hand.
    ForgetsACard,
    /// A position that forgets at the end loses a card played.
    ForgetsTheEnd,
    /// `resample` leaves everything as it is for the last seat.
    NeverResamplesForOne,
    /// The state remembers who chose last.
    RemembersTheOrder,
    /// The text shows whether a hidden choice is an odd card.
    ShowsACommit,
    /// A part of the state that play depends on is neither compared nor saved.
    ForgetsToSave,
    /// A part of the state is saved, but not restored.
    ForgetsToRestore,
    /// The state is saved in more than 2 KiB.
    SavesTooMuch,
    /// A game has one ply more than it may.
    LastsTooLong,
    /// The explanation of a score leaves out its last line.
    ExplainsTooLittle,
    /// Scores lie outside the range of the table.
    ScoresBeyondItsRange,
    /// The second deal from a seed is not like the first.
    DealsOtherwiseTheSecondTime,
    /// The fourth deal from a seed is not like those before.
    DealsOtherwiseTheFourthTime,
    /// A seat is not shown what it has buried, and `resample` draws that anew.
    ForgetsWhatItBuried,
    /// In the worlds drawn, another seat drew a card that it had played before.
    RemembersTheImpossible,
    /// The history of a world has one outcome of chance too many.
    RemembersTooMuch,
    /// In one world of a thousand another seat drew a card that it had played before.
    SeldomDrawsTheImpossible,
    /// One world in fifty is the true one.
    KeepsTheTruth,
    /// One world in fifty has a high card of another hand exchanged for a low one of the deck.
    DealsOthersLowCards,
    /// In the worlds drawn, others remember to have kept the lowest card they can have kept.
    RemembersTheLowest,
}
