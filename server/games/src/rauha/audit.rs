//! What holds in every reachable position.

use boardwire_kernel::{BitSet, Seat};

use super::Rules;
use super::pieces::{ALL_CELLS, CARDS, PACK, STOPS, members};
use super::state::{Board, Phase, State};
use super::turn::free;

type Sound = Result<(), String>;

fn hold(condition: bool, what: &str) -> Sound {
    if condition { Ok(()) } else { Err(what.to_owned()) }
}

impl Rules {
    pub(super) fn check(&self, state: &State) -> Sound {
        let seats = self.seats;
        hold((1..=STOPS).contains(&state.stop), "the stop is beyond the track")?;
        hold(state.leader < seats && state.first < seats, "no such seat leads or goes first")?;
        let over = state.phase == Phase::Over;
        hold(state.done <= seats && (state.done == seats) == over, "too many seats have finished")?;
        hold(!over || state.stop == STOPS, "the game is over before the fourth scoring")?;
        let fits = match state.phase {
            Phase::Draft => !state.is_scoring() && state.done == 0 && !self.owing(state).is_empty(),
            Phase::Main => !state.is_scoring(),
            Phase::Activate | Phase::Spore | Phase::Over => true,
            Phase::Between => false,
        };
        hold(fits, "the phase does not fit the stop")?;
        self.check_cards(state)?;
        let (used, unused) = state.boards.split_at(seats.into());
        hold(unused.iter().all(|board| *board == Board::default()), "an empty seat has a board")?;
        for seat in Seat::all(seats) {
            self.check_board(state, seat).map_err(|problem| format!("{seat}: {problem}"))?;
        }
        let entities: u32 = used.iter().map(|board| board.entities.count_ones()).sum();
        let all = used.iter().fold(0, |all, board| all | board.entities);
        hold(all & 0x80 == 0 && entities == all.count_ones(), "an Entity has two holders")?;
        let most = used.iter().map(Board::points).max();
        hold(Some(used[usize::from(state.leader)].points()) == most, "the leader is not furthest")?;
        self.check_activation(state)
    }

    /// Each card is in exactly one place, and packs have the sizes the turn gives them.
    fn check_cards(&self, state: &State) -> Sound {
        let mut seen = state.undealt;
        hold(seen.iter().all(|card| (1..=CARDS).contains(&card)), "an unknown card is undealt")?;
        for (round, packs) in (1..).zip(&state.packs) {
            let dealt = round <= state.round();
            for (satellite, pack) in packs.iter().enumerate() {
                if !dealt || satellite >= usize::from(self.seats) {
                    hold(*pack == [0; PACK], "a pack that was never dealt has cards")?;
                    continue;
                }
                let age = self.ages[usize::from((round - 1) / 2)];
                for &card in pack {
                    hold(age.contains(card), "a card of another Age was dealt")?;
                    hold(!seen.contains(card), "a card is in two places")?;
                    seen.insert(card);
                }
                if round == state.round() {
                    let left = &pack[state.picks()..];
                    hold(left.is_sorted(), "a pack is not in order")?;
                }
            }
        }
        hold(seen.len() == u32::from(CARDS), "a card is nowhere")?;
        self.check_kept(state)
    }

    fn check_kept(&self, state: &State) -> Sound {
        for (seat, &kept) in (0..).zip(&state.kept) {
            if seat >= self.seats {
                hold(kept == 0, "an empty seat keeps a card")?;
                continue;
            }
            let seat = Seat::new(seat);
            if state.phase == Phase::Draft {
                let chosen = kept == 0 || self.hand(state, seat).contains(&kept);
                hold(chosen, "a seat has chosen a card that is not in its pack")?;
                continue;
            }
            let place = (seat.number() + self.seats - state.first) % self.seats;
            let keeps = place > state.done || place == state.done && state.phase == Phase::Main;
            let due = if keeps && !state.is_scoring() {
                self.drafted(state, seat, state.round(), state.turn())
            } else {
                0
            };
            hold(kept == due, "a seat keeps another card than it has drafted")?;
        }
        Ok(())
    }

    fn check_board(&self, state: &State, seat: Seat) -> Sound {
        let board = &state.boards[seat.index()];
        hold(board.spores & !ALL_CELLS == 0, "a Spore is on no cell")?;
        // A snapshot from outside may hold numbers whose sum does not fit.
        let points: u32 = board.gained.iter().map(|&points| u32::from(points)).sum();
        let small = board.crystals <= self.most_crystals && points <= self.most_points.into();
        hold(small, "more crystals or points than there can be")?;
        let mut placed = BitSet::<2>::EMPTY;
        for turn in members(board.placed) {
            let (round, turn) = (turn / 3 + 1, turn % 3 + 1);
            let past = turn <= 3 && (round, turn) <= (state.round(), state.turn().min(3));
            let done = past && (round < state.round() || usize::from(turn) <= state.picks());
            hold(done, "a card was placed in a turn to come")?;
            let kept = (round, turn) == (state.round(), state.turn()) && state.kept[seat.index()] != 0;
            hold(!kept, "a card is placed and kept")?;
            placed.insert(self.drafted(state, seat, round, turn));
        }
        for (&id, &own) in board.cells.iter().zip(&self.printed) {
            hold(id == own || id <= CARDS && placed.remove(id), "a cell shows what was not placed there")?;
        }
        Ok(())
    }

    fn check_activation(&self, state: &State) -> Sound {
        let resting = !matches!(state.phase, Phase::Activate | Phase::Spore);
        if resting {
            let clear = state.used_cells == 0 && state.used_entities == 0 && state.fresh == 0;
            return hold(clear, "something is activated out of turn");
        }
        let board = &state.boards[self.actor(state).index()];
        let (cells, entities) = if state.is_scoring() {
            (board.spores, board.entities)
        } else {
            (self.stop(state).line, state.fresh)
        };
        hold(state.used_cells & !cells == 0, "a cell was activated that is not in play")?;
        hold(state.used_entities & !entities == 0, "an Entity was activated that is not in play")?;
        hold(state.fresh & !board.entities == 0, "an Entity was welcomed and is not held")?;
        hold(state.fresh == 0 || !state.is_scoring(), "an Entity is welcomed in a scoring")?;
        if state.phase == Phase::Spore {
            hold(free(board) != 0, "a Spore has been bought that fits nowhere")
        } else {
            hold(self.activatable(state) != (0, 0), "nothing is left to activate")
        }
    }
}
