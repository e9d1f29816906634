//! The components, with their names in records: from the tables that clients get, and otherwise from the catalogue.

use boardwire_kernel::catalogue::{Checked, read, refuse};
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
    pub(super) effects: List,
}

/// A list of effects: its first row and its length.
#[derive(Debug, Clone, Copy)]
pub(super) struct List(u8, u8);

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
pub(super) struct Printed {
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
    pub(super) options: Vec<List>,
    pub(super) axes: Vec<Axis>,
    /// Truth tiles: value and count.
    pub(super) tiles: Vec<(u8, u8)>,
}

/// The parts of the catalogue that the tables do not have.
#[derive(Deserialize)]
struct File {
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
    fn of<'a>(info: &'a GameInfo, table: &str) -> Rows<'a> {
        Rows(info.tables.iter().find(|known| known.name == table).expect("such a table"))
    }

    fn column(&self, name: &str) -> usize {
        self.0.column_names().position(|known| known == name).expect("such a column")
    }

    /// Returns the names of a category column, without the name for 0.
    fn words(&self, column: &str) -> Words {
        match &self.0.columns[self.column(column)].kind {
            ColumnKind::Category { names } => names[1..].to_vec(),
            other => panic!("{column} is {other:?}"),
        }
    }

    /// Maps each row with `make`, which gets the index of the row and a function from column names to values.
    fn each<T>(&self, make: impl Fn(usize, &dyn Fn(&str) -> u8) -> T) -> Vec<T> {
        let value = |row: &Vec<i16>, column: &str| row[self.column(column)];
        // A smaller catalogue leaves rows at the end that are all zero. They are skipped.
        let rows = self.0.rows[1..].iter().take_while(|row| row.iter().any(|&value| value != 0)).enumerate();
        // Only the weight of a single axis may exceed a byte, and that weight has no effect.
        let small = |row, column: &str| u8::try_from(value(row, column)).unwrap_or(u8::MAX);
        rows.map(|(at, row)| make(at, &|column| small(row, column))).collect()
    }
}

impl Printed {
    pub(super) fn read(info: &GameInfo, catalogue: &str) -> Checked<Self> {
        let file: File = read(catalogue)?;
        let cities: Words = file.periods.list.iter().flat_map(|period| period.cities.clone()).collect();
        let cards = Rows::of(info, "cards");
        let (daemons, symbols) = (cards.words("daemon"), cards.words("symbol"));
        let name = |words: &Words, row: u8| words[usize::from(row) - 1].clone();
        Ok(Self {
            seats: info.seats,
            hand_limit: file.rules_values.hand_limit,
            passages: file.passage_tiles.count,
            periods: file.periods.list.into_iter().map(|period| period.id).collect(),
            cards: cards.each(|_, of| Card {
                name: match (of("daemon"), of("joker")) {
                    (0, 0) => "spy".into(),
                    (0, _) => "joker".into(),
                    (daemon, _) => {
                        let spy = if of("spy") == 1 { ".spy" } else { "" };
                        format!("{}.{}{spy}", name(&daemons, daemon), name(&symbols, of("symbol")))
                    }
                },
                daemon: of("daemon"),
                symbol: of("symbol"),
                is_joker: of("joker") == 1,
                is_spy: of("spy") == 1,
                copies: of("copies"),
            }),
            tokens: Rows::of(info, "tokens").each(|_, of| Token {
                name: match of("alethiometer") {
                    1 => format!("{}.alethiometer", name(&cities, of("city"))),
                    _ => format!("{}.{}", name(&cities, of("city")), of("value")),
                },
                city: of("city"),
            }),
            characters: Rows::of(info, "characters").each(|at, of| Character {
                id: file.characters.list[at].id.clone(),
                period: of("period"),
                effects: List(of("first_effect"), of("effects")),
            }),
            effects: {
                let effects = Rows::of(info, "effects");
                let kinds = effects.words("kind");
                effects.each(|_, of| Effect {
                    kind: name(&kinds, of("kind")),
                    number: of("number"),
                    keep: of("keep"),
                    first_option: of("first_option"),
                })
            },
            options: Rows::of(info, "options").each(|_, of| List(of("first_effect"), of("effects"))),
            axes: Rows::of(info, "axes").each(|_, of| {
                let symbols = ["alethiometer", "magisterium", "ally", "dust"];
                let mut shown = symbols.into_iter().filter(|symbol| of(symbol) == 1);
                let first = shown.next().expect("a symbol");
                let blue = if shown.next().is_some() { "free_choice" } else { first };
                Axis { red: [of("draw"), of("advance")], blue, weight: of("weight") }
            }),
            tiles: Rows::of(info, "tiles").each(|_, of| (of("value"), of("count"))),
            cities,
            daemons,
            symbols,
        })
    }

    /// Returns the effects of a list.
    pub(super) fn list(&self, List(first, count): List) -> &[Effect] {
        &self.effects[usize::from(first) - 1..][..usize::from(count)]
    }

    pub(super) fn card(&self, name: &str) -> Checked<u8> {
        row(&self.cards, "Lyra card", name, |card| card.name == name)
    }

    /// Returns the row of the first token with this name.
    pub(super) fn token(&self, name: &str) -> Checked<u8> {
        row(&self.tokens, "experience token", name, |token| token.name == name)
    }

    pub(super) fn character(&self, id: &str) -> Checked<u8> {
        row(&self.characters, "character", id, |card| card.id == id)
    }

    /// Returns the row of the truth tiles with this value.
    pub(super) fn tile(&self, value: u8) -> Checked<u8> {
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
fn row<T>(rows: &[T], what: &str, name: &str, is: impl Fn(&T) -> bool) -> Checked<u8> {
    match (1..).zip(rows).find(|(_, row)| is(row)) {
        Some((number, _)) => Ok(number),
        None => refuse(what, format!("there is no {name:?}")),
    }
}

/// Returns the number of a word in a list, from 1.
pub(super) fn number_of(words: &[String], what: &str, word: &str) -> Checked<u8> {
    row(words, what, word, |known| known == word)
}
