//! Chooses the instruction of every operation, once the layouts are known.

pub(crate) mod conversion;
pub(crate) mod prefetch;
pub(crate) mod resident;
pub(crate) mod roles;
pub(crate) mod stream;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use hx_target::{Allocation, CopyRow, GemmRow, ReachRow, Row};
use hx_tile::{
    Base, BulkChoice, Choice, ConvertChoice, CopyChoice, Demand, GemmChoice, MapChoice, Op, OpId, OpKind,
    OperandChoice, RearrangeChoice, Reason, Route, Scalar, ScopeId, SharedLayout, Solution, TensorId,
    TensorKind, TileProgram, View,
};

use crate::access::{Transfer, global};
use crate::anchor::gemm::{Gemm, Tiling};
use crate::anchor::tilings::unfit_matrix_instructions;
use crate::checks::convertible::is_convertible;
use crate::constraints::{broadcast, component};
use crate::distribution::layouts::Layouts;
use crate::distribution::{ThreadValueLayout, layout_of_table};
use crate::failure::{Failure, FailureKind};
use crate::movement::{parts, reduce, route};
use crate::search::context::SolverContext;
use crate::shared::buffer::{Buffer, Chosen};
use crate::shared::{By, Demanded};
use crate::{cost, shared};

/// Returns the choice for a gemm: its instruction, and the positions at which the instructions read the final layouts.
///
/// # Errors
/// `Conflict` if no layout describes the positions of a fragment's values.
pub(crate) fn gemm(
    context: &SolverContext<'_, '_>,
    gemm: &Gemm<'_>,
    tiling: &Tiling,
    layouts: &Layouts,
) -> Result<GemmChoice, Failure> {
    let [im, i_n, ik, il] = tiling.issues;
    let positions = |tensor: TensorId, wanted: &Rc<ThreadValueLayout>, extents: &[i64]| {
        let table = context.pool.positions(&layouts[tensor].layout, wanted);
        table.and_then(|t| layout_of_table(extents, &t)).ok_or_else(|| {
            Failure::new(FailureKind::Conflict, "the values of a fragment lie in no regular order")
                .at(gemm.op.id)
        })
    };
    let [a, b] = gemm.registers();
    let held = |operand: usize, tensor: Option<TensorId>, extents: [i64; 4]| match (
        tensor,
        &tiling.operands[operand],
    ) {
        (Some(tensor), Some(held)) => {
            positions(tensor, &held.by_issue, &extents).map(OperandChoice::Registers)
        }
        // `shared` replaces the reach, once it has solved the layout of the operand's tensor.
        _ => {
            let reach = shared::Issued::of(context.target(), tiling.row, operand).reaches().next();
            let reach = reach.ok_or_else(|| {
                Failure::new(FailureKind::Conflict, "the instruction reads the operand from registers only")
                    .at(gemm.op.id)
            })?;
            Ok(OperandChoice::Descriptor { reach: reach.into() })
        }
    };
    let [wm, wn, wl] = tiling.arrangement;
    let batch = if wl > 1 { format!(", {wl} along the batch") } else { String::new() };
    let repeat =
        if tiling.copies > 1 { format!("; {} times the same work", tiling.copies) } else { String::new() };
    let size = if tiling.row.is_by_descriptor() {
        let [m, n, _] = tiling.row.shape;
        let bytes = cost::shared_operand_bytes(tiling);
        format!("; n = {n}: fewest shared bytes ({bytes} B for {m}×{n} results)")
    } else {
        String::new()
    };
    let unfit = unfit_matrix_instructions(context.program(), gemm.op);
    let unfit = if unfit.is_empty() { String::new() } else { format!("; {}", unfit.join("; ")) };
    let text = format!(
        "lowest estimated cost of the arrangements that fit: {wm} along M, {wn} along N{batch}{repeat}{size}{unfit}"
    );
    Ok(GemmChoice {
        row: tiling.row.into(),
        arrangement: tiling.arrangement,
        a: held(0, a, [tiling.row.a.values(), im, ik, il])?,
        b: held(1, b, [tiling.row.b.values(), i_n, ik, il])?,
        c: positions(gemm.c, &tiling.c_by_issue, &tiling.c_extents())?,
        issues: tiling.issues,
        stream: None,
        reason: Reason { text, from: vec![] },
    })
}

