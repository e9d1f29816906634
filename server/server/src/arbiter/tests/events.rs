//! Checks that nothing but its events determines the state of a match.

use super::restarts::journal;
use super::*;
use crate::record::{Cause, Forfeited, InvalidEvent};
use boardwire_api::v1::IllegalActionPolicy;

/// Returns the whole state of a match as text: observations, hidden state, and the sources of later events.
pub(super) fn all_of(arbiter: &Arbiter, state: &State) -> String {
    let extras =
        Extras { text: true, explanation: true, actions: true, head: true, history: true, label_seed: None };
    let State {
        id,
        play,
        present,
        past,
        by_seat,
        seeds,
        holders,
        asked_seats,
        closed,
        clocks,
        deals,
        agents,
        invited,
    } = state;
    let seats = || arbiter.settings.seats();
    let observation = seats().map(|seat| state.observe(&arbiter.table, &arbiter.settings, seat, extras));
    let rngs = seats().map(|seat| (state.bot_rng(seat).next_seed(), state.substitute_rng(seat).next_seed()));
    let (observation, rngs): (Vec<_>, Vec<_>) = (observation.collect(), rngs.collect());
    let digest = play.digest();
    format!(
        "{:?}",
        (
            (id, present, past, by_seat, seeds),
            (invited, holders, asked_seats, closed, clocks, deals, agents),
            (observation, rngs, digest)
        )
    )
}

/// Applies the events of a match to a new state, and compares it with the present one.
fn check_events(arbiter: &Arbiter) {
    let inner = arbiter.lock();
    let (key, seeds) = inner.first.clone();
    let deals = Deals::restore(inner.state.deals.root(), arbiter.settings.players.len());
    let mut again = State::new(
        &arbiter.table,
        &arbiter.settings,
        arbiter.id(),
        key,
        seeds,
        deals,
        arbiter.identity.created,
    );
    for event in &inner.events {
        again.apply(&arbiter.table, event).expect("the event was applied before");
    }
    assert!(all_of(arbiter, &again) == all_of(arbiter, &inner.state), "after {:?}", inner.events.last());
}

/// Returns the lowest legal action, but the lowest illegal action at every third decision.
fn choice(observation: &Observation) -> u32 {
    if observation.decision % 3 == 1 { illegal(observation) } else { legal(observation)[0] }
}

