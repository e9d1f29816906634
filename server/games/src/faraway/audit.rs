//! Checks the invariants of every reachable state. A snapshot from outside that violates one is rejected.

use boardwire_kernel::{Audits, CheckResult, ComponentTally, Seat, ensure};

use super::Faraway;
use super::catalogue::{REGION_COUNT, SANCTUARY_COUNT};
use super::paths::BLOCK_COUNT;
use super::state::{MAX_SEATS, Phase, ROUND_COUNT, RegionId, Regions, Sanctuaries, State};
use super::view::MAX_DEALT;

impl Audits for Faraway {
    fn audit(&self, state: &State) -> CheckResult {
        ensure(!state.quests_disabled, || "quests_disabled is true: quest statuses are not updated")?;
        audit_ids(state)?;
        self.audit_course(state)?;
        Seat::all(6).try_for_each(|seat| self.audit_seat(state, seat))?;
        self.audit_regions(state)?;
        self.audit_sizes(state)?;
        self.audit_choices(state)?;
        self.audit_sanctuaries(state)
    }
}

impl Faraway {
    /// Checks that round, phase, turn and order agree.
    fn audit_course(&self, state: &State) -> CheckResult {
        ensure((1..=ROUND_COUNT).contains(&state.round), || format!("round {}", state.round))?;
        let fits = match state.phase {
            Phase::SetAside => self.advanced && state.round == 1,
            Phase::Explore => true,
            Phase::Take => state.round < ROUND_COUNT,
            Phase::Place => state.round > 1,
            Phase::Over => state.round == ROUND_COUNT,
        };
        ensure(fits, || format!("{:?} in round {}", state.phase, state.round))?;
        let turns = if state.phase.has_turns() { self.seats } else { 1 };
        ensure(state.turn < turns, || format!("turn {}", state.turn))?;
        let order = if state.phase.has_turns() {
            state.order_of(state.round, self.seats)
        } else {
            [Seat::FIRST; MAX_SEATS]
        };
        ensure(state.order == order, || format!("order {:?}, not {order:?}", state.order))
    }

    /// Checks that a line has one region per explored round, that `quests` matches it, and that unused seats are empty.
    fn audit_seat(&self, state: &State, seat: Seat) -> CheckResult {
        let sits = seat.number() < self.seats;
        let explored = if sits { usize::from(state.explored()) } else { 0 };
        let line = &state.lines[seat];
        let whole =
            line[..explored].iter().all(Option::is_some) && line[explored..].iter().all(Option::is_none);
        ensure(whole, || format!("the line {line:?} of {seat} after {explored} rounds"))?;
        let quests = self.quest_statuses(state, seat);
        ensure(state.quests[seat] == quests, || {
            format!("quest statuses of {seat} are {:?}; expected {quests:?}", state.quests[seat])
        })?;
        let empty = state.hands[seat].is_empty()
            && state.set_aside[seat] == [None; 2]
            && state.chosen[seat].is_none()
            && state.owed[seat] == 0
            && state.placed[seat] == [None; 7]
            && state.dealt[seat].iter().all(Sanctuaries::is_empty);
        ensure(sits || empty, || format!("{seat} is not in this game but has cards"))
    }

    /// FA-7.1: checks that every region is in exactly one place.
    fn audit_regions(&self, state: &State) -> CheckResult {
        let mut regions = ComponentTally::<2>::new("region");
        regions.add(state.deck)?;
        regions.add(state.display)?;
        let left_over = || state.left_over.iter().flatten().map(|id| id.get());
        regions.add(left_over())?;
        for seat in Seat::all(self.seats) {
            regions.add(state.hands[seat])?;
            regions.add(state.line(seat).map(RegionId::get))?;
        }
        regions.check_complete(&(1..=REGION_COUNT).collect())?;
        let open = state.display.union(left_over().collect());
        let is_revealed = open.difference(state.revealed).is_empty();
        ensure(is_revealed, || "the display or left_over has a region that is not in revealed")?;
        let is_hidden = state.revealed.intersection(state.deck).is_empty();
        ensure(is_hidden, || "the deck has a region that is in revealed")
    }

