//! Words for components and effects, the same in texts, phrases and reports.

use boardwire_kernel::{Seat, Viewer};

use super::super::GoldenCompass;
use super::super::catalogue::{
    CardId, CharacterId, DaemonId, EffectList, Op, SymbolId, TokenId, TokenSet, with_ids,
};
use super::super::limits::CARD_TYPES;
use super::super::state::{SetKind, State, tokens_of};

/// A number of cards by type. Index 0 is not used.
pub(super) type CardCounts = [u8; CARD_TYPES + 1];

/// Returns a number and a noun: `1 card`, `2 cards`.
pub(in crate::golden_compass) fn counted(count: impl Into<u16>, noun: &str) -> String {
    let count = count.into();
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Joins words with commas. Returns `none` if there are no words.
pub(super) fn joined(words: impl IntoIterator<Item: AsRef<str>>) -> String {
    let mut joined = String::new();
    for word in words {
        joined += if joined.is_empty() { "" } else { ", " };
        joined += word.as_ref();
    }
    if joined.is_empty() { "none".to_owned() } else { joined }
}

/// Returns the name of a seat, which says if it is the reader's.
pub(super) fn seat_name(viewer: impl Into<Viewer>, seat: Seat) -> String {
    if viewer.into().is_seat(seat) { format!("{seat} (you)") } else { seat.to_string() }
}

impl GoldenCompass {
    /// Returns the effects of a list, in order.
    pub(super) fn power_words(&self, list: EffectList) -> String {
        let mut words = String::new();
        for &op in list.of(&self.catalogue().ops) {
            let is_paid = words.ends_with(" to");
            words += if words.is_empty() {
                ""
            } else if is_paid {
                " "
            } else {
                ", then "
            };
            words += &self.effect_words(op);
        }
        words
    }

    pub(super) fn effect_words(&self, op: Op) -> String {
        match op {
            Op::Draw(count) => format!("draw {}", counted(count, "card")),
            Op::DrawKeep { draw, keep } => format!("draw {} and keep {keep} of them", counted(draw, "card")),
            Op::StealCard(count) => format!("take {} from an opponent's hand", counted(count, "random card")),
            Op::PlaceCompass(count) => format!("lay {}", counted(count, "compass tile")),
            Op::RemoveCompass(1) => "send back 1 compass tile of an opponent".to_owned(),
            Op::RemoveCompass(count) => format!("send back up to {count} compass tiles of an opponent"),
            Op::TakeDust => "take 1 dust tile".to_owned(),
            Op::MoveAirship => "give the airship to an opponent".to_owned(),
            Op::TakeExperience => "take 1 token of the current city".to_owned(),
            Op::PlaceExperience => "lay out 1 token".to_owned(),
            Op::StealExperience => "steal 1 token".to_owned(),
            Op::Advance(steps) => format!("advance Lyra by up to {}", counted(steps, "space")),
            Op::Spend(count) => format!("may discard {} to", counted(count, "card")),
            Op::WildPair(count) => {
                format!("{} this turn (any 2 cards but flying spies)", counted(count, "wild pair"))
            }
            Op::ShortTriplet(count) => {
                format!("{} this turn (2 cards of one symbol)", counted(count, "short triplet"))
            }
            Op::ChooseOne { first, count } => {
                let lists = &self.catalogue().options[usize::from(first)..usize::from(first + count)];
                let options: Vec<_> = lists.iter().map(|&list| self.power_words(list)).collect();
                format!("either {}", options.join(", or "))
            }
        }
    }

    /// Returns what follows after the current effect in the ally's power; empty if nothing does.
    pub(super) fn remaining_power(&self, state: &State) -> String {
        let stack = &state.effect_stack;
        let lists = stack.lists[..usize::from(stack.depth)].iter().rev();
        let words: Vec<_> =
            lists.map(|&list| self.power_words(list)).filter(|words| !words.is_empty()).collect();
        words.join(", then ")
    }

    fn daemon_name(&self, daemon: DaemonId) -> &str {
        &self.catalogue().daemons[daemon.index() - 1]
    }

    fn symbol_name(&self, symbol: SymbolId) -> &str {
        &self.catalogue().symbols[symbol.index() - 1]
    }

    pub(super) fn set_words(&self, kind: SetKind) -> String {
        match kind {
            SetKind::Pair(daemon) => format!("pair of {}", self.daemon_name(daemon)),
            SetKind::Triplet(symbol) => format!("triplet of {}", self.symbol_name(symbol)),
            SetKind::Spies => "pair of flying spies".to_owned(),
            SetKind::WildPair => "wild pair".to_owned(),
            SetKind::ShortTriplet(symbol) => format!("short triplet of {}", self.symbol_name(symbol)),
        }
    }

    /// Returns the name of a character with its Magisterium symbols.
    pub(super) fn character_words(&self, id: CharacterId) -> String {
        let card = self.catalogue().character(id);
        format!("{} (Magisterium {})", card.name, card.magisterium)
    }

    /// Returns the name of a character with its Magisterium symbols and its power.
    pub(super) fn ally_words(&self, id: CharacterId) -> String {
        let card = self.catalogue().character(id);
        format!("{} (Magisterium {}; power: {})", card.name, card.magisterium, self.power_words(card.power))
    }

    pub(super) fn card_name(&self, card: CardId) -> &str {
        &self.catalogue().card(card).name
    }

    pub(super) fn card_names(&self, cards: impl Iterator<Item = CardId>) -> String {
        joined(cards.map(|card| self.card_name(card)))
    }

    /// Returns cards grouped by daemon, such as `ermine/hawk baby madonna, moth 2x hourglass, 2 jokers`.
    pub(super) fn card_groups(&self, counts: &CardCounts) -> String {
        let mut groups: Vec<(String, String)> = Vec::new();
        for (daemon, name) in with_ids(&self.catalogue().daemons, DaemonId::new) {
            let marks = self.marks_of(daemon, counts);
            match groups.iter_mut().find(|(_, other)| *other == marks) {
                _ if marks.is_empty() => {}
                Some((names, _)) => {
                    *names += "/";
                    *names += name;
                }
                None => groups.push((name.clone(), marks)),
            }
        }
        let others = with_ids(&self.catalogue().cards, CardId::new).filter(|(_, card)| card.daemon.is_none());
        let others = others.filter_map(|(id, card)| match counts[id.index()] {
            0 => None,
            1 => Some(format!("1 {}", card.name)),
            count if card.is_joker => Some(format!("{count} jokers")),
            count => Some(format!("{count} flying spies")),
        });
        joined(groups.iter().map(|(names, marks)| format!("{names} {marks}")).chain(others))
    }

    /// Returns the symbols of the cards of one daemon.
    fn marks_of(&self, daemon: DaemonId, counts: &CardCounts) -> String {
        let types =
            with_ids(&self.catalogue().cards, CardId::new).filter(|(_, card)| card.daemon == Some(daemon));
        let types: Vec<_> = types.map(|(id, card)| (counts[id.index()], card)).collect();
        let first = types.first().map_or(0, |(count, _)| *count);
        let is_even = types.iter().all(|(count, card)| *count == first && !card.is_spy);
        if first > 0 && is_even && types.len() == self.catalogue().symbols.len() {
            return if first == 1 { "all symbols".to_owned() } else { format!("{first}x all symbols") };
        }
        let marks = types.into_iter().filter(|(count, _)| *count > 0).map(|(count, card)| {
            let symbol = self.symbol_name(card.symbol.expect("a card with a daemon has a symbol"));
            let times = if count > 1 { format!("{count}x ") } else { String::new() };
            format!("{times}{symbol}{}", if card.is_spy { " (flying spy)" } else { "" })
        });
        marks.collect::<Vec<_>>().join(" ")
    }

    /// Returns tokens by the city of their back, such as `London 4 5, Bolvangar alethiometer`. Equal tokens look the
    /// same.
    pub(super) fn token_words(&self, tokens: TokenSet) -> String {
        let cities = self.catalogue().collecting().iter();
        let cities =
            cities.map(|city| (city, city.tokens.intersection(tokens))).filter(|(_, own)| !own.is_empty());
        joined(cities.map(|(city, own)| format!("{} {}", city.name, self.token_worths(tokens_of(own)))))
    }

    /// Returns the worths of tokens of one city, ascending; alethiometers last.
    pub(super) fn token_worths(&self, tokens: impl Iterator<Item = TokenId>) -> String {
        let mut worths: Vec<_> = tokens
            .map(|token| self.catalogue().token(token))
            .map(|token| (token.is_alethiometer, token.value))
            .collect();
        worths.sort_unstable();
        let words = worths.into_iter().map(|(is_alethiometer, value)| {
            if is_alethiometer { "alethiometer".to_owned() } else { value.to_string() }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn token_name(&self, token: TokenId) -> &str {
        &self.catalogue().token(token).name
    }

    /// Returns the city, objective or plain space at this position of the current period's path.
    pub(super) fn space_words(&self, state: &State, space: u8) -> String {
        match self.catalogue().current_city(state.period, space) {
            Some(_) if space == 0 => "the start".to_owned(),
            Some(city) if space >= self.catalogue().city(city).spaces.0 => {
                format!("space {space} ({})", self.catalogue().city(city).name)
            }
            Some(_) => format!("space {space}"),
            None => format!("space {space} (the objective)"),
        }
    }
}
