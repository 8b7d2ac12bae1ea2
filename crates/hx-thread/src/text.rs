//! Prints thread programs as text, for `--emit thread`.

use std::fmt::Write;

use hx_index::Cond;
use hx_target::SwizzleMode;
use hx_tile::{Scalar, ScopeId};

use crate::{
    Address, Arrivals, AtomicUse, Bulk, Control, Descriptor, Draw, Drawn, Fence, Fetched, Lane, Lanes, Leaf,
    LogKind, Memory, MultiplyAsync, Param, Part, Prefetch, Registers, Role, SendChunk, Source, Stmt,
    ThreadProgram, Waiters,
};

/// Returns the program as text, one statement a line.
pub fn emit_thread(program: &ThreadProgram) -> String {
    let cluster = match program.cluster {
        [1, 1, 1] => String::new(),
        cluster => format!(" cluster {cluster:?}"),
    };
    let mut out = format!(
        "kernel {} threads {} grid [{}]{cluster}\n",
        program.name,
        program.block_threads(),
        list(&program.grid)
    );
    for p in &program.params {
        let _ = writeln!(out, "  param {}", param_text(p));
    }
    for r in &program.requires {
        let _ = writeln!(out, "  where {}", r.text);
    }
    for (number, scope) in program.scopes.iter().enumerate().skip(1) {
        let _ = writeln!(out, "  scope {number}: {scope}");
    }
    for s in &program.shared {
        let _ = writeln!(out, "  shared {}: {}[{} B] at {}", s.name, s.dtype, s.bytes, s.offset);
    }
    for map in &program.maps {
        let Some(Param::Tensor(t)) = program.params.get(map.param as usize) else { continue };
        let _ = writeln!(
            out,
            "  map of {}: [{}] : [{}] B box {:?} swizzle {}",
            t.name,
            list(&map.dims),
            list(&map.strides),
            map.extents,
            SwizzleMode::of_map(map.swizzle).map_or("?", SwizzleMode::name)
        );
    }
    for b in &program.barriers {
        let _ =
            writeln!(out, "  barriers {} {}: {} of {} at {}", b.pipe, b.kind.word(), b.stages, b.count, b.at);
    }
    for c in &program.counters {
        let of = |p: u32| program.params.get(p as usize).map_or("?", param_name);
        let _ = writeln!(out, "  tickets {}: 0..{} of {} at {}", c.name, c.limit, of(c.param), c.at);
    }
    for r in &program.registers {
        let _ = writeln!(out, "  registers {}: {}[{}]", r.name, r.dtype, r.len);
    }
    body_text(program, &program.body, 1, &mut out);
    out
}

fn param_text(param: &Param) -> String {
    match param {
        Param::Tensor(t) => {
            let mutable = if t.mutable { "mut " } else { "" };
            let (shape, stride) = (list(&t.shape), list(&t.stride));
            format!("{}: {mutable}{}[{shape}] : [{stride}] align {}", t.name, t.dtype, t.align)
        }
        Param::Scalar { name, dtype } => format!("{name}: {dtype}"),
    }
}

