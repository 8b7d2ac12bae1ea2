//! The tensors of a bench in the memory of a GPU.
//!
//! A tensor gets memory at its first launch, where its elements are made or copied to. Results stay there: host code that reads one
//! brings it. A copy on the device is current as long as the tensor's count of writes is that of the copy.
//!
//! Memory belongs to whole buffers, so that views share it. A view that starts where no allocation could (its address is not
//! aligned like one), or that a kernel takes packed, has memory of its own, and a launch that takes such a view reads and writes the
//! host's memory.

use std::collections::BTreeMap;

use hx_compile::thread_program;
use hx_dtype::packed_bytes;
use hx_host::compare::{Difference, difference};
use hx_host::device::{GemmRequest, Kept, LaunchError};
use hx_host::{HostResult, HostTensor, Life, Tensor};
use hx_worker::{Buffer, Compiled};

use super::cuda::{cuda_text, grid_of};
use super::data::Elements;
use super::instance::Checked;
use super::{Bound, BoundParam, BoundTensor, Launcher, internal, stopped_at};
use crate::machine::Gpu;

/// The alignment of allocations, which kernels may rely on for every tensor.
const ALIGN: usize = 256;
/// The version of a copy that is never current.
const STALE: u64 = u64::MAX;

/// Identifies the bytes that device memory holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Content {
    /// A whole buffer.
    Whole { buffer: u64 },
    /// The elements from the position `start` of a buffer up to, without, `end`.
    Span { buffer: u64, start: usize, end: usize },
    /// The elements of a view, packed.
    Packed { buffer: u64, offset: usize, shape: Vec<usize>, strides: Vec<usize> },
    /// The source or destination of a timed copy or read, by the positions of its work and step.
    Scratch { work: usize, step: usize, written: bool },
    /// The log of kernel prints. Nobody reads it in timed runs.
    Log { bytes: u64 },
    /// The sums of the kernel that measures the clock.
    Clock,
}

impl Content {
    /// Returns the memory of a view in its buffer's own layout, and the offset of the view in it in bytes.
    pub(super) fn span(tensor: &Tensor) -> (Content, u64) {
        let buffer = tensor.buffer_id();
        match home(tensor) {
            Some(offset) => (Content::Whole { buffer }, offset),
            None => {
                let span = tensor.span();
                (Content::Span { buffer, start: span.start, end: span.end }, 0)
            }
        }
    }

    /// Returns the memory that a kernel takes for an argument, and the offset in it in bytes.
    pub(super) fn of(bound: &BoundTensor) -> (Content, u64) {
        let tensor = &bound.tensor;
        if bound.strided || tensor.is_contiguous() {
            return Content::span(tensor);
        }
        let packed = Content::Packed {
            buffer: tensor.buffer_id(),
            offset: tensor.offset(),
            shape: tensor.shape().to_vec(),
            strides: tensor.strides().to_vec(),
        };
        (packed, 0)
    }
}

/// Returns the offset in bytes of a view in the memory of its whole buffer; `None` if the view is not aligned like an allocation.
fn home(tensor: &Tensor) -> Option<u64> {
    let bits = tensor.offset().checked_mul(tensor.dtype().bits() as usize)?;
    bits.is_multiple_of(8 * ALIGN).then_some(bits as u64 / 8)
}

/// An allocation with the bytes of a tensor.
struct Held {
    buffer: Buffer,
    /// The number of the tensor's writes of which the allocation has the result.
    version: u64,
    /// Tells when the tensor is gone; `None` for memory without a tensor.
    life: Option<Life>,
}

/// Device memory by content and variant, freed by [`Launcher::release`].
#[derive(Default)]
pub(super) struct Memory {
    held: BTreeMap<(Content, usize), Held>,
    /// Kept contents of whole buffers by number.
    kept: BTreeMap<u64, Buffer>,
    next: u64,
    /// The number of the contents that a buffer had last.
    latest: BTreeMap<u64, u64>,
    /// The code of the kernels that make and compare tensors.
    pub code: Option<Compiled>,
}

