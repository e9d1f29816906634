//! Tests of restarts: a match in a journal continues as it would have without the restart.

use super::events::all_of;
use super::*;
use boardwire_api::v1::IllegalActionPolicy;
use std::panic::AssertUnwindSafe;

use serde_json::Value;

use crate::journal::{Journal, JournalReader, Retention, SavedMatch};

/// Opens the journal in a folder. Returns it with the matches that it has saved.
pub(super) fn journal(folder: &tempfile::TempDir) -> (Arc<Journal>, Vec<SavedMatch>) {
    let reading =
        JournalReader::open(&folder.path().join("journal"), Retention::default()).expect("the journal opens");
    let (saved, damaged) = reading.read().expect("the journal is read");
    assert_eq!(damaged, []);
    (reading.start_writer(&[]).expect("the journal is writable"), saved)
}

/// Waits until no bot thinks.
async fn bots_are_done(arbiter: &Arc<Arbiter>) {
    let done =
        arbiter.respond_when(Role::Host, false, |_, _| Ok((!arbiter.bots_think()).then_some(()))).await;
    assert_eq!(done, Ok(()));
}

/// Makes one decision if a seat owes one: the highest legal action, or an illegal one at every fifth decision.
async fn play_one_decision(arbiter: &Arc<Arbiter>) -> bool {
    bots_are_done(arbiter).await;
    for seat in arbiter.settings.agents().iter() {
        let observation = observe(arbiter, seat).await;
        if observation.pending.contains(&seat.number().into()) {
            let action = if observation.decision % 5 == 3 {
                illegal(&observation)
            } else {
                *legal(&observation).last().expect("there is a legal action")
            };
            arbiter.act(seat, decision_of(&observation, action)).await.expect("the policy accepts it");
            return true;
        }
    }
    false
}

async fn play_rest(arbiter: &Arc<Arbiter>) -> String {
    while play_one_decision(arbiter).await {}
    let extras =
        Extras { text: true, explanation: true, actions: true, head: false, history: true, label_seed: None };
    let seats = arbiter.settings.seats();
    let ends = seats
        .map(|seat| async move { arbiter.observe(seat, true, extras).await.expect("the episode is over") });
    format!("{:?} {:?}", futures_util::future::join_all(ends).await, arbiter.position())
}

/// Returns clocks that never run out, for the first and the last of three seats.
fn patient_clocks() -> Vec<Option<Clock>> {
    let (hour, bot) = (Duration::from_hours(1), Bot::Greedy { determinizations: 1 });
    let by_bot =
        Clock { limit: hour, bank: hour, increment: hour / 60, strikes: 2, on_timeout: OnTimeout::Bot(bot) };
    let drawn = Clock { on_timeout: OnTimeout::SeededLegal, ..by_bot.clone() };
    vec![Some(by_bot), None, Some(drawn)]
}

