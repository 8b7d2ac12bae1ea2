//! Architectures and their limits (CUDA C++ programming guide, compute capabilities).

use std::fmt;
use std::str::FromStr;

/// An architecture for which code is generated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Arch {
    Sm80,
    Sm89,
    Sm90a,
}

/// An ability of an architecture that is no instruction of the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// Blocks of a cluster run at the same time and reach the shared memory of each other.
    Clusters,
    /// Groups of warps change the number of their registers while they run.
    Roles,
    /// Tiles are stored from shared memory while the threads go on.
    Stores,
    /// Barriers in shared memory order the numbers that a block draws from a counter.
    Counters,
    /// A launch starts before the ones before it are complete, and waits for them where it needs their results.
    LaunchOrder,
}

impl Feature {
    /// Returns the first architecture that has it.
    pub fn arch(self) -> Arch {
        match self {
            Feature::Clusters
            | Feature::Roles
            | Feature::Stores
            | Feature::Counters
            | Feature::LaunchOrder => Arch::Sm90a,
        }
    }

    /// Returns its name in a message.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Clusters => "clusters",
            Feature::Roles => "roles of groups of warps",
            Feature::Stores => "asynchronous stores from shared memory",
            Feature::Counters => "the barriers in shared memory that counters need",
            Feature::LaunchOrder => "launches that overlap the ones before them",
        }
    }
}

/// The resources of a block and of a multiprocessor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub threads_per_block: u32,
    /// Bytes of shared memory for one block, with the opt-in above 48 KiB.
    pub shared_bytes: u32,
    /// 32-bit registers of a multiprocessor.
    pub registers: u32,
    /// 32-bit registers of a thread, at most.
    pub registers_per_thread: u32,
    /// Threads that fit on a multiprocessor.
    pub resident_threads: u32,
    /// Blocks that fit on a multiprocessor.
    pub resident_blocks: u32,
    /// Bytes of shared memory of a multiprocessor. The system takes 1 KiB of it for each block.
    pub resident_shared_bytes: u32,
}

/// The number of blocks of a kernel that fit on a multiprocessor together, and the resource that limits it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Residency {
    pub blocks: u32,
    /// The limiting resource: `threads`, `blocks`, `registers` or `shared memory`.
    pub limited_by: &'static str,
}

/// Bytes of shared memory that the system takes for each block.
const RESERVED_SHARED: u32 = 1024;
/// Warps get registers in multiples of this number.
const REGISTER_PORTION: u32 = 256;

impl Limits {
    /// Returns the number of blocks that fit together, given the threads of a block, the registers of a thread and the bytes
    /// of shared memory of a block (CUDA occupancy calculator).
    pub fn residency(&self, threads: u32, registers: u32, shared_bytes: u32) -> Residency {
        let warps = threads.div_ceil(crate::WARP).max(1);
        let for_warp = (registers.max(1) * crate::WARP).div_ceil(REGISTER_PORTION) * REGISTER_PORTION;
        let by = [
            (self.resident_blocks, "blocks"),
            (self.resident_threads / (warps * crate::WARP), "threads"),
            (self.registers / (for_warp * warps), "registers"),
            (self.resident_shared_bytes / (shared_bytes + RESERVED_SHARED), "shared memory"),
        ];
        let (blocks, limited_by) = by.into_iter().min_by_key(|(blocks, _)| *blocks).unwrap_or_default();
        Residency { blocks, limited_by }
    }
}

/// The numbers of registers that a thread may ask for while it runs: multiples of [`REGISTER_STEP`] between these.
pub const REGISTER_RANGE: [u32; 2] = [24, 256];
/// Threads get registers in multiples of this number.
pub const REGISTER_STEP: u32 = 8;
/// Named barriers of a block.
pub const NAMED_BARRIERS: u32 = 16;

impl Limits {
    /// Returns the number of registers that each thread has when the only block of a multiprocessor starts.
    pub fn registers_at_entry(&self, threads: u32) -> u32 {
        let most = self.registers / threads.max(1) / REGISTER_STEP * REGISTER_STEP;
        most.min(REGISTER_RANGE[1])
    }
}

impl Arch {
    pub const ALL: [Arch; 3] = [Arch::Sm80, Arch::Sm89, Arch::Sm90a];

