//! The capability trait of this layer.

/// A database that knows compiled kernels. It asks nothing more of an implementor than the layers below.
#[salsa::db]
pub trait Db: hx_hir::Db {}