impl Memory {
    fn of(&self, tensor: &Tensor) -> Result<Buffer, LaunchError> {
        let key = (Content::Whole { buffer: tensor.buffer_id() }, 0);
        let lost = || internal("the device has lost a tensor".to_owned());
        self.held.get(&key).map(|held| held.buffer).ok_or_else(lost)
    }

    /// Returns the allocation of a content, if there is one.
    pub(super) fn get(&self, content: Content) -> Option<Buffer> {
        self.held.get(&(content, 0)).map(|held| held.buffer)
    }

    /// Records that a kernel has written a tensor.
    fn wrote(&mut self, tensor: &Tensor) {
        tensor.put_away();
        if let Some(held) = self.held.get_mut(&(Content::Whole { buffer: tensor.buffer_id() }, 0)) {
            held.version = tensor.version();
        }
    }
}

fn bytes_of_whole(tensor: &Tensor) -> u64 {
    packed_bytes(tensor.dtype(), tensor.whole().len()) as u64
}

impl<'a> Launcher<'a> {
    /// Returns the launcher with results that stay in the memory of a GPU until host code reads them. [`Launcher::close`] frees them.
    #[must_use]
    pub fn keeping_results(self) -> Launcher<'a> {
        Launcher { resident: Some(Memory::default()), ..self }
    }

    /// Frees the memory of the tensors. Results that host code has not read are lost.
    ///
    /// # Errors
    /// If the worker fails.
    pub fn close(&mut self) -> Result<(), LaunchError> {
        match (self.machine.gpu(), self.resident.take()) {
            (Some(gpu), Some(memory)) => self.release(gpu, memory),
            _ => Ok(()),
        }
    }

    /// Calls `f` with the memory of the tensors; `None` if results do not stay on a GPU.
    pub(super) fn on_resident<R>(
        &mut self,
        f: impl FnOnce(&Launcher<'a>, &Gpu, &mut Memory) -> Result<R, LaunchError>,
    ) -> Option<Result<R, LaunchError>> {
        let gpu = self.machine.gpu()?;
        let mut memory = self.resident.take()?;
        let result = f(self, gpu, &mut memory);
        self.resident = Some(memory);
        Some(result)
    }

    /// Runs a launch once over the memory of its tensors, where the results stay. Returns false if the host's memory must be used.
    pub(super) fn run_at_home(
        &self,
        gpu: &Gpu,
        checked: Checked<'a>,
        bound: &Bound,
        memory: &mut Memory,
    ) -> Result<bool, LaunchError> {
        let (db, instance) = (self.db, checked.get());
        let tensors = || {
            bound.params.iter().filter_map(|param| match param {
                BoundParam::Tensor(tensor) => Some(tensor),
                BoundParam::Int(_) | BoundParam::Float(_) => None,
            })
        };
        let program = thread_program(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
        let at_home = |tensor: &BoundTensor| matches!(Content::of(tensor), (Content::Whole { .. }, _));
        if !program.log.is_empty() || !tensors().all(at_home) {
            for tensor in tensors() {
                self.bring_home(gpu, &tensor.tensor, memory)?;
            }
            return Ok(false);
        }
        let source = cuda_text(db, checked)?;
        let grid = grid_of(&source.launch, bound)?;
        if !grid.contains(&0) {
            let compiled = self.compile(&gpu.cuda, checked)?;
            let launch = self.resident(gpu, (source, &compiled, grid), bound, 0, memory)?;
            let cancelled = || self.stopped();
            let mut worker = gpu.cuda.worker();
            let ran =
                worker.run(gpu.info.ordinal, &[hx_worker::Step::Launch(launch)], &self.limits(&cancelled));
            ran.map_err(|e| self.worker_error(&e))?;
            tensors().filter(|tensor| tensor.mutable).for_each(|tensor| memory.wrote(&tensor.tensor));
        }
        Ok(true)
    }

    /// Runs a product once over the memory of its matrices, where the result stays. Returns false if the host's memory must be used.
    pub(super) fn multiply_at_home(
        &self,
        gpu: &Gpu,
        request: &GemmRequest,
        memory: &mut Memory,
    ) -> Result<bool, LaunchError> {
        if home(&request.c).is_none() {
            for tensor in [&request.a, &request.b, &request.c] {
                self.bring_home(gpu, tensor, memory)?;
            }
            return Ok(false);
        }
        let product = self.product(gpu, request, 0, memory)?;
        let cancelled = || self.stopped();
        let mut worker = gpu.cuda.worker();
        let ran = worker.run(gpu.info.ordinal, &[hx_worker::Step::Gemm(product)], &self.limits(&cancelled));
        ran.map_err(|e| self.worker_error(&e))?;
        memory.wrote(&request.c);
        Ok(true)
    }

    /// Brings a tensor to the host, if only the device has it.
    pub(super) fn bring_home(&self, gpu: &Gpu, tensor: &Tensor, memory: &Memory) -> Result<(), LaunchError> {
        if tensor.is_away() {
            let buffer = memory.of(tensor)?;
            tensor.bring(self.fetch(gpu, buffer, 0, buffer.bytes())?);
        }
        Ok(())
    }

    /// Returns the current memory of a view and the offset of the view in it. The first use allocates and fills it.
    ///
    /// `bytes` are those of the content if it is no whole buffer.
    pub(super) fn place(
        &self,
        gpu: &Gpu,
        tensor: &Tensor,
        (content, offset): (Content, u64),
        variant: usize,
        memory: &mut Memory,
        bytes: impl FnOnce() -> HostResult<Vec<u8>>,
    ) -> Result<(Buffer, u64), LaunchError> {
        if variant > 0 {
            let (first, _) = self.place(gpu, tensor, (content.clone(), offset), 0, memory, bytes)?;
            let copy = match memory.held.get(&(content.clone(), variant)) {
                Some(held) => held.buffer,
                None => {
                    let buffer = self.allocate(gpu, first.bytes())?;
                    let held = Held { buffer, version: STALE, life: Some(tensor.life()) };
                    memory.held.insert((content, variant), held);
                    self.copy(gpu, first, buffer)?;
                    buffer
                }
            };
            return Ok((copy, offset));
        }
        let key = (content, 0);
        if let Some(held) = memory.held.get(&key).filter(|held| held.version == tensor.version()) {
            return Ok((held.buffer, offset));
        }
        let is_whole = matches!(key.0, Content::Whole { .. });
        let recipe = tensor.recipe().filter(|_| is_whole);
        self.bring_home(gpu, tensor, memory)?;
        let bytes = match (&recipe, is_whole) {
            (Some(_), _) => None,
            (None, true) => Some(tensor.whole().span_bytes().map_err(LaunchError::call)?),
            (None, false) => Some(bytes().map_err(LaunchError::call)?),
        };
        let size = bytes.as_ref().map_or_else(|| bytes_of_whole(tensor), |bytes| bytes.len() as u64);
        let buffer = match memory.held.get(&key) {
            Some(held) => held.buffer,
            None => self.allocate(gpu, size)?,
        };
        let held = Held { buffer, version: tensor.version(), life: Some(tensor.life()) };
        memory.held.insert(key, held);
        match (recipe, bytes) {
            (Some(recipe), _) => self.make(gpu, &recipe, buffer, &mut memory.code)?,
            (None, bytes) => self.upload(gpu, buffer, &bytes.unwrap_or_default())?,
        }
        Ok((buffer, offset))
    }

    /// Returns memory without a tensor. The first use allocates it, and `fill` writes it.
    pub(super) fn other(
        &self,
        gpu: &Gpu,
        (content, variant): (Content, usize),
        bytes: u64,
        memory: &mut Memory,
        fill: impl FnOnce(Buffer) -> Result<(), LaunchError>,
    ) -> Result<Buffer, LaunchError> {
        let key = (content, variant);
        match memory.held.get(&key).map(|held| held.buffer) {
            Some(buffer) if buffer.bytes() == bytes => return Ok(buffer),
            Some(other) => self.free(gpu, other)?,
            None => {}
        }
        let buffer = self.allocate(gpu, bytes)?;
        memory.held.insert(key, Held { buffer, version: 0, life: None });
        fill(buffer)?;
        Ok(buffer)
    }

    /// After timed runs: gives the tensors that they wrote, by [`Tensor::buffer_id`], the contents from before, and frees what
    /// only the runs needed.
    pub(super) fn settle(
        &self,
        gpu: &Gpu,
        written: &BTreeMap<u64, Tensor>,
        memory: &mut Memory,
    ) -> Result<(), LaunchError> {
        let passing = |key: &(Content, usize)| match key {
            (Content::Whole { .. }, 0) => false,
            (Content::Whole { .. } | Content::Span { .. } | Content::Packed { .. }, _) => true,
            (Content::Scratch { .. } | Content::Log { .. } | Content::Clock, _) => true,
        };
        self.free_if(gpu, memory, |key, _| passing(key))?;
        for (id, tensor) in written {
            if tensor.is_away() {
                let kept = memory.latest.get(id).and_then(|number| memory.kept.get(number)).copied();
                let kept = kept.ok_or_else(|| internal("the results of a bench were not kept".to_owned()))?;
                self.copy(gpu, kept, memory.of(tensor)?)?;
            } else if let Some(held) = memory.held.get_mut(&(Content::Whole { buffer: *id }, 0)) {
                held.version = STALE;
            }
        }
        Ok(())
    }

    /// Keeps the contents of a tensor: on the device if only the device has them and it has room, otherwise on the host.
    pub(super) fn keep_on(
        &self,
        gpu: &Gpu,
        tensor: &Tensor,
        memory: &mut Memory,
    ) -> Result<Kept, LaunchError> {
        if tensor.is_away() {
            let from = memory.of(tensor)?;
            if let Ok(buffer) = self.allocate(gpu, from.bytes()) {
                let number = memory.next;
                memory.next += 1;
                memory.kept.insert(number, buffer);
                memory.latest.insert(tensor.buffer_id(), number);
                self.copy(gpu, from, buffer)?;
                return Ok(Kept::There(number));
            }
            // A failure that is not a lack of room shows again when the tensor is fetched.
            self.bring_home(gpu, tensor, memory)?;
        }
        Ok(Kept::Here(tensor.to_host()))
    }

    /// Replaces the contents of a tensor by kept ones.
    pub(super) fn put_back_on(
        &self,
        gpu: &Gpu,
        tensor: &Tensor,
        kept: &Kept,
        memory: &mut Memory,
    ) -> Result<(), LaunchError> {
        match kept {
            Kept::Here(host) => {
                self.bring_home(gpu, tensor, memory)?;
                tensor.write_packed(&host.data).map_err(LaunchError::call)
            }
            Kept::There(number) => {
                let from = memory.kept.get(number).copied();
                let from =
                    from.ok_or_else(|| internal(format!("no contents of number {number} are kept")))?;
                let to = memory.of(tensor)?;
                self.copy(gpu, from, to)?;
                memory.wrote(tensor);
                memory.latest.insert(tensor.buffer_id(), *number);
                Ok(())
            }
        }
    }

    /// Compares kept contents of a tensor, on the device if it has both.
    pub(super) fn difference_on(
        &self,
        gpu: &Gpu,
        tensor: &Tensor,
        (x, y): (&Kept, &Kept),
        memory: &mut Memory,
    ) -> Result<Difference, LaunchError> {
        let there = |kept: &Kept, memory: &Memory| match kept {
            Kept::There(number) => memory.kept.get(number).copied(),
            Kept::Here(_) => None,
        };
        if let (Some(x), Some(y)) = (there(x, memory), there(y, memory))
            && let Some(offset) = home(tensor).filter(|_| tensor.is_contiguous())
        {
            let (dtype, count) = (tensor.dtype(), tensor.len() as u64);
            let of = |buffer| Elements { buffer, offset, dtype, count };
            if let Some(found) = self.apart(gpu, of(x), of(y), &mut memory.code)? {
                return Ok(found);
            }
        }
        let host = |kept: &Kept| match kept {
            Kept::Here(host) => Ok(Tensor::from_host(host.clone())),
            Kept::There(_) => {
                let buffer =
                    there(kept, memory).ok_or_else(|| internal("kept contents are gone".to_owned()))?;
                let data = self.fetch(gpu, buffer, 0, buffer.bytes())?;
                let whole = HostTensor { dtype: tensor.dtype(), shape: vec![tensor.whole().len()], data };
                Ok(Tensor::from_host(whole).seen_as(tensor))
            }
        };
        difference(&host(x)?, &host(y)?).map_err(LaunchError::call)
    }

    /// Frees kept contents, and the memory of tensors that are gone.
    pub(super) fn forget_on(&self, gpu: &Gpu, memory: &mut Memory) -> Result<(), LaunchError> {
        memory.latest.clear();
        for buffer in std::mem::take(&mut memory.kept).into_values() {
            self.free(gpu, buffer)?;
        }
        self.free_if(gpu, memory, |_, held| held.life.as_ref().is_some_and(Life::is_over))
    }

    fn free_if(
        &self,
        gpu: &Gpu,
        memory: &mut Memory,
        goes: impl Fn(&(Content, usize), &Held) -> bool,
    ) -> Result<(), LaunchError> {
        let (gone, stays) =
            std::mem::take(&mut memory.held).into_iter().partition(|(key, held)| goes(key, held));
        memory.held = stays;
        let gone: BTreeMap<(Content, usize), Held> = gone;
        gone.into_values().try_for_each(|held| self.free(gpu, held.buffer))
    }

    /// Frees device memory. If the worker died, its memory is already free.
    pub(super) fn release(&self, gpu: &Gpu, memory: Memory) -> Result<(), LaunchError> {
        let held = memory.held.into_values().map(|held| held.buffer);
        held.chain(memory.kept.into_values()).try_for_each(|buffer| self.free(gpu, buffer))
    }

    pub(super) fn allocate(&self, gpu: &Gpu, bytes: u64) -> Result<Buffer, LaunchError> {
        let cancelled = || self.stopped();
        let allocated = gpu.cuda.worker().alloc(gpu.info.ordinal, bytes, &self.limits(&cancelled));
        allocated.map_err(|e| self.worker_error(&e))
    }

    pub(super) fn free(&self, gpu: &Gpu, buffer: Buffer) -> Result<(), LaunchError> {
        let cancelled = || self.stopped();
        gpu.cuda.worker().free(buffer, &self.limits(&cancelled)).map_err(|e| self.worker_error(&e))
    }

    pub(super) fn fetch(
        &self,
        gpu: &Gpu,
        buffer: Buffer,
        from: u64,
        bytes: u64,
    ) -> Result<Vec<u8>, LaunchError> {
        let cancelled = || self.stopped();
        let fetched = gpu.cuda.worker().download(buffer, from, bytes, &self.limits(&cancelled));
        fetched.map_err(|e| self.worker_error(&e))
    }

    fn upload(&self, gpu: &Gpu, buffer: Buffer, bytes: &[u8]) -> Result<(), LaunchError> {
        let cancelled = || self.stopped();
        gpu.cuda
            .worker()
            .upload(buffer, 0, bytes, &self.limits(&cancelled))
            .map_err(|e| self.worker_error(&e))
    }

    fn copy(&self, gpu: &Gpu, from: Buffer, to: Buffer) -> Result<(), LaunchError> {
        if from.bytes() == 0 {
            return Ok(());
        }
        let cancelled = || self.stopped();
        let copy = hx_worker::Step::Copy { from, to, bytes: from.bytes() };
        let copied = gpu.cuda.worker().run(gpu.info.ordinal, &[copy], &self.limits(&cancelled));
        copied.map_err(|e| self.worker_error(&e))
    }
}
