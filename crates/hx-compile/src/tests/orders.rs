//! Orders in memory that the compiler infers for packed tensors.

use expect_test::{Expect, expect};
use hx_hir::file_items;
use hx_lower::{CtArgs, CtValue, LaunchFacts};
use hx_target::Target;

use crate::orders::inferred_orders;
use crate::test_db::TestDb;
use crate::{Instance, orders_of, solved};

/// Weights of 4 bits that are widened in registers, for a product that reads `x` from shared memory.
const WIDENED: &str = "\
kernel widened<BN = 64, BK = 64, T: type = u4, W: layout = infer>(x: f16[m, k], w: T[n, k] : W, y: mut f32[n, m])
    where k % BK == 0
    grid [cdiv(n, BN), cdiv(m, 128)]
    threads 128
{
    let [bn, bm] = block_idx;
    let sx = shared_tensor(f16, [128, BK]);
    let acc = register_tensor(f32, [BN, 128]);
    fill(acc, 0.0);
    for i in 0..k / BK {
        sync();
        copy_async(tile(x, [128, BK])[.., .., bm, i], sx);
        commit();
        wait(0);
        sync();
        gemm(acc, cast(load(tile(w, [BN, BK])[.., .., bn, i]), f16), sx);
    }
    copy(acc, tile(y, [BN, 128])[.., .., bn, bm]);
}
";

/// Compares the orders of the first kernel for an architecture, each as `name = block`.
fn check(text: &str, target: &str, expected: Expect) {
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let found: String = match inferred_orders(&db, kernel, &CtArgs::new(), Target::builtin(target)) {
        Ok(orders) => orders.iter().map(|order| format!("{} = {}\n", order.name, order.value())).collect(),
        Err(errors) => errors.iter().map(|error| format!("{}: {}\n", error.code.id, error.message)).collect(),
    };
    expected.assert_eq(&found);
}

/// The order is that of the fragment of the instruction, with the elements of a pair in the two halves of a register.
#[test]
fn the_order_of_a_fragment() {
    check(
        WIDENED,
        "sm_90a",
        expect![[r#"
        W = ((8,2),(2,4,2,4)):((128,1),(4,32,2,8))
    "#]],
    );
    check(
        WIDENED,
        "sm_80",
        expect![[r#"
        W = ((8,2),(2,4,2,4)):((128,16),(4,1,8,32))
    "#]],
    );
    check(
        &WIDENED.replace("T: type = u4", "T: type = i8"),
        "sm_90a",
        expect![[r#"
        W = ((8,2),(2,4,4)):((64,2),(1,16,4))
    "#]],
    );
    check(
        &WIDENED.replace("T: type = u4", "T: type = f16"),
        "sm_90a",
        expect![[r#"
        W = ((8,2),(2,4,2)):((32,2),(1,8,4))
    "#]],
    );
}

#[test]
fn a_kernel_without_layouts_has_no_order() {
    check(
        &WIDENED.replace("BN = 64", "BN = 4096"),
        "sm_90a",
        expect![[r#"
        HX0622: cannot infer `W`: the instance of `widened` with all defaults has no layouts on sm_90a
    "#]],
    );
    check(
        &WIDENED.replace("BN = 64", "BN: int"),
        "sm_90a",
        expect![[r#"
        HX0622: the compile-time parameter `BN` has no value
    "#]],
    );
}

/// Arguments other than element types and facts about launches make no difference, so that weights are packed once.
#[test]
fn instances_share_an_order() {
    let (db, file) = TestDb::with_file(WIDENED);
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let instance = |args: &[(&str, CtValue)], facts: LaunchFacts| {
        let args: CtArgs = args.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        Instance::chosen(&db, kernel, args, Target::builtin("sm_90a"), facts)
    };
    let order = |instance: Instance<'_>| {
        assert!(solved(&db, instance).is_ok());
        {
            let orders = orders_of(&db, instance).expect("it has layouts");
            orders.into_iter().map(|order| order.value()).collect::<Vec<_>>()
        }
    };
    let own = order(instance(&[], LaunchFacts::all_16()));
    db.log.take();
    assert_eq!(order(instance(&[("BN", CtValue::Int(128))], LaunchFacts::all_16())), own);
    assert_eq!(order(instance(&[], LaunchFacts { rest: 8, ..LaunchFacts::all_16() })), own);
    assert_eq!(order(instance(&[("W", CtValue::Auto)], LaunchFacts::all_16())), []);
    expect![[r#"
        chosen × 3
        solved × 3
    "#]]
    .assert_eq(&db.log.take_counts());
}

/// The order follows from the program, so an edit that moves text infers it no second time.
#[test]
fn an_edit_that_moves_text_infers_no_order() {
    let (mut db, file) = TestDb::with_file(WIDENED);
    let ask = |db: &TestDb| {
        let kernel = file_items(db, file).kernels().next().expect("a kernel");
        inferred_orders(db, kernel, &CtArgs::new(), Target::builtin("sm_90a"))
            .clone()
            .expect("it has layouts")
    };
    let before = ask(&db);
    db.log.take();
    assert!(file.update_text(&mut db, format!("// A line more.\n{WIDENED}")));
    assert_eq!(ask(&db), before);
    expect![[r#"
        body_of × 1
        file_items × 1
        has_syntax_errors × 1
        is_exact × 1
        item_diagnostics × 1
        kernel_signature × 1
        lowered_family × 1
        lowered_kernel × 1
        lowered_tune × 1
        parse × 1
        syntax_diagnostics × 1
        whole_file × 1
    "#]]
    .assert_eq(&db.log.take_counts());
}
