//! The position as one viewer sees it, as text.

use std::fmt::{self, Write};

use boardwire_kernel::{Seat, Texts, Viewer};

use crate::LiarsDice;
use crate::state::{Action, Dice, FACES, State, total};

impl Texts for LiarsDice {
    fn text(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> fmt::Result {
        let State { cups, shown, turn, .. } = state;
        let in_play = total(cups);
        if let Some(seat) = viewer.seat() {
            writeln!(out, "your dice: {}", faces(cups[seat]))?;
        }
        for seat in viewer.first().round(self.seats) {
            let you = if viewer.is_seat(seat) { " (you)" } else { "" };
            match state.eliminated[seat] {
                0 => writeln!(out, "{seat}{you} has {} of the {in_play} dice", cups[seat].len())?,
                order => writeln!(out, "{seat}{you} was eliminated as number {order}")?,
            }
        }
        for (seat, dice) in Seat::all(self.seats).zip(shown.all()).filter(|(_, dice)| !dice.is_empty()) {
            writeln!(out, "at the end of the previous round, {seat} showed {}", faces(*dice))?;
        }
        if state.is_over() {
            return writeln!(out, "the game is over: {turn} wins");
        }
        match state.bid {
            None => writeln!(out, "{turn} begins the round with a bid"),
            Some((bidder, bid)) => {
                let (quantity, face) = (bid.quantity, bid.face);
                writeln!(out, "{bidder} bid {bid}: at least {quantity} of the {in_play} dice show {face}")?;
                writeln!(out, "{turn} makes a higher bid or challenges")
            }
        }
    }

    fn report(
        &self,
        before: &State,
        (seat, action): (Seat, Action),
        after: &State,
        viewer: Seat,
        out: &mut dyn Write,
    ) -> fmt::Result {
        write!(out, "{seat}{}: ", if seat == viewer { " (you)" } else { "" })?;
        self.phrase(before, seat, action, out)?;
        out.write_str("\n")?;
        let Some((bidder, bid)) = before.bid.filter(|_| action == Action::Challenge) else { return Ok(()) };
        let shown = &after.shown;
        for (seat, dice) in Seat::all(self.seats).zip(shown.all()).filter(|(_, dice)| !dice.is_empty()) {
            writeln!(out, "{seat} showed {}", faces(*dice))?;
        }
        write!(out, "{} of the {} dice showed {}: ", bid.matches(shown), total(shown), bid.face)?;
        let (verdict, loser) = if bid.holds(shown) { ("held", seat) } else { ("did not hold", bidder) };
        writeln!(out, "the bid {bid} of {bidder} {verdict}, {loser} lost a die")
    }
}

/// Returns the faces of the dice, ascending: `2 2 5`.
fn faces(dice: Dice) -> String {
    let all = (1..=FACES).flat_map(|face| (0..dice.count(face)).map(move |_| face.to_string()));
    let all: Vec<String> = all.collect();
    if all.is_empty() { "none".to_owned() } else { all.join(" ") }
}
