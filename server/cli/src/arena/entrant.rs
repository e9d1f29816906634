//! Who takes part in an arena.

use boardwire_batch::tables::{Table, Tables};
use boardwire_bots::Bot;

/// Somebody who takes part.
#[derive(Debug, Clone)]
pub(super) enum Entrant {
    /// A bot, in this process.
    Bot(Bot),
    /// An agent of its own, over gRPC.
    Agent {
        /// As it stands among the seats: `agent:NAME`.
        name: String,
        /// What starts it; somebody else does, where there is none.
        command: Option<Vec<String>>,
    },
}

/// What agents are called before their name.
const AGENT: &str = "agent:";

impl Entrant {
    /// The player with this name.
    ///
    /// # Errors
    /// A bot that there is not.
    pub(super) fn named(
        name: &str,
        tables: &Tables,
        table: &Table,
        commands: &[(String, String)],
    ) -> anyhow::Result<Self> {
        let Some(agent) = name.strip_prefix(AGENT) else { return Ok(Self::Bot(tables.bot(table, name)?)) };
        let command = commands.iter().rfind(|(known, _)| known == agent).map(|(_, command)| shell(command));
        Ok(Self::Agent { name: name.to_owned(), command })
    }

    /// The bot, if it is one.
    pub(super) fn bot(&self) -> Option<&Bot> {
        match self {
            Self::Bot(bot) => Some(bot),
            Self::Agent { .. } => None,
        }
    }
}

/// A command as a shell understands it, after variables if it sets any, with room for more arguments. It takes the
/// shell's place: so whoever ends it ends the agent.
fn shell(command: &str) -> Vec<String> {
    ["sh", "-c", &format!("exec env {command} \"$@\""), "sh"].map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::agent::Agent;

    #[tokio::test]
    async fn a_command_may_quote_and_set_variables() {
        let command = shell(r#"WORDS='two words' sh -c 'echo "$WORDS, $*" >&2' sh"#);
        let agent = Agent::start(&command, "address", "code").expect("there is a shell");
        let (status, said) = agent.end(Duration::from_secs(10)).await.expect("it ends");
        assert_eq!(said, "two words, address code");
        assert!(status.is_some_and(|status| status.success()));
    }
}