#[tokio::test]
async fn a_restart_does_not_change_the_match() {
    let greedy = Player::Bot(Bot::Greedy { determinizations: 1 });
    for game in boardwire_games::IDS {
        let players = [AGENT, greedy.clone(), AGENT];
        let clocks = patient_clocks();
        let illegal_actions = IllegalActionPolicy::SeededLegal;
        let played = Settings { illegal_actions, clocks, ..settings(&players) };
        let without_restarts = play_rest(&arbiter(table(game, 3), played.clone())).await;
        let folder = tempfile::tempdir().expect("a folder");
        let (first, kept) = journal(&folder);
        assert_eq!(kept, []);
        let fresh =
            Arbiter::new(table(game, 3), played, pool().new_group().work_queue(), 3).with_journal(&first);
        let (mut arbiter, mut writing) = (Arc::new(fresh), first);
        arbiter.start();
        let request = Some(Uuid::from_u128(5));
        let token = arbiter.join(Seat::new(2), request, None).expect("the seat has no agent");
        let host = arbiter.host_token().to_owned();
        let mut restarts = 0;
        while play_one_decision(&arbiter).await {
            if arbiter.position().ply % 7 != 0 {
                continue;
            }
            // The journal has only past events, so the bots must have chosen before a restart.
            bots_are_done(&arbiter).await;
            writing.close();
            let (next, kept) = journal(&folder);
            let [kept] = &kept[..] else { panic!("one match: {kept:?}") };
            let again = Arbiter::restore(kept, &tables(), pool().new_group().work_queue(), 3, Some(&next))
                .expect("the match can be restored");
            let same = {
                let (before, after) = (arbiter.lock(), again.lock());
                (all_of(&arbiter, &before.state), all_of(&again, &after.state))
            };
            assert_eq!(same.0, same.1, "{game}");
            assert_eq!(again.id(), arbiter.id());
            assert_eq!(again.role(Some(&token)), Ok(Role::Seat(Seat::new(2))));
            assert_eq!(again.role(Some(&host)), Ok(Role::Host));
            arbiter.close(CloseReason::ShuttingDown);
            (arbiter, writing) = (Arc::new(again), next);
            arbiter.start();
            restarts += 1;
        }
        assert!(restarts > 2, "{restarts} restarts");
        assert!(play_rest(&arbiter).await == without_restarts, "{game}");
        // After the restart the server no longer knows the token, so a retry gets a new token.
        let another = arbiter.join(Seat::new(2), request, None).expect("the same request");
        assert_ne!(another, token);
        assert_eq!(arbiter.role(Some(&another)), Ok(Role::Seat(Seat::new(2))));
        assert!(arbiter.role(Some(&token)).is_err());
        let refused = arbiter.join(Seat::new(2), Some(Uuid::from_u128(6)), None);
        assert!(matches!(refused, Err(Error::InvitationUsed { .. })));
        arbiter.close(CloseReason::Host);
        arbiter.wait_until_written().await.expect("the lines are written");
        writing.close();
        assert_eq!(journal(&folder).1, [], "it has ended");
    }
}

/// An error names the line, unless the rules have changed.
#[tokio::test]
async fn a_match_that_cannot_be_restored_names_the_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let (writing, _) = journal(&folder);
    let settings =
        Settings { illegal_actions: IllegalActionPolicy::SeededLegal, ..settings(&[AGENT, RANDOM]) };
    let fresh = Arbiter::new(table("faraway", 2), settings, pool().new_group().work_queue(), 3);
    let arbiter = Arc::new(fresh.with_journal(&writing));
    arbiter.start();
    for _ in 0..5 {
        play_one_decision(&arbiter).await;
    }
    arbiter.wait_until_written().await.expect("the lines are written");
    writing.close();
    let (_, kept) = journal(&folder);
    let error_of = |line: usize, from: &str, to: &str| {
        let mut kept = kept[0].clone();
        assert!(kept.lines[line].contains(from), "{}", kept.lines[line]);
        kept.lines[line] = kept.lines[line].replacen(from, to, 1);
        Arbiter::restore(&kept, &tables(), pool().new_group().work_queue(), 3, None)
            .err()
            .expect("the match cannot be restored")
    };
    let spec = crate::hex::hex(table("faraway", 2).digest.as_bytes());
    assert!(error_of(0, &spec, &"0".repeat(64)).starts_with("the match needs spec 0000"));
    let hex = |word: &str| crate::hex::hex(word.as_bytes());
    assert!(error_of(0, &hex("faraway"), &hex("farawax")).contains("farawax"));
    assert!(error_of(0, &hex("random"), &hex("policy")).contains("policy"));
    assert!(error_of(1, "\"action\":", "\"action\":2").starts_with("line 1: action 2"));
    assert!(error_of(1, "\"seat\":", "\"seat\":7").starts_with("line 1: there is no seat 7"));
    assert!(error_of(2, "\"digest\":\"", "\"digest\":\"x").contains("the journal has x"));
    assert!(error_of(3, "{", "[").starts_with("line 3: "));
}

