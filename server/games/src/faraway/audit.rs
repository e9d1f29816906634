//! What holds in every reachable position; a snapshot from outside is refused for the rest.

use std::collections::VecDeque;

use boardwire_kernel::Seat;

use super::Faraway;
use super::catalogue::{REGIONS, SANCTUARIES};
use super::state::{Phase, ROUNDS, Regions, SEATS, Sanctuaries, State};

type Checked = Result<(), String>;

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(broken()) }
}

impl Faraway {
    /// Checks a position.
    pub(super) fn check(&self, state: &State) -> Checked {
        self.check_shape(state)?;
        self.check_regions(state)?;
        self.check_sizes(state)?;
        self.check_choices(state)?;
        self.check_sanctuaries(state)
    }

    /// How many regions stand in every line.
    fn explored(state: &State) -> u8 {
        match state.phase {
            Phase::SetAside | Phase::Explore => state.round - 1,
            Phase::Take | Phase::Place | Phase::Over => state.round,
        }
    }

    /// Rounds, turns, lines of the right length, and nothing beyond the last seat.
    fn check_shape(&self, state: &State) -> Checked {
        let in_turn = state.active_turn();
        ensure((1..=ROUNDS).contains(&state.round), || format!("round {}", state.round))?;
        let fits = match state.phase {
            Phase::SetAside => self.advanced && state.round == 1,
            Phase::Explore => true,
            Phase::Take => state.round < ROUNDS,
            Phase::Place => state.round > 1,
            Phase::Over => state.round == ROUNDS,
        };
        ensure(fits, || format!("{:?} in round {}", state.phase, state.round))?;
        ensure(state.turn < if in_turn { self.seats } else { 1 }, || format!("turn {}", state.turn))?;
        for seat in 0..SEATS {
            let sits = seat < usize::from(self.seats);
            let explored = if sits { usize::from(Self::explored(state)) } else { 0 };
            let line = &state.lines[seat];
            let full = line.iter().take_while(|&&id| (1..=REGIONS).contains(&id)).count();
            ensure(full == explored && line[full..].iter().all(|&id| id == 0), || {
                format!("the line {line:?} of seat {seat} after {explored} rounds")
            })?;
            let empty = state.hands[seat].is_empty()
                && state.aside[seat] == [0; 2]
                && state.chosen[seat] == 0
                && state.owed[seat] == 0
                && state.placed[seat] == [0; 7]
                && state.dealt[seat].iter().all(Sanctuaries::is_empty);
            ensure(sits || empty, || format!("seat {seat} is nobody's and has something"))?;
        }
        let owes = in_turn && state.round > 1;
        ensure(owes || state.owed == [0; SEATS], || format!("owed {:?} out of turn", state.owed))?;
        let order = if in_turn { state.order_of(state.round, self.seats) } else { [0; SEATS] };
        ensure(state.order == order, || format!("order {:?}, not {order:?}", state.order))
    }

    /// FA-7.1: every region is in one place.
    fn check_regions(&self, state: &State) -> Checked {
        let mut seen = Regions::EMPTY;
        let lines = state.lines[..usize::from(self.seats)].iter().flatten().copied();
        let left_over = state.left_over.iter().copied();
        let sets = [state.deck, state.display].into_iter().chain(state.hands);
        let listed = lines.chain(left_over).filter(|&id| id > 0);
        for id in sets.flat_map(|set| set.iter()).chain(listed) {
            ensure((1..=REGIONS).contains(&id), || format!("there is no region {id}"))?;
            ensure(!seen.contains(id), || format!("region {id} is in two places"))?;
            seen.insert(id);
        }
        ensure(seen.len() == u32::from(REGIONS), || format!("{} regions in all", seen.len()))?;
        let gone: Regions = state.left_over.iter().copied().filter(|&id| id > 0).collect();
        let open = state.display.union(gone);
        ensure(
            open.difference(state.shown).is_empty() && state.shown.intersection(state.deck).is_empty(),
            || "a region is in the display that was never revealed, or in the deck though it was".to_owned(),
        )
    }

