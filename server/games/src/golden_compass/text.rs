//! The view as text, for people and language models: the position, phrases of actions, reports of choices.

mod cards;
mod decision;
mod phrase;
mod report;
mod words;

use std::fmt::{Result, Write};

use boardwire_kernel::{NameGroup, Scoring, Seat, Texts, Viewer};

use super::catalogue::{Blue, TokenSet};
use super::limits::{COLLECTING, PERIODS};
use super::memory::{TABLE, seat_bit};
use super::state::{Decision, State, TilePile, tokens_of};
use super::{Action, GoldenCompass};
pub(super) use words::counted;
use words::{joined, seat_name};

impl Texts for GoldenCompass {
    fn text(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        Self::text_course(state, viewer, out)?;
        self.text_needle(state, out)?;
        self.text_decision(state, viewer, out)?;
        if state.decision == Decision::Over {
            self.text_scores(state, viewer, out)?;
        } else {
            self.text_board(state, viewer, out)?;
        }
        for seat in viewer.first().round(self.seats) {
            self.text_seat(state, viewer, seat, out)?;
        }
        self.text_tiles(state, viewer, out)?;
        self.text_cards(state, viewer, out)
    }

    fn phrase(&self, state: &State, seat: Seat, action: Action, out: &mut dyn Write) -> Result {
        out.write_str(&self.phrase_words(state, seat, action))
    }

    fn report(
        &self,
        before: &State,
        choice: (Seat, Action),
        after: &State,
        viewer: Seat,
        out: &mut dyn Write,
    ) -> Result {
        self.write_report(before, choice, after, viewer, out)
    }

    fn names(&self) -> Vec<NameGroup> {
        let catalogue = self.catalogue();
        let fixed = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        vec![
            NameGroup { kind: "game", names: fixed(&["The Golden Compass"]) },
            NameGroup { kind: "publisher", names: fixed(&["Kosmos", "Sophisticated Games"]) },
            NameGroup { kind: "figure", names: fixed(&["Lyra"]) },
            NameGroup { kind: "term", names: fixed(&["alethiometer", "daemon", "dust", "Magisterium"]) },
            NameGroup { kind: "animal", names: catalogue.daemons.clone() },
            NameGroup { kind: "symbol", names: catalogue.symbols.clone() },
            NameGroup {
                kind: "city",
                names: catalogue.cities.iter().map(|city| city.name.clone()).collect(),
            },
            NameGroup {
                kind: "character",
                names: catalogue.characters.iter().map(|card| card.name.clone()).collect(),
            },
        ]
    }
}

impl GoldenCompass {
    fn text_course(state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        let (period, turn) = (state.period + 1, state.turn);
        let public = if viewer == Viewer::Public { "seen by the public: " } else { "" };
        let (active, first) = (seat_name(viewer, state.active), seat_name(viewer, state.first_seat));
        write!(out, "{public}period {period} of {PERIODS} (first {first}), ")?;
        match state.decision {
            Decision::Keep => writeln!(out, "before turn {}", turn + 1),
            Decision::Over => writeln!(out, "after turn {turn}"),
            _ => writeln!(out, "turn {turn}: {active}"),
        }
    }

    /// Writes where the needle points while it matters.
    fn text_needle(&self, state: &State, out: &mut dyn Write) -> Result {
        let Some(axis) = state.axis.map(|axis| self.catalogue().axis(axis)) else { return Ok(()) };
        let (draw, advance, blue) = (axis.draw, axis.advance, self.blue_words(state, axis.blue));
        match state.decision {
            Decision::Colour => {
                writeln!(out, "needle: red (draw {draw}, Lyra advances {advance}); light blue ({blue})")
            }
            Decision::Action => writeln!(out, "needle: light blue ({blue})"),
            _ => Ok(()),
        }
    }

    /// Returns what a light-blue symbol lets the active seat do.
    fn blue_words(&self, state: &State, blue: Blue) -> String {
        match blue {
            Blue::Alethiometer => {
                format!("alethiometer: lay {}", counted(self.catalogue().action_compass, "compass tile"))
            }
            Blue::Magisterium => "Magisterium: give the airship to an opponent".to_owned(),
            Blue::Ally => "ally: use its power".to_owned(),
            Blue::Dust if state.dust == 0 => "dust: take 1 dust tile of an opponent".to_owned(),
            Blue::Dust => "dust: take 1 dust tile".to_owned(),
            Blue::FreeChoice => "free choice: alethiometer, Magisterium, ally or dust".to_owned(),
        }
    }

