//! Tests which queries run again after an edit, the text of the stages, and the diagnostics of a file.

mod advice;
mod associative;
mod asynchronous;
mod boxes;
mod cancel;
mod copies;
mod estimates;
mod facts;
mod joined;
mod launches;
mod members;
mod named;
mod narrowed;
mod order;
mod orders;
mod packed_boxes;
mod padding;
mod pipelines;
mod previous;
mod products;
mod registers;
mod remedies;
mod roles;
mod scans;
mod stores;
mod sync;
mod together;
mod trips;
mod turns;

use expect_test::{Expect, expect};
use hx_base::{Db as _, SourceFile, codes};
use hx_hir::file_items;
use hx_target::Target;

use crate::{
    Emit, Instance, candidates, check_file, cuda_source, default_instance, emit, solved, test_db::TestDb,
};

fn target() -> Target {
    Target::builtin("sm_80")
}

/// Two kernels that are quick to solve.
const TWO: &str = "\
kernel twice(x: f32[m], y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    let i = block_idx;
    let r = register_tensor(f32, [256]);
    copy(global_view(x[i * 256..], (256) : (1)), r);
    copy(r, global_view(y[i * 256..], (256) : (1)));
}

kernel tile(x: f16[m, n], y: mut f16[m, n]) grid [cdiv(m, 16)] threads 64 {
    let i = block_idx;
    let r = register_tensor(f16, [16, 64]);
    let s = shared_tensor(f16, [16, 64]);
    copy(global_view(x[i * 16.., ..], (16, 64) : (n, 1)), r);
    copy(r, s);
    sync();
    copy(s, r);
    copy(r, global_view(y[i * 16.., ..], (16, 64) : (n, 1)));
}
";

/// Returns the CUDA text of every kernel's default instance, or the reason why there is none.
fn all_cuda(db: &TestDb, file: SourceFile) -> Vec<String> {
    let texts = file_items(db, file).kernels().map(|kernel| {
        let Some(instance) = default_instance(db, kernel, target()) else { return "no default".to_owned() };
        match cuda_source(db, instance) {
            Ok(source) => source.text.clone(),
            Err(stop) => format!("{stop:?}"),
        }
    });
    texts.collect()
}

/// Compiles a file, replaces its text and compiles again. Compares the queries above parsing that run in the second round.
fn check_edit(before: &str, after: &str, expected: Expect) -> (Vec<String>, Vec<String>) {
    let (mut db, file) = TestDb::with_file(before);
    let old = all_cuda(&db, file);
    assert!(old.iter().all(|text| text.contains("__global__")), "{old:#?}");
    db.log.take();
    assert!(file.update_text(&mut db, after));
    let new = all_cuda(&db, file);
    expected.assert_eq(&db.log.take_counts());
    (old, new)
}

