//! Compares resampled sanctuaries with an enumeration of all histories of small states.
//!
//! In each state the viewer has been dealt most cards itself, so the deals of the other seats can be enumerated. Each
//! deal may be any set of cards from the front of the deck; chance makes all of them equally likely.

use std::collections::VecDeque;

use boardwire_kernel::testkit::{Frequencies, Posterior};
use boardwire_kernel::{RngStream, Seat};

use super::{seat, table};
use crate::faraway::{Faraway, Phase, RegionId, Sanctuaries, SanctuaryId, State};

/// The number of determinizations sampled in each state. The random walk mixes slowly. So the test can detect a bias of
/// 5 %, but not of 2 %.
const DRAWS: u64 = 15_000;

/// The number of sanctuaries each seat is due in rounds 2, 3 and so on.
struct DealPlan {
    seats: u8,
    /// The seat whose knowledge is tested.
    viewer: u8,
    due: &'static [&'static [u8]],
}

/// A partial history of the sanctuaries.
#[derive(Clone)]
struct History {
    state: State,
    /// The blocks of the deck with their numbers, front block first.
    deck: VecDeque<(u8, Sanctuaries)>,
}

/// A step in the course of the sanctuaries.
#[derive(Clone, Copy)]
enum Step {
    /// A seat is dealt what it is due in a round, as far as the deck lasts: round, seat, number due.
    Find(u8, Seat, u8),
    /// The seat is dealt what it is still owed.
    Fill(u8, Seat),
    /// The seat places one sanctuary and returns the others.
    Return(u8, Seat),
}

impl DealPlan {
    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (round, due) in (2..).zip(self.due) {
            let seats = || Seat::all(self.seats).zip(*due);
            steps.extend(seats().map(|(seat, &due)| Step::Find(round, seat, due)));
            steps.extend(seats().flat_map(|(seat, _)| [Step::Fill(round, seat), Step::Return(round, seat)]));
        }
        steps
    }

    /// Returns the history before any deal. Every region is known to all, and seats act in seat order in every round.
    fn begin(&self) -> History {
        let mut state = *boardwire_kernel::Episode::seeded(table(self.seats, "basic"), 1).state();
        state.phase = Phase::Explore;
        state.round = u8::try_from(self.due.len()).expect("at most 7 rounds") + 2;
        state.revealed = (1..=68).collect();
        for number in 0..self.seats {
            for round in 0..state.round - 1 {
                state.lines[seat(number)][usize::from(round)] = RegionId::from_row(8 * round + number + 1);
            }
        }
        state.front = Sanctuaries::EMPTY;
        History { state, deck: VecDeque::from([(0, (1..=45).collect())]) }
    }
}

impl History {
    /// Returns all possible sets of the next `count` allowed cards, each with the deck it leaves.
    fn draws(&self, count: u8, allowed: Sanctuaries) -> Vec<(Sanctuaries, VecDeque<(u8, Sanctuaries)>)> {
        let mut deck = self.deck.clone();
        while deck.len() > 1 && deck[0].1.is_empty() {
            deck.pop_front();
        }
        let front = deck[0].1;
        let here = u32::from(count).min(front.len());
        let mut draws = Vec::new();
        for drawn in subsets(front.intersection(allowed), here) {
            let mut rest = Self { state: self.state, deck: deck.clone() };
            rest.deck[0].1 = front.difference(drawn);
            let left = u32::from(count) - here;
            if left == 0 || rest.deck.iter().all(|block| block.1.is_empty()) {
                draws.push((drawn, rest.deck));
            } else {
                let further = rest.draws(u8::try_from(left).expect("few"), allowed);
                draws.extend(further.into_iter().map(|(more, deck)| (drawn.union(more), deck)));
            }
        }
        draws
    }

