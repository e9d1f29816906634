//! The results of one deal, played at every table and from every seat.

use anyhow::Context as _;
use boardwire_api::v1;
use boardwire_batch::play::Play;
use boardwire_batch::tables::Table;
use boardwire_bots::Bot;
use boardwire_kernel::Outcome;

use super::schedule::Schedule;
use crate::play::bot_match;
use boardwire_server::secret::episode_seed;

/// The results of one deal, as exact integers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deal {
    /// The number of the deal, counted from 0.
    pub(super) number: u64,
    pub(super) decisions: u64,
    /// One tally per entrant.
    pub(super) tallies: Vec<Tally>,
    /// `ahead[a][b]` counts in halves: 2 each time that entrant `a` has a better place than `b`, 1 for an equal place.
    pub(super) ahead: Vec<Vec<u32>>,
}

/// The results of one entrant in one deal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// The number of seats over all matches.
    pub(super) seats: u32,
    /// First places, in units of 1/[`WHOLE`]. Seats with an equal first place share it.
    pub(super) wins: u32,
    /// The sum of scores.
    pub(super) points: i64,
    /// The number of seats without a score: their match was forfeited or cut.
    pub(super) unscored: u32,
}

/// The units of one first place. It is divisible by 1 to 8, and a table has at most 8 seats.
pub(super) const WHOLE: u32 = 840;

/// The matches of one deal.
#[derive(Debug, Clone)]
pub(super) struct PlayedDeal {
    /// The number of the deal, counted from 0.
    pub(super) number: u64,
    /// One end per line-up.
    pub(super) ends: Vec<End>,
}

/// The end of a match.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) decisions: u64,
    /// The score of each seat; empty if the match was forfeited or cut.
    pub(super) scores: Vec<i32>,
    /// The place of each seat; empty if the match was cut.
    pub(super) ranks: Vec<u32>,
}

/// Returns the seed of a deal. It never equals the arena's seed, since agents learn the seeds of past deals.
pub(super) fn deal_seed(seed: u64, number: u64) -> anyhow::Result<u64> {
    let number = u32::try_from(number).ok().and_then(|number| number.checked_add(1));
    Ok(episode_seed(seed, number.context("a seed has at most 2^32 - 1 deals")?))
}

impl End {
    pub(super) fn of(ply: u32, outcome: v1::Outcome) -> Self {
        Self { decisions: ply.into(), scores: outcome.scores, ranks: outcome.ranks }
    }
}

impl PlayedDeal {
    /// Plays a deal with bots. Returns `None` if `halted` stops it before the end.
    pub(super) fn by_bots(
        table: &Table,
        schedule: &Schedule,
        bots: &[Bot],
        seed: u64,
        number: u64,
        halted: impl Fn() -> bool,
    ) -> anyhow::Result<Option<Self>> {
        let seed = deal_seed(seed, number)?;
        let mut ends = Vec::with_capacity(schedule.line_ups.len());
        for line_up in &schedule.line_ups {
            let seated: Vec<Bot> = line_up.iter().map(|&entrant| bots[entrant].clone()).collect();
            let on_action = |_: &dyn Play, _, _| Ok(!halted());
            let Some(end) = bot_match(table, &seated, seed, on_action)? else { return Ok(None) };
            let outcome = end.outcome();
            let outcome = outcome.as_ref();
            ends.push(End {
                decisions: end.ply().into(),
                scores: outcome.map(|outcome| outcome.scores().to_vec()).unwrap_or_default(),
                ranks: outcome.into_iter().flat_map(Outcome::ranks).map(|&rank| rank.into()).collect(),
            });
        }
        Ok(Some(Self { number, ends }))
    }
}

impl Deal {
    pub(super) fn of(schedule: &Schedule, played: &PlayedDeal) -> Self {
        let mut deal = Self::new(played.number, schedule.entrants.len());
        for (line_up, end) in schedule.line_ups.iter().zip(&played.ends) {
            deal.count(line_up, end);
        }
        deal
    }

    fn new(number: u64, entrants: usize) -> Self {
        let (tallies, ahead) = (vec![Tally::default(); entrants], vec![vec![0; entrants]; entrants]);
        Self { number, decisions: 0, tallies, ahead }
    }

    /// Adds the match of a line-up. A match that was cut at its maximum length has no winner.
    fn count(&mut self, line_up: &[usize], end: &End) {
        self.decisions += end.decisions;
        let winners = end.ranks.iter().map(|&rank| u32::from(rank == 1)).sum::<u32>();
        for (seat, &entrant) in line_up.iter().enumerate() {
            let tally = &mut self.tallies[entrant];
            tally.seats += 1;
            match end.scores.get(seat) {
                Some(&score) => tally.points += i64::from(score),
                None => tally.unscored += 1,
            }
            let Some(rank) = end.ranks.get(seat) else { continue };
            tally.wins += if *rank == 1 { WHOLE / winners } else { 0 };
            for (&other, other_rank) in line_up.iter().zip(&end.ranks).filter(|(other, _)| **other != entrant)
            {
                self.ahead[entrant][other] += u32::from(rank < other_rank) + u32::from(rank <= other_rank);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_first_place_is_divided_and_counts_half_ahead() {
        let mut deal = Deal::new(0, 2);
        let end = End { decisions: 9, scores: vec![7, 7, 3], ranks: vec![1, 1, 3] };
        deal.count(&[0, 1, 1], &end);
        assert_eq!(deal.tallies[0], Tally { seats: 1, wins: WHOLE / 2, points: 7, unscored: 0 });
        assert_eq!(deal.tallies[1], Tally { seats: 2, wins: WHOLE / 2, points: 10, unscored: 0 });
        assert_eq!(deal.ahead, [[0, 3], [1, 0]]);
        assert_eq!(deal.decisions, 9);
    }

    #[test]
    fn a_forfeit_is_a_loss_and_a_match_that_was_cut_has_no_winner() {
        let mut deal = Deal::new(0, 2);
        deal.count(&[0, 1, 1], &End { decisions: 2, scores: vec![], ranks: vec![1, 3, 1] });
        assert_eq!(deal.tallies[0], Tally { seats: 1, wins: WHOLE / 2, points: 0, unscored: 1 });
        assert_eq!(deal.tallies[1], Tally { seats: 2, wins: WHOLE / 2, points: 0, unscored: 2 });
        deal.count(&[0, 1, 1], &End { decisions: 2, scores: vec![], ranks: vec![] });
        assert_eq!(deal.tallies[0], Tally { seats: 2, wins: WHOLE / 2, points: 0, unscored: 2 });
        assert_eq!(deal.tallies[1], Tally { seats: 4, wins: WHOLE / 2, points: 0, unscored: 4 });
    }
}
