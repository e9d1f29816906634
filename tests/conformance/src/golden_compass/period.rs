//! Replays the parts of a period outside turns: allies, airship, truth tiles, clean-up, final scores.

use boardwire_kernel::{Scoring, Seat};

use super::events::{self, Tile, Words};
use super::replay::Replay;
use crate::play::{ActionKey, CompareResult};

impl Replay<'_> {
    /// Compares the start of a period. Each seat chooses its ally, then all allies are compared.
    pub(super) fn period(&mut self) -> CompareResult {
        let recorded: &events::Period = self.next_event()?;
        let period = self.components.periods[usize::from(self.public_byte("period")) - 1].clone();
        self.compare("", recorded, &events::Period { period, first: self.public_byte("first") - 1 })?;
        for seat in self.seats() {
            self.keep(seat)?;
        }
        let recorded: &events::Allies = self.next_event()?;
        let actual = events::Allies {
            allies: self.characters(self.public_field("allies")),
            under: self.characters(self.seats().flat_map(|seat| self.private_ids(seat, "under"))),
            magisterium: self.public_field("magisterium"),
        };
        self.compare("", recorded, &actual)
    }

    fn characters(&self, rows: impl IntoIterator<Item = u8>) -> Words {
        rows.into_iter().map(|row| self.components.characters[usize::from(row) - 1].id.clone()).collect()
    }

    fn keep(&mut self, seat: Seat) -> CompareResult {
        let recorded: &events::Keep = self.next_event()?;
        let options = self.characters(self.private_ids(seat, "dealt"));
        let which = options.iter().position(|name| *name == recorded.pick);
        let Some(which) = which.filter(|_| options.len() == 2) else {
            return self.mismatch("pick", &recorded.pick, options);
        };
        let actual = events::Keep {
            player: seat.number(),
            pick: recorded.pick.clone(),
            passed: options[1 - which].clone(),
            options,
        };
        self.compare("", recorded, &actual)?;
        self.check_actions_equal(
            "pick",
            self.replayed.legal_actions(seat),
            vec![ActionKey("keep", 0), ActionKey("keep", 1)],
        )?;
        self.choose_as("pick", seat, ActionKey("keep", u8::from(which == 1)))
    }

    /// Replays the end of a period: the airship, the draft of truth tiles, and, unless it is the last, the clean-up.
    pub(super) fn scoring(&mut self) -> CompareResult {
        let is_last = self.is_last_period();
        if self.pending_decision() == "airship: cards or tile" {
            self.airship()?;
        }
        self.truth(is_last)?;
        if is_last { Ok(()) } else { self.cleanup() }
    }

    fn airship(&mut self) -> CompareResult {
        let recorded: &events::Airship = self.next_event()?;
        let Some(holder) = self.seat("airship") else { return self.unexpected_decision("player") };
        let legal_actions = self.legal_actions();
        let words = [("pay", ActionKey("pay_cards", 0)), ("tile", ActionKey("give_tile", 0))];
        let legal = words.iter().filter(|(_, choice)| legal_actions.contains(choice));
        let actual = events::Airship {
            player: holder.number(),
            cost: self.public_byte("due"),
            legal: legal.map(|(word, _)| (*word).to_owned()).collect(),
            pick: recorded.pick.clone(),
            cards: recorded.cards.clone(),
        };
        self.compare("", recorded, &actual)?;
        self.compare_table()?;
        let Some((_, choice)) = words.into_iter().find(|(word, _)| *word == recorded.pick) else {
            return self.mismatch("pick", &recorded.pick, actual.legal);
        };
        self.choose("pick", choice)?;
        self.pay("cards", holder, &recorded.cards, "card for the airship")?;
        self.table.snapshot.airship = None;
        Ok(())
    }

    /// Compares the truth tiles drawn, and plays their draft.
    fn truth(&mut self, is_last: bool) -> CompareResult {
        let recorded: &events::Truth = self.next_event()?;
        self.compare_tiles(recorded, is_last)?;
        let order: Vec<u8> =
            self.public_field("order").into_iter().map(|seat| seat.saturating_sub(1)).collect();
        self.compare("order", &recorded.order, &order)?;
        let mut remaining = self.values(&self.public_field("open"));
        let mut picks = vec![vec![]; order.len()];
        while self.pending_decision() == "truth tile" {
            let chooser = self.seat("chooser").map(Seat::number);
            let index = order
                .iter()
                .position(|&seat| Some(seat) == chooser)
                .expect("the chooser is in the order of the draft");
            let open = (1..).zip(self.public_field("open")).filter(|(_, count)| *count > 0);
            self.check_legal_actions("picks", open.map(|(row, _)| ActionKey("take", row)).collect())?;
            let picked: &mut Vec<u8> = &mut picks[index];
            let Some(&value) = recorded.picks.get(index).and_then(|tiles| tiles.get(picked.len())) else {
                return self.mismatch("picks", &recorded.picks, "one more tile is due");
            };
            picked.push(value);
            let Ok(row) = self.components.tile(value) else {
                return self.mismatch("picks", value, remaining);
            };
            self.choose("picks", ActionKey("take", row))?;
            if let Some(index) = remaining.iter().position(|&open| open == value) {
                remaining.remove(index);
            }
        }
        // Records list each seat's tiles in descending order.
        for picked in &mut picks {
            picked.sort_by(|one, other| other.cmp(one));
        }
        self.compare("picks", &recorded.picks, &picks)?;
        self.compare("left", &recorded.left, &remaining)
    }

    /// Returns the values of tiles, ascending. `counts` has the number of tiles of each value.
    fn values(&self, counts: &[u8]) -> Vec<u8> {
        let tiles = self.components.tiles.iter().zip(counts);
        tiles.flat_map(|(tile, &count)| std::iter::repeat_n(tile.0, count.into())).collect()
    }

    fn compare_tiles(&self, recorded: &events::Truth, is_last: bool) -> CompareResult {
        let open = self.public_field("open");
        let bag = self.public_field("bag").into_iter().zip(&open).map(|(bag, open)| bag + open);
        let tiles = self.components.tiles.iter().zip(bag).filter(|(_, count)| *count > 0);
        self.compare("bag", &recorded.bag, &tiles.map(|(tile, count)| (tile.0, count)).collect())?;
        let passages = if is_last { self.components.passages } else { 0 };
        self.compare("passages", &recorded.passages, &passages)?;
        let value = |tile: &Tile| if let Tile::Value(value) = *tile { Some(value) } else { None };
        let mut values: Vec<u8> = recorded.drawn.iter().filter_map(value).collect();
        let drawn = recorded.drawn.len() - values.len();
        values.sort_unstable();
        self.compare("drawn (passages)", &drawn, &self.public_byte("passages").into())?;
        self.compare("drawn", &values, &self.values(&open))?;
        let ends = matches!(recorded.drawn.last(), Some(Tile::Value(_)));
        self.compare("drawn (ends with a truth tile)", &ends, &true)
    }

    fn cleanup(&mut self) -> CompareResult {
        let recorded: &events::Cleanup = self.next_event()?;
        let backs = self.public_field("backs");
        let cities = backs.len() / usize::from(self.components.seats);
        let actual = events::Cleanup {
            deck: recorded.deck.clone(),
            hands: self.public_field("hand_sizes"),
            supply: self.public_field("supply"),
            tokens: backs.chunks(cities).map(|backs| backs.iter().sum()).collect(),
            dust: self.public_field("dust"),
            lyra: self.public_byte("lyra"),
        };
        self.compare("", recorded, &actual)?;
        self.compare_draw_pile("deck", &recorded.deck)?;
        self.table.clean_up(&recorded.deck);
        self.compare_table()
    }

    pub(super) fn final_scores(&mut self) -> CompareResult<Vec<i32>> {
        let recorded: &events::Final = self.next_event()?;
        let Some(outcome) = self.replayed.episode().outcome() else {
            return self.unexpected_decision("the end of the game");
        };
        let (game, state) = (self.replayed.episode().game(), self.replayed.episode().state());
        let scores = outcome.scores().iter().zip(self.seats()).map(|(&total, seat)| {
            let sources: Vec<i32> = game.explain(state, seat).iter().map(|line| line.points).collect();
            let [truth, experience, alethiometer, passages] = sources[..] else {
                unreachable!("points come from four sources")
            };
            events::Score { truth, experience, alethiometer, passages, total }
        });
        let winners = self.seats().filter(|&seat| outcome.is_winner(seat));
        let actual = events::Final {
            turns: self.public_u16("turn").into(),
            scores: scores.collect(),
            winners: winners.map(Seat::number).collect(),
        };
        self.compare("", recorded, &actual)?;
        Ok(outcome.scores().to_vec())
    }
}
