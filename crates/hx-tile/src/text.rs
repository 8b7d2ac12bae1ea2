//! Prints tile programs and solutions as text, for `--emit tile` and `--emit layouts`.

use std::collections::BTreeSet;
use std::fmt::Write;

use hx_index::Expr;

use crate::{
    Atomic, Choice, Control, CopyChoice, Leaf, Map, Op, OpKind, Param, Pick, Reason, ReduceChoice, Role,
    RoleKind, Rounds, Route, ScopeId, Solution, Stmt, SyncOp, TensorId, TensorKind, TileProgram, View,
};

/// Returns the program as text, one operation a line. Tensors that no operation uses are left out.
pub fn emit_tile(program: &TileProgram) -> String {
    let mut out = format!("kernel {} threads {}\n", program.name, program.block_threads());
    let grid: Vec<_> = program.grid.iter().map(|axis| axis.blocks.to_string()).collect();
    let cluster = match program.cluster {
        [1, 1, 1] => String::new(),
        cluster => format!(" cluster {cluster:?}"),
    };
    let _ = writeln!(out, "  grid [{}]{cluster}", grid.join(", "));
    for param in &program.params {
        let _ = writeln!(out, "  param {}", param_text(param));
    }
    for r in &program.requires {
        let _ = writeln!(out, "  where {}", r.text);
    }
    for (symbol, divisor) in program.facts.divisors().filter(|(_, d)| *d > 1) {
        let _ = writeln!(out, "  fact {symbol} % {divisor} == 0");
    }
    for (number, scope) in program.scopes.iter().enumerate().skip(1) {
        let _ = writeln!(out, "  scope {number}: {scope}");
    }
    let used: BTreeSet<TensorId> = program.ops(1.0).iter().flat_map(|(op, _)| op.kind.tensors()).collect();
    for id in used {
        let t = program.tensor(id);
        let (space, pin) = match &t.kind {
            TensorKind::Register { pinned } => ("register", pinned.as_ref().map(ToString::to_string)),
            TensorKind::Shared { pinned } => ("shared", pinned.as_ref().map(|l| l.source_form())),
        };
        let pin = pin.map_or(String::new(), |l| format!(" layout {l}"));
        let scope = scope_text(t.scope);
        let _ = writeln!(out, "  {space} {}: {}{:?}{pin}{scope}", t.name, t.dtype, t.shape);
    }
    for pipe in &program.pipes {
        let _ = writeln!(out, "  {pipe}");
    }
    for id in program.named_barrier_ids() {
        let barrier = &program.named_barrier(id).name;
        let _ = writeln!(out, "  barrier {barrier}: {} threads", program.threads_at(id));
    }
    for counter in &program.counters {
        let from = program.tensor_param(counter.param).map_or("?", |t| t.name.as_str());
        let _ = writeln!(out, "  counter {}: 0..{} from {from}", counter.name, counter.limit);
    }
    stmts_text(program, &program.body, 1, &mut out);
    out
}

fn rounds_text(program: &TileProgram, rounds: &Rounds) -> String {
    match rounds {
        Rounds::Range { start, end, unroll: false } => format!("{start}..{end}"),
        Rounds::Range { start, end, unroll: true } => format!("{start}..{end} unroll"),
        Rounds::Drawn { counter, scope, .. } => {
            format!("{}{}", program.counter(*counter).name, scope_text(*scope))
        }
    }
}

/// Returns ` in scope 1`, and nothing for the block.
fn scope_text(scope: ScopeId) -> String {
    if scope == ScopeId::BLOCK { String::new() } else { format!(" in scope {}", scope.0) }
}

fn param_text(param: &Param) -> String {
    match param {
        Param::Tensor(t) => {
            let list =
                |v: &[hx_index::Expr]| v.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let mutable = if t.mutable { "mut " } else { "" };
            let places =
                t.block.as_ref().map_or_else(|| format!("[{}]", list(&t.stride)), |b| format!("blocks {b}"));
            format!("{}: {mutable}{}[{}] : {places} align {}", t.name, t.dtype, list(&t.shape), t.align)
        }
        Param::Int { name, dtype } | Param::Float { name, dtype } => format!("{name}: {dtype}"),
    }
}

