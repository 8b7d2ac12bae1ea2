//! Thread programs as text: what `--emit thread` prints.

use std::fmt::Write;

use hx_index::Cond;

use crate::{Memory, Param, Registers, Stmt, ThreadProgram};

/// The program as text, one instruction a line.
pub fn emit_thread(program: &ThreadProgram) -> String {
    let list = |v: &[hx_index::Expr]| v.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut out =
        format!("kernel {} threads {} grid [{}]\n", program.name, program.threads, list(&program.grid));
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
        match stmt {
            Stmt::Group(g) => {
                let _ = writeln!(out, "{indent}// #{} {}", g.op.0, g.title);
                body_text(program, &g.body, depth, out);
            }
            Stmt::Let { var, value } => {
                let _ = writeln!(out, "{indent}let {var} = {value}");
            }
            Stmt::For { var, start, end, unroll, body } => {
                let unroll = if *unroll { " unroll" } else { "" };
                let _ = writeln!(out, "{indent}for {var} in {start}..{end}{unroll}");
                body_text(program, body, depth + 1, out);
            }
            Stmt::If { cond, then, otherwise } => {
                let _ = writeln!(out, "{indent}if {cond}");
                body_text(program, then, depth + 1, out);
                if !otherwise.is_empty() {
                    let _ = writeln!(out, "{indent}else");
                    body_text(program, otherwise, depth + 1, out);
                }
            }
            Stmt::Barrier => {
                let _ = writeln!(out, "{indent}barrier");
            }
            Stmt::Transfer(t) => {
                let memory = match t.address.memory {
                    Memory::Global(p) => match &program.params[p as usize] {
                        Param::Tensor(t) => t.name.as_str(),
                        Param::Scalar { name, .. } => name.as_str(),
                    },
                    Memory::Shared(s) => program.shared[s as usize].name.as_str(),
                };
                let guard = match &t.guard {
                    Cond::True => String::new(),
                    guard => format!(" if {guard}"),
                };
                let _ = writeln!(
                    out,
                    "{indent}{} {} <> {memory}[{}]{guard}",
                    t.row,
                    registers_text(program, &t.registers),
                    t.address.offset
                );
            }
            Stmt::Multiply(m) => {
                let [c, a, b] = [&m.c, &m.a, &m.b].map(|r| registers_text(program, r));
                let _ = writeln!(out, "{indent}{} {c} += {a} * {b}", m.row);
            }
            Stmt::Convert(c) => {
                let row = c.row.as_deref().unwrap_or("move");
                let [d, s] = [&c.dst, &c.src].map(|r| registers_text(program, r));
                let _ = writeln!(out, "{indent}{row} {d} = {s}");
            }
            Stmt::Fill(f) => {
                let value = program.array(f.dst.array).dtype.decode(f.bits);
                let _ = writeln!(out, "{indent}fill {} = {value:?}", registers_text(program, &f.dst));
            }
        }
    }
}

/// `ra[4 * i + {0..7}]`.
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
