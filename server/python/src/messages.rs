//! Converts protocol messages to and from Python dictionaries, by the protocol's descriptors.
//!
//! The keys of a dictionary are the names of the message's fields. A request field that is missing or `None` is not set.
//! A response has every field: `None` if the field is not set, otherwise its value or default. Numbers, strings and
//! bytes are Python's own. Other types convert like this:
//! - an enum value is the end of its name in lower case: `rank` is `REWARD_KIND_RANK`; `None` if unspecified, `unknown`
//!   if a newer server sent it;
//! - a list is a tuple, a map is a dictionary, and any other message is a dictionary;
//! - a `Duration` is a number of seconds, a `Timestamp` a `datetime` in UTC, a `Player` its name, such as `mc:160`;
//! - a `google.rpc.Status` is the exception for that status;
//! - a `Step` is its encoded bytes, for [`Rows`](crate::shape::Rows);
//! - a `Replay` is a dictionary that also contains its encoded bytes, as `raw`.

use std::borrow::Cow;
use std::sync::LazyLock;

use boardwire_api::v1;
use boardwire_batch::messages::{parse_player, player_name};
use bytes::Bytes;
use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, EnumDescriptor, FieldDescriptor, Kind, MapKey, MessageDescriptor,
    ReflectMessage as _, Value,
};
use pyo3::CastError;
use pyo3::exceptions::{PyKeyError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDateTime, PyDict, PyMapping, PyString, PyTuple, PyTzInfo};
use tonic::codegen::http::uri::PathAndQuery;

use crate::refuse;
use crate::wire::refusal;

static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(boardwire_api::FILE_DESCRIPTOR_SET).expect("it is generated"));

const DURATION: &str = "google.protobuf.Duration";
const TIMESTAMP: &str = "google.protobuf.Timestamp";
const STATUS: &str = "google.rpc.Status";
const PLAYER: &str = "boardwire.v1.Player";
const STEP: &str = "boardwire.v1.Step";
const REPLAY: &str = "boardwire.v1.Replay";

const NANOS: f64 = 1e9;

/// A method of a service.
pub(crate) struct Method {
    pub(crate) path: PathAndQuery,
    input: MessageDescriptor,
    pub(crate) output: MessageDescriptor,
}

impl Method {
    /// Returns the method with a name such as `MatchService/Act`.
    ///
    /// # Errors
    /// `KeyError`: There is no such method.
    pub(crate) fn named(name: &str) -> PyResult<Self> {
        let unknown = || PyKeyError::new_err(name.to_owned());
        let (service, method) = name.split_once('/').ok_or_else(unknown)?;
        let service = POOL.get_service_by_name(&format!("boardwire.v1.{service}")).ok_or_else(unknown)?;
        let method = service.methods().find(|each| each.name() == method).ok_or_else(unknown)?;
        let path = format!("/boardwire.v1.{name}").parse().map_err(|_| unknown())?;
        Ok(Self { path, input: method.input(), output: method.output() })
    }

    /// Encodes a request.
    ///
    /// # Errors
    /// A field does not exist, or a value does not fit its field.
    pub(crate) fn request(&self, fields: &Bound<'_, PyDict>) -> PyResult<Bytes> {
        Ok(message(fields, &self.input)?.encode_to_vec().into())
    }
}

/// Decodes a message to a dictionary.
///
/// # Errors
/// The bytes are not a message of this type.
pub(crate) fn read<'py>(
    py: Python<'py>,
    kind: &MessageDescriptor,
    bytes: Bytes,
) -> PyResult<Bound<'py, PyDict>> {
    let message = DynamicMessage::decode(kind.clone(), bytes)
        .map_err(|error| refuse::fault(py, &format!("{} cannot be read: {error}", kind.full_name())))?;
    dictionary(py, &message)
}

/// Encodes a message, given the name of its type, such as `Replay`, and its fields.
#[pyfunction]
pub(crate) fn encode(name: &str, fields: &Bound<'_, PyDict>) -> PyResult<Cow<'static, [u8]>> {
    Ok(message(fields, &kind(name)?)?.encode_to_vec().into())
}

/// Decodes a message to its fields.
#[pyfunction]
pub(crate) fn decode<'py>(py: Python<'py>, name: &str, bytes: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    read(py, &kind(name)?, Bytes::copy_from_slice(bytes))
}

/// Converts an encoded message to its canonical JSON.
#[pyfunction]
pub(crate) fn to_json(name: &str, bytes: &[u8]) -> PyResult<String> {
    let wrong = |error: String| PyValueError::new_err(error);
    let message = DynamicMessage::decode(kind(name)?, bytes).map_err(|error| wrong(error.to_string()))?;
    serde_json::to_string_pretty(&message).map_err(|error| wrong(error.to_string()))
}

