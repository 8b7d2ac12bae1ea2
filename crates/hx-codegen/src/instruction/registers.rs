//! Emits conversions, moves between registers, and fills with a constant.

use hx_index::Expr;
use hx_target::{ConvertRow, Row};
use hx_thread::{Convert, Fill, Registers};

use super::{Result, Sequence, elements, expect_elements, packed_literal};
use crate::access::Elements;
use crate::asm::Slots;
use crate::emit::{Emitter, MalformedProgram};
use crate::expr::Binding;
use crate::storage::{literal, per_word};

/// A fill of more variables than this is a loop.
const FILL_INLINE: usize = 4;

impl Emitter<'_> {
    pub(crate) fn convert(&mut self, c: &Convert) -> Result<()> {
        let (to, dst) = self.array(&c.dst)?;
        let (_, src) = self.array(&c.src)?;
        let (dst_all, src_all) = (elements(&dst, &c.dst), elements(&src, &c.src));
        let count = c.dst.offsets.len();
        let Some(row) = c.row.map(Row::get) else {
            expect_elements("move", "source", count as i64, &c.src)?;
            return self.move_elements(to, dst_all, src_all);
        };
        let name = &row.name;
        for (have, want) in [(src.dtype, row.from), (dst.dtype, row.to)] {
            if have != want {
                return Err(MalformedProgram::Types { left: have, right: want });
            }
        }
        let (each, out, together) =
            (row.values.max(1) as usize, row.each() as usize, row.together.max(1) as usize);
        expect_elements(name, "source", count as i64, &c.src)?;
        if !count.is_multiple_of(each) {
            let expected = i64::from(row.values);
            let operand = "destination";
            return Err(MalformedProgram::Operands { row: name.clone(), operand, expected, found: count });
        }
        let held = Registers { offsets: as_held(row, &c.src.offsets), ..c.src.clone() };
        let src_all = elements(&src, &held);
        for first in (0..count).step_by(each) {
            let mut sequence = Sequence::default();
            for i in (first..first + each).step_by(out) {
                let target = self.destination(to, dst_all.slice(i..i + out), &mut sequence);
                sequence.output(target, None);
            }
            for i in (first..first + each).step_by(together) {
                sequence.asm.inputs.push(src_all.slice(i..i + together).read(&mut self.printer));
            }
            let number = |name: &str, count: usize| name.parse().ok().filter(|i: &usize| *i < count);
            self.sequence(name, &row.ptx, sequence, &|name| match name.split_at_checked(1)? {
                ("d", "") => Some(Slots::Outputs(0..1)),
                ("d", rest) => number(rest, each / out).map(|i| Slots::Outputs(i..i + 1)),
                ("s", rest) => number(rest, each / together).map(Slots::Input),
                _ => None,
            })?;
        }
        Ok(())
    }

    /// Copies elements between arrays of one type, as whole variables if possible.
    fn move_elements(&mut self, to: usize, dst: Elements<'_>, src: Elements<'_>) -> Result<()> {
        if dst.array.dtype != src.array.dtype {
            return Err(MalformedProgram::Types { left: src.array.dtype, right: dst.array.dtype });
        }
        let whole = dst.words(&mut self.printer).zip(src.words(&mut self.printer));
        if let Some((dst, src)) = whole {
            for (dst, src) in dst.iter().zip(&src) {
                self.statement(&format!("{dst} = {src};"));
            }
            return Ok(());
        }
        self.partial.insert(to);
        for i in 0..dst.offsets.len() {
            let value = src.value(i, &mut self.printer);
            for text in dst.slice(i..i + 1).insert(&value, &mut self.printer) {
                self.statement(&text);
            }
        }
        Ok(())
    }

    pub(crate) fn fill(&mut self, f: &Fill) -> Result<()> {
        let (index, array) = self.array(&f.dst)?;
        self.set(index, elements(&array, &f.dst), f.bits)
    }

    pub(super) fn set(&mut self, index: usize, dst: Elements<'_>, bits: u64) -> Result<()> {
        let dtype = dst.array.dtype;
        let Some(words) = dst.words(&mut self.printer) else {
            self.partial.insert(index);
            for i in 0..dst.offsets.len() {
                let value = packed_literal(dtype, bits, 1);
                for text in dst.slice(i..i + 1).insert(&value, &mut self.printer) {
                    self.statement(&text);
                }
            }
            return Ok(());
        };
        let value = literal(dtype, bits);
        let dense = dst.offsets.windows(2).all(|w| w[1] == w[0] + 1);
        if words.len() <= FILL_INLINE || !dense {
            for word in words {
                self.statement(&format!("{word} = {value};"));
            }
            return Ok(());
        }
        // The elements are consecutive words of the array.
        let per = Expr::constant(i64::from(per_word(dtype)));
        let first = dst.base.clone() + Expr::constant(i64::from(dst.offsets[0]));
        let first = self.printer.facts_div(&first, &per);
        let place = match first.as_const() {
            Some(0) => "hx_i".to_owned(),
            _ => format!("{} + hx_i", self.printer.expr(&first).operand(Binding::Sum)),
        };
        self.statement("#pragma unroll");
        let (name, count) = (&dst.array.name, words.len());
        self.statement(&format!("for (int hx_i = 0; hx_i < {count}; ++hx_i) {name}[{place}] = {value};"));
        Ok(())
    }
}

/// Returns the sources of a conversion in the order in which its operands hold them.
fn as_held(row: &ConvertRow, sources: &[u32]) -> Vec<u32> {
    let mut held = sources.to_vec();
    let each = row.values.max(1) as usize;
    for (to, from) in held.chunks_mut(each).zip(sources.chunks(each)) {
        for (i, source) in (0..).zip(from) {
            if let Some(slot) = usize::try_from(row.source(i)).ok().and_then(|at| to.get_mut(at)) {
                *slot = *source;
            }
        }
    }
    held
}