/// Returns the demand of a gemm's instruction: the layouts of its sides A, B and C, to which the gemm's constraints refer.
pub(crate) fn gemm_demand(gemm: &Gemm<'_>, tiling: &Tiling) -> Demand {
    let row = &tiling.row;
    let [a, b] = gemm.registers();
    let operands = [("A", a.and(row.a.fragment())), ("B", b.and(row.b.fragment())), ("C", Some(&row.c))];
    let side = |(name, fragment): (&str, Option<&hx_target::Fragment>)| {
        fragment.map(|fragment| format!("p_{name} = {}", fragment.layout))
    };
    let sides = operands.into_iter().filter_map(side).collect::<Vec<_>>().join(", ");
    Demand { op: gemm.op.id, text: format!("with {}: {sides}", row.name) }
}

pub(crate) fn global(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    solution: &mut Solution,
) -> Result<(), Failure> {
    let program = context.program();
    for (op, _) in program.ops(1.0) {
        let Some(transfer) = Transfer::of(op).filter(|t| t.shared().is_none()) else { continue };
        let info = program.tensor(transfer.register);
        let (access, text) =
            global::best((program, context.pool), &transfer, &known[transfer.register].layout, info.dtype)?;
        solution.constraints.push(copy_demand(op.id, access.row));
        let choice = access.to_choice(Reason { text, from: vec![] }).map_err(|e| too_large(e.to_string()))?;
        let choice = accompanied(context, known, op, transfer.register, choice)?;
        solution.choices.insert(op.id, Choice::Copy(choice));
    }
    Ok(())
}

/// Adds to a choice the positions at which each thread holds the companions of the elements that it moves.
///
/// # Errors
/// `Conflict` if the companions and the moved elements lie in no common order.
fn accompanied(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    op: &Op,
    register: TensorId,
    mut choice: CopyChoice,
) -> Result<CopyChoice, Failure> {
    let issues = choice.register.mode(1);
    let extents: Vec<i64> = issues.leaves().iter().map(|leaf| leaf.0).collect();
    for companion in op.kind.description().companions {
        let table = context.pool.positions(&known[companion].layout, &known[register].layout);
        let at = |table: Rc<[i64]>| {
            let each = (0..issues.size()).map(|i| table.get(issues.eval(i) as usize).copied());
            layout_of_table(&extents, &each.collect::<Option<Vec<i64>>>()?)
        };
        choice.companions.push(table.and_then(at).ok_or_else(|| {
            let [index, moved] = [companion, register].map(|t| context.program().tensor(t).name.as_str());
            let message = format!("`{index}` and `{moved}` lie in no common order");
            Failure::new(FailureKind::Conflict, message).at(op.id)
        })?);
    }
    Ok(choice)
}

/// Returns the demand of a copy's instruction: the layouts of its two sides, to which the copy's constraint refers.
fn copy_demand(op: OpId, row: &CopyRow) -> Demand {
    let sides = match (&row.memory, &row.register) {
        (Some(p), Some(q)) => format!(": p = {p}, q = {q}"),
        _ => String::new(),
    };
    Demand { op, text: format!("with {}{sides}", row.name) }
}

