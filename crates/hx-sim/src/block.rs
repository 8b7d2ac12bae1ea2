//! One block while it runs: its registers, its shared memory, and the walk through its statements.

use crate::code::{Code, Regs, SiteId, Step};
use crate::error::{Fault, SimError};
use crate::flight::Flight;
use crate::formula::{Env, Failure, Test};
use crate::global::Tensor;
use crate::launch::Config;
use crate::log::BlockLog;
use crate::overlay::Overlay;
use crate::report::Counters;
use crate::shared::SharedMemory;
use hx_target::WARP;

/// Statements between two looks at the cancellation flag.
const POLL: u32 = 64;

/// The elements that all threads hold of one array.
#[derive(Debug)]
pub(crate) struct RegisterFile {
    /// At `element · threads + thread`.
    pub(crate) bits: Vec<u64>,
    /// By element: every statement that writes an element does so for all threads.
    pub(crate) written: Vec<bool>,
}

/// Buffers that statements use and leave for the next one.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Of each thread, in elements.
    pub(crate) offsets: Vec<i64>,
    pub(crate) mask: Vec<bool>,
    pub(crate) inside: Vec<bool>,
    /// Byte addresses of the threads that take part, with the thread.
    pub(crate) addresses: Vec<(usize, i64)>,
    pub(crate) sources: Vec<(usize, i64)>,
    pub(crate) sorted: Vec<i64>,
    /// Of one request, with the position of the lane.
    pub(crate) request: Vec<(usize, i64)>,
    pub(crate) bytes: Vec<u8>,
    /// Where in the register file each value of the first thread is.
    pub(crate) positions: Vec<usize>,
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) c: Vec<f64>,
    pub(crate) sums: Vec<u64>,
    /// Of an expression, each with the bits of every thread.
    pub(crate) temporaries: Vec<Vec<u64>>,
}

#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) code: &'a Code,
    /// By parameter; nothing for a scalar.
    pub(crate) tensors: &'a [Option<Tensor>],
    pub(crate) config: &'a Config<'a>,
    pub(crate) index: [u32; 3],
    pub(crate) env: Env,
    pub(crate) registers: Vec<RegisterFile>,
    pub(crate) shared: SharedMemory,
    pub(crate) flight: Flight,
    /// By parameter; used for tensors that may be written.
    pub(crate) overlays: Vec<Overlay>,
    /// By site.
    pub(crate) counters: Vec<Counters>,
    pub(crate) barriers: u64,
    pub(crate) log: BlockLog,
    pub(crate) scratch: Scratch,
    /// How often registers have decided a number of the block.
    pub(crate) decisions: u64,
    steps: u32,
}

