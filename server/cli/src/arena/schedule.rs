//! The entrants of an arena, and the line-ups in which they play.

use boardwire_batch::tables::{Table, Tables};
use boardwire_bots::Bot;

/// The entrants, and their seats in each match of a deal.
///
/// Each deal is played at every table in every rotation, so that luck of the deal and of the seat is equal for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    /// The unique names of the entrants.
    pub(super) entrants: Vec<String>,
    /// For each match of a deal, the index of the entrant at each seat.
    pub(super) line_ups: Vec<Vec<usize>>,
}

/// A player of an arena.
#[derive(Debug, Clone)]
pub(super) enum Entrant {
    Bot(Bot),
    /// An agent over gRPC.
    Agent {
        /// `agent:NAME`.
        name: String,
        /// The command that starts the agent. Without one, the user starts it.
        command: Option<Vec<String>>,
    },
}

impl Entrant {
    /// Returns the entrant with this name.
    ///
    /// # Errors
    /// The bot is unknown.
    pub(super) fn named(
        name: &str,
        tables: &Tables,
        table: &Table,
        commands: &[(String, String)],
    ) -> anyhow::Result<Self> {
        let Some(agent) = name.strip_prefix("agent:") else { return Ok(Self::Bot(tables.bot(table, name)?)) };
        let command = commands.iter().rfind(|(name, _)| name == agent).map(|(_, command)| shell(command));
        Ok(Self::Agent { name: name.to_owned(), command })
    }
}

/// Returns a shell command that accepts more arguments; `command` may begin with `NAME=VALUE`. `exec` replaces the shell,
/// so that killing the process kills the agent.
fn shell(command: &str) -> Vec<String> {
    ["sh", "-c", &format!("exec env {command} \"$@\""), "sh"].map(str::to_owned).to_vec()
}

impl Schedule {
    /// Returns the schedule of one table with these bots in order. A bot may have several seats.
    pub(super) fn table(seats: &[String]) -> Self {
        let mut entrants: Vec<String> = Vec::new();
        let mut seating = Vec::new();
        for bot in seats {
            let index = entrants.iter().position(|entrant| entrant == bot);
            seating.push(index.unwrap_or_else(|| {
                entrants.push(bot.clone());
                entrants.len() - 1
            }));
        }
        Self { entrants, line_ups: rotations(&seating) }
    }

    /// Returns the schedule with one table for every choice of `seats` entrants.
    ///
    /// # Errors
    /// An entrant is named twice, or there are too few.
    pub(super) fn field(entrants: &[String], seats: usize) -> anyhow::Result<Self> {
        for (index, bot) in entrants.iter().enumerate() {
            anyhow::ensure!(!entrants[..index].contains(bot), "`{bot}` is in the field twice");
        }
        anyhow::ensure!(
            (1..=entrants.len()).contains(&seats),
            "--at must be 1 to {} for this field; got {seats}",
            entrants.len()
        );
        let mut tables = Vec::new();
        choose(entrants.len(), seats, &mut Vec::new(), &mut tables);
        let line_ups = tables.iter().flat_map(|table| rotations(table)).collect();
        Ok(Self { entrants: entrants.to_vec(), line_ups })
    }

    pub(super) fn seats(&self) -> usize {
        self.line_ups[0].len()
    }
}

/// Returns all distinct rotations.
fn rotations(seating: &[usize]) -> Vec<Vec<usize>> {
    let mut rotations: Vec<Vec<usize>> = Vec::new();
    for turn in 0..seating.len() {
        let mut rotation = seating.to_vec();
        rotation.rotate_right(turn);
        if !rotations.contains(&rotation) {
            rotations.push(rotation);
        }
    }
    rotations
}

/// Adds to `choices` every ascending choice of `count` numbers below `limit` that begins with `chosen`.
fn choose(limit: usize, count: usize, chosen: &mut Vec<usize>, choices: &mut Vec<Vec<usize>>) {
    if chosen.len() == count {
        choices.push(chosen.clone());
        return;
    }
    for next in chosen.last().map_or(0, |last| last + 1)..limit {
        chosen.push(next);
        choose(limit, count, chosen, choices);
        chosen.pop();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::agent::Agent;

    #[tokio::test]
    async fn a_command_may_quote_and_set_variables() {
        let command = shell(r#"WORDS='two words' sh -c 'echo "$WORDS, $*" >&2' sh"#);
        let agent = Agent::start(&command, "address", "code", &[]).expect("the shell starts");
        let (status, output) = agent.end(Duration::from_secs(10)).await.expect("the agent ends");
        assert_eq!(output.stderr, "two words, address code");
        assert!(status.is_some_and(|status| status.success()));
    }

    fn bots(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_table_has_every_rotation_once() {
        let one = Schedule::table(&bots(&["mc", "greedy", "greedy"]));
        assert_eq!(one.entrants, bots(&["mc", "greedy"]));
        assert_eq!(one.line_ups, [[0, 1, 1], [1, 0, 1], [1, 1, 0]]);
        assert_eq!(Schedule::table(&bots(&["greedy", "greedy"])).line_ups, [[0, 0]]);
        assert_eq!(Schedule::table(&bots(&["mc", "greedy", "mc", "greedy"])).line_ups.len(), 2);
    }

    #[test]
    fn a_field_meets_at_every_possible_table() {
        let field = Schedule::field(&bots(&["mc", "greedy", "random"]), 2).expect("a field");
        assert_eq!(field.line_ups, [[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]]);
        assert_eq!(field.seats(), 2);
        let error = |names: &[&str], seats| Schedule::field(&bots(names), seats).unwrap_err().to_string();
        assert_eq!(error(&["mc", "greedy", "mc"], 2), "`mc` is in the field twice");
        assert_eq!(error(&["mc", "greedy"], 3), "--at must be 1 to 2 for this field; got 3");
    }
}
