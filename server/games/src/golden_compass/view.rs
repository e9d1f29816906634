//! The view (observation) of a seat or of the public, as byte fields.
//!
//! Every field is listed once, with its description and its writer. In the public view all hidden cards are equal, and a
//! token shows only its back. The public view does not remember where tokens came from; a seat does.

mod words;

use boardwire_kernel::{
    Axis, FieldSink, FieldSpec, LayoutBuilder, Seat, SeatOrder, ViewLayout, ViewWriter, Viewer, Views,
    with_seats,
};

use super::GoldenCompass;
use super::catalogue::{AxisId, Catalogue, CharacterId, EffectId, count_of};
use super::limits::{
    AXES, CARD_TYPES, CARDS, CHARACTERS, COLLECTING, COMPASS, DAEMONS, DUST, HAND, MAX_SEATS, PASSAGES,
    PLACING, TILE_VALUES, TOKENS, byte, to_byte,
};
use super::memory::{Memory, TABLE, seat_bit};
use super::state::{Decision, SeatState, State, TargetReason, tokens_of};
pub(super) use words::Sizes;
use words::{DECISIONS, KEPT, SETS, decision, partial_set_code};

/// The largest number of a reshuffle in a memory. There is at most one per hidden place.
const MAX_RESHUFFLE: u16 = 48;
const _: () = assert!((MAX_SEATS - 1) * HAND <= 48);

/// Few reshuffle numbers exceed this value.
const USUAL_MAX_RESHUFFLE: u16 = 8;

/// A state and its viewer, for the writers of the fields.
struct ViewContext<'a, const N: usize> {
    game: &'a GoldenCompass,
    state: &'a State,
    seat_order: SeatOrder<N>,
}

impl<const N: usize> ViewContext<'_, N> {
    /// Returns the viewing seat. Only fields that the public does not have may call it.
    fn viewer(&self) -> Seat {
        self.seat_order.viewer().first()
    }

    fn viewer_state(&self) -> &SeatState {
        &self.state.seats[self.viewer()]
    }

    fn memory(&self) -> &Memory {
        &self.state.memory[self.viewer()]
    }

    fn by_seat(&self, value: impl Fn(&SeatState) -> u8) -> [u8; N] {
        self.seat_order.seats().map(|seat| value(&self.state.seats[seat]))
    }

    /// Rotates a set of seats, one bit per seat, so that the viewer is bit 0.
    fn rotate_to_viewer(&self, seats: u8) -> u8 {
        let first = self.viewer().number();
        ((seats >> first) + (seats << (self.game.seats - first))) & ((1 << N) - 1)
    }

    /// Writes the code of every copy of every card type: hidden with its number, known, or discarded.
    fn write_copies(&self, out: &mut [u8]) {
        let last_seen = match self.seat_order.viewer() {
            Viewer::Seat(_) => &self.memory().last_seen,
            Viewer::Public => &[0; CARDS],
        };
        for ((copy, seen_at), kept) in out.iter_mut().zip(last_seen).zip(&self.state.not_discarded_mask) {
            *copy = seen_at.wrapping_add(2) & kept;
        }
    }

    /// Returns the code of each token: where it is or may be. The codes of equal tokens are sorted to reveal nothing.
    fn token_codes(&self) -> [u8; TOKENS] {
        let places = self.game.token_places(self.state, self.seat_order.viewer());
        let mut codes = places
            .map(|places| 2 * self.rotate_to_viewer(places & (TABLE - 1)) + u8::from(places & TABLE != 0));
        for (seat, first) in self.seat_order.seats().iter().zip((2 << N..).step_by(PLACING)) {
            for token in tokens_of(self.state.seats[*seat].laid_out) {
                let city = u8::from(self.state.circles[1].contains(token));
                codes[token.index() - 1] = first + city;
            }
        }
        for &(one, other) in &self.game.equal_token_pairs {
            let (one, other) = (usize::from(one), usize::from(other));
            (codes[one], codes[other]) = (codes[one].min(codes[other]), codes[one].max(codes[other]));
        }
        codes
    }
}

