//! Plays a recorded game through the ordinary actions, with its decks as the script of chance.

use std::sync::Arc;

use boardwire_kernel::{Chance, Episode, Loaded, Seat, set_up};
use serde_json::Value;

use super::catalogue::Catalogue;
use super::record::{Record, Round, Turn};
use super::state::{Phase, Sanctuaries};
use super::{Action, Faraway, REGION_STREAM, SANCTUARY_STREAM};
use crate::{Difference, LineError, Replayed};

/// Plays `record`, which is valid, and compares every fact it states.
pub(super) fn replay(catalogue: &Arc<Loaded<Catalogue>>, record: &Record) -> Result<Replayed, LineError> {
    let options = [("variant", record.variant.as_str())];
    let game: Faraway = set_up(Arc::clone(catalogue), record.players.into(), options)
        .map_err(|error| LineError(error.to_string()))?;
    let mut script = [vec![], vec![]];
    script[REGION_STREAM] = [record.hands.concat(), record.region_deck.clone()].concat();
    script[SANCTUARY_STREAM].clone_from(&record.sanctuary_deck);
    let mut play = Play { episode: Episode::start(Arc::new(game), Chance::scripted(script)), record };
    Ok(match play.play() {
        Ok(scores) => Replayed::Same { scores },
        Err(difference) => Replayed::Differs(difference),
    })
}

/// A recorded game being played.
struct Play<'a> {
    episode: Episode<Faraway>,
    record: &'a Record,
}

impl Play<'_> {
    fn play(&mut self) -> Result<Vec<i32>, Difference> {
        self.set_aside()?;
        for (number, round) in (1..).zip(&self.record.rounds) {
            self.explore(number, round)?;
            for (place, turn) in round.turns.iter().enumerate() {
                self.take_turn(number, place, round, turn)?;
            }
        }
        let outcome = self.episode.outcome();
        let scores = outcome.map(|outcome| outcome.scores().to_vec());
        let got = scores.unwrap_or_default();
        same("scores", self.record.scores.clone(), got.clone())?;
        Ok(got)
    }

    fn set_aside(&mut self) -> Result<(), Difference> {
        let Some(kept) = &self.record.kept else {
            return Ok(());
        };
        for (seat, (hand, kept)) in (0..).zip(self.record.hands.iter().zip(kept)) {
            for &id in hand.iter().filter(|id| !kept.contains(id)) {
                self.choose(&format!("kept seat {seat}"), seat, Action::Region(id))?;
            }
        }
        Ok(())
    }

    /// The first two phases: all choose, and what is dealt is compared.
    fn explore(&mut self, number: u8, round: &Round) -> Result<(), Difference> {
        for (seat, &id) in (0..).zip(&round.plays) {
            let at = format!("round {number} play of seat {seat}");
            self.choose(&at, seat, Action::Region(id))?;
        }
        let state = self.episode.state();
        for (seat, dealt) in round.dealt.iter().enumerate() {
            let got = match number {
                1 => Sanctuaries::EMPTY,
                // Nothing has been owed and dealt since: that takes returned cards, and none are yet.
                _ => state.dealt[seat][usize::from(number - 2)],
            };
            let at = format!("round {number} dealt to seat {seat}");
            same_set(&at, dealt, got)?;
        }
        Ok(())
    }

    /// One turn of the third phase.
    fn take_turn(&mut self, number: u8, place: usize, round: &Round, turn: &Turn) -> Result<(), Difference> {
        let at = |what: &str| format!("round {number} turn {} {what}", place + 1);
        let order = self.episode.state().order_of(number, self.record.players);
        same(at("seat"), turn.seat, order[place])?;
        let seat = usize::from(turn.seat);
        match turn.take {
            Some(id) if number < 8 => self.choose(&at("take"), turn.seat, Action::Region(id))?,
            None if number == 8 => {}
            take => return Err(Difference::new(at("take"), take, self.legal(turn.seat))),
        }
        let before = match number {
            1 => Sanctuaries::EMPTY,
            _ => self.episode.state().dealt[seat][usize::from(number - 2)],
        };
        let dealt: Sanctuaries = round.dealt[seat].iter().copied().collect();
        same_set(&at("topup"), &turn.topup, before.difference(dealt))?;
        let mut others = before;
        match turn.sanctuary {
            Some(id) => {
                if !others.remove(id) {
                    return Err(Difference::new(at("sanctuary"), id, list(before)));
                }
                same_set(&at("returned"), &turn.returned, others)?;
                // The next seat may be dealt these at once: they have to be in the script before.
                let returned = turn.returned.iter().copied();
                self.episode.chance_mut().extend(SANCTUARY_STREAM, returned);
                self.choose(&at("sanctuary"), turn.seat, Action::Sanctuary(id))
            }
            None if before.is_empty() => same_set(&at("returned"), &turn.returned, before),
            None => Err(Difference::new(at("sanctuary"), Value::Null, list(before))),
        }
    }

    /// Chooses for a seat through the ordinary door, and looks whether the script could happen.
    fn choose(&mut self, at: &str, seat: u8, action: Action) -> Result<(), Difference> {
        let (Action::Region(id) | Action::Sanctuary(id)) = action;
        let index = action.index().into();
        if self.episode.apply(Seat::new(seat), index).is_err() {
            return Err(Difference::new(at, id, self.legal(seat)));
        }
        match self.episode.chance().fault() {
            None => Ok(()),
            Some(fault) => Err(Difference::new(at, "a possible draw", fault.to_string())),
        }
    }

    /// The ids a seat may choose from.
    fn legal(&self, seat: u8) -> Value {
        let state = self.episode.state();
        let seat = Seat::new(seat);
        let game = self.episode.game();
        if state.phase == Phase::Over || !self.episode.pending().contains(seat) {
            return Value::Null;
        }
        let ids = game.choices(state, seat).iter().filter_map(Action::at);
        ids.map(|(Action::Region(id) | Action::Sanctuary(id))| id).collect::<Vec<u8>>().into()
    }
}

fn same<T: Into<Value> + PartialEq>(at: impl Into<String>, expected: T, got: T) -> Result<(), Difference> {
    if expected == got { Ok(()) } else { Err(Difference::new(at, expected, got)) }
}

/// Compares ids as sets; the lists in a difference are ascending.
fn same_set(at: &str, expected: &[u8], got: Sanctuaries) -> Result<(), Difference> {
    let mut sorted = expected.to_vec();
    sorted.sort_unstable();
    same(at, sorted, list(got))
}

fn list(set: Sanctuaries) -> Vec<u8> {
    set.iter().collect()
}
