//! The view (observation) of a seat or of the public, as byte fields.
//!
//! Every field is listed once, with its description and its writer. In the public view all hidden cards are equal, and a
//! token shows only its back. The public view does not remember where tokens came from; a seat does.

mod words;

use boardwire_kernel::{
    Around, Axis, FieldSink, FieldSpec, LayoutBuilder, Seat, ViewLayout, ViewWriter, Viewer, Views,
    with_seats,
};

use super::GoldenCompass;
use super::catalogue::{AxisId, Catalogue, CharacterId, EffectId, count_of};
use super::limits::{
    AXES, CARD_TYPES, CARDS, CHARACTERS, COLLECTING, COMPASS, DAEMONS, DUST, HAND, PASSAGES, PLACING, SEATS,
    TILE_VALUES, TOKENS, byte, to_byte,
};
use super::memory::{Memory, TABLE, place_of};
use super::state::{Aim, Decision, Place, State, tokens_of};
use words::{DECISIONS, KEPT, SETS, decision, set_begun};
pub(super) use words::{Sizes, decision_words};

/// The largest stamp or age of a hidden card. There is at most one per hidden place.
const MOST_RETURNS: u16 = 48;
const _: () = assert!((SEATS - 1) * HAND <= 48);

/// Few stamps and ages exceed this value.
const USUAL_RETURNS: u16 = 8;

/// A state and its viewer.
struct Sight<'a, const N: usize> {
    game: &'a GoldenCompass,
    state: &'a State,
    around: Around<N>,
}

impl<const N: usize> Sight<'_, N> {
    /// Returns the viewing seat. Only fields that the public does not have may call it.
    fn viewer(&self) -> Seat {
        self.around.viewer().first()
    }

    fn place(&self) -> &Place {
        &self.state.places[self.viewer()]
    }

    fn memory(&self) -> &Memory {
        &self.state.memory[self.viewer()]
    }

    fn by_seat(&self, value: impl Fn(&Place) -> u8) -> [u8; N] {
        self.around.seats().map(|seat| value(&self.state.places[seat]))
    }

    /// Rotates a set of seats, one bit per seat, so that the viewer is bit 0.
    fn turned(&self, seats: u8) -> u8 {
        let first = self.viewer().number();
        ((seats >> first) + (seats << (self.game.seats - first))) & ((1 << N) - 1)
    }

    /// Writes the code of every copy of every card type: hidden with its number, known, or discarded.
    fn write_copies(&self, out: &mut [u8]) {
        let stamps = match self.around.viewer() {
            Viewer::Seat(_) => &self.memory().stamps,
            Viewer::Public => &[0; CARDS],
        };
        for ((copy, stamp), kept) in out.iter_mut().zip(stamps).zip(&self.state.not_discarded) {
            *copy = stamp.wrapping_add(2) & kept;
        }
    }

    /// Returns where each token may be: a seat's view reads its memory, the public view infers it from the backs.
    fn token_places(&self) -> [u8; TOKENS] {
        if self.around.viewer() != Viewer::Public {
            return self.memory().tokens;
        }
        let mut places = [0; TOKENS];
        for (at, city) in self.game.printed().collecting().iter().enumerate() {
            let mut may_be = if self.state.piles[at].is_empty() { 0 } else { TABLE };
            for &seat in self.around.seats() {
                may_be |= if self.state.places[seat].backs[at] > 0 { place_of(seat) } else { 0 };
            }
            tokens_of(city.tokens).for_each(|token| places[token.index() - 1] = may_be);
        }
        places
    }

    /// Returns the code of each token: where it is or may be. The codes of equal tokens are sorted to reveal nothing.
    fn token_codes(&self) -> [u8; TOKENS] {
        let mut codes = self
            .token_places()
            .map(|places| 2 * self.turned(places & (TABLE - 1)) + u8::from(places & TABLE != 0));
        for (seat, first) in self.around.seats().iter().zip((2 << N..).step_by(PLACING)) {
            for token in tokens_of(self.state.places[*seat].laid) {
                let city = u8::from(self.state.circles[1].contains(token));
                codes[token.index() - 1] = first + city;
            }
        }
        for &(one, other) in &self.game.token_order {
            let (one, other) = (usize::from(one), usize::from(other));
            (codes[one], codes[other]) = (codes[one].min(codes[other]), codes[one].max(codes[other]));
        }
        codes
    }
}

