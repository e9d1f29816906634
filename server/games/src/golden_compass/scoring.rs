//! The final score.

use boardwire_kernel::{Outcome, ScoreLine, Scoring, Seat};

use super::GoldenCompass;
use super::catalogue::Catalogue;
use super::limits::SEATS;
use super::state::{Decision, State, tokens_of};

/// The points of a seat by source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Points {
    pub(super) truth: i32,
    pub(super) experience: i32,
    pub(super) alethiometer: i32,
    pub(super) passages: i32,
}

impl Points {
    pub(super) fn total(self) -> i32 {
        self.truth + self.experience + self.alethiometer + self.passages
    }
}

/// Returns an upper bound of the points of a seat.
pub(super) fn most(catalogue: &Catalogue) -> i32 {
    let tiles = catalogue.tiles.iter();
    let truth: i32 = tiles.map(|tile| i32::from(tile.value) * i32::from(tile.count)).sum();
    let tokens: i32 = catalogue.tokens.iter().map(|token| i32::from(token.value)).sum();
    let multipliers = catalogue.tokens.iter().filter(|token| token.is_alethiometer).count();
    let multiplied = i32::try_from(multipliers * catalogue.tokens.len()).expect("few tokens");
    truth + tokens + multiplied + i32::from(catalogue.passages) * i32::from(catalogue.dust)
}

impl Scoring for GoldenCompass {
    fn outcome(&self, state: &State) -> Option<Outcome> {
        if state.decision != Decision::Over {
            return None;
        }
        let mut scores = [0; SEATS];
        for (seat, score) in self.all_seats().zip(&mut scores) {
            *score = self.points(state, seat).total();
        }
        let seats = usize::from(self.seats);
        Some(Outcome::ranked(&scores[..seats], &[0; SEATS][..seats])) // R31
    }

    fn explain(&self, state: &State, seat: Seat) -> Vec<ScoreLine> {
        let points = self.points(state, seat);
        let line = |source: &str, points| ScoreLine { source: source.to_owned(), points };
        vec![
            line("truth tiles", points.truth),
            line("experience tokens laid out", points.experience),
            line("alethiometer tokens", points.alethiometer),
            line("passage tiles", points.passages),
        ]
    }
}

impl GoldenCompass {
    /// Returns the points of a seat in this position (section 11 of the rules).
    pub(super) fn points(&self, state: &State, seat: Seat) -> Points {
        let (catalogue, place) = (self.printed(), &state.places[seat]);
        let tiles = catalogue.tiles.iter().zip(&place.truth.counts()[1..]);
        let owned = place.tokens.len() + place.laid.len();
        let owned = i32::try_from(owned).expect("few tokens");
        let (mut experience, mut alethiometer) = (0, 0);
        for token in tokens_of(place.laid).map(|token| catalogue.token(token)) {
            experience += i32::from(token.value);
            alethiometer += if token.is_alethiometer { owned } else { 0 }; // R29
        }
        Points {
            truth: tiles.map(|(tile, &count)| i32::from(tile.value) * i32::from(count)).sum(),
            experience,
            alethiometer,
            passages: i32::from(state.drawn_passages) * i32::from(place.dust), // R30
        }
    }
}
