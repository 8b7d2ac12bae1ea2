//! Views: rectangular, possibly strided and permuted parts of a tensor.

use hx_index::Expr;

use crate::{ParamId, TensorId};

/// The tensor that a view refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Base {
    Global(ParamId),
    Shared(TensorId),
    Register(TensorId),
}

/// A rectangular part of a tensor. Element `(c0, c1, …)` of the view is the element of its base whose coordinate in
/// dimension `i` is `offsets[i] + Σ factor · c` over the modes of dimension `i`. In global memory, an element with a
/// coordinate at or past the extent, or at or past an end of the view, reads as `pad` and is not written.
#[derive(Clone, PartialEq, Debug)]
pub struct View {
    pub base: Base,
    /// The offset in each dimension of the base.
    pub offsets: Vec<Expr>,
    pub modes: Vec<ViewMode>,
    /// The value of reads outside of a global base.
    pub pad: f64,
    /// The ends of the view that are not those of its global base: dimensions of the base, each with the first coordinate past the
    /// end. A dimension may have several.
    pub ends: Vec<(usize, Expr)>,
    /// The table, if one dimension of the base is looked up and not walked.
    pub rows: Option<Rows>,
}

/// Rows selected by a table. The coordinate `c` that a view has in dimension `dim` of its base is the number of a row; the
/// integer that the table holds for this row is the coordinate in the base. Row `c` does not exist if it is at or past
/// `extent`, or outside of the table's own tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    pub dim: usize,
    /// The table's tensor, global or shared, of integers.
    pub base: Base,
    /// The offset in each dimension of the table's tensor. Row `c` is `factor · c` further along dimension `along`.
    pub offsets: Vec<Expr>,
    pub along: usize,
    pub factor: Expr,
    pub extent: Expr,
}

// `pad` is a literal of the source, never NaN.
impl Eq for View {}

/// A mode of a view: `extent` steps of `factor` along dimension `dim` of the base.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewMode {
    pub extent: i64,
    pub dim: usize,
    pub factor: Expr,
}

impl View {
    /// Returns the view of a whole tensor with known extents.
    pub fn whole(base: Base, shape: &[i64]) -> View {
        let modes = shape.iter().enumerate();
        View {
            base,
            offsets: vec![Expr::default(); shape.len()],
            modes: modes.map(|(dim, &extent)| ViewMode { extent, dim, factor: Expr::constant(1) }).collect(),
            pad: 0.0,
            ends: Vec::new(),
            rows: None,
        }
    }

    /// Returns the extents of the modes.
    pub fn shape(&self) -> Vec<i64> {
        self.modes.iter().map(|m| m.extent).collect()
    }

    /// Returns the tensors that the view refers to: the base, and the table that selects rows.
    pub fn bases(&self) -> impl Iterator<Item = Base> {
        std::iter::once(self.base).chain(self.rows.iter().map(|r| r.base))
    }

    /// Returns the register tensor, if that is the base.
    pub fn register(&self) -> Option<TensorId> {
        match self.base {
            Base::Register(t) => Some(t),
            _ => None,
        }
    }

    /// Returns the coordinate, in dimension `dim` of the base, of the view's element `coordinate`.
    pub fn coordinate(&self, dim: usize, coordinate: &[Expr]) -> Expr {
        self.modes
            .iter()
            .zip(coordinate)
            .filter(|(m, _)| m.dim == dim)
            .fold(self.offsets[dim].clone(), |sum, (m, c)| sum + &m.factor * c)
    }
}
