//! Samples the tokens that a seat cannot see, city by city. If any token may be in any place, it draws them directly.
//! Otherwise it counts the assignments that remain after each choice.

use boardwire_kernel::{RngStream, Seat};

use super::super::GoldenCompass;
use super::super::catalogue::{TokenId, TokenSet};
use super::super::limits::{CITY_TOKENS, COLLECTING, MAX_SEATS, to_byte};
use super::super::state::{State, tokens_of};

/// The index of the city among the places, after the seats.
const AT_CITY: usize = MAX_SEATS;

/// The tokens of one city that a seat cannot see.
struct HiddenTokens {
    /// Sorted by kind, then by the places where they may be.
    tokens: [u8; CITY_TOKENS as usize],
    len: u8,
    /// By place: how many of these tokens each other seat holds, and how many lie at the city.
    room: [u8; MAX_SEATS + 1],
}

impl GoldenCompass {
    /// Samples where the tokens are that the viewer cannot see.
    pub(super) fn resample_tokens(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        for city in 0..COLLECTING {
            if self.others(viewer).all(|seat| state.seats[seat].backs[city] == 0) {
                continue;
            }
            let HiddenTokens { mut tokens, len, mut room } = self.hidden_tokens(state, viewer, city);
            let tokens = &mut tokens[..len.into()];
            let State { memory, seats, city_tokens, .. } = &mut *state;
            let (known, pile) = (&memory[viewer].tokens, &mut city_tokens[city]);
            for seat in self.others(viewer) {
                let seat_state = &mut seats[seat];
                seat_state.tokens = seat_state.tokens.difference(self.catalogue().cities[city].tokens);
            }
            if count_if_unrestricted(tokens, known, &room).is_some() {
                // Any seat can hold any token that is left, so there is nothing to count.
                let mut left = tokens.len();
                for seat in self.others(viewer) {
                    for _ in 0..room[seat.index()] {
                        let drawn = rng.below(u32::try_from(left).expect("few tokens")) as usize;
                        left -= 1;
                        tokens.swap(drawn, left);
                        seats[seat].tokens.insert(tokens[left]);
                    }
                }
                *pile = tokens[..left].iter().copied().collect();
                continue;
            }
            *pile = TokenSet::EMPTY;
            for (at, &token) in tokens.iter().enumerate() {
                let rest = &tokens[at + 1..];
                let assignments =
                    std::array::from_fn(|place| count_with(token, place, rest, known, &mut room));
                let chosen = sample_place(&assignments, rng);
                room[chosen] -= 1;
                if chosen == AT_CITY {
                    pile.insert(token);
                } else {
                    seats[Seat::new(to_byte(chosen))].tokens.insert(token);
                }
            }
        }
    }

    /// Returns the tokens of a city that `viewer` cannot see.
    fn hidden_tokens(&self, state: &State, viewer: Seat, city: usize) -> HiddenTokens {
        let all = self.catalogue().cities[city].tokens;
        let places = &state.memory[viewer].tokens;
        let own = state.seats[viewer].tokens;
        let is_hidden = |token: &TokenId| places[token.index() - 1] != 0 && !own.contains(*token);
        let (mut tokens, mut len) = ([0; CITY_TOKENS as usize], 0);
        for token in tokens_of(all).filter(is_hidden) {
            tokens[len] = token.get();
            len += 1;
        }
        // The viewer does not know which of several equal tokens has which id.
        tokens[..len].sort_unstable_by_key(|&token| {
            (self.catalogue().tokens[usize::from(token) - 1].kind, places[usize::from(token) - 1])
        });
        let mut room = [0; MAX_SEATS + 1];
        for seat in self.others(viewer) {
            room[seat.index()] = to_byte(state.seats[seat].tokens.intersection(all).len());
        }
        room[AT_CITY] = to_byte(state.city_tokens[city].len());
        HiddenTokens { tokens, len: to_byte(len), room }
    }
}

/// Factorials: the number of orders of 0 to 6 tokens.
const FACTORIALS: [u32; CITY_TOKENS as usize + 1] = [1, 1, 2, 6, 24, 120, 720];

/// Returns the number of assignments of `tokens` to places if every token fits every place and all places get full.
/// Otherwise returns `None`.
fn count_if_unrestricted(tokens: &[u8], places: &[u8], room: &[u8]) -> Option<u32> {
    let mut open = 0u8;
    let (mut rooms, mut orders) = (0, 1);
    for (place, &room) in room.iter().enumerate() {
        open |= u8::from(room > 0) << place;
        rooms += usize::from(room);
        orders *= FACTORIALS.get(usize::from(room))?;
    }
    let is_free = |&token: &u8| places[usize::from(token) - 1] & open == open;
    let is_filled = rooms == tokens.len() && tokens.iter().all(is_free);
    // Every order of the tokens fills the places. The order within a place makes no difference.
    is_filled.then(|| FACTORIALS[rooms] / orders)
}

/// Returns the number of assignments of `tokens` to places where they may be, within the room of each place.
fn count(tokens: &[u8], places: &[u8], room: &mut [u8; MAX_SEATS + 1]) -> u32 {
    let Some((&token, rest)) = tokens.split_first() else {
        return 1;
    };
    let free = count_if_unrestricted(tokens, places, room);
    free.unwrap_or_else(|| (0..=MAX_SEATS).map(|place| count_with(token, place, rest, places, room)).sum())
}

/// Returns how many of these assignments put `token` into this place.
fn count_with(token: u8, place: usize, rest: &[u8], places: &[u8], room: &mut [u8; MAX_SEATS + 1]) -> u32 {
    if room[place] == 0 || places[usize::from(token) - 1] >> place & 1 == 0 {
        return 0;
    }
    room[place] -= 1;
    let assignments = count(rest, places, room);
    room[place] += 1;
    assignments
}

/// Returns a random place, weighted by its assignments. At least one place has some: the true place of the token.
fn sample_place(assignments: &[u32; MAX_SEATS + 1], rng: &mut RngStream) -> usize {
    let drawn = rng.below(assignments.iter().sum());
    let mut reached = 0;
    let chosen = assignments.iter().position(|&assignments| {
        reached += assignments;
        drawn < reached
    });
    chosen.expect("the drawn number is below the sum of the weights")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_may_be_wherever_there_is_room_are_counted_at_once() {
        // One of three tokens goes to seat 1 and two go to the city. Seat 0 has no room and makes no difference.
        let (mut places, mut room) = ([0b1_0010; 4], [0; MAX_SEATS + 1]);
        (room[1], room[AT_CITY]) = (1, 2);
        assert_eq!(count_if_unrestricted(&[1, 2, 3], &places, &room), Some(3));
        assert_eq!(count_if_unrestricted(&[1, 2], &places, &room), None, "they leave room");
        places[2] = 0b1_0001;
        assert_eq!(count_if_unrestricted(&[1, 2, 3], &places, &room), None, "one cannot be with seat 1");
        places[2] = 0b0_0010;
        assert_eq!(count_if_unrestricted(&[1, 2, 3], &places, &room), None, "one is surely with seat 1");
        assert_eq!(count(&[1, 2, 3], &places, &mut room), 1);
    }
}
