//! The committed `src/` of the grammar is tree-sitter's output for `grammar.js`.
//!
//! The generator takes longer to build than a large crate, and its output depends on nothing but the grammar and its own version. So
//! `generated.txt` lists the hashes of all of them, and the generator is built only with the feature `grammar`: then
//! `UPDATE_EXPECT=1` writes the parser and the list anew, and without it the test generates the parser and compares it.

use std::fmt::Write as _;
use std::path::PathBuf;

use expect_test::expect_file;

use crate::support::root;

const GENERATED: &[&str] = &[
    "grammar.json",
    "node-types.json",
    "parser.c",
    "tree_sitter/alloc.h",
    "tree_sitter/array.h",
    "tree_sitter/parser.h",
];

fn grammar() -> PathBuf {
    root().join("grammar/tree-sitter-hx")
}

/// Returns the version of the generator and the hashes of its inputs and outputs, as `generated.txt` lists them.
fn hashes() -> String {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).expect("the versions are locked");
    let lock: toml::Table = toml::from_str(&lock).expect("cargo writes TOML");
    let packages = lock["package"].as_array().expect("a list of packages");
    let name = "tree-sitter-generate";
    let generator = packages.iter().find(|package| package["name"].as_str() == Some(name));
    let version = generator.and_then(|generator| generator["version"].as_str()).expect("it is locked");
    let mut text = format!("{name} {version}\n");
    let outputs = GENERATED.iter().map(|file| format!("src/{file}"));
    for file in ["grammar.js", "tree-sitter.json"].into_iter().map(str::to_owned).chain(outputs) {
        let bytes = std::fs::read(grammar().join(&file)).expect("it is there");
        let _ = writeln!(text, "{} {file}", &blake3::hash(&bytes).to_hex()[..32]);
    }
    text
}

#[test]
fn the_committed_parser_is_that_of_the_grammar() {
    #[cfg(feature = "grammar")]
    generator::compare();
    let list = grammar().join("generated.txt");
    if cfg!(feature = "grammar") {
        expect_file![list].assert_eq(&hashes());
        return;
    }
    let listed = std::fs::read_to_string(list).unwrap_or_default();
    let command = "UPDATE_EXPECT=1 cargo test -p hx-tests --features grammar tree_sitter";
    assert!(hashes() == listed, "the grammar or its parser has changed: `{command}` generates the parser");
}

#[cfg(feature = "grammar")]
mod generator {
    use std::path::Path;

    use expect_test::expect_file;
    use tree_sitter_generate::{OptLevel, generate_parser_in_directory};

    /// The version of the interface between parser and runtime: the newest that Neovim 0.11 and Helix support.
    const ABI: usize = 15;

    /// Generates the parser and compares it with the committed one. `grammar.js` is a program, which Node.js runs.
    pub(super) fn compare() {
        let grammar = super::grammar();
        let scratch = tempfile::tempdir().expect("a temporary folder can be made");
        for name in ["tree-sitter.json", "grammar.js"] {
            std::fs::copy(grammar.join(name), scratch.path().join(name)).expect("it can be copied");
        }
        generate(scratch.path());
        for file in super::GENERATED {
            let fresh =
                std::fs::read_to_string(scratch.path().join("src").join(file)).expect("it was written");
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

    fn generate(folder: &Path) {
        let mut remarks = Vec::new();
        let made = generate_parser_in_directory(
            folder,
            None::<&Path>,
            Some(folder.join("grammar.js")),
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
}