fn stmts_text(program: &TileProgram, stmts: &[Stmt], depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    for stmt in stmts {
        match stmt {
            Stmt::Leaf(Leaf::Op(op)) => {
                let scope = scope_text(op.scope);
                let _ = writeln!(out, "{indent}#{} {}{scope}", op.id.0, exact_text(program, op));
            }
            Stmt::Control(Control::For { var, rounds, body }) => {
                let _ = writeln!(out, "{indent}for {var} in {}", rounds_text(program, rounds));
                stmts_text(program, body, depth + 1, out);
            }
            Stmt::Control(Control::If { cond, then, otherwise }) => {
                let _ = writeln!(out, "{indent}if {cond}");
                stmts_text(program, then, depth + 1, out);
                if !otherwise.is_empty() {
                    let _ = writeln!(out, "{indent}else");
                    stmts_text(program, otherwise, depth + 1, out);
                }
            }
            Stmt::Control(Control::While { cond, body, .. }) => {
                let _ = writeln!(out, "{indent}while {cond}");
                stmts_text(program, body, depth + 1, out);
            }
            Stmt::Leaf(Leaf::Let { var, value }) => {
                let _ = writeln!(out, "{indent}let {var} = {value}");
            }
            Stmt::Leaf(Leaf::Assign { var, value }) => {
                let _ = writeln!(out, "{indent}{var} = {value}");
            }
            Stmt::Leaf(Leaf::LetNumber { var, value }) => {
                let _ = writeln!(out, "{indent}let {var} = {value}");
            }
            Stmt::Leaf(Leaf::AssignNumber { var, value }) => {
                let _ = writeln!(out, "{indent}{var} = {value}");
            }
            Stmt::Leaf(Leaf::LoadScalar { var, src, .. }) => {
                let _ = writeln!(out, "{indent}let {var} = {}", view_text(program, src));
            }
            Stmt::Control(Control::Roles(roles)) => {
                for role in roles {
                    let _ = writeln!(out, "{indent}{}", role_text(role));
                    stmts_text(program, &role.body, depth + 1, out);
                }
            }
        }
    }
}

/// Returns a role without its body, as in `consumer in scope 2 for g, 240 registers`.
fn role_text(role: &Role) -> String {
    let index = role.index.as_ref().map_or(String::new(), |g| format!(" for {g}"));
    let registers = role.registers.map_or(String::new(), |r| format!(", {r} registers"));
    let kind = match role.kind {
        RoleKind::Producer => "producer",
        RoleKind::Consumer => "consumer",
    };
    format!("{kind}{}{index}{registers}", scope_text(role.scope))
}

/// Returns an operation as text, with the names of its tensors. A coordinate that takes a line of its own is cut short: the
/// tile of a persistent kernel is a long expression of the block and the round.
pub fn op_text(program: &TileProgram, op: &Op) -> String {
    brief(&exact_text(program, op))
}

