//! The native extension of the Python package `boardwire`: the in-process engine, connections to servers, features of
//! views, pictures, and the command-line program.
//!
//! The engine plays the same batches and searches as the server, and refuses requests with the same messages. The
//! client calls the engine with the messages of the protocol. Steps are the exception: the client receives their columns
//! as arrays over the memory that the engine wrote. A process can read all its own memory, so the engine has no matches.

mod array;
mod awaiting;
mod batch;
mod calls;
mod columns;
mod engine;
mod features;
mod fork;
mod messages;
mod painter;
mod pending_step;
mod refuse;
mod shape;
mod step;
mod wait;
mod wire;

use std::ffi::OsString;
use std::io::Write as _;
use std::sync::OnceLock;

pub use boardwire::Registry;
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The games of this extension.
static GAMES: OnceLock<Registry> = OnceLock::new();

/// Returns the games of this extension.
fn games() -> &'static Registry {
    GAMES.get().expect("`init` sets the games")
}

/// Runs the command-line program and returns its exit code. The first argument is the program's name.
///
/// Ends the process after help and usage errors.
#[pyfunction]
fn main(py: Python<'_>, line: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = boardwire::run(games(), line);
        // A Rust program flushes its stdout when it ends. Python does not flush Rust's stdout.
        let _ = std::io::stdout().flush();
        code
    })
}

/// Refuses sub-interpreters. The extension's threads always attach to the main interpreter.
///
/// # Errors
/// `ImportError`: This is not the main interpreter.
#[expect(unsafe_code, reason = "PyO3 has no safe function for it")]
fn check_interpreter() -> PyResult<()> {
    // SAFETY: An import holds the lock of its interpreter, whose state is not null.
    let id = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if id == 0 {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "boardwire cannot run in a sub-interpreter: use the main interpreter or a process",
    ))
}

/// The compiled part of the package `boardwire`.
#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    init(module, Registry::standard())
}

/// Fills an extension module with an engine that plays `games`, for `boardwire.connect("local:", module=...)`.
///
/// ```ignore
/// #[pymodule(gil_used = true)]
/// fn my_core(module: &Bound<'_, PyModule>) -> PyResult<()> {
///     boardwire_python::init(module, Registry::standard().with::<MyGame>())
/// }
/// ```
///
/// # Errors
/// `ImportError`: This is not the main interpreter.
pub fn init(module: &Bound<'_, PyModule>, games: Registry) -> PyResult<()> {
    check_interpreter()?;
    // Python may import a module again after it was removed from `sys.modules`.
    GAMES.get_or_init(|| games);
    // Derives the key now, so that a fork cannot interrupt it later.
    engine::key();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<features::Features>()?;
    module.add_class::<painter::Painter>()?;
    module.add_class::<pending_step::PendingStep>()?;
    module.add_class::<step::Step>()?;
    module.add_class::<wire::Channel>()?;
    module.add_class::<wire::CallStream>()?;
    module.add_class::<wire::Tls>()?;
    module.add_function(wrap_pyfunction!(wire::check_address, module)?)?;
    module.add_function(wrap_pyfunction!(wire::is_local, module)?)?;
    module.add_function(wrap_pyfunction!(messages::encode, module)?)?;
    module.add_function(wrap_pyfunction!(messages::decode, module)?)?;
    module.add_function(wrap_pyfunction!(messages::to_json, module)?)?;
    module.add_function(wrap_pyfunction!(messages::from_json, module)?)?;
    module.add_class::<shape::Rows>()?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    fork::register();
    Ok(())
}
