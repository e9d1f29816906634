//! A course of the sanctuaries that a seat can believe in, found from what it knows alone.
//!
//! The deck is a queue of blocks: all cards, then what each deal returned. How many cards of which block each deal got is
//! public. So a course is a way for every card, from block to block through deals, that fills each deal with as many cards
//! of each block as it got.
//!
//! *Backward in time*, the cards known to be in a deal are matched with the blocks they can have come from: that of the deal
//! before it in which the viewer knows the card, or one of a deal that the viewer did not see, through which the card
//! can have come. Deals that the viewer saw have no other cards. *Forward in time*, all other deals are filled with cards
//! that nothing is known of any more, any of those left in the block.

use boardwire_kernel::{RngStream, Seat};

use super::Faraway;
use super::catalogue::SANCTUARIES;
use super::memory::{PLACED, Path, Paths, last_deal};
use super::resample::Known;
use super::state::State;

/// The deck as it began, which is block 0, and all deals. A block has the number of the deal that returned it.
const NODES: usize = 1 + 6 * 7;
/// The most cards in a deal: all.
const DEAL: usize = SANCTUARIES as usize;
/// How often it is tried: only a card that has to pass through several deals nobody saw can be led into a blind alley.
const MOST_TRIES: u32 = 4096;

/// What is public of all deals.
struct Flow {
    /// By deal and block: how many of its cards came from there.
    from: [[u8; NODES]; NODES],
    /// The number of cards in each deal.
    size: [u8; NODES],
    /// The deals that have been.
    deals: usize,
}

/// A search for the ways of the cards that the viewer knows something of.
struct Search<'a> {
    flow: &'a Flow,
    known: &'a [Known; SANCTUARIES as usize],
    /// The deals that the viewer saw.
    own: Path,
    /// By deal: the blocks, as bits, that a card may have been in before on its way through deals the viewer did not see.
    before: [u64; NODES],
    /// By deal: how many more cards can pass through it.
    room: [u8; NODES],
    paths: Paths,
}

impl Faraway {
    /// Paths that show the viewer what it has seen, found from what it knows alone; none if none is found.
    pub(super) fn some_paths(
        &self,
        state: &State,
        own: Path,
        known: &[Known; SANCTUARIES as usize],
        rng: &mut RngStream,
    ) -> Option<Paths> {
        let flow = self.flow(state);
        (0..MOST_TRIES).find_map(|_| {
            let mut search = Search::new(&flow, known, own);
            (1..=flow.deals).rev().try_for_each(|deal| search.trace_back(deal, rng))?;
            let mut paths = search.paths;
            flow.fill(&mut paths, rng);
            Some(paths)
        })
    }

    /// Deals again, by numbers: at once as far as the deck goes, the rest in the turns of the round.
    fn flow(&self, state: &State) -> Flow {
        let mut flow = Flow { from: [[0; NODES]; NODES], size: [0; NODES], deals: 0 };
        let mut left = [0; NODES];
        left[0] = SANCTUARIES;
        let mut deck = SANCTUARIES;
        let mut front = 0;
        for round in 2..=state.explored() {
            let order = state.order_of(round, self.seats);
            let deals = |seats: u8| (6 * usize::from(round - 2) + 1..).zip(order).take(seats.into());
            for (deal, seat) in deals(self.seats) {
                let size = dealt(state, round, seat);
                flow.size[deal] = size;
                flow.take(deal, size.min(deck), &mut left, &mut front);
                deck -= size.min(deck);
            }
            for (deal, seat) in deals(self.seats) {
                let late = flow.size[deal] - flow.from[deal].iter().sum::<u8>();
                flow.take(deal, late, &mut left, &mut front);
                deck -= late;
                if state.placed[seat][usize::from(round - 2)].is_some() {
                    left[deal] = flow.size[deal] - 1;
                    deck += left[deal];
                }
                flow.deals = deal;
            }
        }
        flow
    }
}

fn dealt(state: &State, round: u8, seat: Seat) -> u8 {
    u8::try_from(state.dealt[seat][usize::from(round - 2)].len()).expect("there are 45 cards")
}

/// The bit of a deal or block in a path: none for the deck as it began.
fn bit(node: usize) -> Path {
    1 << node >> 1
}

/// The deal or block of a path's bit.
fn node(bit: Path) -> usize {
    (Path::BITS - bit.leading_zeros()) as usize
}

impl Flow {
    fn take(&mut self, deal: usize, cards: u8, left: &mut [u8; NODES], front: &mut usize) {
        for _ in 0..cards {
            while left[*front] == 0 {
                *front += 1;
            }
            left[*front] -= 1;
            self.from[deal][*front] += 1;
        }
    }

