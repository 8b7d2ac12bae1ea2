//! Writes operations on the bits of integers: as operators in kernels, as arithmetic on the host.

use hx_dtype::DType;

use super::bits::{Bit, Bits};
use super::integers::limits;
use super::program::{Node, is_unsigned};
use super::write::{Writer, float};

impl Writer<'_> {
    /// Writes an operation whose result has the type `dtype`.
    pub(super) fn bits(&mut self, bits: &Bits, dtype: DType, args: &[String], like: &str) -> String {
        let Bits { op, dtype: own, operands, count } = bits;
        if self.in_number {
            self.draws.insert(format!("bits of numbers of {own}"));
        } else {
            self.parts.insert("bits");
            self.draws.insert(format!("{} of {own}", name(*op)));
        }
        let mut all: Vec<String> = operands.iter().map(|node| self.device(node, *own, args, like)).collect();
        if let (Some(count), [_, by]) = (count, all.as_mut_slice()) {
            self.draws.insert(format!("counts of {count} for {own}"));
            *by = format!("cast({by}, {count})");
        }
        match (op, all.as_slice()) {
            (Bit::Not, [x]) => format!("(~{x})"),
            (Bit::Same, [x]) => format!("bitcast({x}, {dtype})"),
            (Bit::Ones | Bit::Zeros | Bit::Upper, all) => format!("{}({})", name(*op), all.join(", ")),
            (_, all) => format!("({})", all.join(&format!(" {} ", name(*op)))),
        }
    }
}

pub(super) fn name(op: Bit) -> &'static str {
    match op {
        Bit::And => "&",
        Bit::Or => "|",
        Bit::Xor => "^",
        Bit::Shl => "<<",
        Bit::Shr => ">>",
        Bit::Not => "~",
        Bit::Ones => "popcount",
        Bit::Zeros => "clz",
        Bit::Upper => "mulhi",
        Bit::Same => "bitcast",
    }
}

/// Returns a host expression for `x & y` in f64.
pub(super) fn shared_bits(x: &str, y: &str) -> String {
    format!("cast(cast({x}, i64) & cast({y}, i64), f64)")
}

/// Writes the operation on the host. Only `&` and `popcount` are those of the host: the rest is arithmetic.
pub(super) fn host_bits(bits: &Bits, text: &dyn Fn(&Node) -> String) -> String {
    let all: Vec<String> = bits.operands.iter().map(text).collect();
    let width = bits.dtype.bits();
    let x = &all[0];
    let y = all.get(1).map_or("", String::as_str);
    let power = || match bits.operands.get(1) {
        Some(Node::Const(times)) => float(1 << times.clamp(&0, &62)),
        _ => format!("floor(exp2(where({y} < 0.0, 34.0, {y} + 0.0)) + 0.5)"),
    };
    match bits.op {
        Bit::And => shared_bits(x, y),
        Bit::Or => format!("({x} + {y} - {})", shared_bits(x, y)),
        Bit::Xor => format!("({x} + {y} - 2.0 * {})", shared_bits(x, y)),
        Bit::Shl => format!("({x} * {})", power()),
        Bit::Shr => format!("floor({x} / {})", power()),
        Bit::Not if is_unsigned(bits.dtype) => format!("({} - {x})", float(limits(bits.dtype).high)),
        Bit::Not => format!("(-1.0 - {x})"),
        Bit::Ones => {
            let ones = |x: &str| format!("cast(popcount(cast({x}, i64)), f64)");
            format!("where({x} < 0.0, {width}.0 - {}, {})", ones(&format!("(-1.0 - {x})")), ones(x))
        }
        Bit::Zeros => {
            format!("where({x} < 0.0, 0.0, {}.0 - floor(log2(abs({x}) + 0.5)))", width - 1)
        }
        Bit::Upper => format!("floor({x} * {y} / {}.0)", 1_u128 << width),
        Bit::Same => x.clone(),
    }
}
