//! Tests of lowering: text in, tile program or diagnostics out.

mod approximations;
mod bits;
mod bounds;
mod cache;
mod counters;
mod debug;
mod errors;
mod functions;
mod grids;
mod guards;
mod invariants;
mod joined;
mod locals;
mod moves;
mod named;
mod peel;
mod programs;
mod ptx;
mod ranges;
mod roles;
mod shapes;
mod strides;
mod unrolled;

use hx_base::Diagnostic;
use hx_hir::testing::{TestDb, draw};
use hx_hir::{Kernel, Sound, file_items, reached_errors};
use hx_target::Target;
use hx_tile::emit_tile;

use crate::{CtArgs, CtValue, Forms, LaunchFacts, lower};

/// Lowers the last kernel of the text with its default arguments and all-16 facts.
fn check(text: &str, expect: expect_test::Expect) {
    check_instance(text, &[], &LaunchFacts::all_16(), expect);
}

fn check_instance(text: &str, args: &[(&str, CtValue)], facts: &LaunchFacts, expect: expect_test::Expect) {
    expect.assert_eq(&text_of(text, args, facts));
}

/// Returns the tile program of the last kernel of the text, or the errors of the text.
fn text_of(text: &str, args: &[(&str, CtValue)], facts: &LaunchFacts) -> String {
    let args: CtArgs = args.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    let (mut text, mut actual) = (text.to_owned(), String::new());
    loop {
        let (db, file) = TestDb::with_file(&text);
        let syntax: Vec<Diagnostic> = hx_base::syntax_diagnostics(&db, file).clone();
        assert!(syntax.is_empty(), "{}", draw(&db, &syntax));
        let Some(kernel) = file_items(&db, file).kernels().last() else { break };
        let Some(sound) = Sound::of(&db, kernel) else {
            // The items that lowering refuses have diagnostics of their own, which are shown first. The loop then blanks their
            // lines, so that the rest of the text reaches lowering.
            let found = reached_errors(&db, kernel.into());
            actual += &draw(&db, found);
            text = without_lines(&text, found.iter().map(|found| found.primary.range));
            continue;
        };
        actual += &program_of(&db, sound, &args, facts);
        break;
    }
    actual
}

/// Returns the tile program of an instance, or its errors.
fn program_of(db: &TestDb, kernel: Sound<Kernel<'_>>, args: &CtArgs, facts: &LaunchFacts) -> String {
    match lower(db, kernel, args, facts, (Target::usual(), Forms::PLAIN)) {
        Ok(lowered) => emit_tile(&lowered.program),
        Err(errors) => {
            let diagnostics: Vec<Diagnostic> = errors.iter().filter_map(|e| e.to_diagnostic(db)).collect();
            draw(db, &diagnostics)
        }
    }
}

/// Returns the text with each line blanked in which one of the ranges begins.
fn without_lines(text: &str, ranges: impl Iterator<Item = hx_base::TextRange>) -> String {
    let starts: Vec<usize> = ranges.map(|range| usize::from(range.start())).collect();
    let (mut out, mut at) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        let lines = at..at + line.len();
        at = lines.end;
        match starts.iter().any(|start| lines.contains(start)) {
            true => out.push('\n'),
            false => out.push_str(line),
        }
    }
    out
}

/// Reports whether the last kernel of the text has a tile program with its default arguments.
fn lowered(text: &str) -> bool {
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().last().expect("the text has a kernel");
    let kernel = Sound::of(&db, kernel).expect("the kernel has no errors");
    lower(&db, kernel, &CtArgs::default(), &LaunchFacts::all_16(), (Target::usual(), Forms::PLAIN)).is_ok()
}
