//! What a viewer saw of a choice and of what followed from it.
//!
//! A report of another seat's choice follows from the viewer's views before and after, so it never names the action.

use std::fmt::{Result, Write};

use boardwire_kernel::Seat;

use super::super::state::{Decision, Hand, State, TargetReason, tokens_of};
use super::super::{Action, GoldenCompass};
use super::words::{counted, joined, seat_name};

/// A choice of a seat as one viewer sees it.
struct Seen<'a> {
    before: &'a State,
    after: &'a State,
    seat: Seat,
    viewer: Seat,
}

impl Seen<'_> {
    fn is_own(&self) -> bool {
        self.seat == self.viewer
    }

    /// Returns the viewer's hand before and after, if `seat` is the viewer.
    fn hands_of(&self, seat: Seat) -> Option<[Hand; 2]> {
        (seat == self.viewer).then(|| [self.before, self.after].map(|state| state.seats[seat].hand))
    }

    fn hand_sizes(&self, seat: Seat) -> [u8; 2] {
        [self.before, self.after].map(|state| state.seats[seat].hand.len())
    }
}

/// Returns the cards of `all` without those of `less`.
fn without(all: Hand, less: &Hand) -> Hand {
    let mut rest = all;
    less.as_slice().iter().for_each(|&card| {
        rest.remove(card);
    });
    rest
}

/// Returns the cards that the chooser discarded. A card that went back into the draw pile at once is only known to
/// the chooser, so it may be missing; the number is exact.
fn discarded(seen: &Seen, action: Action) -> (u8, Hand) {
    let (before, after) = (seen.before.discard.counts(), seen.after.discard.counts());
    match (seen.before.decision, action) {
        (Decision::Sets, _) => {}
        (_, Action::Card(card)) if seen.is_own() => return (1, [card].into_iter().collect()),
        (_, Action::Card(_)) => {}
        _ => return (0, Hand::default()),
    }
    let gained = (0u8..).zip(before.iter().zip(after));
    let gained = gained
        .flat_map(|(card, (before, after))| std::iter::repeat_n(card, after.saturating_sub(*before).into()));
    let cards: Hand = gained.collect();
    (if seen.before.decision == Decision::Sets { cards.len() } else { 1 }, cards)
}

impl GoldenCompass {
    pub(super) fn write_report(
        &self,
        before: &State,
        (seat, action): (Seat, Action),
        after: &State,
        viewer: Seat,
        out: &mut dyn Write,
    ) -> Result {
        let seen = Seen { before, after, seat, viewer };
        if before.decision == Decision::Keep {
            return self.report_keep(&seen, out);
        }
        let mut events = self.visible_choice(&seen);
        let discarded = discarded(&seen, action);
        self.report_cards(&seen, discarded, &mut events);
        self.report_tiles(&seen, &mut events);
        self.report_tokens(&seen, &mut events);
        self.report_course(&seen, &mut events);
        if events.is_empty() && seen.is_own() {
            events.push(self.phrase_words(before, seat, action));
        }
        if events.is_empty() {
            Ok(())
        } else {
            writeln!(out, "{}: {}", seat_name(viewer, seat), events.join("; "))
        }
    }

    /// Reports allies when all have chosen, and before that only the viewer's own choice.
    fn report_keep(&self, seen: &Seen, out: &mut dyn Write) -> Result {
        let (viewer, after) = (seen.viewer, seen.after);
        if after.decision == Decision::Keep {
            let own = after.seats[viewer];
            let (Some(dealt), Some(kept)) = (own.dealt.filter(|_| seen.is_own()), own.kept_index) else {
                return Ok(());
            };
            let name = &self.catalogue().character(dealt[usize::from(kept)]).name;
            return writeln!(out, "{}: keeps {name} as ally", seat_name(viewer, viewer));
        }
        for seat in self.all_seats() {
            let seat_state = &after.seats[seat];
            let ally = seat_state.ally.expect("allies are shown when all have chosen");
            write!(out, "{}: ally {}", seat_name(viewer, seat), self.character_words(ally))?;
            match seat_state.card_under_ally.filter(|_| seat == viewer) {
                Some(under) => writeln!(out, ", received {}", self.character_words(under))?,
                None => writeln!(out, ", Magisterium {} in all", self.magisterium(seat_state))?,
            }
        }
        Ok(())
    }

