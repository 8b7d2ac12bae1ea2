//! Emits the kernel around its instructions: arguments, declarations, control flow, comments and line marks.
//!
//! `instruction` emits single instructions. Start at [`cuda`].

mod cache;
mod header;
mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use hx_dtype::DType;
use hx_index::{Cond, Expr, Symbol};
use hx_target::L2;
use hx_thread::{ThreadProgram, assigned, counted};
use hx_tile::{OpId, Origin, Scope, ScopeId};

use crate::access::Array;
use crate::asm::{Asm, Slots, opcodes};
use crate::expr::Printer;
use crate::launch::{CudaSource, LaunchDescription};
use crate::names::{Names, barrier_name, kernel_symbol};
use crate::storage::MAP_TYPE;
use crate::unused::Constant;

/// A rule of thread programs that the program breaks. This is a bug of the compiler, never of its user. A function of the emitter
/// returns it if the part of the program that it writes breaks a rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MalformedProgram {
    #[error("the catalogue has no row `{0}`")]
    UnknownRow(String),
    #[error("`{0}` reads an operand from shared memory")]
    SharedOperand(String),
    #[error("`{row}` takes {expected} elements for `{operand}`, not {found}")]
    Operands { row: String, operand: &'static str, expected: i64, found: usize },
    #[error("`{row}` does not move elements of type {dtype}")]
    Width { row: String, dtype: DType },
    #[error("the template of `{row}` has `{placeholder}`, which stands for nothing")]
    Template { row: String, placeholder: String },
    #[error("`{0}` is used where it has no value")]
    Unbound(String),
    #[error("`{0}` is not there")]
    Missing(String),
    #[error("an array of {left} is moved into one of {right}")]
    Types { left: DType, right: DType },
    #[error("the {scope} executes operation #{} among the statements of the {here}", .op.0)]
    Scope { op: OpId, scope: Scope, here: Scope },
    #[error("the {0} is not a role of the block")]
    Role(Scope),
}

/// The source lines for `#line` marks.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// The file name that messages and profilers show, such as `gemm.hx::gemm`.
    pub file: &'a str,
    /// Lines relative to the kernel's header (line 1), so that text above the kernel does not change the output.
    pub of: &'a BTreeMap<Origin, u32>,
}

/// Emits the program as CUDA C++ for its target.
///
/// # Errors
/// If the program breaks a rule of thread programs, which is a bug of the compiler.
pub fn cuda(program: &ThreadProgram) -> Result<CudaSource, MalformedProgram> {
    cuda_with_lines(program, None, &|| ())
}

/// As [`cuda`], with `#line` marks before the statements of every tile operation to which `lines` assigns a line. Calls `poll`
/// before every statement; the poll may unwind.
///
/// # Errors
/// As [`cuda`].
pub fn cuda_with_lines(
    program: &ThreadProgram,
    lines: Option<Lines<'_>>,
    poll: &dyn Fn(),
) -> Result<CudaSource, MalformedProgram> {
    Emitter::new(program, lines, Poll(poll)).finish()
}

/// Checks whether the caller still wants the text; it unwinds if not.
#[derive(Clone, Copy)]
struct Poll<'a>(&'a dyn Fn());

impl std::fmt::Debug for Poll<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Poll")
    }
}

/// The text under construction.
#[derive(Debug)]
pub(crate) struct Emitter<'a> {
    pub(crate) program: &'a ThreadProgram,
    pub(crate) printer: Printer,
    pub(crate) arrays: Vec<Array>,
    /// Arrays in which an instruction writes only part of a word.
    pub(crate) partial: BTreeSet<usize>,
    /// Names of the parameters, indexed by position.
    pub(crate) params: Vec<String>,
    /// Names of the variables that hold the addresses of the shared buffers.
    pub(crate) shared: Vec<String>,
    /// Names of the variables that hold the addresses of the barriers.
    pub(crate) barriers: Vec<String>,
    /// Names of the variables that hold the addresses of the tickets of counters.
    pub(crate) tickets: Vec<String>,
    /// Local integers that some statement assigns again.
    assigned: BTreeSet<Symbol>,
    /// The constants of the open scopes, in the order of the text.
    constants: Vec<Constant>,
    pub(crate) names: Names,
    symbol_params: Vec<String>,
    /// Names of the parameters that hold tensor maps.
    pub(crate) maps: Vec<String>,
    /// Names of the variables that hold the policies of the L2 cache.
    pub(crate) policies: BTreeMap<L2, String>,
    /// Whether launches before this one may write memory until the kernel has waited for them.
    pub(crate) overlaps_previous: bool,
    /// Whether one thread alone executes the statements.
    pub(crate) elected: bool,
    lines: Option<Lines<'a>>,
    poll: Poll<'a>,
    /// The source line of the enclosing operation, or of the kernel's header outside of operations; `None` without `lines`.
    line: Option<u32>,
    /// The threads that run the statements being written.
    pub(crate) executing: Executing,
    /// The names of rows and the opcodes written so far: see [`CudaSource::emitted`].
    pub(crate) emitted: BTreeSet<String>,
    /// See [`CudaSource::inlined`].
    pub(crate) inlined: BTreeMap<String, Origin>,
    out: String,
    depth: usize,
}