    /// FA-7.2: hands, display and left-overs have the size that phase and round give them.
    fn check_sizes(&self, state: &State) -> Checked {
        let taken = u8::from(state.phase == Phase::Place);
        let display = match (state.phase, state.round) {
            (Phase::SetAside | Phase::Over, _) | (_, ROUNDS) => 0,
            _ => self.seats + 1 - state.turn - taken,
        };
        let len = state.display.len();
        ensure(len == u32::from(display), || format!("{len} regions in the display, not {display}"))?;
        let revealed = match state.phase {
            Phase::SetAside => 0,
            _ => (self.seats + 1) * state.round.min(7),
        };
        let len = state.shown.len();
        ensure(len == u32::from(revealed), || format!("{len} regions revealed, not {revealed}"))?;
        let rounds = usize::from(state.round - 1);
        let left: Vec<bool> = state.left_over.iter().map(|&id| id > 0).collect();
        ensure(left.iter().enumerate().all(|(at, &there)| there == (at < rounds)), || {
            format!("left over {:?} in round {}", state.left_over, state.round)
        })?;
        for (place, seat) in (0..self.seats).zip(state.seats_in_turn(self.seats)) {
            let (hand, line) = (state.hands[seat], state.line(seat).iter().copied().collect::<Regions>());
            let dealt = if state.phase == Phase::SetAside { 5 } else { 3 };
            let size = match state.phase {
                Phase::SetAside | Phase::Explore => dealt,
                _ if state.round == ROUNDS || place >= state.turn + taken => 2,
                _ => 3,
            };
            ensure(hand.len() == size, || format!("seat {seat} holds {} regions, not {size}", hand.len()))?;
            let kept = hand.union(line).difference(state.shown).len();
            ensure(kept == dealt, || format!("seat {seat} has {kept} regions of its deal, not {dealt}"))?;
        }
        Ok(())
    }

    /// Hidden choices are of the chooser's hand; what was set aside went into the deck.
    fn check_choices(&self, state: &State) -> Checked {
        let seats = 0..usize::from(self.seats);
        let all_chosen = seats.clone().all(|seat| state.chosen[seat] > 0);
        let mut set_aside = Regions::EMPTY;
        for seat in seats {
            let chosen = state.chosen[seat];
            let may = state.phase == Phase::Explore && !all_chosen && state.hands[seat].contains(chosen);
            ensure(chosen == 0 || may, || format!("seat {seat} has chosen {chosen}"))?;
            let [first, second] = state.aside[seat];
            let ordered = if state.phase == Phase::SetAside {
                second == 0 || (0 < first && first < second)
            } else {
                (self.advanced && 0 < first && first < second)
                    || (!self.advanced && second == 0 && first == 0)
            };
            let from = match state.phase {
                Phase::SetAside => state.hands[seat],
                _ => state.deck.union(state.shown).difference(set_aside),
            };
            let known = [first, second].iter().all(|&id| id == 0 || from.contains(id));
            ensure(ordered && known, || format!("seat {seat} set {first} and {second} aside"))?;
            set_aside = set_aside.union([first, second].into_iter().filter(|&id| id > 0).collect());
        }
        let owed = state.phase != Phase::SetAside || !self.owing(state).is_empty();
        ensure(owed, || "all have set aside, and yet it goes on".to_owned())
    }

    /// FA-7.3: every sanctuary has come to where it is by deals the rules allow.
    fn check_sanctuaries(&self, state: &State) -> Checked {
        let mut deck = Deck::new();
        for round in 2..=ROUNDS {
            if round <= Self::explored(state) {
                self.check_round(state, round, &mut deck)?;
            } else {
                let at = usize::from(round - 2);
                let none = state.dealt.iter().all(|dealt| dealt[at].is_empty())
                    && state.placed.iter().all(|placed| placed[at] == 0);
                ensure(none, || format!("sanctuaries in round {round}, before it was explored"))?;
            }
        }
        let len = deck.len();
        ensure(
            (state.front, state.front_block, u32::from(state.sanctuary_deck))
                == (deck.front, deck.block, len),
            || format!("the sanctuary deck is not as the deals left it: {deck:?}"),
        )
    }

