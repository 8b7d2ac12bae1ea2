//! Costs of a device besides those of its instructions: the files of `costs/`, one a device.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::{Named, builtin_rows};

/// The numbers of a device. The files of `costs/` say how each was obtained. Numbers without another unit are in cycles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// The name of the device, as its driver says it: `NVIDIA H200`.
    pub device: String,
    /// The names of other devices that have these numbers.
    #[serde(default)]
    pub also: Vec<String>,
    /// The compute capability of the device: `[major, minor]`.
    pub capability: [u32; 2],
    pub basis: Basis,
    /// The number of multiprocessors that code for no particular device assumes.
    pub multiprocessors: u32,
    /// The number of clusters of blocks that run at once if each block has a multiprocessor to itself, by the blocks of a cluster, where
    /// the groups of multiprocessors are no multiples of it.
    #[serde(default)]
    pub clusters: BTreeMap<String, u32>,
    /// A barrier of the block: the part that does not depend on the number of warps.
    pub barrier: f64,
    /// A barrier of the block: the part for each warp.
    pub barrier_warp: f64,
    /// The delay by an exchange through shared memory if a multiprocessor holds only one block, so that no other work
    /// overlaps with it.
    pub drain: f64,
    /// From the store of a partial result to shared memory until other warps have it: the part that does not depend on the
    /// results.
    pub meeting: f64,
    /// From the store of a partial result until other warps have it: the part for each result.
    pub meeting_value: f64,
    /// The cycles for each line of shared memory after the first that a phase of an asynchronous copy writes to.
    pub further_line: f64,
    /// Bytes that a multiprocessor moves from and to the L2 cache in a cycle.
    pub global_bytes: f64,
    /// The cycles, beyond those of its bytes, for each sector of which an instruction that stores writes a part; 0 where it was not
    /// measured.
    #[serde(default)]
    pub partial_sector: f64,
    /// Bytes that all multiprocessors together move from and to DRAM in a cycle.
    pub dram_bytes: f64,
    /// The traffic of stores by boxes with narrow rows. Files of earlier versions lack it and the other numbers with a default.
    #[serde(default)]
    pub box_rows: BoxRows,
    /// Billions of cycles a second while the matrix units have little to do.
    pub clock: f64,
    /// Billions of cycles a second while products keep all matrix units busy, where their power lowers the clock; `None` where it is
    /// not known to.
    #[serde(default)]
    pub product_clock: Option<f64>,
    /// Bytes that bulk copies bring to a multiprocessor in a cycle while those of all multiprocessors do.
    pub box_bytes: f64,
    /// The delay of a bulk copy beyond that of a load.
    pub box_latency: f64,
    /// From the release of a stage until its next tiles arrive, beyond the cycles that their bytes take, while all multiprocessors
    /// copy and multiply.
    pub ring_latency: f64,
    /// The latency that DRAM adds to `ring_latency` where it is busy for the whole time of a launch; in proportion where it is busy for less.
    #[serde(default)]
    pub dram_latency: f64,
    /// The latency that DRAM adds in a kernel with clusters, besides `dram_latency` and in the same proportion.
    #[serde(default)]
    pub cluster_latency: f64,
    /// The cycles by which a launch of a kernel with roles takes longer than one of a kernel without.
    #[serde(default)]
    pub role_start: f64,
    /// The cycles in which one thread issues a bulk copy.
    pub box_issue: f64,
    /// From the end of the last product of a group by descriptor until a wait for it returns.
    pub product_latency: f64,
    /// The least cycles of a product by descriptor.
    pub product_least: f64,
    /// A wait for a stage that is complete, or an acquisition of one that is free.
    pub stage_wait: f64,
    /// An arrival at the barrier of a stage: a release, or the expectation of bytes.
    pub stage_arrive: f64,
    /// A barrier of the blocks of a cluster.
    pub cluster_barrier: f64,
    /// A sum over the blocks of a cluster, besides a barrier and the wavefronts of what is sent.
    #[serde(default)]
    pub cluster_sum: f64,
    /// From the end of a group's turn until the next group goes on.
    pub hand_over: f64,
    /// Registers of a thread of a role besides its tensors: addresses, counters, phases.
    pub role_registers: i64,
    /// Registers of a thread of a kernel without roles besides its tensors: addresses, counters, operands in flight.
    pub other_registers: i64,
    /// The issue slot of an access to shared memory, in addition to its wavefronts.
    pub issue_slot: f64,

    /// Instructions that compute the address and the condition of an access to global memory that is narrower than a vector.
    #[serde(default)]
    pub address_issue: f64,

    /// Cycles from one such access of a warp to its next one, if the thread has few registers, as one that copies tiles for others: each
    /// address is computed behind the one before.
    #[serde(default)]
    pub address_latency: f64,
    /// An instruction that puts a part into a register or takes it out: a permutation of bytes, a shift, a mask.
    pub part_issue: f64,
    /// The cycles by which each phase of a matrix instruction after the first delays its result.
    pub phase_latency: f64,
    /// An operator on elements that are converted to f32 and back.
    pub converted_issue: f64,
    /// The number of threads of a multiprocessor that hide the latency of global memory if nothing else is computed
    /// meanwhile.
    pub memory_bound_threads: u32,
    /// The number of 32-bit words of a thread's largest tensor up to which `memory_bound_threads` threads do not spill.
    pub memory_bound_words: i64,
    /// The cycles for which products keep the matrix units of a quarter of the multiprocessor, by the name of the row, where they
    /// differ from those of the catalogue.
    #[serde(default)]
    pub issue: BTreeMap<String, f64>,
}

