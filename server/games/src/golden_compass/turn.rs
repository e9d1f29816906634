//! The course of the game: the deal, the effect of every choice, and the turns.
//!
//! A choice leads to the next decision or to none. Without one the game continues on its own with the hand limit and the
//! remaining effects. Then a red turn ends, and a light-blue turn offers sets.

pub(super) mod effects;
pub(super) mod hands;
pub(super) mod period;
pub(super) mod sets;

use boardwire_kernel::{BySeat, Chance, Legal, Seat, SeatSet, Turns};

use super::action::Action;
use super::catalogue::{CardId, TokenSet};
use super::limits::{CARDS, COLLECTING, PLACING, SEATS};
use super::memory::Memory;
use super::state::{Aim, CharacterSet, Decision, Hand, Pile, Program, State, TilePile};
use super::{GoldenCompass, streams};
use effects::{lay_compass, take_dust};

impl Turns for GoldenCompass {
    fn deal(&self, chance: &mut Chance) -> State {
        let catalogue = self.printed();
        let first = chance.below(streams::FIRST, self.seats.into());
        let first = Seat::new(u8::try_from(first).expect("one of a few seats"));
        let mut state = self.empty(first);
        for seat in self.all_seats() {
            self.draw(&mut state, seat, catalogue.starting_hand, chance, |_| ());
            state.places[seat].supply = catalogue.compass;
        }
        self.begin_period(&mut state, chance);
        state
    }

    fn pending(&self, state: &State) -> SeatSet {
        if state.decision == Decision::Keep {
            self.all_seats().filter(|&seat| state.places[seat].kept.is_none()).collect()
        } else {
            state.chooser().map_or(SeatSet::EMPTY, SeatSet::only)
        }
    }

    fn advance(&self, state: &mut State, choice: Legal<Action>, chance: &mut Chance) {
        let seat = choice.seat();
        match (state.decision, choice.action()) {
            (Decision::Keep, Action::Keep(which)) => self.keep(state, seat, which, chance),
            (Decision::Airship, Action::PayCards) => {
                let left = self.airship_price(&state.places[seat]);
                self.settle_airship(state, left, chance);
            }
            (Decision::Airship, Action::GiveTile) => {
                state.gave_up = Some(seat);
                self.settle_airship(state, 0, chance);
            }
            (Decision::PayForAirship { left }, Action::Card(card)) => {
                self.discard(state, seat, card, 0);
                self.settle_airship(state, left - 1, chance);
            }
            (Decision::Truth { place, left }, Action::Tile(tile)) => {
                self.take_tile(state, place, left, tile, chance);
            }
            (Decision::Sets, Action::EndTurn) => self.end_turn(state, chance),
            (_, action) => {
                let next = self.play(state, action, chance);
                self.go_on(state, next, chance);
            }
        }
    }
}

impl GoldenCompass {
    /// Returns the board before anything is dealt.
    pub(super) fn empty(&self, first: Seat) -> State {
        let catalogue = self.printed();
        let mut piles = [TokenSet::EMPTY; COLLECTING];
        for (pile, city) in piles.iter_mut().zip(&catalogue.cities) {
            *pile = city.tokens;
        }
        let bag = std::iter::once(0).chain(catalogue.tiles.iter().map(|tile| tile.count));
        State {
            decision: Decision::Keep,
            period: 0,
            first,
            active: first,
            turn: 0,
            idle_turns: 0,
            has_moved: false,
            is_red: false,
            axis: None,
            lyra: 0,
            places: BySeat::default(),
            memory: BySeat::new([Memory::new(self.copies, catalogue.tokens.len()); SEATS]),
            forgets: false,
            deck: Pile::of(self.blocks.iter().map(|block| block.len)),
            discard: Pile::EMPTY,
            not_discarded: [u8::MAX; CARDS],
            piles,
            circles: [TokenSet::EMPTY; PLACING],
            dust: catalogue.dust,
            airship: None,
            unseen: CharacterSet::EMPTY,
            program: Program::default(),
            effect: None,
            just_drawn: Hand::default(),
            wild: 0,
            short: 0,
            bag: TilePile::of(bag),
            open: TilePile::EMPTY,
            passages: catalogue.passages,
            drawn_passages: 0,
            gave_up: None,
            order: [Seat::FIRST; SEATS],
        }
    }

