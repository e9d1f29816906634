//! What a batch is opened with.

use super::columns::row_bytes;
use super::{MESSAGE_HEAD, Plan};
use crate::tables::Table;
use boardwire_api::Error;

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
    pub fn check(&self, table: &Table) -> Result<(), Error> {
        let Self { environments, message_bytes, .. } = *self;
        let row = row_bytes(table.rules.info(), &self.plan);
        let most = message_bytes.saturating_sub(MESSAGE_HEAD) / row;
        if most == 0 {
            let expected = format!("at least {}, for one environment", MESSAGE_HEAD + row);
            return Err(Error::field("max_message_bytes", message_bytes, expected));
        }
        if !(1..=most).contains(&environments) {
            let expected = format!("from 1 to {most}, whose rows fit a message of {message_bytes} bytes");
            return Err(Error::field("environments", environments, expected));
        }
        Ok(())
    }
}
