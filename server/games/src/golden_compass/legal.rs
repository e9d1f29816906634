//! Legal actions: actions, targets, options of effects, card sets.

use boardwire_kernel::{ActionSet, BitSet, Choices, Seat, SeatSet};

use super::GoldenCompass;
use super::action::{
    Action, CARD, CHOOSE, OPPONENT, PAIR, SHORT_TRIPLET, STEAL_WITH_BACK, STEPS, TILE, TOKEN, TRIPLET,
};
use super::catalogue::{Blue, CityId, EffectList, Op};
use super::limits::COLLECTING;
use super::state::{Decision, SeatState, SetKind, State, TargetReason, tokens_of};

impl Choices for GoldenCompass {
    fn encode(&self, action: Action) -> u8 {
        action.index()
    }

    fn decode(&self, index: u8) -> Option<Action> {
        self.actions.get(usize::from(index)).copied()
    }

    fn legal(&self, state: &State, seat: Seat) -> ActionSet {
        if !self.must_decide(state, seat) {
            return ActionSet::EMPTY;
        }
        match state.decision {
            Decision::Keep => action_set([Action::Keep(0), Action::Keep(1)]),
            Decision::Colour => action_set([Action::Red, Action::Blue]),
            Decision::Action => {
                let actions = self.blue_actions(state).into_iter();
                action_set(actions.filter_map(|(action, can)| can.then_some(action)).chain([Action::GiveUp]))
            }
            Decision::Target(reason) => {
                let targets = self.targets(state, reason).iter();
                OPPONENT.actions_for::<1>(
                    targets.map(|target| state.active.steps_to(target, self.seats)).collect(),
                )
            }
            Decision::ChooseBack { victim } => STEAL_WITH_BACK.actions_for(Self::backs(state, victim)),
            Decision::Choose { first, count } => CHOOSE.actions_for(self.options(state, first, count, 0)),
            Decision::Cost(_) => action_set([Action::Pay, Action::Decline]),
            Decision::Pay { .. } | Decision::DiscardToLimit => {
                CARD.actions_for(state.active_seat().hand.types())
            }
            Decision::DiscardDrawn { .. } => CARD.actions_for(state.just_drawn.types()),
            Decision::Steps { max } => STEPS.actions_for(BitSet::<1>::below(usize::from(max) + 1)),
            Decision::LayToken => {
                let tokens = tokens_of(state.active_seat().tokens);
                let kinds = tokens.map(|token| self.catalogue().token(token).kind);
                TOKEN.actions_for(kinds.collect::<BitSet<1>>())
            }
            Decision::Sets => {
                let sets = self.sets(state);
                let (spies, wild) = (Action::Play(SetKind::Spies), Action::Play(SetKind::WildPair));
                let alone = [(spies, sets.spies), (wild, sets.wild_pair), (Action::EndTurn, true)];
                action_set(alone.into_iter().filter_map(|(action, can)| can.then_some(action)))
                    .union(PAIR.actions_for(sets.pairs))
                    .union(TRIPLET.actions_for(sets.triplets))
                    .union(SHORT_TRIPLET.actions_for(sets.short_triplets))
            }
            Decision::NameSetCard(partial_set) => {
                CARD.actions_for(self.card_sets.completing(&state.active_seat().hand, partial_set))
            }
            Decision::Airship => {
                let pays = self.can_pay_for_airship(state, seat).then_some(Action::PayCards);
                action_set(pays.into_iter().chain([Action::GiveTile]))
            }
            Decision::PayForAirship { .. } => CARD.actions_for(state.seats[seat].hand.types()),
            Decision::Truth { .. } => TILE.actions_for(state.open_tiles.kinds::<1>()),
            Decision::Over => ActionSet::EMPTY,
        }
    }

