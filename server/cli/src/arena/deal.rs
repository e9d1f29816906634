//! The results of one deal, played at every table and from every seat.

use std::time::Duration;

use anyhow::Context as _;
use boardwire_api::v1;
use boardwire_batch::play::AnyEpisode;
use boardwire_batch::tables::Table;
use boardwire_bots::Bot;
use boardwire_kernel::Outcome;

use super::schedule::Schedule;
use crate::play::{PlayedMatch, Thinking, bot_match};
use boardwire_server::secret::episode_seed;

/// The results of one deal, as exact integers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deal {
    /// The number of the deal, counted from 0.
    pub(super) number: u64,
    pub(super) decisions: u64,
    /// One tally per entrant.
    pub(super) tallies: Vec<Tally>,
    /// `placed_before[a][b]` counts in halves: 2 each time that entrant `a` has a better place than `b`, 1 for an equal
    /// place.
    pub(super) placed_before: Vec<Vec<u32>>,
}

/// The results of one entrant in one deal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// The number of seats over all matches.
    pub(super) seats: u32,
    /// First places, in units of 1/[`UNITS_PER_WIN`]. Seats with an equal first place share it.
    pub(super) wins: u32,
    /// The sum of scores.
    pub(super) points: i64,
    /// The number of seats without a score: their match was forfeited or cut.
    pub(super) unscored: u32,
    /// The number of seats that forfeited because their time ran out.
    pub(super) timeouts: u32,
    /// The number of decisions whose time was measured.
    pub(super) timed_decisions: u32,
    /// The time of these decisions.
    pub(super) thinking: Duration,
}

/// The number of units of one first place. It is divisible by 1 to 8, and a table has at most 8 seats.
pub(super) const UNITS_PER_WIN: u32 = 840;

/// The matches of one deal.
#[derive(Debug, Clone)]
pub(super) struct PlayedDeal {
    /// The number of the deal, counted from 0.
    pub(super) number: u64,
    /// One result per line-up.
    pub(super) results: Vec<MatchResult>,
}

/// The result of a match.
#[derive(Debug, Clone)]
pub(super) struct MatchResult {
    pub(super) decisions: u64,
    /// The score of each seat; empty if the match was forfeited or cut.
    pub(super) scores: Vec<i32>,
    /// The place of each seat; empty if the match was cut.
    pub(super) ranks: Vec<u32>,
    /// The seat that forfeited because its time ran out.
    pub(super) timed_out: Option<usize>,
    /// The time of each seat; empty if a server played the match.
    pub(super) thinking: Vec<Thinking>,
}

/// Returns the seed of a deal. It never equals the arena's seed, since agents learn the seeds of past deals.
pub(super) fn deal_seed(seed: u64, number: u64) -> anyhow::Result<u64> {
    let number = u32::try_from(number).ok().and_then(|number| number.checked_add(1));
    Ok(episode_seed(seed, number.context("a seed has at most 2^32 - 1 deals")?))
}

impl MatchResult {
    pub(super) fn from_outcome(ply: u32, outcome: v1::Outcome) -> Self {
        let timed_out = outcome.forfeits().position(|forfeit| forfeit == v1::Forfeit::Time);
        let (scores, ranks) = (outcome.scores, outcome.ranks);
        Self { decisions: ply.into(), scores, ranks, timed_out, thinking: Vec::new() }
    }
}

impl PlayedDeal {
    /// Plays a deal with bots. Returns `None` if `should_stop` stops it before the end.
    pub(super) fn play_bots(
        table: &Table,
        schedule: &Schedule,
        bots: &[Bot],
        seed: u64,
        number: u64,
        should_stop: impl Fn() -> bool,
    ) -> anyhow::Result<Option<Self>> {
        let seed = deal_seed(seed, number)?;
        let mut results = Vec::with_capacity(schedule.line_ups.len());
        for line_up in &schedule.line_ups {
            let seated: Vec<Bot> = line_up.iter().map(|&entrant| bots[entrant].clone()).collect();
            let on_action = |_: &dyn AnyEpisode, _, _| Ok(!should_stop());
            let Some(played) = bot_match(table, &seated, seed, on_action)? else { return Ok(None) };
            let PlayedMatch { episode, thinking } = played;
            let outcome = episode.outcome();
            let outcome = outcome.as_ref();
            results.push(MatchResult {
                decisions: episode.ply().into(),
                scores: outcome.map(|outcome| outcome.scores().to_vec()).unwrap_or_default(),
                ranks: outcome.into_iter().flat_map(Outcome::ranks).map(|&rank| rank.into()).collect(),
                timed_out: None,
                thinking,
            });
        }
        Ok(Some(Self { number, results }))
    }
}

