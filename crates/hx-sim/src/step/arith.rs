//! Executes the steps that stay inside registers: matrix products, conversions and fills.

use hx_dtype::{Class, DType};

use crate::block::Block;
use crate::block::registers::RegisterFile;
use crate::code::{Convert, Fill, Multiply, Product, Regs};
use crate::error::SimError;

impl<'a> Block<'a> {
    pub(crate) fn multiply(&mut self, m: &'a Multiply) -> Result<(), SimError> {
        let bases = [self.base(m.site, &m.c)?, self.base(m.site, &m.a)?, self.base(m.site, &m.b)?];
        for (regs, base) in [&m.c, &m.a, &m.b].into_iter().zip(bases) {
            self.expect_written(m.site, regs, base)?;
        }
        let threads = self.agent.threads;
        if m.row.lanes == 1 {
            self.multiply_lanes(m, bases);
            self.counters[m.site as usize].instructions += self.warps() as u64;
            return Ok(());
        }
        let mut scratch = std::mem::take(&mut self.agent.scratch);
        let [rows, columns, depth] = m.row.shape;
        scratch.c.resize(rows * columns, 0.0);
        scratch.a.resize(rows * depth, 0.0);
        scratch.b.resize(depth * columns, 0.0);
        let [dtype, a_type, b_type] = m.row.types;
        for first in (0..threads).step_by(m.row.lanes) {
            let lanes = Lanes { threads, first, count: m.row.lanes };
            lanes.gather(&self.agent.registers[m.c.array], &m.c, bases[0], &m.row.c, dtype, &mut scratch.c);
            lanes.gather(&self.agent.registers[m.a.array], &m.a, bases[1], &m.row.a, a_type, &mut scratch.a);
            lanes.gather(&self.agent.registers[m.b.array], &m.b, bases[2], &m.row.b, b_type, &mut scratch.b);
            product(m.row.shape, &mut scratch.c, &scratch.a, &scratch.b);
            lanes.scatter(
                &mut self.agent.registers[m.c.array],
                (&m.c, &m.row.c),
                bases[0],
                dtype,
                &scratch.c,
            );
            self.counters[m.site as usize].instructions += 1;
        }
        self.agent.scratch = scratch;
        Ok(())
    }

    /// Multiplies within each lane: no lane reads a register of another lane.
    fn multiply_lanes(&mut self, m: &Multiply, [c, a, b]: [usize; 3]) {
        let threads = self.agent.threads;
        let Product { shape: [rows, columns, depth], types, .. } = *m.row;
        // Position of element `at` of an operand within a lane: the inverse of the fragment.
        let value = |table: &[u32], at: usize| table.iter().position(|x| *x as usize == at).unwrap_or(0);
        // Sums are computed outside the register file, because `a` or `b` may be the accumulator's own registers.
        let mut sums = std::mem::take(&mut self.agent.scratch.sums);
        for i in 0..rows * columns {
            let (row, column) = (i / columns, i % columns);
            let at = (c + m.c.offsets[value(&m.row.c, i)]) * threads;
            sums.clear();
            sums.extend_from_slice(&self.agent.registers[m.c.array].bits[at..at + threads]);
            for k in 0..depth {
                let x = (a + m.a.offsets[value(&m.row.a, row * depth + k)]) * threads;
                let y = (b + m.b.offsets[value(&m.row.b, k * columns + column)]) * threads;
                let x = &self.agent.registers[m.a.array].bits[x..x + threads];
                let y = &self.agent.registers[m.b.array].bits[y..y + threads];
                fused(types, &mut sums, x, y);
            }
            self.agent.registers[m.c.array].bits[at..at + threads].copy_from_slice(&sums);
        }
        self.agent.scratch.sums = sums;
    }

    pub(crate) fn convert(&mut self, c: &'a Convert) -> Result<(), SimError> {
        let (dst, src) = (self.base(c.site, &c.dst)?, self.base(c.site, &c.src)?);
        let threads = self.agent.threads;
        self.expect_written(c.site, &c.src, src)?;
        // All sources are read before any destination is written, because the two may be the same registers.
        let mut values = Vec::with_capacity(c.src.offsets.len() * threads);
        for offset in &c.src.offsets {
            let from = &self.agent.registers[c.src.array].bits[(src + offset) * threads..][..threads];
            match c.types {
                Some((from_type, to)) => values.extend(from.iter().map(|b| to.encode(from_type.decode(*b)))),
                None => values.extend_from_slice(from),
            }
        }
        let file = &mut self.agent.registers[c.dst.array];
        for (offset, values) in c.dst.offsets.iter().zip(values.chunks_exact(threads)) {
            let at = (dst + offset) * threads;
            file.bits[at..at + threads].copy_from_slice(values);
        }
        self.set_written(c.site, &c.dst, dst)?;
        let count = if c.types.is_some() { 1 } else { self.words(&c.dst) };
        self.counters[c.site as usize].instructions += count * self.warps() as u64;
        Ok(())
    }

