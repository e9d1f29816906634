//! Recorded games, validated: every component and number exists.

use std::collections::BTreeSet;

use boardwire_kernel::Seat;
use boardwire_kernel::record::LineError;

use super::lines::{self, wrong};
use super::rows::{
    ActivateRow, DraftRow, EventRow, FinalRow, MainRow, PlayerRow, RecordRow, StepRow, UseRow,
};
use crate::rauha::Catalogue;
use crate::rauha::action::Action;
use crate::rauha::catalogue::AGE;
use crate::rauha::state::{EntityId, PACK};

/// A recorded game whose every number can be.
pub(super) struct Record {
    pub(super) players: u8,
    pub(super) side: String,
    /// Who leads first.
    pub(super) leader: Seat,
    /// The cards of each Age in the order of dealing.
    pub(super) deals: Vec<Vec<u8>>,
    pub(super) log: Vec<Event>,
}

/// One event; cards keep the numbers of the record.
pub(super) enum Event {
    Start {
        step: u8,
        first: Seat,
    },
    Draft {
        step: u8,
        player: Seat,
        satellite: Seat,
        options: Vec<u8>,
        pick: u8,
    },
    Main {
        step: u8,
        player: Seat,
        card: u8,
        legal_cells: Vec<u8>,
        spore_cells: Vec<u8>,
        action: Action,
        taken: Vec<String>,
    },
    Activate {
        step: u8,
        player: Seat,
        cells: Vec<u8>,
        entities: Vec<String>,
        action: Use,
        crystals: u16,
        points: u16,
    },
    Snapshot {
        step: u8,
        players: Vec<PlayerRow>,
    },
    Final {
        points: Vec<i64>,
        winners: Vec<Seat>,
    },
}

/// What was activated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Cell { cell: u8, spore: Option<u8> },
    Entity { entity: EntityId, spore: Option<u8> },
    End,
}

