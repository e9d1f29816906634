//! Fair deals, to which every party contributes.

use boardwire_api::{Error, v1};
use boardwire_batch::messages::players;
use ring::digest::{SHA256, digest};
use tokio::time::Instant;

use super::replay::config_of;
use super::*;
use crate::record::{InvalidEvent, fair::EPISODES};

fn fair_match(players: &[Player]) -> Arc<Arbiter> {
    faraway(Settings { seed: None, fair_deals: true, ..settings(players) })
}

/// Returns the secret of the agent at a seat.
fn secret_of(seat: Seat) -> DealSecret {
    [seat.number() + 1; 32]
}

fn join_with_commitment(arbiter: &Arc<Arbiter>, seat: Seat) {
    arbiter
        .join(seat, Some(Uuid::from_u128(9)), Some(commitment_to(&secret_of(seat))))
        .expect("the seat has no agent");
}

/// Returns a match that has been dealt.
async fn dealt_fair_match(players: &[Player]) -> Arc<Arbiter> {
    let arbiter = fair_match(players);
    for seat in arbiter.settings.agents().iter() {
        join_with_commitment(&arbiter, seat);
    }
    for seat in arbiter.settings.agents().iter() {
        arbiter.open_deal(seat, secret_of(seat)).await.expect("all have joined");
    }
    arbiter
}

#[tokio::test]
async fn nothing_is_dealt_before_all_have_opened() {
    let arbiter = fair_match(&[AGENT, RANDOM, AGENT]);
    let (first, last) = (Seat::new(0), Seat::new(2));
    let missing = |suffix| {
        let summary = arbiter.describe(Audience::Seat(Seat::FIRST));
        assert_eq!((arbiter.phase(), summary.seed_opening), (Phase::Gathering, None));
        assert!(summary.seed_commitment.is_empty());
        let refused = arbiter.lock().state.require_dealt().expect_err("nothing is dealt");
        assert!(refused.to_string().ends_with(suffix), "{refused}");
        summary.waiting_for
    };
    assert_eq!(missing("must call JoinMatch first"), [0, 2]);
    let commitment = |seat| Some(commitment_to(&secret_of(seat)));
    assert!(arbiter.join(first, None, None).is_err(), "it gives no commitment");
    arbiter.join(first, None, commitment(first)).expect("the seat has no agent");
    // It must not open its secret before the other agent has joined: the other could choose its own after it sees this one.
    {
        let early = std::pin::pin!(arbiter.open_deal(first, secret_of(first)));
        assert!(futures_util::poll!(early).is_pending(), "it waits");
    }
    assert_eq!(fair_deal(&arbiter).seat_secrets, to_message_bytes(&[None; 3]));
    arbiter.join(last, None, commitment(last)).expect("the seat has no agent");
    assert_eq!(missing("must call OpenDeal first"), [0, 2]);
    assert!(arbiter.open_deal(first, secret_of(last)).await.is_err(), "it is another seat's secret");
    for _ in 0..2 {
        arbiter.open_deal(first, secret_of(first)).await.expect("all have joined");
        assert_eq!(missing("must call OpenDeal first"), [2]);
        // No caller sees the secret of one seat before the other seat has opened its own.
        assert_eq!(fair_deal(&arbiter).seat_secrets, to_message_bytes(&[None; 3]));
    }
    let decision = Decision { episode: 0, number: 0, action: 0 };
    for refused in [
        arbiter.observe(first, false, Extras::default()).await.map(drop),
        arbiter.act(first, decision).await.map(drop),
        arbiter.information_set(first).await.map(drop),
        arbiter.resign(first, None, None, Extras::default()).await.map(drop),
        arbiter.reset_match(Role::Host, None, None).await,
        arbiter.replay(Audience::Host, None).map(drop),
    ] {
        assert!(matches!(refused, Err(Error::NotDealt { .. })), "{refused:?}");
    }
    let mut watcher = arbiter.watch(None).expect("watching needs no deal");
    let (shown, first_frame, opened) = tokio::join!(
        arbiter.observe(first, true, Extras::default()),
        next(&mut watcher),
        arbiter.open_deal(last, secret_of(last)),
    );
    assert_eq!(opened, Ok(()));
    assert!(shown.expect("the episode is dealt").pending.contains(&first.number().into()));
    assert_eq!(first_frame.expect("the episode is dealt").expect("there is a frame").sequence, 1);
    assert_eq!(arbiter.phase(), Phase::Playing);
    let secrets = to_message_bytes(&[Some(secret_of(first)), None, Some(secret_of(last))]);
    assert_eq!(fair_deal(&arbiter).seat_secrets, secrets);
}

