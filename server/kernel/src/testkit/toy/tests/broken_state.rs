//! The state of the broken variants.

use std::io::{Read, Write};

use borsh::{BorshDeserialize, BorshSerialize};

use super::super::state::State;

/// The toy's state, with data that only flaws use.
#[derive(Debug, Clone, Copy)]
pub(super) struct BrokenState {
    pub(super) toy: State,
    /// Compared, saved and restored.
    pub(super) mark: u8,
    /// Compared and saved, but not restored.
    pub(super) lost: u8,
    /// Neither compared nor saved.
    pub(super) ignored: u8,
    /// The number of extra bytes that are saved.
    pub(super) ballast: u16,
}

impl BrokenState {
    fn compared_fields(&self) -> (&State, u8, u8, u16) {
        (&self.toy, self.mark, self.lost, self.ballast)
    }
}

impl PartialEq for BrokenState {
    fn eq(&self, other: &Self) -> bool {
        self.compared_fields() == other.compared_fields()
    }
}

impl Eq for BrokenState {}

impl std::hash::Hash for BrokenState {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.compared_fields().hash(hasher);
    }
}

impl BorshSerialize for BrokenState {
    fn serialize<W: Write>(&self, writer: &mut W) -> std::io::Result<()> {
        (&self.toy, self.mark, self.lost, vec![0u8; self.ballast.into()]).serialize(writer)
    }
}

impl BorshDeserialize for BrokenState {
    fn deserialize_reader<R: Read>(reader: &mut R) -> std::io::Result<Self> {
        let (toy, mark, _, ballast): (_, _, u8, Vec<u8>) = BorshDeserialize::deserialize_reader(reader)?;
        let ballast = u16::try_from(ballast.len()).expect("as long as it was written");
        Ok(Self { toy, mark, lost: 0, ignored: 0, ballast })
    }
}
