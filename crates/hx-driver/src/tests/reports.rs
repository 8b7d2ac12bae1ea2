//! Reports of the simulator's counters: the listing in several widths, the remarks about waste, sums, and JSON.

use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect};
use hx_host::device::LaunchReport;
use hx_host::eval::{Options, Surroundings};
use hx_inspect::{FormatReport, KernelReport};
use hx_report::{ReportForm, summed_counters};

use super::{open, simulator};
use crate::{Filter, Launches, RunOutcome, TestOptions, Verdict, WorkLimit, list_tests, run_main, run_tests};

/// Collects the reports of launches.
#[derive(Default)]
struct Counted(String);

impl Surroundings for Counted {
    fn print(&mut self, _: &str) {}

    fn launched(&mut self, _: &str, report: &LaunchReport) {
        self.0 += report.counters.as_deref().unwrap_or("no report\n");
    }
}

/// Runs the `main` of a file and compares the reports of its launches.
fn check_launches(text: &str, report: Option<ReportForm>, want: Expect) {
    let (db, file) = open(text);
    let mut counted = Counted::default();
    let report = report.as_ref().map(|form| form as &dyn FormatReport);
    let launches = Launches { report, ..Launches::default() };
    let until = WorkLimit::unlimited().from_now();
    let outcome = run_main(&db, file, &simulator(), launches, Options::default(), &mut counted, until);
    assert!(matches!(outcome, RunOutcome::Finished), "{outcome:?}");
    want.assert_eq(&counted.0);
}

/// Runs the tests of a file, all of which must pass, and returns their reports.
fn reports(text: &str) -> Vec<(String, Vec<KernelReport>)> {
    let (db, file) = open(text);
    let listing = list_tests(&db, &[file], &Filter::default(), WorkLimit::unlimited());
    assert!(listing.broken.is_empty(), "{}", super::show(&db, &listing.diagnostics));
    let options = TestOptions { report: true, cases: 3, ..TestOptions::default() };
    let mut out = Vec::new();
    run_tests(&db, &listing.cases, &simulator(), &options, &AtomicBool::new(false), |report| {
        assert!(matches!(report.verdict, Verdict::Passed), "{:?}", report.verdict);
        out.push((report.case.name, report.kernels));
    });
    out
}

fn check_tests(text: &str, want: Expect) {
    let shown = |(name, kernels): &(String, Vec<KernelReport>)| {
        let kernels: String = kernels.iter().map(|kernel| summed_counters(kernel, 80)).collect();
        format!("{name}\n{kernels}")
    };
    want.assert_eq(&reports(text).iter().map(shown).collect::<String>());
}

const FLIP: &str = r#"
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
main { let (x, y) = (ones(f32, [64, 64]), empty(f32, [64, 64])); flip(x, y); flip<L = (64, 64) : (64, 1)>(x, y); }
"#;

