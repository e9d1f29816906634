//! Tests of replays: what each viewer sees of an episode, and how a replay is verified.

use boardwire_api::v1::{self, IllegalActionPolicy};
use boardwire_kernel::Viewer;

use super::*;

/// Plays one episode, the lowest pending seat first. Returns the observations of each seat, by ply.
async fn observed(arbiter: &Arc<Arbiter>) -> Vec<Vec<(u32, Observation)>> {
    let extras = Extras { head: true, ..Extras::default() };
    let mut shown = vec![Vec::new(); arbiter.settings.players.len()];
    loop {
        for seat in arbiter.settings.seats() {
            let observation = arbiter.observe(seat, false, extras).await.expect("the match is open");
            shown[seat.index()].push((observation.ply, observation));
        }
        let Some(seat) = arbiter.lock().state.pending().lowest() else { return shown };
        let observation = observe(arbiter, seat).await;
        let action =
            if observation.decision % 3 == 1 { illegal(&observation) } else { legal(&observation)[0] };
        arbiter.act(seat, decision_of(&observation, action)).await.expect("the policy accepts it");
    }
}

fn shown_to(arbiter: &Arbiter, viewer: Viewer) -> v1::Replay {
    let audience = viewer.seat().map_or(Audience::Host, Audience::Seat);
    arbiter.replay(audience, None).expect("the episode is kept")
}

/// A seat's frames equal its observations at every ply, in every game. Before the end they show only the seat's own
/// decisions, afterwards all decisions.
#[tokio::test]
async fn a_replay_shows_what_its_seat_was_shown() {
    for game in boardwire_games::IDS {
        let seeded = IllegalActionPolicy::SeededLegal;
        let settings = Settings { illegal_actions: seeded, seed: None, ..settings(&[AGENT, AGENT, AGENT]) };
        let arbiter = arbiter(table(game, 3), settings);
        let half = {
            for _ in 0..7 {
                let seat = arbiter.lock().state.pending().lowest().expect("the episode is not over");
                let observation = observe(&arbiter, seat).await;
                arbiter
                    .act(seat, decision_of(&observation, legal(&observation)[0]))
                    .await
                    .expect("the action is legal");
            }
            Viewer::all(3).map(|viewer| shown_to(&arbiter, viewer)).collect::<Vec<_>>()
        };
        for replay in &half {
            assert_eq!((replay.over, &replay.seed_opening, replay.frames.len()), (false, &None, 8));
            for frame in &replay.frames[1..] {
                let own = frame.seat.is_some() && frame.seat == replay.viewer;
                assert_eq!(frame.played.is_some(), own, "{game}: {frame:?}");
            }
        }
        let observed = observed(&arbiter).await;
        for viewer in Viewer::all(3) {
            let replay = shown_to(&arbiter, viewer);
            assert!(replay.over && replay.seed_opening.is_some());
            assert!(replay.frames[1..].iter().all(|frame| frame.played.is_some()));
            let sequence = replay.frames.iter().map(|frame| frame.sequence);
            assert!(sequence.eq(1..=replay.frames.len() as u64));
            let Some(seat) = viewer.seat() else { continue };
            for (ply, observation) in &observed[seat.index()] {
                let frame = &replay.frames[*ply as usize];
                assert_eq!(
                    (frame.ply, &frame.view, &frame.pending),
                    (*ply, &observation.view, &observation.pending),
                    "{game}"
                );
                assert_eq!(frame.head, observation.head);
                assert_eq!(frame.outcome.is_some(), observation.outcome.is_some());
            }
        }
        let moves = &arbiter.lock().state.present.moves;
        let substituted = moves.iter().any(|played| matches!(played.cause, Cause::Substituted { .. }));
        assert!(substituted, "{game}: no illegal action was replaced");
    }
}

