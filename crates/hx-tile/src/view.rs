//! Views: rectangular, possibly strided and permuted parts of a tensor.

use hx_index::Expr;
use hx_target::{Cache, Space};

use crate::{Constant, ParamId, TensorId};

/// The tensor that a view refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Base {
    Global(ParamId),
    Shared(TensorId),
    Register(TensorId),
}

impl Base {
    /// Returns the memory that holds the tensor.
    pub fn space(self) -> Space {
        match self {
            Base::Global(_) => Space::Global,
            Base::Shared(_) => Space::Shared,
            Base::Register(_) => Space::Register,
        }
    }

    /// Returns the tensor of the program, in whichever memory it is; `None` for a parameter.
    pub fn tensor(self) -> Option<TensorId> {
        match self {
            Base::Shared(tensor) | Base::Register(tensor) => Some(tensor),
            Base::Global(_) => None,
        }
    }

    /// Returns [`Base::tensor`] to change it.
    pub fn tensor_mut(&mut self) -> Option<&mut TensorId> {
        match self {
            Base::Shared(tensor) | Base::Register(tensor) => Some(tensor),
            Base::Global(_) => None,
        }
    }

    /// Returns the tensor that the threads hold in registers.
    pub fn register(self) -> Option<TensorId> {
        self.tensor().filter(|_| self.space().is_held())
    }

    /// Returns the shared tensor.
    pub fn shared(self) -> Option<TensorId> {
        let Base::Shared(tensor) = self else { return None };
        Some(tensor)
    }

    /// Returns the parameter in global memory.
    pub fn param(self) -> Option<ParamId> {
        let Base::Global(param) = self else { return None };
        Some(param)
    }
}

/// A rectangular part of a tensor. Element `(c0, c1, …)` of the view is the element of its base whose coordinate in dimension
/// `i` is `offsets[i] + Σ factor · c` over the modes of dimension `i`. In global memory, an element with a coordinate below
/// 0, at or past the extent, or at or past an end of the view, reads as `pad` and is not written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    pub base: Base,
    /// The offset in each dimension of the base.
    pub offsets: Vec<Expr>,
    pub modes: Vec<ViewMode>,
    /// The value of reads outside of a global base or past one of the `ends`.
    pub pad: Constant,
    /// The ends of the view that are not those of its global base: dimensions of the base, each with the first coordinate past the
    /// end. A dimension may have several.
    pub ends: Vec<(usize, Expr)>,
    /// The indices, if dimensions of the base are looked up and not walked.
    pub picked: Option<Picked>,
    /// How accesses through the view treat the caches; no hints in a view of other than global memory.
    pub cache: Cache,
}

/// The dimensions of a base whose coordinates are looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Picked {
    /// A table in memory picks rows.
    Rows(Rows),
    /// Index tensors in registers pick single elements. Every mode of the view is one of theirs, and takes no step in the base:
    /// its factor is 0.
    Elements(Vec<Pick>),
}

/// Coordinates from a register tensor of the view's shape. The element of the view at `c` has the coordinate
/// `offset + factor · index[c]` in dimension `dim`. It does not exist unless `0 ≤ index[c] < extent`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pick {
    pub dim: usize,
    /// A register tensor of integers, distributed as the values that are moved.
    pub index: TensorId,
    pub factor: Expr,
    pub extent: Expr,
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
    /// As [`View::ends`], in dimensions of the table's tensor. A row whose number is past an end is outside of the base.
    pub ends: Vec<(usize, Expr)>,
}

/// A mode of a view: `extent` steps of `factor` along dimension `dim` of the base.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewMode {
    pub extent: i64,
    pub dim: usize,
    pub factor: Expr,
}

impl ViewMode {
    /// Reports whether the mode walks its dimension backward.
    pub fn is_reversed(&self) -> bool {
        self.factor.as_const().is_some_and(|factor| factor < 0)
    }
}

impl View {
    /// Returns the view of a whole tensor with known extents.
    pub fn whole(base: Base, shape: &[i64]) -> View {
        let modes = shape.iter().enumerate();
        View {
            base,
            offsets: vec![Expr::default(); shape.len()],
            modes: modes.map(|(dim, &extent)| ViewMode { extent, dim, factor: Expr::constant(1) }).collect(),
            pad: Constant::ZERO,
            ends: Vec::new(),
            picked: None,
            cache: Cache::default(),
        }
    }

    /// Returns the extents of the modes.
    pub fn shape(&self) -> Vec<i64> {
        self.modes.iter().map(|m| m.extent).collect()
    }

    /// Returns the tensors that the view refers to: the base, and those that pick rows or elements.
    pub fn bases(&self) -> impl Iterator<Item = Base> {
        let picks = self.picks().iter().map(|pick| Base::Register(pick.index));
        std::iter::once(self.base).chain(self.rows().map(|r| r.base)).chain(picks)
    }

    /// Returns the table that picks rows; `None` if none does.
    pub fn rows(&self) -> Option<&Rows> {
        match &self.picked {
            Some(Picked::Rows(rows)) => Some(rows),
            Some(Picked::Elements(_)) | None => None,
        }
    }

    /// Returns the index tensors that pick elements.
    pub fn picks(&self) -> &[Pick] {
        match &self.picked {
            Some(Picked::Elements(picks)) => picks,
            Some(Picked::Rows(_)) | None => &[],
        }
    }

    /// Returns [`View::picks`] to change them.
    pub fn picks_mut(&mut self) -> &mut [Pick] {
        match &mut self.picked {
            Some(Picked::Elements(picks)) => picks,
            Some(Picked::Rows(_)) | None => &mut [],
        }
    }

    /// Reports whether the coordinates in a dimension of the base are looked up.
    pub fn is_picked(&self, dim: usize) -> bool {
        match &self.picked {
            Some(Picked::Rows(rows)) => rows.dim == dim,
            Some(Picked::Elements(picks)) => picks.iter().any(|pick| pick.dim == dim),
            None => false,
        }
    }

    /// Returns the register tensor that is the base; `None` for another base.
    pub fn register(&self) -> Option<TensorId> {
        self.base.register()
    }

    /// Returns how many consecutive coordinates the view has in dimension `dim` of the base; `None` if they are not consecutive.
    pub fn length(&self, dim: usize) -> Option<i64> {
        let modes = self.modes.iter().filter(|mode| mode.dim == dim && mode.extent != 1);
        let mut steps: Vec<(i64, i64)> =
            modes.map(|mode| Some((mode.factor.as_const()?, mode.extent))).collect::<Option<_>>()?;
        steps.sort_unstable();
        steps
            .into_iter()
            .try_fold(1, |length, (factor, extent)| (factor == length).then_some(length * extent))
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
