//! Lowers prints and assertions. Of the threads that hold an element, the lowest puts it into the log.

use hx_index::Expr;
use hx_tile::{Op, OpKind, TensorId, TileProgram, tile_modes};

use super::copy::{in_tile, lowest_of_replicas};
use super::layout::unrolled;
use super::{LowerError, Lowering};
use crate::{Body, Leaf, Log, LogEntry, LogKind, LogValue, Put, Registers, Stmt};

/// Returns the prints and assertions of the program, in the order of the source.
pub(super) fn entries(program: &TileProgram) -> Vec<LogEntry> {
    let value = |tensor: TensorId, uniform: bool| {
        let info = program.tensor(tensor);
        LogValue { dtype: info.dtype, shape: info.shape.clone(), uniform }
    };
    let entry = |op: &Op| {
        let (kind, text, value, sides) = if let OpKind::Print { text, src, uniform } = &op.kind {
            (LogKind::Print, text, src.map(|t| value(t, *uniform)), &[][..])
        } else if let OpKind::Assert { cond, sides, message, uniform } = &op.kind {
            (LogKind::Assert, message, Some(value(*cond, *uniform)), &sides[..])
        } else {
            return None;
        };
        let sides = sides.iter().map(|side| program.tensor(*side).dtype).collect();
        Some(LogEntry { op: op.id, origin: op.origin, kind, text: text.clone(), value, sides })
    };
    program.ops(1.0).into_iter().filter_map(|(op, _)| entry(op)).collect()
}

impl Lowering<'_> {
    /// Puts the tensor's elements into the log under the operation's entry. Without a tensor, the entry prints a text alone.
    pub(super) fn log(&self, op: &Op, tensor: Option<TensorId>) -> Result<Body, LowerError> {
        let entry = self.log.iter().position(|e| e.op == op.id);
        let entry = entry.ok_or_else(|| self.error(op, "the operation tells nothing"))? as u32;
        let Some(tensor) = tensor else {
            return Ok(vec![Stmt::Leaf(Leaf::Log(Log { entry, body: Vec::new() }))]);
        };
        let walk = self.walk(op, tensor)?;
        let held = self.solution.registers.get(&tensor).ok_or_else(|| self.error(op, "no layout"))?;
        let irregular = || self.error(op, "a layout runs over the end of a dimension");
        let threads = tile_modes(&held.layout.mode(0), &held.tile).ok_or_else(irregular)?;
        let shape = &self.program.tensor(tensor).shape;
        let inside = in_tile(shape, &walk.at, &held.tile, &walk.facts);
        let position = walk
            .at
            .iter()
            .zip(shape)
            .fold(Expr::default(), |sum, (at, extent)| sum.scale(*extent) + at.clone());
        // A side has one element, which every thread holds at its first position.
        let sides: &[TensorId] = if let OpKind::Assert { sides, .. } = &op.kind { sides } else { &[] };
        let only = |side: &TensorId| {
            Ok(Registers { array: self.array(op, *side)?, base: Expr::default(), offsets: vec![0] })
        };
        let put = Put {
            entry,
            sides: sides.iter().map(only).collect::<Result<_, LowerError>>()?,
            value: self.own(op, tensor, &walk)?,
            position,
            guard: lowest_of_replicas(&threads, self.facts_of(op)).and(inside),
        };
        let mut body = walk.setup;
        body.extend(unrolled(&walk.loops, vec![Stmt::Leaf(Leaf::Put(put))]));
        Ok(vec![Stmt::Leaf(Leaf::Log(Log { entry, body }))])
    }
}
