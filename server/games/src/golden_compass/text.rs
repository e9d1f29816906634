//! What a seat may know, for people and language models.

use std::fmt::{Result, Write};

use boardwire_kernel::Seat;

use super::GoldenCompass;
use super::catalogue::Blue;
use super::limits::{COLLECTING, SEATS};
use super::memory::{SEEN, TABLE};
use super::state::{State, Step, bits};
use super::view::decision_words;

impl GoldenCompass {
    pub(super) fn write_text(&self, s: &State, viewer: u8, out: &mut dyn Write) -> Result {
        self.text_course(s, viewer, out)?;
        if s.step == Step::Keep {
            self.text_dealt(s, viewer, out)?;
        }
        for seat in Seat::new(viewer).round(self.seats).map(Seat::number) {
            self.text_seat(s, viewer, seat, out)?;
        }
        self.text_board(s, out)?;
        self.text_hidden(s, viewer, out)
    }

    fn text_course(&self, s: &State, viewer: u8, out: &mut dyn Write) -> Result {
        let catalogue = self.printed();
        let period = &catalogue.periods[usize::from(s.period)];
        writeln!(out, "The Golden Compass, {period} period, turn {}, seen by seat {viewer}", s.turn)?;
        let city =
            catalogue.current_city(s.period, s.lyra).map(|city| &catalogue.cities[usize::from(city)].name);
        let at = city.map_or("the objective", String::as_str);
        writeln!(
            out,
            "Lyra: space {} of {}, city: {at}, objective at {}",
            s.lyra,
            catalogue.steps(),
            self.objective(s)
        )?;
        if s.turn > 0 && !matches!(s.step, Step::Keep | Step::Over) {
            let axis = catalogue.axes[usize::from(s.axis)];
            let blue = match axis.blue {
                Blue::Alethiometer => "alethiometer",
                Blue::Magisterium => "Magisterium",
                Blue::Ally => "ally",
                Blue::Dust => "dust",
                Blue::FreeChoice => "free choice",
            };
            let (draw, advance) = (axis.draw, axis.advance);
            writeln!(
                out,
                "needle of seat {}: red draw {draw} and advance {advance}, light blue {blue}",
                s.active
            )?;
        }
        let words = decision_words(s.step);
        match s.chooser() {
            Some(seat) => write!(out, "seat {seat} decides: {words}")?,
            None => write!(out, "to decide: {words}")?,
        }
        if let Some(op) = s.op.checked_sub(1) {
            write!(out, " (effect {})", catalogue.ops[usize::from(op)].kind())?;
        }
        match s.step {
            Step::Fill(begun) => {
                let kind = self.info.actions.get(self.layout.encode(begun.kind.action()));
                write!(out, ", begun: {}, cards left {}", kind.unwrap_or(""), begun.left)?;
            }
            Step::Back { victim } => write!(out, ", robbing seat {victim}")?,
            _ if self.due(s) > 0 => write!(out, ", number {}", self.due(s))?,
            _ => {}
        }
        if s.wild + s.short > 0 {
            write!(out, ", rights: {} wild pairs, {} short triplets", s.wild, s.short)?;
        }
        writeln!(out)?;
        if viewer == s.active && s.fresh.len() > 0 {
            writeln!(out, "just drawn: {}", self.card_names(s.fresh.as_slice()))?;
        }
        writeln!(out, "first seat {}, turns without a step {}", s.first, s.still)
    }

    fn card_names(&self, cards: &[u8]) -> String {
        let names: Vec<_> =
            cards.iter().map(|&card| self.printed().cards[usize::from(card)].name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }

    fn character(&self, id: u8) -> String {
        let Some(id) = id.checked_sub(1) else {
            return "none".into();
        };
        let card = &self.printed().characters[usize::from(id)];
        format!("{} ({} symbols: {})", card.name, card.magisterium, card.text)
    }

    fn text_dealt(&self, s: &State, viewer: u8, out: &mut dyn Write) -> Result {
        let own = s.place(viewer);
        for (name, id) in ["first", "second"].iter().zip(own.dealt) {
            writeln!(out, "your {name} character: {}", self.character(id))?;
        }
        let kept = ["nothing yet", "the first", "the second"][usize::from(own.kept)];
        writeln!(out, "you keep: {kept}")
    }

    fn text_seat(&self, s: &State, viewer: u8, seat: u8, out: &mut dyn Write) -> Result {
        let place = s.place(seat);
        let you = if seat == viewer { " (you)" } else { "" };
        writeln!(out, "seat {seat}{you}:")?;
        if s.step == Step::Keep {
            writeln!(out, "  ally: {}", if place.kept > 0 { "chosen" } else { "not chosen" })?;
        } else {
            let value = self.magisterium(s, seat);
            writeln!(out, "  ally: {}, Magisterium value {value}", self.character(place.ally))?;
        }
        if seat == viewer && place.under > 0 {
            let passed = s.place((seat + 1) % self.seats).under;
            writeln!(out, "  under it: {}", self.character(place.under))?;
            writeln!(out, "  passed on: {}", self.character(passed))?;
        }
        let airship = if s.airship == seat + 1 { ", airship" } else { "" };
        let (supply, compass, dust) = (place.supply, place.compass, place.dust);
        writeln!(
            out,
            "  compass tiles: {supply} in supply, {compass} on the objective; dust {dust}{airship}"
        )?;
        if seat == viewer {
            writeln!(out, "  cards: {}", self.card_names(place.hand.as_slice()))?;
            writeln!(out, "  tokens: {}", self.token_names(place.tokens))?;
        } else {
            writeln!(out, "  cards: {}", place.hand.len())?;
            let backs = self.printed().cities[..COLLECTING].iter();
            let backs = backs.map(|city| (&city.name, (place.tokens & city.tokens).count_ones()));
            let backs: Vec<_> = backs
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| format!("{count} of {name}"))
                .collect();
            writeln!(out, "  tokens: {}", if backs.is_empty() { "none".into() } else { backs.join(", ") })?;
        }
        if place.laid != 0 {
            writeln!(out, "  laid out: {}", self.token_names(place.laid))?;
        }
        writeln!(out, "  truth tiles: {}", self.tile_names(&place.truth))
    }

