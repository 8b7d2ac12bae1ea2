//! Edits of a file with the shipped matmul and a second kernel, in the real database: which queries run again when all answers
//! about the file are requested, and which answers stay the same. Each query has its own tests in its crate.

use std::sync::Arc;

use expect_test::{Expect, expect};
use hx_base::testing::{EventLog, MemorySystem};
use hx_compile::{CtArgs, Instance, LaunchFacts, WrittenArg, check_file, cuda_source, default_instance};
use hx_hir::file_items;
use hx_target::Target;
use hx_worker::{Cache, CompileJob};
use hx_workspace::Database;

const MATMUL: &str = include_str!("../std/matmul.hx");

const SECOND: &str = "
kernel twice(x: f32[m], y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    let i = block_idx;
    let r = register_tensor(f32, [256]);
    copy(global_view(x[i * 256..], (256) : (1)), r);
    copy(r, global_view(y[i * 256..], (256) : (1)));
}
";

/// The queries that an unrelated edit must not run again: type inference and all later stages.
const COUNTED: [&str; 6] =
    ["infer_body", "tile_program", "solved", "thread_program", "synchronization", "cuda_source"];

/// Requests all answers about a file: its diagnostics, and the CUDA text and the cache key of each kernel.
fn ask(db: &Database, file: hx_base::SourceFile) -> Vec<(String, String)> {
    let found = check_file(db, file, Target::usual());
    assert!(!found.iter().any(|found| found.is_error()), "{found:?}");
    let texts = file_items(db, file).kernels().map(|kernel| {
        let instance = default_instance(db, kernel, Target::usual()).expect("every parameter has a default");
        let source = cuda_source(db, instance).as_ref().expect("the kernel has CUDA text");
        let job = CompileJob::of_kernel(source.text.clone(), &source.symbol, Target::usual().name.as_str());
        (source.text.clone(), Cache::key(&job, &hx_worker::CompilerId::of_bytes(b"13.0")))
    });
    texts.collect()
}

/// Requests the answers, edits, and requests them again. Compares the counts of the counted queries, and returns both answers.
fn check(edit: impl FnOnce(&str) -> String, expected: Expect) -> [Vec<(String, String)>; 2] {
    let log = EventLog::default();
    let mut db = Database::with_events(Arc::new(MemorySystem::default()), Some(log.callback()));
    let text = format!("{MATMUL}{SECOND}");
    let file = db.set_overlay("a.hx", &text);
    let before = ask(&db, file);
    log.take();
    let edited = edit(&text);
    assert_ne!(edited, text, "the edit changes nothing");
    db.set_overlay("a.hx", &edited);
    let after = ask(&db, file);
    let counts = log.take_counts();
    let counted = |line: &&str| COUNTED.iter().any(|name| line.split(' ').next() == Some(name));
    expected.assert_eq(&counts.lines().filter(counted).map(|line| format!("{line}\n")).collect::<String>());
    [before, after]
}

#[test]
fn whitespace_infers_nothing() {
    let edit = |text: &str| text.replace("gemm(rc, ra, rb);", "gemm( rc,ra , rb ); // multiply");
    let [before, after] = check(edit, expect![[""]]);
    assert!(before == after);
}

