//! Emits copies between registers and a memory, and between memories.

use hx_dtype::DType;
use hx_index::{Atom, Cond, Expr};
use hx_target::{Cache, CopyRow};
use hx_thread::{Address, AsyncCopy, Memory, Param, Registers, SendChunk, Transfer};
use hx_tile::SUM_CHUNK;

use super::{Result, Sequence, expect_elements, packed_literal};
use crate::access::{Destination, Elements};
use crate::asm::{Operand, Slots};
use crate::emit::{Emitter, MalformedProgram};
use crate::expr::Binding;
use crate::storage::{literal, word_literal};

impl Emitter<'_> {
    pub(crate) fn transfer(&mut self, t: &Transfer) -> Result<()> {
        let row = t.row.get();
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
        // An atomic load must not be removed or moved: another launch may change the element.
        sequence.asm.effects = !row.is_load() || t.atomic.is_some() || !self.is_constant(t.address.memory);
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
        let mut ptx = std::borrow::Cow::Borrowed(&row.ptx);
        if let (Some(used), Some(form)) = (&t.atomic, row.atomic) {
            let meaning = self.meaning(used, t.address.memory, form.op);
            *ptx.to_mut() = row.ptx.replace("{m}", &meaning);
            self.atomic_operands(used, t.pad, &mut sequence)?;
        }
        if !t.cache.is_default() {
            *ptx.to_mut() = row.hinted(t.cache).ok_or_else(|| hintless(&row.name))?;
        }
        let policy = sequence.asm.inputs.len();
        sequence.asm.inputs.extend(self.policy(t.cache)?);
        let words = row.words as usize;
        let load = row.is_load();
        self.sequence(&row.name, &ptx, sequence, &|name| match name {
            "r" if load => Some(Slots::Outputs(0..words)),
            "r" => Some(Slots::Inputs(0..words)),
            "a" if load => Some(Slots::Input(0)),
            "a" => Some(Slots::Input(words)),
            "o" => Some(Slots::Outputs(0..1)),
            "c" => Some(Slots::Input(words + 1)),
            "p" => Some(Slots::Input(policy)),
            _ => {
                let word = name.strip_prefix('r')?.parse().ok().filter(|word| *word < words)?;
                Some(if load { Slots::Outputs(word..word + 1) } else { Slots::Input(word) })
            }
        })
    }

    /// Returns the operand with the policy of the L2 cache; `None` without a hint for it.
    pub(crate) fn policy(&self, cache: Cache) -> Result<Option<Operand>> {
        let Some(hint) = cache.l2 else { return Ok(None) };
        let name = self.policies.get(&hint);
        let name = name.ok_or_else(|| MalformedProgram::Missing(format!("the policy {}", hint.name())))?;
        Ok(Some(Operand { constraint: 'l', text: name.clone() }))
    }

    /// Emits a store of 16 bytes by each thread into the shared memory of another block of the cluster.
    pub(crate) fn send(&mut self, send: &SendChunk) -> Result<()> {
        let row = send.row.get();
        let (_, array) = self.array(&send.registers)?;
        let bits = array.dtype.bits();
        expect_elements(&row.name, "registers", i64::from(SUM_CHUNK * 8 / bits), &send.registers)?;
        let Registers { base, offsets, .. } = &send.registers;
        let elements = Elements { array: &array, base, offsets };
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        sequence.asm.inputs = match bits {
            32 => (0..4).map(|i| elements.slice(i..i + 1).read(&mut self.printer)).collect(),
            64 => {
                let half =
                    |i: usize| elements.slice(i / 2..i / 2 + 1).read_half(i as u32 % 2, &mut self.printer);
                (0..4).map(half).collect()
            }
            _ => return Err(MalformedProgram::Width { row: row.name.clone(), dtype: array.dtype }),
        };
        let (barrier, index) = &send.barrier;
        let place = self.address(&send.address)?;
        let number = |text| Operand { constraint: 'r', text };
        let (barrier, rank) = (self.barrier_address(*barrier, index)?, self.expr(&send.block)?.text);
        sequence.asm.inputs.extend([place, number(barrier), number(rank)]);
        self.sequence(&row.name, &row.ptx, sequence, &|name| match name {
            "r" => Some(Slots::Vector(0..4)),
            "a" => Some(Slots::Input(4)),
            "b" => Some(Slots::Input(5)),
            "k" => Some(Slots::Input(6)),
            _ => None,
        })
    }

    /// Reports whether no thread writes this memory during the kernel, so that a load from it may move past barriers and
    /// stores. A kernel that overlaps earlier launches has no such memory, because those launches may still write.
    fn is_constant(&self, memory: Memory) -> bool {
        match memory {
            Memory::Global(_) if self.overlaps_previous => false,
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
                        let target = Destination {
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
                    let target = self.destination(index, group, sequence);
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

    /// Returns the operand that addresses a memory: a pointer to global memory, or a 32-bit address in shared memory.
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
        self.check_bound(&offset)?;
        let is_shared = constraint == 'r';
        let mut offset = if is_shared { self.printer.in_shared(&offset) } else { self.printer.expr(&offset) };
        if is_shared {
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
                let memory = crate::names::SHARED_MEMORY[0];
                format!("((const {}*)({memory} + {first}))[{offset}]", crate::storage::pointee(dtype))
            }
        };
        Ok((text, dtype))
    }

    /// Emits an asynchronous copy from global to shared memory.
    pub(crate) fn async_copy(&mut self, copy: &AsyncCopy) -> Result<()> {
        let row = copy.row.get();
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
        let ptx = row.hinted(copy.cache).ok_or_else(|| hintless(&row.name))?;
        let policy = sequence.asm.inputs.len();
        sequence.asm.inputs.extend(self.policy(copy.cache)?);
        self.sequence(&row.name, &ptx, sequence, &|name| match name {
            "p" => Some(Slots::Input(policy)),
            "d" => Some(Slots::Input(0)),
            "a" => Some(Slots::Input(1)),
            "n" => Some(bytes.clone()),
            _ => None,
        })
    }
}

/// Returns the error of an access with hints by a row that takes none.
fn hintless(row: &str) -> MalformedProgram {
    MalformedProgram::UnknownRow(format!("{row} with cache hints"))
}

/// The division of the data of a copy among its register operands.
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
