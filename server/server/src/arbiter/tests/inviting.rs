//! The host gives a seat to another agent.

use super::*;
use crate::matches::{MatchLimits, Matches};

fn matches() -> Matches {
    Matches::new(tables(), MatchLimits::default(), Arc::new(Pool::new(1).expect("a thread starts")))
}

#[tokio::test]
async fn an_invitation_ends_the_former_agents_token() {
    let matches = matches();
    let table = matches.tables().table("faraway", 2, []).expect("the table can be set up");
    let arbiter =
        matches.create(None, crate::origin::Origin::Unknown, table, settings(&[AGENT, AGENT])).await;
    let arbiter = arbiter.expect("there is room");
    let (id, host) = (arbiter.id(), Some(arbiter.host_token()));
    let (seat, first) = arbiter.invitations().swap_remove(1);
    let (_, _, former) = matches.join(&first, None, None).await.expect("the seat has no agent");
    arbiter
        .act(
            Seat::FIRST,
            decision_of(
                &observe(&arbiter, Seat::FIRST).await,
                legal(&observe(&arbiter, Seat::FIRST).await)[0],
            ),
        )
        .await
        .expect("the decision is due");
    let before = observe(&arbiter, seat).await;

    let (given, code) = matches.invite(id, host, 1).await.expect("the host may invite");
    assert_eq!(given, seat);
    assert!(matches!(arbiter.role(Some(&former)), Err(Error::TokenWrong { .. })));
    assert!(matches!(matches.join(&first, None, None).await, Err(Error::InvitationUnknown)));
    let (_, _, token) = matches.join(&code, None, None).await.expect("the seat has no agent");
    assert_eq!(arbiter.role(Some(&token)), Ok(Role::Seat(seat)));
    assert_eq!(observe(&arbiter, seat).await, before, "the episode continues");

    for (token, number) in [(Some(token.as_str()), 1), (None, 1), (host, 2)] {
        assert!(matches.invite(id, token, number).await.is_err());
    }
}

/// With fair deals, the new agent of a seat gives a new commitment. The host cannot replace an agent while secrets are
/// opened: the new agent could choose its secret after it sees another.
#[tokio::test]
async fn no_agent_is_replaced_while_secrets_are_opened() {
    let arbiter = faraway(Settings { seed: None, fair_deals: true, ..settings(&[AGENT, AGENT]) });
    let [one, two] = [[1; 32], [2; 32]];
    let (first, second) = (Seat::new(0), Seat::new(1));
    arbiter.join(first, None, Some(commitment_to(&one))).expect("the seat has no agent");
    arbiter.invite(0).expect("no agent can have opened its secret");
    assert_eq!(fair_deal(&arbiter).seat_commitments, to_message_bytes(&[None, None]));
    arbiter.join(first, None, Some(commitment_to(&two))).expect("the seat has no agent");
    arbiter.join(second, None, Some(commitment_to(&one))).expect("the seat has no agent");
    arbiter.open_deal(first, two).await.expect("all have joined");
    assert!(matches!(arbiter.invite(1), Err(Error::NotDealt { .. })));
    arbiter.open_deal(second, one).await.expect("all have joined");
    arbiter.invite(1).expect("the episode is dealt");
    let request = Some(Uuid::from_u128(7));
    let token = arbiter.join(second, request, Some(commitment_to(&[3; 32]))).expect("the seat has no agent");
    assert_eq!(arbiter.join(second, request, Some(commitment_to(&[3; 32]))), Ok(token));
    let commitments = to_message_bytes(&[Some(commitment_to(&two)), Some(commitment_to(&one))]);
    assert_eq!(fair_deal(&arbiter).seat_commitments, commitments, "after the deal the commitments stay");
}

/// The server checks the token whenever it reads the match, so a call never gets a response meant for another agent.
#[tokio::test]
async fn a_waiting_call_ends_when_its_seat_is_given_to_another_agent() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    let seats = [0, 1].map(Seat::new);
    let tokens = seats.map(|seat| arbiter.join(seat, None, None).expect("the seat has no agent"));
    let observation = observe(&arbiter, seats[0]).await;
    arbiter
        .act(seats[0], decision_of(&observation, legal(&observation)[0]))
        .await
        .expect("the decision is due");
    let waiting = arbiter.observe(Some(&*tokens[0]), true, Extras::default());
    let exchanged = async {
        tokio::task::yield_now().await;
        arbiter.invite(0).expect("the host may invite");
        arbiter.join(seats[0], None, None).expect("the seat has no agent");
        let observation = observe(&arbiter, seats[1]).await;
        arbiter
            .act(seats[1], decision_of(&observation, legal(&observation)[0]))
            .await
            .expect("the decision is due");
    };
    let (ended, ()) = tokio::join!(waiting, exchanged);
    assert!(matches!(ended, Err(Error::TokenWrong { .. })), "{ended:?}");
    let again = arbiter.observe(Some(&*tokens[0]), false, Extras::default()).await;
    assert!(matches!(again, Err(Error::TokenWrong { .. })), "{again:?}");
}

#[tokio::test]
async fn a_match_that_has_ended_by_itself_is_removed() {
    let matches = matches();
    let table = matches.tables().table("faraway", 2, []).expect("the table can be set up");
    let made = matches.create(None, crate::origin::Origin::Unknown, table, settings(&[AGENT, AGENT])).await;
    let arbiter = made.expect("there is room");
    arbiter.close(CloseReason::Withheld { seats: SeatSet::EMPTY });
    matches.expire(std::time::Instant::now());
    assert!(matches.is_empty());
    assert!(matches.find(arbiter.id()).is_ok(), "a caller can still ask how it ended");
}