/// Non-interference: a hidden choice does not change the replay of another seat or of the public until it is revealed. Only
/// the head of the hash chain differs, and it reveals nothing without the key.
#[tokio::test]
async fn a_hidden_choice_does_not_show_in_a_replay() {
    let faraway = || faraway(settings(&[AGENT, AGENT]));
    let (one, two) = (faraway(), faraway());
    for (arbiter, which) in [(&one, 0), (&two, 1)] {
        let seat = Seat::new(1);
        let observation = observe(arbiter, seat).await;
        arbiter
            .act(seat, decision_of(&observation, legal(&observation)[which]))
            .await
            .expect("the decision is due");
    }
    for viewer in [Viewer::from(Seat::new(0)), Viewer::Public] {
        let shown = |arbiter: &Arbiter| {
            let mut replay = shown_to(arbiter, viewer);
            let last = replay.frames.last_mut().expect("there is a frame");
            let head = std::mem::take(&mut last.head);
            let hours = |frame: &mut Frame| frame.time = None;
            replay.frames.iter_mut().for_each(hours);
            replay.frames.iter_mut().for_each(|frame| frame.head.clear());
            replay.seed_commitment.clear();
            (v1::Replay { match_id: String::new(), ..replay }, head)
        };
        let ((one, first), (two, second)) = (shown(&one), shown(&two));
        assert_eq!(one, two);
        assert_ne!(first, second, "the head commits to the choice");
    }
}

/// Computes the head of every frame, only from the replay.
#[tokio::test]
async fn the_hash_chain_can_be_computed_from_a_replay() {
    let settings = Settings { seed: None, ..settings(&[AGENT, RANDOM]) };
    let arbiter = faraway(settings);
    play_to_end(&arbiter).await;
    let replay = shown_to(&arbiter, Viewer::Public);
    let key =
        <[u8; 32]>::try_from(&replay.seed_opening.expect("the episode is over").key[..]).expect("32 bytes");
    let mut head = replay.seed_commitment.to_vec();
    assert_eq!(replay.frames[0].head, head);
    for frame in &replay.frames[1..] {
        let played = frame.played.expect("the episode is over");
        let cause = if played.cause() == v1::ActionCause::Agent { 1 } else { 3 };
        let [seat, action] = [frame.seat.expect("a seat decided"), played.action]
            .map(|n| u8::try_from(n).expect("the number fits u8"));
        head = blake3::keyed_hash(&key, &[&head[..], &[seat, action, cause]].concat()).as_bytes().to_vec();
        assert_eq!(frame.head, head);
    }
}

#[tokio::test]
async fn episodes_are_kept_for_a_while() {
    let arbiter = faraway(settings(&[AGENT, RANDOM]));
    let mut sequence = 1;
    for episode in 0..6 {
        arbiter.resign(Role::Host, Some(0), None, Extras::default()).await.expect("the episode is not over");
        let replay = shown_to(&arbiter, Viewer::Public);
        assert_eq!((replay.episode, replay.frames[0].sequence), (episode, sequence));
        let last = replay.frames.last().expect("there is a frame");
        assert_eq!(
            (last.seat, last.outcome.as_ref().map(|ending| ending.ranks.clone())),
            (None, Some(vec![2, 1]))
        );
        sequence = last.sequence + 1;
        arbiter.reset_match(Role::Host, None, None).await.expect("the host may reset the match");
    }
    assert_eq!(arbiter.replay(Audience::Host, Some(2)).map(|replay| replay.episode), Ok(2));
    let early = arbiter.replay(Audience::Host, Some(1)).expect_err("the episode is not kept");
    assert!(early.to_string().contains("2 or more"), "{early}");
    let late = arbiter.replay(Audience::Host, Some(7)).expect_err("the episode does not exist yet");
    assert!(late.to_string().contains("6 or less"), "{late}");
}

