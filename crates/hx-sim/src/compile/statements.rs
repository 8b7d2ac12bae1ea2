//! Compiles statements: control flow, synchronization, and the statements that record elements.

use hx_index::{Cond, Expr, Symbol};
use hx_target::Completion;
use hx_thread::{Body, Control, Group, Leaf, Log, Stmt};
use hx_tile::Origin;

use super::{Compilation, Local};
use crate::code::{Fill, Put, Site, SiteId, Step};
use crate::error::SimError;
use crate::formula::{Binding, Formula, Test};

/// Names that a body brought into scope, with what each meant before.
type Hidden = Vec<(Symbol, Option<Local>)>;

impl<'a> Compilation<'a> {
    pub(super) fn body(&mut self, body: &'a Body) -> Result<Vec<Step>, SimError> {
        // Names go out of scope at the end of the body. Until then they may hide outer names, which are restored below.
        let mut hidden = Hidden::new();
        let steps = self.statements(body, &mut hidden);
        for (symbol, local) in hidden.into_iter().rev() {
            match local {
                Some(local) => self.scope.insert(symbol, local),
                None => self.scope.remove(&symbol),
            };
        }
        steps
    }

    fn statements(&mut self, body: &'a Body, hidden: &mut Hidden) -> Result<Vec<Step>, SimError> {
        let mut out = Vec::with_capacity(body.len());
        for stmt in body {
            self.statement(stmt, hidden, &mut out)?;
        }
        Ok(out)
    }

    fn statement(
        &mut self,
        stmt: &'a Stmt,
        hidden: &mut Hidden,
        out: &mut Vec<Step>,
    ) -> Result<(), SimError> {
        match stmt {
            Stmt::Control(control) => self.control(control, out),
            Stmt::Leaf(leaf) => self.leaf(leaf, hidden, out),
        }
    }

    /// Compiles control flow. A group becomes the steps of its body.
    fn control(&mut self, control: &'a Control, out: &mut Vec<Step>) -> Result<(), SimError> {
        out.push(match control {
            Control::Group(g) => {
                out.extend(self.group(g)?);
                return Ok(());
            }
            Control::For { var, start, end, unroll, body } => {
                self.counted_loop(var, start, end, *unroll, body)?
            }
            Control::If { cond, then, otherwise } => self.branch(cond, then, otherwise)?,
            Control::While { cond, body, origin } => self.conditional_loop(cond, body, *origin)?,
            Control::Drawn(drawn) => self.drawn(drawn)?,
            Control::Roles(roles) => self.roles(roles)?,
        });
        Ok(())
    }

