//! Instances of kernels.

use std::collections::{BTreeMap, BTreeSet};

use hx_hir::{Item, Kernel, Name, kernel_signature};
use hx_lower::{CtArgs, CtValue, LaunchFacts, usual_units};
use hx_target::Target;

use crate::Db;

/// A kernel with everything that its tile program depends on. It does not depend on the candidate, so candidates share one.
#[salsa::interned(debug)]
pub struct Form<'db> {
    /// The kernel.
    #[returns(copy)]
    pub kernel: Kernel<'db>,
    /// The compile-time arguments. Parameters without one take their defaults.
    #[returns(ref)]
    pub args: CtArgs,
    /// The facts about the launches.
    #[returns(ref)]
    pub facts: LaunchFacts,
    /// The architecture that it is compiled for.
    #[returns(copy)]
    pub target: Target,
}

impl<'db> Form<'db> {
    /// Returns the functions among the compile-time arguments.
    pub fn functions(self, db: &'db dyn Db) -> impl Iterator<Item = Item<'db>> {
        self.args(db).values().filter_map(|value| match value {
            CtValue::Function(key) => key.find(db),
            _ => None,
        })
    }
}

/// A kernel with everything that distinguishes one compiled form of it from another.
#[salsa::interned(debug)]
pub struct Instance<'db> {
    /// The kernel, its arguments and its facts.
    #[returns(copy)]
    pub form: Form<'db>,
    /// The number of its solution, counted from the cheapest, which is 0.
    #[returns(copy)]
    pub candidate: u32,
}

impl<'db> Instance<'db> {
    /// Returns the kernel.
    pub fn kernel(self, db: &'db dyn Db) -> Kernel<'db> {
        self.form(db).kernel(db)
    }

    /// Returns the compile-time arguments. Parameters without one take their defaults.
    pub fn args(self, db: &'db dyn Db) -> &'db CtArgs {
        self.form(db).args(db)
    }

    /// Returns the architecture.
    pub fn target(self, db: &'db dyn Db) -> Target {
        self.form(db).target(db)
    }

    /// Returns the facts about the launches.
    pub fn facts(self, db: &'db dyn Db) -> &'db LaunchFacts {
        self.form(db).facts(db)
    }

    /// Returns the named strides that are 1 in its launches.
    pub fn units(self, db: &'db dyn Db) -> BTreeSet<Name> {
        self.facts(db).units.clone().unwrap_or_else(|| usual_units(db, self.kernel(db)))
    }

    /// Returns the instance with the candidate that the workspace selects.
    pub fn chosen(
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        args: CtArgs,
        target: Target,
        facts: LaunchFacts,
    ) -> Instance<'db> {
        Instance::new(db, Form::new(db, kernel, args, facts, target), db.workspace().candidate(db))
    }

    /// Returns the same instance with other compile-time arguments.
    pub fn with_args(self, db: &'db dyn Db, args: CtArgs) -> Instance<'db> {
        let form = Form::new(db, self.kernel(db), args, self.facts(db).clone(), self.target(db));
        Instance::new(db, form, self.candidate(db))
    }

    /// Returns the same instance with other facts about its launches.
    pub fn with_facts(self, db: &'db dyn Db, facts: LaunchFacts) -> Instance<'db> {
        let form = Form::new(db, self.kernel(db), self.args(db).clone(), facts, self.target(db));
        Instance::new(db, form, self.candidate(db))
    }

    /// Returns the same instance with another of its solutions.
    pub fn with_candidate(self, db: &'db dyn Db, candidate: u32) -> Instance<'db> {
        Instance::new(db, self.form(db), candidate)
    }
}

/// Returns the instance that editors show and `hx check` checks: every parameter has its default, every dimension is a multiple of 16, and
/// the usual strides are 1. Returns `None` if a compile-time parameter has no default, because only a launch determines it.
pub fn default_instance<'db>(db: &'db dyn Db, kernel: Kernel<'db>, target: Target) -> Option<Instance<'db>> {
    let signature = kernel_signature(db, kernel);
    let complete = signature.generics.iter().all(|generic| generic.default.is_some());
    complete.then(|| Instance::chosen(db, kernel, BTreeMap::new(), target, LaunchFacts::all_16()))
}
