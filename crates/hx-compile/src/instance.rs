//! One instance of a kernel.

use std::collections::BTreeMap;

use hx_hir::{Kernel, kernel_signature};
use hx_lower::{CtArgs, LaunchFacts};
use hx_target::Arch;

use crate::Db;

/// A kernel with everything that distinguishes one compiled form of it from another.
#[salsa::interned(debug)]
pub struct Instance<'db> {
    /// The kernel.
    #[returns(copy)]
    pub kernel: Kernel<'db>,
    /// Compile-time arguments; those left out take their defaults.
    #[returns(ref)]
    pub args: CtArgs,
    /// The architecture.
    #[returns(copy)]
    pub arch: Arch,
    /// What is known of the launches.
    #[returns(ref)]
    pub facts: LaunchFacts,
}

/// The instance that editors show and `hx check` checks: every parameter at its default, every dimension a multiple of 16.
/// Nothing where a compile-time parameter has no default: only a launch says what it is.
pub fn default_instance<'db>(db: &'db dyn Db, kernel: Kernel<'db>, arch: Arch) -> Option<Instance<'db>> {
    let signature = kernel_signature(db, kernel);
    let complete = signature.generics.iter().all(|generic| generic.default.is_some());
    complete.then(|| Instance::new(db, kernel, BTreeMap::new(), arch, LaunchFacts::all_16()))
}
