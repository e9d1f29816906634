//! Draws positions as pictures, from the views that clients receive.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use boardwire_draw::{draw, load_font, raster};
use boardwire_kernel::{Seat, Viewer};
use numpy::{PyArray1, PyArray3, PyArrayMethods as _};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::refuse::refused;

/// A painter for the views of one table.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Painter {
    table: Arc<Table>,
}

fn value_error(message: impl Display) -> PyErr {
    PyValueError::new_err(message.to_string())
}

#[pymethods]
impl Painter {
    /// Creates a painter for a table. The table must have the given digest.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 converts the options to an owned map")]
    fn new(
        py: Python<'_>,
        game: &str,
        seats: u32,
        options: BTreeMap<String, String>,
        digest: &str,
    ) -> PyResult<Self> {
        let options = options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let table = Tables::new(Registry::standard()).table(game, seats, options);
        let table = table.map_err(|error| refused(py, &error))?;
        if table.digest.to_string() != digest {
            return Err(value_error(format!(
                "the server's {game} has other rules or components than this package draws: install the version of \
                 the server"
            )));
        }
        load_font();
        Ok(Self { table })
    }

    /// Draws a view as SVG, for a seat, or for the public if `seat` is `None`.
    fn svg(&self, view: &[u8], seat: Option<i64>) -> PyResult<String> {
        let info = self.table.game.info();
        let viewer = match seat {
            None => Viewer::Public,
            Some(seat) => match u8::try_from(seat) {
                Ok(seat) if seat < info.seats => Seat::new(seat).into(),
                _ => {
                    return Err(value_error(format!(
                        "`seat` must be from 0 to {}; got {seat}",
                        info.seats - 1
                    )));
                }
            },
        };
        Ok(draw(info, viewer, view).map_err(value_error)?.svg())
    }

    /// Draws the same picture as `uint8[height, width, 3]`, with its own height or fitted to the given one.
    fn pixels<'py>(
        &self,
        py: Python<'py>,
        view: &[u8],
        seat: Option<i64>,
        height: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let svg = self.svg(view, seat)?;
        let (width, height, rgb) = py.detach(|| raster(&svg, height)).map_err(value_error)?;
        PyArray1::from_vec(py, rgb).reshape([height as usize, width as usize, 3])
    }
}