pub(crate) fn convert(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    solution: &mut Solution,
) -> Result<(), Failure> {
    let program = context.program();
    let target = program.target;
    for (op, _) in program.ops(1.0) {
        let OpKind::Cast { dst, src } = op.kind else { continue };
        let (d, s) = (program.tensor(dst), program.tensor(src));
        let held = match s.shape == d.shape {
            true => Some(known[src].layout.clone()),
            false => known[src].layout.reshaped(&s.shape, &d.shape).map(|layout| context.pool.keep(layout)),
        };
        let irregular =
            || Failure::new(FailureKind::Conflict, "the values of a cast lie in no regular order").at(op.id);
        let table =
            held.and_then(|held| context.pool.positions(&held, &known[dst].layout)).ok_or_else(irregular)?;
        let found = conversion::of_table(&table, [s.dtype, d.dtype], target);
        let row = found.as_ref().map(|found| found.row);
        // A conversion without a row is written in C++. C++ has no 8-bit floats, so these are converted by way of f32.
        if row.is_none()
            && s.dtype != d.dtype
            && !(is_convertible(s.dtype, target) && is_convertible(d.dtype, target))
        {
            let message = format!("no instruction of {target} converts `{}` to `{}`", s.dtype, d.dtype);
            let both = |target| is_convertible(s.dtype, target) && is_convertible(d.dtype, target);
            return Err(Failure::new(FailureKind::NoInstruction, message).at(op.id).or_later(target, both));
        }
        let singly = || conversion::layouts(&table, 1);
        let (from, to) = found.map(|found| (found.src, found.dst)).or_else(singly).ok_or_else(irregular)?;
        let text = match row {
            Some(r) if r.values > r.each() => format!("{} elements at once", r.values),
            Some(r) if r.values > 1 => format!("{} elements at once into one register", r.values),
            _ => "one element at once".to_string(),
        };
        solution.choices.insert(
            op.id,
            Choice::Convert(ConvertChoice {
                row: row.map(Row::from),
                src: from,
                dst: to,
                reason: Reason { text, from: vec![] },
            }),
        );
    }
    Ok(())
}

/// The accesses to shared memory, and the cycles for which exchanges stall the block.
pub(crate) struct Uses<'p> {
    of: BTreeMap<TensorId, Vec<shared::Use<'p>>>,
    exchange_cycles: BTreeMap<OpId, f64>,
}

impl Uses<'_> {
    /// Returns a lower bound on the cycles of all uses under any layouts; 0 if `limit` is infinite, which needs no bound.
    ///
    /// # Errors
    /// The failure of a use that no instruction serves.
    pub(crate) fn least_cycles(&self, context: &SolverContext<'_, '_>, limit: f64) -> Result<f64, Failure> {
        let least = |(tensor, uses): (&TensorId, &Vec<_>)| shared::least_cycles(context, *tensor, uses);
        if limit.is_finite() { self.of.iter().map(least).sum() } else { Ok(0.0) }
    }

    /// Records lower bounds on the cycles of the exchanges through shared memory in the pool.
    ///
    /// # Errors
    /// The failure of an exchange that no instruction serves.
    pub(crate) fn note_exchanges(
        &self,
        context: &SolverContext<'_, '_>,
        known: &Layouts,
    ) -> Result<(), Failure> {
        for (op, trips) in context.program().ops(component::UNKNOWN_TRIPS) {
            let OpKind::Rearrange { dst, src, through: Some(tensor) } = op.kind else { continue };
            let Some(uses) = self.of.get(&tensor) else { continue };
            let least = shared::least_cycles(context, tensor, uses)?;
            let exchange = route::exchange_of(context, known, [dst, src], trips);
            context.pool.exchanges.borrow_mut().insert(exchange, least);
        }
        Ok(())
    }
}

/// The instruction of each product.
pub(crate) type Rows = BTreeMap<OpId, &'static GemmRow>;

