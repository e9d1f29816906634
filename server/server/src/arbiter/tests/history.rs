//! Tests of the texts that a seat gets on request: the history, phrases, and neutral names.

use boardwire_batch::messages;
use boardwire_batch::names::NamePermutation;
use boardwire_kernel::testkit::toy::Toy;
use prost::Message as _;

use super::*;

const TEXTS: Extras =
    Extras { text: true, explanation: true, actions: true, head: false, history: true, label_seed: None };

fn with_toy() -> Tables {
    Tables::new(Registry::standard().with::<Toy>())
}

fn toy(settings: Settings) -> Arc<Arbiter> {
    let seats = u32::try_from(settings.players.len()).expect("the number fits u32");
    arbiter(with_toy().table("toy", seats, []).expect("the table can be set up"), settings)
}

async fn texts(arbiter: &Arc<Arbiter>, seat: Seat) -> Observation {
    arbiter.observe(seat, false, TEXTS).await.expect("the match is open")
}

async fn history(arbiter: &Arc<Arbiter>, seat: Seat) -> String {
    texts(arbiter, seat).await.history
}

/// Plays the first legal action of a seat. Returns its phrase without the verb.
async fn play(arbiter: &Arc<Arbiter>, seat: Seat) -> String {
    let observation = texts(arbiter, seat).await;
    let action = &observation.actions[0];
    arbiter.act(seat, decision_of(&observation, action.index)).await.expect("the action is legal");
    action.phrase.split_once(' ').expect("a verb and a card").1.to_owned()
}

const ZERO: Seat = Seat::FIRST;

fn one() -> Seat {
    Seat::new(1)
}

#[tokio::test]
async fn the_history_begins_with_the_last_decision_of_the_seat() {
    let arbiter = toy(settings(&[AGENT, AGENT]));
    assert_eq!(
        (history(&arbiter, ZERO).await, history(&arbiter, one()).await),
        (String::new(), String::new())
    );
    let first = play(&arbiter, ZERO).await;
    for seat in [ZERO, one()] {
        assert_eq!(history(&arbiter, seat).await, "", "the other seat has not chosen");
    }
    let second = play(&arbiter, one()).await;
    let revealed = format!("seat 0 played {first}\nseat 1 played {second}\n");
    assert_eq!(
        (history(&arbiter, ZERO).await, history(&arbiter, one()).await),
        (revealed.clone(), revealed.clone())
    );
    let winner = arbiter.lock().state.pending().lowest().expect("the winner places its card");
    let loser = if winner == ZERO { one() } else { ZERO };
    let drawn = play(&arbiter, winner).await;
    assert_eq!(history(&arbiter, winner).await, format!("{winner} keeps {drawn}\n"));
    assert_eq!(history(&arbiter, loser).await, format!("{revealed}{winner} keeps {drawn}\n"));
    arbiter.reset_match(Role::Host, Some(8), None).await.expect("the host may reset the match");
    assert_eq!(
        (history(&arbiter, ZERO).await, history(&arbiter, one()).await),
        (String::new(), String::new())
    );
}

#[tokio::test]
async fn the_history_says_when_the_server_chose_for_the_seat() {
    let substituting =
        Settings { illegal_actions: IllegalActionPolicy::FirstLegal, ..settings(&[AGENT, AGENT]) };
    let arbiter = toy(substituting);
    let observation = texts(&arbiter, ZERO).await;
    let illegal = (0..8).find(|action| !legal(&observation).contains(action)).expect("a card is elsewhere");
    arbiter.act(ZERO, decision_of(&observation, illegal)).await.expect("a substitute is played");
    let label =
        arbiter.table.game.info().actions.label(u8::try_from(illegal).expect("a byte")).expect("an action");
    let expected = format!("seat 0 (you): \"{label}\" was illegal, so the server chose another action\n");
    assert_eq!(history(&arbiter, ZERO).await, expected);
    play(&arbiter, one()).await;
    assert!(history(&arbiter, ZERO).await.starts_with(&format!("{expected}seat 0 played ")));
    assert!(history(&arbiter, one()).await.starts_with("seat 0 played "), "only seat 0 knows the cause");
}

