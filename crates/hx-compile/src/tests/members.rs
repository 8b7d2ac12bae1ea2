//! Members of families that cannot be built.

use expect_test::expect;
use hx_hir::file_items;
use hx_target::Target;

use crate::kernel_diagnostics;
use crate::test_db::TestDb;

/// Such a member is an error where the family is, because no launch would take it.
#[test]
fn a_member_that_no_launch_can_take_is_an_error() {
    let text = "#[family(f, f<B = 65536>, f<B = 48>)]
kernel f<B = 64>(x: f32[n], y: mut f32[n]) where B % 32 == 0 grid [cdiv(n, B)] threads 32 {
    let s = shared_tensor(f32, [B]);
    copy_async(tile(x, [B])[.., block_idx], s);
    commit();
    wait(0);
    sync();
    copy(load(s), tile(y, [B])[.., block_idx]);
}
";
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let found = kernel_diagnostics(&db, kernel, Target::usual()).iter().filter(|found| found.is_error());
    let lines: Vec<String> = found
        .map(|found| {
            format!(
                "{} `{}`: {} ({})",
                found.code.id,
                &text[found.primary.range],
                found.message,
                found.notes.join("; ")
            )
        })
        .collect();
    expect![[r#"
        HX0231 `f<B = 65536>`: this member cannot be built for sm_90a, so no launch takes it (`s_tile` takes 2048 registers of each thread, which has 255 on sm_90a)
        HX0231 `f<B = 48>`: this member cannot be built for sm_90a, so no launch takes it (`B % 32 == 0` does not hold for this instance)"#]].assert_eq(&lines.join("\n"));
}
