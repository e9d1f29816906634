//! One environment. It plays one episode after another, with agents and bots at the seats.

use boardwire_api::v1::IllegalActionPolicy;
use std::sync::Arc;

use boardwire_bots::{Bot, BotFault, Choice, Round, Thought};
use boardwire_kernel::{
    ADVICE_STREAM, ActionSet, BOT_STREAM, Episode, Estimate, Knowledge, MAX_SEATS, Outcome, RngStream,
    SUBSTITUTE_STREAM, Seat, SeatSet,
};

use super::snapshot::Saved;
use super::{Begin, LineUp, Plan};
use crate::pool::Slice;

/// The decision that an environment waits for.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    /// The seat of the agent that decides. `None` if the episode is over.
    pub(super) seat: Option<Seat>,
    /// The seat's legal actions; empty if the episode is over.
    pub(super) legal: ActionSet,
}

impl Due {
    pub(super) const OVER: Self = Self { seat: None, legal: ActionSet::EMPTY };
}

/// How an episode ended.
pub(super) enum End {
    /// The episode ended by the rules.
    Scored(Outcome),
    /// This seat chose an illegal action.
    Forfeited(Seat),
    /// The episode was truncated at the limit on plies.
    Truncated,
}

pub(super) struct Environment<G: Estimate> {
    episode: Episode<G>,
    /// The index of its line-up in the plan.
    line_up: usize,
    /// The batch seed, and the environment's stream of random numbers. They determine the seeds of later episodes.
    seed: u64,
    stream: u64,
    /// The number of the current episode.
    index: u32,
    /// Whether the environment was neither reset nor stepped.
    fresh: bool,
    forfeited: Option<Seat>,
    /// The bots' streams of random numbers, in the order of their seats.
    rng: Vec<RngStream>,
    /// By seat: the number of words used from the random stream that replaces illegal actions.
    substitutes: [u64; MAX_SEATS],
    /// The bots that think now.
    round: Option<Box<Round<G>>>,
}

/// Returns the seed of episode `index`: words `2 index` and `2 index + 1` of the environment's stream.
fn episode_seed(seed: u64, stream: u64, index: u32) -> u64 {
    RngStream::resume(seed.into(), stream, 2 * u64::from(index)).seed()
}

impl<G: Estimate> Environment<G> {
    /// Creates environment `number` and deals its episode 0.
    pub(super) fn open(game: &Arc<G>, plan: &Plan, seed: u64, number: u64) -> Self {
        let (line_up, stream) = (plan.line_up_of(number), plan.seeds_of(number));
        let first = episode_seed(seed, stream, 0);
        Self {
            episode: Episode::seeded(Arc::clone(game), first),
            line_up,
            seed,
            stream,
            index: 0,
            fresh: true,
            forfeited: None,
            rng: plan.line_ups[line_up].bots.iter().map(|&(seat, _)| bot_rng(first, seat)).collect(),
            substitutes: [0; MAX_SEATS],
            round: None,
        }
    }

