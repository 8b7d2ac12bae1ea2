//! Tests the examples in the comments of the grammar; `tests/fixtures` holds the tree of each.

use std::{collections::BTreeMap, fs, path::PathBuf};

use hx_syntax::parse_cell;

use crate::support;

fn folder(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns, by name, every block of comment lines in the grammar that begins with `// test NAME`.
fn examples() -> BTreeMap<String, String> {
    let mut examples = BTreeMap::new();
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder("src/grammar")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(name) = line.strip_prefix("// test ") else { continue };
            let code: Vec<&str> = lines.by_ref().map_while(|line| line.strip_prefix("// ")).collect();
            let previous = examples.insert(name.to_owned(), code.join("\n"));
            assert!(previous.is_none(), "two examples are called `{name}`");
        }
    }
    examples
}

#[test]
fn every_rule_has_its_tree() {
    for (name, code) in examples() {
        let parse = parse_cell(&code);
        assert_eq!(support::errors(parse.errors()), "", "{name}");
        assert_eq!(parse.syntax_node().text().to_string(), code, "{name}");
        let tree = support::sketch(&parse.syntax_node());
        let path = folder("tests/fixtures").join(format!("{name}.tree"));
        expect_test::expect_file![path].assert_eq(&format!("{code}\n\n{tree}"));
    }
}

#[test]
fn no_tree_is_left_over() {
    let examples = examples();
    for entry in fs::read_dir(folder("tests/fixtures")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(examples.contains_key(&name), "no rule has an example for {}", path.display());
    }
}
