//! The events of a match alone determine its state.

use super::*;
use crate::record::{Cause, Forfeited, InvalidEvent};
use boardwire_api::v1::IllegalActionPolicy;

/// Returns the whole state of a match as text: observations, hidden state, and the sources of later events.
pub(super) fn all_of(arbiter: &Arbiter, state: &State) -> String {
    let extras = Extras { text: true, explanation: true, actions: true, head: true };
    let State {
        id,
        play,
        present,
        past,
        by_seat,
        seeds,
        holders,
        votes,
        closed,
        clocks,
        deals,
        agents,
        invited,
    } = state;
    let seats = || arbiter.settings.seats();
    let observation = seats().map(|seat| state.observe(&arbiter.table, &arbiter.settings, seat, extras));
    let rngs = seats().map(|seat| (state.bot_rng(seat).seed(), state.substitute_rng(seat).seed()));
    let (observation, rngs): (Vec<_>, Vec<_>) = (observation.collect(), rngs.collect());
    let digest = play.digest();
    format!(
        "{:?}",
        (
            (id, present, past, by_seat, seeds),
            (invited, holders, votes, closed, clocks, deals, agents),
            (observation, rngs, digest)
        )
    )
}

/// Applies the events of a match to a new state, and compares it with the present one.
fn check_events(arbiter: &Arbiter) {
    let inner = arbiter.lock();
    let (opened, seeds) = inner.first.clone();
    let deals = Deals::restored(inner.state.deals.root(), arbiter.settings.players.len());
    let mut again = State::new(
        &arbiter.table,
        &arbiter.settings,
        arbiter.id(),
        opened,
        seeds,
        deals,
        arbiter.identity.created,
    );
    for event in &inner.events {
        again.apply(&arbiter.table, event).expect("it has happened");
    }
    assert!(all_of(arbiter, &again) == all_of(arbiter, &inner.state), "after {:?}", inner.events.last());
}

/// Returns the lowest legal action, but the lowest illegal action at every third decision.
fn choice(observation: &Observation) -> u32 {
    if observation.decision % 3 == 1 { illegal(observation) } else { legal(observation)[0] }
}

#[tokio::test]
async fn the_state_of_a_match_follows_from_its_events() {
    let greedy = || Player::Bot(Bot::Greedy { worlds: 1 });
    for game in boardwire_games::IDS {
        for (players, illegal_actions, skip_forced) in [
            (vec![AGENT, RANDOM, greedy()], IllegalActionPolicy::SeededLegal, true),
            (vec![greedy(), AGENT, AGENT], IllegalActionPolicy::FirstLegal, false),
            (vec![AGENT, greedy(), AGENT], IllegalActionPolicy::Forfeit, false),
        ] {
            let seats = u32::try_from(players.len()).expect("few");
            let settings = Settings { illegal_actions, skip_forced, seed: None, ..settings(&players) };
            let arbiter = arbiter(table(game, seats), settings);
            let agents = arbiter.settings.agents();
            for seat in agents.iter() {
                arbiter.join(seat, Some(Uuid::from_u128(seat.number().into())), None).expect("it is free");
            }
            for _ in 0..2 {
                while arbiter.phase() == Phase::Playing {
                    for seat in agents.iter() {
                        let observation =
                            arbiter.observe(seat, false, Extras::default()).await.expect("open");
                        if observation.pending.contains(&seat.number().into()) {
                            arbiter
                                .act(seat, decision_of(&observation, choice(&observation)))
                                .await
                                .expect("the policy accepts it");
                        }
                    }
                    check_events(&arbiter);
                }
                let resets = agents.iter().map(|seat| reset(&arbiter, seat, None, None));
                futures_util::future::try_join_all(resets).await.expect("the episode is over");
                check_events(&arbiter);
            }
            arbiter
                .resign(
                    Role::Host,
                    Some(agents.lowest().expect("one").number().into()),
                    None,
                    Extras::default(),
                )
                .await
                .expect("on");
            arbiter.close(CloseReason::Host);
            check_events(&arbiter);
            let commit = arbiter.lock().events.clone();
            let any = |wanted: fn(&EventKind) -> bool| commit.iter().any(|event| wanted(&event.what));
            assert!(any(|what| matches!(what, EventKind::Played { cause: Cause::Agent, .. })));
            assert!(any(|what| matches!(what, EventKind::Played { cause: Cause::Bot { .. }, .. })));
            assert!(any(|what| matches!(what, EventKind::Dealt { .. })));
            assert!(any(|what| matches!(what, EventKind::Closed(CloseReason::Host))));
            let is_handled = match illegal_actions {
                IllegalActionPolicy::Forfeit => {
                    any(|what| matches!(what, EventKind::Forfeited { given: Some(_), .. }))
                }
                _ => any(|what| matches!(what, EventKind::Played { cause: Cause::Substituted { .. }, .. })),
            };
            assert!(is_handled, "{game}");
            assert!(any(|what| matches!(what, EventKind::Voted { .. })) == (agents.len() > 1));
        }
    }
}

/// An invalid event returns an error, and does not change the state.
#[test]
fn an_impossible_event_is_refused() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    let mut inner = arbiter.lock();
    let before = all_of(&arbiter, &inner.state);
    for (seat, action) in [(0, 255), (0, 112), (1, 255)] {
        let what = EventKind::Played { seat: Seat::new(seat), action, cause: Cause::Agent, took: None };
        let event = Event { at: SystemTime::now(), what };
        let InvalidEvent(why) = inner.state.apply(&arbiter.table, &event).expect_err("it is not legal");
        assert!(why.starts_with(&format!("action {action}: ")), "{why}");
        assert_eq!(all_of(&arbiter, &inner.state), before);
    }
    let what =
        EventKind::Forfeited { forfeited: Forfeited { seat: Seat::new(1), why: Forfeit::Host }, given: None };
    inner.state.apply(&arbiter.table, &Event { at: SystemTime::now(), what }).expect("it can be");
    assert!(inner.state.is_over());
}
