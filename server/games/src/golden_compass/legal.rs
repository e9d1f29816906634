//! Legal actions: actions, targets, options of effects, card sets.

use boardwire_kernel::{ActionSet, BitSet, Choices, Seat, SeatSet};

use super::GoldenCompass;
use super::action::{Action, BACK, CARD, CHOOSE, OPPONENT, PAIR, SHORT, STEPS, TILE, TOKEN, TRIPLET};
use super::catalogue::{Blue, CityId, EffectList, Op};
use super::limits::COLLECTING;
use super::state::{Aim, Decision, Place, SetKind, State, tokens_of};

impl Choices for GoldenCompass {
    fn encode(&self, action: Action) -> u8 {
        action.index()
    }

    fn decode(&self, index: u8) -> Option<Action> {
        self.actions.get(usize::from(index)).copied()
    }

    fn legal(&self, state: &State, seat: Seat) -> ActionSet {
        if !self.owes(state, seat) {
            return ActionSet::EMPTY;
        }
        match state.decision {
            Decision::Keep => these([Action::Keep(0), Action::Keep(1)]),
            Decision::Colour => these([Action::Red, Action::Blue]),
            Decision::Action => {
                let actions = self.blue_actions(state).into_iter();
                these(actions.filter_map(|(action, can)| can.then_some(action)).chain([Action::GiveUp]))
            }
            Decision::Target(aim) => {
                let targets = self.targets(state, aim).iter();
                OPPONENT.on::<1>(targets.map(|target| state.active.steps_to(target, self.seats)).collect())
            }
            Decision::Back { victim } => BACK.on(Self::backs(state, victim)),
            Decision::Choose { first, count } => CHOOSE.on(self.options(state, first, count, 0)),
            Decision::Cost(_) => these([Action::Pay, Action::Decline]),
            Decision::Pay { .. } | Decision::Limit => CARD.on(state.acting().hand.types()),
            Decision::Drop { .. } => CARD.on(state.just_drawn.types()),
            Decision::Steps { max } => STEPS.on(BitSet::<1>::first(usize::from(max) + 1)),
            Decision::Lay => {
                let tokens = tokens_of(state.acting().tokens);
                let kinds = tokens.map(|token| self.printed().token(token).kind);
                TOKEN.on(kinds.collect::<BitSet<1>>())
            }
            Decision::Sets => {
                let sets = self.sets(state);
                let (spies, wild) = (Action::Play(SetKind::Spies), Action::Play(SetKind::Wild));
                let alone = [(spies, sets.spies), (wild, sets.wild), (Action::EndTurn, true)];
                these(alone.into_iter().filter_map(|(action, can)| can.then_some(action)))
                    .union(PAIR.on(sets.pairs))
                    .union(TRIPLET.on(sets.triplets))
                    .union(SHORT.on(sets.short))
            }
            Decision::Fill(begun) => CARD.on(self.card_sets.completing(&state.acting().hand, begun)),
            Decision::Airship => {
                let pays = self.can_pay_for_airship(state, seat).then_some(Action::PayCards);
                these(pays.into_iter().chain([Action::GiveTile]))
            }
            Decision::PayForAirship { .. } => CARD.on(state.places[seat].hand.types()),
            Decision::Truth { .. } => TILE.on(state.open.kinds::<1>()),
            Decision::Over => ActionSet::EMPTY,
        }
    }

    fn is_legal(&self, state: &State, seat: Seat, action: Action) -> bool {
        if !self.owes(state, seat) {
            return false;
        }
        match state.decision {
            Decision::Keep => matches!(action, Action::Keep(_)),
            Decision::Colour => matches!(action, Action::Red | Action::Blue),
            Decision::Action => {
                action == Action::GiveUp || self.blue_actions(state).contains(&(action, true))
            }
            Decision::Target(aim) => matches!(action, Action::Opponent(left)
                if state.active.round(self.seats).nth(left.into()).is_some_and(|seat| hits(state, seat, aim))),
            Decision::Back { victim } => {
                matches!(action, Action::Back(city) if state.places[victim].backs[city.index() - 1] > 0)
            }
            Decision::Choose { first, count } => {
                matches!(action, Action::Choose(at) if at < count && self.is_option(state, first + at, 0))
            }
            Decision::Cost(_) => matches!(action, Action::Pay | Action::Decline),
            Decision::Pay { .. } | Decision::Limit => {
                matches!(action, Action::Card(card) if state.acting().hand.contains(card))
            }
            Decision::Drop { .. } => matches!(action, Action::Card(card) if state.just_drawn.contains(card)),
            Decision::Steps { max } => matches!(action, Action::Steps(steps) if steps <= max),
            Decision::Lay => matches!(action, Action::Token(kind)
                if !self.equal_tokens[kind.index()].intersection(state.acting().tokens).is_empty()),
            Decision::Sets => match action {
                Action::Play(kind) => self.sets(state).contains(kind),
                other => other == Action::EndTurn,
            },
            Decision::Fill(begun) => matches!(action, Action::Card(card)
                if self.card_sets.completing(&state.acting().hand, begun).contains(card)),
            Decision::Airship => match action {
                Action::PayCards => self.can_pay_for_airship(state, seat),
                other => other == Action::GiveTile,
            },
            Decision::PayForAirship { .. } => {
                matches!(action, Action::Card(card) if state.places[seat].hand.contains(card))
            }
            Decision::Truth { .. } => {
                matches!(action, Action::Tile(tile) if state.open.count(tile.get()) > 0)
            }
            Decision::Over => false,
        }
    }
}

