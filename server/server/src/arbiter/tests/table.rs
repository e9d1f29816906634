//! What each method does as a match stands: the table at the head of `MatchService`, compared with the arbiter.

use std::collections::BTreeMap;

use futures_util::FutureExt as _;

use super::*;

const PROTOCOL: &str = include_str!("../../../../../proto/boardwire/v1/match_service.proto");

/// By method, the reason with which it is refused as the match stands: gathering, playing, over, closed.
fn told() -> BTreeMap<&'static str, Vec<Option<&'static str>>> {
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

/// A match that stands so; seat 0 is free.
async fn state(phase: usize) -> Arc<Arbiter> {
    let (players, seed) = ([AGENT; 2], Some(7));
    let fair_deals = phase == 0;
    let settings = Settings { fair_deals, seed: seed.filter(|_| !fair_deals), ..settings(&players) };
    let arbiter = faraway(settings);
    if phase == 2 {
        play_out(&arbiter).await;
    } else if phase == 3 {
        arbiter.close(CloseReason::Host);
    }
    arbiter
}

#[tokio::test]
async fn what_a_method_does_as_a_match_stands_is_what_the_protocol_says() {
    let seat = Seat::FIRST;
    let (told, mut compared) = (told(), 0);
    for (method, reasons) in &told {
        assert_eq!(reasons.len(), 4, "{method}: {reasons:?}");
        for (phase, reason) in reasons.iter().enumerate() {
            let arbiter = state(phase).await;
            let number = arbiter.lock().state.by_seat[seat.index()].decision;
            let action = u32::from(arbiter.lock().state.play.legal(seat).lowest().unwrap_or_default());
            let done = match *method {
                "JoinMatch" => arbiter.join(seat, None, Some([7; 32])).map(drop),
                "Invite" => arbiter.invite(0).map(drop),
                "Observe" => arbiter.observe(seat, false, Extras::default()).await.map(drop),
                "Act" => arbiter.act(seat, Decision { episode: 0, number, action }).await.map(drop),
                // It waits for the other seat.
                "Reset" => reset(&arbiter, seat, None, None).now_or_never().unwrap_or(Ok(())),
                "ResetMatch" => arbiter.reset_match(Role::Host, None, None).await,
                "Resign" => arbiter.resign(seat, None, None, Extras::default()).await.map(drop),
                "GetReplay" => arbiter.replay(Audience::Host, None).map(drop),
                "OpenDeal" | "Watch" => continue,
                other => panic!("{other} is no method of a match"),
            };
            let refused = done.err().map(|error| error.report().reason);
            assert_eq!(refused, *reason, "{method} in phase {phase}");
            compared += 1;
        }
    }
    assert_eq!((told.len(), compared), (10, 32));
}
