//! Returns the results of work in another thread as futures of an asyncio event loop.
//!
//! `pyo3-async-runtimes` uses one runtime for the whole process. A fork does not copy the runtime's threads, so a child
//! would wait forever. Here each connection has its own runtime.

use std::future::Future;

use pyo3::prelude::*;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// Starts work on a runtime and returns an `asyncio.Future` of the running event loop.
///
/// `convert` converts the work's outcome to the future's result. Cancelling the future drops the work.
///
/// # Errors
/// No event loop runs in this thread.
pub(crate) fn begin<'py, T: Send + 'static>(
    py: Python<'py>,
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
    convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let event_loop = py.import("asyncio")?.call_method0("get_running_loop")?;
    let future = event_loop.call_method0("create_future")?;
    let (event_loop, settled_future) = (event_loop.unbind(), future.clone().unbind());
    let task = runtime.spawn(async move {
        let outcome = work.await;
        // Does nothing while the interpreter shuts down.
        Python::try_attach(|py| {
            let (name, value) = match convert(py, outcome) {
                Ok(value) => ("set_result", value),
                Err(error) => ("set_exception", error.into_value(py).into_any()),
            };
            let settle = wrap_pyfunction!(settle, py).map(Bound::unbind);
            // Fails if the event loop is closed: then no task waits for the future.
            let _ = settle.and_then(|settle| {
                event_loop.call_method1(py, "call_soon_threadsafe", (settle, settled_future, name, value))
            });
        });
    });
    future.call_method1("add_done_callback", (Abort(task.abort_handle()),))?;
    Ok(future)
}

/// Calls the method `name` of a future with `value`, unless the future was cancelled in the meantime.
#[pyfunction]
fn settle(future: &Bound<'_, PyAny>, name: &str, value: Py<PyAny>) -> PyResult<()> {
    if !future.call_method0("done")?.is_truthy()? {
        future.call_method1(name, (value,))?;
    }
    Ok(())
}

/// A done callback of a future: aborts the work if the future was cancelled.
#[pyclass(frozen, module = "boardwire._core")]
struct Abort(AbortHandle);

#[pymethods]
impl Abort {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}