    /// FA-7.2: checks that hands, display and left-overs have the size that phase and round require.
    fn audit_sizes(&self, state: &State) -> CheckResult {
        let taken = u8::from(state.phase == Phase::Place);
        let display = match (state.phase, state.round) {
            (Phase::SetAside | Phase::Over, _) | (_, ROUND_COUNT) => 0,
            (Phase::Explore | Phase::Take | Phase::Place, _) => self.seats + 1 - state.turn - taken,
        };
        let len = state.display.len();
        ensure(len == u32::from(display), || format!("{len} regions in the display, not {display}"))?;
        let revealed = match state.phase {
            Phase::SetAside => 0,
            Phase::Explore | Phase::Take | Phase::Place | Phase::Over => {
                (self.seats + 1) * state.round.min(7)
            }
        };
        let len = state.revealed.len();
        ensure(len == u32::from(revealed), || format!("{len} regions revealed, not {revealed}"))?;
        let rounds = usize::from(state.round - 1);
        let whole = state.left_over[..rounds].iter().all(Option::is_some)
            && state.left_over[rounds..].iter().all(Option::is_none);
        ensure(whole, || format!("left over {:?} in round {}", state.left_over, state.round))?;
        for (order_index, number) in (0..).zip(Seat::all(self.seats)) {
            let seat = if state.phase.has_turns() { state.order[usize::from(order_index)] } else { number };
            let hand = state.hands[seat];
            let dealt = if state.phase == Phase::SetAside { 5 } else { 3 };
            let size = match state.phase {
                Phase::SetAside | Phase::Explore => dealt,
                Phase::Take | Phase::Place | Phase::Over => {
                    if state.round == ROUND_COUNT || order_index >= state.turn + taken { 2 } else { 3 }
                }
            };
            ensure(hand.len() == size, || format!("{seat} holds {} regions, not {size}", hand.len()))?;
            let line: Regions = state.line(seat).collect();
            let kept = hand.union(line).difference(state.revealed).len();
            ensure(kept == dealt, || format!("{seat} has {kept} regions of its deal, not {dealt}"))?;
        }
        Ok(())
    }

    /// Checks that hidden choices are in the seat's hand, and that regions set aside went into the deck.
    fn audit_choices(&self, state: &State) -> CheckResult {
        let chosen = state.chosen.of(self.seats);
        let all_chosen = chosen.iter().all(Option::is_some);
        let all_set_aside = state.set_aside.of(self.seats).iter().all(|aside| aside[1].is_some());
        ensure(
            state.phase != Phase::SetAside || !all_set_aside,
            || "phase is SetAside, but all seats have set two regions aside",
        )?;
        let mut others_set_aside = Regions::EMPTY;
        for seat in Seat::all(self.seats) {
            let chosen = state.chosen[seat];
            let may_choose = state.phase == Phase::Explore && !all_chosen;
            let fits = chosen.is_none_or(|id| may_choose && state.hands[seat].contains(id));
            ensure(fits, || format!("{seat} has chosen {chosen:?}"))?;
            let aside = state.set_aside[seat];
            let ordered = match aside {
                [None, None] => state.phase == Phase::SetAside || !self.advanced,
                [Some(_), None] => state.phase == Phase::SetAside,
                [Some(first), Some(second)] => self.advanced && first < second,
                [None, Some(_)] => false,
            };
            let from = match state.phase {
                Phase::SetAside => state.hands[seat],
                Phase::Explore | Phase::Take | Phase::Place | Phase::Over => {
                    state.deck.union(state.revealed).difference(others_set_aside)
                }
            };
            let known = aside.iter().flatten().all(|&id| from.contains(id));
            ensure(ordered && known, || format!("{seat} set {aside:?} aside"))?;
            others_set_aside = others_set_aside.union(aside.into_iter().flatten().collect());
        }
        Ok(())
    }

    /// FA-7.3: checks that deals allowed by FA-R1 and FA-R2 brought every sanctuary to its place.
    fn audit_sanctuaries(&self, state: &State) -> CheckResult {
        Seat::all(self.seats).try_for_each(|seat| self.audit_finds(state, seat))?;
        let mut deck = Deck { blocks: [Sanctuaries::EMPTY; BLOCK_COUNT], front: 0 };
        deck.blocks[0] = (1..=SANCTUARY_COUNT).collect();
        for round in 2..=state.explored() {
            self.replay_deals(state, round, &mut deck)?;
        }
        let front = deck.blocks[deck.front];
        ensure(usize::from(state.front_block) == deck.front && state.front == front, || {
            format!(
                "{:?} of block {} in front, not {front:?} of {}",
                state.front, state.front_block, deck.front
            )
        })?;
        let len = deck.blocks.iter().map(Sanctuaries::len).sum::<u32>();
        ensure(len == u32::from(state.sanctuary_deck), || format!("{len} sanctuaries in the deck"))
    }

