//! Prints what a language model would read: `texts GAME SEATS EPISODES`.
//!
//! Greedy bots play the episodes. Each line is a JSON object for one decision: the text of the seat (`text`), and the
//! phrases of its legal actions in index order (`phrases`). The last lines of an episode have the final text of each seat.

use std::sync::Arc;

use boardwire_bots::{Bot, BotDecision};
use boardwire_games::{Visitor, visit};
use boardwire_kernel::testkit::table;
use boardwire_kernel::{BOT_STREAM, Episode, Estimate, RngStream, Seat};
use serde_json::json;

struct Texts {
    seats: u8,
    episodes: u64,
}

impl Visitor for Texts {
    type Output = ();

    fn visit<G: Estimate>(self) {
        let game = table::<G>(self.seats, &[]);
        for seed in 0..self.episodes {
            play(&game, seed);
        }
    }
}

fn play<G: Estimate>(game: &Arc<G>, seed: u64) {
    let greedy: Bot = "greedy".parse().expect("greedy is a bot");
    let mut rngs: Vec<_> = (0..8).map(|seat| RngStream::new(seed, BOT_STREAM + seat)).collect();
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    while let Some(seat) = episode.pending().lowest() {
        print(&episode, seat);
        let rng = &mut rngs[seat.index()];
        let decision = BotDecision::new(&greedy, episode.knowledge(seat), rng.clone());
        let choice = decision.run_to_end().expect("greedy decides");
        *rng = choice.rng;
        episode.apply(seat, choice.action.into()).expect("a bot's choice is legal");
    }
    Seat::all(game.info().seats).for_each(|seat| print(&episode, seat));
}

fn print<G: Estimate>(episode: &Episode<G>, seat: Seat) {
    let (game, state) = (episode.game(), episode.state());
    let mut text = String::new();
    game.text(state, seat.into(), &mut text).expect("writing to a string does not fail");
    let phrase = |index| {
        let mut phrase = String::new();
        let action = game.decode(index).expect("a legal action is in the action space");
        game.phrase(state, seat, action, &mut phrase).expect("writing to a string does not fail");
        phrase
    };
    let phrases: Vec<String> = game.legal(state, seat).iter().map(phrase).collect();
    println!("{}", json!({"text": text, "phrases": phrases}));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [game, seats, episodes] = &arguments[..] else { panic!("usage: texts GAME SEATS EPISODES") };
    let number = |given: &String| given.parse().expect("seats and episodes are numbers");
    let texts =
        Texts { seats: u8::try_from(number(seats)).expect("a few seats"), episodes: number(episodes) };
    visit(game, texts).expect("the id of a game: faraway, rauha, golden_compass");
}
