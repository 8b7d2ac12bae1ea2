//! The committed `src/` of the grammar is tree-sitter's output for `grammar.js`; `UPDATE_EXPECT=1` regenerates it.
//!
//! `grammar.js` is a program, so reading it needs a JavaScript runtime. Without one, the test still compares the tables with
//! `src/grammar.json`.

use std::path::Path;
use std::process::Command;

use expect_test::expect_file;
use tree_sitter_generate::{OptLevel, generate_parser_in_directory};

use crate::support::{root, skip};

/// The version of the interface between parser and runtime: the newest that Neovim 0.11 and Helix support.
const ABI: usize = 15;

const GENERATED: &[&str] = &[
    "grammar.json",
    "node-types.json",
    "parser.c",
    "tree_sitter/alloc.h",
    "tree_sitter/array.h",
    "tree_sitter/parser.h",
];

#[test]
fn the_committed_parser_is_that_of_the_grammar() {
    let grammar = root().join("grammar/tree-sitter-hx");
    let has_node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    let scratch = tempfile::tempdir().expect("a temporary folder can be made");
    let copy = |name: &str| {
        let to = scratch.path().join(name);
        std::fs::create_dir_all(to.parent().expect("it is in a folder")).expect("folders can be made");
        std::fs::copy(grammar.join(name), to).expect("it can be copied");
    };
    copy("tree-sitter.json");
    let input = if has_node {
        "grammar.js"
    } else {
        skip("tree_sitter::freshness, for grammar.js", "there is no Node.js", "HX_REQUIRE_NODE");
        "src/grammar.json"
    };
    copy(input);
    generate(scratch.path(), input);
    for file in GENERATED {
        if !has_node && *file == "grammar.json" {
            continue;
        }
        let fresh = std::fs::read_to_string(scratch.path().join("src").join(file)).expect("it was written");
        let path = grammar.join("src").join(file);
        // The parser is too long for a useful difference: compare it as a whole.
        if *file == "parser.c" && std::env::var_os("UPDATE_EXPECT").is_none() {
            let old = std::fs::read_to_string(path).expect("it is there");
            assert!(old == fresh, "src/parser.c is stale: UPDATE_EXPECT=1 writes it anew");
        } else {
            expect_file![path].assert_eq(&fresh);
        }
    }
}

fn generate(folder: &Path, input: &str) {
    let mut remarks = Vec::new();
    let made = generate_parser_in_directory(
        folder,
        None::<&Path>,
        Some(folder.join(input)),
        ABI,
        None,
        Some("node"),
        true,
        OptLevel::default(),
        &mut remarks,
    );
    made.unwrap_or_else(|error| panic!("the grammar is wrong: {error}"));
    let remarks: Vec<String> = remarks.iter().map(ToString::to_string).collect();
    assert!(remarks.is_empty(), "{remarks:?}");
}
