//! Tokens that a seat cannot see: city by city, by counting how many ways are left after each choice.

use boardwire_kernel::{BitSet, RngStream, Seat};

use super::super::GoldenCompass;
use super::super::catalogue::TokenId;
use super::super::catalogue::limits::{CITY_TOKENS, SEATS, few};
use super::super::state::{State, tokens_of};

/// The place of tokens at their city, after those of the seats.
const AT_CITY: usize = SEATS;

impl GoldenCompass {
    /// Gives the tokens of one city that the viewer cannot see to the places they may be in, if there is a way.
    pub(super) fn deal_tokens(
        &self,
        state: &mut State,
        viewer: Seat,
        city: usize,
        rng: &mut RngStream,
    ) -> Option<()> {
        let all = self.printed().cities[city].tokens;
        let places = state.memory[viewer].tokens;
        let own = state.places[viewer].tokens;
        let hidden = |token: &TokenId| places[token.index() - 1] != 0 && !own.contains(*token);
        let (mut tokens, mut count) = ([0; CITY_TOKENS as usize], 0);
        for token in tokens_of(all).filter(hidden) {
            tokens[count] = token.get();
            count += 1;
        }
        let tokens = &mut tokens[..count];
        // Which of equal tokens has which number is not known: by kind, and by what is known of them.
        tokens.sort_unstable_by_key(|&token| {
            (self.printed().tokens[usize::from(token) - 1].kind, places[usize::from(token) - 1])
        });
        let tokens = &*tokens;
        let mut room = [0u8; SEATS + 1];
        for seat in self.others(viewer) {
            let held = &mut state.places[seat].tokens;
            room[seat.index()] = few(held.intersection(all).len());
            *held = held.difference(all);
        }
        room[AT_CITY] = few(state.piles[city].len());
        state.piles[city] = BitSet::EMPTY;
        let mut all_ways = free_ways(tokens, &places, &room);
        for (at, &token) in tokens.iter().enumerate() {
            let chosen = if let Some(all) = &mut all_ways {
                choose_freely(all, tokens.len() - at, &room, rng)
            } else {
                let rest = &tokens[at + 1..];
                choose(&std::array::from_fn(|place| count_with(token, place, rest, &places, &mut room)), rng)?
            };
            room[chosen] -= 1;
            if chosen == AT_CITY {
                state.piles[city].insert(token);
            } else {
                state.places[Seat::new(few(chosen))].tokens.insert(token);
            }
        }
        Some(())
    }
}

/// The number of orders of so many tokens.
const FACTORIALS: [u32; CITY_TOKENS as usize + 1] = [1, 1, 2, 6, 24, 120, 720, 5_040, 40_320];

/// How many ways there are to give `tokens` to places, if each may be in every place with room and they fill them.
fn free_ways(tokens: &[u8], places: &[u8], room: &[u8]) -> Option<u32> {
    let mut open = 0u8;
    let (mut rooms, mut orders) = (0, 1);
    for (place, &room) in room.iter().enumerate() {
        open |= u8::from(room > 0) << place;
        rooms += usize::from(room);
        orders *= FACTORIALS.get(usize::from(room))?;
    }
    let is_free = |&token: &u8| places[usize::from(token) - 1] & open == open;
    let is_filled = rooms == tokens.len() && tokens.iter().all(is_free);
    // Each order of the tokens fills the places; the order within a place makes no difference.
    is_filled.then(|| FACTORIALS[rooms] / orders)
}

/// How many ways there are to give `tokens` to places with room where they may be.
fn count(tokens: &[u8], places: &[u8], room: &mut [u8; SEATS + 1]) -> u32 {
    let Some((&token, rest)) = tokens.split_first() else {
        return 1;
    };
    let free = free_ways(tokens, places, room);
    free.unwrap_or_else(|| (0..=SEATS).map(|place| count_with(token, place, rest, places, room)).sum())
}

/// How many of these have `token` in this place.
fn count_with(token: u8, place: usize, rest: &[u8], places: &[u8], room: &mut [u8; SEATS + 1]) -> u32 {
    if room[place] == 0 || places[usize::from(token) - 1] >> place & 1 == 0 {
        return 0;
    }
    room[place] -= 1;
    let ways = count(rest, places, room);
    room[place] += 1;
    ways
}

/// A place for the next of so many tokens that may each be in every place with room: likely by its room, as its
/// share of `all` ways is. What ways there are for the others remains.
fn choose_freely(all: &mut u32, tokens: usize, room: &[u8], rng: &mut RngStream) -> usize {
    let tokens = u32::from(few(tokens));
    let drawn = rng.below(*all) * tokens;
    let mut reached = 0;
    let chosen = room.iter().position(|&room| {
        reached += *all * u32::from(room);
        drawn < reached
    });
    let chosen = chosen.expect("the tokens fill the places");
    *all = *all * u32::from(room[chosen]) / tokens;
    chosen
}

/// One of the places, each as likely as it has ways; none if there is no way.
fn choose(ways: &[u32; SEATS + 1], rng: &mut RngStream) -> Option<usize> {
    let all = ways.iter().sum();
    let drawn = if all == 0 { return None } else { rng.below(all) };
    let mut reached = 0;
    ways.iter().position(|&ways| {
        reached += ways;
        drawn < reached
    })
}
