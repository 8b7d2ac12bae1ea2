//! The capability trait of this layer.

/// A database that knows items, bodies, names and types. It requires nothing of an implementor beyond the layer below.
#[salsa::db]
pub trait Db: hx_base::Db {}
