//! One environment. It plays one episode after another, with agents and bots at the seats.

use boardwire_api::v1::IllegalActionPolicy;
use std::sync::Arc;

use boardwire_bots::{Bot, BotDecision, BotError, Choice, Round};
use boardwire_kernel::{
    ADVICE_STREAM, ActionSet, BOT_STREAM, Episode, Estimate, Knowledge, MAX_SEATS, Outcome, RngStream,
    SUBSTITUTE_STREAM, Seat, SeatSet,
};

use super::snapshot::SavedEnvironment;
use super::{EnvironmentConfig, EpisodeStart, LineUp};
use crate::pool::Slice;

/// The decision that an environment waits for.
#[derive(Debug, Clone, Copy)]
pub struct PendingDecision {
    /// The seat of the agent that decides. `None` if the episode is over.
    pub(super) seat: Option<Seat>,
    /// The seat's legal actions; empty if the episode is over.
    pub(super) legal: ActionSet,
}

impl PendingDecision {
    pub(super) const NONE: Self = Self { seat: None, legal: ActionSet::EMPTY };
}

/// How an episode ended.
pub(super) enum EpisodeEnd {
    /// The episode ended by the rules.
    Scored(Outcome),
    /// This seat chose an illegal action.
    Forfeited(Seat),
    /// The episode was truncated at the limit on plies.
    Truncated,
}

pub(super) struct Environment<G: Estimate> {
    episode: Episode<G>,
    /// The index of its line-up in the config.
    line_up: usize,
    /// The batch seed, and the environment's stream of random numbers. They determine the seeds of later episodes.
    seed: u64,
    stream: u64,
    /// The number of the current episode.
    episode_index: u32,
    /// Whether the environment was neither reset nor stepped.
    is_untouched: bool,
    forfeited: Option<Seat>,
    /// The bots' streams of random numbers, in the order of their seats.
    rng: Vec<RngStream>,
    /// By seat: the number of words used from the random stream that replaces illegal actions.
    substitute_words_used: [u64; MAX_SEATS],
    /// The bots that think now.
    round: Option<Box<Round<G>>>,
}

/// Returns the seed of episode `index`: words `2 index` and `2 index + 1` of the environment's stream.
fn episode_seed(seed: u64, stream: u64, index: u32) -> u64 {
    RngStream::resume(seed.into(), stream, 2 * u64::from(index)).next_seed()
}

impl<G: Estimate> Environment<G> {
    /// Creates environment `number` and deals its episode 0.
    pub(super) fn open(game: &Arc<G>, config: &EnvironmentConfig, seed: u64, number: u64) -> Self {
        let (line_up, stream) = (config.line_up_index(number), config.seed_stream(number));
        let first_seed = episode_seed(seed, stream, 0);
        Self {
            episode: Episode::seeded(Arc::clone(game), first_seed),
            line_up,
            seed,
            stream,
            episode_index: 0,
            is_untouched: true,
            forfeited: None,
            rng: config.line_ups[line_up].bots.iter().map(|&(seat, _)| bot_rng(first_seed, seat)).collect(),
            substitute_words_used: [0; MAX_SEATS],
            round: None,
        }
    }

