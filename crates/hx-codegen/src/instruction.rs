//! Emits the statements that become instructions: transfers, products, conversions and constants.
//!
//! Operands and templates come from the rows of the catalogue. This module knows no control flow.

use hx_dtype::DType;
use hx_index::{Atom, Cond, Expr};
use hx_target::{ConvertRow, CopyRow, Fragment, catalogue};
use hx_thread::{
    Address, AsyncCopy, Convert, Exchange, Fill, Lane, Memory, Multiply, Param, Registers, Transfer,
};

use crate::access::{Array, Elements, Target};
use crate::asm::{Asm, Operand, Slots, is_single};
use crate::emit::{Emitter, MalformedProgram};
use crate::expr::Binding;
use crate::storage::{literal, per_word, word_literal};

/// A fill of more variables than this is a loop.
const FILL_INLINE: usize = 4;

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

    /// Adds an output. `initial` is its value if the instruction does not write it.
    pub(crate) fn output(&mut self, target: Target, initial: Option<&str>) {
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

    /// Writes a sequence, in a block of its own if it declares temporaries.
    pub(crate) fn sequence(
        &mut self,
        row: &str,
        template: &str,
        sequence: Sequence,
        slots: &dyn Fn(&str) -> Option<Slots>,
    ) -> Result<()> {
        let scoped = sequence.temporaries > 0;
        // Only the instruction needs the guard: the statements around it are harmless without.
        let branch = sequence.asm.guard.clone().filter(|_| !is_single(template));
        let write = |e: &mut Self| -> Result<()> {
            sequence.before.iter().for_each(|text| e.statement(text));
            let Sequence { mut asm, after, .. } = sequence;
            let malformed = |placeholder| MalformedProgram::Template { row: row.to_owned(), placeholder };
            match branch {
                Some(guard) => {
                    asm.guard = None;
                    e.block(&format!("if ({guard})"), |e| {
                        let text = asm.statement(template, slots, e.indent()).map_err(malformed)?;
                        e.statement(&text);
                        Ok(())
                    })?;
                }
                None => {
                    let text = asm.statement(template, slots, e.indent()).map_err(malformed)?;
                    e.statement(&text);
                }
            }
            after.iter().for_each(|text| e.statement(text));
            Ok(())
        };
        if scoped { self.block("", write) } else { write(self) }
    }

    pub(crate) fn transfer(&mut self, t: &Transfer) -> Result<()> {
        let row = catalogue().copy(&t.row).ok_or_else(|| MalformedProgram::UnknownRow(t.row.clone()))?;
        self.check_arch(&row.name, row.arch)?;
        let (index, array) = self.array(&t.registers)?;
        let width = || MalformedProgram::Width { row: row.name.clone(), dtype: array.dtype };
        let atom = row.atom(array.dtype).ok_or_else(width)?;
        expect_elements(&row.name, "registers", atom.values, &t.registers)?;
        let elements = Elements { array: &array, base: &t.registers.base, offsets: &t.registers.offsets };
        if t.guard == Cond::False {
            return if row.is_load() { self.set(index, elements, t.pad) } else { Ok(()) };
        }
        let guard = match &t.guard {
            Cond::True => None,
            guard => Some(self.cond(guard)?),
        };
        let mut sequence = Sequence::default();
        sequence.asm.in_place = guard.is_some() && row.is_load();
        sequence.asm.effects = !row.is_load() || !self.is_constant(t.address.memory);
        sequence.asm.guard = guard;
        let address = self.address(&t.address)?;
        if row.is_load() {
            let pad = sequence.asm.in_place.then_some(t.pad);
            self.load_operands(index, elements, row, pad, &mut sequence).ok_or_else(width)?;
            sequence.asm.inputs.push(address);
        } else {
            sequence.asm.inputs = self.store_operands(elements, row).ok_or_else(width)?;
            sequence.asm.inputs.push(address);
        }
        let words = row.words as usize;
        let load = row.is_load();
        self.sequence(&row.name, &row.ptx, sequence, &|name| match name {
            "r" if load => Some(Slots::Outputs(0..words)),
            "r" => Some(Slots::Inputs(0..words)),
            "a" if load => Some(Slots::Input(0)),
            "a" => Some(Slots::Input(words)),
            _ => None,
        })
    }

    pub(crate) fn check_arch(&self, row: &str, oldest: u32) -> Result<()> {
        if oldest <= self.arch.number() {
            return Ok(());
        }
        Err(MalformedProgram::NewerRow { row: row.to_owned(), arch: self.arch })
    }

    /// Reports whether no thread writes this memory during the kernel. A load from it may then move past barriers and stores.
    fn is_constant(&self, memory: Memory) -> bool {
        match memory {
            Memory::Global(p) => {
                matches!(self.program.params.get(p as usize), Some(Param::Tensor(t)) if !t.mutable)
            }
            Memory::Shared(_) => false,
        }
    }

    /// Adds the operands of a load. Returns `None` if the elements cannot be divided among the row's operands.
    fn load_operands(
        &mut self,
        index: usize,
        elements: Elements<'_>,
        row: &CopyRow,
        pad: Option<u64>,
        sequence: &mut Sequence,
    ) -> Option<()> {
        let dtype = elements.array.dtype;
        match split(row, dtype)? {
            Split::Halves => {
                for i in 0..elements.offsets.len() {
                    let one = elements.slice(i..i + 1);
                    let [lo, hi] = [0, 1].map(|half| {
                        let name = sequence.temporary();
                        let operand = Operand { constraint: 'r', text: name.clone() };
                        let initial = pad.map(|p| word_literal((p >> (32 * half)) as u32));
                        let target = Target {
                            operand,
                            temporary: Some("unsigned"),
                            after: Vec::new(),
                            partial: false,
                        };
                        sequence.output(target, initial.as_deref());
                        name
                    });
                    sequence.after.push(one.join_halves(&lo, &hi, &mut self.printer));
                }
            }
            Split::Elements(each) => {
                for i in 0..row.words as usize {
                    let group = elements.slice(i * each..(i + 1) * each);
                    let target = self.target(index, group, sequence);
                    let initial = pad.map(|p| match target.temporary {
                        None => literal(dtype, p),
                        Some(_) => packed_literal(dtype, p, each),
                    });
                    sequence.output(target, initial.as_deref());
                }
            }
        }
        Some(())
    }

    /// Returns the operand for an instruction's result, with a temporary if the elements are not a whole variable.
    pub(crate) fn target(&mut self, index: usize, group: Elements<'_>, sequence: &mut Sequence) -> Target {
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

    fn store_operands(&mut self, elements: Elements<'_>, row: &CopyRow) -> Option<Vec<Operand>> {
        Some(match split(row, elements.array.dtype)? {
            Split::Halves => (0..2 * elements.offsets.len())
                .map(|i| elements.slice(i / 2..i / 2 + 1).read_half(i as u32 % 2, &mut self.printer))
                .collect(),
            Split::Elements(each) => (0..row.words as usize)
                .map(|i| elements.slice(i * each..(i + 1) * each).read(&mut self.printer))
                .collect(),
        })
    }

    /// Returns the operand that addresses a memory: a pointer, or a byte offset in shared memory.
    pub(crate) fn address(&mut self, address: &Address) -> Result<Operand> {
        let dtype = self
            .program
            .memory_dtype(address.memory)
            .ok_or_else(|| MalformedProgram::Missing(format!("the tensor {:?}", address.memory)))?;
        let bytes = |e: &Expr, facts| match dtype.bits() {
            bits @ 8.. => scaled(e, i64::from(bits / 8)),
            bits => e.scale(i64::from(bits)).div(&Expr::constant(8), facts),
        };
        let (constraint, base, offset) = match address.memory {
            Memory::Global(p) => {
                let offset = if dtype.bits() < 8 {
                    bytes(&address.offset, &self.printer.facts)
                } else {
                    address.offset.clone()
                };
                ('l', self.params[p as usize].clone(), offset)
            }
            Memory::Shared(s) => {
                ('r', self.shared[s as usize].clone(), bytes(&address.offset, &self.printer.facts))
            }
        };
        let mut offset = self.expr(&offset)?;
        if constraint == 'r' {
            // The offset may be computed in 64 bits because integers of the launch may need them. The result fits `int`, because
            // shared memory is small.
            offset = offset.cast(false);
        }
        let text = match offset.text.as_str() {
            "0" => base,
            _ => format!("{base} + {}", offset.operand(Binding::Product)),
        };
        Ok(Operand { constraint, text })
    }

    /// Returns an element of memory as a C++ expression, and its type.
    pub(crate) fn element_of(&mut self, address: &Address) -> Result<(String, DType)> {
        let dtype = self.program.memory_dtype(address.memory);
        let dtype =
            dtype.ok_or_else(|| MalformedProgram::Missing(format!("the tensor {:?}", address.memory)))?;
        let offset = self.expr(&address.offset)?.text;
        let text = match address.memory {
            Memory::Global(p) => format!("{}[{offset}]", self.params[p as usize]),
            Memory::Shared(s) => {
                let first = self.program.shared[s as usize].offset;
                let memory = crate::emit::SHARED_MEMORY[0];
                format!("((const {}*)({memory} + {first}))[{offset}]", crate::storage::pointee(dtype))
            }
        };
        Ok((text, dtype))
    }

    /// Emits an asynchronous copy from global to shared memory.
    pub(crate) fn async_copy(&mut self, copy: &AsyncCopy) -> Result<()> {
        let row =
            catalogue().copy(&copy.row).ok_or_else(|| MalformedProgram::UnknownRow(copy.row.clone()))?;
        self.check_arch(&row.name, row.arch)?;
        if !row.is_async()
            || !matches!((copy.src.memory, copy.dst.memory), (Memory::Global(_), Memory::Shared(_)))
        {
            return Err(MalformedProgram::Missing(format!("an asynchronous copy by `{}`", row.name)));
        }
        if copy.active == Cond::False {
            return Ok(());
        }
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        sequence.asm.inputs = vec![self.address(&copy.dst)?, self.address(&copy.src)?];
        if copy.active != Cond::True {
            sequence.asm.guard = Some(self.cond(&copy.active)?);
        }
        let access = i64::from(row.access);
        let bytes = match &copy.inside {
            Cond::True => Slots::Number(access),
            Cond::False => Slots::Number(0),
            inside => {
                let text = format!("{} ? {access} : 0", self.cond(inside)?);
                sequence.asm.inputs.push(Operand { constraint: 'r', text });
                Slots::Input(2)
            }
        };
        self.sequence(&row.name, &row.ptx, sequence, &|name| match name {
            "d" => Some(Slots::Input(0)),
            "a" => Some(Slots::Input(1)),
            "n" => Some(bytes.clone()),
            _ => None,
        })
    }

    /// Emits the instruction that closes a group of asynchronous copies, or the one that waits for groups.
    pub(crate) fn group_row(&mut self, name: &str, groups: Option<u32>) -> Result<()> {
        let row = catalogue().group(name).ok_or_else(|| MalformedProgram::UnknownRow(name.into()))?;
        self.check_arch(name, row.arch)?;
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
        let row = catalogue().sync(name).ok_or_else(|| MalformedProgram::UnknownRow(name.into()))?;
        self.check_arch(name, row.arch)?;
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        sequence.asm.inputs = inputs;
        self.sequence(name, &row.ptx, sequence, slots)
    }

    /// Writes a row that synchronizes threads and has a result. Its input, if it has one, is an address.
    pub(crate) fn sync_output(&mut self, name: &str, output: Operand, inputs: Vec<Operand>) -> Result<()> {
        let row = catalogue().sync(name).ok_or_else(|| MalformedProgram::UnknownRow(name.into()))?;
        self.check_arch(name, row.arch)?;
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        sequence.asm.outputs = vec![output];
        sequence.asm.inputs = inputs;
        self.sequence(name, &row.ptx, sequence, &|name| match name {
            "d" => Some(Slots::Outputs(0..1)),
            "a" | "t" => Some(Slots::Input(0)),
            _ => None,
        })
    }

    /// Exchanges values between the lanes of a warp, one 32-bit register at a time. A register holds one value, or several that
    /// fill it.
    pub(crate) fn exchange(&mut self, x: &Exchange) -> Result<()> {
        let row = catalogue().exchange(&x.row).ok_or_else(|| MalformedProgram::UnknownRow(x.row.clone()))?;
        self.check_arch(&row.name, row.arch)?;
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
            let target = self.target(to, dst, &mut sequence);
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
        let row = catalogue().gemm(&m.row).ok_or_else(|| MalformedProgram::UnknownRow(m.row.clone()))?;
        self.check_arch(&row.name, row.arch)?;
        let mut sequence = Sequence::default();
        let (index, c) = self.fragment(&row.name, "c", &row.c, &m.c)?;
        for range in operands(&row.c) {
            let group = elements(&c, &m.c).slice(range);
            // The temporary must hold the accumulator's value before the instruction.
            let read = group.read(&mut self.printer);
            let target = self.target(index, group, &mut sequence);
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

    pub(crate) fn convert(&mut self, c: &Convert) -> Result<()> {
        let (to, dst) = self.array(&c.dst)?;
        let (_, src) = self.array(&c.src)?;
        let (dst_all, src_all) = (elements(&dst, &c.dst), elements(&src, &c.src));
        let count = c.dst.offsets.len();
        let Some(name) = &c.row else {
            expect_elements("move", "source", count as i64, &c.src)?;
            return self.move_elements(to, dst_all, src_all);
        };
        let row = catalogue().convert(name).ok_or_else(|| MalformedProgram::UnknownRow(name.clone()))?;
        self.check_arch(name, row.arch)?;
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
                let target = self.target(to, dst_all.slice(i..i + out), &mut sequence);
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

    fn set(&mut self, index: usize, dst: Elements<'_>, bits: u64) -> Result<()> {
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

/// Multiplies an expression by a power of two, distributing over bit operations: a constant operand of a xor then stays a
/// constant.
pub(crate) fn scaled(e: &Expr, by: i64) -> Expr {
    e.terms().fold(Expr::default(), |sum, (monomial, coefficient)| {
        let term = match monomial.as_slice() {
            [Atom::Xor(a, b)] if coefficient > 0 && coefficient.count_ones() == 1 => {
                scaled(a, by * coefficient).xor(&scaled(b, by * coefficient))
            }
            [Atom::And(a, mask)] if coefficient > 0 && coefficient.count_ones() == 1 => {
                scaled(a, by * coefficient).and(mask * by * coefficient)
            }
            _ => monomial
                .iter()
                .fold(Expr::constant(coefficient), |p, a| &p * &Expr::atom(a.clone()))
                .scale(by),
        };
        sum + term
    })
}

pub(crate) fn elements<'a>(array: &'a Array, registers: &'a Registers) -> Elements<'a> {
    Elements { array, base: &registers.base, offsets: &registers.offsets }
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

fn expect_elements(row: &str, operand: &'static str, expected: i64, registers: &Registers) -> Result<()> {
    let found = registers.offsets.len();
    if usize::try_from(expected) == Ok(found) {
        return Ok(());
    }
    Err(MalformedProgram::Operands { row: row.to_owned(), operand, expected, found })
}

/// How the data of a copy divides into its register operands.
enum Split {
    /// Each operand holds this number of elements.
    Elements(usize),
    /// Each operand holds half a 64-bit element.
    Halves,
}

fn split(row: &CopyRow, dtype: DType) -> Option<Split> {
    let data = row.bytes * 8 / row.words;
    match (data, dtype.bits()) {
        (32, 64) => Some(Split::Halves),
        (64, 64) => Some(Split::Elements(1)),
        (data, bits) if data <= 32 && bits <= data => Some(Split::Elements((data / bits) as usize)),
        _ => None,
    }
}

/// Returns the ranges of a fragment's values that its operands hold: 32-bit words, or the whole fragment if it is smaller.
pub(crate) fn operands(fragment: &Fragment) -> Vec<std::ops::Range<usize>> {
    let values = usize::try_from(fragment.values()).unwrap_or(0);
    let each = (per_word(fragment.dtype) as usize).min(values).max(1);
    (0..values / each).map(|i| i * each..(i + 1) * each).collect()
}

/// Returns a literal of `count` elements of these bits, the lowest first.
fn packed_literal(dtype: DType, bits: u64, count: usize) -> String {
    if dtype.bits() >= 32 {
        return literal(dtype, bits);
    }
    let word = (0..count as u32).fold(0, |w, i| w | ((bits & dtype.mask()) as u32) << (i * dtype.bits()));
    word_literal(word)
}
