//! Asynchronous matrix products: issue, groups, and completion in registers.
//!
//! An instruction may read its operands at any time from its issue to the wait that covers its group, and writes its
//! accumulator at any time until then. The seed of the run decides which: operands are read at the issue, or at the wait. In
//! between, no statement may access the accumulator or change an operand.

use hx_target::{AsynchronousAccess, Space};
use hx_thread::Mark;

use super::arith::{Lanes, product};
use crate::block::Block;
use crate::block::products::Issued;
use crate::block::shared::Touch;
use crate::code::{Factor, MultiplyAsync, Operand, Product, Regs, SiteId};
use crate::error::{Fault, SimError};
use crate::trace::Kind;

impl Product {
    /// Returns the access by which the instruction reads operands in shared memory.
    fn operand_access(&self) -> AsynchronousAccess {
        self.form.asynchronous().access(Space::Shared)
    }
}

impl<'a> Block<'a> {
    pub(crate) fn multiply_async(&mut self, m: &'a MultiplyAsync) -> Result<(), SimError> {
        let c = self.base(m.site, &m.c)?;
        let keep = m.keep.scalar(&self.agent.env).map_err(|f| self.failed(m.site, f))?;
        if keep {
            // Only the flags are checked: the accumulator of a product in flight may go on in a product of the same registers.
            let written = &self.agent.registers[m.c.array].written;
            if let Some(offset) = m.c.offsets.iter().find(|o| !written[c + **o]) {
                return Err(self.unwritten(m.site, m.c.array, c + offset));
            }
        }
        self.expect_own_accumulator(m, c)?;
        let a = match &m.a {
            Factor::Registers(regs) => {
                let base = self.base(m.site, regs)?;
                self.expect_written(m.site, regs, base)?;
                base
            }
            Factor::Shared(_) => 0,
        };
        let mut starts = Vec::new();
        for first in (0..self.agent.threads).step_by(m.row.lanes) {
            let a = match &m.a {
                Factor::Registers(_) => 0,
                Factor::Shared(operand) => self.begin(m, operand, first)?,
            };
            starts.push([a, self.begin(m, &m.b, first)?]);
        }
        let mut issued = Issued { product: m, bases: [c, a], keep, starts, read: Vec::new() };
        if self.config.seed % 2 == 1 {
            issued.read = self.operands(&issued);
        }
        let written = &mut self.agent.registers[m.c.array].written;
        m.c.offsets.iter().for_each(|offset| written[c + offset] = true);
        self.counters[m.site as usize].instructions += (self.agent.threads / m.row.lanes) as u64;
        self.agent.products.open.push(issued);
        Ok(())
    }

