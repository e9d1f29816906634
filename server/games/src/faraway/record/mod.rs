//! Scoring cases, and recorded games as they are read.

mod play;

use std::sync::Arc;

use boardwire_kernel::Loaded;
use boardwire_kernel::record::{LineError, ReplayFormat};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::catalogue::{Catalogue, REGIONS, SANCTUARIES};
use super::scoring::fame;

/// How scoring cases and recorded games are written.
pub(super) const FORMAT: ReplayFormat<Catalogue> = ReplayFormat {
    score: Some(score),
    replay: |catalogue, line| {
        let record: Record = serde_json::from_str(line)?;
        record.validate()?;
        play::replay(catalogue, &record)
    },
};
/// A line of 8 regions and the sanctuaries placed beside it. The answer may stand in it; it is not read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    regions: Vec<i64>,
    sanctuaries: Vec<i64>,
    #[serde(rename = "region_fame")]
    _region_fame: Option<IgnoredAny>,
    #[serde(rename = "sanctuary_fame")]
    _sanctuary_fame: Option<IgnoredAny>,
    #[serde(rename = "total")]
    _total: Option<IgnoredAny>,
}

/// What every card of a case pays.
#[derive(Serialize)]
struct Answer<'a> {
    region_fame: &'a [u16],
    sanctuary_fame: &'a [u16],
    total: u16,
}

fn score(catalogue: &Arc<Loaded<Catalogue>>, line: &str) -> Result<String, LineError> {
    let case: Case = serde_json::from_str(line)?;
    let regions = ids("regions", &case.regions, REGIONS)?;
    let sanctuaries = ids("sanctuaries", &case.sanctuaries, SANCTUARIES)?;
    if regions.len() != 8 {
        return Err(LineError(format!("regions: {} cards, not 8", regions.len())));
    }
    if sanctuaries.len() > 7 {
        let count = sanctuaries.len();
        return Err(LineError(format!("sanctuaries: {count} cards, more than 7")));
    }
    let fame = fame(&catalogue.value, &regions, &sanctuaries);
    let answer = Answer {
        region_fame: &fame.regions,
        sanctuary_fame: &fame.sanctuaries[..sanctuaries.len()],
        total: fame.total(),
    };
    Ok(serde_json::to_string(&answer)?)
}

/// Checks that `given` are different ids in `1..=last`.
fn ids(field: &str, given: &[i64], last: u8) -> Result<Vec<u8>, LineError> {
    let mut seen = Vec::with_capacity(given.len());
    for (at, &number) in given.iter().enumerate() {
        let id = u8::try_from(number).ok().filter(|id| (1..=last).contains(id));
        let Some(id) = id else {
            return Err(LineError(format!("{field}[{at}]: there is no card {number}; ids are 1 to {last}")));
        };
        if seen.contains(&id) {
            return Err(LineError(format!("{field}[{at}]: card {id} is there twice")));
        }
        seen.push(id);
    }
    Ok(seen)
}

/// A whole game with its decks fixed and every choice given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    players: u8,
    variant: String,
    hands: Vec<Vec<u8>>,
    kept: Option<Vec<Vec<u8>>>,
    region_deck: Vec<u8>,
    sanctuary_deck: Vec<u8>,
    rounds: Vec<Round>,
    scores: Vec<i32>,
}

/// One round of a recorded game.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Round {
    plays: Vec<u8>,
    dealt: Vec<Vec<u8>>,
    turns: Vec<Turn>,
}

/// One turn of the third phase.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    seat: u8,
    #[serde(deserialize_with = "Option::deserialize")]
    take: Option<u8>,
    topup: Vec<u8>,
    #[serde(deserialize_with = "Option::deserialize")]
    sanctuary: Option<u8>,
    returned: Vec<u8>,
}

impl Record {
    /// Whether the five-card deal is played.
    fn is_advanced(&self) -> bool {
        self.variant == "advanced"
    }

