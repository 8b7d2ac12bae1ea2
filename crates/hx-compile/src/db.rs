//! The database trait of this layer.

/// A database that knows compiled kernels. An implementor needs nothing beyond the layers below.
#[salsa::db]
pub trait Db: hx_hir::Db {}
