//! Parquet files of recordings, column by column.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type,
};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

/// Under which key a file's metadata has what it says of itself.
const KEY: &str = "boardwire";
/// The same of the arena that has written it: the hash of what it has played.
const ARENA: &str = "boardwire.arena";

/// The values of a column. Of a column with `present` only those rows have a value, and `values` are theirs.
#[derive(Clone, Copy)]
pub(super) enum Values<'a> {
    /// Numbers without a sign, of so many bits.
    Int {
        values: &'a [i32],
        bits: i8,
        present: Option<&'a [bool]>,
    },
    /// Numbers of 64 bits.
    Long {
        values: &'a [i64],
        unsigned: bool,
    },
    Float {
        values: &'a [f32],
        present: &'a [bool],
    },
    Flag(&'a [bool]),
    Text(&'a [String]),
    /// So many bytes a row.
    Bytes {
        values: &'a [u8],
        width: usize,
    },
}

impl Values<'_> {
    fn field(self, name: &str) -> anyhow::Result<TypePtr> {
        let integer = |bit_width, is_signed| LogicalType::integer(bit_width, is_signed);
        let (physical, logical, is_optional) = match self {
            Self::Int { bits, present, .. } => {
                (Physical::INT32, Some(integer(bits, false)), present.is_some())
            }
            Self::Long { unsigned, .. } => (Physical::INT64, Some(integer(64, !unsigned)), false),
            Self::Float { .. } => (Physical::FLOAT, None, true),
            Self::Flag(_) => (Physical::BOOLEAN, None, false),
            Self::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String), false),
            Self::Bytes { .. } => (Physical::FIXED_LEN_BYTE_ARRAY, None, false),
        };
        let length = if let Self::Bytes { width, .. } = self { i32::try_from(width)? } else { -1 };
        let repetition = if is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .with_length(length);
        Ok(Arc::new(field.build()?))
    }

    fn write(self, column: &mut SerializedColumnWriter<'_>) -> anyhow::Result<()> {
        let levels = |present: &[bool]| present.iter().map(|&there| i16::from(there)).collect::<Vec<_>>();
        match self {
            Self::Int { values, present, .. } => {
                let levels = present.map(levels);
                column.typed::<Int32Type>().write_batch(values, levels.as_deref(), None)?
            }
            Self::Long { values, .. } => column.typed::<Int64Type>().write_batch(values, None, None)?,
            Self::Float { values, present } => {
                column.typed::<FloatType>().write_batch(values, Some(&levels(present)), None)?
            }
            Self::Flag(values) => column.typed::<BoolType>().write_batch(values, None, None)?,
            Self::Text(values) => {
                let values: Vec<ByteArray> = values.iter().map(|text| text.as_str().into()).collect();
                column.typed::<ByteArrayType>().write_batch(&values, None, None)?
            }
            Self::Bytes { values, width } => {
                let row = |bytes: &[u8]| FixedLenByteArray::from(bytes.to_vec());
                let values: Vec<FixedLenByteArray> = values.chunks_exact(width).map(row).collect();
                column.typed::<FixedLenByteArrayType>().write_batch(&values, None, None)?
            }
        };
        Ok(())
    }
}

/// Writes a file of these columns, with what it says of itself and of its arena; it is there when it is whole, also after a
/// loss of power.
pub(super) fn write(
    path: &Path,
    (facts, arena): (&str, &str),
    columns: &[(&str, Values<'_>)],
) -> anyhow::Result<()> {
    let fields = columns.iter().map(|(name, values)| values.field(name));
    let fields = fields.collect::<anyhow::Result<Vec<_>>>()?;
    let schema = Arc::new(Type::group_type_builder("steps").with_fields(fields).build()?);
    let told = [(KEY, facts), (ARENA, arena)];
    let told = told.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(told.to_vec()));
    let aside = path.with_extension("new");
    let mut file = SerializedFileWriter::new(File::create(&aside)?, schema, Arc::new(properties.build()))?;
    let mut group = file.next_row_group()?;
    for (_, values) in columns {
        let mut column = group.next_column()?.expect("the schema has as many");
        values.write(&mut column)?;
        column.close()?;
    }
    group.close()?;
    file.into_inner()?.sync_all()?;
    std::fs::rename(aside, path)?;
    let folder = path.parent().context("it is in a folder")?;
    match File::open(folder)?.sync_all() {
        // Not every file system can.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => Ok(synced?),
    }
}

/// What a file says of itself.
pub(super) struct There {
    pub(super) facts: String,
    /// The hash of what its arena has played; files of before do not tell.
    pub(super) arena: Option<String>,
    /// The number of the episode after its last.
    pub(super) end: u64,
}

/// Looks at a file of a recording.
pub(super) fn look(path: &Path) -> anyhow::Result<There> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let metadata = file.metadata();
    let told = |key: &str| {
        let mut all = metadata.file_metadata().key_value_metadata().into_iter().flatten();
        all.find(|told| told.key == key).and_then(|told| told.value.clone())
    };
    let facts =
        told(KEY).with_context(|| format!("it is not of a recording: its metadata has no `{KEY}`"))?;
    let last = metadata.row_groups().iter().filter_map(|group| match group.column(0).statistics() {
        Some(Statistics::Int64(episodes)) => episodes.max_opt().copied(),
        _ => None,
    });
    let end = last
        .max()
        .and_then(|last| u64::try_from(last + 1).ok())
        .context("it does not say of which episodes it is")?;
    Ok(There { facts, arena: told(ARENA), end })
}