    /// Names in the order of kinds, so that they do not tell equal tokens apart.
    fn token_names(&self, tokens: u32) -> String {
        let tokens: Vec<_> = bits(tokens).map(|token| &self.printed().tokens[usize::from(token)]).collect();
        let mut names: Vec<_> = tokens.iter().map(|token| (token.kind, token.name.as_str())).collect();
        names.sort_unstable();
        let names: Vec<_> = names.into_iter().map(|(_, name)| name).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    }

    fn tile_names(&self, counts: &[u8]) -> String {
        let tiles = self.printed().tiles.iter().zip(counts).filter(|(_, count)| **count > 0);
        let tiles: Vec<_> = tiles.map(|((value, _), count)| format!("{count} of {value}")).collect();
        if tiles.is_empty() { "none".into() } else { tiles.join(", ") }
    }

    fn text_board(&self, s: &State, out: &mut dyn Write) -> Result {
        let catalogue = self.printed();
        write!(out, "board: draw pile {}, dust {}, tokens lying", s.deck_len, s.dust)?;
        for (at, city) in catalogue.cities[..COLLECTING].iter().enumerate() {
            write!(out, " {} {}", city.name, self.lying(s, at))?;
        }
        for (city, circle) in catalogue.cities[COLLECTING..].iter().zip(s.circles) {
            write!(out, ", {} {} of {} circles taken", city.name, circle.count_ones(), city.slots)?;
        }
        writeln!(out)?;
        let discard = (0u8..).zip(&s.discard).filter(|(_, count)| **count > 0);
        let discard: Vec<_> =
            discard.map(|(card, count)| format!("{count} {}", self.card_names(&[card]))).collect();
        writeln!(
            out,
            "discard pile: {}",
            if discard.is_empty() { "empty".into() } else { discard.join(", ") }
        )?;
        writeln!(out, "bag: {}; passage tiles drawn {}", self.tile_names(&s.bag), s.drawn_passages)?;
        if matches!(s.step, Step::Truth { .. }) {
            let order: Vec<_> = s.order[..usize::from(self.seats)].iter().map(u8::to_string).collect();
            writeln!(
                out,
                "open tiles: {}; draft order: seats {}",
                self.tile_names(&s.open),
                order.join(", ")
            )?;
        }
        if let Some(seat) = s.gave_up.checked_sub(1) {
            writeln!(out, "seat {seat} gave up a tile")?;
        }
        Ok(())
    }

    /// What the viewer remembers of hidden things, in the words of the view.
    fn text_hidden(&self, s: &State, viewer: u8, out: &mut dyn Write) -> Result {
        let memory = &s.memory[usize::from(viewer)];
        for taken in memory.taken() {
            let seats: Vec<_> = (0..SEATS)
                .filter(|seat| taken.holders >> seat & 1 == 1)
                .map(|seat| seat.to_string())
                .collect();
            writeln!(
                out,
                "taken from you: {}, with seat {}",
                self.card_names(&[taken.card]),
                seats.join(" or ")
            )?;
        }
        for seat in Seat::new(viewer).round(self.seats).map(Seat::number).skip(1) {
            let ages = memory.ages[usize::from(seat)].as_slice();
            for run in ages.chunk_by(|a, b| a == b) {
                let hidden = self.blocks.iter().zip(0u8..).flat_map(|(block, card)| {
                    let stamps = memory.stamps(*block).iter();
                    stamps.filter(|&&stamp| stamp != SEEN && stamp > run[0]).map(move |_| card)
                });
                let out_of_reach: Vec<u8> = hidden.collect();
                if !out_of_reach.is_empty() {
                    let names = self.card_names(&out_of_reach);
                    writeln!(
                        out,
                        "{} cards of seat {seat} were drawn before these were hidden again: {names}",
                        run.len()
                    )?;
                }
            }
        }
        self.text_tokens(s, viewer, out)
    }

    fn text_tokens(&self, s: &State, viewer: u8, out: &mut dyn Write) -> Result {
        let places = &s.memory[usize::from(viewer)].tokens;
        let mut lines: Vec<(u8, u8)> = Vec::new();
        for (token, &places) in self.printed().tokens.iter().zip(places) {
            if places != 0 && places & (TABLE | 1 << viewer) == 0 {
                lines.push((token.kind, places));
            }
        }
        lines.sort_unstable();
        for (kind, places) in lines {
            let seats: Vec<_> =
                (0..SEATS).filter(|seat| places >> seat & 1 == 1).map(|seat| seat.to_string()).collect();
            let name = &self.printed().tokens[usize::from(kind)].name;
            writeln!(out, "known token: {name}, with seat {}", seats.join(" or "))?;
        }
        Ok(())
    }
}
