//! What a seat may know, as byte fields.

use boardwire_kernel::ViewWriter;

use super::GoldenCompass;
use super::layout::{DECISIONS, room};
use super::limits::{COLLECTING, SEATS, TOKENS};
use super::memory::TABLE;
use super::state::{Aim, Kind, Place, State, Step, bits};

fn decision(step: Step) -> u8 {
    match step {
        Step::Keep => 0,
        Step::Colour => 1,
        Step::Action => 2,
        Step::Target(Aim::Airship) => 3,
        Step::Target(Aim::Dust) => 4,
        Step::Target(Aim::Cards(_)) => 5,
        Step::Target(Aim::Token) => 6,
        Step::Target(Aim::Compass(_)) => 7,
        Step::Back { .. } => 8,
        Step::Choose { .. } => 9,
        Step::Cost(_) => 10,
        Step::Pay { .. } => 11,
        Step::Drop { .. } => 12,
        Step::Limit => 13,
        Step::Steps { .. } => 14,
        Step::Lay => 15,
        Step::Sets => 16,
        Step::Fill(_) => 17,
        Step::Airship => 18,
        Step::Ransom { .. } => 19,
        Step::Truth { .. } => 20,
        Step::Over => 21,
    }
}

/// The words for a decision.
pub(super) fn decision_words(step: Step) -> &'static str {
    DECISIONS[usize::from(decision(step))]
}

/// Kind of the set begun by code, and its daemon or symbol plus 1.
fn set_begun(step: Step) -> [u8; 2] {
    match step {
        Step::Fill(begun) => match begun.kind {
            Kind::Pair(daemon) => [1, daemon + 1],
            Kind::Triplet(symbol) => [2, symbol + 1],
            Kind::Spies => [3, 0],
            Kind::Wild => [4, 0],
            Kind::Short(symbol) => [5, symbol + 1],
        },
        _ => [0; 2],
    }
}

impl GoldenCompass {
    pub(super) fn write_view(&self, s: &State, viewer: u8, out: &mut [u8]) {
        let mut w = ViewWriter::new(out);
        self.write_course(s, viewer, &mut w);
        self.write_cards(s, viewer, &mut w);
        self.write_board(s, viewer, &mut w);
        self.write_tokens(s, viewer, &mut w);
        self.write_draft(s, viewer, &mut w);
        self.write_choice(s, viewer, &mut w);
        w.finish();
    }

    /// A seat from the viewer's place: the viewer is 1.
    fn relative(&self, viewer: u8, seat: u8) -> u8 {
        if seat >= viewer { seat - viewer + 1 } else { seat + self.seats - viewer + 1 }
    }

    /// The same for a seat plus 1, where 0 is none.
    fn relative_to(&self, viewer: u8, seat: u8) -> u8 {
        seat.checked_sub(1).map_or(0, |seat| self.relative(viewer, seat))
    }

    /// All seats, the viewer first.
    fn round(&self, viewer: u8) -> impl Iterator<Item = u8> + use<> {
        (viewer..self.seats).chain(0..viewer)
    }

    fn put_seats(&self, w: &mut ViewWriter, viewer: u8, value: impl Fn(&Place) -> u8, s: &State) {
        let seats = usize::from(self.seats);
        let values = std::array::from_fn::<u8, SEATS, _>(|seat| value(&s.places[seat]));
        w.put_all(&values[usize::from(viewer)..seats]);
        w.put_all(&values[..usize::from(viewer)]);
    }

    fn write_course(&self, s: &State, viewer: u8, w: &mut ViewWriter) {
        w.put(decision(s.step));
        w.put(s.chooser().map_or(0, |seat| self.relative(viewer, seat)));
        w.put(s.period + 1);
        w.put(self.relative(viewer, s.first));
        w.put(self.relative(viewer, s.active));
        w.put_wide(u16::try_from(s.turn).unwrap_or(u16::MAX));
        w.put_wide(s.still.min(1000));
        w.put(s.lyra);
        w.put(if s.turn > 0 { s.axis + 1 } else { 0 });
        w.put(self.relative_to(viewer, s.airship));
    }

    fn write_cards(&self, s: &State, viewer: u8, w: &mut ViewWriter) {
        let room = room(self.printed());
        let memory = &s.memory[usize::from(viewer)];
        w.put_ids(s.place(viewer).hand.as_slice().iter().map(|card| card + 1), room);
        self.put_seats(w, viewer, |place| place.hand.len(), s);
        w.put(s.deck_len);
        let mut copies = memory.stamps.map(|stamp| stamp.wrapping_add(2));
        for (block, &discard) in self.blocks.iter().zip(&s.discard) {
            let end = usize::from(block.start) + usize::from(block.len);
            copies[end - usize::from(discard)..end].fill(0);
        }
        w.put_all(&copies[..self.copies]);
        for seat in self.round(viewer).skip(1) {
            w.put_ids(memory.ages[usize::from(seat)].as_slice().iter().map(|age| age + 2), room);
        }
        let places = room * (usize::from(self.seats) - 1);
        w.put_ids(memory.taken().iter().map(|taken| taken.card + 1), places);
        let turned = |holders: u8| self.turn_mask(holders, viewer) >> 1;
        w.put_ids(memory.taken().iter().map(|taken| turned(taken.holders)), places);
    }