#[tokio::test]
async fn every_viewer_can_verify_its_replay() {
    let greedy = Player::Bot(Bot::Greedy { determinizations: 1 });
    for game in boardwire_games::IDS {
        let seeded = IllegalActionPolicy::SeededLegal;
        let players = [AGENT, greedy.clone(), AGENT];
        let arbiter =
            arbiter(table(game, 3), Settings { illegal_actions: seeded, seed: None, ..settings(&players) });
        let seat = Seat::new(0);
        let before = shown_to(&arbiter, seat.into());
        assert!(
            matches!(verify(&before, &tables()), Err(Mismatch(problem)) if problem.contains("its key is not shown"))
        );
        while arbiter.phase() == Phase::Playing {
            for seat in arbiter.settings.agents().iter() {
                let observation = observe(&arbiter, seat).await;
                if observation.pending.contains(&seat.number().into()) {
                    let action = if observation.decision % 4 == 2 {
                        illegal(&observation)
                    } else {
                        legal(&observation)[0]
                    };
                    arbiter
                        .act(seat, decision_of(&observation, action))
                        .await
                        .expect("the policy accepts it");
                }
            }
        }
        for viewer in Viewer::all(3) {
            let verified = verify(&shown_to(&arbiter, viewer), &tables()).expect("the replay is right");
            assert_eq!(verified.decisions, arbiter.lock().state.present.moves.len());
            assert_eq!(verified.head, arbiter.lock().state.present.head()[..]);
            assert_eq!(verified.source, SeedSource::Drawn);
            assert_eq!(verified.scores.len(), 3);
        }
    }
}

