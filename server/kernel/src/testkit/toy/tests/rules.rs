//! Tests of the toy's rules.

use super::super::state::{Phase, Placement, State};
use super::super::{Action, CardId, Catalogue, Toy};
use crate::testkit::{table, text};
use crate::{Audits, Episode, Estimate, LoadedCatalogue, RandomSource, Scoring, Seat, Setup, Viewer};

const FIRST: Seat = Seat::FIRST;

/// Starts an episode: seat 0 has elk and hen, seat 1 has ant and fox. The draws are gnu and bee.
fn dealt() -> Episode<Toy> {
    Episode::start(table(2, &[]), RandomSource::scripted([vec![5, 8, 1, 6], vec![7, 2]]))
}

fn choose(episode: &mut Episode<Toy>, seat: Seat, action: Action) {
    episode.apply(seat, action.index().into()).expect("the choice is legal");
    assert_eq!(episode.random_source().script_error(), None);
}

fn play(episode: &mut Episode<Toy>, cards: [u8; 2]) {
    for (seat, card) in Seat::all(2).zip(cards) {
        choose(episode, seat, Action::Play(CardId::new(card)));
    }
}

fn finished() -> Episode<Toy> {
    let mut episode = dealt();
    play(&mut episode, [5, 6]);
    choose(&mut episode, Seat::new(1), Action::Keep);
    play(&mut episode, [8, 1]);
    choose(&mut episode, FIRST, Action::Bury);
    episode
}

#[test]
fn the_greatest_value_wins_the_round_and_draws() {
    let mut episode = dealt();
    play(&mut episode, [5, 6]);
    let draw = episode.state().draws[0].expect("the winner has drawn");
    assert_eq!((draw.seat, draw.card.get(), draw.placement), (Seat::new(1), 7, Placement::Open));
    assert_eq!(episode.pending().iter().collect::<Vec<_>>(), [Seat::new(1)]);
}

#[test]
fn values_won_count_and_cards_left_over_cost() {
    let episode = finished();
    let outcome = episode.outcome().expect("the game is over");
    assert_eq!((outcome.scores(), outcome.ranks()), ([9, 4].as_slice(), [1, 2].as_slice()));
    let lines = episode.game().explain(episode.state(), Seat::new(1));
    let lines: Vec<_> = lines.iter().map(|line| (line.source.as_str(), line.points)).collect();
    assert_eq!(lines, [("round 1", 11), ("gnu left over", -7)]);
    assert_eq!(episode.game().value(episode.state(), FIRST), Some(5));
}

#[test]
fn a_kept_card_is_shown_and_a_buried_one_is_not() {
    let episode = finished();
    assert!(text(&episode, Viewer::Public).contains("seat 1 kept gnu"));
    assert!(text(&episode, Viewer::Public).contains("seat 0 buried a card"));
    assert!(text(&episode, FIRST).contains("seat 0 buried bee"));
}

#[test]
fn an_invalid_catalogue_is_refused() {
    let refusal = |from: &str, to: &str| {
        let json = Toy::TYPE.catalogue.replace(from, to);
        LoadedCatalogue::<Catalogue>::read(&json).err().map_or_else(String::new, |error| error.to_string())
    };
    assert_eq!(refusal("bee", "ant"), "cards.rows[1].name: is `ant`, as in cards.rows[0]");
    assert_eq!(refusal(": 2 }", ": 1 }"), "cards.rows[1].value: is `1`, as in cards.rows[0]");
    assert_eq!(refusal(": 2 }", ": 0 }"), "cards.rows[1].value: must be a whole number from 1 to 99; got 0");
    let ant = r#"{ "name": "ant", "value": 1 },"#;
    assert_eq!(refusal(ant, ""), "cards.rows: has 7 rows, but the rules need 8");
}

/// A change that makes one thing wrong in a state.
type Damage = fn(&mut State);

#[test]
fn the_audit_refuses_unreachable_states() {
    let episode = finished();
    let damages: [Damage; 8] = [
        |state| state.round = 2,
        |state| state.phase = Phase::Play,
        |state| state.deck.insert(1),
        |state| state.deck.insert(9),
        |state| assert!(state.hands[Seat::new(1)].remove(7)),
        |state| state.plays[0][FIRST] = None,
        |state| state.draws[0] = None,
        |state| state.draws[1].iter_mut().for_each(|draw| draw.placement = Placement::Open),
    ];
    assert_eq!(episode.game().audit(episode.state()), Ok(()));
    for (at, damage) in damages.iter().enumerate() {
        let mut state = *episode.state();
        damage(&mut state);
        assert!(episode.game().audit(&state).is_err(), "damage {at} is not detected");
    }
}