    /// Returns all histories after a step in which the viewer sees the same as in `truth`.
    fn after(&self, step: Step, viewer: Seat, truth: &State) -> Vec<Self> {
        let (Step::Find(round, seat, _) | Step::Fill(round, seat) | Step::Return(round, seat)) = step;
        let at = usize::from(round - 2);
        let all: Sanctuaries = (1..=45).collect();
        let found = found_early(truth, viewer, at);
        let (count, allowed) = match step {
            Step::Find(_, _, due) if seat == viewer => (due, found),
            // Other seats cannot be dealt cards that the viewer finds after them.
            Step::Find(_, _, due) => (due, all.difference(found)),
            Step::Fill(..) if seat == viewer => (self.state.owed[seat], truth.dealt[seat][at]),
            Step::Fill(..) => (self.state.owed[seat], all),
            Step::Return(..) => {
                let placed = truth.placed[seat][at];
                if placed.is_some_and(|placed| !self.state.dealt[seat][at].contains(placed)) {
                    return vec![];
                }
                let mut next = self.clone();
                next.place(round, seat, placed);
                return vec![next];
            }
        };
        let draws = self.draws(count, allowed).into_iter().map(|(drawn, deck)| {
            let mut next = Self { state: self.state, deck };
            next.state.dealt[seat][at] = next.state.dealt[seat][at].union(drawn);
            next.state.owed[seat] = count - u8::try_from(drawn.len()).expect("few");
            next
        });
        draws.collect()
    }

    fn place(&mut self, round: u8, seat: Seat, placed: Option<SanctuaryId>) {
        self.state.placed[seat][usize::from(round - 2)] = placed;
        let returned = self.state.returned(round, seat);
        self.deck.push_back((6 * (round - 2) + seat.number() + 1, returned));
    }

    /// Returns the state at the end, with the deck as the deals left it.
    fn end(mut self) -> State {
        while self.deck.len() > 1 && self.deck[0].1.is_empty() {
            self.deck.pop_front();
        }
        self.state.sanctuary_deck =
            self.deck.iter().map(|block| u8::try_from(block.1.len()).expect("few")).sum();
        // The block of the last draw stays in front until the next draw.
        (self.state.front_block, self.state.front) = self.deck[0];
        self.state
    }
}

/// Returns what a seat found at the start of the turns, without cards that other seats returned in the same round.
fn found_early(truth: &State, seat: Seat, at: usize) -> Sanctuaries {
    let others = truth.dealt.all().iter().enumerate().filter(|(other, _)| *other != seat.index());
    let by_others = others.fold(Sanctuaries::EMPTY, |all, (_, dealt)| all.union(dealt[at]));
    truth.dealt[seat][at].difference(by_others)
}

/// Returns all sets of `count` cards.
fn subsets(cards: Sanctuaries, count: u32) -> Vec<Sanctuaries> {
    let Some(first) = cards.lowest().filter(|_| count <= cards.len() && count > 0) else {
        return if count == 0 { vec![Sanctuaries::EMPTY] } else { vec![] };
    };
    if count == cards.len() {
        return vec![cards];
    }
    let rest = cards.difference(Sanctuaries::single(first));
    let with = subsets(rest, count - 1).into_iter().map(|set| set.union(Sanctuaries::single(first)));
    with.chain(subsets(rest, count)).collect()
}

/// Returns a random history, one draw at a time; each seat places its lowest card.
fn truth(plan: &DealPlan, rng: &mut RngStream) -> State {
    let mut history = plan.begin();
    for step in plan.steps() {
        let (Step::Find(round, seat, _) | Step::Fill(round, seat) | Step::Return(round, seat)) = step;
        let count = match step {
            Step::Find(_, _, due) => due,
            Step::Fill(..) => history.state.owed[seat],
            Step::Return(..) => {
                let lowest = history.state.dealt[seat][usize::from(round - 2)].lowest();
                history.place(round, seat, lowest.map(SanctuaryId::new));
                continue;
            }
        };
        let at = usize::from(round - 2);
        history.state.owed[seat] = 0;
        for left in (0..count).rev() {
            while history.deck.len() > 1 && history.deck[0].1.is_empty() {
                history.deck.pop_front();
            }
            if history.deck[0].1.is_empty() {
                history.state.owed[seat] = left + 1;
                break;
            }
            let card = rng.draw(&mut history.deck[0].1);
            history.state.dealt[seat][at].insert(card);
        }
    }
    history.end()
}

