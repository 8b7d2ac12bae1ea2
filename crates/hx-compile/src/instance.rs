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
    /// Which of its solutions it has, counted from the cheapest, which is 0.
    #[returns(copy)]
    pub candidate: u32,
}

impl<'db> Instance<'db> {
    /// With the candidate that the workspace asks for.
    pub fn chosen(
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        args: CtArgs,
        arch: Arch,
        facts: LaunchFacts,
    ) -> Instance<'db> {
        Instance::new(db, kernel, args, arch, facts, db.workspace().candidate(db))
    }

    /// The same instance with another of its solutions.
    pub fn with_candidate(self, db: &'db dyn Db, candidate: u32) -> Instance<'db> {
        Instance::new(
            db,
            self.kernel(db),
            self.args(db).clone(),
            self.arch(db),
            self.facts(db).clone(),
            candidate,
        )
    }
}

/// The instance that editors show and `hx check` checks: every parameter at its default, every dimension a multiple of 16.
/// Nothing where a compile-time parameter has no default: only a launch says what it is.
pub fn default_instance<'db>(db: &'db dyn Db, kernel: Kernel<'db>, arch: Arch) -> Option<Instance<'db>> {
    let signature = kernel_signature(db, kernel);
    let complete = signature.generics.iter().all(|generic| generic.default.is_some());
    complete.then(|| Instance::chosen(db, kernel, BTreeMap::new(), arch, LaunchFacts::all_16()))
}
