//! The formats of values in the journal, for serde.

use serde::{Deserialize, Deserializer, Serializer};

/// Bytes as hexadecimal digits.
pub(crate) mod hex {
    use super::{Deserialize, Deserializer, Serializer};
    use crate::hex;
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hex::hex(bytes.as_ref()))
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>, B: TryFrom<Vec<u8>>>(from: D) -> Result<B, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = hex::unhex(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| D::Error::custom(format!("`{text}` is not hexadecimal or has the wrong length")))
    }
}

/// Optional bytes as hexadecimal digits.
pub(crate) mod hex_option {
    use super::{Deserializer, Serializer, hex};

    #[expect(clippy::ref_option, reason = "serde requires this signature")]
    pub(crate) fn serialize<S: Serializer>(bytes: &Option<[u8; 32]>, to: S) -> Result<S::Ok, S::Error> {
        let Some(bytes) = bytes else { return to.serialize_none() };
        hex::serialize(bytes, to)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<[u8; 32]>, D::Error> {
        hex::deserialize(from).map(Some)
    }
}

/// A key as hexadecimal digits.
pub(crate) mod key {
    use super::{Deserializer, Serializer, hex};
    use boardwire_kernel::Key;

    pub(crate) fn serialize<S: Serializer>(key: &Key, to: S) -> Result<S::Ok, S::Error> {
        hex::serialize(key.as_bytes(), to)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Key, D::Error> {
        hex::deserialize::<D, [u8; 32]>(from).map(Key::from)
    }
}

/// An enumeration of the protocol as a number.
pub(crate) mod number {
    use super::{Deserialize, Deserializer, Serializer};
    use serde::de::Error as _;

    pub(crate) fn serialize<E: Copy + Into<i32>, S: Serializer>(value: &E, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i32((*value).into())
    }

    pub(crate) fn deserialize<'a, E: TryFrom<i32>, D: Deserializer<'a>>(from: D) -> Result<E, D::Error> {
        let number = i32::deserialize(from)?;
        E::try_from(number)
            .map_err(|_| D::Error::custom(format!("{number} is not a value of the enumeration")))
    }
}

/// A time as microseconds since 1970, up to the year 9999.
pub(crate) mod time {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::{Deserialize, Deserializer, Serializer};
    use serde::de::Error as _;

    /// The latest time that a message can hold.
    const LATEST: u64 = 253_402_300_799_999_999;

    pub(crate) fn serialize<S: Serializer>(at: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        to.serialize_u64(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<SystemTime, D::Error> {
        let micros = u64::deserialize(from)?;
        if micros > LATEST {
            return Err(D::Error::custom(format!("{micros} microseconds are after the year 9999")));
        }
        Ok(UNIX_EPOCH + Duration::from_micros(micros))
    }
}
