//! Replays the parts of a period outside turns: allies, airship, truth tiles, clean-up, final scores.

use boardwire_kernel::{Scoring, Seat};

use super::events::{self, Tile, Words};
use super::replay::Replay;
use crate::play::{Compared, Move};

impl Replay<'_> {
    /// Compares the start of a period. Each seat chooses its ally, then all allies are compared.
    pub(super) fn period(&mut self) -> Compared {
        let stated: &events::Period = self.take()?;
        let period = self.printed.periods[usize::from(self.number("period")) - 1].clone();
        self.same("", stated, &events::Period { period, first: self.number("first") - 1 })?;
        for seat in self.seats() {
            self.keep(seat)?;
        }
        let stated: &events::Allies = self.take()?;
        let got = events::Allies {
            allies: self.characters(self.open("allies")),
            under: self.characters(self.seats().flat_map(|seat| self.own(seat, "under"))),
            magisterium: self.open("magisterium"),
        };
        self.same("", stated, &got)
    }

    fn characters(&self, rows: impl IntoIterator<Item = u8>) -> Words {
        rows.into_iter().map(|row| self.printed.characters[usize::from(row) - 1].id.clone()).collect()
    }

    fn keep(&mut self, seat: Seat) -> Compared {
        let stated: &events::Keep = self.take()?;
        let options = self.characters(self.own(seat, "dealt"));
        let which = options.iter().position(|name| *name == stated.pick);
        let Some(which) = which.filter(|_| options.len() == 2) else {
            return self.differs("pick", &stated.pick, options);
        };
        let got = events::Keep {
            player: seat.number(),
            pick: stated.pick.clone(),
            passed: options[1 - which].clone(),
            options,
        };
        self.same("", stated, &got)?;
        self.same_choices("pick", self.play.offered(seat), vec![Move("keep", 0), Move("keep", 1)])?;
        self.choose_for("pick", seat, Move("keep", u8::from(which == 1)))
    }

    /// Replays the end of a period: the airship, the draft of truth tiles, and, unless it is the last, the clean-up.
    pub(super) fn scoring(&mut self) -> Compared {
        let is_last = self.is_last_period();
        if self.asks() == "airship: cards or tile" {
            self.airship()?;
        }
        self.truth(is_last)?;
        if is_last { Ok(()) } else { self.cleanup() }
    }

    fn airship(&mut self) -> Compared {
        let stated: &events::Airship = self.take()?;
        let Some(holder) = self.seat("airship") else { return self.unasked("player") };
        let offered = self.offered();
        let words = [("pay", Move("pay_cards", 0)), ("tile", Move("give_tile", 0))];
        let legal = words.iter().filter(|(_, choice)| offered.contains(choice));
        let got = events::Airship {
            player: holder.number(),
            cost: self.number("due"),
            legal: legal.map(|(word, _)| (*word).to_owned()).collect(),
            pick: stated.pick.clone(),
            cards: stated.cards.clone(),
        };
        self.same("", stated, &got)?;
        self.same_table()?;
        let Some((_, choice)) = words.into_iter().find(|(word, _)| *word == stated.pick) else {
            return self.differs("pick", &stated.pick, got.legal);
        };
        self.choose("pick", choice)?;
        self.pay("cards", holder, &stated.cards, "card for the airship")?;
        self.table.now.airship = None;
        Ok(())
    }

    /// Compares the truth tiles drawn, and plays their draft.
    fn truth(&mut self, is_last: bool) -> Compared {
        let stated: &events::Truth = self.take()?;
        self.same_tiles(stated, is_last)?;
        let order: Vec<u8> = self.open("order").into_iter().map(|seat| seat.saturating_sub(1)).collect();
        self.same("order", &stated.order, &order)?;
        let mut left = self.values(&self.open("open"));
        let mut picks = vec![vec![]; order.len()];
        while self.asks() == "truth tile" {
            let chooser = self.seat("chooser").map(Seat::number);
            let at = order.iter().position(|&seat| Some(seat) == chooser).expect("a seat of the draft");
            let open = (1..).zip(self.open("open")).filter(|(_, count)| *count > 0);
            self.offers("picks", open.map(|(row, _)| Move("take", row)).collect())?;
            let picked: &mut Vec<u8> = &mut picks[at];
            let Some(&value) = stated.picks.get(at).and_then(|told| told.get(picked.len())) else {
                return self.differs("picks", &stated.picks, "one more tile is due");
            };
            picked.push(value);
            let Ok(row) = self.printed.tile(value) else { return self.differs("picks", value, left) };
            self.choose("picks", Move("take", row))?;
            if let Some(gone) = left.iter().position(|&open| open == value) {
                left.remove(gone);
            }
        }
        // Records list each seat's tiles in descending order.
        for picked in &mut picks {
            picked.sort_by(|one, other| other.cmp(one));
        }
        self.same("picks", &stated.picks, &picks)?;
        self.same("left", &stated.left, &left)
    }

    /// Returns the values of tiles, ascending. `counts` has the number of tiles of each value.
    fn values(&self, counts: &[u8]) -> Vec<u8> {
        let tiles = self.printed.tiles.iter().zip(counts);
        tiles.flat_map(|(tile, &count)| std::iter::repeat_n(tile.0, count.into())).collect()
    }

    fn same_tiles(&self, stated: &events::Truth, is_last: bool) -> Compared {
        let open = self.open("open");
        let bag = self.open("bag").into_iter().zip(&open).map(|(bag, open)| bag + open);
        let tiles = self.printed.tiles.iter().zip(bag).filter(|(_, count)| *count > 0);
        self.same("bag", &stated.bag, &tiles.map(|(tile, count)| (tile.0, count)).collect())?;
        let passages = if is_last { self.printed.passages } else { 0 };
        self.same("passages", &stated.passages, &passages)?;
        let value = |tile: &Tile| if let Tile::Value(value) = *tile { Some(value) } else { None };
        let mut values: Vec<u8> = stated.drawn.iter().filter_map(value).collect();
        let drawn = stated.drawn.len() - values.len();
        values.sort_unstable();
        self.same("drawn (passages)", &drawn, &self.number("passages").into())?;
        self.same("drawn", &values, &self.values(&open))?;
        let ends = matches!(stated.drawn.last(), Some(Tile::Value(_)));
        self.same("drawn (ends with a truth tile)", &ends, &true)
    }

    fn cleanup(&mut self) -> Compared {
        let stated: &events::Cleanup = self.take()?;
        let backs = self.open("backs");
        let cities = backs.len() / usize::from(self.printed.seats);
        let got = events::Cleanup {
            deck: stated.deck.clone(),
            hands: self.open("hand_sizes"),
            supply: self.open("supply"),
            tokens: backs.chunks(cities).map(|backs| backs.iter().sum()).collect(),
            dust: self.open("dust"),
            lyra: self.number("lyra"),
        };
        self.same("", stated, &got)?;
        self.same_deck("deck", &stated.deck)?;
        self.table.clean_up(&stated.deck);
        self.same_table()
    }

    pub(super) fn final_scores(&mut self) -> Compared<Vec<i32>> {
        let stated: &events::Final = self.take()?;
        let Some(outcome) = self.play.episode().outcome() else {
            return self.unasked("the end of the game");
        };
        let (game, state) = (self.play.episode().game(), self.play.episode().state());
        let scores = outcome.scores().iter().zip(self.seats()).map(|(&total, seat)| {
            let sources: Vec<i32> = game.explain(state, seat).iter().map(|line| line.points).collect();
            let [truth, experience, alethiometer, passages] = sources[..] else {
                unreachable!("points come from four sources")
            };
            events::Score { truth, experience, alethiometer, passages, total }
        });
        let winners = self.seats().filter(|&seat| outcome.is_winner(seat));
        let got = events::Final {
            turns: self.count("turn").into(),
            scores: scores.collect(),
            winners: winners.map(Seat::number).collect(),
        };
        self.same("", stated, &got)?;
        Ok(outcome.scores().to_vec())
    }
}
