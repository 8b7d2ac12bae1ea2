//! Elementwise expressions in a flat form, evaluated for all threads of an agent at once.
//!
//! Each value of an expression is a vector with the bits of every thread. Both branches of a select are evaluated. An unwritten
//! register, an integer without a value or a division by zero in one branch is an error only for threads that select that
//! branch.

use hx_dtype::{DType, Operator};

use crate::block::Block;
use crate::cast::{cast, integer_bits, is_fill, number_of_bits};
use crate::code::evaluate::{Compute, Evaluate, Micro, Operand, Under};
use crate::code::{From, LaneExchange, SetNumber};
use crate::error::{Fault, SimError};
use crate::formula::Formula;
use crate::operators::{Args, apply};

impl<'a> Block<'a> {
    pub(crate) fn compute(&mut self, whole: &'a Compute) -> Result<(), SimError> {
        let (c, dst) = (&whole.value, &whole.dst);
        let threads = self.agent.threads;
        let base = self.base(c.site, dst)?;
        let (at, temporaries) = self.evaluate(c)?;
        self.expect_nothing_left_out(whole, &at)?;
        let to = (base + dst.offsets[0]) * threads;
        let file = &mut self.agent.registers[dst.array];
        match c.result {
            Operand::Temporary(t) => file.bits[to..to + threads].copy_from_slice(&temporaries[t]),
            Operand::Table(t) => file.bits[to..to + threads].copy_from_slice(&c.tables[t]),
            Operand::Input(i) if c.inputs[i].array == dst.array => {
                file.bits.copy_within(at[i]..at[i] + threads, to);
            }
            Operand::Input(i) => {
                let [from, file] = self.two_files(c.inputs[i].array, dst.array);
                file[to..to + threads].copy_from_slice(&from[at[i]..at[i] + threads]);
            }
        }
        self.set_written(c.site, dst, base)?;
        self.evaluated(c, at, temporaries);
        Ok(())
    }

    /// Fails if an accumulated maximum or minimum reads the fill of memory never written. The fill is a NaN, which the operator
    /// leaves out, so the result would not show it; on a GPU the memory may hold any number.
    fn expect_nothing_left_out(&self, whole: &Compute, at: &[usize]) -> Result<(), SimError> {
        let (c, dst) = (&whole.value, &whole.dst);
        let Some(Micro::Apply { operator: operator @ (Operator::Max | Operator::Min), dtype, args, .. }) =
            c.steps.last()
        else {
            return Ok(());
        };
        let [Operand::Input(a), Operand::Input(b), _] = *args else { return Ok(()) };
        let accumulates = [a, b].iter().any(|input| c.inputs[*input].array == dst.array);
        if !accumulates || !dtype.is_float() || dtype.bits() < 16 {
            return Ok(());
        }
        for input in [a, b] {
            let regs = &c.inputs[input];
            let bits = &self.agent.registers[regs.array].bits[at[input]..][..self.agent.threads];
            if let Some(thread) = bits.iter().position(|bits| is_fill(*dtype, *bits)) {
                let array = self.code.arrays[regs.array].name.clone();
                let element = (at[input] / self.agent.threads) as u32;
                let fault = Fault::UnwrittenElement { operator: operator.name(), array, element };
                return Err(self.error(c.site, Some(thread), fault));
            }
        }
        Ok(())
    }

    /// Sets a number of the block. Every thread computes it, and a disagreement between threads is an error.
    pub(crate) fn set_number(&mut self, n: &'a SetNumber) -> Result<(), SimError> {
        let (at, temporaries) = self.evaluate(&n.value)?;
        let values = self.values(&n.value, n.value.result, &at, &temporaries);
        let first = values[0];
        if let Some(thread) = values.iter().position(|v| *v != first) {
            let text = format!("`{}` is not the same in thread {thread} as in thread 0", n.name);
            return Err(self.error(n.value.site, Some(thread), Fault::Malformed(text)));
        }
        self.agent.env.slots[n.slot as usize] = number_of_bits(first, n.dtype);
        self.evaluated(&n.value, at, temporaries);
        Ok(())
    }

