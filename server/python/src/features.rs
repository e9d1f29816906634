//! Converts views to features in the layout of `boardwire.FeatureLayout`.

use numpy::{PyArrayDyn, PyArrayMethods as _, PyReadwriteArrayDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// From this number of views on, the conversion releases Python's lock.
const UNLOCKED_VIEWS: usize = 16;

/// The index of a value's first byte, and whether the value has a second byte.
type Value = (usize, bool);

/// A range of features with one feature for each possible value: the feature for 0, and the number of features.
type Block = (usize, usize);

/// How the values of a view become features, as `boardwire._features` plans it.
///
/// The fields are applied in this order, to features that are zero at first.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Plan {
    /// A value, its block, and the number that is written to the value's feature.
    ones: Vec<(Value, Block, f32)>,
    /// Values that are counted: each adds 1 to its feature.
    copies: Vec<(Value, Block)>,
    /// A feature that holds a count, and the count's divisor.
    greatest: Vec<(usize, f32)>,
    /// Values that name components, and a table with the features of each component.
    described: Vec<Described>,
    /// A number, its feature, and its divisor, which few numbers exceed.
    numbers: Vec<(Value, usize, f32)>,
    /// A value that is 0 if a place is empty, and the feature that is 1 in that case.
    empty: Vec<(Value, usize)>,
}

/// A converter of views to features.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Features {
    view_bytes: usize,
    size: usize,
    plan: Plan,
}

/// Values whose component features are written one after another, starting at feature `first`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Described {
    first: usize,
    values: Vec<Value>,
    table: Vec<Vec<f32>>,
}

/// A number that no valid view has at this byte.
struct Unknown {
    byte: usize,
    number: usize,
}

impl From<Unknown> for PyErr {
    fn from(Unknown { byte, number }: Unknown) -> Self {
        PyValueError::new_err(format!("`view` is not a view of this table: byte {byte} is {number}"))
    }
}

impl Plan {
    /// Writes the features of a view to `out`, which must contain zeros.
    fn write(&self, view: &[u8], out: &mut [f32]) -> Result<(), Unknown> {
        for &(value, block, written) in &self.ones {
            out[about(view, value, block)?] = written;
        }
        for &(value, block) in &self.copies {
            out[about(view, value, block)?] += 1.0;
        }
        for &(feature, greatest) in &self.greatest {
            out[feature] /= greatest;
        }
        for part in &self.described {
            let mut at = part.first;
            for &value in &part.values {
                let row = &part.table[about(view, value, (0, part.table.len()))?];
                out[at..at + row.len()].copy_from_slice(row);
                at += row.len();
            }
        }
        for &(value, feature, usual) in &self.numbers {
            out[feature] = f32::from(number(view, value)) / usual;
        }
        for &(value, feature) in &self.empty {
            out[feature] = f32::from(u8::from(number(view, value) == 0));
        }
        Ok(())
    }
}

impl Features {
    fn write_all(&self, views: &[u8], out: &mut [f32]) -> Result<(), Unknown> {
        let rows = views.chunks_exact(self.view_bytes).zip(out.chunks_exact_mut(self.size));
        for (view, out) in rows {
            self.plan.write(view, out)?;
        }
        Ok(())
    }
}

fn number(view: &[u8], (byte, wide): Value) -> u16 {
    u16::from_le_bytes([view[byte], if wide { view[byte + 1] } else { 0 }])
}

/// Returns the feature for a value.
fn about(view: &[u8], value: Value, (first, count): Block) -> Result<usize, Unknown> {
    let number = usize::from(number(view, value));
    if number < count { Ok(first + number) } else { Err(Unknown { byte: value.0, number }) }
}

#[pymethods]
impl Features {
    #[new]
    fn new(view_bytes: usize, size: usize, plan: Plan) -> Self {
        Self { view_bytes, size, plan }
    }

    /// Converts `uint8[..., bytes]` to `float32[..., features]`, written to `out` if it is given.
    ///
    /// Both arrays must be contiguous.
    #[pyo3(signature = (view, out=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        view: &Bound<'py, PyArrayDyn<u8>>,
        out: Option<Bound<'py, PyArrayDyn<f32>>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let bytes = *view.shape().last().unwrap_or(&0);
        if bytes != self.view_bytes {
            let message = format!("a view has {} bytes, not {bytes}", self.view_bytes);
            return Err(PyValueError::new_err(message));
        }
        let fresh = out.is_none();
        let out = out.unwrap_or_else(|| {
            let mut shape = view.shape().to_vec();
            shape[view.ndim() - 1] = self.size;
            PyArrayDyn::zeros(py, shape, false)
        });
        let mut written: PyReadwriteArrayDyn<'py, f32> = out.try_readwrite()?;
        let view = view.try_readonly()?;
        let (views, into) = (view.as_slice()?, written.as_slice_mut()?);
        if !fresh {
            into.fill(0.0);
        }
        if views.len() < UNLOCKED_VIEWS * self.view_bytes {
            self.write_all(views, into)?;
        } else {
            py.detach(|| self.write_all(views, into))?;
        }
        drop(written);
        Ok(out)
    }
}
