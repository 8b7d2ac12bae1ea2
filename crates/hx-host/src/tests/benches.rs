//! Tests of benches: text in, timed and compared works out. The device has a fake clock.

use expect_test::{Expect, expect};
use hx_base::codes;
use hx_hir::{Item, Sound, file_items};

use super::evaluation::{Scaler, database, show_error};
use crate::bench::{Compared, Group, Work};
use crate::device::{Device, GemmRequest, LaunchError, LaunchReport, LaunchRequest, Step, Times};
use crate::error::{HostError, HostResult};
use crate::eval::{Options, Session};

/// A device that runs kernels like [`Scaler`]. A launch takes 10 µs, a product 5 µs, a copy 2 µs.
struct Clock {
    has_library: bool,
    /// Added to every element of a product, so that the results of kernel and library differ.
    off: f64,
}

impl Device for Clock {
    fn launch(&mut self, request: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        let report = Scaler.launch(request)?;
        Ok(LaunchReport { printed: Vec::new(), ..report })
    }

    fn gemm(&mut self, request: &GemmRequest) -> Result<(), LaunchError> {
        if !self.has_library {
            return Err(LaunchError::call(HostError::new(&codes::MISSING_CUBLAS, "it is not there")));
        }
        let run = || -> Result<(), HostError> {
            let mut product = crate::matmul::matmul(&request.a.dense()?, &request.b.dense()?)?;
            let values = product.data.into_floats().into_iter().map(|v| v + self.off).collect();
            product.data = crate::Numbers::Float(values);
            request.c.assign(&product)
        };
        run().map_err(LaunchError::call)
    }

    fn can_time(&self) -> HostResult<()> {
        Ok(())
    }

    fn time(&mut self, works: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        let cost = |step: &Step| match step {
            Step::Launch(_) => 10.0,
            Step::Gemm(_) => 5.0,
            Step::Copy { .. } | Step::Read { .. } => 2.0,
        };
        let times = |steps: &Vec<Step>| {
            let median: f64 = steps.iter().map(cost).sum();
            Times { samples: vec![median; 3], median, low: median, high: median, ..Times::default() }
        };
        Ok(works.iter().map(times).collect())
    }
}

/// A device that compiles and runs nothing, like `hx bench --no-run`.
struct Compiler;

impl Device for Compiler {
    fn launch(&mut self, _: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        Ok(LaunchReport::default())
    }

    fn gemm(&mut self, _: &GemmRequest) -> Result<(), LaunchError> {
        Ok(())
    }

    fn can_time(&self) -> HostResult<()> {
        Ok(())
    }

    fn time(&mut self, _: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        Ok(Vec::new())
    }
}

fn show_work(work: &Work) -> String {
    let median = work.times.as_ref().map_or(f64::NAN, |t| t.median);
    let rate =
        |value: Option<f64>, unit: &str| value.map_or_else(String::new, |v| format!(", {v:.3e} {unit}"));
    let flops = rate(work.flops_per_second(), "flop/s");
    format!("{} {median} µs{flops}{}", work.label, rate(work.bytes_per_second(), "B/s"))
}

fn show(groups: &[Group]) -> String {
    let mut out = String::new();
    for (at, group) in groups.iter().enumerate() {
        out += &format!("group {at}\n");
        for (name, error) in &group.missing {
            out += &format!("  without {name}: {}\n", error.message);
        }
        for baseline in &group.baselines {
            out += &format!("  baseline {}\n", show_work(baseline));
        }
        for (position, measure) in group.measures.iter().enumerate() {
            out += &format!("  measure {}\n", show_work(measure));
            for comparison in group.comparisons(position) {
                let label = &comparison.other.label;
                let what = if comparison.compared == Compared::Time { "time" } else { "bandwidth" };
                let ratio = comparison.ratio.map_or("none".to_owned(), |r| format!("{r:.3}"));
                let apart = comparison.difference;
                let apart =
                    apart.map_or_else(String::new, |d| format!(", apart {} ({} ulp)", d.absolute, d.ulps));
                out += &format!("    against {label} by {what}: {ratio}{apart}\n");
            }
        }
    }
    out
}

