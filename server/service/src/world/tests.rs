use std::sync::LazyLock;

use boardwire_batch::batch::{LineUp, Opening, Plan};
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_batch::{IllegalActions, Player, Refused};
use boardwire_kernel::RngStream;

use super::*;
use crate::run::MAX_MESSAGE_BYTES;

static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::new(1).expect("a thread starts"));

async fn batch(game: &str, seed: u64) -> Arc<Batch> {
    let tables = Tables::new(Registry::standard());
    let table = tables.table(game, 3, []).expect("a table");
    let greedy = || Player::Bot("greedy".parse().expect("a bot"));
    let line_up = LineUp::of(vec![greedy(), Player::Remote, greedy()]).expect("a learner");
    let plan = Plan { illegal_actions: IllegalActions::SeededLegal, ..Plan::of(vec![line_up]) };
    let opening = Opening { plan, environments: 1, first: 0, seed, message_bytes: MAX_MESSAGE_BYTES };
    Batch::open("b".to_owned(), table, opening, &POOL.alone()).await.expect("it is opened")
}

async fn world(game: &str, seed: u64) -> Arc<World> {
    Arc::new(World::of(batch(game, seed).await))
}

/// A step that differs from another in nothing but what it shows.
fn shown(mut step: Step) -> Step {
    step.sequence = 0;
    step
}

/// What a sequence shows that is begun and gone on with for some steps.
async fn course(visit: &mut Visit, steps: u64) -> Vec<Step> {
    let mut course = vec![];
    for at in 0..steps {
        let action = u8::try_from(RngStream::new(at, 0).below(20)).expect("few");
        course.push(shown(visit.step(|| Ok(action)).await.expect("it is played").0));
    }
    course
}

#[tokio::test]
async fn a_world_plays_what_a_batch_of_one_plays() {
    for game in boardwire_games::IDS {
        let batch = batch(game, 7).await;
        let mut visit = Visit::enter(world(game, 7).await).expect("nobody is there");
        let mut expected = batch.reset(Reset::default(), None).await.expect("it is reset");
        let (mut episodes, mut begins) = (0, true);
        while episodes < 3 {
            let (step, state) = visit
                .step(|| if begins { Err(Refused::ShuttingDown) } else { Ok(3) })
                .await
                .expect("it is played");
            assert_eq!(shown(step), shown(expected), "{game}");
            begins = state != State::Running;
            assert_ne!(state, State::Interrupted);
            episodes += u8::from(begins);
            let actions = Actions::of_all(Bytes::from_static(&[3]));
            expected = batch.step(0, 0, actions, None).await.expect("it is played");
        }
    }
}

#[tokio::test]
async fn a_refused_action_changes_nothing() {
    let mut visit = Visit::enter(world("faraway", 7).await).expect("nobody is there");
    let mut twin = Visit::enter(world("faraway", 7).await).expect("nobody is there");
    course(&mut visit, 3).await;
    course(&mut twin, 3).await;
    let refused = visit.step(|| Err(Refused::ShuttingDown)).await.expect_err("it is refused");
    assert_eq!(refused, Refused::ShuttingDown);
    assert_eq!(
        visit.step(|| Ok(0)).await.expect("it is played").0,
        twin.step(|| Ok(0)).await.expect("so is this").0
    );
}

#[tokio::test]
async fn a_world_takes_one_agent_after_the_other() {
    let world = world("faraway", 7).await;
    let mut first = Visit::enter(Arc::clone(&world)).expect("nobody is there");
    let begun = course(&mut first, 4).await;
    assert!(Visit::enter(Arc::clone(&world)).is_none(), "somebody is there");
    drop(first);
    let mut second = Visit::enter(world).expect("nobody is there");
    let batch = batch("faraway", 7).await;
    for begun in [begun, course(&mut second, 1).await] {
        let expected = batch.reset(Reset::default(), None).await.expect("it is reset");
        assert_eq!(begun[0], shown(expected), "each begins the next episode");
    }
}

#[tokio::test]
async fn a_reset_ends_the_sequence_and_a_seed_begins_the_world_anew() {
    for seed in [None, Some(9)] {
        let mut visit = Visit::enter(world("rauha", 7).await).expect("nobody is there");
        // A reset of what has not begun changes nothing but the seed.
        visit.reset(None);
        let first = course(&mut visit, 3).await;
        visit.reset(seed);
        visit.reset(None);
        let second = course(&mut visit, 3).await;
        let mut twin = Visit::enter(world("rauha", seed.unwrap_or(7)).await).expect("nobody is there");
        let begun = course(&mut twin, 3).await;
        assert_eq!(second == begun, seed.is_some(), "{seed:?}");
        assert_eq!(first == begun, seed.is_none(), "{seed:?}");
    }
}

#[tokio::test]
async fn who_is_there_learns_of_a_reset_from_outside_with_the_next_step() {
    let world = world("golden_compass", 7).await;
    let mut visit = Visit::enter(Arc::clone(&world)).expect("nobody is there");
    let begun = course(&mut visit, 3).await;
    world.reset(Some(7));
    world.reset(None);
    let (last, state) = visit.step(|| Err(Refused::ShuttingDown)).await.expect("the action is ignored");
    assert_eq!((Some(&shown(last)), state), (begun.last(), State::Interrupted));
    assert_eq!(course(&mut visit, 3).await, begun, "the world begins as it was made");
    // Where no sequence runs, there is none to interrupt.
    visit.reset(None);
    world.reset(None);
    assert_eq!(visit.step(|| Ok(0)).await.expect("it begins").1, State::Running);
}

#[tokio::test]
async fn a_world_that_has_ended_says_so() {
    let world = world("faraway", 7).await;
    let mut visit = Visit::enter(Arc::clone(&world)).expect("nobody is there");
    let gone = Refused::UnknownWorld { world: "b".to_owned() };
    world.batch().end(gone.clone());
    assert_eq!(visit.step(|| Ok(0)).await.expect_err("it is gone"), gone);
}
