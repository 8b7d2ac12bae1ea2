//! White-box tests of sessions: the compiler queries that an entry runs, completions, colours, the file of the typed text, and
//! the end of slow entries.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use hx_base::testing::{EventLog, MemorySystem};
use hx_inspect::{Choosing, DeviceChoice, Setup};
use hx_target::Target;
use hx_worker::WorkerCommand;
use hx_worker::toolkit::SearchEnv;
use hx_workspace::Database;

use crate::complete::Completion;
use crate::{Config, Outcome, Screen, Session, Style};

static INTERRUPT: AtomicBool = AtomicBool::new(false);

/// A session on the simulator, with the log of its queries.
struct Logged {
    session: Session,
    log: EventLog,
}

impl Logged {
    fn new() -> Logged {
        Logged::with(None, &INTERRUPT)
    }

    fn with(timeout: Option<Duration>, interrupt: &'static AtomicBool) -> Logged {
        let log = EventLog::default();
        let system = Arc::new(MemorySystem::new(Vec::<(&str, &str)>::new()));
        let db = Database::with_events(system, Some(log.callback()));
        let setup = Setup {
            device: DeviceChoice::Sim,
            target: Target::usual(),
            costs: None,
            worker: WorkerCommand::new("no-worker"),
            search: SearchEnv::default(),
            cache: None,
            choosing: Choosing::default(),
        };
        let config = Config { setup, timeout, seed: 0, interrupt, report_bug: Vec::new };
        Logged { session: Session::new(db, config), log }
    }

    /// Enters an entry and returns its output.
    fn enter(&mut self, text: &str) -> String {
        let (outcome, said) = self.ended(text);
        assert_eq!(outcome, Outcome::Good, "{text}\n{said}");
        said
    }

    /// Enters an entry, and returns its outcome and output.
    fn ended(&mut self, text: &str) -> (Outcome, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let outcome = self.session.enter(text, &mut Screen::new(&mut out, &mut err, Style::default()));
        (outcome, String::from_utf8([err, out].concat()).expect("text"))
    }

    /// Returns how many times each stage of a kernel ran since the last call.
    fn stages(&self) -> String {
        let counts = self.log.take_counts();
        let is_stage = |line: &&str| {
            ["tile_program", "solved", "thread_program"].iter().any(|stage| line.starts_with(stage))
        };
        counts.lines().filter(is_stage).map(|line| format!("{line}\n")).collect()
    }
}

/// Enters all entries, and compares the compiler stages that ran for the last one.
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

/// Only the kernel that uses the function is checked again, at once, in two instances: that of the launch, and the general one,
/// whose dimensions may have any length and in which padding is checked.
#[test]
fn a_redefinition_compiles_what_depends_on_it() {
    let entries = [F, K, OTHER, DATA, "k(a, c); other(a, c)", "fn f(x: f32) -> f32 { x * 3.0 }"];
    check(
        &entries,
        expect![[r#"
            solved × 1
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

/// A remark names the kernel that takes the new definition, or that keeps the old one because the new one does not fit.
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

/// Returns the line with each possible completion of its last word.
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
    // Named arguments of the callee complete, as in an editor.
    check("assert_close(weights, weights, ul", &["assert_close(weights, weights, ulp:"]);
    check("use std::matmul::matm", &["use std::matmul::matmul"]);
    // The body of a kernel completes names of device code, the prompt those of host code.
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
    // Unfinished and broken text must neither hide completions nor panic.
    check("kernel k(a: f32[m]) gri", &["kernel k(a: f32[m]) grid", "kernel k(a: f32[m]) grid_dim"]);
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
    // A value that shadows a function is coloured as a value.
    check("let exp = weights; exp", "^[35mlet^[0m exp = weights; exp");
    check(":load exp.hx", "^[35m:load^[0m exp.hx");
    // The text without escapes must be unchanged.
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

/// Every key changes the text, but the database must keep a single file for it.
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

/// Slow entries: one on the host, one in queries, one in the cases of a test, one that prints without end.
fn slow() -> [String; 4] {
    let statements = "acc = exp(acc) * 1.5 + load(c);\n".repeat(4000);
    let kernel = format!(
        "kernel slow(c: mut f32[32]) grid [1] threads 32 {{\nlet acc = load(c);\n{statements}copy(acc, c);\n}}"
    );
    ["randn(f64, [10000, 10000])", &kernel, ":run never", "while true { print(1) }"].map(str::to_owned)
}

/// Calls `begin`, enters a slow entry, and checks that none of its work continues afterwards.
fn ends(session: &mut Logged, entry: &str, begin: &dyn Fn()) -> (Outcome, String) {
    begin();
    let ended = session.ended(entry);
    let start = Instant::now();
    while session.session.is_anything_left() {
        assert!(start.elapsed() < Duration::from_secs(20), "{} goes on", &entry[..9]);
        std::thread::sleep(Duration::from_millis(10));
    }
    ended
}

#[test]
fn ctrl_c_ends_work_of_every_kind_and_not_the_session() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut session = Logged::with(None, &STOP);
    session.enter("let kept = 7");
    session.enter("test \"never\" for x in [randn(f64, [10000, 10000])] { }");
    for entry in slow() {
        let (outcome, said) = ends(&mut session, &entry, &|| {
            std::thread::spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                STOP.store(true, Ordering::Relaxed);
            });
        });
        assert_eq!(outcome, Outcome::Interrupted, "{}: {said}", &entry[..9]);
        STOP.store(false, Ordering::Relaxed);
        assert_eq!(session.enter("kept"), "7\n", "{}", &entry[..9]);
    }
}

#[test]
fn the_time_limit_ends_work_of_every_kind_and_not_the_session() {
    static NEVER: AtomicBool = AtomicBool::new(false);
    let mut session = Logged::with(Some(Duration::from_millis(300)), &NEVER);
    session.enter("let kept = 7");
    session.enter("test \"never\" for x in [randn(f64, [10000, 10000])] { }");
    for entry in slow() {
        let (outcome, said) = ends(&mut session, &entry, &|| {});
        assert_eq!(outcome, Outcome::Failed, "{}: {said}", &entry[..9]);
        assert!(said.contains("HX0613"), "{}: {said}", &entry[..9]);
        assert_eq!(session.enter("kept"), "7\n", "{}", &entry[..9]);
    }
}
