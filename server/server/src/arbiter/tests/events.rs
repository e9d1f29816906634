//! How a match stands follows from its events alone.

use super::*;
use crate::record::{Cause, Forfeited, InvalidEvent};
use boardwire_api::v1::IllegalActionPolicy;

/// Everything a match knows: what seats are told, what follows, and what is hidden.
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
    let seen = seats().map(|seat| state.observe(&arbiter.table, &arbiter.settings, seat, extras));
    let rngs = seats().map(|seat| (state.bot_rng(seat).seed(), state.substitute_rng(seat).seed()));
    let (seen, rngs): (Vec<_>, Vec<_>) = (seen.collect(), rngs.collect());
    let digest = play.digest();
    format!(
        "{:?}",
        (
            (id, present, past, by_seat, seeds),
            (invited, holders, votes, closed, clocks, deals, agents),
            (seen, rngs, digest)
        )
    )
}

/// Folds a match from its events again, and compares.
fn same_again(arbiter: &Arbiter) {
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

/// The first illegal action of every third decision, else the lowest legal one.
fn choice(seen: &Observation) -> u32 {
    if seen.decision % 3 == 1 { illegal(seen) } else { legal(seen)[0] }
}

#[tokio::test]
async fn a_match_is_a_fold_over_its_events() {
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
                        let seen = arbiter.observe(seat, false, Extras::default()).await.expect("open");
                        if seen.pending.contains(&seat.number().into()) {
                            arbiter.act(seat, answer(&seen, choice(&seen))).await.expect("it is treated");
                        }
                    }
                    same_again(&arbiter);
                }
                let resets = agents.iter().map(|seat| reset(&arbiter, seat, None, None));
                futures_util::future::try_join_all(resets).await.expect("the episode is over");
                same_again(&arbiter);
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
            same_again(&arbiter);
            let commit = arbiter.lock().events.clone();
            let any = |wanted: fn(&EventKind) -> bool| commit.iter().any(|event| wanted(&event.what));
            assert!(any(|what| matches!(what, EventKind::Played { cause: Cause::Agent, .. })));
            assert!(any(|what| matches!(what, EventKind::Played { cause: Cause::Bot { .. }, .. })));
            assert!(any(|what| matches!(what, EventKind::Dealt { .. })));
            assert!(any(|what| matches!(what, EventKind::Closed(CloseReason::Host))));
            let treated = match illegal_actions {
                IllegalActionPolicy::Forfeit => {
                    any(|what| matches!(what, EventKind::Forfeited { given: Some(_), .. }))
                }
                _ => any(|what| matches!(what, EventKind::Played { cause: Cause::Substituted { .. }, .. })),
            };
            assert!(treated, "{game}");
            assert!(any(|what| matches!(what, EventKind::Voted { .. })) == (agents.len() > 1));
        }
    }
}

/// An event that does not fit is refused, and leaves the match as it was.
#[test]
fn what_cannot_have_happened_is_refused() {
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
