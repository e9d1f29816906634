//! What holds in every position: components are conserved, and memories agree with the board.

use boardwire_kernel::{BitSet, Game as _};

use super::GoldenCompass;
use super::limits::{CARD_TYPES, COLLECTING, PERIODS, SEATS, TILE_VALUES};
use super::memory::{SEEN, TABLE};
use super::state::{Cards, Place, State, Step, bits};

type Check = Result<(), String>;

fn holds(truth: bool, what: &str) -> Check {
    if truth { Ok(()) } else { Err(what.to_owned()) }
}

impl GoldenCompass {
    /// Checks every invariant; a snapshot from outside is refused for the first that is broken.
    pub(super) fn check(&self, s: &State) -> Check {
        self.check_ranges(s)?;
        self.check_cards(s)?;
        self.check_tokens(s)?;
        self.check_tiles(s)?;
        self.check_characters(s)?;
        self.check_step(s)?;
        (0..self.seats).try_for_each(|seat| self.check_memory(s, seat))
    }

    fn check_ranges(&self, s: &State) -> Check {
        let catalogue = self.printed();
        holds(usize::from(s.period) < PERIODS, "there is no such period")?;
        holds(s.first < self.seats && s.active < self.seats, "there is no such seat")?;
        holds(s.airship <= self.seats && s.gave_up <= self.seats, "the airship is with nobody")?;
        holds(usize::from(s.axis) < catalogue.axes.len(), "there is no such axis")?;
        holds(usize::from(s.op) <= catalogue.ops.len(), "there is no such effect")?;
        holds(s.order.iter().all(|&seat| seat < self.seats), "a stranger drafts")?;
        let period = usize::from(s.period);
        let start = if period == 0 { 0 } else { catalogue.objectives[period - 1] };
        holds((start..=catalogue.objectives[period]).contains(&s.lyra), "Lyra is outside the period")?;
        let idle = &s.places[usize::from(self.seats)..];
        holds(idle.iter().all(|place| *place == Place::default()), "an empty seat owns something")?;
        holds(usize::from(s.program.depth) <= s.program.frames.len(), "too many lists of effects")?;
        let ends = |frame: &(u8, u8)| frame.0 <= frame.1 && usize::from(frame.1) <= catalogue.ops.len();
        holds(s.program.frames.iter().all(ends), "a list of effects does not exist")
    }

    fn check_cards(&self, s: &State) -> Check {
        let kinds = self.faces.len();
        let sound = |cards: &Cards| {
            cards.is_sound() && cards.as_slice().iter().all(|&card| usize::from(card) < kinds)
        };
        holds(s.places.iter().all(|place| sound(&place.hand)) && sound(&s.fresh), "a hand is not sound")?;
        let mut counts = [0u32; CARD_TYPES];
        for (card, count) in counts.iter_mut().enumerate() {
            *count = u32::from(s.deck[card]) + u32::from(s.discard[card]);
        }
        for place in &s.places {
            place.hand.as_slice().iter().for_each(|&card| counts[usize::from(card)] += 1);
        }
        let printed = |card: usize| self.blocks.get(card).map_or(0, |block| u32::from(block.len));
        holds((0..CARD_TYPES).all(|card| counts[card] == printed(card)), "Lyra cards are not conserved")?;
        let sum = |pile: &[u8]| pile.iter().map(|&count| u32::from(count)).sum::<u32>();
        holds(sum(&s.deck) == u32::from(s.deck_len), "the draw pile is miscounted")?;
        holds(sum(&s.discard) == u32::from(s.discard_len), "the discard pile is miscounted")?;
        let limit = self.printed().hand_limit;
        for seat in 0..self.seats {
            let gaining = seat == s.active && matches!(s.step, Step::Limit | Step::Drop { .. });
            let most = if gaining { limit + self.printed().gain() } else { limit };
            holds(s.place(seat).hand.len() <= most, "a hand is over its limit")?;
        }
        let drawn = s.fresh.types();
        let held = drawn.iter().all(|card| s.own().hand.count(card) >= s.fresh.count(card));
        holds(held, "cards just drawn are not in hand")?;
        holds(s.fresh.len() == 0 || matches!(s.step, Step::Drop { .. }), "cards just drawn linger")
    }