impl Costs {
    /// Returns the number of multiprocessors that clusters of `blocks` blocks fill.
    pub fn multiprocessors_of_clusters(&self, blocks: u32) -> u32 {
        let blocks = blocks.max(1);
        self.clusters.get(&blocks.to_string()).copied().unwrap_or(self.multiprocessors / blocks) * blocks
    }
}

/// The time that DRAM takes for what boxes with narrow rows store, as a multiple of the time for whole lines of 128 bytes.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoxRows {
    /// Rows of 64 bytes, and fewer than 128.
    pub half: f64,
    /// Rows of fewer than 64 bytes.
    pub quarter: f64,
}

impl Default for BoxRows {
    fn default() -> BoxRows {
        BoxRows { half: 1.0, quarter: 1.0 }
    }
}

impl BoxRows {
    /// Returns the factor for the bytes of a row; 1 where no box stores.
    pub fn factor(self, row: Option<u32>) -> f64 {
        match row {
            Some(..64) => self.quarter,
            Some(64..128) => self.half,
            Some(128..) | None => 1.0,
        }
    }
}

/// The origin of the numbers of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The numbers were measured on the device, except for those whose comments say otherwise.
    Measured,
    /// The numbers are from data sheets and papers. No program of this project ran on the device.
    Published,
}

/// A built-in file of costs.
#[derive(Debug)]
pub struct BuiltinCosts {
    /// The name of the file in `costs/`, without `.toml`.
    pub name: &'static str,
    pub text: &'static str,
    pub costs: Costs,
}

/// The text of the file whose numbers every built-in target has until another one is chosen.
pub const COSTS_TEXT: &str = include_str!("../costs/h200.toml");

/// The built-in files: measured ones first, and of each capability the one for other devices of it first.
const FILES: [(&str, &str); 6] = [
    ("h200", COSTS_TEXT),
    ("h100", include_str!("../costs/h100.toml")),
    ("a100", include_str!("../costs/a100.toml")),
    ("rtx4090", include_str!("../costs/rtx4090.toml")),
    ("rtx5090", include_str!("../costs/rtx5090.toml")),
    ("b200", include_str!("../costs/b200.toml")),
];

impl BuiltinCosts {
    /// Returns the built-in files.
    ///
    /// # Panics
    /// If a file is malformed, which a test excludes.
    pub fn all() -> &'static [BuiltinCosts] {
        static ALL: LazyLock<Vec<BuiltinCosts>> = LazyLock::new(|| {
            let read = |(name, text): (&'static str, &'static str)| {
                let costs = Costs::read(text).unwrap_or_else(|error| panic!("`costs/{name}.toml`: {error}"));
                BuiltinCosts { name, text, costs }
            };
            FILES.into_iter().map(read).collect()
        });
        &ALL
    }

    /// Returns the file of this name, such as `a100`.
    pub fn named(name: &str) -> Option<&'static BuiltinCosts> {
        BuiltinCosts::all().iter().find(|file| file.name == name)
    }

    /// Returns the file of a device by the name that its driver says.
    pub fn of_device(device: &str) -> Option<&'static BuiltinCosts> {
        BuiltinCosts::all().iter().find(|file| file.costs.is_of(device))
    }

    /// Returns the file of some device of a compute capability: the first one, in the order of [`BuiltinCosts::all`].
    pub fn of_capability(capability: [u32; 2]) -> Option<&'static BuiltinCosts> {
        BuiltinCosts::all().iter().find(|file| file.costs.capability == capability)
    }
}

