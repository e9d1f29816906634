//! Tests of watching: a watcher sees the public view of every position once, in order.

use boardwire_api::Error;
use boardwire_api::v1::MatchState;
use futures_util::FutureExt as _;

use super::*;

/// Plays this many episodes; seat 0 resigns in every second episode.
async fn play(arbiter: &Arc<Arbiter>, episodes: u32) {
    for episode in 0..episodes {
        if episode % 2 == 1 {
            arbiter
                .resign(Role::Host, Some(0), None, Extras::default())
                .await
                .expect("the episode is not over");
        }
        play_to_end(arbiter).await;
        arbiter.reset_match(Role::Host, None, None).await.expect("the host may reset the match");
    }
}

async fn take_frames(watcher: &mut Watcher, count: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    while frames.len() < count {
        frames.push(next(watcher).await.expect("the match is open").expect("there is a frame"));
    }
    frames
}

#[tokio::test]
async fn a_watcher_sees_every_position_once() {
    for game in boardwire_games::IDS {
        let arbiter = arbiter(table(game, 2), settings(&[AGENT, RANDOM]));
        let mut early = arbiter.watch(Some(0)).expect("the first frame is there");
        let playing = play(&arbiter, 4);
        let watching = async {
            let mut watched = Vec::new();
            while watched.last().is_none_or(|frame: &Frame| frame.episode < 4) {
                watched.extend(take_frames(&mut early, 1).await);
            }
            watched
        };
        let ((), watched) = tokio::join!(playing, watching);
        let all = (0..5).flat_map(|episode| {
            let replay = arbiter.replay(Audience::Host, Some(episode)).expect("the episode is kept");
            replay.frames.into_iter().map(|frame| Frame { played: None, ..frame })
        });
        let all: Vec<Frame> = all.collect();
        assert_eq!(watched, all[..watched.len()], "{game}");
        // A lost stream resumes where it stopped.
        let mut late = arbiter.watch(Some(7)).expect("frame 7 exists");
        assert_eq!(take_frames(&mut late, all.len() - 7).await, all[7..]);
        let mut now = arbiter.watch(None).expect("the match is open");
        assert_eq!(take_frames(&mut now, 1).await, all[all.len() - 1..]);
        let ahead = arbiter.watch(Some(all.len() as u64 + 1)).err().expect("the frame does not exist yet");
        assert!(ahead.to_string().contains(&format!("{} or less", all.len())), "{ahead}");
    }
}

/// The match does not wait for a slow watcher, and queues no frames for it.
#[tokio::test]
async fn a_slow_watcher_learns_which_frames_are_gone() {
    let arbiter = faraway(settings(&[AGENT, RANDOM]));
    let mut slow = arbiter.watch(Some(0)).expect("the first frame is there");
    assert_eq!(take_frames(&mut slow, 1).await[0].sequence, 1);
    play(&arbiter, 6).await;
    let oldest = arbiter.replay(Audience::Host, Some(2)).expect("the episode is kept").frames[0].sequence;
    assert_eq!(next(&mut slow).await, Err(Error::FramesGone { after: 1, oldest }));
    let mut again = arbiter.watch(Some(oldest - 1)).expect("the frame is kept");
    assert_eq!(take_frames(&mut again, 1).await[0].sequence, oldest);
}

