//! Components as cards: plain shapes, from the rows of their tables.

use std::fmt::Write as _;

use boardwire_kernel::{Column, ColumnKind, GameInfo, Table};

use crate::mark::{Mark, colour, is_ground, mark};
use crate::picture::escaped;

/// The width of a card.
pub(crate) const CARD_WIDTH: u32 = 84;
/// The height of a card.
pub(crate) const CARD_HEIGHT: u32 = 104;
/// The cells of a board that cards may name.
const CELLS: usize = 9;
/// How many discs stand side by side on a card.
const ABREAST: usize = 4;

/// What stands on a card.
#[derive(Debug, Default)]
struct Face {
    name: String,
    /// The colours of its ground, at most two of them shown.
    grounds: Vec<&'static str>,
    /// What lies on it, with how many of each.
    marks: Vec<(i16, Mark)>,
    /// What it asks for.
    needs: Vec<(i16, Mark)>,
    /// What it is worth, and for each of what.
    pays: Vec<(i16, Option<Mark>)>,
    /// The cells of a board that it names, if not all.
    cells: Vec<bool>,
    /// Anything else, in words.
    notes: Vec<String>,
    /// Everything, in words.
    all: Vec<String>,
}

/// The name of a row of a table, as actions on it have it; its number where there is no such action.
pub(crate) fn row_name(info: &GameInfo, table: &str, row: u16) -> String {
    let acted_on =
        |spec: &&boardwire_kernel::ActionSpec| spec.table == Some(table) && u16::from(spec.row) == row;
    let Some(action) = info.actions.all().iter().find(acted_on) else {
        return row.to_string();
    };
    // `draft A1-13` drafts A1-13.
    let mut name = action.label.as_str();
    for word in action.verb.split('_') {
        name = name.strip_prefix(word).map_or(name, str::trim_start);
    }
    name.to_owned()
}

/// A word of the code for people: `biome_set` is a biome set.
pub(crate) fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// Draws the card of a row; the card of row 0 is a place where none lies.
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
    Face::of(info, table, row).draw()
}

impl Face {
    fn of(info: &GameInfo, table: &Table, row: u16) -> Self {
        let mut face = Self { name: row_name(info, table.name, row), ..Self::default() };
        for (column, &value) in table.columns.iter().zip(&table.rows[usize::from(row)]) {
            // A first column of numbers is the component's own.
            let is_number = column.name == table.columns[0].name && u16::try_from(value) == Ok(row);
            if value != 0 && !is_number {
                face.add(info, column, value);
            }
        }
        if face.cells.iter().all(|&named| named) {
            face.cells.clear();
        }
        face
    }

    fn add(&mut self, info: &GameInfo, column: &Column, value: i16) {
        let name = column.name.as_str();
        let cell = name.strip_prefix("fits_cell_").or_else(|| name.strip_prefix("activates_cell_"));
        let cell = cell.and_then(|cell| cell.parse::<usize>().ok());
        if let Some(cell) = cell.filter(|&cell| cell < CELLS) {
            self.cells.resize(CELLS, false);
            self.cells[cell] = true;
            return;
        }
        match &column.kind {
            ColumnKind::Flag => self.all.push(words(name)),
            ColumnKind::Count => self.all.push(format!("{} {value}", words(name))),
            ColumnKind::Category { names } => {
                let word = usize::try_from(value).ok().and_then(|value| names.get(value));
                let word = word.cloned().unwrap_or_default();
                if self.grounds.is_empty() {
                    self.grounds.push(colour(&word));
                }
                self.all.push(format!("{} {word}", words(name)));
                self.notes.push(word);
                return;
            }
            ColumnKind::Id { table } => {
                let named = row_name(info, table, u16::try_from(value).unwrap_or_default());
                if named.parse::<u16>().is_err() && *table != "tokens" {
                    self.all.push(format!("{} {named}", words(name)));
                    self.notes.push(named);
                }
                return;
            }
        }
        let after = |prefix: &str| name.strip_prefix(prefix);
        if is_ground(name) {
            self.grounds.push(colour(name));
        } else if let Some(word) = after("needs_").or_else(|| after("called_by_")) {
            self.needs.push((value, mark(word)));
        } else if let Some(word) = after("per_").or_else(|| after("points_per_")) {
            self.pays.push((value, Some(mark(word))));
        } else if matches!(name, "flat" | "points" | "value" | "gain_points" | "bought_points") {
            self.pays.push((value, None));
        } else if !matches!(name, "can_be_activated" | "copies" | "effects" | "count") {
            self.marks.push((value, mark(name)));
        }
    }

