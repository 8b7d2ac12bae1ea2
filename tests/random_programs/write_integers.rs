//! Writes integers as text. Scalars of the block are separate statements before the expression that uses them.

use hx_dtype::DType;

use super::integers::{DIVIDES_BY_ZERO, Number, Zero, leaves, limits};
use super::program::{Condition, Node, is_unsigned};
use super::write::{Writer, float, number};
use super::write_more::compare;

/// Returns the type of an integer of the launch that counts iterations or chooses a branch.
pub(super) fn counter(at: usize) -> DType {
    [DType::I32, DType::U8, DType::I16, DType::I8, DType::U16, DType::I64][at % 6]
}

impl Writer<'_> {
    /// Writes a comparison of two expressions of one type.
    pub(super) fn condition(&mut self, condition: &Condition, args: &[String], like: &str) -> String {
        let Condition { compare: how, operands, dtype } = condition;
        if is_unsigned(*dtype) && dtype.bits() >= 8 {
            self.parts.insert("unsigned comparison");
            self.draws.insert(format!("comparisons of {dtype}"));
        }
        let [a, b] = operands.each_ref().map(|node| self.device(node, *dtype, args, like));
        format!("({a} {} {b})", compare(*how))
    }

    /// Writes an expression that wraps, converts, divides, or is a scalar of the block.
    pub(super) fn integer(&mut self, node: &Node, dtype: DType, args: &[String], like: &str) -> String {
        match node {
            Node::Wrapped(x, dtype) => {
                let kind = if self.in_number { "numbers" } else { "tiles" };
                if !self.in_number || leaves(x, *dtype) {
                    self.parts.insert("integers that wrap");
                    self.draws.insert(match **x {
                        Node::Cast(..) => format!("casts of {kind} that wrap to {dtype}"),
                        _ => format!("{kind} that wrap in {dtype}"),
                    });
                }
                self.device(x, *dtype, args, like)
            }
            Node::Cast(x, [from, to]) => format!("cast({}, {to})", self.device(x, *from, args, like)),
            Node::Divided(division) => {
                let [x, by] = division.operands.each_ref().map(|node| self.device(node, dtype, args, like));
                let sign = if division.remainder { "%" } else { "/" };
                let (divided, other) = (
                    format!("{x} {sign} {by}"),
                    match division.zero {
                        Zero::Constant(other) => number(other, dtype),
                        _ => x.clone(),
                    },
                );
                if self.in_number {
                    return format!("(if {by} == 0 {{ {other} }} else {{ {divided} }})");
                }
                self.parts.insert("division of tiles");
                self.draws.insert(format!(
                    "{} of {dtype}",
                    if division.remainder { "remainders" } else { "quotients" }
                ));
                match division.zero {
                    Zero::Constant(_) => format!("where({by} == 0, {other}, {divided})"),
                    Zero::Dividend => format!("where({by} != 0, {divided}, {other})"),
                    Zero::Never => format!("({divided})"),
                    Zero::Reported => {
                        self.divides_by_zero = true;
                        self.draws.insert(DIVIDES_BY_ZERO.to_owned());
                        format!("({divided})")
                    }
                }
            }
            Node::Number(number) => self.number(number),
            Node::Launched(value) => {
                self.numbers += 1;
                let name = format!("arg{}", self.numbers);
                self.params.push(format!("{name}: {dtype}"));
                self.args.push(value.to_string());
                name
            }
            _ => String::new(),
        }
    }

    /// Writes the statements that compute a scalar of the block, and returns its name.
    fn number(&mut self, number: &Number) -> String {
        let Number { dtype, start, steps, annotated } = number;
        self.parts.insert("numbers of the block");
        self.draws.insert(format!("numbers of type {dtype}"));
        let outer = std::mem::replace(&mut self.in_number, true);
        let start = self.device(start, *dtype, &[], "");
        self.numbers += 1;
        let name = format!("num{}", self.numbers);
        let ty = if *annotated { format!(": {dtype}") } else { String::new() };
        self.emit(format!("let {name}{ty} = {start};"));
        if let Some((count, step)) = steps {
            let step = self.device(step, *dtype, std::slice::from_ref(&name), "");
            self.emit(format!("for _ in 0..{count} {{\n    {name} = {step};\n}}"));
        }
        self.in_number = outer;
        name
    }
}

/// Writes the expression on the host; `text` writes its subexpressions.
pub(super) fn host_integer(node: &Node, text: &dyn Fn(&Node) -> String) -> String {
    match node {
        // The upper half of 64 bits is only compared, so any place above all other numbers suffices.
        Node::Wrapped(x, DType::U64) => {
            format!("({} % {})", text(x), float(limits(DType::U64).high))
        }
        Node::Wrapped(x, dtype) => {
            let (low, high) = (limits(*dtype).low, limits(*dtype).high);
            let all = float(high - low + 1);
            let x = text(x);
            if low == 0 {
                format!("({x} % {all})")
            } else {
                format!("(({x} - {}) % {all} + {})", float(low), float(low))
            }
        }
        Node::Cast(x, _) => text(x),
        Node::Divided(division) => {
            let [x, by] = division.operands.each_ref().map(text);
            let divisor = format!("where({by} == 0.0, 1.0, {by})");
            let divided = match division.remainder {
                true => format!("{x} % {divisor}"),
                false => format!("floor({x} / {divisor})"),
            };
            match division.zero {
                Zero::Constant(other) => format!("where({by} == 0.0, {}, {divided})", float(other)),
                Zero::Dividend => format!("where({by} == 0.0, {x}, {divided})"),
                Zero::Reported => format!("where({by} == 0.0, 0.0, {divided})"),
                Zero::Never => match division.remainder {
                    true => format!("({x} % {by})"),
                    false => format!("floor({x} / {by})"),
                },
            }
        }
        Node::Number(number) => float(number.value().unwrap_or_default()),
        Node::Launched(value) => float(*value),
        _ => String::new(),
    }
}
