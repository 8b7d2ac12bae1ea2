//! Solves one shared tensor: the instructions of its accesses, and the layout that serves them all at least cost.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use hx_dtype::DType;
use hx_layout::{ComposedLayout, Layout};
use hx_target::{CopyRow, Space, Target};
use hx_tile::{OpId, OpKind, Tensor, TensorId, TileProgram};

use super::buffer::{Asked, Barred, Buffer, By, Candidate, Chosen, End, EndKey, Options, Question, Use};
use super::constraint::Constraint;
use super::demanded::{self, Demanded, Demander, Party, disagreeing};
use super::issued::Issued;
use super::joint::joints;
use super::operand;
use super::{asynchronous, blocks, bulk, demand_in, pin_of, serve, start};
use crate::access::alignment::{amount, by_way_of_bytes, parts_bytes};
use crate::access::{Access, Run, Transfer, collective, is_packed, vector};
use crate::cost;
use crate::distribution::{ThreadValueLayout, key};
use crate::failure::{Failure, FailureKind};
use crate::search::context::SolverContext;
use crate::search::pool::Pool;

/// Solves one shared tensor on its own: tensors without a common access do not interact. Returns `None` if the solution takes
/// `limit` cycles or more.
///
/// # Errors
/// A [`Failure`] if no layout serves all uses, or if an instruction is missing.
pub(crate) fn solve(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
    limit: f64,
) -> Result<Option<Buffer>, Failure> {
    let asked = asked(context, tensor, uses)?;
    let before = context.steps.get();
    if let Some((answer, steps)) = &*asked.answer.borrow() {
        context.steps.set(before + steps);
        return answer.clone().map(|buffer| Some(buffer).filter(|buffer| buffer.cost < limit));
    }
    if limit <= asked.more_than.get() {
        return Ok(None);
    }
    match solved(context, tensor, uses, &asked, limit) {
        Err(failure) if failure.kind == FailureKind::Cancelled => Err(failure),
        Err(_) if limit.is_finite() => {
            asked.more_than.set(limit);
            Ok(None)
        }
        answer => {
            asked.answer.replace(Some((answer.clone(), context.steps.get() - before)));
            answer.map(Some)
        }
    }
}

/// Solves a shared tensor as if it demanded `demand` itself.
///
/// # Errors
/// As [`solve`].
#[cfg(test)]
pub(crate) fn solve_under(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
    demand: Constraint,
) -> Result<Option<Buffer>, Failure> {
    let options = uses.iter().map(|u| candidates(context, tensor, u, uses)).collect::<Result<Vec<_>, _>>()?;
    Ok(serve::cheapest(context, tensor, uses, &options, &joints(demand, &options), f64::INFINITY))
}

/// Returns a lower bound on the cycles of a shared tensor's uses under any layout: the exact cycles once the solution is known,
/// otherwise the cycles without bank conflicts of instructions whose constraints unify.
///
/// # Errors
/// `NoInstruction` if no instruction serves one of the uses, or `Conflict` if only the pinned swizzle excludes an operand.
pub(crate) fn least_cycles(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
) -> Result<f64, Failure> {
    let Asked { options, joints, answer, more_than } = &*asked(context, tensor, uses)?;
    if let Some((Ok(buffer), _)) = &*answer.borrow() {
        return Ok(buffer.cost);
    }
    let least = joints.all.iter().map(|joint| joint.least).fold(f64::INFINITY, f64::min);
    let alone = |c: &Candidate| c.cost - c.global;
    let each = options.iter().map(|o| o.usable.iter().map(alone).fold(f64::INFINITY, f64::min)).sum();
    let least =
        if pin_of(context.program(), tensor).is_some() || joints.all.is_empty() { each } else { least };
    Ok(least.max(more_than.get()))
}

/// Returns the key under which the pool keeps the solution of a shared tensor.
fn question(context: &SolverContext<'_, '_>, id: TensorId, uses: &[Use<'_>]) -> Question {
    let asked = |u: &Use<'_>| {
        let end = match &u.end {
            End::Register(layout) => EndKey::Register(key(layout)),
            End::Global(_) => EndKey::Global,
            End::Operand(issued) => EndKey::Operand(*issued),
        };
        (u.op.id, u.reads, end, u.trips.to_bits())
    };
    Question { id, single: context.single, uses: uses.iter().map(asked).collect() }
}

