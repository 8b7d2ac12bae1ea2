//! Arithmetic whose precision the result does not keep.

use std::collections::BTreeMap;

use hx_base::{Applicability, Diagnostic, Edit, Fix, codes, parse};
use hx_dtype::{DType, Operator};
use hx_syntax::SyntaxNode;
use hx_syntax::ast::{self, AstNode as _};
use hx_target::Target;
use hx_tile::{Map, Op, OpKind, Rounding, Scalar, TensorId, coarse};

use super::{Context, WORTH};

/// An operator whose results are more precise than coarse types are, and the function of `std::math` that is good for these.
struct Approximation {
    operator: Operator,
    name: &'static str,
    /// The cycles in which a quarter of a multiprocessor computes the function for a warp, as the `issue` of the catalogue. Measured on an
    /// H200 over 32 rounds of 2²⁵ values from 0.1 to 2.
    cycles: f64,
}

const APPROXIMATIONS: [Approximation; 3] = [
    Approximation { operator: Operator::Div, name: "div_approx", cycles: 10.0 },
    Approximation { operator: Operator::Sigmoid, name: "sigmoid_approx", cycles: 15.0 },
    Approximation { operator: Operator::Pow, name: "pow_approx", cycles: 32.1 },
];

/// Returns a note for each operator with a slow path whose results are all rounded to 16 bits or fewer.
/// A kernel with `#[exact]` has no notes.
pub(super) fn slow(context: &Context<'_>) -> Vec<Diagnostic> {
    let db = context.places.db;
    if *hx_hir::is_exact(db, context.places.instance.kernel(db)) {
        return Vec::new();
    }
    let program = &context.lowered.program;
    let mut rounding = Rounding::new(program, passes_on);
    let mut found: Vec<Diagnostic> = Vec::new();
    for (op, trips) in context.ops() {
        let OpKind::Map(map) = &op.kind else { continue };
        for (number, (values, dtype)) in counts(context, &mut rounding, map) {
            let approximation = &APPROXIMATIONS[number];
            // A warp of each quarter of the multiprocessor computes a value of each thread in these cycles.
            let warps = f64::from(program.threads_of(op).div_ceil(program.target.limits.lanes));
            let each = warps / f64::from(program.target.limits.partitions) * trips;
            let now = issue(program.target, approximation.operator);
            let then = approximation.cycles;
            if then < now && context.shares.part(values * each * (now - then)) >= WORTH {
                let note = note(context, op, approximation, dtype, [now, then]);
                found.extend(Some(note).filter(|note| !found.contains(note)));
            }
        }
    }
    found
}

impl Context<'_> {
    /// Returns the number of elements of a register tensor that each thread holds.
    fn values(&self, tensor: TensorId) -> f64 {
        self.solved.solution.registers.get(&tensor).map_or(0.0, |held| held.layout.mode(1).size() as f64)
    }
}

fn issue(target: Target, operator: Operator) -> f64 {
    target.rows().compute(operator, DType::F32).map_or(0.0, |row| row.issue)
}

fn note(
    context: &Context<'_>,
    op: &Op,
    approximation: &Approximation,
    dtype: DType,
    [now, then]: [f64; 2],
) -> Diagnostic {
    let (file, range) = context.place(op);
    let (operator, name) = (approximation.operator.name(), approximation.name);
    let fix = replaced(context, op, approximation);
    let message = format!("`{operator}` is more precise than its result, which is rounded to `{dtype}`");
    let found = Diagnostic::new(&codes::SLOW_ARITHMETIC, file, range, message).note(format!(
        "`{operator}` takes {now:.1} cycles a value of each lane, `std::math::{name}` {then:.1}"
    ));
    if let Some(fix) = fix {
        return context.called(op, found.with_fix(fix));
    }
    let help = match approximation.operator {
        Operator::Div => format!(
            "`{name}(a, b)` for `a / b`; for one divisor of many values, `let r = 1.0 / b;` and `a * r`"
        ),
        Operator::Pow => {
            format!(
                "products for a constant whole power; otherwise `{name}(x, y)` for `pow(x, y)`, if no `x` is negative"
            )
        }
        _ => format!("`{name}(x)` for `{operator}(x)`"),
    };
    context.called(
        op,
        found.help(help).note("the functions of `std::math` take and give f32: `cast` around them"),
    )
}