    pub(crate) fn fill(&mut self, f: &'a Fill) -> Result<(), SimError> {
        let base = self.base(f.site, &f.dst)?;
        let threads = self.agent.threads;
        let file = &mut self.agent.registers[f.dst.array];
        for offset in &f.dst.offsets {
            let at = (base + offset) * threads;
            file.bits[at..at + threads].fill(f.bits);
        }
        self.set_written(f.site, &f.dst, base)?;
        self.counters[f.site as usize].instructions += self.words(&f.dst) * self.warps() as u64;
        Ok(())
    }

    /// Returns the number of 32-bit words that these registers fill.
    fn words(&self, regs: &Regs) -> u64 {
        let bits = u64::from(self.code.arrays[regs.array].dtype.bits());
        (regs.offsets.len() as u64 * bits).div_ceil(32)
    }
}

/// The lanes that execute one matrix instruction together.
pub(crate) struct Lanes {
    pub(crate) threads: usize,
    pub(crate) first: usize,
    pub(crate) count: usize,
}

impl Lanes {
    /// Decodes the registers of these lanes into the dense operand `out`. `table` holds, at `value · lanes + lane`, the
    /// position in `out`.
    pub(crate) fn gather(
        &self,
        file: &RegisterFile,
        regs: &Regs,
        base: usize,
        table: &[u32],
        dtype: DType,
        out: &mut [f64],
    ) {
        for (offset, places) in regs.offsets.iter().zip(table.chunks_exact(self.count)) {
            let held = &file.bits[(base + offset) * self.threads + self.first..][..self.count];
            for (bits, place) in held.iter().zip(places) {
                out[*place as usize] = dtype.decode(*bits);
            }
        }
    }

    pub(crate) fn scatter(
        &self,
        file: &mut RegisterFile,
        (regs, table): (&Regs, &[u32]),
        base: usize,
        dtype: DType,
        c: &[f64],
    ) {
        for (offset, places) in regs.offsets.iter().zip(table.chunks_exact(self.count)) {
            let held = &mut file.bits[(base + offset) * self.threads + self.first..][..self.count];
            for (bits, place) in held.iter_mut().zip(places) {
                *bits = sum_bits(dtype, c[*place as usize]);
            }
        }
    }
}

/// Returns the bits of a sum of products. A float is rounded once, an integer wraps. Sums of narrow integers are exact in `f64`.
fn sum_bits(dtype: DType, sum: f64) -> u64 {
    if dtype.is_int() { sum as i64 as u64 & dtype.mask() } else { dtype.encode(sum) }
}

/// Returns an integer element as a number.
fn integer(dtype: DType, bits: u64) -> i64 {
    if dtype.is_signed() { dtype.sign_extend(bits) } else { (bits & dtype.mask()) as i64 }
}

/// Computes `c[m][n] += a[m][k] · b[k][n]`, adding in the order of k.
pub(crate) fn product([_, columns, depth]: [usize; 3], c: &mut [f64], a: &[f64], b: &[f64]) {
    for (c, a) in c.chunks_exact_mut(columns).zip(a.chunks_exact(depth)) {
        for (a, b) in a.iter().zip(b.chunks_exact(columns)) {
            for (c, b) in c.iter_mut().zip(b) {
                *c += a * b;
            }
        }
    }
}

/// Computes `c += x · y` for each thread. A float is rounded once to the accumulator's type, an integer wraps.
fn fused([dtype, x_type, y_type]: [DType; 3], c: &mut [u64], x: &[u64], y: &[u64]) {
    let lanes = c.iter_mut().zip(x.iter().zip(y));
    match dtype.class() {
        Class::Float if [dtype, x_type, y_type] == [DType::F32; 3] => {
            for (c, (x, y)) in lanes {
                let [x, y, sum] = [*x, *y, *c].map(|bits| f32::from_bits(bits as u32));
                *c = u64::from(x.mul_add(y, sum).to_bits());
            }
        }
        // The accumulator's type represents narrower operands exactly.
        Class::Float if dtype == DType::F32 => {
            for (c, (x, y)) in lanes {
                let (x, y) = (x_type.decode(*x) as f32, y_type.decode(*y) as f32);
                *c = u64::from(x.mul_add(y, f32::from_bits(*c as u32)).to_bits());
            }
        }
        Class::Int => {
            for (c, (x, y)) in lanes {
                let product = integer(x_type, *x).wrapping_mul(integer(y_type, *y));
                *c = (*c as i64).wrapping_add(product) as u64 & dtype.mask();
            }
        }
        Class::Bool | Class::Float => {
            for (c, (x, y)) in lanes {
                *c = dtype.encode(x_type.decode(*x).mul_add(y_type.decode(*y), dtype.decode(*c)));
            }
        }
    }
}