/// Returns pairs of equal tokens by index. Sorting the two codes of each pair, pair by pair, sorts all their codes.
pub(super) fn equal_token_pairs(catalogue: &Catalogue) -> Vec<(u8, u8)> {
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
            let context = ViewContext::<N> { game: self, state, seat_order: SeatOrder::new(viewer) };
            let mut writer = ViewWriter::new(&context, viewer == Viewer::Public, out);
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
            | Decision::DiscardDrawn { left }
            | Decision::PayForAirship { left }
            | Decision::Truth { left, .. }
            | Decision::Target(TargetReason::Cards(left) | TargetReason::Compass(left)) => left,
            Decision::NameSetCard(partial_set) => partial_set.left,
            Decision::Steps { max } => max,
            Decision::DiscardToLimit => state.active_seat().hand.len() - self.catalogue().hand_limit,
            Decision::Airship => {
                let holder = state.airship.expect("the airship is asked of its holder");
                self.airship_price(&state.seats[holder])
            }
            Decision::Keep
            | Decision::Colour
            | Decision::Action
            | Decision::Target(TargetReason::Airship | TargetReason::Dust | TargetReason::Token)
            | Decision::ChooseBack { .. }
            | Decision::Choose { .. }
            | Decision::LayToken
            | Decision::Sets
            | Decision::Over => 0,
        }
    }

    /// Returns where each token may be, as in a memory. A seat remembers it, the public infers it from the backs.
    pub(super) fn token_places(&self, state: &State, viewer: Viewer) -> [u8; TOKENS] {
        if let Viewer::Seat(seat) = viewer {
            return state.memory[seat].tokens;
        }
        let mut places = [0; TOKENS];
        for (at, city) in self.catalogue().collecting().iter().enumerate() {
            let mut may_be = if state.city_tokens[at].is_empty() { 0 } else { TABLE };
            for seat in self.all_seats().filter(|&seat| state.seats[seat].backs[at] > 0) {
                may_be |= seat_bit(seat);
            }
            tokens_of(city.tokens).for_each(|token| places[token.index() - 1] = may_be);
        }
        places
    }

    /// Returns the number of tokens that lie at each of the first four cities.
    pub(super) fn tokens_at_cities(&self, state: &State) -> [u8; COLLECTING] {
        std::array::from_fn(|at| {
            let is_gone = state.lyra > self.catalogue().cities[at].spaces.1;
            if is_gone { 0 } else { to_byte(state.city_tokens[at].len()) }
        })
    }
}

/// Returns the axis of truth tiles by value.
const fn by_tile() -> Axis {
    Axis::rows("tile", "tiles", byte(TILE_VALUES))
}

/// Lists every field: its description and its writer.
#[inline]
fn fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    course_fields(sizes, sink);
    cards_fields(sizes, sink);
    characters_fields(sizes, sink);
    tiles_fields(sizes, sink);
    tokens_fields(sizes, sink);
    draft_fields(sizes, sink);
    choice_fields(sizes, sink);
}