    fn is_legal(&self, state: &State, seat: Seat, action: Action) -> bool {
        if !self.must_decide(state, seat) {
            return false;
        }
        match state.decision {
            Decision::Keep => matches!(action, Action::Keep(_)),
            Decision::Colour => matches!(action, Action::Red | Action::Blue),
            Decision::Action => {
                action == Action::GiveUp || self.blue_actions(state).contains(&(action, true))
            }
            Decision::Target(reason) => {
                let is_valid = |left: u8| {
                    let target = state.active.round(self.seats).nth(left.into());
                    target.is_some_and(|seat| is_valid_target(state, seat, reason))
                };
                matches!(action, Action::Opponent(left) if is_valid(left))
            }
            Decision::ChooseBack { victim } => {
                matches!(action, Action::StealWithBack(city) if state.seats[victim].backs[city.index() - 1] > 0)
            }
            Decision::Choose { first, count } => {
                matches!(action, Action::Choose(at) if at < count && self.is_option(state, first + at, 0))
            }
            Decision::Cost(_) => matches!(action, Action::Pay | Action::Decline),
            Decision::Pay { .. } | Decision::DiscardToLimit => {
                matches!(action, Action::Card(card) if state.active_seat().hand.contains(card))
            }
            Decision::DiscardDrawn { .. } => {
                matches!(action, Action::Card(card) if state.just_drawn.contains(card))
            }
            Decision::Steps { max } => matches!(action, Action::Steps(steps) if steps <= max),
            Decision::LayToken => matches!(action, Action::Token(kind)
                if !self.equal_tokens[kind.index()].intersection(state.active_seat().tokens).is_empty()),
            Decision::Sets => match action {
                Action::Play(kind) => self.sets(state).contains(kind),
                other => other == Action::EndTurn,
            },
            Decision::NameSetCard(partial_set) => matches!(action, Action::Card(card)
                if self.card_sets.completing(&state.active_seat().hand, partial_set).contains(card)),
            Decision::Airship => match action {
                Action::PayCards => self.can_pay_for_airship(state, seat),
                other => other == Action::GiveTile,
            },
            Decision::PayForAirship { .. } => {
                matches!(action, Action::Card(card) if state.seats[seat].hand.contains(card))
            }
            Decision::Truth { .. } => {
                matches!(action, Action::Tile(tile) if state.open_tiles.count(tile.get()) > 0)
            }
            Decision::Over => false,
        }
    }
}

impl GoldenCompass {
    /// Returns whether `seat` must decide.
    #[inline]
    fn must_decide(&self, state: &State, seat: Seat) -> bool {
        if state.decision == Decision::Keep {
            seat.number() < self.seats && state.seats[seat].kept_index.is_none()
        } else {
            state.chooser() == Some(seat)
        }
    }

    /// Returns the opponents that the active seat may name.
    pub(super) fn targets(&self, state: &State, reason: TargetReason) -> SeatSet {
        self.all_seats().filter(|&seat| is_valid_target(state, seat, reason)).collect()
    }

    pub(super) fn has_target(&self, state: &State, reason: TargetReason) -> bool {
        self.all_seats().any(|seat| is_valid_target(state, seat, reason))
    }

    /// Returns the cities whose token backs `victim` holds.
    pub(super) fn backs(state: &State, victim: Seat) -> BitSet<1> {
        let cities = (1u8..).zip(state.seats[victim].backs);
        cities.filter(|(_, count)| *count > 0).map(|(city, _)| city).collect()
    }

    /// Returns the city whose tokens count now.
    pub(super) fn current_city(&self, state: &State) -> Option<CityId> {
        self.catalogue().current_city(state.period, state.lyra)
    }

    /// Returns whether a token can be taken from the current city.
    pub(super) fn can_take_token(&self, state: &State) -> bool {
        let city = self.current_city(state).map(CityId::index);
        city.is_some_and(|city| city <= COLLECTING && !state.city_tokens[city - 1].is_empty())
    }

    /// Returns whether the active seat can lay out a token in the current city (R15).
    pub(super) fn can_lay_token(&self, state: &State) -> bool {
        let seat_state = state.active_seat();
        !seat_state.tokens.is_empty() && seat_state.supply > 0 && self.has_circle(state)
    }

    fn has_circle(&self, state: &State) -> bool {
        let Some(city) = self.current_city(state).filter(|_| state.is_last_period()) else {
            return false;
        };
        state.circles[Self::circle(city)].len() < self.catalogue().city(city).slots.into()
    }

    /// Returns the index of a city of the last period in [`State::circles`].
    pub(super) fn circle(city: CityId) -> usize {
        city.index() - 1 - COLLECTING
    }

