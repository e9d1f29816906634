//! Types for the ids of components.

/// Defines id types that count from 1, like the rows of a table. An `Option` of an id takes one byte. In views, 0
/// means no id.
///
/// ```
/// boardwire_kernel::ids! {
///     /// A card, by its row in the table of cards.
///     pub CardId
/// }
/// let card = CardId::new(3);
/// assert_eq!((card.get(), CardId::from_row(0), CardId::to_row(Some(card))), (3, None, 3));
/// assert_eq!(std::mem::size_of::<Option<CardId>>(), 1);
/// ```
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $vis:vis $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(::std::num::NonZeroU8);

        #[allow(dead_code, reason = "every type of id has the same methods")]
        impl $name {
            /// Creates the id with this number.
            ///
            /// # Panics
            /// When the number is 0, because 0 means no id.
            #[must_use]
            #[inline]
            $vis const fn new(number: u8) -> Self {
                match ::std::num::NonZeroU8::new(number) {
                    Some(number) => Self(number),
                    None => panic!("ids count from 1"),
                }
            }

            /// Returns the id of a table's row, or of a value in a view; none for 0.
            #[must_use]
            #[inline]
            $vis const fn from_row(row: u8) -> Option<Self> {
                match ::std::num::NonZeroU8::new(row) {
                    Some(number) => Some(Self(number)),
                    None => None,
                }
            }

            /// Returns the row of an optional id; 0 for none.
            #[must_use]
            #[inline]
            $vis const fn to_row(id: Option<Self>) -> u8 {
                match id {
                    Some(id) => id.get(),
                    None => 0,
                }
            }

            /// Returns the rows of optional ids, in order; 0 for none.
            #[must_use]
            #[inline]
            $vis fn to_rows<const N: usize>(ids: [Option<Self>; N]) -> [u8; N] {
                let mut rows = [0; N];
                for (row, id) in rows.iter_mut().zip(ids) {
                    *row = Self::to_row(id);
                }
                rows
            }

            /// Returns the number, from 1.
            #[must_use]
            #[inline]
            $vis const fn get(self) -> u8 {
                self.0.get()
            }

            /// Returns the number, as an index of arrays whose row 0 means no id.
            #[must_use]
            #[inline]
            $vis const fn index(self) -> usize {
                self.0.get() as usize
            }
        }

        impl From<$name> for u8 {
            #[inline]
            fn from(id: $name) -> Self {
                id.get()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl ::borsh::BorshSerialize for $name {
            fn serialize<W: ::std::io::Write>(&self, writer: &mut W) -> ::std::io::Result<()> {
                ::borsh::BorshSerialize::serialize(&self.0.get(), writer)
            }
        }

        impl ::borsh::BorshDeserialize for $name {
            fn deserialize_reader<R: ::std::io::Read>(reader: &mut R) -> ::std::io::Result<Self> {
                let number: u8 = ::borsh::BorshDeserialize::deserialize_reader(reader)?;
                Self::from_row(number).ok_or_else(|| {
                    ::std::io::Error::new(::std::io::ErrorKind::InvalidData, "an id is 0")
                })
            }
        }
    )+};
}
