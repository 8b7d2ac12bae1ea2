//! Emits roles: one chain of branches on the number of the group of warps, and the named barriers of their threads.
//!
//! The number comes from a lane exchange, so that the compiler of the CUDA text knows that it is the same in a whole warp.
//! Each branch begins with the change of the thread's registers, which all four warps of a group run together.

use hx_index::{Expr, Symbol};

use hx_thread::{Control, Lanes, Leaf, Role, Stmt};
use hx_tile::{Scope, ScopeId};

use crate::asm::{Operand, Slots};
use crate::emit::{Emitter, Executing, MalformedProgram, THREAD};

/// Threads with fewer registers compute the addresses of copies when they need them: see [`copies_only`].
const FEW_REGISTERS: u32 = 64;

/// The variable with the number of the group of warps in the block.
const GROUP_OF_WARPS: &str = "hx_group";

type Result<T> = std::result::Result<T, MalformedProgram>;

impl Emitter<'_> {
    pub(crate) fn roles(&mut self, roles: &[Role]) -> Result<()> {
        self.statement(&format!(
            "const int {GROUP_OF_WARPS} = __shfl_sync(0xffffffff, (int)threadIdx.x / {}, 0);",
            self.program.target.limits.group
        ));
        for (number, role) in roles.iter().enumerate() {
            let scope = *self.program.scope(role.scope);
            let end = scope.end() / u64::from(self.program.target.limits.group);
            if !scope.first.is_multiple_of(self.program.target.limits.group)
                || !scope.threads.is_multiple_of(self.program.target.limits.group)
            {
                return Err(MalformedProgram::Role(scope));
            }
            let last = end == u64::from(self.program.block_threads() / self.program.target.limits.group);
            let head = match (number, last) {
                (0, true) => "{".to_owned(),
                (0, false) => format!("if ({GROUP_OF_WARPS} < {end}) {{"),
                (_, true) => "} else {".to_owned(),
                (_, false) => format!("}} else if ({GROUP_OF_WARPS} < {end}) {{"),
            };
            self.statement(&head);
            self.role(role)?;
        }
        self.statement("}");
        Ok(())
    }

    fn role(&mut self, role: &Role) -> Result<()> {
        let scope = *self.program.scope(role.scope);
        let (outer, names) = (self.printer.scope(), self.names.enter());
        let has_few = role.registers.is_some_and(|registers| registers < FEW_REGISTERS);
        let executing = Executing { scope: role.scope, index: role.index.clone(), has_few };
        let executing = std::mem::replace(&mut self.executing, executing);
        self.printer.bound(&Symbol::Thread, (Some(0), Some(i64::from(scope.threads) - 1)));
        let used = self.printer.used.remove(&Symbol::Thread);
        let index = role.index.as_ref().map(|index| {
            self.printer.bound(index, (Some(0), Some(i64::from(scope.groups) - 1)));
            (index.clone(), self.declare(index, false))
        });
        let body = self.apart(|e| match role.lanes {
            Lanes::All => e.body(&role.body),
            Lanes::FirstWarp => e.first_warp(role),
        })?;
        self.deeper(1);
        if let Some(registers) = role.registers {
            self.set_registers(registers)?;
        }
        self.role_variables(&scope, index);
        let (first, each) = (scope.first, scope.threads / self.program.target.limits.group);
        let group = match scope.groups {
            1 => "0".to_owned(),
            _ => format!("({GROUP_OF_WARPS} - {}) / {each}", first / self.program.target.limits.group),
        };
        let mut lines = self.array_declarations(role.scope);
        lines.extend(self.slice_of_role(role.scope, &group));
        for line in lines {
            self.statement(&line);
        }
        self.deeper(-1);
        self.append(&body);
        // A role declares its own thread number. The block declares another one only if statements outside of the roles use it.
        self.printer.used.remove(&Symbol::Thread);
        if used {
            self.printer.used.insert(Symbol::Thread);
        }
        self.executing = executing;
        self.printer.leave(outer);
        self.names.leave(names);
        Ok(())
    }

    /// Declares the number of the group and that of the thread in its group, if the body of the role uses them.
    fn role_variables(&mut self, scope: &Scope, index: Option<(Symbol, String)>) {
        if let Some((index, name)) = index.filter(|(index, _)| self.printer.used.contains(index)) {
            let first = scope.first / self.program.target.limits.group;
            let first = if first == 0 { String::new() } else { format!(" - {first}") };
            let per = scope.threads / self.program.target.limits.group;
            let value = if per == 1 {
                format!("{GROUP_OF_WARPS}{first}")
            } else {
                format!("({GROUP_OF_WARPS}{first}) / {per}")
            };
            self.statement(&format!("const int {name} = {value};"));
            self.printer.used.remove(&index);
        }
        if self.printer.used.contains(&Symbol::Thread) {
            let value = match (scope.first, scope.groups) {
                (_, 2..) => format!("(int)threadIdx.x % {}", scope.threads),
                (0, _) => "(int)threadIdx.x".to_owned(),
                (first, _) => format!("(int)threadIdx.x - {first}"),
            };
            self.statement(&format!("const int {THREAD} = {value};"));
        }
    }

    /// Writes a body that the first warp of each group runs. The condition comes from a lane exchange, so the CUDA compiler knows that
    /// it is the same in a whole warp, and keeps the body's integers in uniform registers.
    fn first_warp(&mut self, role: &Role) -> Result<()> {
        let thread = self.expr(&Expr::symbol(Symbol::Thread))?.text;
        let condition =
            format!("__shfl_sync(0xffffffff, {thread} / {}, 0) == 0", self.program.target.limits.lanes);
        self.block(&format!("if ({condition})"), |e| e.body(&role.body))
    }

    /// Sets the number of registers of each thread of the executing groups.
    fn set_registers(&mut self, registers: u32) -> Result<()> {
        // A block of roles shares a multiprocessor only if the source says so.
        let threads = self.program.block_threads();
        let limits = self.program.target.limits.shared_by(self.program.blocks, threads);
        let entry = limits.registers_at_entry(threads);
        let row = match registers.cmp(&entry) {
            std::cmp::Ordering::Less => "registers.fewer",
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Greater => "registers.more",
        };
        let number = |name: &str| (name == "n").then_some(Slots::Number(i64::from(registers)));
        self.sync_row(row, Vec::new(), &number)
    }

    /// Writes the barrier of the executing threads.
    pub(crate) fn scope_barrier(&mut self) -> Result<()> {
        let Executing { scope, index, .. } = self.executing.clone();
        if scope == ScopeId::BLOCK {
            self.statement("__syncthreads();");
            return Ok(());
        }
        let first = Expr::constant(i64::from(self.program.barriers_of(scope).start));
        let id = index.map_or(first.clone(), |index| first + Expr::symbol(index));
        self.named_barrier("named.sync", &id, self.program.scope(scope).threads)
    }

    pub(crate) fn named_barrier(&mut self, row: &str, id: &Expr, threads: u32) -> Result<()> {
        let number = Slots::Number(i64::from(threads));
        if let Some(id) = id.as_const() {
            return self.sync_row(row, Vec::new(), &|name| match name {
                "i" => Some(Slots::Number(id)),
                "n" => Some(number.clone()),
                _ => None,
            });
        }
        let id = Operand { constraint: 'r', text: self.expr(id)?.text };
        self.sync_row(row, vec![id], &|name| match name {
            "i" => Some(Slots::Input(0)),
            "n" => Some(number.clone()),
            _ => None,
        })
    }
}

