//! The combinations of the axes that fulfil a kernel's `where`.
//!
//! The walk gives the axes values one after the other. A condition is evaluated as soon as all axes that it depends on have
//! values, so that one evaluation refuses all combinations of the axes behind.

use std::collections::{BTreeMap, BTreeSet};

use hx_hir::{
    ExprId, Item, Kernel, KernelSignature, Names, Resolution, Sound, kernel_signature, signature_names,
};
use hx_index::Symbol;
use hx_lower::{CtArgs, CtValue, requirements};
use hx_target::Target;

use super::{Axis, Candidate, MAX_COMBINATIONS, Reason, Shape, TuneError};
use crate::Db;

/// The axes of a kernel for a launch, without those that the launch fixes.
pub(super) struct Space<'db> {
    db: &'db dyn Db,
    kernel: Sound<Kernel<'db>>,
    axes: Vec<Axis>,
    shape: &'db Shape,
    symbols: BTreeMap<Symbol, i64>,
    /// For each condition of the `where`, the number of axes that must have values before it is evaluated.
    ready: Vec<usize>,
}

/// The result of the walk.
pub(super) struct Allowed {
    pub(super) combinations: u64,
    pub(super) allowed: Vec<CtArgs>,
    pub(super) refused: BTreeMap<Reason, u64>,
}

impl<'db> Space<'db> {
    /// # Errors
    /// If `shape` lacks a dimension, or a parameter has no axis, no default and no argument.
    pub(super) fn new(
        db: &'db dyn Db,
        kernel: Sound<Kernel<'db>>,
        axes: &[Axis],
        shape: &'db Shape,
        target: Target,
    ) -> Result<Space<'db>, TuneError> {
        let signature = kernel_signature(db, kernel.get());
        let names = signature_names(db, Item::Kernel(kernel.get()));
        if let Some(dim) = names.dims.iter().find(|dim| !shape.dims.contains_key(&dim.name)) {
            return Err(TuneError::MissingDim(dim.name.clone()));
        }
        let axes: Vec<Axis> =
            axes.iter().filter(|axis| !shape.args.contains_key(&axis.name)).cloned().collect();
        let has_value = |name| shape.args.contains_key(name) || axes.iter().any(|axis| axis.name == *name);
        let missing = signature.generics.iter().find(|g| g.default.is_none() && !has_value(&g.name));
        if let Some(generic) = missing {
            return Err(TuneError::MissingArgument(generic.name.clone()));
        }
        let ready = ready(signature, &names.names, &axes, shape);
        Ok(Space { db, kernel, axes, shape, symbols: shape.symbols(target), ready })
    }

    /// Returns the combinations that fulfil the `where`.
    ///
    /// # Errors
    /// [`TuneError::TooMany`].
    pub(super) fn allowed(&self) -> Result<Allowed, TuneError> {
        let combinations = self.below(0);
        let mut found = Allowed { combinations, allowed: Vec::new(), refused: BTreeMap::new() };
        let mut args = self.shape.args.clone();
        args.extend(self.axes.iter().map(|axis| (axis.name.clone(), axis.values[0].clone())));
        self.refuse(0, &args, &mut found);
        if found.refused.is_empty() {
            self.walk(0, &mut args, &mut found)?;
        }
        Ok(found)
    }

    /// Returns the number of combinations of the axes from `depth` on.
    fn below(&self, depth: usize) -> u64 {
        self.axes[depth..].iter().fold(1, |all, axis| all.saturating_mul(axis.values.len() as u64))
    }

    fn walk(&self, depth: usize, args: &mut CtArgs, found: &mut Allowed) -> Result<(), TuneError> {
        let Some(axis) = self.axes.get(depth) else {
            if found.allowed.len() as u64 >= MAX_COMBINATIONS {
                return Err(TuneError::TooMany { combinations: found.combinations });
            }
            found.allowed.push(args.clone());
            return Ok(());
        };
        self.db.unwind_if_revision_cancelled();
        for value in &axis.values {
            args.insert(axis.name.clone(), value.clone());
            if !self.refuse(depth + 1, args, found) {
                self.walk(depth + 1, args, found)?;
            }
        }
        args.insert(axis.name.clone(), axis.values[0].clone());
        Ok(())
    }

    /// Evaluates the conditions that are ready at this depth and not before. If one does not hold, counts as refused all
    /// combinations that begin with the values of `args`, and returns true.
    fn refuse(&self, depth: usize, args: &CtArgs, found: &mut Allowed) -> bool {
        if !self.ready.contains(&depth) {
            return false;
        }
        let reason = match requirements(self.db, self.kernel, args) {
            Ok(conditions) => {
                let lookup = |symbol: &Symbol| self.symbols.get(symbol).copied();
                let mut ready =
                    conditions.iter().zip(&self.ready).enumerate().filter(|(_, (_, at))| **at == depth);
                let broken = ready.find(|(_, (condition, _))| condition.eval(&lookup) == Ok(false));
                broken.map(|(index, _)| self.broken(index))
            }
            Err(errors) => errors
                .first()
                .map(|error| Reason::Program { code: error.code.id, message: error.message.clone() }),
        };
        let Some(reason) = reason else { return false };
        let count = found.refused.entry(reason).or_default();
        *count = count.saturating_add(self.below(depth));
        true
    }

    fn broken(&self, index: usize) -> Reason {
        let wheres = &kernel_signature(self.db, self.kernel.get()).wheres;
        Reason::Where { index, text: wheres.get(index).map(|clause| clause.text.clone()).unwrap_or_default() }
    }

    /// Returns the order of combinations with equal estimates.
    pub(super) fn order(&self, default: Option<&CtArgs>) -> Order {
        let index = |axis: &Axis| default.and_then(|args| args.get(&axis.name)).cloned();
        Order { axes: self.axes.iter().map(|axis| (axis.clone(), index(axis))).collect() }
    }
}

