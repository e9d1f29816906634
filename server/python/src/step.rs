//! The rows of a step, as zero-copy arrays over the memory that they were written to.

use std::sync::Arc;

use boardwire_batch::batch::flag;
use numpy::{Element, PyArray1, PyArrayMethods as _};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PySlice, PyTuple};

use crate::array;
use crate::columns::Columns;
use crate::shape::Shape;

/// A `boardwire.BatchStep` that creates the array of a column on access.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Step {
    shape: Arc<Shape>,
    /// These columns never change, because arrays use their memory.
    rows: Columns,
    mask: PyOnceLock<Py<PyAny>>,
}

/// The names of the fields, in the order of `boardwire.BatchStep`.
const FIELDS: &[&str] = &[
    "first",
    "seat",
    "view",
    "packed_mask",
    "action_count",
    "reward",
    "ply",
    "flags",
    "ended",
    "episode",
    "scores",
    "ranks",
    "final_view",
    "oracle",
    "oracle_mask",
    "advice",
    "advice_shares",
    "estimates",
];

type Column<'py> = PyResult<Bound<'py, PyAny>>;

impl Step {
    pub(crate) fn new(shape: &Arc<Shape>, rows: Columns) -> Self {
        Self { shape: Arc::clone(shape), rows, mask: PyOnceLock::new() }
    }

    fn n(&self) -> usize {
        self.rows.seat().len()
    }

    fn ends(&self) -> usize {
        self.rows.ended().len() / size_of::<u32>()
    }

    /// Returns, as `bool[n]`, whether each row's flags contain any of `bits`.
    fn flagged<'py>(&self, py: Python<'py>, bits: u8) -> Bound<'py, PyAny> {
        PyArray1::from_iter(py, self.rows.flags().iter().map(|flags| flags & bits > 0)).into_any()
    }
}

/// Returns a column, or a part of it, as an array.
#[expect(unsafe_code, reason = "a step owns its columns")]
fn column<'py, T: Element>(
    step: &Bound<'py, Step>,
    bytes: impl Fn(&Columns) -> &[u8],
    shape: &[usize],
) -> Column<'py> {
    // SAFETY: a step is frozen, and its columns are `Bytes`, which never change.
    unsafe { array::over::<T>(step.as_any(), bytes(&step.get().rows), shape) }
}

/// A row's view, mask, ply, flags and reward.
type Row<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<bool>>, u32, u8, f32);

#[pymethods]
impl Step {
    /// The sequence number of the last answered request, for a batch that outlives its stream.
    #[getter]
    fn sequence(&self) -> u64 {
        self.rows.sequence()
    }

    #[getter]
    fn first(&self) -> u32 {
        self.rows.first()
    }

