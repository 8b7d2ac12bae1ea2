//! Cancelled work stops: every stage polls for a cancellation in its loops, and stops at the first poll that finds one.

use std::panic::AssertUnwindSafe;

use hx_base::SourceFile;
use hx_hir::file_items;

use super::target;
use crate::test_db::TestDb;
use crate::{Instance, cuda_source, default_instance, solved, synchronization, thread_program};
use crate::{tile_program, violations};

/// A product with stages, loops, unrolled statements and an exchange between threads.
const TEXT: &str = "\
kernel product<BM = 64, BN = 64, BK = 32>(a: f16[m, k], b: f16[k, n], c: mut f16[m, n])
    where k % 32 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [i, j] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., i, ..];
    let gb = tile(b, [BK, BN])[.., .., .., j];
    let sa = shared_tensor(f16, [BM, BK]);
    let sb = shared_tensor(f16, [BK, BN]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for step in 0..cdiv(k, BK) {
        copy_async(ga[.., .., step], sa);
        copy_async(gb[.., .., step], sb);
        commit();
        wait(0);
        sync();
        gemm(acc, sa, sb.T);
        sync();
    }
    #[unroll]
    for _ in 0..16 {
        acc = acc * 1.5 + 1.0;
    }
    let top = max(acc, axis: 1);
    copy(cast(acc - top, f16), tile(c, [BM, BN])[.., .., i, j]);
}
";

fn instance(db: &TestDb, file: SourceFile) -> Instance<'_> {
    let kernel = file_items(db, file).kernels().next().expect("there is a kernel");
    default_instance(db, kernel, target()).expect("it has a default instance")
}

/// A stage: its name, and a function that runs it and reports whether it succeeded.
type Stage = (&'static str, fn(&TestDb, Instance<'_>) -> bool);

const STAGES: [Stage; 6] = [
    ("tile_program", |db, of| tile_program(db, of).is_ok()),
    ("solved", |db, of| solved(db, of).is_ok()),
    ("violations", |db, of| violations(db, of).is_empty()),
    ("thread_program", |db, of| thread_program(db, of).is_ok()),
    ("cuda_source", |db, of| cuda_source(db, of).is_ok()),
    ("synchronization", |db, of| synchronization(db, of).hazards.is_empty()),
];

/// Returns a database in which the stages before this one have run.
fn before(stage: usize) -> (TestDb, SourceFile) {
    let (db, file) = TestDb::with_file(TEXT);
    let of = instance(&db, file);
    for (name, run) in &STAGES[..stage] {
        assert!(run(&db, of), "{name}");
    }
    db.log.take_checks();
    db.log.take();
    (db, file)
}

#[test]
fn every_stage_looks_in_its_loops_and_stops_at_once() {
    let (db, file) = before(STAGES.len());
    let ops = match tile_program(&db, instance(&db, file)) {
        Ok(lowered) => lowered.program.ops(1.0).len(),
        Err(stop) => panic!("{stop:?}"),
    };
    for (stage, (name, run)) in STAGES.iter().enumerate() {
        let (db, file) = before(stage);
        let of = instance(&db, file);
        db.log.take_checks();
        assert!(run(&db, of), "{name}");
        let checks = db.log.take_checks();
        assert!(checks > ops, "{name}: {checks} looks for {ops} operations");
        for at in [2, checks / 2, checks] {
            let (db, file) = before(stage);
            let of = instance(&db, file);
            db.log.cancel_at(at, salsa::Database::cancellation_token(&db));
            let stopped = salsa::Cancelled::catch(AssertUnwindSafe(|| run(&db, of)));
            assert!(stopped.is_err(), "{name} goes on after look {at} of {checks}");
            assert_eq!(db.log.take_checks(), at, "{name}");
            // When asked again, the stage succeeds as if nothing had been cancelled.
            assert!(run(&db, of), "{name} after a cancellation at {at}");
        }
    }
}