    /// Applies a choice within a turn. Returns the decision that it leads to, if any.
    fn play(&self, state: &mut State, action: Action, chance: &mut Chance) -> Option<Decision> {
        match (state.decision, action) {
            (Decision::Colour, Action::Red) => {
                state.is_red = true;
                let axis = state.axis.expect("a turn begins with a spin");
                let count = self.printed().axis(axis).draw;
                self.draw(state, state.active, count, chance, |_| ());
            }
            (Decision::Colour, Action::Blue) => return Some(Decision::Action),
            (Decision::Action, Action::Alethiometer) => lay_compass(state, self.printed().action_compass),
            (Decision::Action, Action::Magisterium) => return Some(Decision::Target(Aim::Airship)),
            (Decision::Action, Action::Dust) => return take_dust(state),
            (Decision::Action, Action::Ally) => state.program.push(self.power(state.acting())),
            (Decision::Action, Action::GiveUp) => {}
            (Decision::Target(aim), Action::Opponent(left)) => {
                return self.hit(state, aim, state.active.clockwise(left, self.seats), chance);
            }
            (Decision::Back { victim }, Action::Back(city)) => self.steal_token(state, victim, city, chance),
            (Decision::Choose { first, .. }, Action::Choose(option)) => {
                state.program.push(self.printed().options[usize::from(first + option)]);
            }
            (Decision::Cost(left), Action::Pay) => return Some(Decision::Pay { left }),
            (Decision::Cost(_), Action::Decline) => state.program.pop(),
            (Decision::Pay { left }, Action::Card(card)) => {
                self.discard(state, state.active, card, 0);
                return (left > 1).then(|| Decision::Pay { left: left - 1 });
            }
            (Decision::Drop { left }, Action::Card(card)) => return self.drop_card(state, left, card),
            (Decision::Limit, Action::Card(card)) => self.discard(state, state.active, card, 0),
            (Decision::Steps { .. }, Action::Steps(steps)) => self.advance_lyra(state, steps),
            (Decision::Lay, Action::Token(kind)) => self.lay_token(state, kind),
            (Decision::Fill(begun), Action::Card(card)) => {
                let begun = self.put(state, begun, card);
                return self.fill(state, begun, chance);
            }
            (Decision::Sets, Action::Play(kind)) => return self.begin_set(state, kind, chance),
            (
                Decision::Keep
                | Decision::Colour
                | Decision::Action
                | Decision::Target(_)
                | Decision::Back { .. }
                | Decision::Choose { .. }
                | Decision::Cost(_)
                | Decision::Pay { .. }
                | Decision::Drop { .. }
                | Decision::Limit
                | Decision::Steps { .. }
                | Decision::Lay
                | Decision::Sets
                | Decision::Fill(_)
                | Decision::Airship
                | Decision::PayForAirship { .. }
                | Decision::Truth { .. }
                | Decision::Over,
                action,
            ) => unreachable!("{action:?} is no legal answer to {:?}", state.decision),
        }
        None
    }

    /// Discards one of the cards just drawn. `left` cards are due, this one included.
    fn drop_card(&self, state: &mut State, left: u8, card: CardId) -> Option<Decision> {
        let just_drawn = state.just_drawn.len();
        state.just_drawn.remove(card);
        self.discard(state, state.active, card, just_drawn);
        if left > 1 {
            return Some(Decision::Drop { left: left - 1 });
        }
        state.just_drawn = Hand::default();
        None
    }

    /// Continues with the decision `next`, or with the next automatic step if there is none.
    fn go_on(&self, state: &mut State, next: Option<Decision>, chance: &mut Chance) {
        let mut next = next;
        loop {
            if let Some(decision) = next {
                state.decision = decision;
                return;
            }
            if state.acting().hand.len() > self.printed().hand_limit {
                state.decision = Decision::Limit; // R9: after every single gain.
                return;
            }
            if let Some(effect) = state.program.next() {
                state.effect = Some(effect);
                next = self.carry_out(state, self.printed().effect(effect), chance);
            } else if state.is_red {
                let axis = state.axis.expect("a turn begins with a spin");
                self.advance_lyra(state, self.printed().axis(axis).advance);
                return self.end_turn(state, chance);
            } else {
                state.effect = None;
                next = Some(Decision::Sets);
            }
        }
    }

    /// Returns the current objective, in steps from the start.
    #[inline]
    pub(super) fn objective(&self, state: &State) -> u8 {
        self.printed().objectives[usize::from(state.period)]
    }

    /// Starts a new turn of the active seat with a spin.
    pub(super) fn begin_turn(&self, state: &mut State, chance: &mut Chance) {
        let weights = u32::try_from(self.wheel.len()).expect("weights add up to little");
        state.axis = Some(self.wheel[chance.below(streams::WHEEL, weights) as usize]);
        state.turn += 1;
        state.has_moved = false;
        state.is_red = false;
        (state.wild, state.short) = (0, 0);
        state.decision = Decision::Colour;
    }

    /// Moves Lyra by this number of steps, at most to the objective (R20).
    fn advance_lyra(&self, state: &mut State, steps: u8) {
        let to = (state.lyra + steps).min(self.objective(state));
        state.has_moved |= to != state.lyra;
        state.lyra = to;
    }

    /// Applies the stall guard. Then starts the next turn or the scoring of the period.
    fn end_turn(&self, state: &mut State, chance: &mut Chance) {
        state.effect = None;
        state.idle_turns = if state.has_moved { 0 } else { state.idle_turns.saturating_add(1) };
        if self.guard.is_some_and(|turns| state.idle_turns >= turns) {
            self.advance_lyra(state, 1); // R36
            state.idle_turns = 0;
        }
        if state.lyra == self.objective(state) {
            self.begin_scoring(state, chance);
        } else {
            state.active = self.left_of(state.active);
            self.begin_turn(state, chance);
        }
    }
}
