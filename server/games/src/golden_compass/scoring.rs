//! The deal, and the points at the end.

use boardwire_kernel::{Chance, Outcome, ScoreLine};

use super::catalogue::Catalogue;
use super::limits::{CARD_TYPES, COLLECTING, PLACING, SEATS, TILE_VALUES};
use super::memory::Memory;
use super::state::{Cards, Place, Program, State, Step, bits};
use super::{GoldenCompass, streams};

/// Where the points of a seat come from.
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

/// More points than any seat can have.
pub(super) fn most(catalogue: &Catalogue) -> i32 {
    let truth: i32 = catalogue.tiles.iter().map(|&(value, count)| i32::from(value) * i32::from(count)).sum();
    let tokens: i32 = catalogue.tokens.iter().map(|token| i32::from(token.value)).sum();
    let multipliers = catalogue.tokens.iter().filter(|token| token.alethiometer).count();
    let multiplied = i32::try_from(multipliers * catalogue.tokens.len()).unwrap_or(i32::MAX);
    truth + tokens + multiplied + i32::from(catalogue.passages) * i32::from(catalogue.dust)
}

impl GoldenCompass {
    /// The opening position.
    pub(super) fn deal_all(&self, chance: &mut Chance) -> State {
        let catalogue = self.printed();
        let first = u8::try_from(chance.below(streams::FIRST, self.seats.into())).unwrap_or(0);
        let mut s = self.empty(first);
        for seat in 0..self.seats {
            self.draw(&mut s, seat, catalogue.starting_hand, chance, |_| ());
            s.place_mut(seat).supply = catalogue.compass;
        }
        self.begin_period(&mut s, chance);
        s
    }

    /// The board before anything is dealt.
    fn empty(&self, first: u8) -> State {
        let catalogue = self.printed();
        let mut deck = [0; CARD_TYPES];
        for (place, block) in deck.iter_mut().zip(&self.blocks) {
            *place = block.len;
        }
        let mut bag = [0; TILE_VALUES];
        for (place, tile) in bag.iter_mut().zip(&catalogue.tiles) {
            *place = tile.1;
        }
        let mut piles = [0; COLLECTING];
        for (pile, city) in piles.iter_mut().zip(&catalogue.cities) {
            *pile = city.tokens;
        }
        let cards = deck.iter().sum();
        State {
            step: Step::Keep,
            period: 0,
            first,
            active: first,
            turn: 0,
            still: 0,
            moved: false,
            red: false,
            axis: 0,
            lyra: 0,
            places: [Place::default(); SEATS],
            memory: [Memory::new(usize::from(cards), catalogue.tokens.len()); SEATS],
            deck,
            discard: [0; CARD_TYPES],
            deck_len: cards,
            discard_len: 0,
            piles,
            circles: [0; PLACING],
            dust: catalogue.dust,
            airship: 0,
            unseen: boardwire_kernel::BitSet::EMPTY,
            program: Program::default(),
            op: 0,
            fresh: Cards::default(),
            wild: 0,
            short: 0,
            bag,
            open: [0; TILE_VALUES],
            passages: catalogue.passages,
            drawn_passages: 0,
            gave_up: 0,
            order: [0; SEATS],
        }
    }

    /// The points of a seat as the board lies (11).
    pub(super) fn points(&self, s: &State, seat: u8) -> Points {
        let (catalogue, place) = (self.printed(), s.place(seat));
        let tiles = catalogue.tiles.iter().zip(place.truth);
        let owned = i32::from(u8::try_from((place.tokens | place.laid).count_ones()).unwrap_or(0));
        let laid = bits(place.laid).map(|token| &catalogue.tokens[usize::from(token)]);
        let (mut experience, mut alethiometer) = (0, 0);
        for token in laid {
            experience += i32::from(token.value);
            alethiometer += if token.alethiometer { owned } else { 0 }; // R29
        }
        Points {
            truth: tiles.map(|(&(value, _), count)| i32::from(value) * i32::from(count)).sum(),
            experience,
            alethiometer,
            passages: i32::from(s.drawn_passages) * i32::from(place.dust), // R30
        }
    }

    pub(super) fn result(&self, s: &State) -> Option<Outcome> {
        if s.step != Step::Over {
            return None;
        }
        let mut scores = [0; SEATS];
        for (seat, score) in (0..self.seats).zip(&mut scores) {
            *score = self.points(s, seat).total();
        }
        let seats = usize::from(self.seats);
        Some(Outcome::ranked(&scores[..seats], &[0; SEATS][..seats])) // R31
    }

    pub(super) fn score_lines(&self, s: &State, seat: u8) -> Vec<ScoreLine> {
        let points = self.points(s, seat);
        let line = |source: &str, points| ScoreLine { source: source.to_owned(), points };
        vec![
            line("truth tiles", points.truth),
            line("experience tokens laid out", points.experience),
            line("alethiometer tokens", points.alethiometer),
            line("passage tiles", points.passages),
        ]
    }
}
