//! Tests of autoreset modes and of policies for illegal actions.

use super::*;
use boardwire_api::v1::{AutoresetMode, IllegalActionPolicy, RewardKind};

fn batch(autoreset: AutoresetMode, illegal_actions: IllegalActionPolicy) -> Arc<Batch> {
    let config = EnvironmentConfig { autoreset, illegal_actions, ..config(&["random", "agent", "agent"]) };
    open(&table("faraway", 3), &config, 40, 0, 2)
}

/// Steps until an episode has ended; returns the previous step and that step.
fn until_end(batch: &Arc<Batch>) -> (Step, Step) {
    let mut rows = reset(batch);
    for salt in 0.. {
        let next = step(batch, choices(&rows, 0, salt)).expect("legal");
        if !next.ended().is_empty() {
            return (rows, next);
        }
        rows = next;
    }
    unreachable!("every game ends")
}

fn ended(step: &Step) -> Vec<usize> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize;
    step.ended().chunks(4).map(number).collect()
}

fn rewards(step: &Step, index: usize) -> Vec<f32> {
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
    row(step.reward(), index, 12).chunks(4).map(number).collect()
}

fn view_bytes(step: &Step) -> usize {
    step.view().len() / step.seat().len()
}

/// Checks what all modes have in common in the step in which an episode ends.
fn check_ends(last: &Step) {
    let ended = ended(last);
    let flagged: Vec<_> = (0..40).filter(|&index| last.flags()[index] != 0).collect();
    assert_eq!(ended, flagged);
    assert_eq!(last.scores().len(), ended.len() * 12);
    assert_eq!(last.final_view().len(), ended.len() * 2 * view_bytes(last));
    for (k, &index) in ended.iter().enumerate() {
        assert_eq!(last.flags()[index], flag::TERMINATED);
        let ranks = row(last.ranks(), k, 3);
        let wanted: Vec<_> =
            Seat::all(3).map(|seat| crate::reward::of(RewardKind::Rank, seat, &[0; 3], ranks)).collect();
        assert_eq!(wanted, rewards(last, index), "ranks {ranks:?}");
    }
    for index in (0..40).filter(|index| !ended.contains(index)) {
        assert_eq!(rewards(last, index), [0.0; 3]);
    }
}