#[test]
fn bank_conflicts_are_beside_their_line() {
    check_launches(
        FLIP,
        Some(ReportForm::Text { width: 100 }),
        expect![[r#"
            launch 1 of t.hx::flip<L = (64,64):(1,64)> on sm_90a: 1 block of 128 threads, 1 barrier, about 2679
              cycles a block
                                   issued     bytes    sectors  conflicts        unit  share
            t.hx, kernel flip
             3 │ kernel flip<L: layout = (64, 64) : (1, 64)>(x: f32[n, m], y: mut f32[m, n])
               ⋮
             7 │     let r = register_tensor(f32, [64, 64]);
             8 │     copy(global_view(x, (64, 64) : (m, 1)), r);
              #0 ld.global.v4.b32      32  16.0 KiB   512 1.0x                 L2 13%    37%
             9 │     let s = shared_tensor(f32, [64, 64], layout: L);
            10 │     copy(r, s);
              #1 st.shared.b32        128  16.0 KiB                   896  shared 38%    43%
                   bank conflicts, 8.0 times the wavefronts: the layout of `s` is pinned to `(64,64):(1,64)`;
                   without `layout:` the compiler chooses one
            11 │     sync();
              #2 sync()                                                                   1%
            12 │     let t = register_tensor(f32, [64, 64]);
            13 │     copy(s.T, t);
              #3 ld.shared.v4.b32      32  16.0 KiB                     0   shared 5%     7%
            14 │     copy(t, global_view(y, (64, 64) : (n, 1)));
              #4 st.global.v4.b32      32  16.0 KiB   512 1.0x                 L2 13%    13%
                 in all               224  64.0 KiB  1024 1.0x        896
            launch 2 of t.hx::flip<L = (64,64):(64,1)> on sm_90a: 1 block of 128 threads, 1 barrier, about 2679
              cycles a block
                                   issued     bytes    sectors  conflicts        unit  share
            t.hx, kernel flip
             3 │ kernel flip<L: layout = (64, 64) : (1, 64)>(x: f32[n, m], y: mut f32[m, n])
               ⋮
             7 │     let r = register_tensor(f32, [64, 64]);
             8 │     copy(global_view(x, (64, 64) : (m, 1)), r);
              #0 ld.global.v4.b32      32  16.0 KiB   512 1.0x                 L2 13%    37%
             9 │     let s = shared_tensor(f32, [64, 64], layout: L);
            10 │     copy(r, s);
              #1 st.shared.v4.b32      32  16.0 KiB                     0   shared 5%     6%
            11 │     sync();
              #2 sync()                                                                   1%
            12 │     let t = register_tensor(f32, [64, 64]);
            13 │     copy(s.T, t);
              #3 ld.shared.b32        128  16.0 KiB                   896  shared 38%    44%
                   bank conflicts, 8.0 times the wavefronts: the layout of `s` is pinned to `(64,64):(64,1)`;
                   without `layout:` the compiler chooses one
            14 │     copy(t, global_view(y, (64, 64) : (n, 1)));
              #4 st.global.v4.b32      32  16.0 KiB   512 1.0x                 L2 13%    13%
                 in all               224  64.0 KiB  1024 1.0x        896
        "#]],
    );
}

#[test]
fn a_narrow_terminal_has_fewer_columns() {
    check_launches(
        FLIP,
        Some(ReportForm::Text { width: 60 }),
        expect![[r#"
            launch 1 of t.hx::flip<L = (64,64):(1,64)> on sm_90a: 1
              block of 128 threads, 1 barrier, about 2679 cycles a block
                                      bytes    sectors  conflicts  share
            t.hx, kernel flip
             3 │ kernel flip<L: layout = (64, 64) : (1, 64)>(x: f32[n, …
               ⋮
             7 │     let r = register_tensor(f32, [64, 64]);
             8 │     copy(global_view(x, (64, 64) : (m, 1)), r);
              #0 ld.global.v4.b32  16.0 KiB   512 1.0x               37%
             9 │     let s = shared_tensor(f32, [64, 64], layout: L);
            10 │     copy(r, s);
              #1 st.shared.b32     16.0 KiB                   896    43%
                   bank conflicts, 8.0 times the wavefronts: the layout
                   of `s` is pinned to `(64,64):(1,64)`; without
                   `layout:` the compiler chooses one
            11 │     sync();
              #2 sync()                                               1%
            12 │     let t = register_tensor(f32, [64, 64]);
            13 │     copy(s.T, t);
              #3 ld.shared.v4.b32  16.0 KiB                     0     7%
            14 │     copy(t, global_view(y, (64, 64) : (n, 1)));
              #4 st.global.v4.b32  16.0 KiB   512 1.0x               13%
                 in all            64.0 KiB  1024 1.0x        896
            launch 2 of t.hx::flip<L = (64,64):(64,1)> on sm_90a: 1
              block of 128 threads, 1 barrier, about 2679 cycles a block
                                      bytes    sectors  conflicts  share
            t.hx, kernel flip
             3 │ kernel flip<L: layout = (64, 64) : (1, 64)>(x: f32[n, …
               ⋮
             7 │     let r = register_tensor(f32, [64, 64]);
             8 │     copy(global_view(x, (64, 64) : (m, 1)), r);
              #0 ld.global.v4.b32  16.0 KiB   512 1.0x               37%
             9 │     let s = shared_tensor(f32, [64, 64], layout: L);
            10 │     copy(r, s);
              #1 st.shared.v4.b32  16.0 KiB                     0     6%
            11 │     sync();
              #2 sync()                                               1%
            12 │     let t = register_tensor(f32, [64, 64]);
            13 │     copy(s.T, t);
              #3 ld.shared.b32     16.0 KiB                   896    44%
                   bank conflicts, 8.0 times the wavefronts: the layout
                   of `s` is pinned to `(64,64):(64,1)`; without
                   `layout:` the compiler chooses one
            14 │     copy(t, global_view(y, (64, 64) : (n, 1)));
              #4 st.global.v4.b32  16.0 KiB   512 1.0x               13%
                 in all            64.0 KiB  1024 1.0x        896
        "#]],
    );
}

#[test]
fn without_the_flag_there_is_no_report() {
    check_launches(
        FLIP,
        None,
        expect![[r#"
        no report
        no report
    "#]],
    );
}

#[test]
fn programs_read_the_numbers() {
    check_launches(
        r#"
kernel double(x: f32[n], y: mut f32[n]) grid [cdiv(n, 512)] threads 128 {
    copy(load(tile(x, [512])[.., block_idx]) * 2.0, tile(y, [512])[.., block_idx]);
}
main { let y = empty(f32, [512]); double(ones(f32, [512]), y); }
"#,
        Some(ReportForm::Json),
        expect![[r#"
            {"kernel":"t.hx::double<>","target":"sm_90a","launches":1,"blocks":1,"threads":128,"barriers":0,"operations":[{"op":0,"text":"copy(x[block_idx.x * 512 + 0..512], x_tile)","place":{"path":"t.hx","item":"double","line":3,"column":10},"calls":[],"rows":["ld.global.v4.b32"],"moves":"registers","instructions":4,"bytes":2048,"redundant_bytes":0,"requests":4,"sectors":64,"ideal_sectors":64,"wavefronts":0,"ideal_wavefronts":0,"unwaited":0,"written_requests":0,"written_sectors":0,"written_wavefronts":0,"written_ideal_wavefronts":0,"cycles":682.6666666666666,"share":0.9357580188248195,"units":{"L2":42.666666666666664,"issue":1.0},"remarks":[]},{"op":1,"text":"value = (x_tile * 2.0)","place":{"path":"t.hx","item":"double","line":3,"column":10},"calls":[],"rows":[],"moves":"nothing","instructions":16,"bytes":0,"redundant_bytes":0,"requests":0,"sectors":0,"ideal_sectors":0,"wavefronts":0,"ideal_wavefronts":0,"unwaited":0,"written_requests":0,"written_sectors":0,"written_wavefronts":0,"written_ideal_wavefronts":0,"cycles":4.2,"share":0.005757104998629262,"units":{"math":4.2,"issue":4.0},"remarks":[]},{"op":2,"text":"copy(value, y[block_idx.x * 512 + 0..512])","place":{"path":"t.hx","item":"double","line":3,"column":5},"calls":[],"rows":["st.global.v4.b32"],"moves":"registers","instructions":4,"bytes":2048,"redundant_bytes":0,"requests":4,"sectors":64,"ideal_sectors":64,"wavefronts":0,"ideal_wavefronts":0,"unwaited":0,"written_requests":4,"written_sectors":64,"written_wavefronts":0,"written_ideal_wavefronts":0,"cycles":42.666666666666664,"share":0.058484876176551216,"units":{"L2":42.666666666666664,"issue":1.0},"remarks":[]}],"other":{"instructions":0,"bytes":0,"redundant_bytes":0,"requests":0,"sectors":0,"ideal_sectors":0,"wavefronts":0,"ideal_wavefronts":0,"unwaited":0,"written_requests":0,"written_sectors":0,"written_wavefronts":0,"written_ideal_wavefronts":0},"total":{"instructions":24,"bytes":4096,"redundant_bytes":0,"requests":8,"sectors":128,"ideal_sectors":128,"wavefronts":0,"ideal_wavefronts":0,"unwaited":0,"written_requests":4,"written_sectors":64,"written_wavefronts":0,"written_ideal_wavefronts":0,"cycles":729.5333333333333},"notes":[],"type":"report","launch":1}
        "#]],
    );
}

#[test]
fn scattered_sectors_and_copies_without_a_wait() {
    check_launches(
        r#"
kernel columns(x: f32[n, m], y: mut f32[n])
    grid [1]
    threads 64
{
    let column = register_tensor(f32, [64]);
    copy(global_view(x, (64) : (m)), column);
    let s = shared_tensor(f32, [256]);
    copy_async(global_view(x, (256) : (1)), s);
    commit();
    copy(column, global_view(y, (64) : (1)));
}
main { let y = empty(f32, [64]); columns(ones(f32, [64, 16]), y); }
"#,
        Some(ReportForm::Text { width: 90 }),
        expect![[r#"
            launch 1 of t.hx::columns<> on sm_90a: 1 block of 64 threads, 0 barriers, about 703 cycles
              a block
                                 issued  bytes  sectors  conflicts      unit  share
            t.hx, kernel columns
             2 │ kernel columns(x: f32[n, m], y: mut f32[n])
               ⋮
             6 │     let column = register_tensor(f32, [64]);
             7 │     copy(global_view(x, (64) : (m)), column);
              #0 ld.global.b32        2  256 B  64 8.0x                L2 6%    95%
                   uncoalesced, 8.0 times the sectors of its bytes: 4 B an access: no dimension of the
                   tile is contiguous in memory
             8 │     let s = shared_tensor(f32, [256]);
             9 │     copy_async(global_view(x, (256) : (1)), s);
              #1 cp.async.cg.16       2   64 B   2 1.0x          0     L2 3%     2%
                   64 asynchronous copies of threads were never waited for, and nothing reads the
                   bytes: leave the copies out, or wait for them
            10 │     commit();
              #2 commit()             2
            11 │     copy(column, global_view(y, (64) : (1)));
              #3 st.global.b32        2  256 B   8 1.0x             issue 3%     3%
                 in all               8  576 B  74 4.1x          0
        "#]],
    );
}

#[test]
fn the_operations_of_a_function_are_beside_its_lines() {
    check_tests(
        r#"
fn scale(x: register mut f32[M], by: f32) {
    x = x * by;
}

kernel twice(x: f32[n], y: mut f32[n]) grid [cdiv(n, 512)] threads 128 {
    let [b] = block_idx;
    let r = register_tensor(f32, [512]);
    copy(tile(x, [512])[.., b], r);
    #[unroll]
    for i in 0..2 {
        scale(r, 2.0);
    }
    copy(r, tile(y, [512])[.., b]);
}

test "launches add up" for n in [512, 2048] {
    let y = empty(f32, n);
    twice(ones(f32, n), y);
    twice(ones(f32, n), y);
}

test "as do the cases of a forall" forall n in 1..=4 {
    let y = empty(f32, n * 512);
    twice(ones(f32, n * 512), y);
}
"#,
        expect![[r#"
            t.hx::launches add up[512]
            2 launches of t.hx::twice<> on sm_90a: 2 blocks of 128 threads, 0 barriers,
              about 734 cycles a block
                                   issued   bytes   sectors     unit  share
            t.hx, kernel twice
             6 │ kernel twice(x: f32[n], y: mut f32[n]) grid [cdiv(n, 512)] threads 128 {
             7 │     let [b] = block_idx;
             8 │     let r = register_tensor(f32, [512]);
             9 │     copy(tile(x, [512])[.., b], r);
              #0 ld.global.v4.b32       8  4096 B  128 1.0x    L2 6%    93%
            10 │     #[unroll]
            11 │     for i in 0..2 {
            12 │         scale(r, 2.0);
               → scale, below          64                    math 1%     1%
            13 │     }
            14 │     copy(r, tile(y, [512])[.., b]);
              #2 st.global.v4.b32       8  4096 B  128 1.0x    L2 6%     6%
            t.hx, fn scale
             2 │ fn scale(x: register mut f32[M], by: f32) {
             3 │     x = x * by;
              #1 r = (r * 2.0)         64                    math 1%     1%
                 in all                80  8192 B  256 1.0x
            t.hx::launches add up[2048]
            2 launches of t.hx::twice<> on sm_90a: 8 blocks of 128 threads, 0 barriers,
              about 734 cycles a block
                                   issued     bytes    sectors     unit  share
            t.hx, kernel twice
             6 │ kernel twice(x: f32[n], y: mut f32[n]) grid [cdiv(n, 512)] threads 128 {
             7 │     let [b] = block_idx;
             8 │     let r = register_tensor(f32, [512]);
             9 │     copy(tile(x, [512])[.., b], r);
              #0 ld.global.v4.b32      32  16.0 KiB   512 1.0x    L2 6%    93%
            10 │     #[unroll]
            11 │     for i in 0..2 {
            12 │         scale(r, 2.0);
               → scale, below         256                       math 1%     1%
            13 │     }
            14 │     copy(r, tile(y, [512])[.., b]);
              #2 st.global.v4.b32      32  16.0 KiB   512 1.0x    L2 6%     6%
            t.hx, fn scale
             2 │ fn scale(x: register mut f32[M], by: f32) {
             3 │     x = x * by;
              #1 r = (r * 2.0)        256                       math 1%     1%
                 in all               320  32.0 KiB  1024 1.0x
            t.hx::as do the cases of a forall
            3 launches of t.hx::twice<> on sm_90a: 8 blocks of 128 threads, 0 barriers,
              about 734 cycles a block
                                   issued     bytes    sectors     unit  share
            t.hx, kernel twice
             6 │ kernel twice(x: f32[n], y: mut f32[n]) grid [cdiv(n, 512)] threads 128 {
             7 │     let [b] = block_idx;
             8 │     let r = register_tensor(f32, [512]);
             9 │     copy(tile(x, [512])[.., b], r);
              #0 ld.global.v4.b32      32  16.0 KiB   512 1.0x    L2 6%    93%
            10 │     #[unroll]
            11 │     for i in 0..2 {
            12 │         scale(r, 2.0);
               → scale, below         256                       math 1%     1%
            13 │     }
            14 │     copy(r, tile(y, [512])[.., b]);
              #2 st.global.v4.b32      32  16.0 KiB   512 1.0x    L2 6%     6%
            t.hx, fn scale
             2 │ fn scale(x: register mut f32[M], by: f32) {
             3 │     x = x * by;
              #1 r = (r * 2.0)        256                       math 1%     1%
                 in all               320  32.0 KiB  1024 1.0x
        "#]],
    );
}

#[test]
fn loads_of_indices_are_requests() {
    check_launches(
        r#"
kernel pick(x: f32[m, n], rows: i32[64], y: mut f32[64, n])
    grid [1]
    threads 128
{
    copy(load(tile(gather(x, rows), [64, 32])[.., .., 0, 0]), tile(y, [64, 32])[.., .., 0, 0]);
}
main {
    let y = empty(f32, [64, 32]);
    pick(ones(f32, [128, 32]), cast(arange(f32, 64), i32), y);
}
"#,
        Some(ReportForm::Text { width: 100 }),
        expect![[r#"
            launch 1 of t.hx::pick<> on sm_90a: 1 block of 128 threads, 0 barriers, about 981 cycles a block
                                   issued     bytes   sectors    unit  share
            t.hx, kernel pick
            2 │ kernel pick(x: f32[m, n], rows: i32[64], y: mut f32[64, n])
            3 │     grid [1]
            4 │     threads 128
            5 │ {
            6 │     copy(load(tile(gather(x, rows), [64, 32])[.., .., 0, 0]), tile(y, [64, 32])[.., .., 0, 0]);
              #0 ld.global.v4.b32      32  10.0 KiB  272 1.0x  L2 17%    83%
              #1 st.global.v4.b32      16    8192 B  256 1.0x  L2 17%    17%
                 in all                48  18.0 KiB  528 1.0x
        "#]],
    );
}

#[test]
fn a_product_and_the_loads_of_its_operands_have_rows_of_their_own() {
    let text = "use std::matmul_pipelined::matmul_pipelined;\n\
                test \"product\" {\n\
                    let c = empty(f16, [128, 128]);\n\
                    matmul_pipelined<BM = 64, BN = 96, BK = 48, STAGES = 3>(ones(f16, [128, 96]), ones(f16, [128, 96]), c);\n\
                }\n";
    let all = reports(text);
    let rows = &all[0].1[0].rows;
    let products = rows.iter().filter(|row| row.instructions.iter().any(|name| name.starts_with("mma.")));
    assert_eq!(products.map(|row| row.instructions.len()).collect::<Vec<_>>(), [1]);
    assert!(rows.is_sorted_by_key(|row| row.op));
}
