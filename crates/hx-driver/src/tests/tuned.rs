//! Launches that take compile-time arguments from a tuned file.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect};
use hx_base::interrupt::Until;
use hx_base::testing::MemorySystem;
use hx_hir::{Kernel, file_items};
use hx_inspect::{EmitError, parse_override};
use hx_launch::{Tuned, text_hash};
use hx_target::Target;
use hx_workspace::{Database, TUNED_NAME};

use super::{show, told};
use crate::{TestOptions, check_tuned, kernel_for_shape};

const KERNEL: &str = r#"
/// Moves tiles.
kernel move1<T: type, B = 32, FLAG = false>(x: T[n], y: mut T[n])
    grid [cdiv(n, B)]
    threads 32
{
    let r = register_tensor(T, [B]);
    copy(tile(x, [B])[.., block_idx], r);
    copy(r, tile(y, [B])[.., block_idx]);
    if block_idx == 0 {
        print("tiles of", B);
    }
}
"#;

fn test(body: &str) -> String {
    format!("test \"t\" {{ let x = ones(f32, [64]); let y = empty(f32, [64]); {body} assert_eq(x, y); }}\n")
}

/// Formats a result for the kernel.
fn result(hash: &str, shape: &str, arguments: &str, device: &str) -> String {
    format!(
        "[[tuned]]\nkernel = \"t.hx::move1\"\nshape = {{ {shape} }}\narguments = {{ {arguments} }}\n\
         device = \"{device}\"\ntarget = \"sm_90a\"\nmedian_us = 1.0\ntext = \"{hash}\"\nhx = \"0\"\n\n"
    )
}

/// Opens a file with results, which are made from the hash of its first kernel.
fn open(source: &str, results: &dyn Fn(&str) -> String) -> (Database, hx_base::SourceFile, Tuned) {
    let alone = Database::new(Arc::new(MemorySystem::new([("t.hx", source)])));
    let mut alone = alone;
    let file = alone.open("t.hx").expect("the file is there").files[0];
    let kernel = file_items(&alone, file).kernels().next().expect("a kernel");
    let toml = results(&text_hash(&alone, kernel));
    let mut db = Database::new(Arc::new(MemorySystem::new([("t.hx", source), (TUNED_NAME, toml.as_str())])));
    let file = db.open("t.hx").expect("the file is there").files[0];
    let tuned = db.tuned(TUNED_NAME).expect("readable").expect("the file is there");
    assert_eq!(tuned.diagnostics, []);
    (db, file, Tuned::new(vec![tuned]))
}

/// Runs the tests of a file with results, and compares what is printed, said and reported.
fn check(body: &str, results: &dyn Fn(&str) -> String, want: Expect) {
    let (db, file, tuned) = open(&format!("{KERNEL}{}", test(body)), results);
    let options = TestOptions { tuned: Some(&tuned), ..TestOptions::default() };
    want.assert_eq(&told(&db, file, &options));
}

const EXACT: &str = "n = 64, T = \"f32\", FLAG = false";

