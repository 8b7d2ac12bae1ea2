//! The cost of an operation as a record: the cycles of the threads that execute it, and those of each part of a multiprocessor
//! that all threads of the multiprocessor share.

use std::ops::{AddAssign, Index, IndexMut, Mul, Sub};

/// A part of a multiprocessor that the threads of all roles share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Resource {
    /// The matrix units.
    Tensor,
    /// The port of shared memory: operands that products read by descriptor, and wavefronts of accesses.
    Shared,
    /// The path from and to the L2 cache.
    Global,
    /// The units of special functions, such as `exp2`.
    Special,
    /// The units of all other arithmetic.
    Arithmetic,
    /// The slots in which warps issue instructions.
    Issue,
}

impl Resource {
    /// All resources, in the order of the enumeration.
    pub const ALL: [Resource; 6] = [
        Resource::Tensor,
        Resource::Shared,
        Resource::Global,
        Resource::Special,
        Resource::Arithmetic,
        Resource::Issue,
    ];

    /// Returns the name in texts for users.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Tensor => "tensor cores",
            Resource::Shared => "shared memory",
            Resource::Global => "L2 cache",
            Resource::Special => "special functions",
            Resource::Arithmetic => "arithmetic",
            Resource::Issue => "issue slots",
        }
    }

    /// Returns a short name for tables.
    pub fn word(self) -> &'static str {
        match self {
            Resource::Tensor => "tensor",
            Resource::Shared => "shared",
            Resource::Global => "L2",
            Resource::Special => "special",
            Resource::Arithmetic => "math",
            Resource::Issue => "issue",
        }
    }

    /// Returns the beginning of a sentence about the resource, and whether its verb is a plural.
    pub fn subject(self) -> (&'static str, bool) {
        match self {
            Resource::Tensor => ("the tensor cores", true),
            Resource::Shared => ("shared memory", false),
            Resource::Global => ("the L2 cache", false),
            Resource::Special => ("the special function units", true),
            Resource::Arithmetic => ("arithmetic", false),
            Resource::Issue => ("the issue slots", true),
        }
    }
}

/// The cycles in which each resource is occupied.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ResourceCycles([f64; Resource::ALL.len()]);

impl ResourceCycles {
    /// Returns the resource with the most cycles, and these cycles. Of equal resources, the first one counts.
    pub fn most(&self) -> (Resource, f64) {
        let all = Resource::ALL.map(|resource| (resource, self[resource]));
        all.into_iter().fold((Resource::Tensor, 0.0), |most, next| if next.1 > most.1 { next } else { most })
    }
}

impl Index<Resource> for ResourceCycles {
    type Output = f64;

    fn index(&self, resource: Resource) -> &f64 {
        &self.0[resource as usize]
    }
}

impl IndexMut<Resource> for ResourceCycles {
    fn index_mut(&mut self, resource: Resource) -> &mut f64 {
        &mut self.0[resource as usize]
    }
}

impl AddAssign for ResourceCycles {
    fn add_assign(&mut self, other: ResourceCycles) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl Sub for ResourceCycles {
    type Output = ResourceCycles;

    fn sub(self, other: ResourceCycles) -> ResourceCycles {
        ResourceCycles(std::array::from_fn(|i| self.0[i] - other.0[i]))
    }
}

impl Mul<f64> for ResourceCycles {
    type Output = ResourceCycles;

    fn mul(self, times: f64) -> ResourceCycles {
        ResourceCycles(self.0.map(|cycles| cycles * times))
    }
}

/// The cost of one execution of an operation by one group of its scope.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// The cycles in which the threads execute the operation, including those in which they wait for its own result. Waits
    /// for other operations, at a barrier or for a product in flight, are not part of a record: they follow from the program.
    pub threads: f64,
    pub resources: ResourceCycles,
    /// The cycles from the end of the work in the resources until a wait for an asynchronous operation returns, and from the issue of a
    /// load until its values can be used.
    pub latency: f64,
}
