//! Faraway: scoring cases and recorded games.

use std::sync::Arc;

use boardwire_games::faraway::{Faraway, fame};
use boardwire_kernel::catalogue::{BoundedU8, CatalogueResult, check_range, read, refuse, require};
use boardwire_kernel::{CatalogueError, Seat, set_up};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::GameCatalogue;
use crate::play::{
    ActionKey, CompareResult, ReplayResult, ReplayedEpisode, compare, compare_unordered, ids, mismatch,
};

#[cfg(test)]
mod tests;

/// The greatest ids of regions and of sanctuaries.
const REGIONS: u8 = 68;
const SANCTUARIES: u8 = 45;

type Region = BoundedU8<1, REGIONS>;
type Sanctuary = BoundedU8<1, SANCTUARIES>;

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
pub(crate) fn score(game: &GameCatalogue<Faraway>, line: &str) -> CatalogueResult<String> {
    let case: Case = read(line)?;
    let regions = unique_numbers("regions", &case.regions)?;
    let sanctuaries = unique_numbers("sanctuaries", &case.sanctuaries)?;
    check_length("regions", regions.len(), 8)?;
    check_range("sanctuaries (their number)", sanctuaries.len(), 0, 7)?;
    let fame = fame(&game.loaded.components, &regions, &sanctuaries);
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
    players: BoundedU8<2, 6>,
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
pub(crate) fn replay(game: &GameCatalogue<Faraway>, line: &str) -> CatalogueResult<ReplayResult> {
    let record: Record = read(line)?;
    record.check()?;
    let options = [("variant", record.variant.as_str())];
    let game = set_up::<Faraway>(Arc::clone(&game.loaded), record.players.get().into(), options);
    let game = game.map_err(|error| CatalogueError::new("variant", error.to_string()))?;
    Ok(play(game, &record))
}

impl Record {
    /// Checks that the record can be replayed: the numbers of cards are right, and every card is there once.
    fn check(&self) -> CatalogueResult {
        let (seats, is_advanced) = (usize::from(self.players.get()), self.variant == "advanced");
        require(is_advanced == self.kept.is_some(), "kept", || {
            "belongs only to the advanced variant".into()
        })?;
        check_length("hands", self.hands.len(), seats)?;
        for (seat, hand) in self.hands.iter().enumerate() {
            check_length(&format!("hands[{seat}]"), hand.len(), if is_advanced { 5 } else { 3 })?;
        }
        unique_numbers("hands", &self.hands.concat())?;
        let kept = self.kept.as_ref().unwrap_or(&self.hands);
        check_length("kept", kept.len(), seats)?;
        for (seat, (kept, hand)) in kept.iter().zip(&self.hands).enumerate() {
            let place = format!("kept[{seat}]");
            check_length(&place, kept.len(), 3)?;
            if let Some(id) = kept.iter().find(|id| !hand.contains(id)) {
                return refuse(place, format!("region {} was not dealt to this seat", id.get()));
            }
        }
        let regions =
            unique_numbers("hands and region_deck", &[kept.concat(), self.region_deck.clone()].concat())?;
        check_length("hands and region_deck", regions.len(), REGIONS.into())?;
        let sanctuaries = unique_numbers("sanctuary_deck", &self.sanctuary_deck)?;
        check_length("sanctuary_deck", sanctuaries.len(), SANCTUARIES.into())?;
        check_length("rounds", self.rounds.len(), 8)?;
        check_length("scores", self.scores.len(), seats)?;
        for (index, round) in self.rounds.iter().enumerate() {
            let location = |field: &str| format!("rounds[{index}].{field}");
            check_length(&location("plays"), round.plays.len(), seats)?;
            check_length(&location("dealt"), round.dealt.len(), seats)?;
            check_length(&location("turns"), round.turns.len(), seats)?;
            for (turn, row) in round.turns.iter().enumerate() {
                check_range(location(&format!("turns[{turn}].seat")), row.seat, 0, self.players.get() - 1)?;
            }
        }
        Ok(())
    }
}

fn check_length(place: &str, actual: usize, required: usize) -> CatalogueResult {
    require(actual == required, place, || format!("must have {required} items; got {actual}"))
}

/// Returns the numbers. A repeated number is an error.
fn unique_numbers<const MIN: u8, const MAX: u8>(
    place: &str,
    given: &[BoundedU8<MIN, MAX>],
) -> CatalogueResult<Vec<u8>> {
    let numbers = numbers(given);
    match (1..numbers.len()).find(|&index| numbers[..index].contains(&numbers[index])) {
        Some(index) => refuse(format!("{place}[{index}]"), format!("card {} occurs twice", numbers[index])),
        None => Ok(numbers),
    }
}

fn numbers<const MIN: u8, const MAX: u8>(given: &[BoundedU8<MIN, MAX>]) -> Vec<u8> {
    given.iter().map(|number| number.get()).collect()
}

fn play(game: Faraway, record: &Record) -> CompareResult<Vec<i32>> {
    let mut script = [vec![], vec![]];
    script[REGION_STREAM] = numbers(&[record.hands.concat(), record.region_deck.clone()].concat());
    script[SANCTUARY_STREAM] = numbers(&record.sanctuary_deck);
    let mut replayed = ReplayedEpisode::deal(game, script)?;
    // In the advanced variant the record names the three of five regions that are kept.
    for (seat, (hand, kept)) in seats(record).zip(record.hands.iter().zip(record.kept.iter().flatten())) {
        for id in hand.iter().filter(|id| !kept.contains(id)) {
            replayed.choose(&format!("kept {seat}"), seat, region(*id))?;
        }
    }
    for (number, round) in (1..).zip(&record.rounds) {
        explore(&mut replayed, record, number, round)?;
        for (place, turn) in round.turns.iter().enumerate() {
            let location = |what: &str| format!("round {number} turn {} {what}", place + 1);
            take_turn(&mut replayed, number, &location, (place, turn), round)?;
        }
    }
    let scores = replayed.scores("scores")?;
    compare("scores", &record.scores, &scores)?;
    Ok(scores)
}

fn seats(record: &Record) -> impl Iterator<Item = Seat> {
    Seat::all(record.players.get())
}

fn region(id: Region) -> ActionKey {
    ActionKey("choose", id.get())
}

/// Returns the sanctuaries dealt to a seat and not yet placed or returned.
fn dealt_sanctuaries(replayed: &ReplayedEpisode<Faraway>, seat: Seat) -> Vec<u8> {
    ids(&replayed.field(seat.into(), "found"))
}

/// Plays the first two phases of a round: all seats choose a region. Compares the sanctuaries dealt.
fn explore(
    replayed: &mut ReplayedEpisode<Faraway>,
    record: &Record,
    number: u8,
    round: &Round,
) -> CompareResult {
    for (seat, &id) in seats(record).zip(&round.plays) {
        replayed.choose(&format!("round {number} play of {seat}"), seat, region(id))?;
    }
    for (seat, dealt) in seats(record).zip(&round.dealt) {
        // Sanctuaries still owed (FA-R2) are not dealt yet: no card has been returned in this round.
        compare_unordered(
            &format!("round {number} dealt to {seat}"),
            &numbers(dealt),
            &dealt_sanctuaries(replayed, seat),
        )?;
    }
    Ok(())
}

/// Plays a turn of the third phase. Seats act in ascending order of the regions they have played.
fn take_turn(
    replayed: &mut ReplayedEpisode<Faraway>,
    number: u8,
    location: &dyn Fn(&str) -> String,
    (place, turn): (usize, &Turn),
    round: &Round,
) -> CompareResult {
    let mut order: Vec<u8> = (0..).take(round.plays.len()).collect();
    order.sort_by_key(|&seat| round.plays[usize::from(seat)].get());
    compare(&location("seat"), &turn.seat, &order[place])?;
    let seat = Seat::new(turn.seat);
    match turn.take {
        Some(id) if number < 8 => replayed.choose(&location("take"), seat, region(id))?,
        None if number == 8 => {}
        take => return mismatch(location("take"), take.map(BoundedU8::get), replayed.legal_labels(seat)),
    }
    let mut remaining = dealt_sanctuaries(replayed, seat);
    let dealt = numbers(&round.dealt[seat.index()]);
    let topup: Vec<u8> = remaining.iter().copied().filter(|id| !dealt.contains(id)).collect();
    compare_unordered(&location("topup"), &numbers(&turn.topup), &topup)?;
    let returned = numbers(&turn.returned);
    let Some(placed) = turn.sanctuary.map(BoundedU8::get) else {
        if remaining.is_empty() {
            return compare_unordered(&location("returned"), &returned, &remaining);
        }
        return mismatch(location("sanctuary"), Value::Null, remaining);
    };
    if !remaining.contains(&placed) {
        return mismatch(location("sanctuary"), placed, remaining);
    }
    remaining.retain(|&id| id != placed);
    compare_unordered(&location("returned"), &returned, &remaining)?;
    // The engine may deal these cards to the next seat immediately, so the script needs them now.
    replayed.script(SANCTUARY_STREAM, returned);
    replayed.choose(&location("sanctuary"), seat, ActionKey("place", placed))
}
