//! The course of the game: the deal, the effect of every choice, and the turns.
//!
//! A choice leads to the next decision or to none. Without one the game continues on its own with the hand limit and the
//! remaining effects. Then a red turn ends, and a light-blue turn offers sets.

pub(super) mod effects;
pub(super) mod hands;
pub(super) mod period;
pub(super) mod sets;

use boardwire_kernel::{BySeat, LegalChoice, RandomSource, Seat, SeatSet, Turns};

use super::action::Action;
use super::catalogue::{CardId, TokenSet};
use super::limits::{CARDS, COLLECTING, MAX_SEATS, PLACING};
use super::memory::Memory;
use super::state::{CharacterSet, Decision, EffectStack, Hand, Pile, State, TargetReason, TilePile};
use super::{GoldenCompass, streams};
use effects::{lay_compass, take_dust};

impl Turns for GoldenCompass {
    fn deal(&self, chance: &mut RandomSource) -> State {
        let catalogue = self.catalogue();
        let first = chance.below(streams::FIRST, self.seats.into());
        let first = Seat::new(u8::try_from(first).expect("a seat number is below MAX_SEATS"));
        let mut state = self.empty(first);
        for seat in self.all_seats() {
            self.draw(&mut state, seat, catalogue.starting_hand, chance, |_| ());
            state.seats[seat].supply = catalogue.compass;
        }
        self.begin_period(&mut state, chance);
        state
    }

    fn pending(&self, state: &State) -> SeatSet {
        if state.decision == Decision::Keep {
            self.all_seats().filter(|&seat| state.seats[seat].kept_index.is_none()).collect()
        } else {
            state.chooser().map_or(SeatSet::EMPTY, SeatSet::only)
        }
    }

    fn advance(&self, state: &mut State, choice: LegalChoice<Action>, chance: &mut RandomSource) {
        let seat = choice.seat();
        match (state.decision, choice.action()) {
            (Decision::Keep, Action::Keep(which)) => self.keep(state, seat, which, chance),
            (Decision::Airship, Action::PayCards) => {
                let left = self.airship_price(&state.seats[seat]);
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
            (Decision::Truth { draft_index, left }, Action::Tile(tile)) => {
                self.take_tile(state, draft_index, left, tile, chance);
            }
            (Decision::Sets, Action::EndTurn) => self.end_turn(state, chance),
            (_, action) => {
                let next = self.play(state, action, chance);
                self.continue_turn(state, next, chance);
            }
        }
    }
}

impl GoldenCompass {
    /// Returns the board before anything is dealt.
    pub(super) fn empty(&self, first: Seat) -> State {
        let catalogue = self.catalogue();
        let mut city_tokens = [TokenSet::EMPTY; COLLECTING];
        for (pile, city) in city_tokens.iter_mut().zip(&catalogue.cities) {
            *pile = city.tokens;
        }
        let bag = std::iter::once(0).chain(catalogue.tiles.iter().map(|tile| tile.count));
        State {
            decision: Decision::Keep,
            period: 0,
            first_seat: first,
            active: first,
            turn: 0,
            idle_turns: 0,
            has_moved: false,
            is_red: false,
            axis: None,
            lyra: 0,
            seats: BySeat::default(),
            memory: BySeat::new([Memory::new(self.copies, catalogue.tokens.len()); MAX_SEATS]),
            memories_disabled: false,
            deck: Pile::of(self.blocks.iter().map(|block| block.len)),
            discard: Pile::EMPTY,
            not_discarded_mask: [u8::MAX; CARDS],
            city_tokens,
            circles: [TokenSet::EMPTY; PLACING],
            dust: catalogue.dust,
            airship: None,
            undealt_characters: CharacterSet::EMPTY,
            effect_stack: EffectStack::default(),
            effect: None,
            just_drawn: Hand::default(),
            wild_pair_rights: 0,
            short_triplet_rights: 0,
            bag: TilePile::of(bag),
            open_tiles: TilePile::EMPTY,
            passages: catalogue.passages,
            drawn_passages: 0,
            gave_up: None,
            order: [Seat::FIRST; MAX_SEATS],
        }
    }

