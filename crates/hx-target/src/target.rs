//! An architecture as a value: what every stage after the front end gets instead of facts of its own.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::str::FromStr;

use crate::{Catalogue, Costs, Feature, Limits, builtin};

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
    /// The instructions that it has, and no others.
    pub rows: Catalogue,
    pub costs: Costs,
}

/// The GPUs that run code for a target (CUDA C++ programming guide, "Architecture-specific features"), from the most to the fewest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forward {
    /// Those of the same major version whose minor version is not less.
    Later,
    /// Those of the same family whose minor version is not less. Families do not span major versions.
    Family,
    /// Those of the very capability.
    None,
}

impl Target {
    /// Returns a target with this description. It lives as long as the process, because programs and solutions refer to its rows.
    pub fn new(description: Description) -> Target {
        Target(Box::leak(Box::new(description)))
    }

    /// Returns the targets of `targets/`, oldest first.
    pub fn all() -> &'static [Target] {
        builtin::targets()
    }

    /// Returns the target of this name.
    pub fn named(name: &str) -> Option<Target> {
        Target::all().iter().copied().find(|target| target.name == name)
    }

    /// Returns the built-in target of this name, for tests and tables that name one.
    ///
    /// # Panics
    /// If there is none.
    pub fn builtin(name: &str) -> Target {
        Target::named(name).unwrap_or_else(|| panic!("no built-in target is `{name}`"))
    }

    /// Returns the target that code is for unless somebody chooses another one.
    ///
    /// # Panics
    /// If `targets/` does not name it, which a test excludes.
    pub fn usual() -> Target {
        Target::builtin(builtin::USUAL)
    }

    /// Returns the oldest target that has a feature.
    pub fn first_with(feature: Feature) -> Option<Target> {
        Target::all().iter().copied().find(|target| target.has(feature))
    }

    /// Returns the best target whose code a GPU of this compute capability runs: the newest, of those of one capability one with the
    /// most features, and of these the one for that capability alone.
    pub fn of_capability(major: u32, minor: u32) -> Option<Target> {
        let runs = |target: &Target| target.runs_on(major, minor);
        Target::all()
            .iter()
            .copied()
            .filter(runs)
            .max_by_key(|target| (target.capability, target.features.len(), target.forward))
    }

    /// Returns the name that the CUDA compilers take, such as `sm_90a`.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// Returns the newest target whose PTX later GPUs of any capability run: one without features of its own architecture.
    pub fn newest_plain() -> Option<Target> {
        let is_plain = |target: &Target| target.forward == Forward::Later;
        Target::all().iter().copied().filter(is_plain).max_by_key(|target| target.capability)
    }

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

    /// Returns the instructions that it has.
    pub fn rows(self) -> &'static Catalogue {
        &self.0.rows
    }

    pub fn limits(self) -> &'static Limits {
        &self.0.limits
    }

    pub fn costs(self) -> &'static Costs {
        &self.0.costs
    }

    /// Returns the description for as long as the process runs.
    pub fn get(self) -> &'static Description {
        self.0
    }
}

impl Default for Target {
    /// Returns the usual target.
    fn default() -> Target {
        Target::usual()
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

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        Target::named(text).ok_or_else(|| {
            let known: Vec<_> = Target::all().iter().map(|target| target.name.as_str()).collect();
            let hint = hint(text).map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("unknown target `{text}`; known are {}{hint}", known.join(", "))
        })
    }
}

/// Returns what to do for a target that other compilers know.
fn hint(text: &str) -> Option<String> {
    let number = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_"))?;
    let number: u32 = number.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    let capability = format!("compute capability {}.{}", number / 10, number % 10);
    match Target::of_capability(number / 10, number % 10) {
        Some(target) => Some(format!("GPUs of {capability} run `{target}`")),
        None if number < 80 => Some(format!("GPUs of {capability}, before Ampere, are not supported")),
        None => Target::newest_plain().map(|plain| {
            format!("GPUs of {capability} are newer than this build: they run the PTX of `{plain}`")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_other_compilers_get_a_hint() {
        let said = |text: &str| text.parse::<Target>().expect_err("no target of ours");
        for (text, hint) in [
            ("sm_88", "; GPUs of compute capability 8.8 run `sm_87`"),
            ("sm_101a", "; GPUs of compute capability 10.1 run `sm_100f`"),
            (
                "sm_130",
                "; GPUs of compute capability 13.0 are newer than this build: they run the PTX of `sm_121`",
            ),
            ("sm_75", "; GPUs of compute capability 7.5, before Ampere, are not supported"),
            ("gfx942", ""),
        ] {
            let all = Target::all().iter().map(|target| target.name()).collect::<Vec<_>>().join(", ");
            assert_eq!(said(text), format!("unknown target `{text}`; known are {all}{hint}"));
        }
    }

    #[test]
    fn a_gpu_gets_its_own_form() {
        let of = |major, minor| Target::of_capability(major, minor).map(Target::name);
        let gpus = [(8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 0), (12, 1)];
        let own = [
            "sm_80", "sm_86", "sm_87", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a",
            "sm_121a",
        ];
        assert_eq!(gpus.map(|(major, minor)| of(major, minor)), own.map(Some));
        // Code for one capability alone never runs elsewhere, and no machine code crosses major versions.
        assert_eq!([of(7, 5), of(9, 1), of(10, 1), of(13, 0)], [None, Some("sm_90"), Some("sm_100f"), None]);
    }

    #[test]
    fn residency_is_limited_by_the_scarcest() {
        let limits = &Target::usual().limits;
        let check = |threads, registers, shared, expected: (u32, &str)| {
            let found = limits.residency(threads, registers, shared);
            assert_eq!((found.blocks, found.limited_by), expected);
        };
        check(32, 32, 0, (32, "blocks"));
        check(1024, 32, 0, (2, "threads"));
        check(128, 168, 0, (3, "registers"));
        check(128, 32, 100 << 10, (2, "shared memory"));
        check(1024, 255, 0, (0, "registers"));
    }
}
