//! The final score.

use boardwire_kernel::{Outcome, ScoreLine, Scoring, Seat};

use super::GoldenCompass;
use super::catalogue::Catalogue;
use super::limits::MAX_SEATS;
use super::state::{Decision, State, tokens_of};

/// The points of a seat by source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScoreParts {
    pub(super) truth: i32,
    pub(super) experience: i32,
    pub(super) alethiometer: i32,
    pub(super) passages: i32,
}

impl ScoreParts {
    pub(super) fn total(self) -> i32 {
        self.truth + self.experience + self.alethiometer + self.passages
    }
}

/// Returns an upper bound of the points of a seat.
pub(super) fn score_upper_bound(catalogue: &Catalogue) -> i32 {
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
        let mut scores = [0; MAX_SEATS];
        for (seat, score) in self.all_seats().zip(&mut scores) {
            *score = self.score_parts(state, seat).total();
        }
        let seats = usize::from(self.seats);
        Some(Outcome::ranked(&scores[..seats], &[0; MAX_SEATS][..seats])) // R31
    }

    fn explain(&self, state: &State, seat: Seat) -> Vec<ScoreLine> {
        let points = self.score_parts(state, seat);
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
    pub(super) fn score_parts(&self, state: &State, seat: Seat) -> ScoreParts {
        let (catalogue, seat_state) = (self.catalogue(), &state.seats[seat]);
        let tiles = catalogue.tiles.iter().zip(&seat_state.truth.counts()[1..]);
        let owned = seat_state.tokens.len() + seat_state.laid_out.len();
        let owned = i32::try_from(owned).expect("few tokens");
        let (mut experience, mut alethiometer) = (0, 0);
        for token in tokens_of(seat_state.laid_out).map(|token| catalogue.token(token)) {
            experience += i32::from(token.value);
            alethiometer += if token.is_alethiometer { owned } else { 0 }; // R29
        }
        ScoreParts {
            truth: tiles.map(|(tile, &count)| i32::from(tile.value) * i32::from(count)).sum(),
            experience,
            alethiometer,
            passages: i32::from(state.drawn_passages) * i32::from(seat_state.dust), // R30
        }
    }
}
