//! Turns layouts of positions and threads into symbolic expressions.

use hx_index::{Expr, Facts, Symbol};
use hx_layout::Layout;

use crate::{Body, Control, RegId, Registers, Stmt};

/// Returns the registers of one instruction. The first mode of `positions` lists its values; a counter walks each further
/// mode.
pub(super) fn registers(array: RegId, positions: &Layout, counters: &[Expr]) -> Registers {
    let values = positions.mode(0);
    let base = counters
        .iter()
        .enumerate()
        .fold(Expr::default(), |sum, (i, counter)| sum + walk(&positions.mode(i + 1), counter));
    Registers { array, base, offsets: (0..values.size()).map(|v| values.eval(v) as u32).collect() }
}

/// Returns the index of a layout at a symbolic 1-D coordinate.
pub(super) fn walk(layout: &Layout, counter: &Expr) -> Expr {
    let mut facts = Facts::default();
    if let Some(symbol) = counter.symbols().into_iter().next() {
        facts.at_most(symbol, Expr::constant(layout.size() - 1));
    }
    digits(counter, layout.leaves(), &facts)
        .into_iter()
        .zip(layout.leaves())
        .fold(Expr::default(), |sum, (digit, (_, stride))| sum + digit.scale(*stride))
}

/// Splits a symbolic index into digits over modes, the leftmost fastest. The last digit is not wrapped.
pub(super) fn digits(index: &Expr, modes: &[(i64, i64)], facts: &Facts) -> Vec<Expr> {
    let mut unit = 1;
    modes
        .iter()
        .enumerate()
        .map(|(i, (extent, _))| {
            let quotient = index.div(&Expr::constant(unit), facts);
            unit *= extent;
            let last = i + 1 == modes.len();
            if last { quotient } else { quotient.rem(&Expr::constant(*extent), facts) }
        })
        .collect()
}

/// Puts nested unrolled loops around a body. A loop of one step is left out; its counter must be unused, or replaced by 0 by
/// the caller.
pub(super) fn unrolled(loops: &[(Symbol, i64)], body: Body) -> Body {
    nested(loops, body, i64::MAX)
}

/// As [`unrolled`], for a body without registers, so that its loops may stay loops: only the innermost ones are unrolled, to at
/// most [`UNROLLED`] instructions.
pub(super) fn rolled(loops: &[(Symbol, i64)], body: Body) -> Body {
    nested(loops, body, UNROLLED)
}

/// The most instructions of one copy in a row.
const UNROLLED: i64 = 32;

fn nested(loops: &[(Symbol, i64)], body: Body, most: i64) -> Body {
    let mut instructions = 1;
    loops.iter().rev().filter(|(_, count)| *count != 1).fold(body, |body, (var, count)| {
        instructions *= count;
        vec![Stmt::Control(Control::For {
            var: var.clone(),
            start: Expr::default(),
            end: Expr::constant(*count),
            unroll: instructions <= most,
            body,
        })]
    })
}