/// Returns values to replace a value with: the ends of ranges, null, other types.
fn replacements_for(value: &Value) -> Vec<Value> {
    let numbers = [0, 1, 255, 256, u64::from(u32::MAX), i64::MAX as u64, u64::MAX];
    let mut all: Vec<Value> = numbers.into_iter().map(Value::from).collect();
    all.extend([Value::from(-1), Value::from(1e300), Value::Null, Value::from(""), Value::from(true)]);
    match value {
        Value::String(text) => {
            all.extend([Value::from("0".repeat(text.len())), Value::from("f".repeat(text.len()))]);
        }
        Value::Array(items) => {
            all.push(Value::Array([&items[..], &items[..]].concat()));
            all.push(Value::Array(vec![]));
        }
        _ => {}
    }
    all
}

/// Returns copies of a line, each with one value altered.
fn altered_copies(line: &str) -> Vec<String> {
    fn paths(value: &Value, path: &str, all: &mut Vec<String>) {
        all.push(path.to_owned());
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, inner)| paths(inner, &format!("{path}/{name}"), all));
            }
            Value::Array(items) => {
                items.iter().zip(0..).for_each(|(inner, at)| paths(inner, &format!("{path}/{at}"), all));
            }
            _ => {}
        }
    }
    let line: Value = serde_json::from_str(line).expect("the line is JSON");
    let mut all = Vec::new();
    paths(&line, "", &mut all);
    let mut lines = Vec::new();
    for path in all.iter().skip(1) {
        let value = line.pointer(path).expect("the path is of this line");
        for other in replacements_for(value) {
            let mut line = line.clone();
            *line.pointer_mut(path).expect("the path is of this line") = other;
            lines.push(line.to_string());
        }
    }
    lines
}