#[tokio::test(start_paused = true)]
async fn the_history_says_when_the_time_ran_out() {
    crate::stall::tests::disable();
    let second = Duration::from_secs(1);
    let clock = Clock {
        limit: second,
        bank: Duration::ZERO,
        increment: Duration::ZERO,
        strikes: 0,
        on_timeout: OnTimeout::FirstLegal,
    };
    let arbiter = toy(Settings { clocks: vec![Some(clock), None], ..settings(&[AGENT, AGENT]) });
    for seat in [ZERO, one()] {
        arbiter.join(seat, None, None).expect("the seat has no agent");
    }
    tokio::time::advance(2 * second).await;
    while !texts(&arbiter, ZERO).await.timed_out {
        tokio::task::yield_now().await;
    }
    let late = "seat 0 (you): the time ran out, so the server chose an action\n";
    assert_eq!(
        (history(&arbiter, ZERO).await, history(&arbiter, one()).await),
        (late.to_owned(), String::new())
    );
}

#[tokio::test]
async fn the_history_says_when_an_action_was_forced() {
    let arbiter = toy(Settings { skip_forced: true, ..settings(&[AGENT, RANDOM]) });
    let mut forced = 0;
    for seed in 0..20 {
        play_to_end(&arbiter).await;
        let moves = arbiter.lock().state.present.moves.clone();
        let last = moves.iter().rfind(|played| played.seat == ZERO);
        let is_last = last.is_some_and(|played| played.cause == Cause::Forced);
        let history = history(&arbiter, ZERO).await;
        let line = "\nseat 0 (you): there was one legal action, so the server chose it\n";
        // The forced action follows the last decision of the seat, in the first round.
        assert_eq!(history.contains(line), is_last, "{history}");
        forced += usize::from(is_last);
        arbiter.reset_match(Role::Host, Some(seed), None).await.expect("the host may reset the match");
    }
    assert!((1..20).contains(&forced), "{forced} of 20 episodes end with a forced action");
}

#[tokio::test]
async fn the_history_ends_with_a_forfeit() {
    let arbiter = toy(settings(&[AGENT, AGENT]));
    arbiter.resign(Role::Seat(one()), None, None, Extras::default()).await.expect("the seat may resign");
    assert_eq!(history(&arbiter, ZERO).await, "seat 1 forfeited: it resigned\n");
    assert_eq!(history(&arbiter, one()).await, "seat 1 (you) forfeited: it resigned\n");

    let arbiter =
        toy(Settings { illegal_actions: IllegalActionPolicy::Forfeit, ..settings(&[AGENT, AGENT]) });
    play(&arbiter, ZERO).await;
    play(&arbiter, one()).await;
    let winner = arbiter.lock().state.pending().lowest().expect("the winner places its card");
    let observation = texts(&arbiter, winner).await;
    arbiter.act(winner, decision_of(&observation, 0)).await.expect("the forfeit is accepted");
    let own = format!("{winner} (you) forfeited: it chose an illegal action\n");
    assert_eq!(history(&arbiter, winner).await, own, "the illegal action was its last decision");
    let loser = if winner == ZERO { one() } else { ZERO };
    let other = history(&arbiter, loser).await;
    assert!(other.starts_with("seat 0 played ") && other.ends_with(&own.replace(" (you)", "")), "{other}");
}

/// Returns the state of a match after moves.
fn state_after(table: &Table, settings: &Settings, moves: &[(Seat, u8, Cause)]) -> State {
    let (deals, key, seeds) = Deals::first(settings);
    let at = SystemTime::UNIX_EPOCH;
    let mut state = State::new(table, settings, "match", key, seeds, deals, at);
    for &(seat, action, cause) in moves {
        let kind = EventKind::Played { seat, action, cause, decision_time: None };
        state.apply(table, &Event { at, kind }).expect("the action is legal");
    }
    state
}

