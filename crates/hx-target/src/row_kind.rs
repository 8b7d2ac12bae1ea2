//! The kinds of rows, and the table of each in the catalogue.

use crate::{
    BulkRow, Catalogue, ConvertRow, CopyRow, ExchangeRow, GemmRow, GroupRow, Named, PrefetchRow, ReachRow,
    Row, SyncRow, Target,
};

/// A kind of rows, which a target has a table of.
pub trait Kind: Named + Sized + 'static {
    /// Returns the rows of this kind, in the order of the catalogue.
    fn table(rows: &Catalogue) -> &[Self];
}

/// Returns the row of this name of the usual target, for tests that name one.
///
/// # Panics
/// If there is none.
pub fn row<T: Kind>(name: &str) -> Row<T> {
    let found = T::table(Target::usual().rows()).iter().find(|row| row.name() == name);
    found.unwrap_or_else(|| panic!("the usual target has no row `{name}`")).into()
}

macro_rules! kinds {
    ($($row:ty: $table:ident),*) => {
        $(
            impl Named for $row {
                fn name(&self) -> &str {
                    &self.name
                }
            }

            impl Kind for $row {
                fn table(rows: &Catalogue) -> &[Self] {
                    &rows.$table
                }
            }
        )*
    };
}

kinds!(
    CopyRow: copies,
    GemmRow: gemms,
    ReachRow: reaches,
    ConvertRow: converts,
    ExchangeRow: exchanges,
    GroupRow: groups,
    BulkRow: bulks,
    PrefetchRow: prefetches,
    SyncRow: syncs
);