    /// Writes where Lyra is, and the path before it with what lies there.
    fn text_board(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        let catalogue = self.catalogue();
        let (lyra, left, period) = (state.lyra, self.objective(state) - state.lyra, state.period + 1);
        write!(out, "Lyra: space {lyra}, {left} before objective {period}")?;
        match self.guard {
            Some(turns) => {
                let left = counted(turns.saturating_sub(state.idle_turns), "more turn");
                writeln!(out, "; after {left} without a step it moves 1")?;
            }
            None => writeln!(out, "; {} without a step", counted(state.idle_turns, "turn"))?,
        }
        for (at, city) in catalogue.cities.iter().enumerate() {
            let (first, last) = city.spaces;
            if lyra <= last {
                let current = self.current_city(state).is_some_and(|city| city.index() == at + 1);
                let current = if current { " (current city)" } else { "" };
                writeln!(
                    out,
                    "{first}-{last} {}{current}: {}",
                    city.name,
                    self.city_words(state, viewer, at)
                )?;
            }
            if at % 2 == 1 && at / 2 >= usize::from(state.period) {
                writeln!(out, "{} objective {}", last + 1, at / 2 + 1)?;
            }
        }
        let passed = (0..COLLECTING).filter(|&at| lyra > catalogue.cities[at].spaces.1);
        let is_hidden = |at: usize, seat| !viewer.is_seat(seat) && state.seats[seat].backs[at] > 0;
        let passed = passed.filter(|&at| self.all_seats().any(|seat| is_hidden(at, seat)));
        let passed: Vec<_> = passed
            .map(|at| {
                format!(
                    "{} {}",
                    catalogue.cities[at].name,
                    self.token_places_words(state, viewer, at, Some("gone"))
                )
            })
            .collect();
        if passed.is_empty() { Ok(()) } else { writeln!(out, "hidden tokens: {}", passed.join("; ")) }
    }

    /// Returns what lies at a city that Lyra has not passed.
    fn city_words(&self, state: &State, viewer: Viewer, at: usize) -> String {
        if at >= COLLECTING {
            let slots = self.catalogue().cities[at].slots;
            return match state.circles[at - COLLECTING].len() {
                0 => format!("{slots} empty circles"),
                taken => format!("{} of {slots} circles empty", u32::from(slots) - taken),
            };
        }
        let lying = self.tokens_at_cities(state)[at];
        let groups = self.token_places_words(state, viewer, at, (lying > 0).then_some("here"));
        let lying = counted(lying, "token");
        match groups.strip_suffix(" (here)") {
            Some(worths) if !worths.contains('(') => format!("{lying} worth {worths}"),
            _ if groups.is_empty() => lying,
            _ => format!("{lying}, among {groups}"),
        }
    }

