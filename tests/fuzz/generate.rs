//! Generates inputs. Each is a function of a seed and a number.

use std::path::{Path, PathBuf};

use crate::support::Random;

/// Programs in which to make mistakes, split into items, and all of their tokens.
pub(super) struct Corpus {
    programs: Vec<Vec<String>>,
    tokens: Vec<String>,
}

/// Tokens that are rare in programs, which the compiler must survive.
const ODD_TOKENS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "0x",
    "1e999",
    "1.0e-400",
    "0..",
    "..=",
    "_",
    "'",
    "\"",
    "\"\\u{110000}\"",
    "/*",
    "*/",
    "///",
    "//!",
    "#[",
    "∘",
    "·",
    "ᵀ",
    "…",
    "×",
    "→",
    "\u{feff}",
    "\0",
    "\r",
    "\r\n",
    "\u{2028}",
    "\u{202e}",
    "é",
    "𝔸",
    "swizzle<",
    "swizzle<3, 3, 3>",
    "(4, (2, 4)) : (8, (1, 2))",
    "u4",
    "f8e4m3",
    "auto",
    "new",
    "mut",
    "shared",
    "register",
    "warp_groups",
    "pipeline",
    "where",
    "measure",
    "baseline",
    "consumer",
    "each",
    "==",
    "=",
    "<",
    ">",
    "|",
    "||",
    "@",
    "?",
    "$",
    "\\",
    "`",
    ";",
    ",",
    ":",
    "::",
    "->",
    "=>",
    "&",
    "!",
    "~",
    "^",
];

/// Numbers near the limits of shapes, strides and threads.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "5",
    "7",
    "8",
    "16",
    "31",
    "32",
    "33",
    "48",
    "100",
    "127",
    "128",
    "129",
    "255",
    "1000",
    "1024",
    "1025",
    "4096",
    "65536",
    "1000000",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775807",
];

impl Corpus {
    /// Reads the programs of the project: the standard library, the book, and the parser's examples.
    pub(super) fn read(root: &Path) -> Corpus {
        let mut texts = Vec::new();
        for folder in ["std", "book/examples", "crates/hx-test-support/programs"] {
            for path in files(&root.join(folder), "hx") {
                texts.push(read(&path));
            }
        }
        for path in files(&root.join("book/src"), "md") {
            texts.extend(blocks(&read(&path)));
        }
        assert!(texts.len() > 5, "the programs of the project are missing");
        let programs: Vec<Vec<String>> = texts.iter().map(|text| items(text)).collect();
        let mut tokens: Vec<String> = texts.iter().flat_map(|text| split(text)).collect();
        tokens.sort();
        tokens.dedup();
        tokens.extend(ODD_TOKENS.iter().chain(NUMBERS).map(|&token| token.to_owned()));
        Corpus { programs, tokens }
    }

    /// Returns input number `case` of a seed.
    pub(super) fn case(&self, seed: u64, case: u64) -> String {
        let mut random = Random::new(seed ^ case.wrapping_mul(0xd134_2543_de82_ef95));
        match below(&mut random, 100) {
            0..12 => bytes(&mut random),
            12..30 => self.soup(&mut random),
            30..33 => self.nest(&mut random),
            33..36 => self.whole(&mut random),
            36..60 => {
                let program = self.program(&mut random);
                self.shuffle(&program, &mut random)
            }
            _ => {
                let program = self.program(&mut random);
                self.mutate(program, &mut random)
            }
        }
    }

    /// Returns a few successive items of one program.
    fn program(&self, random: &mut Random) -> String {
        let items = &self.programs[below(random, self.programs.len())];
        let count = 1 + below(random, 3);
        let first = below(random, items.len());
        items.iter().skip(first).take(count).map(String::as_str).collect()
    }

    /// Returns a whole program with one mistake.
    fn whole(&self, random: &mut Random) -> String {
        let program = self.programs[below(random, self.programs.len())].concat();
        let mut tokens = split(&program);
        self.mistake(&mut tokens, random);
        tokens.concat()
    }

