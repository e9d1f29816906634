//! Checks that the toy samples determinizations with their exact probabilities.

use crate::testkit::{
    History, Replayable, check_histories, check_knowledge, every_table, posterior, random_play, table,
    uniform_likelihood,
};
use crate::{Audits, Seat};

use super::super::state::{Phase, Placement, State};
use super::super::{Action, Cards, Toy};

impl Replayable for Toy {
    fn history(&self, sample: &State, choices: &[(Seat, u8)], _viewer: Seat) -> Option<History> {
        let mut dealt = Vec::new();
        for seat in Seat::all(self.seats) {
            let played = sample.revealed().iter().filter_map(|plays| plays[seat]);
            let kept = sample.draws_of(seat).filter(|draw| draw.placement == Placement::Kept);
            let had = sample.hands[seat].union(played.collect());
            dealt.extend(had.difference(kept.map(|draw| draw.card).collect::<Cards>()));
        }
        let drawn = sample.draws.iter().flatten().map(|draw| draw.card.get()).collect();
        // All seats see whether a card is kept or buried, but a played card only after all have chosen.
        let mut rounds = [0; 3];
        let with_world_choice = |&(seat, index): &(Seat, u8)| match Action::at(index)? {
            Action::Play(_) => {
                let round = &mut rounds[seat.index()];
                *round += 1;
                Some((seat, Action::Play(sample.plays[*round - 1][seat]?).index()))
            }
            Action::Keep | Action::Bury => Some((seat, index)),
        };
        let choices = choices.iter().map(with_world_choice).collect::<Option<_>>()?;
        Some(History { outcomes: vec![dealt, drawn], choices })
    }
}

#[test]
fn every_sample_has_a_history() {
    for game in every_table::<Toy>() {
        for seed in 0..30 {
            check_histories(&game, seed);
        }
    }
}

#[test]
fn samples_have_their_probabilities() {
    for game in every_table::<Toy>() {
        for seed in 0..4 {
            check_knowledge(&game, seed, uniform_likelihood);
        }
    }
}

#[test]
fn the_posterior_has_every_possible_hand_and_choice() {
    let toy = table::<Toy>(2, &[]);
    let mut states = Vec::new();
    let choices = random_play(&toy, 3, |episode| states.push(*episode.state())).choices;
    let posterior_of =
        |seat, plies| posterior(&*toy, seat, &states[..=plies], &choices[..plies], uniform_likelihood);
    let (first, second) = (Seat::new(0), Seat::new(1));
    // The other hand is two of six cards. Then the first seat has chosen one of its two.
    assert_eq!(
        [posterior_of(first, 0).len(), posterior_of(first, 1).len(), posterior_of(second, 1).len()],
        [15, 15, 30]
    );
    let posterior = posterior_of(second, 1);
    assert!(posterior.weighted_states().all(|(state, weight)| weight == 1 && toy.audit(state).is_ok()));
}

#[test]
#[should_panic(expected = "samples are drawn with their probabilities")]
fn check_knowledge_rejects_another_likelihood() {
    // A choice of a seat with the ant counts as twice as likely.
    let likelihood = |_: &Toy, state: &State, seat: Seat, is_simultaneous: bool| {
        assert_eq!(is_simultaneous, state.phase == Phase::Play, "only cards are played simultaneously");
        if state.hands[seat].contains(1) { 1 } else { 2 }
    };
    for seed in 0..10 {
        check_knowledge(&table::<Toy>(2, &[]), seed, likelihood);
    }
}
