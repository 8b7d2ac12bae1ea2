//! Lowers views whose rows or elements are looked up, and what atomic accesses need beside their values.

use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_tile::{Atomic, Base, CopyChoice, Op, OpKind, Pick, Picked as PickedBy, Rows, View};

use super::elementwise::element;
use super::{LowerError, Lowering};
use crate::{AtomicUse, Body, Control, Leaf, Registers, Stmt};

/// The coordinates that each thread looks up before it accesses memory.
pub(super) struct Picked {
    /// Dimensions of the base, each with the coordinate in it.
    coordinates: Vec<(usize, Expr)>,
    /// The condition under which the element exists, beside the bounds of the base.
    pub(super) exists: Cond,
    loads: Vec<Stmt>,
    /// The symbols that the coordinates depend on.
    depends: Vec<Symbol>,
}

impl Lowering<'_> {
    /// Lowers an atomic access. Threads that share an element get its result from the one that made the access.
    pub(super) fn atomic(&self, op: &Op, atomic: &Atomic, choice: &CopyChoice) -> Result<Body, LowerError> {
        let shape = &self.program.tensor(atomic.value).shape;
        let whole = View::whole(Base::Register(atomic.value), shape);
        let access = match atomic.is_load() {
            true => self.copy(op, &atomic.memory, &whole, choice)?,
            false => self.copy(op, &whole, &atomic.memory, choice)?,
        };
        let (Some(result), Some(_)) = (atomic.results().next(), &choice.spread) else { return Ok(access) };
        // Both parts use the same names, so the access has a scope of its own.
        let mut body =
            vec![Stmt::Control(Control::If { cond: Cond::True, then: access, otherwise: Vec::new() })];
        let whole = View::whole(Base::Register(result), &self.program.tensor(result).shape);
        body.extend(self.through_shared(op, result, result, &whole)?);
        Ok(body)
    }

    /// Returns the registers of the companions of an operation ([`OpKind::companions`]), for counters of the instructions.
    pub(super) fn beside(
        &self,
        op: &Op,
        choice: &CopyChoice,
        counts: &[Expr],
    ) -> Result<Vec<Registers>, LowerError> {
        let companions = op.kind.description().companions;
        if companions.len() != choice.companions.len() {
            return Err(self.error(op, "the solution has no positions of its companions"));
        }
        let registers = |(tensor, positions)| Ok(element(self.array(op, tensor)?, positions, counts));
        companions.into_iter().zip(&choice.companions).map(registers).collect()
    }

    /// Returns the coordinates that each thread looks up; `None` if the view picks neither rows nor elements. `beside` ends
    /// with the registers of the indices that pick elements.
    pub(super) fn picked(
        &self,
        op: &Op,
        view: &View,
        (at, beside): (&[Expr], &[Registers]),
        facts: &Facts,
    ) -> Result<Option<Picked>, LowerError> {
        match &view.picked {
            None => Ok(None),
            Some(PickedBy::Rows(rows)) => self.picked_row(op, rows, view, at, facts).map(Some),
            Some(PickedBy::Elements(picks)) => {
                let indices = beside.len().checked_sub(picks.len()).map(|first| &beside[first..]);
                let indices = indices.ok_or_else(|| self.error(op, "an index has no registers"))?;
                Ok(Some(self.picked_element(op, picks, view, indices, facts)))
            }
        }
    }

    fn picked_element(
        &self,
        op: &Op,
        picks: &[Pick],
        view: &View,
        indices: &[Registers],
        facts: &Facts,
    ) -> Picked {
        const LOCALS: [&str; 3] = ["picked", "picked_j", "picked_k"];
        let mut found = Picked { coordinates: vec![], exists: Cond::True, loads: vec![], depends: vec![] };
        for (i, (pick, index)) in picks.iter().zip(indices).enumerate() {
            let var = self.counter(LOCALS[i % LOCALS.len()], op, super::Local::Row as u32 + i as u32);
            let number = Expr::symbol(var.clone());
            let coordinate = view.offsets[pick.dim].clone() + &pick.factor * &number;
            found.coordinates.push((pick.dim, coordinate));
            found.exists = found.exists.and(inside(&number, &pick.extent, facts));
            found.depends.extend(index.base.symbols());
            found.loads.push(Stmt::Leaf(Leaf::ReadIndex { var, src: index.clone() }));
        }
        found
    }

    fn picked_row(
        &self,
        op: &Op,
        rows: &Rows,
        view: &View,
        at: &[Expr],
        facts: &Facts,
    ) -> Result<Picked, LowerError> {
        let count = view.coordinate(rows.dim, at);
        let mut guard = inside(&count, &rows.extent, facts);
        let mut table = rows.offsets.clone();
        table[rows.along] = (table[rows.along].clone() + &rows.factor * &count).simplify(facts);
        if let Base::Global(id) = rows.base
            && let Some(param) = self.program.tensor_param(id)
        {
            for (coordinate, extent) in table.iter().zip(&param.shape) {
                guard = guard.and(inside(coordinate, extent, facts));
            }
        }
        for (dim, end) in &rows.ends {
            guard = guard.and(Cond::cmp(CmpOp::Lt, table[*dim].clone(), end.clone(), facts));
        }
        let base = View { offsets: table.clone(), ..View::whole(rows.base, &[]) };
        let address = self.address(op, &base, &table, facts)?;
        let var = self.counter("picked", op, super::Local::Row as u32);
        Ok(Picked {
            coordinates: vec![(rows.dim, Expr::symbol(var.clone()))],
            exists: Cond::True,
            loads: vec![Stmt::Leaf(Leaf::LoadIndex { var, address, guard })],
            depends: count.symbols().into_iter().collect(),
        })
    }
}

