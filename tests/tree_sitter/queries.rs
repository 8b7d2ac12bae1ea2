//! The queries name only nodes and fields of the grammar, and give the expected highlights.

use std::collections::BTreeMap;
use std::path::PathBuf;

use expect_test::{Expect, expect};
use tree_sitter::{Query, QueryCursor, StreamingIterator as _};

use super::{parse, parser};
use crate::manual::read;
use crate::support::root;

fn folder() -> PathBuf {
    root().join("grammar/tree-sitter-hx/queries")
}

fn query(file: &str) -> Query {
    let text = read(&folder().join(file));
    let language = tree_sitter_hx::LANGUAGE.into();
    Query::new(&language, &text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn all_of_them_fit_the_grammar() {
    let mut count = 0;
    for folder in ["", "helix/"] {
        let entries = std::fs::read_dir(self::folder().join(folder)).expect("the queries are there");
        for entry in entries {
            let name = entry.expect("it can be listed").file_name().to_string_lossy().into_owned();
            if name.ends_with(".scm") {
                query(&format!("{folder}{name}"));
                count += 1;
            }
        }
    }
    assert!(count >= 12, "only {count} queries were found");
}

/// Compares the highlight of every leaf except brackets and commas. If several patterns match, the last wins, as in Neovim.
fn check(file: &str, text: &str, expected: Expect) {
    let query = query(file);
    let tree = parse(&mut parser(), text);
    assert!(!tree.root_node().has_error(), "the text is valid");
    let mut found: BTreeMap<(usize, usize), (usize, String)> = BTreeMap::new();
    let mut cursor = QueryCursor::new();
    let mut matches = cursor.matches(&query, tree.root_node(), text.as_bytes());
    while let Some(matched) = matches.next() {
        for capture in matched.captures() {
            let name = query.capture_names()[capture.index as usize];
            let range = (capture.node.start_byte(), capture.node.end_byte());
            let winner = found.entry(range).or_default();
            if name != "spell" && matched.pattern_index >= winner.0 {
                *winner = (matched.pattern_index, name.to_owned());
            }
        }
    }
    let line = |(&(start, end), (_, name)): (&(usize, usize), &(usize, String))| {
        let quiet = name.starts_with("punctuation");
        (!quiet).then(|| format!("{} {name}\n", &text[start..end]))
    };
    expected.assert_eq(&found.iter().filter_map(line).collect::<String>());
}

const SAMPLE: &str = "/// Doc.
kernel f<BM = 64>(a: shared mut f16[m]) where m % BM == 0 threads 128 {
    let x = where(a < inf, cast(a, f32), pipe.wait(1));
    copy(x[0.., new], c, pad: 0.5); // end
}
";

#[test]
fn highlights_for_neovim() {
    check(
        "highlights.scm",
        SAMPLE,
        expect![[r#"
        /// Doc. comment.documentation
        kernel keyword.function
        f function
        BM constant
        = operator
        64 number
        a variable.parameter
        shared keyword.modifier
        mut keyword.modifier
        f16 type.builtin
        m variable
        where keyword
        m variable
        % operator
        BM constant
        == operator
        0 number
        threads keyword
        128 number
        let keyword
        x variable
        = operator
        where function.call
        a variable
        < operator
        inf constant.builtin
        cast function.call
        a variable
        f32 type.builtin
        pipe variable
        wait function.method.call
        1 number
        copy function.call
        x variable
        0 number
        .. operator
        new keyword
        c variable
        pad variable.parameter
        0.5 number.float
        // end comment
    "#]],
    );
}

#[test]
fn highlights_for_helix() {
    check(
        "helix/highlights.scm",
        SAMPLE,
        expect![[r#"
        /// Doc. comment.line.documentation
        kernel keyword.function
        f function
        BM constant
        = operator
        64 constant.numeric.integer
        a variable.parameter
        shared keyword.storage.modifier
        mut keyword.storage.modifier
        f16 type.builtin
        m variable
        where keyword
        m variable
        % operator
        BM constant
        == operator
        0 constant.numeric.integer
        threads keyword
        128 constant.numeric.integer
        let keyword
        x variable
        = operator
        where function
        a variable
        < operator
        inf constant.builtin
        cast function
        a variable
        f32 type.builtin
        pipe variable
        wait function.method
        1 constant.numeric.integer
        copy function
        x variable
        0 constant.numeric.integer
        .. operator
        new keyword
        c variable
        pad variable.parameter
        0.5 constant.numeric.float
        // end comment.line
    "#]],
    );
}
