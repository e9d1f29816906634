use boardwire_games::{IDS, Visitor, faraway::Faraway, visit};
use boardwire_kernel::{ActionSet, Episode, testkit};

use super::*;
use crate::policy::ActionWeights;

/// A policy that prefers one action: all others have this log-ratio. It responds to the second call.
#[derive(Debug)]
struct Prefers(u8, i32);

/// Its response, and whether the first call was made.
struct Response(Option<ActionWeights>, bool);

impl Policy for Prefers {
    fn name(&self) -> &'static str {
        "prefers"
    }

    fn has_values(&self) -> bool {
        false
    }

    fn submit(self: Arc<Self>, _: Vec<u8>, legal: ActionSet) -> Box<dyn PolicyRequest> {
        assert!(legal.len() > 1, "a forced decision needs no policy");
        let Self(best, others) = *self;
        let log_ratios = legal.iter().map(|action| if action == best { 0 } else { others }).collect();
        Box::new(Response(Some(ActionWeights { best, weights: Vec::new(), log_ratios, value: None }), false))
    }
}

impl PolicyRequest for Response {
    fn advance(&mut self) -> Result<Option<ActionWeights>, String> {
        let responds = std::mem::replace(&mut self.1, true);
        Ok(if responds { self.0.take() } else { None })
    }
}

fn prefers(preferred: u8, others: i32) -> Arc<dyn Policy> {
    Arc::new(Prefers(preferred, others))
}

/// Searches until there is a choice. Returns it with the number of steps before it.
fn choose<G: Estimate>(search: &mut Search<G>, knowledge: &Knowledge<G>, rng: &mut RngStream) -> (u8, u32) {
    let mut steps = 0;
    loop {
        if let Some(action) = search.advance(knowledge, rng).expect("the policy responds") {
            return (action, steps);
        }
        steps += 1;
    }
}

/// Counts the playouts for the first decision with several actions, without and with a policy. Also returns whether
/// the choices are legal.
struct CountPlayouts(u32);

impl Visitor for CountPlayouts {
    type Output = ([u32; 2], bool);

    fn visit<G: Estimate>(self) -> ([u32; 2], bool) {
        let episode = Episode::seeded(testkit::table::<G>(2, &[]), 3);
        let seat = episode.pending().lowest().expect("the game has begun");
        let (knowledge, mut rng) = (episode.knowledge(seat), RngStream::new(5, 0));
        let policy = prefers(0, -1);
        let mut searches = [Search::new(self.0), Search::with_policy(&policy, self.0, &knowledge)];
        let chosen = searches.each_mut().map(|search| choose(search, &knowledge, &mut rng));
        for (search, (action, _)) in searches.iter().zip(chosen) {
            let best = search.visits().map(|(_, visits)| visits).max();
            let own = search.visits().find(|&(visited, _)| visited == action).map(|(_, visits)| visits);
            assert_eq!(own, best);
        }
        let playouts = [chosen[0].1 + 1 - DEFAULT_DETERMINIZATIONS, chosen[1].1 + 1 - 2];
        (playouts, chosen.iter().all(|&(action, _)| knowledge.legal().contains(action)))
    }
}

#[test]
fn the_search_makes_the_requested_number_of_playouts() {
    for id in IDS {
        for playouts in [1, 2, 3, 7, 8, 40, 41, 160, 1000] {
            let (made, legal) = visit(id, CountPlayouts(playouts)).expect("a known game");
            assert!(legal, "{id}, {playouts}");
            let expected = playouts.saturating_sub(2)..=playouts.max(2);
            assert!(made.iter().all(|made| expected.contains(made)), "{id}, {playouts}: {made:?}");
        }
    }
}

#[test]
fn one_legal_action_needs_no_playout() {
    let game = testkit::table::<Faraway>(2, &[]);
    let mut episode = Episode::seeded(game, 3);
    let mut forced = 0;
    while let Some(seat) = episode.pending().lowest() {
        let knowledge = episode.knowledge(seat);
        let (legal, mut rng) = (knowledge.legal(), RngStream::new(5, 0));
        if legal.len() == 1 {
            forced += 1;
            let by_policy = Search::with_policy(&prefers(0, 0), 1000, &knowledge);
            for mut search in [Search::new(1000), by_policy] {
                assert!(!search.awaits_policy());
                assert_eq!(search.advance(&knowledge, &mut rng), Ok(legal.lowest()));
                assert_eq!((rng.words(), search.visits().count()), (0, 0));
            }
        }
        episode.apply(seat, legal.lowest().expect("a choice").into()).expect("it is legal");
    }
    assert!(forced > 0, "no decision had one legal action: the test needs another game");
}

/// Returns what the first seat knows at its first decision in Faraway.
fn knowledge() -> Knowledge<Faraway> {
    let episode = Episode::seeded(testkit::table::<Faraway>(2, &[]), 3);
    episode.knowledge(episode.pending().lowest().expect("the game has begun"))
}

#[test]
fn a_strong_preference_outweighs_playouts_and_a_weak_one_does_not() {
    let knowledge = knowledge();
    let chosen = |preferred, others| {
        let mut search = Search::with_policy(&prefers(preferred, others), 160, &knowledge);
        assert!(search.awaits_policy());
        let (choice, _) = choose(&mut search, &knowledge, &mut RngStream::new(5, 0));
        assert!(!search.awaits_policy());
        choice
    };
    assert!(knowledge.legal().len() > 2);
    let by_playouts = chosen(0, 0);
    for preferred in knowledge.legal() {
        assert_eq!((chosen(preferred, -1), chosen(preferred, -1024 * 1000)), (by_playouts, preferred));
    }
}

#[test]
fn an_excluded_action_has_no_playouts() {
    let knowledge = knowledge();
    let only = knowledge.legal().lowest().expect("it must decide");
    let mut search = Search::with_policy(&prefers(only, i32::MIN), 160, &knowledge);
    let mut rng = RngStream::new(5, 0);
    assert_eq!(choose(&mut search, &knowledge, &mut rng), (only, 1));
    assert_eq!((rng.words(), search.visits().count()), (0, 0));
}