    pub(super) fn line_up<'a>(&self, plan: &'a Plan) -> &'a LineUp {
        &plan.line_ups[self.line_up]
    }

    /// Returns a copy. No bot may be thinking.
    pub(super) fn copy(&self) -> Self {
        Self { episode: self.episode.clone(), rng: self.rng.clone(), round: None, ..*self }
    }

    /// Deals the episode that `begin` asks for, unless `open` has just dealt it.
    pub(super) fn begin(&mut self, plan: &Plan, begin: Begin) {
        let fresh = std::mem::replace(&mut self.fresh, false);
        if fresh && begin == Begin::default() {
            return;
        }
        match begin.batch_seed {
            Some(seed) => (self.seed, self.index) = (seed, 0),
            None => self.index += u32::from(!fresh),
        }
        let seed = begin.episode_seed.unwrap_or_else(|| episode_seed(self.seed, self.stream, self.index));
        self.episode.restart(seed);
        self.forfeited = None;
        self.substitutes = [0; MAX_SEATS];
        let bots = &self.line_up(plan).bots;
        for (rng, &(seat, _)) in self.rng.iter_mut().zip(bots) {
            *rng = bot_rng(seed, seat);
        }
    }

    /// Applies the action of `seat`, whose decision is due; returns whether a legal action replaced an illegal one.
    /// The caller has refused actions that the plan rejects.
    pub(super) fn decide(&mut self, plan: &Plan, seat: Seat, legal: ActionSet, action: u8) -> bool {
        self.fresh = false;
        let substituted = !legal.contains(action);
        let action = match (substituted, plan.illegal_actions) {
            (false, _) => action,
            (true, IllegalActionPolicy::SeededLegal) => self.substitute(seat, legal),
            (true, IllegalActionPolicy::FirstLegal) => legal.lowest().unwrap_or(action),
            (true, _) => {
                self.forfeited = Some(seat);
                return false;
            }
        };
        self.play(seat, action);
        substituted
    }

    fn substitute(&mut self, seat: Seat, mut legal: ActionSet) -> u8 {
        let key = self.episode.chance().key().expect("no environment is scripted");
        let words = &mut self.substitutes[seat.index()];
        let mut rng = RngStream::resume(key, SUBSTITUTE_STREAM + u64::from(seat.number()), *words);
        let action = rng.draw(&mut legal);
        *words = rng.words();
        action
    }

    fn play(&mut self, seat: Seat, action: u8) {
        self.episode.apply(seat, action.into()).expect("it was chosen from the legal actions");
    }

    /// Plays bots, and forced actions if the plan skips them, until an agent must decide. Returns that decision.
    /// Returns `None` if the slice ends before, or if a bot has just sent a request to its policy.
    pub(super) fn play_to_decision(&mut self, plan: &Plan, slice: &Slice) -> Result<Option<Due>, BotFault> {
        loop {
            if let Some(round) = &mut self.round {
                while !round.advance()? {
                    if slice.is_over() {
                        return Ok(None);
                    }
                }
            }
            if let Some(round) = self.round.take() {
                self.play_round(plan, *round);
                continue;
            }
            let pending = self.pending();
            if !self.rng.is_empty() && self.play_bots(plan, pending) {
                if self.round.as_ref().is_some_and(|round| round.has_asked()) {
                    return Ok(None);
                }
                continue;
            }
            let forced = if plan.skip_forced { self.forced(plan) } else { None };
            let Some((seat, action)) = forced else { return Ok(Some(self.due(pending))) };
            self.play(seat, action);
        }
    }

    /// Lets the bots among `pending` choose or start to think; returns whether there are any.
    fn play_bots(&mut self, plan: &Plan, pending: SeatSet) -> bool {
        let bots = &self.line_up(plan).bots;
        let mut due = bots.iter().zip(&mut self.rng).filter(|((seat, _), _)| pending.contains(*seat));
        let Some(((seat, bot), rng)) = due.next() else { return false };
        let legal = self.episode.game().legal(self.episode.state(), *seat);
        // Bots that use only the legal actions may choose one after another.
        let blind = if plan.has_quick_players() { bot.choose_blindly(legal, rng) } else { None };
        if let Some(action) = blind {
            self.play(*seat, action);
            return true;
        }
        let first = (*seat, bot.clone(), rng.clone());
        let others = due.map(|((seat, bot), rng)| (*seat, bot.clone(), rng.clone()));
        self.round = Some(Box::new(Round::new(&self.episode, std::iter::once(first).chain(others))));
        true
    }

    fn play_round(&mut self, plan: &Plan, round: Round<G>) {
        let mut choices = round.choices();
        choices.sort_unstable_by_key(|choice| choice.seat);
        for Choice { seat, action, rng } in choices {
            self.play(seat, action);
            let at =
                self.line_up(plan).bots.iter().position(|(bot, _)| *bot == seat).expect("a bot sits there");
            self.rng[at] = rng;
        }
    }

    /// Returns an agent that has exactly one legal action, and that action.
    fn forced(&self, plan: &Plan) -> Option<(Seat, u8)> {
        self.line_up(plan).agents.iter().find_map(|seat| Some((seat, self.episode.forced(seat)?)))
    }

    fn pending(&self) -> SeatSet {
        if self.forfeited.is_some() { SeatSet::EMPTY } else { self.episode.pending() }
    }

    /// Returns the decision of the lowest pending seat. An agent plays this seat.
    fn due(&self, pending: SeatSet) -> Due {
        pending.lowest().map_or(Due::OVER, |seat| Due {
            seat: Some(seat),
            legal: self.episode.game().legal(self.episode.state(), seat),
        })
    }

    /// Returns how the episode ended. `None` if it has not ended.
    pub(super) fn end(&self) -> Option<End> {
        if let Some(seat) = self.forfeited {
            return Some(End::Forfeited(seat));
        }
        if self.episode.is_truncated() {
            return Some(End::Truncated);
        }
        self.episode.outcome().map(End::Scored)
    }

    pub(super) fn ply(&self) -> u32 {
        self.episode.ply()
    }

    pub(super) fn index(&self) -> u32 {
        self.index
    }

    pub(super) fn view(&self, seat: Seat, out: &mut [u8]) {
        self.episode.game().view(self.episode.state(), seat.into(), out);
    }

    /// Returns the legal actions of a seat; empty if the seat owes no decision.
    pub(super) fn legal(&self, seat: Seat) -> ActionSet {
        if self.pending().contains(seat) {
            self.episode.game().legal(self.episode.state(), seat)
        } else {
            ActionSet::EMPTY
        }
    }

    /// Returns the position as text for people, as a seat knows it.
    pub(super) fn text(&self, seat: Seat) -> String {
        let mut text = String::new();
        let written = self.episode.game().text(self.episode.state(), seat.into(), &mut text);
        written.expect("writing to a string does not fail");
        text
    }

    pub(super) fn knowledge(&self, seat: Seat) -> Knowledge<G> {
        self.episode.knowledge(seat)
    }

    /// Starts the adviser's choice for `seat`. Its random numbers depend on the episode, the seat and the ply.
    pub(super) fn thought(&self, bot: &Bot, seat: Seat) -> Thought<G> {
        let key = self.episode.chance().key().expect("no environment is scripted");
        let words = u64::from(self.ply()) << 32;
        let rng = RngStream::resume(key, ADVICE_STREAM + u64::from(seat.number()), words);
        Thought::new(bot, self.knowledge(seat), rng)
    }

    /// Resamples the information that is hidden from `seat`.
    #[cfg(feature = "testkit")]
    pub(super) fn determinize(&mut self, seat: Seat, rng: &mut RngStream) {
        self.episode = boardwire_kernel::testkit::determinized(&self.episode, seat, rng);
    }

    pub(super) fn save(&self, plan: &Plan) -> Saved {
        Saved {
            players: self.line_up(plan).names(),
            seed: self.seed,
            stream: self.stream,
            index: self.index,
            fresh: self.fresh,
            forfeited: self.forfeited.map(Seat::number),
            rng: self.rng.iter().map(RngStream::words).collect(),
            substitutes: self.substitutes,
            episode: self.episode.save(),
        }
    }

    /// Returns a saved environment of the same line-up, to replace this one.
    pub(super) fn restored(&self, game: &Arc<G>, plan: &Plan, saved: &Saved) -> Result<Self, String> {
        let (bots, players) = (&self.line_up(plan).bots, self.line_up(plan).names());
        if saved.players != players {
            let [saved, expected] = [&saved.players, &players].map(|names| names.join(", "));
            return Err(format!("its players are {saved}, not {expected}"));
        }
        let episode = Episode::restore(Arc::clone(game), &saved.episode)?;
        let seed = episode.chance().key().ok_or("its episode has no seed")?;
        if saved.rng.len() != bots.len() {
            return Err(format!("it has random streams of {} bots, not {}", saved.rng.len(), bots.len()));
        }
        saved.rng.iter().chain(&saved.substitutes).try_for_each(|&words| RngStream::check_words(words))?;
        if saved.index == u32::MAX {
            return Err(format!("episode {} has no next episode", saved.index));
        }
        let forfeited = match saved.forfeited {
            Some(seat) if seat >= game.info().seats => {
                return Err(format!("seat {seat} forfeited it, but there is no such seat"));
            }
            seat => seat.map(Seat::new),
        };
        let rng = bots.iter().zip(&saved.rng);
        Ok(Self {
            episode,
            line_up: self.line_up,
            seed: saved.seed,
            stream: saved.stream,
            index: saved.index,
            fresh: saved.fresh,
            forfeited,
            rng: rng.map(|((seat, _), &words)| RngStream::resume(seed, bot_stream(*seat), words)).collect(),
            substitutes: saved.substitutes,
            round: None,
        })
    }
}

fn bot_stream(seat: Seat) -> u64 {
    BOT_STREAM + u64::from(seat.number())
}

fn bot_rng(seed: u64, seat: Seat) -> RngStream {
    RngStream::new(seed, bot_stream(seat))
}
