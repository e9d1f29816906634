//! The decisions since a seat's last one as text, for agents that keep no memory.

use std::fmt::Write as _;

use boardwire_api::v1::Forfeit;
use boardwire_batch::tables::Table;
use boardwire_kernel::Seat;

use super::{Cause, Forfeited, Move, Record};

/// Returns what `viewer` may know of all decisions since its last one, its last one included; before its first decision,
/// since the deal. It replays the episode and reports each decision in lines of text.
///
/// # Panics
/// The record has an action that is not legal. The arbiter accepts no such action.
pub(crate) fn history(table: &Table, record: &Record, viewer: Seat) -> String {
    let (past, recent) = record.moves.split_at(last_decision(record, viewer));
    let (mut play, mut history) = (table.game.clone().deal(record.key.key), String::new());
    for played in past {
        play.apply(played.seat, played.action.into()).expect("a recorded action is legal");
    }
    for played in recent {
        // The cause of another seat's action is secret until the episode is over.
        if let Some(reason) = server_reason(table, played).filter(|_| played.seat == viewer) {
            let _ = writeln!(history, "{viewer} (you): {reason}");
        }
        let reported = play.report(played.seat, played.action, viewer, &mut history);
        reported.expect("a recorded action is legal");
    }
    if let Some(Forfeited { seat, reason }) = record.forfeited {
        let you = if seat == viewer { " (you)" } else { "" };
        let _ = writeln!(history, "{seat}{you} forfeited: {}", forfeit_reason(reason));
    }
    history
}

/// Returns the index of the last move that `viewer` decided. A forced move is not a decision. If the last decision was an
/// illegal action that ended the episode, the index is after all moves.
fn last_decision(record: &Record, viewer: Seat) -> usize {
    let end = Some(Forfeited { seat: viewer, reason: Forfeit::IllegalAction });
    if record.forfeited == end {
        return record.moves.len();
    }
    let is_decision = |played: &Move| played.seat == viewer && played.cause != Cause::Forced;
    record.moves.iter().rposition(is_decision).unwrap_or(0)
}

/// Returns why the server chose an action for an agent. `None` if it did not.
fn server_reason(table: &Table, played: &Move) -> Option<String> {
    Some(match played.cause {
        Cause::Agent | Cause::Bot { .. } => return None,
        Cause::Substituted { given, .. } => {
            let given = u8::try_from(given).ok().and_then(|given| table.game.info().actions.label(given));
            format!("\"{}\" was illegal, so the server chose another action", given.unwrap_or_default())
        }
        Cause::Forced => "there was one legal action, so the server chose it".to_owned(),
        Cause::TimedOut { .. } => "the time ran out, so the server chose an action".to_owned(),
    })
}

fn forfeit_reason(reason: Forfeit) -> &'static str {
    match reason {
        Forfeit::Unspecified => "no reason is known",
        Forfeit::IllegalAction => "it chose an illegal action",
        Forfeit::Time => "its time ran out",
        Forfeit::Resigned => "it resigned",
        Forfeit::Host => "the host ended the episode against it",
    }
}
