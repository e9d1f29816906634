//! One deal, played at every table from every seat.

use boardwire_bots::Bot;
use boardwire_kernel::{Outcome, RngStream};
use serde::{Deserialize, Serialize};

use super::schedule::Schedule;
use crate::cli::bot_match;
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
        let entrants = schedule.entrants.len();
        let mut deal = Self {
            number,
            decisions: 0,
            tallies: vec![Tally::default(); entrants],
            ahead: vec![vec![0; entrants]; entrants],
        };
        let key = RngStream::new(seed, number).seed();
        for line_up in &schedule.line_ups {
            let seated: Vec<Bot> = line_up.iter().map(|&entrant| bots[entrant].clone()).collect();
            let Some(end) = bot_match(table, &seated, key, |_, _, _| Ok(!halted()))? else {
                return Ok(None);
            };
            deal.decisions += u64::from(end.ply());
            match end.outcome() {
                Some(outcome) => deal.count(line_up, &outcome),
                // Nobody has won what was cut at its greatest length.
                None => line_up.iter().for_each(|&entrant| deal.tallies[entrant].seats += 1),
            }
        }
        Ok(Some(deal))
    }

    fn count(&mut self, line_up: &[usize], outcome: &Outcome) {
        let winners = outcome.ranks().iter().map(|&rank| u32::from(rank == 1)).sum::<u32>();
        for (seat, &entrant) in line_up.iter().enumerate() {
            let tally = &mut self.tallies[entrant];
            tally.seats += 1;
            tally.points += i64::from(outcome.scores()[seat]);
            tally.wins += if outcome.ranks()[seat] == 1 { WHOLE / winners } else { 0 };
            for (other, &against) in line_up.iter().enumerate().filter(|&(_, &against)| against != entrant) {
                self.ahead[entrant][against] += match outcome.ranks()[seat].cmp(&outcome.ranks()[other]) {
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
        let mut deal =
            Deal { number: 0, decisions: 0, tallies: vec![Tally::default(); 2], ahead: vec![vec![0; 2]; 2] };
        deal.count(&[0, 1, 1], &Outcome::ranked(&[7, 7, 3], &[0; 3]));
        assert_eq!(deal.tallies[0], Tally { seats: 1, wins: WHOLE / 2, points: 7 });
        assert_eq!(deal.tallies[1], Tally { seats: 2, wins: WHOLE / 2, points: 10 });
        assert_eq!(deal.ahead, [[0, 3], [1, 0]]);
    }
}
