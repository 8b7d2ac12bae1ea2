//! Replaces zeros that are written before a product by descriptor: the first instructions of the product replace the
//! accumulator instead of adding to it.
//!
//! A write to the accumulator before a loop of asynchronous products makes the assembler wait for each of them. So if a
//! product is the first to access a tensor after a zero, the zero becomes a condition of the product, which then replaces the
//! accumulator in the first round of the loop. If the loop may have no round, the zero is written after it in that case.

use std::collections::BTreeMap;

use hx_index::{CmpOp, Cond, Expr, Symbol};
use hx_tile::{
    Choice, Constant, Control, Leaf, Op, OpId, OpKind, Rounds, Solution, Stmt, SyncOp, TensorId, TileProgram,
};

use super::product::{is_by_descriptor, is_product_into};

/// The zeros that products write themselves.
#[derive(Default)]
pub(super) struct Zeros {
    /// For each product: the condition under which its first instructions add to the accumulator.
    keep: BTreeMap<OpId, Cond>,
}

impl Zeros {
    /// Returns the condition under which the first instructions of a product add to the accumulator; always, if it writes no
    /// zero.
    pub(super) fn keep(&self, product: OpId) -> Cond {
        self.keep.get(&product).cloned().unwrap_or(Cond::True)
    }
}

/// Finds the zeros that products write themselves, and removes them from the program.
pub(super) fn fold(program: &mut TileProgram, solution: &Solution) -> Zeros {
    let mut zeros = Zeros::default();
    if solution.choices.values().any(|choice| is_by_descriptor(Some(choice))) {
        let mut body = std::mem::take(&mut program.body);
        Folding { program, solution, zeros: &mut zeros }.body(&mut body);
        program.body = body;
    }
    zeros
}

struct Folding<'p> {
    program: &'p TileProgram,
    solution: &'p Solution,
    zeros: &'p mut Zeros,
}

/// The first access to a tensor after a zero.
enum First {
    /// A product that writes the zero itself, in the first round of the loop if there is one.
    Product(OpId, Option<Round>),
    Other,
}

/// The loop of a product.
struct Round {
    var: Symbol,
    start: Expr,
    end: Expr,
}

impl Folding<'_> {
    fn body(&mut self, body: &mut Vec<Stmt>) {
        let mut at = 0;
        while at < body.len() {
            body[at].bodies_mut().for_each(|inner| self.body(inner));
            let folded = zero_of(&body[at]).and_then(|tensor| self.fold_into(tensor, &body[at + 1..]));
            let Some((product, round, offset)) = folded else {
                at += 1;
                continue;
            };
            let fill = body.remove(at);
            let keep = match round {
                None => Cond::False,
                Some(Round { var, start, end }) => {
                    let empty = Cond::cmp(CmpOp::Le, end, start.clone(), &self.program.facts);
                    if empty != Cond::False {
                        let behind = Stmt::Control(Control::If {
                            cond: empty,
                            then: vec![fill],
                            otherwise: Vec::new(),
                        });
                        let place = behind_waits(body, at + offset + 1);
                        body.insert(place, behind);
                    }
                    Cond::cmp(CmpOp::Ne, Expr::symbol(var), start, &self.program.facts)
                }
            };
            self.zeros.keep.insert(product, keep);
        }
    }

    /// Returns the product that writes the zero of a tensor, with its loop, and the position of the statement among those
    /// after the zero; `None` if no product writes it.
    fn fold_into(&self, tensor: TensorId, rest: &[Stmt]) -> Option<(OpId, Option<Round>, usize)> {
        let at = rest.iter().position(|stmt| uses(stmt, tensor))?;
        match self.first(&rest[at], tensor) {
            First::Product(product, round) => Some((product, round, at)),
            First::Other => None,
        }
    }

    fn first(&self, stmt: &Stmt, tensor: TensorId) -> First {
        match stmt {
            Stmt::Leaf(Leaf::Op(op))
                if self.is_product(op, tensor) && !self.zeros.keep.contains_key(&op.id) =>
            {
                First::Product(op.id, None)
            }
            Stmt::Control(Control::For { var, rounds: Rounds::Range { start, end, .. }, body }) => {
                let first = body.iter().find(|stmt| uses(stmt, tensor)).map(|stmt| self.first(stmt, tensor));
                let round = Round { var: var.clone(), start: start.clone(), end: end.clone() };
                match first {
                    Some(First::Product(product, None)) => First::Product(product, Some(round)),
                    Some(First::Product(_, Some(_)) | First::Other) | None => First::Other,
                }
            }
            // No number tells the first round of a loop over a counter.
            Stmt::Control(Control::For { rounds: Rounds::Drawn { .. }, .. })
            | Stmt::Leaf(Leaf::Op(_))
            | Stmt::Control(Control::If { .. } | Control::Roles(_) | Control::While { .. })
            | Stmt::Leaf(_) => First::Other,
        }
    }

    fn is_product(&self, op: &Op, tensor: TensorId) -> bool {
        let choice: Option<&Choice> = self.solution.choices.get(&op.id);
        is_product_into(op, choice, tensor)
    }
}

/// Returns the tensor that a statement sets to zero; `None` for another statement.
fn zero_of(stmt: &Stmt) -> Option<TensorId> {
    let Stmt::Leaf(Leaf::Op(Op { kind: OpKind::Fill { dst, value }, .. })) = stmt else { return None };
    (*value == Constant::ZERO).then_some(*dst)
}

fn uses(stmt: &Stmt, tensor: TensorId) -> bool {
    stmt.ops().any(|op| op.kind.registers().contains(&tensor))
}

/// Returns the position behind the waits for products that stand from `at` on.
fn behind_waits(body: &[Stmt], at: usize) -> usize {
    let is_wait = |stmt: &&Stmt| {
        matches!(stmt, Stmt::Leaf(Leaf::Op(Op { kind: OpKind::Sync(SyncOp::GemmWait { .. }), .. })))
    };
    at + body[at..].iter().take_while(is_wait).count()
}
