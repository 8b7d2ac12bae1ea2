//! Compiles a thread program to [`Code`]. Every error that depends on the program alone is reported here, before any block runs.

mod counter;
mod elementwise;
mod instruction;
mod product;
mod roles;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hx_dtype::DType;
use hx_index::{Cond, EvalError, Expr, Symbol};
use hx_thread::{
    Address, Body, Group, Log, Memory, Param, RegId, Registers, Stmt, ThreadProgram, Warps, assigned,
};
use hx_tile::ScopeId;

use crate::code::{
    Array, Code, Exchange, Fill, LoadIndex, LoadInteger, MapCode, Mem, Product, Put, Regs, SetNumber, Shared,
    Site, SiteId, Step,
};
use crate::error::{Fault, SimError};
use crate::formula::{Binding, Compiler, Formula, Test};

/// Names that a body brought into scope, with what each meant before.
type Hidden = Vec<(Symbol, Option<Local>)>;

/// Compiles `program` for one launch. `symbols` and `numbers` hold the values of its symbols and of its numeric parameters by
/// name.
pub(crate) fn compile(
    program: &ThreadProgram,
    symbols: &BTreeMap<Symbol, i64>,
    numbers: &BTreeMap<String, f64>,
) -> Result<Code, SimError> {
    let threads = program.block_threads() as usize;
    if threads == 0 {
        return Err(Fault::Malformed("the block has no threads".into()).into());
    }
    let shared = shared_buffers(program)?;
    let mut scope: BTreeMap<Symbol, Local> =
        symbols.iter().map(|(s, v)| (s.clone(), Local::new(Binding::Known(*v)))).collect();
    for axis in 0..3u8 {
        scope.insert(Symbol::BlockIdx(axis), Local::new(Binding::Slot(u32::from(axis))));
    }
    let maps = maps(program, symbols)?;
    let counters = counter::counters(program, symbols)?;
    let grid = [0, 1, 2].map(|axis| symbols.get(&Symbol::GridDim(axis)).map_or(1, |blocks| *blocks as u64));
    let index: Vec<i64> = (0..i64::from(program.block_threads())).collect();
    scope.insert(Symbol::Thread, Local::new(Binding::Table(index.into())));
    let changing = assigned(&program.body);
    let mut c = Compilation {
        program,
        numbers,
        changing,
        threads,
        scope,
        sites: vec![Site::default()],
        site: 0,
        slots: 3,
        lanes: 0,
        granule: 16,
        asynchronous: false,
        logging: None,
        exchanges: BTreeMap::new(),
        products: BTreeMap::new(),
        executing: ScopeId::BLOCK,
        parties: Vec::new(),
        own: RefCell::new(vec![false; program.registers.len()]),
    };
    let body = c.body(&program.body)?;
    let arrays = program.registers.iter();
    Ok(Code {
        threads,
        cluster: if program.crosses_blocks() { program.cluster } else { [1, 1, 1] },
        sites: c.sites,
        slots: c.slots as usize,
        lanes: c.lanes as usize,
        arrays: arrays.map(|r| Array { name: r.name.clone(), dtype: r.dtype, len: r.len as usize }).collect(),
        shared,
        shared_bytes: program.shared_bytes as usize,
        granule: c.granule,
        barriers: program.barriers.clone(),
        asynchronous: c.asynchronous,
        maps,
        counters,
        grid,
        log: program.log.clone(),
        parties: c.parties,
        own: c.own.into_inner(),
        body,
    })
}

/// Evaluates the tensor maps of a launch.
fn maps(program: &ThreadProgram, symbols: &BTreeMap<Symbol, i64>) -> Result<Vec<MapCode>, SimError> {
    let lookup = |s: &Symbol| symbols.get(s).copied();
    let mut out = Vec::new();
    for map in &program.maps {
        let Some(Param::Tensor(tensor)) = program.params.get(map.param as usize) else {
            return Err(Fault::Malformed(format!("parameter {} is no tensor", map.param)).into());
        };
        let values = map.values(&lookup).map_err(Fault::Eval)?;
        map.check(&tensor.name, tensor.dtype, &values).map_err(Fault::Malformed)?;
        out.push(MapCode {
            dims: values.dims,
            strides: values.strides,
            extents: map.extents.clone(),
            swizzle: map.swizzle.of_bytes(),
            element: tensor.dtype.bits() as usize / 8,
        });
    }
    Ok(out)
}

