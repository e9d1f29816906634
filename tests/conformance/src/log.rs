//! The events of a recorded game, one after another.

use crate::play::{Compared, differs};

/// An event of any kind of a format.
pub(crate) trait Event {
    /// Its word in the record.
    fn kind(&self) -> &'static str;
}

/// One kind of event of a format.
pub(crate) trait Recorded {
    /// An event of any kind.
    type Event: Event;
    /// Its word in the record.
    const KIND: &'static str;

    /// The event, if it is of this kind.
    fn of(event: &Self::Event) -> Option<&Self>;
}

/// Makes the enum of all kinds of event, which `ev` tells apart, from their words and types.
macro_rules! events {
    ($($kind:literal $name:ident),* $(,)?) => {
        #[derive(serde::Deserialize)]
        #[serde(tag = "ev", rename_all = "snake_case")]
        pub(super) enum Event {
            $($name($name)),*
        }

        impl crate::log::Event for Event {
            fn kind(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $kind),*
                }
            }
        }

        $(impl crate::log::Recorded for $name {
            type Event = Event;
            const KIND: &'static str = $kind;

            fn of(event: &Event) -> Option<&Self> {
                if let Event::$name(event) = event { Some(event) } else { None }
            }
        })*
    };
}

/// Makes structs whose fields are those of a format: none may be unknown, optional ones may be missing.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $($(#[$attribute])* pub(super) $field: $type),*
        }
    )*};
}

pub(crate) use {events, fields};

/// The events of a record, and how many have been compared.
pub(crate) struct Log<'a, E> {
    events: &'a [E],
    next: usize,
    /// What a record calls its event of a number.
    place: fn(usize) -> String,
}

impl<'a, E: Event> Log<'a, E> {
    pub(crate) fn new(events: &'a [E], place: fn(usize) -> String) -> Self {
        Self { events, next: 0, place }
    }

    /// The event that is due.
    pub(crate) fn peek(&self) -> Option<&'a E> {
        self.events.get(self.next)
    }

    /// The place of the event taken last, and its word.
    pub(crate) fn at(&self) -> String {
        let last = self.next.saturating_sub(1);
        format!("{} {}", (self.place)(last), self.events.get(last).map_or("missing", E::kind))
    }

    /// Takes the next event, which must be of this kind.
    pub(crate) fn take<T: Recorded<Event = E> + 'a>(&mut self) -> Compared<&'a T> {
        let Some(found) = self.peek().and_then(T::of) else { return self.due(T::KIND) };
        self.next += 1;
        Ok(found)
    }

    /// Says that something else is due than what comes next.
    fn due<T>(&self, due: &str) -> Compared<T> {
        let next = self.peek().map_or("the end of the record", E::kind);
        differs((self.place)(self.next), next, due)
    }

    /// Says that there are more events than the game has.
    pub(crate) fn end(&self) -> Compared {
        if self.peek().is_none() { Ok(()) } else { self.due("the end of the record") }
    }
}
