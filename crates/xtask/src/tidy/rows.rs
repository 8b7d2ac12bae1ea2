//! The allowed directions of dependencies as data, checked against the manifests.
//!
//! A crate may use only crates of lower rows. Each exception has a line here, so every new edge is visible in the change that
//! adds it.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::Finding;

/// The rows, lowest first. A planned crate gets its place before it exists.
const ROWS: &[&[&str]] = &[
    &["hx-syntax", "hx-layout", "hx-dtype", "hx-index", "hx-worker", "hx-features", "hx-tensor-map"],
    &["hx-hir", "hx-fmt", "hx-tile", "hx-target", "hx-base", "hx-judge"],
    &["hx-lower", "hx-synth", "hx-verify"],
    &["hx-thread"],
    &["hx-codegen", "hx-sim", "hx-sync", "hx-runtime"],
    &["hx-compile", "hx-calibrate", "hx-launch-c"],
    &["hx-workspace", "hx-host"],
    &["hx-ide", "hx-inspect"],
    &["hx-launch", "hx-report"],
    &["hx-driver"],
    &["hx-server", "hx-repl", "hx-python", "hx-debug", "hx-web"],
    &["hx-notebook"],
    &["hx"],
];

/// Crates outside of the rows, which may use all crates: chores, suites that test several crates, and the grammar for editors.
const BESIDE: &[&str] = &["xtask", "hx-tests", "tree-sitter-hx"];

/// The crate that all tests may use. It uses none of our crates. If it did, a crate would be compiled twice for its own tests,
/// with types that do not match.
const TEST_SUPPORT: &str = "hx-test-support";

/// Allowed edges within a row. `hx-hir` reads the files and makes the diagnostics of `hx-base`. A tile program takes the accesses
/// of asynchronous instructions from the table of the hardware. PTX in the source is read with the table of instructions. A tensor map has an element type, and is sent to the worker.
const ALLOWED: &[(&str, &str)] = &[
    ("hx-hir", "hx-base"),
    ("hx-hir", "hx-target"),
    ("hx-tile", "hx-target"),
    ("hx-tensor-map", "hx-dtype"),
    ("hx-worker", "hx-tensor-map"),
];

/// Edges within a row or upwards that only tests may have. Tests of the solver verify its solutions; tests of the algebra read and
/// judge the reference cases.
const ALLOWED_IN_TESTS: &[(&str, &str)] = &[("hx-synth", "hx-verify"), ("hx-layout", "hx-judge")];

/// Edges to lower rows that are forbidden all the same, with the reason.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    (
        "hx-server",
        &["hx-inspect", "hx-launch", "hx-driver"],
        "an editor talks to the worker through hx-worker",
    ),
    ("hx-codegen", &["hx-hir", "hx-base", "hx-lower", "hx-synth", "hx-verify"], KERNELS),
    ("hx-launch-c", &["hx-hir", "hx-base", "hx-lower", "hx-synth", "hx-verify"], KERNELS),
    ("hx-sim", &["hx-hir", "hx-base", "hx-lower", "hx-synth", "hx-verify"], KERNELS),
    ("hx-sync", &["hx-syntax", "hx-hir", "hx-base", "hx-lower", "hx-synth", "hx-verify"], KERNELS),
    ("hx-thread", &["hx-syntax", "hx-hir", "hx-base"], "a thread program knows no source"),
    ("hx-tile", &["hx-syntax"], "a tile program knows no syntax tree"),
    ("hx-synth", &["hx-syntax", "hx-hir", "hx-base"], "the solver sees tile programs only"),
    ("hx-verify", &["hx-syntax", "hx-hir", "hx-base"], "the verifier sees tile programs only"),
    (
        "hx-notebook",
        &["hx-inspect", "hx-launch", "hx-driver", "hx-ide"],
        "a notebook asks the session of hx-repl",
    ),
    ("hx-web", &["hx-worker"], "a page has no processes"),
];

const KERNELS: &str = "it sees kernels through hx-thread only";

/// Crates that only certain of our crates may use, with the reason.
const ONLY: &[(&str, &[&str], &str)] = &[(
    "hx-runtime",
    &["hx", "hx-python"],
    "only the worker process uses CUDA, and, as the one exception, `hx-python`, which launches on its caller's tensors",
)];