    /// Fails if a product in flight reads a register of this accumulator as an operand, or updates one of them and not all in
    /// the same order: only then does the hardware keep the order of the two.
    fn expect_own_accumulator(&self, m: &MultiplyAsync, base: usize) -> Result<(), SimError> {
        let same = |issued: &Issued<'_>| {
            let other = &issued.product.c;
            other.array == m.c.array && issued.bases[0] == base && other.offsets == m.c.offsets
        };
        let shares = |issued: &&Issued<'_>| {
            let has = |offset: &usize| {
                let element = base + offset;
                issued.reads(m.c.array, element) || issued.updates(m.c.array, element) && !same(issued)
            };
            m.c.offsets.iter().any(has)
        };
        let Some(issued) = self.agent.products.issued().find(shares) else { return Ok(()) };
        let fault = Fault::ProductInFlight {
            array: self.code.arrays[m.c.array].name.clone(),
            element: base as u32,
            write: true,
            product: Box::new(self.code.sites[issued.product.site as usize].copying(self.first_thread())),
        };
        Err(self.error(m.site, None, fault))
    }

    /// Checks that a group of threads may read an operand from now on, and returns the byte at which it begins.
    fn begin(&mut self, m: &MultiplyAsync, operand: &Operand, first: usize) -> Result<usize, SimError> {
        let mut offsets = std::mem::take(&mut self.agent.scratch.offsets);
        operand.start.lanes(&mut self.agent.env, None, &mut offsets).map_err(|f| self.failed(m.site, f))?;
        let group = &offsets[first..first + m.row.lanes];
        let (start, is_uniform) = (group[0], group.iter().all(|offset| *offset == group[0]));
        self.agent.scratch.offsets = offsets;
        if !is_uniform {
            let text = "the threads of a matrix instruction have different descriptors".into();
            return Err(self.error(m.site, Some(first), Fault::Malformed(text)));
        }
        let start =
            self.descriptor_start(operand, start).map_err(|fault| self.error(m.site, Some(first), fault))?;
        let epoch = self.now(first, m.row.lanes as u16).through(m.row.operand_access().proxy);
        for chunk in &operand.chunks {
            let at = operand.swizzle.apply(start as i64 + chunk) as usize;
            let touch = Touch { at, len: Operand::CHUNK, tensor: operand.tensor, epoch, site: m.site };
            let began = self.shared.begin(touch, &self.clock, self.code);
            began.map_err(|fault| self.error(m.site, Some(first), fault))?;
        }
        for chunk in &operand.chunks {
            let at = operand.swizzle.apply(start as i64 + chunk) as usize;
            let touch = Touch { at, len: Operand::CHUNK, tensor: operand.tensor, epoch, site: m.site };
            let fenced = self.shared.expect_fenced(touch, false, &self.clock, self.code);
            fenced.map_err(|fault| self.error(m.site, Some(first), fault))?;
        }
        Ok(start)
    }

    /// Returns the byte in shared memory at which an operand begins, before the swizzle. `element` is its first element in the
    /// tensor.
    ///
    /// # Errors
    /// If that byte is no multiple of 16, or a chunk of the operand lies outside of the tensor.
    fn descriptor_start(&self, operand: &Operand, element: i64) -> Result<usize, Fault> {
        let buffer = &self.code.shared[operand.tensor];
        let start = buffer.offset as i64 + element * buffer.bits as i64 / 8;
        if start % Operand::CHUNK as i64 != 0 {
            let text = format!("an operand begins at byte {start}, which is not a multiple of 16");
            return Err(Fault::Malformed(text));
        }
        let end = (buffer.offset + buffer.bytes) as i64;
        let inside = |at: i64| (buffer.offset as i64..=end - Operand::CHUNK as i64).contains(&at);
        let outside =
            operand.chunks.iter().map(|chunk| operand.swizzle.apply(start + *chunk)).find(|at| !inside(*at));
        match outside {
            None => Ok(start as usize),
            Some(at) => Err(Fault::OutOfBounds {
                tensor: buffer.name.clone(),
                element: (at - buffer.offset as i64) * 8 / buffer.bits as i64,
                coord: None,
                extent: format!("which has {} elements in shared memory", buffer.bytes * 8 / buffer.bits),
                write: false,
            }),
        }
    }

    /// Reads the operands of an instruction, for each group of threads.
    fn operands(&self, issued: &Issued<'_>) -> Vec<[Vec<f64>; 2]> {
        let m = issued.product;
        let [rows, columns, depth] = m.row.shape;
        let [_, a_type, _] = m.row.types;
        let read = |operand: &Operand, start: usize| {
            let value = |place: &i64| {
                let at = operand.swizzle.apply(start as i64 + place) as usize;
                operand.dtype.decode(hx_dtype::load(operand.dtype, &self.shared.bytes[at..], 0))
            };
            operand.places.iter().map(value).collect::<Vec<f64>>()
        };
        let groups = issued.starts.iter().enumerate();
        let each = groups.map(|(group, [a, b])| {
            let a = match &m.a {
                Factor::Shared(operand) => read(operand, *a),
                Factor::Registers(regs) => {
                    let first = group * m.row.lanes;
                    let lanes = Lanes { threads: self.agent.threads, first, count: m.row.lanes };
                    let mut dense = vec![0.0; rows * depth];
                    let file = &self.agent.registers[regs.array];
                    lanes.gather(file, regs, issued.bases[1], &m.row.a, a_type, &mut dense);
                    dense
                }
            };
            let b = read(&m.b, *b);
            debug_assert_eq!(b.len(), depth * columns);
            [a, b]
        });
        each.collect()
    }

    /// Closes the current group of products.
    pub(crate) fn commit_products(&mut self, site: SiteId) {
        self.counters[site as usize].instructions += self.warps() as u64;
        let open = std::mem::take(&mut self.agent.products.open);
        self.agent.products.closed.push_back(open);
    }

    /// Completes the oldest groups until at most `leave` are in flight. `completes` are the registers that threads may access
    /// then.
    ///
    /// # Errors
    /// If one of these registers still belongs to a product in flight.
    pub(crate) fn wait_products(
        &mut self,
        site: SiteId,
        leave: u32,
        completes: &[Regs],
    ) -> Result<(), SimError> {
        self.counters[site as usize].instructions += self.warps() as u64;
        while self.agent.products.closed.len() > leave as usize {
            let Some(group) = self.agent.products.closed.pop_front() else { break };
            group.into_iter().for_each(|issued| self.complete(issued));
        }
        for regs in completes {
            let base = self.base(site, regs)?;
            self.expect_complete(site, regs, base, true)?;
        }
        Ok(())
    }

    fn complete(&mut self, mut issued: Issued<'a>) {
        let m = issued.product;
        if issued.read.is_empty() {
            issued.read = self.operands(&issued);
        }
        let [rows, columns, _] = m.row.shape;
        let mut sums = vec![0.0; rows * columns];
        let dtype = m.row.types[0];
        for (group, [a, b]) in issued.read.iter().enumerate() {
            let first = group * m.row.lanes;
            let lanes = Lanes { threads: self.agent.threads, first, count: m.row.lanes };
            if issued.keep {
                let file = &self.agent.registers[m.c.array];
                lanes.gather(file, &m.c, issued.bases[0], &m.row.c, dtype, &mut sums);
            } else {
                sums.fill(0.0);
            }
            product(m.row.shape, &mut sums, a, b);
            lanes.scatter(
                &mut self.agent.registers[m.c.array],
                (&m.c, &m.row.c),
                issued.bases[0],
                dtype,
                &sums,
            );
            if self.trace.is_some() {
                self.trace_registers(m.site, &m.c, issued.bases[0]);
            }
            let epoch = self.now(first, m.row.lanes as u16).through(m.row.operand_access().proxy);
            let mark = Mark { epoch, by: m.site };
            let [a_start, b_start] = issued.starts[group];
            let a = match &m.a {
                Factor::Registers(_) => None,
                Factor::Shared(operand) => Some((operand, a_start)),
            };
            for (operand, start) in a.into_iter().chain([(&m.b, b_start)]) {
                for chunk in &operand.chunks {
                    let at = operand.swizzle.apply(start as i64 + chunk) as usize;
                    self.shared.end(at, Operand::CHUNK, mark, &self.clock);
                    self.trace_shared(m.site, Kind::Read, mark.epoch.thread, (at, Operand::CHUNK));
                }
            }
        }
    }
}
