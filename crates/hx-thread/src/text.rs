//! Prints thread programs as text, for `--emit thread`.

use std::fmt::Write;

use hx_index::Cond;

use crate::{Address, Lane, LogKind, Memory, Param, Registers, Stmt, ThreadProgram};

/// Returns the program as text, one instruction a line.
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
            Stmt::WarpBarrier => {
                let _ = writeln!(out, "{indent}warp barrier");
            }
            Stmt::Transfer(t) => {
                let address = address_text(program, &t.address);
                let guard = match &t.guard {
                    Cond::True => String::new(),
                    guard => format!(" if {guard}"),
                };
                let _ = writeln!(
                    out,
                    "{indent}{} {} <> {address}{guard}",
                    t.row,
                    registers_text(program, &t.registers)
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
            Stmt::Compute(c) => {
                let inputs: Vec<String> = c.inputs.iter().map(|r| registers_text(program, r)).collect();
                let value = inputs
                    .iter()
                    .enumerate()
                    .rev()
                    .fold(c.value.to_string(), |text, (i, r)| text.replace(&format!("${i}"), r));
                let _ = writeln!(out, "{indent}{} = {value}", registers_text(program, &c.dst));
            }
            Stmt::Exchange(e) => {
                let [d, s] = [&e.dst, &e.src].map(|r| registers_text(program, r));
                let lane = match &e.lane {
                    Lane::Xor(mask) => format!("lane ^ {mask}"),
                    Lane::Up(by) => format!("lane - {by}"),
                    Lane::At(lane) => format!("lane {lane}"),
                    Lane::Tile => "the lanes that have it".to_owned(),
                };
                let _ = writeln!(out, "{indent}{} {d} = {s} of {lane}", e.row);
            }
            Stmt::AsyncCopy(c) => {
                let [dst, src] = [&c.dst, &c.src].map(|a| address_text(program, a));
                let guard = |word: &str, cond: &Cond| match cond {
                    Cond::True => String::new(),
                    cond => format!(" {word} {cond}"),
                };
                let _ = writeln!(
                    out,
                    "{indent}{} {dst} <- {src}{}{}",
                    c.row,
                    guard("if", &c.active),
                    guard("inside", &c.inside)
                );
            }
            Stmt::Commit => {
                let _ = writeln!(out, "{indent}commit");
            }
            Stmt::Wait { groups } => {
                let _ = writeln!(out, "{indent}wait {groups}");
            }
            Stmt::While { cond, body } => {
                let _ = writeln!(out, "{indent}while {cond}");
                body_text(program, body, depth + 1, out);
            }
            Stmt::Assign { var, value } => {
                let _ = writeln!(out, "{indent}{var} = {value}");
            }
            Stmt::LetNumber { var, value, inputs } => {
                let text = inputs.iter().enumerate().fold(value.to_string(), |text, (i, r)| {
                    text.replace(&format!("${i}"), &registers_text(program, r))
                });
                let _ = writeln!(out, "{indent}let {var} = {text}");
            }
            Stmt::AssignNumber { var, value } => {
                let _ = writeln!(out, "{indent}{var} = {value}");
            }
            Stmt::LoadIndex { var, address, guard } => {
                let guard = match guard {
                    Cond::True => String::new(),
                    guard => format!(" if {guard}, else -1"),
                };
                let _ = writeln!(out, "{indent}let {var} = {}{guard}", address_text(program, address));
            }
            Stmt::LoadInteger { var, address } => {
                let _ = writeln!(out, "{indent}let {var} = {}", address_text(program, address));
            }
            Stmt::Log(l) => {
                let _ = writeln!(out, "{indent}{}", log_text(program, l.entry));
                body_text(program, &l.body, depth + 1, out);
            }
            Stmt::Put(p) => {
                let guard = match &p.guard {
                    Cond::True => String::new(),
                    guard => format!(" if {guard}"),
                };
                let value = registers_text(program, &p.value);
                let _ = writeln!(out, "{indent}[{}] <- {value}{guard}", p.position);
            }
            Stmt::Fill(f) => {
                let value = program.array(f.dst.array).dtype.decode(f.bits);
                let _ = writeln!(out, "{indent}fill {} = {value:?}", registers_text(program, &f.dst));
            }
        }
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