    /// A mask of seats turned so that bit 0 is the viewer.
    fn turn_mask(&self, mask: u8, viewer: u8) -> u8 {
        let all = (1u8 << self.seats) - 1;
        (mask >> viewer | mask << (self.seats - viewer)) & all
    }

    fn write_board(&self, s: &State, viewer: u8, w: &mut ViewWriter) {
        let left = (viewer + 1) % self.seats;
        w.put_all(&s.place(viewer).dealt);
        w.put(s.place(viewer).kept);
        self.round(viewer).skip(1).for_each(|seat| w.put(s.place(seat).kept.min(1)));
        self.put_seats(w, viewer, |place| place.ally, s);
        self.put_seats(w, viewer, |place| self.symbols(place), s);
        w.put(s.place(viewer).under);
        w.put(s.place(left).under);
        self.put_seats(w, viewer, |place| place.supply, s);
        self.put_seats(w, viewer, |place| place.compass, s);
        self.put_seats(w, viewer, |place| place.dust, s);
        w.put(s.dust);
        let values = self.printed().tiles.len();
        self.round(viewer).for_each(|seat| w.put_all(&s.place(seat).truth[..values]));
    }

    fn write_tokens(&self, s: &State, viewer: u8, w: &mut ViewWriter) {
        let ones = |mask: u32| u8::try_from(mask.count_ones()).unwrap_or(0);
        let cities = &self.printed().cities;
        for seat in self.round(viewer) {
            let tokens = s.place(seat).tokens;
            cities[..COLLECTING].iter().for_each(|city| w.put(ones(tokens & city.tokens)));
        }
        (0..COLLECTING).for_each(|city| w.put(self.lying(s, city)));
        s.circles.iter().for_each(|&circle| w.put(ones(circle)));
        let mut codes = [0; TOKENS];
        let count = self.printed().tokens.len();
        let places = &s.memory[usize::from(viewer)].tokens;
        for (code, &places) in codes.iter_mut().zip(&places[..count]) {
            *code = self.turn_mask(places & (TABLE - 1), viewer) << 1 | u8::from(places & TABLE != 0);
        }
        for seat in 0..self.seats {
            for token in bits(s.place(seat).laid) {
                let city = u8::from(s.circles[1] >> token & 1 == 1);
                let first = (2 << self.seats) + 2 * (self.relative(viewer, seat) - 1);
                codes[usize::from(token)] = first + city;
            }
        }
        self.sort_alike(&mut codes);
        w.put_all(&codes[..count]);
    }

    /// Puts the codes of equal tokens in ascending order: which of them is which says nothing.
    fn sort_alike(&self, codes: &mut [u8; TOKENS]) {
        for token in 0..self.alike.len() {
            let mut at = token;
            while let Some(before) = self.alike[at] {
                let before = usize::from(before);
                if codes[before] <= codes[at] {
                    break;
                }
                codes.swap(before, at);
                at = before;
            }
        }
    }

    fn write_draft(&self, s: &State, viewer: u8, w: &mut ViewWriter) {
        let values = self.printed().tiles.len();
        w.put_all(&s.bag[..values]);
        w.put_all(&s.open[..values]);
        w.put(s.drawn_passages);
        w.put(self.relative_to(viewer, s.gave_up));
        let drafting = matches!(s.step, Step::Truth { .. });
        for &seat in &s.order[..usize::from(self.seats)] {
            w.put(if drafting { self.relative(viewer, seat) } else { 0 });
        }
    }

    fn write_choice(&self, s: &State, viewer: u8, w: &mut ViewWriter) {
        w.put_all(&set_begun(s.step));
        w.put(self.due(s));
        w.put(match s.step {
            Step::Back { victim } => self.relative(viewer, victim),
            _ => 0,
        });
        w.put(s.op);
        let fresh = if viewer == s.active { s.fresh.as_slice() } else { &[] };
        w.put_ids(fresh.iter().map(|card| card + 1), self.printed().looked_at().into());
        w.put_all(&[s.wild, s.short]);
    }

    /// Cards or tiles still due, or the most steps.
    pub(super) fn due(&self, s: &State) -> u8 {
        match s.step {
            Step::Cost(left)
            | Step::Pay { left }
            | Step::Drop { left }
            | Step::Ransom { left }
            | Step::Truth { left, .. } => left,
            Step::Fill(begun) => begun.left,
            Step::Steps { max } => max,
            Step::Limit => s.own().hand.len() - self.printed().hand_limit,
            Step::Target(Aim::Cards(count) | Aim::Compass(count)) => count,
            Step::Airship => self.ransom(s, s.airship - 1),
            _ => 0,
        }
    }

    /// Tokens still lying at one of the first four cities.
    pub(super) fn lying(&self, s: &State, city: usize) -> u8 {
        let gone = s.lyra > self.printed().cities[city].spaces.1;
        if gone { 0 } else { u8::try_from(s.piles[city].count_ones()).unwrap_or(0) }
    }
}
