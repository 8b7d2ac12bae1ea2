//! How wide an access may be: what is known of the addresses that it takes, by base, stride and start of the view.

use hx_dtype::DType;
use hx_index::{Facts, gcd};
use hx_tile::View;

/// Elements of the longest access of all, and more.
const ANY: i64 = 1 << 20;

/// The widest access that all addresses of a view allow.
#[derive(Clone, Debug)]
pub(crate) struct Widest {
    /// Elements that divide every address, a power of two as the widths of all accesses are.
    pub(crate) elements: i64,
    /// The fact that sets the limit.
    pub(crate) limit: String,
}

impl Widest {
    /// Nothing is known that limits an access.
    pub(crate) fn any() -> Widest {
        Widest { elements: ANY, limit: String::new() }
    }

    /// What the alignment of a pointer in bytes allows.
    pub(crate) fn of_pointer(name: &str, align: u32, dtype: DType) -> Widest {
        let elements = i64::from(align) * 8 / i64::from(dtype.bits());
        Widest { elements, limit: format!("`{name}` is known to be aligned to {align} B only") }
    }

    /// Whether an access of so many elements is aligned at every address.
    pub(crate) fn allows(&self, width: i64) -> bool {
        self.elements % width == 0
    }

    /// Addresses are multiples of `divisor` elements, or all 0 if that is 0. `limit` says why, given what is left.
    pub(crate) fn narrow(&mut self, divisor: i64, limit: impl FnOnce(i64) -> String) {
        let next = gcd(self.elements, divisor);
        if next != self.elements {
            (self.elements, self.limit) = (next, limit(next));
        }
    }

    /// Narrows by the coordinates at which runs along mode `own` of a view start: the offset of the view in the dimension of that mode,
    /// and the steps of its other modes there.
    ///
    /// The layout of the base keeps every run of `n` elements that starts at a multiple of `n` side by side, so a coordinate is
    /// enough to tell whether an address is aligned. In an unrolled or rolled loop the offset is the same expression of the counter,
    /// so one divisor holds for all iterations.
    pub(crate) fn narrow_by_start(
        &mut self,
        facts: &Facts,
        view: &View,
        own: usize,
        name: &str,
        dtype: DType,
    ) {
        let dim = view.modes[own].dim;
        let start = &view.offsets[dim];
        self.narrow(facts.divisor(start), |n| {
            let known = if start.as_const().is_some() { "" } else { "known to be " };
            let bytes = amount(n, dtype);
            format!("the slice of `{name}` starts at `{start}` in dimension {dim}, so addresses are {known}multiples of {bytes} only")
        });
        let others = view.modes.iter().enumerate().filter(|(i, m)| *i != own && m.dim == dim && m.extent > 1);
        for (_, mode) in others {
            let step = &mode.factor;
            self.narrow(facts.divisor(step), |n| {
                let bytes = amount(n, dtype);
                format!("the view of `{name}` steps by `{step}` in dimension {dim}, so addresses are multiples of {bytes} only")
            });
        }
    }
}

/// So many elements as memory: `4 B`, or `4 bits` where they are no whole bytes.
pub(crate) fn amount(elements: i64, dtype: DType) -> String {
    match elements.saturating_mul(i64::from(dtype.bits())) {
        bits if bits % 8 == 0 => format!("{} B", bits / 8),
        bits => format!("{bits} bits"),
    }
}

/// Why elements narrower than a byte cannot be moved.
pub(crate) fn parts_bytes(dtype: DType, why: &str) -> String {
    let whole = 8 / dtype.bits();
    format!("bytes are moved whole, {whole} neighbours from a multiple of {whole} on: {why}")
}

/// The way out where they cannot.
pub(crate) fn by_way_of_bytes(dtype: DType) -> String {
    format!("bytes can be parted: `cast` to 8 bits first, and back to `{dtype}` last")
}
