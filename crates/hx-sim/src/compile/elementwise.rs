//! Compiles elementwise expressions to their flat form, and exchanges between lanes.

use std::sync::Arc;

use hx_dtype::{DType, Operator};
use hx_target::{Catalogue, Reach};
use hx_thread::{Lane, Param, Registers};
use hx_tile::{Inlined, Scalar};

use super::Compilation;
use crate::cast::integer_bits;
use crate::code::evaluate::{Compute, Evaluate, Micro, Operand, Under};
use crate::code::{From, LaneExchange, Regs};
use crate::error::{Fault, SimError};
use crate::formula::Binding;

/// A flat form under construction.
struct Flat<'a> {
    inputs: &'a [Registers],
    tables: Vec<Arc<[u64]>>,
    steps: Vec<Micro>,
    /// Number of temporaries so far. `free` lists those that can be reused.
    temporaries: usize,
    free: Vec<usize>,
    /// The conditions of the enclosing selects under which the current node is evaluated.
    under: Under,
    instructions: u64,
}

impl Flat<'_> {
    fn temporary(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.temporaries += 1;
            self.temporaries - 1
        })
    }

    fn release(&mut self, operands: &[Operand]) {
        for operand in operands {
            if let Operand::Temporary(t) = operand
                && !self.free.contains(t)
            {
                self.free.push(*t);
            }
        }
    }

    fn table(&mut self, values: Arc<[u64]>) -> Operand {
        let known = self.tables.iter().position(|t| *t == values);
        Operand::Table(known.unwrap_or_else(|| {
            self.tables.push(values);
            self.tables.len() - 1
        }))
    }

    fn constant(&mut self, bits: u64, threads: usize) -> Operand {
        self.table(vec![bits; threads].into())
    }

    /// Records that threads which reach the current node read the input.
    fn expect(&mut self, input: usize) {
        let covered = |step: &Micro| matches!(step, Micro::Expect { input: i, under } if *i == input && under.is_empty());
        if !self.steps.iter().any(covered) {
            self.steps.push(Micro::Expect { input, under: self.under.clone() });
        }
    }
}

