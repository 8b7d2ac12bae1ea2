//! The capability trait of this layer.

/// A database that knows items, bodies, names and types. It asks nothing more of an implementor than the layer below.
#[salsa::db]
pub trait Db: hx_base::Db {}
