//! Waits for asynchronous products that the compiler adds.

use std::collections::BTreeMap;

use hx_base::{Diagnostic, codes};
use hx_lower::Lowered;
use hx_sync::protocol::{Fault, Kind};
use hx_tile::{Choice, GemmChoice, OpId, OperandChoice, Products, Solution, Touched};

use super::Places;

/// Returns a note for each operation before which the compiler waits, unless the access is an error of its own. A product without
/// descriptors is complete when it is issued: there is nothing to wait for.
pub(super) fn added(
    places: &Places<'_>,
    lowered: &Lowered,
    solution: &Solution,
    faults: &[Fault],
) -> Vec<Diagnostic> {
    let is_in_flight = |product: OpId| {
        let choice = solution.choices.get(&product);
        matches!(choice, Some(Choice::Gemm(GemmChoice { b: OperandChoice::Descriptor { .. }, .. })))
    };
    let is_reported = |op: OpId| {
        faults.iter().any(|fault| matches!(fault.kind, Kind::InFlight { later, .. } if later == op))
    };
    let mut waits: BTreeMap<OpId, Vec<Touched>> = BTreeMap::new();
    for touched in Products::of(&lowered.program).touched(&lowered.program) {
        if is_in_flight(touched.product) && !is_reported(touched.op) {
            waits.entry(touched.op).or_default().push(touched);
        }
    }
    waits.iter().map(|(op, touched)| wait(places, lowered, *op, touched)).collect()
}

fn wait(places: &Places<'_>, lowered: &Lowered, op: OpId, touched: &[Touched]) -> Diagnostic {
    let (file, range) = places.op(lowered, op).unwrap_or_else(|| places.kernel());
    let message = "the compiler waits here for all products in flight";
    let mut found = Diagnostic::new(&codes::ADDED_WAIT, file, range, message);
    for Touched { product, tensor, accumulator, .. } in touched {
        let name = &lowered.program.tensor(*tensor).name;
        let does = if *accumulator { "adds to" } else { "reads" };
        let text = format!("on some path this product is not complete there, and {does} `{name}`");
        found = match places.op(lowered, *product) {
            Some((file, range)) => found.also(file, range, text),
            None => found.note(text),
        };
    }
    found.help("`gemm_wait(0)` on every path from the product to here makes the wait yours, and lets the others go on without it")
}