/// Returns the coordinates, in the view's base, of the view's element at `at`, with those that the thread has looked up.
pub(super) fn coordinates(view: &View, at: &[Expr], picked: Option<&Picked>) -> Vec<Expr> {
    let mut all: Vec<Expr> = (0..view.offsets.len()).map(|dim| view.coordinate(dim, at)).collect();
    for (dim, coordinate) in picked.iter().flat_map(|picked| &picked.coordinates) {
        all[*dim] = coordinate.clone();
    }
    all
}

/// Returns the operands of an atomic instruction besides its value, from the registers of the companions; `None` for another
/// operation.
pub(super) fn atomic_use(op: &Op, beside: &[Registers]) -> Option<AtomicUse> {
    let OpKind::Atomic(Atomic { old, compare, order, scope, .. }) = &op.kind else { return None };
    let mut beside = beside.iter().cloned();
    let old = old.and_then(|_| beside.next());
    let compare = compare.and_then(|_| beside.next());
    Some(AtomicUse { compare, old, order: *order, scope: *scope })
}

/// Puts loops around an access, outermost first, by way of `nest`. Coordinates are looked up outside of the loops that do not
/// change them.
pub(super) fn around(
    loops: &[(Symbol, i64)],
    picked: Option<Picked>,
    access: Stmt,
    nest: fn(&[(Symbol, i64)], Body) -> Body,
) -> Body {
    let Some(picked) = picked else { return nest(loops, vec![access]) };
    let (outer, inner): (Vec<_>, Vec<_>) =
        loops.iter().cloned().partition(|(counter, _)| picked.depends.contains(counter));
    let mut body = picked.loads;
    body.extend(nest(&inner, vec![access]));
    nest(&outer, body)
}

fn inside(x: &Expr, extent: &Expr, facts: &Facts) -> Cond {
    let above = Cond::cmp(CmpOp::Le, Expr::default(), x.clone(), facts);
    above.and(Cond::cmp(CmpOp::Lt, x.clone(), extent.clone(), facts))
}