    /// Applies a choice within a turn. Returns the decision that it leads to, if any.
    fn play(&self, state: &mut State, action: Action, chance: &mut RandomSource) -> Option<Decision> {
        match (state.decision, action) {
            (Decision::Colour, Action::Red) => self.choose_red(state, chance),
            (Decision::Colour, Action::Blue) => return Some(Decision::Action),
            (Decision::Action, Action::Alethiometer) => lay_compass(state, self.catalogue().action_compass),
            (Decision::Action, Action::Magisterium) => return Some(Decision::Target(TargetReason::Airship)),
            (Decision::Action, Action::Dust) => return take_dust(state),
            (Decision::Action, Action::Ally) => state.effect_stack.push(self.power(state.active_seat())),
            (Decision::Action, Action::GiveUp) => {}
            (Decision::Target(reason), Action::Opponent(left)) => {
                return self.apply_to_target(state, reason, state.active.clockwise(left, self.seats), chance);
            }
            (Decision::ChooseBack { victim }, Action::StealWithBack(city)) => {
                self.steal_token(state, victim, city, chance);
            }
            (Decision::Choose { first, .. }, Action::Choose(option)) => {
                state.effect_stack.push(self.catalogue().options[usize::from(first + option)]);
            }
            (Decision::Cost(left), Action::Pay) => return Some(Decision::Pay { left }),
            (Decision::Cost(_), Action::Decline) => state.effect_stack.pop(),
            (Decision::Pay { left }, Action::Card(card)) => {
                self.discard(state, state.active, card, 0);
                return (left > 1).then(|| Decision::Pay { left: left - 1 });
            }
            (Decision::DiscardDrawn { left }, Action::Card(card)) => {
                return self.drop_card(state, left, card);
            }
            (Decision::DiscardToLimit, Action::Card(card)) => self.discard(state, state.active, card, 0),
            (Decision::Steps { .. }, Action::Steps(steps)) => self.advance_lyra(state, steps),
            (Decision::LayToken, Action::Token(kind)) => self.lay_token(state, kind),
            (Decision::NameSetCard(partial_set), Action::Card(card)) => {
                let partial_set = self.put(state, partial_set, card);
                return self.fill(state, partial_set, chance);
            }
            (Decision::Sets, Action::Play(kind)) => return self.start_set(state, kind, chance),
            (
                Decision::Keep
                | Decision::Colour
                | Decision::Action
                | Decision::Target(_)
                | Decision::ChooseBack { .. }
                | Decision::Choose { .. }
                | Decision::Cost(_)
                | Decision::Pay { .. }
                | Decision::DiscardDrawn { .. }
                | Decision::DiscardToLimit
                | Decision::Steps { .. }
                | Decision::LayToken
                | Decision::Sets
                | Decision::NameSetCard(_)
                | Decision::Airship
                | Decision::PayForAirship { .. }
                | Decision::Truth { .. }
                | Decision::Over,
                action,
            ) => unreachable!("{action:?} is not a legal answer to {:?}", state.decision),
        }
        None
    }

    /// Chooses red, and draws the cards of the red symbol.
    fn choose_red(&self, state: &mut State, chance: &mut RandomSource) {
        state.is_red = true;
        let axis = state.axis.expect("a turn begins with a spin");
        let count = self.catalogue().axis(axis).draw;
        self.draw(state, state.active, count, chance, |_| ());
    }

    /// Discards one of the cards just drawn. `left` cards are due, this one included.
    fn drop_card(&self, state: &mut State, left: u8, card: CardId) -> Option<Decision> {
        let just_drawn = state.just_drawn.len();
        state.just_drawn.remove(card);
        self.discard(state, state.active, card, just_drawn);
        if left > 1 {
            return Some(Decision::DiscardDrawn { left: left - 1 });
        }
        state.just_drawn = Hand::default();
        None
    }

    /// Continues with the decision `next`, or with the next automatic step if there is none.
    fn continue_turn(&self, state: &mut State, next: Option<Decision>, chance: &mut RandomSource) {
        let mut next = next;
        loop {
            if let Some(decision) = next {
                state.decision = decision;
                return;
            }
            if state.active_seat().hand.len() > self.catalogue().hand_limit {
                state.decision = Decision::DiscardToLimit; // R9: after every single gain.
                return;
            }
            if let Some(effect) = state.effect_stack.next() {
                state.effect = Some(effect);
                next = self.carry_out(state, self.catalogue().effect(effect), chance);
            } else if state.is_red {
                let axis = state.axis.expect("a turn begins with a spin");
                self.advance_lyra(state, self.catalogue().axis(axis).advance);
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
        self.catalogue().objectives[usize::from(state.period)]
    }

    /// Starts a new turn of the active seat with a spin.
    pub(super) fn begin_turn(&self, state: &mut State, chance: &mut RandomSource) {
        let weights = u32::try_from(self.wheel.len()).expect("the sum of the weights is at most WEIGHTS");
        state.axis = Some(self.wheel[chance.below(streams::WHEEL, weights) as usize]);
        state.turn += 1;
        state.has_moved = false;
        state.is_red = false;
        (state.wild_pair_rights, state.short_triplet_rights) = (0, 0);
        state.decision = Decision::Colour;
    }

    /// Moves Lyra by this number of steps, at most to the objective (R20).
    fn advance_lyra(&self, state: &mut State, steps: u8) {
        let to = (state.lyra + steps).min(self.objective(state));
        state.has_moved |= to != state.lyra;
        state.lyra = to;
    }

    /// Applies the stall guard. Then starts the next turn or the scoring of the period.
    fn end_turn(&self, state: &mut State, chance: &mut RandomSource) {
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
