//! What frames the turns beside its record: allies, airship, truth tiles, clean-up, the final scores.

use boardwire_kernel::Seat;

use super::super::action::Action;
use super::super::catalogue::{CharacterId, TileId};
use super::super::state::{Step, TilePile, tokens_of};
use super::events::{self, Tile, Words};
use super::replay::{Compared, Replay};

impl Replay<'_> {
    /// Allies are kept and shown.
    pub(super) fn period(&mut self) -> Compared {
        let stated: &events::Period = self.take()?;
        let state = *self.state();
        let period = self.names.catalogue.periods[usize::from(state.period)].clone();
        self.same("", stated, &events::Period { period, first: state.first.number() })?;
        for seat in Seat::all(self.names.seats) {
            self.keep(seat)?;
        }
        let stated: &events::Allies = self.take()?;
        let places = self.state().places.of(self.names.seats);
        let got = events::Allies {
            allies: self.characters(places.iter().filter_map(|place| place.ally)),
            under: self.characters(places.iter().filter_map(|place| place.under)),
            magisterium: places.iter().map(|place| self.game.magisterium(place)).collect(),
        };
        self.same("", stated, &got)
    }

    fn characters(&self, ids: impl Iterator<Item = CharacterId>) -> Words {
        ids.map(|id| self.names.catalogue.character(id).id.clone()).collect()
    }

    fn keep(&mut self, seat: Seat) -> Compared {
        let stated: &events::Keep = self.take()?;
        let dealt = self.state().places[seat].dealt;
        let options = self.characters(dealt.into_iter().flatten());
        let which = options.iter().position(|name| *name == stated.pick);
        let Some(which) = which.filter(|_| options.len() == 2) else {
            return self.differs("pick", stated.pick.as_str(), options);
        };
        let got = events::Keep {
            player: seat.number(),
            pick: stated.pick.clone(),
            passed: options[1 - which].clone(),
            options,
        };
        self.same("", stated, &got)?;
        self.offers_to("pick", seat, vec![Action::Keep(0), Action::Keep(1)])?;
        self.play_for("pick", seat, Action::Keep(u8::from(which == 1)))
    }

    /// The holder of the airship, the draft, and what follows.
    pub(super) fn scoring(&mut self) -> Compared {
        if self.state().step == Step::Airship {
            self.airship()?;
        }
        let is_last = self.state().is_last_period();
        self.truth(is_last)?;
        if is_last { Ok(()) } else { self.cleanup() }
    }

    fn airship(&mut self) -> Compared {
        let stated: &events::Airship = self.take()?;
        let Some(holder) = self.state().airship else { return self.unasked("player") };
        let offered = self.offered();
        let words = [("pay", Action::PayCards), ("tile", Action::GiveTile)];
        let legal = words.iter().filter(|(_, action)| offered.contains(action));
        let got = events::Airship {
            player: holder.number(),
            cost: self.game.ransom(&self.state().places[holder]),
            legal: legal.map(|(word, _)| (*word).to_owned()).collect(),
            pick: stated.pick.clone(),
            cards: stated.cards.clone(),
        };
        self.same("", stated, &got)?;
        self.same_table()?;
        let Some((_, action)) = words.into_iter().find(|(word, _)| *word == stated.pick) else {
            return self.differs("pick", stated.pick.as_str(), got.legal);
        };
        self.play("pick", action)?;
        self.pay("cards", holder, &stated.cards, |step| matches!(step, Step::Ransom { .. }))?;
        self.table.now.airship = None;
        Ok(())
    }

    /// Truth tiles are drawn and drafted.
    fn truth(&mut self, is_last: bool) -> Compared {
        let stated: &events::Truth = self.take()?;
        self.same_tiles(stated, is_last)?;
        let state = *self.state();
        let order: Vec<u8> = state.order.iter().map(|seat| seat.number()).collect();
        let order = order[..usize::from(self.names.seats)].to_vec();
        self.same("order", &stated.order, &order)?;
        let mut left = self.values(&state.open);
        let mut picks = vec![vec![]; order.len()];
        while let Step::Truth { place, .. } = self.state().step {
            let at = usize::from(place);
            let open = self.state().open.kinds::<1>();
            self.offers("picks", open.iter().map(|tile| Action::Tile(TileId::new(tile))).collect())?;
            let picked = &mut picks[at];
            let Some(&value) = stated.picks.get(at).and_then(|told: &Vec<u8>| told.get(picked.len())) else {
                return self.differs("picks", stated.picks.clone(), "one more tile is due");
            };
            picked.push(value);
            self.play("picks", Action::Tile(self.known(self.names.tile(value))?))?;
            if let Some(gone) = left.iter().position(|&open| open == value) {
                left.remove(gone);
            }
        }
        // Each seat's tiles are told from the greatest on.
        for picked in &mut picks {
            picked.sort_by(|one, other| other.cmp(one));
        }
        self.same("picks", &stated.picks, &picks)?;
        self.same("left", &stated.left, &left)
    }

    /// The values of tiles, ascending.
    fn values(&self, pile: &TilePile) -> Vec<u8> {
        let tiles = self.names.catalogue.tiles.iter().zip(&pile.counts()[1..]);
        tiles.flat_map(|(tile, &count)| std::iter::repeat_n(tile.value, count.into())).collect()
    }

    fn same_tiles(&self, stated: &events::Truth, is_last: bool) -> Compared {
        let state = self.state();
        let mut bag = state.bag;
        bag.absorb(&mut { state.open });
        let tiles = self.names.catalogue.tiles.iter().zip(&bag.counts()[1..]);
        let tiles = tiles.filter(|(_, count)| **count > 0).map(|(tile, &count)| (tile.value, count));
        self.same("bag", &stated.bag, &tiles.collect())?;
        let passages = if is_last { self.names.catalogue.passages } else { 0 };
        self.same("passages", &stated.passages, &passages)?;
        let values = stated.drawn.iter().filter_map(|tile| match tile {
            Tile::Value(value) => Some(*value),
            Tile::Passage(_) => None,
        });
        let mut values: Vec<u8> = values.collect();
        let drawn = stated.drawn.len() - values.len();
        values.sort_unstable();
        self.same("drawn (passages)", &drawn, &usize::from(state.drawn_passages))?;
        self.same("drawn", &values, &self.values(&state.open))?;
        let ends = matches!(stated.drawn.last(), Some(Tile::Value(_)));
        self.same("drawn (ends with a truth tile)", &ends, &true)
    }

    fn cleanup(&mut self) -> Compared {
        let stated: &events::Cleanup = self.take()?;
        let state = *self.state();
        let places = state.places.of(self.names.seats);
        let tokens = places.iter().map(|place| u8::try_from(tokens_of(place.tokens).count()));
        let got = events::Cleanup {
            deck: stated.deck.clone(),
            hands: places.iter().map(|place| place.hand.len()).collect(),
            supply: places.iter().map(|place| place.supply).collect(),
            tokens: tokens.map(|count| count.expect("few tokens")).collect(),
            dust: places.iter().map(|place| place.dust).collect(),
            lyra: state.lyra,
        };
        self.same("", stated, &got)?;
        self.same_deck("deck", &stated.deck)?;
        self.table.clean_up(&stated.deck);
        self.same_table()
    }

    pub(super) fn final_scores(&mut self) -> Compared<Vec<i32>> {
        let stated: &events::Final = self.take()?;
        let Some(outcome) = self.cursor.episode().outcome() else {
            return self.unasked("the end of the game");
        };
        let scores = outcome.scores().iter().zip(Seat::all(self.names.seats));
        let scores = scores.map(|(&total, seat)| {
            let points = self.game.points(self.state(), seat);
            events::Score {
                truth: points.truth,
                experience: points.experience,
                alethiometer: points.alethiometer,
                passages: points.passages,
                total,
            }
        });
        let winners = Seat::all(self.names.seats).filter(|&seat| outcome.is_winner(seat));
        let got = events::Final {
            turns: self.state().turn,
            scores: scores.collect(),
            winners: winners.map(Seat::number).collect(),
        };
        self.same("", stated, &got)?;
        Ok(outcome.scores().to_vec())
    }
}
