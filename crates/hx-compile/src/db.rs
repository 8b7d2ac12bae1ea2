//! The database trait of this layer.

/// A database that knows compiled kernels.
#[salsa::db]
pub trait Db: hx_hir::Db {
    /// Returns a handle on the same data for another thread. A setter waits until it is dropped.
    fn fork(&self) -> Box<dyn Db>;
}
