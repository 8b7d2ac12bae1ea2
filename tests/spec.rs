//! The specification: pages of `tests/spec` that state the rules of the language, with assertions beside the code.
//!
//! A page is Markdown. Each `hx` block is a program that is checked as `hx check` does; if it has no errors, its tests run on the
//! simulator. Comments assert what the compiler says of a line:
//!
//! ```text
//! let t = register_tensor(f16, [64, 64]); // type: register f16[64, 64]
//! copy(t, s.T); // error: [HX0401] "words of the message"
//! ```
//!
//! Every assertion must hold, and every finding must be asserted. `page.rs` has the kinds of assertions. A block for another
//! architecture begins with `` ```hx,target=sm_80 ``. A line `// file: NAME.hx` begins another file of the same block.

mod facts;
mod page;

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use hx_base::Severity;
use hx_target::Target;

use crate::manual::read;
use crate::support::root;
use facts::{Fact, Facts, Finding, Place, facts};
use page::{Assertion, Block, Claim, parse};

/// The minimal number of pages: fewer mean that some were lost.
const PAGES: usize = 30;

#[test]
fn pages_hold() {
    let folder = root().join("tests/spec");
    let pages = pages(&folder);
    assert!(pages.len() >= PAGES, "{} pages, {PAGES} were there", pages.len());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = |core: usize| -> Vec<(&PathBuf, usize, String)> {
        let own = pages.iter().skip(core).step_by(cores);
        own.flat_map(|page| mismatches(&read(page)).into_iter().map(move |(line, text)| (page, line, text)))
            .collect()
    };
    let share = &share;
    let mut wrong: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|core| scope.spawn(move || share(core))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a panic is a mismatch")).collect()
    });
    wrong.sort();
    let at = |page: &Path| page.strip_prefix(&folder).unwrap_or(page).display().to_string();
    let wrong: Vec<String> =
        wrong.iter().map(|(page, line, text)| format!("{}:{line}: {text}", at(page))).collect();
    assert!(wrong.is_empty(), "{} mismatches\n{}", wrong.len(), wrong.join("\n"));
}

/// A block of a page as a program.
pub(crate) struct Text {
    pub(crate) target: Target,
    /// Number in the page, from 1, of the first line.
    pub(crate) line: usize,
    pub(crate) files: Vec<(String, String)>,
}

/// Returns all pages, ordered by path.
pub(crate) fn all_pages() -> Vec<PathBuf> {
    pages(&root().join("tests/spec"))
}

/// Returns the programs of a page. A page with lines that have no meaning has none: `pages_hold` reports it.
pub(crate) fn blocks_of(text: &str) -> Vec<Text> {
    let program = |block: Block| {
        let line = block.files.first().map_or(0, |file| file.first_line);
        let files = block.files.into_iter().map(|file| (file.name, file.text)).collect();
        Text { target: block.target, line, files }
    };
    parse(text).unwrap_or_default().into_iter().map(program).collect()
}

/// Returns the pages below a folder, ordered by path.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let (mut pages, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// Returns all differences between a page and the compiler: the line in the page, and `expected …, found …`.
fn mismatches(text: &str) -> Vec<(usize, String)> {
    // A panic of the compiler is a mismatch of its block, so that the other blocks are still compared.
    let judged = |block: &Block| {
        let first = block.files.first().map_or(0, |file| file.first_line);
        std::panic::catch_unwind(|| judge(block))
            .unwrap_or_else(|_| vec![(first, "expected an answer, found a panic of the compiler".to_owned())])
    };
    let mut wrong = match parse(text) {
        Err(wrong) => wrong,
        Ok(blocks) => blocks.iter().flat_map(judged).collect(),
    };
    wrong.sort();
    wrong
}

/// Compares the assertions of a block with its facts. Returns the line in the page and the message of each difference.
fn judge(block: &Block) -> Vec<(usize, String)> {
    let facts = facts(block);
    let mut told = vec![Told::No; facts.findings.len()];
    let mut wrong = Vec::new();
    let line_of = |(file, line): Place| block.files[file].first_line + line;
    for (at, file) in block.files.iter().enumerate() {
        for assertion in &file.assertions {
            if let Err(message) = met(assertion, (at, assertion.line), &facts, &mut told) {
                wrong.push((line_of((at, assertion.written)), message));
            }
        }
    }
    // A page of the language says what a program means: how fast it is has tests of its own.
    let is_untold =
        |(found, told): &(&Finding, &Told)| **told == Told::No && found.severity != Severity::Performance;
    for (found, _) in facts.findings.iter().zip(&told).filter(is_untold) {
        wrong.push((line_of(found.place), format!("expected no finding, found {}", shown(found))));
    }
    let first = block.files.first().map_or(0, |file| file.first_line);
    wrong.extend(facts.unjudged.iter().map(|test| (first, format!("expected a verdict, found {test}"))));
    wrong
}

