//! Makes the elements of tensors in the memory of a GPU, and compares tensors there.
//!
//! The kernels are CUDA text of this project (`data.cu`), which the worker compiles like any other. They make the bits that the host
//! makes from the same recipe ([`hx_host::recipe`]), because every operation of both is rounded correctly. A recipe that the kernels do
//! not know is made on the host and copied.

use hx_dtype::{Class, DType};
use hx_host::compare::Difference;
use hx_host::device::LaunchError;
use hx_host::random::largest_below;
use hx_host::recipe::{Draw, Each, Recipe};
use hx_worker::{Arg, Buffer, CompileJob, Compiled, Launch, Step};

use super::Launcher;
use super::internal;
use crate::machine::{Cuda, Gpu, Machine};

/// The CUDA text of the kernels.
pub const DATA_TEXT: &str = include_str!("data.cu");
/// The name of the text in the messages of the compiler.
const NAME: &str = "data";
/// The kernels of the text. Each of these constants has the value of the constant of that name in the text.
const THREADS: u32 = 256;
const STEPS: usize = 6;
const DIGITS: usize = 12;
const WORDS: usize = 9 + 3 * STEPS + 3 * DIGITS;
/// The candidates of the polar method that one thread block draws: a thread has those of one block of the stream.
const CANDIDATES: u64 = 4 * THREADS as u64;
/// The most thread blocks of a kernel whose threads take several elements.
const BLOCKS: u64 = 2048;
/// The bytes of a pattern that fills memory, at least.
const FILL_BYTES: usize = 4096;

/// Returns the word that describes a type to the kernels.
fn type_word(dtype: DType) -> u64 {
    let bits = u64::from(dtype.bits()) << 8;
    match (dtype.class(), dtype.float()) {
        (Class::Bool, _) => bits,
        (Class::Int, _) if dtype.is_signed_int() => bits | 2,
        (Class::Int, _) => bits | 1,
        (Class::Float, Some(format)) => {
            3 | bits
                | u64::from(format.exponent) << 16
                | u64::from(format.mantissa) << 24
                | u64::from(format.unused) << 32
                | u64::from(format.infinities) << 40
                | u64::from(format.saturates) << 41
                | u64::from(format.nans) << 42
                | u64::from(format.is_scale) << 43
        }
        // Each float type has a format.
        (Class::Float, None) => bits,
    }
}

/// Returns the plan of a recipe for the kernels; `None` if they do not know it.
pub(super) fn plan_words(recipe: &Recipe) -> Option<[u64; WORDS]> {
    let mut words = [0; WORDS];
    let places = recipe.places();
    let (seed, low, high, most) = match recipe.draw() {
        Draw::Repeated { .. } => return None,
        // A thread of a normal draw has an element and needs its place; the digits map the other way. Two threads may not write one byte.
        Draw::Normal { .. } if places.is_some() || recipe.dtype().bits() < 8 => return None,
        Draw::Normal { seed, .. } => (seed, 0.0, 0.0, 0.0),
        Draw::Uniform { dtype, low, high, seed } => (seed, *low, *high, largest_below(*dtype, *high)),
    };
    let (steps, places) = (recipe.steps(), places.unwrap_or_default());
    if steps.len() > STEPS || places.len() > DIGITS {
        return None;
    }
    let head = [
        recipe.len() as u64,
        seed.seed,
        seed.stream,
        type_word(recipe.draw().dtype()),
        low.to_bits(),
        high.to_bits(),
        most.to_bits(),
        steps.len() as u64,
        places.len() as u64,
    ];
    let steps = steps.iter().flat_map(|step| match step {
        Each::Scale(factor) => [0, type_word(step.dtype()), factor.to_bits()],
        Each::Floor => [1, type_word(step.dtype()), 0],
        Each::Convert(dtype) => [2, type_word(*dtype), 0],
    });
    let digits = places.iter().flat_map(|digit| [digit.div, digit.count, digit.times]);
    words.iter_mut().zip(head.into_iter().chain(steps)).for_each(|(word, value)| *word = value);
    words[head.len() + 3 * STEPS..].iter_mut().zip(digits).for_each(|(word, value)| *word = value);
    Some(words)
}

fn value(words: &[u64]) -> Arg<'static> {
    Arg::Value(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

fn at(buffer: Buffer) -> Arg<'static> {
    Arg::Resident { buffer, offset: 0 }
}

/// Returns the numbers of a download.
fn floats(bytes: &[u8]) -> Vec<f64> {
    let words = bytes.chunks_exact(8).map(|chunk| chunk.try_into().map_or(0, u64::from_le_bytes));
    words.map(f64::from_bits).collect()
}

