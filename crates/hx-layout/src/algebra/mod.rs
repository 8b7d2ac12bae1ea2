//! Operations that make layouts from layouts, one concept a module.
//!
//! They are methods of [`Layout`](crate::Layout) and of [`ComposedLayout`](crate::ComposedLayout). None of them enumerates if arithmetic
//! on modes decides; where only enumeration decides, it is bounded by [`ENUMERATION_LIMIT`].

pub(crate) mod coalesce;
mod common;
mod complement;
mod compose;
mod divide;
mod inverse;
mod product;
mod recast;
mod slice;
mod swizzled;
mod swizzled_tiles;
mod zip;

/// The largest number of evaluations of one operation before it fails with [`LayoutError::TooLarge`](crate::LayoutError).
pub(crate) const ENUMERATION_LIMIT: i64 = 1 << 20;

/// Refuses an enumeration of more than [`ENUMERATION_LIMIT`].
pub(crate) fn check_count(what: &'static str, count: i64) -> Result<(), crate::LayoutError> {
    if count > ENUMERATION_LIMIT {
        return Err(crate::LayoutError::TooLarge { what, count, limit: ENUMERATION_LIMIT });
    }
    Ok(())
}