fn exact_text(program: &TileProgram, op: &Op) -> String {
    let name = |id: &TensorId| program.tensor(*id).name.clone();
    match &op.kind {
        OpKind::Sync(op) => sync_text(program, op),
        OpKind::Fill { dst, value } => format!("fill({}, {value:?})", name(dst)),
        OpKind::Copy { src, dst } => {
            let hints = hints_text(src, dst) + &pin_text(program, op);
            format!("copy({}, {}{hints})", view_text(program, src), view_text(program, dst))
        }
        OpKind::Gemm { c, a, b, warps, asynchronous: _ } => {
            let pin = |warps| format!(", warps: {}", program.warps_text(*c, warps));
            let warps = warps.map_or(String::new(), pin) + &pin_text(program, op);
            let [a, b] = [a, b].map(|operand| view_text(program, &operand.view));
            format!("{}({}, {a}, {b}{warps})", op.kind.name(), name(c))
        }
        OpKind::Cast { dst, src } if program.tensor(*dst).shape != program.tensor(*src).shape => {
            format!("{} = reshape({}, {:?})", name(dst), name(src), program.tensor(*dst).shape)
        }
        OpKind::Cast { dst, src } => {
            format!("{} = cast({}, {})", name(dst), name(src), program.tensor(*dst).dtype)
        }
        OpKind::CopyAsync { src, dst, signal, multicast } => {
            let signal =
                signal.map_or(String::new(), |pipe| format!(", signal: {}", program.pipe(pipe).name));
            let multicast = multicast.map_or(String::new(), |axis| format!(", multicast: {axis}"));
            let hints = hints_text(src, dst) + &pin_text(program, op);
            let [src, dst] = [src, dst].map(|view| view_text(program, view));
            format!("copy_async({src}, {dst}{signal}{multicast}{hints})")
        }
        OpKind::Store { src, dst, adds } => {
            let add = if *adds { ", add: true" } else { "" };
            let hints = hints_text(src, dst) + &pin_text(program, op);
            format!("copy_async({}, {}{add}{hints})", view_text(program, src), view_text(program, dst))
        }
        OpKind::Prefetch { view } => format!("prefetch({})", view_text(program, view)),
        OpKind::Map(map) => map_text(program, map),
        OpKind::Reduce { dst, src, axis, operator } => {
            format!("{} = reduce({}, axis: {axis}, {})", name(dst), name(src), operator.name())
        }
        OpKind::Slice { dst, src } => format!("{} = {}", name(dst), part_text(program, src)),
        OpKind::Insert { dst, src } => format!("{} = {}", part_text(program, dst), name(src)),
        OpKind::ReadNumber { var, src } => format!("{var} = scalar({})", name(src)),
        OpKind::Scan { dst, src, axis, op, reverse } => scan_text(program, (dst, src), *axis, op, *reverse),
        OpKind::Atomic(atomic) => atomic_text(program, atomic),
        OpKind::ClusterSum { x, parts, axis, to } => {
            let to = to.map_or(String::new(), |to| format!(", to: {to}"));
            let from = match parts.as_slice() {
                [] => name(x),
                parts => parts.iter().map(name).collect::<Vec<_>>().join(" | "),
            };
            format!("{} = sum({from}, cluster: {axis}{to})", name(x))
        }
        OpKind::Print { text, src, .. } => {
            let text = (!text.is_empty()).then(|| format!("{text:?}"));
            let parts: Vec<String> = text.into_iter().chain(src.as_ref().map(name)).collect();
            format!("print({})", parts.join(", "))
        }
        OpKind::Assert { cond, message, .. } => {
            let message = if message.is_empty() { String::new() } else { format!(", {message:?}") };
            format!("assert({}{message})", name(cond))
        }
        other => plain_text(program, other),
    }
}

/// Formats an operation by its description, as in `y = rearrange(x)`.
fn plain_text(program: &TileProgram, kind: &OpKind) -> String {
    let names: Vec<&str> = kind.registers().iter().map(|id| program.tensor(*id).name.as_str()).collect();
    let (results, sources) = names.split_at(kind.results());
    let call = format!("{}({})", kind.name(), sources.join(", "));
    if results.is_empty() { call } else { format!("{} = {call}", results.join(", ")) }
}

fn map_text(program: &TileProgram, map: &Map) -> String {
    let name = |id: &TensorId| program.tensor(*id).name.clone();
    let names: Vec<String> = map.inputs.iter().map(name).collect();
    // Replace the highest number first, so that `$1` does not match the start of `$10`.
    let value = names
        .iter()
        .enumerate()
        .rev()
        .fold(map.value.to_string(), |text, (i, name)| text.replace(&format!("${i}"), name));
    format!("{} = {value}", name(&map.dst))
}