    /// Compiles a leaf. Most become one step. An elementwise computation of several values becomes several; a name of a known value,
    /// and a leaf that orders launches, become none.
    fn leaf(&mut self, leaf: &'a Leaf, hidden: &mut Hidden, out: &mut Vec<Step>) -> Result<(), SimError> {
        let site = self.site;
        out.push(match leaf {
            Leaf::Compute(c) => {
                for lane in 0..c.dst.offsets.len().max(1) {
                    out.push(Step::Compute(Box::new(self.compute(c, lane)?)));
                }
                return Ok(());
            }
            // The simulator runs one launch after the other, and has no caches.
            Leaf::WaitPrevious | Leaf::AllowNext | Leaf::Prefetch(_) => return Ok(()),
            Leaf::Let { var, value } | Leaf::Uniform { var, value } => {
                let made = self.local(var, value)?;
                out.extend(self.bind(var, made, hidden));
                return Ok(());
            }
            Leaf::Barrier => Step::Barrier { site },
            Leaf::WarpBarrier => Step::WarpBarrier { site },
            Leaf::Exchange(e) => Step::LaneExchange(Box::new(self.lane_exchange(e)?)),
            Leaf::AsyncCopy(c) => Step::AsyncCopy(Box::new(self.async_copy(c)?)),
            Leaf::Bulk(b) => {
                let copy = Box::new(self.bulk_load(b)?);
                let (barrier, index) = self.stage(b.barrier.0, &b.barrier.1)?;
                Step::BulkLoad { copy, barrier, index }
            }
            Leaf::Send(s) => Step::Send(Box::new(self.send(s)?)),
            Leaf::BulkStore(s) => Step::BulkStore(Box::new(self.bulk_store(s)?)),
            Leaf::BulkCommit => Step::BulkCommit { site },
            Leaf::BulkWait { leave, read } => {
                let until = if *read { Completion::StoreRead } else { Completion::Store };
                Step::BulkWait {
                    site,
                    leave: *leave,
                    completes: &self.program.target.rows().wait_for(until).completes,
                }
            }
            Leaf::Commit => Step::Commit { site },
            Leaf::Wait { groups } => Step::Wait { site, groups: *groups },
            Leaf::Assign { var, value } => self.assign(var, value)?,
            Leaf::LoadIndex { var, address, guard } => {
                let made = self.load_index(var, address, guard)?;
                self.bind(var, made, hidden)
            }
            Leaf::ReadIndex { var, src } => {
                let made = self.read_index(var, src)?;
                self.bind(var, made, hidden)
            }
            Leaf::LoadInteger { var, address } => {
                let made = self.load_integer(var, address)?;
                self.bind(var, made, hidden)
            }
            Leaf::LetNumber { var, value, inputs } => {
                let made = self.let_number(var, value, inputs)?;
                self.bind(var, made, hidden)
            }
            Leaf::AssignNumber { var, value } => self.assign_number(var, value)?,
            Leaf::Await { barrier, index, parity, by } => {
                let (barrier, index) = self.stage(*barrier, index)?;
                Step::Await { site, barrier, index, parity: self.uniform(parity, "the parity")?, by: *by }
            }
            Leaf::Arrive { barrier, index, by, blocks } => {
                let (barrier, index) = self.stage(*barrier, index)?;
                Step::Arrive { site, barrier, index, by: *by, blocks: self.ranks(blocks)? }
            }
            Leaf::Expect { barrier, index, bytes } => {
                let (barrier, index) = self.stage(*barrier, index)?;
                Step::Expect { site, barrier, index, bytes: *bytes }
            }
            Leaf::Draw(draw) => self.draw(draw)?,
            Leaf::Log(l) => self.log(l)?,
            Leaf::Put(p) => Step::Put(Box::new(self.put(p)?)),
            Leaf::Transfer(t) => Step::Transfer(Box::new(self.transfer(t)?)),
            Leaf::Multiply(m) => Step::Multiply(Box::new(self.multiply(m)?)),
            Leaf::Convert(c) => Step::Convert(Box::new(self.convert(c)?)),
            Leaf::Fill(f) => Step::Fill(Box::new(self.fill(f)?)),
            Leaf::NamedSync { id, threads } => {
                Step::NamedSync { site, id: self.uniform(id, "the barrier")?, threads: *threads as usize }
            }
            Leaf::NamedArrive { id, threads } => {
                Step::NamedArrive { site, id: self.uniform(id, "the barrier")?, threads: *threads as usize }
            }
            Leaf::MultiplyAsync(m) => Step::MultiplyAsync(Box::new(self.multiply_async(m)?)),
            Leaf::Fence(fence) => Step::Fence { site, fence: *fence },
            Leaf::CommitProducts => Step::CommitProducts { site },
            Leaf::WaitProducts { leave, completes } => {
                let completes = completes.iter().map(|regs| self.regs(regs)).collect::<Result<_, _>>()?;
                Step::WaitProducts { site, leave: *leave, completes }
            }
        });
        Ok(())
    }

    pub(super) fn ranks(&self, blocks: &[Expr]) -> Result<Vec<Formula>, SimError> {
        blocks.iter().map(|rank| self.uniform(rank, "the rank of a block")).collect()
    }

    fn barrier(&self, barrier: u32) -> Result<usize, SimError> {
        match self.program.barriers.get(barrier as usize) {
            Some(_) => Ok(barrier as usize),
            None => self.malformed(format!("there is no barrier {barrier}")),
        }
    }

    /// Returns a barrier and the formula of the stage that an access to it names.
    ///
    /// # Errors
    /// If there is no such barrier, or the stage differs between threads.
    pub(super) fn stage(&self, barrier: u32, index: &Expr) -> Result<(usize, Formula), SimError> {
        Ok((self.barrier(barrier)?, self.uniform(index, "the stage")?))
    }

    /// Compiles the statements of an operation. A group also opens a scope of names.
    ///
    /// # Errors
    /// If the operation is of another scope of threads than the statements around it, or a statement is malformed.
    fn group(&mut self, g: &'a Group) -> Result<Vec<Step>, SimError> {
        let outer = self.site;
        self.site = self.sites.len() as SiteId;
        self.sites.push(Site {
            op: Some(g.op),
            origin: Some(g.origin),
            title: g.title.clone(),
            acquires: false,
        });
        if g.scope != self.executing {
            let scope = self.program.scope(g.scope);
            let here = self.program.scope(self.executing);
            return self
                .malformed(format!("the {scope} executes an operation in the statements of the {here}"));
        }
        let steps = self.body(&g.body)?;
        self.site = outer;
        Ok(steps)
    }

