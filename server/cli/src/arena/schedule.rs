//! Who meets whom: every table of a field, every deal from every seat.

/// The tables at which the entrants of an arena meet.
///
/// Each deal is played at every table once for each way round that it can be seated, so that luck of the deal and of
/// the seat is the same for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    /// The entrants, each once.
    pub(super) entrants: Vec<String>,
    /// The entrant at each seat, a row for each table and way round.
    pub(super) line_ups: Vec<Vec<usize>>,
}

impl Schedule {
    /// One table, with these bots around it; the same bot may sit there more than once.
    pub(super) fn table(seats: &[String]) -> Self {
        let mut entrants: Vec<String> = Vec::new();
        let mut around = Vec::new();
        for bot in seats {
            let known = entrants.iter().position(|entrant| entrant == bot);
            around.push(known.unwrap_or_else(|| {
                entrants.push(bot.clone());
                entrants.len() - 1
            }));
        }
        Self { entrants, line_ups: ways_round(&around) }
    }

    /// Every choice of `seats` entrants out of a field, at a table of its own.
    ///
    /// # Errors
    /// When an entrant is named twice, or there are too few.
    pub(super) fn field(entrants: &[String], seats: usize) -> anyhow::Result<Self> {
        for (at, bot) in entrants.iter().enumerate() {
            anyhow::ensure!(!entrants[..at].contains(bot), "`{bot}` is in the field twice");
        }
        anyhow::ensure!(
            (1..=entrants.len()).contains(&seats),
            "a field of {} makes no table of {seats} seats",
            entrants.len()
        );
        let mut tables = Vec::new();
        choose(entrants.len(), seats, &mut Vec::new(), &mut tables);
        let line_ups = tables.iter().flat_map(|table| ways_round(table)).collect();
        Ok(Self { entrants: entrants.to_vec(), line_ups })
    }

    /// How many seats a table has.
    pub(super) fn seats(&self) -> usize {
        self.line_ups[0].len()
    }
}

/// Every way to seat them in this order, beginning with another each time; ways that look alike once.
fn ways_round(around: &[usize]) -> Vec<Vec<usize>> {
    let mut ways: Vec<Vec<usize>> = Vec::new();
    for turn in 0..around.len() {
        let mut way = around.to_vec();
        way.rotate_right(turn);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

/// Adds every choice of `count` among the numbers below `all` that begins with `chosen`, ascending.
fn choose(all: usize, count: usize, chosen: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if chosen.len() == count {
        found.push(chosen.clone());
        return;
    }
    let first = chosen.last().map_or(0, |last| last + 1);
    for next in first..all {
        chosen.push(next);
        choose(all, count, chosen, found);
        chosen.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bots(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_table_is_seated_every_way_round_and_no_way_twice() {
        let one = Schedule::table(&bots(&["mc", "greedy", "greedy"]));
        assert_eq!(one.entrants, bots(&["mc", "greedy"]));
        assert_eq!(one.line_ups, [[0, 1, 1], [1, 0, 1], [1, 1, 0]]);
        assert_eq!(Schedule::table(&bots(&["greedy", "greedy"])).line_ups, [[0, 0]]);
        assert_eq!(Schedule::table(&bots(&["mc", "greedy", "mc", "greedy"])).line_ups.len(), 2);
    }

    #[test]
    fn a_field_meets_at_every_table_it_can_fill() {
        let field = Schedule::field(&bots(&["mc", "greedy", "random"]), 2).expect("a field");
        assert_eq!(field.line_ups, [[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]]);
        assert_eq!(field.seats(), 2);
        let words = |names: &[&str], seats| Schedule::field(&bots(names), seats).unwrap_err().to_string();
        assert_eq!(words(&["mc", "greedy", "mc"], 2), "`mc` is in the field twice");
        assert_eq!(words(&["mc", "greedy"], 3), "a field of 2 makes no table of 3 seats");
    }
}
