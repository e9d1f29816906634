//! Recorded games as they stand in JSON, not validated.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

/// One seat in a case's state or in a snapshot.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlayerRow {
    pub(super) cells: Vec<i64>,
    pub(super) spores: Vec<i64>,
    pub(super) crystals: i64,
    pub(super) points: i64,
    pub(super) entities: Vec<String>,
    pub(super) fresh: Option<Vec<String>>,
    pub(super) hand: Option<i64>,
}

/// A whole game.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordRow {
    #[serde(rename = "id")]
    _id: Option<IgnoredAny>,
    pub(super) op: Option<String>,
    #[serde(rename = "source")]
    _source: Option<IgnoredAny>,
    #[serde(rename = "tags")]
    _tags: Option<IgnoredAny>,
    pub(super) players: i64,
    pub(super) side: String,
    pub(super) initial_stack: Vec<i64>,
    pub(super) deals: Vec<Vec<Vec<i64>>>,
    #[serde(deserialize_with = "events")]
    pub(super) log: Vec<EventRow>,
}

/// The events; one that cannot be read is refused with its place.
fn events<'de, D: Deserializer<'de>>(log: D) -> Result<Vec<EventRow>, D::Error> {
    struct Events;

    impl<'de> Visitor<'de> for Events {
        type Value = Vec<EventRow>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence of events")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut log: A) -> Result<Self::Value, A::Error> {
            let mut events = Vec::new();
            loop {
                match log.next_element() {
                    Ok(Some(event)) => events.push(event),
                    Ok(None) => return Ok(events),
                    Err(error) => {
                        return Err(A::Error::custom(format_args!("log[{}]: {error}", events.len())));
                    }
                }
            }
        }
    }

    log.deserialize_seq(Events)
}

/// One event, by its word.
#[derive(Deserialize)]
#[serde(tag = "ev", rename_all = "lowercase")]
pub(super) enum EventRow {
    Start(StartRow),
    Draft(DraftRow),
    Main(MainRow),
    Activate(ActivateRow),
    Snapshot(SnapshotRow),
    Final(FinalRow),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartRow {
    pub(super) step: i64,
    pub(super) first: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DraftRow {
    pub(super) step: i64,
    pub(super) player: i64,
    pub(super) satellite: i64,
    pub(super) options: Vec<i64>,
    pub(super) pick: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MainRow {
    pub(super) step: i64,
    pub(super) player: i64,
    pub(super) card: i64,
    pub(super) legal_cells: Vec<i64>,
    pub(super) spore_cells: Vec<i64>,
    pub(super) action: StepRow,
    pub(super) taken: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActivateRow {
    pub(super) step: i64,
    pub(super) player: i64,
    pub(super) cells: Vec<i64>,
    pub(super) entities: Vec<String>,
    pub(super) action: UseRow,
    pub(super) crystals: i64,
    pub(super) points: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SnapshotRow {
    pub(super) step: i64,
    pub(super) players: Vec<PlayerRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FinalRow {
    pub(super) points: Vec<i64>,
    pub(super) winners: Vec<i64>,
}

/// One of three: what became of the kept card.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepRow {
    pub(super) place: Option<i64>,
    pub(super) spore: Option<i64>,
    pub(super) crystals: Option<bool>,
}

/// One of three, and the cell of a Spore bought.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UseRow {
    pub(super) cell: Option<i64>,
    pub(super) spore: Option<i64>,
    pub(super) entity: Option<String>,
    pub(super) end: Option<bool>,
}
