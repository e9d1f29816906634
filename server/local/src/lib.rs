//! Boardwire's engine in the process of whoever uses it: the Python extension `boardwire_local`.
//!
//! It plays what the server plays: the same batches and searches, refused in the same words. The client calls it
//! by the messages of the protocol, but for steps, whose columns it is given as arrays over the memory that they were
//! written to. Nothing is secret here: who holds the engine holds every card. So it has no matches.
//!
//! Beside the engine there is what Python does too slowly by itself: connections to servers, features of views, and pictures.

mod array;
mod batch;
mod calls;
mod columns;
mod engine;
mod features;
mod fork;
mod painter;
mod refuse;
mod sent;
mod shape;
mod step;
mod wait;
mod wire;

use pyo3::prelude::*;

/// The engine, for `boardwire.connect("local:")`.
#[pymodule(gil_used = true)]
fn boardwire_local(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Not in the midst of a fork.
    engine::key();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<features::Features>()?;
    module.add_class::<painter::Painter>()?;
    module.add_class::<sent::Sent>()?;
    module.add_class::<step::Step>()?;
    module.add_class::<wire::Channel>()?;
    module.add_class::<wire::Pipe>()?;
    module.add_class::<shape::Rows>()?;
    fork::register(module)
}
