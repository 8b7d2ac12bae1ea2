//! Both parsers accept the same texts: every file of the project, every block of the manual, the examples of each rule, the error
//! corpus, and mutants of all these with tokens deleted, inserted, swapped and replaced.

use std::path::{Path, PathBuf};

use hx_syntax::{SyntaxError, lex};

use super::{first_error, parse, parser};
use crate::manual::{blocks, pages, read, source};
use crate::support::{Random, root, seed};

/// Number of mutated programs that are compared.
const MUTANTS: usize = 3000;

/// Words that mutants get.
const WORDS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ",",
    ";",
    ":",
    "::",
    ".",
    "..",
    "->",
    "#",
    "_",
    "|",
    "||",
    "&&",
    "!",
    "=",
    "==",
    "!=",
    "<=",
    ">=",
    "+=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "@",
    "∘",
    "x",
    "BM",
    "0",
    "1.5",
    "2e3",
    "\"s\"",
    "where",
    "grid",
    "threads",
    "cluster",
    "if",
    "else",
    "for",
    "while",
    "in",
    "let",
    "mut",
    "new",
    "swizzle",
    "measure",
    "flops",
    "baseline",
    "producer",
    "consumer",
    "registers",
    "each",
    "shared",
    "register",
    "global",
    "return",
    "kernel",
    "fn",
    "test",
    "true",
    "inf",
    "use",
    "as",
    "const",
    "bench",
    "warp_groups",
    "main",
    "/* c */",
    "// c\n",
];

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !matches!(name.as_str(), "target" | "node_modules") && !name.starts_with('.') {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found.sort();
}

/// Returns every `hx` file of the project.
fn programs() -> Vec<String> {
    let mut paths = Vec::new();
    files(&root(), "hx", &mut paths);
    assert!(paths.len() > 20, "only {} files were found", paths.len());
    paths.iter().map(|path| read(path)).collect()
}

fn manual() -> Vec<String> {
    let of_page = |page: PathBuf| {
        let blocks = blocks(&read(&page));
        let hx = blocks.into_iter().filter(|block| block.tag.starts_with("hx"));
        hx.map(|block| source(&page, &block)).collect::<Vec<_>>()
    };
    let texts: Vec<String> = pages().into_iter().flat_map(of_page).collect();
    assert!(texts.len() > 10, "only {} blocks were found", texts.len());
    texts
}

/// Returns a fragment of a body inside a whole item.
fn in_a_body(text: &str) -> String {
    format!("bench \"b\" {{\n{text}\n}}")
}

/// Returns the example in the comment before each rule of our parser.
fn examples() -> Vec<String> {
    let mut sources = Vec::new();
    files(&root().join("crates/hx-syntax/src/grammar"), "rs", &mut sources);
    let mut texts = Vec::new();
    for source in sources {
        let source = read(&source);
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            if line.starts_with("// test ") {
                let code: Vec<&str> = lines.by_ref().map_while(|line| line.strip_prefix("// ")).collect();
                texts.push(code.join("\n"));
            }
        }
    }
    assert!(texts.len() > 25, "only {} examples were found", texts.len());
    texts
}

/// Returns the texts of the tests of our parser's errors: the first string of each test.
fn error_corpus() -> Vec<String> {
    let source = read(&root().join("crates/hx-syntax/tests/integration/errors.rs"));
    let mut texts = Vec::new();
    for call in ["check(", "check_cell(", "check_errors("] {
        for (at, _) in source.match_indices(call) {
            let argument = source[at + call.len()..].trim_start();
            texts.extend(argument.strip_prefix('"').map(string_literal));
        }
    }
    assert!(texts.len() > 35, "only {} broken texts were found", texts.len());
    texts
}

