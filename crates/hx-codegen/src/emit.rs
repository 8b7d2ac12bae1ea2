//! Emits the kernel around its instructions: arguments, declarations, control flow, comments and line marks.
//!
//! `instruction` emits single instructions. Start at [`cuda`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use hx_dtype::DType;
use hx_index::{Cond, Expr, Symbol};
use hx_target::{Arch, SWIZZLE_BLOCK_BYTES};
use hx_thread::{Body, Group, Param, Stmt, ThreadProgram, assigned};
use hx_tile::{OpId, Origin, Scope, ScopeId};

use crate::access::Array;
use crate::bulk::MAP_TYPE;
use crate::expr::Printer;
use crate::launch::{CudaSource, LaunchDescription};
use crate::log;
use crate::names::{Names, kernel_symbol};
use crate::product::multiplies;
use crate::roles::copies_only;
use crate::storage::{pointee, scalar};
use crate::unused::{Constant, remove_unused};

/// A rule of thread programs that the program breaks. This is a bug of the compiler, never of its user.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MalformedProgram {
    #[error("the catalogue has no row `{0}`")]
    UnknownRow(String),
    #[error("`{0}` reads an operand from shared memory")]
    SharedOperand(String),
    #[error("`{row}` does not exist on {arch}")]
    NewerRow { row: String, arch: Arch },
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
    #[error("the {0} is no role of the block")]
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

/// Emits the program as CUDA C++ for `arch`.
///
/// # Errors
/// If the program breaks a rule of thread programs, which is a bug of the compiler.
pub fn cuda(program: &ThreadProgram, arch: Arch) -> Result<CudaSource, MalformedProgram> {
    cuda_with_lines(program, arch, None, &|| ())
}

/// As [`cuda`], with `#line` marks before the statements of every tile operation to which `lines` assigns a line. Calls `poll`
/// before every statement; the poll may unwind.
///
/// # Errors
/// As [`cuda`].
pub fn cuda_with_lines(
    program: &ThreadProgram,
    arch: Arch,
    lines: Option<Lines<'_>>,
    poll: &dyn Fn(),
) -> Result<CudaSource, MalformedProgram> {
    Emitter::new(program, arch, lines, Poll(poll)).finish()
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
    pub(crate) arch: Arch,
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
    /// Whether one thread alone executes the statements.
    pub(crate) elected: bool,
    lines: Option<Lines<'a>>,
    poll: Poll<'a>,
    /// The source line of the enclosing operation.
    line: Option<u32>,
    /// The threads that run the statements being written.
    pub(crate) executing: Executing,
    out: String,
    depth: usize,
}

/// The threads that run a body.
#[derive(Clone, Debug)]
pub(crate) struct Executing {
    pub(crate) scope: ScopeId,
    /// The number of the group among those of the scope, if it has several.
    pub(crate) index: Option<Symbol>,
    /// Whether each thread has few registers.
    pub(crate) has_few: bool,
}

pub(crate) const THREAD: &str = "thread";
const AXES: [&str; 3] = ["x", "y", "z"];
/// A pointer to the start of shared memory, and its address in the shared address space.
pub(crate) const SHARED_MEMORY: [&str; 2] = ["smem", "smem_base"];
/// The line of the kernel's header. Statements outside of operations are attributed to it.
const HEADER: u32 = 1;
/// The largest number of blocks along x. The limits along y and z are lower.
const MOST_BLOCKS: i64 = i32::MAX as i64;

