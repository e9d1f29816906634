//! Components as cards: plain shapes, drawn from the rows of their tables.

use std::fmt::Write as _;

use boardwire_kernel::{Column, ColumnKind, GameInfo, Table};

use crate::disc::{Disc, word_colour, word_disc};
use crate::picture::escaped;

/// The width of a card.
pub(crate) const CARD_WIDTH: u32 = 84;
/// The height of a card.
pub(crate) const CARD_HEIGHT: u32 = 104;
/// The number of discs in a row of a card.
const DISCS_PER_ROW: usize = 4;

/// The contents of a card.
#[derive(Debug, Default)]
struct CardContents<'a> {
    name: String,
    /// The colour of its header, if a category determines one.
    header_colour: Option<&'static str>,
    /// Discs with counts, group by group. Columns without a group come first.
    groups: Vec<Group<'a>>,
    /// The words of its categories, and the names of other cards on it.
    notes: Vec<String>,
    /// All contents as text.
    all: Vec<String>,
}

/// The columns whose names begin with the same words.
#[derive(Debug, Default)]
struct Group<'a> {
    /// The words at the beginning; empty if they have none in common.
    words: &'a str,
    discs: Vec<(i16, Disc)>,
    /// The numbers at the end of its column names.
    places: String,
}

/// Returns the name of a table row, as in the labels of actions on it; its number if there is no such action.
pub(crate) fn row_name(info: &GameInfo, table: &str, row: u16) -> String {
    let acted_on =
        |spec: &&boardwire_kernel::ActionSpec| spec.table == Some(table) && u16::from(spec.row) == row;
    let Some(action) = info.actions.all().iter().find(acted_on) else {
        return row.to_string();
    };
    // The label `draft C13` gives the name `C13`.
    let mut name = action.label.as_str();
    for word in action.verb.split('_') {
        name = name.strip_prefix(word).map_or(name, str::trim_start);
    }
    name.to_owned()
}

/// Returns an identifier as words for people: `biome_set` becomes `biome set`.
pub(crate) fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// Draws the card of a row. Row 0 is an empty place.
pub(crate) fn card(info: &GameInfo, table_name: &str, row: u16) -> String {
    if row == 0 {
        let (width, height) = (CARD_WIDTH - 8, CARD_HEIGHT - 8);
        return format!(
            "<rect x=\"1\" y=\"1\" width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"none\" stroke=\"#c9c4b8\" \
             stroke-dasharray=\"4 4\"/>"
        );
    }
    let Some(table) = info.tables.iter().find(|table| table.name == table_name) else {
        return String::new();
    };
    CardContents::of(info, table, row).draw()
}

/// Splits a column name into the longest beginning that another column shares, and the rest.
fn split<'a>(table: &Table, name: &'a str) -> (&'a str, &'a str) {
    let begins = |words: &str| {
        let has_same_words =
            |other: &&str| other.strip_prefix(words).is_some_and(|rest| rest.starts_with('_'));
        table.column_names().filter(has_same_words).count() > 1
    };
    let ends = name.rmatch_indices('_').map(|(end, _)| end);
    ends.map(|end| (&name[..end], &name[end + 1..])).find(|(words, _)| begins(words)).unwrap_or(("", name))
}

impl<'a> CardContents<'a> {
    fn of(info: &GameInfo, table: &'a Table, row: u16) -> Self {
        let mut contents = Self { name: row_name(info, table.name, row), ..Self::default() };
        contents.groups.push(Group::default());
        for (column, &value) in table.columns.iter().zip(&table.rows[usize::from(row)]) {
            // A first column that equals the row number is the component's own number.
            let is_number = column.name == table.columns[0].name && u16::try_from(value) == Ok(row);
            if value != 0 && !is_number {
                contents.add(info, table, column, value);
            }
        }
        contents
    }

    fn add(&mut self, info: &GameInfo, table: &'a Table, column: &'a Column, value: i16) {
        let name = column.name.as_str();
        let word = match &column.kind {
            ColumnKind::Flag | ColumnKind::Count => {
                let number =
                    if column.kind == ColumnKind::Count { format!(" {value}") } else { String::new() };
                self.all.push(format!("{}{number}", words(name)));
                self.add_to_group(table, name, value);
                return;
            }
            ColumnKind::Category { names } => {
                let word = usize::try_from(value).ok().and_then(|value| names.get(value));
                let word = word.cloned().unwrap_or_default();
                self.header_colour = self.header_colour.or(Some(word_colour(&word)));
                word
            }
            // A row name that is only a number means nothing to people.
            ColumnKind::Id { table: named } => {
                row_name(info, named, u16::try_from(value).unwrap_or_default())
            }
        };
        if word.parse::<u16>().is_err() {
            self.all.push(format!("{} {word}", words(name)));
            self.notes.push(word);
        }
    }

