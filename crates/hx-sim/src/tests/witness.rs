//! Tests the record of accesses to a watched tensor, and of the values that led to one of its elements.

use std::collections::BTreeMap;

use expect_test::expect;
use hx_dtype::DType;

use super::build::*;
use crate::{Config, Follow, RegisterValue, Witness, run};

/// Builds two rounds over halves of `b`: each of the two blocks adds up a number in a register and stores it.
fn rounds() -> Kernel {
    let mut k = Kernel::new(32);
    k.grid(2, 1);
    let a = k.input("a", DType::F32, &[128], &[1]);
    let b = k.output("b", DType::F32, &[4, 32], &[32, 1]);
    let r = k.registers("r", DType::F32, 1);
    let offset = (block(0) * c(2) + var("i")) * c(32) + thread();
    let zero = k.group("fill(r, 0)", vec![fill(first(r, 1), 0)]);
    let load = transfer("ld.global.b32", first(r, 1), a, offset.clone());
    let load = k.group("copy(a, r)", vec![load]);
    let store = transfer("st.global.b32", first(r, 1), b, offset);
    let store = k.group("copy(r, b)", vec![store]);
    k.push(repeat("i", c(2), false, vec![zero, load, store]));
    k
}

fn watched(follow: Option<&Follow>) -> Witness {
    let kernel = rounds();
    let mut arguments =
        [vector(DType::F32, &counting(128)), tensor(DType::F32, &[4, 32], &[32, 1], &[0.0; 128])];
    let config = Config { watch: Some(1), follow, ..Config::default() };
    let report = run(&kernel.program, &BTreeMap::new(), &mut arguments, &config).expect("it runs");
    *report.witness.expect("a tensor is watched")
}

#[test]
fn each_element_has_its_writer_and_each_operation_its_region() {
    let witness = watched(None);
    let wrote = witness.writes[70].expect("written");
    let title = &witness.places[wrote.site as usize].title;
    assert_eq!((wrote.block, wrote.thread, wrote.value, title.as_str()), (1, 6, Some(0), "copy(r, b)"));
    let region = |reached: &crate::Reached| {
        let verb = if reached.write { "writes" } else { "reads" };
        let title = &witness.places[reached.site as usize].title;
        format!("block {} {verb} {:?} in {title}\n", reached.block, reached.region)
    };
    expect![[r#"
        block 0 reads [[0], [32]] in copy(a, r)
        block 0 writes [[0, 0], [1, 32]] in copy(r, b)
        block 0 reads [[32], [64]] in copy(a, r)
        block 0 writes [[1, 0], [2, 32]] in copy(r, b)
        block 1 reads [[64], [96]] in copy(a, r)
        block 1 writes [[2, 0], [3, 32]] in copy(r, b)
        block 1 reads [[96], [128]] in copy(a, r)
        block 1 writes [[3, 0], [4, 32]] in copy(r, b)
    "#]]
    .assert_eq(&witness.reached.iter().map(region).collect::<String>());
}

/// The element is written in the first round; the values of the second round do not belong to it.
#[test]
fn values_are_followed_up_to_the_write() {
    let values = vec![RegisterValue { thread: 6, array: 0, value: 0 }];
    let changes = |element: i64| {
        let witness = watched(Some(&Follow { block: 1, element, values: values.clone() }));
        assert_eq!(witness.writers, [1]);
        let change = |change: &crate::Change| {
            let title = &witness.places[change.site as usize].title;
            format!("{title}: {}\n", f32::from_bits(change.bits as u32))
        };
        witness.changes.iter().map(change).collect::<String>()
    };
    expect![[r#"
        fill(r, 0): 0
        copy(a, r): 70
    "#]]
    .assert_eq(&changes(70));
    expect![[r#"
        fill(r, 0): 0
        copy(a, r): 70
        fill(r, 0): 0
        copy(a, r): 102
    "#]]
    .assert_eq(&changes(102));
}
