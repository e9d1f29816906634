//! The arrangement of a picture: common fields on top, and below them the fields of each seat.

use std::fmt::Write as _;

use boardwire_kernel::{Axis, AxisOrder, FieldKind, GameInfo, Viewer};

use crate::card::{CARD_HEIGHT, CARD_WIDTH, card, row_name, shortened, words};
use crate::disc::{word_colour, word_disc};
use crate::field::{FieldValues, Fields};
use crate::picture::Picture;
use crate::sheet::Sheet;

/// A field with more values than this is not drawn. The text of the position shows it.
const MAX_DRAWN_VALUES: u16 = 40;

/// The drawing of one position.
#[derive(Debug)]
pub(crate) struct Panels<'a> {
    info: &'a GameInfo,
    viewer: Viewer,
    fields: Fields<'a>,
    sheet: Sheet,
}

impl<'a> Panels<'a> {
    pub(crate) fn new(info: &'a GameInfo, viewer: Viewer, fields: Fields<'a>) -> Self {
        Self { info, viewer, fields, sheet: Sheet::new() }
    }

    pub(crate) fn draw(mut self) -> Picture {
        let game = words(self.info.id);
        let title = format!("{game}, as {} sees it", self.viewer);
        self.sheet.heading(&title, None);
        let common = std::mem::take(&mut self.fields.common);
        self.panel(&common, false);
        for (ahead, fields) in std::mem::take(&mut self.fields.seats).into_iter().enumerate() {
            let seat = self.seat(ahead);
            let you = if ahead == 0 && self.viewer != Viewer::Public { " (you)" } else { "" };
            self.sheet.heading(&format!("seat {seat}{you}"), Some(seat));
            self.panel(&fields, true);
        }
        let (parts, height) = self.sheet.finish();
        Picture { title, height, parts }
    }

    /// Returns the seat `ahead` places after the first.
    fn seat(&self, ahead: usize) -> usize {
        (self.viewer.first().index() + ahead) % usize::from(self.info.seats)
    }

    /// Draws related fields: single values in one row, single cards in another, then one row for each other field.
    fn panel(&mut self, fields: &[FieldValues], of_seat: bool) {
        let is_single = |field: &&FieldValues| field.axis.is_none() && !is_id(field);
        for field in fields.iter().filter(is_single) {
            self.draw_single(field, of_seat);
        }
        self.sheet.end_row();
        for field in fields.iter().filter(|field| field.axis.is_none() && is_id(field) && !field.is_empty()) {
            self.sheet.chip(&words(field.spec.name), "#ffffff", "#2b2a27");
            self.cards(field);
        }
        let boards: Vec<_> = fields.iter().filter(|field| is_id(field) && field.square().is_some()).collect();
        let is_left_out = |field: &FieldValues| field.axis.is_none_or(|axis| axis.size > MAX_DRAWN_VALUES);
        for field in fields.iter().filter(|field| !field.is_empty() && !is_left_out(field)) {
            if boards.iter().any(|board| lies_on(field, board)) {
                continue;
            }
            match (&field.spec.kind, field.square()) {
                (FieldKind::Id { table }, Some(side)) => {
                    let pieces: Vec<_> = fields.iter().filter(|flags| lies_on(flags, field)).collect();
                    self.board(field, table, side, &pieces);
                }
                (FieldKind::Id { .. }, None) => {
                    self.sheet.label(&words(field.spec.name));
                    self.cards(field);
                }
                (FieldKind::Category { names }, _) => self.by_name(field, names),
                (FieldKind::Count | FieldKind::Flag | FieldKind::Seat, _) => self.row(field),
            }
        }
    }

    fn draw_single(&mut self, field: &FieldValues, of_seat: bool) {
        let (name, value) = (words(field.spec.name), field.only_value().unwrap_or_default());
        match &field.spec.kind {
            FieldKind::Flag if value == 1 => self.sheet.chip(&name, "#2b2a27", "#ffffff"),
            FieldKind::Count if value > 0 || of_seat => {
                self.sheet.chip(&format!("{name} {value}"), "#ffffff", "#2b2a27");
            }
            FieldKind::Category { names } => match names.get(usize::from(value)) {
                Some(word) if word != "none" => {
                    self.sheet.chip(&format!("{name}: {}", words(word)), "#fff4cf", "#2b2a27");
                }
                Some(_) | None => {}
            },
            FieldKind::Seat if value > 0 => {
                self.sheet.chip(&name, "#ffffff", "#2b2a27");
                self.sheet.seat(self.seat(usize::from(value) - 1));
            }
            FieldKind::Flag | FieldKind::Count | FieldKind::Seat | FieldKind::Id { .. } => {}
        }
    }

