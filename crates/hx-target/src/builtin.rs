//! The built-in targets: the files of `targets/`, `catalogue/` and `costs/`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::{Table, Value};

use crate::catalogue::read;
use crate::{COSTS_TEXT, Catalogue, Costs, Description, Feature, Forward, Limits, Target};

/// The name of the target that code is for unless somebody chooses another one.
pub(crate) const USUAL: &str = "sm_90a";

/// Returns the targets, oldest first.
pub(crate) fn targets() -> &'static [Target] {
    static TARGETS: LazyLock<Vec<Target>> = LazyLock::new(|| {
        // The files are part of the program, and every test reads them.
        let malformed = |error: String| -> ! { panic!("the built-in targets are malformed: {error}") };
        let rows = rows().unwrap_or_else(|error| malformed(error));
        let costs = Costs::read(COSTS_TEXT).unwrap_or_else(|error| malformed(error));
        let all = described(include_str!("../targets/nvidia.toml"), &rows, &costs);
        all.unwrap_or_else(|error| malformed(error)).into_iter().map(Target::new).collect()
    });
    &TARGETS
}

/// Returns the rows of all targets together.
fn rows() -> Result<Catalogue, String> {
    let products = read(include_str!("../catalogue/gemm.toml"))?;
    let exchanges = read(include_str!("../catalogue/exchange.toml"))?;
    let boxes = read(include_str!("../catalogue/bulk.toml"))?;
    let atomic = crate::atomic::rows(include_str!("../catalogue/atomic.toml")).map_err(|e| e.to_string())?;
    Ok(Catalogue {
        copies: [read(include_str!("../catalogue/copy.toml"))?.copies, atomic].concat(),
        gemms: products.gemms,
        reaches: products.reaches,
        converts: read(include_str!("../catalogue/convert.toml"))?.converts,
        computes: read(include_str!("../catalogue/compute.toml"))?.computes,
        bulks: boxes.bulks,
        map: boxes.map,
        groups: [exchanges.groups, boxes.groups].concat(),
        exchanges: exchanges.exchanges,
        syncs: read(include_str!("../catalogue/sync.toml"))?.syncs,
        waits: read(include_str!("../catalogue/wait.toml"))?.waits,
    })
}

/// The fields of a target that are no limits.
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