impl GoldenCompass {
    /// Returns whether `seat` must decide.
    #[inline]
    fn owes(&self, state: &State, seat: Seat) -> bool {
        if state.decision == Decision::Keep {
            seat.number() < self.seats && state.places[seat].kept.is_none()
        } else {
            state.chooser() == Some(seat)
        }
    }

    /// Returns the opponents that the active seat may name.
    pub(super) fn targets(&self, state: &State, aim: Aim) -> SeatSet {
        self.all_seats().filter(|&seat| hits(state, seat, aim)).collect()
    }

    pub(super) fn has_target(&self, state: &State, aim: Aim) -> bool {
        self.all_seats().any(|seat| hits(state, seat, aim))
    }

    /// Returns the cities whose token backs `victim` holds.
    pub(super) fn backs(state: &State, victim: Seat) -> BitSet<1> {
        let cities = (1u8..).zip(state.places[victim].backs);
        cities.filter(|(_, count)| *count > 0).map(|(city, _)| city).collect()
    }

    /// Returns the city whose tokens count now.
    pub(super) fn current_city(&self, state: &State) -> Option<CityId> {
        self.printed().current_city(state.period, state.lyra)
    }

    /// Returns whether a token can be taken from the current city.
    pub(super) fn can_take_token(&self, state: &State) -> bool {
        let city = self.current_city(state).map(CityId::index);
        city.is_some_and(|city| city <= COLLECTING && !state.piles[city - 1].is_empty())
    }

    /// Returns whether the active seat can lay out a token in the current city (R15).
    pub(super) fn can_lay_token(&self, state: &State) -> bool {
        let place = state.acting();
        !place.tokens.is_empty() && place.supply > 0 && self.has_circle(state)
    }

    fn has_circle(&self, state: &State) -> bool {
        let Some(city) = self.current_city(state).filter(|_| state.is_last_period()) else {
            return false;
        };
        state.circles[Self::circle(city)].len() < self.printed().city(city).slots.into()
    }

    /// Returns the index of a city of the last period in [`State::circles`].
    pub(super) fn circle(city: CityId) -> usize {
        city.index() - 1 - COLLECTING
    }

    /// Returns the light-blue actions, except giving up, and whether each is available.
    pub(super) fn blue_actions(&self, state: &State) -> [(Action, bool); 4] {
        let axis = state.axis.expect("a turn begins with a spin");
        let blue = self.printed().axis(axis).blue;
        let shown = |symbol: Blue| blue == symbol || blue == Blue::FreeChoice;
        let can_use_ally = || self.is_list_possible(state, self.power(state.acting()), 0);
        [
            (Action::Alethiometer, shown(Blue::Alethiometer) && state.acting().supply > 0),
            (Action::Magisterium, shown(Blue::Magisterium) && self.has_target(state, Aim::Airship)),
            (Action::Ally, shown(Blue::Ally) && can_use_ally()),
            (Action::Dust, shown(Blue::Dust) && self.can_take_dust(state)),
        ]
    }

    /// Returns the power of a seat's ally.
    pub(super) fn power(&self, place: &Place) -> EffectList {
        let ally = place.ally.expect("allies are shown before turns begin");
        self.printed().character(ally).power
    }

    fn can_take_dust(&self, state: &State) -> bool {
        state.dust > 0 || self.has_target(state, Aim::Dust)
    }

    /// Returns whether a list of effects can change something. `spent` cards are reserved for earlier costs.
    pub(super) fn is_list_possible(&self, state: &State, list: EffectList, spent: u8) -> bool {
        for (at, &op) in (list.start..).zip(list.of(&self.printed().ops)) {
            if let Op::Spend(count) = op {
                let spent = spent.saturating_add(count);
                let rest = EffectList { start: at + 1, ..list };
                return state.acting().hand.len() >= spent && self.is_list_possible(state, rest, spent);
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
            Op::StealCard(count) => self.has_target(state, Aim::Cards(count)),
            Op::PlaceCompass(_) => state.acting().supply > 0,
            Op::RemoveCompass(count) => self.has_target(state, Aim::Compass(count)),
            Op::TakeDust => self.can_take_dust(state),
            Op::MoveAirship => self.has_target(state, Aim::Airship),
            Op::TakeExperience => self.can_take_token(state),
            Op::PlaceExperience => self.can_lay_token(state),
            Op::StealExperience => self.has_target(state, Aim::Token),
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
        self.is_list_possible(state, self.printed().options[usize::from(list)], spent)
    }

    /// Returns whether the holder of the airship can pay cards for it (R23).
    fn can_pay_for_airship(&self, state: &State, holder: Seat) -> bool {
        let place = &state.places[holder];
        place.hand.len() >= self.airship_price(place)
    }
}

/// Returns whether the active seat may name `seat`.
#[inline]
fn hits(state: &State, seat: Seat, aim: Aim) -> bool {
    let place = &state.places[seat];
    seat != state.active
        && match aim {
            Aim::Airship => state.airship != Some(seat), // R11
            Aim::Dust => state.dust == 0 && place.dust > 0,
            Aim::Cards(_) => !place.hand.is_empty(),
            Aim::Token => !place.tokens.is_empty(),
            Aim::Compass(_) => place.compass > 0,
        }
}

#[inline]
fn these(actions: impl IntoIterator<Item = Action>) -> ActionSet {
    actions.into_iter().map(Action::index).collect()
}