    fn token(&self, random: &mut Random) -> String {
        self.tokens[below(random, self.tokens.len())].clone()
    }

    /// Returns tokens in random order.
    fn soup(&self, random: &mut Random) -> String {
        let between = ["", " ", "\n", "  \n\t"][below(random, 4)];
        let count = below(random, 80);
        let tokens: Vec<String> = (0..count).map(|_| self.token(random)).collect();
        tokens.join(between)
    }

    /// Returns a construct that repeats often enough to nest deeply.
    fn nest(&self, random: &mut Random) -> String {
        let opening = [
            "(",
            "[",
            "{",
            "-",
            "!",
            "f(",
            "a[",
            "if x {",
            "(1, ",
            "|x| ",
            "a + (",
            "1 :",
            "a ∘ ",
            "/*",
            "t.",
            "<",
            "let x = ",
            "use a::{",
            "for i in 0..4 {",
            "while true {",
            "cast(",
            "where(x, ",
            "else if x {",
        ];
        let around = ["", "const A = ", "fn f() { ", "kernel k() grid [1] threads 32 { ", "test \"t\" { "];
        let depth = [3, 40, 200, 1000, 5000][below(random, 5)];
        let piece = opening[below(random, opening.len())];
        let mut text = around[below(random, around.len())].to_owned();
        text.push_str(&piece.repeat(depth));
        text.push_str(&self.token(random));
        if below(random, 2) == 0 {
            let closing: String = piece.chars().rev().filter_map(closing).collect();
            text.push_str(&closing.repeat(depth));
        }
        text
    }

    fn mutate(&self, program: String, random: &mut Random) -> String {
        let mut tokens = split(&program);
        let most = [1, 2, 4, 12][below(random, 4)];
        for _ in 0..=below(random, most) {
            self.mistake(&mut tokens, random);
        }
        let mut text = tokens.concat();
        if below(random, 8) == 0 {
            damage(&mut text, random);
        }
        text
    }

    /// Makes one change to a list of tokens.
    fn mistake(&self, tokens: &mut Vec<String>, random: &mut Random) {
        if tokens.is_empty() {
            tokens.push(self.token(random));
            return;
        }
        let at = below(random, tokens.len());
        let other = below(random, tokens.len());
        match below(random, 20) {
            0 => {
                tokens.remove(at);
            }
            1 => tokens.insert(at, self.token(random)),
            2 => tokens[at] = self.token(random),
            3 => tokens.swap(at, other),
            4 => {
                let copy = tokens[other].clone();
                tokens[at] = copy;
            }
            5 => {
                let end = (at + 1 + below(random, 30)).min(tokens.len());
                tokens.drain(at..end);
            }
            6 => {
                let end = (at + 1 + below(random, 30)).min(tokens.len());
                let copy: Vec<String> = tokens[at..end].to_vec();
                tokens.splice(other..other, copy);
            }
            7 => tokens.truncate(at),
            8 => {
                let donor = split(&self.program(random));
                let from = below(random, donor.len().max(1)).min(donor.len());
                let end = (from + 1 + below(random, 30)).min(donor.len());
                tokens.splice(at..at, donor[from..end].iter().cloned());
            }
            _ => alike(tokens, random),
        }
    }

    /// Drops, doubles and moves lines, which often leaves a program without a syntax error.
    fn shuffle(&self, program: &str, random: &mut Random) -> String {
        let mut lines: Vec<&str> = program.split_inclusive('\n').collect();
        for _ in 0..=below(random, 3) {
            let (from, to) = (below(random, lines.len()), below(random, lines.len()));
            if lines.is_empty() {
                break;
            }
            match below(random, 3) {
                0 => {
                    lines.remove(from);
                }
                1 => lines.insert(to, lines[from]),
                _ => lines.swap(from, to),
            }
        }
        let mut tokens = split(&lines.concat());
        for _ in 0..below(random, 3) {
            alike(&mut tokens, random);
        }
        tokens.concat()
    }
}

