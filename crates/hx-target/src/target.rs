//! An architecture as a value. Stages after the front end get a [`Target`] and keep no facts about hardware of their own.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use crate::{Catalogue, Costs, Feature, Limits};

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
