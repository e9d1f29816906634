//! Draws positions as pictures, from the views that clients receive.

use std::fmt::Display;

use boardwire_api::v1;
use boardwire_batch::messages::table_facts;
use boardwire_draw::{draw, load_font, raster};
use boardwire_kernel::{GameInfo, Seat, Viewer};
use numpy::{PyArray1, PyArray3, PyArrayMethods as _};
use prost::Message as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A painter for the views of one table, of any game.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Painter {
    info: GameInfo,
}

fn value_error(message: impl Display) -> PyErr {
    PyValueError::new_err(message.to_string())
}

#[pymethods]
impl Painter {
    /// Creates a painter for the table that an encoded `GameSpec` describes.
    #[new]
    fn new(spec: &[u8]) -> PyResult<Self> {
        let spec = v1::GameSpec::decode(spec).map_err(value_error)?;
        load_font();
        Ok(Self { info: table_facts(&spec).map_err(value_error)? })
    }

    /// Draws a view as SVG, for a seat, or for the public if `seat` is `None`.
    fn svg(&self, view: &[u8], seat: Option<i64>) -> PyResult<String> {
        let info = &self.info;
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
