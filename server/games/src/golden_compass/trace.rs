//! What happened to hidden things since the deal, event by event.
//!
//! What a seat can know of hidden cards and tokens follows from all it has seen of them, and no summary of that is both
//! exact and small. So a position keeps the events themselves: who drew, showed and took what, and which card sets were
//! begun. Most take one byte, and a long game some four hundred. [`super::walk`] reads from them in which other ways the
//! game can have gone, [`super::recall`] what each seat would remember then.
//!
//! The bytes have room for a bounded number of events. When they are full, the oldest are replaced by a shorter history
//! that leads to the same place: see [`super::condense`].

use boardwire_kernel::Seat;
use borsh::{BorshDeserialize, BorshSerialize};

use super::catalogue::limits::SEATS;
use super::catalogue::{CardId, DaemonId, SymbolId, TokenId};
use super::state::SetKind;

/// The bytes there are.
pub(super) const TRACE: usize = 448;
/// The most bytes of one event.
const LONGEST: usize = 4;

/// Something that happened to a card or token, or tells of hands.
///
/// It is the deed of the seat that acts, the *actor*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// It draws a card. Cards drawn at once stand in the order of their types; those after a return, which all had been
    /// shown, after those before it.
    Draw(CardId),
    /// The next cards it draws are not drawn at once with the last ones.
    Apart,
    /// It discards a card: one of so many just drawn, or any of its hand if that is 0.
    Show { card: CardId, among: u8 },
    /// It takes a card from a hand.
    Steal { victim: Seat, card: CardId },
    /// The discard pile comes back.
    Return,
    /// It begins a card set, whose cards are shown next.
    Begin(SetKind),
    /// It is asked which card it puts into the set.
    Asked,
    /// It takes a token from a city.
    Take(TokenId),
    /// It steals a token.
    Rob { victim: Seat, token: TokenId },
    /// It lays a token out.
    Lay(TokenId),
}

// The upper two bits of a byte say what it is, the others a card, a set, or one of the rest.
const KIND: u8 = 0b1100_0000;
const DRAW: u8 = 0;
const SHOW: u8 = 1 << 6;
const BEGIN: u8 = 2 << 6;
const REST: u8 = 3 << 6;
// The rest. A seat is added where there is one; a card or token follows in a byte of its own.
const TURN: u8 = REST;
const STEAL: u8 = REST + 0x04;
const RETURN: u8 = REST + 0x08;
const ASKED: u8 = REST + 0x09;
const TAKE: u8 = REST + 0x0a;
const LAY: u8 = REST + 0x0b;
const ROB: u8 = REST + 0x0c;
/// The next card shown is one of so many just drawn: their number less one is added.
const AMONG: u8 = REST + 0x10;
const APART: u8 = REST + 0x20;
// Card sets: the daemon or symbol, counted from 0, is added.
const PAIR: u8 = BEGIN;
const TRIPLET: u8 = BEGIN + 0x10;
const SHORT: u8 = BEGIN + 0x18;
const SPIES: u8 = BEGIN + 0x20;
const WILD: u8 = BEGIN + 0x21;

/// All events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) struct Trace {
    /// Who acted last; the first seat at the start.
    actor: Seat,
    len: u16,
    /// Whether the oldest events have been replaced by a shorter history.
    pub(super) is_condensed: bool,
    /// Whether no more is written, nor remembered: nobody will ask. Nothing that is shown or saved is so.
    #[borsh(skip)]
    pub(super) is_closed: bool,
    /// Zero beyond `len`.
    bytes: [u8; TRACE],
}

/// An event with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) actor: Seat,
    pub(super) event: Event,
    /// Its last byte: that of the card or token, where there is one.
    pub(super) at: u16,
}

impl Trace {
    /// Nothing has happened yet.
    pub(super) const EMPTY: Self =
        Self { actor: Seat::FIRST, len: 0, is_condensed: false, is_closed: false, bytes: [0; TRACE] };

    /// Nothing has been written yet of a shorter history.
    pub(super) const CONDENSED: Self = Self { is_condensed: true, ..Self::EMPTY };

