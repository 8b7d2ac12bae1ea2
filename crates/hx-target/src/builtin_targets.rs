//! The built-in targets: the files of `targets/`, `catalogue/` and `costs/`, and the targets by name and by GPU.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::{Table, Value};

use crate::builtin_rows::all_rows;
use crate::catalogue::read;
use crate::{COSTS_TEXT, Catalogue, Costs, Description, Feature, Forward, Limits, Target};

/// The name of the default target.
const USUAL: &str = "sm_90a";

impl Target {
    /// Returns the targets of `targets/`, oldest first.
    pub fn all() -> &'static [Target] {
        targets()
    }

    /// Returns the target of this name, such as `sm_90a`; `None` if no built-in target has it.
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

    /// Returns the default target.
    ///
    /// # Panics
    /// If `targets/` does not name it, which a test excludes.
    pub fn usual() -> Target {
        Target::builtin(USUAL)
    }

    /// Returns the oldest target that has a feature; `None` if none has it.
    pub fn first_with(feature: Feature) -> Option<Target> {
        Target::all().iter().copied().find(|target| target.has(feature))
    }

    /// Returns the best target whose code a GPU of this compute capability runs: the newest, of those of one capability one
    /// with the most features, and of these the one for that capability alone. `None` if the GPU runs the code of no target.
    pub fn of_capability(major: u32, minor: u32) -> Option<Target> {
        let runs = |target: &Target| target.runs_on(major, minor);
        Target::all()
            .iter()
            .copied()
            .filter(runs)
            .max_by_key(|target| (target.capability, target.features.len(), target.forward))
    }
}

impl Default for Target {
    fn default() -> Target {
        Target::usual()
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

/// Returns the advice for an unknown target whose name contains a compute capability: the target to use instead, or why there
/// is none. `None` if the name contains no capability.
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

/// Returns the targets, oldest first.
fn targets() -> &'static [Target] {
    static TARGETS: LazyLock<Vec<Target>> = LazyLock::new(|| {
        // The files are part of the program, and every test reads them.
        let malformed = |error: String| -> ! { panic!("the built-in targets are malformed: {error}") };
        let costs = Costs::read(COSTS_TEXT).unwrap_or_else(|error| malformed(error));
        let all = described(include_str!("../targets/nvidia.toml"), all_rows(), &costs);
        all.unwrap_or_else(|error| malformed(error)).into_iter().map(Target::new).collect()
    });
    &TARGETS
}

impl Description {
    /// Reads targets that are not built in: their descriptions in the form of `targets/*.toml`, the rows of all of them in the form of
    /// `catalogue/*.toml`, and their costs in the form of `costs/*.toml`.
    ///
    /// # Errors
    /// If a text is no TOML, or an entry lacks a field or has one that is unknown or malformed. The error names the entry.
    pub fn read(targets: &str, rows: &str, costs: &str) -> Result<Vec<Description>, String> {
        described(targets, &read(rows)?, &Costs::read(costs)?)
    }
}

/// The fields of a target other than its limits.
#[derive(Deserialize)]
struct Written {
    name: String,
    capability: [u32; 2],
    forward: Forward,
    #[serde(default)]
    features: Vec<Feature>,
    #[serde(default)]
    without: Vec<Feature>,
}

/// The names of the fields of [`Written`] and of `like`.
const OWN: [&str; 6] = ["name", "capability", "forward", "like", "features", "without"];

/// Reads descriptions. A target has the features and limits of the one that it is `like`, unless it says otherwise.
///
/// # Errors
/// If the text is no TOML, a target is like none before it, or a field is missing, unknown or malformed. The error names the target.
pub(crate) fn described(text: &str, rows: &Catalogue, costs: &Costs) -> Result<Vec<Description>, String> {
    let file: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let mut read: Vec<(Table, Description)> = Vec::new();
    for target in file.get("target").and_then(Value::as_array).into_iter().flatten() {
        let own = target.as_table().cloned().unwrap_or_default();
        let name = own.get("name").and_then(Value::as_str).unwrap_or("without a name").to_owned();
        let refused = |error: &str| format!("target `{name}`: {}", error.trim_end().replace('\n', " "));
        let model = match own.get("like").and_then(Value::as_str) {
            None => None,
            Some(like) => {
                let found = read.iter().find(|(_, before)| before.name == like);
                Some(found.ok_or_else(|| refused(&format!("no target before it is `{like}`")))?)
            }
        };
        let written: Written =
            Value::Table(own.clone()).try_into().map_err(|e: toml::de::Error| refused(&e.to_string()))?;
        let mut limits = model.map(|(limits, _)| limits.clone()).unwrap_or_default();
        limits.extend(own.into_iter().filter(|(field, _)| !OWN.contains(&field.as_str())));
        let mut features: BTreeSet<Feature> = model.map(|(_, d)| d.features.clone()).unwrap_or_default();
        features.extend(written.features);
        features.retain(|feature| !written.without.contains(feature));
        let numbers: Limits =
            Value::Table(limits.clone()).try_into().map_err(|e: toml::de::Error| refused(&e.to_string()))?;
        let description = Description {
            name: written.name,
            capability: written.capability,
            forward: written.forward,
            rows: rows.of(&features, numbers.lanes),
            features,
            limits: numbers,
            costs: costs.clone(),
        };
        read.push((limits, description));
    }
    Ok(read.into_iter().map(|(_, description)| description).collect())
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