    fn check_tokens(&self, s: &State) -> Check {
        let catalogue = self.printed();
        let sets = s.places.iter().flat_map(|place| [place.tokens, place.laid]).chain(s.piles);
        let mut seen = 0u32;
        for set in sets {
            holds(seen & set == 0, "an experience token is in two places")?;
            seen |= set;
        }
        let all = catalogue.cities.iter().fold(0, |all, city| all | city.tokens);
        holds(seen == all, "experience tokens are not conserved")?;
        for (pile, city) in s.piles.iter().zip(&catalogue.cities) {
            holds(pile & !city.tokens == 0, "a token lies at a strange city")?;
        }
        let laid = s.places.iter().fold(0, |laid, place| laid | place.laid);
        let [first, second] = s.circles;
        holds(first & second == 0 && first | second == laid, "circles and tokens laid out differ")?;
        let full = s.circles.iter().zip(&catalogue.cities[COLLECTING..]);
        let fits = full.clone().all(|(circle, city)| circle.count_ones() <= city.slots.into());
        holds(fits, "more tokens than circles")
    }

    fn check_tiles(&self, s: &State) -> Check {
        let catalogue = self.printed();
        for value in 0..TILE_VALUES {
            let taken: u32 = s.places.iter().map(|place| u32::from(place.truth[value])).sum();
            let here = taken + u32::from(s.bag[value]) + u32::from(s.open[value]);
            let printed = catalogue.tiles.get(value).map_or(0, |tile| u32::from(tile.1));
            holds(here <= printed, "there are too many truth tiles")?;
        }
        let bag: u32 = s.bag.iter().map(|&count| u32::from(count)).sum();
        let all: u32 = catalogue.tiles.iter().map(|tile| u32::from(tile.1)).sum();
        let open = matches!(s.step, Step::Truth { .. } | Step::Over);
        let scorings = u32::from(s.period) + u32::from(open);
        holds(bag + scorings * u32::from(catalogue.tiles_drawn) == all, "truth tiles are not conserved")?;
        holds(
            s.passages.checked_add(s.drawn_passages) == Some(catalogue.passages),
            "a passage tile is lost",
        )?;
        let dust: u32 = s.places.iter().map(|place| u32::from(place.dust)).sum();
        holds(dust + u32::from(s.dust) == u32::from(catalogue.dust), "dust tiles are not conserved")?;
        for seat in 0..self.seats {
            let place = s.place(seat);
            let own = u32::from(place.supply) + u32::from(place.compass) + place.laid.count_ones();
            holds(own == u32::from(catalogue.compass), "compass tiles are not conserved")?;
        }
        Ok(())
    }

    fn check_characters(&self, s: &State) -> Check {
        let characters = &self.printed().characters;
        let mut all = s.unseen;
        let mut count = all.len();
        for place in &s.places {
            for id in [place.dealt[0], place.dealt[1], place.ally, place.under] {
                if let Some(id) = id.checked_sub(1) {
                    holds(usize::from(id) < characters.len(), "there is no such character")?;
                    all.insert(id);
                    count += 1;
                }
            }
            holds(place.kept <= 2, "no such character was kept")?;
        }
        let pile: BitSet<1> =
            (0u8..).zip(characters).filter(|(_, card)| card.period == s.period).map(|(id, _)| id).collect();
        holds(all == pile && count == pile.len(), "characters are not conserved")?;
        let keeping = s.step == Step::Keep;
        let seated = s.places[..usize::from(self.seats)].iter().all(|place| {
            let dealt = place.dealt.iter().all(|&id| id > 0);
            if keeping {
                dealt && place.ally == 0
            } else {
                place.ally > 0 && place.under > 0 && place.kept == 0
            }
        });
        holds(seated, "a seat has the wrong characters")
    }

