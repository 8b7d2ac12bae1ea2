//! Judges a mutant: by `hx check`, by all orders of its events, and by the tests of its file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use hx_base::testing::MemorySystem;
use hx_base::{Severity, codes};
use hx_compile::{Instance, LaunchFacts, check_file, default_instance, tile_program};
use hx_hir::{Kernel, file_items};
use hx_sync::protocol::orders;
use hx_syntax::ast::{AstNode, Test};
use hx_syntax::parse;
use hx_target::Target;
use hx_workspace::Database;

use super::mutate::{Mutant, mentions};
use crate::support::Sandbox;

/// The most states of a launch that are visited.
const STATES: usize = 1_500_000;

pub(super) enum Verdict {
    Error,
    Broken,
    Harmless,
    Missed(String),
}

/// The most mutants that share a database, which keeps what it knows of each.
const SHARED: usize = 16;

/// A database for the mutants of one file after the other.
#[derive(Default)]
pub(super) struct Judge {
    known: Option<(std::path::PathBuf, Database)>,
    /// The number of mutants that the database has seen.
    seen: usize,
}

impl Judge {
    pub(super) fn judge(&mut self, path: &Path, mutant: &Mutant) -> Verdict {
        self.seen += 1;
        if self.seen > SHARED || self.known.as_ref().is_none_or(|(known, _)| known != path) {
            self.seen = 1;
            self.known = Some((path.to_owned(), Database::new(Arc::new(MemorySystem::default()))));
        }
        let Some((_, db)) = &mut self.known else { return Verdict::Broken };
        let file = db.set_overlay("mutant.hx", &mutant.text);
        let db = &*db;
        let found = check_file(db, file, Target::usual());
        let errors: BTreeSet<&str> = found
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .map(|found| found.code.id)
            .collect();
        if errors.iter().any(|code| code.starts_with("HX04")) {
            return Verdict::Error;
        }
        if !errors.is_empty() {
            return Verdict::Broken;
        }
        if found.iter().any(|found| found.code == &codes::UNCHECKED_PIPELINES) {
            return Verdict::Missed("not checked".to_owned());
        }
        let kernel = file_items(db, file).kernels().find(|kernel| kernel.name(db).as_str() == mutant.kernel);
        let Some(kernel) = kernel else { return Verdict::Broken };
        match followed(db, kernel) {
            Ok(()) => match tested(path, mutant) {
                Ok(()) => Verdict::Harmless,
                Err(why) => Verdict::Missed(why),
            },
            Err(why) => Verdict::Missed(why),
        }
    }
}

/// Follows the launches of a kernel in all orders of their events. Fails if some order is wrong, if there are more states than
/// [`STATES`], or if the kernel does not compile. A kernel that `orders` cannot follow passes.
fn followed(db: &Database, kernel: Kernel<'_>) -> Result<(), String> {
    let instance = default_instance(db, kernel, Target::usual()).ok_or("no default instance")?;
    let args = instance.args(db).clone();
    // `orders` launches small extents, so the instance must not assume that they are multiples of 16.
    let facts = LaunchFacts { rest: 1, ..LaunchFacts::all_16() };
    let small = Instance::chosen(db, kernel, args, Target::usual(), facts);
    let lowered = match tile_program(db, small) {
        Ok(lowered) => lowered,
        Err(_) => tile_program(db, instance).as_ref().map_err(|stop| format!("{stop:?}"))?,
    };
    let Some(found) = orders(&lowered.program, STATES, &|| ()) else { return Ok(()) };
    match (found.wrong, found.cut) {
        (Some(wrong), _) => Err(format!("wrong in some order: {wrong:?}")),
        (None, true) => {
            Err(format!("too many orders: {} states of {} launches", found.states, found.launches))
        }
        (None, false) => Ok(()),
    }
}

/// Runs the tests that name the kernel of a mutant on the simulator, each in four orders. Fails with the first error of a test.
fn tested(path: &Path, mutant: &Mutant) -> Result<(), String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("mutant.hx");
    let sandbox = Sandbox::new();
    sandbox.write(name, launching(&mutant.text, &mutant.kernel).as_bytes());
    let ran = sandbox.run(&["test", name, "--device", "sim", "--orders", "4", "--fail-fast"]);
    match ran.code {
        0 => Ok(()),
        _ => {
            let first = ran.stderr.lines().find(|line| line.contains("error")).unwrap_or_default();
            Err(format!("the simulator finds it: {first}"))
        }
    }
}

/// Returns the text without the tests that do not name the kernel; the whole text if no test names it.
fn launching(text: &str, kernel: &str) -> String {
    let root = parse(text).syntax_node();
    let tests = root.descendants().filter_map(Test::cast);
    let (named, others): (Vec<Test>, Vec<Test>) = tests.partition(|test| mentions(test, kernel));
    let mut rest = text.to_owned();
    if named.is_empty() {
        return rest;
    }
    for test in others.iter().rev() {
        rest.replace_range(std::ops::Range::<usize>::from(test.syntax().text_range()), "");
    }
    rest
}