/// The state of a finding while the assertions of its block are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    No,
    /// An assertion is about it.
    Asserted,
    /// It is in the message of an assertion that does not hold.
    InMessage,
}

/// Reports what differs if an assertion does not hold. Marks the finding that it asserts.
fn met(assertion: &Assertion, place: Place, facts: &Facts, told: &mut [Told]) -> Result<(), String> {
    let here = || facts.findings.iter().filter(move |found| found.place == place);
    match &assertion.claim {
        Claim::Finding { severity, code, words } => {
            let fits = |found: &Finding| {
                found.severity == *severity && found.code == code && found.message.contains(words)
            };
            let free = |at: &usize| told[*at] != Told::Asserted && facts.findings[*at].place == place;
            let free: Vec<usize> = (0..told.len()).filter(free).collect();
            if let Some(at) = free.iter().find(|at| fits(&facts.findings[**at])) {
                told[*at] = Told::Asserted;
                return Ok(());
            }
            free.iter().for_each(|at| told[*at] = Told::InMessage);
            let words = if words.is_empty() { String::new() } else { format!(" \"{words}\"") };
            let wanted = format!("{}: [{code}]{words}", severity.as_str());
            Err(expected(&wanted, free.into_iter().map(|at| shown(&facts.findings[at]))))
        }
        Claim::Label(words) => {
            let labels = facts.findings.iter().flat_map(|found| &found.labels);
            let labels = labels.filter(|(at, text)| *at == place && !text.is_empty());
            has(words, labels.map(|(_, text)| text))
        }
        Claim::Because(words) => has(words, here().flat_map(|found| &found.notes)),
        Claim::Help(words) => has(words, here().flat_map(|found| &found.help)),
        Claim::Type { subject, text } => {
            is(text, subject.as_ref(), place, &facts.types, |found| found == text)
        }
        Claim::Layout { subject, text } => {
            is(text, subject.as_ref(), place, &facts.layouts, |found| is_expected(found, text))
        }
        Claim::Instruction(text) => {
            let found = || facts.instructions.iter().filter(|(at, _)| *at == place).map(|(_, text)| text);
            if found().any(|found| is_expected(found, text)) {
                Ok(())
            } else {
                Err(expected(text, found().cloned()))
            }
        }
        Claim::Reason(words) => {
            has(words, facts.reasons.iter().filter(|(at, _)| *at == place).map(|(_, text)| text))
        }
    }
}

/// Checks that there is a fact about a subject at a place, and that all such facts fit. Without a subject, the subject is the
/// name that a `let` binds there.
fn is(
    wanted: &str,
    subject: Option<&String>,
    place: Place,
    facts: &[Fact],
    fits: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let about = |fact: &&Fact| match subject {
        Some(subject) => fact.place == place && fact.subject == *subject,
        None => fact.place == place && fact.bound,
    };
    let mut found: Vec<String> = facts.iter().filter(about).map(|fact| fact.text.clone()).collect();
    found.sort();
    found.dedup();
    let holds = !found.is_empty() && found.iter().all(|text| fits(text));
    if holds { Ok(()) } else { Err(expected(wanted, found.into_iter())) }
}

fn has<'a>(words: &str, texts: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let texts: Vec<&String> = texts.collect();
    let holds = texts.iter().any(|text| text.contains(words));
    if holds { Ok(()) } else { Err(expected(&format!("…{words}…"), texts.into_iter().cloned())) }
}

/// Reports whether a text is the expected one. Details behind a comma may be left out: the bytes of an access, the place of a
/// buffer.
fn is_expected(found: &str, wanted: &str) -> bool {
    found.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
}

fn expected(wanted: &str, found: impl Iterator<Item = String>) -> String {
    let found: Vec<String> = found.map(|text| format!("`{text}`")).collect();
    let found = if found.is_empty() { "nothing".to_owned() } else { found.join(" and ") };
    format!("expected `{wanted}`, found {found}")
}

fn shown(found: &Finding) -> String {
    format!("{}: [{}] {}", found.severity.as_str(), found.code, found.message)
}

/// Compares the mismatches of a page with one block of these lines; the block begins at line 2.
#[track_caller]
fn check(lines: &str, want: Expect) {
    check_page(&format!("```hx\n{lines}```\n"), want);
}

#[track_caller]
fn check_page(text: &str, want: Expect) {
    let found = mismatches(text);
    want.assert_eq(&found.iter().map(|(line, text)| format!("{line}: {text}\n")).collect::<String>());
}

#[test]
fn assertions_that_hold_are_silent() {
    check(
        r#"
kernel mix(x: f16[64, 64], y: mut f16[64, 64]) grid [1] threads 128 { // type(x): global f16[64, 64]
    // type: register f16[64, 64]
    // layout: ((8,16),(8,4)):((512,1),(64,16))
    // reason: "coalesced along dimension 1 of `x`"
    let t = load(x); // instruction: ld.global.v4.b32
    let s = shared_tensor(f16, [64, 64]); // layout: swizzle<3, 3, 6> ∘ (64,64):(64,1), 8192 B at 0
    copy(t, s); // label: "writes `s` here"
    // because: "both touch"
    // help: "insert `sync()`"
    copy(load(s.T), y); // error: [HX0401] "threads race on `s`"
    // Other comments are no assertions.
}
"#,
        expect![""],
    );
}

