//! Ally powers as a flat program: lists of effects, and lists of options within them.

use boardwire_kernel::catalogue::{CatalogueResult, check_range, refuse, require};
use borsh::{BorshDeserialize, BorshSerialize};

use super::super::limits::{COMPASS, EFFECTS, FREE_STEPS, GAIN, NESTING, OPTIONS};
use super::rows::Effect;

/// A list of effects: a range of [`super::Catalogue::ops`]. It shrinks from the front as the game carries them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(in crate::golden_compass) struct EffectList {
    pub(in crate::golden_compass) start: u8,
    pub(in crate::golden_compass) end: u8,
}

impl EffectList {
    /// Returns the effects of this list.
    #[inline]
    pub(in crate::golden_compass) fn of<T>(self, ops: &[T]) -> &[T] {
        &ops[usize::from(self.start)..usize::from(self.end)]
    }

    /// Returns the row of its first effect in the table of effects, and the number of its effects.
    pub(super) fn rows(self) -> (u8, u8) {
        (self.start + 1, self.end - self.start)
    }
}

/// One effect.
///
/// An effect with several separate single choices is stored once for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::golden_compass) enum Op {
    Draw(u8),
    DrawKeep {
        draw: u8,
        keep: u8,
    },
    StealCard(u8),
    PlaceCompass(u8),
    RemoveCompass(u8),
    TakeDust,
    MoveAirship,
    TakeExperience,
    PlaceExperience,
    StealExperience,
    Advance(u8),
    Spend(u8),
    WildPair(u8),
    ShortTriplet(u8),
    /// The options are the lists `first..first + count` of [`super::Catalogue::options`].
    ChooseOne {
        first: u8,
        count: u8,
    },
}

/// The kinds of effect, in the order of their numbers in tables.
pub(in crate::golden_compass) const KINDS: [&str; 15] = [
    "draw",
    "draw_keep",
    "steal_card",
    "place_compass",
    "remove_compass",
    "take_dust",
    "move_airship",
    "take_experience",
    "place_experience",
    "steal_experience",
    "advance_lyra",
    "spend_cards",
    "wild_daemon_pair",
    "short_triplet",
    "choose_one",
];

impl Op {
    /// Returns the index of its kind in [`KINDS`], and its count.
    pub(in crate::golden_compass) fn numbers(self) -> (u8, u8) {
        match self {
            Self::Draw(count) => (0, count),
            Self::DrawKeep { draw, .. } => (1, draw),
            Self::StealCard(count) => (2, count),
            Self::PlaceCompass(count) => (3, count),
            Self::RemoveCompass(count) => (4, count),
            Self::TakeDust => (5, 1),
            Self::MoveAirship => (6, 0),
            Self::TakeExperience => (7, 1),
            Self::PlaceExperience => (8, 1),
            Self::StealExperience => (9, 1),
            Self::Advance(steps) => (10, steps),
            Self::Spend(count) => (11, count),
            Self::WildPair(count) => (12, count),
            Self::ShortTriplet(count) => (13, count),
            Self::ChooseOne { count, .. } => (14, count),
        }
    }
}

/// The effect lists of all characters, one after another.
#[derive(Default)]
pub(super) struct EffectLists {
    pub(super) ops: Vec<Op>,
    pub(super) options: Vec<EffectList>,
}

/// The effects on tokens that the period of a card allows.
#[derive(Clone, Copy)]
pub(super) struct Allowed {
    pub(super) collects: bool,
    pub(super) places: bool,
}

impl EffectLists {
    /// Appends a list after the lists of its options. Returns its range.
    pub(super) fn list(
        &mut self,
        effects: &[Effect],
        period: Allowed,
        depth: usize,
        place: &str,
    ) -> CatalogueResult<EffectList> {
        require(depth <= NESTING, place, || format!("lists are nested more than {NESTING} deep"))?;
        require(!effects.is_empty(), place, || "holds no effect".into())?;
        let mut list = Vec::new();
        for (row, effect) in effects.iter().enumerate() {
            let place = format!("{place}[{row}]");
            let (op, times) = match effect {
                Effect::ChooseOne { options } => (self.choice(options, period, depth, &place)?, 1),
                simple => single(simple, period, &place)?,
            };
            list.extend(std::iter::repeat_n(op, times.into()));
        }
        let start = self.ops.len();
        self.ops.append(&mut list);
        require(self.ops.len() <= EFFECTS, place, || format!("more than {EFFECTS} effects in all"))?;
        Ok(EffectList { start: index(start), end: index(self.ops.len()) })
    }

    fn choice(
        &mut self,
        options: &[Vec<Effect>],
        period: Allowed,
        depth: usize,
        place: &str,
    ) -> CatalogueResult<Op> {
        let place = format!("{place}.options");
        check_range(format!("{place} (length)"), options.len(), 2, OPTIONS)?;
        let lists: CatalogueResult<Vec<_>> = options
            .iter()
            .enumerate()
            .map(|(row, option)| self.list(option, period, depth + 1, &format!("{place}[{row}]")))
            .collect();
        let first = index(self.options.len());
        self.options.extend(lists?);
        let count = index(options.len());
        Ok(Op::ChooseOne { first, count })
    }
}

fn index(at: usize) -> u8 {
    u8::try_from(at).expect("lists and options are at most EFFECTS, since every one holds an effect")
}

/// Returns an effect without options, and how often its list contains it.
fn single(effect: &Effect, period: Allowed, place: &str) -> CatalogueResult<(Op, u8)> {
    let number = |field: &str, value: u8, max: u8| check_range(format!("{place}.{field}"), value, 1, max);
    let count = |value: u8, max: u8| number("count", value, max);
    let suits = |kind: &str, suits: bool| {
        require(suits, format!("{place}.kind"), || format!("{kind} does not suit the card's period"))
    };
    Ok(match *effect {
        Effect::Draw { count: n } => (Op::Draw(count(n, GAIN)?), 1),
        Effect::DrawKeep { draw, keep } => {
            let draw = number("draw", draw, GAIN)?;
            let keep = number("keep", keep, draw)?;
            (Op::DrawKeep { draw, keep }, 1)
        }
        Effect::StealCard { count: n } => (Op::StealCard(count(n, GAIN)?), 1),
        Effect::PlaceCompass { count: n } => (Op::PlaceCompass(count(n, COMPASS)?), 1),
        Effect::RemoveCompass { count: n } => (Op::RemoveCompass(count(n, COMPASS)?), 1),
        Effect::TakeDust { count: n } => (Op::TakeDust, count(n, GAIN)?),
        Effect::MoveAirship => (Op::MoveAirship, 1),
        Effect::TakeExperience { count: n } => {
            suits("take_experience", period.collects)?;
            (Op::TakeExperience, count(n, GAIN)?)
        }
        Effect::PlaceExperience { count: n } => {
            suits("place_experience", period.places)?;
            (Op::PlaceExperience, count(n, GAIN)?)
        }
        Effect::StealExperience { count: n } => (Op::StealExperience, count(n, GAIN)?),
        Effect::AdvanceLyra { up_to } => (Op::Advance(number("up_to", up_to, FREE_STEPS)?), 1),
        Effect::SpendCards { count: n } => (Op::Spend(count(n, GAIN)?), 1),
        Effect::WildDaemonPair { count: n } => (Op::WildPair(count(n, GAIN)?), 1),
        Effect::ShortTriplet { count: n } => (Op::ShortTriplet(count(n, GAIN)?), 1),
        Effect::ChooseOne { .. } => {
            return refuse(place, "internal error: choose_one is handled before this function");
        }
    })
}
