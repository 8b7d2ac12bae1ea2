//! A run of tuning on a GPU: compiles the candidates, checks their results, measures them, and keeps the times.

use std::collections::BTreeMap;

use hx_base::codes;
use hx_base::interrupt::Until;
use hx_hir::{Item, Kernel};
use hx_host::device::{GemmRequest, LaunchError, LaunchRequest, Step};
use hx_host::{HostError, HostResult, Tensor, Value};
use hx_launch::{Gpu, Launcher, Machine, Racetrack, Timing, text_hash};
use hx_worker::TimePlan;
use hx_workspace::{Database, TunedEntry};

use super::check::same_results;
use super::rounds::{Effort, Field, Measured, Measurer, ROUNDS, Raced, race};
use super::sample::Sample;
use super::store::{Key, Store};
use super::{Baseline, Entrant, Prepared, Progress, Row, ShapeResult, TuneError, TuneRequest, kernel_of};

/// The inputs of a tuning run on a GPU.
pub(super) struct Run<'r, 'db> {
    pub db: &'db Database,
    pub kernel: Kernel<'db>,
    pub machine: &'r Machine,
    pub gpu: &'r Gpu,
    pub prepared: &'r Prepared,
    pub request: &'r TuneRequest,
    pub until: Until<'r>,
    pub on_progress: &'r (dyn Fn(Progress) + Sync),
}

/// The entrants that have code, as works.
struct Works {
    /// The position of each work's entrant.
    entrants: Vec<usize>,
    names: Vec<String>,
    steps: Vec<Step>,
    anchor: usize,
    /// The reason for each entrant without code, by position.
    refused: BTreeMap<usize, String>,
}

/// Times works on the GPU. The last one is the baseline, if there is one.
struct OnGpu<'t, 'l, 'a> {
    track: &'t mut Racetrack<'l, 'a>,
    steps: Vec<Step>,
}

impl Measurer for OnGpu<'_, '_, '_> {
    fn time(&mut self, works: &[usize], effort: Effort) -> Result<Vec<Sample>, LaunchError> {
        let Effort { warmup_ms, repeats, budget_ms } = effort;
        let plan = TimePlan { warmup_ms, repeats, budget_ms, ..TimePlan::default() };
        let steps: Vec<Step> = works.iter().filter_map(|work| self.steps.get(*work).cloned()).collect();
        let times = self.track.time(&steps, plan)?;
        let sample = |times: hx_host::device::Times| Sample {
            median_us: times.median,
            low_us: times.low,
            high_us: times.high,
            runs: times.samples.len(),
        };
        Ok(times.into_iter().map(sample).collect())
    }
}