/// Returns pairs of equal tokens by index. Sorting the two codes of each pair, pair by pair, sorts all their codes.
pub(super) fn token_order(catalogue: &Catalogue) -> Vec<(u8, u8)> {
    let mut pairs = Vec::new();
    let equal = |one: u8, other: u8| {
        let kind = |at: u8| catalogue.tokens[usize::from(at)].kind;
        kind(one) == kind(other)
    };
    let tokens = count_of(&catalogue.tokens);
    for first in 0..tokens {
        // Each index in turn gets the smallest code among its equal tokens.
        let others = (first..tokens).skip(1).filter(|&other| equal(first, other));
        pairs.extend(others.map(|other| (first, other)));
    }
    pairs
}

/// Returns the layouts of the seat view and of the public view.
pub(super) fn layouts(catalogue: &Catalogue, seats: u8) -> [ViewLayout; 2] {
    let viewers = [Viewer::Seat(Seat::FIRST), Viewer::Public];
    viewers.map(|viewer| {
        let mut builder = match viewer {
            Viewer::Seat(_) => LayoutBuilder::for_seats(),
            Viewer::Public => LayoutBuilder::for_public(),
        };
        let sizes = Sizes::new(catalogue, viewer, seats);
        with_seats!(seats, [2, 3, 4], N => fields::<N, _>(&sizes, &mut builder));
        builder.finish()
    })
}

impl Views for GoldenCompass {
    fn view(&self, state: &State, viewer: Viewer, out: &mut [u8]) {
        with_seats!(self.seats, [2, 3, 4], N => {
            let shown = Sight::<N> { game: self, state, around: Around::new(viewer) };
            let mut writer = ViewWriter::new(&shown, viewer == Viewer::Public, out);
            fields(&self.sizes, &mut writer);
            writer.finish();
        });
    }
}

impl GoldenCompass {
    /// Returns the number of cards or tiles that are still due, or the most steps.
    pub(super) fn due(&self, state: &State) -> u8 {
        match state.decision {
            Decision::Cost(left)
            | Decision::Pay { left }
            | Decision::Drop { left }
            | Decision::PayForAirship { left }
            | Decision::Truth { left, .. }
            | Decision::Target(Aim::Cards(left) | Aim::Compass(left)) => left,
            Decision::Fill(begun) => begun.left,
            Decision::Steps { max } => max,
            Decision::Limit => state.acting().hand.len() - self.printed().hand_limit,
            Decision::Airship => {
                let holder = state.airship.expect("the airship is asked of its holder");
                self.airship_price(&state.places[holder])
            }
            Decision::Keep
            | Decision::Colour
            | Decision::Action
            | Decision::Target(Aim::Airship | Aim::Dust | Aim::Token)
            | Decision::Back { .. }
            | Decision::Choose { .. }
            | Decision::Lay
            | Decision::Sets
            | Decision::Over => 0,
        }
    }

    /// Returns the number of tokens that lie at each of the first four cities.
    pub(super) fn lying(&self, state: &State) -> [u8; COLLECTING] {
        std::array::from_fn(|at| {
            let is_gone = state.lyra > self.printed().cities[at].spaces.1;
            if is_gone { 0 } else { to_byte(state.piles[at].len()) }
        })
    }
}

/// Returns the axis of truth tiles by value.
const fn by_tile() -> Axis {
    Axis::rows("tile", "tiles", byte(TILE_VALUES))
}

/// Lists every field: its description and its writer.
#[inline]
fn fields<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    course(sizes, sink);
    cards(sizes, sink);
    characters(sizes, sink);
    tiles(sizes, sink);
    tokens(sizes, sink);
    draft(sizes, sink);
    choice(sizes, sink);
}

