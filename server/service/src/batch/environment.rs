//! One environment: episode after episode, in which learners decide and bots play their part.

use std::sync::Arc;

use boardwire_bots::Bot;
use boardwire_kernel::{
    ActionSet, BOT_STREAM, Dice, Episode, Game, Outcome, SUBSTITUTE_STREAM, Seat, SeatSet,
};

use super::snapshot::Saved;
use super::{Begin, Plan};
use crate::arbiter::IllegalActions;

/// The decision an environment shows.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    /// The learner seat that decides; nobody when the episode is over.
    pub(super) seat: Option<Seat>,
    /// What it may choose; nothing when the episode is over.
    pub(super) legal: ActionSet,
}

/// How an episode ended.
pub(super) enum End {
    /// By the rules.
    Scored(Outcome),
    /// By an illegal action of this seat.
    Forfeited(Seat),
    /// At its greatest length.
    Truncated,
}

pub(super) struct Environment<G: Game> {
    episode: Episode<G>,
    /// The batch's seed and the environment's number: what later episodes' seeds follow from.
    seed: u64,
    number: u64,
    /// The number of the present episode.
    index: u32,
    /// Whether it has been neither reset nor stepped.
    fresh: bool,
    forfeited: Option<Seat>,
    /// The dice of the bots, in the order of their seats.
    dice: Vec<Dice>,
    /// Words used of the stream that substitutes are drawn from.
    substitutes: u64,
}

/// The seed of an environment's episode: words `2 index` and `2 index + 1` of the environment's stream.
fn episode_seed(seed: u64, number: u64, index: u32) -> u64 {
    Dice::resume(seed, number, 2 * u64::from(index)).seed()
}

impl<G: Game> Environment<G> {
    /// At the beginning of episode 0.
    pub(super) fn open(game: &Arc<G>, plan: &Plan, seed: u64, number: u64) -> (Self, Due) {
        let own = episode_seed(seed, number, 0);
        let mut environment = Self {
            episode: Episode::seeded(Arc::clone(game), own),
            seed,
            number,
            index: 0,
            fresh: true,
            forfeited: None,
            dice: plan.bots.iter().map(|&(seat, _)| bot_dice(own, seat)).collect(),
            substitutes: 0,
        };
        let due = environment.settle(plan);
        (environment, due)
    }

    /// Begins an episode.
    pub(super) fn begin(&mut self, plan: &Plan, how: Begin) -> Due {
        let fresh = std::mem::replace(&mut self.fresh, false);
        let seed = match how {
            Begin::Next if fresh => return self.due(),
            Begin::Next => {
                self.index += 1;
                episode_seed(self.seed, self.number, self.index)
            }
            Begin::Keyed(seed) => {
                (self.seed, self.index) = (seed, 0);
                episode_seed(seed, self.number, 0)
            }
            Begin::Seeded(seed) => {
                self.index += u32::from(!fresh);
                seed
            }
        };
        self.episode.restart(seed);
        self.forfeited = None;
        self.substitutes = 0;
        for (dice, &(seat, _)) in self.dice.iter_mut().zip(&plan.bots) {
            *dice = bot_dice(seed, seat);
        }
        self.settle(plan)
    }

    /// Makes the decision of `seat`, which is due, and plays all that follows without a learner; whether
    /// another action was played for the one given. Only actions that may be treated so come here.
    pub(super) fn decide(&mut self, plan: &Plan, seat: Seat, legal: ActionSet, action: u8) -> (Due, bool) {
        self.fresh = false;
        let substituted = !legal.contains(action);
        let action = match (substituted, plan.illegal_actions) {
            (false, _) => action,
            (true, IllegalActions::SeededLegal) => self.substitute(legal),
            (true, IllegalActions::FirstLegal) => legal.lowest().unwrap_or(action),
            (true, IllegalActions::Forfeit | IllegalActions::Reject) => {
                self.forfeited = Some(seat);
                return (Due::OVER, false);
            }
        };
        self.play(seat, action);
        (self.settle(plan), substituted)
    }

