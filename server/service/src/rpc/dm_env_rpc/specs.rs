//! What an agent can do and see: actions and observations, each with the number (UID) that stands for it.
//!
//! Numbers do not depend on the world; fields of the view are counted from [`FIRST_FIELD`], in the order in which the
//! game describes them.

use std::collections::{BTreeMap, BTreeSet};

use boardwire_api::dm_env_rpc::{
    ActionObservationSpecs, DataType, Tensor, TensorSpec, tensor, tensor_spec::Value, tensor_spec::value,
};
use boardwire_batch::Refused;
use boardwire_batch::batch::{Step, flag};
use boardwire_kernel::{Field, GameInfo, Seat};
use bytes::Bytes;

use super::tensors::{self, Single};

/// The action.
const ACTION: u64 = 1;
/// What is observed besides the view.
const MASK: u64 = 1;
const REWARD: u64 = 2;
const SUBSTITUTED: u64 = 3;
/// The view's first field.
const FIRST_FIELD: u64 = 16;

/// All that can be done and seen at a table.
pub(super) fn specs(info: &GameInfo) -> ActionObservationSpecs {
    let actions = i32::try_from(info.actions.count()).expect("an action is a byte");
    let action = named("action", int32s(vec![], actions - 1));
    let reward = TensorSpec { dtype: DataType::Float.into(), ..TensorSpec::default() };
    let others = [
        (MASK, named("action_mask", flags(vec![actions]))),
        (REWARD, named("reward", reward)),
        (SUBSTITUTED, named("substituted", flags(vec![]))),
    ];
    let fields = fields(info).map(|(uid, _, field)| {
        let (shape, most) = (shape(field), field.max);
        let spec =
            if is_bytes(field) { uint8s(shape, most.to_le_bytes()[0]) } else { int32s(shape, most.into()) };
        // No game's field can be mistaken for another observation, and clients that nest by dots have a view.
        (uid, named(&format!("view.{}", field.name), spec))
    });
    ActionObservationSpecs {
        actions: [(ACTION, action)].into(),
        observations: others.into_iter().chain(fields).collect(),
    }
}

/// The observations that are asked for, each once.
///
/// # Errors
/// One that there is not.
pub(super) fn wanted(info: &GameInfo, requested: &[u64]) -> Result<BTreeSet<u64>, Refused> {
    let fields = FIRST_FIELD..FIRST_FIELD + info.layout.fields.len() as u64;
    let is_known = |uid: &u64| (MASK..=SUBSTITUTED).contains(uid) || fields.contains(uid);
    match requested.iter().find(|uid| !is_known(uid)) {
        None => Ok(requested.iter().copied().collect()),
        Some(unknown) => Err(Refused::BadField {
            field: "requested_observations",
            value: unknown.to_string(),
            expected: format!("of the UIDs {MASK} to {SUBSTITUTED} and {FIRST_FIELD} to {}", fields.end - 1),
        }),
    }
}

/// The action of a step that needs one.
///
/// # Errors
/// None, another besides, or one that is not as its spec says.
pub(super) fn action(info: &GameInfo, actions: &BTreeMap<u64, Tensor>) -> Result<u8, Refused> {
    let most = info.actions.count() - 1;
    let refuse = |value: String| Refused::BadField {
        field: "actions",
        value,
        expected: format!("UID {ACTION} (`action`) alone, an int32 of shape [] from 0 to {most}"),
    };
    if let Some(unknown) = actions.keys().find(|uid| **uid != ACTION) {
        return Err(refuse(format!("UID {unknown}")));
    }
    let given = actions.get(&ACTION).ok_or_else(|| refuse("nothing".to_owned()))?;
    let Some((Single::Whole(index), tensor::Payload::Int32s(_))) =
        tensors::single(given).zip(given.payload.as_ref())
    else {
        return Err(refuse(format!("UID {ACTION}: {}", tensors::described(given))));
    };
    let index = u8::try_from(index).ok().filter(|index| usize::from(*index) <= most);
    index.ok_or_else(|| refuse(format!("UID {ACTION}: {}", tensors::described(given))))
}

/// What `seat` is shown of a step, as far as it is wanted.
pub(super) fn observations(
    info: &GameInfo,
    seat: Seat,
    step: &Step,
    wanted: &BTreeSet<u64>,
) -> BTreeMap<u64, Tensor> {
    let actions = info.actions.count();
    let others = [MASK, REWARD, SUBSTITUTED].into_iter().filter(|uid| wanted.contains(uid)).map(|uid| {
        let tensor = match uid {
            MASK => {
                let bits = (0..actions).map(|action| step.mask()[action / 8] >> (action % 8) & 1);
                tensors::int8s(bits.collect(), vec![i32::try_from(actions).expect("an action is a byte")])
            }
            REWARD => {
                let own = step.reward().chunks_exact(4).nth(seat.index()).and_then(|own| own.try_into().ok());
                tensors::float(f32::from_le_bytes(own.unwrap_or_default()))
            }
            _ => tensors::int8s(Bytes::from(vec![u8::from(step.flags()[0] & flag::SUBSTITUTED > 0)]), vec![]),
        };
        (uid, tensor)
    });
    let fields = fields(info).filter(|(uid, ..)| wanted.contains(uid)).map(|(uid, offset, field)| {
        let bytes = &step.view()[offset..offset + field.bytes()];
        let tensor = if is_bytes(field) {
            tensors::uint8s(Bytes::copy_from_slice(bytes), shape(field))
        } else {
            let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |high, &low| high << 8 | i32::from(low));
            tensors::int32s(bytes.chunks(field.width()).map(number).collect(), shape(field))
        };
        (uid, tensor)
    });
    others.chain(fields).collect()
}

/// The fields of the view: number, first byte, description.
fn fields(info: &GameInfo) -> impl Iterator<Item = (u64, usize, &Field)> {
    (FIRST_FIELD..).zip(info.layout.with_offsets()).map(|(uid, (offset, field))| (uid, offset, field))
}

/// Whether a field's values are sent as bytes. `DmEnvAdaptor` adds 1 to the maximum of a single value, in its own type.
fn is_bytes(field: &Field) -> bool {
    field.max < u16::from(u8::MAX)
}

fn shape(field: &Field) -> Vec<i32> {
    field.shape().map(i32::from).collect()
}

fn named(name: &str, spec: TensorSpec) -> TensorSpec {
    TensorSpec { name: name.to_owned(), ..spec }
}

fn bounded(shape: Vec<i32>, dtype: DataType, min: value::Payload, max: value::Payload) -> TensorSpec {
    let bound = |payload| Some(Value { payload: Some(payload) });
    TensorSpec { name: String::new(), shape, dtype: dtype.into(), min: bound(min), max: bound(max) }
}

fn flags(shape: Vec<i32>) -> TensorSpec {
    let bound = |most: u8| value::Payload::Int8s(tensor::Int8Array { array: vec![most].into() });
    bounded(shape, DataType::Int8, bound(0), bound(1))
}

fn uint8s(shape: Vec<i32>, most: u8) -> TensorSpec {
    let bound = |most: u8| value::Payload::Uint8s(tensor::Uint8Array { array: vec![most].into() });
    bounded(shape, DataType::Uint8, bound(0), bound(most))
}

fn int32s(shape: Vec<i32>, most: i32) -> TensorSpec {
    let bound = |most: i32| value::Payload::Int32s(tensor::Int32Array { array: vec![most] });
    bounded(shape, DataType::Int32, bound(0), bound(most))
}