/// `verify` detects every change of a replay.
#[tokio::test]
async fn a_replay_that_was_altered_is_refused() {
    let arbiter = faraway(Settings { seed: None, ..settings(&[AGENT, RANDOM]) });
    play_to_end(&arbiter).await;
    let good = shown_to(&arbiter, Seat::new(0).into());
    let error_of = |change: &dyn Fn(&mut v1::Replay)| refused(&good, change);
    let frame =
        |index: usize, change: &dyn Fn(&mut v1::Frame)| error_of(&|replay| change(&mut replay.frames[index]));
    let flipped = |bytes: &bytes::Bytes| {
        let mut bytes = bytes.to_vec();
        bytes[0] ^= 1;
        bytes.into()
    };
    for (error, expected) in [
        (error_of(&|replay| config_of(replay).game = "chess".into()), "chess"),
        (error_of(&|replay| config_of(replay).players.clear()), "cannot be verified"),
        (error_of(&|replay| replay.spec_digest = "0".into()), "other rules or components"),
        (error_of(&|replay| replay.match_id = "another".into()), "does not match seed_commitment"),
        (error_of(&|replay| replay.episode = 1), "does not match seed_commitment"),
        (
            error_of(&|replay| replay.seed_commitment = flipped(&replay.seed_commitment)),
            "does not match seed_commitment",
        ),
        (
            error_of(&|replay| opening(replay).key = flipped(&opening(replay).key)),
            "does not match seed_commitment",
        ),
        (error_of(&|replay| opening(replay).key = vec![1; 31].into()), "32 bytes"),
        (
            error_of(&|replay| opening(replay).salt = flipped(&opening(replay).salt)),
            "does not match seed_commitment",
        ),
        (error_of(&|replay| opening(replay).seed = Some(7)), "does not follow from seed 7"),
        (
            error_of(&|replay| replay.set_seed_source(v1::SeedSource::Given)),
            "does not match its seed_opening",
        ),
        (error_of(&|replay| replay.viewer = Some(1)), "frame 0: view"),
        (error_of(&|replay| replay.viewer = Some(9)), "no seat 9"),
        (error_of(&|replay| replay.frames.truncate(9)), "not the end of the episode"),
        (error_of(&|replay| replay.frames.clear()), "it has no frames"),
        (error_of(&|replay| replay.frames.push(replay.frames[3].clone())), "ply "),
        (error_of(&|replay| drop(replay.frames.remove(4))), "4: "),
        (error_of(&|replay| replay.frames.swap(4, 5)), "4: "),
        (frame(2, &|frame| frame.view = flipped(&frame.view)), "frame 2: view"),
        (frame(2, &|frame| frame.head = flipped(&frame.head)), "frame 2: head"),
        (frame(2, &|frame| frame.pending = vec![u32::MAX]), "frame 2: pending"),
        (frame(2, &|frame| frame.time = None), "frame 2 has no time"),
        (frame(2, &|frame| frame.played = None), "frame 2 does not show"),
        (frame(2, &|frame| frame.seat = None), "frame 2 names neither"),
        (frame(2, &|frame| frame.seat = Some(200)), "no seat 200"),
        (frame(2, &|frame| played(frame).action = 255), "ply 2: "),
        (frame(2, &|frame| played(frame).action = 256), "ply 2: action 256 is out of range"),
        (frame(2, &|frame| played(frame).cause = 99), "how its action was chosen"),
        (frame(2, &|frame| frame.sequence = 7), "frame 2: sequence"),
        (frame(0, &|frame| frame.sequence = u64::MAX), "the sequence number of frame 1 exceeds"),
    ] {
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    let last = good.frames.len() - 1;
    let scores = frame(last, &|frame| frame.outcome.as_mut().expect("the episode is over").scores[0] += 1);
    assert!(scores.contains(&format!("frame {last}: outcome")), "{scores}");
}

/// `verify` cannot compute causes, the source of the seed and forfeits, but it checks that they are possible.
#[tokio::test]
async fn a_replay_with_a_false_cause_seed_or_forfeit_is_refused() {
    let arbiter = faraway(Settings { seed: None, ..settings(&[AGENT, RANDOM]) });
    play_to_end(&arbiter).await;
    let good = shown_to(&arbiter, Seat::new(0).into());
    let error_of = |change: &dyn Fn(&mut v1::Replay)| refused(&good, change);
    // The first decision of a seat.
    let caused = |player: Player, cause: v1::ActionCause| {
        let seat = u32::from(player != AGENT);
        let first =
            good.frames.iter().position(|frame| frame.seat == Some(seat)).expect("the seat has chosen");
        error_of(&|replay| {
            let played = played(&mut replay.frames[first]);
            played.set_cause(cause);
            played.given = Some(played.action);
        })
    };
    let mut resigned = good.frames.last().expect("there is a frame").clone();
    (resigned.seat, resigned.played) = (None, None);
    resigned.outcome = Some(v1::Outcome {
        ranks: vec![1, 2],
        forfeits: vec![v1::Forfeit::Unspecified.into(), v1::Forfeit::Resigned.into()],
        ..v1::Outcome::default()
    });
    for (error, expected) in [
        (caused(AGENT, v1::ActionCause::Bot), "says that a bot chose for an agent"),
        (caused(AGENT, v1::ActionCause::Substituted), "replaced was legal"),
        (caused(AGENT, v1::ActionCause::Forced), "but the seat had a choice"),
        (caused(RANDOM, v1::ActionCause::Agent), "says that an agent chose for a bot"),
        (
            error_of(&|replay| replay.frames.push(resigned.clone())),
            "has a forfeit, but the episode is already over",
        ),
    ] {
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    let given = faraway(settings(&[AGENT, RANDOM]));
    play_to_end(&given).await;
    given.close(CloseReason::Host);
    let mut hiding = shown_to(&given, Viewer::Public);
    verify(&hiding, &tables()).expect("the replay is right");
    opening(&mut hiding).seed = None;
    hiding.set_seed_source(v1::SeedSource::Drawn);
    let Err(Mismatch(problem)) = verify(&hiding, &tables()) else { panic!("the replay hides its seed") };
    assert!(
        problem.contains("follows from seed 7, but the replay says that the server drew it"),
        "{problem}"
    );
}

/// Returns the error of an altered replay.
fn refused(good: &v1::Replay, alter: &dyn Fn(&mut v1::Replay)) -> String {
    let mut altered = good.clone();
    alter(&mut altered);
    verify(&altered, &tables()).expect_err("the replay was altered").to_string()
}

pub(super) fn config_of(replay: &mut v1::Replay) -> &mut v1::MatchConfig {
    replay.config.as_mut().expect("the replay has a config")
}

fn opening(replay: &mut v1::Replay) -> &mut v1::SeedOpening {
    replay.seed_opening.as_mut().expect("the episode is over")
}

fn played(frame: &mut v1::Frame) -> &mut v1::PlayedAction {
    frame.played.as_mut().expect("the episode is over")
}
