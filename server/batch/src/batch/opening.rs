//! What a batch is opened with.

use super::columns::row_bytes;
use super::{MESSAGE_HEAD, Plan};
use crate::refused::Refused;
use crate::tables::Table;

/// What a batch is opened with, beside its table.
#[derive(Debug, Clone)]
pub struct Opening {
    /// How its environments are played.
    pub plan: Plan,
    /// How many there are.
    pub environments: usize,
    /// The number of the first.
    pub first: u64,
    /// The seed that all episodes' seeds follow from.
    pub seed: u64,
    /// The most bytes of a message, which its owner takes.
    pub message_bytes: usize,
}

impl Opening {
    /// Refuses a batch without an environment, or with so many that their rows do not fit a message.
    ///
    /// # Errors
    /// What was asked for, and what would be right.
    pub fn check(&self, table: &Table) -> Result<(), Refused> {
        let Self { environments, message_bytes, .. } = *self;
        let row = row_bytes(table.rules.info(), &self.plan);
        let most = message_bytes.saturating_sub(MESSAGE_HEAD) / row;
        if most == 0 {
            return Err(Refused::BadField {
                field: "max_message_bytes",
                value: message_bytes.to_string(),
                expected: format!("at least {}, for one environment", MESSAGE_HEAD + row),
            });
        }
        if !(1..=most).contains(&environments) {
            return Err(Refused::BadField {
                field: "environments",
                value: environments.to_string(),
                expected: format!("from 1 to {most}, whose rows fit a message of {message_bytes} bytes"),
            });
        }
        Ok(())
    }
}