impl Compilation<'_> {
    /// Compiles value number `lane` of those computed together. Only the first counts the instructions.
    ///
    /// # Errors
    /// If no row computes that many values at once, or the registers have another number or type.
    pub(super) fn compute(&mut self, c: &hx_thread::Compute, lane: usize) -> Result<Compute, SimError> {
        let whole = c;
        let count = c.dst.offsets.len();
        let c = &of_lane(c, lane);
        if count > 1 {
            if let Some((operator, dtype)) = without_row(self.program.target.rows(), &c.value, count) {
                let text =
                    format!("no row computes `{}` on {count} elements of {dtype} at once", operator.name());
                return self.malformed(text);
            }
            if whole.inputs.iter().any(|r| r.offsets.len() != count) {
                return self.malformed(format!("the inputs of `{}` are not all {count} registers", c.value));
            }
        }
        let dst = self.written(&c.dst)?;
        self.expect_one("the result", &dst)?;
        let (held, made) = (self.program.array(c.dst.array), c.value.dtype());
        if held.dtype != made {
            let text =
                format!("the registers `{}` hold {}, but `{}` is {made}", held.name, held.dtype, c.value);
            return self.malformed(text);
        }
        let mut value = self.evaluate(&c.value, &c.inputs)?;
        if lane > 0 {
            value.instructions = 0;
        }
        Ok(Compute { dst, value })
    }

    /// Compiles an expression over registers to its flat form.
    ///
    /// # Errors
    /// If an input is not one register, or the expression contradicts itself.
    pub(super) fn evaluate(&mut self, value: &Scalar, registers: &[Registers]) -> Result<Evaluate, SimError> {
        let inputs = registers.iter().map(|r| self.regs(r)).collect::<Result<Vec<_>, _>>()?;
        for regs in &inputs {
            self.expect_one("an input", regs)?;
        }
        let mut flat = Flat {
            inputs: registers,
            tables: Vec::new(),
            steps: Vec::new(),
            temporaries: 0,
            free: Vec::new(),
            under: Under::new(),
            instructions: 0,
        };
        let result = self.flatten(value, &mut flat)?;
        let Flat { tables, steps, temporaries, instructions, .. } = flat;
        // Moving a value takes an instruction too.
        let instructions = instructions.max(1);
        Ok(Evaluate { site: self.site, inputs, tables, steps, result, temporaries, instructions })
    }

    fn expect_one(&self, what: &str, regs: &Regs) -> Result<(), SimError> {
        if regs.offsets.len() == 1 {
            return Ok(());
        }
        self.malformed(format!("{what} of an expression is {} registers where it is one", regs.offsets.len()))
    }

    fn flatten(&self, value: &Scalar, flat: &mut Flat<'_>) -> Result<Operand, SimError> {
        match value {
            Scalar::Input { index, dtype } => {
                let at = *index as usize;
                let Some(regs) = flat.inputs.get(at) else {
                    return self.malformed(format!("`{value}` is none of the {} inputs", flat.inputs.len()));
                };
                self.expect_type(value.to_string(), regs, *dtype)?;
                flat.expect(at);
                Ok(Operand::Input(at))
            }
            Scalar::Index { .. } => self.malformed(format!("`{value}` is left in a thread program")),
            Scalar::Integer { value, dtype } => self.integer(value, *dtype, flat),
            Scalar::Param { name, dtype } => {
                let is_it = |p: &Param| matches!(p, Param::Scalar { name: own, dtype: d } if own == name && d == dtype);
                match self.numbers.get(name) {
                    Some(x) if self.program.params.iter().any(is_it) => {
                        Ok(flat.constant(dtype.encode(*x), self.threads))
                    }
                    _ => self.malformed(format!("there is no parameter `{name}` of {dtype}")),
                }
            }
            Scalar::Var { var, dtype } => match self.scope.get(var).map(|l| &l.binding) {
                Some(Binding::Slot(slot)) => {
                    let (slot, dst) = (*slot, flat.temporary());
                    flat.steps.push(Micro::Number { slot, dtype: *dtype, dst });
                    Ok(Operand::Temporary(dst))
                }
                _ => self.malformed(format!("there is no number `{var}`")),
            },
            Scalar::Const { bits, dtype } => {
                if bits & !dtype.mask() != 0 {
                    return self.malformed(format!("the constant {bits:#x} is wider than {dtype}"));
                }
                Ok(flat.constant(*bits, self.threads))
            }
            Scalar::Apply { operator, dtype, args } => self.operator(*operator, *dtype, args, flat),
            Scalar::Inlined(inlined) => self.inlined(inlined, flat),
            // Values are held as bits, so the cast needs no step.
            Scalar::Bitcast { arg, .. } => self.flatten(arg, flat),
            Scalar::Cast { to, arg } => {
                let from = arg.dtype();
                let arg = self.flatten(arg, flat)?;
                let dst = flat.temporary();
                flat.steps.push(Micro::Cast { from, to: *to, arg, dst });
                flat.instructions += 1;
                flat.release(&[arg]);
                Ok(Operand::Temporary(dst))
            }
        }
    }

    /// Compiles the meaning of an instruction of the source. It counts as the instructions of the text.
    fn inlined(&self, inlined: &Inlined, flat: &mut Flat<'_>) -> Result<Operand, SimError> {
        let (inline, counted) = (&inlined.inline, flat.instructions);
        let Some(meaning) = &inlined.meaning else {
            let (function, origin) = (inline.name.clone(), inline.origin);
            return Err(self.error(Fault::NoMeaning { function, origin }));
        };
        // The hardware reads every operand, also one that the meaning does not need.
        for arg in inlined.args.iter().filter(|arg| matches!(arg, Scalar::Input { .. })) {
            self.flatten(arg, flat)?;
        }
        if meaning.dtype() != inline.dtype {
            let text =
                format!("the meaning of `{}` is {}, not {}", inline.name, meaning.dtype(), inline.dtype);
            return self.malformed(text);
        }
        let result = self.flatten(meaning, flat)?;
        flat.instructions = counted + u64::from(inline.instructions);
        Ok(result)
    }

    fn integer(
        &self,
        value: &hx_index::Expr,
        dtype: DType,
        flat: &mut Flat<'_>,
    ) -> Result<Operand, SimError> {
        let value = self.formula(value)?;
        if let Some(known) = value.as_table(self.threads) {
            return Ok(flat.table(known.into_iter().map(|x| integer_bits(x, dtype)).collect()));
        }
        let dst = flat.temporary();
        let under = flat.under.clone();
        flat.steps.push(Micro::Integer { value, dtype, dst, under });
        Ok(Operand::Temporary(dst))
    }

    fn operator(
        &self,
        operator: Operator,
        dtype: DType,
        args: &[Scalar],
        flat: &mut Flat<'_>,
    ) -> Result<Operand, SimError> {
        let name = operator.name();
        if args.len() != operator.arity() {
            let (found, want) = (args.len(), operator.arity());
            return self.malformed(format!("{found} operands for `{name}`, which takes {want}"));
        }
        if operator.is_transcendental() && !dtype.is_float() {
            return self.malformed(format!("`{name}` has no meaning for {dtype}"));
        }
        let mut operands = Vec::with_capacity(3);
        for (i, arg) in args.iter().enumerate() {
            let is_select = operator == Operator::Select;
            let want = if is_select && i == 0 { DType::Bool } else { dtype };
            if arg.dtype() != want {
                return self
                    .malformed(format!("an operand of `{name}` is {} where it takes {want}", arg.dtype()));
            }
            if is_select && i > 0 {
                flat.under.push((operands[0], i == 1));
            }
            operands.push(self.flatten(arg, flat)?);
            if is_select && i > 0 {
                flat.under.pop();
            }
        }
        if matches!(operator, Operator::Div | Operator::Rem) && dtype.is_int() {
            let by = operands[1];
            let known = matches!(by, Operand::Table(t) if flat.tables[t].iter().all(|by| *by != 0));
            if !known {
                flat.steps.push(Micro::Divisor { by, dtype, under: flat.under.clone() });
            }
        }
        let dst = flat.temporary();
        let first = operands[0];
        let at = |i: usize| operands.get(i).copied().unwrap_or(first);
        flat.steps.push(Micro::Apply { operator, dtype, args: [first, at(1), at(2)], dst });
        flat.instructions += 1;
        flat.release(&operands);
        Ok(Operand::Temporary(dst))
    }

    pub(super) fn lane_exchange(&mut self, e: &hx_thread::Exchange) -> Result<LaneExchange, SimError> {
        let row = e.row;
        let (dst, src) = (self.written(&e.dst)?, self.regs(&e.src)?);
        let dtype = self.program.array(e.src.array).dtype;
        self.expect_type(e.row, &e.dst, dtype)?;
        // An exchange moves one value, or all values of a whole register.
        let together = (row.bits / dtype.bits()) as i64;
        let values = if e.dst.offsets.len() == 1 && e.lane != Lane::Tile { 1 } else { together };
        for regs in [&e.dst, &e.src] {
            self.expect_values(e.row, "registers", regs.offsets.len(), values)?;
        }
        let wanted = match &e.lane {
            Lane::Xor(_) => Reach::Xor,
            Lane::Up(_) => Reach::Up,
            Lane::At(_) => Reach::Lane,
            Lane::Tile => Reach::Tile,
        };
        if row.reach != wanted {
            return self.malformed(format!("`{}` does not reach {:?}", e.row, e.lane));
        }
        let from = match &e.lane {
            Lane::Xor(mask) | Lane::Up(mask) if *mask >= self.program.target.limits.lanes => {
                return self.malformed(format!("`{}` reaches over {mask} lanes, beyond the warp", e.row));
            }
            Lane::Xor(mask) => {
                let mask = *mask as usize;
                if let Some(thread) =
                    without_partner(self.threads, mask, self.program.target.limits.lanes as usize)
                {
                    return self.malformed(format!(
                        "thread {thread} gets a value from thread {} with `{}`, but the block has {} threads",
                        thread ^ mask,
                        e.row,
                        self.threads
                    ));
                }
                From::Xor(mask)
            }
            Lane::Up(by) => From::Up(*by as usize),
            Lane::At(lane) => From::At(self.formula(lane)?),
            Lane::Tile => {
                self.expect_lanes(e.row, self.program.target.limits.lanes)?;
                let sources = row.sources().filter(|sources| sources.len() as i64 == values);
                match sources {
                    Some(sources) => From::Tile(sources),
                    None => return self.malformed(format!("`{}` moves no {values} elements", e.row)),
                }
            }
        };
        let parts = u64::from((dtype.bits() * values as u32).div_ceil(row.bits.max(1)));
        Ok(LaneExchange { site: self.site, dst, src, from, parts })
    }
}