    /// Returns what shows the choice itself, if its results do not.
    fn visible_choice(&self, seen: &Seen) -> Vec<String> {
        let (before, after) = (seen.before, seen.after);
        let words = match (before.decision, after.decision) {
            (Decision::Colour, Decision::Action) => "light blue",
            (Decision::Colour, _) => "red",
            (Decision::Action, Decision::Target(TargetReason::Airship)) if after.effect.is_none() => {
                "Magisterium"
            }
            (Decision::Action, _) if after.effect.is_some() => "uses its ally's power",
            (Decision::Cost(_), Decision::Pay { .. }) => "pays the cost",
            (Decision::Cost(_), _) => "does not pay the cost",
            (Decision::Steps { .. }, _) if before.lyra == after.lyra => "does not advance Lyra",
            (Decision::Sets, Decision::NameSetCard(partial_set)) => {
                return vec![format!("plays a {}", self.set_words(partial_set.kind))];
            }
            (Decision::Sets, _) if before.discard == after.discard => "ends the turn",
            (Decision::Target(TargetReason::Token), Decision::ChooseBack { victim }) => {
                return vec![format!("steals from {}", seat_name(seen.viewer, victim))];
            }
            (Decision::Airship, _) if after.gave_up.is_some() => "takes one truth tile less for the airship",
            (Decision::Airship, _) => "discards cards for the airship",
            _ => return Vec::new(),
        };
        vec![words.to_owned()]
    }

    fn report_cards(&self, seen: &Seen, (count, discarded): (u8, Hand), events: &mut Vec<String>) {
        if count > 0 {
            let names = self.card_names(discarded.cards());
            events.push(if discarded.is_empty() {
                "discards 1 card".to_owned()
            } else {
                format!("discards {names}")
            });
        }
        let mut stolen = Hand::default();
        let mut stolen_count = 0;
        for victim in self.others(seen.seat) {
            let [before, after] = seen.hand_sizes(victim);
            if after >= before {
                continue;
            }
            let lost = before - after;
            stolen_count += lost;
            let words = format!("takes {} of {}", counted(lost, "card"), seat_name(seen.viewer, victim));
            // Thief and victim see the cards.
            if seen.is_own() || victim == seen.viewer {
                let hands = [seen.before, seen.after].map(|state| state.seats[victim].hand);
                stolen = without(hands[0], &hands[1]);
                events.push(format!("{words}: {}", self.card_names(stolen.cards())));
            } else {
                events.push(words);
            }
        }
        let [before, after] = seen.hand_sizes(seen.seat);
        let drawn = (after + count).saturating_sub(before + stolen_count);
        if drawn > 0 {
            let words = format!("draws {}", counted(drawn, "card"));
            let cards = seen.hands_of(seen.seat).map(|[before, after]| {
                let kept = without(before, &discarded);
                self.card_names(without(without(after, &stolen), &kept).cards())
            });
            events.push(cards.map_or(words.clone(), |cards| format!("{words}: {cards}")));
        }
        if seen.after.deck.len() + drawn > seen.before.deck.len() {
            events.push("the discard pile goes back into the draw pile".to_owned());
        }
    }

