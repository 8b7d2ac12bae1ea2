//! Writes elementwise expressions, in a kernel and on the host.

use std::fmt::Write as _;

use hx_dtype::DType;

use super::program::{Condition, Join, Node, POINTS, Shape, Step, Value};
use super::write::{Writer, float, list, number};
use super::write_bits::host_bits;
use super::write_integers::host_integer;
use super::write_more::{binary, compare};

impl Writer<'_> {
    pub(super) fn map(&mut self, at: usize, step: &Step, node: &Node, function: bool) {
        self.parts.insert("elementwise");
        let Value { shape, dtype, .. } = step.value;
        let args: Vec<Shape> = step.from.iter().map(|&from| self.program.steps[from].value.shape).collect();
        if args.iter().any(|&arg| arg != shape) {
            self.parts.insert("broadcast");
        }
        let names: Vec<String> = step.from.iter().map(|from| format!("v{from}")).collect();
        if function {
            self.parts.insert("function");
            let own: Vec<String> = (0..args.len()).map(|i| format!("a{i}")).collect();
            let body = self.device(node, dtype, &own, "");
            let params: Vec<String> = own.iter().map(|name| format!("{name}: {dtype}")).collect();
            let header = format!("fn of{at}({}) -> {dtype}", params.join(", "));
            let _ = write!(self.functions, "{header} {{\n    {body}\n}}\n\n");
            self.emit(format!("let v{at} = of{at}({});", names.join(", ")));
        } else {
            let like = args.iter().position(|&arg| arg == shape);
            // Elements of different types are cast to one type.
            let cast = |name: &String| format!("cast({name}, i32)");
            let joined = || names.iter().map(cast).collect::<Vec<_>>().join(" + ");
            let like = like.map_or_else(joined, |i| names[i].clone());
            let text = self.device(node, dtype, &names, &like);
            self.emit(format!("let v{at} = {text};"));
        }
        let text = host(node, &names, shape);
        self.expect(at, &text);
    }

    /// Writes the expression in a kernel; `like` has its shape.
    pub(super) fn device(&mut self, node: &Node, dtype: DType, args: &[String], like: &str) -> String {
        let mut text = |node: &Node| self.device(node, dtype, args, like);
        match node {
            Node::Arg(at) => args[*at].clone(),
            Node::Const(x) => number(*x, dtype),
            Node::Wrapped(..) | Node::Cast(..) | Node::Divided(_) | Node::Number(_) | Node::Launched(_) => {
                self.integer(node, dtype, args, like)
            }
            Node::Bits(bits) => self.bits(bits, dtype, args, like),
            Node::Index(axis) => {
                self.parts.insert("index");
                match dtype {
                    DType::I32 => format!("index({like}, {axis})"),
                    _ => format!("cast(index({like}, {axis}), {dtype})"),
                }
            }
            Node::Neg(x) => format!("(-{})", text(x)),
            Node::Abs(x) => format!("abs({})", text(x)),
            Node::Binary(op, x, y) => binary(*op, &text(x), &text(y)),
            Node::Rem(x, n) => format!("({} % {})", text(x), number(*n, dtype)),
            Node::Quotient(x, n) => format!("({} / {})", text(x), number(*n, dtype)),
            Node::Half(how, x) => format!("{how}({} * 0.5)", text(x)),
            Node::Ratio(x, n) => format!("({} * {n}.0 / {n}.0)", text(x)),
            Node::Fma(x, y, z) => format!("fma({}, {}, {})", text(x), text(y), text(z)),
            Node::Point(at, x) => {
                let x = text(x);
                let point = POINTS[*at].0.replace("{z}", &format!("({x} - {x})"));
                // Integers meet integers: a literal with a point is a float.
                if dtype.is_int() { point.replace(".0", "") } else { point }
            }
            Node::Select(join, conditions, x, y) => {
                let all: Vec<String> =
                    conditions.iter().map(|condition| self.condition(condition, args, like)).collect();
                if self.in_number {
                    let [x, y] = [x, y].map(|node| self.device(node, dtype, args, like));
                    return format!("(if {} {{ {x} }} else {{ {y} }})", all.join(" && "));
                }
                let joined = match (join, all.as_slice()) {
                    (Join::All, all) => all.join(" && "),
                    (Join::Any, all) => all.join(" || "),
                    (Join::Not, all) => format!("!({})", all.join(" && ")),
                    (Join::AllBits, all) => all.join(" & "),
                    (Join::AnyBits, all) => all.join(" | "),
                    (Join::NotBits, all) => format!("~({})", all.join(" & ")),
                    (Join::DifferBits, all) => all.join(" ^ "),
                    (Join::Same, all) => all.join(" == "),
                    (Join::Differ, all) => all.join(" != "),
                    (Join::Choice, all) => format!("where({})", all.join(", ")),
                };
                self.parts.insert("where");
                if matches!(join, Join::AllBits | Join::AnyBits | Join::NotBits | Join::DifferBits) {
                    self.parts.insert("bits of truth values");
                }
                let [x, y] = [x, y].map(|node| self.device(node, dtype, args, like));
                format!("where({joined}, {x}, {y})")
            }
        }
    }
}

