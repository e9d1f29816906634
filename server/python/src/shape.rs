//! How wide the columns of a batch are, and which of them it writes.

use std::sync::Arc;

use boardwire_api::v1;
use prost::Message as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What tells the shape of every column.
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

    /// Whether the columns are as long as they should be.
    pub(crate) fn fits(&self, step: &v1::Step) -> bool {
        // Wide enough for what any server may say.
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
        ];
        lengths.iter().all(|(column, bytes)| column.len() as u128 == *bytes)
    }
}

/// The shape of a server's batch.
#[derive(Clone)]
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Rows(pub(crate) Arc<Shape>);

#[pymethods]
impl Rows {
    /// Of a `boardwire.v1.Batch`, with what its table says of views and actions.
    #[new]
    fn new(about: &[u8], seats: usize, view_bytes: usize, actions: usize) -> PyResult<Self> {
        let about = v1::Batch::decode(about).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self(Arc::new(Shape::new(&about, seats, view_bytes, actions))))
    }
}