/// The highest row that a crate may use, for crates that may not use all lower rows.
const HIGHEST_ROW: &[(&str, usize)] = &[("hx-runtime", 0)];

/// Third-party packages that only certain crates may use.
const USERS: &[(&str, &[&str])] = &[
    ("ariadne", &["hx-report"]),
    ("cudarc", &["hx-runtime"]),
    ("libloading", &["hx-runtime"]),
    ("pyo3", &["hx-python"]),
    ("rustyline", &["hx-repl"]),
    ("tower-lsp", &["hx-server"]),
    ("ungrammar", &["xtask"]),
    ("zeromq", &["hx-notebook"]),
    (
        "salsa",
        &[
            "hx-base",
            "hx-hir",
            "hx-lower",
            "hx-compile",
            "hx-workspace",
            "hx-host",
            "hx-ide",
            "hx-server",
            "hx-repl",
            "hx",
        ],
    ),
];

/// Checks every manifest. `manifests` has the texts by their paths.
pub(super) fn check(manifests: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in manifests {
        let mut report = |message: String| findings.push(Finding { path: path.clone(), line: 0, message });
        match text.parse::<Table>() {
            Ok(manifest) => check_manifest(&manifest, &mut report),
            Err(error) => report(format!("cannot be read: {}", error.message())),
        }
    }
    findings
}

fn check_manifest(manifest: &Table, report: &mut dyn FnMut(String)) {
    let Some(name) = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str)
    else {
        report("has no package name".to_owned());
        return;
    };
    if row_of(name).is_none() && !BESIDE.contains(&name) && name != TEST_SUPPORT {
        report(format!("`{name}` has no row in `cargo xtask tidy`"));
        return;
    }
    if manifest.get("lints").and_then(|lints| lints.get("workspace")) != Some(&Value::Boolean(true)) {
        report("does not take the lints of the workspace".to_owned());
    }
    for edge in edges(manifest) {
        if !edge.from_workspace {
            report(format!("`{}` is not taken from the workspace's table", edge.to));
        }
        if let Some(reason) = refusal(name, &edge) {
            report(reason);
        }
    }
}

/// A dependency of a manifest.
struct Edge {
    to: String,
    for_tests: bool,
    from_workspace: bool,
}

/// Returns every dependency of a manifest, including those for single platforms.
fn edges(manifest: &Table) -> Vec<Edge> {
    let mut tables = vec![manifest];
    let targets = manifest.get("target").and_then(Value::as_table);
    tables.extend(targets.into_iter().flat_map(|targets| targets.values().filter_map(Value::as_table)));
    let mut edges = Vec::new();
    for table in tables {
        for (kind, for_tests) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            for (to, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let from_workspace = value.get("workspace") == Some(&Value::Boolean(true));
                edges.push(Edge { to: to.clone(), for_tests, from_workspace });
            }
        }
    }
    edges
}

/// Returns the reason why a crate may not have a dependency; `None` if it may.
fn refusal(from: &str, edge: &Edge) -> Option<String> {
    let to = edge.to.as_str();
    if let Some((_, users)) = USERS.iter().find(|(package, _)| *package == to) {
        let among = users.join(", ");
        return (!users.contains(&from) && !BESIDE.contains(&from))
            .then(|| format!("`{from}` uses `{to}`, whose only users are {among}"));
    }
    if to == TEST_SUPPORT {
        let fine = edge.for_tests || BESIDE.contains(&from);
        return (!fine).then(|| format!("`{from}` uses `{to}` outside of its tests"));
    }
    let ours = to == "hx" || to.starts_with("hx-") || BESIDE.contains(&to);
    if !ours || BESIDE.contains(&from) {
        return None;
    }
    let Some(row) = row_of(from) else {
        return Some(format!("`{from}` uses `{to}`, but it may use none of our crates"));
    };
    let Some(to_row) = row_of(to) else { return Some(format!("`{from}` uses `{to}`, which has no row")) };
    let highest = HIGHEST_ROW.iter().find(|(name, _)| *name == from).map(|(_, highest)| *highest);
    if let Some(highest) = highest.filter(|highest| to_row > *highest) {
        return Some(format!("`{from}` uses `{to}` of row {to_row}, it may use rows up to {highest}"));
    }
    if let Some((_, users, why)) = ONLY.iter().find(|(name, ..)| *name == to)
        && !users.contains(&from)
        && !edge.for_tests
    {
        return Some(format!("`{from}` uses `{to}`: {why}"));
    }
    let allowed = ALLOWED.contains(&(from, to)) || edge.for_tests && ALLOWED_IN_TESTS.contains(&(from, to));
    if to_row >= row && !allowed {
        return Some(format!(
            "`{from}` of row {row} uses `{to}` of row {to_row}, it may use lower rows only"
        ));
    }
    let forbidden = FORBIDDEN.iter().find(|(name, forbidden, _)| *name == from && forbidden.contains(&to));
    forbidden.map(|(_, _, why)| format!("`{from}` uses `{to}`: {why}"))
}

