//! Light-blue actions and ally powers: what is possible, whom they may hit, and carrying them out.
//!
//! A power is a list of effects in [`super::catalogue::Catalogue::ops`]. The state holds which effect of which list comes
//! next, so that a power can stop for a choice and go on with the next ply.

use boardwire_kernel::{BitSet, Chance};

use super::GoldenCompass;
use super::action::Action;
use super::catalogue::{Blue, Op};
use super::state::{Aim, State, Step, bits};

impl GoldenCompass {
    /// The opponents of the active seat that may be named, as a set of seats.
    pub(super) fn targets(&self, s: &State, aim: Aim) -> BitSet<1> {
        (0..self.seats).filter(|&seat| seat != s.active && hits(s, seat, aim)).collect()
    }

    fn has_target(&self, s: &State, aim: Aim) -> bool {
        (0..self.seats).any(|seat| seat != s.active && hits(s, seat, aim))
    }

    /// Whether an opponent has an unplaced token (8.2, spies).
    pub(super) fn can_steal_token(&self, s: &State) -> bool {
        self.has_target(s, Aim::Token)
    }

    /// Whether a token can be taken from the current city.
    pub(super) fn can_take_token(&self, s: &State) -> bool {
        let city = self.printed().current_city(s.period, s.lyra);
        city.is_some_and(|city| s.piles.get(usize::from(city)).is_some_and(|&pile| pile != 0))
    }

    /// Whether the active seat can lay out a token in the current city (R15).
    pub(super) fn can_lay_token(&self, s: &State) -> bool {
        let own = s.own();
        own.tokens != 0 && own.supply > 0 && self.has_circle(s)
    }

    fn has_circle(&self, s: &State) -> bool {
        let city = self.printed().current_city(s.period, s.lyra);
        city.is_some_and(|city| {
            let slots = self.printed().cities[usize::from(city)].slots;
            s.places_tokens() && s.circles[Self::circle(city)].count_ones() < slots.into()
        })
    }

    /// The light-blue actions on offer, besides giving the action up.
    pub(super) fn blue_actions(&self, s: &State) -> impl Iterator<Item = Action> {
        let blue = self.printed().axes[usize::from(s.axis)].blue;
        let offered = move |symbol: Blue| blue == symbol || blue == Blue::FreeChoice;
        let ally = self.printed().characters[usize::from(s.own().ally) - 1].list;
        [
            (Action::Alethiometer, offered(Blue::Alethiometer) && s.own().supply > 0),
            (Action::Magisterium, offered(Blue::Magisterium) && self.has_target(s, Aim::Airship)),
            (Action::Ally, offered(Blue::Ally) && self.is_list_possible(s, ally, 0)),
            (Action::Dust, offered(Blue::Dust) && self.can_take_dust(s)),
        ]
        .into_iter()
        .filter_map(|(action, possible)| possible.then_some(action))
    }

    fn can_take_dust(&self, s: &State) -> bool {
        s.dust > 0 || self.has_target(s, Aim::Dust)
    }

    /// Whether a list of effects can change something, `spent` cards being promised to earlier costs.
    pub(super) fn is_list_possible(&self, s: &State, list: (u8, u8), spent: u8) -> bool {
        for at in list.0..list.1 {
            match self.printed().ops[usize::from(at)] {
                Op::Spend(count) => {
                    let spent = spent.saturating_add(count);
                    return s.own().hand.len() >= spent && self.is_list_possible(s, (at + 1, list.1), spent);
                }
                op if self.is_possible(s, op, spent) => return true,
                _ => {}
            }
        }
        false
    }

    /// Whether an effect that is no cost can change something now.
    fn is_possible(&self, s: &State, op: Op, spent: u8) -> bool {
        match op {
            Op::Draw(_) | Op::DrawKeep { .. } => s.deck_len > 0 || s.discard_len > 0,
            Op::StealCard(count) => self.has_target(s, Aim::Cards(count)),
            Op::PlaceCompass(_) => s.own().supply > 0,
            Op::RemoveCompass(count) => self.has_target(s, Aim::Compass(count)),
            Op::TakeDust => self.can_take_dust(s),
            Op::MoveAirship => self.has_target(s, Aim::Airship),
            Op::TakeExperience => self.can_take_token(s),
            Op::PlaceExperience => self.can_lay_token(s),
            Op::StealExperience => self.can_steal_token(s),
            Op::Advance(_) => s.lyra != self.objective(s),
            Op::WildPair(_) | Op::ShortTriplet(_) => true,
            Op::ChooseOne { first, count } => !self.options(s, first, count, spent).is_empty(),
            Op::Spend(_) => false,
        }
    }

    /// The options of a choice that are possible, counted from 0.
    pub(super) fn options(&self, s: &State, first: u8, count: u8, spent: u8) -> BitSet<1> {
        let list = |option: u8| self.printed().options[usize::from(first + option)];
        (0..count).filter(|&option| self.is_list_possible(s, list(option), spent)).collect()
    }

