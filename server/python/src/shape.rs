//! The widths of a batch's columns, and which columns the batch writes.

use std::sync::Arc;

use boardwire_api::v1;
use bytes::Bytes;
use prost::Message as _;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::refuse;
use crate::step::Step;

/// The error message for rows of another shape.
pub(crate) const WRONG_SHAPE: &str =
    "the server's response does not fit the table: a column of the batch has the wrong length";

/// The sizes and options that determine the shape of every column.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) seats: usize,
    pub(crate) view_bytes: usize,
    pub(crate) actions: usize,
    pub(crate) mask_bytes: usize,
    pub(crate) agents: usize,
    pub(crate) columns: v1::BatchColumns,
}

impl Shape {
    pub(crate) fn new(about: &v1::Batch, seats: usize, view_bytes: usize, actions: usize) -> Self {
        let (agents, columns) =
            (about.agents as usize, about.config.clone().unwrap_or_default().columns.unwrap_or_default());
        Self { seats, view_bytes, actions, mask_bytes: actions.div_ceil(8), agents, columns }
    }

    /// Returns whether every column has the right length.
    pub(crate) fn fits(&self, step: &v1::Step) -> bool {
        // `u128` is wide enough for any numbers that a server may send.
        let [n, k] = [step.seat.len(), step.ended.len() / size_of::<u32>()].map(|count| count as u128);
        let [seats, view, mask] = [self.seats, self.view_bytes, self.mask_bytes].map(|count| count as u128);
        let [agents, actions] = [self.agents, self.actions].map(|count| count as u128);
        let wanted = |wanted: bool, bytes: u128| if wanted { bytes } else { 0 };
        let columns = &self.columns;
        let lengths = [
            (&step.view, n * view),
            (&step.mask, n * mask),
            (&step.reward, n * seats * 4),
            (&step.ply, n * 4),
            (&step.flags, n),
            (&step.ended, k * 4),
            (&step.episode, wanted(columns.episodes, n * 4)),
            (&step.scores, wanted(columns.scores, k * seats * 4)),
            (&step.ranks, wanted(columns.scores, k * seats)),
            (&step.final_view, wanted(columns.final_views, k * agents * view)),
            (&step.oracle, wanted(columns.oracle, n * seats * view)),
            (&step.oracle_mask, wanted(columns.oracle, n * seats * mask)),
            (&step.advice, wanted(columns.advice.is_some(), n)),
            (&step.advice_shares, wanted(columns.advice_shares, n * actions * 4)),
            (&step.estimates, wanted(columns.estimates, n * actions * 4)),
        ];
        lengths.iter().all(|(column, bytes)| column.len() as u128 == *bytes)
    }
}

/// The shape of the rows of a server's batch.
#[derive(Clone)]
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Rows(pub(crate) Arc<Shape>);

#[pymethods]
impl Rows {
    /// Creates the shape from a table's `seats`, `view_bytes` and `actions`, and a batch's `agents` and `columns`.
    ///
    /// `columns` has the fields of the batch's `BatchColumns`.
    #[new]
    #[pyo3(signature = (seats, view_bytes, actions, agents=0, columns=None))]
    fn new(
        seats: usize,
        view_bytes: usize,
        actions: usize,
        agents: usize,
        columns: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let wanted = |name: &str| -> PyResult<bool> {
            let column = columns.map(|columns| columns.get_item(name)).transpose()?.flatten();
            column.map_or(Ok(false), |column| column.is_truthy())
        };
        let columns = v1::BatchColumns {
            scores: wanted("scores")?,
            final_views: wanted("final_views")?,
            episodes: wanted("episodes")?,
            oracle: wanted("oracle")?,
            advice: wanted("advice")?.then(v1::Player::default),
            advice_shares: wanted("advice_shares")?,
            estimates: wanted("estimates")?,
        };
        let mask_bytes = actions.div_ceil(8);
        Ok(Self(Arc::new(Shape { seats, view_bytes, actions, mask_bytes, agents, columns })))
    }

    /// Decodes the rows of a `boardwire.v1.Step`.
    ///
    /// Raises:
    ///     `ServerFault`: The bytes are not a `Step`, or its columns have another shape.
    fn step(&self, py: Python<'_>, rows: PyBackedBytes) -> PyResult<Step> {
        match v1::Step::decode(Bytes::from_owner(rows)) {
            Ok(step) if self.0.fits(&step) => Ok(Step::new(&self.0, Columns::Received(Box::new(step)))),
            _ => Err(refuse::fault(py, WRONG_SHAPE)),
        }
    }
}