    /// Runs the steps of an expression. Returns the positions of its inputs and its temporaries; the caller hands both back to
    /// [`Block::evaluated`]. On an error they are not handed back, because an error ends the block.
    fn evaluate(&mut self, c: &'a Evaluate) -> Result<(Vec<usize>, Vec<Vec<u64>>), SimError> {
        let threads = self.agent.threads;
        let mut at = std::mem::take(&mut self.agent.scratch.positions);
        let mut temporaries = std::mem::take(&mut self.agent.scratch.temporaries);
        if temporaries.len() < c.temporaries {
            temporaries.resize_with(c.temporaries, || vec![0; threads]);
        }
        at.clear();
        for input in &c.inputs {
            at.push((self.base(c.site, input)? + input.offsets[0]) * threads);
        }
        for step in &c.steps {
            match step {
                Micro::Expect { input, under } => {
                    self.expect_selected(c, *input, under, &at, &temporaries)?
                }
                Micro::Integer { value, dtype, dst, under } => {
                    let mut out = std::mem::take(&mut temporaries[*dst]);
                    self.integers(c, value, *dtype, under, &at, &temporaries, &mut out)?;
                    temporaries[*dst] = out;
                }
                Micro::Number { slot, dtype, dst } => {
                    let bits = self.agent.env.slots[*slot as usize] as u64 & dtype.mask();
                    temporaries[*dst].fill(bits);
                }
                Micro::Apply { operator, dtype, args, dst } => {
                    let mut out = std::mem::take(&mut temporaries[*dst]);
                    let args = args.map(|a| self.values(c, a, &at, &temporaries));
                    apply(*operator, *dtype, &mut out, Args(args));
                    temporaries[*dst] = out;
                }
                Micro::Divisor { by, dtype, under } => {
                    self.expect_divisor(c, *by, *dtype, under, &at, &temporaries)?;
                }
                Micro::Cast { from, to, arg, dst } => {
                    let mut out = std::mem::take(&mut temporaries[*dst]);
                    cast(*from, *to, &mut out, self.values(c, *arg, &at, &temporaries));
                    temporaries[*dst] = out;
                }
            }
        }
        Ok((at, temporaries))
    }

    fn evaluated(&mut self, c: &Evaluate, at: Vec<usize>, temporaries: Vec<Vec<u64>>) {
        self.counters[c.site as usize].instructions += c.instructions * self.warps() as u64;
        self.agent.scratch.positions = at;
        self.agent.scratch.temporaries = temporaries;
    }

