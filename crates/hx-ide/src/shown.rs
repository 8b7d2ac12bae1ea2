//! The instance of each kernel that an editor shows.

use hx_compile::{CtArgs, Db, Instance, LaunchFacts, default_instance};
use hx_hir::{ItemKey, Kernel, kernel_signature};
use hx_target::Target;

/// The architecture, and the kernels that are shown in another instance than the default one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    pub target: Target,
    pub picked: Vec<Picked>,
}

/// The chosen instance of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picked {
    pub kernel: ItemKey,
    /// Compile-time arguments; parameters that are missing take their defaults.
    pub args: CtArgs,
}

impl Shown {
    /// Shows the default instance of every kernel.
    pub fn new(target: Target) -> Shown {
        Shown { target, picked: Vec::new() }
    }

    /// Chooses an instance of a kernel; empty arguments choose the default instance again.
    pub fn pick(&mut self, kernel: ItemKey, args: CtArgs) {
        self.picked.retain(|picked| picked.kernel != kernel);
        if !args.is_empty() {
            self.picked.push(Picked { kernel, args });
        }
    }

    pub(crate) fn args(&self, key: &ItemKey) -> Option<&CtArgs> {
        self.picked.iter().find(|picked| picked.kernel == *key).map(|picked| &picked.args)
    }

    /// Returns the instance of a kernel that is shown; `None` if a compile-time parameter has no value.
    pub(crate) fn instance<'db>(&self, db: &'db dyn Db, kernel: Kernel<'db>) -> Option<Instance<'db>> {
        let Some(args) = self.args(&kernel.key(db)) else { return default_instance(db, kernel, self.target) };
        let signature = kernel_signature(db, kernel);
        // An edit may have removed parameters since the choice was made: ignore their arguments.
        let known: CtArgs = args
            .iter()
            .filter(|(name, _)| signature.generics.iter().any(|g| g.name == **name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let complete = signature.generics.iter().all(|g| g.default.is_some() || known.contains_key(&g.name));
        complete.then(|| Instance::chosen(db, kernel, known, self.target, LaunchFacts::all_16()))
    }
}
