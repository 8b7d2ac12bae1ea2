//! Sessions from the inside: what an entry makes the compiler do.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect};
use hx_base::testing::{EventLog, MemorySystem};
use hx_driver::{DeviceChoice, Setup};
use hx_target::Arch;
use hx_worker::WorkerCommand;
use hx_worker::toolkit::SearchEnv;
use hx_workspace::Database;

use crate::complete::Completion;
use crate::{Config, Outcome, Screen, Session, Style};

static INTERRUPT: AtomicBool = AtomicBool::new(false);

/// A session on the simulator, and the log of its queries.
struct Logged {
    session: Session,
    log: EventLog,
}

impl Logged {
    fn new() -> Logged {
        let log = EventLog::default();
        let system = Arc::new(MemorySystem::new(Vec::<(&str, &str)>::new()));
        let db = Database::with_events(system, Some(log.callback()));
        let setup = Setup {
            device: DeviceChoice::Sim,
            target: Arch::Sm90a,
            worker: WorkerCommand::new("no-worker"),
            search: SearchEnv::default(),
            cache: None,
        };
        let config = Config { setup, timeout: None, seed: 0, interrupt: &INTERRUPT, report_bug: Vec::new };
        Logged { session: Session::new(db, config), log }
    }

    /// What an entry shows.
    fn enter(&mut self, text: &str) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut screen = Screen::new(&mut out, &mut err, Style::default());
        let outcome = self.session.enter(text, &mut screen);
        let said = String::from_utf8([err, out].concat()).expect("text");
        assert_eq!(outcome, Outcome::Good, "{text}\n{said}");
        said
    }

    /// How often the stages of a kernel ran since the last call.
    fn stages(&self) -> String {
        let counts = self.log.take_counts();
        let is_stage = |line: &&str| {
            ["tile_program", "solution", "thread_program"].iter().any(|stage| line.starts_with(stage))
        };
        counts.lines().filter(is_stage).map(|line| format!("{line}\n")).collect()
    }
}

/// Enters everything but the last, and tells which stages the last one ran.
fn check(entries: &[&str], expect: Expect) {
    let mut session = Logged::new();
    let (last, before) = entries.split_last().expect("an entry");
    before.iter().for_each(|entry| drop(session.enter(entry)));
    session.stages();
    session.enter(last);
    expect.assert_eq(&session.stages());
}

const F: &str = "fn f(x: f32) -> f32 { x * 2.0 }";
const K: &str = "kernel k(a: f32[m], c: mut f32[m]) grid [1] threads 32 { copy(f(load(tile(a, [32])[.., 0])), tile(c, [32])[.., 0]); }";
const OTHER: &str = "kernel other(a: f32[m], c: mut f32[m]) grid [1] threads 32 { copy(load(tile(a, [32])[.., 0]), tile(c, [32])[.., 0]); }";
const DATA: &str = "let (a, c) = (ones(f32, [32]), empty(f32, [32]))";

#[test]
fn a_launch_again_compiles_nothing() {
    check(&[F, K, DATA, "k(a, c)", "let unrelated = 3", "k(a, c)"], expect![""]);
}

#[test]
fn a_definition_that_nobody_uses_compiles_nothing() {
    check(&[F, K, OTHER, DATA, "k(a, c); other(a, c)", "const N = 3"], expect![""]);
    check(
        &[F, K, OTHER, DATA, "k(a, c); other(a, c)", "fn g(x: f32) -> f32 { x }", "k(a, c); other(a, c)"],
        expect![""],
    );
}