/// Writes the expression on the host, in the shape that it has in the kernel.
pub(super) fn host(node: &Node, args: &[String], shape: Shape) -> String {
    format!("{} + zeros(f64, [{}])", host_node(node, args, shape), list(shape))
}

fn host_node(node: &Node, args: &[String], shape: Shape) -> String {
    let text = |node: &Node| host_node(node, args, shape);
    match node {
        Node::Arg(at) => args[*at].clone(),
        Node::Const(x) => float(*x),
        Node::Wrapped(..) | Node::Cast(..) | Node::Divided(_) | Node::Number(_) | Node::Launched(_) => {
            host_integer(node, &text)
        }
        Node::Bits(bits) => host_bits(bits, &text),
        Node::Index(0) => format!("arange(f64, [{}])[.., new]", shape[0]),
        Node::Index(_) => format!("arange(f64, [{}])[new, ..]", shape[1]),
        Node::Neg(x) => format!("(-{})", text(x)),
        Node::Abs(x) => format!("abs({})", text(x)),
        Node::Binary(op, x, y) => binary(*op, &text(x), &text(y)),
        Node::Rem(x, n) => {
            let x = text(x);
            format!("({x} - floor({x} / {n}.0) * {n}.0)")
        }
        Node::Quotient(x, n) => format!("floor({} / {n}.0)", text(x)),
        Node::Half(how, x) => format!("{how}({} * 0.5)", text(x)),
        Node::Ratio(x, _) => text(x),
        Node::Fma(x, y, z) => format!("({} * {} + {})", text(x), text(y), text(z)),
        Node::Point(at, x) => format!("({0} - {0} + {1}.0)", text(x), POINTS[*at].1),
        Node::Select(join, conditions, x, y) => {
            // Conditions are the numbers 1 and 0.
            let one = |condition: &Condition| {
                let [a, b] = condition.operands.each_ref().map(text);
                format!("where({a} {} {b}, 1.0, 0.0)", compare(condition.compare))
            };
            let all: Vec<String> = conditions.iter().map(one).collect();
            let joined = match (join, all.as_slice()) {
                (Join::All | Join::AllBits, all) => all.join(" * "),
                (Join::Any | Join::AnyBits, all) => all.join(" + "),
                (Join::Not | Join::NotBits, all) => format!("1.0 - {}", all.join(" * ")),
                (Join::Same, all) => format!("1.0 - abs({})", all.join(" - ")),
                (Join::Differ | Join::DifferBits, all) => format!("abs({})", all.join(" - ")),
                (Join::Choice, all) => {
                    format!("{0} * {1} + (1.0 - {0}) * {2}", all[0], all[1], all[2])
                }
            };
            format!("where({joined} > 0.5, {}, {})", text(x), text(y))
        }
    }
}