/// Converts canonical JSON to the fields of a message.
///
/// Raises:
///     `ValueError`: The text is not a message of this type.
#[pyfunction]
pub(crate) fn from_json<'py>(py: Python<'py>, name: &str, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let mut text = serde_json::Deserializer::from_str(text);
    let message = DynamicMessage::deserialize(kind(name)?, &mut text).map_err(wrong)?;
    text.end().map_err(wrong)?;
    dictionary(py, &message)
}

fn kind(name: &str) -> PyResult<MessageDescriptor> {
    POOL.get_message_by_name(&format!("boardwire.v1.{name}"))
        .ok_or_else(|| PyKeyError::new_err(name.to_owned()))
}

/// Builds a message from its fields.
fn message(fields: &Bound<'_, PyDict>, kind: &MessageDescriptor) -> PyResult<DynamicMessage> {
    let mut message = DynamicMessage::new(kind.clone());
    for (name, value) in fields {
        if value.is_none() {
            continue;
        }
        let name: PyBackedStr = name.extract()?;
        let field = kind.get_field_by_name(&name).ok_or_else(|| PyKeyError::new_err(name.to_string()))?;
        let value = if field.is_map() {
            map(&field, &value)?
        } else if field.is_list() {
            let items = value.try_iter()?.map(|item| single(&field, &field.kind(), &item?));
            Value::List(items.collect::<PyResult<_>>()?)
        } else {
            single(&field, &field.kind(), &value)?
        };
        message.set_field(&field, value);
    }
    Ok(message)
}

/// Builds a map, whose keys are strings.
fn map(field: &FieldDescriptor, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let Kind::Message(entry) = field.kind() else { unreachable!("a map is a list of messages") };
    let values = entry.map_entry_value_field();
    let mut map = std::collections::HashMap::new();
    for item in given.cast::<PyMapping>()?.items()? {
        let (key, value): (String, Bound<'_, PyAny>) = item.extract()?;
        map.insert(MapKey::String(key), single(field, &values.kind(), &value)?);
    }
    Ok(Value::Map(map))
}

/// Converts one Python value of a field.
fn single(field: &FieldDescriptor, kind: &Kind, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let wrong = |error: PyErr| unfit(given.py(), field, given, &error);
    Ok(match kind {
        Kind::Bool => Value::Bool(given.is_truthy()?),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(given.extract().map_err(wrong)?),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(given.extract().map_err(wrong)?),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(given.extract().map_err(wrong)?),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(given.extract().map_err(wrong)?),
        Kind::Float => Value::F32(given.extract().map_err(wrong)?),
        Kind::Double => Value::F64(given.extract().map_err(wrong)?),
        Kind::String => Value::String(given.extract().map_err(wrong)?),
        Kind::Bytes => {
            let bytes: PyBackedBytes =
                given.extract().map_err(|error: CastError<'_, '_>| wrong(error.into()))?;
            Value::Bytes(Bytes::copy_from_slice(&bytes))
        }
        Kind::Enum(kind) => {
            Value::EnumNumber(number(field, kind, &given.extract::<PyBackedStr>().map_err(wrong)?)?)
        }
        Kind::Message(kind) => Value::Message(match kind.full_name() {
            DURATION => duration(field, kind, given.extract().map_err(wrong)?)?,
            PLAYER => {
                let player = parse_player(&given.extract::<PyBackedStr>().map_err(wrong)?);
                DynamicMessage::decode(kind.clone(), player.encode_to_vec().as_slice()).expect("it is one")
            }
            _ => message(given.cast::<PyDict>()?, kind)?,
        }),
    })
}

/// Returns the exception for a value that does not fit its field.
fn unfit(py: Python<'_>, field: &FieldDescriptor, given: &Bound<'_, PyAny>, error: &PyErr) -> PyErr {
    let name = field.name();
    if error.is_instance_of::<PyOverflowError>(py) {
        return PyValueError::new_err(format!("`{name}` is out of range; got {given}"));
    }
    PyTypeError::new_err(format!("`{name}`: {}", error.value(py)))
}

fn duration(field: &FieldDescriptor, kind: &MessageDescriptor, seconds: f64) -> PyResult<DynamicMessage> {
    let whole = seconds.floor();
    let mut message = DynamicMessage::new(kind.clone());
    #[allow(clippy::cast_possible_truncation, reason = "it is checked")]
    if seconds.abs() < 1e15 {
        message.set_field_by_name("seconds", Value::I64(whole as i64));
        message.set_field_by_name("nanos", Value::I32(((seconds - whole) * NANOS).min(NANOS - 1.0) as i32));
        return Ok(message);
    }
    Err(PyValueError::new_err(format!("`{}` must be a number of seconds; got {seconds}", field.name())))
}

/// Returns the common prefix of the names of an enum's values.
fn prefix(kind: &EnumDescriptor) -> String {
    let first = kind.get_value(0).expect("an enum of proto3 has 0");
    first.name().trim_end_matches("UNSPECIFIED").to_owned()
}

/// # Errors
/// The enum has no value with this name.
fn number(field: &FieldDescriptor, kind: &EnumDescriptor, word: &str) -> PyResult<i32> {
    let prefix = prefix(kind);
    let name = format!("{prefix}{}", word.to_uppercase());
    let value = kind.get_value_by_name(&name).filter(|value| value.number() != 0);
    value.map(|value| value.number()).ok_or_else(|| {
        let words: Vec<_> = kind
            .values()
            .filter(|value| value.number() != 0)
            .map(|value| value.name()[prefix.len()..].to_lowercase())
            .collect();
        PyValueError::new_err(format!("`{}` must be one of {}; got {word:?}", field.name(), words.join(", ")))
    })
}

/// Converts a message to a dictionary of all its fields.
fn dictionary<'py>(py: Python<'py>, message: &DynamicMessage) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    for field in message.descriptor().fields() {
        let value = if field.supports_presence() && !message.has_field(&field) {
            py.None().into_bound(py)
        } else {
            value(py, &message.get_field(&field), &field.kind())?
        };
        fields.set_item(field.name(), value)?;
    }
    if message.descriptor().full_name() == REPLAY {
        fields.set_item("raw", PyBytes::new(py, &message.encode_to_vec()))?;
    }
    Ok(fields)
}

