//! Other ways in which the game can have gone, as far as a seat can tell.
//!
//! Cards, told apart copy by copy, go from the draw pile to a hand, perhaps to another, to the discard pile and back. Every
//! draw and every theft takes each thing there as likely, and the numbers of things are known to all. So every course of
//! events that shows the viewer what it saw is as likely as any other, but for one thing: a seat that shows a card, of which
//! it holds several copies, shows any of them, and its choice of the type says nothing of their number. So each copy is
//! shown one in so many times ([`Move::alike`]).
//!
//! The courses are sampled by a random walk from the true one (a Metropolis chain). Two things that are in one place at some
//! time can exchange what happened to them from the last time on at which they were in one place before: the numbers of
//! things everywhere stay the same. Of things of different types only what the viewer did not see can be exchanged, and a card
//! set must still be asked for, or completed without a question, as it was. A step is as likely as its reverse, or taken
//! as often as the courses' likelihoods demand, so in the long run every course is drawn as often as it is likely.
//! [`ROUNDS`] says how long the run is; tests compare it with enumerations.
//!
//! Tokens are things as well: those of a city, taken unseen, stolen by their back, and laid out.

mod read;
mod steps;
mod tokens;

use boardwire_kernel::{RngStream, Seat};

use super::GoldenCompass;
use super::catalogue::limits::{SEATS, few};
use super::memory::Block;
use super::state::{Begun, Hand};
use steps::Scratch;
pub(super) use tokens::TokenThings;

/// How often every hidden thing gets the chance to exchange its place and its past: of long histories so often, of short ones,
/// where it costs less, some times more.
const FEWEST_ROUNDS: usize = 5;
const SHORT: usize = 20;
const ROUNDS_OF_SHORT: usize = 40_000;
/// Things lost with which a thing held may exchange its past in each round.
const PAST_TRIES: usize = 2;
/// Pairs of things lost that get it in each round, for every seat, at most.
const PAIRS: usize = 16;
/// Moves that get the chance to be those of another copy.
const NAME_TRIES: u32 = 8;
/// How far back the losses looked at are, and the moves, when they are near.
const NEAR: usize = 5;
const FAR: usize = 16;

/// The place of things that nobody holds and that can be taken; places below it are hands, by seat.
const DECK: u8 = 4;
/// The place of things that were shown, until they come back.
const SHOWN: u8 = 5;
/// The first place of the tokens of a city, for each city.
const CITY: u8 = 8;
/// No move.
const NONE: u16 = 0;
/// No question.
const NO_QUESTION: u16 = u16::MAX;
/// No slot.
const NO_SLOT: u8 = u8::MAX;

/// A thing goes from one place to another.
#[derive(Debug, Clone, Copy)]
struct Move {
    thing: u8,
    from: u8,
    to: u8,
    /// How often the discard pile had come back before.
    returns: u8,
    /// Whether the viewer saw which thing it was.
    is_seen: bool,
    /// The move of the same thing before this one.
    before: u16,
    /// For each seat, the cards or tokens it had shown before.
    shows: [u8; SEATS],
    /// The place of the event in the trace.
    at: u16,
    /// Of a thing shown: its type, how many things of the type it may have been, and the first draw it may have come from.
    kind: u8,
    alike: u8,
    since: u16,
    /// Of a card put into a set by another seat than the viewer: whether it was asked for.
    question: u16,
}

/// A thing: its type, where it was at the start, its last move, and its place among the hidden ones.
#[derive(Debug, Clone, Copy)]
struct Thing {
    kind: u8,
    home: u8,
    last: u16,
    slot: u8,
}

/// Whether a card of a set was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Question {
    begun: Begun,
    asked: bool,
    /// The card put in; 0 while that is being decided.
    card: u8,
    /// The cards in hand before it that fit the set.
    hand: Hand,
}

/// Hidden things that can take each other's places: slots of [`Walk::hidden`].
#[derive(Debug, Clone, Copy)]
struct Group {
    start: u8,
    /// The end of those that somebody holds.
    held: u8,
    end: u8,
}

/// Cards or tokens, and all their moves.
pub(super) struct Walk<'a> {
    game: &'a GoldenCompass,
    viewer: Seat,
    things: Vec<Thing>,
    /// By type, the things of it: the first and their number.
    types: &'a [Block],
    /// From 1 on: 0 is none.
    moves: Vec<Move>,
    questions: Vec<Question>,
    /// The question being decided, and whose it is.
    open: Option<(Seat, u16)>,
    /// How often the discard pile has come back.
    returns: u8,
    /// Whether equal things keep their names where the viewer saw them, since its memory goes by names and cannot be made
    /// anew.
    keeps_names: bool,
    /// The moves by which each seat showed things, and all by which it lost them: thefts as well.
    shows: [Vec<u16>; SEATS],
    losses: [Vec<u16>; SEATS],
    /// The things whose place the viewer may not know, by group: those in hands, then those with nobody.
    hidden: Vec<u8>,
    groups: Vec<Group>,
    /// The slots of what each seat holds.
    slots: [Vec<u8>; SEATS],
    scratch: Scratch,
}