    /// Whether one more event may not fit.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        usize::from(self.len) > TRACE - LONGEST && !self.is_closed
    }

    /// The bytes in use.
    pub(super) fn len(&self) -> usize {
        self.len.into()
    }

    #[inline]
    fn put(&mut self, byte: u8) {
        self.bytes[usize::from(self.len)] = byte;
        self.len += 1;
    }

    /// Adds what `actor` does.
    #[inline]
    pub(super) fn push(&mut self, actor: Seat, event: Event) {
        if self.is_closed {
            return;
        }
        if actor != self.actor {
            self.actor = actor;
            self.put(TURN + actor.number());
        }
        match event {
            Event::Draw(card) => self.put(DRAW + (card.get() - 1)),
            Event::Show { card, among } => {
                if among > 0 {
                    self.put(AMONG + (among - 1));
                }
                self.put(SHOW + (card.get() - 1));
            }
            Event::Steal { victim, card } => {
                self.put(STEAL + victim.number());
                self.put(card.get());
            }
            Event::Apart => self.put(APART),
            Event::Return => self.put(RETURN),
            Event::Begin(kind) => self.put(match kind {
                SetKind::Pair(daemon) => PAIR + (daemon.get() - 1),
                SetKind::Triplet(symbol) => TRIPLET + (symbol.get() - 1),
                SetKind::Short(symbol) => SHORT + (symbol.get() - 1),
                SetKind::Spies => SPIES,
                SetKind::Wild => WILD,
            }),
            Event::Asked => self.put(ASKED),
            Event::Take(token) => {
                self.put(TAKE);
                self.put(token.get());
            }
            Event::Rob { victim, token } => {
                self.put(ROB + victim.number());
                self.put(token.get());
            }
            Event::Lay(token) => {
                self.put(LAY);
                self.put(token.get());
            }
        }
    }

    /// Adds what `actor` does, if there is room for any event.
    #[inline]
    pub(super) fn try_push(&mut self, actor: Seat, event: Event) -> Option<()> {
        if self.is_full() {
            return None;
        }
        self.push(actor, event);
        Some(())
    }

    /// Whether the last byte may be a card drawn, or a return between two of them.
    pub(super) fn may_end_with_draw(&self) -> bool {
        let last = self.len().checked_sub(1).map(|last| self.bytes[last]);
        last.is_some_and(|last| last < SHOW || last == RETURN)
    }

    /// Puts the cards drawn last, so many, in order.
    pub(super) fn sort_last(&mut self, draws: usize) {
        if self.is_closed {
            return;
        }
        let len = self.len();
        self.bytes[len - draws..len].sort_unstable();
    }

    /// Puts all cards that were drawn at once in order.
    pub(super) fn sort(&mut self) {
        let mut sorted = self.bytes;
        let mut start = 0;
        let mut end = 0;
        for entry in self.events().filter(|entry| matches!(entry.event, Event::Draw(_))) {
            let at = usize::from(entry.at);
            if at != end {
                sorted[start..end].sort_unstable();
                start = at;
            }
            end = at + 1;
        }
        sorted[start..end].sort_unstable();
        self.bytes = sorted;
    }

    /// All events, the oldest first.
    ///
    /// Bytes that mean nothing are left out: no game leads to them, and the audit finds them, since it writes all
    /// events again.
    pub(super) fn events(&self) -> Events<'_> {
        let len = self.len().min(TRACE);
        Events { bytes: &self.bytes[..len], at: 0, actor: Seat::FIRST }
    }

    /// Replaces the card or token of an event that ends at `at`.
    pub(super) fn rename(&mut self, at: u16, event: Event) {
        let byte = &mut self.bytes[usize::from(at)];
        *byte = match event {
            Event::Draw(card) => DRAW + (card.get() - 1),
            Event::Steal { card, .. } => card.get(),
            Event::Take(token) | Event::Rob { token, .. } | Event::Lay(token) => token.get(),
            // What all saw has no other name.
            Event::Show { .. } | Event::Apart | Event::Return | Event::Begin(_) | Event::Asked => *byte,
        };
    }

    /// The number of the card or token that stands in a byte of its own.
    pub(super) fn number(&self, at: u16) -> u8 {
        self.bytes[usize::from(at)]
    }

    /// Whether these are the bytes that its events have.
    pub(super) fn is_sound(&self) -> bool {
        let mut again = Self { is_condensed: self.is_condensed, ..Self::EMPTY };
        // No event is written with more bytes than it was read from, so there is room for all.
        self.events().for_each(|entry| again.push(entry.actor, entry.event));
        again == *self
    }
}

/// The events of a [`Trace`].
#[derive(Debug, Clone)]
pub(super) struct Events<'a> {
    bytes: &'a [u8],
    at: usize,
    actor: Seat,
}

impl Events<'_> {
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }
}

impl Iterator for Events<'_> {
    type Item = Entry;

    #[inline]
    fn next(&mut self) -> Option<Entry> {
        let mut among = 0;
        loop {
            let byte = self.byte()?;
            let (number, seat) = (byte & !KIND, Seat::new(byte & 3));
            let event = match byte {
                ..SHOW => Event::Draw(CardId::new(number + 1)),
                SHOW..BEGIN => Event::Show { card: CardId::new(number + 1), among },
                PAIR..TRIPLET => Event::Begin(SetKind::Pair(DaemonId::new(number + 1))),
                TRIPLET..SHORT => Event::Begin(SetKind::Triplet(SymbolId::new(byte - TRIPLET + 1))),
                SHORT..SPIES => Event::Begin(SetKind::Short(SymbolId::new(byte - SHORT + 1))),
                SPIES => Event::Begin(SetKind::Spies),
                WILD => Event::Begin(SetKind::Wild),
                TURN..STEAL => {
                    self.actor = seat;
                    continue;
                }
                STEAL..RETURN => Event::Steal { victim: seat, card: CardId::of_row(self.byte()?)? },
                RETURN => Event::Return,
                ASKED => Event::Asked,
                TAKE => Event::Take(TokenId::of_row(self.byte()?)?),
                LAY => Event::Lay(TokenId::of_row(self.byte()?)?),
                ROB..AMONG => Event::Rob { victim: seat, token: TokenId::of_row(self.byte()?)? },
                AMONG..APART => {
                    among = byte - AMONG + 1;
                    continue;
                }
                APART => Event::Apart,
                _ => return None,
            };
            return Some(Entry { actor: self.actor, event, at: few_more(self.at - 1) });
        }
    }
}

/// A place among the bytes.
fn few_more(at: usize) -> u16 {
    u16::try_from(at).expect("a trace is short")
}

// A seat takes two bits.
const _: () = assert!(SEATS <= 4);
