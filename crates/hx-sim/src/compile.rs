//! Thread program to [`Code`]: what can be wrong in the program alone is found here, before any block runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hx_dtype::DType;
use hx_index::{Cond, EvalError, Expr, Symbol};
use hx_layout::Layout;
use hx_target::{CopyRow, GemmRow, Space, catalogue};
use hx_thread::{Body, Memory, Param, RegId, Registers, Stmt, ThreadProgram};

use crate::code::{
    Array, Code, Convert, Exchange, Fill, Mem, Multiply, Product, Regs, Shared, Site, SiteId, Step, Transfer,
};
use crate::error::{Fault, SimError};
use crate::formula::{Binding, Compiler, Formula, Test};

/// Compiles `program` for a launch with these symbols.
pub(crate) fn compile(program: &ThreadProgram, symbols: &BTreeMap<Symbol, i64>) -> Result<Code, SimError> {
    let threads = program.threads as usize;
    if threads == 0 {
        return Err(Fault::Malformed("the block has no threads".into()).into());
    }
    let shared = shared_buffers(program)?;
    let mut scope: BTreeMap<Symbol, Local> = symbols
        .iter()
        .map(|(s, v)| (s.clone(), Local { binding: Binding::Known(*v), fixed: false }))
        .collect();
    for axis in 0..3u8 {
        let local = Local { binding: Binding::Slot(u32::from(axis)), fixed: false };
        scope.insert(Symbol::BlockIdx(axis), local);
    }
    let index: Vec<i64> = (0..i64::from(program.threads)).collect();
    scope.insert(Symbol::Thread, Local { binding: Binding::Table(index.into()), fixed: false });
    let mut c = Compilation {
        program,
        threads,
        scope,
        sites: vec![Site::default()],
        site: 0,
        slots: 3,
        lanes: 0,
        granule: 16,
        exchanges: BTreeMap::new(),
        products: BTreeMap::new(),
    };
    let body = c.body(&program.body)?;
    let arrays = program.registers.iter();
    Ok(Code {
        threads,
        sites: c.sites,
        slots: c.slots as usize,
        lanes: c.lanes as usize,
        arrays: arrays.map(|r| Array { name: r.name.clone(), dtype: r.dtype, len: r.len as usize }).collect(),
        shared,
        shared_bytes: program.shared_bytes as usize,
        granule: c.granule,
        body,
    })
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
    /// Known once the loops that are unrolled are.
    fixed: bool,
}