impl Costs {
    /// Reads a file of numbers, as `hx calibrate` writes it.
    ///
    /// # Errors
    /// If the text is no TOML, lacks a number, or has a number or an instruction that is unknown: the reason, with the line.
    pub fn read(text: &str) -> Result<Costs, String> {
        let costs: Costs = toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            format!("line {}: {}", before.matches('\n').count() + 1, error.message())
        })?;
        if !costs.issue.is_empty() {
            let rows = builtin_rows::all_rows();
            let known: BTreeSet<&str> = rows.gemms.iter().map(Named::name).collect();
            if let Some(name) = costs.issue.keys().find(|name| !known.contains(name.as_str())) {
                let before = text.split(name.as_str()).next().unwrap_or_default();
                return Err(format!(
                    "line {}: `{name}` under `issue` is no product of the catalogue",
                    before.matches('\n').count() + 1
                ));
            }
        }
        Ok(costs)
    }

    /// Reports whether the numbers are those of a device, by the name that its driver says.
    pub fn is_of(&self, device: &str) -> bool {
        self.device == device || self.also.iter().any(|other| other == device)
    }
}

impl fmt::Display for Costs {
    /// Writes the device and the origin of its numbers: `NVIDIA H200 (measured)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let basis = match self.basis {
            Basis::Measured => "measured",
            Basis::Published => "published, not measured",
        };
        write!(f, "{} ({basis})", self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    #[test]
    fn devices_find_their_files() {
        let of = |device: &str| BuiltinCosts::of_device(device).map(|file| file.name);
        let devices = [
            "NVIDIA H200",
            "NVIDIA H100 80GB HBM3",
            "NVIDIA A100-SXM4-80GB",
            "NVIDIA GeForce RTX 4090",
            "NVIDIA GeForce RTX 5090",
            "NVIDIA B200",
            "NVIDIA H100 PCIe",
        ];
        let files = ["h200", "h100", "a100", "rtx4090", "rtx5090", "b200"];
        assert_eq!(devices.map(of)[..6], files.map(Some));
        assert_eq!(of(devices[6]), None, "an H100 of other bandwidth");
        let measured: Vec<String> = BuiltinCosts::all().iter().map(|file| file.costs.to_string()).collect();
        assert_eq!(measured[0], "NVIDIA H200 (measured)");
        assert!(measured[2..].iter().all(|text| text.ends_with("(published, not measured)")), "{measured:?}");
    }

    #[test]
    fn costs_change_a_target_and_nothing_else() {
        let usual = Target::builtin("sm_80");
        let other = BuiltinCosts::named("a100").expect("it is built in");
        let changed = usual.with_costs(&other.costs);
        assert_ne!(changed, usual);
        assert_eq!(changed, usual.with_costs(&other.costs), "the same costs give the same target");
        assert_eq!(usual.with_costs(usual.costs()), usual);
        assert_eq!(
            (changed.name(), changed.limits(), &changed.features),
            (usual.name(), usual.limits(), &usual.features)
        );
        assert_eq!(changed.costs().multiprocessors, 108);
        let issue = |target: Target| {
            let row =
                target.rows().gemms.iter().find(|row| row.name == "mma.m16n8k16.f32.f16").expect("a row");
            row.issue
        };
        assert_eq!((issue(usual), issue(changed)), (6.01, 8.0));
    }

    #[test]
    fn a_caveat_names_what_is_not_measured_here() {
        let of = |target: &str, costs: &str| {
            let file = BuiltinCosts::named(costs).expect("it is built in");
            Target::builtin(target).with_costs(&file.costs).caveat()
        };
        assert_eq!(of("sm_90a", "h200"), None);
        assert_eq!(of("sm_90a", "h100"), None);
        assert_eq!(
            of("sm_80", "a100").as_deref(),
            Some("by published figures of NVIDIA A100-SXM4-80GB, not measured")
        );
        assert_eq!(
            of("sm_80", "h200").as_deref(),
            Some("by the costs of NVIDIA H200, a device of another architecture")
        );
    }

    /// A file that `hx calibrate --keep` wrote before these numbers existed is still of use.
    #[test]
    fn files_of_earlier_versions_are_read() {
        let newer = [
            "box_rows",
            "dram_latency",
            "cluster_latency",
            "role_start",
            "cluster_sum",
            "product_clock",
            "clusters",
            "address_issue",
            "address_latency",
        ];
        let is_newer = |line: &str| newer.iter().any(|name| line.starts_with(&format!("{name} =")));
        let earlier: Vec<&str> = COSTS_TEXT.lines().filter(|line| !is_newer(line)).collect();
        assert_eq!(earlier.len() + newer.len(), COSTS_TEXT.lines().count());
        let read = Costs::read(&earlier.join("\n")).expect("the numbers have defaults");
        assert_eq!((read.cluster_sum, read.box_rows.factor(Some(32))), (0.0, 1.0));
        assert_eq!(read.multiprocessors_of_clusters(4), 132);
    }

    #[test]
    fn an_unknown_product_is_refused() {
        let text = format!("{COSTS_TEXT}\n[issue]\n'mma.of.dreams' = 1.0\n");
        let error = Costs::read(&text).expect_err("no such row");
        assert!(error.ends_with("`mma.of.dreams` under `issue` is no product of the catalogue"), "{error}");
    }
}
