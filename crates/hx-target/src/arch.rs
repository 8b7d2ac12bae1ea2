//! Architectures and their limits (CUDA C++ programming guide, compute capabilities).

use std::fmt;
use std::str::FromStr;

/// An architecture that code can be made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Arch {
    Sm80,
    Sm89,
    Sm90a,
}

/// What one block may use at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub threads_per_block: u32,
    /// Bytes of shared memory for one block, with the opt-in above 48 KiB.
    pub shared_bytes: u32,
    /// 32-bit registers of one multiprocessor.
    pub registers: u32,
    /// 32-bit registers of one thread.
    pub registers_per_thread: u32,
}

impl Arch {
    pub const ALL: [Arch; 3] = [Arch::Sm80, Arch::Sm89, Arch::Sm90a];

    /// The name that the CUDA compilers take, such as `sm_90a`.
    pub fn name(self) -> &'static str {
        match self {
            Arch::Sm80 => "sm_80",
            Arch::Sm89 => "sm_89",
            Arch::Sm90a => "sm_90a",
        }
    }

    /// The number rows of the catalogue compare with.
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
        Limits { threads_per_block: 1024, shared_bytes, registers: 65536, registers_per_thread: 255 }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Arch {
    type Err = String;

    fn from_str(text: &str) -> Result<Arch, String> {
        Arch::ALL.into_iter().find(|a| a.name() == text).ok_or_else(|| {
            let known: Vec<_> = Arch::ALL.iter().map(|a| a.name()).collect();
            format!("unknown target `{text}`; known are {}", known.join(", "))
        })
    }
}
