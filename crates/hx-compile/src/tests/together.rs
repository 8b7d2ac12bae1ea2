//! Work on several instances at the same time.

use hx_hir::file_items;
use hx_target::Target;

use crate::{default_instance, solved, test_db::TestDb, together};

/// The results have the order of the instances, and no later query solves them again.
#[test]
fn results_keep_their_order_and_stay_in_the_database() {
    let kernel = |n: i64| {
        format!("kernel k{n}(x: f32[{n}], y: mut f32[{n}]) grid [1] threads 32 {{ copy(load(x), y); }}\n")
    };
    let (db, file) = TestDb::with_file(&[32, 64, 96, 128].map(kernel).concat());
    let kernels = file_items(&db, file).kernels();
    let instances: Vec<_> = kernels
        .map(|kernel| default_instance(&db, kernel, Target::usual()).expect("no parameters"))
        .collect();
    let names = together(&db, &instances, &|db, at, instance| {
        assert!(solved(db, instance).is_ok());
        format!("{at}: {}", instance.kernel(db).name(db))
    });
    assert_eq!(names, ["0: k32", "1: k64", "2: k96", "3: k128"]);
    db.log.take();
    assert!(instances.iter().all(|instance| solved(&db, *instance).is_ok()));
    assert_eq!(db.log.take_counts(), "");
}
