//! Finds one history of the sanctuaries that is consistent with a seat's knowledge, and reads only that knowledge.
//!
//! The deck is a queue of blocks: first all cards, then the cards that each deal returned. How many cards each deal got
//! from each block is public. A history is a path for every card, from block to block through deals. It gives
//! each deal exactly that many cards of each block.
//!
//! *Backward in time*, the search matches the cards known to be in a deal with blocks they can come from. One such
//! block belongs to the viewer's previous deal with the card. Others belong to deals the viewer did not see, if the
//! card can have come through them. Deals the viewer saw have no other cards. *Forward in time*, the remaining places
//! of other deals get random cards left in their blocks, about which nothing more is known.

use boardwire_kernel::RngStream;

use super::Faraway;
use super::catalogue::SANCTUARY_COUNT;
use super::memory::{Path, Paths, last_deal};
use super::resample::CardKnowledge;
use super::state::{MAX_SEATS, State};

/// The number of blocks: the initial deck (block 0) and one for each deal. A block has the number of the deal that
/// returned it.
pub(super) const BLOCK_COUNT: usize = 1 + MAX_SEATS * 7;
/// The maximum number of random guesses before the exhaustive search. A guess can fail only if a card must pass through
/// several deals that the viewer did not see.
pub(super) const MAX_GUESSES: u32 = 256;
/// The most cards in a deal: all sanctuaries.
const DEAL: usize = SANCTUARY_COUNT as usize;

/// The public card counts of all deals.
struct DealCounts {
    /// By deal and block: the number of the deal's cards that came from the block.
    from: [[u8; BLOCK_COUNT]; BLOCK_COUNT],
    /// The highest deal number so far.
    deals: usize,
}

/// A search for the paths of the cards about which the viewer knows something.
struct Search<'a> {
    counts: &'a DealCounts,
    known: &'a [CardKnowledge; SANCTUARY_COUNT as usize],
    /// The deals that the viewer saw, as bits.
    own: Path,
    /// By deal: a bit set of the blocks a card may have been in before, on its way through deals the viewer did not see.
    possible_origins: [u64; BLOCK_COUNT],
    paths: Paths,
}

impl Faraway {
    /// Returns paths consistent with the viewer's knowledge: tries `guesses` random guesses, then an exhaustive search.
    pub(super) fn sample_initial_paths(
        &self,
        state: &State,
        own: Path,
        known: &[CardKnowledge; SANCTUARY_COUNT as usize],
        guesses: u32,
        rng: &mut RngStream,
    ) -> Paths {
        let counts = self.count_deals(state);
        let guess = |_| {
            let mut search = Search::new(&counts, known, own);
            let found = (1..=counts.deals).rev().try_for_each(|deal| search.match_deal_backward(deal, rng));
            found.map(|()| search.paths)
        };
        let mut paths = (0..guesses).find_map(guess).unwrap_or_else(|| {
            let mut search = Search::new(&counts, known, own);
            assert!(search.search_deals(counts.deals), "the exhaustive search tries the true history");
            search.paths
        });
        counts.fill_from_blocks(&mut paths, rng);
        paths
    }

    /// Replays the deals as card counts: first as far as the deck lasts, then the rest in the turns of the round.
    fn count_deals(&self, state: &State) -> DealCounts {
        let mut counts = DealCounts { from: [[0; BLOCK_COUNT]; BLOCK_COUNT], deals: 0 };
        let mut left = [0; BLOCK_COUNT];
        left[0] = SANCTUARY_COUNT;
        for round in 2..=state.explored() {
            let at = usize::from(round - 2);
            let order = state.order_of(round, self.seats);
            let deals = (6 * at + 1..).zip(order).take(self.seats.into());
            let size = |seat| u8::try_from(state.dealt[seat][at].len()).expect("there are 45 cards");
            for (deal, seat) in deals.clone() {
                counts.deal_missing(deal, size(seat), &mut left);
            }
            for (deal, seat) in deals {
                counts.deal_missing(deal, size(seat), &mut left);
                if state.placed[seat][at].is_some() {
                    left[deal] = size(seat) - 1;
                }
                counts.deals = deal;
            }
        }
        counts
    }
}

/// Returns the bit of a deal or block in a path; 0 for the initial deck.
fn bit(block: usize) -> Path {
    1 << block >> 1
}

/// Returns the deal or block of a path's bit.
fn block_of(bit: Path) -> usize {
    (Path::BITS - bit.leading_zeros()) as usize
}

/// Returns the round of a deal or block, minus 1; 0 for the initial deck.
fn round(block: usize) -> usize {
    block.div_ceil(6)
}

impl DealCounts {
    /// Completes a deal to `size` cards. Takes the undealt cards of each block (`left`) in order, as far as they
    /// suffice.
    fn deal_missing(&mut self, deal: usize, size: u8, left: &mut [u8; BLOCK_COUNT]) {
        let from = &mut self.from[deal];
        let mut lacking = size - from.iter().sum::<u8>();
        for (from, left) in from.iter_mut().zip(left) {
            let cards = lacking.min(*left);
            *from += cards;
            *left -= cards;
            lacking -= cards;
        }
    }

    /// Returns the blocks that a deal got cards from, each with the number of cards.
    fn blocks(&self, deal: usize) -> impl Iterator<Item = (usize, u8)> {
        self.from[deal][..deal].iter().copied().enumerate().filter(|&(_, cards)| cards > 0)
    }