    /// The blocks that a deal got cards from.
    fn blocks(&self, deal: usize) -> impl Iterator<Item = (usize, u8)> {
        self.from[deal][..deal].iter().copied().enumerate().filter(|&(_, cards)| cards > 0)
    }

    /// Gives every deal the cards it lacks, any of those that are left in the blocks it got them from.
    fn fill(&self, paths: &mut Paths, rng: &mut RngStream) {
        for deal in 1..=self.deals {
            for (block, cards) in self.blocks(deal) {
                let (mut free, mut count) = ([0; SANCTUARIES as usize], 0);
                let mut lacking = cards;
                for (card, &path) in paths.iter().enumerate() {
                    let came_from = last_deal(path & (bit(deal) - 1)) == bit(block);
                    lacking -= u8::from(came_from && path & bit(deal) != 0);
                    free[count] = card;
                    count += usize::from(last_deal(path) == bit(block));
                }
                for last in (0..count).rev().take(lacking.into()) {
                    free.swap(last, rng.below(u32::try_from(last + 1).expect("few cards")) as usize);
                    paths[free[last]] |= bit(deal);
                }
            }
        }
    }
}

impl<'a> Search<'a> {
    fn new(flow: &'a Flow, known: &'a [Known; SANCTUARIES as usize], own: Path) -> Self {
        let mut search =
            Self { flow, known, own, before: [0; NODES], room: flow.size, paths: known.map(|card| card.own) };
        for (path, card) in search.paths.iter_mut().zip(known) {
            if card.placed != 0 {
                *path |= PLACED | card.placed;
                search.room[node(card.placed)] -= 1;
            }
        }
        for deal in 1..=flow.deals {
            for (block, cards) in flow.blocks(deal) {
                search.before[deal] |= 1 << block;
                if search.is_hidden(block) {
                    search.before[deal] |= search.before[block];
                }
                if own & bit(deal) != 0 {
                    // All that came from there is known, and is led through there when its deal's turn comes.
                    search.room[block] = search.room[block].saturating_sub(cards);
                }
            }
        }
        search
    }

    /// Whether cards pass through a block that the viewer does not see there.
    fn is_hidden(&self, block: usize) -> bool {
        block > 0 && self.own & bit(block) == 0
    }

    /// Says of the cards known to be in a deal where they came from.
    fn trace_back(&mut self, deal: usize, rng: &mut RngStream) -> Option<()> {
        let is_own = self.own & bit(deal) != 0;
        let (mut places, mut count) = ([0; DEAL], 0);
        for (block, cards) in self.flow.blocks(deal) {
            let through = if is_own || !self.is_hidden(block) { cards } else { cards.min(self.room[block]) };
            places[count..count + usize::from(through)].fill(block);
            count += usize::from(through);
        }
        let places = &mut places[..count];
        rng.shuffle(places);
        let mut cards = [0; DEAL];
        let mut known = 0;
        for card in (0..self.paths.len()).filter(|&card| self.paths[card] & bit(deal) != 0) {
            *cards.get_mut(known)? = card;
            known += 1;
        }
        rng.shuffle(&mut cards[..known]);
        let mut at_place = [None; DEAL];
        for &card in &cards[..known] {
            if !self.place(card, deal, places, &mut at_place, &mut 0) {
                return None;
            }
        }
        for (&block, card) in places.iter().zip(at_place) {
            let Some(card) = card.filter(|_| self.is_hidden(block)) else { continue };
            self.room[block] -= u8::from(!is_own);
            self.paths[card] |= bit(block);
        }
        Some(())
    }

    /// Finds a place for a card, for which others may have to move; no place is tried twice.
    fn place(
        &self,
        card: usize,
        deal: usize,
        places: &[usize],
        at_place: &mut [Option<usize>; DEAL],
        tried: &mut u64,
    ) -> bool {
        for (at, &block) in places.iter().enumerate() {
            if *tried >> at & 1 == 1 || !self.can_come(card, deal, block) {
                continue;
            }
            *tried |= 1 << at;
            let is_free = at_place[at].is_none_or(|other| self.place(other, deal, places, at_place, tried));
            if is_free {
                at_place[at] = Some(card);
                return true;
            }
        }
        false
    }

    /// Whether a card can have come into a deal from this block.
    fn can_come(&self, card: usize, deal: usize, block: usize) -> bool {
        let Known { own, late, placed } = self.known[card];
        let is_late = block > 0 && (block - 1) / 6 == (deal - 1) / 6;
        if own & bit(deal) != 0 && is_late != (late & bit(deal) != 0) {
            return false;
        }
        // Where it is known to have been before.
        let last = node(last_deal((own | placed) & (bit(deal) - 1)));
        block == last || self.is_hidden(block) && block > last && self.before[block] >> last & 1 == 1
    }
}