    fn check_round(&self, state: &State, round: u8, deck: &mut Deck) -> Checked {
        let at = usize::from(round - 2);
        let now = round == state.round && state.phase != Phase::Over;
        let order = state.order_of(round, self.seats);
        let mut owed = [0; SEATS];
        let mut earlier = Sanctuaries::EMPTY;
        for &seat in &order[..usize::from(self.seats)] {
            let seat = usize::from(seat);
            let due = if state.found(round, seat) { 1 + self.clues(state, seat, round) } else { 0 };
            let early = state.dealt[seat][at].difference(earlier);
            owed[seat] = deck.deal(early, due).ok_or_else(|| wrong_deal(round, seat, early))?;
            earlier = earlier.union(state.dealt[seat][at]);
        }
        earlier = Sanctuaries::EMPTY;
        for (place, &seat) in (0..).zip(&order[..usize::from(self.seats)]) {
            let seat = usize::from(seat);
            let late = state.dealt[seat][at].intersection(earlier);
            earlier = earlier.union(state.dealt[seat][at]);
            let passed = !now || place < state.turn;
            let active = now && place == state.turn && state.phase == Phase::Place;
            if passed || active {
                owed[seat] = deck.deal(late, owed[seat]).ok_or_else(|| wrong_deal(round, seat, late))?;
                owed[seat] = 0;
            } else {
                ensure(late.is_empty(), || wrong_deal(round, seat, late))?;
            }
            let left = if now { owed[seat] } else { 0 };
            ensure(round != state.round || state.owed[seat] == left, || {
                format!("seat {seat} is owed {}, not {left}", state.owed[seat])
            })?;
            let placed = state.placed[seat][at];
            let has_placed = passed && !state.dealt[seat][at].is_empty();
            ensure(if has_placed { state.dealt[seat][at].contains(placed) } else { placed == 0 }, || {
                format!("seat {seat} placed sanctuary {placed} in round {round}")
            })?;
            ensure(!active || !state.before(seat).is_empty(), || {
                format!("seat {seat} has nothing to place")
            })?;
            if has_placed {
                deck.put_under(6 * (round - 2) + place + 1, state.returned(round, seat));
            }
        }
        Ok(())
    }
}

impl State {
    fn active_turn(&self) -> bool {
        matches!(self.phase, Phase::Take | Phase::Place)
    }

    /// The seats by turn; by number while there are no turns.
    fn seats_in_turn(&self, seats: u8) -> impl Iterator<Item = usize> + use<> {
        let order = self.order;
        let ordered = self.active_turn();
        Seat::all(seats).map(move |seat| if ordered { order[seat.index()].into() } else { seat.index() })
    }
}

fn wrong_deal(round: u8, seat: usize, cards: Sanctuaries) -> String {
    format!("{cards:?} cannot have been dealt to seat {seat} in round {round}")
}

/// The sanctuary deck, dealt from once more.
#[derive(Debug)]
struct Deck {
    front: Sanctuaries,
    block: u8,
    under: VecDeque<(u8, Sanctuaries)>,
}

impl Deck {
    fn new() -> Self {
        Self { front: (1..=SANCTUARIES).collect(), block: 0, under: VecDeque::new() }
    }

    fn len(&self) -> u32 {
        self.front.len() + self.under.iter().map(|(_, set)| set.len()).sum::<u32>()
    }

    /// Deals exactly `cards` of `due`; what is still owed, or none when the deck cannot give that.
    fn deal(&mut self, mut cards: Sanctuaries, due: u8) -> Option<u8> {
        let number = u32::from(due).min(self.len());
        if cards.len() != number {
            return None;
        }
        while !cards.is_empty() {
            if self.front.is_empty() {
                (self.block, self.front) = self.under.pop_front()?;
            }
            let here = cards.intersection(self.front);
            self.front = self.front.difference(here);
            cards = cards.difference(here);
            if here.is_empty() || !(cards.is_empty() || self.front.is_empty()) {
                return None;
            }
        }
        Some(due - u8::try_from(number).ok()?)
    }

    fn put_under(&mut self, block: u8, cards: Sanctuaries) {
        if !cards.is_empty() {
            self.under.push_back((block, cards));
        }
    }
}
