//! Prints thread programs as text, for `--emit thread`.

use std::fmt::Write;

use hx_index::Cond;
use hx_tile::{Scalar, ScopeId};

use crate::{Address, Lane, LogKind, Memory, Param, Registers, Stmt, ThreadProgram};

/// Returns the program as text, one instruction a line.
pub fn emit_thread(program: &ThreadProgram) -> String {
    let list = |v: &[hx_index::Expr]| v.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut out = format!(
        "kernel {} threads {} grid [{}]\n",
        program.name,
        program.block_threads(),
        list(&program.grid)
    );
    for p in &program.params {
        let _ = match p {
            Param::Tensor(t) => writeln!(
                out,
                "  param {}: {}{}[{}] : [{}] align {}",
                t.name,
                if t.mutable { "mut " } else { "" },
                t.dtype,
                list(&t.shape),
                list(&t.stride),
                t.align
            ),
            Param::Scalar { name, dtype } => writeln!(out, "  param {name}: {dtype}"),
        };
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
    for r in &program.registers {
        let _ = writeln!(out, "  registers {}: {}[{}]", r.name, r.dtype, r.len);
    }
    body_text(program, &program.body, 1, &mut out);
    out
}

fn body_text(program: &ThreadProgram, body: &[Stmt], depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    for stmt in body {
        let _ = writeln!(out, "{indent}{}", line(program, stmt));
        match stmt {
            // A group attributes its statements to an operation and opens no block.
            Stmt::Group(g) => body_text(program, &g.body, depth, out),
            Stmt::If { then, otherwise, .. } => {
                body_text(program, then, depth + 1, out);
                if !otherwise.is_empty() {
                    let _ = writeln!(out, "{indent}else");
                    body_text(program, otherwise, depth + 1, out);
                }
            }
            Stmt::Log(l) => body_text(program, &l.body, depth + 1, out),
            other => other.bodies().for_each(|body| body_text(program, body, depth + 1, out)),
        }
    }
}

/// Formats a statement without the statements in it.
fn line(program: &ThreadProgram, stmt: &Stmt) -> String {
    let registers = |r: &Registers| registers_text(program, r);
    let address = |a: &Address| address_text(program, a);
    match stmt {
        Stmt::Group(g) if g.scope == ScopeId::BLOCK => format!("// #{} {}", g.op.0, g.title),
        Stmt::Group(g) => format!("// #{} {} in scope {}", g.op.0, g.title, g.scope.0),
        Stmt::Let { var, value } => format!("let {var} = {value}"),
        Stmt::For { var, start, end, unroll, .. } => {
            format!("for {var} in {start}..{end}{}", if *unroll { " unroll" } else { "" })
        }
        Stmt::If { cond, .. } => format!("if {cond}"),
        Stmt::While { cond, .. } => format!("while {cond}"),
        Stmt::Barrier => "barrier".to_owned(),
        Stmt::WarpBarrier => "warp barrier".to_owned(),
        Stmt::Commit => "commit".to_owned(),
        Stmt::Wait { groups } => format!("wait {groups}"),
        Stmt::Transfer(t) => {
            let guard = guard_text("if", &t.guard);
            format!("{} {} <> {}{guard}", t.row, registers(&t.registers), address(&t.address))
        }
        Stmt::AsyncCopy(c) => {
            let guards = guard_text("if", &c.active) + &guard_text("inside", &c.inside);
            format!("{} {} <- {}{guards}", c.row, address(&c.dst), address(&c.src))
        }
        Stmt::Multiply(m) => {
            let [c, a, b] = [&m.c, &m.a, &m.b].map(registers);
            format!("{} {c} += {a} * {b}", m.row)
        }
        Stmt::Convert(c) => {
            let row = c.row.as_deref().unwrap_or("move");
            format!("{row} {} = {}", registers(&c.dst), registers(&c.src))
        }
        Stmt::Compute(c) => {
            format!("{} = {}", registers(&c.dst), value_text(program, &c.value, &c.inputs))
        }
        Stmt::Exchange(e) => {
            let lane = lane_text(&e.lane);
            format!("{} {} = {} of {lane}", e.row, registers(&e.dst), registers(&e.src))
        }
        Stmt::Assign { var, value } => format!("{var} = {value}"),
        Stmt::LetNumber { var, value, inputs } => {
            format!("let {var} = {}", value_text(program, value, inputs))
        }
        Stmt::AssignNumber { var, value } => format!("{var} = {value}"),
        Stmt::LoadIndex { var, address: from, guard } => {
            let guard = guard_text("if", guard);
            let otherwise = if guard.is_empty() { "" } else { ", else -1" };
            format!("let {var} = {}{guard}{otherwise}", address(from))
        }
        Stmt::LoadInteger { var, address: from } => format!("let {var} = {}", address(from)),
        Stmt::Log(l) => log_text(program, l.entry),
        Stmt::Put(p) => {
            format!("[{}] <- {}{}", p.position, registers(&p.value), guard_text("if", &p.guard))
        }
        Stmt::Fill(f) => {
            let value = program.array(f.dst.array).dtype.decode(f.bits);
            format!("fill {} = {value:?}", registers(&f.dst))
        }
    }
}

/// Formats a condition with a word before it; nothing if it always holds.
fn guard_text(word: &str, guard: &Cond) -> String {
    match guard {
        Cond::True => String::new(),
        guard => format!(" {word} {guard}"),
    }
}

/// Formats a value, with the registers of its inputs in place of `$0`, `$1`. The last comes first: `$1` is a part of `$10`.
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

fn address_text(program: &ThreadProgram, address: &Address) -> String {
    let memory = match address.memory {
        Memory::Global(p) => match &program.params[p as usize] {
            Param::Tensor(t) => t.name.as_str(),
            Param::Scalar { name, .. } => name.as_str(),
        },
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