/// With any altered value, the server either refuses the match or restores and continues it.
#[tokio::test]
async fn no_value_in_a_journal_makes_the_server_panic() {
    let greedy = Player::Bot(Bot::Greedy { determinizations: 1 });
    for (fair_deals, clocks) in [(false, patient_clocks()), (true, vec![])] {
        let folder = tempfile::tempdir().expect("a folder");
        let (writing, _) = journal(&folder);
        let illegal_actions = IllegalActionPolicy::SeededLegal;
        let seed = (!fair_deals).then_some(1);
        let players = [AGENT, greedy.clone(), AGENT];
        let played = Settings { seed, illegal_actions, clocks, fair_deals, ..settings(&players) };
        let fresh = Arbiter::new(table("faraway", 3), played, pool().new_group().work_queue(), 3);
        let arbiter = Arc::new(fresh.with_journal(&writing));
        arbiter.start();
        for seat in [Seat::FIRST, Seat::new(2)] {
            let secret = [seat.number(); 32];
            arbiter
                .join(seat, None, fair_deals.then(|| commitment_to(&secret)))
                .expect("the seat has no agent");
        }
        if fair_deals {
            for seat in [Seat::FIRST, Seat::new(2)] {
                arbiter.open_deal(seat, [seat.number(); 32]).await.expect("all have joined");
            }
        }
        for _ in 0..7 {
            play_one_decision(&arbiter).await;
        }
        arbiter
            .resign(Role::Seat(Seat::FIRST), None, None, Extras::default())
            .await
            .expect("the seat may resign");
        arbiter.reset_match(Role::Host, None, None).await.expect("the host may reset the match");
        play_one_decision(&arbiter).await;
        arbiter.wait_until_written().await.expect("the lines are written");
        writing.close();
        let (_, kept) = journal(&folder);
        let (mut refused, mut restored, tables) = (0, 0, tables());
        for at in 0..kept[0].lines.len() {
            for line in altered_copies(&kept[0].lines[at]) {
                let mut kept = kept[0].clone();
                kept.lines[at] = line.clone();
                let tried = std::panic::catch_unwind(AssertUnwindSafe(|| {
                    let again = Arbiter::restore(&kept, &tables, pool().new_group().work_queue(), 3, None)?;
                    let again = Arc::new(again);
                    let mut inner = again.lock();
                    all_of(&again, &inner.state);
                    again.play_automatic_steps(&mut inner);
                    inner.clocks.next(&inner.state);
                    inner.clocks.readings(&inner.state);
                    drop(inner);
                    assert_eq!(again.describe(Audience::Host).id, again.id());
                    Ok::<_, String>(())
                }));
                match tried.unwrap_or_else(|_| panic!("line {at}: {line}")) {
                    Ok(()) => restored += 1,
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(refused > 1_000 && restored > 100, "{refused} were refused, {restored} restored");
    }
}

/// Commitments and secrets survive restarts, before and after the deal.
#[tokio::test]
async fn a_fair_match_continues_after_restarts() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut writing, _) = journal(&folder);
    let settings = Settings { seed: None, fair_deals: true, ..settings(&[AGENT, RANDOM, AGENT]) };
    let fresh = Arbiter::new(table("faraway", 3), settings, pool().new_group().work_queue(), 3)
        .with_journal(&writing);
    let mut arbiter = Arc::new(fresh);
    let server = fair_deal(&arbiter).server_commitment;
    for step in 0..6 {
        let seat = Seat::new(if step % 2 == 0 { 0 } else { 2 });
        let secret = [seat.number(); 32];
        match step {
            0 | 1 => {
                drop(arbiter.join(seat, None, Some(commitment_to(&secret))).expect("the seat has no agent"));
            }
            2 | 3 => arbiter.open_deal(seat, secret).await.expect("all have joined"),
            _ => {
                play_to_end(&arbiter).await;
                arbiter.reset_match(Role::Host, None, None).await.expect("the host may reset the match");
            }
        }
        let code = (step == 4).then(|| arbiter.invite(2).expect("the episode is dealt").1);
        writing.close();
        let (next, kept) = journal(&folder);
        let again = Arbiter::restore(&kept[0], &tables(), pool().new_group().work_queue(), 3, Some(&next))
            .expect("the match can be restored");
        {
            let (before, after) = (arbiter.lock(), again.lock());
            assert_eq!(all_of(&arbiter, &before.state), all_of(&again, &after.state), "step {step}");
        }
        assert_eq!(fair_deal(&again).server_commitment, server);
        assert_eq!(again.phase() == Phase::Gathering, step < 3);
        if let Some(code) = code {
            assert!(
                again.invitation_digests().contains(&(Seat::new(2), secret::digest(&code))),
                "the new invitation"
            );
        }
        (arbiter, writing) = (Arc::new(again), next);
    }
}

/// The caller drops its call before the journal has written the decision: the decision counts, and the match continues.
#[tokio::test]
async fn a_call_dropped_during_the_journals_write_still_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let (writing, _) = journal(&folder);
    let players = [AGENT, Player::Bot(Bot::Search { playouts: 40 })];
    let fresh = Arbiter::new(table("faraway", 2), settings(&players), pool().new_group().work_queue(), 3);
    let arbiter = Arc::new(fresh.with_journal(&writing));
    arbiter.start();
    let (mut made, mut dropped) = (0, 0);
    loop {
        let observation =
            arbiter.observe(Seat::FIRST, true, Extras::default()).await.expect("bots have chosen");
        assert_eq!(observation.decision, made);
        if arbiter.phase() == Phase::Over {
            break;
        }
        let acting = arbiter.act(Seat::FIRST, decision_of(&observation, legal(&observation)[0]));
        // Sometimes the disk finishes the write before the call is dropped.
        dropped += u32::from(futures_util::FutureExt::now_or_never(acting).is_none());
        made += 1;
    }
    assert!(made > 10 && dropped > 0, "{dropped} of {made} calls were dropped");
    writing.close();
}

