//! The events that are kept must lead to the position.

use boardwire_kernel::{Audit, BySeat, Seat, ensure};

use super::super::GoldenCompass;
use super::super::catalogue::limits::{COLLECTING, HAND, SEATS};
use super::super::catalogue::{CardId, TokenId, TokenSet};
use super::super::state::{Hand, Pile, SetKind, State, Step};
use super::super::trace::{Entry, Event};

/// Where everything is after some events.
struct Replayed {
    deck: Pile,
    discard: Pile,
    hands: BySeat<Hand, SEATS>,
    /// What was drawn since a card was shown or stolen; the cards of which one more may be dropped.
    drawn: Vec<(Seat, CardId)>,
    droppable: Vec<CardId>,
    /// Cards still to be put into the set begun, and by whom; whether one was asked for.
    set: Option<(Seat, u8)>,
    is_asked: bool,
    piles: [TokenSet; COLLECTING],
    tokens: BySeat<TokenSet, SEATS>,
    laid: BySeat<TokenSet, SEATS>,
}

impl GoldenCompass {
    pub(super) fn audit_trace(&self, state: &State) -> Audit {
        ensure(state.trace.is_sound(), || "the events are not written as they should be")?;
        let mut piles = [TokenSet::EMPTY; COLLECTING];
        for (pile, city) in piles.iter_mut().zip(self.printed().collecting()) {
            *pile = city.tokens;
        }
        let mut board = Replayed {
            deck: Pile::of(self.blocks.iter().map(|block| block.len)),
            discard: Pile::EMPTY,
            hands: BySeat::default(),
            drawn: vec![],
            droppable: vec![],
            set: None,
            is_asked: false,
            piles,
            tokens: BySeat::default(),
            laid: BySeat::default(),
        };
        for entry in state.trace.events() {
            let is_possible = entry.actor.number() < self.seats && self.replay_event(&mut board, entry);
            ensure(is_possible, || format!("the event {:?} cannot have been", entry.event))?;
        }
        let hands = state.places.all().iter().map(|place| place.hand);
        let tokens = state.places.all().iter().map(|place| (place.tokens, place.laid));
        let replayed = board.tokens.all().iter().copied().zip(board.laid.all().iter().copied());
        let is_filling = matches!(state.step, Step::Fill(_));
        let leads_here = board.deck == state.deck
            && board.discard == state.discard
            && hands.eq(board.hands.all().iter().copied())
            && board.piles == state.piles
            && tokens.eq(replayed)
            && Self::are_droppable(&board, state)
            && is_filling == board.set.is_some()
            && is_filling == board.is_asked;
        ensure(leads_here, || "the events lead to another position")
    }

    /// Whether the cards just drawn are those that were drawn last.
    fn are_droppable(board: &Replayed, state: &State) -> bool {
        let count = usize::from(state.just_drawn.len());
        let newest = board.drawn.len().checked_sub(count).map(|first| &board.drawn[first..]);
        let drawn: Option<Hand> = match newest {
            _ if count == 0 => return true,
            None if board.drawn.is_empty() => Some(board.droppable.iter().copied().collect()),
            None => None,
            Some(newest) => {
                newest.iter().map(|&(seat, card)| (seat == state.active).then_some(card)).collect()
            }
        };
        drawn == Some(state.just_drawn)
    }

    /// Plays an event; says whether it was possible.
    fn replay_event(&self, board: &mut Replayed, entry: Entry) -> bool {
        let Entry { actor, event, .. } = entry;
        let kinds = self.printed().cards.len();
        let is_card = |card: CardId| card.index() <= kinds;
        let is_seat = |seat: Seat| seat.number() < self.seats && seat != actor;
        let in_set = match event {
            Event::Show { .. } | Event::Asked => board.set.is_none_or(|set| set.0 == actor),
            Event::Draw(_)
            | Event::Apart
            | Event::Steal { .. }
            | Event::Return
            | Event::Begin(_)
            | Event::Take(_)
            | Event::Rob { .. }
            | Event::Lay(_) => board.set.is_none(),
        };
        in_set
            && match event {
                Event::Draw(card) => {
                    let has_room = usize::from(board.hands[actor].len()) < HAND;
                    let is_there = is_card(card) && has_room && board.deck.remove(card.get());
                    if is_there {
                        board.hands[actor].insert(card);
                        board.drawn.push((actor, card));
                    }
                    is_there
                }
                Event::Show { card, among } => is_card(card) && Self::replay_show(board, actor, card, among),
                Event::Steal { victim, card } => {
                    let has_room = usize::from(board.hands[actor].len()) < HAND;
                    let is_there = is_seat(victim) && has_room && board.hands[victim].remove(card);
                    if is_there {
                        board.hands[actor].insert(card);
                        board.drawn.clear();
                    }
                    is_there
                }
                Event::Apart => true,
                Event::Return => {
                    board.deck.absorb(&mut board.discard);
                    true
                }
                Event::Begin(kind) => {
                    board.set = Some((actor, if matches!(kind, SetKind::Triplet(_)) { 3 } else { 2 }));
                    match kind {
                        SetKind::Pair(daemon) => daemon.index() <= self.printed().daemons.len(),
                        SetKind::Triplet(symbol) | SetKind::Short(symbol) => {
                            symbol.index() <= self.printed().symbols.len()
                        }
                        SetKind::Spies | SetKind::Wild => true,
                    }
                }
                Event::Asked => board.set.is_some() && !std::mem::replace(&mut board.is_asked, true),
                Event::Take(token) | Event::Rob { token, .. } | Event::Lay(token) => {
                    token.index() <= self.printed().tokens.len()
                        && self.replay_token(board, actor, event, token)
                }
            }
    }

    fn replay_show(board: &mut Replayed, actor: Seat, card: CardId, among: u8) -> bool {
        let among = usize::from(among);
        let mut may_be = true;
        if among > 0 {
            if let Some(first) = board.drawn.len().checked_sub(among) {
                may_be = board.drawn[first..].iter().all(|drawn| drawn.0 == actor);
                board.droppable = board.drawn[first..].iter().map(|drawn| drawn.1).collect();
            } else {
                may_be = board.drawn.is_empty();
            }
            let at = board.droppable.iter().position(|&drawn| drawn == card);
            may_be &= at.is_some() && board.droppable.len() == among;
            if let Some(at) = at {
                board.droppable.remove(at);
            }
        } else {
            board.droppable.clear();
        }
        board.drawn.clear();
        board.is_asked = false;
        board.set = board.set.and_then(|(seat, left)| (left > 1).then_some((seat, left - 1)));
        board.discard.insert(card.get());
        may_be && board.hands[actor].remove(card)
    }

    fn replay_token(&self, board: &mut Replayed, actor: Seat, event: Event, token: TokenId) -> bool {
        let city = self.printed().token(token).city.index() - 1;
        let from = match event {
            Event::Take(_) => &mut board.piles[city],
            Event::Rob { victim, .. } if victim.number() < self.seats && victim != actor => {
                &mut board.tokens[victim]
            }
            Event::Lay(_) => &mut board.tokens[actor],
            Event::Rob { .. }
            | Event::Draw(_)
            | Event::Apart
            | Event::Show { .. }
            | Event::Steal { .. }
            | Event::Return
            | Event::Begin(_)
            | Event::Asked => return false,
        };
        let was_there = from.remove(token);
        let to = if matches!(event, Event::Lay(_)) { &mut board.laid } else { &mut board.tokens };
        to[actor].insert(token);
        was_there
    }
}
