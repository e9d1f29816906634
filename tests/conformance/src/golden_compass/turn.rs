//! Replays a turn and compares it with its record: spin, colour, red or light blue, sets, snapshot.

use std::collections::BTreeMap;

use boardwire_kernel::Seat;
use serde_json::Value;

use super::events::{self, Event, Words};
use super::printed::{Card, number_of};
use super::replay::Replay;
use super::table::without;
use crate::play::{Compared, Move};

/// A kind of set: the verb of its action, and the row of its daemon or symbol.
#[derive(Clone, Copy)]
struct Kind(&'static str, u8);

impl Replay<'_> {
    /// Plays a turn. Returns whether it was the last turn of the period.
    pub(super) fn turn(&mut self) -> Compared<bool> {
        let spin: &events::Spin = self.take()?;
        let Some(row) = self.number("axis").checked_sub(1) else { return self.unasked("axis") };
        let (axis, active) = (&self.printed.axes[usize::from(row)], self.active());
        let got = events::Spin {
            turn: self.count("turn").into(),
            player: active.number(),
            axis: row,
            red: axis.red,
            blue: axis.blue.to_owned(),
        };
        self.same("", spin, &got)?;
        self.same_table()?;
        let colour: &events::Colour = self.take()?;
        self.offers("pick", vec![Move("red", 0), Move("light_blue", 0)])?;
        match colour.pick.as_str() {
            "red" => self.red(active, axis.red)?,
            "blue" => self.blue(active)?,
            pick => return self.differs("pick", pick, "red or blue"),
        }
        let is_last = self.asks() != "red or light blue";
        self.end(spin.turn, is_last)?;
        Ok(is_last)
    }

    /// Returns the seat whose turn it is.
    fn active(&self) -> Seat {
        Seat::new(self.number("active") - 1)
    }

    /// Compares the end of a turn. The engine already asks for the next decision.
    fn end(&mut self, turn: u32, is_last: bool) -> Compared {
        let end: &events::EndTurn = self.take()?;
        let lyra = self.number("lyra");
        let got = events::EndTurn { stall: lyra != self.table.now.lyra, lyra, period_over: is_last };
        self.same("", end, &got)?;
        self.table.now.lyra = lyra;
        let stated: &events::Snapshot = self.take()?;
        self.same("", stated, &self.snapshot(turn))?;
        self.same_deck("draw pile", &self.table.deck)?;
        self.same_table()
    }

    fn red(&mut self, seat: Seat, [draw, advance]: [u8; 2]) -> Compared {
        let start = self.number("lyra");
        self.choose("pick", Move("red", 0))?;
        let red: &events::Red = self.take()?;
        let (drawn, reshuffle) = self.table.draw(seat, draw, red.reshuffle.as_ref());
        self.pay("discard", seat, &red.discard, "card over the hand limit")?;
        // If the symbol does not move Lyra, a move comes from the stall guard, and `end` compares it.
        let lyra = if advance > 0 { self.number("lyra") } else { start };
        let discard = red.discard.clone();
        let got = events::Red { drawn, reshuffle, discard, advance, steps: lyra - start, lyra };
        self.same("", red, &got)?;
        self.table.now.lyra = lyra;
        Ok(())
    }

    fn blue(&mut self, seat: Seat) -> Compared {
        self.choose("pick", Move("light_blue", 0))?;
        let options: &events::BlueOptions = self.take()?;
        self.same("legal", &options.legal, &self.blue_options(seat)?)?;
        if self.rows("give_up").is_empty() {
            return self.differs("legal", "to give up the action", "not offered");
        }
        self.action(seat)?;
        loop {
            self.set_options()?;
            let Some(Event::Set(_)) = self.peek() else {
                return self.choose("end of the turn", Move("end_turn", 0));
            };
            self.set(seat)?;
        }
    }

    /// Returns the legal light-blue actions with their targets. Finds targets by trying an action on a copy of the game.
    fn blue_options(&self, seat: Seat) -> Compared<BTreeMap<String, Vec<u8>>> {
        let mut legal = BTreeMap::new();
        for choice in self.offered() {
            let Move(verb @ ("alethiometer" | "magisterium" | "ally" | "dust"), _) = choice else { continue };
            let mut tried = self.play.clone();
            let has_target = ["magisterium", "dust"].contains(&verb);
            if has_target {
                tried.choose(&self.at("legal"), seat, choice)?;
            }
            let asks = ["who takes the airship", "whose dust"].contains(&tried.word("decision"));
            let targets = if has_target && asks {
                self.seats_left_of(seat, tried.rows(seat, "opponent"))
            } else {
                vec![]
            };
            legal.insert(verb.to_owned(), targets);
        }
        Ok(legal)
    }

    fn action(&mut self, seat: Seat) -> Compared {
        let stated: &events::Action = self.take()?;
        let mut got =
            events::Action { pick: stated.pick.clone(), target: None, compass: None, effects: None };
        match stated.pick.as_deref() {
            None => self.choose("pick", Move("give_up", 0))?,
            Some("alethiometer") => {
                let start = self.compass(seat);
                self.choose("pick", Move("alethiometer", 0))?;
                got.compass = Some(self.lay_compass(seat, start));
            }
            Some("magisterium") => {
                self.choose("pick", Move("magisterium", 0))?;
                got.target = stated.target;
                self.target("target", "who takes the airship", stated.target)?;
                self.table.now.airship = stated.target;
            }
            Some("dust") => {
                let is_asked = self.table.now.dust_supply == 0;
                self.choose("pick", Move("dust", 0))?;
                let mut from = None;
                if is_asked {
                    got.target = stated.target;
                    from = Some(self.target("target", "whose dust", stated.target)?);
                }
                self.table.take_dust(seat, from);
            }
            Some("ally") => {
                self.choose("pick", Move("ally", 0))?;
                got.effects.clone_from(&stated.effects);
                let ally = self.open("allies")[seat.index()];
                let list = self.printed.characters[usize::from(ally) - 1].effects;
                self.list("effects", seat, list, stated.effects.as_deref().unwrap_or_default())?;
            }
            Some(other) => return self.differs("pick", other, "an action"),
        }
        self.same("", stated, &got)
    }

    /// Returns the number of compass tiles of a seat on the objective.
    fn compass(&self, seat: Seat) -> u8 {
        self.open("compass")[seat.index()]
    }

    /// Returns how many compass tiles were laid, where `start` is their number before. Updates the recorded table.
    fn lay_compass(&mut self, seat: Seat, start: u8) -> u8 {
        let laid = self.compass(seat).saturating_sub(start);
        self.table.lay_compass(seat, laid);
        laid
    }

    /// Compares the sets that the engine offers. The engine must ask for a set.
    fn set_options(&mut self) -> Compared {
        let stated: &events::SetOptions = self.take()?;
        if self.asks() != "set or end of turn" {
            return self.unasked("sets");
        }
        self.same_table()?;
        let named = |verb: &str, names: &[String]| -> Words {
            self.rows(verb).into_iter().map(|row| names[usize::from(row) - 1].clone()).collect()
        };
        let got = events::SetOptions {
            pairs: named("pair", &self.printed.daemons),
            triplets: named("triplet", &self.printed.symbols),
            spies: !self.rows("spies").is_empty(),
            wild: !self.rows("wild_pair").is_empty(),
            short: named("short_triplet", &self.printed.symbols),
        };
        self.same("", stated, &got)
    }

    /// Returns the kind of a set. Its id must be present exactly if the kind has one.
    fn kind(&self, set: &events::Set) -> Compared<Kind> {
        let (daemons, symbols) = (&self.printed.daemons, &self.printed.symbols);
        let found = match (set.kind.as_str(), set.id.as_deref()) {
            ("pair", Some(id)) => number_of(daemons, "daemon", id).map(|row| Kind("pair", row)),
            ("triplet", Some(id)) => number_of(symbols, "symbol", id).map(|row| Kind("triplet", row)),
            ("short", Some(id)) => number_of(symbols, "symbol", id).map(|row| Kind("short_triplet", row)),
            ("spies", None) => Ok(Kind("spies", 0)),
            ("wild", None) => Ok(Kind("wild_pair", 0)),
            (kind, id) => return self.differs("id", id, format!("the id of a set {kind:?}")),
        };
        found.or_else(|error| self.differs("id", error.to_string(), Value::Null))
    }

    fn set(&mut self, seat: Seat) -> Compared {
        let stated: &events::Set = self.take()?;
        let kind = self.kind(stated)?;
        let start = self.compass(seat);
        self.choose("kind", Move(kind.0, kind.1))?;
        self.fill(seat, kind, &stated.cards)?;
        self.table.discard(seat, &stated.cards);
        let mut got = events::Set {
            kind: stated.kind.clone(),
            id: stated.id.clone(),
            cards: stated.cards.clone(),
            ..events::Set::default()
        };
        match kind.0 {
            "triplet" | "short_triplet" => got.compass = Some(self.lay_compass(seat, start)),
            "spies" => {
                let theft = (stated.target, stated.back.as_deref(), stated.stolen.as_deref());
                let (targets, backs) = self.theft("", seat, theft)?;
                (got.targets, got.backs) = (Some(targets), Some(backs));
                (got.target, got.back, got.stolen) =
                    (stated.target, stated.back.clone(), stated.stolen.clone());
            }
            _ if self.is_last_period() => {
                got.tokens = Some(self.lay("laid", seat, stated.laid.as_deref())?);
                got.laid.clone_from(&stated.laid);
            }
            _ => got.taken = Some(self.take_token("taken", seat, stated.taken.as_ref())?),
        }
        self.same("", stated, &got)
    }

    /// Adds the recorded token to the seat. The next comparison of the table checks it.
    pub(super) fn take_token(&mut self, field: &str, seat: Seat, told: Option<&String>) -> Compared<String> {
        let Some(token) = told else {
            return self.differs(field, Value::Null, "a token is taken");
        };
        self.table.tokens(seat).push(token.clone());
        Ok(token.clone())
    }

    /// Chooses the cards of a set while the engine asks. It must offer exactly the types that can complete the set.
    fn fill(&mut self, seat: Seat, kind: Kind, cards: &[String]) -> Compared {
        let held = self.table.hand(seat).clone();
        while self.asks() == "card of a set" {
            let hand = self.printed.names(self.own(seat, "hand"));
            let used = without(&held, &hand);
            let size = used.len() + usize::from(self.number("due"));
            let fitting = |name: &&String| {
                let one = std::slice::from_ref(*name);
                self.can_complete(kind, &[&used, one].concat(), &without(&hand, one), size)
            };
            let fitting: Words = hand.iter().filter(fitting).cloned().collect();
            self.offers("cards", self.cards(&fitting))?;
            let mut rest = without(cards, &used);
            // Choose jokers last: then no joker can be superfluous.
            rest.sort_by_key(|name| name == "joker");
            let Some(name) = rest.first() else {
                return self.differs("cards", cards, "one more card is due");
            };
            self.choose_card("cards", name)?;
        }
        let mut used = without(&held, &self.printed.names(self.own(seat, "hand")));
        let mut stated = cards.to_vec();
        stated.sort();
        used.sort();
        self.same("cards", &stated, &used)
    }

    /// Returns whether cards of `hand` can extend `set` to a set of `size` cards.
    fn can_complete(&self, kind: Kind, set: &[String], hand: &[String], size: usize) -> bool {
        if set.len() >= size {
            return self.is_set(kind, set);
        }
        hand.iter().any(|name| {
            let one = std::slice::from_ref(name);
            self.can_complete(kind, &[set, one].concat(), &without(hand, one), size)
        })
    }

    /// Returns whether these cards are a set of this kind.
    fn is_set(&self, Kind(verb, row): Kind, set: &[String]) -> bool {
        let cards = set.iter().filter_map(|name| self.printed.card(name).ok());
        let cards: Vec<_> = cards.map(|card| &self.printed.cards[usize::from(card) - 1]).collect();
        let jokers = cards.iter().filter(|card| card.is_joker).count();
        let matches = |face: fn(&Card) -> u8| {
            let shown = cards.iter().filter(|card| face(card) == row).count();
            shown + jokers == cards.len() && (shown > 0 || row == 1)
        };
        match verb {
            "pair" => matches(|card| card.daemon),
            "triplet" | "short_triplet" => matches(|card| card.symbol),
            "spies" => cards.iter().all(|card| card.is_spy),
            _ => cards.iter().all(|card| !card.is_spy),
        }
    }
}
