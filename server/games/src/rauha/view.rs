//! What a seat is shown, as bytes, and the catalogue as tables.

use boardwire_kernel::{Field, Meaning, Seat, Table, ViewLayout, ViewWriter};

use super::Rules;
use super::catalogue::Catalogue;
use super::effects::{COLUMNS, columns};
use super::memory::WHEREABOUTS;
use super::pieces::{ANIMALS, CARDS, CELLS, ENTITIES, PACK, Side, TYPES, members};
use super::state::{Phase, State};

/// The phases, by the value of the field `phase`.
const PHASES: [&str; 5] = ["draft", "place or discard", "activate", "spore", "over"];
/// How a cell or an Entity stands in the activation going on, by value.
const OPEN: [&str; 4] = ["not in it", "used", "not possible now", "possible"];

/// The fields of a view for so many seats.
pub(super) fn layout(seats: u8, catalogue: &Catalogue) -> ViewLayout {
    let names = |names: &[&str]| Meaning::Code {
        names: names.iter().map(|&name| name.to_owned()).collect(),
    };
    let id = |table| Meaning::Id { table };
    let number = |most: u32| u16::try_from(most).unwrap_or(u16::MAX);
    let n = u16::from(seats);
    let all = u16::from(CARDS) + 2 * u16::from(CELLS);
    let field = |name, shape: &[u16], max, meaning, doc| Field {
        name,
        shape: shape.to_vec(),
        max,
        meaning,
        doc,
    };
    use Meaning::{Count, Flag, Seat};
    ViewLayout {
        fields: vec![
            field("stop", &[], 16, id("track"), "The stop of all Avatars, 1 to 16."),
            field("phase", &[], 4, names(&PHASES), "What is due."),
            field(
                "leader",
                &[],
                n,
                Seat,
                "Whose token is on top of the furthest ones.",
            ),
            field("first", &[], n, Seat, "Who goes first at this stop."),
            field(
                "acting",
                &[],
                n,
                Seat,
                "Whose turn it is; none while all choose at once.",
            ),
            field(
                "chosen",
                &[n],
                1,
                Flag,
                "Which seats have chosen in this draft, viewer first, clockwise.",
            ),
            field(
                "kept",
                &[],
                all,
                id("biomes"),
                "The card the viewer has chosen and not yet placed or discarded.",
            ),
            field(
                "pack",
                &[4],
                all,
                id("biomes"),
                "The pack the viewer chooses from, ascending; none outside a draft.",
            ),
            field(
                "pack_size",
                &[],
                4,
                Count,
                "Cards on each Satellite or, in a draft, in each hand.",
            ),
            field(
                "undealt",
                &[2],
                40,
                Count,
                "Cards left in the decks of Age 1 and Age 2.",
            ),
            field("black_hole", &[], 80, Count, "Cards in the Black Hole."),
            field(
                "cells",
                &[n, 9],
                all,
                id("biomes"),
                "The visible biomes, a row a seat, viewer first, clockwise.",
            ),
            field("spores", &[n, 9], 1, Flag, "The Spores, likewise."),
            field(
                "crystals",
                &[n],
                number(catalogue.most_crystals()),
                Count,
                "Crystals by seat, viewer first.",
            ),
            field(
                "points",
                &[n],
                number(catalogue.most_points()),
                Count,
                "Life Energy by seat, viewer first.",
            ),
            field(
                "water",
                &[n],
                number(catalogue.most_water()),
                Count,
                "Water Sources by seat, those of Entities included, viewer first.",
            ),
            field("entities", &[7], n, Seat, "Who holds each Entity."),
            field(
                "cell_use",
                &[9],
                3,
                names(&OPEN),
                "The acting seat's cells in the activation going on.",
            ),
            field(
                "entity_use",
                &[7],
                3,
                names(&OPEN),
                "The acting seat's Entities in the activation going on.",
            ),
            field(
                "memory",
                &[80],
                5,
                names(&WHEREABOUTS),
                "What the viewer knows of each card, by id from 1.",
            ),
        ],
    }
}

impl Rules {
    pub(super) fn write_view(&self, state: &State, viewer: Seat, out: &mut [u8]) {
        let mut view = ViewWriter::new(out);
        let relative = |seat: u8| self.wrap(seat + self.seats - viewer.number()) + 1;
        view.put(state.stop);
        view.put(phase(state.phase));
        view.put(relative(state.leader));
        view.put(relative(state.first));
        view.put(match state.phase {
            Phase::Draft | Phase::Over => 0,
            _ => relative(self.actor(state).number()),
        });
        for seat in self.around(viewer) {
            view.put(u8::from(
                state.phase == Phase::Draft && state.kept[seat.index()] != 0,
            ));
        }
        view.put(state.kept[viewer.index()]);
        view.put_ids(self.hand(state, viewer).iter().copied(), PACK);
        let counts = self.counts(state);
        view.put(counts.pack);
        view.put_all(&counts.undealt);
        view.put(counts.black_hole);
        self.write_boards(state, viewer, &mut view);
        let mut holders = [0; ENTITIES as usize];
        for (seat, board) in (0..self.seats).zip(&state.boards) {
            members(board.entities.into()).for_each(|entity| holders[usize::from(entity)] = relative(seat));
        }
        view.put_all(&holders);
        let (cells, entities) = self.in_play(state);
        let possible = if (cells, entities) == (0, 0) {
            (0, 0)
        } else {
            self.activatable(state)
        };
        view.put_all(&uses::<9>(state.used_cells, cells, possible.0));
        view.put_all(&uses::<7>(
            state.used_entities.into(),
            entities.into(),
            possible.1.into(),
        ));
        let mut memory = [0; CARDS as usize];
        self.remember(state, viewer, &mut memory);
        view.put_all(&memory);
        view.finish();
    }

