//! Views: rectangular, possibly strided and permuted parts of a tensor.

use hx_index::Expr;

use crate::{ParamId, TensorId};

/// What a view looks into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Base {
    Global(ParamId),
    Shared(TensorId),
    Register(TensorId),
}

/// Element `(c0, c1, …)` of a view is the element of its base whose coordinate in dimension `i` is
/// `offsets[i] + Σ factor · c` over the modes of dimension `i`. In global memory, a coordinate at or past the extent reads as `pad`
/// and is not written.
#[derive(Clone, PartialEq, Debug)]
pub struct View {
    pub base: Base,
    /// One for each dimension of the base.
    pub offsets: Vec<Expr>,
    pub modes: Vec<ViewMode>,
    /// What reads outside of a global base give.
    pub pad: f64,
    /// Where a dimension of the base is not walked but looked up.
    pub rows: Option<Rows>,
}

/// Rows picked by a table: the coordinate `c` that a view gives for dimension `dim` of its base counts rows, and the integer that the
/// table holds for it is the coordinate in the base. Row `c` at or past `extent`, or outside of the table's own tensor, is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    pub dim: usize,
    /// The table's tensor, global or shared, of integers.
    pub base: Base,
    /// One for each dimension of the table's tensor; row `c` is `factor · c` further along dimension `along`.
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
    /// The whole of a tensor with known extents.
    pub fn whole(base: Base, shape: &[i64]) -> View {
        let modes = shape.iter().enumerate();
        View {
            base,
            offsets: vec![Expr::default(); shape.len()],
            modes: modes.map(|(dim, &extent)| ViewMode { extent, dim, factor: Expr::constant(1) }).collect(),
            pad: 0.0,
            rows: None,
        }
    }

    /// Extents of the modes.
    pub fn shape(&self) -> Vec<i64> {
        self.modes.iter().map(|m| m.extent).collect()
    }

    /// The tensors that the view looks into: the base, and the table that picks rows.
    pub fn bases(&self) -> impl Iterator<Item = Base> {
        std::iter::once(self.base).chain(self.rows.iter().map(|r| r.base))
    }

    /// The register tensor, if that is the base.
    pub fn register(&self) -> Option<TensorId> {
        match self.base {
            Base::Register(t) => Some(t),
            _ => None,
        }
    }

    /// The coordinate in the base's dimension `dim` of the view's element `coordinate`.
    pub fn coordinate(&self, dim: usize, coordinate: &[Expr]) -> Expr {
        self.modes
            .iter()
            .zip(coordinate)
            .filter(|(m, _)| m.dim == dim)
            .fold(self.offsets[dim].clone(), |sum, (m, c)| sum + &m.factor * c)
    }
}