/// The order of combinations with equal estimates: those that differ from the kernel's defaults in fewer axes first, then in the
/// order of the clause.
pub(super) struct Order {
    axes: Vec<(Axis, Option<CtValue>)>,
}

impl Order {
    pub(super) fn compare(&self, a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
        self.key(a).cmp(&self.key(b))
    }

    fn key(&self, candidate: &Candidate) -> (usize, Vec<Option<usize>>) {
        let value = |axis: &Axis| candidate.args.get(&axis.name);
        let differing = self.axes.iter().filter(|(axis, default)| value(axis) != default.as_ref()).count();
        let places =
            self.axes.iter().map(|(axis, _)| axis.values.iter().position(|v| Some(v) == value(axis)));
        (differing, places.collect())
    }
}

/// Returns for each condition the number of axes that must have values before it is evaluated. A condition depends on an axis
/// directly, or through the default of another parameter.
fn ready(signature: &KernelSignature, names: &Names, axes: &[Axis], shape: &Shape) -> Vec<usize> {
    let place =
        |index: u32| axes.iter().position(|axis| axis.name == signature.generics[index as usize].name);
    let mut last: Vec<usize> = Vec::new();
    for (index, generic) in signature.generics.iter().enumerate() {
        let through = generic.default.filter(|_| !shape.args.contains_key(&generic.name));
        let own = place(index as u32).map(|place| place + 1);
        let default = through.map_or(0, |default| latest(signature, names, default, &last));
        last.push(own.unwrap_or(default));
    }
    signature.wheres.iter().map(|clause| latest(signature, names, clause.condition, &last)).collect()
}

/// Returns the largest entry of `last`, which is indexed by parameter, of a parameter that an expression mentions; 0 if it
/// mentions none.
fn latest(signature: &KernelSignature, names: &Names, expr: ExprId, last: &[usize]) -> usize {
    let (mut most, mut open, mut seen) = (0, vec![expr], BTreeSet::new());
    while let Some(expr) = open.pop() {
        if !seen.insert(expr.into_raw().into_u32()) {
            continue;
        }
        if let Some(Resolution::Generic(index)) = names.exprs.get(expr) {
            most = most.max(last.get(*index as usize).copied().unwrap_or(0));
        }
        signature.store.for_each_child(expr, &mut |child| open.push(child));
    }
    most
}
