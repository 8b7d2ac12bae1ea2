//! Emits asynchronous matrix products: descriptors of operands in shared memory, fences, and waits that carry the registers
//! of the products that they complete.

use hx_index::{Cond, Expr};
use hx_target::{Completion, Fragment, GemmRow, ReachRow};
use hx_thread::{Descriptor, Fence, Leaf, Memory, MultiplyAsync, Registers, Source, Stmt, visit_leaves};

use crate::asm::{Operand, Slots};
use crate::emit::{Emitter, MalformedProgram};
use crate::expr::Binding;
use crate::instruction::{Sequence, elements, operands, scaled};

type Result<T> = std::result::Result<T, MalformedProgram>;

/// The descriptor counts bytes in units of 16 (PTX ISA, "Matrix descriptor").
const UNIT: u32 = 16;
/// Number of bits of an address within the shared memory of a block.
const ADDRESS_BITS: u32 = 18;

/// Reports whether a body has asynchronous products.
pub(crate) fn multiplies(body: &[Stmt]) -> bool {
    let mut found = false;
    visit_leaves(body, &mut |leaf| found |= matches!(leaf, Leaf::MultiplyAsync(_)));
    found
}

impl Emitter<'_> {
    pub(crate) fn multiply_async(&mut self, m: &MultiplyAsync) -> Result<()> {
        let row = m.row.get();
        let mut sequence = Sequence::default();
        sequence.asm.in_place = true;
        sequence.asm.effects = true;
        let (index, c) = self.fragment(&row.name, "c", &row.c, &m.c)?;
        let c_operands = operands(&row.c);
        for range in c_operands.clone() {
            let target = self.destination(index, elements(&c, &m.c).slice(range), &mut sequence);
            sequence.output(target, None);
        }
        let (a, ta) = match &m.a {
            Source::Registers(registers) => {
                let fragment = row.a.fragment().ok_or_else(|| in_shared(row))?;
                (self.register_operand(row, fragment, registers, &mut sequence)?, None)
            }
            Source::Descriptor(descriptor) => {
                let (operand, transposed) = self.descriptor(descriptor)?;
                sequence.asm.inputs.push(operand);
                (Slots::Input(0), Some(transposed))
            }
        };
        let b_at = sequence.asm.inputs.len();
        let (operand, tb) = self.descriptor(&m.b)?;
        sequence.asm.inputs.push(operand);
        let keep = match &m.keep {
            Cond::True => "1".to_owned(),
            Cond::False => "0".to_owned(),
            keep => format!("(int)({})", self.cond(keep)?),
        };
        sequence.asm.inputs.push(Operand { constraint: 'r', text: keep });
        let count = c_operands.len();
        let ptx = match &row.ptx_registers {
            Some(ptx) if ta.is_none() => ptx,
            _ => &row.ptx,
        };
        let template =
            format!("{{{{ .reg .pred p; setp.ne.b32 p, {{keep}}, 0; {} }}}}", ptx.replace("{d}", "p"));
        self.sequence(&row.name, &template, sequence, &|name| match name {
            "c" => Some(Slots::Outputs(0..count)),
            "a" => Some(a.clone()),
            "b" => Some(Slots::Input(b_at)),
            "keep" => Some(Slots::Input(b_at + 1)),
            "ta" => ta.map(|transposed| Slots::Number(transposed.into())),
            "tb" => Some(Slots::Number(tb.into())),
            _ => None,
        })
    }

    fn register_operand(
        &mut self,
        row: &GemmRow,
        fragment: &Fragment,
        registers: &Registers,
        sequence: &mut Sequence,
    ) -> Result<Slots> {
        let (_, array) = self.fragment(&row.name, "a", fragment, registers)?;
        let ranges = operands(fragment);
        let count = ranges.len();
        for range in ranges {
            let operand = elements(&array, registers).slice(range).read(&mut self.printer);
            sequence.asm.inputs.push(operand);
        }
        Ok(Slots::Inputs(0..count))
    }

    /// Returns the operand that describes a matrix in shared memory, and whether its elements follow each other along the
    /// rows or columns instead of along K.
    fn descriptor(&mut self, d: &Descriptor) -> Result<(Operand, bool)> {
        let reach = d.reach.get();
        let Memory::Shared(buffer) = d.start.memory else {
            return Err(MalformedProgram::Missing(format!("shared memory that `{}` reads", d.reach)));
        };
        let missing = || MalformedProgram::Missing(format!("shared buffer {buffer}"));
        let name = self.shared.get(buffer as usize).cloned().ok_or_else(missing)?;
        let bits = self.program.shared.get(buffer as usize).map(|b| b.dtype.bits()).ok_or_else(missing)?;
        self.check_bound(&d.start.offset)?;
        let bytes = bytes_of(&d.start.offset, bits);
        let constant = constant_bits(reach, d);
        // An address within the block's own memory is below 2^18, so its units never reach the constant bits. In a cluster, the
        // addresses of each block behind the first have the block's number above them. If the offset is a multiple of 16 bytes,
        // the buffer's address is shifted before the sum: products at constant distances then differ by one addition.
        let name = match self.program.cluster {
            [1, 1, 1] => name,
            _ => format!("({name} & {:#x}u)", (1u32 << ADDRESS_BITS) - 1),
        };
        let text = match exact_quotient(&bytes, i64::from(UNIT)) {
            Some(units) if units.is_zero() => format!("{constant:#x}ull | {name} >> 4"),
            Some(units) => {
                let (high, low) = (constant >> 32 << 32, constant as u32);
                let units = self.printer.in_shared(&units).operand(Binding::Sum);
                format!("{high:#x}ull | ({name} >> 4 | {low:#x}u) + {units}")
            }
            None => {
                format!(
                    "{constant:#x}ull | ({name} + {}) >> 4",
                    self.printer.in_shared(&bytes).operand(Binding::Sum)
                )
            }
        };
        Ok((Operand { constraint: 'l', text }, !reach.is_k_major()))
    }

    pub(crate) fn fence(&mut self, fence: Fence) -> Result<()> {
        let name = match fence {
            Fence::Products => "products.fence",
            Fence::Proxy => "proxy.fence",
            Fence::GlobalProxy => "proxy.fence.global",
        };
        self.group_row(name, None)
    }

    /// Emits the wait for products. The registers of the products that it completes are its operands, so that no access to
    /// them moves before the wait.
    pub(crate) fn wait_products(&mut self, leave: u32, completes: &[Registers]) -> Result<()> {
        let name = self.program.target.rows().wait_for(Completion::Product).row.as_str();
        let row = self
            .program
            .target
            .rows()
            .group(name)
            .ok_or_else(|| MalformedProgram::UnknownRow(name.into()))?;
        let mut sequence = Sequence::default();
        sequence.asm.in_place = true;
        sequence.asm.effects = true;
        for registers in completes {
            let (_, array) = self.array(registers)?;
            let constraint = array.c_type().constraint();
            let words = (0..array.words.max(1)).map(|word| format!("{}[{word}]", array.name));
            let operand = |text| Operand { constraint, text };
            sequence.asm.outputs.extend(words.map(operand));
        }
        self.sequence(name, &row.ptx, sequence, &|name| match name {
            "n" => Some(Slots::Number(i64::from(leave))),
            _ => None,
        })
    }
}

/// Returns the bits of a descriptor besides its start: the strides in units of 16 bytes, and the code of the swizzle.
fn constant_bits(reach: &ReachRow, d: &Descriptor) -> u64 {
    let units = |bytes: u32| u64::from(bytes / UNIT);
    units(d.lbo) << 16 | units(d.sbo) << 32 | reach.swizzle.code() << 62
}

/// Returns an expression divided by a number that divides each of its coefficients; `None` if a coefficient has a remainder.
fn exact_quotient(e: &Expr, by: i64) -> Option<Expr> {
    e.terms().try_fold(Expr::default(), |sum, (monomial, coefficient)| {
        let quotient = (coefficient % by == 0).then_some(coefficient / by)?;
        Some(sum + monomial.iter().fold(Expr::constant(quotient), |p, atom| &p * &Expr::atom(atom.clone())))
    })
}

/// Returns an offset in elements as an offset in bytes.
fn bytes_of(offset: &Expr, bits: u32) -> Expr {
    scaled(offset, i64::from(bits / 8))
}

fn in_shared(row: &GemmRow) -> MalformedProgram {
    MalformedProgram::SharedOperand(row.name.clone())
}
