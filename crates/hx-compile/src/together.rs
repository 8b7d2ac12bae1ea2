//! Work on several instances at the same time.

use hx_base::on_all_cores;
use salsa::plumbing::{AsId, FromId};

use crate::{Db, Instance};

/// Works on instances on all cores, and returns the results in their order. `work` receives the number of its instance.
pub fn together<'db, T: Send + Sync>(
    db: &'db dyn Db,
    instances: &[Instance<'db>],
    work: &(dyn for<'a> Fn(&'a dyn Db, usize, Instance<'a>) -> T + Sync),
) -> Vec<T> {
    let ids: Vec<salsa::Id> = instances.iter().map(AsId::as_id).collect();
    on_all_cores(ids.len(), &|| db.fork(), &|db, at| work(&**db, at, Instance::from_id(ids[at])))
}