    /// Brings a name into scope until the end of the body. Returns the step that computes its value.
    fn bind<S>(&mut self, var: &Symbol, (local, step): (Local, S), hidden: &mut Hidden) -> S {
        hidden.push((var.clone(), self.scope.insert(var.clone(), local)));
        step
    }

    /// Compiles the condition of a branch or a loop, which all threads of a block must agree on. `word` begins the statement,
    /// for messages.
    ///
    /// # Errors
    /// If the condition differs between threads.
    pub(super) fn uniform_test(&self, cond: &Cond, word: &str) -> Result<Test, SimError> {
        let test = self.test(cond)?;
        if test.varying() {
            return self.malformed(format!("`{word} {cond}` differs between the threads of a block"));
        }
        Ok(test)
    }

    fn branch(&mut self, cond: &Cond, then: &'a Body, otherwise: &'a Body) -> Result<Step, SimError> {
        let test = self.uniform_test(cond, "if")?;
        let (then, otherwise) = (self.body(then)?, self.body(otherwise)?);
        Ok(Step::If { site: self.site, test, then, otherwise })
    }

    fn conditional_loop(
        &mut self,
        cond: &Cond,
        body: &'a Body,
        origin: Option<Origin>,
    ) -> Result<Step, SimError> {
        let test = self.uniform_test(cond, "while")?;
        let site = match origin {
            None => self.site,
            Some(_) => {
                self.sites.push(Site { op: None, origin, title: "while".to_owned(), acquires: false });
                self.sites.len() as SiteId - 1
            }
        };
        Ok(Step::While { site, test, body: self.body(body)?, text: cond.to_string() })
    }

    fn counted_loop(
        &mut self,
        var: &Symbol,
        start: &Expr,
        end: &Expr,
        unroll: bool,
        body: &'a Body,
    ) -> Result<Step, SimError> {
        let (first, last) = (self.uniform(start, "the start")?, self.uniform(end, "the end")?);
        if unroll && !(self.is_fixed(start) && self.is_fixed(end)) {
            return self.malformed(format!(
                "the unrolled loop over `{var}` runs from `{start}` to `{end}`, which are not constant"
            ));
        }
        let slot = self.new_slot(var);
        let outer = self
            .scope
            .insert(var.clone(), Local { binding: Binding::Slot(slot), fixed: unroll, changes: false });
        let body = self.body(body);
        match outer {
            Some(local) => self.scope.insert(var.clone(), local),
            None => self.scope.remove(var),
        };
        Ok(Step::For { site: self.site, slot, start: first, end: last, body: body? })
    }

    fn log(&mut self, l: &'a Log) -> Result<Step, SimError> {
        let entry = l.entry as usize;
        if entry >= self.program.log.len() {
            return self.malformed(format!("there is no entry {entry} to print or assert"));
        }
        let outer = self.logging.replace(entry);
        let body = self.body(&l.body);
        self.logging = outer;
        Ok(Step::Log { site: self.site, entry, body: body? })
    }

    fn fill(&mut self, f: &hx_thread::Fill) -> Result<Fill, SimError> {
        let dst = self.written(&f.dst)?;
        let mask = self.program.array(f.dst.array).dtype.mask();
        if f.bits & !mask != 0 {
            return self.malformed(format!("the fill with {:#x} is wider than its element", f.bits));
        }
        Ok(Fill { site: self.site, dst, bits: f.bits })
    }

    fn put(&mut self, p: &hx_thread::Put) -> Result<Put, SimError> {
        let entry = p.entry as usize;
        let info = self.program.log.get(entry).filter(|_| self.logging == Some(entry));
        let Some(value) = info.and_then(|info| info.value.as_ref()) else {
            return self
                .malformed(format!("an element for entry {entry} where it is not printed or asserted"));
        };
        let regs = self.regs(&p.value)?;
        self.expect_values("print", "registers", p.value.offsets.len(), 1)?;
        self.expect_type("print", &p.value, value.dtype)?;
        let types = info.map_or(&[][..], |info| &info.sides);
        self.expect_values("assert", "sides", p.sides.len(), types.len() as i64)?;
        for (side, dtype) in p.sides.iter().zip(types) {
            self.expect_values("assert", "registers", side.offsets.len(), 1)?;
            self.expect_type("assert", side, *dtype)?;
        }
        Ok(Put {
            site: self.site,
            entry,
            sides: p.sides.iter().map(|side| self.regs(side)).collect::<Result<_, _>>()?,
            value: regs,
            position: self.formula(&p.position)?,
            guard: self.test(&p.guard)?,
            width: value.element_bytes() as usize,
            elements: value.elements(),
        })
    }
}