    fn write_boards(&self, state: &State, viewer: Seat, view: &mut ViewWriter<'_>) {
        let boards = || self.around(viewer).map(|seat| &state.boards[seat.index()]);
        boards().for_each(|board| view.put_all(&board.cells));
        for board in boards() {
            view.put_all(&flags::<9>(board.spores));
        }
        for board in boards() {
            put_number(view, self.most_crystals, board.crystals);
        }
        for board in boards() {
            put_number(view, self.most_points, board.points());
        }
        for board in boards() {
            put_number(view, 0, self.sources(board));
        }
    }

    /// What everybody may count.
    pub(super) fn counts(&self, state: &State) -> Counts {
        let picks = u8::try_from(state.picks()).unwrap_or(0);
        let small = |number: u32| u8::try_from(number).unwrap_or(0);
        let undealt = |age: usize| small(state.undealt.intersection(self.ages[age]).len());
        let placed: u32 = state.boards.iter().map(|board| board.placed.count_ones()).sum();
        let kept = match state.phase {
            Phase::Draft => 0,
            _ => state.kept.iter().filter(|&&card| card != 0).count(),
        };
        let kept = u8::try_from(kept).unwrap_or(0);
        let out_of_packs = if picks == 3 { 4 } else { picks };
        Counts {
            pack: 4 - out_of_packs,
            undealt: [undealt(0), undealt(1)],
            black_hole: self.seats * (4 * (state.round() - 1) + out_of_packs) - small(placed) - kept,
        }
    }
}

/// Numbers of cards where they lie hidden.
pub(super) struct Counts {
    pub(super) pack: u8,
    pub(super) undealt: [u8; 2],
    pub(super) black_hole: u8,
}

fn phase(phase: Phase) -> u8 {
    match phase {
        Phase::Draft => 0,
        Phase::Main => 1,
        Phase::Activate => 2,
        Phase::Spore => 3,
        Phase::Between | Phase::Over => 4,
    }
}

fn put_number(view: &mut ViewWriter<'_>, most: u16, value: u16) {
    if most > 255 {
        view.put_wide(value);
    } else {
        view.put(u8::try_from(value).unwrap_or(u8::MAX));
    }
}

/// The bits of a mask as bytes.
fn flags<const N: usize>(mask: u16) -> [u8; N] {
    std::array::from_fn(|bit| u8::from(mask >> bit & 1 == 1))
}

/// What is used is not in play, and what is possible is.
fn uses<const N: usize>(used: u16, in_play: u16, possible: u16) -> [u8; N] {
    let (used, in_play, possible) = (flags::<N>(used), flags::<N>(in_play), flags::<N>(possible));
    std::array::from_fn(|bit| used[bit] + 2 * in_play[bit] + possible[bit])
}

/// The catalogue as integer matrices.
pub(super) fn tables(catalogue: &Catalogue) -> Vec<Table> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let mut columns_of_biomes = words(&["age"]);
    columns_of_biomes.extend(words(&TYPES));
    columns_of_biomes.extend(words(&ANIMALS));
    columns_of_biomes.extend(words(&["water", "cost"]));
    columns_of_biomes.extend((0..CELLS).map(|cell| format!("fits_cell_{cell}")));
    columns_of_biomes.extend(words(&COLUMNS));
    let rows = catalogue.biomes[1..].iter().map(biome_row).collect();
    let mut columns_of_entities: Vec<String> = TYPES[..4]
        .iter()
        .chain(&ANIMALS)
        .map(|symbol| format!("called_by_{symbol}"))
        .collect();
    columns_of_entities.extend(words(&COLUMNS));
    let entities = catalogue.entities.iter().map(entity_row).collect();
    let mut columns_of_track = words(&["round", "turn", "age", "scoring", "moon", "star"]);
    columns_of_track.extend((0..CELLS).map(|cell| format!("activates_cell_{cell}")));
    let water = catalogue.water[1..]
        .iter()
        .map(|&points| vec![points.into()])
        .collect();
    vec![
        Table::new("biomes", columns_of_biomes, rows),
        Table::new("entities", columns_of_entities, entities),
        Table::new(
            "track",
            columns_of_track,
            catalogue.track.iter().map(stop_row).collect(),
        ),
        Table::new("water_points", words(&["points"]), water),
    ]
}

fn biome_row(biome: &super::pieces::Biome) -> Vec<i16> {
    let mut row = vec![i16::from(biome.age)];
    row.extend((0..TYPES.len()).map(|kind| i16::from(biome.types >> kind & 1)));
    row.extend(biome.animals.map(i16::from));
    row.extend([biome.water, biome.cost].map(i16::from));
    row.extend((0..CELLS).map(|cell| i16::from(biome.cells >> cell & 1 == 1)));
    row.extend(columns(biome.effect));
    row
}

fn entity_row(entity: &super::catalogue::Entity) -> Vec<i16> {
    let symbols = TYPES[..4].iter().chain(&ANIMALS);
    let mut row: Vec<i16> = symbols
        .map(|&symbol| i16::from(entity.called_by.name() == symbol))
        .collect();
    row.extend(columns(entity.effect));
    row
}

fn stop_row(stop: &super::pieces::Stop) -> Vec<i16> {
    let scoring = stop.is_scoring();
    let side = |side| i16::from(!scoring && stop.side == side);
    let mut row = vec![
        i16::from(stop.round),
        i16::from(stop.turn),
        i16::from(stop.age()) + 1,
        i16::from(scoring),
        side(Side::Moon),
        side(Side::Star),
    ];
    row.extend((0..CELLS).map(|cell| i16::from(stop.line >> cell & 1 == 1)));
    row
}