/// The threads that run a body.
#[derive(Clone, Debug)]
pub(crate) struct Executing {
    pub(crate) scope: ScopeId,
    /// The number of the group among those of the scope, if it has several.
    pub(crate) index: Option<Symbol>,
    /// Whether each thread has few registers: the limit is in `roles.rs`.
    pub(crate) has_few: bool,
}

pub(crate) const THREAD: &str = "thread";
/// The line of the kernel's header. Statements outside of operations are attributed to it.
const HEADER: u32 = 1;

impl<'a> Emitter<'a> {
    fn new(program: &'a ThreadProgram, lines: Option<Lines<'a>>, poll: Poll<'a>) -> Emitter<'a> {
        let mut e = Emitter {
            program,
            printer: Printer::default(),
            arrays: Vec::new(),
            partial: BTreeSet::new(),
            params: Vec::new(),
            shared: Vec::new(),
            barriers: Vec::new(),
            tickets: Vec::new(),
            assigned: assigned(&program.body),
            constants: Vec::new(),
            names: Names::new(),
            symbol_params: Vec::new(),
            maps: Vec::new(),
            policies: BTreeMap::new(),
            overlaps_previous: program.waits_for_previous(),
            elected: false,
            lines,
            poll,
            line: lines.map(|_| HEADER),
            executing: Executing { scope: ScopeId::BLOCK, index: None, has_few: false },
            emitted: BTreeSet::new(),
            inlined: BTreeMap::new(),
            out: String::new(),
            depth: 1,
        };
        e.printer.changing.clone_from(&e.assigned);
        e.printer.counted = counted(&program.body);
        e.name_params();
        e.name_maps();
        e.name_policies();
        e.name_indices();
        e.shared = program.shared.iter().map(|s| e.names.local(&s.name)).collect();
        e.barriers = program.barriers.iter().map(|b| e.names.local(&barrier_name(b))).collect();
        e.tickets = program.counters.iter().map(|c| e.names.local(&format!("{}_tickets", c.name))).collect();
        let array = |r: &hx_thread::RegisterArray| Array::new(e.names.local(&r.name), r.dtype, r.len);
        e.arrays = program.registers.iter().map(array).collect();
        e
    }

    fn finish(mut self) -> Result<CudaSource, MalformedProgram> {
        self.prefetched_maps()?;
        self.make_barriers()?;
        self.body(&self.program.body)?;
        self.leave_cluster()?;
        let body = std::mem::take(&mut self.out);
        let symbol = kernel_symbol(&self.program.name);
        self.depth = 0;
        for helper in self.printer.helpers.clone() {
            self.statement(helper.definition().trim_end());
            self.emitted.extend(helper.opcodes().iter().map(|&opcode| opcode.to_owned()));
            self.out.push('\n');
        }
        if !self.maps.is_empty() {
            self.statement(MAP_TYPE.trim_end());
            self.out.push('\n');
        }
        self.header(&symbol);
        self.declarations();
        self.make_policies()?;
        self.out.push_str(&body);
        self.depth = 0;
        self.statement("}");
        let launch = LaunchDescription::of(self.program);
        Ok(CudaSource { text: self.out, symbol, launch, emitted: self.emitted, inlined: self.inlined })
    }

    /// Returns the declarations of the arrays that the threads of a scope hold. Call it after the statements that use them.
    pub(crate) fn array_declarations(&self, scope: ScopeId) -> Vec<String> {
        let mut lines = Vec::new();
        for (i, (array, own)) in self.arrays.iter().zip(&self.program.registers).enumerate() {
            if own.scope != scope {
                continue;
            }
            let initial = if self.partial.contains(&i) { " = {}" } else { "" };
            let note = if own.dtype.bits() < 32 || own.dtype == DType::Tf32 {
                format!(" // {} of {}", own.len, own.dtype)
            } else {
                String::new()
            };
            lines.push(format!(
                "{} {}[{}]{initial};{note}",
                array.c_type().name(),
                array.name,
                array.words.max(1)
            ));
        }
        lines
    }

    /// Returns the text that `inside` writes, one level deeper.
    pub(crate) fn apart(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<(), MalformedProgram>,
    ) -> Result<String, MalformedProgram> {
        let (outer, constants) = (std::mem::take(&mut self.out), std::mem::take(&mut self.constants));
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        let text = std::mem::replace(&mut self.out, outer);
        self.constants = constants;
        result.map(|()| text)
    }

    /// Adds text that [`Emitter::apart`] returned.
    pub(crate) fn append(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(crate) fn deeper(&mut self, by: isize) {
        self.depth = self.depth.saturating_add_signed(by);
    }

    fn write_line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Writes one statement after its line mark. The CUDA compiler counts lines on from a mark, so a marked statement must be one
    /// line.
    pub(crate) fn statement(&mut self, text: &str) {
        let (Some(lines), Some(line)) = (self.lines, self.line) else {
            return self.write_line(text);
        };
        let file = lines.file.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(self.out, "#line {line} \"{file}\"");
        let mut line = String::new();
        for part in text.lines().map(str::trim_start) {
            let tight = line.is_empty() || line.ends_with('(');
            line.push_str(if tight { "" } else { " " });
            line.push_str(part);
        }
        self.write_line(&line);
    }

    /// Writes the `asm` statement of a row, and records its opcodes. `row` is for messages.
    pub(crate) fn assembly(
        &mut self,
        row: &str,
        template: &str,
        asm: &Asm,
        slots: &dyn Fn(&str) -> Option<Slots>,
    ) -> Result<(), MalformedProgram> {
        let malformed = |placeholder| MalformedProgram::Template { row: row.to_owned(), placeholder };
        let written = asm.statement(template, slots, self.indent()).map_err(malformed)?;
        self.emitted.extend(opcodes(&written.ptx).map(str::to_owned));
        self.statement(&written.text);
        Ok(())
    }

    /// Writes `head {`, the statements of `inside`, and `}`.
    pub(crate) fn block(
        &mut self,
        head: &str,
        inside: impl FnOnce(&mut Self) -> Result<(), MalformedProgram>,
    ) -> Result<(), MalformedProgram> {
        let open = if head.is_empty() { "{".to_owned() } else { format!("{head} {{") };
        self.statement(&open);
        self.depth += 1;
        inside(self)?;
        self.depth -= 1;
        self.statement("}");
        Ok(())
    }

    pub(crate) fn indent(&self) -> usize {
        4 * self.depth
    }

    /// Prints an expression. All its symbols must be bound here.
    pub(crate) fn expr(&mut self, e: &Expr) -> Result<crate::expr::Text, MalformedProgram> {
        self.check_bound(e)?;
        Ok(self.printer.expr(e))
    }

    pub(crate) fn cond(&mut self, cond: &Cond) -> Result<String, MalformedProgram> {
        self.check_cond(cond)?;
        Ok(self.printer.cond(cond))
    }

    pub(crate) fn check_bound(&self, e: &Expr) -> Result<(), MalformedProgram> {
        match e.symbols().iter().find(|s| self.printer.name_of(s).is_none()) {
            Some(symbol) => Err(MalformedProgram::Unbound(symbol.to_string())),
            None => Ok(()),
        }
    }

    fn check_cond(&self, cond: &Cond) -> Result<(), MalformedProgram> {
        match cond {
            Cond::True | Cond::False => Ok(()),
            Cond::Cmp(_, a, b) => self.check_bound(a).and_then(|()| self.check_bound(b)),
            Cond::And(all) | Cond::Or(all) => all.iter().try_for_each(|c| self.check_cond(c)),
        }
    }
}
