//! Emits the statements that become instructions. This file has products, exchanges between lanes, and the rows without operands
//! in registers; the other files have those that move and convert.
//!
//! Operands and templates come from the rows of the catalogue. This module knows no control flow.

mod memory;
mod registers;

use hx_dtype::DType;
use hx_target::Fragment;
use hx_thread::{Exchange, Lane, Multiply, Registers};

pub(crate) use memory::scaled;

use crate::access::{Array, Destination, Elements};
use crate::asm::{Asm, Operand, Slots, is_single};
use crate::emit::{Emitter, MalformedProgram};
use crate::storage::{literal, per_word, word_literal};

type Result<T> = std::result::Result<T, MalformedProgram>;

/// An instruction with the statements before and after it.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    before: Vec<String>,
    pub(crate) asm: Asm,
    after: Vec<String>,
    /// Temporaries declared so far.
    temporaries: usize,
}

impl Sequence {
    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("hx_t{}", self.temporaries - 1)
    }

    /// Adds an output. `initial` is the expression that it holds before the instruction: the accumulator of a product, or the
    /// value that remains if a load does not run. `None` leaves it undefined before.
    pub(crate) fn output(&mut self, target: Destination, initial: Option<&str>) {
        let name = &target.operand.text;
        match (target.temporary, initial) {
            (Some(c_type), Some(value)) => self.before.push(format!("{c_type} {name} = {value};")),
            (Some(c_type), None) => self.before.push(format!("{c_type} {name};")),
            (None, Some(value)) => self.before.push(format!("{name} = {value};")),
            (None, None) => {}
        }
        self.after.extend(target.after);
        self.asm.outputs.push(target.operand);
    }
}