fn list(exprs: &[hx_index::Expr]) -> String {
    exprs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn body_text(program: &ThreadProgram, body: &[Stmt], depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    for stmt in body {
        let _ = writeln!(out, "{indent}{}", line(program, stmt));
        match stmt {
            // A group attributes its statements to an operation and opens no block.
            Stmt::Control(Control::Group(g)) => body_text(program, &g.body, depth, out),
            Stmt::Control(Control::If { then, otherwise, .. }) => {
                body_text(program, then, depth + 1, out);
                if !otherwise.is_empty() {
                    let _ = writeln!(out, "{indent}else");
                    body_text(program, otherwise, depth + 1, out);
                }
            }
            Stmt::Leaf(Leaf::Log(l)) => body_text(program, &l.body, depth + 1, out),
            Stmt::Control(Control::Roles(roles)) => {
                for role in roles {
                    let _ = writeln!(out, "{indent}{}", role_text(program, role));
                    body_text(program, &role.body, depth + 1, out);
                }
            }
            other => other.bodies().for_each(|body| body_text(program, body, depth + 1, out)),
        }
    }
}

/// Formats a statement without the statements in it.
fn line(program: &ThreadProgram, stmt: &Stmt) -> String {
    match stmt {
        Stmt::Control(control) => head_text(program, control),
        Stmt::Leaf(leaf) => leaf_text(program, leaf),
    }
}

fn head_text(program: &ThreadProgram, control: &Control) -> String {
    match control {
        Control::Group(g) if g.scope == ScopeId::BLOCK => format!("// #{} {}", g.op.0, g.title),
        Control::Group(g) => format!("// #{} {} in scope {}", g.op.0, g.title, g.scope.0),
        Control::For { var, start, end, unroll, .. } => {
            format!("for {var} in {start}..{end}{}", if *unroll { " unroll" } else { "" })
        }
        Control::If { cond, .. } => format!("if {cond}"),
        Control::While { cond, .. } => format!("while {cond}"),
        Control::Drawn(Drawn { var, counter, index, parity, .. }) => {
            let counter = counter_text(program, *counter);
            format!("for {var} from {counter}[{index}] when full, parity {parity}")
        }
        Control::Roles(_) => "roles".to_owned(),
    }
}

fn leaf_text(program: &ThreadProgram, leaf: &Leaf) -> String {
    let registers = |r: &Registers| registers_text(program, r);
    let address = |a: &Address| address_text(program, a);
    match leaf {
        Leaf::Let { var, value } => format!("let {var} = {value}"),
        Leaf::Barrier => "barrier".to_owned(),
        Leaf::WarpBarrier => "warp barrier".to_owned(),
        Leaf::Commit => "commit".to_owned(),
        Leaf::Wait { groups } => format!("wait {groups}"),
        Leaf::Transfer(t) => {
            let guard = guard_text("if", &t.guard);
            let atomic = t.atomic.as_ref().map_or(String::new(), |atomic| atomic_text(program, atomic));
            let (hints, registers) = (t.cache.text(), registers(&t.registers));
            format!("{} {registers} <> {}{atomic}{hints}{guard}", t.row, address(&t.address))
        }
        Leaf::AsyncCopy(c) => {
            let guards = guard_text("if", &c.active) + &guard_text("inside", &c.inside);
            format!("{} {} <- {}{}{guards}", c.row, address(&c.dst), address(&c.src), c.cache.text())
        }
        Leaf::Bulk(b) => bulk_text(program, b),
        Leaf::BulkStore(b) => {
            format!("{} {} <- {}{}", b.row, part_text(program, &b.to), address(&b.address), b.cache.text())
        }
        Leaf::Prefetch(p) => prefetch_text(program, p),
        Leaf::BulkCommit => "bulk commit".to_owned(),
        Leaf::WaitPrevious => "wait for previous launches".to_owned(),
        Leaf::AllowNext => "allow next launch".to_owned(),
        Leaf::BulkWait { leave, read } => format!("bulk wait {leave}{}", if *read { " read" } else { "" }),
        Leaf::Multiply(m) => {
            let [c, a, b] = [&m.c, &m.a, &m.b].map(registers);
            format!("{} {c} += {a} * {b}", m.row)
        }
        Leaf::MultiplyAsync(m) => product_text(program, m),
        Leaf::Uniform { var, value } => format!("uniform {var} = {value}"),
        Leaf::Fence(Fence::Products) => "fence products".to_owned(),
        Leaf::Fence(Fence::Proxy) => "fence proxy".to_owned(),
        Leaf::Fence(Fence::GlobalProxy) => "fence proxy of global memory".to_owned(),
        Leaf::CommitProducts => "commit products".to_owned(),
        Leaf::WaitProducts { leave, completes } => wait_products_text(program, *leave, completes),
        Leaf::Convert(c) => {
            let row = c.row.map_or("move", |row| row.get().name.as_str());
            format!("{row} {} = {}", registers(&c.dst), registers(&c.src))
        }
        Leaf::Compute(c) => {
            format!("{} = {}", registers(&c.dst), value_text(program, &c.value, &c.inputs))
        }
        Leaf::Send(s) => send_text(program, s),
        Leaf::Exchange(e) => {
            let lane = lane_text(&e.lane);
            format!("{} {} = {} of {lane}", e.row, registers(&e.dst), registers(&e.src))
        }
        Leaf::Assign { var, value } => format!("{var} = {value}"),
        Leaf::LetNumber { var, value, inputs } => {
            format!("let {var} = {}", value_text(program, value, inputs))
        }
        Leaf::AssignNumber { var, value } => format!("{var} = {value}"),
        Leaf::LoadIndex { var, address: from, guard } => {
            let otherwise = if *guard == Cond::True { "" } else { ", else -1" };
            format!("let {var} = {}{}{otherwise}", address(from), guard_text("if", guard))
        }
        Leaf::ReadIndex { var, src } => format!("let {var} = {}", registers(src)),
        Leaf::LoadInteger { var, address: from } => format!("let {var} = {}", address(from)),
        Leaf::Log(l) => log_text(program, l.entry),
        Leaf::Await { barrier, index, parity, by } => {
            let by = if *by == Waiters::First { " by the first warp" } else { "" };
            format!("await {}[{index}] parity {parity}{by}", barrier_text(program, *barrier))
        }
        Leaf::Arrive { barrier, index, by, blocks } => arrive_text(program, *barrier, index, *by, blocks),
        Leaf::Expect { barrier, index, bytes } => {
            format!("expect {bytes} bytes at {}[{index}]", barrier_text(program, *barrier))
        }
        Leaf::Put(p) => {
            let sides: Vec<String> = p.sides.iter().map(registers).collect();
            let sides = if sides.is_empty() { String::new() } else { format!(" of {}", sides.join(", ")) };
            format!("[{}] <- {}{sides}{}", p.position, registers(&p.value), guard_text("if", &p.guard))
        }
        Leaf::Draw(Draw { counter, index, parity }) => {
            format!("draw {}[{index}] when empty, parity {parity}", counter_text(program, *counter))
        }
        Leaf::NamedSync { id, threads } => format!("barrier {id} of {threads} threads"),
        Leaf::NamedArrive { id, threads } => format!("arrive at barrier {id} of {threads} threads"),
        Leaf::Fill(f) => {
            let value = program.array(f.dst.array).dtype.decode(f.bits);
            format!("fill {} = {value:?}", registers(&f.dst))
        }
    }
}

fn atomic_text(program: &ThreadProgram, atomic: &AtomicUse) -> String {
    let AtomicUse { compare, old, order, scope } = atomic;
    let compare =
        compare.as_ref().map_or(String::new(), |r| format!(" where {}", registers_text(program, r)));
    let old = old.as_ref().map_or(String::new(), |r| format!(" was {}", registers_text(program, r)));
    format!("{compare}{old}, {} {}", order.name(), scope.name())
}

fn send_text(program: &ThreadProgram, s: &SendChunk) -> String {
    let SendChunk { row, address, block, barrier: (barrier, index), .. } = s;
    let (from, to) = (registers_text(program, &s.registers), address_text(program, address));
    let barrier = barrier_text(program, *barrier);
    format!("{row} {to} <- {from} signals {barrier}[{index}] to blocks {block}")
}

fn prefetch_text(program: &ThreadProgram, Prefetch { row, of }: &Prefetch) -> String {
    match of {
        Fetched::Box { map, coordinates } => {
            let part = Part::Box { map: *map, coordinates: coordinates.clone() };
            format!("{row} {}", part_text(program, &part))
        }
        Fetched::Line { address, guard } => {
            format!("{row} {}{}", address_text(program, address), guard_text("if", guard))
        }
    }
}

fn bulk_text(program: &ThreadProgram, copy: &Bulk) -> String {
    let (global, (barrier, index)) = (part_text(program, &copy.from), &copy.barrier);
    let blocks = blocks_text(" to", &copy.blocks);
    let signals = format!(" signals {}[{index}]", barrier_text(program, *barrier));
    let (address, hints) = (address_text(program, &copy.address), copy.cache.text());
    format!("{} {address} <- {global}{signals}{blocks}{hints}", copy.row)
}

fn wait_products_text(program: &ThreadProgram, leave: u32, completes: &[Registers]) -> String {
    let completes: Vec<String> = completes.iter().map(|r| registers_text(program, r)).collect();
    let list = if completes.is_empty() { String::new() } else { format!(": {}", completes.join(", ")) };
    format!("wait products {leave}{list}")
}

fn arrive_text(
    program: &ThreadProgram,
    barrier: u32,
    index: &hx_index::Expr,
    by: Arrivals,
    blocks: &[hx_index::Expr],
) -> String {
    let by = match by {
        Arrivals::Copies => "copies of each thread",
        Arrivals::Warps => "each warp",
        Arrivals::Groups => "each group",
    };
    let blocks = blocks_text(" of", blocks);
    format!("arrive {}[{index}]{blocks} by {by}", barrier_text(program, barrier))
}

/// Formats a role without its body, as in `role 2 groups of threads 128..384 for g, 240 registers`.
fn role_text(program: &ThreadProgram, role: &Role) -> String {
    let index = role.index.as_ref().map_or(String::new(), |g| format!(" for {g}"));
    let registers = role.registers.map_or(String::new(), |r| format!(", {r} registers"));
    let lanes = match role.lanes {
        Lanes::All => "",
        Lanes::FirstWarp => ", first warp",
    };
    format!("{}{index}{registers}{lanes}", program.scope(role.scope))
}

/// Formats an asynchronous product, as in `ROW c[0..=7] += a[0](k.128B, L 16, S 1024) * b[64 * k](k.128B, L 16, S 1024)`.
fn product_text(program: &ThreadProgram, m: &MultiplyAsync) -> String {
    let described = |d: &Descriptor| {
        let Descriptor { start, reach, lbo, sbo } = d;
        format!("{}({reach}, L {lbo}, S {sbo})", address_text(program, start))
    };
    let a = match &m.a {
        Source::Registers(registers) => registers_text(program, registers),
        Source::Descriptor(descriptor) => described(descriptor),
    };
    let keep = guard_text("added if", &m.keep);
    format!("{} {} += {a} * {}{keep}", m.row, registers_text(program, &m.c), described(&m.b))
}

/// Formats a barrier, as in `pipe full`.
fn barrier_text(program: &ThreadProgram, barrier: u32) -> String {
    let found = program.barriers.get(barrier as usize);
    found.map_or_else(|| format!("barrier {barrier}"), |b| format!("{} {}", b.pipe, b.kind.word()))
}

fn counter_text(program: &ThreadProgram, counter: u32) -> String {
    let found = program.counters.get(counter as usize);
    found.map_or_else(|| format!("counter {counter}"), |c| c.name.clone())
}

fn param_name(param: &Param) -> &str {
    match param {
        Param::Tensor(t) => &t.name,
        Param::Scalar { name, .. } => name,
    }
}

/// Formats a condition with a word before it; nothing if it always holds.
fn guard_text(word: &str, guard: &Cond) -> String {
    match guard {
        Cond::True => String::new(),
        guard => format!(" {word} {guard}"),
    }
}

/// Formats a value, with the registers of its inputs in place of `$0`, `$1`. The last input is replaced first, because `$1` is
/// a prefix of `$10`.
fn value_text(program: &ThreadProgram, value: &Scalar, inputs: &[Registers]) -> String {
    let inputs = inputs.iter().enumerate().rev();
    inputs.fold(value.to_string(), |text, (i, r)| text.replace(&format!("${i}"), &registers_text(program, r)))
}

fn lane_text(lane: &Lane) -> String {
    match lane {
        Lane::Xor(mask) => format!("lane ^ {mask}"),
        Lane::Up(by) => format!("lane - {by}"),
        Lane::At(lane) => format!("lane {lane}"),
        Lane::Tile => "the lanes that have it".to_owned(),
    }
}

/// Formats a log entry, as in `print "after" f32[4, 8]`.
fn log_text(program: &ThreadProgram, entry: u32) -> String {
    let Some(entry) = program.log.get(entry as usize) else { return format!("entry {entry}") };
    let word = match entry.kind {
        LogKind::Print => "print",
        LogKind::Assert => "assert",
    };
    let text = if entry.text.is_empty() { String::new() } else { format!(" {:?}", entry.text) };
    let value = entry.value.as_ref().map_or(String::new(), |v| format!(" {}{:?}", v.dtype, v.shape));
    format!("{word}{text}{value}")
}

/// Returns blocks of the cluster as text; nothing for the executing block alone.
fn blocks_text(word: &str, ranks: &[hx_index::Expr]) -> String {
    let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    if ranks.is_empty() { String::new() } else { format!("{word} blocks {}", ranks.join(", ")) }
}

/// Formats a box by the coordinates of its first element, as in `a{64 * ki, 128 * block_idx.x}`, and a run by its first element and
/// its length, as in `a[512 * ki]+512`.
fn part_text(program: &ThreadProgram, part: &Part) -> String {
    let (map, coordinates) = match part {
        Part::Box { map, coordinates } => (*map, coordinates),
        Part::Run { first, elements } => return format!("{}+{elements}", address_text(program, first)),
    };
    let tensor = program.maps.get(map as usize).and_then(|map| program.params.get(map.param as usize));
    let name = match tensor {
        Some(Param::Tensor(t)) => t.name.as_str(),
        Some(Param::Scalar { .. }) | None => "?",
    };
    let coordinates: Vec<String> = coordinates.iter().map(ToString::to_string).collect();
    format!("{name}{{{}}}", coordinates.join(", "))
}

fn address_text(program: &ThreadProgram, address: &Address) -> String {
    let memory = match address.memory {
        Memory::Global(p) => param_name(&program.params[p as usize]),
        Memory::Shared(s) => program.shared[s as usize].name.as_str(),
    };
    format!("{memory}[{}]", address.offset)
}

/// Formats registers, as in `ra[4 * i + {0..=7}]`.
fn registers_text(program: &ThreadProgram, r: &Registers) -> String {
    let name = &program.array(r.array).name;
    let dense = r.offsets.windows(2).all(|w| w[1] == w[0] + 1);
    let offsets = match r.offsets.as_slice() {
        [one] => one.to_string(),
        [first, .., last] if dense => format!("{first}..={last}"),
        many => many.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    };
    if r.base.is_zero() {
        format!("{name}[{offsets}]")
    } else {
        format!("{name}[{} + {{{offsets}}}]", r.base)
    }
}