impl Deal {
    pub(super) fn of(schedule: &Schedule, played: &PlayedDeal) -> Self {
        let mut deal = Self::new(played.number, schedule.entrants.len());
        for (line_up, result) in schedule.line_ups.iter().zip(&played.results) {
            deal.count(line_up, result);
        }
        deal
    }

    fn new(number: u64, entrants: usize) -> Self {
        let (tallies, placed_before) = (vec![Tally::default(); entrants], vec![vec![0; entrants]; entrants]);
        Self { number, decisions: 0, tallies, placed_before }
    }

    /// Adds the match of a line-up. A match that was cut at its maximum length has no winner.
    fn count(&mut self, line_up: &[usize], result: &MatchResult) {
        self.decisions += result.decisions;
        let winners = result.ranks.iter().map(|&rank| u32::from(rank == 1)).sum::<u32>();
        for (seat, &entrant) in line_up.iter().enumerate() {
            let tally = &mut self.tallies[entrant];
            tally.seats += 1;
            tally.timeouts += u32::from(result.timed_out == Some(seat));
            let thinking = result.thinking.get(seat).copied().unwrap_or_default();
            tally.timed_decisions += thinking.decisions;
            tally.thinking += thinking.elapsed;
            match result.scores.get(seat) {
                Some(&score) => tally.points += i64::from(score),
                None => tally.unscored += 1,
            }
            let Some(rank) = result.ranks.get(seat) else { continue };
            tally.wins += if *rank == 1 { UNITS_PER_WIN / winners } else { 0 };
            for (&other, other_rank) in
                line_up.iter().zip(&result.ranks).filter(|(other, _)| **other != entrant)
            {
                self.placed_before[entrant][other] +=
                    u32::from(rank < other_rank) + u32::from(rank <= other_rank);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_first_place_is_divided_and_counts_half_as_placed_before() {
        let mut deal = Deal::new(0, 2);
        let thinking = |decisions, seconds| Thinking { decisions, elapsed: Duration::from_secs(seconds) };
        let result = MatchResult {
            decisions: 9,
            scores: vec![7, 7, 3],
            ranks: vec![1, 1, 3],
            timed_out: None,
            thinking: vec![thinking(3, 1), thinking(4, 5), thinking(2, 7)],
        };
        deal.count(&[0, 1, 1], &result);
        let wins = UNITS_PER_WIN / 2;
        let (timed_decisions, thinking) = (3, Duration::from_secs(1));
        let first = Tally { seats: 1, wins, points: 7, timed_decisions, thinking, ..Tally::default() };
        assert_eq!(deal.tallies[0], first);
        let (timed_decisions, thinking) = (6, Duration::from_secs(12));
        let second = Tally { seats: 2, wins, points: 10, timed_decisions, thinking, ..Tally::default() };
        assert_eq!(deal.tallies[1], second);
        assert_eq!(deal.placed_before, [[0, 3], [1, 0]]);
        assert_eq!(deal.decisions, 9);
    }

    #[test]
    fn a_forfeit_is_a_loss_and_a_match_that_was_cut_has_no_winner() {
        let mut deal = Deal::new(0, 2);
        let forfeits = [v1::Forfeit::Unspecified, v1::Forfeit::Time, v1::Forfeit::Unspecified];
        let forfeited = v1::Outcome {
            ranks: vec![1, 3, 1],
            forfeits: forfeits.map(i32::from).into(),
            ..Default::default()
        };
        deal.count(&[0, 1, 1], &MatchResult::from_outcome(2, forfeited));
        let (win, seats) = (UNITS_PER_WIN / 2, |seats| Tally { seats, unscored: seats, ..Tally::default() });
        assert_eq!(deal.tallies[0], Tally { wins: win, ..seats(1) });
        assert_eq!(deal.tallies[1], Tally { wins: win, timeouts: 1, ..seats(2) });
        deal.count(&[0, 1, 1], &MatchResult::from_outcome(2, v1::Outcome::default()));
        assert_eq!(deal.tallies[0], Tally { wins: win, ..seats(2) });
        assert_eq!(deal.tallies[1], Tally { wins: win, timeouts: 1, ..seats(4) });
    }
}