/// Returns the fix that calls the approximation, if the text of the operation has the operator once, on numbers of f32.
fn replaced(context: &Context<'_>, op: &Op, approximation: &Approximation) -> Option<Fix> {
    let OpKind::Map(map) = &op.kind else { return None };
    // A power of a negative number has no approximation.
    if approximation.operator == Operator::Pow {
        return None;
    }
    let mut operators = Vec::new();
    map.value.operators(&mut operators);
    let is_single =
        |(operator, dtype): &(Operator, DType)| *operator == approximation.operator && *dtype == DType::F32;
    if operators.iter().filter(|found| is_single(found)).count() != 1 {
        return None;
    }
    let (file, range) = context.places.op(context.lowered, op.id)?;
    let name = approximation.operator.name();
    let inside = |node: &SyntaxNode| range.contains_range(node.text_range());
    let found =
        parse(context.places.db, file).syntax_node().descendants().filter(inside).filter_map(|node| {
            if let Some(binary) = ast::BinaryExpr::cast(node.clone()) {
                let sign = binary.op_kind().is_some_and(|op| op == ast::BinaryOp::Arith(ast::ArithOp::Div));
                let args = [binary.lhs()?, binary.rhs()?].map(|arg| arg.syntax().text().to_string());
                return (sign && name == "/").then(|| (binary.syntax().text_range(), args.join(", ")));
            }
            let call = ast::CallExpr::cast(node)?;
            let list = call.arg_list()?.syntax().text().to_string();
            let args = list.strip_prefix('(')?.strip_suffix(')')?.to_owned();
            (call.callee()?.syntax().text() == name).then(|| (call.syntax().text_range(), args))
        });
    let found: Vec<_> = found.collect();
    let [(at, args)] = found.as_slice() else { return None };
    let text = format!("std::math::{}({args})", approximation.name);
    let title = format!("call `std::math::{}`", approximation.name);
    Some(Fix { title, edits: vec![Edit { file, range: *at, text }], applicability: Applicability::Maybe })
}

/// Counts the slow operators of a map: for each approximation, by its position, the values for which a thread evaluates its operator, and the
/// type to which they are rounded.
fn counts(context: &Context<'_>, rounding: &mut Rounding<'_>, map: &Map) -> BTreeMap<usize, (f64, DType)> {
    let mut counts: BTreeMap<usize, (f64, DType)> = BTreeMap::new();
    let rounded = rounding.of(map.dst);
    rounding.visit(&map.value, rounded, &mut |part, rounded| {
        let Scalar::Apply { operator, dtype, .. } = part else { return };
        let own = coarse(*dtype).or(rounded);
        let position = APPROXIMATIONS.iter().position(|found| found.operator == *operator);
        let is_single = *dtype == DType::F32 || own == Some(*dtype);
        if let (Some(position), Some(dtype), true) =
            (position, own, is_single && !part.divides_by_power_of_two())
        {
            let entry = counts.entry(position).or_insert((0.0, dtype));
            entry.0 += values(context, map, part);
        }
    });
    counts
}

/// Returns the number of values for which a thread evaluates an expression: that of its largest input.
fn values(context: &Context<'_>, map: &Map, value: &Scalar) -> f64 {
    let mut most = 0.0_f64;
    value.map_leaves(&mut |leaf| {
        most = match leaf {
            Scalar::Input { index, .. } => most.max(context.values(map.inputs[*index as usize])),
            Scalar::Index { .. } => most.max(context.values(map.dst)),
            _ => most,
        };
        None
    });
    most
}

/// Reports whether an approximation may be good enough for an operand of an operator whose result is rounded. Sums are among them: the
/// compiler cannot tell whether they cancel leading bits, but the reader of the note can.
fn passes_on(operator: Operator, _: &[Scalar]) -> bool {
    use Operator::{Abs, Add, Div, Fma, Max, Min, Mul, Neg, Select, Sqrt, Sub};
    matches!(operator.exact(), Neg | Abs | Add | Sub | Mul | Div | Fma | Min | Max | Select | Sqrt)
}
