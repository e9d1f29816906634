//! What seats saw, chose and earned, column by column.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use boardwire_batch::reward::RewardKind;
use boardwire_batch::tables::Table;
use boardwire_kernel::{GameInfo, Seat, Viewer};

use super::deal::End;
use crate::cli::parquet::{self, Values};

/// An episode as it was played.
pub(super) struct Episode<'a> {
    /// Episodes are counted from 0.
    pub(super) number: u64,
    pub(super) seed: u64,
    pub(super) end: &'a End,
}

/// The columns of a recording, as docs/data.md has them. `action`, `reward` and `discount` stand in the rows of decisions
/// alone: those that are not last.
#[derive(Default)]
pub(super) struct Steps {
    /// Bytes of an observation, and of a mask.
    widths: (usize, usize),
    episode: Vec<i64>,
    seat: Vec<i32>,
    player: Vec<String>,
    ply: Vec<i32>,
    seed: Vec<i64>,
    observation: Vec<u8>,
    mask: Vec<u8>,
    action: Vec<i32>,
    reward: Vec<f32>,
    discount: Vec<f32>,
    is_first: Vec<bool>,
    is_last: Vec<bool>,
    is_terminal: Vec<bool>,
}

/// A decision as its seat saw it.
struct Decision {
    ply: u32,
    view: Vec<u8>,
    mask: Vec<u8>,
    action: u8,
}

impl Steps {
    /// None yet, of a table.
    pub(super) fn of(info: &GameInfo) -> Self {
        let widths = (info.layout.bytes(), info.actions.count().div_ceil(8));
        Self { widths, ..Self::default() }
    }

    /// Adds the steps of every seat of an episode, whose moves are played once more.
    ///
    /// # Errors
    /// Moves that are not legal there.
    pub(super) fn add<'a>(
        &mut self,
        table: &Table,
        episode: &Episode<'_>,
        players: impl Iterator<Item = &'a str>,
        reward: RewardKind,
    ) -> anyhow::Result<()> {
        let info = table.rules.info();
        let mut play = Arc::clone(&table.rules).deal(episode.seed.into());
        let mut decisions: Vec<Vec<Decision>> = (0..info.seats).map(|_| vec![]).collect();
        for &(seat, action) in &episode.end.moves {
            let (mut view, mut mask) = (vec![0; self.widths.0], vec![0; self.widths.1]);
            play.view(Viewer::Seat(seat), &mut view);
            for legal in play.legal(seat) {
                mask[usize::from(legal) / 8] |= 1 << (legal % 8);
            }
            decisions[seat.index()].push(Decision { ply: play.ply(), view, mask, action });
            play.apply(seat, action.into()).with_context(|| format!("episode {}", episode.number))?;
        }
        for ((seat, player), own) in Seat::all(info.seats).zip(players).zip(decisions) {
            let mut view = vec![0; self.widths.0];
            play.view(Viewer::Seat(seat), &mut view);
            let (earned, by_the_rules) = earned(seat, episode.end, reward, info);
            self.seat(episode, (seat, player), own, (play.ply(), view), (earned, by_the_rules));
        }
        Ok(())
    }

    /// Adds the steps of a seat: its decisions, and what it saw at the end.
    fn seat(
        &mut self,
        episode: &Episode<'_>,
        (seat, player): (Seat, &str),
        decisions: Vec<Decision>,
        (end, last): (u32, Vec<u8>),
        (earned, by_the_rules): (f32, bool),
    ) {
        let count = decisions.len();
        for (at, Decision { ply, view, mask, action }) in decisions.into_iter().enumerate() {
            let is_over = at + 1 == count;
            self.row(episode, (seat, player), ply, &view, &mask);
            self.action.push(action.into());
            self.reward.push(if is_over { earned } else { 0.0 });
            self.discount.push(if is_over && by_the_rules { 0.0 } else { 1.0 });
            self.flags(at == 0, false, false);
        }
        let nothing = vec![0; self.widths.1];
        self.row(episode, (seat, player), end, &last, &nothing);
        self.flags(count == 0, true, by_the_rules);
    }

    fn row(
        &mut self,
        episode: &Episode<'_>,
        (seat, player): (Seat, &str),
        ply: u32,
        view: &[u8],
        mask: &[u8],
    ) {
        self.episode.push(episode.number.cast_signed());
        self.seat.push(seat.number().into());
        self.player.push(player.to_owned());
        self.ply.push(ply.cast_signed());
        self.seed.push(episode.seed.cast_signed());
        self.observation.extend_from_slice(view);
        self.mask.extend_from_slice(mask);
    }

    fn flags(&mut self, is_first: bool, is_last: bool, is_terminal: bool) {
        self.is_first.push(is_first);
        self.is_last.push(is_last);
        self.is_terminal.push(is_terminal);
    }

    /// Writes them to a file, with what it says of itself and of its arena; it is there when it is whole.
    pub(super) fn write(&self, path: &Path, told: (&str, &str)) -> anyhow::Result<()> {
        let decisions: Vec<bool> = self.is_last.iter().map(|is_last| !is_last).collect();
        let columns = [
            ("episode", Values::Long { values: &self.episode, unsigned: false }),
            ("seat", Values::Int { values: &self.seat, bits: 8, present: None }),
            ("player", Values::Text(&self.player)),
            ("ply", Values::Int { values: &self.ply, bits: 32, present: None }),
            ("seed", Values::Long { values: &self.seed, unsigned: true }),
            ("observation", Values::Bytes { values: &self.observation, width: self.widths.0 }),
            ("mask", Values::Bytes { values: &self.mask, width: self.widths.1 }),
            ("action", Values::Int { values: &self.action, bits: 8, present: Some(&decisions) }),
            ("reward", Values::Float { values: &self.reward, present: &decisions }),
            ("discount", Values::Float { values: &self.discount, present: &decisions }),
            ("is_first", Values::Flag(&self.is_first)),
            ("is_last", Values::Flag(&self.is_last)),
            ("is_terminal", Values::Flag(&self.is_terminal)),
        ];
        parquet::write(path, told, &columns)
    }
}

/// What a seat has earned, and whether the episode has ended by the rules, as a batch has it: a forfeit ends it, too.
fn earned(seat: Seat, end: &End, reward: RewardKind, info: &GameInfo) -> (f32, bool) {
    match (&end.outcome, end.forfeited_by) {
        (Some(outcome), _) => (reward.of(seat, outcome.scores(), outcome.ranks()), true),
        (None, Some(loser)) => (reward.of_forfeit(seat, loser, info), true),
        (None, None) => (0.0, false),
    }
}
