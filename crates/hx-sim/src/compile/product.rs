//! Compiles asynchronous matrix products: enumerates where the descriptor of an operand says that its elements lie.

use std::collections::BTreeSet;
use std::sync::Arc;

use hx_dtype::DType;
use hx_target::{Field, Reached, ReachedStride};
use hx_thread::{Descriptor, Memory, Source};

use super::Compilation;
use super::instruction::enumerate;
use crate::code::{Factor, MultiplyAsync, Operand};
use crate::error::SimError;

impl Compilation<'_> {
    pub(super) fn multiply_async(&mut self, m: &hx_thread::MultiplyAsync) -> Result<MultiplyAsync, SimError> {
        let row = m.row.get();
        if !row.is_by_descriptor() {
            return self.malformed(format!("`{}` is not an asynchronous matrix product", m.row));
        }
        self.expect_lanes(m.row, row.threads)?;
        let c = self.written(&m.c)?;
        self.expect_type(m.row, &m.c, row.c.dtype)?;
        self.expect_values(m.row, "registers for C", m.c.offsets.len(), row.c.values())?;
        let [rows, columns, depth] = row.shape;
        let a = match (&m.a, row.a.fragment()) {
            (Source::Registers(registers), Some(fragment)) => {
                self.expect_type(m.row, registers, fragment.dtype)?;
                self.expect_values(m.row, "registers for A", registers.offsets.len(), fragment.values())?;
                Factor::Registers(self.regs(registers)?)
            }
            (Source::Registers(_), None) => {
                return self.malformed(format!("`{}` does not take A from registers", m.row));
            }
            (Source::Descriptor(d), _) => {
                let order = (0..rows).flat_map(|x| (0..depth).map(move |k| [x, k]));
                Factor::Shared(self.descriptor(d, row.a.dtype(), row.a.reach(), [rows, depth], order)?)
            }
        };
        let order = (0..depth).flat_map(|k| (0..columns).map(move |x| [x, k]));
        let b = self.descriptor(&m.b, row.b.dtype(), row.b.reach(), [columns, depth], order)?;
        let held = if matches!(a, Factor::Registers(_)) { row.a.fragment() } else { None };
        // The product of a row has a table for A only if A is in registers.
        let key = if held.is_some() { format!("{} with A in registers", row.name) } else { row.name.clone() };
        let product = self.products.entry(key).or_insert_with(|| Arc::new(enumerate(row, [held, None])));
        let row = product.clone();
        Ok(MultiplyAsync { site: self.site, c, a, b, keep: self.uniform_test(&m.keep, "if")?, row })
    }

    /// Compiles a descriptor. `order` lists the elements in the order of the dense operand: the row of A or the column of B,
    /// and k. `legal` are the names of the reaches that the instruction takes, and `extents` those of the operand.
    ///
    /// # Errors
    /// If the instruction takes no such reach, or the reach or the shared tensor has no such elements.
    fn descriptor(
        &mut self,
        d: &Descriptor,
        dtype: DType,
        legal: &[String],
        extents: [i64; 2],
        order: impl Iterator<Item = [i64; 2]>,
    ) -> Result<Operand, SimError> {
        let reach = d.reach;
        if !legal.contains(&reach.name) {
            return self.malformed(format!("no operand is reached by `{reach}`"));
        }
        let Memory::Shared(buffer) = d.start.memory else {
            return self.malformed(format!("`{}` reaches shared memory only", d.reach));
        };
        let buffer = buffer as usize;
        let found = self.program.shared.get(buffer).map(|buffer| buffer.dtype);
        let (Some(modes), true) = (reach.modes(dtype.bits()), found == Some(dtype)) else {
            return self.malformed(format!("`{}` reaches no elements of {dtype} there", d.reach));
        };
        let offset = |[x, k]: [i64; 2]| {
            let sides = [x, k].into_iter().zip(&modes).zip(extents);
            sides.map(|((at, modes), extent)| distance(at, modes, extent, d, dtype)).sum::<i64>()
        };
        let places: Vec<i64> = order.map(offset).collect();
        let chunk = Operand::CHUNK as i64;
        let chunks: BTreeSet<i64> = places.iter().map(|place| place / chunk * chunk).collect();
        self.granule = self.granule.min(Operand::CHUNK);
        Ok(Operand {
            tensor: buffer,
            start: self.formula(&d.start.offset)?,
            places,
            chunks: chunks.into_iter().collect(),
            swizzle: reach.swizzle.of_bytes(),
            dtype,
        })
    }
}

/// Returns the distance in bytes, along one side of an operand, that the hardware adds for coordinate `at`.
fn distance(at: i64, modes: &[Reached], extent: i64, d: &Descriptor, dtype: DType) -> i64 {
    let mut left = at;
    let mut sum = 0;
    for mode in modes {
        let extent = mode.extent.unwrap_or(extent);
        let stride = match mode.stride {
            ReachedStride::Known(elements) => elements * i64::from(dtype.bits()) / 8,
            ReachedStride::Free(Field::Leading) => i64::from(d.lbo),
            ReachedStride::Free(Field::Stride) => i64::from(d.sbo),
        };
        sum += left % extent * stride;
        left /= extent;
    }
    sum
}