#[inline]
fn course_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let seat = |name, doc| FieldSpec::seat(name, sizes.seats, doc);
    let decision_spec = FieldSpec::category("decision", &DECISIONS, "The decision that is due.");
    sink.field(decision_spec, |context, out| out.write_byte(decision(context.state.decision)));
    let chooser = seat("chooser", "Who decides; none while all keep allies, and at the end.");
    sink.field(chooser, |context, out| {
        out.write_byte(context.seat_order.relative_opt(context.state.chooser()));
    });
    let period = FieldSpec::count("period", 3, "The period, from 1.");
    sink.field(period, |context, out| out.write_byte(context.state.period + 1));
    let first = seat("first", "First seat of the period.");
    sink.field(first, |context, out| out.write_byte(context.seat_order.relative(context.state.first_seat)));
    let active = seat("active", "Whose turn it is.");
    sink.field(active, |context, out| out.write_byte(context.seat_order.relative(context.state.active)));
    let turn = "Turns of the whole game, from 1; values above 65535 are cut to 65535.";
    sink.field(FieldSpec::count("turn", u16::MAX, turn).usual_max(150), |context, out| {
        out.write_value(u16::try_from(context.state.turn).unwrap_or(u16::MAX));
    });
    let still =
        FieldSpec::count("still", 1000, "Turns in a row without a step; values above 1000 are cut to 1000.");
    sink.field(still.usual_max(20), |context, out| out.write_value(context.state.idle_turns.min(1000)));
    let lyra = FieldSpec::count("lyra", sizes.steps.into(), "Lyra's steps from the start.");
    sink.field(lyra, |context, out| out.write_byte(context.state.lyra));
    let axis = FieldSpec::id("axis", "axes", byte(AXES), "Where the needle points.");
    sink.field(axis, |context, out| out.write_byte(AxisId::to_row(context.state.axis)));
    let airship = seat("airship", "Who holds the airship.");
    sink.field(airship, |context, out| {
        out.write_byte(context.seat_order.relative_opt(context.state.airship));
    });
}

#[inline]
fn cards_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let cards = |name, doc| FieldSpec::id(name, "cards", byte(CARD_TYPES), doc).max_copies(sizes.most_copies);
    let places = Axis::unordered("hand place", byte(HAND));
    let own_hand = cards("hand", "The viewer's Lyra cards, ascending.").axis(places).private();
    sink.field(own_hand, |context, out| out.write_bytes(context.viewer_state().hand.places(HAND)));
    let hand_sizes = FieldSpec::count("hand_sizes", byte(HAND).into(), "Lyra cards in hand, by seat.");
    sink.field(hand_sizes.axis(sizes.seat()), |context, out| {
        out.write_bytes(&context.by_seat(|seat_state| seat_state.hand.len()));
    });
    let draw_pile = FieldSpec::count("draw_pile", sizes.copies.into(), "Cards in the draw pile.");
    sink.field(draw_pile, |context, out| out.write_byte(context.state.deck.len()));
    let copies = FieldSpec::count(
        "copies",
        2 + MAX_RESHUFFLE,
        "Code of each copy of each card type, by type: first the hidden copies, ascending: 2 + the reshuffle at which \
         it was last seen; then 1 for each copy known in a hand, then 0 for each discarded copy. For the public every \
         copy that is not discarded has code 2.",
    );
    let copies = copies.axis(Axis::new("copy", sizes.copies)).usual_max(USUAL_MAX_RESHUFFLE);
    sink.field(copies, |context, out| context.write_copies(out.rest()));
    let hidden = FieldSpec::count(
        "hidden_places",
        2 + MAX_RESHUFFLE,
        "The hand places of each opponent whose card may be unknown, ascending: 2 + the last reshuffle before the card \
         was drawn; 0 for no place. A hidden copy can be in a place if its code in copies is not larger.",
    );
    let hidden = hidden.axis(sizes.other()).axis(places).usual_max(USUAL_MAX_RESHUFFLE).private();
    sink.field(hidden, |context, out| {
        for (&seat, row) in context.seat_order.other_seats().iter().zip(out.rest().chunks_exact_mut(HAND)) {
            for (code, reshuffle) in row.iter_mut().zip(context.memory().drawn_after[seat].as_slice()) {
                *code = reshuffle + 2;
            }
        }
    });
    // Not unordered: the same place in both fields means the same card.
    let taken_places = Axis::new("card", sizes.taken_places);
    let taken = cards("taken_cards", "Cards taken from the viewer's hand and still in another, ascending.");
    sink.field(taken.axis(taken_places).private(), |context, out| {
        out.write_ids(context.memory().taken().iter().map(|taken| taken.card));
    });
    let holders = FieldSpec::names("taken_holders", &sizes.holders, "Who may hold each of taken_cards.");
    sink.field(holders.axis(taken_places).private(), |context, out| {
        out.write_ids(
            context.memory().taken().iter().map(|taken| context.rotate_to_viewer(taken.holders()) >> 1),
        );
    });
}