    #[inline]
    fn values<'s>(
        &'s self,
        c: &'s Evaluate,
        from: Operand,
        at: &[usize],
        temporaries: &'s [Vec<u64>],
    ) -> &'s [u64] {
        match from {
            Operand::Input(i) => &self.agent.registers[c.inputs[i].array].bits[at[i]..][..self.agent.threads],
            Operand::Table(t) => &c.tables[t],
            Operand::Temporary(t) => &temporaries[t],
        }
    }

    /// Returns the registers of two different arrays.
    fn two_files(&mut self, from: usize, to: usize) -> [&mut Vec<u64>; 2] {
        let (low, high) = self.agent.registers.split_at_mut(from.max(to));
        let (low, high) = (&mut low[from.min(to)].bits, &mut high[0].bits);
        if from < to { [low, high] } else { [high, low] }
    }

    /// Returns a mask of the threads that select a subexpression.
    fn selected(&self, c: &Evaluate, under: &Under, at: &[usize], temporaries: &[Vec<u64>]) -> Vec<bool> {
        let mut mask = vec![true; self.agent.threads];
        for (cond, holds) in under {
            let values = self.values(c, *cond, at, temporaries);
            mask.iter_mut().zip(values).for_each(|(m, v)| *m &= (*v != 0) == *holds);
        }
        mask
    }

    fn expect_selected(
        &self,
        c: &Evaluate,
        input: usize,
        under: &Under,
        at: &[usize],
        temporaries: &[Vec<u64>],
    ) -> Result<(), SimError> {
        let regs = &c.inputs[input];
        let element = at[input] / self.agent.threads;
        self.expect_complete(c.site, regs, element - regs.offsets[0], false)?;
        if self.agent.registers[regs.array].written[element] {
            return Ok(());
        }
        let thread = match under.is_empty() {
            true => None,
            false => match self.selected(c, under, at, temporaries).iter().position(|m| *m) {
                None => return Ok(()),
                thread => thread,
            },
        };
        let array = self.code.arrays[regs.array].name.clone();
        Err(self.error(c.site, thread, Fault::UninitializedRegister { array, element: element as u32 }))
    }

    fn expect_divisor(
        &self,
        c: &Evaluate,
        by: Operand,
        dtype: DType,
        under: &Under,
        at: &[usize],
        temporaries: &[Vec<u64>],
    ) -> Result<(), SimError> {
        let values = self.values(c, by, at, temporaries);
        if values.iter().all(|by| *by != 0) {
            return Ok(());
        }
        let selected = self.selected(c, under, at, temporaries);
        match values.iter().zip(selected).position(|(by, selected)| *by == 0 && selected) {
            Some(thread) => Err(self.error(c.site, Some(thread), Fault::DivisionByZero { dtype })),
            None => Ok(()),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of an evaluation under way, each borrowed alone"
    )]
    fn integers(
        &mut self,
        c: &Evaluate,
        value: &Formula,
        dtype: DType,
        under: &Under,
        at: &[usize],
        temporaries: &[Vec<u64>],
        out: &mut [u64],
    ) -> Result<(), SimError> {
        if under.is_empty() && !value.varying() {
            let one = value.scalar(&self.agent.env).map_err(|f| self.failed(c.site, f))?;
            out.fill(integer_bits(one, dtype));
            return Ok(());
        }
        let mask = (!under.is_empty()).then(|| self.selected(c, under, at, temporaries));
        let mut numbers = std::mem::take(&mut self.agent.scratch.offsets);
        let done = value.lanes(&mut self.agent.env, mask.as_deref(), &mut numbers);
        done.map_err(|f| self.failed(c.site, f))?;
        out.iter_mut().zip(&numbers).for_each(|(o, n)| *o = integer_bits(*n, dtype));
        self.agent.scratch.offsets = numbers;
        Ok(())
    }

    pub(crate) fn lane_exchange(&mut self, e: &'a LaneExchange) -> Result<(), SimError> {
        let (dst, src) = (self.base(e.site, &e.dst)?, self.base(e.site, &e.src)?);
        self.expect_written(e.site, &e.src, src)?;
        let threads = self.agent.threads;
        let mut held = std::mem::take(&mut self.agent.scratch.sums);
        held.clear();
        for offset in &e.src.offsets {
            let from = (src + offset) * threads;
            held.extend_from_slice(&self.agent.registers[e.src.array].bits[from..from + threads]);
        }
        let warp = self.code.target.limits.lanes as usize;
        let mut lanes = std::mem::take(&mut self.agent.scratch.offsets);
        if let From::At(lane) = &e.from {
            lane.lanes(&mut self.agent.env, None, &mut lanes).map_err(|f| self.failed(e.site, f))?;
            let wrong = |(t, lane): (usize, &i64)| {
                let first = (t / warp * warp) as i64;
                !(0..warp as i64).contains(lane) || first + lane >= threads as i64
            };
            if let Some(thread) = lanes.iter().enumerate().position(wrong) {
                let text = format!("thread {thread} gets a value from lane {}, which is none", lanes[thread]);
                return Err(self.error(e.site, Some(thread), Fault::Malformed(text)));
            }
        }
        for (value, offset) in e.dst.offsets.iter().enumerate() {
            let to = (dst + offset) * threads;
            let out = &mut self.agent.registers[e.dst.array].bits[to..to + threads];
            out.iter_mut().enumerate().for_each(|(t, o)| {
                let (thread, number) = match &e.from {
                    // The mask stays within a warp, so the bits above the lane number are kept.
                    From::Xor(mask) => (t ^ mask, value),
                    From::Up(by) if t % warp < *by => (t, value),
                    From::Up(by) => (t - by, value),
                    From::At(_) => (t / warp * warp + lanes[t] as usize, value),
                    From::Tile(sources) => {
                        let (lane, number) = sources[value][t % warp];
                        (t / warp * warp + lane as usize, number as usize)
                    }
                };
                *o = held[number * threads + thread];
            });
        }
        self.agent.scratch.offsets = lanes;
        self.agent.scratch.sums = held;
        self.set_written(e.site, &e.dst, dst)?;
        self.counters[e.site as usize].instructions += e.parts * self.warps() as u64;
        Ok(())
    }
}