    /// Returns the light-blue actions, except giving up, and whether each is available.
    pub(super) fn blue_actions(&self, state: &State) -> [(Action, bool); 4] {
        let axis = state.axis.expect("a turn begins with a spin");
        let blue = self.catalogue().axis(axis).blue;
        let shown = |symbol: Blue| blue == symbol || blue == Blue::FreeChoice;
        let can_use_ally = || self.is_list_possible(state, self.power(state.active_seat()), 0);
        [
            (Action::Alethiometer, shown(Blue::Alethiometer) && state.active_seat().supply > 0),
            (Action::Magisterium, shown(Blue::Magisterium) && self.has_target(state, TargetReason::Airship)),
            (Action::Ally, shown(Blue::Ally) && can_use_ally()),
            (Action::Dust, shown(Blue::Dust) && self.can_take_dust(state)),
        ]
    }

    /// Returns the power of a seat's ally.
    pub(super) fn power(&self, seat_state: &SeatState) -> EffectList {
        let ally = seat_state.ally.expect("allies are shown before turns begin");
        self.catalogue().character(ally).power
    }

    fn can_take_dust(&self, state: &State) -> bool {
        state.dust > 0 || self.has_target(state, TargetReason::Dust)
    }

    /// Returns whether a list of effects can change something. `spent` cards are reserved for earlier costs.
    pub(super) fn is_list_possible(&self, state: &State, list: EffectList, spent: u8) -> bool {
        for (at, &op) in (list.start..).zip(list.of(&self.catalogue().ops)) {
            if let Op::Spend(count) = op {
                let spent = spent.saturating_add(count);
                let rest = EffectList { start: at + 1, ..list };
                return state.active_seat().hand.len() >= spent && self.is_list_possible(state, rest, spent);
            }
            if self.is_possible(state, op, spent) {
                return true;
            }
        }
        false
    }

    /// Returns whether an effect that is not a cost can change something now.
    pub(super) fn is_possible(&self, state: &State, op: Op, spent: u8) -> bool {
        match op {
            Op::Draw(_) | Op::DrawKeep { .. } => !(state.deck.is_empty() && state.discard.is_empty()),
            Op::StealCard(count) => self.has_target(state, TargetReason::Cards(count)),
            Op::PlaceCompass(_) => state.active_seat().supply > 0,
            Op::RemoveCompass(count) => self.has_target(state, TargetReason::Compass(count)),
            Op::TakeDust => self.can_take_dust(state),
            Op::MoveAirship => self.has_target(state, TargetReason::Airship),
            Op::TakeExperience => self.can_take_token(state),
            Op::PlaceExperience => self.can_lay_token(state),
            Op::StealExperience => self.has_target(state, TargetReason::Token),
            Op::Advance(_) => state.lyra != self.objective(state),
            Op::WildPair(_) | Op::ShortTriplet(_) => true,
            Op::ChooseOne { first, count } => {
                (first..first + count).any(|list| self.is_option(state, list, spent))
            }
            Op::Spend(_) => false,
        }
    }

    /// Returns the possible options of a choice, counted from 0.
    pub(super) fn options(&self, state: &State, first: u8, count: u8, spent: u8) -> BitSet<1> {
        (0..count).filter(|option| self.is_option(state, first + option, spent)).collect()
    }

    fn is_option(&self, state: &State, list: u8, spent: u8) -> bool {
        self.is_list_possible(state, self.catalogue().options[usize::from(list)], spent)
    }

    /// Returns whether the holder of the airship can pay cards for it (R23).
    fn can_pay_for_airship(&self, state: &State, holder: Seat) -> bool {
        let seat_state = &state.seats[holder];
        seat_state.hand.len() >= self.airship_price(seat_state)
    }
}

/// Returns whether the active seat may name `seat`.
#[inline]
fn is_valid_target(state: &State, seat: Seat, reason: TargetReason) -> bool {
    let seat_state = &state.seats[seat];
    seat != state.active
        && match reason {
            TargetReason::Airship => state.airship != Some(seat), // R11
            TargetReason::Dust => state.dust == 0 && seat_state.dust > 0,
            TargetReason::Cards(_) => !seat_state.hand.is_empty(),
            TargetReason::Token => !seat_state.tokens.is_empty(),
            TargetReason::Compass(_) => seat_state.compass > 0,
        }
}

#[inline]
fn action_set(actions: impl IntoIterator<Item = Action>) -> ActionSet {
    actions.into_iter().map(Action::index).collect()
}