/// Returns the candidate instructions of a shared tensor's uses, computed once.
///
/// # Errors
/// As [`least_cycles`].
fn asked(context: &SolverContext<'_, '_>, tensor: TensorId, uses: &[Use<'_>]) -> Result<Rc<Asked>, Failure> {
    let (question, info) = (question(context, tensor, uses), context.program().tensor(tensor));
    let known = context
        .pool
        .buffers
        .borrow()
        .0
        .get(&question)
        .and_then(|all| all.iter().find(|(tensor, _)| tensor == info).map(|(_, known)| known.clone()));
    if let Some(known) = known {
        return known;
    }
    let options = uses.iter().map(|u| candidates(context, tensor, u, uses)).collect::<Result<Vec<_>, _>>();
    let asked = options.map(|options| {
        let joints = joints(demand_in(context, tensor), &options);
        Rc::new(Asked { options, joints, answer: RefCell::default(), more_than: Cell::new(0.0) })
    });
    context.pool.buffers.borrow_mut().0.entry(question).or_default().push((info.clone(), asked.clone()));
    asked
}

fn solved(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
    asked: &Asked,
    limit: f64,
) -> Result<Buffer, Failure> {
    let (program, options) = (context.program(), &asked.options);
    let best = match pin_of(program, tensor) {
        Some(pin) => serve::pinned(context, tensor, uses, options, pin),
        None => serve::cheapest(context, tensor, uses, options, &asked.joints, limit),
    };
    if (context.cancelled)() {
        return Err(Failure::cancelled());
    }
    let mut buffer = best.ok_or_else(|| unsatisfied(context, tensor, uses, options))?;
    explain(program, &mut buffer, uses, options);
    Ok(buffer)
}

/// Returns, for each use of a tensor, the constraint of its instruction that moves the fewest contiguous elements.
pub(crate) fn least(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
) -> Vec<(OpId, Constraint)> {
    let of = |u: &Use<'_>| {
        let options = candidates(context, tensor, u, uses).ok()?;
        let constraint = constraint_of(u, options.least()?, context.program().tensor(tensor)).ok()?;
        Some((u.op.id, constraint))
    };
    uses.iter().filter_map(of).collect()
}

/// Returns a lower bound on the cycles of one execution of a use, under any layout of the tensor: those of the fastest
/// instruction that fits. Rows are tried in the order of their least possible cycles.
///
/// # Errors
/// `NoInstruction` if no instruction implements the copy.
pub(crate) fn ideal(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    used: &Use<'_>,
) -> Result<f64, Failure> {
    let target = context.target();
    let (program, info) = (context.program(), context.program().tensor(tensor));
    let (dtype, threads) = (info.dtype, program.threads_of(used.op));
    let pinned = pin_of(program, tensor).is_some();
    if let End::Register(layout) = &used.end {
        let entry = (used.op.id, key(layout), context.single);
        if let Some(met) = context.pool.ideals.borrow().get(&entry) {
            return Ok(*met);
        }
        let mut rows: Vec<(f64, &'static CopyRow)> = rows_of(used, dtype, context.pool)
            .into_iter()
            .filter(|row| !context.single || !row.is_collective())
            .filter_map(|row| {
                Some((
                    cost::shared_least(target, threads, row, layout.values() / row.atom(dtype)?.values),
                    row,
                ))
            })
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, row) in rows {
            let accesses = row_accesses(context, used, layout, dtype, row);
            // The tensor's own solution checks the alignment of addresses under a pinned layout.
            let aligned = |a: &Access| pinned || start::bars(program, used, a).is_none();
            let fits = accesses.iter().find(|a| constraint_of(used, a, info).is_ok() && aligned(a));
            if let Some(access) = fits {
                let cycles = cost::shared_ideal(target, threads, access, &used.shape);
                context.pool.ideals.borrow_mut().insert(entry, cycles);
                return Ok(cycles);
            }
        }
    }
    let options = candidates(context, tensor, used, &[])?;
    Ok(options.usable.first().map_or(0.0, |c| c.cost))
}

