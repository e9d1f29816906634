//! Replays a turn and compares it with its record: spin, colour, red or light blue, sets, snapshot.

use std::collections::BTreeMap;

use boardwire_kernel::Seat;
use serde_json::Value;

use super::components::{Card, number_of};
use super::events::{self, Event, Words};
use super::replay::Replay;
use super::table::without;
use crate::play::{ActionKey, CompareResult};

/// A kind of set: the verb of its action, and the row of its daemon or symbol.
#[derive(Clone, Copy)]
struct Kind(&'static str, u8);

impl Replay<'_> {
    /// Plays a turn. Returns whether it was the last turn of the period.
    pub(super) fn turn(&mut self) -> CompareResult<bool> {
        let spin: &events::Spin = self.next_event()?;
        let Some(row) = self.public_byte("axis").checked_sub(1) else {
            return self.unexpected_decision("axis");
        };
        let (axis, active) = (&self.components.axes[usize::from(row)], self.active());
        let actual = events::Spin {
            turn: self.public_u16("turn").into(),
            player: active.number(),
            axis: row,
            red: axis.red,
            blue: axis.blue.to_owned(),
        };
        self.compare("", spin, &actual)?;
        self.compare_table()?;
        let colour: &events::Colour = self.next_event()?;
        self.check_legal_actions("pick", vec![ActionKey("red", 0), ActionKey("light_blue", 0)])?;
        match colour.pick.as_str() {
            "red" => self.red(active, axis.red)?,
            "blue" => self.blue(active)?,
            pick => return self.mismatch("pick", pick, "red or blue"),
        }
        let is_last = self.pending_decision() != "red or light blue";
        self.end(spin.turn, is_last)?;
        Ok(is_last)
    }

    /// Returns the seat whose turn it is.
    fn active(&self) -> Seat {
        Seat::new(self.public_byte("active") - 1)
    }

    /// Compares the end of a turn. The engine already asks for the next decision.
    fn end(&mut self, turn: u32, is_last: bool) -> CompareResult {
        let end: &events::EndTurn = self.next_event()?;
        let lyra = self.public_byte("lyra");
        let actual = events::EndTurn { stall: lyra != self.table.snapshot.lyra, lyra, period_over: is_last };
        self.compare("", end, &actual)?;
        self.table.snapshot.lyra = lyra;
        let recorded: &events::Snapshot = self.next_event()?;
        self.compare("", recorded, &self.snapshot(turn))?;
        self.compare_draw_pile("draw pile", &self.table.deck)?;
        self.compare_table()
    }

    fn red(&mut self, seat: Seat, [draw, advance]: [u8; 2]) -> CompareResult {
        let start = self.public_byte("lyra");
        self.choose("pick", ActionKey("red", 0))?;
        let red: &events::Red = self.next_event()?;
        let (drawn, reshuffle) = self.table.draw(seat, draw, red.reshuffle.as_ref());
        self.pay("discard", seat, &red.discard, "card over the hand limit")?;
        // If the symbol does not move Lyra, a move comes from the stall guard, and `end` compares it.
        let lyra = if advance > 0 { self.public_byte("lyra") } else { start };
        let discard = red.discard.clone();
        let actual = events::Red { drawn, reshuffle, discard, advance, steps: lyra - start, lyra };
        self.compare("", red, &actual)?;
        self.table.snapshot.lyra = lyra;
        Ok(())
    }

    fn blue(&mut self, seat: Seat) -> CompareResult {
        self.choose("pick", ActionKey("light_blue", 0))?;
        let options: &events::BlueOptions = self.next_event()?;
        self.compare("legal", &options.legal, &self.blue_options(seat)?)?;
        if self.rows("give_up").is_empty() {
            return self.mismatch("legal", "to give up the action", "not offered");
        }
        self.action(seat)?;
        loop {
            self.set_options()?;
            let Some(Event::Set(_)) = self.peek() else {
                return self.choose("end of the turn", ActionKey("end_turn", 0));
            };
            self.set(seat)?;
        }
    }

    /// Returns the legal light-blue actions with their targets. Finds targets by trying an action on a copy of the game.
    fn blue_options(&self, seat: Seat) -> CompareResult<BTreeMap<String, Vec<u8>>> {
        let mut legal = BTreeMap::new();
        for choice in self.legal_actions() {
            let ActionKey(verb @ ("alethiometer" | "magisterium" | "ally" | "dust"), _) = choice else {
                continue;
            };
            let mut tried = self.replayed.clone();
            let has_target = ["magisterium", "dust"].contains(&verb);
            if has_target {
                tried.choose(&self.location("legal"), seat, choice)?;
            }
            let has_choice =
                ["who takes the airship", "whose dust"].contains(&tried.category_name("decision"));
            let targets = if has_target && has_choice {
                self.seats_left_of(seat, tried.rows(seat, "opponent"))
            } else {
                vec![]
            };
            legal.insert(verb.to_owned(), targets);
        }
        Ok(legal)
    }

    fn action(&mut self, seat: Seat) -> CompareResult {
        let recorded: &events::Action = self.next_event()?;
        let mut actual =
            events::Action { pick: recorded.pick.clone(), target: None, compass: None, effects: None };
        match recorded.pick.as_deref() {
            None => self.choose("pick", ActionKey("give_up", 0))?,
            Some("alethiometer") => {
                let start = self.compass(seat);
                self.choose("pick", ActionKey("alethiometer", 0))?;
                actual.compass = Some(self.lay_compass(seat, start));
            }
            Some("magisterium") => {
                self.choose("pick", ActionKey("magisterium", 0))?;
                actual.target = recorded.target;
                self.target("target", "who takes the airship", recorded.target)?;
                self.table.snapshot.airship = recorded.target;
            }
            Some("dust") => {
                let is_asked = self.table.snapshot.dust_supply == 0;
                self.choose("pick", ActionKey("dust", 0))?;
                let mut from = None;
                if is_asked {
                    actual.target = recorded.target;
                    from = Some(self.target("target", "whose dust", recorded.target)?);
                }
                self.table.take_dust(seat, from);
            }
            Some("ally") => {
                self.choose("pick", ActionKey("ally", 0))?;
                actual.effects.clone_from(&recorded.effects);
                let ally = self.public_field("allies")[seat.index()];
                let range = self.components.characters[usize::from(ally) - 1].effects;
                self.list("effects", seat, range, recorded.effects.as_deref().unwrap_or_default())?;
            }
            Some(other) => return self.mismatch("pick", other, "an action"),
        }
        self.compare("", recorded, &actual)
    }

    /// Returns the number of compass tiles of a seat on the objective.
    fn compass(&self, seat: Seat) -> u8 {
        self.public_field("compass")[seat.index()]
    }

    /// Returns how many compass tiles were laid, where `start` is their number before. Updates the recorded table.
    fn lay_compass(&mut self, seat: Seat, start: u8) -> u8 {
        let laid = self.compass(seat).saturating_sub(start);
        self.table.lay_compass(seat, laid);
        laid
    }

    /// Compares the sets that the engine offers. The engine must ask for a set.
    fn set_options(&mut self) -> CompareResult {
        let recorded: &events::SetOptions = self.next_event()?;
        if self.pending_decision() != "set or end of turn" {
            return self.unexpected_decision("sets");
        }
        self.compare_table()?;
        let named = |verb: &str, names: &[String]| -> Words {
            self.rows(verb).into_iter().map(|row| names[usize::from(row) - 1].clone()).collect()
        };
        let actual = events::SetOptions {
            pairs: named("pair", &self.components.daemons),
            triplets: named("triplet", &self.components.symbols),
            spies: !self.rows("spies").is_empty(),
            wild: !self.rows("wild_pair").is_empty(),
            short: named("short_triplet", &self.components.symbols),
        };
        self.compare("", recorded, &actual)
    }

    /// Returns the kind of a set. Its id must be present exactly if the kind has one.
    fn kind(&self, set: &events::Set) -> CompareResult<Kind> {
        let (daemons, symbols) = (&self.components.daemons, &self.components.symbols);
        let found = match (set.kind.as_str(), set.id.as_deref()) {
            ("pair", Some(id)) => number_of(daemons, "daemon", id).map(|row| Kind("pair", row)),
            ("triplet", Some(id)) => number_of(symbols, "symbol", id).map(|row| Kind("triplet", row)),
            ("short", Some(id)) => number_of(symbols, "symbol", id).map(|row| Kind("short_triplet", row)),
            ("spies", None) => Ok(Kind("spies", 0)),
            ("wild", None) => Ok(Kind("wild_pair", 0)),
            (kind, id) => return self.mismatch("id", id, format!("the id of a set {kind:?}")),
        };
        found.or_else(|error| self.mismatch("id", error.to_string(), Value::Null))
    }

    fn set(&mut self, seat: Seat) -> CompareResult {
        let recorded: &events::Set = self.next_event()?;
        let kind = self.kind(recorded)?;
        let start = self.compass(seat);
        self.choose("kind", ActionKey(kind.0, kind.1))?;
        self.choose_set_cards(seat, kind, &recorded.cards)?;
        self.table.discard(seat, &recorded.cards);
        let mut actual = events::Set {
            kind: recorded.kind.clone(),
            id: recorded.id.clone(),
            cards: recorded.cards.clone(),
            ..events::Set::default()
        };
        match kind.0 {
            "triplet" | "short_triplet" => actual.compass = Some(self.lay_compass(seat, start)),
            "spies" => {
                let theft = (recorded.target, recorded.back.as_deref(), recorded.stolen.as_deref());
                let (targets, backs) = self.theft("", seat, theft)?;
                (actual.targets, actual.backs) = (Some(targets), Some(backs));
                (actual.target, actual.back, actual.stolen) =
                    (recorded.target, recorded.back.clone(), recorded.stolen.clone());
            }
            _ if self.is_last_period() => {
                actual.tokens = Some(self.lay_out_token("laid", seat, recorded.laid.as_deref())?);
                actual.laid.clone_from(&recorded.laid);
            }
            _ => actual.taken = Some(self.take_token("taken", seat, recorded.taken.as_ref())?),
        }
        self.compare("", recorded, &actual)
    }

    /// Adds the recorded token to the seat. The next comparison of the table checks it.
    pub(super) fn take_token(
        &mut self,
        field: &str,
        seat: Seat,
        recorded: Option<&String>,
    ) -> CompareResult<String> {
        let Some(token) = recorded else {
            return self.mismatch(field, Value::Null, "a token is taken");
        };
        self.table.tokens(seat).push(token.clone());
        Ok(token.clone())
    }

    /// Chooses the cards of a set while the engine asks. It must offer exactly the types that can complete the set.
    fn choose_set_cards(&mut self, seat: Seat, kind: Kind, cards: &[String]) -> CompareResult {
        let held = self.table.hand(seat).clone();
        while self.pending_decision() == "card of a set" {
            let hand = self.components.names(self.private_ids(seat, "hand"));
            let used = without(&held, &hand);
            let size = used.len() + usize::from(self.public_byte("due"));
            let fitting = |name: &&String| {
                let one = std::slice::from_ref(*name);
                self.can_complete(kind, &[&used, one].concat(), &without(&hand, one), size)
            };
            let fitting: Words = hand.iter().filter(fitting).cloned().collect();
            self.check_legal_actions("cards", self.cards(&fitting))?;
            let mut remaining = without(cards, &used);
            // Choose jokers last: then no joker can be superfluous.
            remaining.sort_by_key(|name| name == "joker");
            let Some(name) = remaining.first() else {
                return self.mismatch("cards", cards, "one more card is due");
            };
            self.choose_card("cards", name)?;
        }
        let mut used = without(&held, &self.components.names(self.private_ids(seat, "hand")));
        let mut recorded = cards.to_vec();
        recorded.sort();
        used.sort();
        self.compare("cards", &recorded, &used)
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
        let cards = set.iter().filter_map(|name| self.components.card(name).ok());
        let cards: Vec<_> = cards.map(|card| &self.components.cards[usize::from(card) - 1]).collect();
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