/// Checks how often resampling gives each history consistent with the viewer's knowledge. Returns their number.
fn drawn_as_enumerated(plan: &DealPlan, seed: u64) -> usize {
    let mut rng = RngStream::new(seed, 0);
    let game: std::sync::Arc<Faraway> = table(plan.seats, "basic");
    let (truth, viewer) = (truth(plan, &mut rng), seat(plan.viewer));
    let mut histories = vec![plan.begin()];
    for step in plan.steps() {
        histories = histories.iter().flat_map(|history| history.after(step, viewer, &truth)).collect();
    }
    let worlds = histories.into_iter().map(|history| (history.end(), 1));
    let posterior = Posterior::of(&*game, viewer, worlds, &truth);
    let count = posterior.len();
    let drawn = Frequencies::of(&*game, &truth, viewer, DRAWS, &mut rng);
    assert_eq!(drawn.agree(&posterior), Ok(()));
    count
}

#[test]
fn sanctuaries_dealt_once_are_drawn_as_enumerated() {
    // FA-5.4: the viewer has had 36 of the 45 cards; 3 are left in the deck.
    let plan = DealPlan { seats: 3, viewer: 0, due: &[&[20, 2, 1], &[16, 2, 1]] };
    assert!(drawn_as_enumerated(&plan, 1) > 10);
}

#[test]
fn sanctuaries_dealt_again_are_drawn_as_enumerated() {
    // FA-R1: returned cards are dealt again to other seats, and some of them to the viewer.
    let plans = [
        DealPlan { seats: 3, viewer: 0, due: &[&[34, 6, 5], &[33, 3, 3], &[3, 2, 0]] },
        DealPlan { seats: 3, viewer: 2, due: &[&[5, 4, 36], &[2, 2, 1]] },
        DealPlan { seats: 4, viewer: 0, due: &[&[33, 5, 4, 3], &[32, 2, 2, 2], &[1, 1, 1, 0]] },
    ];
    for (seed, plan) in (1..).zip(&plans) {
        let worlds = drawn_as_enumerated(plan, seed);
        assert!((4..1000).contains(&worlds), "plan {seed} has {worlds} worlds");
    }
}

#[test]
fn sanctuaries_dealt_late_are_drawn_as_enumerated() {
    // FA-R2: the deck runs out, and a seat that is owed cards gets what other seats return in the same round.
    let plans = [
        DealPlan { seats: 3, viewer: 2, due: &[&[6, 4, 37]] },
        DealPlan { seats: 4, viewer: 3, due: &[&[5, 3, 4, 35], &[2, 2, 2, 1]] },
    ];
    for (seed, plan) in (1..).zip(&plans) {
        let worlds = drawn_as_enumerated(plan, seed);
        assert!((4..1000).contains(&worlds), "plan {seed} has {worlds} worlds");
    }
}

#[test]
fn ways_that_are_not_as_likely_are_drawn_as_enumerated() {
    // FA-R1: cards the viewer returned were placed later, directly or through a deal it did not see. The second way has 3 of
    // 12 histories, or 1 of 7. Without the walk it would get one third of the samples.
    let plan = DealPlan { seats: 2, viewer: 1, due: &[&[3, 42], &[4, 37], &[3, 0]] };
    for seed in 1..=4 {
        let worlds = drawn_as_enumerated(&plan, seed);
        assert!((3..=12).contains(&worlds), "seed {seed} has {worlds} worlds");
    }
}