    #[getter]
    fn seat<'py>(this: &Bound<'py, Self>) -> Column<'py> {
        column::<u8>(this, |rows| rows.seat(), &[this.get().n()])
    }

    #[getter]
    fn view<'py>(this: &Bound<'py, Self>) -> Column<'py> {
        column::<u8>(this, |rows| rows.view(), &[this.get().n(), this.get().shape.view_bytes])
    }

    #[getter]
    fn packed_mask<'py>(this: &Bound<'py, Self>) -> Column<'py> {
        column::<u8>(this, |rows| rows.mask(), &[this.get().n(), this.get().shape.mask_bytes])
    }

    #[getter]
    fn action_count(&self) -> usize {
        self.shape.actions
    }

    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> Column<'py> {
        let mask = self.mask.get_or_try_init(py, || {
            let unpacked = unpacked(self.rows.mask(), self.shape.mask_bytes, self.shape.actions);
            let shape = [self.n(), self.shape.actions];
            Ok::<_, PyErr>(PyArray1::from_vec(py, unpacked).reshape(shape)?.into_any().unbind())
        })?;
        Ok(mask.bind(py).clone())
    }

    /// Returns the legal actions of a row in ascending order.
    fn legal(&self, row: isize) -> PyResult<Vec<usize>> {
        let from_end = if row < 0 { self.n() } else { 0 };
        let row = row.checked_add_unsigned(from_end).and_then(|row| usize::try_from(row).ok());
        let row = row.filter(|&row| row < self.n());
        let row = row.ok_or_else(|| PyIndexError::new_err(format!("there are {} rows", self.n())))?;
        let bytes = self.shape.mask_bytes;
        let mut legal = Vec::new();
        for (at, &byte) in self.rows.mask()[row * bytes..][..bytes].iter().enumerate() {
            let mut left = byte;
            while left > 0 {
                legal.push(8 * at + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
        Ok(legal)
    }

    /// Returns one row: view, mask, ply, flags, and the reward of a seat.
    #[pyo3(name = "_row")]
    fn row<'py>(this: &Bound<'py, Self>, row: usize, seat: usize) -> PyResult<Row<'py>> {
        let step = this.get();
        let (shape, rows) = (&*step.shape, &step.rows);
        if row >= step.n() || seat >= shape.seats {
            return Err(PyIndexError::new_err(format!(
                "there are {} rows of {} seats",
                step.n(),
                shape.seats
            )));
        }
        let whole = |column: &[u8], at: usize| {
            let bytes = column[at * size_of::<u32>()..][..size_of::<u32>()].try_into();
            u32::from_le_bytes(bytes.expect("four bytes"))
        };
        let mask = unpacked(
            &rows.mask()[row * shape.mask_bytes..][..shape.mask_bytes],
            shape.mask_bytes,
            shape.actions,
        );
        Ok((
            column::<u8>(
                this,
                |rows| &rows.view()[row * shape.view_bytes..][..shape.view_bytes],
                &[shape.view_bytes],
            )?,
            PyArray1::from_vec(this.py(), mask),
            whole(rows.ply(), row),
            rows.flags()[row],
            f32::from_bits(whole(rows.reward(), row * shape.seats + seat)),
        ))
    }

    #[getter]
    fn reward<'py>(this: &Bound<'py, Self>) -> Column<'py> {
        column::<f32>(this, |rows| rows.reward(), &[this.get().n(), this.get().shape.seats])
    }

    #[getter]
    fn ply<'py>(this: &Bound<'py, Self>) -> Column<'py> {
        column::<u32>(this, |rows| rows.ply(), &[this.get().n()])
    }

    #[getter]
    fn flags<'py>(this: &Bound<'py, Self>) -> Column<'py> {
        column::<u8>(this, |rows| rows.flags(), &[this.get().n()])
    }

    #[getter]
    fn ended<'py>(this: &Bound<'py, Self>) -> Column<'py> {
        column::<u32>(this, |rows| rows.ended(), &[this.get().ends()])
    }

    #[getter]
    fn episode<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let wanted = this.get().shape.columns.episodes;
        wanted.then(|| column::<u32>(this, |rows| rows.episode(), &[this.get().n()])).transpose()
    }

    #[getter]
    fn scores<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (step, wanted) = (this.get(), this.get().shape.columns.scores);
        wanted
            .then(|| column::<i32>(this, |rows| rows.scores(), &[step.ends(), step.shape.seats]))
            .transpose()
    }

    #[getter]
    fn ranks<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (step, wanted) = (this.get(), this.get().shape.columns.scores);
        wanted.then(|| column::<u8>(this, |rows| rows.ranks(), &[step.ends(), step.shape.seats])).transpose()
    }

    #[getter]
    fn final_view<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (step, wanted) = (this.get(), this.get().shape.columns.final_views);
        let shape = [step.ends(), step.shape.agents, step.shape.view_bytes];
        wanted.then(|| column::<u8>(this, |rows| rows.final_view(), &shape)).transpose()
    }

    #[getter]
    fn oracle<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (step, wanted) = (this.get(), this.get().shape.columns.oracle);
        let shape = [step.n(), step.shape.seats, step.shape.view_bytes];
        wanted.then(|| column::<u8>(this, |rows| rows.oracle(), &shape)).transpose()
    }

    #[getter]
    fn oracle_mask<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (step, wanted) = (this.get(), this.get().shape.columns.oracle);
        let shape = [step.n(), step.shape.seats, step.shape.mask_bytes];
        wanted.then(|| column::<u8>(this, |rows| rows.oracle_mask(), &shape)).transpose()
    }

    #[getter]
    fn advice<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let wanted = this.get().shape.columns.advice.is_some();
        wanted.then(|| column::<u8>(this, |rows| rows.advice(), &[this.get().n()])).transpose()
    }

    #[getter]
    fn advice_shares<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (step, wanted) = (this.get(), this.get().shape.columns.advice_shares);
        wanted
            .then(|| column::<f32>(this, |rows| rows.advice_shares(), &[step.n(), step.shape.actions]))
            .transpose()
    }

    #[getter]
    fn estimates<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (step, wanted) = (this.get(), this.get().shape.columns.estimates);
        wanted
            .then(|| column::<f32>(this, |rows| rows.estimates(), &[step.n(), step.shape.actions]))
            .transpose()
    }

    #[getter]
    fn terminated<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.flagged(py, flag::TERMINATED)
    }

    #[getter]
    fn truncated<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.flagged(py, flag::TRUNCATED)
    }

    #[getter]
    fn over<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.flagged(py, flag::TERMINATED | flag::TRUNCATED)
    }

    #[getter]
    fn substituted<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.flagged(py, flag::SUBSTITUTED)
    }

    #[getter]
    fn forfeited<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.flagged(py, flag::FORFEITED)
    }

    /// Returns neighbouring rows, together with the ends of episodes among them.
    fn part<'py>(this: &Bound<'py, Self>, rows: &Bound<'py, PySlice>) -> PyResult<Bound<'py, PyAny>> {
        as_batch_step(this)?.call_method1("part", (rows,))
    }

    /// Pickles the step as a `boardwire.BatchStep` with copies of the columns, for every transport.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let columns: Vec<_> = FIELDS.iter().map(|name| this.getattr(*name)).collect::<PyResult<_>>()?;
        Ok((kind(this.py())?, PyTuple::new(this.py(), columns)?))
    }

    fn __repr__(&self) -> String {
        format!("<step of {} environments from {} on>", self.n(), self.rows.first())
    }
}

fn kind(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("boardwire._types")?.getattr("BatchStep")
}

/// Converts a step to the client's own class, `BatchStep`.
fn as_batch_step<'py>(step: &Bound<'py, Step>) -> PyResult<Bound<'py, PyAny>> {
    let columns = PyDict::new(step.py());
    for name in FIELDS {
        columns.set_item(name, step.getattr(*name)?)?;
    }
    kind(step.py())?.call((), Some(&columns))
}

/// The bits of every byte value, lowest bit first.
const BITS_OF_BYTE: [[bool; 8]; 256] = {
    let mut bits = [[false; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            bits[byte][bit] = byte >> bit & 1 == 1;
            bit += 1;
        }
        byte += 1;
    }
    bits
};

/// Unpacks action masks from their bits, row by row.
fn unpacked(packed: &[u8], bytes: usize, actions: usize) -> Vec<bool> {
    let mut mask = Vec::with_capacity(packed.len() / bytes.max(1) * actions);
    for row in packed.chunks_exact(bytes.max(1)) {
        let end = mask.len() + actions;
        for &byte in row {
            mask.extend_from_slice(&BITS_OF_BYTE[usize::from(byte)]);
        }
        mask.truncate(end);
    }
    mask
}