#[test]
fn assertions_that_do_not_hold_are_told() {
    check(
        r#"kernel k(x: f32[m]) grid [1] threads 32 {
    let a = load(tile(x, [64])[.., 0]); // type: register f32[32]
    // layout: (32,2):(1,32)
    // instruction: ld.global.v4.b32
    // reason: "no reason"
    let b = load(tile(x, [64])[.., 1]);
    let c = 1; // type(d): int
    // error: [HX0204]
    let d = 2;
}
"#,
        expect![[r#"
            3: expected `register f32[32]`, found `register f32[64]`
            3: expected no finding, found warning: [HX0106] nothing uses `a`
            4: expected `(32,2):(1,32)`, found `(32,2):(2,1)`
            5: expected `ld.global.v4.b32`, found `ld.global.v2.b32, 8 B an access`
            6: expected `…no reason…`, found `coalesced along dimension 0 of `x`` and `8 B: each thread holds 2 neighbours along the contiguous dimension`
            7: expected no finding, found warning: [HX0106] nothing uses `b`
            8: expected `int`, found nothing
            8: expected no finding, found warning: [HX0106] nothing uses `c`
            9: expected `error: [HX0204]`, found `warning: [HX0106] nothing uses `d``
        "#]],
    );
}

#[test]
fn findings_that_are_not_asserted_are_told() {
    check(
        "kernel k(x: f32[m]) grid [1] threads 32 {\n    let a = y; // warning: [HX0101]\n}\n",
        expect![[r#"
            3: expected `warning: [HX0101]`, found `warning: [HX0106] nothing uses `a`` and `error: [HX0101] nothing in scope is called `y``
        "#]],
    );
}

/// One assertion covers one finding, not all findings of its kind in its line.
#[test]
fn each_finding_needs_its_own_assertion() {
    check(
        "const A = b + c; // error: [HX0101]\n",
        expect![[r#"
        2: expected no finding, found error: [HX0101] nothing in scope is called `c`
    "#]],
    );
}

#[test]
fn misspelt_assertions_are_told() {
    check(
        r#"const A = 1; // eror: [HX0101]
const B = 1; // error: HX0101
const C = 1; // error: [HX9999]
const D = 1; // error: [HX0101] no quotes
const E = 1; // help: no quotes
const F = 1; // instruction(x): ld.global
// type: int
"#,
        expect![[r#"
            2: expected an assertion (`error: [HX0301] "…"`, `warning: …`, `performance: …`, `note: …`, `label: "…"`, `because: "…"`, `help: "…"`, `type: …`, `type(x): …`, `layout: …`, `layout(x): …`, `instruction: …`, `reason: "…"`), found `eror: [HX0101]`
            3: expected a code such as `[HX0301]`, found `HX0101`
            4: expected a code, found `HX9999`
            5: expected words in quotes, found `no quotes`
            6: expected words in quotes, found `no quotes`
            7: expected an assertion (`error: [HX0301] "…"`, `warning: …`, `performance: …`, `note: …`, `label: "…"`, `because: "…"`, `help: "…"`, `type: …`, `type(x): …`, `layout: …`, `layout(x): …`, `instruction: …`, `reason: "…"`), found `instruction(x): ld.global`
            8: expected a line of code below this assertion
        "#]],
    );
}

#[test]
fn tests_of_a_block_are_run() {
    check(
        "test \"sum\" {\n    assert(1 + 1 == 2);\n    assert(1 + 1 == 3);\n}\n",
        expect![[r#"
            4: expected no finding, found error: [HX0612] `1 + 1 == 3` does not hold
        "#]],
    );
}

#[test]
fn a_block_may_have_several_files_and_a_target() {
    let page = r#"# Page

```hx,target=sm_80
use other::HALF;
const ONE = 2 * HALF;
const TWO = ONE + ONES; // error: [HX0101] "`ONES`"
// file: other.hx
const HALF = 1;
const WRONG = nothing; // error: [HX0102]
```

```hx,target=sm_1
```

```hxx
```
"#;
    check_page(
        page,
        expect![[r#"
        12: expected `target=sm_80` or the like, found `target=sm_1`
        15: expected the tag `hx` or `text`, found `hxx`
    "#]],
    );
    let (good, _) = page.split_once("```hx,target=sm_1\n").expect("the page has the target");
    check_page(
        good,
        expect![[r#"
        9: expected `error: [HX0102]`, found `error: [HX0101] nothing in scope is called `nothing``
    "#]],
    );
}