    fn draw(&self) -> String {
        let (width, height) = (CARD_WIDTH - 8, CARD_HEIGHT - 8);
        let about = [std::slice::from_ref(&self.name), &self.all[..]].concat().join(", ");
        let ground = self.grounds.first().copied().unwrap_or("#efece4");
        let mut svg = format!(
            "<g role=\"img\"><title>{}</title><rect x=\"1\" y=\"1\" width=\"{width}\" height=\"{height}\" rx=\"6\" \
             fill=\"#ffffff\" stroke=\"#77736a\"/><rect x=\"1\" y=\"1\" width=\"{width}\" height=\"18\" rx=\"6\" \
             fill=\"{ground}\"/>",
            escaped(&about)
        );
        if let Some(second) = self.grounds.get(1) {
            let (x, half) = (width / 2 + 1, width / 2);
            let _ = write!(
                svg,
                "<rect x=\"{x}\" y=\"1\" width=\"{half}\" height=\"18\" rx=\"6\" fill=\"{second}\"/>"
            );
        }
        let ink = if self.grounds.is_empty() { "#2b2a27" } else { "#ffffff" };
        let name = escaped(&shortened(self.name.split(' ').next_back().unwrap_or_default(), 9));
        let _ = write!(
            svg,
            "<text x=\"6\" y=\"14\" font-size=\"11\" font-weight=\"bold\" fill=\"{ink}\">{name}</text>"
        );
        self.draw_lines(&mut svg);
        self.draw_cells(&mut svg);
        svg.push_str("</g>");
        svg
    }

    /// What lies on it, what it asks for, what it pays, and the rest in words: a line each.
    fn draw_lines(&self, svg: &mut String) {
        let mut y = 31;
        for line in self.marks.chunks(ABREAST) {
            discs(svg, y, line, "none");
            y += 18;
        }
        if !self.needs.is_empty() {
            discs(svg, y, &self.needs, "#2b2a27");
            y += 18;
        }
        for (value, each) in &self.pays {
            let _ = write!(
                svg,
                "<text x=\"6\" y=\"{}\" font-size=\"12\" font-weight=\"bold\" fill=\"#2b2a27\">{value}",
                y + 5
            );
            svg.push_str(if each.is_some() { " per</text>" } else { "</text>" });
            if let Some(mark) = each {
                disc(svg, 65, y, mark);
            }
            y += 17;
        }
        for note in self.notes.iter().take(2) {
            let note = escaped(&shortened(note, 12));
            let _ =
                write!(svg, "<text x=\"6\" y=\"{}\" font-size=\"10\" fill=\"#2b2a27\">{note}</text>", y + 3);
            y += 13;
        }
    }

    /// The cells that it names, as a small board.
    fn draw_cells(&self, svg: &mut String) {
        for (cell, named) in (0_u32..).zip(&self.cells) {
            let (x, y) = (52 + cell % 3 * 7, 72 + cell / 3 * 7);
            let fill = if *named { "#2b2a27" } else { "#e3dfd5" };
            let _ = write!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"6\" height=\"6\" fill=\"{fill}\"/>");
        }
    }
}

fn discs(svg: &mut String, y: u32, marks: &[(i16, Mark)], ring: &str) {
    for (x, (count, mark)) in (12..).step_by(18).zip(marks) {
        let _ = write!(
            svg,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"8\" fill=\"none\" stroke=\"{ring}\" stroke-width=\"2\"/>"
        );
        disc(svg, x, y, mark);
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

fn disc(svg: &mut String, x: u32, y: u32, Mark { fill, letters }: &Mark) {
    let _ = write!(
        svg,
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"8\" fill=\"{fill}\"/><text x=\"{x}\" y=\"{}\" font-size=\"8\" \
         text-anchor=\"middle\" fill=\"#ffffff\">{}</text>",
        y + 3,
        escaped(letters)
    );
}

/// The first letters of a text that is too long.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{}.", kept.trim_end())
}
