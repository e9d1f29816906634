//! Broken variants of the toy. Each has one flaw, and is otherwise like the toy.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::action::{KEEP, PLAY};
use super::super::state::{Draw, Phase, Placement, State};
use super::super::{Action, CardId, Cards, Catalogue, Toy};
use super::broken_state::BrokenState;
use super::flaw::Flaw;
use crate::testkit::{History, Replayable};
use crate::{
    ActionSet, ActionSpace, Audits, Choices, ColumnKind, Estimate, Field, GameInfo, GameType, Hidden,
    LegalChoice, LoadedCatalogue, Options, Outcome, RandomSource, RngStream, ScoreLine, Scoring, Seat,
    SeatSet, Setup, SetupError, Texts, Turns, Viewer, Views, ensure,
};

/// The toy with a flaw.
pub(super) struct Broken {
    toy: Toy,
    info: GameInfo,
    flaw: Flaw,
    /// The number of counted calls. A correct game must not count them.
    asked: AtomicU32,
}

impl Broken {
    pub(super) fn new(toy: &Toy, flaw: Flaw) -> Arc<Self> {
        let (toy, mut info) = (toy.clone(), toy.info().clone());
        if flaw == Flaw::MissesALabel {
            let named = ActionSpace::new().add_range(PLAY, |card| card.to_string());
            info.actions = named.add_range(KEEP, |_| "keep".to_owned());
        } else if let Flaw::NamesARowTooMany | Flaw::AxisNamesUnknownTable | Flaw::UsualMaxAboveMax = flaw {
            let hand = info.layout.fields.iter_mut().find(|field| field.name == "hand");
            let hand = hand.expect("a seat is shown its hand");
            match flaw {
                Flaw::NamesARowTooMany => hand.max += 1,
                Flaw::AxisNamesUnknownTable => hand.axes[0].table = Some("places"),
                _ => hand.usual_max += 1,
            }
        } else if flaw == Flaw::CallsNumbersFlags {
            info.tables[0].columns[0].kind = ColumnKind::Flag;
        } else if flaw == Flaw::HasAFieldTooMany {
            let more = Field { name: "more", ..info.layout.fields[0].clone() };
            info.layout.fields.push(more);
        } else if flaw == Flaw::LastsTooLong {
            info.max_plies -= 1;
        } else if flaw == Flaw::ScoresBeyondItsRange {
            info.scores = (1, 3);
        }
        Arc::new(Self { toy, info, flaw, asked: AtomicU32::new(0) })
    }

    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    /// Returns the number of counted calls before this one.
    fn count(&self) -> u32 {
        self.asked.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the lowest card that the seat after the viewer holds.
    fn secret(&self, state: &BrokenState, viewer: Viewer) -> u8 {
        let other = viewer.first().clockwise(1, self.info.seats);
        state.toy.hands[other].lowest().unwrap_or(0)
    }

    fn others(&self, viewer: Seat) -> impl Iterator<Item = Seat> + use<> {
        viewer.round(self.info.seats).skip(1)
    }

    /// Applies the flaws that come before the toy's resample.
    fn before_resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        if self.is(Flaw::ResamplesItsOwnHand) {
            exchange_lowest(state, viewer, rng);
        } else if self.is(Flaw::ForgetsWhatItBuried) {
            let buried = |draw: &&mut Draw| draw.seat == viewer && draw.placement == Placement::Buried;
            for draw in state.draws.iter_mut().flatten().filter(buried) {
                let hands = self.others(viewer).map(|other| state.hands[other]);
                let mut hidden = hands.fold(state.deck, Cards::union);
                hidden.insert(draw.card);
                let card = rng.draw(&mut hidden);
                for place in state.hands.of_mut(self.info.seats).iter_mut().chain([&mut state.deck]) {
                    if place.remove(card) {
                        place.insert(draw.card);
                    }
                }
                draw.card = CardId::new(card);
            }
        }
    }

    /// Applies flaws to the determinization that the toy has sampled.
    fn after_resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let mut kept = state.draws;
        let is_hidden = |draw: &&mut Draw| draw.seat != viewer && draw.placement == Placement::Kept;
        if self.is(Flaw::RemembersTheImpossible)
            || self.is(Flaw::SeldomDrawsTheImpossible) && rng.below(1000) == 0
        {
            let first = state.plays[0];
            for draw in kept.iter_mut().flatten().filter(is_hidden) {
                draw.card = first[draw.seat].expect("every seat played a card before");
            }
            state.draws = kept;
        } else if self.is(Flaw::RemembersTheLowest) {
            for draw in kept.iter_mut().flatten().filter(is_hidden) {
                let later = state.revealed().get(1).and_then(|plays| plays[draw.seat]);
                let had = later.into_iter().collect::<Cards>().union(state.hands[draw.seat]);
                draw.card = CardId::new(had.lowest().expect("a kept card is in the hand or was played"));
            }
            state.draws = kept;
        } else if self.is(Flaw::DealsOthersLowCards) && state.round == 0 && rng.below(50) == 0 {
            let pending = self.toy.pending(state);
            for seat in self.others(viewer).filter(|seat| pending.contains(*seat)) {
                let high = state.hands[seat].iter().last().expect("a hand is dealt");
                state.deck.insert(high);
                state.hands[seat].remove(high);
                let low = state.deck.lowest().expect("a card was put there");
                state.deck.remove(low);
                state.hands[seat].insert(low);
            }
        }
    }
}