/// Checks the pinned layout of every shared tensor, before anything counts on its modes.
///
/// # Errors
/// A failure that names the first tensor whose layout does not fit.
pub(crate) fn check_pins(program: &TileProgram) -> Result<(), Failure> {
    program
        .tensor_ids()
        .filter_map(|id| Some((id, pin_of(program, id)?)))
        .try_for_each(|(id, pin)| fits(program, id, pin))
}

/// Checks that a pinned layout fits the tensor: one mode for each dimension, no place used twice, and none before the tensor's
/// memory.
///
/// # Errors
/// `Pin` if the layout does not fit.
fn fits(program: &TileProgram, tensor: TensorId, pin: &ComposedLayout) -> Result<(), Failure> {
    let info = program.tensor(tensor);
    let extents: Vec<i64> = pin.layout.modes().iter().map(Layout::size).collect();
    let problem = if extents != info.shape {
        format!("its modes have the extents {extents:?}")
    } else if !pin.layout.is_injective().unwrap_or(false) {
        overlap(&pin.layout).unwrap_or_else(|| "it puts several elements in one place".to_string())
    } else if pin.offset + pin.layout.min_index() < 0 {
        below(pin)
    } else {
        return Ok(());
    };
    let message = format!(
        "the layout `{}` pinned to `{}` of shape {:?} does not fit: {problem}",
        pin.source_form(),
        info.name,
        info.shape
    );
    Err(Failure::new(FailureKind::Pin, message).part(None, Some(tensor), "pinned here"))
}

/// Returns the coordinate of an element, one number for each mode of the layout.
fn coordinate(layout: &Layout, mut index: i64) -> Vec<i64> {
    let along = |mode: &Layout| {
        let at = index % mode.size();
        index /= mode.size();
        at
    };
    layout.modes().iter().map(along).collect()
}

/// Describes the element that lies farthest before the first place.
fn below(pin: &ComposedLayout) -> String {
    let layout = &pin.layout;
    let at = |index: &i64| pin.offset + layout.eval(*index);
    let least = (0..layout.size()).min_by_key(at).unwrap_or(0);
    format!(
        "it puts the element {:?} at offset {} (in elements), before the memory of the tensor, which begins at 0: \
         strides may not be negative",
        coordinate(layout, least),
        at(&least)
    )
}

/// Describes two elements that a layout maps to one place; `None` if each has its own.
fn overlap(layout: &Layout) -> Option<String> {
    let mut seen = HashMap::new();
    (0..layout.size()).find_map(|index| {
        let place = layout.eval(index);
        let other = seen.insert(place, index)?;
        let [first, second] = [other, index].map(|index| coordinate(layout, index));
        Some(format!("it puts the elements {first:?} and {second:?} both at offset {place} (in elements)"))
    })
}