/// Replaces a token by another of its kind. A new name for a name, or a new number for a number, keeps a program nearly valid.
fn alike(tokens: &mut [String], random: &mut Random) {
    const SIGNS: &[&str] =
        &["+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "@", "&&", "||", "..", ",", ":"];
    let is_number = |token: &str| token.starts_with(|c: char| c.is_ascii_digit());
    let is_name = |token: &str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let pick = |from: &[&str], random: &mut Random| from[below(random, from.len())].to_owned();
    match below(random, 3) {
        0 => replace_alike(tokens, random, is_number, |random| pick(NUMBERS, random)),
        1 => replace_alike(tokens, random, |token| SIGNS.contains(&token), |random| pick(SIGNS, random)),
        _ => {
            let names: Vec<String> = tokens.iter().filter(|token| is_name(token)).cloned().collect();
            let pick = |random: &mut Random| names[below(random, names.len())].clone();
            replace_alike(tokens, random, is_name, pick);
        }
    }
}

/// Replaces one of the tokens for which `alike` holds.
fn replace_alike(
    tokens: &mut [String],
    random: &mut Random,
    alike: impl Fn(&str) -> bool,
    mut new: impl FnMut(&mut Random) -> String,
) {
    let places: Vec<usize> = (0..tokens.len()).filter(|&at| alike(&tokens[at])).collect();
    if !places.is_empty() {
        let at = places[below(random, places.len())];
        tokens[at] = new(random);
    }
}

/// Changes a random character.
fn damage(text: &mut String, random: &mut Random) {
    let mut chars: Vec<char> = text.chars().collect();
    let at = below(random, chars.len() + 1);
    let new = char::from_u32((random.next() % 0x1_1000) as u32).unwrap_or('\u{1f}');
    match below(random, 3) {
        0 => chars.insert(at, new),
        1 if at < chars.len() => chars[at] = new,
        _ if at < chars.len() => {
            chars.remove(at);
        }
        _ => {}
    }
    *text = chars.into_iter().collect();
}

/// Returns random bytes, decoded as text.
fn bytes(random: &mut Random) -> String {
    let count = below(random, 200);
    let ascii = below(random, 2) == 0;
    let byte = |random: &mut Random| {
        let byte = (random.next() >> 32) as u8;
        if ascii { byte & 0x7f } else { byte }
    };
    let bytes: Vec<u8> = (0..count).map(|_| byte(random)).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(super) fn below(random: &mut Random, bound: usize) -> usize {
    (random.next() % bound.max(1) as u64) as usize
}

fn closing(open: char) -> Option<char> {
    match open {
        '(' => Some(')'),
        '[' => Some(']'),
        '{' => Some('}'),
        '<' => Some('>'),
        _ => None,
    }
}

/// Returns the tokens of a text, including spaces.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut at = 0;
    let mut piece = |token: &hx_syntax::Token| {
        let start = at;
        at += usize::from(token.len);
        text[start..at].to_owned()
    };
    hx_syntax::lex(text).iter().map(&mut piece).collect()
}

/// Returns the items of a program. The text between two items belongs to the second.
fn items(text: &str) -> Vec<String> {
    let root = hx_syntax::parse(text).syntax_node();
    let mut items = Vec::new();
    let mut start = 0;
    for node in root.children() {
        let end = usize::from(node.text_range().end());
        items.push(text[start..end].to_owned());
        start = end;
    }
    if items.is_empty() || start < text.len() {
        items.push(text[start..].to_owned());
    }
    items
}

/// Returns the `hx` blocks of a page.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside && line.starts_with("```hx");
            if inside {
                blocks.push(String::new());
            }
        } else if inside && let Some(block) = blocks.last_mut() {
            block.push_str(line);
            block.push('\n');
        }
    }
    blocks.retain(|block| !block.trim().is_empty() && !block.contains("{{#include"));
    blocks
}

/// Returns the files with that extension below a folder, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