/// Collects the accesses to shared memory. The search has counted each access as if it alone determined the layout: subtracts
/// these cycles from the solution's cost.
///
/// # Errors
/// `NoInstruction` if no instruction makes a copy between registers and shared memory.
pub(crate) fn uses<'p>(
    context: &SolverContext<'_, 'p>,
    known: &Layouts,
    rows: &Rows,
    solution: &mut Solution,
) -> Result<Uses<'p>, Failure> {
    let target = context.target();
    let program = context.program();
    let ops = program.ops(component::UNKNOWN_TRIPS);
    let mut uses: BTreeMap<TensorId, Vec<shared::Use<'_>>> = BTreeMap::new();
    for tensor in program.tensor_ids().filter(|t| program.tensor(*t).allocation() == Allocation::Launch) {
        uses.insert(tensor, Vec::new());
    }
    let mut exchange_cycles: BTreeMap<OpId, f64> = BTreeMap::new();
    for (op, trips) in ops {
        if let OpKind::CopyAsync { src, dst, .. } = &op.kind {
            let hx_tile::Base::Shared(tensor) = dst.base else { continue };
            uses.entry(tensor).or_default().push(shared::Use::asynchronous(op, src, dst, trips));
        } else if let OpKind::Store { src, dst, .. } = &op.kind {
            let Base::Shared(tensor) = src.base else { continue };
            uses.entry(tensor).or_default().push(shared::Use::store(op, src, dst, trips));
        } else if let OpKind::Rearrange { dst, src, through: Some(tensor) } = op.kind {
            let view = || View::whole(Base::Shared(tensor), &program.tensor(tensor).shape);
            let ends = [(src, false), (dst, true)];
            let uses_here = ends
                .map(|(t, reads)| shared::Use::exchange(op, view(), known[t].layout.clone(), reads, trips));
            uses.entry(tensor).or_default().extend(uses_here);
            let cycles = trips * cost::exchange_cycles(target, program.threads_of(op), context.drain);
            solution.cost += cycles;
            exchange_cycles.insert(op.id, cycles);
        } else if let (OpKind::Gemm { a, b, .. }, Some(row)) = (&op.kind, rows.get(&op.id)) {
            for (operand, view) in [&a.view, &b.view].into_iter().enumerate() {
                let Base::Shared(tensor) = view.base else { continue };
                let issued = shared::Issued::of(context.target(), row, operand);
                uses.entry(tensor).or_default().push(shared::Use::operand(op, view, issued, trips));
            }
        } else if let Some(transfer) = Transfer::of(op)
            && let Some(tensor) = transfer.shared()
        {
            let layout = known[transfer.register].layout.clone();
            let used = shared::Use::register(program, transfer, layout, trips);
            solution.cost -= trips * shared::ideal(context, tensor, &used)?;
            uses.entry(tensor).or_default().push(used);
        }
    }
    Ok(Uses { of: uses, exchange_cycles })
}

/// Solves the layouts of shared memory with the instructions of their accesses. Returns false if the solution takes `limit`
/// cycles or more.
///
/// # Errors
/// The failure of the first tensor that no layout serves, or `Cancelled`.
pub(crate) fn shared(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    uses: Uses<'_>,
    limit: f64,
    solution: &mut Solution,
) -> Result<bool, Failure> {
    let program = context.program();
    // Lower bound on the cycles of the buffers without a layout so far.
    let mut open = uses.least_cycles(context, limit)?;
    let Uses { of: uses, exchange_cycles } = uses;
    let mut items = Vec::new();
    for (tensor, uses) in uses {
        let name = &program.tensor(tensor).name;
        let demand =
            |op, constraint: &shared::Constraint| Demand { op, text: format!("m_{name} = {constraint}") };
        if limit.is_finite() {
            open -= shared::least_cycles(context, tensor, &uses)?;
        }
        let buffer =
            shared::solve(context, tensor, &uses, limit - solution.cost - open).inspect_err(|_| {
                let least = shared::least(context, tensor, &uses);
                solution.constraints.extend(least.iter().map(|(op, constraint)| demand(*op, constraint)));
            })?;
        let Some(buffer) = buffer else { return Ok(false) };
        for chosen in &buffer.accesses {
            let Chosen { op, constraint, .. } = chosen;
            if let By::Access(access) = &chosen.by {
                solution.constraints.push(copy_demand(*op, access.row));
            }
            solution.constraints.push(demand(*op, constraint));
            let cycles = exchange_cycles.get(op).copied().unwrap_or(0.0) + buffer.cost;
            accessed(context, known, chosen, cycles, solution)?;
        }
        solution.cost += buffer.cost;
        solution.unexplored += buffer.left;
        let mut buffer = buffer;
        let copies = program.copies_of(tensor);
        if copies > 1 {
            // Every group begins at a whole block of the swizzle, so that it has the layout of the first.
            buffer.bytes =
                buffer.bytes.next_multiple_of(shared::align(context.target().limits()).max(buffer.block))
                    * copies;
        }
        items.push(shared::Item { tensor, bytes: buffer.bytes, block: buffer.block });
        let text = agreement(program, solution, &buffer);
        solution.shared.insert(tensor, unplaced(buffer, text));
    }
    let (offsets, total) = shared::offsets(program, &items);
    for (item, offset) in items.iter().zip(offsets) {
        if let Some(layout) = solution.shared.get_mut(&item.tensor) {
            layout.offset = offset;
        }
    }
    solution.shared_bytes = total;
    Ok(true)
}