    /// Checks what must hold before a game can be played from it: sizes, and that every card is there once.
    fn validate(&self) -> Result<(), LineError> {
        if !(2..=6).contains(&self.players) {
            return Err(LineError(format!("players: {}, not 2 to 6", self.players)));
        }
        if !["basic", "advanced"].contains(&self.variant.as_str()) {
            let variant = &self.variant;
            return Err(LineError(format!("variant: {variant:?} is neither basic nor advanced")));
        }
        if self.is_advanced() != self.kept.is_some() {
            return Err(LineError("kept: belongs to the advanced variant, and only there".into()));
        }
        self.validate_decks()?;
        let seats = usize::from(self.players);
        length("rounds", self.rounds.len(), 8)?;
        length("scores", self.scores.len(), seats)?;
        for (at, round) in self.rounds.iter().enumerate() {
            round.validate(&format!("rounds[{at}]"), seats)?;
        }
        Ok(())
    }

    fn validate_decks(&self) -> Result<(), LineError> {
        let seats = usize::from(self.players);
        length("hands", self.hands.len(), seats)?;
        for (seat, hand) in self.hands.iter().enumerate() {
            length(&format!("hands[{seat}]"), hand.len(), if self.is_advanced() { 5 } else { 3 })?;
        }
        different("hands", &self.hands.concat(), REGIONS)?;
        let kept = self.kept.as_ref().unwrap_or(&self.hands);
        length("kept", kept.len(), seats)?;
        for (seat, (kept, hand)) in kept.iter().zip(&self.hands).enumerate() {
            length(&format!("kept[{seat}]"), kept.len(), 3)?;
            if let Some(id) = kept.iter().find(|id| !hand.contains(id)) {
                return Err(LineError(format!("kept[{seat}]: region {id} was not dealt to this seat")));
            }
        }
        let regions = [kept.concat(), self.region_deck.clone()].concat();
        different("hands and region_deck", &regions, REGIONS)?;
        length("hands and region_deck", regions.len(), REGIONS.into())?;
        different("sanctuary_deck", &self.sanctuary_deck, SANCTUARIES)?;
        length("sanctuary_deck", self.sanctuary_deck.len(), SANCTUARIES.into())
    }
}

impl Round {
    fn validate(&self, at: &str, seats: usize) -> Result<(), LineError> {
        length(&format!("{at}.plays"), self.plays.len(), seats)?;
        different(&format!("{at}.plays"), &self.plays, REGIONS)?;
        length(&format!("{at}.dealt"), self.dealt.len(), seats)?;
        different(&format!("{at}.dealt"), &self.dealt.concat(), SANCTUARIES)?;
        length(&format!("{at}.turns"), self.turns.len(), seats)?;
        for (place, turn) in self.turns.iter().enumerate() {
            turn.validate(&format!("{at}.turns[{place}]"), seats)?;
        }
        Ok(())
    }
}

impl Turn {
    fn validate(&self, at: &str, seats: usize) -> Result<(), LineError> {
        if usize::from(self.seat) >= seats {
            return Err(LineError(format!("{at}.seat: there is no seat {}", self.seat)));
        }
        different(&format!("{at}.take"), self.take.as_slice(), REGIONS)?;
        different(&format!("{at}.topup"), &self.topup, SANCTUARIES)?;
        different(&format!("{at}.sanctuary"), self.sanctuary.as_slice(), SANCTUARIES)?;
        different(&format!("{at}.returned"), &self.returned, SANCTUARIES)
    }
}

fn length(field: &str, given: usize, right: usize) -> Result<(), LineError> {
    if given == right { Ok(()) } else { Err(LineError(format!("{field}: {given} given, not {right}"))) }
}

fn different(field: &str, given: &[u8], last: u8) -> Result<(), LineError> {
    let numbers: Vec<i64> = given.iter().copied().map(i64::from).collect();
    ids(field, &numbers, last).map(|_| ())
}