    fn substitute(&mut self, mut legal: ActionSet) -> u8 {
        let seed = self.episode.chance().seed().unwrap_or_default();
        let mut dice = Dice::resume(seed, SUBSTITUTE_STREAM, self.substitutes);
        let action = dice.draw(&mut legal);
        self.substitutes = dice.words();
        action
    }

    fn play(&mut self, seat: Seat, action: u8) {
        self.episode.apply(seat, action.into()).expect("it was chosen from the legal actions");
    }

    /// Plays what needs no learner: forced choices if they are skipped, quick bots, bots that think.
    fn settle(&mut self, plan: &Plan) -> Due {
        loop {
            let forced = if plan.skip_forced { self.episode.forced() } else { None };
            let next = forced.or_else(|| self.bots_choice(plan));
            let Some((seat, action)) = next else { return self.due() };
            self.play(seat, action);
        }
    }

    /// What the next bot that owes a choice chooses.
    fn bots_choice(&mut self, plan: &Plan) -> Option<(Seat, u8)> {
        if plan.bots.is_empty() {
            return None;
        }
        let pending = self.episode.pending();
        let due = |quick: bool| {
            let wanted = |(seat, bot): &(Seat, Bot)| pending.contains(*seat) && bot.is_quick() == quick;
            plan.bots.iter().position(wanted)
        };
        let at = due(true).or_else(|| due(false))?;
        let ((seat, bot), dice) = (plan.bots[at], &mut self.dice[at]);
        let legal = self.episode.game().legal(self.episode.state(), seat);
        let blind = bot.choose_blindly(legal, dice);
        Some((seat, blind.unwrap_or_else(|| bot.choose(&self.episode.knowledge(seat), dice))))
    }

    /// The decision that is due, once everything has been played that needs no learner.
    fn due(&self) -> Due {
        let pending = if self.forfeited.is_some() { SeatSet::EMPTY } else { self.episode.pending() };
        pending.lowest().map_or(Due::OVER, |seat| Due {
            seat: Some(seat),
            legal: self.episode.game().legal(self.episode.state(), seat),
        })
    }

    /// How the episode ended, if it has.
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
        self.episode.game().view(self.episode.state(), seat, out);
    }

    pub(super) fn save(&self) -> Saved {
        Saved {
            seed: self.seed,
            number: self.number,
            index: self.index,
            fresh: self.fresh,
            forfeited: self.forfeited.map(Seat::number),
            dice: self.dice.iter().map(Dice::words).collect(),
            substitutes: self.substitutes,
            episode: self.episode.save(),
        }
    }

    /// Goes on from what was saved in a batch of the same plan.
    pub(super) fn restore(game: &Arc<G>, plan: &Plan, saved: &Saved) -> Result<(Self, Due), String> {
        let episode = Episode::restore(Arc::clone(game), &saved.episode)?;
        let own = episode.chance().seed().ok_or("an episode without a seed")?;
        if saved.dice.len() != plan.bots.len() {
            return Err(format!("the dice of {} bots, not {}", saved.dice.len(), plan.bots.len()));
        }
        let forfeited = match saved.forfeited {
            Some(seat) if seat >= game.info().seats => return Err(format!("forfeited by seat {seat}")),
            seat => seat.map(Seat::new),
        };
        let dice = plan.bots.iter().zip(&saved.dice);
        let environment = Self {
            episode,
            seed: saved.seed,
            number: saved.number,
            index: saved.index,
            fresh: saved.fresh,
            forfeited,
            dice: dice.map(|((seat, _), &words)| Dice::resume(own, bot_stream(*seat), words)).collect(),
            substitutes: saved.substitutes,
        };
        let due = environment.due();
        Ok((environment, due))
    }
}

impl Due {
    /// Nobody decides anything.
    const OVER: Self = Self { seat: None, legal: ActionSet::EMPTY };
}

fn bot_stream(seat: Seat) -> u64 {
    BOT_STREAM + u64::from(seat.number())
}

fn bot_dice(seed: u64, seat: Seat) -> Dice {
    Dice::new(seed, bot_stream(seat))
}
