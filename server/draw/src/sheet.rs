//! A sheet that places items one after the other, row by row.

use std::fmt::Write as _;

use crate::disc::seat_colour;
use crate::picture::{Part, WIDTH, escaped};

/// The distance from the edge of the sheet to a row.
const LEFT: u32 = 16;
/// The position of the first item after a row's label.
const INDENT: u32 = 132;
/// The height of a row of text.
const LINE: u32 = 24;

/// A sheet under construction.
#[derive(Debug)]
pub(crate) struct Sheet {
    parts: Vec<Part>,
    x: u32,
    y: u32,
    /// The height of the current row.
    row: u32,
}

impl Sheet {
    pub(crate) fn new() -> Self {
        Self { parts: Vec::new(), x: LEFT, y: 12, row: 0 }
    }

    /// Returns the parts, and their total height.
    pub(crate) fn finish(mut self) -> (Vec<Part>, u32) {
        self.end_row();
        (self.parts, self.y + 8)
    }

    /// Starts a panel with a heading.
    pub(crate) fn heading(&mut self, words: &str, seat: Option<usize>) {
        self.end_row();
        let (width, fill) = (WIDTH - 2 * LEFT, seat.map_or("#2b2a27", seat_colour));
        let words = escaped(words);
        self.put(
            LINE + 8,
            format!(
                "<rect width=\"{width}\" height=\"24\" rx=\"5\" fill=\"{fill}\"/><text x=\"10\" y=\"17\" font-size=\"14\" \
                 font-weight=\"bold\" fill=\"#ffffff\">{words}</text>"
            ),
            width,
        );
        self.end_row();
    }

    /// Starts a row with its label.
    pub(crate) fn label(&mut self, words: &str) {
        self.end_row();
        let words = escaped(words);
        self.put(
            0,
            format!("<text y=\"16\" font-size=\"12\" fill=\"#5a564d\">{words}</text>"),
            INDENT - LEFT,
        );
        self.x = INDENT;
    }

    /// Places an item of this width and height next in the row, or at the start of the next row.
    pub(crate) fn item(&mut self, width: u32, height: u32, svg: String) {
        if self.x > INDENT && self.x + width > WIDTH - LEFT {
            self.end_row();
            self.x = INDENT;
        }
        self.put(height, svg, width);
    }

    /// Places a few words next, in a frame.
    pub(crate) fn chip(&mut self, words: &str, fill: &str, ink: &str) {
        let width = text_width(words) + 16;
        let words = escaped(words);
        self.item(
            width + 6,
            LINE + 2,
            format!(
                "<rect width=\"{width}\" height=\"22\" rx=\"11\" fill=\"{fill}\" stroke=\"#b8b2a4\"/><text x=\"8\" y=\"15\" \
                 font-size=\"12\" fill=\"{ink}\">{words}</text>"
            ),
        );
    }

    /// Places the disc of a seat next.
    pub(crate) fn seat(&mut self, seat: usize) {
        let fill = seat_colour(seat);
        let mut svg = format!(
            "<g role=\"img\"><title>seat {seat}</title><circle cx=\"11\" cy=\"11\" r=\"11\" fill=\"{fill}\"/>"
        );
        let _ = write!(
            svg,
            "<text x=\"11\" y=\"15\" font-size=\"12\" text-anchor=\"middle\" fill=\"#ffffff\">{seat}</text></g>"
        );
        self.item(28, LINE + 2, svg);
    }

    /// Ends the current row.
    pub(crate) fn end_row(&mut self) {
        self.y += self.row;
        (self.x, self.row) = (LEFT, 0);
    }

    fn put(&mut self, height: u32, svg: String, width: u32) {
        self.parts.push(Part { x: self.x, y: self.y, svg });
        self.x += width;
        self.row = self.row.max(height);
    }
}

/// Returns the approximate width of a text with a font size of 12 pixels.
fn text_width(words: &str) -> u32 {
    u32::try_from(words.chars().count()).unwrap_or(u32::MAX / 16) * 7
}
