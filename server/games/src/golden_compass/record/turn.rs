//! A turn beside its record: spin, colour, red or light blue, sets, snapshot.

use super::super::action::Action;
use super::super::catalogue::Blue;
use super::super::state::{Aim, Kind, Step};
use super::replay::{Compared, Replayer};
use super::script::{self, Event, Names};

/// The word of a light-blue symbol.
fn word(blue: Blue) -> &'static str {
    match blue {
        Blue::Alethiometer => "alethiometer",
        Blue::Magisterium => "magisterium",
        Blue::Ally => "ally",
        Blue::Dust => "dust",
        Blue::FreeChoice => "free_choice",
    }
}

impl Replayer<'_> {
    /// Plays a turn; says whether it was the last of the period.
    pub(super) fn turn(&mut self) -> Compared<bool> {
        let spin =
            self.take("spin", |event| if let Event::Spin(event) = event { Some(event) } else { None })?;
        let s = *self.state();
        let axis = self.lexicon.catalogue.axes[usize::from(s.axis)];
        let got = script::Spin {
            turn: s.turn,
            player: s.active,
            axis: s.axis,
            red: [axis.draw, axis.advance],
            blue: word(axis.blue).to_owned(),
        };
        self.same("", spin, &got)?;
        self.told.table.turn = spin.turn;
        self.sync()?;
        let colour =
            self.take("colour", |event| if let Event::Colour(event) = event { Some(event) } else { None })?;
        self.offers("pick", vec![Action::Red, Action::Blue])?;
        if colour.pick == "red" {
            self.red(s.active, axis.advance)?;
        } else {
            self.blue(s.active)?;
        }
        let over = self.state().step != Step::Colour;
        self.end(over)?;
        Ok(over)
    }

    /// After the turn's last choice: the engine stands before the next.
    fn end(&mut self, over: bool) -> Compared {
        let end = self
            .take("end_turn", |event| if let Event::EndTurn(event) = event { Some(event) } else { None })?;
        let lyra = self.state().lyra;
        let got = script::EndTurn { stall: lyra != self.told.table.lyra, lyra, period_over: over };
        self.same("", end, &got)?;
        self.told.lyra(end.lyra);
        let stated = self
            .take("snapshot", |event| if let Event::Snapshot(event) = event { Some(event) } else { None })?;
        self.same("", stated, &self.engine_snapshot())?;
        self.same_deck("draw pile", &self.told.deck)?;
        self.sync()
    }

    fn red(&mut self, seat: u8, advance: u8) -> Compared {
        // The draw follows at once, so its facts are read first.
        let Some(Event::Red(red)) = self.peek() else {
            return self
                .take("red", |event| if let Event::Red(event) = event { Some(event) } else { None })
                .map(drop);
        };
        let before = self.state().lyra;
        let count = self.lexicon.catalogue.axes[usize::from(self.state().axis)].draw;
        self.play("pick", Action::Red)?;
        self.take("red", |event| if let Event::Red(event) = event { Some(event) } else { None })?;
        let (drawn, reshuffle) = self.told.draw(seat, count.into(), red.reshuffle.as_ref());
        self.same("drawn", &red.drawn, &drawn)?;
        self.same("reshuffle", &red.reshuffle, &reshuffle)?;
        self.pay("discard", seat, &red.discard, |step| step == Step::Limit)?;
        if self.state().step == Step::Limit {
            return self.differs("discard", red.discard.clone(), "the hand is over its limit");
        }
        // Only a symbol without a circle leaves room for the stall guard.
        let lyra = if advance > 0 { self.state().lyra } else { before };
        self.same("advance", &red.advance, &advance)?;
        self.same("steps", &red.steps, &(lyra - before))?;
        self.same("lyra", &red.lyra, &lyra)?;
        self.told.lyra(lyra);
        Ok(())
    }

    fn blue(&mut self, seat: u8) -> Compared {
        self.play("pick", Action::Blue)?;
        let options = self.take("blue_options", |event| {
            if let Event::BlueOptions(event) = event { Some(event) } else { None }
        })?;
        self.same("legal", &options.legal, &self.blue_options())?;
        if !self.offered().contains(&Action::GiveUp) {
            return self.differs("legal", "to give up the action", "not offered");
        }
        self.action(seat)?;
        loop {
            self.set_options()?;
            let Some(Event::Set(_)) = self.peek() else {
                return self.play("end of the turn", Action::EndTurn);
            };
            let stated =
                self.take("set", |event| if let Event::Set(event) = event { Some(event) } else { None })?;
            self.set(seat, stated)?;
        }
    }

    fn action(&mut self, seat: u8) -> Compared {
        let event =
            self.take("action", |event| if let Event::Action(event) = event { Some(event) } else { None })?;
        let mut got = script::Action { pick: event.pick.clone(), target: None, compass: None, effects: None };
        let before = self.state().own().compass;
        match event.pick.as_deref() {
            None => self.play("pick", Action::GiveUp)?,
            Some("alethiometer") => {
                self.play("pick", Action::Alethiometer)?;
                let laid = self.state().own().compass - before;
                got.compass = Some(laid);
                self.told.compass(seat, laid);
            }
            Some("magisterium") => {
                self.play("pick", Action::Magisterium)?;
                got.target = event.target;
                self.target("target", seat, Aim::Airship, event.target)?;
            }
            Some("dust") => {
                let from_supply = self.state().dust > 0;
                self.play("pick", Action::Dust)?;
                if from_supply {
                    self.told.dust(seat, None);
                } else {
                    got.target = event.target;
                    self.target("target", seat, Aim::Dust, event.target)?;
                }
            }
            Some(_) => {
                got.effects.clone_from(&event.effects);
                self.play("pick", Action::Ally)?;
                let ally = usize::from(self.state().own().ally) - 1;
                let list = self.lexicon.catalogue.characters[ally].list;
                self.list("effects", seat, list, event.effects.as_deref().unwrap_or(&[]))?;
            }
        }
        self.same("", event, &got)
    }

    /// The sets on offer, when the engine asks for one.
    fn set_options(&mut self) -> Compared {
        let stated =
            self.take(
                "set_options",
                |event| {
                    if let Event::SetOptions(event) = event { Some(event) } else { None }
                },
            )?;
        if self.state().step != Step::Sets {
            return self.unasked("sets");
        }
        self.sync()?;
        let catalogue = self.lexicon.catalogue;
        let name = |names: &[String], id: u8| names[usize::from(id)].clone();
        let mut got = script::SetOptions {
            pairs: Names::new(),
            triplets: Names::new(),
            spies: false,
            wild: false,
            short: Names::new(),
        };
        for action in self.offered() {
            match action {
                Action::Pair(id) => got.pairs.push(name(&catalogue.daemons, id)),
                Action::Triplet(id) => got.triplets.push(name(&catalogue.symbols, id)),
                Action::Short(id) => got.short.push(name(&catalogue.symbols, id)),
                Action::Spies => got.spies = true,
                Action::Wild => got.wild = true,
                _ => {}
            }
        }
        self.same("", stated, &got)
    }

    fn kind(&self, set: &script::Set) -> Option<Kind> {
        let id = set.id.as_deref().unwrap_or("");
        match set.kind.as_str() {
            "pair" => self.lexicon.daemon(id).ok().map(Kind::Pair),
            "triplet" => self.lexicon.symbol(id).ok().map(Kind::Triplet),
            "short" => self.lexicon.symbol(id).ok().map(Kind::Short),
            "spies" => Some(Kind::Spies),
            _ => Some(Kind::Wild),
        }
    }

    fn set(&mut self, seat: u8, stated: &script::Set) -> Compared {
        let Some(kind) = self.kind(stated) else {
            return self.unasked("kind");
        };
        let before = self.state().own().compass;
        self.play("kind", kind.action())?;
        self.fill(seat, kind, &stated.cards)?;
        self.told.discard(seat, &stated.cards);
        let mut got = script::Set {
            kind: stated.kind.clone(),
            id: stated.id.clone(),
            cards: stated.cards.clone(),
            taken: None,
            tokens: None,
            laid: None,
            compass: None,
            targets: None,
            target: None,
            backs: None,
            back: None,
            stolen: None,
        };
        match kind {
            Kind::Triplet(_) | Kind::Short(_) => {
                let laid = self.state().own().compass - before;
                got.compass = Some(laid);
                self.told.compass(seat, laid);
            }
            Kind::Spies => {
                let theft = (stated.target, stated.back.as_deref(), stated.stolen.as_deref());
                let (targets, backs) = self.theft("", seat, theft)?;
                (got.targets, got.backs) = (Some(targets), Some(backs));
                (got.target, got.back, got.stolen) =
                    (stated.target, stated.back.clone(), stated.stolen.clone());
            }
            _ if self.state().places_tokens() => {
                got.tokens = Some(self.lay("laid", seat, stated.laid.as_deref())?);
                got.laid.clone_from(&stated.laid);
            }
            _ => {
                let Some(token) = &stated.taken else {
                    return self.differs("taken", serde_json::Value::Null, "a token is taken");
                };
                self.told.taken(seat, token);
                got.taken.clone_from(&stated.taken);
            }
        }
        self.same("", stated, &got)
    }

    /// Names the cards of a set as far as the engine asks; at every question the types that can complete it are on offer.
    fn fill(&mut self, seat: u8, kind: Kind, cards: &[String]) -> Compared {
        let before = self.told.table.hands[usize::from(seat)].clone();
        let asked = |step: Step| matches!(step, Step::Fill(_));
        while asked(self.state().step) {
            let hand = self.game.hand_names(self.state(), seat);
            let used = without(&before, &hand);
            let fits = self.completing(kind, &used, &hand, cards.len());
            self.offers("cards", fits.iter().map(|&card| Action::Card(card)).collect())?;
            let mut rest = without(cards, &used);
            // Cards of the set's own first: after them a joker is never one too many.
            rest.sort_by_key(|name| name == "joker");
            let Some(card) = rest.first().and_then(|name| self.lexicon.card(name).ok()) else {
                return self.differs("cards", cards.to_vec(), "one more card is due");
            };
            self.play("cards", Action::Card(card))?;
        }
        let used = without(&before, &self.game.hand_names(self.state(), seat));
        let mut stated = cards.to_vec();
        stated.sort();
        self.same("cards", &stated, &used)
    }

    /// The card types of `hand` with which a set of so many cards, `used` being in it, can be completed.
    fn completing(&self, kind: Kind, used: &[String], hand: &[String], size: usize) -> Vec<u8> {
        let types = hand.iter().filter_map(|name| self.lexicon.card(name).ok());
        let completes = |card: &u8| {
            let name = &self.lexicon.catalogue.cards[usize::from(*card)].name;
            let mut set = used.to_vec();
            set.push(name.clone());
            self.can_complete(kind, &set, &without(hand, std::slice::from_ref(name)), size)
        };
        types.filter(completes).collect()
    }

    fn can_complete(&self, kind: Kind, set: &[String], hand: &[String], size: usize) -> bool {
        if set.len() >= size {
            return self.is_set(kind, set);
        }
        hand.iter().any(|name| {
            let more = [set, std::slice::from_ref(name)].concat();
            self.can_complete(kind, &more, &without(hand, std::slice::from_ref(name)), size)
        })
    }

    /// Whether these cards are a set of this kind.
    fn is_set(&self, kind: Kind, set: &[String]) -> bool {
        let cards = set.iter().filter_map(|name| self.lexicon.card(name).ok());
        let cards: Vec<_> = cards.map(|card| &self.lexicon.catalogue.cards[usize::from(card)]).collect();
        let jokers = cards.iter().filter(|card| card.joker).count();
        let own = |fits: &dyn Fn(&&&super::super::catalogue::CardType) -> bool, id: u8| {
            let own = cards.iter().filter(fits).count();
            own + jokers == cards.len() && (own > 0 || id == 0)
        };
        match kind {
            Kind::Pair(id) => own(&|card| card.daemon == Some(id), id),
            Kind::Triplet(id) | Kind::Short(id) => own(&|card| card.symbol == Some(id), id),
            Kind::Spies => cards.iter().all(|card| card.spy),
            Kind::Wild => cards.iter().all(|card| !card.spy),
        }
    }
}

/// `names` without those of `others`.
fn without(names: &[String], others: &[String]) -> Names {
    let mut rest = names.to_vec();
    for other in others {
        if let Some(at) = rest.iter().position(|name| name == other) {
            rest.remove(at);
        }
    }
    rest
}
