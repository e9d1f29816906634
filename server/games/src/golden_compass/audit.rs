//! Invariants of every position: components are conserved, and memories agree with the board.

use boardwire_kernel::{Audit, Audits, BySeat, Choices, Conserved, Seat, Turns, ensure};

use super::GoldenCompass;
use super::catalogue::{AxisId, CardId, CharacterId, EffectId, TokenId};
use super::limits::{CARD_TYPES, CARDS, PERIODS, SEATS};
use super::memory::{SEEN, SURE, TABLE, Taken, place_of};
use super::state::{Aim, Decision, Hand, Place, SetKind, State, TilePile};

impl Audits for GoldenCompass {
    /// Checks every invariant. A snapshot from outside is rejected for the first that it violates.
    fn audit(&self, state: &State) -> Audit {
        ensure(!state.forgets, || "memories are not kept")?;
        self.audit_ranges(state)?;
        self.audit_cards(state)?;
        self.audit_tokens(state)?;
        self.audit_tiles(state)?;
        self.audit_characters(state)?;
        self.audit_decision(state)?;
        self.all_seats().try_for_each(|seat| self.audit_memory(state, seat))
    }
}

impl GoldenCompass {
    fn audit_ranges(&self, state: &State) -> Audit {
        let catalogue = self.printed();
        let is_seated = |seat: Seat| seat.number() < self.seats;
        let axis = state.axis.map_or(1, AxisId::index);
        let effect = state.effect.map_or(0, EffectId::index);
        ensure(usize::from(state.period) < PERIODS, || "there is no such period")?;
        ensure(is_seated(state.first) && is_seated(state.active), || "there is no such seat")?;
        let holders = [state.airship, state.gave_up];
        ensure(holders.into_iter().flatten().all(is_seated), || "the airship is with nobody")?;
        ensure(axis <= catalogue.axes.len(), || "there is no such axis")?;
        ensure(state.axis.is_some() || state.decision == Decision::Keep, || "a turn began without a spin")?;
        ensure(effect <= catalogue.ops.len(), || "there is no such effect")?;
        ensure(state.order.into_iter().all(is_seated), || "a stranger drafts")?;
        let period = usize::from(state.period);
        let start = if period == 0 { 0 } else { catalogue.objectives[period - 1] };
        let spaces = start..=catalogue.objectives[period];
        ensure(spaces.contains(&state.lyra), || "Lyra is outside the period")?;
        let empty = &state.places.all()[usize::from(self.seats)..];
        ensure(empty.iter().all(|place| *place == Place::default()), || "an empty seat owns something")?;
        let program = &state.program;
        let depths = match state.decision {
            Decision::Cost(_) => 1..=program.lists.len(),
            Decision::Choose { .. } => 1..=program.lists.len() - 1,
            _ => 0..=program.lists.len(),
        };
        ensure(depths.contains(&program.depth.into()), || "too many lists of effects, or too few")?;
        ensure(state.turn <= self.info.max_plies, || format!("there is no turn {}", state.turn))?;
        let ends = program
            .lists
            .iter()
            .all(|list| list.start <= list.end && usize::from(list.end) <= catalogue.ops.len());
        ensure(ends, || "a list of effects does not exist")
    }

    fn audit_cards(&self, state: &State) -> Audit {
        let kinds = self.printed().cards.len();
        let is_sound = |hand: &Hand| {
            let rows = 1..=kinds;
            hand.is_sound() && hand.as_slice().iter().all(|&card| rows.contains(&usize::from(card)))
        };
        let hands = state.places.all().iter().map(|place| &place.hand);
        ensure(hands.clone().chain([&state.just_drawn]).all(is_sound), || "a hand is not sound")?;
        ensure(state.deck.is_sound() && state.discard.is_sound(), || "a pile is miscounted")?;
        let mut counts = [0u32; CARD_TYPES + 1];
        for pile in [&state.deck, &state.discard] {
            counts.iter_mut().zip(pile.counts()).for_each(|(sum, &count)| *sum += u32::from(count));
        }
        hands.flat_map(Hand::as_slice).for_each(|&card| counts[usize::from(card)] += 1);
        let printed = self.blocks.iter().map(|block| u32::from(block.len));
        ensure(printed.eq(counts), || "Lyra cards are not conserved")?;
        let mut not_discarded = [u8::MAX; CARDS];
        for (block, &count) in self.blocks.iter().zip(state.discard.counts()) {
            not_discarded[block.end() - usize::from(count)..block.end()].fill(0);
        }
        ensure(state.not_discarded == not_discarded, || "copies on the discard pile are miscounted")?;
        for seat in self.all_seats() {
            let gains =
                seat == state.active && matches!(state.decision, Decision::Limit | Decision::Drop { .. });
            let catalogue = self.printed();
            let most = if gains { catalogue.hand_places() } else { catalogue.hand_limit };
            ensure(state.places[seat].hand.len() <= most, || "a hand is over its limit")?;
        }
        let drawn = &state.just_drawn;
        let held = drawn.cards().all(|card| state.acting().hand.count(card) >= drawn.count(card));
        ensure(held, || "cards just drawn are not in hand")?;
        let due = drawn.is_empty() || matches!(state.decision, Decision::Drop { .. });
        ensure(due, || "cards just drawn linger")
    }