impl Emitter<'_> {
    pub(crate) fn array(&self, registers: &Registers) -> Result<(usize, Array)> {
        let index = registers.array.0 as usize;
        let array = self.arrays.get(index).cloned();
        self.check_bound(&registers.base)?;
        Ok((index, array.ok_or_else(|| MalformedProgram::Missing(format!("register array {index}")))?))
    }

    /// Writes the sequence of the row with that name, in a block of its own if it declares temporaries.
    pub(crate) fn sequence(
        &mut self,
        row: &str,
        template: &str,
        sequence: Sequence,
        slots: &dyn Fn(&str) -> Option<Slots>,
    ) -> Result<()> {
        self.emitted.insert(row.to_owned());
        let scoped = sequence.temporaries > 0;
        // Only the instruction needs the guard: the statements around it are harmless without.
        let branch = sequence.asm.guard.clone().filter(|_| !is_single(template));
        let write = |e: &mut Self| -> Result<()> {
            sequence.before.iter().for_each(|text| e.statement(text));
            let Sequence { mut asm, after, .. } = sequence;
            match branch {
                Some(guard) => {
                    asm.guard = None;
                    e.block(&format!("if ({guard})"), |e| e.assembly(row, template, &asm, slots))?;
                }
                None => e.assembly(row, template, &asm, slots)?,
            }
            after.iter().for_each(|text| e.statement(text));
            Ok(())
        };
        if scoped { self.block("", write) } else { write(self) }
    }

    /// Returns the operand for an instruction's result, with a temporary if the elements are not a whole variable.
    pub(crate) fn destination(
        &mut self,
        index: usize,
        group: Elements<'_>,
        sequence: &mut Sequence,
    ) -> Destination {
        let name = format!("hx_t{}", sequence.temporaries);
        let target = group.write(&name, &mut self.printer);
        if target.temporary.is_some() {
            sequence.temporaries += 1;
        }
        if target.partial {
            self.partial.insert(index);
        }
        target
    }

    /// Emits a row without register operands: the close of a group, a fence, or a wait until at most `groups` groups are
    /// pending.
    pub(crate) fn group_row(&mut self, name: &str, groups: Option<u32>) -> Result<()> {
        let row = self
            .program
            .target
            .rows()
            .group(name)
            .ok_or_else(|| MalformedProgram::UnknownRow(name.into()))?;
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        self.sequence(name, &row.ptx, sequence, &|name| match name {
            "n" => groups.map(|n| Slots::Number(i64::from(n))),
            _ => None,
        })
    }

    /// Writes a row that synchronizes threads, with its operands.
    pub(crate) fn sync_row(
        &mut self,
        name: &str,
        inputs: Vec<Operand>,
        slots: &dyn Fn(&str) -> Option<Slots>,
    ) -> Result<()> {
        let row =
            self.program.target.rows().sync(name).ok_or_else(|| MalformedProgram::UnknownRow(name.into()))?;
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        sequence.asm.inputs = inputs;
        self.sequence(name, &row.ptx, sequence, slots)
    }

    /// Writes a row that synchronizes threads and has a result. Its first input, if it has one, is an address; the second is a
    /// value.
    pub(crate) fn sync_output(&mut self, name: &str, output: Operand, inputs: Vec<Operand>) -> Result<()> {
        let row =
            self.program.target.rows().sync(name).ok_or_else(|| MalformedProgram::UnknownRow(name.into()))?;
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        sequence.asm.outputs = vec![output];
        sequence.asm.inputs = inputs;
        self.sequence(name, &row.ptx, sequence, &|name| match name {
            "d" => Some(Slots::Outputs(0..1)),
            "a" | "t" => Some(Slots::Input(0)),
            "v" => Some(Slots::Input(1)),
            _ => None,
        })
    }

    /// Exchanges values between the lanes of a warp, one 32-bit register at a time. A register holds one value, or several that
    /// fill it.
    pub(crate) fn exchange(&mut self, x: &Exchange) -> Result<()> {
        let row = x.row.get();
        let ((to, dst), (_, src)) = (self.array(&x.dst)?, self.array(&x.src)?);
        let count = x.dst.offsets.len();
        let fills = count as u32 * dst.dtype.bits() == row.bits;
        let wanted = if fills || x.lane == Lane::Tile { i64::from(row.bits / dst.dtype.bits()) } else { 1 };
        expect_elements(&row.name, "destination", wanted, &x.dst)?;
        expect_elements(&row.name, "source", wanted, &x.src)?;
        if dst.dtype != src.dtype {
            return Err(MalformedProgram::Types { left: src.dtype, right: dst.dtype });
        }
        if row.bits != 32 {
            return Err(MalformedProgram::Width { row: row.name.clone(), dtype: dst.dtype });
        }
        let lane = match &x.lane {
            Lane::Xor(n) | Lane::Up(n) => Slots::Number(i64::from(*n)),
            Lane::At(_) | Lane::Tile => Slots::Input(1),
        };
        let number = match &x.lane {
            Lane::At(lane) => Some(Operand { constraint: 'r', text: self.expr(lane)?.text }),
            _ => None,
        };
        let (dst, src) = (elements(&dst, &x.dst), elements(&src, &x.src));
        let bits = dst.array.dtype.bits();
        let parts = match bits {
            _ if fills => vec![src.read(&mut self.printer)],
            64 => vec![src.read_half(0, &mut self.printer), src.read_half(1, &mut self.printer)],
            _ => vec![Operand { constraint: 'r', text: src.value(0, &mut self.printer) }],
        };
        if fills {
            let mut sequence = Sequence::default();
            let target = self.destination(to, dst, &mut sequence);
            sequence.output(target, None);
            sequence.asm.inputs = parts.into_iter().chain(number).collect();
            return self.exchange_one(&row.name, &row.ptx, lane, sequence);
        }
        self.partial.extend((bits < 32).then_some(to));
        let names: Vec<String> = (0..parts.len()).map(|i| format!("hx_t{i}")).collect();
        let after = match names.as_slice() {
            [lo, hi] => vec![dst.join_halves(lo, hi, &mut self.printer)],
            names => dst.insert(&names[0], &mut self.printer),
        };
        self.block("", |e| {
            for (name, part) in names.iter().zip(parts) {
                e.statement(&format!("unsigned {name};"));
                let mut sequence = Sequence::default();
                sequence.asm.outputs = vec![Operand { constraint: 'r', text: name.clone() }];
                sequence.asm.inputs = std::iter::once(part).chain(number.clone()).collect();
                e.exchange_one(&row.name, &row.ptx, lane.clone(), sequence)?;
            }
            after.iter().for_each(|text| e.statement(text));
            Ok(())
        })
    }

    fn exchange_one(&mut self, row: &str, ptx: &str, lane: Slots, mut sequence: Sequence) -> Result<()> {
        // All lanes take part, so the compiler must not move it.
        sequence.asm.effects = true;
        self.sequence(row, ptx, sequence, &|name| match name {
            "d" => Some(Slots::Outputs(0..1)),
            "s" => Some(Slots::Input(0)),
            "x" => Some(lane.clone()),
            _ => None,
        })
    }

    pub(crate) fn multiply(&mut self, m: &Multiply) -> Result<()> {
        let row = m.row.get();
        let mut sequence = Sequence::default();
        let (index, c) = self.fragment(&row.name, "c", &row.c, &m.c)?;
        for range in operands(&row.c) {
            let group = elements(&c, &m.c).slice(range);
            // The temporary must hold the accumulator's value before the instruction.
            let read = group.read(&mut self.printer);
            let target = self.destination(index, group, &mut sequence);
            let initial = target.temporary.map(|_| read.text);
            sequence.output(target, initial.as_deref());
        }
        sequence.asm.in_place = true;
        let fragments = row.fragments().ok_or_else(|| MalformedProgram::SharedOperand(row.name.clone()))?;
        for (name, fragment, registers) in [("a", fragments[0], &m.a), ("b", fragments[1], &m.b)] {
            let (_, array) = self.fragment(&row.name, name, fragment, registers)?;
            for range in operands(fragment) {
                let operand = elements(&array, registers).slice(range).read(&mut self.printer);
                sequence.asm.inputs.push(operand);
            }
        }
        let [c, a, b] = [&row.c, fragments[0], fragments[1]].map(|fragment| operands(fragment).len());
        self.sequence(&row.name, &row.ptx, sequence, &|name| match name {
            "c" => Some(Slots::Outputs(0..c)),
            "a" => Some(Slots::Inputs(0..a)),
            "b" => Some(Slots::Inputs(a..a + b)),
            _ => None,
        })
    }

    pub(crate) fn fragment(
        &self,
        row: &str,
        operand: &'static str,
        fragment: &Fragment,
        registers: &Registers,
    ) -> Result<(usize, Array)> {
        let (index, array) = self.array(registers)?;
        if array.dtype != fragment.dtype {
            return Err(MalformedProgram::Types { left: array.dtype, right: fragment.dtype });
        }
        expect_elements(row, operand, fragment.values(), registers)?;
        Ok((index, array))
    }
}