impl Walk<'_> {
    /// Walks as far as it takes to forget the true course of events.
    pub(super) fn go(&mut self, rng: &mut RngStream) {
        let rounds = if self.is_free() {
            1
        } else {
            FEWEST_ROUNDS + ROUNDS_OF_SHORT / (self.moves.len() + SHORT).pow(2)
        };
        self.rounds(rounds, rng);
    }

    /// Whether nothing forbids any exchange of places: then one round finds every order as often as any other.
    ///
    /// So it is while things have only been drawn, but for those that the viewer has shown.
    pub(super) fn is_free(&self) -> bool {
        let viewer = self.viewer.number();
        let is_free = |step: &Move| match step.from % CITY {
            DECK => true,
            from => from == viewer && step.to % CITY == SHOWN,
        };
        self.returns == 0 && !self.keeps_names && self.open.is_none() && self.moves[1..].iter().all(is_free)
    }

    /// Walks so many rounds.
    pub(super) fn rounds(&mut self, rounds: usize, rng: &mut RngStream) {
        for _ in 0..rounds {
            for at in 0..self.groups.len() {
                self.exchange_places(self.groups[at], rng);
            }
            for seat in self.game.others(self.viewer) {
                self.exchange_pasts(seat, rng);
            }
            (0..NAME_TRIES).for_each(|_| self.exchange_copies(rng));
        }
    }

    fn thing(&self, thing: u8) -> &Thing {
        &self.things[usize::from(thing)]
    }

    fn step(&self, at: u16) -> &Move {
        &self.moves[usize::from(at)]
    }

    /// Every thing held takes the place of any thing that has not had its turn: where nothing forbids it, every order
    /// is as likely after one round.
    fn exchange_places(&mut self, group: Group, rng: &mut RngStream) {
        for slot in group.start..group.held {
            let other = slot + below(group.end - slot, rng);
            if other != slot {
                let pair = [slot, other].map(|slot| self.hidden[usize::from(slot)]);
                self.exchange(pair, [NONE; 2], self.end(), rng);
            }
        }
    }

    /// Things that a seat holds and things that it lost, while they were in its hand together, exchange how they came there.
    fn exchange_pasts(&mut self, seat: Seat, rng: &mut RngStream) {
        if self.losses[seat.index()].is_empty() {
            return;
        }
        for _ in 0..PAST_TRIES * self.slots[seat.index()].len() {
            let (_, loss) = self.recent_loss(seat, rng);
            let Some(held) = self.any_held(seat, rng) else { continue };
            let last = self.thing(held).last;
            if last < loss && self.step(last).to == self.step(loss).from {
                self.exchange([self.step(loss).thing, held], [loss, NONE], loss, rng);
            }
        }
        for _ in 0..self.losses[seat.index()].len().min(PAIRS) {
            let (rank, later) = self.recent_loss(seat, rng);
            let far = rank.min(NEAR << (2 * rng.below(4)));
            let back = small(rng.below(wide(far + 1)));
            let earlier = self.losses[seat.index()][rank - back];
            let (one, other) = (*self.step(earlier), *self.step(later));
            if other.before < earlier && other.from == one.from {
                self.exchange([one.thing, other.thing], [earlier, later], earlier, rng);
            }
        }
    }

    /// Something that a seat holds, or once in a while nothing: where a step is always possible, the walk must rest at
    /// times, or it would come to one half of the courses after an even number of steps and to the other after an odd one.
    fn any_held(&self, seat: Seat, rng: &mut RngStream) -> Option<u8> {
        let slots = &self.slots[seat.index()];
        let slot = slots.get(small(rng.below(wide(slots.len() + 1))))?;
        Some(self.hidden[usize::from(*slot)])
    }

    /// A thing takes the name of another of its type, from some time on.
    fn exchange_copies(&mut self, rng: &mut RngStream) {
        let moves = self.moves.len() - 1;
        if moves == 0 {
            return;
        }
        let reach = moves.min(FAR << (2 * rng.below(3)));
        let step = number_of(moves - small(rng.below(wide(reach))));
        let thing = self.step(step).thing;
        let alike = self.types[usize::from(self.thing(thing).kind)];
        let other = alike.start + below(alike.len, rng);
        if other != thing {
            self.exchange_names([thing, other], step);
        }
    }

    /// One of the last things that a seat lost, by rank: of a few as often as of more, since what happened lately matters
    /// most.
    fn recent_loss(&self, seat: Seat, rng: &mut RngStream) -> (usize, u16) {
        let losses = &self.losses[seat.index()];
        let reach = losses.len().min(NEAR << (2 * rng.below(4)));
        let rank = losses.len() - 1 - small(rng.below(wide(reach)));
        (rank, losses[rank])
    }
}

/// A number below another.
fn below(n: u8, rng: &mut RngStream) -> u8 {
    few(rng.below(n.into()))
}

/// The number of a move.
fn number_of(at: usize) -> u16 {
    u16::try_from(at).expect("a trace is short")
}

fn wide(n: usize) -> u32 {
    u32::try_from(n).expect("a trace is short")
}

fn small(n: u32) -> usize {
    n as usize
}