/// Records the instruction with which an operation accesses a buffer. `cycles` are those of the exchange that the access
/// belongs to, if it belongs to one.
///
/// # Errors
/// The failure of an access whose layout is too large, or that has no common order with its companions.
fn accessed(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    Chosen { op, by, conflicts, why, .. }: &Chosen,
    cycles: f64,
    solution: &mut Solution,
) -> Result<(), Failure> {
    let reason = Reason { text: why.clone(), from: vec![] };
    match by {
        By::Reach(operand, reach) => read_by(solution, *op, *operand, (*reach).into()),
        By::Boxes(boxes) => {
            let (dims, extents) = (boxes.dims.clone(), boxes.extents.clone());
            let (row, runs, share) = (boxes.row.into(), boxes.row.run.is_some(), boxes.share);
            let choice = BulkChoice { row, runs, dims, extents, share, reason };
            solution.choices.insert(*op, Choice::Bulk(choice));
        }
        By::Access(access) => {
            let mut choice = access.to_choice(reason).map_err(|e| too_large(e.to_string()))?;
            choice.conflicts = Some(*conflicts);
            if let Some(OpKind::Rearrange { dst, src, .. }) = context.program().op(*op).map(|op| &op.kind) {
                exchanged(context, known, *op, [*dst, *src], choice, cycles, solution);
            } else {
                let of = context.program().op(*op);
                let transfer = of.and_then(|of| Some((of, Transfer::of(of)?.register)));
                let choice = match transfer {
                    Some((of, register)) => accompanied(context, known, of, register, choice)?,
                    None => choice,
                };
                solution.choices.insert(*op, Choice::Copy(choice));
            }
        }
    }
    Ok(())
}

/// Records how the instructions of a product reach an operand.
fn read_by(solution: &mut Solution, op: OpId, operand: usize, reach: Row<ReachRow>) {
    if let Some(Choice::Gemm(GemmChoice { a, b, .. })) = solution.choices.get_mut(&op) {
        *[a, b][operand] = OperandChoice::Descriptor { reach };
    }
}

/// Returns the reason for the layout of a buffer: the constraint to which its accesses unify, or, if one of them demands a swizzle by
/// name, the accesses that agree on it.
fn agreement(program: &TileProgram, solution: &Solution, buffer: &Buffer) -> String {
    let Some(Demanded::Mode(mode, _)) = buffer.constraint.swizzle else {
        return format!(
            "the accesses unify to `{}`; fewest wavefronts of the orders and swizzles",
            buffer.constraint
        );
    };
    let mut names: Vec<String> = Vec::new();
    for Chosen { op, by, .. } in &buffer.accesses {
        let Some(op) = program.op(*op) else { continue };
        let row = match (by, solution.choices.get(&op.id)) {
            (By::Reach(..), Some(Choice::Gemm(choice))) => choice.row.get().name.as_str(),
            (by, _) => by.name(),
        };
        let of = match &op.kind {
            OpKind::CopyAsync { src, .. } => name_of(program, src.base),
            OpKind::Store { dst, .. } => name_of(program, dst.base),
            kind => kind.registers().first().map_or("", |tensor| program.tensor(*tensor).name.as_str()),
        };
        let name = format!("`{row}` of `{of}`");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names = match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last} agree on", first.join(", ")),
        _ => format!("{} asks for", names.join("")),
    };
    format!("{}: {names} `{}`", mode.title(), buffer.layout)
}

