//! Tests: text in, diagnostics and types out.

mod cells;
mod checks;
mod docs;
mod family;
mod hosts;
mod incremental;
mod names;
mod ptx;
mod roles;
mod sketches;
mod sound;
mod tune;
mod types;
mod words;

use expect_test::Expect;
use hx_base::SourceFile;

use crate::testing::{TestDb, draw};
use crate::{Pat, body_of, file_diagnostics, file_items, infer_body};

/// Checks the diagnostics of a file without syntax errors.
fn check(text: &str, expect: Expect) {
    let (db, file) = TestDb::with_file(text);
    expect.assert_eq(&diagnostics(&db, file));
}

/// Checks like [`check`] the last of several files, each given by its path.
fn check_files(files: &[(&str, &str)], expect: Expect) {
    let mut db = TestDb::default();
    let added: Vec<SourceFile> = files.iter().map(|(path, text)| db.add(path, text)).collect();
    let last = added.last().expect("there is a file");
    expect.assert_eq(&diagnostics(&db, *last));
}

fn diagnostics(db: &TestDb, file: SourceFile) -> String {
    let syntax = hx_base::syntax_diagnostics(db, file);
    assert!(syntax.is_empty(), "{}", draw(db, syntax));
    draw(db, file_diagnostics(db, file))
}

/// Returns a kernel around the statements under test.
fn kernel(statements: &str) -> String {
    format!(
        "kernel probe<BM = 64, BK = 16>(a: f16[m, k], c: mut f16[m, k], e: i32[m], s: f32)\n\
         grid [cdiv(m, BM), 2] threads 128 {{\n{statements}\n}}\n"
    )
}

/// Checks the types of the names that statements in [`kernel`] introduce.
fn check_types(statements: &str, expect: Expect) {
    let text = kernel(statements);
    let (db, file) = TestDb::with_file(&text);
    let mut out = diagnostics(&db, file);
    out = out.lines().filter(|l| l.starts_with("error")).map(|l| format!("{l}\n")).collect();
    for item in &file_items(&db, file).items {
        let (body, types) = (body_of(&db, *item), infer_body(&db, *item));
        for (pat, ty) in types.pats.iter() {
            if let Pat::Bind(name) = &body.store[pat] {
                out.push_str(&format!("{name}: {ty}\n"));
            }
        }
    }
    expect.assert_eq(&out);
}
