//! What an arbiter tells a seat, at every ply of every game; `rpc/secrecy.rs` asks the same over the wire.

use super::*;

impl Arbiter {
    /// Draws everything anew that `seat` cannot know; gives what was true.
    pub(crate) fn determinize(&self, seat: Seat, rng: &mut boardwire_kernel::RngStream) -> Truth {
        let mut inner = self.lock();
        let other = inner.state.determinized(seat, rng);
        Truth(std::mem::replace(&mut inner.state, other))
    }

    /// Puts back what was true.
    pub(crate) fn put_back(&self, Truth(state): Truth) {
        self.lock().state = state;
    }
}

/// How a match truly stands.
pub(crate) struct Truth(State);

/// Every answer the wire could give `seat` in this position, as bytes.
fn every_answer(state: &State, table: &Table, settings: &Settings, seat: Seat) -> Vec<Vec<u8>> {
    use prost::Message as _;
    let extras = Extras { text: true, explanation: true, actions: true, head: true };
    let seen = state.observe(table, settings, seat, extras);
    let legal = legal(&seen);
    let actions = u32::try_from(table.rules.info().actions.count()).expect("few");
    let mut tried: Vec<Decision> =
        (0..=actions).filter(|action| !legal.contains(action)).map(|action| answer(&seen, action)).collect();
    tried.push(Decision { number: seen.decision + 1, ..answer(&seen, 0) });
    tried.push(Decision { episode: seen.episode + 1, ..answer(&seen, 0) });
    // All that is sent of a refusal is made from the error and nothing else.
    let refusals = tried.into_iter().map(|decision| {
        let refused = state.act(table, settings, seat, decision).expect_err("it is not legal now");
        format!("{refused:?}").into_bytes()
    });
    let refusals: Vec<Vec<u8>> = refusals.collect();
    [vec![seen.encode_to_vec()], refusals].concat()
}

/// Non-interference: at every ply of a game, two positions that differ only in what a seat may not know
/// give it the same bytes, whatever it asks.
#[test]
fn no_answer_depends_on_what_its_seat_may_not_know() {
    for game in boardwire_games::IDS {
        for seats in [2, 3] {
            let table = table(game, seats);
            let settings = settings(&vec![AGENT; seats as usize]);
            let (deals, opened, seeds) = Deals::first(&settings);
            let at = SystemTime::UNIX_EPOCH;
            let mut truth = State::new(&table, &settings, "match", opened, seeds, deals, at);
            let mut rng = RngStream::new(u64::from(seats), SUBSTITUTE_STREAM);
            while let Some(next) = truth.pending().lowest() {
                for seat in settings.seats() {
                    let other = truth.determinized(seat, &mut rng);
                    assert!(
                        every_answer(&truth, &table, &settings, seat)
                            == every_answer(&other, &table, &settings, seat),
                        "{game}: an answer to {seat} at ply {} tells a secret",
                        truth.play.ply()
                    );
                }
                let seen = truth.observe(&table, &settings, next, Extras::default());
                let choices = legal(&seen);
                let pick = rng.below(u32::try_from(choices.len()).expect("few")) as usize;
                let decided = truth.act(&table, &settings, next, answer(&seen, choices[pick]));
                let what = decided.expect("it is legal").expect("it is due");
                truth.apply(&table, &Event { at, what }).expect("it was decided");
            }
        }
    }
}

/// A server that stops may be followed by one that goes on with the match: nothing of it is shown meanwhile.
#[tokio::test]
async fn a_server_that_stops_shows_no_more_than_before() {
    for seed in [Some(7), None] {
        let arbiter = faraway(Settings { seed, ..settings(&[AGENT, AGENT]) });
        for seat in Seat::all(2) {
            let seen = look(&arbiter, seat).await;
            arbiter.act(seat, answer(&seen, legal(&seen)[0])).await.expect("it is due");
        }
        let told = || {
            let replay = arbiter.replay(Audience::Seat(Seat::FIRST), None).expect("it is kept");
            let shown = [Audience::Host, Audience::Public].map(|to| arbiter.describe(to).seed_opening);
            (replay, arbiter.describe(Audience::Seat(Seat::FIRST)).seed_opening, shown)
        };
        let before = told();
        arbiter.close(CloseReason::ShuttingDown);
        assert_eq!(told(), before);
        assert!(before.1.is_none() && !before.0.over);
    }
}
