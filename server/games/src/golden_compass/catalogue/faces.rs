//! Converts rows into the catalogue: Lyra cards, experience tokens and characters.

use boardwire_kernel::catalogue::{
    CatalogueResult, check_equals, check_range, parse_word, refuse, require, unique,
};

use super::super::limits::{
    CARD_TYPES, CHARACTERS, COLLECTING, DAEMONS, PERIODS, SYMBOLS, TOKENS, VALUE, to_byte,
};
use super::effects::{Allowed, EffectLists};
use super::rows::{self, Rows};
use super::{CardType, Character, City, CityId, DaemonId, SymbolId, Token, TokenId};

fn ids(place: &str, list: &[rows::Named], max: usize) -> CatalogueResult<Vec<String>> {
    check_range(format!("{place} (length)"), list.len(), 1, max)?;
    for (row, named) in list.iter().enumerate() {
        require(!named.id.is_empty(), format!("{place}[{row}].id"), || "is empty".into())?;
    }
    unique(place, "id", list, |named| named.id.clone())?;
    Ok(list.iter().map(|named| named.id.clone()).collect())
}

/// Returns the number of a declared id, counted from 1.
fn find(known: &[String], id: &str, place: String) -> CatalogueResult<u8> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let at = parse_word(place, id, &known)?;
    Ok(to_byte(at + 1))
}

/// Returns the types of Lyra card, the ids of daemons and the ids of symbols.
pub(super) fn cards(rows: &Rows) -> CatalogueResult<(Vec<CardType>, Vec<String>, Vec<String>)> {
    let deck = &rows.lyra_deck;
    let daemons = ids("lyra_deck.daemons", &deck.daemons, DAEMONS)?;
    let symbols = ids("lyra_deck.symbols", &deck.symbols, SYMBOLS)?;
    check_range("lyra_deck.cards (length)", deck.cards.len(), 1, CARD_TYPES)?;
    let mut cards: Vec<CardType> = Vec::new();
    for (row, card) in deck.cards.iter().enumerate() {
        let place = format!("lyra_deck.cards[{row}]");
        let card = face(card, &daemons, &symbols, &place)?;
        require(card.count > 0, format!("{place}.count"), || "is 0".into())?;
        let twice = cards.iter().any(|other| other.name == card.name);
        require(!twice, place, || format!("{} is listed twice", card.name))?;
        cards.push(card);
    }
    Ok((cards, daemons, symbols))
}

fn face(card: &rows::Card, daemons: &[String], symbols: &[String], place: &str) -> CatalogueResult<CardType> {
    let plain = |name: &str, is_joker, count| CardType {
        name: name.to_owned(),
        daemon: None,
        symbol: None,
        is_joker,
        is_spy: !is_joker,
        count,
    };
    Ok(match card {
        rows::Card::Joker { count } => plain("joker", true, *count),
        rows::Card::FlyingSpy { count } => plain("flying spy", false, *count),
        rows::Card::Ordinary { daemon, symbol, also_spy, count } => CardType {
            name: format!("{daemon} {symbol}{}", if *also_spy { " (flying spy)" } else { "" }),
            daemon: Some(DaemonId::new(find(daemons, daemon, format!("{place}.daemon"))?)),
            symbol: Some(SymbolId::new(find(symbols, symbol, format!("{place}.symbol"))?)),
            is_joker: false,
            is_spy: *also_spy,
            count: *count,
        },
    })
}

/// Returns the experience tokens, city by city. Adds the tokens of each city to `cities`.
pub(super) fn tokens(rows: &Rows, cities: &mut [City]) -> CatalogueResult<Vec<Token>> {
    let sets = &rows.experience_tokens.sets;
    check_equals("experience_tokens.sets (length)", sets.len(), COLLECTING)?;
    let mut tokens: Vec<Token> = Vec::new();
    for (city, here) in (1u8..).zip(cities[..COLLECTING].iter_mut()) {
        let Some(row) = sets.iter().position(|set| set.city == here.id) else {
            return refuse("experience_tokens.sets", format!("there is none for {}", here.id));
        };
        let place = format!("experience_tokens.sets[{row}].tokens");
        let set = &sets[row].tokens;
        check_equals(format!("{place} (length)"), set.len(), usize::from(here.slots))?;
        for (at, token) in set.iter().enumerate() {
            let (value, name) = match *token {
                rows::TokenRow::Points { value } => (value, format!("{} token worth {value}", here.name)),
                rows::TokenRow::Alethiometer => (0, format!("{} alethiometer token", here.name)),
            };
            check_range(format!("{place}[{at}].value"), value, 0, VALUE)?;
            require(tokens.len() < TOKENS, place.as_str(), || format!("more than {TOKENS} tokens in all"))?;
            let id = TokenId::new(super::count_of(&tokens) + 1);
            let kind = tokens.iter().find(|other| other.name == name).map_or(id, |other| other.kind);
            here.tokens.insert(id);
            let is_alethiometer = matches!(token, rows::TokenRow::Alethiometer);
            tokens.push(Token { name, city: CityId::new(city), value, is_alethiometer, kind });
        }
    }
    Ok(tokens)
}

/// Returns the characters. Appends their powers to `lists`.
pub(super) fn characters(
    rows: &Rows,
    periods: &[String],
    lists: &mut EffectLists,
) -> CatalogueResult<Vec<Character>> {
    let list = &rows.characters.list;
    check_range("characters.list (length)", list.len(), 1, CHARACTERS)?;
    unique("characters.list", "id", list, |character| character.id.clone())?;
    let mut characters: Vec<Character> = Vec::new();
    for (row, character) in list.iter().enumerate() {
        let place = |field: &str| format!("characters.list[{row}].{field}");
        let period = find(periods, &character.period, place("period"))? - 1;
        let places = usize::from(period) + 1 == PERIODS;
        let allowed = Allowed { collects: !places, places };
        characters.push(Character {
            name: character.name.clone(),
            period,
            magisterium: character.magisterium.get(),
            power: lists.list(&character.effects, allowed, 1, &place("effects"))?,
        });
    }
    let dealt = 2 * usize::from(rows.setup.max_players.get());
    for (period, id) in (0u8..).zip(periods) {
        let count = characters.iter().filter(|character| character.period == period).count();
        check_range(format!("characters.list (those of period {id})"), count, dealt, CHARACTERS)?;
    }
    Ok(characters)
}