#[inline]
fn characters_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let characters = |name, doc| FieldSpec::id(name, "characters", byte(CHARACTERS), doc);
    // Not unordered: the seat keeps the first or the second character.
    let dealt = characters("dealt", "The viewer's two characters, until allies are shown.");
    sink.field(dealt.axis(Axis::new("character", 2)).private(), |context, out| {
        out.write_ids(context.viewer_state().dealt.into_iter().flatten().map(CharacterId::get));
    });
    let kept = FieldSpec::category(
        "kept",
        &KEPT,
        "Whether each seat has kept an ally; the viewer also sees which of its own two.",
    );
    sink.field(kept.axis(sizes.seat()), |context, out| {
        out.write_bytes(&context.seat_order.seats().map(|seat| match context.state.seats[seat].kept_index {
            Some(which) if context.seat_order.viewer().is_seat(seat) => which + 1,
            kept => kept.is_some().into(),
        }));
    });
    let allies = characters("allies", "Allies by seat.").axis(sizes.seat());
    sink.field(allies, |context, out| {
        out.write_bytes(&context.by_seat(|seat_state| CharacterId::to_row(seat_state.ally)));
    });
    let maximum = 2 * u16::from(sizes.most_symbols);
    let magisterium = FieldSpec::count("magisterium", maximum, "Magisterium values by seat.");
    sink.field(magisterium.axis(sizes.seat()), |context, out| {
        out.write_bytes(&context.by_seat(|seat_state| context.game.magisterium(seat_state)));
    });
    let under = characters("under", "The card under the viewer's ally.").private();
    sink.field(under, |context, out| {
        out.write_byte(CharacterId::to_row(context.viewer_state().card_under_ally));
    });
    let passed = characters("passed", "The card the viewer passed to the left.").private();
    sink.field(passed, |context, out| {
        out.write_byte(CharacterId::to_row(
            context.state.seats[context.seat_order.seats()[1]].card_under_ally,
        ));
    });
}

#[inline]
fn tiles_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let tiles = |name, maximum: u8, doc| FieldSpec::count(name, maximum.into(), doc);
    let supply = tiles("supply", COMPASS, "Compass tiles not in use, by seat.").axis(sizes.seat());
    sink.field(supply, |context, out| out.write_bytes(&context.by_seat(|seat_state| seat_state.supply)));
    let compass = tiles("compass", COMPASS, "Compass tiles on the objective, by seat.");
    let compass = compass.axis(sizes.seat());
    sink.field(compass, |context, out| out.write_bytes(&context.by_seat(|seat_state| seat_state.compass)));
    let dust = tiles("dust", DUST, "Dust tiles by seat.").axis(sizes.seat());
    sink.field(dust, |context, out| out.write_bytes(&context.by_seat(|seat_state| seat_state.dust)));
    let dust_supply = tiles("dust_supply", DUST, "Dust tiles in the supply.");
    sink.field(dust_supply, |context, out| out.write_byte(context.state.dust));
    let truth = tiles("truth", sizes.most_tiles, "Truth tiles by seat and value, rows of the table tiles.");
    sink.field(truth.axis(sizes.seat()).axis(by_tile()), |context, out| {
        for &seat in context.seat_order.seats() {
            out.write_bytes(&context.state.seats[seat].truth.counts()[1..=TILE_VALUES]);
        }
    });
}

#[inline]
fn tokens_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let slots = u16::from(sizes.most_slots);
    let collecting = Axis::rows("city", "cities", byte(COLLECTING));
    let backs = FieldSpec::count("backs", slots, "Unplaced tokens by seat and city of their back.");
    sink.field(backs.axis(sizes.seat()).axis(collecting), |context, out| {
        for &seat in context.seat_order.seats() {
            out.write_bytes(&context.state.seats[seat].backs);
        }
    });
    let tokens_at_cities =
        FieldSpec::count("lying", slots, "Tokens still lying at each of the first four cities.");
    sink.field(tokens_at_cities.axis(collecting), |context, out| {
        out.write_bytes(&context.game.tokens_at_cities(context.state));
    });
    let placing = Axis::new("city", byte(PLACING));
    let circles = FieldSpec::count("circles", slots, "Tokens laid out in each city of the last period.");
    sink.field(circles.axis(placing), |context, out| {
        out.write_bytes(&context.state.circles.map(|circle| to_byte(circle.len())));
    });
    let tokens = FieldSpec::names(
        "tokens",
        &sizes.token_places,
        "Where each token is or may be; equal ones ascending.",
    );
    sink.field(tokens.axis(Axis::rows("token", "tokens", byte(TOKENS))), |context, out| {
        out.write_bytes(&context.token_codes());
    });
}