#[inline]
fn course<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let seat = |name, doc| FieldSpec::seat(name, sizes.seats, doc);
    let decision_spec = FieldSpec::category("decision", &DECISIONS, "What is to be decided.");
    sink.field(decision_spec, |shown, out| out.put(decision(shown.state.decision)));
    let chooser = seat("chooser", "Who decides; none while all keep allies, and at the end.");
    sink.field(chooser, |shown, out| out.put(shown.around.relative_or_none(shown.state.chooser())));
    let period = FieldSpec::count("period", 3, "The period, from 1.");
    sink.field(period, |shown, out| out.put(shown.state.period + 1));
    let first = seat("first", "First seat of the period.");
    sink.field(first, |shown, out| out.put(shown.around.relative(shown.state.first)));
    let active = seat("active", "Whose turn it is.");
    sink.field(active, |shown, out| out.put(shown.around.relative(shown.state.active)));
    let turn = "Turns of the whole game, from 1; 65535 and more are alike.";
    sink.field(FieldSpec::count("turn", u16::MAX, turn).usually(150), |shown, out| {
        out.put_number(u16::try_from(shown.state.turn).unwrap_or(u16::MAX));
    });
    let still = FieldSpec::count("still", 1000, "Turns in a row without a step; 1000 and more are alike.");
    sink.field(still.usually(20), |shown, out| out.put_number(shown.state.idle_turns.min(1000)));
    let lyra = FieldSpec::count("lyra", sizes.steps.into(), "Lyra's steps from the start.");
    sink.field(lyra, |shown, out| out.put(shown.state.lyra));
    let axis = FieldSpec::id("axis", "axes", byte(AXES), "Where the needle points.");
    sink.field(axis, |shown, out| out.put(AxisId::row(shown.state.axis)));
    let airship = seat("airship", "Who holds the airship.");
    sink.field(airship, |shown, out| out.put(shown.around.relative_or_none(shown.state.airship)));
}

#[inline]
fn cards<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let cards = |name, doc| FieldSpec::id(name, "cards", byte(CARD_TYPES), doc).copies(sizes.most_copies);
    let places = Axis::unordered("hand place", byte(HAND));
    let own_hand = cards("hand", "The viewer's Lyra cards, ascending.").by(places).own();
    sink.field(own_hand, |shown, out| out.put_all(shown.place().hand.places(HAND)));
    let hand_sizes = FieldSpec::count("hand_sizes", byte(HAND).into(), "Lyra cards in hand, by seat.");
    sink.field(hand_sizes.by(sizes.seat()), |shown, out| {
        out.put_all(&shown.by_seat(|place| place.hand.len()));
    });
    let draw_pile = FieldSpec::count("draw_pile", sizes.copies.into(), "Cards in the draw pile.");
    sink.field(draw_pile, |shown, out| out.put(shown.state.deck.len()));
    let copies = FieldSpec::count(
        "copies",
        2 + MOST_RETURNS,
        "Every copy of every card type, by type: first those hidden, ascending, each in no hand place whose \
         number in hidden_places is less; then 1 for each in a hand and known, 0 for each discarded. To the \
         public all that are not discarded are hidden, and alike.",
    );
    let copies = copies.by(Axis::new("copy", sizes.copies)).usually(USUAL_RETURNS);
    sink.field(copies, |shown, out| shown.write_copies(out.rest()));
    let hidden = FieldSpec::count(
        "hidden_places",
        2 + MOST_RETURNS,
        "Hand places of each opponent whose card may be unknown, ascending: 0 none, else the largest number \
         in copies a card there can have.",
    );
    let hidden = hidden.by(sizes.other()).by(places).usually(USUAL_RETURNS).own();
    sink.field(hidden, |shown, out| {
        for (&seat, row) in shown.around.others().iter().zip(out.rest().chunks_exact_mut(HAND)) {
            for (place, age) in row.iter_mut().zip(shown.memory().ages[seat].as_slice()) {
                *place = age + 2;
            }
        }
    });
    // Not unordered: the same place in both fields means the same card.
    let taken_places = Axis::new("card", sizes.taken);
    let taken = cards("taken_cards", "Cards taken from the viewer's hand and still in another, ascending.");
    sink.field(taken.by(taken_places).own(), |shown, out| {
        out.put_ids(shown.memory().taken().iter().map(|taken| taken.card));
    });
    let holders = FieldSpec::names("taken_holders", &sizes.holders, "Who may hold each of taken_cards.");
    sink.field(holders.by(taken_places).own(), |shown, out| {
        out.put_ids(shown.memory().taken().iter().map(|taken| shown.turned(taken.holders()) >> 1));
    });
}

