//! Tests of lowering: text in, tile program or diagnostics out.

mod debug;
mod errors;
mod moves;
mod programs;

use hx_base::Diagnostic;
use hx_hir::file_items;
use hx_tile::emit_tile;

use crate::test_db::{TestDb, draw};
use crate::{CtArgs, CtValue, LaunchFacts, lower};

/// Lowers the last kernel of the text with its default arguments and all-16 facts.
fn check(text: &str, expect: expect_test::Expect) {
    check_instance(text, &[], &LaunchFacts::all_16(), expect);
}

fn check_instance(text: &str, args: &[(&str, CtValue)], facts: &LaunchFacts, expect: expect_test::Expect) {
    let (db, file) = TestDb::with_file(text);
    let syntax: Vec<Diagnostic> = hx_base::syntax_diagnostics(&db, file).clone();
    assert!(syntax.is_empty(), "{}", draw(&db, &syntax));
    let kernel = file_items(&db, file).kernels().last().expect("the text has a kernel");
    let args: CtArgs = args.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    let actual = match lower(&db, kernel, &args, facts) {
        Ok(lowered) => emit_tile(&lowered.program),
        Err(errors) => {
            let diagnostics: Vec<Diagnostic> = errors.iter().filter_map(|e| e.to_diagnostic(&db)).collect();
            draw(&db, &diagnostics)
        }
    };
    expect.assert_eq(&actual);
}
