//! Faraway: scoring cases and recorded games.

use std::sync::Arc;

use boardwire_games::faraway::{Faraway, fame};
use boardwire_kernel::catalogue::{Checked, Small, read, refuse, require, within};
use boardwire_kernel::{CatalogueError, Seat, set_up};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Components;
use crate::play::{Compared, Move, Play, Replayed, differs, ids, same, same_set};

#[cfg(test)]
mod tests;

/// The greatest ids of regions and of sanctuaries.
const REGIONS: u8 = 68;
const SANCTUARIES: u8 = 45;

type Region = Small<1, REGIONS>;
type Sanctuary = Small<1, SANCTUARIES>;

/// The streams of random numbers for regions and for sanctuaries.
const REGION_STREAM: usize = 0;
const SANCTUARY_STREAM: usize = 1;

/// A scoring case: a line of 8 regions and its sanctuaries. The fields of the answer are allowed and ignored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    regions: Vec<Region>,
    sanctuaries: Vec<Sanctuary>,
    #[serde(rename = "region_fame")]
    _region_fame: Option<IgnoredAny>,
    #[serde(rename = "sanctuary_fame")]
    _sanctuary_fame: Option<IgnoredAny>,
    #[serde(rename = "total")]
    _total: Option<IgnoredAny>,
}

/// The answer to a case: the fame that each card pays, and the total.
#[derive(Serialize)]
struct Answer<'a> {
    region_fame: &'a [u16],
    sanctuary_fame: &'a [u16],
    total: u16,
}

/// Answers a scoring case, as JSON.
pub(crate) fn score(game: &Components<Faraway>, line: &str) -> Checked<String> {
    let case: Case = read(line)?;
    let regions = different("regions", &case.regions)?;
    let sanctuaries = different("sanctuaries", &case.sanctuaries)?;
    length("regions", regions.len(), 8)?;
    within("sanctuaries (their number)", sanctuaries.len(), 0, 7)?;
    let fame = fame(&game.loaded.value, &regions, &sanctuaries);
    let answer = Answer {
        region_fame: &fame.regions,
        sanctuary_fame: &fame.sanctuaries[..sanctuaries.len()],
        total: fame.total(),
    };
    Ok(serde_json::to_string(&answer).expect("numbers can be written"))
}

/// A recorded game, with its decks and every choice.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    players: Small<2, 6>,
    variant: String,
    hands: Vec<Vec<Region>>,
    kept: Option<Vec<Vec<Region>>>,
    region_deck: Vec<Region>,
    sanctuary_deck: Vec<Sanctuary>,
    rounds: Vec<Round>,
    scores: Vec<i32>,
}

/// One round of a recorded game.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Round {
    plays: Vec<Region>,
    dealt: Vec<Vec<Sanctuary>>,
    turns: Vec<Turn>,
}

/// A seat's turn in the third phase of a round.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    seat: u8,
    #[serde(deserialize_with = "Option::deserialize")]
    take: Option<Region>,
    topup: Vec<Sanctuary>,
    #[serde(deserialize_with = "Option::deserialize")]
    sanctuary: Option<Sanctuary>,
    returned: Vec<Sanctuary>,
}

/// Replays a record and compares every fact in it.
pub(crate) fn replay(game: &Components<Faraway>, line: &str) -> Checked<Replayed> {
    let record: Record = read(line)?;
    record.check()?;
    let options = [("variant", record.variant.as_str())];
    let game = set_up::<Faraway>(Arc::clone(&game.loaded), record.players.get().into(), options);
    let game = game.map_err(|error| CatalogueError::new("variant", error.to_string()))?;
    Ok(play(game, &record))
}

impl Record {
    /// Checks that the record can be replayed: the numbers of cards are right, and every card is there once.
    fn check(&self) -> Checked {
        let (seats, is_advanced) = (usize::from(self.players.get()), self.variant == "advanced");
        require(is_advanced == self.kept.is_some(), "kept", || {
            "belongs to the advanced variant alone".into()
        })?;
        length("hands", self.hands.len(), seats)?;
        for (seat, hand) in self.hands.iter().enumerate() {
            length(&format!("hands[{seat}]"), hand.len(), if is_advanced { 5 } else { 3 })?;
        }
        different("hands", &self.hands.concat())?;
        let kept = self.kept.as_ref().unwrap_or(&self.hands);
        length("kept", kept.len(), seats)?;
        for (seat, (kept, hand)) in kept.iter().zip(&self.hands).enumerate() {
            let place = format!("kept[{seat}]");
            length(&place, kept.len(), 3)?;
            if let Some(id) = kept.iter().find(|id| !hand.contains(id)) {
                return refuse(place, format!("region {} was not dealt to this seat", id.get()));
            }
        }
        let regions =
            different("hands and region_deck", &[kept.concat(), self.region_deck.clone()].concat())?;
        length("hands and region_deck", regions.len(), REGIONS.into())?;
        let sanctuaries = different("sanctuary_deck", &self.sanctuary_deck)?;
        length("sanctuary_deck", sanctuaries.len(), SANCTUARIES.into())?;
        length("rounds", self.rounds.len(), 8)?;
        length("scores", self.scores.len(), seats)?;
        for (at, round) in self.rounds.iter().enumerate() {
            let at = |field: &str| format!("rounds[{at}].{field}");
            length(&at("plays"), round.plays.len(), seats)?;
            length(&at("dealt"), round.dealt.len(), seats)?;
            length(&at("turns"), round.turns.len(), seats)?;
            for (turn, row) in round.turns.iter().enumerate() {
                within(at(&format!("turns[{turn}].seat")), row.seat, 0, self.players.get() - 1)?;
            }
        }
        Ok(())
    }
}