impl<'db> Run<'_, 'db> {
    /// Tunes one shape. `text` is the hash of the texts of the kernel and its members. Also returns a warning about results that could not be kept.
    pub(super) fn tuned(&self, text: &str) -> Result<(ShapeResult, Option<String>), TuneError> {
        let timing = Timing { rotate: self.request.rotate, ..Timing::default() };
        let launcher = Launcher::new(self.db, self.machine, self.until).timed(timing);
        let mut track = Racetrack::new(&launcher, self.gpu);
        let ran = self.on_track(text, &mut track);
        let closed = track.close();
        let result = ran?;
        closed?;
        Ok(result)
    }

    fn on_track(
        &self,
        text: &str,
        track: &mut Racetrack<'_, '_>,
    ) -> Result<(ShapeResult, Option<String>), TuneError> {
        let baseline = self.baseline()?;
        let works = self.compile(track, baseline.as_ref())?;
        self.check(track, &works)?;
        let mut store = self.store(text, &works)?;
        let mut steps = works.steps.clone();
        steps.extend(baseline.clone());
        let field = Field {
            names: &works.names,
            anchor: works.anchor,
            baseline: baseline.is_some().then_some(works.steps.len()),
            all: self.request.all,
        };
        let mut on_progress = |round, done, of| {
            (self.on_progress)(Progress::Measured { round, rounds: ROUNDS.len(), done, of });
        };
        let raced = race(&field, &mut OnGpu { track, steps }, &mut store, self.until.stop, &mut on_progress)?;
        Ok((self.result(&works, &raced), store.warning.clone()))
    }

    /// Returns the baseline's step; `None` if it is the defaults or there is none.
    fn baseline(&self) -> Result<Option<Step>, TuneError> {
        let args = &self.prepared.request.args;
        match &self.request.baseline {
            Baseline::None | Baseline::Defaults => Ok(None),
            Baseline::Cublas => Ok(Some(Step::Gemm(product(args.iter().map(|arg| &arg.value))?))),
            Baseline::Kernel(name) => {
                let kernel = Item::Kernel(kernel_of(self.db, self.kernel.file(self.db), name)?).key(self.db);
                let request = LaunchRequest { kernel, generics: Vec::new(), ..self.prepared.request.clone() };
                Ok(Some(Step::Launch(request)))
            }
        }
    }

    /// Compiles the entrants and the baseline at the same time.
    fn compile(&self, track: &Racetrack<'_, '_>, baseline: Option<&Step>) -> Result<Works, TuneError> {
        let entrants = &self.prepared.entrants;
        let mut requests: Vec<LaunchRequest> =
            entrants.iter().map(|entrant| self.prepared.launch(entrant)).collect();
        if let Some(Step::Launch(request)) = baseline {
            requests.push(request.clone());
        }
        let of = requests.len();
        let on_progress = |done| (self.on_progress)(Progress::Compiled { done, of });
        let mut compiled = track.compile(self.db, &requests, &on_progress).into_iter();
        let mut works = Works {
            entrants: Vec::new(),
            names: Vec::new(),
            steps: Vec::new(),
            anchor: 0,
            refused: BTreeMap::new(),
        };
        for (at, (entrant, request)) in entrants.iter().zip(&requests).enumerate() {
            match compiled.next() {
                Some(Err(error)) => {
                    let (error, found) = error.into_parts();
                    if error.code == &codes::TIME_LIMIT || hx_launch::is_environmental(error.code) {
                        return Err(LaunchError::call(error).into());
                    }
                    let reason = found.into_iter().next().map_or(error.message, |found| found.message);
                    works.refused.insert(at, reason);
                }
                _ => {
                    if at == self.prepared.anchor {
                        works.anchor = works.entrants.len();
                    }
                    works.entrants.push(at);
                    works.names.push(entrant.name.clone());
                    works.steps.push(Step::Launch(request.clone()));
                }
            }
        }
        if let Some(Err(error)) = compiled.next() {
            return Err(error.into());
        }
        if works.steps.is_empty() {
            let error = HostError::call("no candidate has code for this shape");
            let reasons =
                works.refused.iter().map(|(at, reason)| format!("{}: {reason}", entrants[*at].name));
            return Err(reasons.fold(error, HostError::note).into());
        }
        Ok(works)
    }

    /// Compares the results of every work with those of the anchor.
    fn check(&self, track: &mut Racetrack<'_, '_>, works: &Works) -> Result<(), TuneError> {
        let outputs: Vec<Tensor> = self
            .prepared
            .inputs
            .written
            .iter()
            .filter_map(|at| match self.prepared.inputs.args.get(*at).map(|arg| &arg.value) {
                Some(Value::Tensor(tensor)) => Some(tensor.clone()),
                _ => None,
            })
            .collect();
        let outputs: Vec<&Tensor> = outputs.iter().collect();
        let reference = track.outputs(&works.steps[works.anchor], &outputs)?;
        let mut wrong = Vec::new();
        for (at, step) in works.steps.iter().enumerate() {
            (self.on_progress)(Progress::Checked { done: at, of: works.steps.len() });
            if at == works.anchor {
                continue;
            }
            let found = track.outputs(step, &outputs)?;
            if let Err(error) = same_results(&found, &reference) {
                wrong.push((works.names[at].clone(), error));
            }
        }
        (self.on_progress)(Progress::Checked { done: works.steps.len(), of: works.steps.len() });
        if wrong.is_empty() { Ok(()) } else { Err(TuneError::Wrong(wrong)) }
    }

    fn store(&self, text: &str, works: &Works) -> Result<Store, TuneError> {
        let Some(cache) = &self.request.cache else { return Ok(Store::in_memory()) };
        let (major, minor) = self.gpu.driver;
        let key = Key {
            hx: self.request.hx.clone(),
            device: self.gpu.info.name.clone(),
            driver: format!("{major}.{minor}"),
            kernel: format!("{}::{}", self.kernel.file(self.db).path(self.db), self.kernel.name(self.db)),
            text: text.to_owned(),
            shape: self.prepared.shape_text(),
            anchor: works.names[works.anchor].clone(),
            baseline: self.request.baseline.name().to_owned(),
            memory: format!("cold, {} copies", self.request.rotate),
        };
        match Store::open(cache, &key, self.request.fresh) {
            Ok(store) => Ok(store),
            Err(reason) => Ok(Store::failing(reason)),
        }
    }

    /// Makes the table and the entry of the tuned file.
    fn result(&self, works: &Works, raced: &Raced) -> ShapeResult {
        let anchor_us = raced.measured.get(works.anchor).copied().flatten().map(|m| m.sample.median_us);
        let is_default =
            self.prepared.entrants.get(works.entrants[works.anchor]).is_some_and(|e| e.is_default);
        // The baseline is compared as a multiple of the anchor, so that times of several batches compare.
        let defaults = matches!(self.request.baseline, Baseline::Defaults) && is_default;
        let baseline_us = if defaults { anchor_us } else { raced.baseline };
        let baseline_of = |m: Measured| if defaults { Some(1.0) } else { m.baseline };
        let mut rows = Vec::new();
        for (at, entrant) in self.prepared.entrants.iter().enumerate() {
            let work = works.entrants.iter().position(|other| *other == at);
            let measured = work.and_then(|work| raced.measured.get(work).copied().flatten());
            rows.push(Row {
                sample: measured.map(|m| m.sample),
                relative: measured.map(|m| m.relative),
                ratio: measured.and_then(|m| Some(baseline_of(m)? / m.relative)),
                round: measured.map(|m| m.round + 1),
                stored: measured.is_some_and(|m| m.stored),
                refused: works.refused.get(&at).cloned(),
                chosen: work.is_some() && work == raced.chosen,
                ..Row::of(entrant)
            });
        }
        let chosen = raced.chosen.map(|work| works.entrants[work]);
        let entry = chosen.and_then(|at| self.entry(at, &rows[at]));
        // Rows of later rounds come first: candidates that were dropped early have less reliable times.
        let time = |row: &Row| (std::cmp::Reverse(row.round), row.relative.unwrap_or(f64::INFINITY));
        rows.sort_by(|a, b| {
            let ((ra, ta), (rb, tb)) = (time(a), time(b));
            b.chosen.cmp(&a.chosen).then(ra.cmp(&rb)).then(ta.total_cmp(&tb))
        });
        ShapeResult {
            kernel: self.kernel.name(self.db).to_string(),
            shape: self.prepared.shape_text(),
            device: self.gpu.info.name.clone(),
            summary: self.prepared.space.summary.clone(),
            baseline: self.request.baseline.name().to_owned(),
            baseline_us,
            flops: self.flops(),
            bytes: self.prepared.inputs.bytes(),
            rows,
            stopped: raced.stopped,
            entry,
        }
    }

    fn entry(&self, at: usize, row: &Row) -> Option<TunedEntry> {
        let sample = row.sample?;
        let Entrant { arguments, member, .. } = self.prepared.entrants.get(at)?;
        let runs = match member.as_ref().and_then(|key| key.find(self.db)) {
            Some(Item::Kernel(member)) => member,
            _ => self.kernel,
        };
        let rounded = |x: f64| (x * 1e3).round() / 1e3;
        Some(TunedEntry {
            // The caller knows the file's folder, and adds the path.
            kernel: self.kernel.name(self.db).to_string(),
            member: member.as_ref().map(|key| key.name.to_string()),
            text: text_hash(self.db, runs),
            device: self.gpu.info.name.clone(),
            target: self.machine.target().name().to_owned(),
            shape: self.prepared.shape.clone(),
            arguments: arguments.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
            median_us: rounded(sample.median_us),
            ratio: row.ratio.map(rounded),
            baseline: row.ratio.map(|_| self.request.baseline.name().to_owned()),
            hx: self.request.hx.clone(),
            file: None,
            range: hx_base::TextRange::default(),
        })
    }

    /// Returns the floating-point operations of a launch whose arguments are those of a product, see [`product`]; `None` for
    /// any other launch.
    fn flops(&self) -> Option<f64> {
        let tensors = self.prepared.inputs.args.iter().map(|arg| &arg.value);
        product(tensors).ok().map(|product| product.flops())
    }
}

/// Returns the matrix product that has the same arguments: `c[m, n] = a[m, k] · b`, where `b` is `[k, n]` or `[n, k]`, or a
/// batch of such products. Fails if there is none.
fn product<'v>(values: impl Iterator<Item = &'v Value>) -> HostResult<GemmRequest> {
    let tensors: Vec<&Tensor> = values
        .filter_map(|value| match value {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        })
        .collect();
    let unlike = || {
        HostError::call(
            "`cublas::gemm` is not a baseline here: the arguments are not `a`, `b` and `c` of a product",
        )
    };
    let &[a, b, c] = tensors.as_slice() else { return Err(unlike()) };
    let ([.., k], [batch @ .., _, n]) = (a.shape(), c.shape()) else { return Err(unlike()) };
    // `b[n, k]` is preferred where both fit, as the library's kernels and `std` have it.
    let turned = b.shape() == [batch, &[*n, *k]].concat();
    let b = if turned { b.transposed()? } else { b.clone() };
    GemmRequest::new(a.clone(), b, c.clone()).map_err(|_| unlike())
}
