//! Checks at every ply of every game that no response to a seat reveals hidden state. `rpc/secrecy.rs` tests the same
//! over gRPC.

use super::*;

impl Arbiter {
    /// Replaces the state by a determinization for `seat`. Returns the true state.
    pub(crate) fn replace_by_determinization(
        &self,
        seat: Seat,
        rng: &mut boardwire_kernel::RngStream,
    ) -> TrueState {
        let mut inner = self.lock();
        let other = inner.state.determinized(seat, rng);
        TrueState(std::mem::replace(&mut inner.state, other))
    }

    /// Restores the true state.
    pub(crate) fn restore_state(&self, TrueState(state): TrueState) {
        self.lock().state = state;
    }
}

/// The true state of a match.
pub(crate) struct TrueState(State);

/// Returns every response that `seat` could get in this position, as bytes.
fn every_response(state: &State, table: &Table, settings: &Settings, seat: Seat) -> Vec<Vec<u8>> {
    use prost::Message as _;
    let extras =
        Extras { text: true, explanation: true, actions: true, head: true, history: true, label_seed: None };
    let observation = state.observe(table, settings, seat, extras);
    let legal = legal(&observation);
    let actions = u32::try_from(table.game.info().actions.count()).expect("the number fits u32");
    let mut tried: Vec<Decision> = (0..=actions)
        .filter(|action| !legal.contains(action))
        .map(|action| decision_of(&observation, action))
        .collect();
    tried.push(Decision { number: observation.decision + 1, ..decision_of(&observation, 0) });
    tried.push(Decision { episode: observation.episode + 1, ..decision_of(&observation, 0) });
    // The server makes the response to a refused request only from the error.
    let refusals = tried.into_iter().map(|decision| {
        let refused = state
            .event_of_decision(table, settings, seat, decision)
            .expect_err("the action is not legal now");
        format!("{refused:?}").into_bytes()
    });
    let refusals: Vec<Vec<u8>> = refusals.collect();
    [vec![observation.encode_to_vec()], refusals].concat()
}

/// Non-interference at every ply of a game. Two positions that differ only in what a seat may not know give it the same
/// bytes for every request.
#[test]
fn no_response_depends_on_hidden_state() {
    for game in boardwire_games::IDS {
        for seats in [2, 3] {
            let table = table(game, seats);
            let settings = settings(&vec![AGENT; seats as usize]);
            let (deals, key, seeds) = Deals::first(&settings);
            let at = SystemTime::UNIX_EPOCH;
            let mut true_state = State::new(&table, &settings, "match", key, seeds, deals, at);
            let mut rng = RngStream::new(u64::from(seats), SUBSTITUTE_STREAM);
            while let Some(next) = true_state.pending().lowest() {
                for seat in settings.seats() {
                    let other = true_state.determinized(seat, &mut rng);
                    assert!(
                        every_response(&true_state, &table, &settings, seat)
                            == every_response(&other, &table, &settings, seat),
                        "{game}: a response to {seat} at ply {} reveals a secret",
                        true_state.play.ply()
                    );
                }
                let observation = true_state.observe(&table, &settings, next, Extras::default());
                let choices = legal(&observation);
                let pick = rng.below(u32::try_from(choices.len()).expect("the number fits u32")) as usize;
                let decided = true_state.event_of_decision(
                    &table,
                    &settings,
                    next,
                    decision_of(&observation, choices[pick]),
                );
                let kind = decided.expect("the action is legal").expect("the decision is due");
                true_state.apply(&table, &Event { at, kind }).expect("the decision is valid");
            }
        }
    }
}

/// Another server may continue the match after a shutdown, so a shutdown must reveal nothing.
#[tokio::test]
async fn a_server_that_stops_reveals_nothing() {
    for seed in [Some(7), None] {
        let arbiter = faraway(Settings { seed, ..settings(&[AGENT, AGENT]) });
        for seat in Seat::all(2) {
            let observation = observe(&arbiter, seat).await;
            arbiter
                .act(seat, decision_of(&observation, legal(&observation)[0]))
                .await
                .expect("the decision is due");
        }
        let shown = || {
            let replay = arbiter.replay(Audience::Seat(Seat::FIRST), None).expect("the episode is kept");
            let openings = [Audience::Host, Audience::Public].map(|to| arbiter.describe(to).seed_opening);
            (replay, arbiter.describe(Audience::Seat(Seat::FIRST)).seed_opening, openings)
        };
        let before = shown();
        arbiter.close(CloseReason::ShuttingDown);
        assert_eq!(shown(), before);
        assert!(before.1.is_none() && !before.0.over);
    }
}
