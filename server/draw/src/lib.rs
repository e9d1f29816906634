//! Pictures of positions of any game, drawn from what a viewer is shown.
//!
//! A picture is a function of a view and of the facts of its table, so it can show nothing that the view does not. It needs no line
//! for any game: what a field is, and what a component is like, stand in the layout and in the tables already.

mod card;
mod field;
mod mark;
mod panel;
mod picture;
#[cfg(feature = "raster")]
mod raster;
mod sheet;

use boardwire_kernel::{GameInfo, Viewer};

use crate::field::Fields;
use crate::panel::Panels;

pub use crate::picture::{Part, Picture, WIDTH};
#[cfg(feature = "raster")]
pub use crate::raster::{Unreadable, load_font, raster};

/// The letters of every picture: `DejaVu Sans`, as far as ASCII goes, so that it looks alike on every machine.
pub const LETTERS: &[u8] = include_bytes!("font/labels.ttf");

/// Draws what `view` shows `viewer` of a position at the table with these facts.
///
/// # Errors
/// A view that is not laid out as these facts say: which field, and why.
pub fn draw(info: &GameInfo, viewer: Viewer, view: &[u8]) -> Result<Picture, String> {
    let fields = Fields::read(info, viewer, view)?;
    Ok(Panels::new(info, viewer, fields).draw())
}

#[cfg(test)]
mod tests;