fn scan_text(
    program: &TileProgram,
    (dst, src): (&[TensorId], &[TensorId]),
    axis: usize,
    op: &[crate::Scalar],
    reverse: bool,
) -> String {
    let name = |id: &TensorId| program.tensor(*id).name.clone();
    let names = |ids: &[TensorId]| match ids {
        [one] => name(one),
        many => format!("({})", many.iter().map(name).collect::<Vec<_>>().join(", ")),
    };
    let letters = |i: usize| {
        let n = src.len();
        let letter = if i < n { 'a' } else { 'b' };
        if n == 1 { letter.to_string() } else { format!("{letter}{}", i % n) }
    };
    let body = |value: &crate::Scalar| {
        let inputs = (0..2 * src.len()).rev();
        inputs.fold(value.to_string(), |text, i| text.replace(&format!("${i}"), &letters(i)))
    };
    let parts: Vec<String> = op.iter().map(body).collect();
    let reverse = if reverse { ", reverse" } else { "" };
    format!("{} = scan({}, axis: {axis}, {}{reverse})", names(dst), names(src), parts.join(", "))
}

/// Formats the cache hints of a copy as arguments. Only one of its views is of global memory.
fn hints_text(src: &View, dst: &View) -> String {
    src.cache.text() + &dst.cache.text()
}

fn pin_text(program: &TileProgram, op: &Op) -> String {
    program.pins.get(&op.id).map_or(String::new(), |pin| format!(", by: {:?}", pin.text))
}

fn sync_text(program: &TileProgram, op: &SyncOp) -> String {
    let name = op.name();
    match op {
        SyncOp::Scope | SyncOp::Warp | SyncOp::Commit | SyncOp::WaitPrevious | SyncOp::AllowNext => {
            format!("{name}()")
        }
        SyncOp::Take { turns } | SyncOp::Pass { turns } => format!("{}.{name}()", program.turns(*turns).name),
        SyncOp::SyncAt { barrier } | SyncOp::ArriveAt { barrier } => {
            format!("{}.{name}()", program.named_barrier(*barrier).name)
        }
        SyncOp::Wait { groups: leave }
        | SyncOp::GemmWait { leave }
        | SyncOp::WaitStores { leave, read: true } => format!("{name}({leave})"),
        SyncOp::WaitStores { leave, read: false } => format!("{name}({leave}, read: false)"),
        SyncOp::Acquire { pipe, var } | SyncOp::WaitStage { pipe, var } => {
            format!("{var} = {}.{name}()", program.pipe(*pipe).name)
        }
        SyncOp::Publish { pipe } | SyncOp::Release { pipe, .. } => {
            format!("{}.{name}()", program.pipe(*pipe).name)
        }
        SyncOp::Skip { pipe, count } => format!("{}.{name}({count})", program.pipe(*pipe).name),
    }
}

/// Formats a part of a register tensor, as in `x[0..64, 3] permuted [1, 0] with 1 new`.
fn part_text(program: &TileProgram, view: &View) -> String {
    let Some(id) = view.register() else { return view_text(program, view) };
    let tensor = program.tensor(id);
    let dim = |d: usize| {
        let offset = &view.offsets[d];
        match view.modes.iter().find(|m| m.dim == d && !m.factor.is_zero()) {
            None => offset.to_string(),
            Some(m) if m.is_reversed() => ".. reversed".into(),
            Some(m) if m.extent == tensor.shape[d] => "..".into(),
            Some(m) => format!("{offset}..{}", offset.clone() + hx_index::Expr::constant(m.extent)),
        }
    };
    let dims: Vec<String> = (0..tensor.shape.len()).map(dim).collect();
    let news = view.modes.iter().filter(|m| m.factor.is_zero()).count();
    let order: Vec<usize> = view.modes.iter().filter(|m| !m.factor.is_zero()).map(|m| m.dim).collect();
    let permuted = if order.is_sorted() { String::new() } else { format!(" permuted {order:?}") };
    let new = if news == 0 { String::new() } else { format!(" with {news} new") };
    format!("{}[{}]{permuted}{new}", tensor.name, dims.join(", "))
}