/// The list of members is read by launches, and by nothing that compiles the kernel.
#[test]
fn an_edit_of_a_family_solves_nothing() {
    let before = "#[family(f, f<B = 64>)]
kernel f<B = 32>(x: f32[n], y: mut f32[n]) grid [cdiv(n, B)] threads 32 {
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
}
";
    let (old, new) = check_edit(
        before,
        &before.replace("f<B = 64>", "f<B = 128>"),
        expect![[r#"
            body_of × 1
            family_names × 1
            family_of × 1
            file_items × 1
            has_syntax_errors × 1
            is_exact × 1
            item_diagnostics × 1
            kernel_family × 1
            kernel_signature × 1
            lowered_family × 1
            lowered_kernel × 1
            lowered_tune × 1
            parse × 1
            relative_lines × 1
            syntax_diagnostics × 1
            whole_file × 1
        "#]],
    );
    assert_eq!(old, new);
}

#[test]
fn whitespace_and_comments_infer_and_solve_nothing() {
    let after = TWO.replace("    copy(r, s);\n", "    copy( r,s ); // to shared\n");
    let (old, new) = check_edit(
        TWO,
        &after,
        expect![[r#"
            body_of × 1
            file_items × 1
            has_syntax_errors × 1
            is_exact × 1
            item_diagnostics × 2
            kernel_signature × 1
            lowered_family × 1
            lowered_kernel × 1
            lowered_tune × 1
            parse × 1
            relative_lines × 1
            syntax_diagnostics × 1
            whole_file × 1
        "#]],
    );
    assert_eq!(old, new);
}

#[test]
fn a_line_more_above_a_kernel_changes_nothing_of_it() {
    let (old, new) = check_edit(
        TWO,
        &format!("// a comment\n\n{TWO}"),
        expect![[r#"
            file_items × 1
            has_syntax_errors × 1
            item_diagnostics × 2
            parse × 1
            syntax_diagnostics × 1
            whole_file × 1
        "#]],
    );
    assert_eq!(old, new);
}

#[test]
fn an_edited_body_solves_that_kernel_alone() {
    let after = TWO.replace("[256]", "[128]").replace("256", "128");
    let (old, new) = check_edit(
        TWO,
        &after,
        expect![[r#"
            body_names × 1
            body_of × 1
            chosen × 1
            cuda_source × 1
            family_of × 1
            file_items × 1
            has_syntax_errors × 1
            infer_body × 1
            is_exact × 1
            item_diagnostics × 2
            kernel_signature × 1
            lowered_family × 1
            lowered_kernel × 1
            lowered_tune × 1
            parse × 1
            relative_lines × 1
            signature_names × 1
            signature_types × 1
            solved × 1
            syntax_diagnostics × 1
            thread_program × 1
            tile_program × 1
            tune_names × 1
            tune_types × 1
            uses × 1
            whole_file × 1
        "#]],
    );
    assert_ne!(old[0], new[0]);
    assert_eq!(old[1], new[1]);
}

#[test]
fn an_item_added_above_solves_nothing() {
    let after = format!("const A = 1;\n\nfn f(x: f32) -> f32 {{ x }}\n\n{TWO}");
    let (old, new) = check_edit(
        TWO,
        &after,
        expect![[r#"
            file_items × 1
            find_item × 2
            has_syntax_errors × 1
            imports × 1
            item_diagnostics × 2
            item_named × 11
            lowered_fn × 1
            parse × 1
            syntax_diagnostics × 1
            whole_file × 1
        "#]],
    );
    assert_eq!(old, new);
}

#[test]
fn a_kernel_added_above_is_solved_alone() {
    let (old, new) = check_edit(
        TWO,
        &format!("kernel new(c: mut f32[m]) grid [1] threads 32 {{\n}}\n\n{TWO}"),
        expect![[r#"
            body_names × 1
            body_of × 1
            chosen × 1
            cuda_source × 1
            errors_of_file × 1
            family_names × 1
            family_of × 1
            file_items × 1
            find_item × 2
            has_errors × 1
            has_syntax_errors × 1
            imports × 1
            infer_body × 1
            is_sound × 1
            item_diagnostics × 3
            item_named × 11
            kernel_family × 1
            kernel_signature × 1
            kernel_tune × 1
            lowered_family × 1
            lowered_kernel × 1
            lowered_tune × 1
            own_errors × 3
            parse × 1
            signature_names × 1
            signature_types × 1
            solved × 1
            syntax_diagnostics × 1
            thread_program × 1
            tune_names × 1
            tune_types × 1
            whole_file × 1
        "#]],
    );
    assert_eq!(old, new[1..]);
}

#[test]
fn another_file_solves_nothing() {
    let (mut db, file) = TestDb::with_file(TWO);
    all_cuda(&db, file);
    let other = SourceFile::workspace(&db, "b.hx", "const A = 1;\n");
    db.workspace().add_files(&mut db, [other]);
    db.log.take();
    all_cuda(&db, file);
    other.update_text(&mut db, "const A = 2;\n");
    all_cuda(&db, file);
    expect![[""]].assert_eq(&db.log.take_counts());
}

/// Lowering reads the target, and not the candidate.
#[test]
fn candidates_share_a_tile_program() {
    let (db, file) = TestDb::with_file(TWO);
    all_cuda(&db, file);
    db.log.take();
    let kernel = file_items(&db, file).kernels().next().expect("there are two");
    let own = default_instance(&db, kernel, target()).expect("it has a default");
    assert!(solved(&db, own.with_candidate(&db, 1)).is_err());
    expect![[r#"
        candidates × 1
        solved × 1
    "#]]
    .assert_eq(&db.log.take_counts());
}

fn check_emit(text: &str, stage: Emit, expected: Expect) {
    let (db, file) = TestDb::with_file(text);
    let mut out = String::new();
    for kernel in file_items(&db, file).kernels() {
        let text = default_instance(&db, kernel, target()).map(|instance| emit(&db, instance, stage));
        match text {
            Some(Ok(text)) => out.push_str(&text),
            Some(Err(stop)) => out.push_str(&format!("{stop:?}\n")),
            None => out.push_str("no default instance\n"),
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn the_stages_have_a_text() {
    check_emit(
        TWO,
        Emit::Constraints,
        expect![[r#"
            #0 copy(x[block_idx.x * 256 + 0..256], r)
                f_r ∘ q⁻¹ = m_x ∘ p⁻¹
                with ld.global.v4.b32
            #1 copy(r, y[block_idx.x * 256 + 0..256])
                f_r ∘ q⁻¹ = m_y ∘ p⁻¹
                with st.global.v4.b32
            #0 copy(x[block_idx.x * 16 + 0..16, 0..64], r)
                f_r ∘ q⁻¹ = m_x ∘ p⁻¹
                with ld.global.v4.b32
            #1 copy(r, s[0..16, 0..64])
                f_r ∘ q⁻¹ = m_s ∘ p⁻¹
                with st.shared.v4.b32
                m_s = (16,(8,8)):(D,(1,D))
            #3 copy(s[0..16, 0..64], r)
                f_r ∘ q⁻¹ = m_s ∘ p⁻¹
                with ld.shared.v4.b32
                m_s = (16,(8,8)):(D,(1,D))
            #4 copy(r, y[block_idx.x * 16 + 0..16, 0..64])
                f_r ∘ q⁻¹ = m_y ∘ p⁻¹
                with st.global.v4.b32
        "#]],
    );
    check_emit(
        TWO,
        Emit::Layouts,
        expect![[r#"
        kernel twice threads 64
        r: register f32[256] = (64,4):(4,1)
            coalesced along dimension 0 of `x` (#0)
        #0 copy(x[block_idx.x * 256 + 0..256], r): ld.global.v4.b32, 16 B an access
            the widest access
        #1 copy(r, y[block_idx.x * 256 + 0..256]): st.global.v4.b32, 16 B an access
            the widest access
        shared memory: 0 B
        kernel tile threads 64
        r: register f16[16, 64] = ((8,8),(8,2)):((128,1),(16,8))
            coalesced along dimension 1 of `x` (#0)
        s: shared f16[16, 64] = (16,64):(64,1), 2048 B at 0
            the accesses unify to `(16,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#1, #3)
        #0 copy(x[block_idx.x * 16 + 0..16, 0..64], r): ld.global.v4.b32, 16 B an access
            the widest access
        #1 copy(r, s[0..16, 0..64]): st.shared.v4.b32, 16 B an access, no bank conflicts
            asks for `(16,(8,8)):(D,(1,D))`; the widest access
        #3 copy(s[0..16, 0..64], r): ld.shared.v4.b32, 16 B an access, no bank conflicts
            asks for `(16,(8,8)):(D,(1,D))`; the widest access
        #4 copy(r, y[block_idx.x * 16 + 0..16, 0..64]): st.global.v4.b32, 16 B an access
            the widest access
        shared memory: 2048 B
    "#]],
    );
}

/// Compares all diagnostics of a file, one line each, with the text they mark and their help.
fn check(text: &str, expected: Expect) {
    let (db, file) = TestDb::with_file(text);
    expected.assert_eq(&drawn(text, check_file(&db, file, target())));
}

/// Checks a file, then applies every fix and checks again. Nothing is left if there was a fix.
fn check_fixes(text: &str, expected: Expect) {
    let (text, left) = repaired(text, expected);
    assert!(left.is_empty(), "{text}\n{left:#?}");
}

/// As [`check_fixes`], where warnings and notes may be left.
fn check_repairs(text: &str, expected: Expect) {
    let (text, left) = repaired(text, expected);
    assert!(!left.iter().any(|found| found.is_error()), "{text}\n{left:#?}");
}

/// Compares the diagnostics of a file, and applies every fix. Returns the new text with its diagnostics, which are none without a fix.
fn repaired(text: &str, expected: Expect) -> (String, Vec<hx_base::Diagnostic>) {
    let (db, file) = TestDb::with_file(text);
    let found = check_file(&db, file, Target::usual());
    expected.assert_eq(&drawn(text, found));
    let mut edits: Vec<_> = found.iter().flat_map(|found| &found.fixes).flat_map(|fix| &fix.edits).collect();
    let mut text = text.to_owned();
    if edits.is_empty() {
        return (text, Vec::new());
    }
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
    for edit in edits {
        text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
    }
    let (db, file) = TestDb::with_file(&text);
    let left = check_file(&db, file, Target::usual()).to_vec();
    (text, left)
}

/// Formats diagnostics with the text that they mark.
fn drawn(text: &str, found: &[hx_base::Diagnostic]) -> String {
    let mut out = String::new();
    for found in found {
        let marked = |range: hx_base::TextRange| text[range].lines().next().unwrap_or_default().to_owned();
        out.push_str(&format!("{} `{}` {}\n", found.code.id, marked(found.primary.range), found.message));
        for label in std::iter::once(&found.primary).chain(&found.secondary).filter(|l| !l.message.is_empty())
        {
            out.push_str(&format!("  `{}`: {}\n", marked(label.range), label.message));
        }
        found.notes.iter().for_each(|note| out.push_str(&format!("  note: {note}\n")));
        found.help.iter().for_each(|help| out.push_str(&format!("  help: {help}\n")));
        found.fixes.iter().for_each(|fix| out.push_str(&format!("  fix: {}\n", fix.title)));
    }
    out
}

#[test]
fn a_good_file_has_no_finding() {
    check(TWO, expect![""]);
}

#[test]
fn threads_come_in_warps_and_blocks_are_small() {
    check(
        "kernel a(c: mut f32[m]) grid [1] threads 2048 {\n}\n",
        expect![[r#"
            HX0502 `2048` found 2048 threads, expected at most 1024
              fix: replace it by `1024`
        "#]],
    );
    check(
        "kernel a(c: mut f32[m]) grid [1] threads 100 {\n}\n",
        expect![[r#"
            HX0506 `100` found 100 threads, expected a multiple of 32
              fix: replace it by `96`
              fix: replace it by `128`
        "#]],
    );
}

#[test]
fn too_much_shared_memory_lists_the_tensors() {
    let text = TWO.replace("64]", "8192]").replace("64)", "8192)");
    check(
        &text,
        expect![[r#"
            HX0503 `register_tensor(f16, [16, 8192])` `r` takes 1024 registers of each thread, which has 255 on sm_80
              `register_tensor(f16, [16, 8192])`: [16, 8192] of f16 are 65536 registers for 64 threads
              help: a smaller tile or more threads
        "#]],
    );
}

/// The causes are the gaps of a pinned layout, and a missing barrier between the uses of two buffers.
#[test]
fn too_much_shared_memory_has_a_cause() {
    check(
        "kernel k(x: f16[m, n], y: mut f16[m, n]) grid [1] threads 128 {
    let a = shared_tensor(f16, [128, 64], layout: (128, 64) : (2048, 1));
    copy(load(tile(x, [128, 64])[.., .., 0, 0]), a);
    sync();
    copy(a, tile(y, [128, 64])[.., .., 0, 0]);
}
",
        expect![[r#"
            HX0501 `shared_tensor(f16, [128, 64], layout: (128, 64) : (2048, 1))` the block needs 520320 B of shared memory, and sm_80 has 166912 B
              `shared_tensor(f16, [128, 64], layout: (128, 64) : (2048, 1))`: `a` takes 520320 B, as it is pinned: its elements are 16384 B
              fix: leave the layout of `a` to the compiler
        "#]],
    );
    check(
        "kernel k(x: f16[m, n], y: mut f16[m, n]) grid [1] threads 128 {
    let a = shared_tensor(f16, [256, 256]);
    let b = shared_tensor(f16, [256, 256]);
    copy_async(tile(x, [256, 256])[.., .., 0, 0], a);
    commit();
    wait(0);
    sync();
    copy(a, tile(y, [256, 256])[.., .., 0, 0]);
    for i in 0..2 {
        copy_async(tile(x, [256, 256])[.., .., 1, i], b);
        commit();
        wait(0);
        sync();
        copy(b, tile(y, [256, 256])[.., .., 1, i]);
        sync();
    }
}
",
        expect![[r#"
            HX0501 `shared_tensor(f16, [256, 256])` the block needs 262144 B of shared memory, and sm_80 has 166912 B
              `shared_tensor(f16, [256, 256])`: `a` takes 131072 B
              `shared_tensor(f16, [256, 256])`: `b` takes 131072 B
              fix: insert `sync()`: what is used before it and what is used behind it take turns
        "#]],
    );
}

#[test]
fn a_kernel_with_errors_is_not_lowered() {
    check(
        "kernel a(c: mut f32[m]) grid [1] threads 2048 {\n    let x = ;\n}\n",
        expect![[r#"
            HX0502 `2048` found 2048 threads, expected at most 1024
              fix: replace it by `1024`
            HX0106 `x` nothing uses `x`
              fix: rename it to `_x`
            HX0001 `;` found `;` where an expression was expected
        "#]],
    );
}

#[test]
fn the_solver_can_be_cancelled() {
    let (mut db, file) = TestDb::with_file(TWO);
    let reader = db.clone();
    let solve = std::thread::spawn(move || {
        salsa::Cancelled::catch(std::panic::AssertUnwindSafe(|| {
            loop {
                let Some(kernel) = file_items(&reader, file).kernels().next() else { return };
                let Some(instance) = default_instance(&reader, kernel, target()) else { return };
                assert!(solved(&reader, instance).is_ok());
                salsa::Database::unwind_if_revision_cancelled(&reader);
            }
        }))
        .is_err()
    });
    // The writer waits for the reader, which stops at its next poll.
    file.update_text(&mut db, "");
    assert!(matches!(solve.join(), Ok(true)));
}

#[test]
fn checking_after_whitespace_solves_and_compares_nothing() {
    let (mut db, file) = TestDb::with_file(TWO);
    check_file(&db, file, target());
    db.log.take();
    file.update_text(&mut db, TWO.replace("    copy(r, s);\n", "\n    copy(r,  s);\n"));
    check_file(&db, file, target());
    let stages = ["infer", "tile_program", "solved", "violations", "thread_program", "synchronization"];
    let ran: Vec<String> =
        db.log.take().into_iter().filter(|query| stages.contains(&query.as_str())).collect();
    assert_eq!(ran, [""; 0]);
}

/// Returns the default instance of a file's first kernel.
fn first_instance(db: &TestDb, file: SourceFile) -> Instance<'_> {
    let kernel = file_items(db, file).kernels().next().expect("a kernel");
    default_instance(db, kernel, target()).expect("no open parameters")
}

/// A single search finds all candidates of a kernel, whichever of them are built.
#[test]
fn candidates_are_searched_for_once() {
    let text = "kernel k(a: f16[m, k], b: f16[n, k], c: mut f32[m, n]) grid [1] threads 64 {
    let acc = register_tensor(f32, [32, 32]);
    fill(acc, 0.0);
    gemm(acc, load(tile(a, [32, 16])[.., .., 0, 0]), load(tile(b, [32, 16])[.., .., 0, 0]));
    copy(acc, tile(c, [32, 32])[.., .., 0, 0]);
}
";
    let (mut db, file) = TestDb::with_file(text);
    for number in [0, 1, 2, 1] {
        let instance = first_instance(&db, file).with_candidate(&db, number);
        assert!(solved(&db, instance).is_ok(), "candidate {number}");
    }
    expect![[r#"
        body_names × 1
        body_of × 1
        candidates × 1
        chosen × 1
        errors_of_file × 1
        family_names × 1
        family_of × 1
        file_items × 1
        has_errors × 1
        has_syntax_errors × 1
        import_named × 9
        imports × 1
        infer_body × 1
        is_exact × 1
        is_sound × 1
        item_diagnostics × 1
        item_named × 10
        kernel_family × 1
        kernel_signature × 1
        kernel_tune × 1
        lowered_family × 1
        lowered_kernel × 1
        lowered_tune × 1
        own_errors × 1
        parse × 1
        signature_names × 1
        signature_types × 1
        solved × 3
        syntax_diagnostics × 1
        tile_program × 1
        tune_names × 1
        tune_types × 1
        uses × 1
        whole_file × 1
    "#]]
    .assert_eq(&db.log.take_counts());
    // The default instance has the candidate that the workspace selects.
    db.workspace().choose(&mut db, 1);
    assert_eq!(first_instance(&db, file).candidate(&db), 1);
    assert!(solved(&db, first_instance(&db, file)).is_ok());
    expect![[""]].assert_eq(&db.log.take_counts());
}

/// If values move between threads, the choice of a leaf must count the accesses to shared memory. Candidates that move more are
/// offered, whatever they cost.
#[test]
fn no_candidate_is_cheaper_than_the_choice() {
    let text = "kernel squared(x: i32[32, 48], y: mut f32[32, 32]) grid [1] threads 128 {
    let a = load(x);
    let c = register_tensor(i32, [32, 32]);
    fill(c, 1);
    gemm(c, a, a);
    copy(cast(c, f32), y);
}
kernel summed_row(x: f32[1, 32], w: f32[8, 32], y: mut f32[1, 8]) grid [1] threads 96 {
    let row = sum(load(x), axis: 0);
    let c = register_tensor(f32, [1, 8]);
    fill(c, 0.0);
    gemm(c, cast(row, tf32), cast(load(w), tf32));
    copy(c, y);
}
";
    let (db, file) = TestDb::with_file(text);
    for kernel in file_items(&db, file).kernels() {
        let instance = default_instance(&db, kernel, target()).expect("no open parameters");
        let all = candidates(&db, instance).as_ref().expect("candidates");
        let alike = all.iter().filter(|solved| solved.moves_within(&all[0]));
        let costs: Vec<f64> = alike.map(|solved| solved.solution.cost).collect();
        assert!(costs.len() > 1 && costs.iter().all(|cost| *cost >= costs[0]), "{costs:?}");
    }
}

#[test]
fn a_kernel_is_not_built_when_what_it_uses_is_broken() {
    let text = "use b::TILE;
kernel k(x: f32[m], y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    let r = register_tensor(f32, [TILE]);
    fill(r, 0.0);
}
";
    let (mut db, file) = TestDb::with_file(text);
    let other = SourceFile::workspace(&db, "b.hx", "const TILE = nothing;\n");
    db.workspace().add_files(&mut db, [other]);
    let found = check_file(&db, file, target());
    let lines = found.iter().map(|found| format!("{}: {}\n", found.code.id, found.message));
    expect![[r#"
        HX0101: `TILE` cannot be used, because of an error in `b.hx`
    "#]]
    .assert_eq(&lines.collect::<String>());
    other.update_text(&mut db, "const TILE = 64;\n");
    assert_eq!(check_file(&db, file, target()).len(), 0);
}

#[test]
fn examples_of_the_explanations_hold() {
    let mut wrong = Vec::new();
    for code in hx_base::all_codes() {
        for (fails, text) in code.examples() {
            let (db, file) = TestDb::with_file(&text);
            // The newest target has every ability that an example may need.
            let found = check_file(&db, file, Target::usual());
            let has = found.iter().any(|d| d.code == code);
            // A feature that the compiler lacks is not a fault of the example.
            let clean = found.iter().all(|d| d.code == &codes::UNSUPPORTED || !d.is_error());
            let good = if fails { has } else { clean };
            if !good {
                let lines: Vec<String> =
                    found.iter().map(|d| format!("{}: {}", d.code.id, d.message)).collect();
                wrong.push(format!("{} (fails: {fails}): {lines:#?}\n{text}", code.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