impl Record {
    /// Reads a line.
    pub(super) fn read(line: &str, catalogue: &Catalogue) -> Result<Self, LineError> {
        let row: RecordRow = serde_json::from_str(line)?;
        if let Some(op) = row.op.filter(|op| op != "game") {
            return wrong("op", format_args!("`{op}` is not `game`"));
        }
        let players = lines::seats(row.players)?;
        if row.side != "A" && row.side != "B" {
            return wrong("side", format_args!("`{}` is neither A nor B", row.side));
        }
        let reader = Reader { players, catalogue };
        let log = row.log.into_iter().enumerate();
        Ok(Self {
            players,
            side: row.side,
            leader: lines::top_of(&row.initial_stack, players)?,
            deals: deals(&row.deals, players)?,
            log: log
                .map(|(index, row)| reader.event(&format!("log[{index}]"), row))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// The cards of each Age in the order of dealing: no card twice, each in its Age.
fn deals(rounds: &[Vec<Vec<i64>>], players: u8) -> Result<Vec<Vec<u8>>, LineError> {
    let count = |place: &str, given: usize, due: usize, what: &str| {
        if given == due { Ok(()) } else { wrong(place, format_args!("{given} {what}, not {due}")) }
    };
    count("deals", rounds.len(), 4, "rounds")?;
    let (mut ages, mut seen) = (vec![vec![], vec![]], BTreeSet::new());
    for (round, packs) in rounds.iter().enumerate() {
        let place = format!("deals[{round}]");
        count(&place, packs.len(), players.into(), "Satellites")?;
        for (satellite, pack) in packs.iter().enumerate() {
            let place = format!("{place}[{satellite}]");
            count(&place, pack.len(), PACK, "cards")?;
            for (index, &number) in pack.iter().enumerate() {
                let place = format!("{place}[{index}]");
                let card = lines::card(&place, number)?;
                let age = usize::from((card.get() - 1) / AGE);
                if age != round / 2 {
                    return wrong(&place, format_args!("card {number} is of Age {}", age + 1));
                }
                if !seen.insert(card) {
                    return wrong(&place, format_args!("card {number} is dealt twice"));
                }
                ages[age].push(card.get());
            }
        }
    }
    Ok(ages)
}

struct Reader<'a> {
    players: u8,
    catalogue: &'a Catalogue,
}

impl Reader<'_> {
    fn event(&self, place: &str, row: EventRow) -> Result<Event, LineError> {
        match row {
            EventRow::Start(row) => Ok(Event::Start {
                step: step(place, row.step)?,
                first: self.seat(&format!("{place}.first"), row.first)?,
            }),
            EventRow::Draft(row) => self.draft(place, &row),
            EventRow::Main(row) => self.main(place, row),
            EventRow::Activate(row) => self.activate(place, row),
            EventRow::Snapshot(row) => Ok(Event::Snapshot {
                step: step(place, row.step)?,
                players: self.snapshot(&format!("{place}.players"), row.players)?,
            }),
            EventRow::Final(row) => self.end(place, row),
        }
    }

    fn draft(&self, place: &str, row: &DraftRow) -> Result<Event, LineError> {
        let at = |field: &str| format!("{place}.{field}");
        Ok(Event::Draft {
            step: step(place, row.step)?,
            player: self.seat(&at("player"), row.player)?,
            satellite: self.seat(&at("satellite"), row.satellite)?,
            options: each(&at("options"), &row.options, card)?,
            pick: card(&at("pick"), row.pick)?,
        })
    }

    fn main(&self, place: &str, row: MainRow) -> Result<Event, LineError> {
        let at = |field: &str| format!("{place}.{field}");
        Ok(Event::Main {
            step: step(place, row.step)?,
            player: self.seat(&at("player"), row.player)?,
            card: card(&at("card"), row.card)?,
            legal_cells: each(&at("legal_cells"), &row.legal_cells, lines::cell)?,
            spore_cells: each(&at("spore_cells"), &row.spore_cells, lines::cell)?,
            action: row.action.read(&at("action"))?,
            taken: self.keys(&at("taken"), row.taken)?,
        })
    }

    fn activate(&self, place: &str, row: ActivateRow) -> Result<Event, LineError> {
        let at = |field: &str| format!("{place}.{field}");
        Ok(Event::Activate {
            step: step(place, row.step)?,
            player: self.seat(&at("player"), row.player)?,
            cells: each(&at("cells"), &row.cells, lines::cell)?,
            entities: self.keys(&at("entities"), row.entities)?,
            action: row.action.read(&at("action"), self.catalogue)?,
            crystals: lines::amount(&at("crystals"), row.crystals)?,
            points: lines::amount(&at("points"), row.points)?,
        })
    }

    fn end(&self, place: &str, row: FinalRow) -> Result<Event, LineError> {
        let at = |field: &str| format!("{place}.{field}");
        if row.points.len() != usize::from(self.players) {
            let given = row.points.len();
            return wrong(&at("points"), format_args!("{given} values, not {}", self.players));
        }
        Ok(Event::Final {
            points: row.points,
            winners: each(&at("winners"), &row.winners, |place, seat| self.seat(place, seat))?,
        })
    }

    fn seat(&self, place: &str, seat: i64) -> Result<Seat, LineError> {
        lines::seat(place, seat, self.players)
    }

    fn keys(&self, place: &str, keys: Vec<String>) -> Result<Vec<String>, LineError> {
        lines::entities(place, &keys, self.catalogue)?;
        Ok(keys)
    }

    fn snapshot(&self, place: &str, players: Vec<PlayerRow>) -> Result<Vec<PlayerRow>, LineError> {
        if players.len() != usize::from(self.players) {
            return wrong(place, format_args!("{} seats, not {}", players.len(), self.players));
        }
        for (seat, row) in players.iter().enumerate() {
            for (field, given) in [("fresh", row.fresh.is_some()), ("hand", row.hand.is_some())] {
                if given {
                    return wrong(&format!("{place}[{seat}].{field}"), "a snapshot has none");
                }
            }
        }
        lines::boards(place, &players, self.catalogue)?;
        Ok(players)
    }
}

/// The stop an event names.
fn step(place: &str, step: i64) -> Result<u8, LineError> {
    lines::stop(&format!("{place}.step"), step)
}

/// A card, by the number of the record.
fn card(place: &str, value: i64) -> Result<u8, LineError> {
    lines::card(place, value).map(lines::written)
}

/// Values read one by one, none of them twice.
fn each<T: PartialEq>(
    place: &str,
    values: &[i64],
    read: impl Fn(&str, i64) -> Result<T, LineError>,
) -> Result<Vec<T>, LineError> {
    let mut list = Vec::with_capacity(values.len());
    for (index, &value) in values.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let item = read(&place, value)?;
        if list.contains(&item) {
            return wrong(&place, format_args!("{value} stands there twice"));
        }
        list.push(item);
    }
    Ok(list)
}

impl StepRow {
    fn read(&self, place: &str) -> Result<Action, LineError> {
        let at = |field: &str| format!("{place}.{field}");
        match (self.place, self.spore, self.crystals) {
            (Some(cell), None, None) => Ok(Action::Place { cell: lines::cell(&at("place"), cell)? }),
            (None, Some(cell), None) => Ok(Action::TakeSpore { cell: lines::cell(&at("spore"), cell)? }),
            (None, None, Some(true)) => Ok(Action::TakeCrystals),
            _ => wrong(place, "not one of {\"place\": cell}, {\"spore\": cell}, {\"crystals\": true}"),
        }
    }
}

impl UseRow {
    fn read(&self, place: &str, catalogue: &Catalogue) -> Result<Use, LineError> {
        let at = |field: &str| format!("{place}.{field}");
        let spore = match self.spore {
            Some(cell) => Some(lines::cell(&at("spore"), cell)?),
            None => None,
        };
        match (self.cell, &self.entity, self.end) {
            (Some(cell), None, None) => Ok(Use::Cell { cell: lines::cell(&at("cell"), cell)?, spore }),
            (None, Some(key), None) => {
                Ok(Use::Entity { entity: lines::entity(&at("entity"), key, catalogue)?, spore })
            }
            (None, None, Some(true)) if spore.is_none() => Ok(Use::End),
            _ => wrong(
                place,
                "not one of {\"cell\": c}, {\"cell\": c, \"spore\": c}, {\"entity\": key}, {\"end\": true}",
            ),
        }
    }
}

impl Event {
    /// The word the record calls it by.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::Draft { .. } => "draft",
            Self::Main { .. } => "main",
            Self::Activate { .. } => "activate",
            Self::Snapshot { .. } => "snapshot",
            Self::Final { .. } => "final",
        }
    }

    /// The stop it names.
    pub(super) fn step(&self) -> Option<u8> {
        match self {
            Self::Start { step, .. }
            | Self::Draft { step, .. }
            | Self::Main { step, .. }
            | Self::Activate { step, .. }
            | Self::Snapshot { step, .. } => Some(*step),
            Self::Final { .. } => None,
        }
    }
}
