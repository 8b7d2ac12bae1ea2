//! Finds the launch that wrote the tensor of a failed comparison.

use std::collections::HashMap;

use hx_hir::{Builtin, CommonFn, Expr, ExprId, HostFn, Resolution, UnaryOp};

use super::Frame;
use crate::device::{LaunchReport, LaunchRequest};
use crate::picture::Mark;
use crate::tensor::Tensor;
use crate::value::Value;

/// A launch that wrote a wrong tensor: its position, and the argument that holds the wrong elements.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// The position of the launch among those of the evaluation, from 0.
    pub launch: usize,
    /// The position of the argument in the request.
    pub arg: usize,
    /// The compared tensor, a view of the argument's buffer.
    pub tensor: Tensor,
    /// Marks the wrong elements of `tensor`, in row-major order.
    pub wrong: Vec<bool>,
}

/// The last launch that wrote each buffer.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    launches: usize,
    /// The launch and the position of its argument, by [`Tensor::buffer_id`].
    writers: HashMap<u64, (usize, usize)>,
}

impl Ledger {
    /// Records a launch, after it has run.
    pub(super) fn launched(&mut self, request: &LaunchRequest, report: &LaunchReport) {
        for &arg in &report.written {
            if let Some(Value::Tensor(tensor)) = request.args.get(arg).map(|arg| &arg.value) {
                self.writers.insert(tensor.buffer_id(), (self.launches, arg));
            }
        }
        self.launches += 1;
    }

    /// Forgets the launch that wrote a tensor, because the host has overwritten it.
    pub(super) fn overwritten(&mut self, tensor: &Tensor) {
        self.writers.remove(&tensor.buffer_id());
    }

    /// Returns the launch that wrote the compared tensor. `None` if the host computed it, or no element is wrong.
    pub(super) fn suspect(&self, tensor: &Tensor, marks: &[Mark]) -> Option<Suspect> {
        let (launch, arg) = *self.writers.get(&tensor.buffer_id())?;
        let wrong: Vec<bool> = marks.iter().map(|mark| *mark != Mark::Right).collect();
        wrong.contains(&true).then(|| Suspect { launch, arg, tensor: tensor.clone(), wrong })
    }
}

impl Frame<'_, '_> {
    /// Finds the launch of a failed comparison whose sides are computed from a kernel's tensor by an index, a conversion or a
    /// sign, as in `assert_close(float(y[0]), …)`. Does nothing if the comparison itself has found the launch.
    pub(super) fn suspect_of(&mut self, sides: &[ExprId]) {
        if self.session.suspect.is_some() {
            return;
        }
        for side in sides {
            let Some(tensor) = self.written(*side) else { continue };
            if tensor.len() == self.session.marks.len() {
                self.session.suspect = self.session.ledger.suspect(&tensor, &self.session.marks);
            }
            if self.session.suspect.is_some() {
                return;
            }
        }
    }

    /// Evaluates an expression that only selects, converts or negates elements of a variable, and returns those elements as a
    /// view of the variable, neither converted nor negated. `None` for any other expression, because evaluating it again could
    /// have effects.
    fn written(&mut self, id: ExprId) -> Option<Tensor> {
        let body = self.body;
        match &body.store[id] {
            Expr::Path { .. } => match self.expr(id).ok()? {
                Value::Tensor(tensor) => Some(tensor),
                _ => None,
            },
            Expr::Index { base, args } => {
                if !args.iter().all(|arg| self.is_plain(*arg)) {
                    return None;
                }
                let tensor = self.written(*base)?;
                tensor.index(&self.indices(args).ok()?).ok()
            }
            Expr::Field { base, name } => {
                let base = self.written(*base)?;
                match super::operators::field(&Value::Tensor(base), name).ok()? {
                    Value::Tensor(tensor) => Some(tensor),
                    _ => None,
                }
            }
            Expr::Unary { op: UnaryOp::Neg, operand } => self.written(*operand),
            Expr::Call { callee, args } => {
                let converts = matches!(
                    self.names.exprs.get(*callee),
                    Some(Resolution::Builtin(
                        Builtin::Common(CommonFn::Cast) | Builtin::Host(HostFn::Float | HostFn::Int)
                    ))
                );
                self.written(args.first().filter(|_| converts)?.value)
            }
            _ => None,
        }
    }

    /// Reports whether evaluating an index has no effects, so that it can be evaluated a second time.
    fn is_plain(&self, id: ExprId) -> bool {
        match &self.body.store[id] {
            Expr::Literal(_) | Expr::Path { .. } | Expr::New => true,
            Expr::Unary { operand, .. } => self.is_plain(*operand),
            Expr::Binary { lhs, rhs, .. } => self.is_plain(*lhs) && self.is_plain(*rhs),
            Expr::Range { start, end } => [start, end].into_iter().flatten().all(|end| self.is_plain(*end)),
            _ => false,
        }
    }
}
