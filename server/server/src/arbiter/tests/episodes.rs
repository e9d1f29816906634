//! Tests of episodes: how the next one begins, which seed it has, and when the seed is shown.

use super::*;

#[tokio::test]
async fn agents_that_share_a_match_begin_the_next_episode_together() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    let (zero, one) = (Seat::new(0), Seat::new(1));
    let early = reset(&arbiter, zero, None, None).await;
    assert_eq!(early, Err(Error::EpisodeNotOver { episode: 0 }));
    assert!(matches!(reset(&arbiter, zero, Some(3), None).await, Err(Error::HostOnly { .. })));
    play_to_end(&arbiter).await;
    let (first, second) =
        tokio::join!(reset(&arbiter, zero, None, Some(0)), reset(&arbiter, one, None, Some(0)));
    assert_eq!((first, second, arbiter.describe(Audience::Seat(Seat::FIRST)).episode), (Ok(()), Ok(()), 1));
    assert_eq!(
        reset(&arbiter, zero, None, Some(0)).await,
        Ok(()),
        "leaving an earlier episode is not an error"
    );
    assert_eq!(arbiter.describe(Audience::Seat(Seat::FIRST)).episode, 1);
    arbiter.reset_match(Role::Host, Some(5), None).await.expect("the host may reset at any time");
    assert_eq!(arbiter.describe(Audience::Seat(Seat::FIRST)).episode, 2);
}

#[tokio::test]
async fn a_match_with_an_episode_limit_closes_after_the_last_one() {
    let arbiter = faraway(Settings { episodes: 2, ..settings(&[AGENT, RANDOM]) });
    let seat = Seat::new(0);
    for episode in 0..2 {
        let early = reset(&arbiter, seat, None, None).await;
        assert_eq!(early, Err(Error::EpisodeNotOver { episode }), "the agent may not leave the episode");
        play_to_end(&arbiter).await;
        if episode == 0 {
            reset(&arbiter, seat, None, Some(0)).await.expect("the episode is over");
        }
    }
    assert_eq!(arbiter.phase(), Phase::Closed(CloseReason::Finished));
    let observation =
        arbiter.observe(seat, true, Extras::default()).await.expect("the last observation is still shown");
    assert!(observation.terminated && observation.outcome.is_some() && observation.episode == 1);
    reset(&arbiter, seat, None, Some(0)).await.expect("the seat has left that episode before");
    for refused in
        [reset(&arbiter, seat, None, Some(1)).await, arbiter.reset_match(Role::Host, None, None).await]
    {
        assert_eq!(refused, Err(Error::MatchClosed { match_id: arbiter.id().to_owned() }));
    }
    assert!(
        arbiter.replay(Audience::Seat(seat), Some(0)).expect("the episode is kept").seed_opening.is_some()
    );
}

#[tokio::test]
async fn bots_alone_finish_a_match_of_one_episode() {
    let arbiter = faraway(Settings { episodes: 1, ..settings(&[RANDOM, RANDOM]) });
    assert_eq!(arbiter.phase(), Phase::Closed(CloseReason::Finished));
}

#[tokio::test]
async fn with_host_begins_seats_wait_for_the_host() {
    let arbiter = faraway(Settings { host_begins: true, ..settings(&[AGENT, RANDOM]) });
    let seat = Seat::new(0);
    let early = reset(&arbiter, seat, None, None).await;
    assert_eq!(early, Err(Error::EpisodeNotOver { episode: 0 }), "the agent may not leave the episode");
    play_to_end(&arbiter).await;
    {
        let early = std::pin::pin!(arbiter.reset_match(Role::Host, Some(9), Some(0)));
        assert!(futures_util::poll!(early).is_pending(), "the seat has not asked for the next episode");
    }
    let mut request = Box::pin(reset(&arbiter, seat, None, Some(0)));
    assert!(futures_util::poll!(&mut request).is_pending(), "the host has not begun the episode");
    arbiter.reset_match(Role::Host, Some(9), Some(0)).await.expect("the host may reset the match");
    request.await.expect("the host has begun it");
    arbiter.reset_match(Role::Host, Some(9), Some(0)).await.expect("the host may repeat the request");
    let summary = arbiter.describe(Audience::Host);
    assert_eq!((summary.episode, source(&arbiter)), (1, SeedSource::Given(9)));
    play_to_end(&arbiter).await;
    let revealed = |audience| arbiter.replay(audience, None).expect("the episode is kept").seed_opening;
    assert!(revealed(Audience::Host).is_some(), "the host has given the seed");
    assert_eq!((revealed(Audience::Seat(seat)), revealed(Audience::Public)), (None, None));
    let both = Settings { host_begins: true, seat_may_seed: true, ..settings(&[AGENT, RANDOM]) };
    assert!(
        both.check().expect_err("both host and seat would give seeds").to_string().contains("host_begins")
    );
}

