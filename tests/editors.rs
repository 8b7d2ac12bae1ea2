//! The thin clients in `editors/`: checks that they match the toolchain, and runs their own tests.

mod neovim;

use std::process::Command;

use crate::manual::read;
use crate::support::{root, skip};

/// The plugin ships copies of the queries; the originals are in the grammar's folder.
#[test]
fn neovim_has_the_queries_of_the_grammar() {
    let (theirs, ours) =
        (root().join("editors/nvim/queries/hx"), root().join("grammar/tree-sitter-hx/queries"));
    let names = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).expect("the queries are there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".scm"))
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&theirs), names(&ours));
    for name in names(&ours) {
        let [ours, theirs] = [&ours, &theirs].map(|folder| read(&folder.join(&name)));
        assert!(ours == theirs, "editors/nvim/queries/hx/{name} is another: copy that of the grammar");
    }
}

/// The shipped tags are those that `:helptags` would make, so `:help hx` works without generating tags.
#[test]
fn neovim_has_the_tags_of_its_manual() {
    let doc = root().join("editors/nvim/doc");
    let manual = read(&doc.join("hx.txt"));
    let words = manual.split_whitespace();
    let tags =
        words.filter_map(|word| word.strip_prefix('*')?.strip_suffix('*').filter(|tag| !tag.is_empty()));
    let mut lines: Vec<String> = tags.map(|tag| format!("{tag}\thx.txt\t/*{tag}*\n")).collect();
    lines.sort();
    assert!(lines.contains(&"hx\thx.txt\t/*hx*\n".to_owned()));
    assert!(
        read(&doc.join("tags")) == lines.concat(),
        "make `doc/tags` anew, by `:helptags editors/nvim/doc`"
    );
}

/// Runs the extension's own tests with Node's test runner.
#[test]
fn tests_of_the_extension() {
    let needs = "need `npm install` and `npm run build` in editors/vscode";
    node_tests("tests_of_the_extension", "editors/vscode", 16, needs, "HX_REQUIRE_NODE_MODULES");
}

/// Runs the tests of the playground's page. Those in a browser need the built module, so `cargo xtask site --test` runs them.
#[test]
fn tests_of_the_playground() {
    let needs = "need a browser and a built playground: `cargo xtask site --test`";
    node_tests("tests_of_the_playground", "editors/web", 8, needs, "HX_REQUIRE_SITE");
}

/// Runs the tests of a folder with Node's test runner, of which at least `least` pass. Reports those that are skipped, which `needs`
/// explains.
fn node_tests(test: &str, folder: &str, least: usize, needs: &str, required: &str) {
    let has_node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_node {
        return skip(&format!("editors::{test}"), "there is no Node.js", "HX_REQUIRE_NODE");
    }
    let output = Command::new("node")
        .args(["--test", "--test-reporter=tap", "test/"])
        .current_dir(root().join(folder))
        .output()
        .expect("Node.js starts");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    let count = |what: &str| {
        let line = report.lines().find_map(|line| line.strip_prefix(&format!("# {what} ")));
        line.and_then(|count| count.trim().parse::<usize>().ok()).unwrap_or_default()
    };
    assert!(count("pass") >= least, "{report}");
    if count("skipped") > 0 {
        let reason = format!("{} tests {needs}", count("skipped"));
        skip(&format!("editors::{test}, some"), &reason, required);
    }
}