    fn audit_tokens(&self, state: &State) -> Audit {
        let catalogue = self.printed();
        let mut tokens = Conserved::<1>::new("experience token");
        state.places.all().iter().try_for_each(|place| {
            tokens.found(place.tokens)?;
            let backs =
                catalogue.collecting().iter().map(|city| place.tokens.intersection(city.tokens).len());
            ensure(backs.eq(place.backs.map(u32::from)), || "backs of tokens are miscounted")?;
            tokens.found(place.laid)
        })?;
        for (pile, city) in state.piles.iter().zip(&catalogue.cities) {
            tokens.found(pile)?;
            ensure(pile.difference(city.tokens).is_empty(), || "a token lies at a strange city")?;
        }
        tokens.are_all(&(1..=super::catalogue::count_of(&catalogue.tokens)).collect())?;
        let mut circles = Conserved::<1>::new("token laid out");
        for (circle, city) in state.circles.iter().zip(catalogue.placing()) {
            circles.found(circle)?;
            ensure(circle.len() <= city.slots.into(), || "more tokens than circles")?;
        }
        let laid = state.places.all().iter().flat_map(|place| place.laid).collect();
        circles.are_all(&laid)
    }

    fn audit_tiles(&self, state: &State) -> Audit {
        let catalogue = self.printed();
        let tiles = || state.places.all().iter().map(|place| &place.truth).chain([&state.bag, &state.open]);
        ensure(tiles().all(TilePile::is_sound), || "truth tiles are miscounted")?;
        let printed = std::iter::once(0).chain(catalogue.tiles.iter().map(|tile| tile.count));
        let printed: TilePile = TilePile::of(printed);
        for (value, &count) in (0u8..).zip(printed.counts()) {
            let found: u32 = tiles().map(|pile| u32::from(pile.count(value))).sum();
            ensure(found <= count.into(), || "there are too many truth tiles")?;
        }
        let opened = matches!(state.decision, Decision::Truth { .. } | Decision::Over);
        let gone = (u32::from(state.period) + u32::from(opened)) * u32::from(catalogue.tiles_drawn);
        let bag = u32::from(state.bag.len());
        ensure(bag + gone == u32::from(printed.len()), || "truth tiles are not conserved")?;
        let passages = state.passages.checked_add(state.drawn_passages);
        ensure(passages == Some(catalogue.passages), || "a passage tile is lost")?;
        let dust = state.places.all().iter().map(|place| u32::from(place.dust)).sum::<u32>();
        let all_dust = dust + u32::from(state.dust);
        ensure(all_dust == u32::from(catalogue.dust), || "dust tiles are not conserved")?;
        for place in state.places.of(self.seats) {
            let tiles = u32::from(place.supply) + u32::from(place.compass) + place.laid.len();
            ensure(tiles == u32::from(catalogue.compass), || "compass tiles are not conserved")?;
        }
        Ok(())
    }

    fn audit_characters(&self, state: &State) -> Audit {
        let mut characters = Conserved::<2>::new("character");
        characters.found(state.unseen)?;
        let keeps = state.decision == Decision::Keep;
        for place in state.places.of(self.seats) {
            let dealt = place.dealt.into_iter().flatten();
            characters.found(dealt.chain(place.ally).chain(place.under).map(CharacterId::get))?;
            ensure(place.kept.is_none_or(|which| which < 2), || "no such character was kept")?;
            let has_ally = place.ally.is_some() && place.under.is_some();
            let is_right = if keeps {
                place.dealt.is_some() && place.ally.is_none() && place.under.is_none()
            } else {
                place.dealt.is_none() && has_ally && place.kept.is_none()
            };
            ensure(is_right, || "a seat has the wrong characters")?;
        }
        characters.are_all(&self.characters_of(state.period))
    }