    /// Gives every deal its missing cards, chosen at random from the cards left in its blocks.
    fn fill_from_blocks(&self, paths: &mut Paths, rng: &mut RngStream) {
        for deal in 1..=self.deals {
            for (block, cards) in self.blocks(deal) {
                let (mut free, mut count) = ([0; SANCTUARY_COUNT as usize], 0);
                let mut lacking = cards;
                for (card, &path) in paths.iter().enumerate() {
                    let came_from = last_deal(path & (bit(deal) - 1)) == bit(block);
                    lacking -= u8::from(came_from && path & bit(deal) != 0);
                    free[count] = card;
                    count += usize::from(last_deal(path) == bit(block));
                }
                for last in (0..count).rev().take(lacking.into()) {
                    free.swap(last, rng.below(u32::try_from(last + 1).expect("few cards")) as usize);
                    paths[free[last]] += bit(deal);
                }
            }
        }
    }
}

impl<'a> Search<'a> {
    fn new(counts: &'a DealCounts, known: &'a [CardKnowledge; SANCTUARY_COUNT as usize], own: Path) -> Self {
        let paths = known.map(|card| card.own | card.placed);
        let mut search = Self { counts, known, own, possible_origins: [0; BLOCK_COUNT], paths };
        for deal in 1..=counts.deals {
            for (block, _) in counts.blocks(deal) {
                search.possible_origins[deal] |= 1 << block;
                if search.is_hidden(block) {
                    search.possible_origins[deal] |= search.possible_origins[block];
                }
            }
        }
        search
    }

    /// Returns whether the viewer does not see what passes through a block.
    fn is_hidden(&self, block: usize) -> bool {
        self.own & bit(block) == 0
    }

    /// Chooses at random the block that each known card of a deal came from; none if the matching fails.
    fn match_deal_backward(&mut self, deal: usize, rng: &mut RngStream) -> Option<()> {
        let (mut places, mut count) = ([0; DEAL], 0);
        for (block, cards) in self.counts.blocks(deal) {
            places[count..count + usize::from(cards)].fill(block);
            count += usize::from(cards);
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
            if !self.find_augmenting_path(card, deal, places, &mut at_place, &mut 0) {
                return None;
            }
        }
        for (&block, card) in places.iter().zip(at_place) {
            let Some(card) = card.filter(|_| self.is_hidden(block)) else { continue };
            self.paths[card] += bit(block);
        }
        Some(())
    }

    /// Chooses blocks for the known cards of this deal and all earlier ones by exhaustive search. Returns whether a solution
    /// exists. Cards with the fewest possible blocks come first.
    fn search_deals(&mut self, deal: usize) -> bool {
        if deal == 0 {
            return true;
        }
        let known = (0..self.paths.len()).filter(|&card| self.paths[card] & bit(deal) != 0);
        let mut cards: Vec<usize> = known.collect();
        cards.sort_by_key(|&card| {
            self.counts.blocks(deal).filter(|&(block, _)| self.can_come(card, deal, block)).count()
        });
        let mut left = self.counts.from[deal];
        self.search_cards(deal, &cards, &mut left)
    }

    /// Does the same for the remaining `cards` of a deal; `left` counts the cards that can still come from each block.
    fn search_cards(&mut self, deal: usize, cards: &[usize], left: &mut [u8; BLOCK_COUNT]) -> bool {
        let Some((&card, others)) = cards.split_first() else { return self.search_deals(deal - 1) };
        for block in 0..deal {
            if left[block] == 0 || !self.can_come(card, deal, block) || self.is_full(block) {
                continue;
            }
            let path = self.paths[card];
            if self.is_hidden(block) {
                self.paths[card] |= bit(block);
            }
            left[block] -= 1;
            if self.search_cards(deal, others, left) {
                return true;
            }
            left[block] += 1;
            self.paths[card] = path;
        }
        false
    }

    /// Returns whether a deal that the viewer did not see already has all its cards.
    fn is_full(&self, block: usize) -> bool {
        let size = self.counts.from[block].iter().map(|&cards| usize::from(cards)).sum();
        block > 0
            && self.is_hidden(block)
            && self.paths.iter().filter(|&&path| path & bit(block) != 0).count() >= size
    }

    /// Finds a place for a card by an augmenting path (Kuhn's matching): other cards may move. Tries no place twice.
    fn find_augmenting_path(
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
            let is_free = at_place[at]
                .is_none_or(|other| self.find_augmenting_path(other, deal, places, at_place, tried));
            if is_free {
                at_place[at] = Some(card);
                return true;
            }
        }
        false
    }

    /// Returns whether a card can have come from `block` into `deal`.
    fn can_come(&self, card: usize, deal: usize, block: usize) -> bool {
        let CardKnowledge { own, late, .. } = self.known[card];
        let is_late = round(block) == round(deal);
        if own & bit(deal) != 0 && is_late != (late & bit(deal) != 0) {
            return false;
        }
        // The viewer's last deal with this card before `deal`; 0 is the initial deck.
        let last = block_of(last_deal(own & (bit(deal) - 1)));
        block == last || self.is_hidden(block) && self.possible_origins[block] >> last & 1 == 1
    }
}
