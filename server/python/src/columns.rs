//! The columns of a step, from the engine in this process or from a server.

use boardwire_api::v1;
use boardwire_batch::batch;

/// A step's columns, in memory that never changes.
#[expect(
    clippy::large_enum_variant,
    reason = "a separate allocation for `Played` would slow down a step of one environment"
)]
pub(crate) enum Columns {
    /// The engine in this process wrote the columns.
    Played(batch::Step),
    /// A server sent the columns. The client has checked that their lengths fit the table.
    Received(Box<v1::Step>),
}

macro_rules! columns {
    ($($name:ident)*) => { $(
        pub(crate) fn $name(&self) -> &[u8] {
            match self {
                Self::Played(step) => step.$name(),
                Self::Received(step) => &step.$name,
            }
        }
    )* };
}

impl Columns {
    columns!(
        seat flags ply reward mask episode ended scores ranks final_view advice advice_shares estimates
        oracle oracle_mask view
    );

    /// Returns the environment of the first row.
    pub(crate) fn first(&self) -> u32 {
        match self {
            Self::Played(step) => step.first,
            Self::Received(step) => step.first,
        }
    }

    /// Returns the sequence number of the response.
    pub(crate) fn sequence(&self) -> u64 {
        match self {
            Self::Played(step) => step.sequence,
            Self::Received(step) => step.sequence,
        }
    }
}