    fn add_to_group(&mut self, table: &'a Table, name: &'a str, value: i16) {
        let (begin, rest) = split(table, name);
        let is_place = rest.parse::<u8>().is_ok();
        let words = if is_place { begin.rsplit('_').next().unwrap_or(begin) } else { begin };
        if self.groups.iter().all(|group| group.words != words) {
            self.groups.push(Group { words, ..Group::default() });
        }
        for group in self.groups.iter_mut().filter(|group| group.words == words) {
            if is_place {
                if rest.len() > 1 {
                    group.places.push(' ');
                }
                group.places.push_str(rest);
            } else {
                group.discs.push((value, word_disc(rest)));
            }
        }
    }

    fn draw(&self) -> String {
        let (width, height) = (CARD_WIDTH - 8, CARD_HEIGHT - 8);
        let about = [std::slice::from_ref(&self.name), &self.all[..]].concat().join(", ");
        let header_colour = self.header_colour.unwrap_or("#efece4");
        let mut svg = format!(
            "<g role=\"img\"><title>{}</title><rect x=\"1\" y=\"1\" width=\"{width}\" height=\"{height}\" rx=\"6\" \
             fill=\"#ffffff\" stroke=\"#77736a\"/><rect x=\"1\" y=\"1\" width=\"{width}\" height=\"18\" rx=\"6\" \
             fill=\"{header_colour}\"/>",
            escaped(&about)
        );
        let ink = if self.header_colour.is_none() { "#2b2a27" } else { "#ffffff" };
        let name = escaped(&shortened(self.name.split(' ').next_back().unwrap_or_default(), 9));
        let _ = write!(
            svg,
            "<text x=\"6\" y=\"14\" font-size=\"11\" font-weight=\"bold\" fill=\"{ink}\">{name}</text>"
        );
        self.draw_lines(&mut svg);
        svg.push_str("</g>");
        svg
    }

    /// Draws a line for each group, then the notes.
    fn draw_lines(&self, svg: &mut String) {
        let mut y = 31;
        for Group { words: begin, discs: all, places } in &self.groups {
            // Groups that do not fit are only in the title.
            if y + 17 > CARD_HEIGHT {
                break;
            }
            if !begin.is_empty() {
                let begin = escaped(&shortened(format!("{} {places}", words(begin)).trim_end(), 15));
                let _ = write!(
                    svg,
                    "<text x=\"6\" y=\"{}\" font-size=\"9\" fill=\"#5a564d\">{begin}</text>",
                    y - 2
                );
                y += 9;
            }
            for line in all.chunks(DISCS_PER_ROW) {
                draw_discs(svg, y, line);
                y += 18;
            }
        }
        for (note, y) in self.notes.iter().zip((y..CARD_HEIGHT - 12).step_by(13)) {
            let note = escaped(&shortened(note, 12));
            let _ =
                write!(svg, "<text x=\"6\" y=\"{}\" font-size=\"10\" fill=\"#2b2a27\">{note}</text>", y + 3);
        }
    }
}

fn draw_discs(svg: &mut String, y: u32, discs: &[(i16, Disc)]) {
    for (x, (count, disc)) in (12..).step_by(18).zip(discs) {
        draw_disc(svg, x, y, disc);
        if *count > 1 {
            let _ = write!(
                svg,
                "<circle cx=\"{}\" cy=\"{}\" r=\"5\" fill=\"#2b2a27\"/><text x=\"{}\" y=\"{}\" font-size=\"8\" \
                 text-anchor=\"middle\" fill=\"#ffffff\">{count}</text>",
                x + 6,
                y + 6,
                x + 6,
                y + 9
            );
        }
    }
}

fn draw_disc(svg: &mut String, x: u32, y: u32, Disc { fill, letters }: &Disc) {
    let _ = write!(
        svg,
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"8\" fill=\"{fill}\"/><text x=\"{x}\" y=\"{}\" font-size=\"8\" \
         text-anchor=\"middle\" fill=\"#ffffff\">{}</text>",
        y + 3,
        escaped(letters)
    );
}

/// Shortens a text to at most `most` characters.
pub(crate) fn shortened(text: &str, maximum: usize) -> String {
    if text.chars().count() <= maximum {
        return text.to_owned();
    }
    let kept: String = text.chars().take(maximum - 1).collect();
    format!("{}.", kept.trim_end())
}