impl<'a> Emitter<'a> {
    fn new(program: &'a ThreadProgram, arch: Arch, lines: Option<Lines<'a>>, poll: Poll<'a>) -> Emitter<'a> {
        let mut e = Emitter {
            program,
            arch,
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
            elected: false,
            lines,
            poll,
            line: lines.map(|_| HEADER),
            executing: Executing { scope: ScopeId::BLOCK, index: None, has_few: false },
            out: String::new(),
            depth: 1,
        };
        e.name_params();
        e.name_maps();
        e.name_indices();
        e.shared = program.shared.iter().map(|s| e.names.local(&s.name)).collect();
        e.barriers = program.barriers.iter().map(|b| e.names.local(&crate::pipe::name_of(b))).collect();
        e.tickets = program.counters.iter().map(|c| e.names.local(&format!("{}_tickets", c.name))).collect();
        let array = |r: &hx_thread::RegisterArray| Array::new(e.names.local(&r.name), r.dtype, r.len);
        e.arrays = program.registers.iter().map(array).collect();
        e
    }

    fn name_params(&mut self) {
        for param in &self.program.params {
            let name = match param {
                Param::Tensor(t) => self.names.local(&t.name),
                Param::Scalar { name: own, dtype } => {
                    let name = self.names.local(own);
                    let symbol = Symbol::Scalar(own.as_str().into());
                    match dtype.bits() {
                        _ if !dtype.is_int() => {}
                        64 => self.printer.name(symbol, name.clone(), true),
                        32 if *dtype == DType::U32 => {
                            self.printer.bound(&symbol, (Some(0), Some(i64::from(u32::MAX))));
                            self.printer.name(symbol, format!("(long long){name}"), true);
                        }
                        _ => {
                            self.printer
                                .bound(&symbol, (Some(i64::from(i32::MIN)), Some(i64::from(i32::MAX))));
                            self.printer.name(symbol, name.clone(), false);
                        }
                    }
                    name
                }
            };
            self.params.push(name);
        }
        for symbol in &self.program.symbols {
            let name = self.names.local(&symbol.to_string());
            let lowest = match symbol {
                Symbol::Dim(_) => 0,
                Symbol::Multiprocessors => 1,
                _ => i64::from(i32::MIN),
            };
            self.printer.bound(symbol, (Some(lowest), Some(i64::from(i32::MAX))));
            self.printer.name(symbol.clone(), name.clone(), false);
            self.symbol_params.push(name);
        }
    }

    fn name_indices(&mut self) {
        for word in SHARED_MEMORY {
            self.names.local(word);
        }
        let thread = self.names.local(THREAD);
        self.printer.name(Symbol::Thread, thread, false);
        self.printer.bound(&Symbol::Thread, (Some(0), Some(i64::from(self.program.block_threads()) - 1)));
        for (axis, letter) in AXES.iter().enumerate() {
            let symbol = Symbol::BlockIdx(axis as u8);
            let name = self.names.local(&format!("block_{letter}"));
            self.printer.name(symbol.clone(), name, false);
            let blocks = self.program.grid.get(axis).map_or(Some(1), |e| self.printer.facts.range(e).1);
            let most = blocks.map_or(MOST_BLOCKS, |b| b.clamp(1, MOST_BLOCKS));
            self.printer.bound(&symbol, (Some(0), Some(most - 1)));
            let count = Symbol::GridDim(axis as u8);
            let name = self.names.local(&format!("blocks_{letter}"));
            self.printer.name(count.clone(), name, false);
            self.printer.bound(&count, (Some(1), Some(most)));
            let last = Expr::symbol(count) - Expr::constant(1);
            self.printer.facts.ordered(&Expr::symbol(symbol), &last);
        }
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
            self.out.push('\n');
        }
        if !self.maps.is_empty() {
            self.statement(MAP_TYPE.trim_end());
            self.out.push('\n');
        }
        self.header(&symbol);
        self.declarations();
        self.out.push_str(&body);
        self.depth = 0;
        self.statement("}");
        Ok(CudaSource { text: self.out, symbol, launch: LaunchDescription::of(self.program) })
    }

    fn header(&mut self, symbol: &str) {
        let mut params: Vec<String> = Vec::new();
        for (param, name) in self.program.params.iter().zip(&self.params) {
            params.push(match param {
                Param::Tensor(t) => {
                    let constant = if t.mutable { "" } else { "const " };
                    format!("{constant}{}* __restrict__ {name}", pointee(t.dtype))
                }
                Param::Scalar { dtype, .. } => format!("{} {name}", scalar(*dtype)),
            });
        }
        params.extend(self.symbol_params.iter().map(|name| format!("int {name}")));
        params.extend(self.maps.iter().map(|name| format!("const __grid_constant__ TensorMap {name}")));
        if !self.program.log.is_empty() {
            params.push(log::parameter());
        }
        let cluster = match self.program.cluster {
            [1, 1, 1] => String::new(),
            [x, y, z] => format!("__cluster_dims__({x}, {y}, {z}) "),
        };
        self.statement(&format!(
            "extern \"C\" __global__ void {cluster}__launch_bounds__({}, {}) {symbol}(\n    {}) {{",
            self.program.block_threads(),
            self.program.blocks,
            params.join(",\n    ")
        ));
    }

