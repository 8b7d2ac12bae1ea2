//! What lowering remarks about the text, by the origin of the operations that it made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hx_index::Expr;
use hx_tile::{Base, OpKind, Origin, ParamId, TileProgram};

use crate::error::Place;
use crate::instance::CtArgs;
use crate::lowered::{Lowered, Sources};
use crate::origins::OriginPlace;
use crate::value::SymView;
use crate::view_call::ViewCall;

/// The remarks that [`Sources`] has beside its program.
#[derive(Default)]
pub(crate) struct Notes {
    /// See [`Sources::unboxed`].
    unboxed: BTreeMap<Origin, String>,
    /// See [`Sources::late`].
    late: BTreeMap<Origin, String>,
    /// See [`Sources::passed`].
    passed: BTreeMap<Origin, String>,
    /// See [`Sources::stageable`].
    stageable: bool,
    /// See [`Sources::rings`].
    rings: bool,
    /// See [`Sources::offered`].
    offered: Vec<Place>,
    /// See [`Sources::view_calls`].
    view_calls: BTreeMap<Origin, Vec<(ParamId, ViewCall)>>,
    /// See [`Sources::parts`].
    parts: BTreeSet<Expr>,
    /// The views whose operation has not been made yet.
    views: Vec<(ParamId, Arc<ViewCall>)>,
}

impl Notes {
    /// Records why a store goes through registers although the text asks for boxes.
    pub(crate) fn add_unboxed(&mut self, at: Origin, reason: String) {
        self.unboxed.insert(at, reason);
    }

    /// Records why a load of a loop with `pipelined` is made in its own round.
    pub(crate) fn add_late(&mut self, at: Origin, reason: String) {
        self.late.insert(at, reason);
    }

    /// Records why an asynchronous copy goes through registers.
    pub(crate) fn add_passed(&mut self, at: Origin, reason: String) {
        self.passed.insert(at, reason);
    }

    /// Records that a load could go, or goes, through shared memory to products.
    pub(crate) fn add_stageable(&mut self) {
        self.stageable = true;
    }

    /// Records that a loop reads ahead.
    pub(crate) fn add_ring(&mut self) {
        self.rings = true;
    }

    /// Records the range of a loop that was lowered as if it had `pipelined`.
    pub(crate) fn add_offered(&mut self, at: Place) {
        self.offered.push(at);
    }

    /// Records the length of a part of a global tensor that nothing proves to be at least 0.
    pub(crate) fn add_part(&mut self, length: Expr) {
        self.parts.insert(length);
    }

    /// Remembers where a view was made, until an operation reads it.
    pub(crate) fn add_view(&mut self, view: &SymView) {
        if let (Base::Global(param), Some(call)) = (view.base, &view.call.0) {
            self.views.push((param, call.clone()));
        }
    }

    /// Records where the view was made that an operation reads from global memory.
    pub(crate) fn add_read(&mut self, kind: &OpKind, origin: Origin) {
        let read = if let OpKind::Copy { src, .. } | OpKind::CopyAsync { src, .. } = kind {
            src.base
        } else if let OpKind::Atomic(atomic) = kind {
            atomic.memory.base
        } else {
            return;
        };
        let Base::Global(param) = read else { return };
        let Some(at) = self.views.iter().rposition(|(of, _)| *of == param) else { return };
        let (_, call) = self.views.remove(at);
        let known = self.view_calls.entry(origin).or_default();
        if !known.iter().any(|(of, other)| *of == param && *other == *call) {
            known.push((param, (*call).clone()));
        }
    }

    /// Returns a program with these remarks.
    pub(crate) fn beside(self, program: TileProgram, origins: Vec<OriginPlace>, args: CtArgs) -> Lowered {
        let Notes { unboxed, late, passed, stageable, rings, offered, view_calls, parts, views: _ } = self;
        let sources =
            Sources { origins, args, unboxed, late, passed, stageable, rings, offered, view_calls, parts };
        Lowered { program: Arc::new(program), sources: Arc::new(sources) }
    }
}
