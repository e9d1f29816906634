//! One ply deep: play every legal action in a few worlds and take the one worth most on average.

use boardwire_kernel::{ActionSet, Chance, Estimate, Knowledge, MAX_ACTIONS, RngStream, apply};

/// The legal action with the greatest estimate, summed over some worlds; the lowest index among equals.
///
/// Within one world every action meets the same hidden cards and the same chance, so that actions differ by
/// their own merit. That chance has a seed of its own: the true one stays unknown.
pub(crate) struct Greedy {
    /// Worlds that have not been looked at.
    left: u32,
    /// The estimates of each action, summed.
    worth: Box<[i64; MAX_ACTIONS]>,
    /// What actions meet within one world, in memory that is used again.
    chance: Chance,
}

impl Greedy {
    /// Looks at so many worlds.
    pub(crate) fn new(worlds: u32) -> Self {
        Self { left: worlds, worth: Box::new([0; MAX_ACTIONS]), chance: Chance::seeded(0, 0) }
    }

    /// Looks at one more world; the choice, once all have been looked at.
    pub(crate) fn advance<G: Estimate>(
        &mut self,
        knowledge: &Knowledge<G>,
        rng: &mut RngStream,
    ) -> Option<u8> {
        let legal = knowledge.legal();
        if legal.len() == 1 {
            return legal.lowest();
        }
        self.look(knowledge, legal, rng);
        self.left -= 1;
        if self.left == 0 { self.best(legal) } else { None }
    }

    fn look<G: Estimate>(&mut self, knowledge: &Knowledge<G>, legal: ActionSet, rng: &mut RngStream) {
        let (game, seat) = (knowledge.game(), knowledge.seat());
        let world = knowledge.world(rng);
        let seed = rng.seed();
        for action in legal {
            let mut state = world;
            self.chance.reseed(seed, G::TYPE.streams.len());
            apply(game, &mut state, seat, action.into(), &mut self.chance)
                .expect("a world keeps the legal set");
            self.worth[usize::from(action)] += i64::from(game.estimate(&state, seat));
        }
    }

    fn best(&self, legal: ActionSet) -> Option<u8> {
        // `max_by_key` takes the last of equals, so the indices come from the highest down.
        let mut actions: Vec<u8> = legal.iter().collect();
        actions.reverse();
        actions.into_iter().max_by_key(|&action| self.worth[usize::from(action)])
    }
}
