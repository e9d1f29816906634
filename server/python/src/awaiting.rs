//! What comes of work in another thread, as futures of an asyncio event loop.
//!
//! `pyo3-async-runtimes` does the same over one runtime for the whole process, whose threads a fork does not copy: a
//! child would wait for ever. Here each connection has its own.

use std::future::Future;

use pyo3::prelude::*;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// Begins work on a runtime and gives an `asyncio.Future` of the running loop for what `give` makes of its outcome.
///
/// To cancel the future drops the work.
///
/// # Errors
/// No event loop runs in this thread.
pub(crate) fn begin<'py, T: Send + 'static>(
    py: Python<'py>,
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
    give: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let event_loop = py.import("asyncio")?.call_method0("get_running_loop")?;
    let future = event_loop.call_method0("create_future")?;
    let (event_loop, given) = (event_loop.unbind(), future.clone().unbind());
    let task = runtime.spawn(async move {
        let done = work.await;
        // Nothing is attached to an interpreter that ends.
        Python::try_attach(|py| {
            let (name, value) = match give(py, done) {
                Ok(value) => ("set_result", value),
                Err(error) => ("set_exception", error.into_value(py).into_any()),
            };
            let settle = wrap_pyfunction!(settle, py).map(Bound::unbind);
            // A loop that was closed waits for nothing.
            let _ = settle.and_then(|settle| {
                event_loop.call_method1(py, "call_soon_threadsafe", (settle, given, name, value))
            });
        });
    });
    future.call_method1("add_done_callback", (Abort(task.abort_handle()),))?;
    Ok(future)
}

/// Gives a future what it waits for, unless it was cancelled in the meantime.
#[pyfunction]
fn settle(future: &Bound<'_, PyAny>, name: &str, value: Py<PyAny>) -> PyResult<()> {
    if !future.call_method0("done")?.is_truthy()? {
        future.call_method1(name, (value,))?;
    }
    Ok(())
}

/// Ends work that nobody waits for any more.
#[pyclass(frozen, module = "boardwire._core")]
struct Abort(AbortHandle);

#[pymethods]
impl Abort {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}
