//! A running block: its registers, its shared memory, and its clock. [`crate::agent`] interprets the statements.

use crate::agent::Agent;
use crate::code::{Code, Regs, SiteId};
use crate::error::{Fault, SimError};
use crate::formula::{Env, Failure};
use crate::global::Tensor;
use crate::launch::Config;
use crate::log::BlockLog;
use crate::overlay::Overlay;
use crate::report::Counters;
use crate::shared::SharedMemory;
use hx_target::WARP;
use hx_thread::{Clock, Warps};

/// Number of statements between two polls of the cancellation flag.
const POLL: u32 = 64;

/// The elements of one register array, for all threads.
#[derive(Debug)]
pub(crate) struct RegisterFile {
    /// Element `e` of thread `t` is at `e · threads + t`.
    pub(crate) bits: Vec<u64>,
    /// Whether each element was written. One flag serves all threads, because every statement writes an element in all of them.
    pub(crate) written: Vec<bool>,
}

/// Buffers that a statement borrows and returns, so that the next statement need not allocate.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The offset of each thread, in elements.
    pub(crate) offsets: Vec<i64>,
    pub(crate) mask: Vec<bool>,
    pub(crate) inside: Vec<bool>,
    /// Byte addresses of the participating threads, each with its thread.
    pub(crate) addresses: Vec<(usize, i64)>,
    pub(crate) sources: Vec<(usize, i64)>,
    pub(crate) sorted: Vec<i64>,
    /// The addresses of one request, each with the position of its lane.
    pub(crate) request: Vec<(usize, i64)>,
    pub(crate) bytes: Vec<u8>,
    /// The position in the register file of each value of the first thread.
    pub(crate) positions: Vec<usize>,
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) c: Vec<f64>,
    pub(crate) sums: Vec<u64>,
    /// Temporaries of an expression. Each holds the bits of every thread.
    pub(crate) temporaries: Vec<Vec<u64>>,
}

#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) code: &'a Code,
    /// Indexed by parameter; `None` for a scalar.
    pub(crate) tensors: &'a [Option<Tensor>],
    pub(crate) config: &'a Config<'a>,
    pub(crate) index: [u32; 3],
    pub(crate) env: Env,
    pub(crate) registers: Vec<RegisterFile>,
    pub(crate) shared: SharedMemory,
    pub(crate) clock: Clock,
    pub(crate) agent: Agent<'a>,
    /// Indexed by parameter. Only tensors that the kernel may write use theirs.
    pub(crate) overlays: Vec<Overlay>,
    /// Indexed by site.
    pub(crate) counters: Vec<Counters>,
    pub(crate) barriers: u64,
    pub(crate) log: BlockLog,
    pub(crate) scratch: Scratch,
    /// The number of times that registers decided a number of the block. A `while` uses it to detect endless loops.
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
            clock: Clock::new(code.threads as u32),
            agent: Agent::new(Warps::of_threads(code.threads as u32), &code.body),
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

    /// Counts a step, and fails now and then if the launch was cancelled.
    pub(crate) fn poll(&mut self) -> Result<(), SimError> {
        self.steps += 1;
        if self.steps >= POLL {
            self.steps = 0;
            if (self.config.cancel)() {
                return Err(Fault::Cancelled.into());
            }
        }
        Ok(())
    }

    /// Returns the error of a fault in a statement of `site`. `thread` is `None` if the fault concerns the whole block.
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

    /// Returns the position of the first thread's value for `offsets[i] == 0`, after checking that all offsets lie in the array.
    pub(crate) fn base(&self, site: SiteId, regs: &Regs) -> Result<usize, SimError> {
        let base = regs.base.scalar(&self.env).map_err(|f| self.failed(site, f))?;
        let array = &self.code.arrays[regs.array];
        let outside = |o: &usize| usize::try_from(base + *o as i64).map_or(true, |at| at >= array.len);
        // Offsets are below 2³². A base outside `0..2³²` is refused here, so that the sums below cannot overflow.
        if !(0..=i64::from(u32::MAX)).contains(&base) || regs.offsets.iter().any(outside) {
            let last = regs.offsets.iter().max().copied().unwrap_or(0) as i64;
            let at = if base < 0 { base } else { base.saturating_add(last) };
            let text = format!("position {at} of the registers `{}`, of {} elements", array.name, array.len);
            return Err(self.error(site, None, Fault::Malformed(text)));
        }
        Ok(base as usize)
    }

    /// Fails if one of these registers was never written.
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
