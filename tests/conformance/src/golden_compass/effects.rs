//! Replays the effects of an ally and thefts, and compares them with their records.

use boardwire_kernel::Seat;
use serde_json::Value;

use super::components::{self, EffectRange, number_of};
use super::events::{Effect, Reshuffle, Words};
use super::outcomes::{IMPOSSIBLE, STOLEN_CARDS, STOLEN_TOKENS};
use super::replay::Replay;
use super::table::remove_one;
use crate::play::{ActionKey, CompareResult};

/// The recorded target, back and token of a theft.
type Theft<'a> = (Option<u8>, Option<&'a str>, Option<&'a str>);

impl Replay<'_> {
    /// Replays a list of effects. It has one record per effect, in order; an unpaid cost ends it.
    pub(super) fn list(
        &mut self,
        location: &str,
        seat: Seat,
        range: EffectRange,
        recorded: &[Effect],
    ) -> CompareResult {
        let mut records = recorded.iter().enumerate();
        for effect in self.components.effects_in(range) {
            let Some((row, record)) = records.next() else {
                return self.mismatch(location, "end of the list", &effect.kind);
            };
            let location = format!("{location}[{row}]");
            let skipped = record.skipped == Some(true);
            let mut actual = Effect { e: effect.kind.clone(), ..Effect::default() };
            if record.e != actual.e {
                return self.mismatch(&format!("{location} e"), &record.e, actual.e);
            }
            if !skipped {
                self.effect(&location, seat, effect, record, &mut actual)?;
            } else if ["wild_daemon_pair", "short_triplet"].contains(&effect.kind.as_str()) {
                return self.mismatch(&format!("{location} skipped"), true, "a right is always given");
            } else {
                actual.skipped = Some(true);
            }
            self.compare(&location, record, &actual)?;
            if effect.kind == "spend_cards" && (skipped || record.pay == Some(false)) {
                break;
            }
        }
        match records.next() {
            None => Ok(()),
            Some((_, record)) => self.mismatch(location, &record.e, "end of the list"),
        }
    }

    /// Plays a recorded effect, and fills in `actual` with the values of the engine.
    fn effect(
        &mut self,
        location: &str,
        seat: Seat,
        effect: &components::Effect,
        recorded: &Effect,
        actual: &mut Effect,
    ) -> CompareResult {
        let target = format!("{location} target");
        match effect.kind.as_str() {
            "draw" => {
                let (drawn, reshuffle) = self.draw_cards(location, seat, effect.number, recorded)?;
                (actual.drawn, actual.reshuffle) = (Some(drawn), reshuffle);
                self.discard_to_hand_limit(location, seat, recorded, actual)
            }
            "draw_keep" => self.draw_keep(location, seat, effect, recorded, actual),
            "steal_card" => self.steal_cards(location, seat, effect.number, recorded, actual),
            "place_compass" => {
                let laid = effect.number.min(self.table.snapshot.supply[seat.index()]);
                if laid == 0 {
                    return self.mismatch(
                        &format!("{location} compass"),
                        recorded.compass,
                        "the effect is skipped",
                    );
                }
                actual.compass = Some(laid);
                self.table.lay_compass(seat, laid);
                Ok(())
            }
            "remove_compass" => {
                actual.targets = Some(self.targets());
                let target = self.target(&target, "whose compass tiles", recorded.target)?;
                let back = effect.number.min(self.table.snapshot.compass[target.index()]);
                self.table.remove_compass(target, back);
                (actual.target, actual.compass) = (recorded.target, Some(back));
                Ok(())
            }
            "take_dust" => {
                let mut from = None;
                actual.targets = Some(vec![]);
                if self.table.snapshot.dust_supply == 0 {
                    (actual.targets, actual.target) = (Some(self.targets()), recorded.target);
                    from = Some(self.target(&target, "whose dust", recorded.target)?);
                }
                self.table.take_dust(seat, from);
                Ok(())
            }
            "move_airship" => {
                (actual.targets, actual.target) = (Some(self.targets()), recorded.target);
                self.target(&target, "who takes the airship", recorded.target)?;
                self.table.snapshot.airship = recorded.target;
                Ok(())
            }
            "take_experience" => {
                actual.taken =
                    Some(self.take_token(&format!("{location} taken"), seat, recorded.taken.as_ref())?);
                Ok(())
            }
            "place_experience" => {
                actual.tokens =
                    Some(self.lay_out_token(&format!("{location} laid"), seat, recorded.laid.as_deref())?);
                actual.laid.clone_from(&recorded.laid);
                Ok(())
            }
            "steal_experience" => {
                let theft = (recorded.target, recorded.back.as_deref(), recorded.stolen.as_deref());
                let (targets, backs) = self.theft(location, seat, theft)?;
                (actual.targets, actual.backs) = (Some(targets), Some(backs));
                (actual.target, actual.back, actual.stolen) =
                    (recorded.target, recorded.back.clone(), recorded.stolen.clone());
                Ok(())
            }
            "advance_lyra" => self.advance(location, recorded, actual),
            "spend_cards" => self.spend(location, seat, recorded, actual),
            "choose_one" => self.choose_one(location, seat, effect.first_option, recorded, actual),
            // The engine gives rights to sets without a choice.
            _ => Ok(()),
        }
    }

    /// Draws cards. Reports a difference if none can be drawn.
    fn draw_cards(
        &mut self,
        location: &str,
        seat: Seat,
        count: u8,
        recorded: &Effect,
    ) -> CompareResult<(Words, Option<Reshuffle>)> {
        let (drawn, reshuffle) = self.table.draw(seat, count, recorded.reshuffle.as_ref());
        if drawn.is_empty() {
            return self.mismatch(&format!("{location} drawn"), &recorded.drawn, "the effect is skipped");
        }
        Ok((drawn, reshuffle))
    }

    /// Draws cards, then discards some of them.
    fn draw_keep(
        &mut self,
        location: &str,
        seat: Seat,
        effect: &components::Effect,
        recorded: &Effect,
        actual: &mut Effect,
    ) -> CompareResult {
        let field = format!("{location} drop");
        let (drawn, reshuffle) = self.draw_cards(location, seat, effect.number, recorded)?;
        let mut remaining = drawn.clone();
        let dropped = recorded.drop.clone().unwrap_or_default();
        // The number is compared first, since the engine may already ask for a discard of the next effect.
        let required = drawn.len().saturating_sub(effect.keep.into());
        self.compare(&format!("{field} (their number)"), &dropped.len(), &required)?;
        for name in &dropped {
            if self.pending_decision() != "card just drawn to discard" {
                return self.unexpected_decision(&field);
            }
            self.compare_table()?;
            self.check_legal_actions(&field, self.cards(&remaining))?;
            self.choose_card(&field, name)?;
            self.table.discard(seat, std::slice::from_ref(name));
            remove_one(&mut remaining, name);
        }
        (actual.drawn, actual.reshuffle, actual.drop) = (Some(drawn), reshuffle, Some(dropped));
        self.discard_to_hand_limit(location, seat, recorded, actual)
    }

    /// Discards cards for the hand limit. The record of the effect that gave the cards lists them.
    fn discard_to_hand_limit(
        &mut self,
        location: &str,
        seat: Seat,
        recorded: &Effect,
        actual: &mut Effect,
    ) -> CompareResult {
        let cards = recorded.discard.clone().unwrap_or_default();
        let field = format!("{location} discard");
        let held = self.table.hand(seat).len();
        let required = held.saturating_sub(self.components.hand_limit.into());
        self.compare(&format!("{field} (their number)"), &cards.len(), &required)?;
        self.pay_some(&field, seat, &cards, "card over the hand limit")?;
        actual.discard = Some(cards);
        Ok(())
    }

    /// Takes random cards from another hand. The record names them.
    fn steal_cards(
        &mut self,
        location: &str,
        seat: Seat,
        count: u8,
        recorded: &Effect,
        actual: &mut Effect,
    ) -> CompareResult {
        actual.targets = Some(self.targets());
        let cards = recorded.cards.clone().unwrap_or_default();
        let field = format!("{location} target");
        let victim = self.recorded_seat(&field, recorded.target)?;
        let mut hand = self.private_ids(victim, "hand");
        let required = usize::from(count).min(hand.len());
        self.compare(&format!("{location} cards (their number)"), &cards.len(), &required)?;
        for name in &cards {
            let card = self.components.card(name).ok();
            let rank = hand.iter().position(|&held| Some(held) == card);
            rank.map(|index| hand.remove(index));
            let rank = rank.and_then(|rank| u8::try_from(rank).ok()).unwrap_or(IMPOSSIBLE);
            self.replayed.script(STOLEN_CARDS, [rank]);
        }
        self.target(&field, "whose cards", recorded.target)?;
        for card in &cards {
            remove_one(self.table.hand(victim), card);
            self.table.hand(seat).push(card.clone());
        }
        (actual.target, actual.cards) = (recorded.target, Some(cards));
        self.discard_to_hand_limit(location, seat, recorded, actual)
    }

    fn recorded_seat(&self, field: &str, seat: Option<u8>) -> CompareResult<Seat> {
        match seat {
            Some(seat) if seat < self.components.seats => Ok(Seat::new(seat)),
            seat => self.mismatch(field, seat, "a seat is named"),
        }
    }

    /// Chooses the recorded opponent. Checks that the engine offers exactly the legal targets.
    pub(super) fn target(
        &mut self,
        field: &str,
        decision: &str,
        recorded: Option<u8>,
    ) -> CompareResult<Seat> {
        let Some(chooser) = self.seat("chooser").filter(|_| self.pending_decision() == decision) else {
            return self.unexpected_decision(field);
        };
        self.compare_table()?;
        let target = self.recorded_seat(field, recorded)?;
        let action = |to: u8| ActionKey("opponent", chooser.steps_to(Seat::new(to), self.components.seats));
        let targets = self.targets();
        self.check_legal_actions(field, targets.iter().map(|&to| action(to)).collect())?;
        if !targets.contains(&target.number()) {
            return self.mismatch(field, recorded, targets);
        }
        self.choose(field, action(target.number()))?;
        Ok(target)
    }

    /// Steals a token. Returns the seats and the backs that could be chosen.
    pub(super) fn theft(
        &mut self,
        location: &str,
        seat: Seat,
        recorded: Theft,
    ) -> CompareResult<(Vec<u8>, Words)> {
        let field = |name: &str| format!("{location} {name}").trim_start().to_owned();
        let targets = self.targets();
        let victim = self.target(&field("target"), "whose token", recorded.0)?;
        let cities = self.rows("steal");
        self.check_legal_actions(
            &field("back"),
            cities.iter().map(|&city| ActionKey("steal", city)).collect(),
        )?;
        let name = |&city: &u8| self.components.cities[usize::from(city) - 1].clone();
        let backs: Words = cities.iter().map(name).collect();
        let back = recorded.1.and_then(|back| number_of(&self.components.cities, "city", back).ok());
        let Some(back) = back.filter(|back| cities.contains(back)) else {
            return self.mismatch(&field("back"), recorded.1, backs);
        };
        // Equal tokens look the same in a view: try each one to find the token that the victim has.
        let tokens = (1..).zip(&self.components.tokens);
        let equal = tokens.filter(|(_, token)| token.city == back && recorded.2 == Some(token.name.as_str()));
        let tried = equal.map(|(id, _)| id).find(|&id| {
            let mut tried = self.replayed.clone();
            tried.script(STOLEN_TOKENS, [id]);
            tried.choose("", seat, ActionKey("steal", back)).is_ok()
        });
        self.replayed.script(STOLEN_TOKENS, [tried.unwrap_or(IMPOSSIBLE)]);
        self.choose(&field("stolen"), ActionKey("steal", back))?;
        let token = recorded.2.unwrap_or_default();
        remove_one(self.table.tokens(victim), token);
        self.table.tokens(seat).push(token.to_owned());
        Ok((targets, backs))
    }

    /// Lays out a token. Returns the distinct tokens that could be chosen.
    pub(super) fn lay_out_token(
        &mut self,
        field: &str,
        seat: Seat,
        recorded: Option<&str>,
    ) -> CompareResult<Words> {
        if self.pending_decision() != "token to lay out" {
            return self.unexpected_decision(field);
        }
        self.compare_table()?;
        let mut names = self.table.tokens(seat).clone();
        names.sort();
        names.dedup();
        let rows = names.iter().filter_map(|name| self.components.token(name).ok());
        self.check_legal_actions(field, rows.map(|row| ActionKey("lay_out", row)).collect())?;
        let Some(name) = recorded.filter(|recorded| names.iter().any(|name| name == recorded)) else {
            return self.mismatch(field, recorded, names);
        };
        let row = self.components.token(name).expect("the token is one of the legal ones");
        self.choose(field, ActionKey("lay_out", row))?;
        self.table.lay_token(seat, name);
        Ok(names)
    }

    fn advance(&mut self, location: &str, recorded: &Effect, actual: &mut Effect) -> CompareResult {
        let field = format!("{location} steps");
        if self.pending_decision() != "steps" {
            return self.unexpected_decision(&field);
        }
        self.compare_table()?;
        let max = self.public_byte("due");
        self.compare(&format!("{location} max"), &recorded.max, &Some(max))?;
        self.check_legal_actions(&field, (0..=max).map(|steps| ActionKey("advance", steps)).collect())?;
        let Some(steps) = recorded.steps.filter(|&steps| steps <= max) else {
            return self.mismatch(&field, recorded.steps, max);
        };
        self.choose(&field, ActionKey("advance", steps))?;
        let lyra = self.public_byte("lyra");
        (actual.max, actual.steps, actual.lyra) = (Some(max), Some(steps), Some(lyra));
        self.table.snapshot.lyra = lyra;
        Ok(())
    }

    fn spend(&mut self, location: &str, seat: Seat, recorded: &Effect, actual: &mut Effect) -> CompareResult {
        let field = format!("{location} pay");
        if self.pending_decision() != "pay or decline" {
            return self.unexpected_decision(&field);
        }
        self.compare_table()?;
        self.check_legal_actions(&field, vec![ActionKey("pay", 0), ActionKey("decline", 0)])?;
        actual.pay = recorded.pay;
        match recorded.pay {
            None => return self.mismatch(&field, Value::Null, "pay or decline"),
            Some(false) => return self.choose(&field, ActionKey("decline", 0)),
            Some(true) => self.choose(&field, ActionKey("pay", 0))?,
        }
        let cards = recorded.cards.clone().unwrap_or_default();
        self.pay(&format!("{location} cards"), seat, &cards, "card to pay")?;
        actual.cards = Some(cards);
        Ok(())
    }

    fn choose_one(
        &mut self,
        location: &str,
        seat: Seat,
        first: u8,
        recorded: &Effect,
        actual: &mut Effect,
    ) -> CompareResult {
        let field = format!("{location} pick");
        if self.pending_decision() != "option" {
            return self.unexpected_decision(&field);
        }
        self.compare_table()?;
        let legal = self.rows("option");
        self.compare(&format!("{location} legal"), &recorded.legal, &Some(legal.clone()))?;
        let Some(pick) = recorded.pick.filter(|pick| legal.contains(pick)) else {
            return self.mismatch(&field, recorded.pick, legal);
        };
        self.choose(&field, ActionKey("option", pick))?;
        let range = self.components.options[usize::from(first + pick) - 1];
        let records = recorded.list.as_deref().unwrap_or_default();
        self.list(&format!("{location} do"), seat, range, records)?;
        (actual.legal, actual.pick, actual.list) = (Some(legal), recorded.pick, Some(records.to_vec()));
        Ok(())
    }
}
