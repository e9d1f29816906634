//! The effects of an ally beside their records, and thefts.

use super::super::action::Action;
use super::super::catalogue::Op;
use super::super::state::{Aim, Step, bits};
use super::super::streams;
use super::fates::IMPOSSIBLE;
use super::replay::{Compared, Replayer};
use super::script::{Effect, Names};

/// The target, back and token of a theft, as stated.
type Theft<'a> = (Option<u8>, Option<&'a str>, Option<&'a str>);

impl Replayer<'_> {
    /// A list of effects: one record each, in order; a cost not paid ends it.
    pub(super) fn list(&mut self, at: &str, seat: u8, list: (u8, u8), told: &[Effect]) -> Compared {
        let mut records = told.iter().enumerate();
        for op in list.0..list.1 {
            let op = self.lexicon.catalogue.ops[usize::from(op)];
            let Some((row, record)) = records.next() else {
                return self.differs(at, "end of the list", op.kind());
            };
            let at = format!("{at}[{row}]");
            if record.e != op.kind() {
                return self.differs(&format!("{at} e"), record.e.as_str(), op.kind());
            }
            let skipped = record.skipped == Some(true);
            if skipped {
                let bare = Effect { e: record.e.clone(), skipped: Some(true), ..Effect::default() };
                self.same(&at, record, &bare)?;
            } else {
                let got = self.effect(&at, seat, op, record)?;
                self.same(&at, record, &got)?;
            }
            if matches!(op, Op::Spend(_)) && (skipped || record.pay == Some(false)) {
                break;
            }
        }
        match records.next() {
            None => Ok(()),
            Some((_, record)) => self.differs(at, record.e.as_str(), "end of the list"),
        }
    }

    /// Plays what a record states and returns it as the engine would tell it.
    fn effect(&mut self, at: &str, seat: u8, op: Op, told: &Effect) -> Compared<Effect> {
        let mut got = Effect { e: told.e.clone(), ..Effect::default() };
        match op {
            Op::Draw(_) | Op::DrawKeep { .. } => self.draw_effect(at, seat, op, told, &mut got)?,
            Op::StealCard(_) | Op::RemoveCompass(_) | Op::MoveAirship => {
                self.aimed(at, seat, op, told, &mut got)?;
            }
            Op::PlaceCompass(count) => {
                let laid = count.min(self.told.table.supply[usize::from(seat)]);
                got.compass = Some(laid);
                self.told.compass(seat, laid);
            }
            Op::TakeDust => {
                let asked = self.state().step == Step::Target(Aim::Dust);
                got.targets = Some(if asked { self.targets(Aim::Dust) } else { vec![] });
                if asked {
                    got.target = told.target;
                    self.target(&format!("{at} target"), seat, Aim::Dust, told.target)?;
                } else {
                    self.told.dust(seat, None);
                }
            }
            Op::TakeExperience => {
                if let Some(token) = &told.taken {
                    self.told.taken(seat, token);
                }
                got.taken = Some(told.taken.clone().unwrap_or_else(|| "a token".into()));
            }
            Op::PlaceExperience => {
                got.tokens = Some(self.lay(&format!("{at} laid"), seat, told.laid.as_deref())?);
                got.laid.clone_from(&told.laid);
            }
            Op::StealExperience => {
                let theft = (told.target, told.back.as_deref(), told.stolen.as_deref());
                let (targets, backs) = self.theft(at, seat, theft)?;
                (got.targets, got.backs) = (Some(targets), Some(backs));
                (got.target, got.back, got.stolen) = (told.target, told.back.clone(), told.stolen.clone());
            }
            Op::Advance(_) => self.advance(at, told, &mut got)?,
            Op::Spend(_) => self.spend(at, seat, told, &mut got)?,
            Op::WildPair(_) | Op::ShortTriplet(_) => {}
            Op::ChooseOne { first, .. } => self.choose(at, seat, first, told, &mut got)?,
        }
        Ok(got)
    }

    fn draw_effect(&mut self, at: &str, seat: u8, op: Op, told: &Effect, got: &mut Effect) -> Compared {
        let count = match op {
            Op::DrawKeep { draw, .. } => draw,
            Op::Draw(count) => count,
            _ => 0,
        };
        let (drawn, reshuffle) = self.told.draw(seat, count.into(), told.reshuffle.as_ref());
        if matches!(op, Op::DrawKeep { .. }) {
            let mut open = drawn.clone();
            let drops = told.drop.clone().unwrap_or_default();
            for name in &drops {
                if !matches!(self.state().step, Step::Drop { .. }) {
                    return self.unasked(&format!("{at} drop"));
                }
                self.sync()?;
                let types = open.iter().filter_map(|name| self.lexicon.card(name).ok());
                self.offers(&format!("{at} drop"), types.map(Action::Card).collect())?;
                let Ok(card) = self.lexicon.card(name) else {
                    continue;
                };
                self.play(&format!("{at} drop"), Action::Card(card))?;
                self.told.discard(seat, std::slice::from_ref(name));
                if let Some(gone) = open.iter().position(|one| one == name) {
                    open.remove(gone);
                }
            }
            if matches!(self.state().step, Step::Drop { .. }) {
                return self.differs(&format!("{at} drop"), drops, "more cards are due");
            }
            got.drop = Some(drops);
        }
        (got.drawn, got.reshuffle) = (Some(drawn), reshuffle);
        self.limit(at, seat, told, got)
    }

    /// Cards discarded for the hand limit.
    fn limit(&mut self, at: &str, seat: u8, told: &Effect, got: &mut Effect) -> Compared {
        let cards = told.discard.clone().unwrap_or_default();
        let field = format!("{at} discard");
        self.pay(&field, seat, &cards, |step| step == Step::Limit)?;
        if self.state().step == Step::Limit && self.state().own().hand.len() <= self.hand_told(seat) {
            return self.differs(&field, cards, "the hand is over its limit");
        }
        got.discard = Some(cards);
        Ok(())
    }

    fn hand_told(&self, seat: u8) -> u8 {
        u8::try_from(self.told.table.hands[usize::from(seat)].len()).unwrap_or(u8::MAX)
    }

    /// Effects that hit one opponent.
    fn aimed(&mut self, at: &str, seat: u8, op: Op, told: &Effect, got: &mut Effect) -> Compared {
        let aim = match op {
            Op::StealCard(count) => Aim::Cards(count),
            Op::RemoveCompass(count) => Aim::Compass(count),
            _ => Aim::Airship,
        };
        got.targets = Some(self.targets(aim));
        got.target = told.target;
        let target = usize::from(told.target.unwrap_or(0));
        match aim {
            Aim::Compass(count) => got.compass = Some(count.min(self.told.table.compass[target])),
            Aim::Cards(count) => {
                let cards = told.cards.clone().unwrap_or_default();
                let due = usize::from(count).min(self.told.table.hands[target].len());
                self.same(&format!("{at} cards (their number)"), &cards.len(), &due)?;
                let mut hand = self.state().place(told.target.unwrap_or(0)).hand;
                for name in &cards {
                    let card = self.lexicon.card(name).ok();
                    let rank = card.and_then(|card| hand.as_slice().iter().position(|&held| held == card));
                    let _ = rank.map(|at| hand.take(at));
                    let rank = rank.and_then(|rank| u8::try_from(rank).ok()).unwrap_or(IMPOSSIBLE);
                    self.episode.chance_mut().extend(streams::STOLEN_CARDS, [rank]);
                }
                got.cards = Some(cards);
            }
            _ => {}
        }
        self.target(&format!("{at} target"), seat, aim, told.target)?;
        match aim {
            Aim::Compass(_) => self.told.compass_back(told.target.unwrap_or(0), got.compass.unwrap_or(0)),
            Aim::Cards(_) => {
                self.told.cards_stolen(told.target.unwrap_or(0), seat, got.cards.as_deref().unwrap_or(&[]));
                self.limit(at, seat, told, got)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Names the seat stated, from exactly those that may be named.
    pub(super) fn target(&mut self, field: &str, seat: u8, aim: Aim, target: Option<u8>) -> Compared {
        if self.state().step != Step::Target(aim) {
            return self.unasked(field);
        }
        self.sync()?;
        let seats = self.lexicon.seats;
        let left = |to: u8| Action::Opponent((to + seats - seat) % seats);
        let targets = self.targets(aim);
        self.offers(field, targets.iter().map(|&to| left(to)).collect())?;
        let Some(target) = target.filter(|target| targets.contains(target)) else {
            return self.differs(field, target, targets);
        };
        self.play(field, left(target))?;
        match aim {
            Aim::Airship => self.told.table.airship = Some(target),
            Aim::Dust => self.told.dust(seat, Some(target)),
            _ => {}
        }
        Ok(())
    }

    /// A token is stolen: the seats and backs there were to choose from.
    pub(super) fn theft(&mut self, at: &str, seat: u8, told: Theft) -> Compared<(Vec<u8>, Names)> {
        let field = |name: &str| format!("{at} {name}").trim_start().to_owned();
        let targets = self.targets(Aim::Token);
        self.target(&field("target"), seat, Aim::Token, told.0)?;
        let Step::Back { victim } = self.state().step else {
            return self.unasked(&field("back"));
        };
        let cities = self.game.backs(self.state(), victim);
        self.offers(&field("back"), cities.iter().map(Action::Back).collect())?;
        let city = |back: u8| self.lexicon.catalogue.cities[usize::from(back)].id.clone();
        let backs: Names = cities.iter().map(city).collect();
        let back = told.1.and_then(|back| self.lexicon.back(back).ok());
        let Some(back) = back.filter(|&back| cities.contains(back)) else {
            return self.differs(&field("back"), told.1, backs);
        };
        let tokens = &self.lexicon.catalogue.tokens;
        let of_back = |id: &u8| tokens[usize::from(*id)].city == back;
        let named = |id: &u8| told.2 == Some(tokens[usize::from(*id)].name.as_str());
        let id = bits(self.state().place(victim).tokens).filter(of_back).find(named);
        self.episode.chance_mut().extend(streams::STOLEN_TOKENS, [id.unwrap_or(IMPOSSIBLE)]);
        self.play(&field("stolen"), Action::Back(back))?;
        self.told.token_stolen(victim, seat, told.2.unwrap_or(""));
        Ok((targets, backs))
    }

    /// A token is laid out: the distinct tokens there were to choose from.
    pub(super) fn lay(&mut self, field: &str, seat: u8, told: Option<&str>) -> Compared<Names> {
        if self.state().step != Step::Lay {
            return self.unasked(field);
        }
        self.sync()?;
        let mut names = self.told.table.tokens[usize::from(seat)].clone();
        names.dedup();
        let kinds = names.iter().filter_map(|name| self.lexicon.token(name).ok());
        self.offers(field, kinds.map(Action::Token).collect())?;
        let token = told.and_then(|name| self.lexicon.token(name).ok());
        let (Some(name), Some(token)) = (told, token) else {
            return self.differs(field, told, names);
        };
        let s = self.state();
        let city = self.lexicon.catalogue.current_city(s.period, s.lyra);
        self.play(field, Action::Token(token))?;
        if let Some(city) = city {
            self.told.laid(seat, name, super::super::GoldenCompass::circle(city));
        }
        Ok(names)
    }

    fn advance(&mut self, at: &str, told: &Effect, got: &mut Effect) -> Compared {
        let field = format!("{at} steps");
        let Step::Steps { max } = self.state().step else {
            return self.unasked(&field);
        };
        self.sync()?;
        self.same(&format!("{at} max"), &told.max, &Some(max))?;
        self.offers(&field, (0..=max).map(Action::Steps).collect())?;
        let Some(steps) = told.steps else {
            return self.differs(&field, serde_json::Value::Null, max);
        };
        let action = if steps <= max { Action::Steps(steps) } else { Action::EndTurn };
        self.play(&field, action)?;
        let lyra = self.state().lyra;
        (got.max, got.steps, got.lyra) = (Some(max), told.steps, Some(lyra));
        self.told.lyra(lyra);
        Ok(())
    }

    fn spend(&mut self, at: &str, seat: u8, told: &Effect, got: &mut Effect) -> Compared {
        let field = format!("{at} pay");
        if !matches!(self.state().step, Step::Cost(_)) {
            return self.unasked(&field);
        }
        self.sync()?;
        self.offers(&field, vec![Action::Pay, Action::Decline])?;
        got.pay = told.pay;
        match told.pay {
            None => return self.differs(&field, serde_json::Value::Null, "pay or decline"),
            Some(false) => return self.play(&field, Action::Decline),
            Some(true) => self.play(&field, Action::Pay)?,
        }
        let cards = told.cards.clone().unwrap_or_default();
        let field = format!("{at} cards");
        self.pay(&field, seat, &cards, |step| matches!(step, Step::Pay { .. }))?;
        if matches!(self.state().step, Step::Pay { .. }) {
            return self.differs(&field, cards, "more cards are due");
        }
        got.cards = Some(cards);
        Ok(())
    }

    fn choose(&mut self, at: &str, seat: u8, first: u8, told: &Effect, got: &mut Effect) -> Compared {
        let field = format!("{at} pick");
        if !matches!(self.state().step, Step::Choose { .. }) {
            return self.unasked(&field);
        }
        self.sync()?;
        let offered = self.offered();
        let options = offered.iter().filter_map(|action| match action {
            Action::Choose(option) => Some(*option),
            _ => None,
        });
        let legal: Vec<u8> = options.collect();
        self.same(&format!("{at} legal"), &told.legal, &Some(legal.clone()))?;
        let Some(pick) = told.pick.filter(|pick| legal.contains(pick)) else {
            return self.differs(&field, told.pick, legal);
        };
        self.play(&field, Action::Choose(pick))?;
        let list = self.lexicon.catalogue.options[usize::from(first + pick)];
        let records = told.list.as_deref().unwrap_or(&[]);
        self.list(&format!("{at} do"), seat, list, records)?;
        (got.legal, got.pick, got.list) = (Some(legal), told.pick, Some(records.to_vec()));
        Ok(())
    }
}