/// Formats a view by the coordinates of its base, as in `c[64 * block_idx.x + 0..64, 0..32 by 2]`.
pub(crate) fn view_text(program: &TileProgram, view: &View) -> String {
    let base = program.base_name(view.base);
    if view.register().is_some() {
        return base.into();
    }
    let mut dims = Vec::new();
    for (dim, offset) in view.offsets.iter().enumerate() {
        let mut parts = Vec::new();
        let picks = !view.picks().is_empty();
        for mode in view.modes.iter().filter(|m| m.dim == dim && !picks) {
            let by = match mode.factor.as_const() {
                Some(1) => String::new(),
                _ => format!(" by {}", mode.factor),
            };
            parts.push(format!("0..{}{by}", mode.extent));
        }
        let pick = view.picks().iter().find(|pick| pick.dim == dim);
        parts.extend(pick.map(|pick| pick_text(program, pick)));
        if !offset.is_zero() || parts.is_empty() {
            parts.insert(0, offset.to_string());
        }
        dims.push(parts.join(" + "));
    }
    let order: Vec<usize> = view.modes.iter().map(|m| m.dim).collect();
    let permuted = if order.is_sorted() { String::new() } else { format!(" permuted {order:?}") };
    let below = |ends: &[(usize, Expr)]| -> String {
        ends.iter().map(|(dim, end)| format!(" below {end} in dimension {dim}")).collect()
    };
    let rows = view.rows().map_or(String::new(), |r| {
        let table = program.base_name(r.base);
        let at: Vec<String> = r.offsets.iter().map(ToString::to_string).collect();
        format!(" rows {table}[{}..]{}", at.join(", "), below(&r.ends))
    });
    format!("{base}[{}]{permuted}{}{rows}", dims.join(", "), below(&view.ends))
}

/// Formats an index that picks elements, as in `bins by 2`.
fn pick_text(program: &TileProgram, pick: &Pick) -> String {
    let index = &program.tensor(pick.index).name;
    if pick.factor.as_const() == Some(1) { index.clone() } else { format!("{index} by {}", pick.factor) }
}

fn atomic_text(program: &TileProgram, atomic: &Atomic) -> String {
    let name = |id: TensorId| program.tensor(id).name.clone();
    let result = atomic.results().map(|id| format!("{} = ", name(id))).collect::<String>();
    let view = view_text(program, &atomic.memory);
    let compare = atomic.compare.map_or(String::new(), |id| format!(", {}", name(id)));
    let value = if atomic.is_load() { String::new() } else { format!(", {}", name(atomic.value)) };
    format!("{result}{}({view}{compare}{value}{})", atomic.op.name(), atomic.meaning_text())
}

/// Returns layouts and instructions as text, each with a line that gives the reason.
pub fn emit_layouts(program: &TileProgram, solution: &Solution) -> String {
    let mut out = format!("kernel {} threads {}\n", program.name, program.block_threads());
    for id in program.tensor_ids() {
        if let Some((layout, reason)) = layout_text(program, solution, id) {
            let _ = writeln!(out, "{layout}\n    {}", reason_text(reason));
        }
    }
    for (op, _) in program.ops(1.0) {
        if let Some((choice, reason)) = choice_text(program, solution, op) {
            let _ = writeln!(out, "{choice}\n    {}", reason_text(reason));
        }
    }
    for (scope, registers) in &solution.role_registers {
        let _ = writeln!(out, "{}: {registers} registers a thread", program.scope(*scope));
    }
    let _ = writeln!(out, "shared memory: {} B", solution.shared_bytes);
    out
}

/// Returns a tensor with its layout on one line, and the reason for the layout; `None` if the solution has no layout for it.
pub fn layout_text<'a>(
    program: &TileProgram,
    solution: &'a Solution,
    id: TensorId,
) -> Option<(String, &'a Reason)> {
    let t = program.tensor(id);
    if let Some(d) = solution.registers.get(&id) {
        let covered = if d.tile == t.shape { String::new() } else { format!(" over {:?}", d.tile) };
        let text = format!("{}: register {}{:?} = {}{covered}", t.name, t.dtype, t.shape, d.layout);
        return Some((text, &d.reason));
    }
    let s = solution.shared.get(&id)?;
    let swizzle =
        if s.swizzle.is_identity() { String::new() } else { format!("{} ∘ ", s.swizzle.source_form()) };
    let place = format!("{} B at {}", s.bytes, s.offset);
    Some((format!("{}: shared {}{:?} = {swizzle}{}, {place}", t.name, t.dtype, t.shape, s.layout), &s.reason))
}

