//! What frames the turns beside its record: allies, airship, clean-up, the final scores.

use boardwire_kernel::Seat;

use super::super::action::Action;
use super::super::limits::PERIODS;
use super::super::state::{State, Step};
use super::replay::{Compared, Replayer};
use super::script::{self, Event, Names};

impl Replayer<'_> {
    /// Allies are kept and shown.
    pub(super) fn period(&mut self) -> Compared {
        let period =
            self.take("period", |event| if let Event::Period(event) = event { Some(event) } else { None })?;
        let s = *self.state();
        let name = self.lexicon.catalogue.periods[usize::from(s.period)].clone();
        self.same("period", &period.period, &name)?;
        self.same("first", &period.first, &s.first)?;
        for seat in 0..self.lexicon.seats {
            self.keep(seat)?;
        }
        let allies =
            self.take("allies", |event| if let Event::Allies(event) = event { Some(event) } else { None })?;
        let s = *self.state();
        let seats = 0..self.lexicon.seats;
        let named = |id: fn(&State, u8) -> u8| -> Names {
            seats.clone().map(|seat| self.character(id(&s, seat))).collect()
        };
        self.same("allies", &allies.allies, &named(|s, seat| s.place(seat).ally))?;
        self.same("under", &allies.under, &named(|s, seat| s.place(seat).under))?;
        let values = seats.map(|seat| self.game.magisterium(&s, seat)).collect();
        self.same("magisterium", &allies.magisterium, &values)
    }

    fn character(&self, id: u8) -> String {
        let id = id.checked_sub(1).map(usize::from);
        id.map_or_else(String::new, |id| self.lexicon.catalogue.characters[id].id.clone())
    }

    fn keep(&mut self, seat: u8) -> Compared {
        let keep =
            self.take("keep", |event| if let Event::Keep(event) = event { Some(event) } else { None })?;
        self.same("player", &keep.player, &seat)?;
        let options: Names = self.state().place(seat).dealt.iter().map(|&id| self.character(id)).collect();
        self.same("options", &keep.options, &options)?;
        let both = vec![Action::Keep(0), Action::Keep(1)];
        self.seat_offers("pick", &self.legal(Seat::new(seat)), both)?;
        let Some(which) = options.iter().position(|name| *name == keep.pick) else {
            return self.differs("pick", keep.pick.as_str(), options);
        };
        self.same("passed", &keep.passed, &options[1 - which])?;
        self.play_for("pick", Seat::new(seat), Action::Keep(u8::from(which == 1)))
    }

    /// The holder of the airship, the draft, and what follows.
    pub(super) fn scoring(&mut self) -> Compared {
        if self.state().step == Step::Airship {
            self.airship()?;
        }
        let last = usize::from(self.state().period) == PERIODS - 1;
        self.truth(last)?;
        if last { Ok(()) } else { self.cleanup() }
    }

    fn airship(&mut self) -> Compared {
        let event =
            self.take("airship", |event| if let Event::Airship(event) = event { Some(event) } else { None })?;
        let s = *self.state();
        let holder = s.airship - 1;
        self.same("player", &event.player, &holder)?;
        self.same("cost", &event.cost, &self.game.ransom(&s, holder))?;
        let offered = self.offered();
        let words = [("pay", Action::PayCards), ("tile", Action::GiveTile)];
        let legal: Names = words
            .iter()
            .filter(|(_, action)| offered.contains(action))
            .map(|(word, _)| (*word).to_owned())
            .collect();
        self.same("legal", &event.legal, &legal)?;
        self.sync()?;
        let pays = match event.pick.as_str() {
            "pay" => true,
            "tile" => false,
            other => return self.differs("pick", other, legal),
        };
        self.play("pick", if pays { Action::PayCards } else { Action::GiveTile })?;
        self.pay("cards", holder, &event.cards, |step| matches!(step, Step::Ransom { .. }))?;
        if matches!(self.state().step, Step::Ransom { .. }) {
            return self.differs("cards", event.cards.clone(), "more cards are due");
        }
        self.told.table.airship = None;
        Ok(())
    }

    fn cleanup(&mut self) -> Compared {
        let event =
            self.take("cleanup", |event| if let Event::Cleanup(event) = event { Some(event) } else { None })?;
        let s = *self.state();
        let seats = 0..self.lexicon.seats;
        let count = |value: &dyn Fn(u8) -> u8| seats.clone().map(value).collect::<Vec<_>>();
        self.same("hands", &event.hands, &count(&|seat| s.place(seat).hand.len()))?;
        self.same("supply", &event.supply, &count(&|seat| s.place(seat).supply))?;
        let ones = |mask: u32| u8::try_from(mask.count_ones()).unwrap_or(0);
        self.same("tokens", &event.tokens, &count(&|seat| ones(s.place(seat).tokens)))?;
        self.same("dust", &event.dust, &count(&|seat| s.place(seat).dust))?;
        self.same("lyra", &event.lyra, &s.lyra)?;
        self.same_deck("deck", &event.deck)?;
        self.told.cleaned_up(&event.deck);
        self.sync()
    }

    pub(super) fn final_scores(&mut self) -> Compared<Vec<i32>> {
        let event =
            self.take("final", |event| if let Event::Final(event) = event { Some(event) } else { None })?;
        let s = *self.state();
        self.same("turns", &event.turns, &s.turn)?;
        let Some(outcome) = self.episode.outcome() else {
            return self.unasked("the end of the game");
        };
        for (seat, told) in (0u8..).zip(&event.scores) {
            let points = self.game.points(&s, seat);
            let got = script::Score {
                truth: points.truth,
                experience: points.experience,
                alethiometer: points.alethiometer,
                passages: points.passages,
                total: outcome.scores()[usize::from(seat)],
            };
            self.same(&format!("scores[{seat}]"), told, &got)?;
        }
        let winners = Seat::all(self.lexicon.seats).filter(|&seat| outcome.is_winner(seat));
        self.same("winners", &event.winners, &winners.map(Seat::number).collect())?;
        Ok(outcome.scores().to_vec())
    }
}