fn check_on(mut device: impl Device, text: &str, want: Expect) {
    let text = format!("kernel scale<BY = 2>(x: f32[m], y: mut f32[m]) grid [1] threads 32 {{}}\n{text}");
    let (db, file) = database(&text);
    let bench = |item: &&Item<'_>| matches!(item, Item::Bench(_));
    let item = *file_items(&db, file).items.iter().find(bench).expect("a bench");
    let item = Sound::of(&db, item).expect("no errors");
    let mut lines: Vec<String> = Vec::new();
    let mut session = Session::new(&db, &mut device, &mut lines, Options::default());
    let result = session.bench(item, None);
    let mut out: String = lines.iter().map(|l| format!("{l}\n")).collect();
    match result {
        Ok(groups) => out += &show(&groups),
        Err(error) => out += &show_error(&db, &text, &error),
    }
    want.assert_eq(&out);
}

fn check(text: &str, want: Expect) {
    check_on(Clock { has_library: true, off: 0.0 }, text, want);
}

/// Works that were only compiled have no results to compare.
#[test]
fn a_bench_that_is_only_compiled() {
    check_on(
        Compiler,
        r#"bench "b" {
            let a = eye(f32, 4);
            let c = empty(f32, [4, 4]);
            measure { scale<BY = 1>(a, c) }
            baseline cublas::gemm(a, a.T, c)
        }"#,
        expect![[r#"
            group 0
              baseline cublas::gemm NaN µs
              measure scale<BY = 1> NaN µs
                against cublas::gemm by time: none
        "#]],
    );
}

#[test]
fn a_kernel_against_the_library() {
    let text = r#"bench "b" {
        let a = eye(f32, 4);
        let c = empty(f32, [4, 4]);
        measure flops 2 * 4 * 4 * 4 bytes 3 * 64 { scale<BY = 1>(a, c) }
        assert_eq(c, a);
        baseline cublas::gemm(a, a.T, c);
        baseline copy(1000)
    }"#;
    check(
        text,
        expect![[r#"
            group 0
              baseline cublas::gemm 5 µs, 2.560e7 flop/s
              baseline copy 2 µs, 1.000e9 B/s
              measure scale<BY = 1> 10 µs, 1.280e7 flop/s, 1.920e7 B/s
                against cublas::gemm by time: 0.500, apart 0 (0 ulp)
                against copy by bandwidth: 0.019
        "#]],
    );
    check_on(
        Clock { has_library: true, off: 0.25 },
        text,
        expect![[r#"
            group 0
              baseline cublas::gemm 5 µs, 2.560e7 flop/s
              baseline copy 2 µs, 1.000e9 B/s
              measure scale<BY = 1> 10 µs, 1.280e7 flop/s, 1.920e7 B/s
                against cublas::gemm by time: 0.500, apart 0.25 (4194304 ulp)
                against copy by bandwidth: 0.019
        "#]],
    );
    check_on(
        Clock { has_library: false, off: 0.0 },
        text,
        expect![[r#"
            group 0
              without cublas::gemm: it is not there
              baseline copy 2 µs, 1.000e9 B/s
              measure scale<BY = 1> 10 µs, 1.280e7 flop/s, 1.920e7 B/s
                against copy by bandwidth: 0.019
        "#]],
    );
}

#[test]
fn a_loop_compares_like_with_like() {
    check(
        r#"bench "b" {
            let x = ones(f32, 8);
            let y = empty(f32, 8);
            for by in [2, 3] {
                measure { scale<BY = by>(x, y) }
                measure { for i in 0..2 { scale<BY = by>(x, y) } scale(x, y); scale(x, y); }
                baseline scale(x, y);
                print("timed");
            }
        }"#,
        expect![[r#"
            timed
            timed
            group 0
              baseline scale 10 µs
              measure scale<BY = 2> 10 µs
                against scale by time: 1.000, apart 0 (0 ulp)
              measure scale<BY = 2> + scale<BY = 2> + scale + 1 more 40 µs
                against scale by time: 0.250, apart 0 (0 ulp)
            group 1
              baseline scale 10 µs
              measure scale<BY = 3> 10 µs
                against scale by time: 1.000, apart 1 (4194304 ulp)
              measure scale<BY = 3> + scale<BY = 3> + scale + 1 more 40 µs
                against scale by time: 0.250, apart 0 (0 ulp)
        "#]],
    );
}

#[test]
fn baselines_may_come_first() {
    check(
        r#"bench "b" {
            let x = ones(f16, 8);
            let (y, z) = (empty(f16, 8), empty(f16, 8));
            baseline copy(x);
            measure bytes 32 { scale(x, y) }
            measure { scale(x, z) }
            baseline copy(x);
            measure { scale(x, z) }
        }"#,
        expect![[r#"
            group 0
              baseline copy 2 µs, 1.600e7 B/s
              measure scale 10 µs, 3.200e6 B/s
                against copy by bandwidth: 0.200
              measure scale 10 µs
                against copy by bandwidth: none
            group 1
              baseline copy 2 µs, 1.600e7 B/s
              measure scale 10 µs
                against copy by bandwidth: none
        "#]],
    );
}

#[test]
fn a_library_product_outside_of_a_bench_statement() {
    check(
        r#"bench "b" {
            let a = ones(f16, [2, 3]);
            let c = empty(f32, [2, 2]);
            cublas::gemm(b: a.T, a: a, c: c);
            print(c);
            measure { scale(a, a) }
        }"#,
        expect![[r#"
            f32[2, 2]
            [[3.0, 3.0],
             [3.0, 3.0]]
            group 0
              measure scale 10 µs
        "#]],
    );
}

#[test]
fn mistakes_in_benches() {
    check(
        "bench \"b\" { let x = ones(f32, 8); scale(x, x); }",
        expect![[r#"
            HX0614 at `bench "b" { let x = ones(f32, 8); scale(x, x); }`: the bench measures nothing
              help: `measure { kernel(a, b); }` times a kernel
        "#]],
    );
    check(
        "bench \"b\" { measure flops 1 { } }",
        expect![[r#"
            HX0614 at `{ }`: `measure` runs no kernel, so there is nothing to time
        "#]],
    );
    check(
        "bench \"b\" { let x = ones(f32, 8); measure flops 8 - 8 { scale(x, x) } }",
        expect![[r#"
            HX0614 at `8 - 8`: found 0, the work of a measure is positive
        "#]],
    );
    check(
        "bench \"b\" { baseline copy(8) }",
        expect![[r#"
            HX0614 at `copy(8)`: the bench has a baseline and measures nothing that it belongs to
        "#]],
    );
    check(
        "bench \"b\" { let x = ones(f32, 8); measure { scale(x, x) } baseline print(x) }",
        expect![[r#"
            f32[8]
            [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
            HX0614 at `print(x)`: this baseline runs nothing that can be timed
              help: a baseline is a kernel call, `cublas::gemm(a, b, c)` or `copy(bytes)`
        "#]],
    );
    check(
        "bench \"b\" { let a = ones(f32, [2, 3]); let c = empty(f32, [2, 2]); cublas::gemm(a, a, c); }",
        expect![[r#"
            HX0615 at `cublas::gemm(a, a, c)`: `cublas::gemm(a, b, c)` needs a[m, k], b[k, n] and c[m, n]
              the shapes are [2, 3], [2, 3] and [2, 2]
              help: `b.T` swaps the dimensions of `b`
        "#]],
    );
    check(
        "bench \"b\" { let a = eye(f32, 2); cublas::gemm(a, a, eye(f32, 2)); }",
        expect![[r#"
            HX0614 at `eye(f32, 2)`: `cublas::gemm` writes `c`, and this value is held by no variable
              help: give it a name with `let` first, or the result is lost
        "#]],
    );
}

#[test]
fn devices_without_a_clock() {
    check_on(
        Scaler,
        "bench \"b\" { print(1); }",
        expect![[r#"
            HX0609 at `bench "b" { print(1); }`: benches need a GPU; the simulator does not time
              help: `hx test` checks results on any machine
        "#]],
    );
}
