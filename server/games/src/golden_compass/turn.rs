//! The course of a turn: spin, red or light blue, Lyra's steps, the end of the turn.

use boardwire_kernel::Chance;

use super::action::Action;
use super::state::{Begun, State, Step};
use super::{GoldenCompass, streams};

impl GoldenCompass {
    /// The current objective, in steps from the start.
    pub(super) fn objective(&self, s: &State) -> u8 {
        self.printed().objectives[usize::from(s.period)]
    }

    /// A new turn of the active seat begins with a spin.
    pub(super) fn begin_turn(&self, s: &mut State, chance: &mut Chance) {
        let mut left = chance.below(streams::WHEEL, self.weights);
        s.axis = 0;
        for (axis, row) in (0u8..).zip(&self.printed().axes) {
            s.axis = axis;
            if left < row.weight {
                break;
            }
            left -= row.weight;
        }
        s.turn += 1;
        s.moved = false;
        s.red = false;
        (s.wild, s.short) = (0, 0);
        s.step = Step::Colour;
    }

    /// Carries out a choice of the turn, and goes on as far as the next.
    pub(super) fn play(&self, s: &mut State, action: Action, chance: &mut Chance) {
        let next = match (s.step, action) {
            (_, Action::Red) => {
                s.red = true;
                let count = self.printed().axes[usize::from(s.axis)].draw;
                self.draw(s, s.active, count, chance, |_| ());
                None
            }
            (_, Action::Blue) => Some(Step::Action),
            (_, Action::EndTurn) => return self.end_turn(s, chance),
            (Step::Action, action) => self.act(s, action),
            (Step::Target(aim), Action::Opponent(left)) => {
                self.hit(s, aim, (s.active + left) % self.seats, chance)
            }
            (Step::Back { victim }, Action::Back(city)) => {
                self.steal_token(s, victim, city, chance);
                None
            }
            (Step::Choose { first, .. }, Action::Choose(option)) => {
                s.program.push(self.printed().options[usize::from(first + option)]);
                None
            }
            (Step::Cost(left), Action::Pay) => Some(Step::Pay { left }),
            (Step::Cost(_), _) => {
                s.program.pop();
                None
            }
            (Step::Steps { .. }, Action::Steps(steps)) => {
                self.advance_lyra(s, steps);
                None
            }
            (_, Action::Token(kind)) => {
                self.lay_token(s, kind);
                None
            }
            (_, Action::Card(card)) => self.put_card(s, card, chance),
            (_, action) => super::action::set_of(action).and_then(|kind| self.begin_set(s, kind, chance)),
        };
        self.go_on(s, next, chance);
    }

    /// A card is discarded, paid, or put into a set.
    fn put_card(&self, s: &mut State, card: u8, chance: &mut Chance) -> Option<Step> {
        match s.step {
            Step::Fill(begun) => {
                let begun: Begun = self.put(s, begun, card);
                self.fill(s, begun, chance)
            }
            Step::Pay { left } => {
                self.discard(s, s.active, card, 0);
                (left > 1).then(|| Step::Pay { left: left - 1 })
            }
            Step::Drop { left } => {
                let fresh = s.fresh.len();
                s.fresh.remove(card);
                self.discard(s, s.active, card, fresh);
                if left > 1 {
                    return Some(Step::Drop { left: left - 1 });
                }
                s.fresh = super::state::Cards::default();
                None
            }
            _ => {
                self.discard(s, s.active, card, 0);
                None
            }
        }
    }

    /// Goes on to `next`, or to whatever comes when nothing is asked for.
    fn go_on(&self, s: &mut State, next: Option<Step>, chance: &mut Chance) {
        let mut next = next;
        loop {
            if let Some(step) = next {
                s.step = step;
                return;
            }
            if s.own().hand.len() > self.printed().hand_limit {
                s.step = Step::Limit; // R9: after every single gain.
                return;
            }
            if let Some(op) = s.program.next() {
                s.op = op + 1;
                next = self.run(s, op, chance);
            } else if s.red {
                let advance = self.printed().axes[usize::from(s.axis)].advance;
                self.advance_lyra(s, advance);
                return self.end_turn(s, chance);
            } else {
                s.op = 0;
                next = Some(Step::Sets);
            }
        }
    }

    /// Lyra goes so many steps, at most to the objective (R20).
    fn advance_lyra(&self, s: &mut State, steps: u8) {
        let to = (s.lyra + steps).min(self.objective(s));
        s.moved |= to != s.lyra;
        s.lyra = to;
    }

    /// The stall guard, and then the next turn or the scoring of the period.
    fn end_turn(&self, s: &mut State, chance: &mut Chance) {
        s.op = 0;
        s.still = if s.moved { 0 } else { s.still.saturating_add(1) };
        if self.guard.is_some_and(|turns| s.still >= turns) {
            self.advance_lyra(s, 1); // R36
            s.still = 0;
        }
        if s.lyra == self.objective(s) {
            self.begin_scoring(s, chance);
        } else {
            s.active = (s.active + 1) % self.seats;
            self.begin_turn(s, chance);
        }
    }
}
