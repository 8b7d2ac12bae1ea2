//! Compiles instructions that move data or multiply: checks rows of the catalogue against their operands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hx_dtype::DType;
use hx_index::Cond;
use hx_layout::Layout;
use hx_target::{BulkRow, Completion, CopyRow, Fragment, GemmRow, Space};
use hx_tensor_map::carrier;
use hx_thread::{Address, AtomicUse, Memory, Param, Part};
use hx_tile::{MemoryOrder, MemoryScope};

use super::Compilation;
use crate::block::shared::PIECE;
use crate::code::{
    AsyncCopy, AtomicCode, BulkCode, Convert, Exchange, Mem, Multiply, PartCode, Product, SendCode, Transfer,
};
use crate::error::SimError;

/// Reports whether an atomic access observes other blocks, orders accesses of blocks, or is not atomic for all blocks.
pub(crate) fn communicates(row: &CopyRow, used: &AtomicUse) -> bool {
    let Some(form) = row.atomic.as_ref().filter(|_| row.memory_space() == Space::Global) else {
        return false;
    };
    let tells = form.returns || !form.op.commutes() || row.is_load();
    tells || used.order != MemoryOrder::Relaxed || is_narrow(used.scope)
}

fn is_narrow(scope: MemoryScope) -> bool {
    matches!(scope, MemoryScope::Block | MemoryScope::Cluster)
}

