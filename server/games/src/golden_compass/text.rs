//! The view as text, for people and language models.

use std::fmt::{Result, Write};

use boardwire_kernel::{Seat, Texts, Viewer};

use super::catalogue::{Blue, CardId, CharacterId, TokenId, TokenSet};
use super::memory::{Memory, NOT_HIDDEN, TABLE, seat_bit};
use super::state::{Decision, State, TilePile, tokens_of};
use super::view::decision_words;
use super::{Action, GoldenCompass};

/// Joins words with commas. Returns `none` if there are no words.
fn join_or<T: AsRef<str>>(words: impl IntoIterator<Item = T>, none: &str) -> String {
    let words: Vec<T> = words.into_iter().collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    if words.is_empty() { none.to_owned() } else { words.join(", ") }
}

impl Texts for GoldenCompass {
    fn text(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        self.text_course(state, viewer, out)?;
        self.text_decision(state, viewer, out)?;
        if let (Decision::Keep, Some(seat)) = (state.decision, viewer.seat()) {
            self.text_dealt(state, seat, out)?;
        }
        for seat in viewer.first().round(self.seats) {
            self.text_seat(state, viewer, seat, out)?;
        }
        self.text_board(state, out)?;
        viewer.seat().map_or(Ok(()), |seat| self.text_hidden(state, seat, out))
    }
}

impl GoldenCompass {
    fn text_course(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        let catalogue = self.catalogue();
        let period = &catalogue.periods[usize::from(state.period)];
        writeln!(out, "The Golden Compass, {period} period, turn {}, seen by {viewer}", state.turn)?;
        let city = self.current_city(state).map(|city| catalogue.city(city).name.as_str());
        let (lyra, city, objective) = (state.lyra, city.unwrap_or("the objective"), self.objective(state));
        writeln!(out, "Lyra: space {lyra} of {}, city: {city}, objective at {objective}", catalogue.steps())?;
        let Some(axis) = state.axis.filter(|_| !matches!(state.decision, Decision::Keep | Decision::Over))
        else {
            return Ok(());
        };
        let axis = catalogue.axis(axis);
        let blue = match axis.blue {
            Blue::Alethiometer => "alethiometer",
            Blue::Magisterium => "Magisterium",
            Blue::Ally => "ally",
            Blue::Dust => "dust",
            Blue::FreeChoice => "free choice",
        };
        let (seat, draw, advance) = (state.active, axis.draw, axis.advance);
        writeln!(out, "needle of {seat}: red draw {draw} and advance {advance}, light blue {blue}")
    }

    fn text_decision(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        let words = decision_words(state.decision);
        match state.chooser() {
            Some(seat) => write!(out, "{seat} decides: {words}")?,
            None => write!(out, "to decide: {words}")?,
        }
        if let Some(effect) = state.effect {
            write!(out, " (effect {})", self.catalogue().effect(effect).kind())?;
        }
        if let Decision::NameSetCard(partial_set) = state.decision {
            let kind = self.info.actions.label(Action::Play(partial_set.kind).index());
            let kind = kind.expect("every action has a label");
            write!(out, ", begun: {kind}, cards left {}", partial_set.left)?;
        } else if let Decision::ChooseBack { victim } = state.decision {
            write!(out, ", robbing {victim}")?;
        } else if self.due(state) > 0 {
            write!(out, ", number {}", self.due(state))?;
        }
        if state.wild_pair_rights > 0 || state.short_triplet_rights > 0 {
            write!(
                out,
                ", rights: {} wild pairs, {} short triplets",
                state.wild_pair_rights, state.short_triplet_rights
            )?;
        }
        writeln!(out)?;
        if viewer.is_seat(state.active) && !state.just_drawn.is_empty() {
            writeln!(out, "just drawn: {}", self.card_names(state.just_drawn.cards()))?;
        }
        writeln!(out, "first {}, turns without a step {}", state.first_seat, state.idle_turns)
    }

    fn card_names(&self, cards: impl Iterator<Item = CardId>) -> String {
        join_or(cards.map(|card| &self.catalogue().card(card).name), "none")
    }

    fn character(&self, id: Option<CharacterId>) -> String {
        let Some(id) = id else { return "none".into() };
        let card = self.catalogue().character(id);
        format!("{} ({} symbols: {})", card.name, card.magisterium, card.text)
    }

    fn text_dealt(&self, state: &State, viewer: Seat, out: &mut dyn Write) -> Result {
        let seat_state = &state.seats[viewer];
        for (name, id) in ["first", "second"].iter().zip(seat_state.dealt.into_iter().flatten()) {
            writeln!(out, "your {name} character: {}", self.character(Some(id)))?;
        }
        let kept = seat_state
            .kept_index
            .map_or("nothing yet", |which| ["the first", "the second"][usize::from(which)]);
        writeln!(out, "you keep: {kept}")
    }

