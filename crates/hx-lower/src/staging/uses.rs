//! Who reads a register tensor, and how its readers get the elements from shared memory instead.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::Expr;
use hx_tile::{Leaf, LoadIds, Op, OpKind, Operand, Stmt, SyncOp, TensorId, View, ViewMode};

use super::loads::each_stmt;
use crate::lowering::Lowering;

/// The operations that access each register tensor, by their places in the text of the program.
pub(super) struct Readers {
    of: BTreeMap<TensorId, Accesses>,
    /// Whether there are groups of asynchronous copies.
    pub(super) have_groups: bool,
}

#[derive(Default, Clone)]
struct Accesses {
    reads: usize,
    writes: usize,
    /// The reads that a product makes, and waits for.
    products: usize,
    /// The tensors that are views of this one.
    views: BTreeSet<TensorId>,
}

impl Readers {
    /// Returns the accesses of all operations.
    pub(super) fn of(body: &[Stmt]) -> Readers {
        let mut readers = Readers { of: BTreeMap::new(), have_groups: false };
        each_stmt(body, &mut |stmt| {
            if let Some(op) = stmt.op() {
                readers.add(op);
            }
        });
        readers
    }

    fn add(&mut self, op: &Op) {
        self.have_groups |= matches!(
            op.kind,
            OpKind::Sync(SyncOp::Commit | SyncOp::Wait { .. }) | OpKind::CopyAsync { signal: None, .. }
        );
        let results = op.kind.results();
        for (at, tensor) in op.kind.registers().into_iter().enumerate() {
            let own = self.of.entry(tensor).or_default();
            if at < results {
                own.writes += 1;
            }
            if at >= results || op.kind.updates(at) {
                own.reads += 1;
            }
        }
        if let OpKind::Gemm { a, b, asynchronous: false, .. } = &op.kind {
            for tensor in [a, b].into_iter().filter_map(|operand| operand.view.register()) {
                self.of.entry(tensor).or_default().products += 1;
            }
        } else if let OpKind::Slice { dst, src } = &op.kind
            && is_plain(src)
            && let Some(tensor) = src.register()
        {
            self.of.entry(tensor).or_default().views.insert(*dst);
        }
    }

    fn accesses(&self, tensor: TensorId) -> Accesses {
        self.of.get(&tensor).cloned().unwrap_or_default()
    }

    /// Reports whether one operation writes the tensor.
    pub(super) fn is_written_once(&self, tensor: TensorId) -> bool {
        self.accesses(tensor).writes == 1
    }

    /// Reports whether products alone read a view of a tensor.
    fn is_operand(&self, view: TensorId) -> bool {
        let own = self.accesses(view);
        own.writes == 1 && own.reads == own.products
    }

    /// Reports whether products read the tensor or a view of it, and nothing else does.
    pub(super) fn feeds_products_only(&self, tensor: TensorId) -> bool {
        let own = self.accesses(tensor);
        let through = own.views.iter().filter(|view| self.is_operand(**view)).count();
        own.writes == 1 && own.reads > 0 && own.reads == own.products + through
    }

    /// Removes the views of register tensors that nothing reads.
    pub(super) fn drop_unread_views(&self, stmts: &mut Vec<Stmt>) {
        stmts.retain_mut(|stmt| {
            stmt.bodies_mut().for_each(|body| self.drop_unread_views(body));
            let is_unread = |dst: &TensorId| self.accesses(*dst).reads == 0;
            !matches!(stmt.op().map(|op| &op.kind), Some(OpKind::Slice { dst, .. }) if is_unread(dst))
        });
    }

    /// Reports whether all reads of the tensor, and of its views, are among some statements.
    pub(super) fn are_in(&self, tensor: TensorId, stmts: &[Stmt]) -> bool {
        let inside = Readers::of(stmts);
        let is_inside = |tensor: TensorId| inside.accesses(tensor).reads == self.accesses(tensor).reads;
        is_inside(tensor) && self.accesses(tensor).views.into_iter().all(is_inside)
    }
}

/// Reports whether a view of registers shows elements at fixed steps, in their order: instructions that read operands from shared
/// memory do not walk it backward.
fn is_plain(view: &View) -> bool {
    view.picked.is_none()
        && view.ends.is_empty()
        && view.register().is_some()
        && !view.modes.iter().any(ViewMode::is_reversed)
}

impl Lowering<'_> {
    /// Lets the products of some statements that read a register tensor, or a view of it that only products read, read `from` instead,
    /// which shows the same elements in shared memory. The views stay, and may be unread.
    pub(super) fn read_from(&mut self, stmts: &mut [Stmt], tile: TensorId, from: &View, readers: &Readers) {
        let mut views: BTreeMap<TensorId, View> = BTreeMap::from([(tile, from.clone())]);
        self.redirect(stmts, &mut views, readers);
    }

    fn redirect(&mut self, stmts: &mut [Stmt], views: &mut BTreeMap<TensorId, View>, readers: &Readers) {
        for stmt in stmts {
            let Stmt::Leaf(Leaf::Op(op)) = stmt else {
                stmt.bodies_mut().for_each(|body| self.redirect(body, views, readers));
                continue;
            };
            if let OpKind::Gemm { a, b, asynchronous: false, .. } = &mut op.kind {
                [a, b].into_iter().for_each(|operand| self.reread(operand, views));
            } else if let OpKind::Slice { dst, src } = &op.kind
                && is_plain(src)
                && readers.is_operand(*dst)
                && let Some(of) = src.register().and_then(|tensor| views.get(&tensor))
            {
                views.insert(*dst, shown_by(src, of));
            }
        }
    }

    fn reread(&mut self, operand: &mut Operand, views: &BTreeMap<TensorId, View>) {
        let Some(tensor) = operand.view.register() else { return };
        let Some(view) = views.get(&tensor) else { return };
        let like = self.output.tensor(tensor).clone();
        let name = format!("{}_tile", self.base_name(view.base));
        let loaded = self.register_like(&like, &name);
        let load = Some(LoadIds { op: self.output.next_op(), tensor: loaded });
        *operand = Operand { view: view.clone(), load };
    }
}

/// Returns the elements that a view of a register tensor shows, as a view of the memory in which `of` shows that tensor.
fn shown_by(view: &View, of: &View) -> View {
    let mut shown = of.clone();
    shown.modes.clear();
    for (dim, offset) in view.offsets.iter().enumerate() {
        let mode = &of.modes[dim];
        shown.offsets[mode.dim] = shown.offsets[mode.dim].clone() + &mode.factor * offset;
    }
    for mode in &view.modes {
        let through = &of.modes[mode.dim];
        let factor: Expr = &mode.factor * &through.factor;
        shown.modes.push(ViewMode { extent: mode.extent, dim: through.dim, factor });
    }
    shown
}