fn length(place: &str, given: usize, due: usize) -> Checked {
    require(given == due, place, || format!("{given} given, not {due}"))
}

/// Returns the numbers. A repeated number is an error.
fn different<const MIN: u8, const MAX: u8>(place: &str, given: &[Small<MIN, MAX>]) -> Checked<Vec<u8>> {
    let numbers = numbers(given);
    match (1..numbers.len()).find(|&at| numbers[..at].contains(&numbers[at])) {
        Some(at) => refuse(format!("{place}[{at}]"), format!("card {} is there twice", numbers[at])),
        None => Ok(numbers),
    }
}

fn numbers<const MIN: u8, const MAX: u8>(given: &[Small<MIN, MAX>]) -> Vec<u8> {
    given.iter().map(|number| number.get()).collect()
}

fn play(game: Faraway, record: &Record) -> Compared<Vec<i32>> {
    let mut script = [vec![], vec![]];
    script[REGION_STREAM] = numbers(&[record.hands.concat(), record.region_deck.clone()].concat());
    script[SANCTUARY_STREAM] = numbers(&record.sanctuary_deck);
    let mut play = Play::deal(game, script)?;
    // In the advanced variant the record names the three of five regions that are kept.
    for (seat, (hand, kept)) in seats(record).zip(record.hands.iter().zip(record.kept.iter().flatten())) {
        for id in hand.iter().filter(|id| !kept.contains(id)) {
            play.choose(&format!("kept {seat}"), seat, region(*id))?;
        }
    }
    for (number, round) in (1..).zip(&record.rounds) {
        explore(&mut play, record, number, round)?;
        for (place, turn) in round.turns.iter().enumerate() {
            let at = |what: &str| format!("round {number} turn {} {what}", place + 1);
            take_turn(&mut play, number, &at, (place, turn), round)?;
        }
    }
    let scores = play.scores("scores")?;
    same("scores", &record.scores, &scores)?;
    Ok(scores)
}

fn seats(record: &Record) -> impl Iterator<Item = Seat> {
    Seat::all(record.players.get())
}

fn region(id: Region) -> Move {
    Move("choose", id.get())
}

/// Returns the sanctuaries dealt to a seat and not yet placed or returned.
fn found(play: &Play<Faraway>, seat: Seat) -> Vec<u8> {
    ids(&play.field(seat.into(), "found"))
}

/// Plays the first two phases of a round: all seats choose a region. Compares the sanctuaries dealt.
fn explore(play: &mut Play<Faraway>, record: &Record, number: u8, round: &Round) -> Compared {
    for (seat, &id) in seats(record).zip(&round.plays) {
        play.choose(&format!("round {number} play of {seat}"), seat, region(id))?;
    }
    for (seat, dealt) in seats(record).zip(&round.dealt) {
        // Sanctuaries still owed (FA-R2) are not dealt yet: no card has been returned in this round.
        same_set(&format!("round {number} dealt to {seat}"), &numbers(dealt), &found(play, seat))?;
    }
    Ok(())
}

/// Plays a turn of the third phase. Seats act in ascending order of the regions they have played.
fn take_turn(
    play: &mut Play<Faraway>,
    number: u8,
    at: &dyn Fn(&str) -> String,
    (place, turn): (usize, &Turn),
    round: &Round,
) -> Compared {
    let mut order: Vec<u8> = (0..).take(round.plays.len()).collect();
    order.sort_by_key(|&seat| round.plays[usize::from(seat)].get());
    same(&at("seat"), &turn.seat, &order[place])?;
    let seat = Seat::new(turn.seat);
    match turn.take {
        Some(id) if number < 8 => play.choose(&at("take"), seat, region(id))?,
        None if number == 8 => {}
        take => return differs(at("take"), take.map(Small::get), play.legal_labels(seat)),
    }
    let mut left = found(play, seat);
    let dealt = numbers(&round.dealt[seat.index()]);
    let topup: Vec<u8> = left.iter().copied().filter(|id| !dealt.contains(id)).collect();
    same_set(&at("topup"), &numbers(&turn.topup), &topup)?;
    let returned = numbers(&turn.returned);
    let Some(placed) = turn.sanctuary.map(Small::get) else {
        if left.is_empty() {
            return same_set(&at("returned"), &returned, &left);
        }
        return differs(at("sanctuary"), Value::Null, left);
    };
    if !left.contains(&placed) {
        return differs(at("sanctuary"), placed, left);
    }
    left.retain(|&id| id != placed);
    same_set(&at("returned"), &returned, &left)?;
    // The engine may deal these cards to the next seat at once, so the script needs them now.
    play.script(SANCTUARY_STREAM, returned);
    play.choose(&at("sanctuary"), seat, Move("place", placed))
}
