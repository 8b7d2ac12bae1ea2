//! Which register tensors a thread holds at the same time, by the order of the text.

use std::collections::BTreeMap;

use crate::{Op, OpKind, Stmt, TensorId, TileProgram};

/// Bits of a register.
const REGISTER_BITS: i64 = 32;

/// Registers that so many elements of a tensor take.
pub fn registers_of(program: &TileProgram, tensor: TensorId, values: i64) -> i64 {
    let bits = values.saturating_mul(i64::from(program.tensor(tensor).dtype.bits()));
    bits.saturating_add(REGISTER_BITS - 1) / REGISTER_BITS
}

/// The operations across which tensors are held: those at which a block multiplies, reduces or waits. Others are computed value by
/// value, so that what they take need not be there as a whole.
#[derive(Debug)]
pub struct Held<'p> {
    /// In the order of the text, each with the tensors that are there before it and after it, and what it adds to.
    pub across: Vec<(&'p Op, Vec<TensorId>)>,
}

impl<'p> Held<'p> {
    /// What the operations of a program hold.
    pub fn of(program: &'p TileProgram) -> Held<'p> {
        let mut uses = Uses::default();
        uses.body(&program.body);
        let Uses { ops, spans } = uses;
        let across = ops.into_iter().enumerate().filter_map(|(at, op)| {
            let accumulator = match op.kind {
                OpKind::Gemm { c, .. } => Some(c),
                OpKind::Sync | OpKind::SyncWarp | OpKind::Wait { .. } | OpKind::Reduce { .. } => None,
                _ => return None,
            };
            let is_held = |(tensor, (first, last)): (&TensorId, &(usize, usize))| {
                (*first < at && at < *last || accumulator == Some(*tensor)).then_some(*tensor)
            };
            Some((op, spans.iter().filter_map(is_held).collect()))
        });
        Held { across: across.collect() }
    }
}

/// Operations in the order of the text, and from which to which of them each register tensor is held.
#[derive(Default)]
struct Uses<'p> {
    ops: Vec<&'p Op>,
    spans: BTreeMap<TensorId, (usize, usize)>,
}

impl<'p> Uses<'p> {
    fn body(&mut self, body: &'p [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Op(op) => {
                    let at = self.ops.len();
                    self.ops.push(op);
                    for tensor in op.kind.registers() {
                        self.spans.entry(tensor).or_insert((at, at)).1 = at;
                    }
                }
                Stmt::For { body, .. } | Stmt::While { body, .. } => self.repeated(body),
                Stmt::If { then, otherwise, .. } => {
                    self.body(then);
                    self.body(otherwise);
                }
                Stmt::Let { .. }
                | Stmt::Assign { .. }
                | Stmt::LoadScalar { .. }
                | Stmt::LetNumber { .. }
                | Stmt::AssignNumber { .. } => {}
            }
        }
    }

    /// What was there before a loop and is used in it is held to its end.
    fn repeated(&mut self, body: &'p [Stmt]) {
        let start = self.ops.len();
        self.body(body);
        let end = self.ops.len();
        for (first, last) in self.spans.values_mut() {
            if *first < start && *last >= start {
                *last = end;
            }
        }
    }
}
