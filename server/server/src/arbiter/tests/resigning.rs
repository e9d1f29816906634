//! Tests of resigning, and of the public description of a match.

use boardwire_api::Error;
use boardwire_api::v1::IllegalActionPolicy;

use super::*;

const HOST: Role = Role::Host;

fn seat(index: u8) -> Role {
    Role::Seat(Seat::new(index))
}

#[tokio::test]
async fn a_seat_that_resigns_is_last_and_all_other_seats_are_first() {
    for illegal_actions in [IllegalActionPolicy::Reject, IllegalActionPolicy::Forfeit] {
        let arbiter = faraway(Settings { illegal_actions, ..settings(&[AGENT, RANDOM, AGENT]) });
        arbiter.resign(seat(2), None, Some(0), Extras::default()).await.expect("the seat may resign");
        let end = observe(&arbiter, Seat::new(2)).await;
        assert!(end.terminated && !end.truncated && end.pending.is_empty() && legal(&end).is_empty());
        let ending = end.outcome.expect("the episode is over");
        let none = Forfeit::Unspecified;
        assert_eq!(ending.forfeits().collect::<Vec<_>>(), [none, none, Forfeit::Resigned]);
        assert_eq!((ending.scores, ending.ranks), (vec![], vec![1, 1, 3]));
        let rewards = [observe(&arbiter, Seat::new(0)).await.reward, end.reward];
        assert_eq!(rewards.map(f32::to_bits), [0.5_f32, -1.0].map(f32::to_bits));
        let late = arbiter.act(Seat::new(0), Decision { episode: 0, number: 0, action: 0 }).await;
        assert_eq!(late, Err(Error::EpisodeOver { episode: 0 }));
    }
}

#[tokio::test]
async fn resigning_may_be_repeated_and_one_seat_loses_an_episode() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    arbiter.resign(seat(1), Some(1), Some(0), Extras::default()).await.expect("a seat may name itself");
    let before = observe(&arbiter, Seat::new(1)).await;
    arbiter.resign(seat(1), None, Some(0), Extras::default()).await.expect("a repetition is answered");
    assert_eq!(observe(&arbiter, Seat::new(1)).await, before);
    assert_eq!(
        arbiter.resign(seat(0), None, Some(0), Extras::default()).await,
        Err(Error::EpisodeOver { episode: 0 })
    );
    arbiter.reset_match(Role::Host, None, None).await.expect("the host may reset the match");
    assert_eq!(
        arbiter.resign(seat(1), None, Some(0), Extras::default()).await,
        Err(Error::EpisodeOver { episode: 0 })
    );
    let early = arbiter.resign(seat(1), None, Some(2), Extras::default()).await;
    assert!(matches!(early, Err(Error::FieldInvalid { field: "episode", .. })), "{early:?}");
    assert_eq!(arbiter.phase(), Phase::Playing, "nothing has changed");
}

#[tokio::test]
async fn only_the_host_may_resign_for_another_seat() {
    let arbiter = faraway(settings(&[AGENT, RANDOM, AGENT]));
    let refused = arbiter.resign(seat(0), Some(2), Some(0), Extras::default()).await;
    assert!(matches!(refused, Err(Error::HostOnly { .. })), "{refused:?}");
    for no_agent in [None, Some(1), Some(3), Some(u32::MAX)] {
        let refused = arbiter.resign(HOST, no_agent, Some(0), Extras::default()).await;
        assert!(matches!(refused, Err(Error::FieldInvalid { field: "seat", .. })), "{refused:?}");
    }
    arbiter.resign(HOST, Some(2), None, Extras::default()).await.expect("the host may resign for a seat");
    let ending = observe(&arbiter, Seat::new(0)).await.outcome.expect("the episode is over");
    assert_eq!(ending.forfeits().nth(2), Some(Forfeit::Host));
}

#[tokio::test]
async fn a_match_shows_which_seats_it_waits_for() {
    let arbiter = faraway(settings(&[AGENT, AGENT, AGENT]));
    let waiting_for = || arbiter.describe(Audience::Host).waiting_for;
    let last_action = || arbiter.lock().state.present.last_action_at;
    assert_eq!(waiting_for(), [0, 1, 2]);
    let observation = observe(&arbiter, Seat::new(1)).await;
    let dealt = last_action();
    while SystemTime::now() <= dealt {
        std::hint::spin_loop();
    }
    arbiter
        .act(Seat::new(1), decision_of(&observation, legal(&observation)[0]))
        .await
        .expect("the decision is due");
    assert_eq!(waiting_for(), [0, 2]);
    let acted = last_action();
    assert!(acted > dealt && dealt >= arbiter.identity.created);
    arbiter.act(Seat::new(1), decision_of(&observation, legal(&observation)[0])).await.expect("a repetition");
    observe(&arbiter, Seat::new(0)).await;
    assert_eq!(last_action(), acted, "no action was played since");
    arbiter.resign(seat(0), None, Some(0), Extras::default()).await.expect("the seat may resign");
    assert_eq!((arbiter.phase(), waiting_for()), (Phase::Over, vec![0, 1, 2]));
    let request = reset(&arbiter, Seat::new(2), None, None);
    let mut request = std::pin::pin!(request);
    assert!(futures_util::poll!(request.as_mut()).is_pending());
    assert_eq!(waiting_for(), [0, 1], "seat 2 has asked for the next episode");
    arbiter.close(CloseReason::Host);
    assert_eq!((arbiter.phase(), waiting_for()), (Phase::Closed(CloseReason::Host), vec![]));
}

#[test]
fn labels_are_bounded() {
    let check = |labels: &[(&str, &str)]| {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings { labels, ..settings(&[AGENT, RANDOM]) }.check()
    };
    let (longest, value) = ("n".repeat(63), "ü".repeat(64));
    assert_eq!(check(&[("a-z_0.9", ""), (&longest, &value)]), Ok(()));
    let (too_long, too_much) = ("n".repeat(64), "x".repeat(129));
    for wrong in [("", "x"), ("Upper", "x"), ("a b", "x"), (&too_long, "x"), ("a", &too_much)] {
        let refused = check(&[wrong]);
        assert!(matches!(refused, Err(Error::FieldInvalid { field: "labels", .. })), "{refused:?}");
    }
    let many: Vec<String> = (0..17).map(|number| number.to_string()).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), "")).collect();
    assert_eq!(check(&many[..16]), Ok(()));
    assert!(matches!(check(&many), Err(Error::FieldInvalid { field: "labels", .. })));
}
