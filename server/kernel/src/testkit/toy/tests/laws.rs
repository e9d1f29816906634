//! Every law can fail: for each law, one broken variant breaks it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::super::Toy;
use super::broken::Broken;
use super::flaw::Flaw;
use crate::testkit::{
    Frequencies, Law, Posterior, deals, every_table, frequencies_agree, knowledge_is_exact, obeys_the_laws,
    table, usual_likelihood, worlds_have_histories,
};
use crate::{Episode, RngStream, Seat};

/// The flaws, each with the law that detects it.
const ORDINARY: &[(Flaw, Law)] = &[
    (Flaw::ForgetsAnAction, Law::RoundTrip),
    (Flaw::EncodesWrongly, Law::RoundTrip),
    (Flaw::MissesALabel, Law::RoundTrip),
    (Flaw::NamesARowTooMany, Law::Described),
    (Flaw::CountsStrangeRows, Law::Described),
    (Flaw::IsUsuallyTooMuch, Law::Described),
    (Flaw::CallsNumbersFlags, Law::Described),
    (Flaw::RefusesWhatIsReached, Law::Audited),
    (Flaw::ResamplesADeadEnd, Law::Audited),
    (Flaw::AsksAStranger, Law::Pending),
    (Flaw::OffersNothing, Law::Pending),
    (Flaw::OffersMoreThanIsOwed, Law::Pending),
    (Flaw::HasNoOutcome, Law::Outcome),
    (Flaw::EndsTooSoon, Law::Outcome),
    (Flaw::AllowsMoreThanIsLegal, Law::LegalAgrees),
    (Flaw::AllowsAStranger, Law::LegalAgrees),
    (Flaw::LeavesAByteUnwritten, Law::Views),
    (Flaw::ExceedsAMaximum, Law::Views),
    (Flaw::TurnsAHand, Law::Views),
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
    (Flaw::ForgetsACard, Law::Forgets),
    (Flaw::ForgetsTheEnd, Law::Forgets),
    (Flaw::RemembersTheOrder, Law::CommitsCommute),
    (Flaw::ShowsACommit, Law::CommitsHidden),
    (Flaw::MovesOnRefusal, Law::Refusals),
    (Flaw::ForgetsToSave, Law::Restored),
    (Flaw::ForgetsToRestore, Law::Restored),
    (Flaw::SavesTooMuch, Law::Small),
    (Flaw::LastsTooLong, Law::Ends),
    (Flaw::ExplainsTooLittle, Law::Scores),
    (Flaw::ScoresBeyondItsRange, Law::Scores),
    (Flaw::DealsOtherwiseTheSecondTime, Law::Repeatable),
    (Flaw::DealsOtherwiseTheFourthTime, Law::Restarted),
];

/// The flaws of determinizations (worlds) that only the laws of knowledge detect.
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
    let words = payload.downcast::<String>().expect("a law says in words what is broken");
    Some(*words)
}

/// Returns a table with a flaw at which kept cards are hidden.
fn broken(flaw: Flaw) -> Arc<Broken> {
    Broken::new(&table::<Toy>(2, &[("kept", "hidden")]), flaw)
}

fn assert_broken(flaw: Flaw, law: Law, check: impl Fn(&Arc<Broken>, u64)) {
    let seen = (0..20).find_map(|seed| panic_of(|| check(&broken(flaw), seed)));
    let seen = seen.unwrap_or_else(|| panic!("no law sees {flaw:?}"));
    assert!(seen.starts_with(law.words()), "{flaw:?} should break {law:?}, but: {seen}");
}

#[test]
fn every_law_can_fail() {
    let proven: Vec<Law> = ORDINARY.iter().chain(OF_KNOWLEDGE).map(|(_, law)| *law).collect();
    for law in Law::ALL {
        assert!(proven.contains(law), "no broken twin breaks {law:?}");
    }
}

#[test]
fn a_twin_without_a_flaw_obeys_the_laws() {
    for toy in every_table::<Toy>() {
        let twin = Broken::new(&toy, Flaw::None);
        obeys_the_laws(&twin, 0..20);
        worlds_have_histories(&twin, 1);
    }
}

#[test]
fn a_broken_twin_breaks_its_law() {
    for &(flaw, law) in ORDINARY {
        assert_broken(flaw, law, |game, seed| obeys_the_laws(game, 20 * seed..20 * seed + 20));
    }
}

#[test]
#[should_panic(expected = "a view is 1 bytes shorter than its memory")]
fn a_layout_cannot_have_a_field_that_the_view_does_not_write() {
    obeys_the_laws(&broken(Flaw::HasAFieldTooMany), 0..1);
}

#[test]
fn only_the_laws_of_knowledge_see_what_is_drawn_wrongly() {
    for &(flaw, law) in OF_KNOWLEDGE {
        obeys_the_laws(&broken(flaw), 0..20);
        assert_broken(flaw, law, |game, seed| {
            worlds_have_histories(game, seed);
            knowledge_is_exact(game, seed, usual_likelihood);
        });
    }
}

#[test]
fn a_bias_of_two_in_a_hundred_is_seen() {
    let biases =
        [(Flaw::None, 0, 40), (Flaw::KeepsTheTruth, 150, 220), (Flaw::DealsOthersLowCards, 100, 220)];
    for (flaw, least, most) in biases {
        let game = broken(flaw);
        let state = *Episode::seeded(Arc::clone(&game), 7).state();
        let posterior = Posterior::of(&*game, Seat::FIRST, deals(&*game), &state);
        let mut rng = RngStream::new(1, 0);
        let distance = Frequencies::of(&*game, &state, Seat::FIRST, 400_000, &mut rng).distance(&posterior);
        assert!((least..=most).contains(&distance), "{flaw:?} has the distance {distance}");
        for seed in 0..20 {
            let mut rng = RngStream::new(seed, 0);
            let seen = panic_of(|| frequencies_agree(&*game, &state, &posterior, &mut rng));
            assert_eq!(seen.is_some(), flaw != Flaw::None, "{flaw:?}, seed {seed}: {seen:?}");
        }
    }
}
