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
            (Bit::And | Bit::Or | Bit::Xor, [x, y]) if self.takes_ptx(*own, x, y) => {
                let function = self.ptx(*op, *own);
                format!("{function}({x}, {y})")
            }
            (Bit::Not, [x]) => format!("(~{x})"),
            (Bit::Same, [x]) if self.takes_parts(x) => {
                let part = if x.len() % 2 == 0 { DType::U8 } else { DType::U4 };
                self.draws.insert(format!("bitcast of {own} by way of {part}"));
                format!("bitcast(bitcast({x}, {part}), {dtype})")
            }
            (Bit::Same, [x]) => format!("bitcast({x}, {dtype})"),
            (Bit::Ones | Bit::Zeros | Bit::Upper, all) => format!("{}({})", name(*op), all.join(", ")),
            (_, all) => format!("({})", all.join(&format!(" {} ", name(*op)))),
        }
    }

    /// Reports whether an operation on tiles is written as a call of a function that is PTX: one of three is, by the length of its operands.
    fn takes_ptx(&self, dtype: DType, x: &str, y: &str) -> bool {
        !self.in_number && matches!(dtype, DType::I32 | DType::U32) && (x.len() + y.len()).is_multiple_of(3)
    }

    /// Reports whether the bits of a tile are cast by way of narrower elements: those of one in three are, by the length of the operand.
    fn takes_parts(&self, x: &str) -> bool {
        !self.in_number && x.len().is_multiple_of(3)
    }

    /// Returns the name of a function that is PTX, and writes it if the program does not have it yet.
    fn ptx(&mut self, op: Bit, dtype: DType) -> String {
        self.parts.insert("PTX");
        let word = match op {
            Bit::And => "and",
            Bit::Or => "or",
            _ => "xor",
        };
        let function = format!("{word}_{dtype}");
        if !self.functions.contains(&format!("fn {function}(")) {
            self.functions.push_str(&format!(
                "#[ptx(\"{word}.b32 {{result}}, {{x}}, {{y}};\")]\n\
                 fn {function}(x: {dtype}, y: {dtype}) -> {dtype} {{\n    x {} y\n}}\n\n",
                name(op)
            ));
        }
        function
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
