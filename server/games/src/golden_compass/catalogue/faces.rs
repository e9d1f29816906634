//! From rows to the catalogue: Lyra cards, experience tokens and characters.

use super::super::limits::{
    CARD_TYPES, CHARACTERS, COLLECTING, DAEMONS, MAGISTERIUM, PERIODS, SYMBOLS, TOKENS, VALUE,
};
use super::check::{Check, refuse, require, within};
use super::effects::{Allowed, Program};
use super::raw::{self, Rows};
use super::{CardType, Character, City, Token};

fn ids(place: &str, list: &[raw::Named], max: usize) -> Check<Vec<String>> {
    within(format!("{place} (their number)"), list.len(), 1, max)?;
    for (row, named) in list.iter().enumerate() {
        let twice = list[..row].iter().any(|other| other.id == named.id);
        require(!twice && !named.id.is_empty(), format!("{place}[{row}].id"), || {
            format!("{:?} is empty or stands twice", named.id)
        })?;
    }
    Ok(list.iter().map(|named| named.id.clone()).collect())
}

fn find(known: &[String], id: &str, place: String) -> Check<u8> {
    let found = known.iter().position(|one| one == id);
    match found.and_then(|at| u8::try_from(at).ok()) {
        Some(at) => Ok(at),
        None => refuse(place, format!("{id} is not declared")),
    }
}

/// The types of Lyra card, with the ids of daemons and symbols.
pub(super) fn cards(rows: &Rows) -> Check<(Vec<CardType>, Vec<String>, Vec<String>)> {
    let deck = &rows.lyra_deck;
    let daemons = ids("lyra_deck.daemons", &deck.daemons, DAEMONS)?;
    let symbols = ids("lyra_deck.symbols", &deck.symbols, SYMBOLS)?;
    within("lyra_deck.cards (their number)", deck.cards.len(), 1, CARD_TYPES)?;
    let mut cards: Vec<CardType> = Vec::new();
    for (row, card) in deck.cards.iter().enumerate() {
        let place = format!("lyra_deck.cards[{row}]");
        let card = face(card, &daemons, &symbols, &place)?;
        require(card.count > 0, format!("{place}.count"), || "is 0".into())?;
        let twice = cards.iter().any(|other| other.name == card.name);
        require(!twice, place, || format!("{} stands twice", card.name))?;
        cards.push(card);
    }
    let sum: u32 = cards.iter().map(|card| u32::from(card.count)).sum();
    let expected = rows.components.lyra_cards_per_deck;
    require(sum == expected, "lyra_deck.cards (sum of count)", || {
        format!("is {sum}, but components.lyra_cards_per_deck is {expected}")
    })?;
    Ok((cards, daemons, symbols))
}

fn face(card: &raw::Card, daemons: &[String], symbols: &[String], place: &str) -> Check<CardType> {
    let plain = |name: &str, joker, count| CardType {
        name: name.to_owned(),
        daemon: None,
        symbol: None,
        joker,
        spy: !joker,
        count,
    };
    Ok(match card {
        raw::Card::Joker { count } => plain("joker", true, *count),
        raw::Card::FlyingSpy { count } => plain("spy", false, *count),
        raw::Card::Ordinary { daemon, symbol, also_spy, count } => CardType {
            name: format!("{daemon}.{symbol}{}", if *also_spy { ".spy" } else { "" }),
            daemon: Some(find(daemons, daemon, format!("{place}.daemon"))?),
            symbol: Some(find(symbols, symbol, format!("{place}.symbol"))?),
            joker: false,
            spy: *also_spy,
            count: *count,
        },
    })
}

/// The experience tokens, city by city; tells each city which are its own.
pub(super) fn tokens(rows: &Rows, cities: &mut [City]) -> Check<Vec<Token>> {
    let sets = &rows.experience_tokens.sets;
    within("experience_tokens.sets (their number)", sets.len(), COLLECTING, COLLECTING)?;
    let mut tokens: Vec<Token> = Vec::new();
    for (city, here) in (0u8..).zip(cities[..COLLECTING].iter_mut()) {
        let Some(row) = sets.iter().position(|set| set.city == here.id) else {
            return refuse("experience_tokens.sets", format!("there is none for {}", here.id));
        };
        let place = format!("experience_tokens.sets[{row}].tokens");
        let (set, slots) = (&sets[row].tokens, usize::from(here.slots));
        within(format!("{place} (their number)"), set.len(), slots, slots)?;
        for (at, token) in set.iter().enumerate() {
            let (value, face) = match *token {
                raw::Token::Points { value } => (value, value.to_string()),
                raw::Token::Alethiometer => (0, "alethiometer".into()),
            };
            within(format!("{place}[{at}].value"), value, 0, VALUE)?;
            let (name, id) = (format!("{}.{face}", here.id), tokens.len());
            require(id < TOKENS, place.as_str(), || format!("more than {TOKENS} tokens in all"))?;
            let kind = tokens.iter().position(|other| other.name == name).unwrap_or(id);
            here.tokens |= 1 << id;
            tokens.push(Token {
                name,
                city,
                value,
                alethiometer: matches!(token, raw::Token::Alethiometer),
                kind: u8::try_from(kind).unwrap_or(0),
            });
        }
    }
    let expected = usize::try_from(rows.components.experience_tokens).unwrap_or(0);
    require(tokens.len() == expected, "experience_tokens.sets", || {
        format!("{} tokens, but components.experience_tokens is {expected}", tokens.len())
    })?;
    Ok(tokens)
}

/// The characters, whose powers are appended to `program`.
pub(super) fn characters(rows: &Rows, periods: &[String], program: &mut Program) -> Check<Vec<Character>> {
    let list = &rows.characters.list;
    let expected = usize::try_from(rows.components.characters).unwrap_or(0);
    require(list.len() == expected, "characters.list", || {
        format!("{} characters, but components.characters is {expected}", list.len())
    })?;
    within("characters.list (their number)", list.len(), 1, CHARACTERS)?;
    let mut characters: Vec<Character> = Vec::new();
    for (row, character) in list.iter().enumerate() {
        let place = |field: &str| format!("characters.list[{row}].{field}");
        let twice = characters.iter().any(|other| other.id == character.id);
        require(!twice, place("id"), || format!("{} stands twice", character.id))?;
        let period = find(periods, &character.period, place("period"))?;
        within(place("magisterium"), character.magisterium, 0, MAGISTERIUM)?;
        let places = usize::from(period) + 1 == PERIODS;
        let allowed = Allowed { collects: !places, places };
        characters.push(Character {
            id: character.id.clone(),
            name: character.name.clone(),
            period,
            magisterium: character.magisterium,
            list: program.list(&character.effects, allowed, 1, &place("effects"))?,
            text: character.text.clone(),
        });
    }
    let per_period = rows.characters.per_period;
    within("characters.per_period", per_period, 2 * u32::from(rows.setup.max_players), 64)?;
    for (period, id) in (0u8..).zip(periods) {
        let count = characters.iter().filter(|character| character.period == period).count();
        require(u32::try_from(count) == Ok(per_period), "characters.list", || {
            format!("{count} of period {id}, but characters.per_period is {per_period}")
        })?;
    }
    Ok(characters)
}
