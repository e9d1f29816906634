//! One deal, played at every table from every seat.

use anyhow::Context as _;
use boardwire_bots::Bot;
use boardwire_kernel::{Outcome, Seat};
use serde::{Deserialize, Serialize};

use super::schedule::Schedule;
use crate::arbiter::Ended;
use crate::cli::bot_match;
use crate::reward::forfeit_ranks;
use crate::secret::episode_seed;
use crate::tables::Table;

/// What came of one deal, in numbers that add up exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Deal {
    /// Deals are counted from 0.
    pub(super) number: u64,
    /// How many decisions it took.
    pub(super) decisions: u64,
    /// What each entrant has achieved.
    pub(super) tallies: Vec<Tally>,
    /// How often each entrant was placed before each other one, a row an entrant; half for sharing a place, counted in
    /// halves.
    pub(super) ahead: Vec<Vec<u32>>,
}

/// What one entrant has achieved in one deal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    /// How many seats it had, over all matches.
    pub(super) seats: u32,
    /// Its shares of first places, in [`WHOLE`]ths: a place that several share is divided.
    pub(super) wins: u32,
    /// Its scores, summed.
    pub(super) points: i64,
}

/// Parts of a first place, which up to eight seats can share: the most that a table has.
pub(super) const WHOLE: u32 = 840;

/// How a match has ended.
#[derive(Debug, Clone)]
pub(super) struct End {
    /// How many decisions it took.
    plies: u32,
    /// The result, if it was played to its end.
    outcome: Option<Outcome>,
    /// Who forfeited it.
    forfeited_by: Option<Seat>,
}

impl From<Ended> for End {
    fn from(ended: Ended) -> Self {
        let forfeited_by = ended.forfeited.map(|forfeited| forfeited.seat);
        Self { plies: ended.plies, outcome: ended.outcome.filter(|_| forfeited_by.is_none()), forfeited_by }
    }
}

impl Deal {
    /// Plays it; nothing, if it was halted before its end.
    pub(super) fn play(
        table: &Table,
        schedule: &Schedule,
        bots: &[Bot],
        seed: u64,
        number: u64,
        halted: impl Fn() -> bool,
    ) -> anyhow::Result<Option<Self>> {
        let mut deal = Self::new(number, bots.len());
        let key = episode_seed(seed, u32::try_from(number).context("more deals than a seed has")?);
        for line_up in &schedule.line_ups {
            let seated: Vec<Bot> = line_up.iter().map(|&entrant| bots[entrant].clone()).collect();
            let Some(end) = bot_match(table, &seated, key, |_, _, _| Ok(!halted()))? else {
                return Ok(None);
            };
            deal.count(line_up, &End { plies: end.ply(), outcome: end.outcome(), forfeited_by: None });
        }
        Ok(Some(deal))
    }

    /// One that nobody has played.
    pub(super) fn new(number: u64, entrants: usize) -> Self {
        let (tallies, ahead) = (vec![Tally::default(); entrants], vec![vec![0; entrants]; entrants]);
        Self { number, decisions: 0, tallies, ahead }
    }

    /// Counts a match of these entrants. Nobody has won what was cut at its greatest length.
    pub(super) fn count(&mut self, line_up: &[usize], end: &End) {
        self.decisions += u64::from(end.plies);
        let seats = line_up.len();
        let (scores, ranks) = match (&end.outcome, end.forfeited_by) {
            (Some(outcome), _) => (outcome.scores().to_vec(), outcome.ranks().to_vec()),
            (None, Some(loser)) => {
                let ranks = forfeit_ranks(loser, u8::try_from(seats).expect("a table is small"));
                (vec![0; seats], ranks[..seats].to_vec())
            }
            (None, None) => return line_up.iter().for_each(|&entrant| self.tallies[entrant].seats += 1),
        };
        let winners = ranks.iter().map(|&rank| u32::from(rank == 1)).sum::<u32>();
        for (seat, &entrant) in line_up.iter().enumerate() {
            let tally = &mut self.tallies[entrant];
            tally.seats += 1;
            tally.points += i64::from(scores[seat]);
            tally.wins += if ranks[seat] == 1 { WHOLE / winners } else { 0 };
            for (other, &against) in line_up.iter().enumerate().filter(|&(_, &against)| against != entrant) {
                self.ahead[entrant][against] += match ranks[seat].cmp(&ranks[other]) {
                    std::cmp::Ordering::Less => 2,
                    std::cmp::Ordering::Equal => 1,
                    std::cmp::Ordering::Greater => 0,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shared_and_whoever_is_placed_before_another_is_ahead() {
        let mut deal = Deal::new(0, 2);
        let outcome = Some(Outcome::ranked(&[7, 7, 3], &[0; 3]));
        deal.count(&[0, 1, 1], &End { plies: 9, outcome, forfeited_by: None });
        assert_eq!(deal.tallies[0], Tally { seats: 1, wins: WHOLE / 2, points: 7 });
        assert_eq!(deal.tallies[1], Tally { seats: 2, wins: WHOLE / 2, points: 10 });
        assert_eq!(deal.ahead, [[0, 3], [1, 0]]);
        assert_eq!(deal.decisions, 9);
    }

    #[test]
    fn a_forfeit_is_lost_and_a_match_that_was_cut_is_won_by_nobody() {
        let mut deal = Deal::new(0, 2);
        deal.count(&[0, 1, 1], &End { plies: 2, outcome: None, forfeited_by: Some(Seat::new(1)) });
        assert_eq!(deal.tallies[0], Tally { seats: 1, wins: WHOLE / 2, points: 0 });
        assert_eq!(deal.tallies[1], Tally { seats: 2, wins: WHOLE / 2, points: 0 });
        deal.count(&[0, 1, 1], &End { plies: 2, outcome: None, forfeited_by: None });
        assert_eq!(deal.tallies[0], Tally { seats: 2, wins: WHOLE / 2, points: 0 });
        assert_eq!(deal.tallies[1], Tally { seats: 4, wins: WHOLE / 2, points: 0 });
    }
}
