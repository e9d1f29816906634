//! A drawn picture: parts with their positions.

use std::fmt::Write as _;

/// The width of every picture, in pixels.
pub const WIDTH: u32 = 960;

/// The background as red, green and blue.
pub(crate) const BACKGROUND: [u8; 3] = [0xf3, 0xf1, 0xec];

/// A part of a picture. Equal parts of many pictures have equal text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The distance from the left, in pixels.
    pub x: u32,
    /// The distance from the top, in pixels.
    pub y: u32,
    /// The SVG elements of the part. Their origin is its position.
    pub svg: String,
}

/// The picture of a position for one viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// What the picture shows, in a few words.
    pub title: String,
    /// The height in pixels. The width is [`WIDTH`].
    pub height: u32,
    /// The parts, from back to front.
    pub parts: Vec<Part>,
}

impl Picture {
    /// Returns the picture as an SVG document: no script, no style, no link.
    #[must_use]
    pub fn svg(&self) -> String {
        let (height, title) = (self.height, escaped(&self.title));
        let [red, green, blue] = BACKGROUND;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" font-family=\"DejaVu Sans, Verdana, sans-serif\"><title>{title}</title>\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#{red:02x}{green:02x}{blue:02x}\"/>"
        );
        for Part { x, y, svg: part } in &self.parts {
            let _ = write!(svg, "<g transform=\"translate({x} {y})\">{part}</g>");
        }
        svg.push_str("</svg>");
        svg
    }
}

/// Escapes text for the contents and attributes of SVG elements.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter => safe.push(letter),
        }
    }
    safe
}
