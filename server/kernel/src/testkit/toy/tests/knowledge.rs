//! Checks that the toy samples determinizations (worlds) with their exact probabilities.

use crate::testkit::{
    History, Replayable, every_table, knowledge_is_exact, posterior, random_play, table, usual_likelihood,
    worlds_have_histories,
};
use crate::{Audits, Seat};

use super::super::state::{Phase, Placement, State};
use super::super::{Action, Cards, Toy};

impl Replayable for Toy {
    fn history(&self, world: &State, choices: &[(Seat, u8)], _viewer: Seat) -> Option<History> {
        let mut dealt = Vec::new();
        for seat in Seat::all(self.seats) {
            let played = world.revealed().iter().filter_map(|plays| plays[seat]);
            let kept = world.draws_of(seat).filter(|draw| draw.placement == Placement::Kept);
            let had = world.hands[seat].union(played.collect());
            dealt.extend(had.difference(kept.map(|draw| draw.card).collect::<Cards>()));
        }
        let drawn = world.draws.iter().flatten().map(|draw| draw.card.get()).collect();
        // All seats see whether a card is kept or buried, but a played card only after all have chosen.
        let mut rounds = [0; 3];
        let as_in_the_world = |&(seat, index): &(Seat, u8)| match Action::at(index)? {
            Action::Play(_) => {
                let round = &mut rounds[seat.index()];
                *round += 1;
                Some((seat, Action::Play(world.plays[*round - 1][seat]?).index()))
            }
            Action::Keep | Action::Bury => Some((seat, index)),
        };
        let choices = choices.iter().map(as_in_the_world).collect::<Option<_>>()?;
        Some(History { outcomes: vec![dealt, drawn], choices })
    }
}

#[test]
fn every_world_has_a_history() {
    for game in every_table::<Toy>() {
        for seed in 0..30 {
            worlds_have_histories(&game, seed);
        }
    }
}

#[test]
fn worlds_are_drawn_as_often_as_they_are_likely() {
    for game in every_table::<Toy>() {
        for seed in 0..4 {
            knowledge_is_exact(&game, seed, usual_likelihood);
        }
    }
}

#[test]
fn worlds_are_every_hand_and_choice_the_other_can_have() {
    let toy = table::<Toy>(2, &[]);
    let mut states = Vec::new();
    let choices = random_play(&toy, 3, |episode| states.push(*episode.state())).choices;
    let worlds = |seat, plies| posterior(&*toy, seat, &states[..=plies], &choices[..plies], usual_likelihood);
    let (first, second) = (Seat::new(0), Seat::new(1));
    // The other hand is two of six cards. Then the first seat has chosen one of its two.
    assert_eq!([worlds(first, 0).len(), worlds(first, 1).len(), worlds(second, 1).len()], [15, 15, 30]);
    let posterior = worlds(second, 1);
    assert!(posterior.worlds().all(|(world, weight)| weight == 1 && toy.audit(world).is_ok()));
}

#[test]
#[should_panic(expected = "worlds are drawn as often as they are likely")]
fn a_likelihood_counts() {
    // A choice of a seat with the ant counts as twice as likely.
    let likelihood = |_: &Toy, state: &State, seat: Seat, is_simultaneous: bool| {
        assert_eq!(is_simultaneous, state.phase == Phase::Play, "only cards are played at once");
        if state.hands[seat].contains(1) { 1 } else { 2 }
    };
    for seed in 0..10 {
        knowledge_is_exact(&table::<Toy>(2, &[]), seed, likelihood);
    }
}