impl Compilation<'_> {
    pub(super) fn transfer(&mut self, t: &hx_thread::Transfer) -> Result<Transfer, SimError> {
        let row = t.row.get();
        if row.is_async() {
            return self.malformed(format!("`{}` does not move registers", t.row));
        }
        let memory = self.memory(t.address.memory, row)?;
        let Some(dtype) = self.program.memory_dtype(t.address.memory) else {
            return self.malformed(format!("`{}` addresses no tensor", t.row));
        };
        let Some(atom) = row.atom(dtype) else {
            return self.malformed(format!("`{}` does not move elements of {dtype}", t.row));
        };
        let regs = if row.is_load() { self.written(&t.registers)? } else { self.regs(&t.registers)? };
        self.expect_type(t.row, &t.registers, dtype)?;
        self.expect_values(t.row, "registers", t.registers.offsets.len(), atom.values)?;
        self.expect_lanes(t.row, row.threads)?;
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
        let atomic = self.atomic(t, row, dtype)?;
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
            atomic,
            access,
            bytes: row.bytes as usize,
            exchange,
        })
    }

    /// Compiles the operands of an atomic transfer besides the registers that it moves; `None` if the transfer is not atomic.
    ///
    /// # Errors
    /// If the row and the transfer disagree about them.
    fn atomic(
        &mut self,
        t: &hx_thread::Transfer,
        row: &CopyRow,
        dtype: DType,
    ) -> Result<Option<AtomicCode>, SimError> {
        let (form, used) = match (&row.atomic, &t.atomic) {
            (None, None) => return Ok(None),
            (Some(form), Some(used)) => (form, used),
            _ => {
                return self
                    .malformed(format!("`{}` is atomic, and its transfer is not, or neither", row.name));
            }
        };
        if form.returns != used.old.is_some() {
            return self
                .malformed(format!("`{}` returns the element as it was, or nobody takes it", row.name));
        }
        for regs in used.old.iter().chain(&used.compare) {
            self.expect_type(t.row, regs, dtype)?;
            self.expect_values(t.row, "registers", regs.offsets.len(), 1)?;
        }
        self.communicates |= communicates(row, used);
        self.sites[self.site as usize].acquires |= used.order.acquires();
        Ok(Some(AtomicCode {
            op: form.op,
            compare: used.compare.as_ref().map(|regs| self.regs(regs)).transpose()?,
            old: used.old.as_ref().map(|regs| self.written(regs)).transpose()?,
            order: used.order,
            narrow: is_narrow(used.scope),
        }))
    }

    /// Returns the memory of an address.
    ///
    /// # Errors
    /// If the program has no such tensor, the tensor is written and not mutable, or the row accesses the other kind of memory.
    pub(super) fn memory(&self, memory: Memory, row: &CopyRow) -> Result<Mem, SimError> {
        let (found, mem) = match memory {
            Memory::Global(p) => {
                let Some(Param::Tensor(t)) = self.program.params.get(p as usize) else {
                    return self.malformed(format!("parameter {p} is not a tensor"));
                };
                if !row.is_load() && !t.mutable {
                    return self.malformed(format!("`{}` is written, but not declared `mut`", t.name));
                }
                let at = p as usize;
                (Space::Global, Mem::Global(self.same.get(&at).copied().unwrap_or(at)))
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

    pub(super) fn bulk_load(&mut self, b: &hx_thread::Bulk) -> Result<BulkCode, SimError> {
        let row = b.row.get();
        if !row.is_load() {
            return self.malformed(format!("`{}` is not a bulk load", b.row));
        }
        self.asynchronous = true;
        let code = self.moved(row, &b.from, &b.address)?;
        Ok(BulkCode { blocks: self.ranks(&b.blocks)?, ..code })
    }

    pub(super) fn send(&mut self, s: &hx_thread::SendChunk) -> Result<SendCode, SimError> {
        self.asynchronous = true;
        let Memory::Shared(tensor) = s.address.memory else {
            return self.malformed(format!("`{}` writes shared memory", s.row));
        };
        let Some(dtype) = self.program.memory_dtype(s.address.memory) else {
            return self.malformed(format!("`{}` addresses no tensor", s.row));
        };
        let regs = self.regs(&s.registers)?;
        self.expect_type(s.row, &s.registers, dtype)?;
        let elements = PIECE as i64 * 8 / i64::from(dtype.bits());
        self.expect_values(s.row, "registers", s.registers.offsets.len(), elements)?;
        self.granule = self.granule.min(PIECE);
        let (barrier, index) = self.stage(s.barrier.0, &s.barrier.1)?;
        Ok(SendCode {
            site: self.site,
            regs,
            tensor: tensor as usize,
            offset: self.formula(&s.address.offset)?,
            dtype,
            block: self.uniform(&s.block, "the rank of a block")?,
            barrier,
            index,
        })
    }

    pub(super) fn bulk_store(&mut self, s: &hx_thread::BulkStore) -> Result<BulkCode, SimError> {
        let row = s.row.get();
        if row.is_load() {
            return self.malformed(format!("`{}` is not a bulk store", s.row));
        }
        let code = self.moved(row, &s.to, &s.address)?;
        match self.program.params.get(code.tensor) {
            Some(Param::Tensor(t)) if t.mutable => Ok(code),
            Some(Param::Tensor(t)) => {
                self.malformed(format!("`{}` is written, but not declared `mut`", t.name))
            }
            Some(Param::Scalar { .. }) | None => self.malformed(format!("`{}` moves no tensor", s.row)),
        }
    }

    /// Compiles the two sides of a bulk copy.
    ///
    /// # Errors
    /// If they are not a global and a shared tensor of one type, or the row does not copy such a part.
    fn moved(&mut self, row: &BulkRow, part: &Part, address: &Address) -> Result<BulkCode, SimError> {
        let name = &row.name;
        let global = match part {
            Part::Box { map, .. } => match self.program.maps.get(*map as usize) {
                Some(found) => Memory::Global(found.param),
                None => return self.malformed(format!("there is no tensor map {map}")),
            },
            Part::Run { first, .. } => first.memory,
        };
        let (Memory::Global(tensor), Memory::Shared(shared)) = (global, address.memory) else {
            return self.malformed(format!("`{name}` copies between a global and a shared tensor"));
        };
        if shared as usize >= self.program.shared.len() {
            return self.malformed(format!("`{name}` addresses no shared tensor"));
        }
        let [Some(dtype), Some(other)] = [global, address.memory].map(|m| self.program.memory_dtype(m))
        else {
            return self.malformed(format!("`{name}` addresses no tensor"));
        };
        if dtype != other {
            return self.malformed(format!("`{name}` copies {dtype} to {other}"));
        }
        if let Part::Box { map, .. } = part {
            let (element, wanted) = (self.program.maps[*map as usize].element, carrier(dtype));
            if element != wanted {
                return self.malformed(format!("`{name}` copies {dtype} by a map of {element}"));
            }
        }
        let part = self.part(row, part, dtype)?;
        self.granule = self.granule.min(PIECE);
        let offset = self.uniform(&address.offset, "the address of a bulk copy")?;
        let (tensor, shared, bits) = (tensor as usize, shared as usize, dtype.bits() as usize);
        let blocks = Vec::new();
        let accesses = row.form().asynchronous();
        let [global, local] = [Space::Global, Space::Shared].map(|space| accesses.access(space));
        Ok(BulkCode { site: self.site, tensor, bits, part, shared, offset, global, local, blocks })
    }

    /// Compiles the part of global memory that a bulk copy moves.
    ///
    /// # Errors
    /// If a row of runs gets a box or a row of boxes a run, the coordinates are not as many as the dimensions, or a run is no
    /// multiple of [`PIECE`] bytes.
    fn part(&mut self, row: &BulkRow, part: &Part, dtype: DType) -> Result<PartCode, SimError> {
        let name = &row.name;
        match part {
            Part::Box { map, coordinates } if row.run.is_none() => {
                let rank = self.program.maps[*map as usize].dims.len();
                if rank != coordinates.len() {
                    let given = coordinates.len();
                    return self.malformed(format!("`{name}` has {given} coordinates for {rank} dimensions"));
                }
                let coordinates = coordinates.iter().map(|c| self.uniform(c, "the coordinate"));
                Ok(PartCode::Box { map: *map as usize, coordinates: coordinates.collect::<Result<_, _>>()? })
            }
            Part::Run { first, elements } if row.run.is_some() => {
                let bytes = *elements as usize * dtype.bits() as usize / 8;
                if bytes == 0 || !bytes.is_multiple_of(PIECE) {
                    return self.malformed(format!("`{name}` copies {bytes} bytes, no multiple of {PIECE}"));
                }
                Ok(PartCode::Run { offset: self.uniform(&first.offset, "the address of a run")?, bytes })
            }
            Part::Box { .. } | Part::Run { .. } => {
                self.malformed(format!("`{name}` does not copy this part of a tensor"))
            }
        }
    }

    /// Compiles a copy from a global tensor to a shared tensor that bypasses the registers.
    ///
    /// # Errors
    /// If the row is no such copy, or the tensors are others or differ in type.
    pub(super) fn async_copy(&mut self, c: &hx_thread::AsyncCopy) -> Result<AsyncCopy, SimError> {
        let row = c.row.get();
        if !row.is_async() {
            return self.malformed(format!("`{}` moves registers, not from memory to memory", c.row));
        }
        let global = |a: &Address| match a.memory {
            Memory::Global(p) => Some(p as usize),
            Memory::Shared(_) => None,
        };
        let shared = |a: &Address| match a.memory {
            Memory::Shared(s) => Some(s as usize).filter(|s| *s < self.program.shared.len()),
            Memory::Global(_) => None,
        };
        let (Some(src), Some(dst)) = (global(&c.src), shared(&c.dst)) else {
            return self.malformed(format!("`{}` copies from a global to a shared tensor", c.row));
        };
        let types = [&c.src, &c.dst].map(|a| self.program.memory_dtype(a.memory));
        let [Some(dtype), Some(to)] = types else {
            return self.malformed(format!("parameter {src} is not a tensor"));
        };
        if dtype != to {
            return self.malformed(format!("`{}` copies elements of {dtype} to a tensor of {to}", c.row));
        }
        if row.is_collective() || row.atom(dtype).is_none() {
            return self.malformed(format!("`{}` does not move elements of {dtype}", c.row));
        }
        let access = row.bytes as usize;
        self.granule = self.granule.min(access);
        self.asynchronous = true;
        Ok(AsyncCopy {
            site: self.site,
            signals: c.form().asynchronous().access(Space::Shared).until == Completion::Barrier,
            src,
            src_offset: self.formula(&c.src.offset)?,
            dst,
            dst_offset: self.formula(&c.dst.offset)?,
            active: self.test(&c.active)?,
            inside: self.test(&c.inside)?,
            dtype,
            access,
        })
    }

    fn exchange(&mut self, row: &CopyRow, atom: &hx_target::CopyAtom) -> Result<Arc<Exchange>, SimError> {
        let key = (row.name.clone(), atom.values);
        if let Some(known) = self.exchanges.get(&key) {
            return Ok(known.clone());
        }
        let lanes = row.threads as usize;
        // If several lanes address the same element, the lowest lane owns it.
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
        self.exchanges.insert(key, exchange.clone());
        Ok(exchange)
    }

    pub(super) fn multiply(&mut self, m: &hx_thread::Multiply) -> Result<Multiply, SimError> {
        let row = m.row.get();
        self.expect_lanes(m.row, row.threads)?;
        let (c, a, b) = (self.written(&m.c)?, self.regs(&m.a)?, self.regs(&m.b)?);
        let Some([a_fragment, b_fragment]) = row.fragments() else {
            return self.malformed(format!("`{}` reads an operand from shared memory", m.row));
        };
        let operands = [("C", &m.c, &row.c), ("A", &m.a, a_fragment), ("B", &m.b, b_fragment)];
        for (what, regs, fragment) in operands {
            self.expect_type(m.row, regs, fragment.dtype)?;
            let what = format!("registers for {what}");
            self.expect_values(m.row, &what, regs.offsets.len(), fragment.values())?;
        }
        let product = self
            .products
            .entry(row.name.clone())
            .or_insert_with(|| Arc::new(enumerate(row, [Some(a_fragment), Some(b_fragment)])));
        let product = product.clone();
        Ok(Multiply { site: self.site, c, a, b, row: product })
    }

    pub(super) fn convert(&mut self, c: &hx_thread::Convert) -> Result<Convert, SimError> {
        let (dst, src) = (self.written(&c.dst)?, self.regs(&c.src)?);
        let types = match &c.row {
            Some(row) => {
                self.expect_type(row, &c.dst, row.to)?;
                self.expect_type(row, &c.src, row.from)?;
                self.expect_values(row, "destinations", dst.offsets.len(), i64::from(row.values))?;
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

/// Enumerates the fragments of a row: converts positions in column-major tiles to positions in the dense operands of the loop.
/// An operand without a fragment has an empty table.
pub(super) fn enumerate(row: &GemmRow, [a_fragment, b_fragment]: [Option<&Fragment>; 2]) -> Product {
    let [m, n, k] = row.shape;
    let table = |layout: &Layout, place: &dyn Fn(i64) -> i64| -> Vec<u32> {
        layout.table().map(|element| place(element) as u32).collect()
    };
    Product {
        lanes: row.threads as usize,
        shape: row.shape.map(|x| x as usize),
        a: a_fragment.map_or_else(Vec::new, |a| table(&a.layout, &|e| (e % m) * k + e / m)),
        b: b_fragment.map_or_else(Vec::new, |b| table(&b.layout, &|e| (e / n) * n + e % n)),
        c: table(&row.c.layout, &|e| (e % m) * n + e / m),
        types: [row.c.dtype, row.a.dtype(), row.b.dtype()],
        form: row.form,
    }
}