fn row_of(name: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the findings for a manifest with that name and those dependency lines.
    fn check_edges(name: &str, dependencies: &str, expected: &[&str]) {
        let text = format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{dependencies}");
        let manifests = BTreeMap::from([("crates/x/Cargo.toml".to_owned(), text)]);
        let found: Vec<String> = check(&manifests).into_iter().map(|finding| finding.message).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lower_rows_only() {
        check_edges("hx-thread", "[dependencies]\nhx-tile.workspace = true\nserde.workspace = true\n", &[]);
        check_edges("hx-hir", "[dependencies]\nhx-base.workspace = true\n", &[]);
        check_edges(
            "hx-base",
            "[dependencies]\nhx-hir.workspace = true\n",
            &["`hx-base` of row 1 uses `hx-hir` of row 1, it may use lower rows only"],
        );
        check_edges(
            "hx-verify",
            "[dev-dependencies]\nhx-synth.workspace = true\n",
            &["`hx-verify` of row 2 uses `hx-synth` of row 2, it may use lower rows only"],
        );
        check_edges("hx-synth", "[dev-dependencies]\nhx-verify.workspace = true\n", &[]);
        check_edges(
            "hx-synth",
            "[dependencies]\nhx-verify.workspace = true\n",
            &["`hx-synth` of row 2 uses `hx-verify` of row 2, it may use lower rows only"],
        );
        check_edges(
            "hx-layout",
            "[target.'cfg(unix)'.dependencies]\nhx.workspace = true\n",
            &["`hx-layout` of row 0 uses `hx` of row 12, it may use lower rows only"],
        );
    }

    #[test]
    fn exceptions_to_the_rows() {
        check_edges(
            "hx-server",
            "[dependencies]\nhx-driver.workspace = true\nhx-worker.workspace = true\n",
            &["`hx-server` uses `hx-driver`: an editor talks to the worker through hx-worker"],
        );
        check_edges(
            "hx-runtime",
            "[dependencies]\nhx-target.workspace = true\nhx-worker.workspace = true\n",
            &["`hx-runtime` uses `hx-target` of row 1, it may use rows up to 0"],
        );
    }

    #[test]
    fn packages_with_few_users() {
        check_edges(
            "hx-server",
            "[dependencies]\ncudarc.workspace = true\n",
            &["`hx-server` uses `cudarc`, whose only users are hx-runtime"],
        );
        check_edges("hx-runtime", "[dependencies]\ncudarc.workspace = true\n", &[]);
    }

    #[test]
    fn helpers_for_tests() {
        check_edges("hx-sim", "[dev-dependencies]\nhx-test-support.workspace = true\n", &[]);
        check_edges(
            "hx-sim",
            "[dependencies]\nhx-test-support.workspace = true\n",
            &["`hx-sim` uses `hx-test-support` outside of its tests"],
        );
        check_edges(
            "hx-test-support",
            "[dependencies]\nhx-syntax.workspace = true\n",
            &["`hx-test-support` uses `hx-syntax`, but it may use none of our crates"],
        );
        check_edges(
            "hx-tests",
            "[dependencies]\nhx-driver.workspace = true\nhx-test-support.workspace = true\n",
            &[],
        );
    }

    #[test]
    fn versions_live_in_one_place() {
        check_edges(
            "hx-sim",
            "[dependencies]\nserde = \"1\"\nhx-thread = { workspace = true, features = [\"x\"] }\n",
            &["`serde` is not taken from the workspace's table"],
        );
        check_edges("hx-unheard-of", "", &["`hx-unheard-of` has no row in `cargo xtask tidy`"]);
    }
}
