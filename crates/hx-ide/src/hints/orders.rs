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
    let line = |tried: &TriedOrder| format!("- `{}`: {}\n", tried.block_text(), tried.cycles_text());
    let lines: String = order.cheapest_first().into_iter().map(line).collect();
    let name = &order.name;
    format!("`{name} = {}`, inferred. Estimated cycles with each order:\n\n{lines}", order.value())
}