/// The CUDA text contains lines of the kernel, so an added line inside the kernel rewrites it, from the same thread program.
#[test]
fn a_line_more_within_a_kernel_solves_nothing() {
    let edit = |text: &str| text.replace("gemm(rc, ra, rb);", "gemm(rc, ra,\n            rb);");
    let [before, after] = check(
        edit,
        expect![[r#"
        cuda_source × 1
    "#]],
    );
    assert!(before[1] == after[1]);
}

#[test]
fn an_edited_body_solves_its_kernel_alone() {
    let edit = |text: &str| {
        text.replace("let r = register_tensor(f32, [256]);\n", "let r = register_tensor(f32, [128]);\n")
            .replace("256", "128")
    };
    let [before, after] = check(
        edit,
        expect![[r#"
            cuda_source × 1
            infer_body × 1
            solved × 1
            synchronization × 1
            thread_program × 1
            tile_program × 1
        "#]],
    );
    assert!(before[0] == after[0]);
    assert!(before[1] != after[1]);
}

/// Only the new items are inferred.
#[test]
fn an_item_added_above_solves_nothing() {
    let edit = |text: &str| format!("const A = 1;\n\nfn f(x: f32) -> f32 {{\n    x + 1.0\n}}\n\n{text}");
    let [before, after] = check(
        edit,
        expect![[r#"
        infer_body × 2
    "#]],
    );
    assert!(before == after, "neither the CUDA text nor the cache key may change");
}

#[test]
fn a_comment_above_changes_no_text() {
    let [before, after] = check(|text| format!("// a comment\n\n{text}"), expect![[""]]);
    assert!(before == after);
}

#[test]
fn an_edited_test_solves_nothing() {
    let [before, after] = check(
        |text| text.replace("ulp: 4", "ulp: 2"),
        expect![[r#"
        infer_body × 1
    "#]],
    );
    assert!(before == after);
}

#[test]
fn a_broken_item_beside_solves_nothing() {
    // The file has an error now, so request only the answers about kernels.
    let log = EventLog::default();
    let mut db = Database::with_events(Arc::new(MemorySystem::default()), Some(log.callback()));
    let file = db.set_overlay("a.hx", MATMUL);
    let [before] = ask(&db, file).try_into().expect("one kernel");
    log.take();
    db.set_overlay("a.hx", &format!("kernel half(\n\n{MATMUL}"));
    let kernel = file_items(&db, file).kernels().find(|kernel| kernel.name(&db) == "matmul");
    let instance = default_instance(&db, kernel.expect("it is still there"), Target::usual());
    let source = cuda_source(&db, instance.expect("every parameter has a default")).as_ref();
    assert_eq!(source.expect("it still has CUDA text").text, before.0);
    assert!(!log.take_counts().contains("solved"));
}

/// An instance with a function as its argument is known by the name of the function. Its code is that of the function's text: an
/// edit of this function changes it, an edit of another one does not.
#[test]
fn an_instance_follows_the_text_of_its_function() {
    const TEXT: &str = "
fn same(x: f32) -> f32 { x }
fn half(x: f32) -> f32 { x * 0.5 }
fn other(x: f32) -> f32 { x + 1.0 }
kernel map<F: fn = same>(x: f32[m], y: mut f32[m]) grid [cdiv(m, 128)] threads 128 {
    copy(F(load(tile(x, [128])[.., block_idx])), tile(y, [128])[.., block_idx]);
}
";
    let log = EventLog::default();
    let mut db = Database::with_events(Arc::new(MemorySystem::default()), Some(log.callback()));
    let file = db.set_overlay("a.hx", TEXT);
    let ask = |db: &Database| {
        let kernel = file_items(db, file).kernels().next().expect("there is one");
        let half = "half".parse::<WrittenArg>().and_then(|half| half.resolve(db, file));
        let args = CtArgs::from([("F".into(), half.expect("it is in the file"))]);
        let instance = Instance::chosen(db, kernel, args, Target::usual(), LaunchFacts::all_16());
        cuda_source(db, instance).as_ref().expect("the kernel has CUDA text").text.clone()
    };
    let mut before = ask(&db);
    let mut actual = String::new();
    for (from, to) in [("x + 1.0", "x + 2.0"), ("x * 0.5 }", "x * 0.5 } // half"), ("x * 0.5", "x * 0.25")] {
        log.take();
        db.set_overlay("a.hx", &file.text(&db).replace(from, to));
        let after = ask(&db);
        let counts = log.take_counts();
        let ran =
            counts.lines().filter(|line| COUNTED.iter().any(|name| line.split(' ').next() == Some(name)));
        let ran: Vec<&str> = ran.map(|line| line.split(' ').next().unwrap_or_default()).collect();
        let text = if after == before { "the same text" } else { "another text" };
        actual += &format!("{to}: {text}, after {ran:?}\n");
        before = after;
    }
    expect![[r#"
        x + 2.0: the same text, after []
        x * 0.5 } // half: the same text, after []
        x * 0.25: another text, after ["cuda_source", "infer_body", "solved", "thread_program", "tile_program"]
    "#]].assert_eq(&actual);
}

/// The `tune` clause is not part of a kernel. The line marks move if the clause has a line of its own.
#[test]
fn an_edited_tune_clause_lowers_and_solves_nothing() {
    check(
        |text| text.replacen("    grid [", "    tune BM in [64, 128]\n    grid [", 1),
        expect![[r#"
        cuda_source × 1
    "#]],
    );
    check(|text| text.replacen("    grid [", "    tune BM in [64, 128] grid [", 1), expect![[r#""#]]);
}
