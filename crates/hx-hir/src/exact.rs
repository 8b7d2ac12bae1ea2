//! `#[exact]` before a kernel: no arithmetic of it is approximate, even where the result is rounded to 16 bits.

use crate::{Db, Kernel};

/// The name of the attribute.
pub(crate) const EXACT: &str = "exact";

/// Reports whether a kernel asks for exact arithmetic.
#[salsa::tracked]
pub fn is_exact<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> bool {
    kernel.syntax(db).is_some_and(|node| node.attrs().any(|attr| attr.text().as_deref() == Some(EXACT)))
}
