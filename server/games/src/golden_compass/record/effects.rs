//! The effects of an ally beside their records, and thefts.

use boardwire_kernel::Seat;
use serde_json::Value;

use super::super::GoldenCompass;
use super::super::action::Action;
use super::super::catalogue::{CityId, EffectList, Op};
use super::super::state::{Aim, Step, tokens_of};
use super::super::streams;
use super::events::{Effect, Reshuffle, Words};
use super::outcomes::IMPOSSIBLE;
use super::replay::{Compared, Replay, numbers};
use super::table::take;

/// The target, back and token of a theft, as stated.
type Theft<'a> = (Option<u8>, Option<&'a str>, Option<&'a str>);

impl Replay<'_> {
    /// A list of effects: one record each, in order; a cost not paid ends it.
    pub(super) fn list(&mut self, at: &str, seat: Seat, list: EffectList, told: &[Effect]) -> Compared {
        let mut records = told.iter().enumerate();
        for &op in list.of(&self.names.catalogue.ops) {
            let Some((row, record)) = records.next() else {
                return self.differs(at, "end of the list", op.kind());
            };
            let at = format!("{at}[{row}]");
            let skipped = record.skipped == Some(true);
            let mut got = Effect { e: op.kind().to_owned(), ..Effect::default() };
            if record.e != got.e {
                return self.differs(&format!("{at} e"), record.e.as_str(), got.e);
            }
            if !skipped {
                self.effect(&at, seat, op, record, &mut got)?;
            } else if let Op::WildPair(_) | Op::ShortTriplet(_) = op {
                return self.differs(&format!("{at} skipped"), true, "a right is always given");
            } else {
                got.skipped = Some(true);
            }
            self.same(&at, record, &got)?;
            if matches!(op, Op::Spend(_)) && (skipped || record.pay == Some(false)) {
                break;
            }
        }
        match records.next() {
            None => Ok(()),
            Some((_, record)) => self.differs(at, record.e.as_str(), "end of the list"),
        }
    }

    /// Plays what a record states, and fills in `got` what the engine would tell.
    fn effect(&mut self, at: &str, seat: Seat, op: Op, told: &Effect, got: &mut Effect) -> Compared {
        match op {
            Op::Draw(count) => {
                let (drawn, reshuffle) = self.drawn(at, seat, count, told)?;
                (got.drawn, got.reshuffle) = (Some(drawn), reshuffle);
                self.limit(at, seat, told, got)
            }
            Op::DrawKeep { draw, keep } => self.draw_keep(at, seat, (draw, keep), told, got),
            Op::StealCard(count) => self.steal_cards(at, seat, count, told, got),
            Op::PlaceCompass(count) => {
                let laid = count.min(self.table.now.supply[seat.index()]);
                if laid == 0 {
                    return self.differs(&format!("{at} compass"), told.compass, "it is skipped");
                }
                got.compass = Some(laid);
                self.table.lay_compass(seat, laid);
                Ok(())
            }
            Op::RemoveCompass(count) => {
                got.targets = Some(numbers(self.targets(Aim::Compass(count))));
                let target = self.target(&format!("{at} target"), seat, Aim::Compass(count), told.target)?;
                let back = count.min(self.table.now.compass[target.index()]);
                self.table.remove_compass(target, back);
                (got.target, got.compass) = (told.target, Some(back));
                Ok(())
            }
            Op::TakeDust if self.table.now.dust_supply > 0 => {
                got.targets = Some(vec![]);
                self.table.take_dust(seat, None);
                Ok(())
            }
            Op::TakeDust | Op::MoveAirship => {
                let aim = if op == Op::TakeDust { Aim::Dust } else { Aim::Airship };
                (got.targets, got.target) = (Some(numbers(self.targets(aim))), told.target);
                self.target(&format!("{at} target"), seat, aim, told.target).map(drop)
            }
            Op::TakeExperience => {
                let Some(token) = &told.taken else {
                    return self.differs(&format!("{at} taken"), Value::Null, "a token is taken");
                };
                self.table.take_token(seat, token);
                got.taken.clone_from(&told.taken);
                Ok(())
            }
            Op::PlaceExperience => {
                got.tokens = Some(self.lay(&format!("{at} laid"), seat, told.laid.as_deref())?);
                got.laid.clone_from(&told.laid);
                Ok(())
            }
            Op::StealExperience => {
                let theft = (told.target, told.back.as_deref(), told.stolen.as_deref());
                let (targets, backs) = self.theft(at, seat, theft)?;
                (got.targets, got.backs) = (Some(targets), Some(backs));
                (got.target, got.back, got.stolen) = (told.target, told.back.clone(), told.stolen.clone());
                Ok(())
            }
            Op::Advance(_) => self.advance(at, told, got),
            Op::Spend(_) => self.spend(at, seat, told, got),
            Op::WildPair(_) | Op::ShortTriplet(_) => Ok(()),
            Op::ChooseOne { first, .. } => self.choose(at, seat, first, told, got),
        }
    }

    /// Cards are drawn, one at least.
    fn drawn(
        &mut self,
        at: &str,
        seat: Seat,
        count: u8,
        told: &Effect,
    ) -> Compared<(Words, Option<Reshuffle>)> {
        let (drawn, reshuffle) = self.table.draw(seat, count, told.reshuffle.as_ref());
        if drawn.is_empty() {
            return self.differs(&format!("{at} drawn"), told.drawn.clone(), "it is skipped");
        }
        Ok((drawn, reshuffle))
    }

    /// Cards are drawn of which some are discarded, from the cards just drawn.
    fn draw_keep(
        &mut self,
        at: &str,
        seat: Seat,
        (draw, keep): (u8, u8),
        told: &Effect,
        got: &mut Effect,
    ) -> Compared {
        let field = format!("{at} drop");
        let (drawn, reshuffle) = self.drawn(at, seat, draw, told)?;
        let mut left = drawn.clone();
        let dropped = told.drop.clone().unwrap_or_default();
        // The engine may ask already what the next effect drops.
        let due = drawn.len().saturating_sub(keep.into());
        self.same(&format!("{field} (their number)"), &dropped.len(), &due)?;
        for name in &dropped {
            if !matches!(self.state().step, Step::Drop { .. }) {
                return self.unasked(&field);
            }
            self.same_table()?;
            self.offers(&field, self.card_actions(&left))?;
            self.play(&field, Action::Card(self.known(self.names.card(name))?))?;
            self.table.discard(seat, std::slice::from_ref(name));
            take(&mut left, name);
        }
        (got.drawn, got.reshuffle, got.drop) = (Some(drawn), reshuffle, Some(dropped));
        self.limit(at, seat, told, got)
    }

    /// Cards discarded for the hand limit; those of a later effect's draw are told with that.
    fn limit(&mut self, at: &str, seat: Seat, told: &Effect, got: &mut Effect) -> Compared {
        let cards = told.discard.clone().unwrap_or_default();
        let field = format!("{at} discard");
        let held = self.table.hand(seat).len();
        let due = held.saturating_sub(self.names.catalogue.hand_limit.into());
        self.same(&format!("{field} (their number)"), &cards.len(), &due)?;
        self.pay_some(&field, seat, &cards, |step| step == Step::Limit)?;
        got.discard = Some(cards);
        Ok(())
    }

    /// Cards are taken from a hand: which come is told.
    fn steal_cards(&mut self, at: &str, seat: Seat, count: u8, told: &Effect, got: &mut Effect) -> Compared {
        let aim = Aim::Cards(count);
        got.targets = Some(numbers(self.targets(aim)));
        let cards = told.cards.clone().unwrap_or_default();
        let field = format!("{at} target");
        let victim = self.stated_seat(&field, told.target)?;
        let mut hand = self.state().places[victim].hand;
        let due = count.min(hand.len());
        self.same(&format!("{at} cards (their number)"), &cards.len(), &due.into())?;
        for name in &cards {
            let card = self.known(self.names.card(name))?;
            let rank = hand.as_slice().iter().position(|&held| held == card.get());
            rank.map(|at| hand.take(at));
            let rank = rank.and_then(|rank| u8::try_from(rank).ok()).unwrap_or(IMPOSSIBLE);
            self.cursor.script(streams::STOLEN_CARDS, [rank]);
        }
        self.target(&field, seat, aim, told.target)?;
        for card in &cards {
            take(self.table.hand(victim), card);
            self.table.hand(seat).push(card.clone());
        }
        (got.target, got.cards) = (told.target, Some(cards));
        self.limit(at, seat, told, got)
    }

    fn stated_seat(&self, field: &str, seat: Option<u8>) -> Compared<Seat> {
        match seat {
            Some(seat) if seat < self.names.seats => Ok(Seat::new(seat)),
            seat => self.differs(field, seat, "a seat is named"),
        }
    }

    /// Names the seat stated, from exactly those that may be named.
    pub(super) fn target(&mut self, field: &str, seat: Seat, aim: Aim, told: Option<u8>) -> Compared<Seat> {
        if self.state().step != Step::Target(aim) {
            return self.unasked(field);
        }
        self.same_table()?;
        let (targets, target) = (self.targets(aim), self.stated_seat(field, told)?);
        let left = |to: Seat| Action::Opponent(seat.steps_to(to, self.game.seats));
        self.offers(field, targets.iter().map(left).collect())?;
        if !targets.contains(target) {
            return self.differs(field, told, numbers(targets));
        }
        self.play(field, left(target))?;
        match aim {
            Aim::Airship => self.table.now.airship = told,
            Aim::Dust => self.table.take_dust(seat, Some(target)),
            Aim::Cards(_) | Aim::Token | Aim::Compass(_) => {}
        }
        Ok(target)
    }

    /// A token is stolen: the seats and backs there were to choose from.
    pub(super) fn theft(&mut self, at: &str, seat: Seat, told: Theft) -> Compared<(Vec<u8>, Words)> {
        let field = |name: &str| format!("{at} {name}").trim_start().to_owned();
        let targets = numbers(self.targets(Aim::Token));
        let victim = self.target(&field("target"), seat, Aim::Token, told.0)?;
        let cities = GoldenCompass::backs(self.state(), victim);
        self.offers(&field("back"), cities.iter().map(|city| Action::Back(CityId::new(city))).collect())?;
        let catalogue = self.names.catalogue;
        let backs = cities.iter().map(|city| catalogue.city(CityId::new(city)).id.clone());
        let backs: Words = backs.collect();
        let back = told.1.and_then(|back| self.names.back(back).ok());
        let Some(back) = back.filter(|&back| cities.contains(back)) else {
            return self.differs(&field("back"), told.1, backs);
        };
        let mut tokens = tokens_of(self.state().places[victim].tokens);
        let id = tokens.find(|&id| {
            let token = catalogue.token(id);
            token.city == back && told.2 == Some(token.name.as_str())
        });
        self.cursor.script(streams::STOLEN_TOKENS, [id.map_or(IMPOSSIBLE, u8::from)]);
        self.play(&field("stolen"), Action::Back(back))?;
        let token = told.2.unwrap_or_default();
        take(self.table.tokens(victim), token);
        self.table.tokens(seat).push(token.to_owned());
        Ok((targets, backs))
    }

    /// A token is laid out: the distinct tokens there were to choose from.
    pub(super) fn lay(&mut self, field: &str, seat: Seat, told: Option<&str>) -> Compared<Words> {
        if self.state().step != Step::Lay {
            return self.unasked(field);
        }
        self.same_table()?;
        let mut names = self.table.tokens(seat).clone();
        names.sort();
        names.dedup();
        let kinds = names.iter().filter_map(|name| self.names.token(name).ok());
        self.offers(field, kinds.map(Action::Token).collect())?;
        let token = told.and_then(|name| self.names.token(name).ok());
        let (Some(name), Some(token)) = (told, token) else {
            return self.differs(field, told, names);
        };
        let city = self.game.current_city(self.state());
        self.play(field, Action::Token(token))?;
        if let Some(city) = city {
            self.table.lay_token(seat, name, GoldenCompass::circle(city));
        }
        Ok(names)
    }

    fn advance(&mut self, at: &str, told: &Effect, got: &mut Effect) -> Compared {
        let field = format!("{at} steps");
        let Step::Steps { max } = self.state().step else {
            return self.unasked(&field);
        };
        self.same_table()?;
        self.same(&format!("{at} max"), &told.max, &Some(max))?;
        self.offers(&field, (0..=max).map(Action::Steps).collect())?;
        let Some(steps) = told.steps.filter(|&steps| steps <= max) else {
            return self.differs(&field, told.steps, max);
        };
        self.play(&field, Action::Steps(steps))?;
        let lyra = self.state().lyra;
        (got.max, got.steps, got.lyra) = (Some(max), Some(steps), Some(lyra));
        self.table.now.lyra = lyra;
        Ok(())
    }

    fn spend(&mut self, at: &str, seat: Seat, told: &Effect, got: &mut Effect) -> Compared {
        let field = format!("{at} pay");
        if !matches!(self.state().step, Step::Cost(_)) {
            return self.unasked(&field);
        }
        self.same_table()?;
        self.offers(&field, vec![Action::Pay, Action::Decline])?;
        got.pay = told.pay;
        match told.pay {
            None => return self.differs(&field, Value::Null, "pay or decline"),
            Some(false) => return self.play(&field, Action::Decline),
            Some(true) => self.play(&field, Action::Pay)?,
        }
        let cards = told.cards.clone().unwrap_or_default();
        self.pay(&format!("{at} cards"), seat, &cards, |step| matches!(step, Step::Pay { .. }))?;
        got.cards = Some(cards);
        Ok(())
    }

    fn choose(&mut self, at: &str, seat: Seat, first: u8, told: &Effect, got: &mut Effect) -> Compared {
        let field = format!("{at} pick");
        let Step::Choose { first: asked, count } = self.state().step else {
            return self.unasked(&field);
        };
        self.same_table()?;
        let legal: Vec<u8> = self.game.options(self.state(), asked, count, 0).iter().collect();
        self.same(&format!("{at} legal"), &told.legal, &Some(legal.clone()))?;
        let Some(pick) = told.pick.filter(|pick| legal.contains(pick)) else {
            return self.differs(&field, told.pick, legal);
        };
        self.play(&field, Action::Choose(pick))?;
        let list = self.names.catalogue.options[usize::from(first + pick)];
        let records = told.list.as_deref().unwrap_or_default();
        self.list(&format!("{at} do"), seat, list, records)?;
        (got.legal, got.pick, got.list) = (Some(legal), told.pick, Some(records.to_vec()));
        Ok(())
    }
}