    fn text_seat(&self, state: &State, viewer: Viewer, seat: Seat, out: &mut dyn Write) -> Result {
        let seat_state = &state.seats[seat];
        let is_viewer = viewer.is_seat(seat);
        writeln!(out, "{seat}{}:", if is_viewer { " (you)" } else { "" })?;
        if state.decision == Decision::Keep {
            writeln!(
                out,
                "  ally: {}",
                if seat_state.kept_index.is_some() { "chosen" } else { "not chosen" }
            )?;
        } else {
            let (ally, value) = (self.character(seat_state.ally), self.magisterium(seat_state));
            writeln!(out, "  ally: {ally}, Magisterium value {value}")?;
        }
        if is_viewer && seat_state.card_under_ally.is_some() {
            let passed = state.seats[self.left_of(seat)].card_under_ally;
            writeln!(out, "  under it: {}", self.character(seat_state.card_under_ally))?;
            writeln!(out, "  passed on: {}", self.character(passed))?;
        }
        let airship = if state.airship == Some(seat) { ", airship" } else { "" };
        let (supply, compass, dust) = (seat_state.supply, seat_state.compass, seat_state.dust);
        writeln!(
            out,
            "  compass tiles: {supply} in supply, {compass} on the objective; dust {dust}{airship}"
        )?;
        if is_viewer {
            writeln!(out, "  cards: {}", self.card_names(seat_state.hand.cards()))?;
            writeln!(out, "  tokens: {}", self.token_names(seat_state.tokens))?;
        } else {
            writeln!(out, "  cards: {}", seat_state.hand.len())?;
            let backs =
                seat_state.backs.iter().zip(self.catalogue().collecting()).filter(|(count, _)| **count > 0);
            let backs = backs.map(|(count, city)| format!("{count} of {}", city.name));
            writeln!(out, "  tokens: {}", join_or(backs, "none"))?;
        }
        if !seat_state.laid_out.is_empty() {
            writeln!(out, "  laid out: {}", self.token_names(seat_state.laid_out))?;
        }
        writeln!(out, "  truth tiles: {}", self.tile_names(&seat_state.truth))
    }

    /// Returns token names in the order of kinds, so that equal tokens look the same.
    fn token_names(&self, tokens: TokenSet) -> String {
        let mut kinds: Vec<TokenId> =
            tokens_of(tokens).map(|token| self.catalogue().token(token).kind).collect();
        kinds.sort_unstable();
        join_or(kinds.into_iter().map(|kind| &self.catalogue().token(kind).name), "none")
    }

    fn tile_names(&self, pile: &TilePile) -> String {
        let tiles = self.catalogue().tiles.iter().zip(&pile.counts()[1..]).filter(|(_, count)| **count > 0);
        join_or(tiles.map(|(tile, count)| format!("{count} of {}", tile.value)), "none")
    }

    fn text_board(&self, state: &State, out: &mut dyn Write) -> Result {
        let catalogue = self.catalogue();
        write!(out, "board: draw pile {}, dust {}, tokens lying", state.deck.len(), state.dust)?;
        for (city, tokens_at_cities) in catalogue.collecting().iter().zip(self.tokens_at_cities(state)) {
            write!(out, " {} {tokens_at_cities}", city.name)?;
        }
        for (city, circle) in catalogue.placing().iter().zip(state.circles) {
            write!(out, ", {} {} of {} circles taken", city.name, circle.len(), city.slots)?;
        }
        writeln!(out)?;
        let discard =
            catalogue.cards.iter().zip(&state.discard.counts()[1..]).filter(|(_, count)| **count > 0);
        let discard = discard.map(|(card, count)| format!("{count} {}", card.name));
        writeln!(out, "discard pile: {}", join_or(discard, "empty"))?;
        writeln!(out, "bag: {}; passage tiles drawn {}", self.tile_names(&state.bag), state.drawn_passages)?;
        if matches!(state.decision, Decision::Truth { .. }) {
            let order = &state.order[..usize::from(self.seats)];
            let order = join_or(order.iter().map(|seat| seat.number().to_string()), "none");
            writeln!(out, "open tiles: {}; draft order: seats {order}", self.tile_names(&state.open_tiles))?;
        }
        state.gave_up.map_or(Ok(()), |seat| writeln!(out, "{seat} gave up a tile"))
    }

    /// Writes what the viewer remembers of hidden cards and tokens: the same facts as in the view.
    fn text_hidden(&self, state: &State, viewer: Seat, out: &mut dyn Write) -> Result {
        let memory = &state.memory[viewer];
        for taken in memory.taken() {
            let card = &self.catalogue().card(CardId::new(taken.card)).name;
            writeln!(out, "taken from you: {card}, with {}", self.seat_names(taken.holders()))?;
        }
        for seat in viewer.round(self.seats).skip(1) {
            let drawn_after = memory.drawn_after[seat].as_slice();
            for run in drawn_after.chunk_by(|one, other| one == other) {
                let hidden = (0u8..).zip(&self.blocks).flat_map(|(card, block)| {
                    let last_seen = memory.last_seen(*block).iter();
                    last_seen.filter(|&&seen_at| seen_at != NOT_HIDDEN && seen_at > run[0]).map(move |_| card)
                });
                let mut out_of_reach = hidden.map(CardId::new).peekable();
                if out_of_reach.peek().is_some() {
                    let (count, names) = (run.len(), self.card_names(out_of_reach));
                    writeln!(
                        out,
                        "{count} cards of {seat} were drawn before these were hidden again: {names}"
                    )?;
                }
            }
        }
        self.text_tokens(memory, viewer, out)
    }

    fn text_tokens(&self, memory: &Memory, viewer: Seat, out: &mut dyn Write) -> Result {
        let mut lines: Vec<(TokenId, u8)> = Vec::new();
        for (token, &places) in self.catalogue().tokens.iter().zip(&memory.tokens) {
            if places != 0 && places & (TABLE | seat_bit(viewer)) == 0 {
                lines.push((token.kind, places));
            }
        }
        lines.sort_unstable();
        for (kind, places) in lines {
            let name = &self.catalogue().token(kind).name;
            writeln!(out, "known token: {name}, with {}", self.seat_names(places))?;
        }
        Ok(())
    }

    /// Returns the seats of a mask as text: `seat 1 or 3`.
    fn seat_names(&self, mask: u8) -> String {
        let seats = self.all_seats().filter(|&seat| mask & seat_bit(seat) != 0);
        let numbers: Vec<_> = seats.map(|seat| seat.number().to_string()).collect();
        format!("seat {}", numbers.join(" or "))
    }
}