/// Returns the value of a Rust string, from the text after its opening quote.
fn string_literal(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('u') => {
                    let digits: String = chars.by_ref().skip(1).take_while(|&c| c != '}').collect();
                    let code = u32::from_str_radix(&digits, 16).expect("the digits are hexadecimal");
                    value.extend(char::from_u32(code));
                }
                Some(c) => value.push(c),
                None => break,
            },
            c => value.push(c),
        }
    }
    value
}

/// Reports whether an error cannot be expressed in a grammar, so that our parser checks it on the finished tree: the size of
/// numbers, the depth of nesting, and `measure` and `baseline` outside a `bench`.
fn is_beyond_a_grammar(text: &str, error: &SyntaxError) -> bool {
    let code = &text[error.range];
    match error.code {
        "HX0006" => {
            error.message.contains("no type of the language") || error.message.contains("range of f64")
        }
        "HX0008" => true,
        "HX0011" => matches!(code, "measure" | "baseline"),
        _ => false,
    }
}

/// Fails and shows both verdicts if the two parsers differ.
#[track_caller]
fn compare(parser: &mut tree_sitter::Parser, text: &str) {
    let ours = hx_syntax::parse(text);
    let theirs = parse(parser, text);
    let accepted = !theirs.root_node().has_error();
    let excused = accepted && ours.errors().iter().all(|error| is_beyond_a_grammar(text, error));
    assert!(
        ours.is_ok() == accepted || excused,
        "the parsers differ (seed {}); ours: {:?}; tree-sitter: {:?}; on\n{text}",
        seed(),
        ours.errors(),
        first_error(theirs.root_node()),
    );
}

#[test]
fn on_every_file_and_every_block_of_the_manual() {
    let mut parser = parser();
    for text in programs().iter().chain(&manual()) {
        compare(&mut parser, text);
    }
}

#[test]
fn on_the_examples_of_rules() {
    let mut parser = parser();
    for text in examples() {
        compare(&mut parser, &text);
        compare(&mut parser, &in_a_body(&text));
    }
}

#[test]
fn on_broken_code() {
    let mut parser = parser();
    let mut refused = 0;
    for text in error_corpus() {
        compare(&mut parser, &text);
        let whole = in_a_body(&text);
        compare(&mut parser, &whole);
        refused += usize::from(parse(&mut parser, &whole).root_node().has_error());
        for line in text.lines() {
            compare(&mut parser, &in_a_body(line));
        }
    }
    assert!(refused > 35, "only {refused} of the broken texts are refused");
}

#[test]
fn on_mutants() {
    let mut random = Random::new(seed());
    let mut texts = programs();
    // Large programs say little about a single mistake.
    texts.retain(|text| text.len() < 4000);
    texts.extend(examples().iter().flat_map(|text| [text.clone(), in_a_body(text)]));
    texts.extend(error_corpus().iter().flat_map(|text| [text.clone(), in_a_body(text)]));
    let mut parser = parser();
    for _ in 0..MUTANTS {
        let text = &texts[pick(&mut random, texts.len())];
        compare(&mut parser, &mutant(&mut random, text));
    }
}

fn pick(random: &mut Random, count: usize) -> usize {
    (random.next() % count as u64) as usize
}

/// Returns the text with one to three of its tokens changed.
fn mutant(random: &mut Random, text: &str) -> String {
    let mut rest = text;
    let mut tokens: Vec<String> = Vec::new();
    for token in lex(text) {
        let (head, tail) = rest.split_at(usize::from(token.len));
        tokens.push(head.to_owned());
        rest = tail;
    }
    for _ in 0..=pick(random, 3) {
        if tokens.is_empty() {
            break;
        }
        let at = pick(random, tokens.len());
        let word = format!(" {} ", WORDS[pick(random, WORDS.len())]);
        match pick(random, 5) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, word),
            2 => {
                let other = pick(random, tokens.len());
                tokens.swap(at, other);
            }
            3 => tokens[at] = word,
            _ => {
                let from = pick(random, tokens.len());
                let copied = tokens[from].clone();
                tokens.insert(at, copied);
            }
        }
    }
    tokens.concat()
}
