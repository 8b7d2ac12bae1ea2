//! Bounds the width of accesses by the alignment of their addresses: base, strides and start of the view.

use hx_dtype::DType;
use hx_index::{Expr, Facts, Symbol, gcd};
use hx_tile::View;

use super::Run;

/// The bound before any fact limits it, in elements: more than any access moves.
const ANY: i64 = 1 << 20;

/// The widest access that is aligned at all addresses of a view.
#[derive(Clone, Debug)]
pub(crate) struct Widest {
    /// Largest power of two that divides every address, in elements. The widths of all accesses are powers of two.
    pub(crate) elements: i64,
    /// The fact that sets the limit, as text; empty if none does.
    pub(crate) limit: String,
}

/// The bound on the width of accesses through a view.
#[derive(Clone, Debug)]
pub(crate) struct Alignment {
    /// The elements of the view that are contiguous in memory, if there are any.
    pub(crate) run: Option<Run>,
    /// The most elements that one access may move.
    pub(crate) elements: i64,
    /// The fact that sets that limit.
    pub(crate) limit: String,
}

impl Widest {
    /// Returns the bound without any limiting fact.
    pub(crate) fn any() -> Widest {
        Widest { elements: ANY, limit: String::new() }
    }

    /// Returns the bound that the alignment of a pointer, in bytes, sets.
    pub(crate) fn of_pointer(name: &str, align: u32, dtype: DType) -> Widest {
        let elements = i64::from(align) * 8 / i64::from(dtype.bits());
        Widest { elements, limit: format!("`{name}` is known to be aligned to {align} B only") }
    }

    /// Reports whether an access of `width` elements is aligned at every address.
    pub(crate) fn allows(&self, width: i64) -> bool {
        self.elements % width == 0
    }

    /// Narrows the bound to addresses that are multiples of `divisor` elements; 0 stands for addresses that are all 0. `limit`
    /// explains the resulting number of elements.
    pub(crate) fn narrow(&mut self, divisor: i64, limit: impl FnOnce(i64) -> String) {
        let next = gcd(self.elements, divisor);
        if next != self.elements {
            (self.elements, self.limit) = (next, limit(next));
        }
    }

    /// Narrows the bound by the coordinates at which runs along mode `own` of a view start: the view's offset in the dimension of
    /// that mode, and the steps of its other modes there.
    ///
    /// The layout of the base keeps every run of `n` elements that starts at a multiple of `n` contiguous, so the coordinate
    /// decides whether an address is aligned. In a rolled or unrolled loop the offset is the same expression of the counter, so
    /// one divisor holds for all iterations.
    pub(crate) fn narrow_by_start(
        &mut self,
        facts: &Facts,
        view: &View,
        own: usize,
        name: &str,
        dtype: DType,
    ) {
        let dim = view.modes[own].dim;
        // Report a step before a start that sets the same limit: the step limits every start.
        let others = view.modes.iter().enumerate().filter(|(i, m)| *i != own && m.dim == dim && m.extent > 1);
        for (_, mode) in others {
            let step = &mode.factor;
            self.narrow(facts.divisor(step), |n| {
                let bytes = amount(n, dtype);
                format!("the view of `{name}` steps by `{step}` in dimension {dim}, so addresses are multiples of {bytes} only")
            });
        }
        let start = &view.offsets[dim];
        self.narrow(facts.divisor(start), |n| {
            let known = if start.as_const().is_some() { "" } else { "known to be " };
            let bytes = amount(n, dtype);
            let because = because_of(facts, start, n);
            format!("the slice of `{name}` starts at `{start}` in dimension {dim}{because}, so addresses are {known}multiples of {bytes} only")
        });
    }
}

/// Names, as text, the dimensions and scalars of a start that is known to be a multiple of only `n` elements: those whose larger
/// divisor would give the start a larger one. The text is empty if there are none.
pub(super) fn because_of(facts: &Facts, start: &Expr, n: i64) -> String {
    let helps = |symbol: &Symbol| {
        let mut known = facts.clone();
        known.divisible(symbol.clone(), n.saturating_mul(2));
        matches!(symbol, Symbol::Dim(_) | Symbol::Scalar(_)) && gcd(known.divisor(start), 2 * n) > n
    };
    let known = |symbol: Symbol| match facts.divisor(&Expr::symbol(symbol.clone())) {
        1 => format!("`{symbol}` is not known to be even"),
        divisor => format!("`{symbol}` is known to be divisible by {divisor} only"),
    };
    let causes: Vec<String> = start.symbols().into_iter().filter(helps).map(known).collect();
    if causes.is_empty() { String::new() } else { format!(": {}", causes.join(", ")) }
}

/// Returns an amount of memory as text: `4 B`, or `4 bits` if it is not a whole number of bytes.
pub(crate) fn amount(elements: i64, dtype: DType) -> String {
    match elements.saturating_mul(i64::from(dtype.bits())) {
        bits if bits % 8 == 0 => format!("{} B", bits / 8),
        bits => format!("{bits} bits"),
    }
}

/// Returns the help text that says why elements narrower than a byte cannot be moved. `why` names the fact that separates
/// elements of one byte.
pub(crate) fn parts_bytes(dtype: DType, why: &str) -> String {
    let whole = 8 / dtype.bits();
    format!("bytes are moved whole, {whole} neighbours from a multiple of {whole} on: {why}")
}

/// Returns the help text that suggests a cast to bytes, for elements that cannot be moved.
pub(crate) fn by_way_of_bytes(dtype: DType) -> String {
    format!("bytes can be parted: `cast` to 8 bits first, and back to `{dtype}` last")
}