/// A part of an allocation: elements of one type from an offset in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements {
    pub buffer: Buffer,
    pub offset: u64,
    pub dtype: DType,
    pub count: u64,
}

impl Elements {
    fn arg(&self) -> Arg<'static> {
        Arg::Resident { buffer: self.buffer, offset: self.offset }
    }
}

impl Launcher<'_> {
    /// Makes the elements of a recipe in an allocation of their size. `code` is that of the kernels, once it was needed.
    ///
    /// # Errors
    /// If the kernels cannot be compiled, or the worker fails.
    pub(super) fn make(
        &self,
        gpu: &Gpu,
        recipe: &Recipe,
        buffer: Buffer,
        code: &mut Option<Compiled>,
    ) -> Result<(), LaunchError> {
        let cancelled = || self.stopped();
        let limits = self.limits(&cancelled);
        if recipe.is_empty() {
            return Ok(());
        }
        if let Draw::Repeated { unit, .. } = recipe.draw() {
            let pattern = unit.repeat(FILL_BYTES.div_ceil(unit.len().max(1)));
            return gpu.cuda.worker().fill(buffer, &pattern, &limits).map_err(|e| self.worker_error(&e));
        }
        let Some(plan) = plan_words(recipe) else {
            let bytes = recipe.bytes();
            let mut worker = gpu.cuda.worker();
            return worker.upload(buffer, 0, &bytes, &limits).map_err(|e| self.worker_error(&e));
        };
        match recipe.draw() {
            Draw::Normal { .. } => self.make_normal(gpu, recipe.len() as u64, &plan, buffer, code),
            Draw::Uniform { .. } | Draw::Repeated { .. } => {
                let each = (8 / u64::from(recipe.dtype().bits())).max(1);
                let blocks = (recipe.len() as u64).div_ceil(each).div_ceil(u64::from(THREADS));
                let args = vec![at(buffer), value(&plan)];
                // A thread that makes one element has little to do besides: each block of the stream is made again for it.
                self.run_data(gpu, code, "make_uniform", blocks.min(1 << 20), args)
            }
        }
    }

    /// Makes normal numbers. The place of a number depends on how many candidates before it were accepted, so these are counted first.
    fn make_normal(
        &self,
        gpu: &Gpu,
        count: u64,
        plan: &[u64],
        buffer: Buffer,
        code: &mut Option<Compiled>,
    ) -> Result<(), LaunchError> {
        let pairs = count.div_ceil(2);
        // A point of the square lies in the disc with probability π/4. With the margin, a second attempt is hardly ever needed.
        let likely = pairs as f64 / std::f64::consts::FRAC_PI_4;
        let mut blocks = ((likely + 8.0 * likely.sqrt()) as u64 + 1).div_ceil(CANDIDATES);
        loop {
            let counts = self.allocate(gpu, 8 * (blocks + 1))?;
            let attempt = self.attempt_normal(gpu, (blocks, pairs), plan, (counts, buffer), code);
            self.free(gpu, counts)?;
            if attempt? {
                return Ok(());
            }
            blocks += blocks / 16 + 1;
        }
    }

    /// Makes normal numbers from the candidates of `blocks` thread blocks. Returns false if too few of them were accepted.
    fn attempt_normal(
        &self,
        gpu: &Gpu,
        (blocks, pairs): (u64, u64),
        plan: &[u64],
        (counts, buffer): (Buffer, Buffer),
        code: &mut Option<Compiled>,
    ) -> Result<bool, LaunchError> {
        self.run_data(gpu, code, "count_normal", blocks, vec![at(counts), value(plan)])?;
        self.run_data(gpu, code, "sum_counts", 1, vec![at(counts), value(&[blocks])])?;
        let total = self.fetch(gpu, counts, 8 * blocks, 8)?;
        let total = total.try_into().map_or(0, u64::from_le_bytes);
        if total < pairs {
            return Ok(false);
        }
        let args = vec![at(buffer), at(counts), value(plan)];
        self.run_data(gpu, code, "make_normal", blocks, args).map(|()| true)
    }

    /// Returns the largest difference of `x` from `y`, which have the same type and number of elements. `None` if the host has to
    /// compare them: their integers need more than the 53 bits of an `f64`, or `y` has elements that nothing wrote, which the host
    /// reports.
    ///
    /// # Errors
    /// If the kernels cannot be compiled, or the worker fails.
    pub(super) fn apart(
        &self,
        gpu: &Gpu,
        x: Elements,
        y: Elements,
        code: &mut Option<Compiled>,
    ) -> Result<Option<Difference>, LaunchError> {
        let Elements { dtype, count, .. } = y;
        if count == 0 || (dtype.class() != Class::Float && dtype.bits() > 32) {
            return Ok(None);
        }
        let blocks = count.div_ceil(u64::from(THREADS)).min(BLOCKS);
        let sums = self.allocate(gpu, 3 * 8 * blocks)?;
        let found = self.apart_by(gpu, (x, y), (blocks, sums), code);
        self.free(gpu, sums)?;
        found
    }

    fn apart_by(
        &self,
        gpu: &Gpu,
        (x, y): (Elements, Elements),
        (blocks, sums): (u64, Buffer),
        code: &mut Option<Compiled>,
    ) -> Result<Option<Difference>, LaunchError> {
        let Elements { dtype, count, .. } = y;
        let ty = type_word(dtype);
        let poison = hx_host::tensor::poison_bits(dtype);
        let larger = |of: &[f64], each: usize, at: usize| {
            of.chunks_exact(each).map(|chunk| chunk[at]).fold(0.0, f64::max)
        };
        let numbers =
            |gpu, each: u64| self.fetch(gpu, sums, 0, 8 * each * blocks).map(|bytes| floats(&bytes));
        // Types below 8 bits have no pattern of memory never written.
        let args =
            vec![y.arg(), at(sums), value(&[ty]), value(&[count]), value(&[poison.unwrap_or(u64::MAX)])];
        self.run_data(gpu, code, "survey", blocks, args)?;
        let surveyed = numbers(gpu, 3)?;
        let (scale, any) = (larger(&surveyed, 3, 0), larger(&surveyed, 3, 1) > 0.0);
        let all = larger(&surveyed, 3, 2) == 0.0;
        if any && poison.is_some() && (dtype.class() == Class::Float || all) {
            return Ok(None);
        }
        let args = vec![y.arg(), at(sums), value(&[ty]), value(&[count]), value(&[scale.to_bits()])];
        self.run_data(gpu, code, "squares", blocks, args)?;
        let squares = numbers(gpu, 2)?;
        let sum = |at: usize| squares.chunks_exact(2).map(|chunk| chunk[at]).sum::<f64>();
        let rms = if sum(1) == 0.0 { 0.0 } else { scale * (sum(0) / sum(1)).sqrt() };
        let args = vec![x.arg(), y.arg(), at(sums), value(&[ty]), value(&[count]), value(&[rms.to_bits()])];
        self.run_data(gpu, code, "differences", blocks, args)?;
        let found = numbers(gpu, 2)?;
        Ok(Some(Difference { absolute: larger(&found, 2, 0), ulps: larger(&found, 2, 1) }))
    }

    /// Compiles the kernels that make and compare tensors into the cache, if the machine has a CUDA compiler.
    ///
    /// # Errors
    /// If the compiler is absent or refuses the text.
    pub fn compile_data(&self) -> Result<(), LaunchError> {
        match self.machine {
            Machine::Gpu(gpu) => self.data_code(&gpu.cuda).map(drop),
            Machine::CompileOnly(cuda) => self.data_code(cuda).map(drop),
            Machine::Simulator { .. } | Machine::TextOnly(_) => Ok(()),
        }
    }

    fn data_code(&self, cuda: &Cuda) -> Result<Compiled, LaunchError> {
        let job = CompileJob::of_kernel(DATA_TEXT, NAME, self.target.name());
        self.compile_job(cuda, &CompileJob { want: cuda.want, ..job })
    }

    fn run_data(
        &self,
        gpu: &Gpu,
        code: &mut Option<Compiled>,
        symbol: &str,
        blocks: u64,
        args: Vec<Arg<'_>>,
    ) -> Result<(), LaunchError> {
        let blocks = u32::try_from(blocks).map_err(|_| internal(format!("{blocks} blocks of `{symbol}`")))?;
        let code = match code {
            Some(code) => code,
            None => code.insert(self.data_code(&gpu.cuda)?),
        };
        let launch = Launch {
            device: gpu.info.ordinal,
            cubin: &code.code,
            symbol,
            grid: [blocks, 1, 1],
            cluster: [1, 1, 1],
            threads: THREADS,
            shared_bytes: 0,
            waits_for_previous: false,
            args,
        };
        let cancelled = || self.stopped();
        let ran = gpu.cuda.worker().run(gpu.info.ordinal, &[Step::Launch(launch)], &self.limits(&cancelled));
        ran.map_err(|e| self.worker_error(&e))
    }
}

#[cfg(test)]
mod tests;