struct Compilation<'a> {
    program: &'a ThreadProgram,
    threads: usize,
    scope: BTreeMap<Symbol, Local>,
    sites: Vec<Site>,
    site: SiteId,
    slots: u32,
    lanes: u32,
    granule: usize,
    exchanges: BTreeMap<String, Arc<Exchange>>,
    products: BTreeMap<String, Arc<Product>>,
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
        // Names go out of scope with the body, and may hide outer ones meanwhile.
        let mut hidden: Vec<(Symbol, Option<Local>)> = Vec::new();
        let steps = self.statements(body, &mut hidden);
        for (symbol, local) in hidden.into_iter().rev() {
            match local {
                Some(local) => self.scope.insert(symbol, local),
                None => self.scope.remove(&symbol),
            };
        }
        steps
    }

    fn statements(
        &mut self,
        body: &'a Body,
        hidden: &mut Vec<(Symbol, Option<Local>)>,
    ) -> Result<Vec<Step>, SimError> {
        let mut out = Vec::with_capacity(body.len());
        for stmt in body {
            match stmt {
                Stmt::Group(g) => {
                    let outer = self.site;
                    self.site = self.sites.len() as SiteId;
                    let site = Site { op: Some(g.op), origin: Some(g.origin), title: g.title.clone() };
                    self.sites.push(site);
                    // A group orders and names statements; it opens a scope of its own.
                    out.extend(self.body(&g.body)?);
                    self.site = outer;
                }
                Stmt::Let { var, value } => {
                    let (local, step) = self.local(value)?;
                    hidden.push((var.clone(), self.scope.insert(var.clone(), local)));
                    out.extend(step);
                }
                Stmt::For { var, start, end, unroll, body } => {
                    out.push(self.counted_loop(var, start, end, *unroll, body)?);
                }
                Stmt::If { cond, then, otherwise } => {
                    let test = self.test(cond)?;
                    if test.varying() {
                        return self.malformed(format!("`if {cond}` differs between the threads of a block"));
                    }
                    let (then, otherwise) = (self.body(then)?, self.body(otherwise)?);
                    out.push(Step::If { site: self.site, test, then, otherwise });
                }
                Stmt::Barrier => out.push(Step::Barrier),
                Stmt::Compute(_)
            | Stmt::Exchange(_)
            | Stmt::AsyncCopy(_)
            | Stmt::Commit
            | Stmt::Wait { .. }
            | Stmt::While { .. }
            | Stmt::Assign { .. }
            | Stmt::LoadInteger { .. } => {
                    return self.malformed("the simulator cannot run this statement yet");
                }
                Stmt::Transfer(t) => out.push(Step::Transfer(Box::new(self.transfer(t)?))),
                Stmt::Multiply(m) => out.push(Step::Multiply(Box::new(self.multiply(m)?))),
                Stmt::Convert(c) => out.push(Step::Convert(Box::new(self.convert(c)?))),
                Stmt::Fill(f) => {
                    let dst = self.written(&f.dst)?;
                    let mask = self.program.array(f.dst.array).dtype.mask();
                    if f.bits & !mask != 0 {
                        return self
                            .malformed(format!("the fill with {:#x} is wider than its element", f.bits));
                    }
                    out.push(Step::Fill(Box::new(Fill { site: self.site, dst, bits: f.bits })));
                }
            }
        }
        Ok(out)
    }

    fn local(&mut self, value: &Expr) -> Result<(Local, Option<Step>), SimError> {
        let (formula, fixed) = (self.formula(value)?, self.is_fixed(value));
        if let Some(binding) = formula.known() {
            return Ok((Local { binding, fixed }, None));
        }
        let site = self.site;
        let (binding, step) = if formula.varying() {
            let lanes = self.lanes;
            self.lanes += 1;
            (Binding::Lanes(lanes), Step::SetLanes { site, lanes, value: formula })
        } else {
            let slot = self.new_slot();
            (Binding::Slot(slot), Step::SetSlot { site, slot, value: formula })
        };
        Ok((Local { binding, fixed }, Some(step)))
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
        let outer = self.scope.insert(var.clone(), Local { binding: Binding::Slot(slot), fixed: unroll });
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

    /// Registers that an instruction writes.
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
        if lanes > 0 && self.program.threads.is_multiple_of(lanes) {
            return Ok(());
        }
        self.malformed(format!(
            "{} threads do not divide among the {lanes} lanes of `{row}`",
            self.program.threads
        ))
    }

    fn transfer(&mut self, t: &hx_thread::Transfer) -> Result<Transfer, SimError> {
        let Some(row) = catalogue().copy(&t.row) else {
            return self.malformed(format!("the catalogue has no copy `{}`", t.row));
        };
        let memory = self.memory(t.address.memory, row)?;
        let Some(dtype) = self.program.memory_dtype(t.address.memory) else {
            return self.malformed(format!("`{}` addresses no tensor", t.row));
        };
        let Some(atom) = row.atom(dtype) else {
            return self.malformed(format!("`{}` does not move elements of {dtype}", t.row));
        };
        let regs = if row.is_load() { self.written(&t.registers)? } else { self.regs(&t.registers)? };
        self.expect_type(&t.row, &t.registers, dtype)?;
        self.expect_values(&t.row, "registers", t.registers.offsets.len(), atom.values)?;
        self.expect_lanes(&t.row, row.threads)?;
        let guard = self.test(&t.guard)?;
        let exchange = if row.is_collective() {
            if t.guard != Cond::True {
                return self.malformed(format!(
                    "`{}` is executed by all lanes, but guarded by `{}`",
                    t.row, t.guard
                ));
            }
            Some(self.exchange(row, &atom)?)
        } else {
            None
        };
        if t.pad & !dtype.mask() != 0 {
            return self.malformed(format!("the padding {:#x} is wider than {dtype}", t.pad));
        }
        let access = if row.is_collective() { row.access } else { row.bytes } as usize;
        if matches!(memory, Mem::Shared(_)) {
            self.granule = self.granule.min(access);
        }
        Ok(Transfer {
            site: self.site,
            load: row.is_load(),
            memory,
            regs,
            offset: self.formula(&t.address.offset)?,
            guard,
            pad: t.pad,
            dtype,
            access,
            bytes: row.bytes as usize,
            exchange,
        })
    }

    /// The memory of an address, which must be the kind that the row reads or writes.
    fn memory(&self, memory: Memory, row: &CopyRow) -> Result<Mem, SimError> {
        let (found, mem) = match memory {
            Memory::Global(p) => {
                let Some(Param::Tensor(t)) = self.program.params.get(p as usize) else {
                    return self.malformed(format!("parameter {p} is no tensor"));
                };
                if !row.is_load() && !t.mutable {
                    return self.malformed(format!("`{}` is written, but not declared `mut`", t.name));
                }
                (Space::Global, Mem::Global(p as usize))
            }
            Memory::Shared(s) if (s as usize) < self.program.shared.len() => {
                (Space::Shared, Mem::Shared(s as usize))
            }
            Memory::Shared(s) => return self.malformed(format!("there is no shared tensor {s}")),
        };
        let want = row.memory_space();
        if found != want {
            let text =
                format!("`{}` addresses {} memory, but is given {}", row.name, want.name(), found.name());
            return self.malformed(text);
        }
        Ok(mem)
    }

    fn exchange(&mut self, row: &CopyRow, atom: &hx_target::CopyAtom) -> Result<Arc<Exchange>, SimError> {
        if let Some(known) = self.exchanges.get(&row.name) {
            return Ok(known.clone());
        }
        let lanes = row.threads as usize;
        // Of lanes that address the same element, the lowest one owns it.
        let mut owner: BTreeMap<i64, (u32, u32)> = BTreeMap::new();
        for lane in 0..lanes as u32 {
            for j in 0..atom.access as u32 {
                let element = atom.memory.eval(i64::from(lane) + i64::from(j) * lanes as i64);
                owner.entry(element).or_insert((lane, j));
            }
        }
        let owners: BTreeSet<usize> = owner.values().map(|(lane, _)| *lane as usize).collect();
        let mut sources = Vec::new();
        for held in 0..atom.values * lanes as i64 {
            match owner.get(&atom.register.eval(held)) {
                Some(source) => sources.push(*source),
                None => {
                    return self.malformed(format!("`{}` holds elements that no lane addresses", row.name));
                }
            }
        }
        let exchange = Arc::new(Exchange { lanes, owners: owners.into_iter().collect(), sources });
        self.exchanges.insert(row.name.clone(), exchange.clone());
        Ok(exchange)
    }

    fn multiply(&mut self, m: &hx_thread::Multiply) -> Result<Multiply, SimError> {
        let Some(row) = catalogue().gemm(&m.row) else {
            return self.malformed(format!("the catalogue has no matrix product `{}`", m.row));
        };
        self.expect_lanes(&m.row, row.threads)?;
        let (c, a, b) = (self.written(&m.c)?, self.regs(&m.a)?, self.regs(&m.b)?);
        let operands = [("C", &m.c, &row.c), ("A", &m.a, &row.a), ("B", &m.b, &row.b)];
        for (what, regs, fragment) in operands {
            self.expect_type(&m.row, regs, fragment.dtype)?;
            let what = format!("registers for {what}");
            self.expect_values(&m.row, &what, regs.offsets.len(), fragment.values())?;
        }
        let product =
            self.products.entry(row.name.clone()).or_insert_with(|| Arc::new(enumerate(row))).clone();
        Ok(Multiply { site: self.site, c, a, b, row: product })
    }

    fn convert(&mut self, c: &hx_thread::Convert) -> Result<Convert, SimError> {
        let (dst, src) = (self.written(&c.dst)?, self.regs(&c.src)?);
        let types = match &c.row {
            Some(name) => {
                let Some(row) = catalogue().convert(name) else {
                    return self.malformed(format!("the catalogue has no conversion `{name}`"));
                };
                self.expect_type(name, &c.dst, row.to)?;
                self.expect_type(name, &c.src, row.from)?;
                self.expect_values(name, "destinations", dst.offsets.len(), i64::from(row.values))?;
                Some((row.from, row.to))
            }
            None => {
                self.expect_type("move", &c.dst, self.program.array(c.src.array).dtype)?;
                None
            }
        };
        if dst.offsets.len() != src.offsets.len() {
            let (s, d) = (src.offsets.len(), dst.offsets.len());
            return self.malformed(format!("{s} elements are converted to {d}"));
        }
        Ok(Convert { site: self.site, dst, src, types })
    }
}

/// The fragments of a row, from column-major tiles to the dense operands of the loop.
fn enumerate(row: &GemmRow) -> Product {
    let [m, n, k] = row.shape;
    let table = |layout: &Layout, place: &dyn Fn(i64) -> i64| -> Vec<u32> {
        layout.table().map(|element| place(element) as u32).collect()
    };
    Product {
        lanes: row.threads as usize,
        shape: row.shape.map(|x| x as usize),
        a: table(&row.a.layout, &|e| (e % m) * k + e / m),
        b: table(&row.b.layout, &|e| (e / n) * n + e % n),
        c: table(&row.c.layout, &|e| (e % m) * n + e / m),
        types: [row.c.dtype, row.a.dtype, row.b.dtype],
    }
}
