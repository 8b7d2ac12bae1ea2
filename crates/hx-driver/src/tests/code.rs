//! Assertions on the code of a kernel, and the table of a launch.

use expect_test::expect;
use hx_host::device::LaunchReport;
use hx_host::eval::{Options, Surroundings};

use super::{SIMULATOR, check, open};
use crate::{RunOutcome, run_main};

const KERNELS: &str = r#"
use std::matmul::matmul;

/// Through shared memory; `pinned` reads columns of a row-major buffer.
kernel flip<L: layout = (64, 64) : (1, 64)>(x: f32[n, m], y: mut f32[m, n])
    grid [1]
    threads 128
{
    let r = register_tensor(f32, [64, 64]);
    copy(global_view(x, (64, 64) : (m, 1)), r);
    let s = shared_tensor(f32, [64, 64], layout: L);
    copy(r, s);
    sync();
    let t = register_tensor(f32, [64, 64]);
    copy(s.T, t);
    copy(t, global_view(y, (64, 64) : (n, 1)));
}
"#;

#[test]
fn facts_of_the_last_kernel() {
    check(
        &format!(
            r#"{KERNELS}
test "a matmul" {{
    let (a, b) = (ones(f16, [64, 64]), ones(f16, [64, 64]));
    let c = empty(f16, [64, 64]);
    matmul(a, b, c);
    assert(uses("mma"), "by row");
    assert(uses("mma.sync.aligned"), "by instruction");
    assert(uses("stmatrix.x4") && uses("ld.global") && !uses("cp.async"));
    assert(conflicts() == 0 && redistributions() == 0);
    assert(bytes_per_access("rc1") == 16);
    assert(target() == "sm_90a");
    assert_eq(bytes_per_access("a"), 4);
    assert(spills() == 0, "skipped, as there is no compiler");
    assert_eq(spills(), 0);
}}
test "what does not hold" {{
    let c = empty(f16, [64, 64]);
    matmul(ones(f16, [64, 64]), ones(f16, [64, 64]), c);
    assert(bytes_per_access("ra") == 16);
}}
test "nothing ran" {{ assert(uses("mma")); }}
test "no instruction" {{ let c = empty(f16, [64, 64]); matmul(ones(f16, [64, 64]), ones(f16, [64, 64]), c); assert(!uses("ldmatrx")); }}
test "no tensor" {{ let c = empty(f16, [64, 64]); matmul(ones(f16, [64, 64]), ones(f16, [64, 64]), c); assert(bytes_per_access("rd") == 16); }}
test "not in an assertion" {{ let c = empty(f16, [64, 64]); matmul(ones(f16, [64, 64]), ones(f16, [64, 64]), c); print(spills()); }}
test "conflicts" {{
    let x = arange(f32, [64, 64]);
    let y = empty(f32, [64, 64]);
    flip<L = (64, 64) : (64, 1)>(x, y);
    assert_eq(y, x.T);
    assert(conflicts() == 0);
}}
"#
        ),
        expect![[r#"
            not judged: `spills` is not known: the CUDA compiler is not used here
            not judged: `spills` is not known: the CUDA compiler is not used here
            t.hx::a matmul: passed
            t.hx::what does not hold: failed
            HX0612 `bytes_per_access("ra") == 16`: `bytes_per_access("ra") == 16` does not hold
              note: left: 4
              note: right: 16
            t.hx::nothing ran: failed
            HX0614 `uses("mma")`: no kernel was launched before this
              help: launch one first: this speaks of the last one
            t.hx::no instruction: failed
            HX0614 `uses("ldmatrx")`: there is no instruction `ldmatrx` in the catalogue
              help: perhaps `ldmatrix` is meant
            t.hx::no tensor: failed
            HX0614 `bytes_per_access("rd")`: no copy of `matmul` moves a tensor `rd`
              help: perhaps `ra` is meant
            t.hx::not in an assertion: failed
            HX0630 `spills()`: `spills` is not known: the CUDA compiler is not used here
              help: in an `assert` this is a skip that is counted, and no failure
            t.hx::conflicts: failed
            HX0612 `conflicts() == 0`: `conflicts() == 0` does not hold
              note: left: 896
              note: right: 0
        "#]],
    );
}

/// Collects the tables of launches.
#[derive(Default)]
struct Tables(String);

impl Surroundings for Tables {
    fn print(&mut self, _: &str) {}

    fn launched(&mut self, kernel: &str, report: &LaunchReport) {
        self.0 += &format!("{kernel}\n{}", report.table.as_deref().unwrap_or("no table\n"));
    }
}

#[test]
fn the_simulator_tells_what_it_counted() {
    let text = format!(
        "{KERNELS}\nmain {{ let x = arange(f32, [64, 64]); let y = empty(f32, [64, 64]); flip(x, y); flip<L = (64, 64) : (64, 1)>(x, y); }}\n"
    );
    let (db, file) = open(&text);
    let mut tables = Tables::default();
    let outcome = run_main(
        &db,
        file,
        &SIMULATOR,
        crate::Launches::default(),
        Options::default(),
        &mut tables,
        crate::Each::unlimited().begins(),
    );
    assert!(matches!(outcome, RunOutcome::Finished), "{outcome:?}");
    expect![[r#"
        flip
        op  instructions     bytes  redundant  sectors  ideal  wavefronts  ideal  operation
        #0            32  16.0 KiB                 512    512                     copy(x[0..64, 0..64], r)
        #1           128  16.0 KiB                                   1024    128  copy(r, s[0..64, 0..64])
        #2                                                                        sync()
        #3            32  16.0 KiB                                    128    128  copy(s[0..64, 0..64] permuted [1, 0], t)
        #4            32  16.0 KiB                 512    512                     copy(t, y[0..64, 0..64])
                     224  64.0 KiB                1024   1024        1152    256  in all
        1 block of 128 threads, 1 barrier
        flip
        op  instructions     bytes  redundant  sectors  ideal  wavefronts  ideal  operation
        #0            32  16.0 KiB                 512    512                     copy(x[0..64, 0..64], r)
        #1            32  16.0 KiB                                    128    128  copy(r, s[0..64, 0..64])
        #2                                                                        sync()
        #3           128  16.0 KiB                                   1024    128  copy(s[0..64, 0..64] permuted [1, 0], t)
        #4            32  16.0 KiB                 512    512                     copy(t, y[0..64, 0..64])
                     224  64.0 KiB                1024   1024        1152    256  in all
        1 block of 128 threads, 1 barrier
    "#]].assert_eq(&tables.0);
}
