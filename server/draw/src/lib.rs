//! Pictures of positions of any game, drawn from a view.
//!
//! A picture depends only on a view and on the facts of its table, so it cannot show more than the view. This crate has
//! no code for specific games: layout and tables describe every field and component.

mod card;
mod disc;
mod field;
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
pub use crate::raster::{RasterError, load_font, raster};

/// The font of every picture: the ASCII part of `DejaVu Sans`, so that pictures look the same on every machine.
pub const FONT: &[u8] = include_bytes!("font/labels.ttf");

/// Draws the view of a position that `viewer` has, at the table with these facts.
///
/// # Errors
/// A view that does not match its layout: the field, and why.
pub fn draw(info: &GameInfo, viewer: Viewer, view: &[u8]) -> Result<Picture, String> {
    let fields = Fields::read(info, viewer, view)?;
    Ok(Panels::new(info, viewer, fields).draw())
}

#[cfg(test)]
mod tests;
