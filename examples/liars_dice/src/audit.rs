//! Checks of what holds in every reachable position.

use boardwire_kernel::{Audits, BitSet, CheckResult, ComponentTally, Seat, ensure};

use crate::LiarsDice;
use crate::state::{AllDice, Bid, FACES, MAX_SEATS, State, total};

impl Audits for LiarsDice {
    fn audit(&self, state: &State) -> CheckResult {
        self.audit_dice(&state.cups)?;
        self.audit_dice(&state.shown)?;
        let State { cups, turn, bid, shown, .. } = state;
        let has_dice = turn.number() < self.seats && !cups[*turn].is_empty();
        ensure(has_dice, || format!("{turn} is in turn without dice"))?;
        if let Some((bidder, bid)) = *bid {
            self.audit_bid(state, bidder, bid)?;
        }
        let begins = self.audit_lost_die(state)?;
        ensure(bid.is_some() || *turn == begins, || format!("{turn} begins the round, not {begins}"))?;
        let is_shown = !state.is_over() || cups[*turn] == shown[*turn];
        ensure(is_shown, || format!("the winner, {turn}, has other dice than it showed"))?;
        self.audit_eliminated(state)
    }
}

impl LiarsDice {
    /// Checks that the seats of the table have at most the dice of the start, and other seats none.
    fn audit_dice(&self, all: &AllDice) -> CheckResult {
        for (seat, dice) in Seat::all(MAX_SEATS).zip(all.all()) {
            let most = if seat.number() < self.seats { self.dice } else { 0 };
            let holds = dice.is_sound() && dice.count(0) == 0 && dice.len() <= most;
            ensure(holds, || format!("{seat} cannot have the dice {dice:?}"))?;
        }
        Ok(())
    }

    /// Checks the bid, and that the seat in turn acts after the bidder.
    fn audit_bid(&self, state: &State, bidder: Seat, bid: Bid) -> CheckResult {
        let in_play = total(&state.cups);
        let is_bid = (1..=in_play).contains(&bid.quantity) && (1..=FACES).contains(&bid.face);
        ensure(is_bid, || format!("{bid} is not a bid on {in_play} dice"))?;
        let is_before = bidder.number() < self.seats
            && bidder != state.turn
            && !state.cups[bidder].is_empty()
            && state.turn == self.next_with_dice(&state.cups, bidder);
        ensure(is_before, || format!("{} cannot act after the bid of {bidder}", state.turn))
    }

    /// Checks that one die was lost since the dice were shown. Returns the seat that begins the round.
    fn audit_lost_die(&self, state: &State) -> Result<Seat, String> {
        let State { cups, shown, .. } = state;
        let changed: Vec<Seat> =
            Seat::all(self.seats).filter(|&seat| cups[seat].len() != shown[seat].len()).collect();
        match changed[..] {
            [loser] if shown[loser].len() == cups[loser].len() + 1 => Ok(self.starter(cups, loser)),
            _ if *shown == AllDice::default() && total(cups) == self.seats * self.dice => Ok(Seat::FIRST),
            _ => Err(format!("{changed:?} have lost other dice than one since {shown:?}")),
        }
    }

    /// Checks that the seats without dice are numbered, and that a seat has the last number if it lost its last die now.
    fn audit_eliminated(&self, state: &State) -> CheckResult {
        let mut orders = ComponentTally::<1>::new("order of elimination");
        let last = state.eliminated.all().iter().max().copied().unwrap_or(0);
        for (seat, &order) in Seat::all(MAX_SEATS).zip(state.eliminated.all()) {
            let is_eliminated = seat.number() < self.seats && state.cups[seat].is_empty();
            let is_latest = is_eliminated && !state.shown[seat].is_empty();
            let holds = (order > 0) == is_eliminated && (order == last || !is_latest);
            ensure(holds, || format!("{seat} cannot have the order of elimination {order}"))?;
            orders.add((order > 0).then_some(order))?;
        }
        orders.check_complete(&(1..=last).collect::<BitSet<1>>())
    }
}
