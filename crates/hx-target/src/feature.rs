//! The abilities that distinguish architectures.

use serde::Deserialize;

/// An ability that some architectures have. Rows of the catalogue and constructs of the language need them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Instructions convert and multiply 8-bit floats.
    Fp8,
    /// Lanes store matrices to shared memory together.
    MatrixStores,
    /// Atomic sums take several elements at once, or elements of bf16.
    WideAtomics,
    /// Barriers in shared memory count arrivals and bytes.
    Barriers,
    /// One thread copies boxes and runs between global and shared memory.
    BulkCopies,
    /// Groups of warps have programs of their own.
    Roles,
    /// Groups of warps change the number of their registers while they run.
    RoleRegisters,
    /// Groups of four warps multiply operands in shared memory.
    GroupProducts,
    /// The assembler fuses two minima or maxima of integers to one instruction, and then loses the sign of a negated operand (CUDA 13.0).
    FusedExtremes,
    /// Blocks of a cluster run at the same time and reach the shared memory of each other.
    Clusters,
    /// A bulk copy writes the shared memory of several blocks of a cluster.
    Multicast,
    /// Bulk loads are spelled with the shared memory of the own block. With that of a cluster, of which the block is a part, they call a
    /// routine of the driver.
    OwnDestinations,
    /// A launch starts before the ones before it are complete, and waits for them where it needs their results.
    LaunchOrder,
}

impl Feature {
    /// Returns the noun by which messages name the feature, such as `bulk copies`.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Fp8 => "8-bit floats",
            Feature::MatrixStores => "collective stores of matrices",
            Feature::WideAtomics => "atomic sums of several elements",
            Feature::Barriers => "barriers in shared memory",
            Feature::BulkCopies => "bulk copies",
            Feature::Roles => "roles of groups of warps",
            Feature::RoleRegisters => "registers that roles pass on",
            Feature::GroupProducts => "products of groups of four warps",
            Feature::FusedExtremes => "fused minima and maxima of integers",
            Feature::Clusters => "clusters",
            Feature::Multicast => "copies into several blocks",
            Feature::OwnDestinations => "bulk loads into the own block",
            Feature::LaunchOrder => "launches that overlap the ones before them",
        }
    }
}