fn shared_buffers(program: &ThreadProgram) -> Result<Vec<Shared>, SimError> {
    let mut out = Vec::new();
    for s in &program.shared {
        if s.offset.checked_add(s.bytes).is_none_or(|end| end > program.shared_bytes) {
            let text = format!(
                "the shared tensor `{}` takes bytes {}..{} of {}",
                s.name,
                s.offset,
                u64::from(s.offset) + u64::from(s.bytes),
                program.shared_bytes
            );
            return Err(Fault::Malformed(text).into());
        }
        out.push(Shared {
            name: s.name.clone(),
            bits: s.dtype.bits() as usize,
            offset: s.offset as usize,
            bytes: s.bytes as usize,
        });
    }
    Ok(out)
}

/// A symbol in scope.
#[derive(Clone, Debug)]
struct Local {
    binding: Binding,
    /// The value is known once the enclosing unrolled loops are expanded.
    fixed: bool,
    /// [`Stmt::Assign`] may change it.
    changes: bool,
}

impl Local {
    fn new(binding: Binding) -> Local {
        Local { binding, fixed: false, changes: false }
    }
}

struct Compilation<'a> {
    program: &'a ThreadProgram,
    numbers: &'a BTreeMap<String, f64>,
    changing: BTreeSet<Symbol>,
    threads: usize,
    scope: BTreeMap<Symbol, Local>,
    sites: Vec<Site>,
    site: SiteId,
    slots: u32,
    lanes: u32,
    granule: usize,
    asynchronous: bool,
    /// The log entry whose elements the current statements record.
    logging: Option<usize>,
    /// Keyed by row and by the number of elements a lane holds, because one row moves elements of several widths.
    exchanges: BTreeMap<(String, i64), Arc<Exchange>>,
    products: BTreeMap<String, Arc<Product>>,
    /// The scope whose statements are compiled.
    executing: ScopeId,
    parties: Vec<Warps>,
    /// Whether the statements of the scope use each array.
    own: RefCell<Vec<bool>>,
}

impl<'a> Compilation<'a> {
    fn error(&self, fault: Fault) -> SimError {
        let place = self.sites[self.site as usize].place(None, None);
        SimError { fault, place: Some(Box::new(place)) }
    }

    fn malformed<T>(&self, text: impl Into<String>) -> Result<T, SimError> {
        Err(self.error(Fault::Malformed(text.into())))
    }