#[inline]
fn characters<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let characters = |name, doc| FieldSpec::id(name, "characters", byte(CHARACTERS), doc);
    // Not unordered: the seat keeps the first or the second character.
    let dealt = characters("dealt", "The viewer's two characters, until allies are shown.");
    sink.field(dealt.by(Axis::new("character", 2)).own(), |shown, out| {
        out.put_ids(shown.place().dealt.into_iter().flatten().map(CharacterId::get));
    });
    let kept = FieldSpec::category("kept", &KEPT, "Who has kept an ally; which, only to the viewer.");
    sink.field(kept.by(sizes.seat()), |shown, out| {
        out.put_all(&shown.around.seats().map(|seat| match shown.state.places[seat].kept {
            Some(which) if shown.around.viewer().is(seat) => which + 1,
            kept => kept.is_some().into(),
        }));
    });
    let allies = characters("allies", "Allies by seat.").by(sizes.seat());
    sink.field(allies, |shown, out| out.put_all(&shown.by_seat(|place| CharacterId::row(place.ally))));
    let most = 2 * u16::from(sizes.most_symbols);
    let magisterium = FieldSpec::count("magisterium", most, "Magisterium values by seat.");
    sink.field(magisterium.by(sizes.seat()), |shown, out| {
        out.put_all(&shown.by_seat(|place| shown.game.magisterium(place)));
    });
    let under = characters("under", "The card under the viewer's ally.").own();
    sink.field(under, |shown, out| out.put(CharacterId::row(shown.place().under)));
    let passed = characters("passed", "The card the viewer passed to the left.").own();
    sink.field(passed, |shown, out| {
        out.put(CharacterId::row(shown.state.places[shown.around.seats()[1]].under));
    });
}

#[inline]
fn tiles<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let tiles = |name, most: u8, doc| FieldSpec::count(name, most.into(), doc);
    let supply = tiles("supply", COMPASS, "Compass tiles not in use, by seat.").by(sizes.seat());
    sink.field(supply, |shown, out| out.put_all(&shown.by_seat(|place| place.supply)));
    let compass = tiles("compass", COMPASS, "Compass tiles on the objective, by seat.");
    let compass = compass.by(sizes.seat());
    sink.field(compass, |shown, out| out.put_all(&shown.by_seat(|place| place.compass)));
    let dust = tiles("dust", DUST, "Dust tiles by seat.").by(sizes.seat());
    sink.field(dust, |shown, out| out.put_all(&shown.by_seat(|place| place.dust)));
    let dust_supply = tiles("dust_supply", DUST, "Dust tiles in the supply.");
    sink.field(dust_supply, |shown, out| out.put(shown.state.dust));
    let truth = tiles("truth", sizes.most_tiles, "Truth tiles by seat and value, rows of the table tiles.");
    sink.field(truth.by(sizes.seat()).by(by_tile()), |shown, out| {
        for &seat in shown.around.seats() {
            out.put_all(&shown.state.places[seat].truth.counts()[1..=TILE_VALUES]);
        }
    });
}