impl<'a> Block<'a> {
    pub(crate) fn new(
        code: &'a Code,
        tensors: &'a [Option<Tensor>],
        config: &'a Config<'a>,
        index: [u32; 3],
        log: BlockLog,
    ) -> Block<'a> {
        let mut env = Env::new(code.slots, code.lanes, code.threads);
        for (slot, i) in env.slots.iter_mut().zip(index) {
            *slot = i64::from(i);
        }
        let file = |len: usize| RegisterFile { bits: vec![0; len * code.threads], written: vec![false; len] };
        Block {
            code,
            tensors,
            config,
            index,
            env,
            registers: code.arrays.iter().map(|a| file(a.len)).collect(),
            shared: SharedMemory::new(code, config.check_races),
            flight: Flight::default(),
            overlays: tensors.iter().map(|_| Overlay::default()).collect(),
            counters: vec![Counters::default(); code.sites.len()],
            barriers: 0,
            log,
            scratch: Scratch {
                offsets: vec![0; code.threads],
                mask: vec![true; code.threads],
                ..Scratch::default()
            },
            decisions: 0,
            steps: 0,
        }
    }

    pub(crate) fn run(&mut self) -> Result<(), SimError> {
        let code = self.code;
        self.body(&code.body)?;
        self.count_unwaited();
        Ok(())
    }

    pub(crate) fn body(&mut self, steps: &'a [Step]) -> Result<(), SimError> {
        for step in steps {
            self.poll()?;
            match step {
                Step::SetSlot { site, slot, value } => {
                    self.env.slots[*slot as usize] =
                        value.scalar(&self.env).map_err(|f| self.failed(*site, f))?;
                }
                Step::SetLanes { site, lanes, value } => {
                    let lanes = *lanes as usize;
                    let mut out = std::mem::take(&mut self.env.lanes[lanes]);
                    value.lanes(&mut self.env, None, &mut out).map_err(|f| self.failed(*site, f))?;
                    self.env.lanes[lanes] = out;
                }
                Step::For { site, slot, start, end, body } => {
                    let first = start.scalar(&self.env).map_err(|f| self.failed(*site, f))?;
                    let end = end.scalar(&self.env).map_err(|f| self.failed(*site, f))?;
                    for value in first..end {
                        self.poll()?;
                        self.env.slots[*slot as usize] = value;
                        self.body(body)?;
                    }
                }
                Step::If { site, test, then, otherwise } => {
                    let holds = test.scalar(&self.env).map_err(|f| self.failed(*site, f))?;
                    self.body(if holds { then } else { otherwise })?;
                }
                Step::SetNumber(n) => self.set_number(n)?,
                Step::Barrier => {
                    self.barriers += 1;
                    self.shared.clock.barrier();
                }
                Step::WarpBarrier => self.shared.clock.warp_barrier(),
                Step::Transfer(t) => self.transfer(t)?,
                Step::Multiply(m) => self.multiply(m)?,
                Step::Convert(c) => self.convert(c)?,
                Step::Fill(f) => self.fill(f)?,
                Step::While { site, test, body, text } => self.repeat(*site, test, body, text)?,
                Step::LoadInteger(l) => self.load_integer(l)?,
                Step::LoadIndex(l) => self.load_index(l)?,
                Step::Compute(c) => self.compute(c)?,
                Step::LaneExchange(e) => self.lane_exchange(e)?,
                Step::AsyncCopy(c) => self.async_copy(c)?,
                Step::Commit { site } => self.commit(*site),
                Step::Wait { site, groups } => self.wait(*site, *groups),
                Step::Log { entry, body } => self.log_step(*entry, body)?,
                Step::Put(p) => self.put(p)?,
            }
        }
        Ok(())
    }

    /// Only numbers of the block decide what runs, so an iteration that leaves them all alone, and reads none from registers, will be
    /// followed by the same for ever.
    fn repeat(&mut self, site: SiteId, test: &'a Test, body: &'a [Step], text: &str) -> Result<(), SimError> {
        let mut before = Vec::new();
        let (mut iterations, mut decisions) = (0, 0);
        while test.scalar(&self.env).map_err(|f| self.failed(site, f))? {
            let repeats = iterations > 0 && before == self.env.slots && decisions == self.decisions;
            if repeats || iterations >= self.config.while_limit {
                let fault = Fault::NoProgress { cond: text.into(), iterations, repeats };
                return Err(self.error(site, None, fault));
            }
            before.clone_from(&self.env.slots);
            decisions = self.decisions;
            self.poll()?;
            self.body(body)?;
            iterations += 1;
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<(), SimError> {
        self.steps += 1;
        if self.steps >= POLL {
            self.steps = 0;
            if (self.config.cancel)() {
                return Err(Fault::Cancelled.into());
            }
        }
        Ok(())
    }

    /// The error of a fault in a statement of `site`, in a thread or in the whole block.
    #[cold]
    pub(crate) fn error(&self, site: SiteId, thread: Option<usize>, fault: Fault) -> SimError {
        let thread = thread.map(|t| t as u32);
        let place = self.code.sites[site as usize].place(Some(self.index), thread);
        SimError { fault, place: Some(Box::new(place)) }
    }

    #[cold]
    pub(crate) fn failed(&self, site: SiteId, failure: Failure) -> SimError {
        self.error(site, failure.thread, Fault::Eval(failure.error))
    }

    pub(crate) fn warps(&self) -> usize {
        self.code.threads.div_ceil(WARP as usize)
    }

    /// The position of the first thread's value for `offsets[i] == 0`, after a check of all of them.
    pub(crate) fn base(&self, site: SiteId, regs: &Regs) -> Result<usize, SimError> {
        let base = regs.base.scalar(&self.env).map_err(|f| self.failed(site, f))?;
        let array = &self.code.arrays[regs.array];
        let outside = |o: &usize| usize::try_from(base + *o as i64).map_or(true, |at| at >= array.len);
        // Offsets are below 2³², and so is a base that is not wild.
        if !(0..=i64::from(u32::MAX)).contains(&base) || regs.offsets.iter().any(outside) {
            let last = regs.offsets.iter().max().copied().unwrap_or(0) as i64;
            let at = if base < 0 { base } else { base.saturating_add(last) };
            let text = format!("position {at} of the registers `{}`, of {} elements", array.name, array.len);
            return Err(self.error(site, None, Fault::Malformed(text)));
        }
        Ok(base as usize)
    }

    /// Fails if some of these registers was never written.
    #[inline]
    pub(crate) fn expect_written(&self, site: SiteId, regs: &Regs, base: usize) -> Result<(), SimError> {
        let written = &self.registers[regs.array].written;
        match regs.offsets.iter().find(|o| !written[base + **o]) {
            None => Ok(()),
            Some(offset) => Err(self.unwritten(site, regs.array, base + offset)),
        }
    }

    #[cold]
    fn unwritten(&self, site: SiteId, array: usize, element: usize) -> SimError {
        let array = self.code.arrays[array].name.clone();
        self.error(site, None, Fault::UninitializedRegister { array, element: element as u32 })
    }

    #[inline]
    pub(crate) fn set_written(&mut self, regs: &Regs, base: usize) {
        let written = &mut self.registers[regs.array].written;
        for offset in &regs.offsets {
            written[base + offset] = true;
        }
    }
}
