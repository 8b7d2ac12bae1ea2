//! Computes lines for the marks in CUDA text, counted from the kernel's header.

use std::collections::BTreeMap;

use hx_base::{LineIndex, TextRange};
use hx_hir::{Item, ItemKey, item_text, signature_source_map};
use hx_lower::{Lowered, Place};
use hx_tile::Origin;

use crate::{Db, Instance, tile_program};

/// Returns the last part of the file's path and the kernel's name, as in `gemm.hx::gemm`.
pub(crate) fn shown_name<'db>(db: &'db dyn Db, instance: Instance<'db>) -> String {
    let kernel = instance.kernel(db);
    let path = kernel.file(db).path(db);
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    format!("{file}::{}", kernel.name(db))
}

/// Returns the line of each origin, where the line of the word `kernel` is 1. Operations of an inlined function have the
/// line of its call. The query reads the kernel's own text, so an edit elsewhere in the file does not run it.
#[salsa::tracked]
pub(crate) fn relative_lines<'db>(db: &'db dyn Db, instance: Instance<'db>) -> BTreeMap<Origin, u32> {
    let kernel = instance.kernel(db);
    let item = Item::Kernel(kernel);
    let (Ok(lowered), Some(map)) = (tile_program(db, instance), signature_source_map(db, item)) else {
        return BTreeMap::new();
    };
    let key = kernel.key(db);
    let index = LineIndex::new(&item_text(db, item));
    let line = |range: TextRange| index.try_line_col(range.start()).map_or(0, |at| at.line);
    let header = line(map.header);
    let mut lines = BTreeMap::new();
    for number in 0..lowered.sources.origins.len() as u32 {
        let place = place_in(lowered, &key, Origin(number));
        let range = place.and_then(|place| place.range_in_item(db));
        if let Some(relative) = range.and_then(|range| line(range).checked_sub(header)) {
            lines.insert(Origin(number), relative + 1);
        }
    }
    lines
}

/// Returns the place of an origin if it is in the item; otherwise the place of the nearest call around it that is; `None` if
/// none is.
fn place_in<'a>(lowered: &'a Lowered, item: &ItemKey, origin: Origin) -> Option<&'a Place> {
    let mut at = lowered.sources.origins.get(origin.0 as usize)?;
    while at.place.item != *item {
        at = lowered.sources.origins.get(at.call?.0 as usize)?;
    }
    Some(&at.place)
}