    fn report_tiles(&self, seen: &Seen, events: &mut Vec<String>) {
        let (before, after) = (seen.before, seen.after);
        let (own_before, own_after) = (&before.seats[seen.seat], &after.seats[seen.seat]);
        if before.period == after.period && after.decision != Decision::Over {
            if own_after.compass > own_before.compass {
                events.push(format!(
                    "lays {}",
                    counted(own_after.compass - own_before.compass, "compass tile")
                ));
            }
            for seat in self.others(seen.seat) {
                let back = before.seats[seat].compass.saturating_sub(after.seats[seat].compass);
                if back > 0 {
                    let words = counted(back, "compass tile");
                    events.push(format!("sends back {words} of {}", seat_name(seen.viewer, seat)));
                }
            }
        }
        if own_after.dust > own_before.dust {
            let victim =
                self.others(seen.seat).find(|&seat| after.seats[seat].dust < before.seats[seat].dust);
            let source = victim.map_or("the supply".to_owned(), |seat| seat_name(seen.viewer, seat));
            events.push(format!(
                "takes {} from {source}",
                counted(own_after.dust - own_before.dust, "dust tile")
            ));
        }
        let tiles = self.catalogue().tiles.iter().zip(&own_before.truth.counts()[1..]);
        for ((tile, before), after) in tiles.zip(&own_after.truth.counts()[1..]) {
            if after > before {
                events.push(format!("takes a truth tile worth {}", tile.value));
            }
        }
        match after.airship {
            Some(holder) if before.airship != after.airship => {
                events.push(format!("gives the airship to {}", seat_name(seen.viewer, holder)));
            }
            _ => {}
        }
    }

    fn report_tokens(&self, seen: &Seen, events: &mut Vec<String>) {
        let (before, after) = (&seen.before.seats, &seen.after.seats);
        let gains = self.catalogue().collecting().iter().enumerate();
        let gains = gains.filter(|&(at, _)| after[seen.seat].backs[at] > before[seen.seat].backs[at]);
        for (at, city) in gains {
            let victim = self.others(seen.seat).find(|&seat| after[seat].backs[at] < before[seat].backs[at]);
            let moved = if seen.is_own() {
                Some(after[seen.seat].tokens.difference(before[seen.seat].tokens))
            } else {
                let victim = victim.filter(|&victim| victim == seen.viewer);
                victim.map(|victim| before[victim].tokens.difference(after[victim].tokens))
            };
            let names = match moved {
                Some(tokens) => joined(tokens_of(tokens).map(|token| self.token_name(token))),
                None => format!("token of {}", city.name),
            };
            events.push(match victim {
                Some(victim) => format!("steals a {names} from {}", seat_name(seen.viewer, victim)),
                None => format!("takes a {names}"),
            });
        }
        for token in tokens_of(after[seen.seat].laid_out.difference(before[seen.seat].laid_out)) {
            let circle = seen.after.circles.iter().position(|circle| circle.contains(token)).unwrap_or(0);
            let city = &self.catalogue().placing()[circle].name;
            events.push(format!("lays out the {} in {city}", self.token_name(token)));
        }
    }

    /// Reports Lyra's steps, and what the end of a turn or of a period shows.
    fn report_course(&self, seen: &Seen, events: &mut Vec<String>) {
        let (before, after) = (seen.before, seen.after);
        if after.lyra > before.lyra {
            let space = self.space_words(before, after.lyra);
            events.push(format!("Lyra advances {} to {space}", after.lyra - before.lyra));
            let cities = self.catalogue().collecting().iter().zip(self.tokens_at_cities(before));
            for (city, lying) in cities.filter(|(city, lying)| *lying > 0 && after.lyra > city.spaces.1) {
                events.push(format!("{} of {} leave the game", counted(lying, "token"), city.name));
            }
        }
        if before.airship.is_some() && after.airship.is_none() {
            events.push("the airship goes back".to_owned());
        }
        if matches!(after.decision, Decision::Truth { .. })
            && !matches!(before.decision, Decision::Truth { .. })
        {
            events.push(format!("open: {}", self.tile_counts(&after.open_tiles)));
            if after.drawn_passages > 0 {
                events.push(format!("{} drawn", counted(after.drawn_passages, "passage tile")));
            }
        }
        if after.decision == Decision::Over {
            events.push("the game is over".to_owned());
        } else if after.period != before.period {
            events.push(format!("period {} begins", after.period + 1));
        }
    }
}
