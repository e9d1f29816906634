//! A picture as it is drawn: parts, each at its place.

use std::fmt::Write as _;

/// The width of every picture, in pixels.
pub const WIDTH: u32 = 960;

/// Red, green and blue of the background.
pub(crate) const BACKGROUND: [u8; 3] = [0xf3, 0xf1, 0xec];

/// A piece of a picture: equal pieces of many pictures have equal text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// How far from the left.
    pub x: u32,
    /// How far from the top.
    pub y: u32,
    /// What is drawn there, as elements of SVG whose origin is this place.
    pub svg: String,
}

/// A position as somebody may see it, drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// What it shows, in a few words.
    pub title: String,
    /// Its height in pixels; it is [`WIDTH`] wide.
    pub height: u32,
    /// What it is made of, from back to front.
    pub parts: Vec<Part>,
}

impl Picture {
    /// The picture as a document of SVG: no script, no style, no link.
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

/// Text as it stands between the tags of SVG, or in its attributes.
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
