//! The catalogue as integer matrices, to which fields and actions refer.

use borsh::BorshSerialize;

/// The meaning of a column's values.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub enum ColumnKind {
    /// A row of the table with this name; 0 is none.
    Id {
        /// The table's name.
        table: &'static str,
    },
    /// A number.
    Count,
    /// 0 or 1.
    Flag,
    /// One of several named values: value `i` is `names[i]`.
    Category {
        /// The names, indexed by value.
        names: Vec<String>,
    },
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub struct Column {
    /// The name in `snake_case`: `per_river`.
    pub name: String,
    /// The meaning of its values.
    pub kind: ColumnKind,
}

/// The catalogue as an integer matrix: row `i` describes id `i`, row 0 is all zero.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub struct Table {
    /// The table's name, to which fields and actions refer.
    pub name: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<i16>>,
}

impl Table {
    /// Starts a table of these components, in the order of their ids. Each column has a closure that reads one component.
    pub fn of<'a, T>(name: &'static str, components: &'a [T]) -> TableBuilder<'a, T> {
        TableBuilder { name, components, columns: Vec::new(), rows: vec![Vec::new(); components.len()] }
    }

    /// Returns the names of the columns.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }
}

/// A table under construction. One call describes and fills a column.
#[derive(Debug)]
pub struct TableBuilder<'a, T> {
    name: &'static str,
    components: &'a [T],
    columns: Vec<Column>,
    rows: Vec<Vec<i16>>,
}

impl<T> TableBuilder<'_, T> {
    fn column(mut self, name: impl Into<String>, kind: ColumnKind, value: impl Fn(&T) -> i16) -> Self {
        self.columns.push(Column { name: name.into(), kind });
        for (row, component) in self.rows.iter_mut().zip(self.components) {
            row.push(value(component));
        }
        self
    }

    /// Adds a column of numbers.
    #[must_use]
    pub fn count<V: Into<i16>>(self, name: impl Into<String>, value: impl Fn(&T) -> V) -> Self {
        self.column(name, ColumnKind::Count, |component| value(component).into())
    }

    /// Adds a column of zeros and ones.
    #[must_use]
    pub fn flag(self, name: impl Into<String>, value: impl Fn(&T) -> bool) -> Self {
        self.column(name, ColumnKind::Flag, |component| value(component).into())
    }

    /// Adds a column of row numbers of a table; 0 is none.
    #[must_use]
    pub fn id<V: Into<i16>>(
        self,
        name: impl Into<String>,
        table: &'static str,
        value: impl Fn(&T) -> V,
    ) -> Self {
        self.column(name, ColumnKind::Id { table }, |component| value(component).into())
    }

    /// Adds a column of named values. `value` returns an index of `names`.
    #[must_use]
    pub fn category<V: Into<i16>>(
        self,
        name: impl Into<String>,
        names: impl IntoIterator<Item = impl Into<String>>,
        value: impl Fn(&T) -> V,
    ) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.column(name, ColumnKind::Category { names }, |component| value(component).into())
    }

    /// Adds columns for each of several words. `add` receives the table so far, the index of the word, and the word.
    #[must_use]
    pub fn each(self, words: &[&str], add: impl Fn(Self, usize, &str) -> Self) -> Self {
        words.iter().enumerate().fold(self, |table, (at, word)| add(table, at, word))
    }

    /// Returns the table, with the all-zero row 0 first.
    #[must_use]
    pub fn finish(self) -> Table {
        let none = vec![0; self.columns.len()];
        let rows = std::iter::once(none).chain(self.rows).collect();
        Table { name: self.name, columns: self.columns, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_described_and_filled_in_one_place() {
        let table = Table::of("cards", &[(3u8, true), (5, false)])
            .count("value", |card| card.0)
            .flag("joker", |card| card.1)
            .each(&["low", "high"], |table, at, word| {
                table.flag(format!("is_{word}"), move |card| usize::from(card.0 / 5) == at)
            })
            .finish();
        assert_eq!(table.column_names().collect::<Vec<_>>(), ["value", "joker", "is_low", "is_high"]);
        assert_eq!(table.rows, [[0, 0, 0, 0], [3, 1, 1, 0], [5, 0, 0, 1]]);
    }
}