    /// Checks that the decision is about something that can be chosen.
    fn audit_decision(&self, state: &State) -> Audit {
        let (catalogue, acting) = (self.printed(), state.acting());
        let is_sound = match state.decision {
            Decision::Keep => state.places.of(self.seats).iter().any(|place| place.kept.is_none()),
            Decision::Back { victim } => victim.number() < self.seats && victim != state.active,
            Decision::Choose { first, count } => {
                usize::from(first) + usize::from(count) <= catalogue.options.len()
            }
            Decision::Cost(left) | Decision::Pay { left } => left > 0 && left <= acting.hand.len(),
            Decision::Drop { left } => left > 0 && left <= state.just_drawn.len(),
            Decision::Limit => acting.hand.len() > catalogue.hand_limit,
            Decision::Steps { max } => {
                max > 0 && u16::from(state.lyra) + u16::from(max) <= self.objective(state).into()
            }
            Decision::Lay => state.is_last_period() && self.can_lay_token(state),
            Decision::Fill(begun) => {
                let has_effect = match begun.kind {
                    SetKind::Pair(_) | SetKind::Wild => self.has_pair_effect(state),
                    SetKind::Triplet(_) | SetKind::Short(_) => acting.supply > 0,
                    SetKind::Spies => self.has_target(state, Aim::Token),
                };
                let is_known = match begun.kind {
                    SetKind::Pair(daemon) => daemon.index() <= catalogue.daemons.len(),
                    SetKind::Triplet(symbol) | SetKind::Short(symbol) => {
                        symbol.index() <= catalogue.symbols.len()
                    }
                    SetKind::Spies | SetKind::Wild => true,
                };
                (1..=3).contains(&begun.left)
                    && is_known
                    && has_effect
                    && self.card_sets.has_choice(&acting.hand, begun)
            }
            Decision::Airship => state.airship.is_some(),
            Decision::PayForAirship { left } => {
                let holder = state.airship.map(|seat| &state.places[seat]);
                left > 0 && holder.is_some_and(|holder| left <= holder.hand.len())
            }
            Decision::Truth { place, left } => {
                place < self.seats && (1..=catalogue.tiles_each.min(state.open.len())).contains(&left)
            }
            Decision::Over => state.is_last_period(),
            Decision::Colour | Decision::Action | Decision::Target(_) | Decision::Sets => true,
        };
        ensure(is_sound, || "the decision is about what cannot be")?;
        let chooser = self.pending(state).lowest();
        let is_stuck = chooser.is_some_and(|seat| self.legal(state, seat).is_empty());
        ensure(!is_stuck, || "a seat owes a choice and has none")
    }

    fn audit_memory(&self, state: &State, viewer: Seat) -> Audit {
        let memory = &state.memory[viewer];
        ensure(memory.is_sound(), || "a memory is not sound")?;
        let printed = self.printed().cards.len();
        ensure(
            memory.taken().iter().all(|taken| (1..=printed).contains(&taken.card.into())),
            || "a card was taken that there is not",
        )?;
        for (card, block) in (1u8..).zip(&self.blocks[1..]) {
            let stamps = memory.stamps(*block);
            let hidden = stamps.iter().filter(|&&stamp| stamp != SEEN).count();
            let is_known = |stamp: u8| stamp == SEEN || stamp <= memory.returns;
            ensure(stamps.is_sorted() && stamps.iter().all(|&stamp| is_known(stamp)), || "stamps")?;
            let taken = memory.taken().iter().filter(|taken| taken.card == card).count();
            let known = usize::from(state.places[viewer].hand.count(CardId::new(card))) + taken;
            let seen = known + usize::from(state.discard.count(card));
            ensure(hidden + seen == stamps.len(), || "a memory has the wrong number of hidden cards")?;
        }
        self.audit_taken(state, viewer)?;
        for seat in self.others(viewer) {
            let certain = memory.taken().iter().filter(|taken| taken.is_certain(seat)).count();
            let ages = &memory.ages[seat];
            let held = usize::from(state.places[seat].hand.len());
            ensure(
                usize::from(ages.len()) + certain == held,
                || "a memory has the wrong number of hand places",
            )?;
        }
        self.audit_token_places(state, viewer)
    }

    /// Checks that cards taken from `viewer` are with seats that may hold them, and are not among the cards just drawn.
    fn audit_taken(&self, state: &State, viewer: Seat) -> Audit {
        let others = self.others(viewer).map(place_of).sum::<u8>();
        for taken in state.memory[viewer].taken() {
            let holders = taken.holders();
            ensure(holders != 0 && holders & !others == 0, || "a card was taken by nobody")?;
            ensure(
                taken.shares.iter().all(|&share| share <= SURE),
                || "a seat has too great a share of a card",
            )?;
            // For each set of seats: they hold at least the taken cards of this type that no other seat can hold.
            let alike = |all: &&Taken| all.card == taken.card;
            for among in 1..1 << SEATS {
                let there = state.memory[viewer].taken().iter().filter(alike);
                let there = there.filter(|taken| taken.holders() & !among == 0).count();
                let held = self.others(viewer).filter(|&seat| place_of(seat) & among != 0).map(|seat| {
                    let drawn = if seat == state.active { state.just_drawn.count(taken.card) } else { 0 };
                    usize::from(state.places[seat].hand.count(taken.card) - drawn)
                });
                ensure(there <= held.sum(), || "a card taken is with nobody who may hold it")?;
            }
        }
        Ok(())
    }

    fn audit_token_places(&self, state: &State, viewer: Seat) -> Audit {
        let holders: BySeat<_, SEATS> = BySeat::new(state.places.all().map(|place| place.tokens));
        for token in (1..=super::catalogue::count_of(&self.printed().tokens)).map(TokenId::new) {
            let holder = self.all_seats().find(|&seat| holders[seat].contains(token));
            let is_laid = state.circles.iter().any(|circle| circle.contains(token));
            let place = holder.map_or(if is_laid { 0 } else { TABLE }, place_of);
            let believed = state.memory[viewer].places_of(token);
            let is_seen = place == 0 || place == place_of(viewer);
            let is_right = if is_seen { believed == place } else { believed & place != 0 };
            ensure(is_right, || "a memory of a token is wrong")?;
        }
        Ok(())
    }
}