/// Returns the choices that distinguish a solution from others, on one line: each product with its arrangement, then the
/// instructions of copies.
pub fn summary_text(program: &TileProgram, solution: &Solution) -> String {
    let mut parts = Vec::new();
    let mut rows: Vec<(String, usize)> = Vec::new();
    let mut count = |row: &str| match rows.iter_mut().find(|(name, _)| name == row) {
        Some((_, n)) => *n += 1,
        None => rows.push((row.to_owned(), 1)),
    };
    for (op, _) in program.ops(1.0) {
        match solution.choices.get(&op.id) {
            Some(Choice::Gemm(g)) => {
                parts.push(format!("#{} {} {}", op.id.0, g.row, g.across()));
            }
            Some(Choice::Copy(c)) => count(&c.row.name),
            Some(Choice::Rearrange(r)) => {
                r.route.rows().into_iter().for_each(&mut count);
            }
            Some(
                Choice::Convert(_)
                | Choice::Map(_)
                | Choice::Reduce(_)
                | Choice::Slice(_)
                | Choice::Scan(_)
                | Choice::Bulk(_)
                | Choice::Prefetch(_),
            )
            | None => {}
        }
    }
    let copies = rows.into_iter().map(|(row, n)| if n == 1 { row } else { format!("{n} {row}") });
    parts.push(copies.collect::<Vec<_>>().join(", "));
    parts.join("; ")
}

/// Returns a note that the search for a solution stopped before its end; `None` if it did not.
pub fn unexplored_text(solution: &Solution) -> Option<String> {
    let left = solution.unexplored;
    let branches = if left == 1 { "branch" } else { "branches" };
    (left > 0).then(|| {
        format!("the search for layouts left {left} {branches} unexplored: there may be a cheaper solution")
    })
}

/// Returns an operation with its number and its instruction on one line, and the reason for the instruction; `None` if the solution
/// chose no instruction.
pub fn choice_text<'a>(
    program: &TileProgram,
    solution: &'a Solution,
    op: &Op,
) -> Option<(String, &'a Reason)> {
    let (instruction, reason) = instruction_text(program, solution, op)?;
    Some((format!("#{} {}: {instruction}", op.id.0, op_text(program, op)), reason))
}

/// Returns the instruction that a solution chose for an operation, and the reason for it; `None` if it chose none.
pub fn instruction_text<'a>(
    program: &TileProgram,
    solution: &'a Solution,
    op: &Op,
) -> Option<(String, &'a Reason)> {
    let (what, reason) = match solution.choices.get(&op.id)? {
        Choice::Copy(c) => (copy_text(c), &c.reason),
        Choice::Rearrange(r) => (route_text(&r.route), &r.reason),
        Choice::Gemm(g) => {
            let [im, i_n, ik, batch] = g.issues;
            let batch = if batch > 1 { format!(", {batch} times") } else { String::new() };
            let scope = program.scope(op.scope).kind.name();
            (format!("{}, {} across the {scope}, {im}×{i_n}×{ik} each{batch}", g.row, g.across()), &g.reason)
        }
        Choice::Map(m) => ("elementwise".into(), &m.reason),
        Choice::Reduce(r) => (steps_text(r), &r.reason),
        Choice::Slice(s) => {
            let what = match (&s.through, s.lanes.is_empty()) {
                (Some(scratch), _) => format!("through {} B of shared memory", scratch.bytes),
                (None, true) => "the same registers".into(),
                (None, false) => "from another lane".into(),
            };
            (what, &s.reason)
        }
        Choice::Scan(s) => {
            let level = |level: &crate::ScanLevel| match level {
                crate::ScanLevel::Values { extent, .. } => format!("{extent} within threads"),
                crate::ScanLevel::Lanes { extent, .. } => format!("{extent} between lanes"),
                crate::ScanLevel::Across { extent, .. } => format!("{extent} through shared memory"),
            };
            let levels: Vec<String> = s.levels.iter().map(level).collect();
            (levels.join(", "), &s.reason)
        }
        Choice::Prefetch(p) => {
            let extents: Vec<String> = p.extents.iter().map(u32::to_string).collect();
            let by = if p.dims.is_empty() {
                "line by line".to_owned()
            } else {
                format!("in boxes of {}", extents.join("×"))
            };
            (format!("{} {by}", p.row), &p.reason)
        }
        Choice::Bulk(b) => {
            let extents: Vec<String> = b.extents.iter().map(u32::to_string).collect();
            let parts = if b.runs { "runs" } else { "boxes" };
            let shared = b.share.map(|_| format!(", shared by {} blocks", program.blocks_of(op)));
            let shared = shared.unwrap_or_default();
            (format!("{} in {parts} of {}{shared}", b.row, extents.join("×")), &b.reason)
        }
        Choice::Convert(c) => (c.row.map_or("move", |row| &row.get().name).to_owned(), &c.reason),
    };
    Some((what, reason))
}

