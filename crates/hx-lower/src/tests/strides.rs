use expect_test::expect;
use hx_hir::testing::TestDb;
use hx_hir::{Name, file_items};

use super::text_of;
use crate::LaunchFacts;

/// A named stride that is 1 becomes a number. Usually it is the last of a tensor that names all strides.
#[test]
fn strides_of_one() {
    let text = "kernel probe(a: f16[m, k] : [r, s], b: f16[m, k] : [1, t], c: mut f16[m, k] : [u, v])\n\
                where r == 1 || s == 1 grid [1] threads 128 {\n\
                copy(load(tile(a, [64, 16])[.., .., 0, 0]), tile(c, [64, 16])[.., .., 0, 0]);\n}\n";
    let turned = [("r", 1), ("s", 40), ("t", 8), ("u", 48), ("v", 2), ("m", 1), ("k", 1)];
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().last().expect("the text has a kernel");
    let values = turned.iter().map(|(name, value)| (Name::new(name), *value)).collect();
    let turned = LaunchFacts::of_launch(&db, kernel, &values);
    let usual = [("r", 64), ("s", 1), ("t", 16), ("u", 64), ("v", 1), ("m", 32), ("k", 16)];
    let values = usual.iter().map(|(name, value)| (Name::new(name), *value)).collect();
    assert_eq!(LaunchFacts::of_launch(&db, kernel, &values), LaunchFacts::all_16());
    let params = |facts: &LaunchFacts| {
        let program = text_of(text, &[], facts);
        let shown = |line: &&str| line.starts_with("param") || line.starts_with("where");
        program.lines().map(str::trim).filter(shown).collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        param a: f16[m, k] : [r, 1] align 16
        param b: f16[m, k] : [1, t] align 16
        param c: mut f16[m, k] : [u, 1] align 16"#]]
    .assert_eq(&params(&LaunchFacts::all_16()));
    expect![[r#"
        param a: f16[m, k] : [1, s] align 16
        param b: f16[m, k] : [1, t] align 16
        param c: mut f16[m, k] : [u, v] align 16"#]]
    .assert_eq(&params(&turned));
}
