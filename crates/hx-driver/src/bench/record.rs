//! Results of benches in files, and the changes since an earlier file was written.

use std::collections::BTreeMap;
use std::path::Path;

use hx_base::codes;
use hx_host::bench::{Compared, Group, Work};
use hx_host::{HostError, HostResult};
use serde::{Deserialize, Serialize};

use hx_launch::Machine;

/// Version of the file format: raised by every incompatible change.
const FORMAT: u32 = 1;

/// Peak rates of a machine, as its user states them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Roofs {
    /// Floating-point operations a second.
    pub flops: Option<f64>,
    /// Bytes a second.
    pub bytes: Option<f64>,
}

impl Roofs {
    /// Returns the larger of the two shares of a stated peak that a work reaches; 1.0 is the peak. `None` if no peak is stated
    /// for a rate that the work has.
    fn share(&self, work: &Work) -> Option<f64> {
        let of = |rate: Option<f64>, roof: Option<f64>| Some(rate? / roof.filter(|r| *r > 0.0)?);
        let shares = [of(work.flops_per_second(), self.flops), of(work.bytes_per_second(), self.bytes)];
        shares.into_iter().flatten().reduce(f64::max)
    }
}

/// The results of one run of `hx bench`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchFile {
    format: u32,
    /// Version of the toolchain.
    pub hx: String,
    /// The device's name.
    pub device: String,
    /// The architecture that kernels were compiled for.
    pub target: String,
    /// Whether the L2 cache was emptied before each run.
    pub cold_l2: bool,
    pub benches: Vec<BenchRecord>,
}

/// A bench, or one case of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchRecord {
    /// `path::title[case]`.
    pub name: String,
    pub groups: Vec<GroupRecord>,
}

/// Works that were timed in turns.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupRecord {
    pub measures: Vec<WorkRecord>,
    pub baselines: Vec<WorkRecord>,
    pub missing: Vec<MissingRecord>,
}

/// A baseline that the machine could not run, or a candidate that did not launch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MissingRecord {
    pub label: String,
    pub reason: String,
}

/// A timed work. Times are in microseconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkRecord {
    pub label: String,
    /// The candidate of its kernels that the work runs; `None` for the one that the compiler chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<u32>,
    pub median_us: Option<f64>,
    /// Quantile 0.2 of the samples.
    pub low_us: Option<f64>,
    /// Quantile 0.8 of the samples.
    pub high_us: Option<f64>,
    pub samples_us: Vec<f64>,
    /// The median in cycles, if the clock was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<f64>,
    /// The cycles by the cost model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_cycles: Option<f64>,
    /// Floating-point operations of one run.
    pub flops: Option<f64>,
    /// Bytes that one run reads and writes.
    pub bytes: Option<f64>,
    /// 10¹² floating-point operations a second.
    pub tflops: Option<f64>,
    /// 10⁹ bytes a second.
    pub gbs: Option<f64>,
    /// The share of the stated peak that the work reaches.
    pub roof_share: Option<f64>,
    /// The speed against a read or a copy of the same size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryRecord>,
    /// The speed against the peak of the instruction that its products use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<PeakRecord>,
    /// Comparisons of a measured work with the baselines, in their order; of a candidate with the compiler's choice.
    pub against: Vec<AgainstRecord>,
}

/// The speed of a work against a read or a copy of as many bytes, timed in turns with it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryRecord {
    /// `read` or `copy`.
    pub of: String,
    /// The bytes that the read or copy moves: a copy reads and writes each of its bytes.
    pub bytes: f64,
    pub median_us: f64,
    /// The time of the read or copy divided by that of the work.
    pub share: f64,
}

/// The speed of a work against the peak of an instruction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PeakRecord {
    pub instruction: String,
    /// The operations of the instruction in a cycle of a multiprocessor, by its issue cycles in the catalogue.
    pub per_cycle: f64,
    pub multiprocessors: u32,
    /// The clock that the driver states, in GHz.
    pub clock_ghz: f64,
    /// 10¹² operations a second of the device: the product of the three.
    pub tflops: f64,
    /// The operations of the work in a second divided by the peak.
    pub share: f64,
}

