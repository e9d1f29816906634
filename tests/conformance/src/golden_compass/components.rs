//! The components, with their names in records: from the tables that clients get, and otherwise from the catalogue.

use boardwire_kernel::catalogue::{CatalogueResult, read, refuse};
use boardwire_kernel::{ColumnKind, GameInfo, Table};
use serde::Deserialize;

use super::events::Words;

/// A type of Lyra card. The daemon and the symbol are numbered from 1; 0 means none.
pub(super) struct Card {
    pub(super) name: String,
    pub(super) daemon: u8,
    pub(super) symbol: u8,
    pub(super) is_joker: bool,
    pub(super) is_spy: bool,
    pub(super) copies: u8,
}

/// A token and the city on its back.
pub(super) struct Token {
    pub(super) name: String,
    pub(super) city: u8,
}

/// A character and the rows of its effects.
pub(super) struct Character {
    pub(super) id: String,
    pub(super) period: u8,
    pub(super) effects: EffectRange,
}

/// A range of rows in the table `effects`: its first row and its length.
#[derive(Debug, Clone, Copy)]
pub(super) struct EffectRange(u8, u8);

pub(super) struct Effect {
    pub(super) kind: String,
    pub(super) number: u8,
    pub(super) keep: u8,
    /// The row of its first option.
    pub(super) first_option: u8,
}

/// An axis of the wheel: a resting position of the needle.
pub(super) struct Axis {
    pub(super) red: [u8; 2],
    pub(super) blue: &'static str,
    pub(super) weight: u8,
}

/// The components. The first element of each list is row 1.
pub(super) struct Components {
    pub(super) seats: u8,
    pub(super) hand_limit: u8,
    pub(super) passages: u8,
    pub(super) periods: Words,
    pub(super) cities: Words,
    pub(super) daemons: Words,
    pub(super) symbols: Words,
    pub(super) cards: Vec<Card>,
    pub(super) tokens: Vec<Token>,
    pub(super) characters: Vec<Character>,
    pub(super) effects: Vec<Effect>,
    pub(super) options: Vec<EffectRange>,
    pub(super) axes: Vec<Axis>,
    /// Truth tiles: value and count.
    pub(super) tiles: Vec<(u8, u8)>,
}

/// The parts of the catalogue that the tables do not have.
#[derive(Deserialize)]
struct CatalogueExtras {
    rules_values: RulesValues,
    passage_tiles: Count,
    periods: Periods,
    characters: Characters,
}

#[derive(Deserialize)]
struct RulesValues {
    hand_limit: u8,
}

#[derive(Deserialize)]
struct Count {
    count: u8,
}

#[derive(Deserialize)]
struct Periods {
    list: Vec<Period>,
}

#[derive(Deserialize)]
struct Period {
    id: String,
    cities: Words,
}

#[derive(Deserialize)]
struct Characters {
    list: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

/// Gives access to the rows of a table by column name.
struct Rows<'a>(&'a Table);

impl Rows<'_> {
    fn of_table<'a>(info: &'a GameInfo, table: &str) -> Rows<'a> {
        Rows(info.tables.iter().find(|known| known.name == table).expect("the game has this table"))
    }

    fn column(&self, name: &str) -> usize {
        self.0.column_names().position(|known| known == name).expect("the table has this column")
    }

    /// Returns the names of a category column, without the name for 0.
    fn words(&self, column: &str) -> Words {
        match &self.0.columns[self.column(column)].kind {
            ColumnKind::Category { names } => names[1..].to_vec(),
            other => panic!("{column} is {other:?}"),
        }
    }

    /// Maps each row with `make`, which gets the index of the row and a function from column names to values.
    fn map_rows<T>(&self, make: impl Fn(usize, &dyn Fn(&str) -> u8) -> T) -> Vec<T> {
        let value = |row: &Vec<i16>, column: &str| row[self.column(column)];
        // A smaller catalogue leaves rows at the end that are all zero. They are skipped.
        let rows = self.0.rows[1..].iter().take_while(|row| row.iter().any(|&value| value != 0)).enumerate();
        // Only the weight of a single axis may exceed a byte, and that weight has no effect.
        let small = |row, column: &str| u8::try_from(value(row, column)).unwrap_or(u8::MAX);
        rows.map(|(index, row)| make(index, &|column| small(row, column))).collect()
    }
}