    /// Returns the name that the CUDA compilers take, such as `sm_90a`.
    pub fn name(self) -> &'static str {
        match self {
            Arch::Sm80 => "sm_80",
            Arch::Sm89 => "sm_89",
            Arch::Sm90a => "sm_90a",
        }
    }

    /// Returns the number with which rows of the catalogue compare.
    pub fn number(self) -> u32 {
        match self {
            Arch::Sm80 => 80,
            Arch::Sm89 => 89,
            Arch::Sm90a => 90,
        }
    }

    pub fn limits(self) -> Limits {
        let shared_bytes = match self {
            Arch::Sm80 => 163 * 1024,
            Arch::Sm89 => 99 * 1024,
            Arch::Sm90a => 227 * 1024,
        };
        let (resident_threads, resident_blocks, resident_shared_bytes) = match self {
            Arch::Sm80 => (2048, 32, 164 * 1024),
            Arch::Sm89 => (1536, 24, 100 * 1024),
            Arch::Sm90a => (2048, 32, 228 * 1024),
        };
        Limits {
            threads_per_block: 1024,
            shared_bytes,
            registers: 65536,
            registers_per_thread: 255,
            resident_threads,
            resident_blocks,
            resident_shared_bytes,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Arch {
    /// Returns the best architecture whose code a GPU of this compute capability runs. Machine code of one minor version runs on later
    /// ones of the same major version. Architecture-specific code runs only on its own version.
    pub fn of_capability(major: u32, minor: u32) -> Option<Arch> {
        let capability = major * 10 + minor;
        let runs = |arch: &Arch| {
            let (specific, number) = (arch.name().ends_with('a'), arch.number());
            number / 10 == major && if specific { number == capability } else { number <= capability }
        };
        Arch::ALL.into_iter().filter(runs).max_by_key(|arch| arch.number())
    }
}

impl FromStr for Arch {
    type Err = String;

    fn from_str(text: &str) -> Result<Arch, String> {
        Arch::ALL.into_iter().find(|a| a.name() == text).ok_or_else(|| {
            let known: Vec<_> = Arch::ALL.iter().map(|a| a.name()).collect();
            let hint = hint(text).map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("unknown target `{text}`; known are {}{hint}", known.join(", "))
        })
    }
}

/// Returns what to do for a target that other compilers know.
fn hint(text: &str) -> Option<String> {
    let number = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_"))?;
    let number: u32 = number.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    let capability = format!("compute capability {}.{}", number / 10, number % 10);
    match Arch::of_capability(number / 10, number % 10) {
        Some(arch) => Some(format!("GPUs of {capability} run `{arch}`")),
        None if number >= 100 => {
            Some(format!("GPUs of {capability} (Blackwell and later) are not supported yet"))
        }
        None if (50..80).contains(&number) => {
            Some(format!("GPUs of {capability}, before Ampere, are not supported"))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_other_compilers_get_a_hint() {
        let said = |text: &str| text.parse::<Arch>().expect_err("no target of ours");
        let known = "known are sm_80, sm_89, sm_90a";
        for (text, hint) in [
            ("sm_86", "; GPUs of compute capability 8.6 run `sm_80`"),
            ("sm_90", "; GPUs of compute capability 9.0 run `sm_90a`"),
            ("sm_100a", "; GPUs of compute capability 10.0 (Blackwell and later) are not supported yet"),
            ("sm_120", "; GPUs of compute capability 12.0 (Blackwell and later) are not supported yet"),
            ("sm_75", "; GPUs of compute capability 7.5, before Ampere, are not supported"),
            ("gfx942", ""),
        ] {
            assert_eq!(said(text), format!("unknown target `{text}`; {known}{hint}"));
        }
    }

    #[test]
    fn residency_is_limited_by_the_scarcest() {
        let limits = Arch::Sm90a.limits();
        let check = |threads, registers, shared, expected: (u32, &str)| {
            let found = limits.residency(threads, registers, shared);
            assert_eq!((found.blocks, found.limited_by), expected);
        };
        check(32, 32, 0, (32, "blocks"));
        check(1024, 32, 0, (2, "threads"));
        check(128, 168, 0, (3, "registers"));
        check(128, 32, 100 << 10, (2, "shared memory"));
        check(1024, 255, 0, (0, "registers"));
    }
}
