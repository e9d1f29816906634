//! Tests of autoreset modes and of policies for illegal actions.

use super::*;
use boardwire_api::v1::{AutoresetMode, IllegalActionPolicy, RewardKind};

fn batch(autoreset: AutoresetMode, illegal_actions: IllegalActionPolicy) -> Arc<Batch> {
    let plan = Plan { autoreset, illegal_actions, ..plan(&["random", "agent", "agent"]) };
    open(&table("faraway", 3), &plan, 40, 0, 2)
}

/// Steps until an episode has ended; returns the previous step and that step.
fn until_end(batch: &Arc<Batch>) -> (Step, Step) {
    let mut shown = reset(batch);
    for salt in 0.. {
        let next = step(batch, choices(&shown, 0, salt)).expect("legal");
        if !next.ended().is_empty() {
            return (shown, next);
        }
        shown = next;
    }
    unreachable!("every game ends")
}

fn ended(step: &Step) -> Vec<usize> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize;
    step.ended().chunks(4).map(number).collect()
}

fn rewards(step: &Step, at: usize) -> Vec<f32> {
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
    row(step.reward(), at, 12).chunks(4).map(number).collect()
}

fn view_bytes(step: &Step) -> usize {
    step.view().len() / step.seat().len()
}

/// Checks what all modes have in common in the step in which an episode ends.
fn check_ends(last: &Step) {
    let ended = ended(last);
    let flagged: Vec<_> = (0..40).filter(|&at| last.flags()[at] != 0).collect();
    assert_eq!(ended, flagged);
    assert_eq!(last.scores().len(), ended.len() * 12);
    assert_eq!(last.final_view().len(), ended.len() * 2 * view_bytes(last));
    for (k, &at) in ended.iter().enumerate() {
        assert_eq!(last.flags()[at], flag::TERMINATED);
        let ranks = row(last.ranks(), k, 3);
        let wanted: Vec<_> =
            Seat::all(3).map(|seat| crate::reward::of(RewardKind::Rank, seat, &[0; 3], ranks)).collect();
        assert_eq!(wanted, rewards(last, at), "ranks {ranks:?}");
    }
    for at in (0..40).filter(|at| !ended.contains(at)) {
        assert_eq!(rewards(last, at), [0.0; 3]);
    }
}

#[test]
fn next_step_shows_the_end_and_then_the_next_episode() {
    let batch = batch(AutoresetMode::NextStep, IllegalActionPolicy::Reject);
    let (_, last) = until_end(&batch);
    check_ends(&last);
    for (k, &at) in ended(&last).iter().enumerate() {
        assert_eq!((last.seat()[at], legal(&last, at)), (255, vec![]));
        let views = row(last.final_view(), k, 2 * view_bytes(&last));
        assert_eq!(
            row(last.view(), at, view_bytes(&last)),
            &views[..view_bytes(&last)],
            "of the lowest agent"
        );
    }
    let mut actions = choices(&last, 0, 99);
    for at in ended(&last) {
        actions[at] = 255;
    }
    let next = step(&batch, actions).expect("the action of an environment that is over does not matter");
    for at in ended(&last) {
        assert!(next.seat()[at] != 255 && next.flags()[at] == 0 && !legal(&next, at).is_empty());
        assert_eq!(rewards(&next, at), [0.0; 3]);
        assert_eq!(row(next.episode(), at, 4), [1, 0, 0, 0]);
    }
}

#[test]
fn same_step_reports_the_end_and_shows_the_next_episode() {
    let (next_step, same_step) = (AutoresetMode::NextStep, AutoresetMode::SameStep);
    let (_, other) = until_end(&batch(next_step, IllegalActionPolicy::Reject));
    let batch = batch(same_step, IllegalActionPolicy::Reject);
    let (_, last) = until_end(&batch);
    check_ends(&last);
    assert_eq!(
        (other.ended(), other.scores(), other.final_view()),
        (last.ended(), last.scores(), last.final_view())
    );
    let fresh =
        wait(batch.reset(Reset { seed: Some(7), ..Reset::default() }, None)).expect("episode 0 again");
    for at in ended(&last) {
        assert!(last.seat()[at] != 255 && !legal(&last, at).is_empty());
        assert_eq!(row(last.episode(), at, 4), [1, 0, 0, 0]);
        assert_ne!(row(last.view(), at, view_bytes(&last)), row(fresh.view(), at, view_bytes(&last)));
    }
}

