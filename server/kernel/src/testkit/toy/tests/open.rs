//! Nim with one heap: a game without hidden information, randomness or simultaneous choices obeys every law.

use std::fmt;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::testkit::{check_laws, table};
use crate::{
    ActionRange, ActionSet, ActionSpace, Audits, Choices, Estimate, FieldSink, FieldSpec, GameInfo, GameType,
    Hidden, LayoutBuilder, LegalChoice, LoadedCatalogue, Options, Outcome, RandomSource, Scoring, Seat,
    SeatSet, Setup, SetupError, Texts, Turns, ViewWriter, Viewer, Views,
};

const TAKE: ActionRange = ActionRange::numbers("take", 1, 3);
const HEAP: u8 = 7;

struct Nim {
    info: GameInfo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
struct NimState {
    heap: u8,
    active: Seat,
}

fn fields<S: FieldSink<NimState>>(sink: &mut S) {
    sink.field(FieldSpec::count("heap", HEAP.into(), "What is left."), |state, out| {
        out.write_byte(state.heap);
    });
}

impl Setup for Nim {
    type State = NimState;
    type Action = u8;
    type Catalogue = ();

    const TYPE: GameType = GameType {
        id: "nim",
        name: "Nim",
        rules_version: 1,
        seats: 2..=2,
        options: &[],
        streams: &[],
        catalogue: "",
        rules: "",
    };

    fn new(catalogue: Arc<LoadedCatalogue<()>>, seats: u8, options: &Options) -> Result<Self, SetupError> {
        let layout = |mut builder: LayoutBuilder| {
            fields(&mut builder);
            builder.finish()
        };
        Ok(Self {
            info: GameInfo {
                actions: ActionSpace::new().add_range(TAKE, |count| format!("take {count}")),
                max_plies: HEAP.into(),
                layout: layout(LayoutBuilder::for_seats()),
                public_layout: layout(LayoutBuilder::for_public()),
                scores: (0, 1),
                ..GameInfo::new::<Self>(&catalogue, seats, options)
            },
        })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

impl Turns for Nim {
    fn deal(&self, _: &mut RandomSource) -> NimState {
        NimState { heap: HEAP, active: Seat::FIRST }
    }

    fn pending(&self, state: &NimState) -> SeatSet {
        if state.heap == 0 { SeatSet::EMPTY } else { SeatSet::only(state.active) }
    }

    fn advance(&self, state: &mut NimState, choice: LegalChoice<u8>, _: &mut RandomSource) {
        state.heap -= choice.action();
        state.active = state.active.clockwise(1, 2);
    }
}

impl Choices for Nim {
    fn encode(&self, count: u8) -> u8 {
        TAKE.index(count)
    }

    fn decode(&self, index: u8) -> Option<u8> {
        TAKE.number(index)
    }

    fn legal(&self, state: &NimState, seat: Seat) -> ActionSet {
        let maximum = if seat == state.active { state.heap } else { 0 };
        TAKE.iter_numbers().filter(|&count| count <= maximum).map(|count| TAKE.index(count)).collect()
    }
}

impl Scoring for Nim {
    fn outcome(&self, state: &NimState) -> Option<Outcome> {
        // The seat that takes the last one wins.
        let scores = Seat::all(2).map(|seat| i32::from(seat != state.active)).collect::<Vec<_>>();
        (state.heap == 0).then(|| Outcome::ranked(&scores, &[0, 0]))
    }
}

impl Views for Nim {
    fn view(&self, state: &NimState, viewer: Viewer, out: &mut [u8]) {
        let mut writer = ViewWriter::new(state, viewer == Viewer::Public, out);
        fields(&mut writer);
        writer.finish();
    }
}

impl Texts for Nim {
    fn text(&self, state: &NimState, _: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{} left", state.heap)
    }
}

impl Hidden for Nim {}

impl Audits for Nim {
    fn audit(&self, state: &NimState) -> Result<(), String> {
        if state.heap <= HEAP && state.active.number() < 2 { Ok(()) } else { Err("no such heap".to_owned()) }
    }
}

impl Estimate for Nim {
    type Features = ();
}

#[test]
fn a_game_that_hides_nothing_obeys_the_laws() {
    check_laws(&table::<Nim>(2, &[]), 0..20);
}