#[tokio::test]
async fn a_repeated_secret_does_not_restart_bots() {
    let arbiter = dealt_fair_match(&[AGENT, Player::Bot(Bot::Search { playouts: 20_000 })]).await;
    assert!(arbiter.bots_think(), "20,000 playouts take a while");
    let rounds = arbiter.lock().bot_round_count;
    let seat = Seat::new(0);
    arbiter.open_deal(seat, secret_of(seat)).await.expect("the call may be repeated");
    assert_eq!(arbiter.lock().bot_round_count, rounds);
    assert!(arbiter.bots_think());
    arbiter.close(CloseReason::Host);
}

/// Only the match id, the episode and the secrets of all parties determine the key of an episode.
#[tokio::test]
async fn a_replay_proves_that_its_deal_was_fair() {
    let arbiter = dealt_fair_match(&[AGENT, RANDOM, AGENT]).await;
    let server = fair_deal(&arbiter).server_commitment;
    let mut keys = Vec::new();
    for episode in 0..3 {
        let before = arbiter.describe(Audience::Seat(Seat::FIRST)).seed_opening;
        assert_eq!(before, None, "the episode is not over");
        play_to_end(&arbiter).await;
        let opening =
            arbiter.describe(Audience::Seat(Seat::FIRST)).seed_opening.expect("the episode is over");
        let secret = DealSecret::try_from(&opening.server_secret[..]).expect("32 bytes");
        let mut hash = secret;
        for _ in 0..=episode {
            hash = commitment_to(&hash);
        }
        assert_eq!(hash[..], server);
        let key = opening.key;
        let bytes = [
            &b"boardwire fair deal"[..],
            arbiter.id().as_bytes(),
            &[episode, 0, 0, 0],
            &secret,
            &[0],
            &secret_of(Seat::new(0)),
            &[2],
            &secret_of(Seat::new(2)),
        ];
        assert_eq!(key, digest(&SHA256, &bytes.concat()).as_ref());
        assert!(!keys.contains(&key));
        keys.push(key);
        let replay = arbiter.replay(Audience::Host, None).expect("the replay is kept");
        let verified = verify(&replay, &tables()).expect("the replay is right");
        assert_eq!(verified.contributed, arbiter.settings.agents());
        arbiter.reset_match(Role::Host, None, None).await.expect("the host may reset the match");
    }
    let seeded = arbiter.reset_match(Role::Host, Some(5), None).await;
    assert!(matches!(seeded, Err(Error::FieldInvalid { field: "seed", .. })));
}

/// A journal that was tampered with may have more deals than the server has secrets for.
#[tokio::test]
async fn a_deal_without_a_secret_of_the_server_is_refused() {
    let arbiter = dealt_fair_match(&[AGENT, AGENT]).await;
    let mut inner = arbiter.lock();
    let (key, seeds) = inner.first.clone();
    let event = Event { at: arbiter.identity.created, kind: EventKind::Dealt { key, seeds } };
    for episode in 1..EPISODES {
        inner.state.apply(&arbiter.table, &event).expect("the server has a secret for it");
        assert_eq!(inner.state.present.episode, episode);
    }
    let InvalidEvent(problem) =
        inner.state.apply(&arbiter.table, &event).expect_err("the server has no secret for it");
    assert_eq!(problem, "a match with fair deals has at most 1024 episodes");
    assert_eq!(inner.state.present.episode, EPISODES - 1);
}