/// Exchanges the lowest card of a hand for a random card of the deck.
fn exchange_lowest(state: &mut State, seat: Seat, rng: &mut RngStream) {
    if let Some(card) = state.hands[seat].lowest() {
        state.hands[seat].remove(card);
        state.hands[seat].insert(rng.draw(&mut state.deck));
        state.deck.insert(card);
    }
}

impl Setup for Broken {
    type State = BrokenState;
    type Action = Action;
    type Catalogue = Catalogue;

    const TYPE: GameType = Toy::TYPE;

    fn new(_: Arc<LoadedCatalogue<Catalogue>>, _: u8, _: &Options) -> Result<Self, SetupError> {
        unreachable!("a variant is made from a toy and a flaw")
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

impl Turns for Broken {
    fn deal(&self, chance: &mut RandomSource) -> BrokenState {
        let dealt = self.count();
        if (self.is(Flaw::DealsOtherwiseTheSecondTime) && dealt == 1)
            || (self.is(Flaw::DealsOtherwiseTheFourthTime) && dealt == 3)
        {
            chance.below(0, 2);
        }
        let ballast = if self.is(Flaw::SavesTooMuch) { 2048 } else { 0 };
        BrokenState { toy: self.toy.deal(chance), mark: 0, lost: 0, ignored: 0, ballast }
    }

    fn pending(&self, state: &BrokenState) -> SeatSet {
        let mut pending = self.toy.pending(&state.toy);
        if self.is(Flaw::PendingUnknownSeat) {
            pending.insert(Seat::new(self.info.seats));
        }
        pending
    }

    fn advance(&self, state: &mut BrokenState, choice: LegalChoice<Action>, chance: &mut RandomSource) {
        if self.is(Flaw::AppliesIllegalAction)
            && choice.action() == Action::Keep
            && state.toy.phase == Phase::Play
        {
            state.mark += 1;
            return;
        }
        self.toy.advance(&mut state.toy, choice, chance);
        if self.is(Flaw::SampleFailsAuditLater) && std::mem::take(&mut state.ignored) > 0 {
            state.toy.deck = state.toy.deck.iter().skip(1).collect();
        }
        if self.is(Flaw::RemembersTheOrder) {
            state.mark = choice.seat().number();
        } else if self.is(Flaw::ForgetsToSave) {
            state.ignored += 1;
            if state.toy.phase == Phase::Over {
                state.mark = state.ignored;
            }
        } else if self.is(Flaw::ForgetsToRestore) {
            state.lost += 1;
        }
    }
}

impl Choices for Broken {
    fn encode(&self, action: Action) -> u8 {
        if self.is(Flaw::EncodesWrongly) && action == Action::Bury {
            return Action::Keep.index();
        }
        action.index()
    }

    fn decode(&self, index: u8) -> Option<Action> {
        Action::at(index).filter(|action| !self.is(Flaw::ForgetsAnAction) || *action != Action::Bury)
    }

    fn legal(&self, state: &BrokenState, seat: Seat) -> ActionSet {
        let legal = self.toy.legal(&state.toy, seat);
        match self.flaw {
            Flaw::OffersNothing if state.toy.phase == Phase::Place => ActionSet::EMPTY,
            Flaw::LegalAfterChoice if state.toy.phase == Phase::Play => {
                PLAY.actions_for(state.toy.hands[seat])
            }
            _ => legal,
        }
    }

    fn is_legal(&self, state: &BrokenState, seat: Seat, action: Action) -> bool {
        let is_too_early = state.toy.phase == Phase::Play && action == Action::Keep;
        let is_allowed = match self.flaw {
            Flaw::AllowsMoreThanIsLegal => is_too_early,
            Flaw::LegalForUnknownSeat => seat.number() == self.info.seats,
            Flaw::AppliesIllegalAction => {
                is_too_early && seat == Seat::FIRST && self.count().is_multiple_of(2)
            }
            _ => false,
        };
        is_allowed || self.toy.is_legal(&state.toy, seat, action)
    }
}

impl Scoring for Broken {
    fn outcome(&self, state: &BrokenState) -> Option<Outcome> {
        match self.flaw {
            Flaw::HasNoOutcome => None,
            Flaw::EndsTooSoon if state.toy.round == 1 => Some(Outcome::ranked(&[0, 0], &[0, 0])),
            _ => self.toy.outcome(&state.toy),
        }
    }

    fn explain(&self, state: &BrokenState, seat: Seat) -> Vec<ScoreLine> {
        let mut lines = self.toy.explain(&state.toy, seat);
        if self.is(Flaw::ExplainsTooLittle) {
            lines.pop();
        }
        lines
    }
}

impl Views for Broken {
    fn view(&self, state: &BrokenState, viewer: Viewer, out: &mut [u8]) {
        let last = out.len() - 1;
        let unwritten = out[last];
        self.toy.view(&state.toy, viewer, out);
        // The last byte is the size of the deck.
        out[last] = match self.flaw {
            Flaw::LeavesAByteUnwritten => unwritten,
            Flaw::ExceedsAMaximum => 200,
            Flaw::LeaksInTheView if viewer != Viewer::Public => self.secret(state, viewer),
            Flaw::LeaksToThePublic if viewer == Viewer::Public => self.secret(state, viewer),
            _ => out[last],
        };
        for (at, field) in self.info.layout_for(viewer).with_offsets() {
            let bytes = &mut out[at..][..field.bytes()];
            match (self.flaw, field.name) {
                (Flaw::ForgetsWhatItBuried, "drawn") => {
                    let draws = bytes.iter_mut().zip(state.toy.draws.iter().flatten());
                    let buried = draws.filter(|(_, draw)| draw.placement == Placement::Buried);
                    buried.for_each(|(byte, _)| *byte = 0);
                }
                (Flaw::HandNotAscending, "hand") => bytes.reverse(),
                (Flaw::ShowsACardTwice, "hand") => bytes[1] = bytes[0],
                _ => {}
            }
        }
    }
}

impl Texts for Broken {
    fn text(&self, state: &BrokenState, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut text = String::new();
        self.toy.text(&state.toy, viewer, &mut text)?;
        match self.flaw {
            Flaw::ForgetsWhatItBuried => {
                let kept = text.lines().filter(|line| !line.contains("buried"));
                return kept.into_iter().try_for_each(|line| writeln!(out, "{line}"));
            }
            Flaw::CountsQuestions => write!(out, "{}", self.count())?,
            Flaw::LeaksInTheText if viewer != Viewer::Public => {
                write!(out, "{}", self.secret(state, viewer))?;
            }
            Flaw::ShowsACommit if state.toy.phase == Phase::Play => {
                let chosen = state.toy.plays().all().iter().flatten();
                chosen.into_iter().try_for_each(|card| write!(out, "{}", card.get() % 2))?;
            }
            _ => {}
        }
        out.write_str(&text)
    }

    fn phrase(
        &self,
        state: &BrokenState,
        seat: Seat,
        action: Action,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        if self.is(Flaw::SharesAPhrase) {
            return out.write_str("choose");
        }
        self.toy.phrase(&state.toy, seat, action, out)
    }

    fn report(
        &self,
        before: &BrokenState,
        choice: (Seat, Action),
        after: &BrokenState,
        viewer: Seat,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        if self.is(Flaw::ReportsACommit) {
            write!(out, "{:?}", choice.1)?;
        }
        self.toy.report(&before.toy, choice, &after.toy, viewer, out)
    }
}

impl Hidden for Broken {
    fn resample(&self, state: &mut BrokenState, viewer: Seat, rng: &mut RngStream) {
        let is_last = viewer.number() + 1 == self.info.seats;
        if self.is(Flaw::NeverResamplesForOne) && is_last
            || self.is(Flaw::KeepsTheTruth) && rng.below(50) == 0
        {
            return;
        }
        if self.is(Flaw::DrawsFromElsewhere) {
            *rng = RngStream::new(self.count().into(), 0);
        }
        self.before_resample(&mut state.toy, viewer, rng);
        self.toy.resample(&mut state.toy, viewer, rng);
        self.after_resample(&mut state.toy, viewer, rng);
        if self.is(Flaw::SampleFailsAuditLater) {
            state.ignored = 1;
        } else if self.is(Flaw::ResamplesWhatCannotBe) {
            state.toy.deck = Cards::EMPTY;
        }
    }
}

impl Audits for Broken {
    fn audit(&self, state: &BrokenState) -> Result<(), String> {
        ensure(!self.is(Flaw::RefusesWhatIsReached) || state.toy.round == 0, || "there is no second round")?;
        self.toy.audit(&state.toy)
    }
}

impl Estimate for Broken {
    type Features = <Toy as Estimate>::Features;

    fn features(&self, state: &BrokenState, seat: Seat) -> Option<Self::Features> {
        self.toy.features(&state.toy, seat)
    }

    fn estimate(&self, features: &Self::Features) -> i32 {
        self.toy.estimate(features)
    }

    fn reduce_for_playouts(&self, state: &mut BrokenState) {
        if self.is(Flaw::ReducesAwayACard)
            && let Some(card) = state.toy.hands[Seat::FIRST].lowest()
        {
            state.toy.hands[Seat::FIRST].remove(card);
        }
        if self.is(Flaw::ReducesAwayTheEnd) && state.toy.phase == Phase::Over {
            state.toy.plays[0][Seat::FIRST] = None;
        }
    }
}

impl Replayable for Broken {
    fn history(&self, sample: &BrokenState, choices: &[(Seat, u8)], viewer: Seat) -> Option<History> {
        let mut history = self.toy.history(&sample.toy, choices, viewer)?;
        if self.is(Flaw::RemembersTooMuch) {
            history.outcomes[0].push(1);
        }
        Some(history)
    }
}