fn name_of(program: &TileProgram, base: Base) -> &str {
    match base {
        Base::Global(param) => program.tensor_param(param).map_or("", |param| &param.name),
        Base::Shared(tensor) | Base::Register(tensor) => &program.tensor(tensor).name,
    }
}

/// Returns the layout of a buffer that has no offset yet.
fn unplaced(buffer: Buffer, text: String) -> SharedLayout {
    let from = buffer.accesses.iter().map(|access| access.op).collect();
    SharedLayout {
        layout: buffer.layout,
        swizzle: buffer.swizzle,
        offset: 0,
        bytes: buffer.bytes,
        narrowed: buffer.narrowed,
        reason: Reason { text, from },
    }
}

/// Adds one access of an exchange to the solution: the first call adds its store, the second its load.
fn exchanged(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    op: OpId,
    [dst, src]: [TensorId; 2],
    copy: CopyChoice,
    cycles: f64,
    solution: &mut Solution,
) {
    let Some(Choice::Copy(store)) = solution.choices.remove(&op) else {
        solution.choices.insert(op, Choice::Copy(copy));
        return;
    };
    let route = Route::Shared { store: Box::new(store), load: Box::new(copy) };
    let reason = Reason { text: route::differs(context, known, [dst, src]), from: vec![] };
    solution.choices.insert(op, Choice::Rearrange(RearrangeChoice { route, cycles, reason }));
}

/// Checks that the block has the shared memory that the solution needs.
///
/// # Errors
/// `Resource` if it needs more than the target has, with the bytes of each shared tensor.
pub(crate) fn fits(program: &TileProgram, solution: &Solution) -> Result<(), Failure> {
    let target = program.target;
    let limit = program.limits().shared_bytes;
    if solution.shared_bytes > limit {
        let bytes = solution.shared_bytes;
        let message = match program.blocks_per_sm {
            Some(blocks @ 2..) => format!(
                "the block needs {bytes} B of shared memory, and each of {blocks} blocks on a multiprocessor of {target} has {limit} B"
            ),
            _ => format!("the block needs {bytes} B of shared memory, and {target} has {limit} B"),
        };
        let mut failure = Failure::new(FailureKind::Resource, message);
        for (id, layout) in &solution.shared {
            let tensor = program.tensor(*id);
            let elements = tensor.size() as u64 * u64::from(tensor.dtype.bits()) / 8;
            let pinned = matches!(tensor.kind, TensorKind::Shared { pinned: Some(_) });
            let gaps = match pinned && elements < u64::from(layout.bytes) {
                true => format!(", as it is pinned: its elements are {elements} B"),
                false => String::new(),
            };
            let text = format!("`{}` takes {} B{gaps}", tensor.name, layout.bytes);
            failure = failure.part(None, Some(*id), text);
        }
        return Err(failure.help("smaller tiles or fewer stages"));
    }
    Ok(())
}

pub(crate) fn map(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    solution: &mut Solution,
) -> Result<(), Failure> {
    let program = context.program();
    for (op, _) in program.ops(1.0) {
        let OpKind::Map(map) = &op.kind else { continue };
        let dst = &known[map.dst].layout;
        let extents: Vec<i64> = dst.value.iter().map(|m| m.extent).collect();
        let mut inputs = Vec::new();
        for input in &map.inputs {
            let wanted = context.pool.project_values(dst, &broadcast(program, map, *input));
            let table = context.pool.positions(&known[*input].layout, &wanted);
            inputs.push(table.and_then(|t| layout_of_table(&extents, &t)).ok_or_else(|| {
                let message = "the operands of this expression lie in no common order";
                Failure::new(FailureKind::Conflict, message).at(op.id)
            })?);
        }
        let count =
            format!("{} element{} of each thread", dst.values(), if dst.values() == 1 { "" } else { "s" });
        let text = count + &approximations(&map.value);
        solution
            .choices
            .insert(op.id, Choice::Map(MapChoice { inputs, reason: Reason { text, from: vec![] } }));
    }
    Ok(())
}