/// Returns every instruction that can serve a use, and those that could with other addresses.
///
/// # Errors
/// `NoInstruction` if no instruction can serve the use under any layout of the tensor, or `Conflict` if only the pinned swizzle
/// excludes an operand.
fn candidates(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    u: &Use<'_>,
    uses: &[Use<'_>],
) -> Result<Options, Failure> {
    let program = context.program();
    let info = program.tensor(tensor);
    let (dtype, threads) = (info.dtype, program.threads_of(u.op));
    let mut options = Options::default();
    // A store has no other instruction.
    let in_boxes = context.in_boxes || u.reads;
    if let (End::Global(view), true) = (&u.end, in_boxes) {
        bulk::offer(context, info, u, view, &mut options)?;
    }
    options.multicast = matches!(u.op.kind, OpKind::CopyAsync { multicast: Some(_), .. });
    let accesses = match &u.end {
        End::Register(layout) => {
            let rows = rows_of(u, dtype, context.pool).into_iter();
            let rows = rows.filter(|row| !context.single || !row.is_collective());
            let all: Vec<_> = rows.map(|row| row_accesses(context, u, layout, dtype, row)).collect();
            // Count the phases in the pool's accesses before they are cloned, so that the counts are shared.
            all.iter().flat_map(|all| all.iter()).for_each(|a| {
                a.phases(threads, &u.shape);
            });
            all.iter().flat_map(|all| all.to_vec()).collect()
        }
        End::Global(_) if u.reads => Vec::new(),
        End::Global(view) => match asynchronous::accesses((program, context.pool), (u, view), uses, dtype) {
            Err(_) if !options.usable.is_empty() || context.pool.wish.restricts(u.op.id) => Vec::new(),
            accesses => accesses?,
        },
        End::Operand(issued) => {
            let options = operand::options(program, tensor, u, issued);
            if options.usable.is_empty() {
                return Err(unreached(context, tensor, u, issued, &options));
            }
            return Ok(options);
        }
    };
    for access in accesses {
        offer(context, tensor, u, access, &mut options);
    }
    // The sort is stable: equal costs keep the order of the catalogue.
    options.usable.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    options.barred.sort_by_key(|barred| std::cmp::Reverse(barred.by.width()));
    if let Some(rows) = context.pool.wish.rows.get(&u.op.id).filter(|_| options.usable.is_empty()) {
        return Err(unwished(u, info, rows, &options));
    }
    if options.usable.is_empty() && (options.barred.is_empty() || pin_of(program, tensor).is_none()) {
        return Err(no_candidate(context, tensor, u, &options));
    }
    Ok(options)
}

/// Adds an access to the usable options or, with the reason, to the barred ones.
fn offer(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    u: &Use<'_>,
    access: Access,
    options: &mut Options,
) {
    let target = context.target();
    let program = context.program();
    let (info, threads) = (program.tensor(tensor), program.threads_of(u.op));
    let constraint = match constraint_of(u, &access, info) {
        Ok(constraint) => constraint,
        Err(why) => {
            options.barred.push(Barred { by: By::Access(access), constraint: None, why });
            return;
        }
    };
    if let Some(why) = start::bars(program, u, &access) {
        options.barred.push(Barred { by: By::Access(access), constraint: Some(constraint), why });
        return;
    }
    let global = match &u.end {
        End::Global(view) => cost::asynchronous(program, threads, view, &access) * u.trips,
        End::Register(_) | End::Operand(_) => 0.0,
    };
    let alone = cost::shared_ideal(target, threads, &access, &u.shape);
    let cost = alone * u.trips + global;
    if let Some(block) = blocks::order(context, u, &access, info) {
        // The order of the whole block serves where the free steps between the pieces have no good place.
        let kept = constraint.unify(&block);
        let kept = kept.map(|kept| Candidate::new(By::Access(access.clone()), kept, [cost, global, alone]));
        options.usable.extend(kept);
    }
    options.usable.push(Candidate::new(By::Access(access), constraint, [cost, global, alone]));
}

/// Returns the failure of an operand that no instruction reads by descriptor.
fn unreached(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    u: &Use<'_>,
    issued: &Issued,
    options: &Options,
) -> Failure {
    let alone = std::slice::from_ref(u);
    if let Some(failure) = swizzles_differ(context, tensor, alone, std::slice::from_ref(options)) {
        return failure;
    }
    let name = ["A", "B"][issued.operand];
    let message =
        format!("operand {name} lies in no form in which the instruction reads it from shared memory");
    let failure = Failure::new(FailureKind::NoInstruction, message).at(u.op.id);
    let why = |barred: &Barred| format!("not `{}`: {}", barred.by.name(), barred.why);
    options.barred.iter().map(why).fold(failure, Failure::help)
}

/// Returns the failure of a use that none of the rows serves to which the run restricts it.
fn unwished(u: &Use<'_>, info: &Tensor, rows: &BTreeSet<String>, options: &Options) -> Failure {
    let barred = options.barred.iter().map(|barred| format!("not `{}`: {}", barred.by.name(), barred.why));
    let whys: Vec<String> = options.unboxed.iter().cloned().chain(barred).collect();
    let names: Vec<String> = rows.iter().map(|row| format!("`{row}`")).collect();
    let message = if whys.is_empty() {
        format!("no access of `{}` has the form of {}", info.name, names.join(", "))
    } else {
        whys.join("; ")
    };
    Failure::new(FailureKind::NoInstruction, message).at(u.op.id)
}

/// Returns the failure of a copy that no instruction implements under any layout of the tensor.
fn no_candidate(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    u: &Use<'_>,
    options: &Options,
) -> Failure {
    let info = context.program().tensor(tensor);
    let (name, dtype, target) = (&info.name, info.dtype, context.target());
    let failure = |message| Failure::new(FailureKind::NoInstruction, message).at(u.op.id);
    let last = options.barred.last().and_then(|barred| Some((barred.by.access()?, &barred.why)));
    let Some((access, why)) = last else {
        return failure(format!(
            "no instruction of {target} makes this copy of elements of type `{dtype}` in shared memory"
        ));
    };
    if let End::Global(_) = &u.end {
        let (known, width) = (start::widest(context.program(), u, access.run.dim()), access.run.width());
        let known = (!known.allows(width)).then(|| amount(known.elements, dtype));
        return asynchronous::unaligned(u.op.id, name, dtype, width, known.as_deref(), why);
    }
    let form = Transfer::of(u.op).and_then(|transfer| transfer.atomic(dtype));
    let (what, place) = match form {
        Some(form) => (form.op.verb(), "in"),
        None if u.reads => ("loads", "from"),
        None => ("stores", "to"),
    };
    let message =
        format!("no instruction of {target} {what} single elements of type `{dtype}` {place} shared memory");
    failure(message).help(parts_bytes(dtype, why)).help(by_way_of_bytes(dtype))
}

/// Returns the instructions that may make a use between registers and shared memory: those of its operation, or those of an
/// exchange between threads.
fn rows_of(u: &Use<'_>, dtype: DType, pool: &Pool) -> Vec<&'static CopyRow> {
    let target = pool.target();
    let is_allowed = |row: &&'static CopyRow| pool.wish.allows(u.op.id, &row.name);
    if let Some(transfer) = Transfer::of(u.op) {
        return transfer.rows(dtype, target).into_iter().filter(is_allowed).collect();
    }
    let (from, to) =
        if u.reads { (Space::Shared, Space::Register) } else { (Space::Register, Space::Shared) };
    target.rows().copies_between(from, to).filter(is_allowed).collect()
}

/// Returns the ways in which one instruction implements the copy.
fn row_accesses(
    context: &SolverContext<'_, '_>,
    u: &Use<'_>,
    layout: &Rc<ThreadValueLayout>,
    dtype: DType,
    row: &'static CopyRow,
) -> Rc<[Access]> {
    let make = || {
        let crosses = blocks::cross(context.program());
        made_accesses(context.target(), &u.shape, layout, dtype, (row, crosses))
    };
    context.pool.accesses(layout, &u.shape, dtype, row, make)
}

fn made_accesses(
    target: Target,
    shape: &[i64],
    layout: &ThreadValueLayout,
    dtype: DType,
    (row, crosses): (&'static CopyRow, bool),
) -> Vec<Access> {
    let Some(atom) = row.atom(dtype) else { return vec![] };
    let mut out = Vec::new();
    if row.is_collective() {
        // Lanes with elements outside of the tensor would have no address.
        let exact = layout.is_exact(shape);
        out.extend(exact.then(|| collective::collective(target, layout, row, &atom)).flatten());
    } else {
        let dims = if atom.values == 1 { 0..1 } else { 0..layout.tile.len() };
        for dim in dims {
            let whole = atom.values == 1 || shape[dim] % atom.values == 0;
            out.extend(
                whole.then(|| vector::vector(target, layout, row, Run::plain(dim, atom.values))).flatten(),
            );
        }
        let own = match crosses {
            true => Run::leading_piece(layout, atom.values),
            false => Run::leading(layout, atom.values).filter(|_| is_packed(dtype)),
        };
        let own = own.filter(|run| !run.is_plain() && run.divides(shape));
        out.extend(own.and_then(|run| vector::vector(target, layout, row, run)));
    }
    out.retain(|a| vector::fills_words(&a.values, &a.issue, dtype.bits(), a.row.bytes));
    out
}

/// Returns the constraint of an access on the tensor: its elements are contiguous, through the view.
///
/// # Errors
/// The reason why no layout can meet it.
fn constraint_of(u: &Use<'_>, access: &Access, info: &Tensor) -> Result<Constraint, String> {
    let modes = &u.view.modes;
    let walked = access.run.dims().into_iter().map(|dim| &modes[dim]);
    if let Some(mode) = walked.clone().find(|mode| mode.factor.as_const() != Some(1)) {
        return Err(format!(
            "the view of `{}` steps by `{}` in dimension {}",
            info.name, mode.factor, mode.dim
        ));
    }
    let run = access.run.renamed(|dim| Some(modes.get(dim)?.dim));
    run.and_then(|run| Constraint::run(&info.shape, &run)).ok_or_else(|| {
        let dim = modes[access.run.dim()].dim;
        let (name, extent, width) = (&info.name, info.shape[dim], access.run.period(access.run.dim()));
        format!("dimension {dim} of `{name}` has {extent} elements, no multiple of {width}")
    })
}

/// The note on a multicast copy whose tile the blocks of a cluster do not share.
const EACH_BLOCK: &str = "each block of the cluster copies the whole tile";

/// Adds to each access the reason why it is not wider.
fn explain(program: &TileProgram, buffer: &mut Buffer, uses: &[Use<'_>], options: &[Options]) {
    for (i, (u, Options { usable, barred, unboxed, multicast })) in uses.iter().zip(options).enumerate() {
        let alone = multicast.then(|| EACH_BLOCK.to_owned());
        let with_reasons = |text: String| -> String {
            [unboxed.clone(), alone.clone(), Some(text)].into_iter().flatten().collect::<Vec<_>>().join("; ")
        };
        let Chosen { op, by, constraint, .. } = &buffer.accesses[i];
        let access = match by {
            By::Access(access) => access,
            By::Reach(..) => {
                buffer.accesses[i].why = format!("read by descriptor from `{constraint}`");
                continue;
            }
            By::Boxes(boxes) => {
                let alone = boxes.alone.as_ref().map(|why| format!("{EACH_BLOCK}: {why}"));
                let shared = boxes.share.map(|_| "; each block of the cluster brings its share to all");
                let (text, shared) = (bulk::text(boxes, &u.shape, usable), shared.unwrap_or_default());
                let text = format!("asks for `{constraint}`; {text}{shared}");
                let parts = [unboxed.clone(), alone, Some(text)];
                buffer.accesses[i].why = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
                continue;
            }
        };
        let is_wider = |other: &By| other.bytes() > access.row.bytes;
        let wider = usable.iter().filter(|c| is_wider(&c.by));
        let fits = |asked: &Constraint| buffer.constraint.unify(asked).is_some();
        let excluded = wider.clone().find(|c| !fits(&c.constraint));
        let barred = || barred.iter().filter(|b| is_wider(&b.by));
        // The layout would allow the wider access, so only its address prevents it.
        let unaligned = barred().find(|b| b.constraint.as_ref().is_some_and(fits));
        if unaligned.is_none() && excluded.is_some() {
            buffer.narrowed.push(*op);
        }
        let text = if let Some(Barred { by: other, why, .. }) = unaligned {
            format!("asks for `{constraint}`; not `{}`: {why}", other.name())
        } else if let Some(other) = excluded {
            format!(
                "`{}` would ask for `{}`, which `{}` excludes",
                other.by.name(),
                other.constraint,
                buffer.constraint
            )
        } else if let Some(other) = wider.clone().next() {
            format!("asks for `{constraint}`; `{}` fits too and costs more", other.by.name())
        } else if let Some(Barred { by: other, why, .. }) = barred().next() {
            format!("asks for `{constraint}`; not `{}`: {why}", other.name())
        } else if access.row.access >= 16 {
            format!("asks for `{constraint}`; the widest access")
        } else {
            format!(
                "asks for `{constraint}`; each thread holds {} element{} in a row",
                access.run.width(),
                if access.run.width() == 1 { "" } else { "s" }
            )
        };
        buffer.accesses[i].why = with_reasons(with_last_round(text, program, u, access));
    }
}

/// Adds a text that names the partly filled rounds of an asynchronous copy from global memory.
fn with_last_round(text: String, program: &TileProgram, u: &Use<'_>, access: &Access) -> String {
    let last = match &u.end {
        End::Global(_) => asynchronous::last_round(access, program.threads_of(u.op), &u.shape),
        End::Register(_) | End::Operand(_) => None,
    };
    match last {
        Some(last) => format!("{text}; {last}"),
        None => text,
    }
}

/// Returns the failure of uses that no layout serves. Each use is listed with its least demand: a wider instruction's demand is
/// not part of the conflict.
fn unsatisfied(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
    options: &[Options],
) -> Failure {
    let program = context.program();
    if let Some(failure) = swizzles_differ(context, tensor, uses, options) {
        return failure;
    }
    let name = &program.tensor(tensor).name;
    let message = match pin_of(program, tensor) {
        Some(_) => format!("`{name}` is pinned to a layout that one of its accesses cannot use"),
        None => format!("no layout of the shared tensor `{name}` serves all of its accesses"),
    };
    let failure = Failure::new(FailureKind::Conflict, message);
    uses.iter().zip(options).fold(failure, |f, (u, options)| {
        if let Some((text, help)) = torn_slots(program, tensor, u, options) {
            return f.part(Some(u.op.id), Some(tensor), text).help(help);
        }
        let text = match options.least().filter(|access| access.run.width() > 1) {
            Some(Access { row, run, .. }) => format!(
                "moves at least {} B at once: {} neighbours along dimension {} of `{name}` have to lie side by side",
                row.access,
                run.width(),
                u.view.modes[run.dim()].dim
            ),
            None => format!("this access of `{name}` takes part"),
        };
        f.part(Some(u.op.id), Some(tensor), text)
    })
}

/// Explains, for a use that only boxes serve, that the parts of the shared tensor do not all begin at multiples of a box's
/// alignment, because their bytes are no multiple of it. Names a tile that fits. `None` if the parts fit, or if another
/// instruction serves the use.
fn torn_slots(
    program: &TileProgram,
    tensor: TensorId,
    u: &Use<'_>,
    options: &Options,
) -> Option<(String, String)> {
    let info = program.tensor(tensor);
    let bytes = |shape: &[i64]| shape.iter().product::<i64>() * i64::from(info.dtype.bits()) / 8;
    let align = |candidate: &Candidate| match &candidate.by {
        By::Boxes(boxes) => Some(i64::from(boxes.align)),
        By::Access(_) | By::Reach(..) => None,
    };
    let aligns: Vec<i64> = options.usable.iter().map(align).collect::<Option<_>>()?;
    let (slot, align) = (bytes(&u.shape), aligns.into_iter().min()?);
    if slot % align == 0 || slot == bytes(&info.shape) {
        return None;
    }
    let name = &info.name;
    let text =
        format!("a part of `{name}` has {slot} B, and each part has to begin at a multiple of {align} B");
    let mut fits = u.shape.clone();
    let rows = fits.iter_mut().find(|extent| **extent > 1)?;
    let (row, first) = (slot / *rows, *rows);
    *rows = (first..first + align).find(|rows| rows * row % align == 0)?;
    Some((text, format!("a tile of `{fits:?}` fits; so does a shared tensor for each part")))
}

/// Returns the failure of two accesses, or of an access and the pin, that demand different swizzles of one tensor; `None` if
/// all agree.
fn swizzles_differ(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
    options: &[Options],
) -> Option<Failure> {
    let party = |(u, options): (&Use<'_>, &Options)| {
        let usable = options.usable.iter().map(|candidate| (&candidate.by, &candidate.constraint));
        let barred =
            options.barred.iter().filter_map(|barred| Some((&barred.by, barred.constraint.as_ref()?)));
        let (names, demands): (Vec<&'static str>, Vec<Option<Demanded>>) =
            usable.chain(barred).map(|(by, constraint)| (u.instruction(by), constraint.swizzle)).unzip();
        let mut instructions: Vec<&'static str> = Vec::new();
        names.into_iter().for_each(|name| {
            if !instructions.contains(&name) {
                instructions.push(name)
            }
        });
        Party::of(Demander::Access(u.op.id, instructions), demands.into_iter())
    };
    let parties = uses.iter().zip(options).map(party);
    let program = context.program();
    let by = if pin_of(program, tensor).is_some() { Demander::Pin } else { Demander::Wish };
    let pin = Party::of(by, [demand_in(context, tensor).swizzle].into_iter());
    let parties: Vec<Party> = std::iter::once(pin).chain(parties).flatten().collect();
    Some(demanded::conflict(&program.tensor(tensor).name, tensor, disagreeing(&parties)?))
}