    fn with_compiler<T>(&self, f: impl FnOnce(&Compiler<'_>) -> Result<T, EvalError>) -> Result<T, SimError> {
        let lookup = |s: &Symbol| self.scope.get(s).map(|l| l.binding.clone());
        f(&Compiler { threads: self.threads, lookup: &lookup }).map_err(|e| self.error(Fault::Eval(e)))
    }

    fn formula(&self, e: &Expr) -> Result<Formula, SimError> {
        self.with_compiler(|c| c.formula(e))
    }

    fn uniform(&self, e: &Expr, what: &str) -> Result<Formula, SimError> {
        let formula = self.formula(e)?;
        if formula.varying() {
            return self.malformed(format!("{what} `{e}` differs between the threads of a block"));
        }
        Ok(formula)
    }

    fn test(&self, c: &Cond) -> Result<Test, SimError> {
        self.with_compiler(|compiler| compiler.test(c))
    }

    fn is_fixed(&self, e: &Expr) -> bool {
        e.symbols().iter().all(|s| self.scope.get(s).is_some_and(|l| l.fixed))
    }

    fn body(&mut self, body: &'a Body) -> Result<Vec<Step>, SimError> {
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
            let step = match stmt {
                Stmt::Group(g) => {
                    out.extend(self.group(g)?);
                    continue;
                }
                Stmt::Compute(c) => {
                    for lane in 0..c.dst.offsets.len().max(1) {
                        out.push(Step::Compute(Box::new(self.compute(c, lane)?)));
                    }
                    continue;
                }
                Stmt::Let { var, value } | Stmt::Uniform { var, value } => {
                    let (local, step) = self.local(var, value)?;
                    self.bind(var, local, hidden);
                    out.extend(step);
                    continue;
                }
                Stmt::For { var, start, end, unroll, body } => {
                    self.counted_loop(var, start, end, *unroll, body)?
                }
                Stmt::If { cond, then, otherwise } => self.branch(cond, then, otherwise)?,
                Stmt::While { cond, body } => self.conditional_loop(cond, body)?,
                Stmt::Barrier => Step::Barrier,
                Stmt::WarpBarrier => Step::WarpBarrier,
                Stmt::Exchange(e) => Step::LaneExchange(Box::new(self.lane_exchange(e)?)),
                Stmt::AsyncCopy(c) => Step::AsyncCopy(Box::new(self.async_copy(c)?)),
                Stmt::Bulk(b) => Step::BulkLoad {
                    copy: Box::new(self.bulk_load(b)?),
                    barrier: self.barrier(b.barrier.0)?,
                    index: self.uniform(&b.barrier.1, "the stage")?,
                },
                Stmt::BulkStore(s) => Step::BulkStore(Box::new(self.bulk_store(s)?)),
                Stmt::BulkCommit => Step::BulkCommit { site: self.site },
                Stmt::BulkWait { leave, .. } => Step::BulkWait { site: self.site, leave: *leave },
                Stmt::Commit => Step::Commit { site: self.site },
                Stmt::Wait { groups } => Step::Wait { site: self.site, groups: *groups },
                Stmt::Assign { var, value } => self.assign(var, value)?,
                Stmt::LoadIndex { var, address, guard } => {
                    let (local, load) = self.load_index(var, address, guard)?;
                    self.bind(var, local, hidden);
                    Step::LoadIndex(Box::new(load))
                }
                Stmt::LoadInteger { var, address } => {
                    let (local, load) = self.load_integer(var, address)?;
                    self.bind(var, local, hidden);
                    Step::LoadInteger(Box::new(load))
                }
                Stmt::LetNumber { var, value, inputs } => {
                    let (local, step) = self.let_number(var, value, inputs)?;
                    self.bind(var, local, hidden);
                    step
                }
                Stmt::AssignNumber { var, value } => self.assign_number(var, value)?,
                Stmt::Await { barrier, index, parity } => Step::Await {
                    site: self.site,
                    barrier: self.barrier(*barrier)?,
                    index: self.uniform(index, "the stage")?,
                    parity: self.uniform(parity, "the parity")?,
                },
                Stmt::Arrive { barrier, index, by, blocks } => Step::Arrive {
                    site: self.site,
                    barrier: self.barrier(*barrier)?,
                    index: self.uniform(index, "the stage")?,
                    by: *by,
                    blocks: self.ranks(blocks)?,
                },
                Stmt::Expect { barrier, index, bytes } => Step::Expect {
                    site: self.site,
                    barrier: self.barrier(*barrier)?,
                    index: self.uniform(index, "the stage")?,
                    bytes: *bytes,
                },
                Stmt::Draw(draw) => self.draw(draw)?,
                Stmt::Drawn(drawn) => self.drawn(drawn)?,
                Stmt::Log(l) => self.log(l)?,
                Stmt::Put(p) => Step::Put(Box::new(self.put(p)?)),
                Stmt::Transfer(t) => Step::Transfer(Box::new(self.transfer(t)?)),
                Stmt::Multiply(m) => Step::Multiply(Box::new(self.multiply(m)?)),
                Stmt::Convert(c) => Step::Convert(Box::new(self.convert(c)?)),
                Stmt::Fill(f) => Step::Fill(Box::new(self.fill(f)?)),
                Stmt::Roles(roles) => self.roles(roles)?,
                Stmt::NamedSync { id, threads } => {
                    let (site, id, threads) =
                        (self.site, self.uniform(id, "the barrier")?, *threads as usize);
                    Step::NamedSync { site, id, threads }
                }
                Stmt::NamedArrive { id, threads } => {
                    let (site, id, threads) =
                        (self.site, self.uniform(id, "the barrier")?, *threads as usize);
                    Step::NamedArrive { site, id, threads }
                }
                Stmt::MultiplyAsync(m) => Step::MultiplyAsync(Box::new(self.multiply_async(m)?)),
                Stmt::Fence(fence) => Step::Fence(*fence),
                Stmt::CommitProducts => Step::CommitProducts { site: self.site },
                Stmt::WaitProducts { leave, completes } => {
                    let completes = completes.iter().map(|regs| self.regs(regs)).collect::<Result<_, _>>()?;
                    Step::WaitProducts { site: self.site, leave: *leave, completes }
                }
            };
            out.push(step);
        }
        Ok(out)
    }

