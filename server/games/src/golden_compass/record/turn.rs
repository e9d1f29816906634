//! A turn beside its record: spin, colour, red or light blue, sets, snapshot.

use boardwire_kernel::Seat;
use serde_json::Value;

use super::super::action::Action;
use super::super::catalogue::{Blue, CardType};
use super::super::state::{Aim, SetKind, Step};
use super::events::{self, Event, Words};
use super::replay::{Compared, Replay};
use super::table::take;

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

impl Replay<'_> {
    /// Plays a turn; says whether it was the last of the period.
    pub(super) fn turn(&mut self) -> Compared<bool> {
        let spin: &events::Spin = self.take()?;
        let state = *self.state();
        let Some(id) = state.axis else { return self.unasked("axis") };
        let axis = self.names.catalogue.axis(id);
        let got = events::Spin {
            turn: state.turn,
            player: state.active.number(),
            axis: id.get() - 1,
            red: [axis.draw, axis.advance],
            blue: word(axis.blue).to_owned(),
        };
        self.same("", spin, &got)?;
        self.table.now.turn = spin.turn;
        self.same_table()?;
        let colour: &events::Colour = self.take()?;
        self.offers("pick", vec![Action::Red, Action::Blue])?;
        if colour.pick == "red" {
            self.red(state.active, axis.draw, axis.advance)?;
        } else {
            self.blue(state.active)?;
        }
        let is_last = self.state().step != Step::Colour;
        self.end(is_last)?;
        Ok(is_last)
    }

    /// After the turn's last choice: the engine stands before the next.
    fn end(&mut self, is_last: bool) -> Compared {
        let end: &events::EndTurn = self.take()?;
        let lyra = self.state().lyra;
        let got = events::EndTurn { stall: lyra != self.table.now.lyra, lyra, period_over: is_last };
        self.same("", end, &got)?;
        self.table.now.lyra = lyra;
        let stated: &events::Snapshot = self.take()?;
        self.same("", stated, &self.game.snapshot(self.state(), self.table.now.turn))?;
        self.same_deck("draw pile", &self.table.deck)?;
        self.same_table()
    }

    fn red(&mut self, seat: Seat, draw: u8, advance: u8) -> Compared {
        let start = self.state().lyra;
        self.play("pick", Action::Red)?;
        let red: &events::Red = self.take()?;
        let (drawn, reshuffle) = self.table.draw(seat, draw, red.reshuffle.as_ref());
        self.pay("discard", seat, &red.discard, |step| step == Step::Limit)?;
        // Only a symbol without a circle leaves room for the stall guard.
        let lyra = if advance > 0 { self.state().lyra } else { start };
        let discard = red.discard.clone();
        let got = events::Red { drawn, reshuffle, discard, advance, steps: lyra - start, lyra };
        self.same("", red, &got)?;
        self.table.now.lyra = lyra;
        Ok(())
    }

    fn blue(&mut self, seat: Seat) -> Compared {
        self.play("pick", Action::Blue)?;
        let options: &events::BlueOptions = self.take()?;
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
            let stated = self.take()?;
            self.set(seat, stated)?;
        }
    }

    fn action(&mut self, seat: Seat) -> Compared {
        let stated: &events::Action = self.take()?;
        let mut got =
            events::Action { pick: stated.pick.clone(), target: None, compass: None, effects: None };
        match stated.pick.as_deref() {
            None => self.play("pick", Action::GiveUp)?,
            Some("alethiometer") => got.compass = Some(self.lays_compass(seat, Action::Alethiometer)?),
            Some("magisterium") => {
                self.play("pick", Action::Magisterium)?;
                got.target = stated.target;
                self.target("target", seat, Aim::Airship, stated.target)?;
            }
            Some("dust") => {
                let is_asked = self.state().dust == 0;
                self.play("pick", Action::Dust)?;
                if is_asked {
                    got.target = stated.target;
                    self.target("target", seat, Aim::Dust, stated.target)?;
                } else {
                    self.table.take_dust(seat, None);
                }
            }
            Some(_) => {
                self.play("pick", Action::Ally)?;
                got.effects.clone_from(&stated.effects);
                let list = self.game.power(self.state().acting());
                self.list("effects", seat, list, stated.effects.as_deref().unwrap_or_default())?;
            }
        }
        self.same("", stated, &got)
    }

    /// Plays an action that lays compass tiles and nothing else: how many.
    fn lays_compass(&mut self, seat: Seat, action: Action) -> Compared<u8> {
        let start = self.state().places[seat].compass;
        self.play("pick", action)?;
        let laid = self.state().places[seat].compass - start;
        self.table.lay_compass(seat, laid);
        Ok(laid)
    }

    /// The sets on offer, when the engine asks for one.
    fn set_options(&mut self) -> Compared {
        let stated: &events::SetOptions = self.take()?;
        if self.state().step != Step::Sets {
            return self.unasked("sets");
        }
        self.same_table()?;
        let catalogue = self.names.catalogue;
        let named = |names: &[String], row: u8| names[usize::from(row) - 1].clone();
        let sets = self.game.sets(self.state());
        let got = events::SetOptions {
            pairs: sets.pairs.iter().map(|daemon| named(&catalogue.daemons, daemon)).collect(),
            triplets: sets.triplets.iter().map(|symbol| named(&catalogue.symbols, symbol)).collect(),
            spies: sets.spies,
            wild: sets.wild,
            short: sets.short.iter().map(|symbol| named(&catalogue.symbols, symbol)).collect(),
        };
        self.same("", stated, &got)
    }

    /// The kind of a set; its id must be there where the kind has one, and nowhere else.
    fn kind(&self, set: &events::Set) -> Compared<SetKind> {
        match (set.kind.as_str(), set.id.as_deref()) {
            ("pair", Some(id)) => self.known(self.names.daemon(id).map(SetKind::Pair)),
            ("triplet", Some(id)) => self.known(self.names.symbol(id).map(SetKind::Triplet)),
            ("short", Some(id)) => self.known(self.names.symbol(id).map(SetKind::Short)),
            ("spies", None) => Ok(SetKind::Spies),
            ("wild", None) => Ok(SetKind::Wild),
            (kind, id) => self.differs("id", id, format!("the id of a set {kind:?}")),
        }
    }

    fn set(&mut self, seat: Seat, stated: &events::Set) -> Compared {
        let kind = self.kind(stated)?;
        let start = self.state().acting().compass;
        self.play("kind", kind.action())?;
        self.fill(seat, kind, &stated.cards)?;
        self.table.discard(seat, &stated.cards);
        let mut got = events::Set {
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
            SetKind::Triplet(_) | SetKind::Short(_) => {
                let laid = self.state().acting().compass - start;
                got.compass = Some(laid);
                self.table.lay_compass(seat, laid);
            }
            SetKind::Spies => {
                let theft = (stated.target, stated.back.as_deref(), stated.stolen.as_deref());
                let (targets, backs) = self.theft("", seat, theft)?;
                (got.targets, got.backs) = (Some(targets), Some(backs));
                (got.target, got.back, got.stolen) =
                    (stated.target, stated.back.clone(), stated.stolen.clone());
            }
            SetKind::Pair(_) | SetKind::Wild if self.state().is_last_period() => {
                got.tokens = Some(self.lay("laid", seat, stated.laid.as_deref())?);
                got.laid.clone_from(&stated.laid);
            }
            SetKind::Pair(_) | SetKind::Wild => {
                let Some(token) = &stated.taken else {
                    return self.differs("taken", Value::Null, "a token is taken");
                };
                self.table.take_token(seat, token);
                got.taken.clone_from(&stated.taken);
            }
        }
        self.same("", stated, &got)
    }

    /// Names the cards of a set as far as the engine asks: the types that can complete it are on offer.
    fn fill(&mut self, seat: Seat, kind: SetKind, cards: &[String]) -> Compared {
        let held = self.table.hand(seat).clone();
        while let Step::Fill(begun) = self.state().step {
            let hand = self.game.names_of(self.state().places[seat].hand.cards());
            let used = without(&held, &hand);
            let size = used.len() + usize::from(begun.left);
            let fitting: Words = hand
                .iter()
                .filter(|&name| {
                    let one = std::slice::from_ref(name);
                    self.can_complete(kind, &[&used, one].concat(), &without(&hand, one), size)
                })
                .cloned()
                .collect();
            self.offers("cards", self.card_actions(&fitting))?;
            let mut rest = without(cards, &used);
            // Cards that are no jokers first: after them a joker is never one too many.
            rest.sort_by_key(|name| name == "joker");
            let Some(name) = rest.first() else {
                return self.differs("cards", cards.to_vec(), "one more card is due");
            };
            self.play("cards", Action::Card(self.known(self.names.card(name))?))?;
        }
        let mut used = without(&held, &self.game.names_of(self.state().places[seat].hand.cards()));
        let mut stated = cards.to_vec();
        stated.sort();
        used.sort();
        self.same("cards", &stated, &used)
    }

    /// Whether a set of so many cards can be completed from `hand`.
    fn can_complete(&self, kind: SetKind, set: &[String], hand: &[String], size: usize) -> bool {
        if set.len() >= size {
            return self.is_set(kind, set);
        }
        hand.iter().any(|name| {
            let one = std::slice::from_ref(name);
            self.can_complete(kind, &[set, one].concat(), &without(hand, one), size)
        })
    }

    /// Whether these cards are a set of this kind.
    fn is_set(&self, kind: SetKind, set: &[String]) -> bool {
        let cards = set.iter().filter_map(|name| self.names.card(name).ok());
        let cards: Vec<_> = cards.map(|card| self.names.catalogue.card(card)).collect();
        let jokers = cards.iter().filter(|card| card.is_joker).count();
        let matches = |shows: &dyn Fn(&CardType) -> bool, row: u8| {
            let shown = cards.iter().filter(|card| shows(card)).count();
            shown + jokers == cards.len() && (shown > 0 || row == 1)
        };
        match kind {
            SetKind::Pair(id) => matches(&|card| card.daemon == Some(id), id.get()),
            SetKind::Triplet(id) | SetKind::Short(id) => matches(&|card| card.symbol == Some(id), id.get()),
            SetKind::Spies => cards.iter().all(|card| card.is_spy),
            SetKind::Wild => cards.iter().all(|card| !card.is_spy),
        }
    }
}

/// `names` without those of `others`.
fn without(names: &[String], others: &[String]) -> Words {
    let mut rest = names.to_vec();
    for other in others {
        take(&mut rest, other);
    }
    rest
}