#[inline]
fn draft_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let maximum = u16::from(sizes.most_tiles);
    let bag = FieldSpec::count("bag", maximum, "Truth tiles in the bag, by value.").axis(by_tile());
    sink.field(bag, |context, out| out.write_bytes(&context.state.bag.counts()[1..=TILE_VALUES]));
    let open = FieldSpec::count("open", maximum, "Open truth tiles, by value.").axis(by_tile());
    sink.field(open, |context, out| out.write_bytes(&context.state.open_tiles.counts()[1..=TILE_VALUES]));
    let passages = FieldSpec::count("passages", PASSAGES.into(), "Passage tiles drawn.");
    sink.field(passages, |context, out| out.write_byte(context.state.drawn_passages));
    let gave_up = FieldSpec::seat("gave_up", sizes.seats, "Who gave up a truth tile for the airship.");
    sink.field(gave_up, |context, out| {
        out.write_byte(context.seat_order.relative_opt(context.state.gave_up));
    });
    let order = FieldSpec::seat("order", sizes.seats, "Seats in the order of the draft.");
    sink.field(order.axis(Axis::sequence("place", sizes.seats)), |context, out| {
        if let Decision::Truth { .. } = context.state.decision {
            out.write_ids(context.state.order.iter().take(N).map(|&seat| context.seat_order.relative(seat)));
        }
    });
}

#[inline]
fn choice_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sizes: &Sizes, sink: &mut S) {
    let set = FieldSpec::category("set", &SETS, "The card set that is not complete yet.");
    sink.field(set, |context, out| out.write_byte(partial_set_code(context.state.decision).0));
    let set_of = FieldSpec::count("set_of", byte(DAEMONS).into(), "Its daemon or symbol, from 1.");
    sink.field(set_of, |context, out| out.write_byte(partial_set_code(context.state.decision).1));
    let due = FieldSpec::count("due", 255, "Cards or tiles still due, or the most steps.").usual_max(8);
    sink.field(due, |context, out| out.write_byte(context.game.due(context.state)));
    let victim = FieldSpec::seat("victim", sizes.seats, "The seat that loses a token.");
    sink.field(victim, |context, out| {
        if let Decision::ChooseBack { victim } = context.state.decision {
            out.write_byte(context.seat_order.relative(victim));
        }
    });
    let effect = FieldSpec::id("effect", "effects", sizes.effects, "The effect being decided on.");
    sink.field(effect, |context, out| out.write_byte(EffectId::to_row(context.state.effect)));
    let fresh = "The cards the viewer has just drawn. It must discard some of them.";
    let fresh = FieldSpec::id("fresh", "cards", byte(CARD_TYPES), fresh).max_copies(sizes.most_copies);
    let max_draw_keep = usize::from(sizes.max_draw_keep);
    sink.field(fresh.axis(Axis::unordered("card", sizes.max_draw_keep)).private(), |context, out| {
        if context.seat_order.viewer().is_seat(context.state.active) {
            out.write_bytes(context.state.just_drawn.places(max_draw_keep));
        }
    });
    let rights = "Wild pairs and short triplets the active seat may still play in this turn.";
    let rights = FieldSpec::count("rights", 255, rights).axis(Axis::new("set", 2)).usual_max(2);
    sink.field(rights, |context, out| {
        out.write_bytes(&[context.state.wild_pair_rights, context.state.short_triplet_rights]);
    });
}
