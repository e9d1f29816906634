//! Reads and writes protocol messages as canonical JSON.

use std::path::Path;

use anyhow::Context as _;
use boardwire_api::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;

/// Reads a message of type `name` from a file, or from standard input for `-`.
///
/// # Errors
/// The file cannot be read, or does not contain exactly one such message.
pub(super) fn read<M: Message + Default>(name: &str, path: &Path) -> anyhow::Result<M> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin())?
    } else {
        std::fs::read_to_string(path)?
    };
    let mut json = serde_json::Deserializer::from_str(&text);
    let message = DynamicMessage::deserialize(descriptor(name)?, &mut json);
    let message = message.with_context(|| format!("this is not a boardwire.v1.{name}"))?;
    json.end().with_context(|| format!("there is text after the {name}"))?;
    Ok(message.transcode_to()?)
}

/// Returns a message as JSON. With `snake_case`, fields are named as in the `.proto` files, else in camel case.
pub(super) fn write(name: &str, message: &impl Message, snake_case: bool) -> anyhow::Result<Value> {
    let mut dynamic = DynamicMessage::new(descriptor(name)?);
    dynamic.transcode_from(message)?;
    let options = SerializeOptions::new().use_proto_field_name(snake_case);
    Ok(dynamic.serialize_with_options(serde_json::value::Serializer, &options)?)
}

fn descriptor(name: &str) -> anyhow::Result<MessageDescriptor> {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).context("the protocol's descriptors")?;
    pool.get_message_by_name(&format!("boardwire.v1.{name}")).with_context(|| format!("no message {name}"))
}
