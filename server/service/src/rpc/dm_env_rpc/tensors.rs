//! Tensors: what they hold, and values as tensors.

use boardwire_api::dm_env_rpc::{Tensor, tensor};
use bytes::Bytes;
use tensor::Payload;

/// The elements of a tensor that is no more than one value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Single<'a> {
    Whole(i128),
    Fraction(f64),
    Flag(bool),
    Text(&'a str),
}

/// What a single value is; nothing if the tensor has another shape than `[]`, or another number of elements than one.
pub(super) fn single(tensor: &Tensor) -> Option<Single<'_>> {
    if !tensor.shape.is_empty() {
        return None;
    }
    let whole = |value: i128| Single::Whole(value);
    match tensor.payload.as_ref()? {
        Payload::Floats(values) => one(&values.array).map(|&value| Single::Fraction(value.into())),
        Payload::Doubles(values) => one(&values.array).map(|&value| Single::Fraction(value)),
        Payload::Int8s(values) => one(&values.array).map(|&value| whole(value.cast_signed().into())),
        Payload::Int32s(values) => one(&values.array).map(|&value| whole(value.into())),
        Payload::Int64s(values) => one(&values.array).map(|&value| whole(value.into())),
        Payload::Uint8s(values) => one(&values.array).map(|&value| whole(value.into())),
        Payload::Uint32s(values) => one(&values.array).map(|&value| whole(value.into())),
        Payload::Uint64s(values) => one(&values.array).map(|&value| whole(value.into())),
        Payload::Bools(values) => one(&values.array).map(|&value| Single::Flag(value)),
        Payload::Strings(values) => one(&values.array).map(|value| Single::Text(value)),
        Payload::Protos(_) => None,
    }
}

fn one<T>(values: &[T]) -> Option<&T> {
    if let [value] = values { Some(value) } else { None }
}

/// `count` texts in a row, or a single one, which stands for them all; nothing if the tensor is not that.
pub(super) fn texts(tensor: &Tensor, count: usize) -> Option<Vec<&str>> {
    let Some(Payload::Strings(values)) = &tensor.payload else { return None };
    let fits = match tensor.shape[..] {
        [] => values.array.len() == 1,
        // A negative length is that of what is there.
        [length] => length < 0 || usize::try_from(length) == Ok(count),
        _ => false,
    };
    match &values.array[..] {
        _ if !fits => None,
        [one] => Some(vec![one; count]),
        all => (all.len() == count).then(|| all.iter().map(String::as_str).collect()),
    }
}

/// What a tensor holds, for the message that refuses it: a value, or how many elements of which type in which shape.
pub(super) fn described(tensor: &Tensor) -> String {
    match single(tensor) {
        Some(Single::Whole(value)) => return value.to_string(),
        Some(Single::Fraction(value)) => return format!("{value:?}"),
        Some(Single::Flag(value)) => return value.to_string(),
        Some(Single::Text(value)) => return value.to_owned(),
        None => {}
    }
    let (name, count) = match &tensor.payload {
        Some(Payload::Floats(values)) => ("floats", values.array.len()),
        Some(Payload::Doubles(values)) => ("doubles", values.array.len()),
        Some(Payload::Int8s(values)) => ("int8s", values.array.len()),
        Some(Payload::Int32s(values)) => ("int32s", values.array.len()),
        Some(Payload::Int64s(values)) => ("int64s", values.array.len()),
        Some(Payload::Uint8s(values)) => ("uint8s", values.array.len()),
        Some(Payload::Uint32s(values)) => ("uint32s", values.array.len()),
        Some(Payload::Uint64s(values)) => ("uint64s", values.array.len()),
        Some(Payload::Bools(values)) => ("bools", values.array.len()),
        Some(Payload::Strings(values)) => ("strings", values.array.len()),
        Some(Payload::Protos(values)) => ("protos", values.array.len()),
        None => return "a tensor without elements".to_owned(),
    };
    format!("{count} {name} of shape {:?}", tensor.shape)
}

/// Bytes, each a number from 0.
pub(super) fn uint8s(values: Bytes, shape: Vec<i32>) -> Tensor {
    Tensor { shape, payload: Some(Payload::Uint8s(tensor::Uint8Array { array: values })) }
}

/// Flags: 0 or 1.
pub(super) fn int8s(values: Bytes, shape: Vec<i32>) -> Tensor {
    Tensor { shape, payload: Some(Payload::Int8s(tensor::Int8Array { array: values })) }
}

/// Numbers.
pub(super) fn int32s(values: Vec<i32>, shape: Vec<i32>) -> Tensor {
    Tensor { shape, payload: Some(Payload::Int32s(tensor::Int32Array { array: values })) }
}

/// A single float.
pub(super) fn float(value: f32) -> Tensor {
    Tensor { shape: vec![], payload: Some(Payload::Floats(tensor::FloatArray { array: vec![value] })) }
}
