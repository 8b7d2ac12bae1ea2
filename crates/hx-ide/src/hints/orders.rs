//! Hints of the orders in memory that the compiler inferred for packed tensors, behind the `infer` of the header.

use hx_compile::{Db, InferredOrder, Instance, TriedOrder, orders_of};
use hx_hir::{Item, kernel_signature, signature_source_map};

use super::{HintKind, HintPart, InlayHint};

/// Returns the hints of the orders that an instance takes because the compiler inferred them.
pub(super) fn order_hints<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<InlayHint> {
    let kernel = instance.kernel(db);
    let Some(map) = signature_source_map(db, Item::Kernel(kernel)) else { return Vec::new() };
    let hint = |order: &InferredOrder| {
        let generics = &kernel_signature(db, kernel).generics;
        let default = generics.iter().find(|generic| generic.name == order.name)?.default?;
        let offset = map.map.expr(default)?.end() + kernel.offset(db);
        let part =
            HintPart { text: format!("⟨{}⟩", order.value()), tooltip: tooltip(order), target: None };
        Some(InlayHint { offset, kind: HintKind::Layout, parts: vec![part], stale: false })
    };
    orders_of(db, instance).into_iter().flatten().filter_map(hint).collect()
}

/// Formats an order with those that it was compared with, cheapest first.
fn tooltip(order: &InferredOrder) -> String {
    let cycles = |tried: &TriedOrder| tried.cycles.unwrap_or(f64::INFINITY);
    let mut tried: Vec<&TriedOrder> = order.tried.iter().collect();
    tried.sort_by(|a, b| cycles(a).total_cmp(&cycles(b)));
    let line = |tried: &TriedOrder| {
        let block = tried.block.as_ref().map_or("row-major".to_owned(), ToString::to_string);
        match tried.cycles {
            Some(cycles) => format!("- `{block}`: {cycles:.0} cycles\n"),
            None => format!("- `{block}`: no layouts\n"),
        }
    };
    let lines: String = tried.into_iter().map(line).collect();
    let name = &order.name;
    format!("`{name} = {}`, inferred. Estimates of the orders:\n\n{lines}", order.value())
}