    /// Draws cards side by side, with the empty places between them.
    fn cards(&mut self, field: &FieldValues) {
        let FieldKind::Id { table } = &field.spec.kind else { return };
        let last = field.values.iter().rposition(|&value| value > 0).map_or(0, |last| last + 1);
        let is_bag = field.axis.is_some_and(|axis| axis.order == AxisOrder::None);
        for &row in field.values[..last].iter().filter(|&&row| row > 0 || !is_bag) {
            self.sheet.item(CARD_WIDTH, CARD_HEIGHT, card(self.info, table, row));
        }
    }

    /// Draws one row for each name but the first, with the places that have it. It omits places with the first name.
    fn by_name(&mut self, field: &FieldValues, names: &[String]) {
        let Some(axis) = field.axis else { return };
        for (value, name) in (0..).zip(names).skip(1).filter(|(value, _)| field.values.contains(value)) {
            self.sheet.label(&words(field.spec.name));
            self.sheet.chip(&words(name), "#fff4cf", "#2b2a27");
            for (place, _) in (1..).zip(&field.values).filter(|(_, own)| **own == value) {
                self.sheet.chip(&self.place_name(axis, place), "#ffffff", "#2b2a27");
            }
        }
    }

    /// Draws values side by side, each with the name of its place.
    fn row(&mut self, field: &FieldValues) {
        let Some(axis) = field.axis else { return };
        self.sheet.label(&words(field.spec.name));
        for (place, &value) in (1..).zip(&field.values).filter(|(_, value)| **value > 0) {
            let name = self.place_name(axis, place);
            match &field.spec.kind {
                FieldKind::Seat => {
                    if axis.order != AxisOrder::Sequence {
                        self.sheet.chip(&name, "#ffffff", "#2b2a27");
                    }
                    self.sheet.seat(self.seat(usize::from(value) - 1));
                }
                FieldKind::Flag => self.sheet.chip(&name, "#2b2a27", "#ffffff"),
                _ => self.sheet.chip(&format!("{name}: {value}"), "#ffffff", "#2b2a27"),
            }
        }
    }

    /// Returns the name of a place along an axis.
    fn place_name(&self, axis: Axis, place: u16) -> String {
        match axis.table {
            Some(table) => shortened(&row_name(self.info, table, place), 24),
            None if axis.order == AxisOrder::Sequence => place.to_string(),
            None => format!("{} {}", axis.name, place - 1),
        }
    }

    /// Draws a square board: a card on each cell, and the pieces on it.
    fn board(&mut self, field: &FieldValues, table: &str, side: u32, pieces: &[&FieldValues]) {
        self.sheet.label(&words(field.spec.name));
        let mut svg = String::new();
        for (cell, &row) in (0_u32..).zip(&field.values) {
            let (x, y) = (cell % side * CARD_WIDTH, cell / side * CARD_HEIGHT);
            let _ = write!(svg, "<g transform=\"translate({x} {y})\">{}", card(self.info, table, row));
            for (at, piece) in (0_u32..).zip(pieces).filter(|(_, piece)| piece.values[cell as usize] == 1) {
                let (name, x) = (words(piece.spec.name), 66 - 20 * at);
                let (fill, letters) = (word_colour(piece.spec.name), word_disc(piece.spec.name).letters);
                let _ = write!(
                    svg,
                    "<g role=\"img\"><title>{name}</title><circle cx=\"{x}\" cy=\"72\" r=\"11\" fill=\"{fill}\" \
                     stroke=\"#ffffff\" stroke-width=\"2\"/><text x=\"{x}\" y=\"76\" font-size=\"10\" \
                     text-anchor=\"middle\" fill=\"#ffffff\">{letters}</text></g>"
                );
            }
            svg.push_str("</g>");
        }
        self.sheet.item(side * CARD_WIDTH, side * CARD_HEIGHT, svg);
    }
}

fn is_id(field: &FieldValues) -> bool {
    matches!(field.spec.kind, FieldKind::Id { .. })
}

/// Returns whether these flags are pieces on the cells of a board.
fn lies_on(flags: &FieldValues, board: &FieldValues) -> bool {
    flags.axis == board.axis && flags.spec.kind == FieldKind::Flag
}