    /// The step asks for something that can be chosen.
    fn check_step(&self, s: &State) -> Check {
        let (catalogue, lists) = (self.printed(), self.printed().options.len());
        let sound = match s.step {
            Step::Keep => s.places[..usize::from(self.seats)].iter().any(|place| place.kept == 0),
            Step::Back { victim } => victim < self.seats && victim != s.active,
            Step::Choose { first, count } => usize::from(first) + usize::from(count) <= lists,
            Step::Cost(left) | Step::Pay { left } => left > 0 && left <= s.own().hand.len(),
            Step::Drop { left } => left > 0 && left <= s.fresh.len(),
            Step::Limit => s.own().hand.len() > catalogue.hand_limit,
            Step::Steps { max } => max > 0 && u16::from(s.lyra) + u16::from(max) <= self.objective(s).into(),
            Step::Fill(begun) => begun.left > 0 && begun.left <= 3,
            Step::Airship => s.airship > 0,
            Step::Ransom { left } => s.airship > 0 && left > 0 && left <= s.place(s.airship - 1).hand.len(),
            Step::Truth { place, left } => {
                let open: u32 = s.open.iter().map(|&count| u32::from(count)).sum();
                place < self.seats && left > 0 && left <= catalogue.tiles_each && u32::from(left) <= open
            }
            Step::Over => usize::from(s.period) == PERIODS - 1,
            _ => true,
        };
        holds(sound, "the step asks for what cannot be")?;
        let chooser = self.pending(s).lowest();
        let stuck = chooser.is_some_and(|seat| self.legal(s, seat).is_empty());
        holds(!stuck, "a seat owes a choice and has none")
    }

    fn check_memory(&self, s: &State, viewer: u8) -> Check {
        let memory = &s.memory[usize::from(viewer)];
        holds(memory.is_sound(), "a memory is not sound")?;
        for (card, block) in (0u8..).zip(&self.blocks) {
            let stamps = memory.stamps(*block);
            let hidden = stamps.iter().filter(|&&stamp| stamp != SEEN).count();
            holds(
                stamps.is_sorted() && stamps.iter().all(|&stamp| stamp == SEEN || stamp <= memory.returns),
                "stamps",
            )?;
            let taken = memory.taken().iter().filter(|taken| taken.card == card).count();
            let known = usize::from(s.place(viewer).hand.count(card)) + taken;
            let seen = known + usize::from(s.discard[usize::from(card)]);
            holds(hidden + seen == stamps.len(), "a memory has the wrong number of hidden cards")?;
        }
        for seat in (0..self.seats).filter(|&seat| seat != viewer) {
            let certain = memory.taken().iter().filter(|taken| taken.is_certain(seat)).count();
            let ages = &memory.ages[usize::from(seat)];
            holds(ages.is_sound(), "ages are not sound")?;
            let held = usize::from(s.place(seat).hand.len());
            holds(usize::from(ages.len()) + certain == held, "a memory has the wrong number of hand places")?;
        }
        let everywhere = |token: u8| -> u8 {
            let holder = (0..SEATS).find(|&seat| s.places[seat].tokens >> token & 1 == 1);
            let laid = s.circles.iter().any(|circle| circle >> token & 1 == 1);
            holder.map_or(if laid { 0 } else { TABLE }, |seat| 1 << seat)
        };
        for token in bits(self.printed().cities.iter().fold(0, |all, city| all | city.tokens)) {
            let (place, believed) = (everywhere(token), memory.tokens[usize::from(token)]);
            let own = place == 1 << viewer;
            let right = if place == 0 || own { believed == place } else { believed & place != 0 };
            holds(right, "a memory of a token is wrong")?;
        }
        Ok(())
    }
}
