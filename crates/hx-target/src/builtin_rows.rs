//! The rows of all built-in targets: the files of `catalogue/`.

use std::sync::LazyLock;

use crate::Catalogue;
use crate::catalogue::read;

/// Returns the rows of all built-in targets together.
///
/// # Panics
/// If a file of `catalogue/` is malformed, which a test excludes.
pub(crate) fn all_rows() -> &'static Catalogue {
    static ROWS: LazyLock<Catalogue> = LazyLock::new(|| {
        rows().unwrap_or_else(|error| panic!("the built-in targets are malformed: {error}"))
    });
    &ROWS
}

/// Reads the rows of all targets together.
///
/// # Errors
/// If a file of `catalogue/` is malformed.
fn rows() -> Result<Catalogue, String> {
    let products = read(include_str!("../catalogue/gemm.toml"))?;
    let exchanges = read(include_str!("../catalogue/exchange.toml"))?;
    let boxes = read(include_str!("../catalogue/bulk.toml"))?;
    let atomic = crate::atomic::rows(include_str!("../catalogue/atomic.toml")).map_err(|e| e.to_string())?;
    let cache = read(include_str!("../catalogue/cache.toml"))?;
    Ok(Catalogue {
        copies: [read(include_str!("../catalogue/copy.toml"))?.copies, atomic].concat(),
        gemms: products.gemms,
        reaches: products.reaches,
        converts: read(include_str!("../catalogue/convert.toml"))?.converts,
        computes: read(include_str!("../catalogue/compute.toml"))?.computes,
        bulks: boxes.bulks,
        map: boxes.map,
        groups: [exchanges.groups, boxes.groups].concat(),
        exchanges: exchanges.exchanges,
        syncs: read(include_str!("../catalogue/sync.toml"))?.syncs,
        policies: cache.policies,
        prefetches: cache.prefetches,
        waits: read(include_str!("../catalogue/wait.toml"))?.waits,
    })
}