    /// Returns the worths of a city's tokens that the viewer neither has nor sees, grouped by where they may be. `table`
    /// is the word for those that no seat has, if there are any.
    fn token_places_words(&self, state: &State, viewer: Viewer, at: usize, table: Option<&str>) -> String {
        let laid_out = state.circles[0].union(state.circles[1]);
        let own = viewer.seat().map_or(0, seat_bit);
        let places = self.token_places(state, viewer);
        let mut groups: Vec<(u8, TokenSet)> = Vec::new();
        for token in tokens_of(self.catalogue().cities[at].tokens.difference(laid_out)) {
            let mask = places[token.index() - 1];
            match groups.iter_mut().find(|(other, _)| *other == mask) {
                _ if mask == own => {}
                Some((_, group)) => group.insert(token),
                None => groups.push((mask, std::iter::once(token).collect())),
            }
        }
        groups.sort_unstable_by_key(|(mask, _)| *mask);
        let words = groups.iter().map(|&(mask, group)| {
            let table = table.filter(|_| mask & TABLE != 0).map(str::to_owned);
            let seats = self.all_seats().filter(|&seat| mask & seat_bit(seat) != 0);
            let places: Vec<_> = table.into_iter().chain(seats.map(|seat| seat.to_string())).collect();
            format!("{} ({})", self.token_worths(tokens_of(group)), places.join(" or "))
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn text_seat(&self, state: &State, viewer: Viewer, seat: Seat, out: &mut dyn Write) -> Result {
        let seat_state = &state.seats[seat];
        let is_viewer = viewer.is_seat(seat);
        write!(out, "{}:", seat_name(viewer, seat))?;
        if state.airship == Some(seat) {
            write!(out, " the airship;")?;
        }
        if let Some(ally) = seat_state.ally {
            let card = self.catalogue().character(ally);
            let (own, under) = (card.magisterium, self.magisterium(seat_state) - card.magisterium);
            write!(out, " ally {} ({}); Magisterium {own}+{under}", card.name, self.power_words(card.power))?;
            if let Some(under) = seat_state.card_under_ally.filter(|_| is_viewer) {
                let left = self.left_of(seat);
                let passed = state.seats[left].card_under_ally.expect("all have a card under the ally");
                let [under, passed] = [under, passed].map(|card| &self.catalogue().character(card).name);
                write!(out, " (under it {under}; passed {passed} to {left})")?;
            }
        }
        writeln!(out)?;
        let hand = seat_state.hand.len();
        if is_viewer {
            let limit = self.catalogue().hand_limit;
            writeln!(out, "  hand {hand} of {limit}: {}", self.card_names(seat_state.hand.cards()))?;
            write!(out, "  ")?;
        } else {
            write!(out, "  hand {}; ", counted(hand, "card"))?;
        }
        let (supply, compass, dust) = (seat_state.supply, seat_state.compass, seat_state.dust);
        write!(out, "compass tiles {compass} laid, {supply} left; {}", counted(dust, "dust tile"))?;
        writeln!(out, "{}", self.tile_worths(&seat_state.truth))?;
        self.text_tokens(state, viewer, seat, out)
    }

    /// Writes the tokens of a seat.
    fn text_tokens(&self, state: &State, viewer: Viewer, seat: Seat, out: &mut dyn Write) -> Result {
        let seat_state = &state.seats[seat];
        if seat_state.tokens.is_empty() && seat_state.laid_out.is_empty() {
            return Ok(());
        }
        if viewer.is_seat(seat) {
            write!(out, "  tokens {}", self.token_words(seat_state.tokens))?;
        } else {
            let backs = seat_state.backs.iter().zip(self.catalogue().collecting());
            let backs = backs.filter(|(count, _)| **count > 0);
            write!(
                out,
                "  tokens {}",
                joined(backs.map(|(count, city)| format!("{count} of {}", city.name)))
            )?;
        }
        for (city, circle) in self.catalogue().placing().iter().zip(state.circles) {
            let laid_out = seat_state.laid_out.intersection(circle);
            if !laid_out.is_empty() {
                write!(out, "; laid out in {}: {}", city.name, self.token_words(laid_out))?;
            }
        }
        if seat_state.laid_out.is_empty() {
            return writeln!(out);
        }
        writeln!(out, "; {} so far", counted(points(self.score_parts(state, seat).total()), "point"))
    }

    /// Returns the worths of a seat's truth tiles and their sum; empty if it has none.
    fn tile_worths(&self, pile: &TilePile) -> String {
        let tiles = self.catalogue().tiles.iter().zip(&pile.counts()[1..]);
        let worths: Vec<u8> =
            tiles.flat_map(|(tile, &count)| std::iter::repeat_n(tile.value, count.into())).collect();
        let sum: u16 = worths.iter().map(|&worth| u16::from(worth)).sum();
        match &worths[..] {
            [] => String::new(),
            [_] => format!("; truth tile worth {sum}"),
            _ => {
                let words: Vec<_> = worths.iter().map(u8::to_string).collect();
                format!("; truth tiles worth {}={sum}", words.join("+"))
            }
        }
    }

    /// Returns the number of truth tiles of each worth, such as `4/0/2 truth tiles worth 1 to 3`. Worths without a gap are a range.
    fn tile_counts(&self, pile: &TilePile) -> String {
        let tiles = &self.catalogue().tiles;
        let counts: Vec<_> = pile.counts()[1..=tiles.len()].iter().map(u8::to_string).collect();
        let worths: Vec<_> = tiles.iter().map(|tile| tile.value.to_string()).collect();
        let is_range = tiles.windows(2).all(|pair| pair[0].value + 1 == pair[1].value);
        match &worths[..] {
            [first, .., last] if is_range => {
                format!("{} truth tiles worth {first} to {last}", counts.join("/"))
            }
            worths => format!("{} truth tiles worth {}", counts.join("/"), worths.join("/")),
        }
    }

    /// Writes the tiles that no seat owns, the airship, and the order of the draft.
    fn text_tiles(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        let airship = if state.airship.is_none() { ", the airship" } else { "" };
        write!(out, "supply: {}{airship}; ", counted(state.dust, "dust tile"))?;
        write!(out, "bag: {}", self.tile_counts(&state.bag))?;
        if state.drawn_passages > 0 || state.decision == Decision::Over {
            write!(out, "; passage tiles drawn: {} of {}", state.drawn_passages, self.catalogue().passages)?;
        }
        writeln!(out)?;
        if let Some(seat) = state.gave_up {
            writeln!(out, "{} takes 1 truth tile less", seat_name(viewer, seat))?;
        }
        if matches!(state.decision, Decision::Truth { .. }) {
            let order = state.order[..usize::from(self.seats)].iter();
            writeln!(out, "open: {}", self.tile_counts(&state.open_tiles))?;
            writeln!(out, "draft order: {}", joined(order.map(|&seat| seat_name(viewer, seat))))?;
        }
        Ok(())
    }

    /// Writes the final score of every seat with its sources, the best first.
    fn text_scores(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        let outcome = self.outcome(state).expect("the game is over");
        let mut seats: Vec<Seat> = self.all_seats().collect();
        seats.sort_by_key(|seat| outcome.ranks()[seat.index()]);
        for seat in seats {
            let (rank, score) = (outcome.ranks()[seat.index()], outcome.scores()[seat.index()]);
            let sources = self.explain(state, seat).into_iter();
            let sources: Vec<_> = sources.map(|line| format!("{} {}", line.source, line.points)).collect();
            let (seat, score) = (seat_name(viewer, seat), counted(points(score), "point"));
            writeln!(out, "place {rank}: {seat}, {score} = {}", sources.join(" + "))?;
        }
        Ok(())
    }
}

/// Converts points, which are never negative.
fn points(points: i32) -> u16 {
    u16::try_from(points).expect("a score is at most a few hundred points")
}