#[tokio::test]
async fn equal_seeds_show_equal_episodes() {
    let may_seed = || faraway(Settings { seat_may_seed: true, ..settings(&[AGENT, RANDOM]) });
    let (one, two) = (may_seed(), may_seed());
    let role = Seat::new(0);
    reset(&two, role, Some(99), None).await.expect("the only agent may give a seed");
    reset(&two, role, Some(7), None).await.expect("the only agent may give a seed");
    for _ in 0..3 {
        play_to_end(&one).await;
        play_to_end(&two).await;
        let (a, b) = (observe(&one, Seat::new(0)).await, observe(&two, Seat::new(0)).await);
        assert_eq!(Observation { episode: 0, ..a }, Observation { episode: 0, ..b });
        reset(&one, role, None, None).await.expect("the agent may reset");
        reset(&two, role, None, None).await.expect("the agent may reset");
    }
}

#[tokio::test]
async fn seeds_are_shown_when_no_later_episode_follows_from_them() {
    let given = faraway(settings(&[AGENT, RANDOM]));
    play_to_end(&given).await;
    assert_eq!(source(&given), SeedSource::Given(7));
    assert_eq!(
        given.describe(Audience::Seat(Seat::FIRST)).seed_opening,
        None,
        "later seeds follow from a given one"
    );
    given.close(CloseReason::Host);
    let opened =
        given.describe(Audience::Seat(Seat::FIRST)).seed_opening.expect("a closed match shows its seed");
    assert_eq!((opened.seed, &opened.key[..]), (Some(7), &boardwire_kernel::Key::from(7).as_bytes()[..]));
    let digest = given.table.digest;
    let bytes = [given.id().as_bytes(), &[0; 4], digest.as_bytes(), &opened.key, &opened.salt].concat();
    let commitment = given.describe(Audience::Seat(Seat::FIRST)).seed_commitment;
    assert_eq!(blake3::hash(&bytes).as_bytes()[..], commitment);

    let drawn = faraway(Settings { seed: None, ..settings(&[AGENT, RANDOM]) });
    assert_eq!(
        (source(&drawn), drawn.describe(Audience::Seat(Seat::FIRST)).seed_opening),
        (SeedSource::Drawn, None)
    );
    play_to_end(&drawn).await;
    assert!(drawn.describe(Audience::Seat(Seat::FIRST)).seed_opening.is_some());
}

#[tokio::test]
async fn a_seat_gives_a_seed_only_with_seat_may_seed() {
    let seat = Seat::new(0);
    let strict = faraway(settings(&[AGENT, RANDOM]));
    let refused = reset(&strict, seat, Some(3), None).await;
    assert!(matches!(refused, Err(Error::HostOnly { .. })), "{refused:?}");
    assert_eq!(strict.describe(Audience::Seat(Seat::FIRST)).episode, 0);
    strict.reset_match(Role::Host, Some(3), None).await.expect("the host may reset the match");
    assert_eq!(source(&strict), SeedSource::Given(3));
    reset(&strict, seat, None, None).await.expect("the agent may reset without a seed");
    let free = faraway(Settings { seat_may_seed: true, ..settings(&[AGENT, RANDOM]) });
    reset(&free, seat, Some(3), None).await.expect("the match allows it");
    assert_eq!(source(&free), SeedSource::Given(3));
    let shared = faraway(Settings { seat_may_seed: true, ..settings(&[AGENT, AGENT]) });
    let refused = reset(&shared, seat, Some(3), None).await;
    assert!(matches!(refused, Err(Error::HostOnly { .. })), "another agent plays in the match");
}