/// Two matches differ only in the last choice of one seat, or in its cause. If another seat sees the same position in both,
/// it also gets the same bytes with all texts.
#[test]
fn no_text_depends_on_a_hidden_choice() {
    for (game, simultaneous) in
        [("toy", true), ("faraway", true), ("rauha", false), ("golden_compass", false)]
    {
        let table = with_toy().table(game, 2, []).expect("the table can be set up");
        let settings = settings(&[AGENT, AGENT]);
        let mut rng = RngStream::new(5, SUBSTITUTE_STREAM);
        let (mut moves, mut choices) = (Vec::new(), 0);
        loop {
            let state = state_after(&table, &settings, &moves);
            let Some(seat) = state.pending().lowest() else { break };
            let mut legal = state.play.legal(seat);
            let action = rng.draw(&mut legal);
            let mut others: Vec<_> = legal.iter().take(3).map(|other| (seat, other, Cause::Agent)).collect();
            others.push((seat, action, Cause::Substituted { given: 0, words: 0 }));
            others.push((seat, action, Cause::TimedOut { words: 0, bot: false }));
            let after = |choice| state_after(&table, &settings, &[moves.as_slice(), &[choice]].concat());
            let state = after((seat, action, Cause::Agent));
            let viewer = if seat == ZERO { one() } else { ZERO };
            let seen =
                |state: &State, extras| state.observe(&table, &settings, viewer, extras).encode_to_vec();
            for choice in others {
                let other = after(choice);
                if seen(&other, Extras::default()) == seen(&state, Extras::default()) {
                    choices += usize::from(choice.1 != action);
                    assert_eq!(
                        seen(&other, TEXTS),
                        seen(&state, TEXTS),
                        "{game}: {viewer} learns {choice:?}"
                    );
                }
            }
            moves.push((seat, action, Cause::Agent));
        }
        assert!(choices > 0 || !simultaneous, "{game} has no hidden choice");
    }
}

#[tokio::test]
async fn a_label_seed_exchanges_the_same_names_everywhere() {
    let arbiter = toy(settings(&[AGENT, AGENT]));
    let game = &*arbiter.table.game;
    let (names, mut orders) = (game.names().remove(0).names, Vec::new());
    for _ in 0..2 {
        play(&arbiter, ZERO).await;
        play(&arbiter, one()).await;
        let plain = texts(&arbiter, ZERO).await;
        for seed in [3, 4] {
            let extras = Extras { label_seed: Some(seed), ..TEXTS };
            let permuted = arbiter.observe(ZERO, false, extras).await.expect("the match is open");
            let mut expected = plain.clone();
            NamePermutation::new(game, seed).apply_to_observation(&mut expected);
            assert_eq!(permuted, expected);
            assert_ne!((&permuted.text, &permuted.history), (&plain.text, &plain.history));
            let all = format!("{permuted:?}");
            let words: Vec<_> = all.split(|next: char| !next.is_alphanumeric()).collect();
            assert!(!names.iter().any(|name| words.contains(&name.as_str())), "{all}");
            orders.push(permuted.text);
        }
        let winner = arbiter.lock().state.pending().lowest().expect("the winner places its card");
        play(&arbiter, winner).await;
    }
    assert_ne!(orders[0], orders[1], "other seeds give other names");
}

#[test]
fn a_label_seed_changes_the_rules_and_not_the_spec() {
    for game in boardwire_games::IDS {
        let tables = tables();
        let request =
            |label_seed| v1::GetGameRequest { game: (*game).to_owned(), label_seed, ..Default::default() };
        let get = |label_seed| messages::get_game(&tables, &request(label_seed)).expect("the game is known");
        let mut expected = get(None);
        assert!(expected.rules.contains(&expected.how_to_play));
        let table = tables.table(game, expected.spec.as_ref().expect("a spec").seats, []).expect("a table");
        let permutation = NamePermutation::new(&*table.game, 3);
        permutation.apply(&mut expected.rules);
        permutation.apply(&mut expected.how_to_play);
        assert_eq!(get(Some(3)), expected, "{game}");
    }
}
