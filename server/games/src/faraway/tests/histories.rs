//! Rebuilds a history, deal by deal, for each determinization sampled for a seat.

use std::collections::VecDeque;

use boardwire_kernel::testkit::{History, Replayable, check_histories};
use boardwire_kernel::{Seat, Setup, testkit};

use crate::faraway::{Action, Faraway, Phase, REGION_STREAM, RegionId, SANCTUARY_STREAM, Sanctuaries, State};

impl Replayable for Faraway {
    fn history(&self, world: &State, choices: &[(Seat, u8)], viewer: Seat) -> Option<History> {
        let choices = with_world_choices(self, world, choices, viewer);
        let mut outcomes = vec![vec![], vec![]];
        outcomes[REGION_STREAM] = regions_drawn(self, world, &choices);
        outcomes[SANCTUARY_STREAM] = sanctuaries_drawn(self, world)?;
        Some(History { outcomes, choices })
    }
}

/// Returns the choices, with the world's values for hidden choices of other seats.
fn with_world_choices(
    game: &Faraway,
    world: &State,
    choices: &[(Seat, u8)],
    viewer: Seat,
) -> Vec<(Seat, u8)> {
    let setting_aside = if game.advanced { 2 * usize::from(game.info().seats) } else { 0 };
    let mut first_of = [true; 6];
    let replaced = choices.iter().enumerate().map(|(ply, &(seat, action))| {
        let hidden = if ply < setting_aside {
            let [first, second] = world.set_aside[seat];
            if std::mem::take(&mut first_of[seat.index()]) { first } else { second }
        } else if world.phase == Phase::Explore
            && ply >= choices.len() - world.chosen.all().iter().flatten().count()
        {
            world.chosen[seat]
        } else {
            None
        };
        match hidden {
            Some(id) if seat != viewer => (seat, Action::Region(id).index()),
            _ => (seat, action),
        }
    });
    replaced.collect()
}

/// Returns the regions drawn: the hands as dealt, then every display; in any order within a hand or display.
fn regions_drawn(game: &Faraway, world: &State, choices: &[(Seat, u8)]) -> Vec<u8> {
    let mut drawn = Vec::new();
    for seat in Seat::all(game.info().seats) {
        let mut hand = world.hands[seat].union(world.line(seat).collect()).difference(world.revealed);
        // Regions set aside are in the deck, or have been revealed since.
        world.set_aside[seat].into_iter().flatten().for_each(|id| hand.insert(id));
        drawn.extend(hand);
    }
    if world.phase == Phase::SetAside {
        return drawn;
    }
    let seats = usize::from(game.info().seats);
    let taken = choices_of_displays(game, world, choices);
    for round in 0..usize::from(world.round.min(7)) {
        let display = taken.iter().skip(round * seats).take(seats).copied();
        drawn.extend(display);
        drawn.extend(world.left_over[round].map(RegionId::get));
    }
    drawn.extend(world.display);
    drawn
}

/// Returns the regions taken from displays, in the order of the choices.
fn choices_of_displays(game: &Faraway, world: &State, choices: &[(Seat, u8)]) -> Vec<u8> {
    let mut left: Vec<usize> = vec![0; 6];
    let set_aside = if game.advanced { 2 } else { 0 };
    let mut taken = Vec::new();
    for &(seat, action) in choices {
        // A seat first sets regions aside, then explores and takes alternately. Placing is a different action.
        if let Some(Action::Region(id)) = Action::at(action) {
            let number = left[seat.index()];
            left[seat.index()] += 1;
            if number >= set_aside && (number - set_aside) % 2 == 1 && world.revealed.contains(id) {
                taken.push(id.get());
            }
        }
    }
    taken
}

/// Returns the sanctuaries in a possible order of draws; none if no order is possible.
fn sanctuaries_drawn(game: &Faraway, world: &State) -> Option<Vec<u8>> {
    let seats = game.info().seats;
    let mut deck = HistoryDeck { blocks: VecDeque::from([(1..=45).collect()]), drawn: Vec::new() };
    for round in 2..=world.explored() {
        let at = usize::from(round - 2);
        let order = &world.order_of(round, seats)[..usize::from(seats)];
        let mut earlier = Sanctuaries::EMPTY;
        for &seat in order {
            // A card that an earlier seat of the round also had came from that seat, during the turns.
            deck.draw(world.dealt[seat][at].difference(earlier))?;
            earlier = earlier.union(world.dealt[seat][at]);
        }
        earlier = Sanctuaries::EMPTY;
        for &seat in order {
            deck.draw(world.dealt[seat][at].intersection(earlier))?;
            earlier = earlier.union(world.dealt[seat][at]);
            deck.blocks.push_back(world.returned(round, seat));
        }
    }
    Some(deck.drawn)
}

/// The sanctuary deck: a queue of blocks from which cards are drawn in order.
struct HistoryDeck {
    blocks: VecDeque<Sanctuaries>,
    drawn: Vec<u8>,
}

impl HistoryDeck {
    fn draw(&mut self, mut cards: Sanctuaries) -> Option<()> {
        while !cards.is_empty() {
            let front = self.blocks.front_mut()?;
            let here = cards.intersection(*front);
            self.drawn.extend(here);
            (*front, cards) = (front.difference(here), cards.difference(here));
            if !cards.is_empty() {
                if !front.is_empty() {
                    return None;
                }
                self.blocks.pop_front();
            }
        }
        Some(())
    }
}

#[test]
fn every_world_drawn_has_a_history_that_showed_the_seat_the_same() {
    // FA-5.2, FA-5.3, FA-5.4, FA-5.5
    for (seed, game) in (0..).zip(testkit::every_table::<Faraway>()) {
        check_histories(&game, seed);
    }
}
