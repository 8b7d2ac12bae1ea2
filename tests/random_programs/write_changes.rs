//! Writes the steps of `draw_changes.rs` as text.

use super::draw_changes::{Assigned, Change, How};
use super::program::{Fold, Shape, Step};
use super::write::{Writer, float, list, number};
use super::write_more::compare;

impl Writer<'_> {
    pub(super) fn change(&mut self, at: usize, step: &Step, change: &Change) {
        let from = step.from[0];
        let dtype = step.value.dtype;
        match change {
            Change::Assign { first, shape, how, value } => {
                self.assign(at, step, (*first, *shape), *how, *value);
            }
            Change::Axes { fold } => {
                self.parts.insert("counter as an axis");
                let name = if *fold == Fold::Sum { "sum" } else { "max" };
                self.emit(format!("let v{at} = v{from};\n#[unroll]\nfor axis in 0..2 {{"));
                self.emit(format!("    v{at} += {name}(v{from}, axis: axis);\n}}"));
                let folds = [0, 1].map(|axis| format!("{name}(v{from}, axis: {axis}, keepdims: true)"));
                self.expect(at, &format!("v{from} + {}", folds.join(" + ")));
            }
            Change::Position { axis, least } => {
                self.parts.insert("argmax");
                let name = if *least { "argmin" } else { "argmax" };
                self.emit(format!("let v{at} = {name}(v{from}, axis: {axis});"));
                self.expect(at, &format!("cast({name}(v{from}, axis: {axis}, keepdims: true), f64)"));
            }
            Change::OfExpression { first, turned } => {
                self.parts.insert("part of an expression");
                let mut shape = step.value.shape;
                if *turned {
                    shape.swap(0, 1);
                }
                let turned = if *turned { ".T" } else { "" };
                let part = self.part_text(from, *first, shape);
                self.emit(format!("let v{at} = (v{from} + v{from}){part}{turned};"));
                self.expect(at, &format!("(v{from} * 2.0){part}{turned}"));
            }
            Change::Literals { compare: how, with, chosen: [yes, no] } => {
                self.parts.insert("choice between literals");
                let sign = compare(*how);
                let [a, b, c] = [*with, *yes, *no].map(|x| number(x, dtype));
                self.emit(format!("let v{at} = where(v{from} {sign} {a}, {b}, {c}) * v{from};"));
                let [a, b, c] = [*with, *yes, *no].map(float);
                self.expect(at, &format!("where(v{from} {sign} {a}, {b}, {c}) * v{from}"));
            }
            Change::Rotated { axis, parts } => {
                self.parts.insert("split and concat");
                let names: Vec<String> = (0..*parts).map(|i| format!("part{at}_{i}")).collect();
                self.emit(format!("let ({}) = split(v{from}, {parts}, axis: {axis});", names.join(", ")));
                let mut order = names.clone();
                order.rotate_left(1);
                self.emit(format!("let v{at} = concat({}, axis: {axis});", order.join(", ")));
                let whole = step.value.shape;
                let (mut shape, step) = (whole, whole[*axis] / parts);
                shape[*axis] = step;
                self.expect(at, &format!("v{from} + 0.0"));
                for part in 0..*parts {
                    let begin = |i: i64| {
                        let mut first = [0, 0];
                        first[*axis] = i * step;
                        first
                    };
                    let [to, own] = [part, (part + 1) % parts].map(|i| self.part_text(from, begin(i), shape));
                    self.tiles.push(format!("v{at}{to} = v{from}{own};"));
                }
            }
            Change::Flipped { axis } => {
                self.parts.insert("flip");
                self.emit(format!("let v{at} = flip(v{from}, axis: {axis});"));
                self.expect(at, &format!("flip(v{from}, axis: {axis})"));
            }
            Change::Truths { all, axis, compare: how, with } => {
                self.parts.insert("any and all");
                let (name, sign) = (if *all { "all" } else { "any" }, compare(*how));
                let (axis, host) = match axis {
                    Some(axis) => (format!(", axis: {axis}"), format!(", axis: {axis}, keepdims: true")),
                    None => (String::new(), String::new()),
                };
                let holds = format!("{name}(v{from} {sign} {}{axis})", number(*with, dtype));
                self.emit(format!("let v{at} = where({holds}, v{from}, {});", number(0, dtype)));
                let holds = format!("{name}(v{from} {sign} {}{host})", float(*with));
                self.expect(at, &format!("where({holds}, v{from}, 0.0)"));
            }
            Change::Reshape => {
                self.parts.insert("reshape");
                let text = format!("reshape(v{from}, [{}])", list(step.value.shape));
                self.emit(format!("let v{at} = {text};"));
                self.expect(at, &text);
            }
        }
    }

    /// Returns the indices of a part, `[.., 2..4]`; empty for all of a tile.
    fn part_text(&self, from: usize, first: Shape, shape: Shape) -> String {
        let whole = self.program.steps[from].value.shape;
        if shape == whole {
            return String::new();
        }
        let ranges = [0, 1].map(|axis| match (first[axis], first[axis] + shape[axis]) {
            (0, end) if end == whole[axis] => "..".to_owned(),
            (begin, end) => format!("{begin}..{end}"),
        });
        format!("[{}]", ranges.join(", "))
    }

    fn assign(
        &mut self,
        at: usize,
        step: &Step,
        (first, shape): (Shape, Shape),
        how: How,
        assigned: Assigned,
    ) {
        self.parts.insert("assignment to a part");
        let (from, dtype) = (step.from[0], step.value.dtype);
        let whole = step.value.shape;
        let line = |axis: usize, text: &str| match axis {
            0 => format!("[{text}, ..]"),
            _ => format!("[.., {text}]"),
        };
        let sign = ["=", "+=", "-=", "*="][how as usize];
        let all = if shape == whole { "[.., ..]".to_owned() } else { self.part_text(from, first, shape) };
        let range = |at: i64| format!("{at}..{}", at + 1);
        let (target, value, host) = match assigned {
            Assigned::Number(x) => (all.clone(), number(x, dtype), float(x)),
            Assigned::Part { axis, at: i } => {
                let mut begin = first;
                begin[axis] = i;
                let value = format!("v{from}{}", self.part_text(from, begin, shape));
                (all.clone(), value.clone(), value)
            }
            // A single row is written without its mode as well.
            Assigned::Line { axis, at: i } if shape[axis] == 1 && i % 2 == 0 => {
                let value = format!("v{from}{}", line(axis, &i.to_string()));
                (line(axis, &first[axis].to_string()), value, format!("v{from}{}", line(axis, &range(i))))
            }
            Assigned::Line { axis, at: i } => {
                let value = format!("v{from}{}", line(axis, &range(i)));
                (all.clone(), value.clone(), value)
            }
        };
        self.emit(format!("let v{at} = v{from};\nv{at}{target} {sign} {value};"));
        self.expect(at, &format!("v{from} + 0.0"));
        let zeros = format!("zeros(f64, [{}])", list(shape));
        let value = match how {
            How::Set => format!("{host} + {zeros}"),
            How::Add => format!("v{from}{all} + {host}"),
            How::Sub => format!("v{from}{all} - {host}"),
            How::Mul => format!("v{from}{all} * {host}"),
        };
        self.tiles.push(format!("v{at}{all} = {value};"));
    }
}