/// Reports whether a body consists of copies to shared memory, so that a loop over it may stay a loop: it needs no arrays of
/// registers. If such a loop is unrolled, the CUDA compiler moves the addresses and guards of all copies out of the loops
/// around it, two or three registers each, and spills them if the role has few.
pub(crate) fn copies_only(body: &[Stmt]) -> bool {
    body.iter().all(|stmt| match stmt {
        Stmt::Leaf(leaf) => matches!(leaf, Leaf::AsyncCopy(_) | Leaf::Let { .. }),
        Stmt::Control(control) => {
            matches!(control, Control::For { .. } | Control::If { .. })
                && control.bodies().all(|body| copies_only(body))
        }
    })
}

/// Reports whether a body moves tiles through registers and does nothing else, with many accesses. If the front end unrolled a loop
/// over such a body, it would load several tiles before it stores the first, and hold them all.
pub(crate) fn moves_tiles(body: &[Stmt]) -> bool {
    accesses(body).is_some_and(|count| count >= MANY)
}

/// Accesses that keep memory busy without those of the next round.
const MANY: i64 = 8;

/// Returns the number of accesses of a body of loads, conversions and stores. `None` if it has other statements.
fn accesses(body: &[Stmt]) -> Option<i64> {
    let of = |stmt: &Stmt| match stmt {
        Stmt::Control(Control::Group(group)) => accesses(&group.body),
        Stmt::Control(Control::For { start, end, body, .. }) => {
            Some((end.as_const()? - start.as_const()?) * accesses(body)?)
        }
        Stmt::Control(_) => None,
        Stmt::Leaf(Leaf::Transfer(_)) => Some(1),
        Stmt::Leaf(leaf) => {
            matches!(leaf, Leaf::Let { .. } | Leaf::Convert(_) | Leaf::LoadIndex { .. }).then_some(0)
        }
    };
    body.iter().map(of).sum()
}
