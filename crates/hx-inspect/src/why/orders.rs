//! Formats the packed orders that the compiler inferred, with those that it compared.

use std::fmt::Write as _;

use hx_compile::{InferredOrder, orders_of};
use hx_hir::kernel_signature;

use super::Solved;

impl Solved<'_> {
    /// Formats the inferred order that a compile-time parameter or a tensor parameter of this name has: the block, and the orders that were
    /// compared, cheapest first. `None` if no such order was inferred for this instance.
    pub fn order(&self, name: &str) -> Option<String> {
        let params = &kernel_signature(self.db, self.instance.kernel(self.db)).params;
        let is_meant = |order: &InferredOrder| {
            order.name == name
                || order.params.iter().any(|at| params.get(*at).is_some_and(|p| p.name == name))
        };
        let order = orders_of(self.db, self.instance).ok()?.into_iter().find(|order| is_meant(order))?;
        let mut out = self.order_line(order);
        let _ = writeln!(out, "\n    cycles  order");
        for tried in order.cheapest_first() {
            let (cycles, block) = (tried.cycles_text(), tried.block_text());
            let pairs =
                if tried.halves { ", the elements of a pair in the two halves of a register" } else { "" };
            let of = match tried.fragment.as_str() {
                "" => String::new(),
                fragment => format!("  as a thread holds `{fragment}`{pairs}"),
            };
            let _ = writeln!(out, "{cycles:>10}  {block}{of}");
        }
        Some(out)
    }

    /// Formats the inferred orders of the instance, a line each.
    pub(super) fn order_lines(&self) -> String {
        orders_of(self.db, self.instance).into_iter().flatten().map(|order| self.order_line(order)).collect()
    }

    fn order_line(&self, order: &InferredOrder) -> String {
        let params = &kernel_signature(self.db, self.instance.kernel(self.db)).params;
        let of = order.params.iter().filter_map(|at| Some(format!("`{}`", params.get(*at)?.name)));
        let of = of.collect::<Vec<_>>().join(", ");
        format!(
            "{} = {}: the order of {of}, inferred from {} by the instance with all defaults\n",
            order.name,
            order.value(),
            order.tried.len()
        )
    }
}
