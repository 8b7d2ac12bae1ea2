//! Writes statements: control flow, integers that are read from memory, and the groups of a tile operation.

use hx_index::{Cond, Expr, Symbol};
use hx_target::Completion;
use hx_thread::{Body, Control, Group, Leaf, Stmt};
use hx_tile::Origin;

use super::{Emitter, MalformedProgram};
use crate::expr::{Head, Needed};
use crate::product::multiplies;
use crate::roles::{copies_only, moves_tiles};
use crate::unused::{Constant, remove_unused};

impl Emitter<'_> {
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
        remove_unused(&mut self.out, &mut self.printer.mentions, self.constants.drain(constants..));
        self.line = line;
        Ok(())
    }

    pub(crate) fn stmt(&mut self, stmt: &Stmt) -> Result<(), MalformedProgram> {
        (self.poll.0)();
        match stmt {
            Stmt::Control(control) => self.control(control),
            Stmt::Leaf(leaf) => self.leaf(leaf),
        }
    }

    fn control(&mut self, control: &Control) -> Result<(), MalformedProgram> {
        match control {
            Control::Group(group) => self.group(group),
            Control::For { var, start, end, unroll, body } => self.repeat(var, start, end, *unroll, body),
            // A condition that always holds opens a plain scope.
            Control::If { cond: Cond::True, then, .. } => self.block("", |e| e.body(then)),
            Control::If { cond, then, otherwise } => self.branch(cond, then, otherwise),
            Control::While { cond, body, .. } => {
                let cond = self.cond(cond)?;
                self.block(&format!("while ({cond})"), |e| e.body(body))
            }
            Control::Drawn(drawn) => self.drawn(drawn),
            Control::Roles(roles) => self.roles(roles),
        }
    }

    fn leaf(&mut self, leaf: &Leaf) -> Result<(), MalformedProgram> {
        match leaf {
            Leaf::Let { var, value } if self.assigned.contains(var) => self.variable(var, value),
            Leaf::Let { var, value } => self.constant(var, value),
            Leaf::Uniform { var, value } => self.uniform(var, value),
            Leaf::Assign { var, value } => self.assign(var, value),
            Leaf::LoadInteger { var, address } => self.load_integer(var, address),
            Leaf::LoadIndex { var, address, guard } => self.load_index(var, address, guard),
            Leaf::ReadIndex { var, src } => self.read_index(var, src),
            Leaf::LetNumber { var, value, inputs } => self.number(var, value, inputs, true),
            Leaf::AssignNumber { var, value } => self.number(var, value, &[], false),
            Leaf::Compute(c) => self.compute(c),
            Leaf::Exchange(x) => self.exchange(x),
            Leaf::AsyncCopy(copy) => self.async_copy(copy),
            Leaf::Send(send) => self.send(send),
            Leaf::Bulk(copy) => self.bulk(copy),
            Leaf::BulkStore(store) => self.bulk_store(store),
            Leaf::BulkCommit => self.close(Completion::Store),
            Leaf::Prefetch(fetch) => self.prefetch(fetch),
            Leaf::BulkWait { leave, read: false } => self.wait(Completion::Store, *leave),
            Leaf::BulkWait { leave, read: true } => self.wait(Completion::StoreRead, *leave),
            Leaf::WaitPrevious => self.sync_row("launch.wait", Vec::new(), &|_| None),
            Leaf::AllowNext => self.sync_row("launch.allow", Vec::new(), &|_| None),
            Leaf::Commit => self.close(Completion::Group),
            Leaf::Wait { groups } => self.wait(Completion::Group, *groups),
            Leaf::Barrier => self.scope_barrier(),
            Leaf::WarpBarrier => {
                self.statement("__syncwarp();");
                Ok(())
            }
            Leaf::Transfer(t) => self.transfer(t),
            Leaf::Multiply(m) => self.multiply(m),
            Leaf::MultiplyAsync(m) => self.multiply_async(m),
            Leaf::Fence(fence) => self.fence(*fence),
            Leaf::CommitProducts => self.close(Completion::Product),
            Leaf::WaitProducts { leave, completes } => self.wait_products(*leave, completes),
            Leaf::Convert(c) => self.convert(c),
            Leaf::Fill(f) => self.fill(f),
            Leaf::Log(log) => self.log(log),
            Leaf::Put(put) => self.put(put),
            Leaf::Draw(draw) => self.draw(draw),
            Leaf::NamedSync { id, threads } => self.named_barrier("named.sync", id, *threads),
            Leaf::NamedArrive { id, threads } => self.named_barrier("named.arrive", id, *threads),
            Leaf::Await { barrier, index, parity, by } => self.await_phase(*barrier, index, parity, *by),
            Leaf::Arrive { barrier, index, by, blocks } => self.arrive(*barrier, index, *by, blocks),
            Leaf::Expect { barrier, index, bytes } => self.expect(*barrier, index, *bytes),
        }
    }

    /// Closes the current group of asynchronous instructions, so that a wait for this completion can count it.
    fn close(&mut self, completion: Completion) -> Result<(), MalformedProgram> {
        let wait = self.program.target.rows().wait_for(completion);
        let closes = wait.closes.as_ref().ok_or_else(|| MalformedProgram::UnknownRow(wait.row.clone()))?;
        self.group_row(closes, None)
    }

    /// Waits until at most `leave` groups lack this completion.
    fn wait(&mut self, completion: Completion, leave: u32) -> Result<(), MalformedProgram> {
        self.group_row(&self.program.target.rows().wait_for(completion).row, Some(leave))
    }

    /// Declares an integer that changes later, as wide as its range demands.
    fn variable(&mut self, var: &Symbol, value: &Expr) -> Result<(), MalformedProgram> {
        let text = self.expr(value)?.text;
        let range = self.program.ranges.get(var).copied();
        let name = self.declare(var, range.is_none());
        self.printer.bound(var, (range.map(|r| r.0), range.map(|r| r.1)));
        let c_type = if range.is_some() { "int" } else { "long long" };
        self.statement(&format!("{c_type} {name} = {text};"));
        Ok(())
    }

    fn constant(&mut self, var: &Symbol, value: &Expr) -> Result<(), MalformedProgram> {
        let first = self.printer.mentions.count();
        let text = self.expr(value)?;
        let (range, divisor) = (self.printer.facts.range(value), self.printer.facts.divisor(value).max(1));
        let name = self.declare(var, text.wide);
        if self.printer.counts(value) {
            self.printer.counted.insert(var.clone());
        }
        self.printer.bound(var, range);
        self.printer.facts.divisible(var.clone(), divisor);
        let c_type = if text.wide { "long long" } else { "int" };
        let start = self.out.len();
        self.statement(&format!("const {c_type} {name} = {};", text.text));
        let (text, mentions) = (start..self.out.len(), first..self.printer.mentions.count());
        self.constants.push(Constant { name, text, mentions });
        Ok(())
    }

    fn uniform(&mut self, var: &Symbol, value: &Expr) -> Result<(), MalformedProgram> {
        let text = self.expr(value)?.cast(false).text;
        let range = self.printer.facts.range(value);
        let name = self.declare(var, false);
        self.printer.bound(var, range);
        self.statement(&format!("const int {name} = __shfl_sync(0xffffffff, {text}, 0);"));
        Ok(())
    }

    fn assign(&mut self, var: &Symbol, value: &Expr) -> Result<(), MalformedProgram> {
        let text = self.expr(value)?.text;
        let unbound = || MalformedProgram::Unbound(var.to_string());
        let name = self.printer.name_of(var).ok_or_else(unbound)?.to_owned();
        self.statement(&format!("{name} = {text};"));
        Ok(())
    }

    fn branch(&mut self, cond: &Cond, then: &Body, otherwise: &Body) -> Result<(), MalformedProgram> {
        let cond = self.cond(cond)?;
        self.block(&format!("if ({cond})"), |e| e.body(then))?;
        if !otherwise.is_empty() {
            self.block("else", |e| e.body(otherwise))?;
        }
        Ok(())
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
        let declares = |stmt: &Stmt| match stmt {
            Stmt::Leaf(leaf) => leaf.description().local.is_some_and(|local| !local.changes),
            Stmt::Control(_) => false,
        };
        let declares = group.body.iter().any(declares);
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
        if !unroll {
            self.printer.enter_rounds(var, start);
        }
        let name = self.declare(var, wide);
        self.printer.bound(var, range);
        let c_type = if wide { "long long" } else { "int" };
        let pragma = if unroll {
            self.printer.unrolled.insert(var.clone());
            let in_part = self.executing.has_few && copies_only(body);
            Some(if in_part { "#pragma unroll 4" } else { "#pragma unroll" })
        } else if multiplies(body) {
            // The front end would peel the loop otherwise, and the code would be several times as long.
            Some("#pragma unroll 1")
        } else if start.as_const().is_some() && end.as_const().is_some() && moves_tiles(body) {
            Some("#pragma unroll 1")
        } else {
            None
        };
        // The body decides which running indices the head needs.
        let mut text = self.apart(|e| e.body(body))?;
        self.printer.leave(outer);
        self.names.leave(names);
        let Needed { heads, hidden } =
            if unroll { Needed::default() } else { self.printer.leave_rounds(&name) };
        if let Some(hidden) = hidden {
            let letter = if wide { 'l' } else { 'r' };
            let copy = format!("{c_type} {hidden} = {name}; asm(\"\" : \"+{letter}\"({hidden}));");
            let copied = self.apart(|e| {
                e.statement(&copy);
                Ok(())
            });
            text = copied? + &text;
        }
        let counter = format!("{c_type} {name} = {}", first.text);
        let ends = format!("{name} < {}; ++{name}", last.operand(crate::expr::Binding::Sum));
        // Running indices are of type `int`, so the head of a loop with a wider counter cannot declare them. They are declared
        // before the loop, in a scope of their own.
        if !wide || heads.is_empty() {
            self.counted(pragma, [counter, ends], &heads, &text);
            return Ok(());
        }
        self.block("", |e| {
            for Head { name, first, .. } in &heads {
                e.statement(&format!("int {name} = {first};"));
            }
            let steps: String = heads.iter().map(|head| format!(", {} = {}", head.name, head.next)).collect();
            let deeper = |line: &str| match line.starts_with('#') {
                true => format!("{line}\n"),
                false => format!("    {line}\n"),
            };
            e.counted(pragma, [counter, ends + &steps], &[], &text.lines().map(deeper).collect::<String>());
            Ok(())
        })
    }

    /// Writes a loop with running indices of the type of its counter.
    fn counted(&mut self, pragma: Option<&str>, [counter, ends]: [String; 2], heads: &[Head], body: &str) {
        if let Some(pragma) = pragma {
            self.statement(pragma);
        }
        let starts: String = heads.iter().map(|head| format!(", {} = {}", head.name, head.first)).collect();
        let steps: String = heads.iter().map(|head| format!(", {} = {}", head.name, head.next)).collect();
        self.statement(&format!("for ({counter}{starts}; {ends}{steps}) {{"));
        self.append(body);
        self.statement("}");
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
