//! Every world has a history: from the deal on it shows its seat what it saw.

use boardwire_kernel::testkit::{self, History, Replayable, Shown, worlds_have_histories};
use boardwire_kernel::{BOT_STREAM, Episode, Game, RngStream, Seat};

use super::super::action::Action;
use super::super::catalogue::CharacterId;
use super::super::state::{State, Step};
use super::super::trace::Event;
use super::super::{GoldenCompass, streams};
use std::sync::Arc;

/// The games that are looked at: what all see of them (the wheel, truth tiles) is found by playing them again.
const SEEDS: u64 = 1;

impl Replayable for GoldenCompass {
    fn history(&self, world: &State, choices: &[(Seat, u8)], viewer: Seat) -> Option<History> {
        let game = testkit::table::<Self>(self.seats, &[]);
        let shown = Shown::to(self, world, viewer);
        let mut played = (0..SEEDS).filter_map(|seed| replayed(&game, seed, choices));
        let states =
            played.find(|states| states.last().is_some_and(|last| Shown::to(self, last, viewer) == shown))?;
        let mut outcomes = vec![vec![]; streams::NAMES.len()];
        outcomes[streams::FIRST] = vec![states[0].first.number()];
        self.public_outcomes(&states, &mut outcomes);
        self.hidden_outcomes(world, &mut outcomes);
        let mut choices = choices.to_vec();
        if world.step == Step::Keep {
            for seat in self.others(viewer) {
                if let Some(which) = world.places[seat].kept {
                    let own = choices.iter_mut().rev().find(|choice| choice.0 == seat)?;
                    own.1 = self.encode(Action::Keep(which));
                }
            }
        }
        self.characters_dealt(&states, world, &choices, &mut outcomes[streams::CHARACTERS]);
        Some(History { outcomes, choices })
    }
}

/// The states of the game of a seed, if these are its choices.
fn replayed(game: &Arc<GoldenCompass>, seed: u64, choices: &[(Seat, u8)]) -> Option<Vec<State>> {
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let mut rng = RngStream::new(seed, BOT_STREAM);
    let mut states = vec![*episode.state()];
    for &(seat, action) in choices {
        let mut legal = Game::legal(&**game, episode.state(), seat);
        if episode.pending().lowest() != Some(seat) || rng.draw(&mut legal) != action {
            return None;
        }
        episode.apply(seat, action.into()).ok()?;
        states.push(*episode.state());
    }
    Some(states)
}

impl GoldenCompass {
    /// Where the needle pointed, and which tiles were opened.
    fn public_outcomes(&self, states: &[State], outcomes: &mut [Vec<u8>]) {
        for pair in states.windows(2) {
            let [before, after] = [pair[0], pair[1]];
            if after.turn > before.turn {
                let rank = self.wheel.iter().position(|&axis| Some(axis) == after.axis).expect("an axis");
                outcomes[streams::WHEEL].push(u8::try_from(rank).expect("few"));
            }
            if before.open.is_empty() && !after.open.is_empty() {
                let mut bag = before.bag;
                for _ in after.passages..before.passages {
                    outcomes[streams::TRUTH].push(bag.len());
                }
                for (value, &count) in (0u8..).zip(after.open.counts()) {
                    for _ in 0..count {
                        outcomes[streams::TRUTH].push(bag.counts()[..usize::from(value)].iter().sum());
                        bag.remove(value);
                    }
                }
            }
        }
    }

    /// Cards and tokens drawn and stolen, as the world has them.
    fn hidden_outcomes(&self, world: &State, outcomes: &mut [Vec<u8>]) {
        let mut table = self.empty(Seat::FIRST);
        for entry in world.trace.events() {
            let seat = entry.actor;
            let (deck, hands) = (&mut table.deck, &mut table.places);
            match entry.event {
                Event::Draw(card) => {
                    outcomes[streams::CARDS].push(deck.counts()[..card.index()].iter().sum());
                    deck.remove(card.get());
                    hands[seat].hand.insert(card);
                }
                Event::Show { card, .. } => {
                    hands[seat].hand.remove(card);
                    table.discard.insert(card.get());
                }
                Event::Steal { victim, card } => {
                    let held = hands[victim].hand.as_slice().iter();
                    let rank = held.take_while(|&&other| other < card.get()).count();
                    outcomes[streams::STOLEN_CARDS].push(u8::try_from(rank).expect("few"));
                    hands[victim].hand.remove(card);
                    hands[seat].hand.insert(card);
                }
                Event::Return => deck.absorb(&mut table.discard),
                Event::Take(token) => outcomes[streams::TOKENS].push(token.get()),
                Event::Rob { token, .. } => outcomes[streams::STOLEN_TOKENS].push(token.get()),
                Event::Apart | Event::Begin(_) | Event::Asked | Event::Lay(_) => {}
            }
        }
    }

    /// The characters dealt in every period; of this one as the world has them.
    fn characters_dealt(&self, states: &[State], world: &State, choices: &[(Seat, u8)], dealt: &mut Vec<u8>) {
        for period in 0..=world.period {
            let (ply, truth) =
                states.iter().enumerate().find(|(_, state)| state.period == period).expect("it began");
            for steps in 0..self.seats {
                let seat = truth.first.clockwise(steps, self.seats);
                let mut pair = truth.places[seat].dealt.expect("a period begins with a deal");
                if period == world.period {
                    if let Some(dealt) = world.places[seat].dealt {
                        pair = dealt;
                    } else {
                        let own = choices[ply..].iter().find(|choice| choice.0 == seat).expect("it kept one");
                        let kept = usize::from(own.1 == self.encode(Action::Keep(1)));
                        let passed = world.places[self.left_of(seat)].under;
                        pair[kept] = world.places[seat].ally.expect("allies are shown");
                        pair[1 - kept] = passed.expect("a card was passed on");
                    }
                }
                dealt.extend(pair.map(CharacterId::get));
            }
        }
    }
}

#[test]
fn every_world_has_a_history_that_showed_its_seat_the_same() {
    // GC-13.1, GC-13.2
    for seats in 2..=4 {
        for seed in 0..SEEDS {
            worlds_have_histories(&testkit::table::<GoldenCompass>(seats, &[]), seed);
        }
    }
}
