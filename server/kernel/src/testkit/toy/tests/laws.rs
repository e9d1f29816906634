//! Every law can fail: for each law, one broken variant breaks it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::super::Toy;
use super::broken::Broken;
use super::flaw::Flaw;
use crate::testkit::{
    Frequencies, Law, Posterior, check_frequencies, check_histories, check_knowledge, check_laws, deals,
    every_table, table, uniform_likelihood,
};
use crate::{Episode, RngStream, Seat};

/// The flaws, each with the law that detects it.
const ORDINARY: &[(Flaw, Law)] = &[
    (Flaw::ForgetsAnAction, Law::RoundTrip),
    (Flaw::EncodesWrongly, Law::RoundTrip),
    (Flaw::MissesALabel, Law::RoundTrip),
    (Flaw::NamesARowTooMany, Law::Described),
    (Flaw::AxisNamesUnknownTable, Law::Described),
    (Flaw::UsualMaxAboveMax, Law::Described),
    (Flaw::CallsNumbersFlags, Law::Described),
    (Flaw::RefusesWhatIsReached, Law::Audited),
    (Flaw::SampleFailsAuditLater, Law::Audited),
    (Flaw::PendingUnknownSeat, Law::Pending),
    (Flaw::OffersNothing, Law::Pending),
    (Flaw::LegalAfterChoice, Law::Pending),
    (Flaw::HasNoOutcome, Law::Outcome),
    (Flaw::EndsTooSoon, Law::Outcome),
    (Flaw::AllowsMoreThanIsLegal, Law::LegalAgrees),
    (Flaw::LegalForUnknownSeat, Law::LegalAgrees),
    (Flaw::LeavesAByteUnwritten, Law::Views),
    (Flaw::ExceedsAMaximum, Law::Views),
    (Flaw::HandNotAscending, Law::Views),
    (Flaw::ShowsACardTwice, Law::Views),
    (Flaw::CountsQuestions, Law::Pure),
    (Flaw::DrawsFromElsewhere, Law::Pure),
    (Flaw::LeaksInTheView, Law::ResampleKeeps),
    (Flaw::LeaksInTheText, Law::ResampleKeeps),
    (Flaw::LeaksToThePublic, Law::ResampleKeeps),
    (Flaw::ResamplesItsOwnHand, Law::ResampleKeeps),
    (Flaw::NeverResamplesForOne, Law::ResampleVaries),
    (Flaw::ResamplesWhatCannotBe, Law::ResampleKeeps),
    (Flaw::KeepsTheTruth, Law::ResampleFollows),
    (Flaw::ForgetsWhatItBuried, Law::ResampleFollows),
    (Flaw::ReducesAwayACard, Law::Reduced),
    (Flaw::ReducesAwayTheEnd, Law::Reduced),
    (Flaw::RemembersTheOrder, Law::CommitsCommute),
    (Flaw::ShowsACommit, Law::CommitsHidden),
    (Flaw::SharesAPhrase, Law::Phrases),
    (Flaw::ReportsACommit, Law::Reports),
    (Flaw::AppliesIllegalAction, Law::Refusals),
    (Flaw::ForgetsToSave, Law::Restored),
    (Flaw::ForgetsToRestore, Law::Restored),
    (Flaw::SavesTooMuch, Law::Small),
    (Flaw::LastsTooLong, Law::Ends),
    (Flaw::ExplainsTooLittle, Law::Scores),
    (Flaw::ScoresBeyondItsRange, Law::Scores),
    (Flaw::DealsOtherwiseTheSecondTime, Law::Repeatable),
    (Flaw::DealsOtherwiseTheFourthTime, Law::Restarted),
];

/// The flaws of determinizations that only the laws of knowledge detect.
const OF_KNOWLEDGE: &[(Flaw, Law)] = &[
    (Flaw::RemembersTheImpossible, Law::Histories),
    (Flaw::RemembersTooMuch, Law::Histories),
    (Flaw::SeldomDrawsTheImpossible, Law::Frequencies),
    (Flaw::DealsOthersLowCards, Law::Frequencies),
    (Flaw::RemembersTheLowest, Law::Frequencies),
];

/// Returns the message with which `check` panics.
fn panic_of(check: impl FnOnce()) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(check)).err()?;
    let words = payload.downcast::<String>().expect("a law panics with a formatted message");
    Some(*words)
}

/// Returns a table with a flaw at which kept cards are hidden.
fn broken(flaw: Flaw) -> Arc<Broken> {
    Broken::new(&table::<Toy>(2, &[("kept", "hidden")]), flaw)
}

fn assert_broken(flaw: Flaw, law: Law, check: impl Fn(&Arc<Broken>, u64)) {
    let seen = (0..20).find_map(|seed| panic_of(|| check(&broken(flaw), seed)));
    let seen = seen.unwrap_or_else(|| panic!("no law detects {flaw:?}"));
    assert!(seen.starts_with(law.words()), "{flaw:?} should break {law:?}, but: {seen}");
}

#[test]
fn every_law_can_fail() {
    let proven: Vec<Law> = ORDINARY.iter().chain(OF_KNOWLEDGE).map(|(_, law)| *law).collect();
    for law in Law::ALL {
        assert!(proven.contains(law), "no broken variant breaks {law:?}");
    }
}

#[test]
fn a_variant_without_a_flaw_obeys_the_laws() {
    for toy in every_table::<Toy>() {
        let variant = Broken::new(&toy, Flaw::None);
        check_laws(&variant, 0..20);
        check_histories(&variant, 1);
    }
}

#[test]
fn a_broken_variant_breaks_its_law() {
    for &(flaw, law) in ORDINARY {
        assert_broken(flaw, law, |game, seed| check_laws(game, 20 * seed..20 * seed + 20));
    }
}

#[test]
#[should_panic(expected = "a view is 1 bytes shorter than its memory")]
fn a_field_that_the_view_does_not_write_panics() {
    check_laws(&broken(Flaw::HasAFieldTooMany), 0..1);
}

#[test]
fn only_the_laws_of_knowledge_detect_wrong_samples() {
    for &(flaw, law) in OF_KNOWLEDGE {
        check_laws(&broken(flaw), 0..20);
        assert_broken(flaw, law, |game, seed| {
            check_histories(game, seed);
            check_knowledge(game, seed, uniform_likelihood);
        });
    }
}

#[test]
fn a_bias_of_two_percent_is_detected() {
    let biases =
        [(Flaw::None, 0, 40), (Flaw::KeepsTheTruth, 150, 220), (Flaw::DealsOthersLowCards, 100, 220)];
    for (flaw, minimum, maximum) in biases {
        let game = broken(flaw);
        let state = *Episode::seeded(Arc::clone(&game), 7).state();
        let posterior = Posterior::of(&*game, Seat::FIRST, deals(&*game), &state);
        let mut rng = RngStream::new(1, 0);
        let distance =
            Frequencies::of(&*game, &state, Seat::FIRST, 400_000, &mut rng).total_variation(&posterior);
        assert!((minimum..=maximum).contains(&distance), "{flaw:?} has the distance {distance}");
        for seed in 0..20 {
            let mut rng = RngStream::new(seed, 0);
            let seen = panic_of(|| check_frequencies(&*game, &state, &posterior, &mut rng));
            assert_eq!(seen.is_some(), flaw != Flaw::None, "{flaw:?}, seed {seed}: {seen:?}");
        }
    }
}