#[test]
fn next_step_shows_the_end_and_then_the_next_episode() {
    let batch = batch(AutoresetMode::NextStep, IllegalActionPolicy::Reject);
    let (_, last) = until_end(&batch);
    check_ends(&last);
    for (k, &index) in ended(&last).iter().enumerate() {
        assert_eq!((last.seat()[index], legal(&last, index)), (255, vec![]));
        let views = row(last.final_view(), k, 2 * view_bytes(&last));
        assert_eq!(
            row(last.view(), index, view_bytes(&last)),
            &views[..view_bytes(&last)],
            "of the lowest agent"
        );
    }
    let mut actions = choices(&last, 0, 99);
    for index in ended(&last) {
        actions[index] = 255;
    }
    let next = step(&batch, actions).expect("the action of an environment that is over does not matter");
    for index in ended(&last) {
        assert!(next.seat()[index] != 255 && next.flags()[index] == 0 && !legal(&next, index).is_empty());
        assert_eq!(rewards(&next, index), [0.0; 3]);
        assert_eq!(row(next.episode(), index, 4), [1, 0, 0, 0]);
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
    for index in ended(&last) {
        assert!(last.seat()[index] != 255 && !legal(&last, index).is_empty());
        assert_eq!(row(last.episode(), index, 4), [1, 0, 0, 0]);
        assert_ne!(row(last.view(), index, view_bytes(&last)), row(fresh.view(), index, view_bytes(&last)));
    }
}

#[test]
fn disabled_waits_for_a_reset() {
    let batch = batch(AutoresetMode::Disabled, IllegalActionPolicy::Reject);
    let (_, last) = until_end(&batch);
    check_ends(&last);
    let actions = choices(&last, 0, 99);
    let first = ended(&last)[0];
    let refused = step(&batch, actions.clone()).expect_err("an environment is over");
    assert_eq!(refused, Error::EnvironmentOver { environment: first });
    let mut mask = vec![0; 5];
    for index in ended(&last) {
        mask[index / 8] |= 1 << (index % 8);
    }
    let rows = wait(batch.reset(Reset { mask: mask.into(), ..Reset::default() }, None)).expect("it is reset");
    for index in 0..40 {
        let same = row_digest(&rows, index) == row_digest(&last, index);
        assert_eq!(same, !ended(&last).contains(&index), "only environments of the mask restart");
    }
    step(&batch, choices(&rows, 0, 99)).expect("all continue");
}

#[test]
fn resets_begin_the_requested_episodes() {
    let batch = batch(AutoresetMode::NextStep, IllegalActionPolicy::Reject);
    let zero = reset(&batch);
    assert_eq!(row(zero.episode(), 0, 4), [0; 4]);
    let one = reset(&batch);
    assert_eq!(row(one.episode(), 0, 4), [1, 0, 0, 0]);
    assert_eq!(
        wait(batch.reset(Reset { seed: Some(7), ..Reset::default() }, None))
            .expect("the reset is valid")
            .view(),
        zero.view(),
        "as if opened with it"
    );
    assert_eq!(reset(&batch).view(), one.view());
    // With both kinds of seeds, this episode uses its own seed, and later episodes use the batch seed.
    let both = Reset { seed: Some(7), seeds: vec![5; 40], ..Reset::default() };
    let single = wait(batch.reset(both, None)).expect("the reset is valid");
    assert_eq!(row(single.episode(), 0, 4), [0; 4]);
    assert!(
        (0..40).all(|index| row(single.view(), index, view_bytes(&single))
            == row(single.view(), 0, view_bytes(&single)))
    );
    assert_eq!(reset(&batch).view(), one.view());
    let other =
        wait(batch.reset(Reset { seed: Some(8), ..Reset::default() }, None)).expect("the reset is valid");
    assert_ne!(other.view(), zero.view());
    // Environment 3 now plays the episode with the seed of episode 0 of environment 5.
    let seed = RngStream::resume(7.into(), 5, 0).next_seed();
    let one = Reset { mask: vec![8, 0, 0, 0, 0].into(), seeds: vec![seed], ..Reset::default() };
    let rows = wait(batch.reset(one, None)).expect("the reset is valid");
    let bytes = view_bytes(&rows);
    assert_eq!(row(rows.view(), 3, bytes), row(zero.view(), 5, bytes));
    assert_eq!(row(rows.view(), 4, bytes), row(other.view(), 4, bytes));
}

#[test]
fn illegal_actions_follow_their_policy() {
    let substitutes = |policy, wanted: &dyn Fn(&Step, &Step, usize)| {
        let batch = batch(AutoresetMode::NextStep, policy);
        let rows = reset(&batch);
        let mut actions = choices(&rows, 0, 0);
        let wrong = (0..113).find(|action| !legal(&rows, 7).contains(action)).expect("not all are legal");
        actions[7] = wrong;
        let next = step(&batch, actions.clone()).expect("the policy allows it");
        assert!((0..40).all(|index| index == 7 || next.flags()[index] == 0));
        wanted(&rows, &next, 7);
        actions[7] = 255;
        reset(&batch);
        step(&batch, actions).expect_err("beyond the action space is an error under every policy");
    };
    substitutes(IllegalActionPolicy::FirstLegal, &|rows, next, index| {
        assert_eq!(next.flags()[index], flag::SUBSTITUTED);
        let reference = batch(AutoresetMode::NextStep, IllegalActionPolicy::Reject);
        let mut actions = choices(&reset(&reference), 0, 0);
        actions[index] = legal(rows, index)[0];
        let reference = step(&reference, actions).expect("legal");
        assert_eq!(row(next.view(), index, view_bytes(next)), row(reference.view(), index, view_bytes(next)));
    });
    substitutes(IllegalActionPolicy::SeededLegal, &|_, next, index| {
        assert_eq!(next.flags()[index], flag::SUBSTITUTED);
    });
    substitutes(IllegalActionPolicy::Forfeit, &|_, next, index| {
        assert_eq!((next.flags()[index], next.seat()[index]), (flag::TERMINATED | flag::FORFEITED, 255));
        assert_eq!((next.ranks(), ended(next)), ([1, 3, 1].as_slice(), vec![index]));
        assert_eq!(rewards(next, index), [0.5, -1.0, 0.5]);
    });
}