    /// Replays the deals of a round: first as far as the deck lasts, then the rest in the seats' turns.
    fn replay_deals(&self, state: &State, round: u8, deck: &mut Deck) -> CheckResult {
        let at = usize::from(round - 2);
        let order = state.order_of(round, self.seats);
        let order = &order[..usize::from(self.seats)];
        let has_all = |seat, cards: Sanctuaries, deck: &Deck| {
            ensure(cards.len() == u32::from(self.due(state, seat, round)) || deck.is_empty(), || {
                format!("{seat} was dealt {cards:?} in round {round}: too few, the deck had more cards")
            })
        };
        // A card that an earlier seat of this round also had can only have come from that seat.
        let mut late = [Sanctuaries::EMPTY; MAX_SEATS];
        let mut earlier = Sanctuaries::EMPTY;
        for (&seat, late) in order.iter().zip(&mut late) {
            let dealt = state.dealt[seat][at];
            let early = dealt.difference(earlier);
            deck.draw(early)?;
            has_all(seat, early, deck)?;
            *late = dealt.intersection(earlier);
            earlier = earlier.union(dealt);
        }
        for (order_index, (&seat, late)) in order.iter().zip(late).enumerate() {
            deck.draw(late)?;
            let has_placed = state.placed[seat][at].is_some();
            if has_placed || round == state.round && must_place(state, seat) {
                has_all(seat, state.dealt[seat][at], deck)?;
            } else {
                ensure(late.is_empty(), || format!("{seat} was dealt {late:?} before its turn"))?;
            }
            deck.blocks[6 * at + order_index + 1] = state.returned(round, seat);
        }
        Ok(())
    }

    /// Checks what a seat was dealt, is owed and has placed, round by round.
    fn audit_finds(&self, state: &State, seat: Seat) -> CheckResult {
        for round in 2..=ROUND_COUNT {
            let at = usize::from(round - 2);
            let (dealt, placed) = (state.dealt[seat][at], state.placed[seat][at]);
            let finds = round <= state.explored() && state.finds(round, seat);
            ensure(finds || dealt.is_empty(), || format!("{seat} was dealt {dealt:?} in round {round}"))?;
            let is_due = round == state.round
                && state.phase.has_turns()
                && state.order[usize::from(state.turn)..usize::from(self.seats)].contains(&seat);
            let due = if finds { self.due(state, seat, round) } else { 0 };
            let got = u8::try_from(dealt.len()).unwrap_or(u8::MAX);
            ensure(due <= MAX_DEALT && got <= due, || {
                format!("{seat} was dealt {got} of {due} in round {round}")
            })?;
            if round == state.round {
                let owed = if is_due && !must_place(state, seat) { due - got } else { 0 };
                ensure(state.owed[seat] == owed, || {
                    format!("{seat} was dealt {got} of {due}, but owed is {}", state.owed[seat])
                })?;
            }
            // FA-4.7, FA-R2: every seat that finds sanctuaries places one.
            let right = match placed {
                Some(id) => dealt.contains(id) && !is_due,
                None => !finds || is_due,
            };
            ensure(right, || format!("{seat} placed {placed:?} of {dealt:?} in round {round}"))?;
        }
        let has_some = !must_place(state, seat) || !state.found(seat).is_empty();
        ensure(has_some, || format!("{seat} has nothing to place"))?;
        ensure(state.round > 1 || state.owed[seat] == 0, || format!("{seat} is owed something in round 1"))
    }
}

/// Returns whether a seat must place a sanctuary now. Then the game has dealt the seat all sanctuaries that it is owed.
fn must_place(state: &State, seat: Seat) -> bool {
    state.phase == Phase::Place && state.active() == Some(seat)
}

/// The sanctuary deck: a queue of blocks from which cards are drawn in order.
struct Deck {
    blocks: [Sanctuaries; BLOCK_COUNT],
    /// The index in `blocks` of the block that the last card was drawn from.
    front: usize,
}

impl Deck {
    fn is_empty(&self) -> bool {
        self.blocks.iter().all(Sanctuaries::is_empty)
    }

    fn draw(&mut self, mut cards: Sanctuaries) -> CheckResult {
        loop {
            let front = &mut self.blocks[self.front];
            let here = cards.intersection(*front);
            (*front, cards) = (front.difference(here), cards.difference(here));
            if cards.is_empty() {
                return Ok(());
            }
            ensure(front.is_empty() && self.front + 1 < BLOCK_COUNT, || {
                format!("the sanctuaries {cards:?} were not next in the deck")
            })?;
            self.front += 1;
        }
    }
}

/// Checks that every id is one of a card, so that later checks can look cards up.
fn audit_ids(state: &State) -> CheckResult {
    let regions = state.lines.all().as_flattened().iter().chain(state.set_aside.all().as_flattened());
    let mut regions = regions.chain(state.chosen.all()).chain(&state.left_over).flatten();
    let strange = regions.find(|id| id.get() > REGION_COUNT);
    ensure(strange.is_none(), || format!("there is no region {strange:?}"))?;
    let mut sanctuaries = state.placed.all().as_flattened().iter().flatten();
    let strange = sanctuaries.find(|id| id.get() > SANCTUARY_COUNT);
    ensure(strange.is_none(), || format!("there is no sanctuary {strange:?}"))
}
