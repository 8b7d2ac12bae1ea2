//! The rules against an instruction of a product, and runs that must take an alternative.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect;
use hx_dtype::DType;
use hx_target::{GemmRow, SwizzleMode};
use hx_tile::{Choice, InstructionPin, OpKind, TileProgram};

use super::descriptors::{SA, Tiles, tiles};
use crate::{Failure, Solved, Wish, nearest, solve, solve_wishing};

fn is_by_descriptor(row: &GemmRow) -> bool {
    row.is_by_descriptor()
}

/// Returns the rules against the nearest instruction that reads by descriptor, in a sentence.
fn rules(config: &Tiles, change: impl Fn(&mut TileProgram)) -> String {
    let mut program = tiles(config);
    change(&mut program);
    let ops = program.ops(1.0);
    let product = ops.iter().find(|(op, _)| matches!(op.kind, OpKind::Gemm { .. }));
    let (op, _) = product.expect("a product");
    let (row, rules) = nearest(&program, op, &is_by_descriptor).expect("an instruction");
    let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
    format!("{}: {}\n", row.name, if rules.is_empty() { "no rule".to_owned() } else { rules.join("; ") })
}

#[test]
fn each_rule_has_its_numbers() {
    let of = |tile: [i64; 3], dtype: DType| rules(&Tiles { tile, dtype, ..Tiles::default() }, |_| ());
    let told = [
        of([128, 256, 64], DType::Bf16),
        of([96, 256, 64], DType::Bf16),
        of([128, 100, 64], DType::Bf16),
        of([96, 256, 24], DType::F16),
        of([128, 128, 64], DType::F32),
        of([128, 128, 64], DType::F64),
        rules(&Tiles { threads: 96, ..Tiles::default() }, |_| ()),
        rules(&Tiles { threads: 1024, ..Tiles::default() }, |_| ()),
        rules(&Tiles { dtype: DType::I8, transposed: [false, true], ..Tiles::default() }, |_| ()),
        rules(&Tiles { transposed: [true, true], ..Tiles::default() }, |_| ()),
    ];
    expect![[r#"
        wgmma.m64n256k16.f32.bf16: no rule
        wgmma.m64n256k16.f32.bf16: `M = 96` is no multiple of 64
        wgmma.m64n8k16.f32.bf16: `N = 100` is no multiple of 8
        wgmma.m64n256k16.f32.f16: `M = 96` is no multiple of 64; `K = 24` is no multiple of 16
        wgmma.m64n128k16.f32.f16: f32 operands, and it takes f16, bf16, tf32, f8e4m3 or f8e5m2 into f32
        wgmma.m64n128k16.f32.f16: f64 operands, and it takes f16, bf16, tf32, f8e4m3 or f8e5m2 into f32
        wgmma.m64n256k16.f32.bf16: 128 threads execute it together, and 96 is no multiple of that
        wgmma.m64n64k16.f32.bf16: no rule
        wgmma.m64n256k32.i32.i8: i8 `sb` is contiguous along N, and it reads i8 along K
        wgmma.m64n256k16.f32.bf16: no rule
    "#]]
    .assert_eq(&told.concat());
}

fn wished(wish: &Wish) -> Result<Solved, Failure> {
    solve_wishing(&tiles(&Tiles::default()), wish, &|| false)
}

/// The run takes the alternative, and costs no less than the run without a wish.
#[test]
fn a_run_takes_what_it_must() {
    let program = tiles(&Tiles::default());
    let best = solve(&program, &|| false).expect("a solution");
    let swizzle = SwizzleMode::Bytes64.of_elements(16).expect("a swizzle");
    let narrow = wished(&Wish { swizzles: BTreeMap::from([(SA, swizzle)]), ..Wish::default() });
    let narrow = narrow.expect("a solution");
    assert!(narrow.solution.shared[&SA].swizzle.permutes_as(swizzle));
    assert!(narrow.solution.cost >= best.solution.cost);
    let product = program.ops(1.0).into_iter().find(|(op, _)| matches!(op.kind, OpKind::Gemm { .. }));
    let product = product.expect("a product").0.id;
    let rows = program.target.rows().gemms.iter().filter(|row| !row.is_by_descriptor());
    let rows: BTreeSet<String> = rows.map(|row| row.name.clone()).collect();
    let by_warps = wished(&Wish::of_rows([product], &rows)).expect("a solution");
    let row = by_warps.solution.choices.get(&product).and_then(Choice::gemm).expect("a product").row;
    assert!(rows.contains(&row.get().name));
    assert!(by_warps.solution.cost > best.solution.cost);
}

/// A wish that nothing can meet names itself, and never becomes a solution without it.
#[test]
fn a_wish_that_fails_says_why() {
    let none = BTreeSet::from(["none".to_owned()]);
    let program = tiles(&Tiles::default());
    let copy = program.ops(1.0).into_iter().find(|(op, _)| matches!(op.kind, OpKind::CopyAsync { .. }));
    let failure = wished(&Wish::of_rows([copy.expect("a copy").0.id], &none)).expect_err("no solution");
    expect!["no access of `sa` has the form of `none`"].assert_eq(&failure.message);
    let swizzle = hx_layout::Swizzle::new(2, 0, 3).expect("a swizzle");
    let failure = wished(&Wish { swizzles: BTreeMap::from([(SA, swizzle)]), ..Wish::default() });
    let failure = failure.expect_err("no solution");
    let parts: Vec<&str> = failure.parts.iter().map(|part| part.text.as_str()).collect();
    expect![[r#"
        no swizzle of the shared tensor `sa` serves all of its accesses
        `swizzle<2, 0, 3>` of `sa` is asked for
        this access by `wgmma.m64n256k16.f32.bf16` demands the 128 B swizzle or the 64 B swizzle or the 32 B swizzle or no swizzle"#]].assert_eq(&format!("{}\n{}", failure.message, parts.join("\n")));
}

/// A program whose operations name the instructions that its solution has has the same solution.
#[test]
fn pins_of_the_chosen_instructions_change_nothing() {
    let program = tiles(&Tiles::default());
    let free = solve(&program, &|| false).expect("a solution");
    let mut pinned = program.clone();
    for (op, _) in program.ops(1.0) {
        let row = match free.solution.choices.get(&op.id) {
            Some(Choice::Gemm(gemm)) => gemm.row.name(),
            Some(choice) => match choice.mover() {
                Some((row, _)) => row,
                None => continue,
            },
            None => continue,
        };
        let rows = BTreeSet::from([row.to_owned()]);
        pinned.pins.insert(op.id, InstructionPin { text: row.to_owned(), rows });
    }
    assert!(pinned.pins.len() > 3, "{:?}", pinned.pins);
    let found = solve(&pinned, &|| false).expect("a solution");
    assert_eq!(found.solution.cost, free.solution.cost);
    assert_eq!(found.solution.registers, free.solution.registers);
    assert_eq!(found.solution.shared, free.solution.shared);
}
