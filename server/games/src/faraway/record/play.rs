//! Plays a recorded game through the ordinary actions, with its decks as the script of chance.

use std::sync::Arc;

use boardwire_kernel::record::{Cursor, Difference, LineError, Replayed, same, same_set};
use boardwire_kernel::{Loaded, Seat, set_up};
use serde_json::Value;

use super::{Record, Round, Turn};
use crate::faraway::catalogue::Catalogue;
use crate::faraway::state::{RegionId, Sanctuaries, SanctuaryId};
use crate::faraway::{Action, Faraway, REGION_STREAM, SANCTUARY_STREAM};

/// Plays `record`, which is valid, and compares every fact it states.
pub(super) fn replay(catalogue: &Arc<Loaded<Catalogue>>, record: &Record) -> Result<Replayed, LineError> {
    let options = [("variant", record.variant.as_str())];
    let game: Faraway = set_up(Arc::clone(catalogue), record.players.into(), options)
        .map_err(|error| LineError(error.to_string()))?;
    Ok(play(Arc::new(game), record).into())
}

fn play(game: Arc<Faraway>, record: &Record) -> Result<Vec<i32>, Difference> {
    let mut script = [vec![], vec![]];
    script[REGION_STREAM] = [record.hands.concat(), record.region_deck.clone()].concat();
    script[SANCTUARY_STREAM].clone_from(&record.sanctuary_deck);
    let mut cursor = Cursor::deal(game, script)?;
    set_aside(&mut cursor, record)?;
    for (number, round) in (1..).zip(&record.rounds) {
        explore(&mut cursor, number, round)?;
        for (place, turn) in round.turns.iter().enumerate() {
            take_turn(&mut cursor, number, place, round, turn)?;
        }
    }
    cursor.scores(&record.scores)
}

fn region(id: u8) -> Action {
    Action::Region(RegionId::new(id))
}

/// The advanced variant states which three of five were kept.
fn set_aside(cursor: &mut Cursor<Faraway>, record: &Record) -> Result<(), Difference> {
    let Some(kept) = &record.kept else {
        return Ok(());
    };
    for (seat, (hand, kept)) in Seat::all(record.players).zip(record.hands.iter().zip(kept)) {
        for &id in hand.iter().filter(|id| !kept.contains(id)) {
            cursor.choose(&format!("kept {seat}"), seat, region(id))?;
        }
    }
    Ok(())
}

/// The sanctuaries a seat has been dealt in a round.
fn dealt(cursor: &Cursor<Faraway>, round: u8, seat: Seat) -> Sanctuaries {
    match round.checked_sub(2) {
        Some(at) => cursor.state().dealt[seat][usize::from(at)],
        None => Sanctuaries::EMPTY,
    }
}

/// The first two phases: all choose, and what is dealt is compared.
fn explore(cursor: &mut Cursor<Faraway>, number: u8, round: &Round) -> Result<(), Difference> {
    let seats = cursor.game().seats;
    for (seat, &id) in Seat::all(seats).zip(&round.plays) {
        cursor.choose(&format!("round {number} play of {seat}"), seat, region(id))?;
    }
    for (seat, expected) in Seat::all(seats).zip(&round.dealt) {
        // What was owed has not been dealt yet: that takes returned cards, and none are there in this round.
        same_set(format!("round {number} dealt to {seat}"), expected, dealt(cursor, number, seat))?;
    }
    Ok(())
}

/// One turn of the third phase.
fn take_turn(
    cursor: &mut Cursor<Faraway>,
    number: u8,
    place: usize,
    round: &Round,
    turn: &Turn,
) -> Result<(), Difference> {
    let at = |what: &str| format!("round {number} turn {} {what}", place + 1);
    let order = cursor.state().order_of(number, cursor.game().seats);
    same(at("seat"), turn.seat, order[place].number())?;
    let seat = order[place];
    match turn.take {
        Some(id) if number < 8 => cursor.choose(&at("take"), seat, region(id))?,
        None if number == 8 => {}
        take => return Err(Difference::new(at("take"), take, cursor.legal(seat))),
    }
    let found = dealt(cursor, number, seat);
    let dealt_at_first: Sanctuaries = round.dealt[seat.index()].iter().copied().collect();
    same_set(at("topup"), &turn.topup, found.difference(dealt_at_first))?;
    let mut returned = found;
    match turn.sanctuary {
        Some(id) => {
            if !returned.remove(id) {
                return Err(Difference::new(at("sanctuary"), id, list(found)));
            }
            same_set(at("returned"), &turn.returned, returned)?;
            // The next seat may be dealt these at once: they have to be in the script before.
            cursor.script(SANCTUARY_STREAM, turn.returned.iter().copied());
            cursor.choose(&at("sanctuary"), seat, Action::Sanctuary(SanctuaryId::new(id)))
        }
        None if found.is_empty() => same_set(at("returned"), &turn.returned, found),
        None => Err(Difference::new(at("sanctuary"), Value::Null, list(found))),
    }
}

fn list(sanctuaries: Sanctuaries) -> Vec<u8> {
    sanctuaries.iter().collect()
}