/// A caller that has dropped its request gets the same match when it repeats the request.
#[tokio::test]
async fn a_repeated_creation_gets_the_same_match() {
    use crate::matches::{MatchLimits, Matches};
    use crate::origin::Origin;
    use crate::requests::RequestId;

    let folder = tempfile::tempdir().expect("a folder");
    let (writing, _) = journal(&folder);
    let pool = Arc::new(Pool::new(1).expect("a thread starts"));
    let matches = Matches::new(tables(), MatchLimits::default(), pool).with_journal(Arc::clone(&writing));
    let table = matches.tables().table("faraway", 2, []).expect("the table can be set up");
    let create = || {
        let request = RequestId { id: Uuid::from_u128(5), digest: [1; 32], origin: Origin::Unknown };
        matches.create(Some(request), Origin::Unknown, Arc::clone(&table), settings(&[AGENT, RANDOM]))
    };
    drop(futures_util::FutureExt::now_or_never(create()));
    let arbiter = create().await.expect("there is room");
    assert_eq!((create().await.expect("the match exists").id(), matches.len()), (arbiter.id(), 1));
    writing.close();
}

/// No caller sees that a match is closed if the next server would still have it open.
#[tokio::test]
async fn no_match_closes_while_the_journal_fails() {
    use crate::matches::{MatchLimits, Matches};
    use crate::origin::Origin;

    let folder = tempfile::tempdir().expect("a folder");
    let reading =
        JournalReader::open(&folder.path().join("journal"), Retention::default()).expect("the journal opens");
    reading.limit(16);
    let writing = reading.start_writer(&[]).expect("the journal is writable");
    let pool = Arc::new(Pool::new(1).expect("a thread starts"));
    let limits = MatchLimits { idle: Duration::ZERO, ..MatchLimits::default() };
    let matches = Matches::new(tables(), limits, pool).with_journal(Arc::clone(&writing));
    let table = matches.tables().table("faraway", 2, []).expect("the table can be set up");
    let create = || matches.create(None, Origin::Unknown, Arc::clone(&table), settings(&[AGENT, AGENT]));
    let first = create().await.expect("there is room");
    let full = loop {
        if let Err(full) = create().await {
            break full;
        }
    };
    assert!(matches!(full, Error::JournalFailed { .. }), "{full}");
    assert_eq!(matches.close(first.id(), Some(first.host_token())).err(), Some(full));
    matches.expire(std::time::Instant::now() + Duration::from_hours(1));
    assert!(!matches!(first.phase(), Phase::Closed(_)) && matches.len() > 1);
    writing.close();
}

/// A host does not see its match closed if the next server continues it.
#[tokio::test]
async fn no_match_closes_while_the_server_stops() {
    use crate::matches::{MatchLimits, Matches};
    use crate::origin::Origin;

    let folder = tempfile::tempdir().expect("a folder");
    let (writing, _) = journal(&folder);
    let pool = Arc::new(Pool::new(1).expect("a thread starts"));
    let matches = Matches::new(tables(), MatchLimits::default(), pool).with_journal(Arc::clone(&writing));
    let table = matches.tables().table("faraway", 2, []).expect("the table can be set up");
    let create = || matches.create(None, Origin::Unknown, Arc::clone(&table), settings(&[AGENT, AGENT]));
    let arbiter = create().await.expect("there is room");
    matches.stop();
    let stops = || Some(Error::ShuttingDown);
    assert_eq!(matches.close(arbiter.id(), Some(arbiter.host_token())).err(), stops());
    assert_eq!(create().await.err(), stops());
    writing.close();
    let (next, kept) = journal(&folder);
    assert_eq!(kept.iter().map(|kept| kept.id.as_str()).collect::<Vec<_>>(), [arbiter.id()]);
    next.close();
}