/// Returns the computation of one of the values that are computed together.
fn of_lane(c: &hx_thread::Compute, lane: usize) -> hx_thread::Compute {
    let one = |r: &Registers| match r.offsets.get(lane) {
        Some(offset) if c.dst.offsets.len() > 1 => Registers { offsets: vec![*offset], ..r.clone() },
        _ => r.clone(),
    };
    hx_thread::Compute {
        dst: one(&c.dst),
        inputs: c.inputs.iter().map(one).collect(),
        value: c.value.clone(),
    }
}

/// Returns an operator of the expression, with its type, that no row computes on `values` values at once; `None` if rows
/// compute all of its operators.
fn without_row(rows: &Catalogue, value: &Scalar, values: usize) -> Option<(Operator, DType)> {
    let mut operators = Vec::new();
    value.operators(&mut operators);
    operators.into_iter().find(|(operator, dtype)| {
        let row = rows.compute_packed(*operator, *dtype);
        row.is_none_or(|row| row.values as usize != values)
    })
}

/// Returns the first thread whose partner under `mask` lies beyond the block's `threads` threads; `None` if each has its
/// partner. A warp has `warp` threads.
fn without_partner(threads: usize, mask: usize, warp: usize) -> Option<usize> {
    let last = threads.next_multiple_of(warp) - warp;
    (last..threads).find(|t| t ^ mask >= threads)
}
