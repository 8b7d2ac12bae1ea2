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