pub(crate) fn elements<'a>(array: &'a Array, registers: &'a Registers) -> Elements<'a> {
    Elements { array, base: &registers.base, offsets: &registers.offsets }
}

fn expect_elements(row: &str, operand: &'static str, expected: i64, registers: &Registers) -> Result<()> {
    let found = registers.offsets.len();
    if usize::try_from(expected) == Ok(found) {
        return Ok(());
    }
    Err(MalformedProgram::Operands { row: row.to_owned(), operand, expected, found })
}

/// Returns the ranges of a fragment's values that its operands hold: 32-bit words, or the whole fragment if it is smaller.
pub(crate) fn operands(fragment: &Fragment) -> Vec<std::ops::Range<usize>> {
    let values = usize::try_from(fragment.values()).unwrap_or(0);
    let each = (per_word(fragment.dtype) as usize).min(values).max(1);
    (0..values / each).map(|i| i * each..(i + 1) * each).collect()
}

/// Returns a literal of `count` elements of these bits, the lowest first.
pub(crate) fn packed_literal(dtype: DType, bits: u64, count: usize) -> String {
    if dtype.bits() >= 32 {
        return literal(dtype, bits);
    }
    let word = (0..count as u32).fold(0, |w, i| w | ((bits & dtype.mask()) as u32) << (i * dtype.bits()));
    word_literal(word)
}
