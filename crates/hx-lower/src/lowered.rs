//! The result of lowering.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hx_index::Expr;
use hx_tile::{Op, OpKind, Origin, ParamId, TileProgram};

use crate::error::Place;
use crate::instance::CtArgs;
use crate::origins::OriginPlace;
use crate::view_call::ViewCall;

/// The tile program of one instance, with the origins of its operations and tensors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lowered {
    pub program: Arc<TileProgram>,
    pub sources: Arc<Sources>,
}

/// The arguments of a tile program, and the places in the text that it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sources {
    /// Indexed by [`hx_tile::Origin`].
    pub origins: Vec<OriginPlace>,
    /// Every compile-time parameter with its value, defaults included.
    pub args: CtArgs,
    /// The stores that go through registers although the text asks for boxes: the origin of each load from shared memory, and why
    /// no box stores the tile.
    pub unboxed: BTreeMap<Origin, String>,
    /// The loads of loops with `pipelined` that are made in their own round, and why.
    pub late: BTreeMap<Origin, String>,
    /// The asynchronous copies that go through registers, and why.
    pub passed: BTreeMap<Origin, String>,
    /// Whether [`Loads`](crate::Loads) makes a difference: products alone read what a load brings.
    pub stageable: bool,
    /// Whether [`Rings`](crate::Rings) makes a difference: a loop has `pipelined`.
    pub rings: bool,
    /// The ranges of the loops that were lowered as if they had `pipelined(3)`; none unless [`Forms::offers`](crate::Forms::offers).
    pub offered: Vec<Place>,
    /// The calls that made the views of global memory, by the origin of the operation that reads a view, and by its parameter.
    pub view_calls: BTreeMap<Origin, Vec<(ParamId, ViewCall)>>,
    /// The lengths of parts of global tensors, `end - first` of `x[first..end]`, that nothing proves to be at least 0.
    pub parts: BTreeSet<Expr>,
}

impl Lowered {
    /// Reports whether lowering added an operation that orders others, which the text does not name: it has the origin of what it was added
    /// for.
    pub fn is_added(&self, op: &Op) -> bool {
        let OpKind::Sync(sync) = &op.kind else { return false };
        let is_other = |other: &Op| {
            let OpKind::Sync(of) = &other.kind else { return true };
            std::mem::discriminant(of) != std::mem::discriminant(sync)
        };
        self.program.ops(1.0).into_iter().any(|(other, _)| other.origin == op.origin && is_other(other))
    }
}

impl Sources {
    /// Returns the call that made the view of a parameter that operations of this origin read; `None` if it is a part of the parameter
    /// itself, or if there are several.
    pub fn view_call(&self, origin: Origin, param: ParamId) -> Option<&ViewCall> {
        let mut own = self.view_calls.get(&origin)?.iter().filter(|(of, _)| *of == param);
        let (_, call) = own.next()?;
        own.next().is_none().then_some(call)
    }
}