    fn ranks(&self, blocks: &[Expr]) -> Result<Vec<Formula>, SimError> {
        blocks.iter().map(|rank| self.uniform(rank, "the rank of a block")).collect()
    }

    fn barrier(&self, barrier: u32) -> Result<usize, SimError> {
        match self.program.barriers.get(barrier as usize) {
            Some(_) => Ok(barrier as usize),
            None => self.malformed(format!("there is no barrier {barrier}")),
        }
    }

    /// Compiles the statements of an operation. A group also opens a scope.
    fn group(&mut self, g: &'a Group) -> Result<Vec<Step>, SimError> {
        let outer = self.site;
        self.site = self.sites.len() as SiteId;
        self.sites.push(Site { op: Some(g.op), origin: Some(g.origin), title: g.title.clone() });
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

    /// Brings a name into scope until the end of the body.
    fn bind(&mut self, var: &Symbol, local: Local, hidden: &mut Hidden) {
        hidden.push((var.clone(), self.scope.insert(var.clone(), local)));
    }

    /// Compiles the condition of a branch or a loop, which all threads of a block must agree on.
    fn uniform_test(&self, cond: &Cond, word: &str) -> Result<Test, SimError> {
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

    fn conditional_loop(&mut self, cond: &Cond, body: &'a Body) -> Result<Step, SimError> {
        let test = self.uniform_test(cond, "while")?;
        Ok(Step::While { site: self.site, test, body: self.body(body)?, text: cond.to_string() })
    }

    fn let_number(
        &mut self,
        var: &Symbol,
        value: &hx_tile::Scalar,
        inputs: &[Registers],
    ) -> Result<(Local, Step), SimError> {
        let slot = self.new_slot();
        let step = self.number(var, slot, value, inputs)?;
        let changes = self.changing.contains(var);
        Ok((Local { binding: Binding::Slot(slot), fixed: false, changes }, step))
    }

    fn assign_number(&mut self, var: &Symbol, value: &hx_tile::Scalar) -> Result<Step, SimError> {
        match self.scope.get(var) {
            Some(Local { binding: Binding::Slot(slot), changes: true, .. }) => {
                let slot = *slot;
                self.number(var, slot, value, &[])
            }
            _ => self.malformed(format!("`{var}` is changed, but is no local number")),
        }
    }

    fn log(&mut self, l: &'a Log) -> Result<Step, SimError> {
        let entry = l.entry as usize;
        if entry >= self.program.log.len() {
            return self.malformed(format!("there is no entry {entry} to print or assert"));
        }
        let outer = self.logging.replace(entry);
        let body = self.body(&l.body);
        self.logging = outer;
        Ok(Step::Log { entry, body: body? })
    }

    fn fill(&mut self, f: &hx_thread::Fill) -> Result<Fill, SimError> {
        let dst = self.written(&f.dst)?;
        let mask = self.program.array(f.dst.array).dtype.mask();
        if f.bits & !mask != 0 {
            return self.malformed(format!("the fill with {:#x} is wider than its element", f.bits));
        }
        Ok(Fill { site: self.site, dst, bits: f.bits })
    }

    fn local(&mut self, var: &Symbol, value: &Expr) -> Result<(Local, Option<Step>), SimError> {
        let site = self.site;
        if self.changing.contains(var) {
            let value = self.uniform(value, &format!("the value of `{var}`, which changes,"))?;
            let slot = self.new_slot();
            let local = Local { binding: Binding::Slot(slot), fixed: false, changes: true };
            return Ok((local, Some(Step::SetSlot { site, slot, value })));
        }
        let (formula, fixed) = (self.formula(value)?, self.is_fixed(value));
        if let Some(binding) = formula.known() {
            return Ok((Local { binding, fixed, changes: false }, None));
        }
        let (binding, step) = if formula.varying() {
            let lanes = self.lanes;
            self.lanes += 1;
            (Binding::Lanes(lanes), Step::SetLanes { site, lanes, value: formula })
        } else {
            let slot = self.new_slot();
            (Binding::Slot(slot), Step::SetSlot { site, slot, value: formula })
        };
        Ok((Local { binding, fixed, changes: false }, Some(step)))
    }

    fn number(
        &mut self,
        var: &Symbol,
        slot: u32,
        value: &hx_tile::Scalar,
        inputs: &[Registers],
    ) -> Result<Step, SimError> {
        let dtype = value.dtype();
        let value = self.evaluate(value, inputs)?;
        Ok(Step::SetNumber(Box::new(SetNumber { slot, dtype, name: var.to_string(), value })))
    }

    fn assign(&mut self, var: &Symbol, value: &Expr) -> Result<Step, SimError> {
        let value = self.uniform(value, &format!("the value of `{var}`, which changes,"))?;
        match self.scope.get(var) {
            Some(Local { binding: Binding::Slot(slot), changes: true, .. }) => {
                Ok(Step::SetSlot { site: self.site, slot: *slot, value })
            }
            Some(_) => self.malformed(format!("`{var}` is changed, but is no local integer")),
            None => self.malformed(format!("`{var}` is changed where there is no such integer")),
        }
    }

    fn load_index(
        &mut self,
        var: &Symbol,
        address: &Address,
        guard: &Cond,
    ) -> Result<(Local, LoadIndex), SimError> {
        let lanes = self.lanes;
        self.lanes += 1;
        let (memory, dtype) = match address.memory {
            Memory::Global(p) => match self.program.params.get(p as usize) {
                Some(Param::Tensor(t)) if !t.mutable => (Mem::Global(p as usize), t.dtype),
                Some(Param::Tensor(t)) => {
                    return self.malformed(format!("`{var}` is read from `{}`, which is `mut`", t.name));
                }
                _ => return self.malformed(format!("parameter {p} is no tensor")),
            },
            Memory::Shared(s) => match self.program.shared.get(s as usize) {
                Some(buffer) => (Mem::Shared(s as usize), buffer.dtype),
                None => return self.malformed(format!("there is no shared tensor {s}")),
            },
        };
        if !dtype.is_int() || dtype.bits() < 8 {
            return self.malformed(format!("`{var}` is an integer, but is read from elements of {dtype}"));
        }
        if matches!(memory, Mem::Shared(_)) {
            self.granule = self.granule.min(dtype.bits() as usize / 8);
        }
        let (offset, guard) = (self.formula(&address.offset)?, self.test(guard)?);
        let load = LoadIndex { site: self.site, lanes, memory, offset, guard, dtype };
        Ok((Local::new(Binding::Lanes(lanes)), load))
    }

    fn load_integer(&mut self, var: &Symbol, address: &Address) -> Result<(Local, LoadInteger), SimError> {
        let Memory::Global(p) = address.memory else {
            return self.malformed(format!("`{var}` is read from shared memory, where it may differ"));
        };
        let Some(Param::Tensor(t)) = self.program.params.get(p as usize) else {
            return self.malformed(format!("parameter {p} is no tensor"));
        };
        if t.mutable {
            let text = "whose elements are not the same for all threads, as it is `mut`";
            return self.malformed(format!("`{var}` is read from `{}`, {text}", t.name));
        }
        if t.dtype.bits() < 8 {
            return self.malformed(format!("`{var}` is a number, but `{}` holds {}", t.name, t.dtype));
        }
        let offset = self.uniform(&address.offset, "the position")?;
        let slot = self.new_slot();
        let changes = self.changing.contains(var);
        let load = LoadInteger { site: self.site, slot, tensor: p as usize, offset, dtype: t.dtype };
        Ok((Local { binding: Binding::Slot(slot), fixed: false, changes }, load))
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
        Ok(Put {
            site: self.site,
            entry,
            value: regs,
            position: self.formula(&p.position)?,
            guard: self.test(&p.guard)?,
            width: value.element_bytes() as usize,
            elements: value.elements(),
        })
    }

    fn new_slot(&mut self) -> u32 {
        self.slots += 1;
        self.slots - 1
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
        let slot = self.new_slot();
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

    fn regs(&self, r: &Registers) -> Result<Regs, SimError> {
        let RegId(array) = r.array;
        let Some(a) = self.program.registers.get(array as usize) else {
            return self.malformed(format!("there is no register array {array}"));
        };
        self.own.borrow_mut()[array as usize] = true;
        let base = self.uniform(&r.base, "the register position")?;
        if !self.is_fixed(&r.base) {
            return self.malformed(format!(
                "the position `{}` in the registers `{}` depends on more than counters of unrolled loops",
                r.base, a.name
            ));
        }
        if let (Some(base), Some(&top)) = (base.as_const(), r.offsets.iter().max())
            && (base < 0 || base.saturating_add(i64::from(top)) >= i64::from(a.len))
        {
            let at = if base < 0 { base } else { base.saturating_add(i64::from(top)) };
            return self
                .malformed(format!("position {at} of the registers `{}`, of {} elements", a.name, a.len));
        }
        Ok(Regs { array: array as usize, base, offsets: r.offsets.iter().map(|o| *o as usize).collect() })
    }

    /// Resolves registers that an instruction writes. No register may occur twice.
    fn written(&self, r: &Registers) -> Result<Regs, SimError> {
        let regs = self.regs(r)?;
        let mut seen = BTreeSet::new();
        match regs.offsets.iter().find(|o| !seen.insert(**o)) {
            Some(o) => {
                let name = &self.program.array(r.array).name;
                self.malformed(format!(
                    "offset {o} occurs twice among registers of `{name}` that are written"
                ))
            }
            None => Ok(regs),
        }
    }

    fn expect_values(&self, row: &str, what: &str, found: usize, want: i64) -> Result<(), SimError> {
        if found as i64 == want {
            return Ok(());
        }
        self.malformed(format!("{found} {what} where `{row}` takes {want}"))
    }

    fn expect_type(&self, row: &str, r: &Registers, want: DType) -> Result<(), SimError> {
        let found = self.program.array(r.array);
        if found.dtype == want {
            return Ok(());
        }
        self.malformed(format!(
            "the registers `{}` hold {} where `{row}` takes {want}",
            found.name, found.dtype
        ))
    }

    fn expect_lanes(&self, row: &str, lanes: u32) -> Result<(), SimError> {
        if lanes > 0 && self.threads.is_multiple_of(lanes as usize) {
            return Ok(());
        }
        self.malformed(format!("{} threads do not divide among the {lanes} lanes of `{row}`", self.threads))
    }
}
