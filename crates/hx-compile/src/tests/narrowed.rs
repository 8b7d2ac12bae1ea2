//! Accesses that fall back to single elements because they share a buffer, and the second buffer that is offered for them.

use expect_test::expect;

use super::{check, target};
use crate::check_file;
use crate::test_db::TestDb;

/// A buffer that is written once, and read by columns and by rows in turns.
fn read_in_turns(reads: usize) -> String {
    let outputs: String = (0..reads).map(|i| format!(", y{i}: mut f16[64, 64]")).collect();
    let read = |i: usize| {
        let turned = if i.is_multiple_of(2) { ".T" } else { "" };
        format!("    copy(s{turned}, y{i});\n")
    };
    let reads: String = (0..reads).map(read).collect();
    format!(
        "kernel turns(x: f16[64, 64]{outputs}) grid [1] threads 128 {{
    let s = shared_tensor(f16, [64, 64]);
    copy(x, s);
    sync();
{reads}}}
"
    )
}

/// The note says which accesses are narrow, and what the second buffer that was solved takes.
#[test]
fn a_second_buffer_is_offered_where_it_is_cheaper() {
    check(
        &read_in_turns(6),
        expect![[r#"
            HX0306 `shared_tensor(f16, [64, 64])` 3 of the 7 accesses to `s` move single elements: no layout lets all of them be wide
              `s.T`: 2 B an access: it would be wider without the others
              `s.T`: 2 B an access: it would be wider without the others
              `s.T`: 2 B an access: it would be wider without the others
              help: a second shared tensor, with the same writes as `s`, for what is read here takes 5741 of the 6057 cycles that a block is estimated to take
        "#]],
    );
}

/// A single transposed read costs the same with the existing buffer, so no second buffer is offered.
#[test]
fn a_second_buffer_that_is_no_cheaper_is_not_offered() {
    check(
        &read_in_turns(1),
        expect![[r#"
            HX0306 `s.T` `s` is read 2 B at a time
              `copy(s.T, y0)`: the layout follows from this `copy`
              note: `ld.shared.b16` runs 32 times a thread here, which is 16% of a block's estimated cycles
              note: `ld.shared.v4.b32` would ask for `((8,8),64):((1,D),D)`, which `(64,(8,8)):(D,(1,D))` excludes
              note: of the pins and rearrangements of its tensors that were tried, none makes it wider
        "#]],
    );
}

/// Checks a file, replaces its text, checks it again: the queries of the second round that solve layouts.
fn solved_again(before: &str, after: &str) -> String {
    let (mut db, file) = TestDb::with_file(before);
    assert!(check_file(&db, file, target()).iter().any(|found| found.code.id == "HX0306"));
    db.log.take();
    assert!(file.update_text(&mut db, after));
    assert!(check_file(&db, file, target()).iter().any(|found| found.code.id == "HX0306"));
    let counts = db.log.take_counts();
    let solves = |line: &&str| line.starts_with("solved ") || line.starts_with("second_of ");
    counts.lines().filter(solves).map(|line| format!("{line}\n")).collect()
}

/// The second buffer is solved once: neither text above the kernel nor another kernel solves it again, an edit of its own kernel does.
#[test]
fn a_second_buffer_is_solved_for_its_own_kernel_alone() {
    let turns = read_in_turns(6);
    expect![""].assert_eq(&solved_again(&turns, &format!("// A comment.\n\n{turns}")));
    let other = |threads: u32| {
        format!(
            "{turns}
kernel other(x: f16[m], y: mut f16[m]) grid [cdiv(m, 256)] threads {threads} {{
    copy(load(tile(x, [256])[.., block_idx]), tile(y, [256])[.., block_idx]);
}}
"
        )
    };
    expect![[r#"
        solved × 1
    "#]]
    .assert_eq(&solved_again(&other(64), &other(32)));
    expect![[r#"
        second_of × 1
        solved × 1
    "#]]
    .assert_eq(&solved_again(&turns, &turns.replace("threads 128", "threads 64")));
}
