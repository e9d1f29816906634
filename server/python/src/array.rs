//! Arrays of numpy: zero-copy arrays over memory that a step owns, and copies of actions.
#![expect(unsafe_code, reason = "numpy takes pointers")]

use std::ptr::null_mut;

use numpy::npyffi::{NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use numpy::{Element, PyArray1, PyArrayDescrMethods as _, PyArrayMethods as _};
use pyo3::prelude::*;

/// Returns a read-only array of the given shape over `bytes`, without a copy. The array keeps `owner` alive.
///
/// # Safety
/// `owner` must own `bytes`, and `bytes` must neither change nor move while `owner` lives.
pub(crate) unsafe fn over<'py, T: Element>(
    owner: &Bound<'py, PyAny>,
    bytes: &[u8],
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let (py, size) = (owner.py(), size_of::<T>());
    assert_eq!(
        shape.iter().product::<usize>() * size,
        bytes.len(),
        "the column has as many bytes as its shape"
    );
    let (mut dims, mut strides) = ([0; 3], [0; 3]);
    let mut stride = size;
    for (axis, &length) in shape.iter().enumerate().rev() {
        (dims[axis], strides[axis]) = (whole(length), whole(stride));
        stride *= length;
    }
    // SAFETY: the array covers exactly `bytes`. NumPy derives the alignment from the address, and does not write to an
    // array without the writeable flag. The array holds `owner` as its base object, and `owner` holds the bytes.
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            T::get_dtype(py).into_dtype_ptr(),
            i32::try_from(shape.len()).expect("three axes at most"),
            dims.as_mut_ptr(),
            strides.as_mut_ptr(),
            bytes.as_ptr().cast_mut().cast(),
            0,
            null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), owner.clone().into_ptr());
        Ok(array)
    }
}

/// Copies the actions in a contiguous array of `uint8`, `int64` or `int32`.
///
/// Returns `None` for any other array, and if an action is not in 0..=255.
pub(crate) fn actions(array: &Bound<'_, PyAny>) -> Option<bytes::Bytes> {
    actions_of::<u8>(array).or_else(|| actions_of::<i64>(array)).or_else(|| actions_of::<i32>(array))
}

fn actions_of<T: Element + Copy>(array: &Bound<'_, PyAny>) -> Option<bytes::Bytes>
where
    u8: TryFrom<T>,
{
    let array = array.cast_exact::<PyArray1<T>>().ok()?;
    // SAFETY: the array keeps its memory while it is borrowed. A thread that writes to the array at the same time, without
    // Python's lock, changes which actions are copied. Each action is checked after it is copied.
    let actions = unsafe { array.as_slice() }.ok()?;
    let mut copied = Vec::with_capacity(actions.len());
    for &action in actions {
        copied.push(u8::try_from(action).ok()?);
    }
    Some(copied.into())
}

fn whole(number: usize) -> npy_intp {
    npy_intp::try_from(number).expect("no memory is as large")
}