fn value<'py>(py: Python<'py>, given: &Value, kind: &Kind) -> PyResult<Bound<'py, PyAny>> {
    Ok(match given {
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::I32(value) => value.into_pyobject(py)?.into_any(),
        Value::I64(value) => value.into_pyobject(py)?.into_any(),
        Value::U32(value) => value.into_pyobject(py)?.into_any(),
        Value::U64(value) => value.into_pyobject(py)?.into_any(),
        Value::F32(value) => value.into_pyobject(py)?.into_any(),
        Value::F64(value) => value.into_pyobject(py)?.into_any(),
        Value::String(value) => PyString::new(py, value).into_any(),
        Value::Bytes(value) => PyBytes::new(py, value).into_any(),
        Value::EnumNumber(number) => word(py, kind, *number),
        Value::Message(message) => nested_message(py, message)?,
        Value::List(values) => {
            let values: Vec<_> = values.iter().map(|each| value(py, each, kind)).collect::<PyResult<_>>()?;
            PyTuple::new(py, values)?.into_any()
        }
        Value::Map(values) => {
            let Kind::Message(entry) = kind else { unreachable!("a map is a list of messages") };
            let (map, kind) = (PyDict::new(py), entry.map_entry_value_field().kind());
            for (key, each) in values {
                map.set_item(key.as_str().unwrap_or_default(), value(py, each, &kind)?)?;
            }
            map.into_any()
        }
    })
}

fn word<'py>(py: Python<'py>, kind: &Kind, number: i32) -> Bound<'py, PyAny> {
    let Kind::Enum(kind) = kind else { unreachable!("it is the value of an enum") };
    match kind.get_value(number) {
        _ if number == 0 => py.None().into_bound(py),
        Some(value) => PyString::new(py, &value.name()[prefix(kind).len()..].to_lowercase()).into_any(),
        None => PyString::new(py, "unknown").into_any(),
    }
}

/// Converts a nested message.
fn nested_message<'py>(py: Python<'py>, message: &DynamicMessage) -> PyResult<Bound<'py, PyAny>> {
    let number = |name| match message.get_field_by_name(name).as_deref() {
        Some(Value::I64(value)) => *value,
        Some(Value::I32(value)) => i64::from(*value),
        _ => 0,
    };
    #[allow(clippy::cast_precision_loss, reason = "seconds are few, and a Python float has no more")]
    let seconds = || number("seconds") as f64 + number("nanos") as f64 / NANOS;
    Ok(match message.descriptor().full_name() {
        DURATION => seconds().into_pyobject(py)?.into_any(),
        TIMESTAMP => {
            let utc = PyTzInfo::utc(py)?;
            PyDateTime::from_timestamp(py, seconds(), Some(&utc))?.into_any()
        }
        STATUS => {
            let status = message.transcode_to().expect("it is one");
            refusal(py, &status).into_value(py).into_bound(py).into_any()
        }
        PLAYER => match message.transcode_to::<v1::Player>().expect("it is one") {
            v1::Player { kind: None } => PyString::new(py, "unknown").into_any(),
            player => PyString::new(py, &player_name(&player)).into_any(),
        },
        STEP => PyBytes::new(py, &message.encode_to_vec()).into_any(),
        _ => dictionary(py, message)?.into_any(),
    })
}