    fn declarations(&mut self) {
        self.depth = 1;
        let used = self.printer.used.clone();
        let own = |s: &Symbol| self.printer.name_of(s).unwrap_or_default().to_owned();
        let mut lines = Vec::new();
        if used.contains(&Symbol::Thread) {
            lines.push(format!("const int {} = (int)threadIdx.x;", own(&Symbol::Thread)));
        }
        for (axis, letter) in AXES.iter().enumerate() {
            let symbol = Symbol::BlockIdx(axis as u8);
            if used.contains(&symbol) {
                lines.push(format!("const int {} = (int)blockIdx.{letter};", own(&symbol)));
            }
            let symbol = Symbol::GridDim(axis as u8);
            if used.contains(&symbol) {
                lines.push(format!("const int {} = (int)gridDim.{letter};", own(&symbol)));
            }
        }
        if !self.program.shared.is_empty() || !self.program.barriers.is_empty() {
            let [memory, base] = SHARED_MEMORY;
            let align = SWIZZLE_BLOCK_BYTES;
            lines.push(format!("extern __shared__ __align__({align}) unsigned char {memory}[];"));
            lines.push(format!("const unsigned {base} = (unsigned)__cvta_generic_to_shared({memory});"));
            for (buffer, name) in self.program.shared.iter().zip(&self.shared) {
                let offset = if buffer.offset == 0 { String::new() } else { format!(" + {}", buffer.offset) };
                lines.push(format!(
                    "const unsigned {name} = {base}{offset}; // {}, {} bytes",
                    buffer.dtype, buffer.bytes
                ));
            }
        }
        lines.extend(self.barrier_addresses());
        lines.extend(self.ticket_addresses());
        lines.extend(self.array_declarations(ScopeId::BLOCK));
        lines.extend(log::declarations(&self.program.log));
        for line in lines {
            self.statement(&line);
        }
    }