impl Components {
    pub(super) fn read(info: &GameInfo, catalogue: &str) -> CatalogueResult<Self> {
        let extras: CatalogueExtras = read(catalogue)?;
        let cities: Words = extras.periods.list.iter().flat_map(|period| period.cities.clone()).collect();
        let cards = Rows::of_table(info, "cards");
        let (daemons, symbols) = (cards.words("daemon"), cards.words("symbol"));
        let name = |words: &Words, row: u8| words[usize::from(row) - 1].clone();
        Ok(Self {
            seats: info.seats,
            hand_limit: extras.rules_values.hand_limit,
            passages: extras.passage_tiles.count,
            periods: extras.periods.list.into_iter().map(|period| period.id).collect(),
            cards: cards.map_rows(|_, column| Card {
                name: match (column("daemon"), column("joker")) {
                    (0, 0) => "spy".into(),
                    (0, _) => "joker".into(),
                    (daemon, _) => {
                        let spy = if column("spy") == 1 { ".spy" } else { "" };
                        format!("{}.{}{spy}", name(&daemons, daemon), name(&symbols, column("symbol")))
                    }
                },
                daemon: column("daemon"),
                symbol: column("symbol"),
                is_joker: column("joker") == 1,
                is_spy: column("spy") == 1,
                copies: column("copies"),
            }),
            tokens: Rows::of_table(info, "tokens").map_rows(|_, column| Token {
                name: match column("alethiometer") {
                    1 => format!("{}.alethiometer", name(&cities, column("city"))),
                    _ => format!("{}.{}", name(&cities, column("city")), column("value")),
                },
                city: column("city"),
            }),
            characters: Rows::of_table(info, "characters").map_rows(|index, column| Character {
                id: extras.characters.list[index].id.clone(),
                period: column("period"),
                effects: EffectRange(column("first_effect"), column("effects")),
            }),
            effects: {
                let effects = Rows::of_table(info, "effects");
                let kinds = effects.words("kind");
                effects.map_rows(|_, column| Effect {
                    kind: name(&kinds, column("kind")),
                    number: column("number"),
                    keep: column("keep"),
                    first_option: column("first_option"),
                })
            },
            options: Rows::of_table(info, "options")
                .map_rows(|_, column| EffectRange(column("first_effect"), column("effects"))),
            axes: Rows::of_table(info, "axes").map_rows(|_, column| {
                let symbols = ["alethiometer", "magisterium", "ally", "dust"];
                let mut shown = symbols.into_iter().filter(|symbol| column(symbol) == 1);
                let first = shown.next().expect("every axis has a symbol");
                let blue = if shown.next().is_some() { "free_choice" } else { first };
                Axis { red: [column("draw"), column("advance")], blue, weight: column("weight") }
            }),
            tiles: Rows::of_table(info, "tiles").map_rows(|_, column| (column("value"), column("count"))),
            cities,
            daemons,
            symbols,
        })
    }

    /// Returns the effects of a range.
    pub(super) fn effects_in(&self, EffectRange(first, count): EffectRange) -> &[Effect] {
        &self.effects[usize::from(first) - 1..][..usize::from(count)]
    }

    pub(super) fn card(&self, name: &str) -> CatalogueResult<u8> {
        row(&self.cards, "Lyra card", name, |card| card.name == name)
    }

    /// Returns the row of the first token with this name.
    pub(super) fn token(&self, name: &str) -> CatalogueResult<u8> {
        row(&self.tokens, "experience token", name, |token| token.name == name)
    }

    pub(super) fn character(&self, id: &str) -> CatalogueResult<u8> {
        row(&self.characters, "character", id, |card| card.id == id)
    }

    /// Returns the row of the truth tiles with this value.
    pub(super) fn tile(&self, value: u8) -> CatalogueResult<u8> {
        row(&self.tiles, "truth tile", &value.to_string(), |tile| tile.0 == value)
    }

    /// Returns the names of cards, sorted.
    pub(super) fn names(&self, cards: impl IntoIterator<Item = u8>) -> Words {
        let mut names: Words =
            cards.into_iter().map(|card| self.cards[usize::from(card) - 1].name.clone()).collect();
        names.sort();
        names
    }
}

/// Returns the number, from 1, of the first row for which `is` holds.
fn row<T>(rows: &[T], what: &str, name: &str, is: impl Fn(&T) -> bool) -> CatalogueResult<u8> {
    match (1..).zip(rows).find(|(_, row)| is(row)) {
        Some((number, _)) => Ok(number),
        None => refuse(what, format!("there is no {name:?}")),
    }
}

/// Returns the number of a word in a list, from 1.
pub(super) fn number_of(words: &[String], what: &str, word: &str) -> CatalogueResult<u8> {
    row(words, what, word, |known| known == word)
}
