//! One deal, played at every table from every seat.

use anyhow::Context as _;
use boardwire_api::v1;
use boardwire_batch::play::Play;
use boardwire_batch::tables::Table;
use boardwire_bots::Bot;
use boardwire_kernel::Outcome;

use super::schedule::Schedule;
use crate::table::bot_match;
use boardwire_server::secret::episode_seed;

/// What came of one deal, in numbers that add up exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// How many seats it had, over all matches.
    pub(super) seats: u32,
    /// Its shares of first places, in [`WHOLE`]ths: a place that several share is divided.
    pub(super) wins: u32,
    /// Its scores, summed.
    pub(super) points: i64,
    /// How many of its seats have no score: their matches were forfeited or cut.
    pub(super) unscored: u32,
}

/// Parts of a first place, which up to eight seats can share: the most that a table has.
pub(super) const WHOLE: u32 = 840;

/// A deal that has been played every way round.
#[derive(Debug, Clone)]
pub(super) struct Played {
    /// Deals are counted from 0.
    pub(super) number: u64,
    /// What came of each way round.
    pub(super) ends: Vec<End>,
}

/// How a match has ended.
#[derive(Debug, Clone)]
pub(super) struct End {
    /// How many decisions it took.
    pub(super) decisions: u64,
    /// The score of each seat; none when it was forfeited or cut.
    pub(super) scores: Vec<i32>,
    /// The place of each seat; none when it was cut.
    pub(super) ranks: Vec<u32>,
}

/// The seed from which the cards of a deal follow. None of them is that of the arena: agents are shown those of deals that are over.
pub(super) fn deal_seed(seed: u64, number: u64) -> anyhow::Result<u64> {
    let number = u32::try_from(number).ok().and_then(|number| number.checked_add(1));
    Ok(episode_seed(seed, number.context("more deals than a seed has")?))
}

impl End {
    /// That of a match that ended after so many decisions with this outcome.
    pub(super) fn of(ply: u32, outcome: v1::Outcome) -> Self {
        Self { decisions: ply.into(), scores: outcome.scores, ranks: outcome.ranks }
    }
}

impl Played {
    /// Lets bots play it; nothing, if they were halted before its end.
    pub(super) fn by_bots(
        table: &Table,
        schedule: &Schedule,
        bots: &[Bot],
        seed: u64,
        number: u64,
        halted: impl Fn() -> bool,
    ) -> anyhow::Result<Option<Self>> {
        let key = deal_seed(seed, number)?;
        let mut ends = Vec::with_capacity(schedule.line_ups.len());
        for line_up in &schedule.line_ups {
            let seated: Vec<Bot> = line_up.iter().map(|&entrant| bots[entrant].clone()).collect();
            let each = |_: &dyn Play, _, _| Ok(!halted());
            let Some(end) = bot_match(table, &seated, key, each)? else { return Ok(None) };
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
    /// What came of it.
    pub(super) fn of(schedule: &Schedule, played: &Played) -> Self {
        let mut deal = Self::new(played.number, schedule.entrants.len());
        for (line_up, end) in schedule.line_ups.iter().zip(&played.ends) {
            deal.count(line_up, end);
        }
        deal
    }

    /// One that nobody has played.
    fn new(number: u64, entrants: usize) -> Self {
        let (tallies, ahead) = (vec![Tally::default(); entrants], vec![vec![0; entrants]; entrants]);
        Self { number, decisions: 0, tallies, ahead }
    }

    /// Counts a match of these entrants. Nobody has won what was cut at its greatest length.
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
            for (against, other) in line_up.iter().zip(&end.ranks).filter(|(against, _)| **against != entrant)
            {
                self.ahead[entrant][*against] += match rank.cmp(other) {
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
        let end = End { decisions: 9, scores: vec![7, 7, 3], ranks: vec![1, 1, 3] };
        deal.count(&[0, 1, 1], &end);
        assert_eq!(deal.tallies[0], Tally { seats: 1, wins: WHOLE / 2, points: 7, unscored: 0 });
        assert_eq!(deal.tallies[1], Tally { seats: 2, wins: WHOLE / 2, points: 10, unscored: 0 });
        assert_eq!(deal.ahead, [[0, 3], [1, 0]]);
        assert_eq!(deal.decisions, 9);
    }

    #[test]
    fn a_forfeit_is_lost_and_a_match_that_was_cut_is_won_by_nobody() {
        let mut deal = Deal::new(0, 2);
        deal.count(&[0, 1, 1], &End { decisions: 2, scores: vec![], ranks: vec![1, 3, 1] });
        assert_eq!(deal.tallies[0], Tally { seats: 1, wins: WHOLE / 2, points: 0, unscored: 1 });
        assert_eq!(deal.tallies[1], Tally { seats: 2, wins: WHOLE / 2, points: 0, unscored: 2 });
        deal.count(&[0, 1, 1], &End { decisions: 2, scores: vec![], ranks: vec![] });
        assert_eq!(deal.tallies[0], Tally { seats: 2, wins: WHOLE / 2, points: 0, unscored: 2 });
        assert_eq!(deal.tallies[1], Tally { seats: 4, wins: WHOLE / 2, points: 0, unscored: 4 });
    }
}
