//! Accesses that fall back to single elements because they share a buffer, and the second buffer that is offered for them.

use expect_test::{Expect, expect};

use super::{ARCH, check};
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
        HX0307 `shared_tensor(f16, [64, 64])` 3 of the 7 accesses to `s` move single elements: no layout lets all of them be wide
          `s.T`: 2 B an access: it would be wider without the others
          `s.T`: 2 B an access: it would be wider without the others
          `s.T`: 2 B an access: it would be wider without the others
          help: a second shared tensor, with the same writes as `s`, for what is read here takes 5709 of the 5961 cycles that a block is estimated to take
    "#]],
    );
}

/// A single transposed read costs the same with the existing buffer, so no second buffer is offered.
#[test]
fn a_second_buffer_that_is_no_cheaper_is_not_offered() {
    check(&read_in_turns(1), expect![""]);
}

/// Checks a file, replaces its text, checks it again: the queries that ran in the second round.
fn check_again(before: &str, after: &str, expected: Expect) {
    let (mut db, file) = TestDb::with_file(before);
    assert!(check_file(&db, file, ARCH).iter().any(|found| found.code.id == "HX0307"));
    db.log.take();
    assert!(file.update_text(&mut db, after));
    assert!(check_file(&db, file, ARCH).iter().any(|found| found.code.id == "HX0307"));
    expected.assert_eq(&db.log.take_counts());
}

/// The second buffer is solved once: neither text above the kernel nor another kernel solves it again, an edit of its own kernel does.
#[test]
fn a_second_buffer_is_solved_for_its_own_kernel_alone() {
    let turns = read_in_turns(6);
    check_again(
        &turns,
        &format!("// A comment.\n\n{turns}"),
        expect![[r#"
        check_file × 1
        file_items × 1
        instance_diagnostics × 1
        item_diagnostics × 1
        kernel_diagnostics × 1
        line_index × 1
        parse × 1
        relative_lines × 1
        syntax_diagnostics × 1
        whole_file × 1
    "#]],
    );
    let other = |threads: u32| {
        format!(
            "{turns}
kernel other(x: f16[m], y: mut f16[m]) grid [cdiv(m, 256)] threads {threads} {{
    copy(load(tile(x, [256])[.., block_idx]), tile(y, [256])[.., block_idx]);
}}
"
        )
    };
    check_again(
        &other(64),
        &other(32),
        expect![[r#"
            body_names × 1
            body_of × 1
            cuda_source × 1
            file_diagnostics × 1
            file_items × 1
            infer_body × 1
            instance_diagnostics × 1
            item_diagnostics × 2
            kernel_diagnostics × 1
            kernel_signature × 1
            line_index × 1
            lowered_kernel × 1
            parse × 1
            protocol_faults × 1
            relative_lines × 1
            routed_program × 1
            signature_names × 1
            signature_types × 1
            solution × 1
            synchronization × 1
            syntax_diagnostics × 1
            thread_program × 1
            tile_program × 1
            uses × 1
            violations × 1
            whole_file × 1
        "#]],
    );
    check_again(
        &turns,
        &turns.replace("threads 128", "threads 64"),
        expect![[r#"
            body_names × 1
            body_of × 1
            check_file × 1
            cuda_source × 1
            file_diagnostics × 1
            file_items × 1
            infer_body × 1
            instance_diagnostics × 1
            item_diagnostics × 1
            kernel_diagnostics × 1
            kernel_signature × 1
            line_index × 1
            lowered_kernel × 1
            parse × 1
            protocol_faults × 1
            relative_lines × 1
            routed_program × 1
            second_of × 1
            signature_names × 1
            signature_types × 1
            solution × 1
            synchronization × 1
            syntax_diagnostics × 1
            thread_program × 1
            tile_program × 1
            uses × 1
            violations × 1
            whole_file × 1
        "#]],
    );
}