fn route_text(route: &Route) -> String {
    match route {
        Route::Within(_) | Route::Renamed(_) => "within threads".to_string(),
        Route::Lanes(lanes) => format!("within warps: {}", lanes.row),
        Route::Matrices { row, src } => format!("within warps: {row}, {} each", src.mode(1).size()),
        Route::Shared { store, load } => {
            format!("through shared memory: {}; {}", copy_text(store), copy_text(load))
        }
    }
}

fn steps_text(r: &ReduceChoice) -> String {
    let mut steps = vec!["within threads".to_string()];
    if !r.lanes.is_empty() {
        steps.push(format!("{} exchanges between lanes", r.lanes.len()));
    }
    if let Some(across) = &r.across {
        steps.push(format!("across warps through {} B of shared memory", across.bytes));
    }
    steps.join(", ")
}

fn copy_text(c: &CopyChoice) -> String {
    let conflicts = c.conflicts.map_or(String::new(), |c| {
        if c.wavefronts == c.ideal {
            ", no bank conflicts".into()
        } else {
            format!(", bank conflicts: {} wavefronts instead of {}", c.wavefronts, c.ideal)
        }
    });
    format!("{}, {} B an access{conflicts}", c.row, c.bytes)
}

/// Returns a reason with the numbers of the operations that it follows from.
pub fn reason_text(reason: &Reason) -> String {
    if reason.from.is_empty() {
        return reason.text.clone();
    }
    let ops: Vec<_> = reason.from.iter().map(|op| format!("#{}", op.0)).collect();
    format!("{} ({})", reason.text, ops.join(", "))
}

/// The longest text within parentheses of a coordinate that [`op_text`] keeps.
const LONGEST: usize = 48;

/// Replaces a long text in parentheses by `…`, within brackets only.
fn brief(text: &str) -> String {
    let (mut out, mut open, mut brackets) = (String::new(), Vec::new(), 0_u32);
    for c in text.chars() {
        brackets += u32::from(c == '[');
        brackets -= u32::from(c == ']').min(brackets);
        match c {
            '(' => open.push((out.len(), brackets > 0)),
            ')' => {
                let within = open.pop().filter(|(_, in_brackets)| *in_brackets);
                if let Some((start, _)) = within.filter(|(start, _)| out.len() - start > LONGEST) {
                    out.truncate(start + 1);
                    out.push('…');
                }
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn long_coordinates_are_cut_short() {
        let tile =
            "cast(((blocks * w + block) % (((n + 63) / 64) * 8)) % min(8, ((m + 127) / 128) - first), i64)";
        assert_eq!(
            super::brief(&format!("copy(s[0..128, w % 2], c[{tile} * 128 + 0..128, 0..64])")),
            "copy(s[0..128, w % 2], c[cast(…) * 128 + 0..128, 0..64])"
        );
        assert_eq!(super::brief("copy(a, b[(m + 63) / 64 - 1])"), "copy(a, b[(m + 63) / 64 - 1])");
        assert_eq!(super::brief(&format!("fill({tile}, 0)")), format!("fill({tile}, 0)"));
    }
}
