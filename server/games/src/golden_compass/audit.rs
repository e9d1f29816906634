//! Invariants of every position: components are conserved, and memories agree with the board.

use boardwire_kernel::{Audits, BySeat, CheckResult, Choices, ComponentTally, Seat, Turns, ensure};

use super::GoldenCompass;
use super::catalogue::{AxisId, CardId, CharacterId, EffectId, TokenId};
use super::limits::{CARD_TYPES, CARDS, MAX_SEATS, PERIODS};
use super::memory::{MAX_SHARE, NOT_HIDDEN, TABLE, TakenCard, seat_bit};
use super::state::{Decision, Hand, SeatState, SetKind, State, TargetReason, TilePile};

impl Audits for GoldenCompass {
    /// Checks every invariant. A snapshot from outside is rejected for the first that it violates.
    fn audit(&self, state: &State) -> CheckResult {
        ensure(
            !state.memories_disabled,
            || "memories_disabled is true: the memories are not updated and cannot be audited",
        )?;
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
    fn audit_ranges(&self, state: &State) -> CheckResult {
        let catalogue = self.catalogue();
        let is_seated = |seat: Seat| seat.number() < self.seats;
        let axis = state.axis.map_or(1, AxisId::index);
        let effect = state.effect.map_or(0, EffectId::index);
        ensure(usize::from(state.period) < PERIODS, || {
            format!("period is {}; it must be 0 to {}", state.period, PERIODS - 1)
        })?;
        ensure(
            is_seated(state.first_seat) && is_seated(state.active),
            || "first_seat or active names a seat that is not in the game",
        )?;
        let holders = [state.airship, state.gave_up];
        ensure(
            holders.into_iter().flatten().all(is_seated),
            || "airship or gave_up names a seat that is not in the game",
        )?;
        ensure(axis <= catalogue.axes.len(), || "there is no such axis")?;
        ensure(
            state.axis.is_some() || state.decision == Decision::Keep,
            || "axis is missing after the choice of allies",
        )?;
        ensure(effect <= catalogue.ops.len(), || "there is no such effect")?;
        ensure(
            state.order.into_iter().all(is_seated),
            || "the draft order names a seat that is not in the game",
        )?;
        let period = usize::from(state.period);
        let start = if period == 0 { 0 } else { catalogue.objectives[period - 1] };
        let spaces = start..=catalogue.objectives[period];
        ensure(spaces.contains(&state.lyra), || "Lyra is outside the period")?;
        let unused = &state.seats.all()[usize::from(self.seats)..];
        ensure(
            unused.iter().all(|seat_state| *seat_state == SeatState::default()),
            || "a seat that is not in the game has components",
        )?;
        let stack = &state.effect_stack;
        let depths = match state.decision {
            Decision::Cost(_) => 1..=stack.lists.len(),
            Decision::Choose { .. } => 1..=stack.lists.len() - 1,
            _ => 0..=stack.lists.len(),
        };
        ensure(depths.contains(&stack.depth.into()), || "too many lists of effects, or too few")?;
        ensure(state.turn <= self.info.max_plies, || format!("there is no turn {}", state.turn))?;
        let ends = stack
            .lists
            .iter()
            .all(|list| list.start <= list.end && usize::from(list.end) <= catalogue.ops.len());
        ensure(ends, || "a list of effects does not exist")
    }

    fn audit_cards(&self, state: &State) -> CheckResult {
        let kinds = self.catalogue().cards.len();
        let is_sound = |hand: &Hand| {
            let rows = 1..=kinds;
            hand.is_sound() && hand.as_slice().iter().all(|&card| rows.contains(&usize::from(card)))
        };
        let hands = state.seats.all().iter().map(|seat_state| &seat_state.hand);
        ensure(hands.clone().chain([&state.just_drawn]).all(is_sound), || "a hand is not sound")?;
        ensure(state.deck.is_sound() && state.discard.is_sound(), || "a pile is miscounted")?;
        let mut counts = [0u32; CARD_TYPES + 1];
        for pile in [&state.deck, &state.discard] {
            counts.iter_mut().zip(pile.counts()).for_each(|(sum, &count)| *sum += u32::from(count));
        }
        hands.flat_map(Hand::as_slice).for_each(|&card| counts[usize::from(card)] += 1);
        let block_sizes = self.blocks.iter().map(|block| u32::from(block.len));
        ensure(block_sizes.eq(counts), || "Lyra cards are not conserved")?;
        let mut not_discarded_mask = [u8::MAX; CARDS];
        for (block, &count) in self.blocks.iter().zip(state.discard.counts()) {
            not_discarded_mask[block.end() - usize::from(count)..block.end()].fill(0);
        }
        ensure(
            state.not_discarded_mask == not_discarded_mask,
            || "copies on the discard pile are miscounted",
        )?;
        for seat in self.all_seats() {
            let gains = seat == state.active
                && matches!(state.decision, Decision::DiscardToLimit | Decision::DiscardDrawn { .. });
            let catalogue = self.catalogue();
            let maximum = if gains { catalogue.hand_places() } else { catalogue.hand_limit };
            ensure(state.seats[seat].hand.len() <= maximum, || "a hand is over its limit")?;
        }
        let drawn = &state.just_drawn;
        let held = drawn.cards().all(|card| state.active_seat().hand.count(card) >= drawn.count(card));
        ensure(held, || "cards just drawn are not in hand")?;
        let due = drawn.is_empty() || matches!(state.decision, Decision::DiscardDrawn { .. });
        ensure(due, || "just_drawn is not empty, but no discard of drawn cards is due")
    }

    fn audit_tokens(&self, state: &State) -> CheckResult {
        let catalogue = self.catalogue();
        let mut tokens = ComponentTally::<1>::new("experience token");
        state.seats.all().iter().try_for_each(|seat_state| {
            tokens.add(seat_state.tokens)?;
            let backs =
                catalogue.collecting().iter().map(|city| seat_state.tokens.intersection(city.tokens).len());
            ensure(backs.eq(seat_state.backs.map(u32::from)), || "backs of tokens are miscounted")?;
            tokens.add(seat_state.laid_out)
        })?;
        for (pile, city) in state.city_tokens.iter().zip(&catalogue.cities) {
            tokens.add(pile)?;
            ensure(
                pile.difference(city.tokens).is_empty(),
                || "a token lies at a city that its back does not name",
            )?;
        }
        tokens.check_complete(&(1..=super::catalogue::count_of(&catalogue.tokens)).collect())?;
        let mut circles = ComponentTally::<1>::new("token laid out");
        for (circle, city) in state.circles.iter().zip(catalogue.placing()) {
            circles.add(circle)?;
            ensure(circle.len() <= city.slots.into(), || "more tokens than circles")?;
        }
        let laid = state.seats.all().iter().flat_map(|seat_state| seat_state.laid_out).collect();
        circles.check_complete(&laid)
    }

    fn audit_tiles(&self, state: &State) -> CheckResult {
        let catalogue = self.catalogue();
        let tiles = || {
            state
                .seats
                .all()
                .iter()
                .map(|seat_state| &seat_state.truth)
                .chain([&state.bag, &state.open_tiles])
        };
        ensure(tiles().all(TilePile::is_sound), || "truth tiles are miscounted")?;
        let tile_counts = std::iter::once(0).chain(catalogue.tiles.iter().map(|tile| tile.count));
        let all_tiles = TilePile::of(tile_counts);
        for (value, &count) in (0u8..).zip(all_tiles.counts()) {
            let found: u32 = tiles().map(|pile| u32::from(pile.count(value))).sum();
            ensure(found <= count.into(), || "there are too many truth tiles")?;
        }
        let opened = matches!(state.decision, Decision::Truth { .. } | Decision::Over);
        let gone = (u32::from(state.period) + u32::from(opened)) * u32::from(catalogue.tiles_drawn);
        let bag = u32::from(state.bag.len());
        ensure(bag + gone == u32::from(all_tiles.len()), || "truth tiles are not conserved")?;
        let passages = state.passages.checked_add(state.drawn_passages);
        ensure(passages == Some(catalogue.passages), || "a passage tile is lost")?;
        let dust = state.seats.all().iter().map(|seat_state| u32::from(seat_state.dust)).sum::<u32>();
        let all_dust = dust + u32::from(state.dust);
        ensure(all_dust == u32::from(catalogue.dust), || "dust tiles are not conserved")?;
        for seat_state in state.seats.of(self.seats) {
            let tiles =
                u32::from(seat_state.supply) + u32::from(seat_state.compass) + seat_state.laid_out.len();
            ensure(tiles == u32::from(catalogue.compass), || "compass tiles are not conserved")?;
        }
        Ok(())
    }

    fn audit_characters(&self, state: &State) -> CheckResult {
        let mut characters = ComponentTally::<2>::new("character");
        characters.add(state.undealt_characters)?;
        let keeps = state.decision == Decision::Keep;
        for seat_state in state.seats.of(self.seats) {
            let dealt = seat_state.dealt.into_iter().flatten();
            characters
                .add(dealt.chain(seat_state.ally).chain(seat_state.card_under_ally).map(CharacterId::get))?;
            ensure(seat_state.kept_index.is_none_or(|which| which < 2), || "kept_index is not 0 or 1")?;
            let has_ally = seat_state.ally.is_some() && seat_state.card_under_ally.is_some();
            let is_right = if keeps {
                seat_state.dealt.is_some()
                    && seat_state.ally.is_none()
                    && seat_state.card_under_ally.is_none()
            } else {
                seat_state.dealt.is_none() && has_ally && seat_state.kept_index.is_none()
            };
            ensure(is_right, || "a seat has the wrong characters")?;
        }
        characters.check_complete(&self.characters_of(state.period))
    }

    /// Checks that the decision is about something that can be chosen.
    fn audit_decision(&self, state: &State) -> CheckResult {
        let (catalogue, acting) = (self.catalogue(), state.active_seat());
        let is_sound = match state.decision {
            Decision::Keep => {
                state.seats.of(self.seats).iter().any(|seat_state| seat_state.kept_index.is_none())
            }
            Decision::ChooseBack { victim } => victim.number() < self.seats && victim != state.active,
            Decision::Choose { first, count } => {
                usize::from(first) + usize::from(count) <= catalogue.options.len()
            }
            Decision::Cost(left) | Decision::Pay { left } => left > 0 && left <= acting.hand.len(),
            Decision::DiscardDrawn { left } => left > 0 && left <= state.just_drawn.len(),
            Decision::DiscardToLimit => acting.hand.len() > catalogue.hand_limit,
            Decision::Steps { max } => {
                max > 0 && u16::from(state.lyra) + u16::from(max) <= self.objective(state).into()
            }
            Decision::LayToken => state.is_last_period() && self.can_lay_token(state),
            Decision::NameSetCard(partial_set) => {
                let has_effect = match partial_set.kind {
                    SetKind::Pair(_) | SetKind::WildPair => self.has_pair_effect(state),
                    SetKind::Triplet(_) | SetKind::ShortTriplet(_) => acting.supply > 0,
                    SetKind::Spies => self.has_target(state, TargetReason::Token),
                };
                let is_known = match partial_set.kind {
                    SetKind::Pair(daemon) => daemon.index() <= catalogue.daemons.len(),
                    SetKind::Triplet(symbol) | SetKind::ShortTriplet(symbol) => {
                        symbol.index() <= catalogue.symbols.len()
                    }
                    SetKind::Spies | SetKind::WildPair => true,
                };
                (1..=3).contains(&partial_set.left)
                    && is_known
                    && has_effect
                    && self.card_sets.has_choice(&acting.hand, partial_set)
            }
            Decision::Airship => state.airship.is_some(),
            Decision::PayForAirship { left } => {
                let holder = state.airship.map(|seat| &state.seats[seat]);
                left > 0 && holder.is_some_and(|holder| left <= holder.hand.len())
            }
            Decision::Truth { draft_index, left } => {
                draft_index < self.seats
                    && (1..=catalogue.tiles_each.min(state.open_tiles.len())).contains(&left)
            }
            Decision::Over => state.is_last_period(),
            Decision::Colour | Decision::Action | Decision::Target(_) | Decision::Sets => true,
        };
        ensure(is_sound, || "the decision is impossible in this state")?;
        let chooser = self.pending(state).lowest();
        let is_stuck = chooser.is_some_and(|seat| self.legal(state, seat).is_empty());
        ensure(!is_stuck, || "a seat must decide but has no legal action")
    }

    fn audit_memory(&self, state: &State, viewer: Seat) -> CheckResult {
        let memory = &state.memory[viewer];
        ensure(memory.is_sound(), || "a memory is not sound")?;
        let card_types = self.catalogue().cards.len();
        ensure(
            memory.taken().iter().all(|taken| (1..=card_types).contains(&taken.card.into())),
            || "a memory lists a taken card with an unknown card type",
        )?;
        for (card, block) in (1u8..).zip(&self.blocks[1..]) {
            let last_seen = memory.last_seen(*block);
            let hidden = last_seen.iter().filter(|&&seen_at| seen_at != NOT_HIDDEN).count();
            let is_known = |seen_at: u8| seen_at == NOT_HIDDEN || seen_at <= memory.reshuffles;
            ensure(
                last_seen.is_sorted() && last_seen.iter().all(|&seen_at| is_known(seen_at)),
                || "a last_seen number of a memory is out of order or above its number of reshuffles",
            )?;
            let taken = memory.taken().iter().filter(|taken| taken.card == card).count();
            let known = usize::from(state.seats[viewer].hand.count(CardId::new(card))) + taken;
            let seen = known + usize::from(state.discard.count(card));
            ensure(hidden + seen == last_seen.len(), || "a memory has the wrong number of hidden cards")?;
        }
        self.audit_taken(state, viewer)?;
        for seat in self.others(viewer) {
            let certain = memory.taken().iter().filter(|taken| taken.is_certain(seat)).count();
            let drawn_after = &memory.drawn_after[seat];
            let held = usize::from(state.seats[seat].hand.len());
            ensure(
                usize::from(drawn_after.len()) + certain == held,
                || "a memory has the wrong number of hand places",
            )?;
        }
        self.audit_token_places(state, viewer)
    }

    /// Checks that cards taken from `viewer` are with seats that may hold them, and are not among the cards just drawn.
    fn audit_taken(&self, state: &State, viewer: Seat) -> CheckResult {
        let others = self.others(viewer).map(seat_bit).sum::<u8>();
        for taken in state.memory[viewer].taken() {
            let holders = taken.holders();
            ensure(
                holders != 0 && holders & !others == 0,
                || "a taken card has no possible holder, or its holder is not another seat",
            )?;
            ensure(taken.shares.iter().all(|&share| share <= MAX_SHARE), || {
                format!("a share of a taken card is above {MAX_SHARE}")
            })?;
            // For each set of seats: they hold at least the taken cards of this type that no other seat can hold.
            let alike = |all: &&TakenCard| all.card == taken.card;
            for among in 1..1 << MAX_SEATS {
                let there = state.memory[viewer].taken().iter().filter(alike);
                let there = there.filter(|taken| taken.holders() & !among == 0).count();
                let held = self.others(viewer).filter(|&seat| seat_bit(seat) & among != 0).map(|seat| {
                    let drawn = if seat == state.active { state.just_drawn.count(taken.card) } else { 0 };
                    usize::from(state.seats[seat].hand.count(taken.card) - drawn)
                });
                ensure(there <= held.sum(), || "the possible holders of taken cards do not hold them")?;
            }
        }
        Ok(())
    }

    fn audit_token_places(&self, state: &State, viewer: Seat) -> CheckResult {
        let holders: BySeat<_, MAX_SEATS> =
            BySeat::new(state.seats.all().map(|seat_state| seat_state.tokens));
        for token in (1..=super::catalogue::count_of(&self.catalogue().tokens)).map(TokenId::new) {
            let holder = self.all_seats().find(|&seat| holders[seat].contains(token));
            let is_laid = state.circles.iter().any(|circle| circle.contains(token));
            let place = holder.map_or(if is_laid { 0 } else { TABLE }, seat_bit);
            let believed = state.memory[viewer].places_of(token);
            let is_seen = place == 0 || place == seat_bit(viewer);
            let is_right = if is_seen { believed == place } else { believed & place != 0 };
            ensure(is_right, || "a memory excludes the true place of a token")?;
        }
        Ok(())
    }
}