#[tokio::test]
async fn a_watcher_learns_how_the_match_ends() {
    for reason in [CloseReason::Host, CloseReason::ShuttingDown] {
        let arbiter = faraway(settings(&[AGENT, RANDOM]));
        let mut watcher = arbiter.watch(None).expect("the match is open");
        take_frames(&mut watcher, 1).await;
        let (ended, ()) = tokio::join!(next(&mut watcher), async { arbiter.close(reason.clone()) });
        match reason {
            CloseReason::Host => assert_eq!(ended, Ok(None)),
            _ => assert_eq!(ended, Err(Error::ShuttingDown)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn positions_are_delayed_by_watch_delay() {
    let watch_delay = Duration::from_hours(1);
    let arbiter = faraway(Settings { watch_delay, ..settings(&[AGENT, RANDOM]) });
    let replay = |audience| arbiter.replay(audience, None).expect("the episode is kept");
    play_to_end(&arbiter).await;
    let begun = tokio::time::Instant::now();
    let mut watcher = arbiter.watch(Some(0)).expect("the match is open");
    take_frames(&mut watcher, 1).await;
    let waited = begun.elapsed();
    assert!((Duration::from_mins(59)..=watch_delay).contains(&waited), "{waited:?}");
    let [late, own] = [replay(Audience::Public), replay(Audience::Seat(Seat::FIRST))];
    assert!(own.over && own.seed_opening.is_none() && own.frames.len() > 1, "its seed was given");
    assert!(!late.over && late.seed_opening.is_none());
    assert_eq!((late.frames.len(), late.frames[0].outcome.is_some()), (1, false), "only the deal");
}

#[test]
fn a_private_match_needs_one_of_its_tokens() {
    let (open, private) = (faraway(settings(&[AGENT, RANDOM])), {
        faraway(Settings { private: true, ..settings(&[AGENT, RANDOM]) })
    });
    let seat = private.join(Seat::new(0), None, None).expect("the seat has no agent");
    assert_eq!(open.audience(None), Ok(Audience::Public));
    assert_eq!(private.audience(None), Err(Error::TokenMissing));
    assert_eq!(private.audience(Some(private.spectator_token())), Ok(Audience::Public));
    assert_eq!(private.audience(Some(private.host_token())), Ok(Audience::Host));
    assert_eq!(private.audience(Some(&seat)), Ok(Audience::Seat(Seat::new(0))));
    for foreign in [open.spectator_token(), open.host_token(), ""] {
        assert!(matches!(private.audience(Some(foreign)), Err(Error::TokenWrong { .. })));
    }
    // The spectators' token is for watching only.
    assert!(matches!(private.role(Some(private.spectator_token())), Err(Error::TokenWrong { .. })));
}

/// With a delay, the public sees nothing after the first too recent decision, even if the system's clock was set back.
#[tokio::test]
async fn a_clock_that_is_set_back_shows_nothing_early() {
    let watch_delay = Duration::from_mins(1);
    let arbiter = faraway(Settings { watch_delay, ..settings(&[AGENT, RANDOM]) });
    play_to_end(&arbiter).await;
    {
        let present = &mut arbiter.lock().state.present;
        let long_ago = present.last_action_at - Duration::from_hours(1);
        present.dealt_at = Some(long_ago);
        // The sixth decision keeps its time.
        present
            .moves
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| *at != 5)
            .for_each(|(_, played)| played.at = long_ago);
    }
    let replay = arbiter.replay(Audience::Public, None).expect("the episode is kept");
    assert_eq!((replay.frames.len(), replay.over), (6, false), "the deal and five decisions");
    {
        let present = &mut arbiter.lock().state.present;
        present.moves.truncate(8);
        present.last_action_at = present.moves[7].at;
        present.forfeited = Some(Forfeited { seat: Seat::new(0), reason: Forfeit::Host });
    }
    let replay = arbiter.replay(Audience::Public, None).expect("the episode is kept");
    assert_eq!((replay.frames.len(), replay.over), (6, false), "the end is not shown");
}

/// Neither the summary nor an error reveals to spectators what they may not see yet.
#[tokio::test]
async fn a_delayed_match_shows_its_former_state() {
    let watch_delay = Duration::from_hours(1);
    let arbiter = faraway(Settings { watch_delay, ..settings(&[AGENT, RANDOM]) });
    play(&arbiter, 2).await;
    play_to_end(&arbiter).await;
    let full = arbiter.describe(Audience::Seat(Seat::FIRST));
    assert_eq!((full.state(), full.episode), (MatchState::Over, 2));
    let shown = arbiter.describe(Audience::Public);
    assert_eq!((shown.state(), shown.episode, shown.ply), (MatchState::Playing, 0, 0));
    assert!(shown.waiting_for.is_empty() && shown.seed_commitment != full.seed_commitment);
    assert_eq!(arbiter.visible_state(), MatchState::Playing);
    let refused = arbiter.watch(Some(2)).err().expect("spectators may not see it yet").to_string();
    assert!(refused.contains("1 or less"), "{refused}");
    let refused =
        arbiter.replay(Audience::Public, Some(1)).expect_err("spectators may not see it yet").to_string();
    assert!(refused.contains("0 or less"), "{refused}");
    arbiter.close(CloseReason::Host);
    assert_eq!(arbiter.describe(Audience::Public).state(), MatchState::Playing, "the end is not shown yet");
    let [own, other] = [Audience::Host, Audience::Public].map(|to| arbiter.describe(to));
    assert_eq!((own.ply, other.ply), (full.ply, 0));
    // After the delay everything is shown.
    {
        let present = &mut arbiter.lock().state.present;
        let times = present.moves.iter_mut().map(|played| &mut played.at).chain(&mut present.dealt_at);
        times.chain([&mut present.last_action_at]).for_each(|time| *time -= 2 * watch_delay);
    }
    assert_eq!(arbiter.describe(Audience::Public), arbiter.describe(Audience::Seat(Seat::FIRST)));
}

#[tokio::test]
async fn a_delayed_match_that_is_not_dealt_is_gathering() {
    let watch_delay = Duration::from_hours(1);
    let fair = Settings { seed: None, fair_deals: true, watch_delay, ..settings(&[AGENT, RANDOM]) };
    let arbiter = faraway(fair);
    assert_eq!(
        (arbiter.describe(Audience::Public), arbiter.visible_state()),
        (arbiter.describe(Audience::Seat(Seat::FIRST)), MatchState::Gathering)
    );
}

/// If the system's clock is set back, a watcher waits no longer than the delay.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_stalls_no_watcher() {
    for watch_delay in [Duration::ZERO, Duration::from_mins(1)] {
        let arbiter = faraway(Settings { watch_delay, ..settings(&[AGENT, RANDOM]) });
        let mut watcher = arbiter.watch(Some(0)).expect("the match is open");
        arbiter.lock().state.present.dealt_at = Some(SystemTime::now() + Duration::from_hours(9));
        let begun = tokio::time::Instant::now();
        take_frames(&mut watcher, 1).await;
        assert_eq!(begun.elapsed(), watch_delay);
    }
}

/// A server that stops does not wait for delayed watchers.
#[tokio::test]
async fn a_delayed_watcher_ends_when_the_server_stops() {
    let watch_delay = Duration::from_hours(1);
    let arbiter = faraway(Settings { watch_delay, ..settings(&[AGENT, RANDOM]) });
    let mut watcher = arbiter.watch(None).expect("the match is open");
    let stopping = async {
        tokio::task::yield_now().await;
        arbiter.close(CloseReason::ShuttingDown);
    };
    let (ended, ()) = tokio::join!(next(&mut watcher), stopping);
    assert_eq!(ended, Err(Error::ShuttingDown));
}

/// Later episodes follow from a seed that a caller gave, so the replay of an early episode must not reveal the seed too
/// early.
#[tokio::test]
async fn a_seed_is_delayed_as_long_as_its_positions() {
    let watch_delay = Duration::from_hours(1);
    let arbiter = faraway(Settings { watch_delay, ..settings(&[AGENT, RANDOM]) });
    // Moves the times of the present episode into the past.
    let age = || {
        let present = &mut arbiter.lock().state.present;
        let times = present.moves.iter_mut().map(|played| &mut played.at).chain(&mut present.dealt_at);
        times.chain([&mut present.last_action_at]).for_each(|time| *time -= 2 * watch_delay);
    };
    play_to_end(&arbiter).await;
    age();
    arbiter.reset_match(Role::Host, None, None).await.expect("the host may reset the match");
    arbiter.close(CloseReason::Host);
    let first = |audience| arbiter.replay(audience, Some(0)).expect("the episode is kept");
    assert!(first(Audience::Host).seed_opening.is_some());
    assert!(
        first(Audience::Public).over && first(Audience::Public).seed_opening.is_none(),
        "the next episode has just begun"
    );
    age();
    assert!(first(Audience::Public).seed_opening.is_some());
}

/// Spectators of a closed match learn its seed only when they may see its positions.
#[test]
fn spectators_see_a_delayed_seed_late() {
    for (watch_delay, is_shown) in [(Duration::ZERO, true), (Duration::from_hours(1), false)] {
        let arbiter = faraway(Settings { watch_delay, ..settings(&[AGENT, RANDOM]) });
        arbiter.close(CloseReason::Host);
        let opening = |audience| arbiter.describe(audience).seed_opening;
        assert!(opening(Audience::Host).is_some());
        assert_eq!(opening(Audience::Public).is_some(), is_shown);
    }
}

/// Makes the first decision of seat 0.
async fn act_once(arbiter: &Arc<Arbiter>) {
    let observation = observe(arbiter, Seat::FIRST).await;
    let decision = decision_of(&observation, legal(&observation)[0]);
    arbiter.act(Seat::FIRST, decision).await.expect("the decision is due");
}

#[tokio::test]
async fn a_call_waits_until_the_match_changes() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    let host = Some(arbiter.host_token());
    let public = arbiter.describe(Audience::Public);
    assert_eq!(arbiter.describe_when_changed(None, "other").await, Ok(public.clone()));
    for token in [host, None] {
        let known = arbiter.describe(Audience::Public);
        let waiting = arbiter.describe_when_changed(token, &known.etag);
        let (changed, ()) = tokio::join!(waiting, async {
            if arbiter.describe(Audience::Public).waiting_for.len() == 2 {
                act_once(&arbiter).await;
            } else {
                arbiter.close(CloseReason::Host);
            }
        });
        let changed = changed.expect("the match has changed");
        assert_ne!((changed.etag, changed.waiting_for), (known.etag, known.waiting_for));
    }
    // A closed match does not change, so no call waits for it.
    let closed = arbiter.describe(Audience::Public);
    assert_eq!(arbiter.describe_when_changed(None, &closed.etag).await, Ok(closed));
}

#[tokio::test]
async fn calls_that_wait_for_a_change_count_as_waiting_calls_of_their_seat() {
    let arbiter = faraway(settings(&[AGENT, RANDOM]));
    let token = arbiter.join(Seat::FIRST, None, None).expect("the seat has no agent");
    let etag = arbiter.describe(Audience::Seat(Seat::FIRST)).etag;
    let wait = || Box::pin(arbiter.describe_when_changed(Some(&token), &etag));
    let mut waiting = [wait(), wait(), wait()];
    for call in &mut waiting {
        assert!(call.now_or_never().is_none());
    }
    assert!(arbiter.idle_since().is_none());
    assert_eq!(wait().await, Err(Error::SeatBusy { seat: 0, limit: 3 }));
    arbiter.invite(0).expect("the seat is an agent's");
    assert!(matches!(waiting[0].as_mut().await, Err(Error::TokenWrong { .. })));
    drop(waiting);
    assert!(arbiter.idle_since().is_some());
}

/// The timing of a response reveals no position before its time.
#[tokio::test(start_paused = true)]
async fn a_call_of_a_spectator_waits_for_the_delay() {
    let watch_delay = Duration::from_hours(1);
    let arbiter = faraway(Settings { watch_delay, ..settings(&[AGENT, AGENT]) });
    let known = arbiter.describe(Audience::Public);
    let mut waiting = Box::pin(arbiter.describe_when_changed(None, &known.etag));
    assert!((&mut waiting).now_or_never().is_none());
    act_once(&arbiter).await;
    assert!((&mut waiting).now_or_never().is_none(), "the decision is hidden");
    arbiter.close(CloseReason::Host);
    assert!((&mut waiting).now_or_never().is_none(), "the end is hidden");
    {
        let present = &mut arbiter.lock().state.present;
        let times = present.moves.iter_mut().map(|played| &mut played.at).chain(&mut present.dealt_at);
        times.chain([&mut present.last_action_at]).for_each(|time| *time -= watch_delay);
    }
    let shown = waiting.await.expect("the match is shown");
    assert_eq!((shown.state(), shown), (MatchState::Closed, arbiter.describe(Audience::Public)));
}

#[tokio::test]
async fn calls_that_wait_for_a_change_end_when_the_server_stops() {
    for watch_delay in [Duration::ZERO, Duration::from_hours(1)] {
        let arbiter = faraway(Settings { watch_delay, ..settings(&[AGENT, RANDOM]) });
        let etag = arbiter.describe(Audience::Public).etag;
        let stopping = async { arbiter.close(CloseReason::ShuttingDown) };
        let (ended, ()) = tokio::join!(arbiter.describe_when_changed(None, &etag), stopping);
        assert_eq!(ended, Err(Error::ShuttingDown));
    }
}