#[test]
fn a_launch_takes_the_result_of_its_shape() {
    check(
        "move1(x, y);",
        &|hash| result(hash, EXACT, "B = 64", "G"),
        expect![[r#"
        | move1 block [0]: tiles of B = 64
        `move1` takes B = 64 from hx.tuned.toml:1, tuned for n = 64, FLAG = false, T = f32 on G
        passed
    "#]],
    );
    let other =
        |hash: &str| result(hash, "n = 128", "B = 64", "G") + &result(hash, "T = \"f16\"", "B = 64", "G");
    check(
        "move1(x, y);",
        &other,
        expect![[r#"
        | move1 block [0]: tiles of B = 32
        passed
    "#]],
    );
}

#[test]
fn the_most_exact_result_wins() {
    let results = |hash: &str| {
        result(hash, "n = \"*\"", "B = 16", "G")
            + &result(hash, "n = \"33..=64\"", "B = 8", "G")
            + &result(hash, EXACT, "B = 64", "G")
    };
    check(
        "move1(x, y);",
        &results,
        expect![[r#"
        | move1 block [0]: tiles of B = 64
        `move1` takes B = 64 from hx.tuned.toml:21, tuned for n = 64, FLAG = false, T = f32 on G
        passed
    "#]],
    );
    // The launch states another `FLAG`, so the result of the exact shape does not apply. The first applicable one of the file
    // does.
    check(
        "move1<FLAG = true>(x, y);",
        &results,
        expect![[r#"
        | move1 block [0]: tiles of B = 16
        `move1` takes B = 16 from hx.tuned.toml:1, tuned for n = * on G
        passed
    "#]],
    );
}

#[test]
fn an_argument_of_the_launch_wins() {
    let results = |hash: &str| result(hash, EXACT, "B = 64", "G");
    check(
        "move1<B = 16>(x, y);",
        &results,
        expect![[r#"
        | move1 block [0]: tiles of B = 16
        `move1` is given `B = 16`, so the result at hx.tuned.toml:1 is not used
        passed
    "#]],
    );
    check(
        "move1<B = 64>(x, y);",
        &results,
        expect![[r#"
        | move1 block [0]: tiles of B = 64
        `move1` takes B = 64 from hx.tuned.toml:1, tuned for n = 64, FLAG = false, T = f32 on G
        passed
    "#]],
    );
}

#[test]
fn a_stale_result_is_named_and_not_used() {
    check(
        "move1(x, y);",
        &|_| result("0", EXACT, "B = 64", "G"),
        expect![[r#"
        | move1 block [0]: tiles of B = 32
        the result for `move1` at hx.tuned.toml:1 is stale and not used, because the kernel's text has changed: `hx tune` renews it
        passed
    "#]],
    );
}

#[test]
fn an_unknown_argument_is_an_error() {
    check(
        "move1(x, y);",
        &|hash| result(hash, EXACT, "BB = 64", "G"),
        expect![[r#"
        HX0625 `[[tuned]]`: `move1` has no compile-time parameter `BB`
          at `move1(x, y)`: in this launch
    "#]],
    );
}

/// A kernel with a family, after a member of it.
const FAMILY: &str = "
kernel wide<B = 64>(x: f32[n], y: mut f32[n]) where n % B == 0 grid [n / B] threads 32 {
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
}
#[family(move1<B = 32>, wide<B = 64>)]
kernel move1<B = 32>(x: f32[n], y: mut f32[n]) tune B in [32, 64] grid [cdiv(n, B)] threads 32 {
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
}
";

/// Runs a launch of `move1` with a result that names a member, and compares what is said and reported.
fn check_member(launch: &str, member: &str, want: Expect) {
    let body = format!("test \"t\" {{ let x = ones(f32, [64]); let y = empty(f32, [64]); {launch} }}\n");
    let of_member = |hash: &str| {
        let text = result(hash, "n = \"*\"", "B = 64", "G");
        text.replace("shape =", &format!("member = \"{member}\"\nshape ="))
    };
    let (db, file, tuned) = open(&format!("{FAMILY}{body}"), &of_member);
    let options = TestOptions { tuned: Some(&tuned), ..TestOptions::default() };
    want.assert_eq(&told(&db, file, &options));
}

#[test]
fn a_result_may_name_a_member_of_the_family() {
    check_member(
        "move1(x, y);",
        "wide",
        expect![[r#"
        `move1` runs as `wide<B = 64>` by hx.tuned.toml:1, tuned for n = * on G
        passed
    "#]],
    );
    check_member(
        "move1<B = 32>(x, y);",
        "wide",
        expect![[r#"
        `move1` is given `B = 32`, so the result at hx.tuned.toml:1 is not used
        passed
    "#]],
    );
    check_member(
        "move1(x, y);",
        "side",
        expect![[r#"
        HX0625 `[[tuned]]`: the family of `move1` has no member `side`
          at `move1(x, y)`: in this launch
          help: perhaps `wide` is meant
    "#]],
    );
}

#[test]
fn a_result_whose_member_does_not_fit_is_named_and_not_used() {
    check_member(
        "let (v, w) = (ones(f32, [65]), empty(f32, [65])); move1(v, w);",
        "wide",
        expect![[r#"
            HX0106 `x`: nothing uses `x`
            HX0106 `y`: nothing uses `y`
            the result for `move1` at hx.tuned.toml:1 does not fit this launch: `n % B == 0` does not hold with n = 65, B = 64
            `move1` runs as `move1<B = 32>`, 0.3 µs by the cost model, the one member of its family that fits
            passed
        "#]],
    );
}

#[test]
fn comments_and_blanks_do_not_make_a_result_stale() {
    let hash = |text: &str| {
        let mut db = Database::new(Arc::new(MemorySystem::new([("t.hx", text)])));
        let file = db.open("t.hx").expect("the file is there").files[0];
        let kernel = file_items(&db, file).kernels().next().expect("a kernel");
        text_hash(&db, kernel)
    };
    let with = |from: &str, to: &str| KERNEL.replace(from, to);
    let const_b =
        |value: &str| format!("const C = {value};\n{}", with("\"tiles of\", B", "\"tiles of\", B + C"));
    assert_eq!(hash(KERNEL), hash(&with("/// Moves tiles.", "// Other words.\n\n")));
    assert_eq!(hash(KERNEL), hash(&format!("const D = 3;\n{}", with("    threads", " threads"))));
    assert_ne!(hash(KERNEL), hash(&with("B = 32", "B = 64")));
    // An item that the kernel uses counts.
    assert_ne!(hash(&const_b("1")), hash(&const_b("2")));
}

#[test]
fn results_are_checked_and_built() {
    let results = |hash: &str| {
        result(hash, EXACT, "B = 64", "G")
            + &result("0", EXACT, "B = 1", "G")
            + &result(hash, EXACT, "B = 16", "H")
    };
    let (db, file, tuned) = open(KERNEL, &results);
    let (found, remarks) = check_tuned(&db, &[file], &tuned, Target::usual());
    expect![[r#"
        the result for `move1` at hx.tuned.toml:11 is stale: the kernel's text has changed
        checked 2 results of hx.tuned.toml"#]]
    .assert_eq(&(show(&db, &found) + &remarks.join("\n")));
    let build = |shape: &[&str], stated: &[&str], device| {
        let kernel = file_items(&db, file).kernels().next().expect("a kernel");
        built((&db, kernel), Some(&tuned), shape, stated, device)
    };
    let shape = ["n=64", "T=f32"];
    let out = build(&shape, &[], None)
        + &build(&shape, &[], Some("H"))
        + &build(&shape, &["B=8"], Some("H"))
        + &build(&["n=65", "T=f32"], &[], Some("H"))
        + &build(&["T=f32"], &[], None);
    expect![[r#"
        there are results for `G` and `H`: `--tuned-for DEVICE` says which to take
        move1 {"B": Int(16), "T": DType(F32)}
        `move1` takes B = 16 from hx.tuned.toml:21, tuned for n = 64, FLAG = false, T = f32 on H
        move1 {"B": Int(8), "T": DType(F32)}
        `move1` is given `B = 8`, so the result at hx.tuned.toml:21 is not used
        move1 {"T": DType(F32)}, odd [("n", 65)]
        no result of `move1` in hx.tuned.toml fits this shape
        the shape lacks a value for `n` of `move1`
    "#]]
    .assert_eq(&out);
}

/// Says what is built of a kernel for a shape, and why.
fn built(
    (db, kernel): (&Database, Kernel<'_>),
    tuned: Option<&Tuned>,
    shape: &[&str],
    stated: &[&str],
    device: Option<&str>,
) -> String {
    let of =
        |texts: &[&str]| texts.iter().map(|text| parse_override(text).expect("valid")).collect::<Vec<_>>();
    let until = Until { stop: &AtomicBool::new(false), deadline: None };
    let asked = (&of(shape), &of(stated));
    match kernel_for_shape(tuned, db, kernel, Target::usual(), asked, device, until) {
        Ok(found) => {
            let odd = if found.odd.is_empty() { String::new() } else { format!(", odd {:?}", found.odd) };
            format!("{} {:?}{odd}\n{}\n", found.kernel.name(db), found.args, found.remarks.join("\n"))
        }
        Err(EmitError::Usage(text)) => format!("{text}\n"),
        Err(other) => format!("{other:?}\n"),
    }
}

#[test]
fn a_build_takes_the_member_for_its_shape() {
    let results = |hash: &str| {
        let text = result(hash, "n = 64", "B = 64", "G");
        text.replace("shape =", "member = \"wide\"\nshape =")
    };
    let (db, file, tuned) = open(FAMILY, &results);
    let kernel =
        file_items(&db, file).kernels().find(|kernel| kernel.name(&db) == "move1").expect("it is there");
    let build = |tuned, shape: &[&str], stated: &[&str]| built((&db, kernel), tuned, shape, stated, None);
    let out = build(Some(&tuned), &["n=64"], &[])
        // Another shape, no results, and a launch that pins the kernel.
        + &build(Some(&tuned), &["n=65"], &[])
        + &build(None, &["n=64"], &[])
        + &build(Some(&tuned), &["n=64"], &["B=32"]);
    expect![[r#"
        wide {"B": Int(64)}
        `move1` runs as `wide<B = 64>` by hx.tuned.toml:1, tuned for n = 64 on G
        move1 {"B": Int(32)}, odd [("n", 65)]
        no result of `move1` in hx.tuned.toml fits this shape
        `move1` runs as `move1<B = 32>`, 0.3 µs by the cost model, the one member of its family that fits
        move1 {"B": Int(32)}
        `move1` runs as `move1<B = 32>`, 0.3 µs by the cost model, the fastest of 2 members of its family that fit; next is `wide<B = 64>`, 0.3 µs
        move1 {"B": Int(32)}
        `move1` is given `B = 32`, so the result at hx.tuned.toml:1 is not used
    "#]]
    .assert_eq(&out);
}