    /// Carries out the next effect, as far as a choice: the step that asks for it.
    pub(super) fn run(&self, s: &mut State, at: u8, chance: &mut Chance) -> Option<Step> {
        let op = self.printed().ops[usize::from(at)];
        if let Op::Spend(count) = op {
            // A cost is asked only if it can be paid for something; else its list ends.
            if s.own().hand.len() >= count && self.is_list_possible(s, s.program.rest(), count) {
                return Some(Step::Cost(count));
            }
            s.program.pop();
            return None;
        }
        if !self.is_possible(s, op, 0) {
            return None;
        }
        match op {
            Op::Draw(count) => self.draw(s, s.active, count, chance, |_| ()),
            Op::DrawKeep { draw, keep } => return self.draw_keep(s, draw, keep, chance),
            Op::StealCard(count) => return Some(Step::Target(Aim::Cards(count))),
            Op::PlaceCompass(count) => lay_compass(s, count),
            Op::RemoveCompass(count) => return Some(Step::Target(Aim::Compass(count))),
            Op::TakeDust => return take_dust(s),
            Op::MoveAirship => return Some(Step::Target(Aim::Airship)),
            Op::TakeExperience => self.take_token(s, chance),
            Op::PlaceExperience => return Some(Step::Lay),
            Op::StealExperience => return Some(Step::Target(Aim::Token)),
            Op::Advance(steps) => {
                let max = steps.min(self.objective(s) - s.lyra);
                return Some(Step::Steps { max });
            }
            Op::WildPair(count) => s.wild = s.wild.saturating_add(count),
            Op::ShortTriplet(count) => s.short = s.short.saturating_add(count),
            Op::ChooseOne { first, count } => return Some(Step::Choose { first, count }),
            Op::Spend(_) => {}
        }
        None
    }

    fn draw_keep(&self, s: &mut State, draw: u8, keep: u8, chance: &mut Chance) -> Option<Step> {
        let mut fresh = s.fresh;
        self.draw(s, s.active, draw, chance, |card| fresh.insert(card));
        let left = fresh.len().saturating_sub(keep);
        if left == 0 {
            return None;
        }
        s.fresh = fresh;
        Some(Step::Drop { left })
    }

    /// Carries out a light-blue action: the step that asks for a choice, if any.
    pub(super) fn act(&self, s: &mut State, action: Action) -> Option<Step> {
        match action {
            Action::Alethiometer => lay_compass(s, self.printed().action_compass),
            Action::Magisterium => return Some(Step::Target(Aim::Airship)),
            Action::Dust => return take_dust(s),
            Action::Ally => {
                let ally = usize::from(s.own().ally) - 1;
                s.program.push(self.printed().characters[ally].list);
            }
            _ => {}
        }
        None
    }

    /// What was aimed hits `target`: the step that asks for more, if any.
    pub(super) fn hit(&self, s: &mut State, aim: Aim, target: u8, chance: &mut Chance) -> Option<Step> {
        match aim {
            Aim::Airship => s.airship = target + 1,
            Aim::Dust => {
                s.place_mut(target).dust -= 1;
                s.own_mut().dust += 1;
            }
            Aim::Cards(count) => {
                for _ in 0..count.min(s.place(target).hand.len()) {
                    self.steal_card(s, target, chance);
                }
            }
            Aim::Token => return Some(Step::Back { victim: target }),
            Aim::Compass(count) => {
                let place = s.place_mut(target);
                let back = count.min(place.compass);
                place.compass -= back;
                place.supply += back;
            }
        }
        None
    }

    /// The cities whose backs `victim` holds.
    pub(super) fn backs(&self, s: &State, victim: u8) -> BitSet<1> {
        let city = |token: u8| self.printed().tokens[usize::from(token)].city;
        bits(s.place(victim).tokens).map(city).collect()
    }
}

/// Whether `seat` can be hit.
fn hits(s: &State, seat: u8, aim: Aim) -> bool {
    let place = s.place(seat);
    match aim {
        Aim::Airship => s.airship != seat + 1, // R11
        Aim::Dust => s.dust == 0 && place.dust > 0,
        Aim::Cards(_) => place.hand.len() > 0,
        Aim::Token => place.tokens != 0,
        Aim::Compass(_) => place.compass > 0,
    }
}

/// The active seat lays up to `count` compass tiles on the objective (R34).
pub(super) fn lay_compass(s: &mut State, count: u8) {
    let own = s.own_mut();
    let laid = count.min(own.supply);
    own.supply -= laid;
    own.compass += laid;
}

/// Takes dust from the supply, or asks from whom.
fn take_dust(s: &mut State) -> Option<Step> {
    if s.dust == 0 {
        return Some(Step::Target(Aim::Dust));
    }
    s.dust -= 1;
    s.own_mut().dust += 1;
    None
}
