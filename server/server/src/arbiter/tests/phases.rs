//! Compares the arbiter with the table at the head of `MatchService`: what each method does in each phase of a match.

use std::collections::BTreeMap;

use futures_util::FutureExt as _;

use super::*;

const PROTOCOL: &str = include_str!("../../../../../proto/boardwire/v1/match_service.proto");

/// Returns the table by method: the reason of the error in each phase (gathering, playing, over, closed).
fn protocol_table() -> BTreeMap<&'static str, Vec<Option<&'static str>>> {
    let rows = PROTOCOL.lines().skip_while(|line| !line.contains("GATHERING"));
    let rows = rows.skip(1).map_while(|line| line.strip_prefix("//   "));
    let reason = |cell: &&'static str| {
        let word = cell.split([' ', ',', ';']).next().expect("a cell has a word");
        let is_reason = word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
        is_reason.then_some(word)
    };
    let row = |line: &'static str| {
        let cells: Vec<_> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        (cells[0], cells[1..].iter().map(reason).collect())
    };
    rows.map(row).collect()
}

/// Creates a match in this phase. No agent has joined.
async fn match_in_phase(phase: usize) -> Arc<Arbiter> {
    let (players, seed) = ([AGENT; 2], Some(7));
    let fair_deals = phase == 0;
    let settings = Settings { fair_deals, seed: seed.filter(|_| !fair_deals), ..settings(&players) };
    let arbiter = faraway(settings);
    if phase == 2 {
        play_to_end(&arbiter).await;
    } else if phase == 3 {
        arbiter.close(CloseReason::Host);
    }
    arbiter
}

#[tokio::test]
async fn methods_follow_the_protocols_table_of_phases() {
    let seat = Seat::FIRST;
    let (protocol_table, mut compared) = (protocol_table(), 0);
    for (method, reasons) in &protocol_table {
        assert_eq!(reasons.len(), 4, "{method}: {reasons:?}");
        for (phase, reason) in reasons.iter().enumerate() {
            let arbiter = match_in_phase(phase).await;
            let number = arbiter.lock().state.by_seat[seat.index()].decision;
            let action = u32::from(arbiter.lock().state.play.legal(seat).lowest().unwrap_or_default());
            let result = match *method {
                "JoinMatch" => arbiter.join(seat, None, Some([7; 32])).map(drop),
                "Invite" => arbiter.invite(0).map(drop),
                "Observe" => arbiter.observe(seat, false, Extras::default()).await.map(drop),
                "Act" => arbiter.act(seat, Decision { episode: 0, number, action }).await.map(drop),
                // The call waits for the other seat.
                "Reset" => reset(&arbiter, seat, None, None).now_or_never().unwrap_or(Ok(())),
                "ResetMatch" => arbiter.reset_match(Role::Host, None, None).await,
                "Resign" => arbiter.resign(seat, None, None, Extras::default()).await.map(drop),
                "GetReplay" => arbiter.replay(Audience::Host, None).map(drop),
                "OpenDeal" | "Watch" => continue,
                other => panic!("{other} is not a method of a match"),
            };
            let refused = result.err().map(|error| error.report().reason);
            assert_eq!(refused, *reason, "{method} in phase {phase}");
            compared += 1;
        }
    }
    assert_eq!((protocol_table.len(), compared), (10, 32));
}
