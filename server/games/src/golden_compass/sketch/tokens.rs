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
        let is_free = free_ways(tokens, &places, &room).is_some();
        for (at, &token) in tokens.iter().enumerate() {
            // Where every token may be in every place, a place has a share of the ways as large as its room.
            let ways = if is_free {
                room.map(u32::from)
            } else {
                let rest = &tokens[at + 1..];
                std::array::from_fn(|place| count_with(token, place, rest, &places, &mut room))
            };
            let chosen = choose(&ways, rng)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_may_be_wherever_there_is_room_are_counted_at_once() {
        // Of three tokens one goes to seat 1 and two to the city; seat 0, which has no room, makes no difference.
        let (mut places, mut room) = ([0b1_0010; 4], [0; SEATS + 1]);
        (room[1], room[AT_CITY]) = (1, 2);
        assert_eq!(free_ways(&[1, 2, 3], &places, &room), Some(3));
        assert_eq!(free_ways(&[1, 2], &places, &room), None, "they leave room");
        places[2] = 0b1_0001;
        assert_eq!(free_ways(&[1, 2, 3], &places, &room), None, "one cannot be with seat 1");
        places[2] = 0b0_0010;
        assert_eq!(free_ways(&[1, 2, 3], &places, &room), None, "one is surely with seat 1");
        assert_eq!(count(&[1, 2, 3], &places, &mut room), 1);
    }
}