#[tokio::test]
async fn an_unfair_deal_is_refused() {
    let arbiter = dealt_fair_match(&[AGENT, AGENT]).await;
    arbiter.resign(Role::Host, Some(1), None, Extras::default()).await.expect("the episode is not over");
    let good = arbiter.replay(Audience::Host, None).expect("the replay is kept");
    let error_of = |change: &dyn Fn(&mut v1::Replay, &mut v1::FairDeal)| {
        let mut changed = good.clone();
        let mut deal = changed.fair.take().expect("the deal is fair");
        change(&mut changed, &mut deal);
        changed.fair = Some(deal);
        verify(&changed, &tables()).expect_err("the replay was altered").to_string()
    };
    let other = || bytes::Bytes::from(vec![7; 32]);
    for (error, expected) in [
        (error_of(&|_, deal| deal.server_commitment = other()), "the server's secret does not match"),
        (error_of(&|_, deal| deal.server_commitment.clear()), "the server's secret does not match"),
        (error_of(&|_, deal| deal.seat_secrets[1] = other()), "seat 1 does not match its commitment"),
        (error_of(&|_, deal| deal.seat_secrets.clear()), "seat 0 does not match"),
        (error_of(&|_, deal| deal.seat_commitments[0] = other()), "seat 0 does not match"),
        (
            error_of(&|replay, _| {
                replay.seed_opening.as_mut().expect("the episode is over").server_secret.clear();
            }),
            "is missing",
        ),
        (
            error_of(&|replay, _| config_of(replay).players[0] = players(&["greedy"]).remove(0)),
            "does not follow from the secrets",
        ),
        (
            error_of(&|_, deal| {
                let (secret, commitment) = ([7; 32], commitment_to(&[7; 32]));
                (deal.seat_secrets[1], deal.seat_commitments[1]) =
                    (secret.to_vec().into(), commitment.to_vec().into());
            }),
            "does not follow from the secrets",
        ),
    ] {
        assert!(error.contains(expected), "{error}, not {expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_open_its_secret_loses() {
    crate::stall::tests::disable();
    let arbiter = fair_match(&[AGENT, AGENT]);
    let (honest, other) = (Seat::new(0), Seat::new(1));
    join_with_commitment(&arbiter, honest);
    // The timeout starts only when all agents have joined.
    tokio::time::sleep(Duration::from_hours(1)).await;
    join_with_commitment(&arbiter, other);
    let began = Instant::now();
    arbiter.open_deal(honest, secret_of(honest)).await.expect("all have joined");
    let observation = arbiter.observe(honest, true, Extras::default()).await;
    let seats: SeatSet = [other].into_iter().collect();
    let withheld = Error::DealWithheld { match_id: arbiter.id().to_owned(), seats: seats.to_string() };
    assert_eq!(observation, Err(withheld));
    let waited = began.elapsed();
    assert!((30..32).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(arbiter.phase(), Phase::Closed(CloseReason::Withheld { seats }));
    // The match shows neither the honest agent's secret, nor a key, since it was never dealt.
    let summary = arbiter.describe(Audience::Seat(Seat::FIRST));
    assert_eq!(fair_deal(&arbiter).seat_secrets, to_message_bytes(&[None, None]));
    assert!(summary.seed_commitment.is_empty() && summary.seed_opening.is_none());
}

#[test]
fn fair_deals_take_no_seed() {
    for wrong in [
        Settings { seed: Some(1), ..settings(&[AGENT, RANDOM]) },
        Settings { seed: None, seat_may_seed: true, ..settings(&[AGENT, RANDOM]) },
        Settings { seed: None, ..settings(&[RANDOM, RANDOM]) },
    ] {
        let refused = Settings { fair_deals: true, ..wrong }.check();
        assert!(matches!(refused, Err(Error::FieldInvalid { field: "fair_deals", .. })));
    }
}