    /// Returns the declarations of the arrays that the threads of a scope hold. Call it after the statements that use them.
    pub(crate) fn array_declarations(&self, scope: ScopeId) -> Vec<String> {
        let mut lines = Vec::new();
        for (i, (array, own)) in self.arrays.iter().zip(&self.program.registers).enumerate() {
            if own.scope != scope {
                continue;
            }
            let initial = if self.partial.contains(&i) { " = {}" } else { "" };
            let storage = array.storage();
            let note = if own.dtype.bits() < 32 || own.dtype == DType::Tf32 {
                format!(" // {} of {}", own.len, own.dtype)
            } else {
                String::new()
            };
            lines.push(format!("{} {}[{}]{initial};{note}", storage.c_type, array.name, array.words.max(1)));
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

    /// Writes the statements of a scope. Names and facts introduced in the scope end with it.
    pub(crate) fn body(&mut self, body: &Body) -> Result<(), MalformedProgram> {
        let (outer, names, line) = (self.printer.scope(), self.names.enter(), self.line);
        let constants = self.constants.len();
        let mut rest = body.as_slice();
        while let Some((stmt, after)) = rest.split_first() {
            let alone = self.run_by_one_thread(rest);
            if alone > 1 {
                self.by_one_thread(&rest[..alone])?;
                rest = &rest[alone..];
            } else {
                self.stmt(stmt)?;
                rest = after;
            }
        }
        self.printer.leave(outer);
        self.names.leave(names);
        remove_unused(&mut self.out, self.constants.drain(constants..));
        self.line = line;
        Ok(())
    }

    pub(crate) fn stmt(&mut self, stmt: &Stmt) -> Result<(), MalformedProgram> {
        (self.poll.0)();
        match stmt {
            Stmt::Group(group) => self.group(group),
            Stmt::Let { var, value } if self.assigned.contains(var) => {
                let text = self.expr(value)?.text;
                // A local that changes is as wide as its range demands.
                let range = self.program.ranges.get(var).copied();
                let name = self.declare(var, range.is_none());
                self.printer.bound(var, (range.map(|r| r.0), range.map(|r| r.1)));
                let c_type = if range.is_some() { "int" } else { "long long" };
                self.statement(&format!("{c_type} {name} = {text};"));
                Ok(())
            }
            Stmt::Let { var, value } => {
                let text = self.expr(value)?;
                let (range, divisor) =
                    (self.printer.facts.range(value), self.printer.facts.divisor(value).max(1));
                let name = self.declare(var, text.wide);
                self.printer.bound(var, range);
                self.printer.facts.divisible(var.clone(), divisor);
                let c_type = if text.wide { "long long" } else { "int" };
                let start = self.out.len();
                self.statement(&format!("const {c_type} {name} = {};", text.text));
                self.constants.push(Constant { text: start..self.out.len(), name });
                Ok(())
            }
            Stmt::Uniform { var, value } => {
                let text = self.expr(value)?;
                let range = self.printer.facts.range(value);
                let name = self.declare(var, false);
                self.printer.bound(var, range);
                self.statement(&format!(
                    "const int {name} = __shfl_sync(0xffffffff, {}, 0);",
                    text.cast(false).text
                ));
                Ok(())
            }
            Stmt::For { var, start, end, unroll, body } => self.repeat(var, start, end, *unroll, body),
            // A condition that always holds opens a plain scope.
            Stmt::If { cond: Cond::True, then, .. } => self.block("", |e| e.body(then)),
            Stmt::If { cond, then, otherwise } => {
                let cond = self.cond(cond)?;
                self.block(&format!("if ({cond})"), |e| e.body(then))?;
                if !otherwise.is_empty() {
                    self.block("else", |e| e.body(otherwise))?;
                }
                Ok(())
            }
            Stmt::Assign { var, value } => {
                let text = self.expr(value)?.text;
                let unbound = || MalformedProgram::Unbound(var.to_string());
                let name = self.printer.name_of(var).ok_or_else(unbound)?.to_owned();
                self.statement(&format!("{name} = {text};"));
                Ok(())
            }
            Stmt::LoadInteger { var, address } => self.load_integer(var, address),
            Stmt::LoadIndex { var, address, guard } => self.load_index(var, address, guard),
            Stmt::LetNumber { var, value, inputs } => self.number(var, value, inputs, true),
            Stmt::AssignNumber { var, value } => self.number(var, value, &[], false),
            Stmt::While { cond, body } => {
                let cond = self.cond(cond)?;
                self.block(&format!("while ({cond})"), |e| e.body(body))
            }
            Stmt::Compute(c) => self.compute(c),
            Stmt::Exchange(x) => self.exchange(x),
            Stmt::AsyncCopy(copy) => self.async_copy(copy),
            Stmt::Bulk(copy) => self.bulk(copy),
            Stmt::BulkStore(store) => self.bulk_store(store),
            Stmt::BulkCommit => self.group_row("bulk.commit", None),
            Stmt::BulkWait { leave, read: false } => self.group_row("bulk.wait", Some(*leave)),
            Stmt::BulkWait { leave, read: true } => self.group_row("bulk.wait.read", Some(*leave)),
            Stmt::Commit => self.group_row("commit", None),
            Stmt::Wait { groups } => self.group_row("wait", Some(*groups)),
            Stmt::Barrier => self.scope_barrier(),
            Stmt::WarpBarrier => {
                self.statement("__syncwarp();");
                Ok(())
            }
            Stmt::Transfer(t) => self.transfer(t),
            Stmt::Multiply(m) => self.multiply(m),
            Stmt::MultiplyAsync(m) => self.multiply_async(m),
            Stmt::Fence(fence) => self.fence(*fence),
            Stmt::CommitProducts => self.group_row("products.commit", None),
            Stmt::WaitProducts { leave, completes } => self.wait_products(*leave, completes),
            Stmt::Convert(c) => self.convert(c),
            Stmt::Fill(f) => self.fill(f),
            Stmt::Log(log) => self.log(log),
            Stmt::Put(put) => self.put(put),
            Stmt::Draw(draw) => self.draw(draw),
            Stmt::Drawn(drawn) => self.drawn(drawn),
            Stmt::Roles(roles) => self.roles(roles),
            Stmt::NamedSync { id, threads } => self.named_barrier("named.sync", id, *threads),
            Stmt::NamedArrive { id, threads } => self.named_barrier("named.arrive", id, *threads),
            Stmt::Await { barrier, index, parity } => self.await_phase(*barrier, index, parity),
            Stmt::Arrive { barrier, index, by, blocks } => self.arrive(*barrier, index, *by, blocks),
            Stmt::Expect { barrier, index, bytes } => self.expect(*barrier, index, *bytes),
        }
    }

    fn group(&mut self, group: &Group) -> Result<(), MalformedProgram> {
        if group.scope != self.executing.scope {
            let [scope, here] = [group.scope, self.executing.scope].map(|id| *self.program.scope(id));
            return Err(MalformedProgram::Scope { op: group.op, scope, here });
        }
        let outer = self.line;
        self.line = self.lines.and_then(|l| l.of.get(&group.origin).copied()).or(outer);
        if !group.title.is_empty() {
            let title = group.title.split_whitespace().collect::<Vec<_>>().join(" ");
            // A backslash at the end would continue the comment on the next line.
            self.write_line(&format!("// {}", title.trim_end_matches('\\')));
        }
        let declares = group.body.iter().any(|s| {
            matches!(
                s,
                Stmt::Let { .. } | Stmt::Uniform { .. } | Stmt::LoadInteger { .. } | Stmt::LoadIndex { .. }
            )
        });
        let result = if declares { self.block("", |e| e.body(&group.body)) } else { self.body(&group.body) };
        self.line = outer;
        result
    }

    /// Writes a comment, and statements that are attributed to the line of an origin.
    pub(crate) fn at(
        &mut self,
        origin: Origin,
        title: &str,
        inside: impl FnOnce(&mut Self) -> Result<(), MalformedProgram>,
    ) -> Result<(), MalformedProgram> {
        let outer = self.line;
        self.line = self.lines.and_then(|l| l.of.get(&origin).copied()).or(outer);
        self.write_line(&format!("// {title}"));
        let result = inside(self);
        self.line = outer;
        result
    }

    fn repeat(
        &mut self,
        var: &Symbol,
        start: &Expr,
        end: &Expr,
        unroll: bool,
        body: &Body,
    ) -> Result<(), MalformedProgram> {
        let (first, last) = (self.expr(start)?, self.expr(end)?);
        // The counter takes the value of `end` too, after the last iteration.
        let wide = self.printer.is_wide(start) || self.printer.is_wide(end);
        let range = (
            self.printer.facts.range(start).0,
            self.printer.facts.range(end).1.and_then(|end| end.checked_sub(1)),
        );
        let (outer, names) = (self.printer.scope(), self.names.enter());
        let name = self.declare(var, wide);
        self.printer.bound(var, range);
        let c_type = if wide { "long long" } else { "int" };
        if unroll {
            self.printer.unrolled.insert(var.clone());
            let in_part = self.executing.has_few && copies_only(body);
            self.statement(if in_part { "#pragma unroll 4" } else { "#pragma unroll" });
        } else if multiplies(body) {
            // The front end would peel the loop otherwise, and the code would be several times as long.
            self.statement("#pragma unroll 1");
        }
        let head = format!(
            "for ({c_type} {name} = {}; {name} < {}; ++{name})",
            first.text,
            last.operand(crate::expr::Binding::Sum)
        );
        self.block(&head, |e| e.body(body))?;
        self.printer.leave(outer);
        self.names.leave(names);
        Ok(())
    }

    /// Reports whether some statement assigns the local number again.
    pub(crate) fn changes(&self, var: &Symbol) -> bool {
        self.assigned.contains(var)
    }

    /// Gives a counter or local integer its name for the rest of the scope.
    pub(crate) fn declare(&mut self, var: &Symbol, wide: bool) -> String {
        let name = match var {
            Symbol::Var(text, _) => self.names.scoped(text),
            other => self.names.scoped(&other.to_string()),
        };
        self.printer.name(var.clone(), name.clone(), wide);
        name
    }
}
