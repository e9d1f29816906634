//! The events of a recorded game, in order.

use crate::play::{CompareResult, mismatch};

/// Any event of a record format.
pub(crate) trait Event {
    /// Returns the name of its kind in a record.
    fn kind(&self) -> &'static str;
}

/// One kind of event of a record format.
pub(crate) trait EventKind {
    /// The enum of all events of the format.
    type Event: Event;
    /// The name of this kind in a record.
    const KIND: &'static str;

    /// Returns the event if it is of this kind.
    fn from_event(event: &Self::Event) -> Option<&Self>;
}

/// Defines the enum of all kinds of events, tagged by `ev`, from their names and types.
macro_rules! events {
    ($($kind:literal $name:ident),* $(,)?) => {
        #[derive(serde::Deserialize)]
        #[serde(tag = "ev", rename_all = "snake_case")]
        pub(super) enum Event {
            $($name($name)),*
        }

        impl crate::record::Event for Event {
            fn kind(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $kind),*
                }
            }
        }

        $(impl crate::record::EventKind for $name {
            type Event = Event;
            const KIND: &'static str = $kind;

            fn from_event(event: &Event) -> Option<&Self> {
                if let Event::$name(event) = event { Some(event) } else { None }
            }
        })*
    };
}

/// Defines the structs of a record format. Unknown fields are errors; optional fields may be missing.
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

/// The events of a record, and the number of events compared so far.
pub(crate) struct RecordCursor<'a, E> {
    events: &'a [E],
    next: usize,
    /// Formats the location of the event with this index.
    format_location: fn(usize) -> String,
}

impl<'a, E: Event> RecordCursor<'a, E> {
    pub(crate) fn new(events: &'a [E], format_location: fn(usize) -> String) -> Self {
        Self { events, next: 0, format_location }
    }

    /// Returns the next event.
    pub(crate) fn peek(&self) -> Option<&'a E> {
        self.events.get(self.next)
    }

    /// Returns the location and the kind of the event taken last.
    pub(crate) fn location(&self) -> String {
        let last = self.next.saturating_sub(1);
        format!("{} {}", (self.format_location)(last), self.events.get(last).map_or("missing", E::kind))
    }

    /// Takes the next event, which must be a `T`.
    pub(crate) fn next_event<T: EventKind<Event = E> + 'a>(&mut self) -> CompareResult<&'a T> {
        let Some(event) = self.peek().and_then(T::from_event) else { return self.unexpected_event(T::KIND) };
        self.next += 1;
        Ok(event)
    }

    /// Reports that the next event is not of the kind that the game requires.
    fn unexpected_event<T>(&self, required: &str) -> CompareResult<T> {
        let next = self.peek().map_or("the end of the record", E::kind);
        mismatch((self.format_location)(self.next), next, required)
    }

    /// Checks that no event is left.
    pub(crate) fn end(&self) -> CompareResult {
        if self.peek().is_none() { Ok(()) } else { self.unexpected_event("the end of the record") }
    }
}
