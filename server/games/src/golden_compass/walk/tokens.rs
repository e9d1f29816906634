//! The tokens of a position and all their moves; the tokens of the world that the walk comes to.

use boardwire_kernel::{BySeat, RngStream, Seat};

use super::super::GoldenCompass;
use super::super::catalogue::limits::{SEATS, few};
use super::super::catalogue::{TokenId, TokenSet};
use super::super::memory::{Block, TABLE};
use super::super::state::State;
use super::super::trace::Event;
use super::read::SOUND;
use super::{CITY, DECK, NO_SLOT, NONE, SHOWN, Thing, Walk};

/// The tokens in an order in which equal ones are beside each other.
#[derive(Debug)]
pub(in super::super) struct TokenThings {
    ids: Vec<TokenId>,
    /// By token, its place in that order.
    places: Vec<u8>,
    /// By type, where its tokens are.
    types: Vec<Block>,
}

impl TokenThings {
    pub(in super::super) fn new(equal: &[TokenSet]) -> Self {
        let mut things = Self { ids: vec![], places: vec![0; equal.len()], types: vec![] };
        for set in equal {
            things.types.push(Block { start: few(things.ids.len()), len: few(set.len()) });
            for id in set {
                things.places[usize::from(id)] = few(things.ids.len());
                things.ids.push(TokenId::new(id));
            }
        }
        things
    }
}

impl GoldenCompass {
    /// The tokens and all their moves, as `viewer` sees them.
    pub(in super::super) fn token_walk(&self, state: &State, viewer: Seat) -> Walk<'_> {
        let ids = &self.token_things.ids;
        let city_of = |id: TokenId| CITY * self.printed().token(id).city.get();
        let thing = |&id: &TokenId| {
            let home = city_of(id) + DECK;
            Thing { kind: self.printed().token(id).kind.get(), home, last: NONE, slot: NO_SLOT }
        };
        let things = ids.iter().map(thing).collect();
        let mut walk = Walk::new(self, viewer, &self.token_things.types, things, ids.len());
        walk.keeps_names = state.trace.is_condensed;
        // What a shorter history has forgotten: that these tokens have left their cities.
        let left_city = |&id: &TokenId| state.memory[viewer].places_of(id) & TABLE == 0;
        let fixed: TokenSet = if walk.keeps_names {
            ids.iter().filter(|id| left_city(id)).map(|id| id.get()).collect()
        } else {
            TokenSet::EMPTY
        };
        let mut held = BySeat::<TokenSet, SEATS>::default();
        for entry in state.trace.events() {
            let (actor, own) = (entry.actor, entry.actor.number());
            let (from, to, token, is_seen) = match entry.event {
                Event::Take(token) => (DECK, own, token, actor == viewer),
                Event::Rob { victim, token } => {
                    held[victim].remove(token);
                    (victim.number(), own, token, actor == viewer || victim == viewer)
                }
                Event::Lay(token) => (own, SHOWN, token, true),
                Event::Draw(_)
                | Event::Apart
                | Event::Show { .. }
                | Event::Steal { .. }
                | Event::Return
                | Event::Begin(_)
                | Event::Asked => continue,
            };
            let is_seen = is_seen || fixed.contains(token);
            let city = city_of(token);
            let thing = self.token_things.places[token.index()];
            let show = walk.end();
            let step = walk.push(thing, (city + from, city + to), is_seen, 0, entry.at);
            if to == SHOWN {
                let alike = self.equal_tokens[usize::from(step.kind)].intersection(held[actor]);
                step.alike = few(alike.len());
                held[actor].remove(token);
                walk.shows[actor.index()].push(show);
            } else {
                held[actor].insert(token);
            }
        }
        for city in 1..=few(self.printed().collecting().len()) {
            let here = |&thing: &u8| city_of(ids[usize::from(thing)]) == CITY * city;
            walk.hide(&(0..few(ids.len())).filter(here), CITY * city + DECK, 0);
        }
        walk
    }

    /// Writes the tokens of the world that a walk came to.
    ///
    /// Equal tokens have different numbers, which nobody sees: of those in one place any may be taken, and the lowest
    /// is laid out. Says whether one that the viewer saw has another number now.
    pub(in super::super) fn put_tokens(
        &self,
        walk: &Walk<'_>,
        state: &mut State,
        rng: &mut RngStream,
    ) -> bool {
        let mut renamed = false;
        for place in state.places.of_mut(self.seats) {
            (place.tokens, place.laid) = (TokenSet::EMPTY, TokenSet::EMPTY);
        }
        for (pile, city) in state.piles.iter_mut().zip(self.printed().collecting()) {
            *pile = city.tokens;
        }
        let mut circles = state.circles.map(|_| TokenSet::EMPTY);
        for step in &walk.moves[1..] {
            let city = usize::from(step.from / CITY) - 1;
            let equal = self.equal_tokens[usize::from(walk.thing(step.thing).kind)];
            let own = Seat::new(if step.to % CITY == SHOWN { step.from % CITY } else { step.to % CITY });
            let there = match step.from % CITY {
                DECK => &mut state.piles[city],
                seat => &mut state.places[Seat::new(seat)].tokens,
            };
            let mut possible = there.intersection(equal);
            let id = if walk.keeps_names {
                self.token_things.ids[usize::from(step.thing)].get()
            } else if step.to % CITY == SHOWN || possible.len() == 1 {
                possible.lowest().expect(SOUND)
            } else {
                rng.draw(&mut possible)
            };
            there.remove(id);
            if step.to % CITY == SHOWN {
                state.places[own].laid.insert(id);
                let old = state.trace.number(step.at);
                for (new, circle) in circles.iter_mut().zip(&state.circles) {
                    if circle.contains(old) {
                        new.insert(id);
                    }
                }
            } else {
                state.places[own].tokens.insert(id);
            }
            renamed |= step.is_seen && state.trace.number(step.at) != id;
            state.trace.rename(step.at, Event::Take(TokenId::new(id)));
        }
        state.circles = circles;
        renamed
    }
}
