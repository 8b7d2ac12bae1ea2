//! An architecture as a value. Stages after the front end get a [`Target`] and keep no facts about hardware of their own.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use crate::{Basis, Catalogue, Costs, Feature, GemmRow, Limits};

/// An architecture for which code is generated. It is a reference, and cheap to copy; two are equal if they are the same description.
///
/// Nothing in it depends on the process: stages that get different targets at the same time do not disturb each other.
#[derive(Clone, Copy)]
pub struct Target(&'static Description);

/// The description of an architecture.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// The name that the CUDA compilers take, such as `sm_90a`.
    pub name: String,
    /// The compute capability of its GPUs: `[major, minor]`.
    pub capability: [u32; 2],
    /// The GPUs that run its code.
    pub forward: Forward,
    pub features: BTreeSet<Feature>,
    pub limits: Limits,
    /// The instructions that GPUs of the target have, and no others.
    pub rows: Catalogue,
    pub costs: Costs,
}

/// The GPUs that run code for a target (CUDA C++ programming guide, "Architecture-specific features"), from the most to the fewest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forward {
    /// GPUs of the same major version with the same or a later minor version.
    Later,
    /// GPUs of the same family with the same or a later minor version. Families do not span major versions.
    Family,
    /// GPUs of exactly this capability.
    None,
}

impl Target {
    /// Returns a target with this description. It lives as long as the process, because programs and solutions refer to its rows.
    pub fn new(description: Description) -> Target {
        Target(Box::leak(Box::new(description)))
    }

    /// Returns the target with the costs of a device. The same costs give the same target each time, and the costs that a target
    /// has give that target.
    ///
    /// Layouts and estimates follow the costs, so targets that differ in them are different inputs of the compiler.
    #[must_use]
    pub fn with_costs(self, costs: &Costs) -> Target {
        static MADE: Mutex<Vec<(Target, Target)>> = Mutex::new(Vec::new());
        if self.0.costs == *costs {
            return self;
        }
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        // A target with costs of its own leads back to the one that it was made from.
        let base = made.iter().find(|(_, target)| *target == self).map_or(self, |(base, _)| *base);
        if base.0.costs == *costs {
            return base;
        }
        if let Some((_, known)) = made.iter().find(|(of, target)| *of == base && target.0.costs == *costs) {
            return *known;
        }
        let mut description = base.0.clone();
        for row in &mut description.rows.gemms {
            let name = if row.is_swapped { row.name.strip_suffix(GemmRow::SWAPPED) } else { None };
            if let Some(issue) = costs.issue.get(name.unwrap_or(&row.name)) {
                row.issue = *issue;
            }
        }
        description.costs = costs.clone();
        let target = Target::new(description);
        made.push((base, target));
        target
    }

    /// Returns what an estimate for the target has to say of its numbers: that they are published ones, or of a device that does
    /// not run the target's code. `None` for numbers that were measured on such a device.
    pub fn caveat(self) -> Option<String> {
        let costs = self.costs();
        let [major, minor] = costs.capability;
        match costs.basis {
            Basis::Published => Some(format!("by published figures of {}, not measured", costs.device)),
            Basis::Measured if !self.runs_on(major, minor) => {
                Some(format!("by the costs of {}, a device of another architecture", costs.device))
            }
            Basis::Measured => None,
        }
    }

    /// Returns the name that the CUDA compilers take, such as `sm_90a`.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// Returns the newest target whose PTX later GPUs of any capability run: one without features of its own architecture.
    /// `None` if no target is such.
    pub fn newest_plain() -> Option<Target> {
        let is_plain = |target: &Target| target.forward == Forward::Later;
        Target::all().iter().copied().filter(is_plain).max_by_key(|target| target.capability)
    }

    /// Reports whether GPUs of the target have this feature.
    pub fn has(self, feature: Feature) -> bool {
        self.0.features.contains(&feature)
    }

    /// Reports whether a GPU of this compute capability runs code for the target.
    pub fn runs_on(self, major: u32, minor: u32) -> bool {
        let [own_major, own_minor] = self.0.capability;
        let is_same_major = own_major == major;
        match self.0.forward {
            Forward::Later | Forward::Family => is_same_major && own_minor <= minor,
            Forward::None => is_same_major && own_minor == minor,
        }
    }

    /// Returns the instructions that GPUs of the target have.
    pub fn rows(self) -> &'static Catalogue {
        &self.0.rows
    }

    /// Returns the numbers that bound a block, a cluster and a multiprocessor.
    pub fn limits(self) -> &'static Limits {
        &self.0.limits
    }

    /// Returns the measured costs, which the solver's estimates use.
    pub fn costs(self) -> &'static Costs {
        &self.0.costs
    }

    /// Returns the description with the lifetime `'static`, which a borrow through `Deref` does not have.
    pub fn get(self) -> &'static Description {
        self.0
    }
}

impl Deref for Target {
    type Target = Description;

    fn deref(&self) -> &Description {
        self.0
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Target) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Target {}

impl Hash for Target {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}