#[tokio::test]
async fn the_state_of_a_match_follows_from_its_events() {
    let greedy = || Player::Bot(Bot::Greedy { determinizations: 1 });
    for game in boardwire_games::IDS {
        for (players, illegal_actions, skip_forced) in [
            (vec![AGENT, RANDOM, greedy()], IllegalActionPolicy::SeededLegal, true),
            (vec![greedy(), AGENT, AGENT], IllegalActionPolicy::FirstLegal, false),
            (vec![AGENT, greedy(), AGENT], IllegalActionPolicy::Forfeit, false),
        ] {
            let seats = u32::try_from(players.len()).expect("the number fits u32");
            let settings = Settings { illegal_actions, skip_forced, seed: None, ..settings(&players) };
            let arbiter = arbiter(table(game, seats), settings);
            let agents = arbiter.settings.agents();
            for seat in agents.iter() {
                arbiter
                    .join(seat, Some(Uuid::from_u128(seat.number().into())), None)
                    .expect("the seat has no agent");
            }
            for _ in 0..2 {
                while arbiter.phase() == Phase::Playing {
                    for seat in agents.iter() {
                        let observation =
                            arbiter.observe(seat, false, Extras::default()).await.expect("the match is open");
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
            let lowest = agents.lowest().expect("the match has an agent").number().into();
            let resigned = arbiter.resign(Role::Host, Some(lowest), None, Extras::default());
            resigned.await.expect("the episode is not over");
            arbiter.close(CloseReason::Host);
            check_events(&arbiter);
            let commit = arbiter.lock().events.clone();
            let any = |wanted: fn(&EventKind) -> bool| commit.iter().any(|event| wanted(&event.kind));
            assert!(any(|kind| matches!(kind, EventKind::Played { cause: Cause::Agent, .. })));
            assert!(any(|kind| matches!(kind, EventKind::Played { cause: Cause::Bot { .. }, .. })));
            assert!(any(|kind| matches!(kind, EventKind::Dealt { .. })));
            assert!(any(|kind| matches!(kind, EventKind::Closed(CloseReason::Host))));
            let is_handled = match illegal_actions {
                IllegalActionPolicy::Forfeit => {
                    any(|kind| matches!(kind, EventKind::Forfeited { given: Some(_), .. }))
                }
                _ => any(|kind| matches!(kind, EventKind::Played { cause: Cause::Substituted { .. }, .. })),
            };
            assert!(is_handled, "{game}");
            assert!(any(|kind| matches!(kind, EventKind::AskedForNext { .. })) == (agents.len() > 1));
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
        let kind =
            EventKind::Played { seat: Seat::new(seat), action, cause: Cause::Agent, decision_time: None };
        let event = Event { at: SystemTime::now(), kind };
        let InvalidEvent(problem) =
            inner.state.apply(&arbiter.table, &event).expect_err("the action is not legal");
        assert!(problem.starts_with(&format!("action {action}: ")), "{problem}");
        assert_eq!(all_of(&arbiter, &inner.state), before);
    }
    let kind = EventKind::Forfeited {
        forfeited: Forfeited { seat: Seat::new(1), reason: Forfeit::Host },
        given: None,
    };
    inner.state.apply(&arbiter.table, &Event { at: SystemTime::now(), kind }).expect("the forfeit is valid");
    assert!(inner.state.is_over());
}

/// Renaming a Rust field must not change the journal.
#[tokio::test]
async fn the_creation_of_a_match_keeps_its_names_in_the_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let (writer, _) = journal(&folder);
    let settings = Settings { fair_deals: true, ..Settings::of(vec![AGENT, AGENT]) };
    let arbiter = Arbiter::new(table("faraway", 2), settings, pool().new_group().work_queue(), 3);
    let arbiter = arbiter.with_journal(&writer);
    arbiter.wait_until_written().await.expect("the line is written");
    writer.close();
    let (writer, saved) = journal(&folder);
    writer.close();
    let created: serde_json::Value = serde_json::from_str(&saved[0].lines[0]).expect("the line is JSON");
    let names = |value: &serde_json::Value| {
        let mut names: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
        names.sort_unstable();
        names.join(" ")
    };
    assert_eq!(names(&created), "at config fair host invitations opened opening seeds spec spectator");
    assert_eq!(names(&created["opened"]), "key salt source");
    assert_eq!(created["opening"], serde_json::json!({ "secs": OPENING_TIMEOUT.as_secs(), "nanos": 0 }));
}

/// Renaming a Rust field or variant must not change the journal.
#[test]
fn events_keep_their_names_in_the_journal() {
    let (seat, time) = (Seat::new(1), Duration::from_secs(1));
    let decision_time = Some(DecisionTime { elapsed: 2 * time, network: time });
    let timed_out = Cause::TimedOut { words: 3, bot: true };
    let substituted = Cause::Substituted { given: 7, words: 3 };
    let failed = CloseReason::BotFailed { seat, problem: "x".to_owned() };
    let hex = "07".repeat(32);
    for (kind, expected) in [
        (
            EventKind::Joined { seat, token: [7; 32], request: None, commitment: Some([7; 32]) },
            format!(r#"{{"joined":{{"seat":1,"token":"{hex}","request":null,"bound":"{hex}"}}}}"#),
        ),
        (
            EventKind::Invited { seat, invitation: [7; 32] },
            format!(r#"{{"invited":{{"seat":1,"invitation":"{hex}"}}}}"#),
        ),
        (
            EventKind::Opened { seat, secret: [7; 32] },
            format!(r#"{{"opened":{{"seat":1,"part":"{hex}"}}}}"#),
        ),
        (
            EventKind::Dealt { key: EpisodeKey::placeholder(), seeds: secret::Seeds::Given { seed: 7, next: 1 } },
            format!(
                r#"{{"dealt":{{"opened":{{"source":"drawn","key":"{}","salt":"{}"}},"seeds":{{"given":{{"seed":7,"next":1}}}}}}}}"#,
                "00".repeat(32),
                "00".repeat(16)
            ),
        ),
        (
            EventKind::Played { seat, action: 4, cause: timed_out, decision_time },
            r#"{"played":{"seat":1,"action":4,"cause":{"late":{"words":3,"bot":true}},"took":{"all":{"secs":2,"nanos":0},"refund":{"secs":1,"nanos":0}}}}"#.to_owned(),
        ),
        (
            EventKind::Played { seat, action: 4, cause: substituted, decision_time: None },
            r#"{"played":{"seat":1,"action":4,"cause":{"substituted":{"given":7,"words":3}}}}"#.to_owned(),
        ),
        (EventKind::TimedOut { seat }, r#"{"ran_out":{"seat":1}}"#.to_owned()),
        (
            EventKind::Forfeited { forfeited: Forfeited { seat, reason: Forfeit::Time }, given: None },
            format!(r#"{{"forfeited":{{"forfeited":{{"seat":1,"why":{}}},"given":null}}}}"#, i32::from(Forfeit::Time)),
        ),
        (EventKind::AskedForNext { seat }, r#"{"voted":{"seat":1}}"#.to_owned()),
        (EventKind::Closed(failed), r#"{"closed":{"bot_failed":{"seat":1,"what":"x"}}}"#.to_owned()),
    ] {
        let event = Event { at: SystemTime::UNIX_EPOCH + time, kind };
        let json = serde_json::to_string(&event).expect("every event has a JSON form");
        assert_eq!(json, format!(r#"{{"at":1000000,"what":{expected}}}"#));
    }
}
