//! Messages of the protocol as canonical JSON.

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use boardwire_api::DESCRIPTORS;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;

/// Reads the message called `name` from a file, or from standard input for `-`.
///
/// # Errors
/// A file that cannot be read, or holds anything else or anything more.
pub(super) fn read<M: Message + Default>(name: &str, path: &Path) -> anyhow::Result<M> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        text
    } else {
        std::fs::read_to_string(path)?
    };
    let mut json = serde_json::Deserializer::from_str(&text);
    let message = DynamicMessage::deserialize(descriptor(name)?, &mut json);
    let message = message.with_context(|| format!("it is no boardwire.v1.{name}"))?;
    json.end().with_context(|| format!("something follows the {name}"))?;
    Ok(message.transcode_to()?)
}

/// The message called `name` as JSON, with fields named as in the protocol's files where `snake_case` says so.
///
/// # Errors
/// The protocol has no such message.
pub(super) fn write(name: &str, message: &impl Message, snake_case: bool) -> anyhow::Result<Value> {
    let mut dynamic = DynamicMessage::new(descriptor(name)?);
    dynamic.transcode_from(message)?;
    let options = SerializeOptions::new().use_proto_field_name(snake_case);
    Ok(dynamic.serialize_with_options(serde_json::value::Serializer, &options)?)
}

fn descriptor(name: &str) -> anyhow::Result<MessageDescriptor> {
    let pool = DescriptorPool::decode(DESCRIPTORS).context("the protocol's descriptors")?;
    pool.get_message_by_name(&format!("boardwire.v1.{name}"))
        .with_context(|| format!("no message is a {name}"))
}