    pub(super) fn line_up<'a>(&self, config: &'a EnvironmentConfig) -> &'a LineUp {
        &config.line_ups[self.line_up]
    }

    /// Returns a copy. No bot may be thinking.
    pub(super) fn copy(&self) -> Self {
        Self { episode: self.episode.clone(), rng: self.rng.clone(), round: None, ..*self }
    }

    /// Deals the episode that `start` asks for, unless `open` has just dealt it.
    pub(super) fn start_episode(&mut self, config: &EnvironmentConfig, start: EpisodeStart) {
        let is_untouched = std::mem::replace(&mut self.is_untouched, false);
        if is_untouched && start == EpisodeStart::default() {
            return;
        }
        match start.batch_seed {
            Some(seed) => (self.seed, self.episode_index) = (seed, 0),
            None => self.episode_index += u32::from(!is_untouched),
        }
        let seed =
            start.episode_seed.unwrap_or_else(|| episode_seed(self.seed, self.stream, self.episode_index));
        self.episode.restart(seed);
        self.forfeited = None;
        self.substitute_words_used = [0; MAX_SEATS];
        let bots = &self.line_up(config).bots;
        for (rng, &(seat, _)) in self.rng.iter_mut().zip(bots) {
            *rng = bot_rng(seed, seat);
        }
    }

    /// Applies the action of `seat`, whose decision is due; returns whether a legal action replaced an illegal one.
    /// The caller has refused actions that the configuration rejects.
    pub(super) fn decide(
        &mut self,
        config: &EnvironmentConfig,
        seat: Seat,
        legal: ActionSet,
        action: u8,
    ) -> bool {
        self.is_untouched = false;
        let substituted = !legal.contains(action);
        let action = match (substituted, config.illegal_actions) {
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
        let key = self.episode.random_source().key().expect("no environment is scripted");
        let words = &mut self.substitute_words_used[seat.index()];
        let mut rng = RngStream::resume(key, SUBSTITUTE_STREAM + u64::from(seat.number()), *words);
        let action = rng.draw(&mut legal);
        *words = rng.words();
        action
    }

    fn play(&mut self, seat: Seat, action: u8) {
        self.episode.apply(seat, action.into()).expect("it was chosen from the legal actions");
    }

    /// Plays bots, and forced actions if the configuration skips them, until an agent must decide. Returns that decision.
    /// Returns `None` if the slice ends before, or if a bot has just sent a request to its policy.
    pub(super) fn play_to_decision(
        &mut self,
        config: &EnvironmentConfig,
        slice: &Slice,
    ) -> Result<Option<PendingDecision>, BotError> {
        loop {
            if let Some(round) = &mut self.round {
                while !round.advance()? {
                    if slice.is_over() {
                        return Ok(None);
                    }
                }
            }
            if let Some(round) = self.round.take() {
                self.play_round(config, *round);
                continue;
            }
            let pending = self.pending();
            if !self.rng.is_empty() && self.play_bots(config, pending) {
                if self.round.as_ref().is_some_and(|round| round.awaits_policy()) {
                    return Ok(None);
                }
                continue;
            }
            let forced = if config.skip_forced { self.forced(config) } else { None };
            let Some((seat, action)) = forced else { return Ok(Some(self.pending_decision(pending))) };
            self.play(seat, action);
        }
    }

    /// Lets the bots among `pending` choose or start to think; returns whether there are any.
    fn play_bots(&mut self, config: &EnvironmentConfig, pending: SeatSet) -> bool {
        let bots = &self.line_up(config).bots;
        let mut pending_bots =
            bots.iter().zip(&mut self.rng).filter(|((seat, _), _)| pending.contains(*seat));
        let Some(((seat, bot), rng)) = pending_bots.next() else { return false };
        let legal = self.episode.game().legal(self.episode.state(), *seat);
        // Bots that use only the legal actions may choose one after another.
        let choice = if config.players_think() { None } else { bot.choose_from_legal(legal, rng) };
        if let Some(action) = choice {
            self.play(*seat, action);
            return true;
        }
        let first = (*seat, bot.clone(), rng.clone());
        let others = pending_bots.map(|((seat, bot), rng)| (*seat, bot.clone(), rng.clone()));
        self.round = Some(Box::new(Round::new(&self.episode, std::iter::once(first).chain(others))));
        true
    }

    fn play_round(&mut self, config: &EnvironmentConfig, round: Round<G>) {
        let mut choices = round.choices();
        choices.sort_unstable_by_key(|choice| choice.seat);
        for Choice { seat, action, rng } in choices {
            self.play(seat, action);
            let bots = &self.line_up(config).bots;
            let index = bots.iter().position(|(bot, _)| *bot == seat).expect("a bot plays this seat");
            self.rng[index] = rng;
        }
    }

    /// Returns an agent that has exactly one legal action, and that action.
    fn forced(&self, config: &EnvironmentConfig) -> Option<(Seat, u8)> {
        self.line_up(config).agents.iter().find_map(|seat| Some((seat, self.episode.forced(seat)?)))
    }

    fn pending(&self) -> SeatSet {
        if self.forfeited.is_some() { SeatSet::EMPTY } else { self.episode.pending() }
    }

    /// Returns the decision of the lowest pending seat. An agent plays this seat.
    fn pending_decision(&self, pending: SeatSet) -> PendingDecision {
        pending.lowest().map_or(PendingDecision::NONE, |seat| PendingDecision {
            seat: Some(seat),
            legal: self.episode.game().legal(self.episode.state(), seat),
        })
    }

    /// Returns how the episode ended. `None` if it has not ended.
    pub(super) fn end(&self) -> Option<EpisodeEnd> {
        if let Some(seat) = self.forfeited {
            return Some(EpisodeEnd::Forfeited(seat));
        }
        if self.episode.is_truncated() {
            return Some(EpisodeEnd::Truncated);
        }
        self.episode.outcome().map(EpisodeEnd::Scored)
    }

    pub(super) fn ply(&self) -> u32 {
        self.episode.ply()
    }

    pub(super) fn episode_index(&self) -> u32 {
        self.episode_index
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

    pub(super) fn episode(&self) -> &Episode<G> {
        &self.episode
    }

    pub(super) fn knowledge(&self, seat: Seat) -> Knowledge<G> {
        self.episode.knowledge(seat)
    }

    /// Starts the adviser's choice for `seat`, or without adviser the estimates of its actions. The random numbers depend on
    /// the episode, the seat and the ply.
    pub(super) fn start_advice(&self, bot: Option<&Bot>, seat: Seat) -> BotDecision<G> {
        let key = self.episode.random_source().key().expect("no environment is scripted");
        let words = u64::from(self.ply()) << 32;
        let rng = RngStream::resume(key, ADVICE_STREAM + u64::from(seat.number()), words);
        let knowledge = self.knowledge(seat);
        match bot {
            Some(bot) => BotDecision::new(bot, knowledge, rng),
            None => BotDecision::estimating(knowledge, rng),
        }
    }

    /// Resamples the information that is hidden from `seat`.
    #[cfg(feature = "testkit")]
    pub(super) fn determinize(&mut self, seat: Seat, rng: &mut RngStream) {
        self.episode = boardwire_kernel::testkit::determinize(&self.episode, seat, rng);
    }

    pub(super) fn save(&self, config: &EnvironmentConfig) -> SavedEnvironment {
        SavedEnvironment {
            players: self.line_up(config).names(),
            seed: self.seed,
            stream: self.stream,
            episode_index: self.episode_index,
            is_untouched: self.is_untouched,
            forfeited: self.forfeited.map(Seat::number),
            rng: self.rng.iter().map(RngStream::words).collect(),
            substitute_words_used: self.substitute_words_used,
            episode: self.episode.save(),
        }
    }

    /// Returns a saved environment of the same line-up, to replace this one.
    pub(super) fn replacement_from(
        &self,
        game: &Arc<G>,
        config: &EnvironmentConfig,
        saved: &SavedEnvironment,
    ) -> Result<Self, String> {
        let (bots, players) = (&self.line_up(config).bots, self.line_up(config).names());
        if saved.players != players {
            let [saved, expected] = [&saved.players, &players].map(|names| names.join(", "));
            return Err(format!("its players must be {expected}; got {saved}"));
        }
        let episode = Episode::restore(Arc::clone(game), &saved.episode)?;
        let seed = episode.random_source().key().ok_or("its episode must have a seed")?;
        if saved.rng.len() != bots.len() {
            return Err(format!(
                "it must have random streams of {} bots; got {}",
                bots.len(),
                saved.rng.len()
            ));
        }
        saved
            .rng
            .iter()
            .chain(&saved.substitute_words_used)
            .try_for_each(|&words| RngStream::check_words(words))?;
        if saved.episode_index == u32::MAX {
            return Err(format!("its episode must be below {}, so that a next one exists", u32::MAX));
        }
        let forfeited = match saved.forfeited {
            Some(seat) if seat >= game.info().seats => {
                return Err(format!(
                    "its forfeit must be by seat 0 to {}; got seat {seat}",
                    game.info().seats - 1
                ));
            }
            seat => seat.map(Seat::new),
        };
        let rng = bots.iter().zip(&saved.rng);
        Ok(Self {
            episode,
            line_up: self.line_up,
            seed: saved.seed,
            stream: saved.stream,
            episode_index: saved.episode_index,
            is_untouched: saved.is_untouched,
            forfeited,
            rng: rng.map(|((seat, _), &words)| RngStream::resume(seed, bot_stream(*seat), words)).collect(),
            substitute_words_used: saved.substitute_words_used,
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