/// Names the operators of an expression that are approximate, with the reason; empty if none is.
fn approximations(value: &Scalar) -> String {
    let mut operators = Vec::new();
    value.operators(&mut operators);
    let names: BTreeSet<&str> = operators
        .iter()
        .map(|(operator, _)| (operator, operator.exact()))
        .filter(|(operator, exact)| *operator != exact)
        .map(|(_, exact)| exact.name())
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    format!("; {} approximate: the result is rounded to 16 bits or fewer", names.join(", "))
}

pub(crate) fn reduce(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    solution: &mut Solution,
) -> Result<(), Failure> {
    let program = context.program();
    // Each reduction begins with a barrier of its scope, so all reductions of a scope share one place for scratch memory. No
    // barrier separates the reductions of two scopes, so their places are disjoint.
    for scope in program.scopes_within(ScopeId::BLOCK) {
        let offset = solution.shared_bytes.next_multiple_of(shared::align(context.target().limits()));
        for (op, _) in program.ops(1.0).into_iter().filter(|(op, _)| op.scope == scope) {
            let OpKind::Reduce { dst, src, axis, .. } = op.kind else { continue };
            let choice = reduce::choice(program, op, [dst, src], axis, known, offset)?;
            if let Some(across) = &choice.across {
                solution.shared_bytes = solution.shared_bytes.max(offset + across.bytes);
            }
            solution.choices.insert(op.id, Choice::Reduce(choice));
        }
    }
    Ok(())
}

pub(crate) fn parts(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    solution: &mut Solution,
) -> Result<(), Failure> {
    let program = context.program();
    for (op, _) in program.ops(1.0) {
        let offset = solution.shared_bytes.next_multiple_of(shared::align(context.target().limits()));
        if let OpKind::Atomic(atomic) = &op.kind {
            let spread = parts::spread(program, op, atomic, known, offset);
            if let Some(Choice::Copy(choice)) = solution.choices.get_mut(&op.id) {
                choice.spread = spread;
                solution.shared_bytes = spread.map_or(solution.shared_bytes, |s| s.offset + s.bytes);
            }
        } else if let OpKind::Scan { dst, src, axis, .. } = &op.kind {
            let (choice, end) = parts::scan(program, op, (dst, src), *axis, known, offset)?;
            if !choice.scratch.is_empty() {
                solution.shared_bytes = end;
            }
            solution.choices.insert(op.id, Choice::Scan(choice));
        }
    }
    slices(program, known, solution)
}

/// Chooses how each slice is taken and each insertion made. Those through shared memory begin with a barrier of their scope,
/// so all of a scope share one place. No barrier separates those of two scopes, so their places are disjoint.
///
/// # Errors
/// As [`parts::chosen`].
fn slices(program: &TileProgram, known: &Layouts, solution: &mut Solution) -> Result<(), Failure> {
    for scope in program.scopes_within(ScopeId::BLOCK) {
        let offset = solution.shared_bytes.next_multiple_of(shared::align(program.target.limits()));
        for (op, _) in program.ops(1.0).into_iter().filter(|(op, _)| op.scope == scope) {
            let Some(choice) = parts::chosen(program, op, known, offset)? else { continue };
            if let Some(through) = choice.through {
                solution.shared_bytes = solution.shared_bytes.max(offset + through.bytes);
            }
            solution.choices.insert(op.id, Choice::Slice(choice));
        }
    }
    Ok(())
}

pub(crate) fn too_large(error: String) -> Failure {
    Failure::new(FailureKind::Resource, format!("a layout is too large: {error}"))
}