/// The kernel that uses the function is checked again at once; the other is not.
#[test]
fn a_redefinition_compiles_what_depends_on_it() {
    let entries = [F, K, OTHER, DATA, "k(a, c); other(a, c)", "fn f(x: f32) -> f32 { x * 3.0 }"];
    check(
        &entries,
        expect![[r#"
            solution × 1
            thread_program × 1
            tile_program × 1
        "#]],
    );
    let mut session = Logged::new();
    entries.iter().for_each(|entry| drop(session.enter(entry)));
    session.stages();
    assert_eq!(session.enter("other(a, c); c[0]"), "1.0\n");
    assert_eq!(session.stages(), "");
    assert_eq!(session.enter("k(a, c); c[0]"), "3.0\n");
}

/// What an entry says of a redefinition.
#[test]
fn a_redefinition_tells_who_uses_it() {
    let mut session = Logged::new();
    [F, K, OTHER].iter().for_each(|entry| drop(session.enter(entry)));
    let said = session.enter("const N = 1");
    assert_eq!(said, "");
    assert_eq!(session.enter("fn f(x: f32) -> f32 { x * 3.0 }"), "`k` uses the new definition\n");
    let said = session.enter("fn f(x: f32, y: f32) -> f32 { x * y }");
    assert!(said.ends_with("`k` keeps the definition from before, as the new one does not fit\n"), "{said}");
}

/// What the last word of a line may become, the whole lines.
fn completed(session: &mut Session, line: &str) -> Vec<String> {
    match session.complete(line, line.len()) {
        Completion::Words(start, words) => {
            words.iter().map(|word| format!("{}{}", &line[..start], word.text)).collect()
        }
        Completion::File => vec!["FILE".to_owned()],
    }
}

#[test]
fn words_fit_their_place() {
    let mut it = Logged::new();
    it.enter("let weights = arange(f32, 8)");
    it.enter("kernel wide(a: f32[m], c: mut f32[m]) grid [1] threads 32 { let r = load(tile(a, [32])[.., 0]); copy(r, tile(c, [32])[.., 0]); }");
    let mut check = |line: &str, expected: &[&str]| {
        assert_eq!(completed(&mut it.session, line), expected, "{line}");
    };
    check("let x = wei", &["let x = weights"]);
    check("wid", &["wide"]);
    check("weights.me", &["weights.mean"]);
    check("weights.sh", &["weights.shape"]);
    check("let q = 1; q + wei", &["let q = 1; q + weights"]);
    // The arguments of what is called, as in an editor.
    check("assert_close(weights, weights, ul", &["assert_close(weights, weights, ulp:"]);
    check("use std::matmul::matm", &["use std::matmul::matmul"]);
    // In a kernel what a kernel may say, at the prompt what host code may.
    check(
        "kernel k(a: f32[m]) grid [1] threads 32 {\n    let r = regis",
        &["kernel k(a: f32[m]) grid [1] threads 32 {\n    let r = register_tensor"],
    );
    check("kernel k(a: f32[m]) grid [1] threads 32 {\n    let r = weig", &[]);
    check("regis", &[]);
    check(":lay", &[":layout"]);
    check(":device s", &[":device sim"]);
    check(":type weights.su", &[":type weights.sum"]);
    check(":layout wi", &[":layout wide"]);
    check(":layout wide.", &[":layout wide.r"]);
    check(":why r", &[":why r"]);
    check(":why wi", &[":why wide"]);
    check("?rand", &["?randn"]);
    check(":load ke", &["FILE"]);
    check("let w = load(\"we", &["FILE"]);
    check("let é = 1; é.ran", &["let é = 1; é.rank"]);
    // Half of something is no reason to fall silent, or over.
    check("kernel k(a: f32[m]) gri", &["kernel k(a: f32[m]) grid"]);
    check(")) } wei", &[")) } weights"]);
}

#[test]
fn colours_are_those_of_meanings() {
    let mut it = Logged::new();
    it.enter("let weights = arange(f32, 8)");
    let mut check = |line: &str, expected: &str| {
        assert_eq!(it.session.colored(line).replace('\x1b', "^"), expected, "{line}");
    };
    check("let x = 1", "^[35mlet^[0m x = ^[36m1^[0m");
    check(":type f16", "^[35m:type^[0m ^[33mf16^[0m");
    check("randn(f16, [64])", "^[34mrandn^[0m(^[33mf16^[0m, [^[36m64^[0m])");
    // A value that is called as a function of the language is a value.
    check("let exp = weights; exp", "^[35mlet^[0m exp = weights; exp");
    check(":load exp.hx", "^[35m:load^[0m exp.hx");
    // Only escapes are added.
    for text in ["/* open\nand on", "\"tab", ":", ":layout x", "let é = 'x'", "x // hm\n", "kernel k(", "§ 1"]
    {
        let mut plain = String::new();
        let mut rest = it.session.colored(text);
        while let Some(start) = rest.find('\x1b') {
            plain += &rest[..start];
            let end = rest[start..].find('m').expect("an escape ends") + start;
            rest = rest[end + 1..].to_owned();
        }
        assert_eq!(plain + &rest, text);
    }
}

/// Every key makes another text: they are one file of the database, not one each.
#[test]
fn typing_makes_one_file() {
    let mut it = Logged::new();
    let first = it.session.typed("l");
    assert_eq!(it.session.typed("le"), first);
    assert_eq!(it.session.typed("let"), first);
    it.enter("let a = 1");
    let second = it.session.typed("a");
    assert_ne!(second, first, "it sees the new cell");
    assert_eq!(it.session.typed("a + 1"), second);
}
