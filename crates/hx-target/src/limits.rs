//! The numbers of an architecture: the resources of a block and of a multiprocessor, and the units in which they come.

use serde::Deserialize;

/// The numbers of an architecture. `targets/` has them as data, with their sources.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Lanes of a warp.
    pub lanes: u32,
    /// Threads of a group of warps, which run some instructions together.
    pub group: u32,
    /// The number of partitions of a multiprocessor, each with a scheduler and a matrix unit.
    pub partitions: u32,
    pub threads_per_block: u32,
    /// Bytes of shared memory for one block, with the opt-in above 48 KiB.
    pub shared_bytes: u32,
    /// Bytes of shared memory that the system takes for each block.
    pub reserved_shared_bytes: u32,
    /// 32-bit registers of a multiprocessor.
    pub registers: u32,
    /// 32-bit registers of a thread, at most.
    pub registers_per_thread: u32,
    /// Bytes of a register.
    pub register_bytes: u32,
    /// A warp gets registers in multiples of this number.
    pub register_portion: u32,
    /// A thread gets registers in multiples of this number.
    pub register_step: u32,
    /// The least and the greatest number of registers that a thread may request while it runs.
    pub register_range: [u32; 2],
    /// Threads that fit on a multiprocessor.
    pub resident_threads: u32,
    /// Blocks that fit on a multiprocessor.
    pub resident_blocks: u32,
    /// Bytes of shared memory of a multiprocessor.
    pub resident_shared_bytes: u32,
    /// Named barriers of a block.
    pub named_barriers: u32,
    /// Blocks of a cluster, at most.
    pub cluster: u32,
    /// Blocks of a launch along each axis, at most.
    pub grid: [i64; 3],
    /// Banks of shared memory.
    pub banks: u32,
    /// Bytes of a word of a bank.
    pub bank_bytes: u32,
    /// Bytes of a sector, the unit of traffic of global memory.
    pub sector_bytes: u32,
    /// Bytes of a line of the cache.
    pub line_bytes: u32,
    /// Bytes of the widest access of one thread.
    pub access_bytes: u32,
    /// Bytes of the largest block that the hardware itself swizzles, by bits of the address (PTX ISA, "Matrix descriptor").
    pub swizzle_block_bytes: u32,
    /// Bytes that the address of a box in shared memory is a multiple of.
    pub box_align: u32,
}

/// The number of blocks of a kernel that fit on a multiprocessor together, and the resource that limits it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Residency {
    pub blocks: u32,
    /// The limiting resource: `threads`, `blocks`, `registers` or `shared memory`.
    pub limited_by: &'static str,
}

impl Limits {
    /// Returns the most bytes that one wavefront of shared memory moves: a word of each bank.
    pub fn wavefront_bytes(&self) -> u32 {
        self.banks * self.bank_bytes
    }

    /// Returns the number of blocks that fit together, given the threads of a block, the registers of a thread and the bytes
    /// of shared memory of a block (CUDA occupancy calculator).
    pub fn residency(&self, threads: u32, registers: u32, shared_bytes: u32) -> Residency {
        let warps = threads.div_ceil(self.lanes).max(1);
        let for_warp = (registers.max(1) * self.lanes).next_multiple_of(self.register_portion);
        let all_shared = (shared_bytes + self.reserved_shared_bytes).max(1);
        let by = [
            (self.resident_blocks, "blocks"),
            (self.resident_threads / (warps * self.lanes), "threads"),
            (self.registers / (for_warp * warps), "registers"),
            (self.resident_shared_bytes / all_shared, "shared memory"),
        ];
        let (blocks, limited_by) = by.into_iter().min_by_key(|(blocks, _)| *blocks).unwrap_or_default();
        Residency { blocks, limited_by }
    }

    /// Returns the limits of each of `blocks` blocks of `threads` threads that share a multiprocessor. For one block these are the limits.
    pub fn shared_by(&self, blocks: u32, threads: u32) -> Limits {
        if blocks <= 1 {
            return self.clone();
        }
        let registers = self.registers / blocks;
        let each = registers / threads.max(1) / self.register_step * self.register_step;
        let shared = (self.resident_shared_bytes / blocks).saturating_sub(self.reserved_shared_bytes);
        Limits {
            registers,
            registers_per_thread: self.registers_per_thread.min(each),
            shared_bytes: self.shared_bytes.min(shared),
            ..self.clone()
        }
    }

    /// Returns the number of registers that each of `threads` threads has when they start as the only block of a
    /// multiprocessor.
    pub fn registers_at_entry(&self, threads: u32) -> u32 {
        let most = self.registers / threads.max(1) / self.register_step * self.register_step;
        most.min(self.register_range[1])
    }
}
