//! What a seat is shown, as bytes.

use boardwire_kernel::Meaning::{Count, Flag};
use boardwire_kernel::{Field, Meaning, ViewLayout, ViewWriter};

use super::catalogue::Catalogue;
use super::memory::WHEREABOUTS;
use super::pieces::{CARDS, ENTITIES, PACK, members};
use super::rules::Rules;
use super::state::{Phase, State};

/// The phases, by the value of the field `phase`.
const PHASES: [&str; 5] = ["draft", "place or discard", "activate", "spore", "over"];
/// How a cell or an Entity stands in the activation going on, by value.
const USES: [&str; 4] = ["not in it", "used", "not possible now", "possible"];

/// The fields of a view for so many seats.
pub(super) fn layout(seats: u8, catalogue: &Catalogue) -> ViewLayout {
    let fields = [position(seats), cards(), boards(seats, catalogue), activation()];
    ViewLayout { fields: fields.concat() }
}

fn field(name: &'static str, shape: &[u16], max: u16, meaning: Meaning, doc: &'static str) -> Field {
    Field { name, shape: shape.to_vec(), max, meaning, doc }
}

fn names(names: &[&str]) -> Meaning {
    Meaning::Code { names: names.iter().map(|&name| name.to_owned()).collect() }
}

fn id(table: &'static str) -> Meaning {
    Meaning::Id { table }
}

/// The largest id of the table of biomes.
const LAST_BIOME: u16 = 98;

fn position(seats: u8) -> Vec<Field> {
    let n = seats.into();
    let chosen = "Which seats have chosen in this draft, viewer first, then clockwise.";
    vec![
        field("stop", &[], 16, id("track"), "The stop of all Avatars."),
        field("phase", &[], 4, names(&PHASES), "What is due."),
        field("leader", &[], n, Meaning::Seat, "Whose token is on top of the furthest ones."),
        field("first", &[], n, Meaning::Seat, "Who goes first at this stop."),
        field("acting", &[], n, Meaning::Seat, "Whose turn it is; none in a draft."),
        field("chosen", &[n], 1, Flag, chosen),
    ]
}

fn cards() -> Vec<Field> {
    let kept = "The card the viewer has chosen and not yet placed or discarded.";
    let pack = "The pack the viewer chooses from, ascending; none outside a draft.";
    let pack_size = "Cards on each Satellite or, in a draft, in each hand.";
    vec![
        field("kept", &[], LAST_BIOME, id("biomes"), kept),
        field("pack", &[4], LAST_BIOME, id("biomes"), pack),
        field("pack_size", &[], 4, Count, pack_size),
        field("undealt", &[2], 40, Count, "Cards left in the decks of Age 1 and 2."),
        field("black_hole", &[], 80, Count, "Cards in the Black Hole."),
    ]
}

fn boards(seats: u8, catalogue: &Catalogue) -> Vec<Field> {
    let n = seats.into();
    let number = |most: u32| u16::try_from(most).unwrap_or(u16::MAX);
    let crystals = number(catalogue.most_crystals());
    let points = number(catalogue.most_points());
    let sources = number(catalogue.most_water());
    let cells = "The visible biomes, nine a seat, viewer first, then clockwise.";
    let water = "Water Sources by seat, those of Entities included, viewer first.";
    vec![
        field("cells", &[n, 9], LAST_BIOME, id("biomes"), cells),
        field("spores", &[n, 9], 1, Flag, "Which cells have a Spore, likewise."),
        field("crystals", &[n], crystals, Count, "Crystals by seat, viewer first."),
        field("points", &[n], points, Count, "Life Energy by seat, viewer first."),
        field("water", &[n], sources, Count, water),
        field("entities", &[7], n, Meaning::Seat, "Who holds each Divine Entity."),
    ]
}

fn activation() -> Vec<Field> {
    let cells = "How the acting seat's cells stand in its activation.";
    let entities = "How the acting seat's Entities stand in its activation.";
    let memory = "What the viewer knows of each card, by id from 1.";
    vec![
        field("cell_use", &[9], 3, names(&USES), cells),
        field("entity_use", &[7], 3, names(&USES), entities),
        field("memory", &[80], 5, names(&WHEREABOUTS), memory),
    ]
}

impl Rules {
    pub(super) fn write_view(&self, state: &State, viewer: boardwire_kernel::Seat, out: &mut [u8]) {
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
            view.put(u8::from(state.phase == Phase::Draft && state.kept[seat.index()] != 0));
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
        let possible = if (cells, entities) == (0, 0) { (0, 0) } else { self.activatable(state) };
        view.put_all(&uses::<9>(state.used_cells, cells, possible.0));
        view.put_all(&uses::<7>(state.used_entities.into(), entities.into(), possible.1.into()));
        let mut memory = [0; CARDS as usize];
        self.remember(state, viewer, &mut memory);
        view.put_all(&memory);
        view.finish();
    }

    fn write_boards(&self, state: &State, viewer: boardwire_kernel::Seat, view: &mut ViewWriter<'_>) {
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