/// Comparison of a measured work with another work.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AgainstRecord {
    pub baseline: String,
    /// Speed of the measured work divided by the baseline's.
    pub ratio: Option<f64>,
    /// `time` or `bandwidth`.
    pub by: String,
    /// The largest absolute difference of the results; `None` if it is infinite or the results were not compared.
    pub max_difference: Option<f64>,
    /// The largest difference in units of the last place of the result's type; `None` like `max_difference`.
    pub max_ulps: Option<f64>,
    /// Whether both works wrote the same tensors, so that their results were compared.
    pub compared: bool,
}

impl WorkRecord {
    /// Returns the label, followed by the candidate's number unless the work runs the compiler's choice.
    pub fn name(&self) -> String {
        match self.candidate {
            Some(candidate) => format!("{}, candidate {candidate}", self.label),
            None => self.label.clone(),
        }
    }
}

impl BenchFile {
    /// Returns a file without results.
    pub fn new(version: &str, machine: &Machine, cold_l2: bool) -> BenchFile {
        let device = match machine {
            Machine::Gpu(gpu) => gpu.info.name.clone(),
            other => other.flag(),
        };
        let target = machine.target().name().to_owned();
        BenchFile { format: FORMAT, hx: version.to_owned(), device, target, cold_l2, benches: Vec::new() }
    }

    /// Adds the results of a bench, and returns them.
    pub fn add(&mut self, name: &str, groups: &[Group], roofs: &Roofs) -> BenchRecord {
        let groups = groups.iter().map(|g| group_record(g, roofs)).collect();
        let record = BenchRecord { name: name.to_owned(), groups };
        self.benches.push(record.clone());
        record
    }

    /// Returns the file as JSON.
    ///
    /// # Errors
    /// Never for results of benches, whose numbers are finite.
    pub fn to_json(&self) -> HostResult<String> {
        let text = serde_json::to_string_pretty(self);
        text.map(|t| t + "\n").map_err(|e| HostError::new(&codes::INTERNAL_ERROR, e.to_string()))
    }

    /// Reads a file that an earlier run wrote.
    ///
    /// # Errors
    /// If the file does not exist or does not have this format.
    pub fn load(path: &Path) -> HostResult<BenchFile> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|e| {
            let code = if e.kind() == std::io::ErrorKind::NotFound {
                &codes::FILE_NOT_FOUND
            } else {
                &codes::IO_ERROR
            };
            HostError::new(code, format!("cannot read `{shown}`: {e}"))
        })?;
        let malformed = |reason: String| {
            HostError::new(&codes::IO_ERROR, format!("`{shown}` holds no results of `hx bench`: {reason}"))
        };
        let file: BenchFile = serde_json::from_str(&text).map_err(|e| malformed(e.to_string()))?;
        if file.format != FORMAT {
            return Err(malformed(format!("its format is {}, this version reads {FORMAT}", file.format)));
        }
        Ok(file)
    }
}

fn group_record(group: &Group, roofs: &Roofs) -> GroupRecord {
    let measure = |(at, work): (usize, &Work)| {
        let against = group.comparisons(at).into_iter().map(|c| AgainstRecord {
            baseline: c.other.label.clone(),
            ratio: c.ratio,
            by: match c.compared {
                Compared::Time => "time",
                Compared::Bandwidth => "bandwidth",
            }
            .to_owned(),
            // JSON has no infinity: an infinite difference is left out.
            max_difference: c.difference.map(|d| d.absolute).filter(|d| d.is_finite()),
            max_ulps: c.difference.map(|d| d.ulps).filter(|d| d.is_finite()),
            compared: c.difference.is_some(),
        });
        WorkRecord { against: against.collect(), ..work_record(group, work, roofs) }
    };
    GroupRecord {
        measures: group.measures.iter().enumerate().map(measure).collect(),
        baselines: group.baselines.iter().map(|work| work_record(group, work, roofs)).collect(),
        missing: group
            .missing
            .iter()
            .map(|(label, error)| MissingRecord { label: label.clone(), reason: error.message.clone() })
            .collect(),
    }
}