#[test]
fn disabled_waits_for_a_reset() {
    let batch = batch(AutoresetMode::Disabled, IllegalActionPolicy::Reject);
    let (_, last) = until_end(&batch);
    check_ends(&last);
    let actions = choices(&last, 0, 99);
    let first = ended(&last)[0];
    let refused = step(&batch, actions.clone()).expect_err("one is over");
    assert_eq!(refused, Error::EnvironmentOver { environment: first });
    let mut mask = vec![0; 5];
    for at in ended(&last) {
        mask[at / 8] |= 1 << (at % 8);
    }
    let shown =
        wait(batch.reset(Reset { mask: mask.into(), ..Reset::default() }, None)).expect("it is reset");
    for at in 0..40 {
        let same = row_digest(&shown, at) == row_digest(&last, at);
        assert_eq!(same, !ended(&last).contains(&at), "only environments of the mask restart");
    }
    step(&batch, choices(&shown, 0, 99)).expect("all continue");
}

#[test]
fn resets_begin_the_requested_episodes() {
    let batch = batch(AutoresetMode::NextStep, IllegalActionPolicy::Reject);
    let zero = reset(&batch);
    assert_eq!(row(zero.episode(), 0, 4), [0; 4]);
    let one = reset(&batch);
    assert_eq!(row(one.episode(), 0, 4), [1, 0, 0, 0]);
    assert_eq!(
        wait(batch.reset(Reset { seed: Some(7), ..Reset::default() }, None)).expect("reset").view(),
        zero.view(),
        "as if opened with it"
    );
    assert_eq!(reset(&batch).view(), one.view());
    // With both kinds of seeds, this episode uses its own seed, and later episodes use the batch seed.
    let both = Reset { seed: Some(7), seeds: vec![5; 40], ..Reset::default() };
    let single = wait(batch.reset(both, None)).expect("reset");
    assert_eq!(row(single.episode(), 0, 4), [0; 4]);
    assert!(
        (0..40)
            .all(|at| row(single.view(), at, view_bytes(&single))
                == row(single.view(), 0, view_bytes(&single)))
    );
    assert_eq!(reset(&batch).view(), one.view());
    let other = wait(batch.reset(Reset { seed: Some(8), ..Reset::default() }, None)).expect("reset");
    assert_ne!(other.view(), zero.view());
    // Environment 3 now plays the episode with the seed of episode 0 of environment 5.
    let seed = RngStream::resume(7.into(), 5, 0).seed();
    let one = Reset { mask: vec![8, 0, 0, 0, 0].into(), seeds: vec![seed], ..Reset::default() };
    let shown = wait(batch.reset(one, None)).expect("reset");
    let bytes = view_bytes(&shown);
    assert_eq!(row(shown.view(), 3, bytes), row(zero.view(), 5, bytes));
    assert_eq!(row(shown.view(), 4, bytes), row(other.view(), 4, bytes));
}

#[test]
fn illegal_actions_follow_their_policy() {
    let substitutes = |policy, wanted: &dyn Fn(&Step, &Step, usize)| {
        let batch = batch(AutoresetMode::NextStep, policy);
        let shown = reset(&batch);
        let mut actions = choices(&shown, 0, 0);
        let wrong = (0..113).find(|action| !legal(&shown, 7).contains(action)).expect("not all are legal");
        actions[7] = wrong;
        let next = step(&batch, actions.clone()).expect("the policy allows it");
        assert!((0..40).all(|at| at == 7 || next.flags()[at] == 0));
        wanted(&shown, &next, 7);
        actions[7] = 255;
        reset(&batch);
        step(&batch, actions).expect_err("beyond the action space is an error under every policy");
    };
    substitutes(IllegalActionPolicy::FirstLegal, &|shown, next, at| {
        assert_eq!(next.flags()[at], flag::SUBSTITUTED);
        let honest = batch(AutoresetMode::NextStep, IllegalActionPolicy::Reject);
        let mut actions = choices(&reset(&honest), 0, 0);
        actions[at] = legal(shown, at)[0];
        let honest = step(&honest, actions).expect("legal");
        assert_eq!(row(next.view(), at, view_bytes(next)), row(honest.view(), at, view_bytes(next)));
    });
    substitutes(IllegalActionPolicy::SeededLegal, &|_, next, at| {
        assert_eq!(next.flags()[at], flag::SUBSTITUTED);
    });
    substitutes(IllegalActionPolicy::Forfeit, &|_, next, at| {
        assert_eq!((next.flags()[at], next.seat()[at]), (flag::TERMINATED | flag::FORFEITED, 255));
        assert_eq!((next.ranks(), ended(next)), ([1, 3, 1].as_slice(), vec![at]));
        assert_eq!(rewards(next, at), [0.5, -1.0, 0.5]);
    });
}