#[inline]
fn tokens<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let slots = u16::from(sizes.most_slots);
    let collecting = Axis::rows("city", "cities", byte(COLLECTING));
    let backs = FieldSpec::count("backs", slots, "Unplaced tokens by seat and city of their back.");
    sink.field(backs.by(sizes.seat()).by(collecting), |shown, out| {
        for &seat in shown.around.seats() {
            out.put_all(&shown.state.places[seat].backs);
        }
    });
    let lying = FieldSpec::count("lying", slots, "Tokens still lying at each of the first four cities.");
    sink.field(lying.by(collecting), |shown, out| out.put_all(&shown.game.lying(shown.state)));
    let placing = Axis::new("city", byte(PLACING));
    let circles = FieldSpec::count("circles", slots, "Tokens laid out in each city of the last period.");
    sink.field(circles.by(placing), |shown, out| {
        out.put_all(&shown.state.circles.map(|circle| to_byte(circle.len())));
    });
    let tokens = FieldSpec::names(
        "tokens",
        &sizes.token_places,
        "Where each token is or may be; equal ones ascending.",
    );
    sink.field(tokens.by(Axis::rows("token", "tokens", byte(TOKENS))), |shown, out| {
        out.put_all(&shown.token_codes());
    });
}

#[inline]
fn draft<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let most = u16::from(sizes.most_tiles);
    let bag = FieldSpec::count("bag", most, "Truth tiles in the bag, by value.").by(by_tile());
    sink.field(bag, |shown, out| out.put_all(&shown.state.bag.counts()[1..=TILE_VALUES]));
    let open = FieldSpec::count("open", most, "Open truth tiles, by value.").by(by_tile());
    sink.field(open, |shown, out| out.put_all(&shown.state.open.counts()[1..=TILE_VALUES]));
    let passages = FieldSpec::count("passages", PASSAGES.into(), "Passage tiles drawn.");
    sink.field(passages, |shown, out| out.put(shown.state.drawn_passages));
    let gave_up = FieldSpec::seat("gave_up", sizes.seats, "Who gave up a truth tile for the airship.");
    sink.field(gave_up, |shown, out| out.put(shown.around.relative_or_none(shown.state.gave_up)));
    let order = FieldSpec::seat("order", sizes.seats, "Seats in the order of the draft.");
    sink.field(order.by(Axis::sequence("place", sizes.seats)), |shown, out| {
        if let Decision::Truth { .. } = shown.state.decision {
            out.put_ids(shown.state.order.iter().take(N).map(|&seat| shown.around.relative(seat)));
        }
    });
}

#[inline]
fn choice<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let set = FieldSpec::category("set", &SETS, "The set being put together.");
    sink.field(set, |shown, out| out.put(set_begun(shown.state.decision).0));
    let set_of = FieldSpec::count("set_of", byte(DAEMONS).into(), "Its daemon or symbol, from 1.");
    sink.field(set_of, |shown, out| out.put(set_begun(shown.state.decision).1));
    let due = FieldSpec::count("due", 255, "Cards or tiles still due, or the most steps.").usually(8);
    sink.field(due, |shown, out| out.put(shown.game.due(shown.state)));
    let victim = FieldSpec::seat("victim", sizes.seats, "Who is being robbed of a token.");
    sink.field(victim, |shown, out| {
        if let Decision::Back { victim } = shown.state.decision {
            out.put(shown.around.relative(victim));
        }
    });
    let effect = FieldSpec::id("effect", "effects", sizes.effects, "The effect being decided on.");
    sink.field(effect, |shown, out| out.put(EffectId::row(shown.state.effect)));
    let fresh = "The viewer's cards just drawn of which some must go.";
    let fresh = FieldSpec::id("fresh", "cards", byte(CARD_TYPES), fresh).copies(sizes.most_copies);
    let looked_at = usize::from(sizes.looked_at);
    sink.field(fresh.by(Axis::unordered("card", sizes.looked_at)).own(), |shown, out| {
        if shown.around.viewer().is(shown.state.active) {
            out.put_all(shown.state.just_drawn.places(looked_at));
        }
    });
    let rights = "Wild pairs and short triplets the active seat may still play in this turn.";
    let rights = FieldSpec::count("rights", 255, rights).by(Axis::new("set", 2)).usually(2);
    sink.field(rights, |shown, out| {
        out.put_all(&[shown.state.wild, shown.state.short]);
    });
}