fn work_record(group: &Group, work: &Work, roofs: &Roofs) -> WorkRecord {
    let times = work.times.as_ref();
    let memory = group.memory_share(work).and_then(|memory| {
        let (bytes, times) = (memory.of.bytes?, memory.of.times.as_ref()?);
        Some(MemoryRecord {
            of: memory.of.label.clone(),
            bytes,
            median_us: times.median,
            share: memory.share,
        })
    });
    let peak = times.and_then(|times| times.peak.as_ref()).zip(work.flops_per_second());
    let peak = peak.map(|(peak, flops)| PeakRecord {
        instruction: peak.instruction.clone(),
        per_cycle: peak.per_cycle,
        multiprocessors: peak.multiprocessors,
        clock_ghz: peak.clock,
        tflops: peak.per_second() * 1e-12,
        share: flops / peak.per_second(),
    });
    WorkRecord {
        label: work.label.clone(),
        candidate: work.candidate,
        median_us: times.map(|t| t.median),
        low_us: times.map(|t| t.low),
        high_us: times.map(|t| t.high),
        samples_us: times.map(|t| t.samples.clone()).unwrap_or_default(),
        cycles: times.and_then(|t| t.cycles).map(|cycles| cycles.measured),
        estimated_cycles: times.and_then(|t| t.cycles?.estimated),
        flops: work.flops,
        bytes: work.bytes,
        tflops: work.flops_per_second().map(|f| f * 1e-12),
        gbs: work.bytes_per_second().map(|b| b * 1e-9),
        roof_share: roofs.share(work),
        memory,
        peak,
        against: Vec::new(),
    }
}

/// Whether the medians of two runs differ significantly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Faster,
    Slower,
    /// The middle samples (quantiles 0.2 to 0.8) of both runs overlap.
    Same,
}

/// A work that occurs in two files.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// Name of the bench.
    pub name: String,
    pub label: String,
    /// Medians in microseconds.
    pub before: f64,
    pub after: f64,
    pub verdict: Verdict,
}

/// Compares the measured works that occur in both files, in the order of the later file.
pub fn changes(before: &BenchFile, after: &BenchFile) -> Vec<Change> {
    let old: BTreeMap<_, _> = measures(before).collect();
    let mut out = Vec::new();
    for (key, new) in measures(after) {
        let Some(old) = old.get(&key) else { continue };
        let (Some(was), Some(is)) = (Span::of(old), Span::of(new)) else { continue };
        let verdict = if is.high < was.low {
            Verdict::Faster
        } else if is.low > was.high {
            Verdict::Slower
        } else {
            Verdict::Same
        };
        let (name, label) = (key.bench.to_owned(), new.name());
        out.push(Change { name, label, before: was.median, after: is.median, verdict });
    }
    out
}

/// The middle samples of a work: quantiles 0.2, 0.5 and 0.8.
struct Span {
    low: f64,
    median: f64,
    high: f64,
}

impl Span {
    fn of(work: &WorkRecord) -> Option<Span> {
        Some(Span { low: work.low_us?, median: work.median_us?, high: work.high_us? })
    }
}

/// Identifies a work in a file. `nth` counts the works of a bench that have the same label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    bench: &'a str,
    label: &'a str,
    candidate: Option<u32>,
    nth: usize,
}

fn measures(file: &BenchFile) -> impl Iterator<Item = (Key<'_>, &WorkRecord)> {
    file.benches.iter().flat_map(|bench| {
        let mut seen: BTreeMap<_, usize> = BTreeMap::new();
        bench.groups.iter().flat_map(|group| &group.measures).map(move |work| {
            let count = seen.entry((&work.label, work.candidate)).or_default();
            *count += 1;
            (Key { bench: &bench.name, label: &work.label, candidate: work.candidate, nth: *count }, work)
        })
    })
}
