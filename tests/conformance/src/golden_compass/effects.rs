//! Replays the effects of an ally and thefts, and compares them with their records.

use boardwire_kernel::Seat;
use serde_json::Value;

use super::events::{Effect, Reshuffle, Words};
use super::outcomes::{IMPOSSIBLE, STOLEN_CARDS, STOLEN_TOKENS};
use super::printed::{self, List, number_of};
use super::replay::Replay;
use super::table::take;
use crate::play::{Compared, Move};

/// The recorded target, back and token of a theft.
type Theft<'a> = (Option<u8>, Option<&'a str>, Option<&'a str>);

impl Replay<'_> {
    /// Replays a list of effects. It has one record per effect, in order; an unpaid cost ends it.
    pub(super) fn list(&mut self, at: &str, seat: Seat, list: List, told: &[Effect]) -> Compared {
        let mut records = told.iter().enumerate();
        for effect in self.printed.list(list) {
            let Some((row, record)) = records.next() else {
                return self.differs(at, "end of the list", &effect.kind);
            };
            let at = format!("{at}[{row}]");
            let skipped = record.skipped == Some(true);
            let mut got = Effect { e: effect.kind.clone(), ..Effect::default() };
            if record.e != got.e {
                return self.differs(&format!("{at} e"), &record.e, got.e);
            }
            if !skipped {
                self.effect(&at, seat, effect, record, &mut got)?;
            } else if ["wild_daemon_pair", "short_triplet"].contains(&effect.kind.as_str()) {
                return self.differs(&format!("{at} skipped"), true, "a right is always given");
            } else {
                got.skipped = Some(true);
            }
            self.same(&at, record, &got)?;
            if effect.kind == "spend_cards" && (skipped || record.pay == Some(false)) {
                break;
            }
        }
        match records.next() {
            None => Ok(()),
            Some((_, record)) => self.differs(at, &record.e, "end of the list"),
        }
    }

    /// Plays a recorded effect, and fills in `got` with the values of the engine.
    fn effect(
        &mut self,
        at: &str,
        seat: Seat,
        effect: &printed::Effect,
        told: &Effect,
        got: &mut Effect,
    ) -> Compared {
        let target = format!("{at} target");
        match effect.kind.as_str() {
            "draw" => {
                let (drawn, reshuffle) = self.drawn(at, seat, effect.number, told)?;
                (got.drawn, got.reshuffle) = (Some(drawn), reshuffle);
                self.limit(at, seat, told, got)
            }
            "draw_keep" => self.draw_keep(at, seat, effect, told, got),
            "steal_card" => self.steal_cards(at, seat, effect.number, told, got),
            "place_compass" => {
                let laid = effect.number.min(self.table.now.supply[seat.index()]);
                if laid == 0 {
                    return self.differs(&format!("{at} compass"), told.compass, "it is skipped");
                }
                got.compass = Some(laid);
                self.table.lay_compass(seat, laid);
                Ok(())
            }
            "remove_compass" => {
                got.targets = Some(self.targets());
                let target = self.target(&target, "whose compass tiles", told.target)?;
                let back = effect.number.min(self.table.now.compass[target.index()]);
                self.table.remove_compass(target, back);
                (got.target, got.compass) = (told.target, Some(back));
                Ok(())
            }
            "take_dust" => {
                let mut from = None;
                got.targets = Some(vec![]);
                if self.table.now.dust_supply == 0 {
                    (got.targets, got.target) = (Some(self.targets()), told.target);
                    from = Some(self.target(&target, "whose dust", told.target)?);
                }
                self.table.take_dust(seat, from);
                Ok(())
            }
            "move_airship" => {
                (got.targets, got.target) = (Some(self.targets()), told.target);
                self.target(&target, "who takes the airship", told.target)?;
                self.table.now.airship = told.target;
                Ok(())
            }
            "take_experience" => {
                got.taken = Some(self.take_token(&format!("{at} taken"), seat, told.taken.as_ref())?);
                Ok(())
            }
            "place_experience" => {
                got.tokens = Some(self.lay(&format!("{at} laid"), seat, told.laid.as_deref())?);
                got.laid.clone_from(&told.laid);
                Ok(())
            }
            "steal_experience" => {
                let theft = (told.target, told.back.as_deref(), told.stolen.as_deref());
                let (targets, backs) = self.theft(at, seat, theft)?;
                (got.targets, got.backs) = (Some(targets), Some(backs));
                (got.target, got.back, got.stolen) = (told.target, told.back.clone(), told.stolen.clone());
                Ok(())
            }
            "advance_lyra" => self.advance(at, told, got),
            "spend_cards" => self.spend(at, seat, told, got),
            "choose_one" => self.choose_one(at, seat, effect.first_option, told, got),
            // The engine gives rights to sets without a choice.
            _ => Ok(()),
        }
    }

    /// Draws cards. Reports a difference if none can be drawn.
    fn drawn(
        &mut self,
        at: &str,
        seat: Seat,
        count: u8,
        told: &Effect,
    ) -> Compared<(Words, Option<Reshuffle>)> {
        let (drawn, reshuffle) = self.table.draw(seat, count, told.reshuffle.as_ref());
        if drawn.is_empty() {
            return self.differs(&format!("{at} drawn"), &told.drawn, "it is skipped");
        }
        Ok((drawn, reshuffle))
    }

    /// Draws cards, then discards some of them.
    fn draw_keep(
        &mut self,
        at: &str,
        seat: Seat,
        effect: &printed::Effect,
        told: &Effect,
        got: &mut Effect,
    ) -> Compared {
        let field = format!("{at} drop");
        let (drawn, reshuffle) = self.drawn(at, seat, effect.number, told)?;
        let mut left = drawn.clone();
        let dropped = told.drop.clone().unwrap_or_default();
        // The number is compared first, since the engine may already ask for a discard of the next effect.
        let due = drawn.len().saturating_sub(effect.keep.into());
        self.same(&format!("{field} (their number)"), &dropped.len(), &due)?;
        for name in &dropped {
            if self.asks() != "card just drawn to discard" {
                return self.unasked(&field);
            }
            self.same_table()?;
            self.offers(&field, self.cards(&left))?;
            self.choose_card(&field, name)?;
            self.table.discard(seat, std::slice::from_ref(name));
            take(&mut left, name);
        }
        (got.drawn, got.reshuffle, got.drop) = (Some(drawn), reshuffle, Some(dropped));
        self.limit(at, seat, told, got)
    }

    /// Discards cards for the hand limit. The record of the effect that gave the cards lists them.
    fn limit(&mut self, at: &str, seat: Seat, told: &Effect, got: &mut Effect) -> Compared {
        let cards = told.discard.clone().unwrap_or_default();
        let field = format!("{at} discard");
        let held = self.table.hand(seat).len();
        let due = held.saturating_sub(self.printed.hand_limit.into());
        self.same(&format!("{field} (their number)"), &cards.len(), &due)?;
        self.pay_some(&field, seat, &cards, "card over the hand limit")?;
        got.discard = Some(cards);
        Ok(())
    }

    /// Takes random cards from another hand. The record names them.
    fn steal_cards(&mut self, at: &str, seat: Seat, count: u8, told: &Effect, got: &mut Effect) -> Compared {
        got.targets = Some(self.targets());
        let cards = told.cards.clone().unwrap_or_default();
        let field = format!("{at} target");
        let victim = self.stated_seat(&field, told.target)?;
        let mut hand = self.own(victim, "hand");
        let due = usize::from(count).min(hand.len());
        self.same(&format!("{at} cards (their number)"), &cards.len(), &due)?;
        for name in &cards {
            let card = self.printed.card(name).ok();
            let rank = hand.iter().position(|&held| Some(held) == card);
            rank.map(|at| hand.remove(at));
            let rank = rank.and_then(|rank| u8::try_from(rank).ok()).unwrap_or(IMPOSSIBLE);
            self.play.script(STOLEN_CARDS, [rank]);
        }
        self.target(&field, "whose cards", told.target)?;
        for card in &cards {
            take(self.table.hand(victim), card);
            self.table.hand(seat).push(card.clone());
        }
        (got.target, got.cards) = (told.target, Some(cards));
        self.limit(at, seat, told, got)
    }

    fn stated_seat(&self, field: &str, seat: Option<u8>) -> Compared<Seat> {
        match seat {
            Some(seat) if seat < self.printed.seats => Ok(Seat::new(seat)),
            seat => self.differs(field, seat, "a seat is named"),
        }
    }

    /// Chooses the recorded opponent. Checks that the engine offers exactly the legal targets.
    pub(super) fn target(&mut self, field: &str, decision: &str, told: Option<u8>) -> Compared<Seat> {
        let Some(chooser) = self.seat("chooser").filter(|_| self.asks() == decision) else {
            return self.unasked(field);
        };
        self.same_table()?;
        let target = self.stated_seat(field, told)?;
        let left = |to: u8| Move("opponent", chooser.steps_to(Seat::new(to), self.printed.seats));
        let targets = self.targets();
        self.offers(field, targets.iter().map(|&to| left(to)).collect())?;
        if !targets.contains(&target.number()) {
            return self.differs(field, told, targets);
        }
        self.choose(field, left(target.number()))?;
        Ok(target)
    }

    /// Steals a token. Returns the seats and the backs that could be chosen.
    pub(super) fn theft(&mut self, at: &str, seat: Seat, told: Theft) -> Compared<(Vec<u8>, Words)> {
        let field = |name: &str| format!("{at} {name}").trim_start().to_owned();
        let targets = self.targets();
        let victim = self.target(&field("target"), "whose token", told.0)?;
        let cities = self.rows("steal");
        self.offers(&field("back"), cities.iter().map(|&city| Move("steal", city)).collect())?;
        let name = |&city: &u8| self.printed.cities[usize::from(city) - 1].clone();
        let backs: Words = cities.iter().map(name).collect();
        let back = told.1.and_then(|back| number_of(&self.printed.cities, "city", back).ok());
        let Some(back) = back.filter(|back| cities.contains(back)) else {
            return self.differs(&field("back"), told.1, backs);
        };
        // Equal tokens look the same in a view: try each one to find the token that the victim has.
        let tokens = (1..).zip(&self.printed.tokens);
        let equal = tokens.filter(|(_, token)| token.city == back && told.2 == Some(token.name.as_str()));
        let tried = equal.map(|(id, _)| id).find(|&id| {
            let mut tried = self.play.clone();
            tried.script(STOLEN_TOKENS, [id]);
            tried.choose("", seat, Move("steal", back)).is_ok()
        });
        self.play.script(STOLEN_TOKENS, [tried.unwrap_or(IMPOSSIBLE)]);
        self.choose(&field("stolen"), Move("steal", back))?;
        let token = told.2.unwrap_or_default();
        take(self.table.tokens(victim), token);
        self.table.tokens(seat).push(token.to_owned());
        Ok((targets, backs))
    }

    /// Lays out a token. Returns the distinct tokens that could be chosen.
    pub(super) fn lay(&mut self, field: &str, seat: Seat, told: Option<&str>) -> Compared<Words> {
        if self.asks() != "token to lay out" {
            return self.unasked(field);
        }
        self.same_table()?;
        let mut names = self.table.tokens(seat).clone();
        names.sort();
        names.dedup();
        let rows = names.iter().filter_map(|name| self.printed.token(name).ok());
        self.offers(field, rows.map(|row| Move("lay_out", row)).collect())?;
        let Some(name) = told.filter(|told| names.iter().any(|name| name == told)) else {
            return self.differs(field, told, names);
        };
        let row = self.printed.token(name).expect("it is one of those offered");
        self.choose(field, Move("lay_out", row))?;
        self.table.lay_token(seat, name);
        Ok(names)
    }

    fn advance(&mut self, at: &str, told: &Effect, got: &mut Effect) -> Compared {
        let field = format!("{at} steps");
        if self.asks() != "steps" {
            return self.unasked(&field);
        }
        self.same_table()?;
        let max = self.number("due");
        self.same(&format!("{at} max"), &told.max, &Some(max))?;
        self.offers(&field, (0..=max).map(|steps| Move("advance", steps)).collect())?;
        let Some(steps) = told.steps.filter(|&steps| steps <= max) else {
            return self.differs(&field, told.steps, max);
        };
        self.choose(&field, Move("advance", steps))?;
        let lyra = self.number("lyra");
        (got.max, got.steps, got.lyra) = (Some(max), Some(steps), Some(lyra));
        self.table.now.lyra = lyra;
        Ok(())
    }

    fn spend(&mut self, at: &str, seat: Seat, told: &Effect, got: &mut Effect) -> Compared {
        let field = format!("{at} pay");
        if self.asks() != "pay or decline" {
            return self.unasked(&field);
        }
        self.same_table()?;
        self.offers(&field, vec![Move("pay", 0), Move("decline", 0)])?;
        got.pay = told.pay;
        match told.pay {
            None => return self.differs(&field, Value::Null, "pay or decline"),
            Some(false) => return self.choose(&field, Move("decline", 0)),
            Some(true) => self.choose(&field, Move("pay", 0))?,
        }
        let cards = told.cards.clone().unwrap_or_default();
        self.pay(&format!("{at} cards"), seat, &cards, "card to pay")?;
        got.cards = Some(cards);
        Ok(())
    }

    fn choose_one(&mut self, at: &str, seat: Seat, first: u8, told: &Effect, got: &mut Effect) -> Compared {
        let field = format!("{at} pick");
        if self.asks() != "option" {
            return self.unasked(&field);
        }
        self.same_table()?;
        let legal = self.rows("option");
        self.same(&format!("{at} legal"), &told.legal, &Some(legal.clone()))?;
        let Some(pick) = told.pick.filter(|pick| legal.contains(pick)) else {
            return self.differs(&field, told.pick, legal);
        };
        self.choose(&field, Move("option", pick))?;
        let list = self.printed.options[usize::from(first + pick) - 1];
        let records = told.list.as_deref().unwrap_or_default();
        self.list(&format!("{at} do"), seat, list, records)?;
        (got.legal, got.pick, got.list) = (Some(legal), told.pick, Some(records.to_vec()));
        Ok(())
    }
}
