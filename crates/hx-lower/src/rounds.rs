//! Copies between two memories that move in rounds, because the registers of the threads do not hold the whole tile.
//!
//! Each round copies a chunk of the tile through the same registers. The chunks are cut along the slowest modes of the copy, so
//! that the addresses of a chunk stay as regular as those of the tile. A loop runs over the chunks of one shape; a last
//! chunk with fewer elements follows it.

use hx_hir::{Builtin, CommonFn, Expr as HirExpr, ExprId, Resolution};
use hx_index::Expr;

use hx_tile::{Base, Control, Picked, Rounds, Stmt};

use crate::chunks::{Chunks, cut};
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Tensor, Value};

/// A copy from memory to memory. The elements are converted on the way if the types differ.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'t> {
    pub(crate) id: ExprId,
    pub(crate) src: ExprId,
    pub(crate) from: &'t Tensor,
    pub(crate) dst: ExprId,
    pub(crate) to: &'t Tensor,
}

/// The most 32-bit registers of each thread for the tile of one copy.
const MOST: i64 = 64;
/// The 32-bit registers of the widest access, which has 16 bytes.
const VECTOR: i64 = 4;

impl Lowering<'_> {
    /// Returns the chunks in which a copy between two memories moves. `None` if it moves at once: the registers hold the tile,
    /// both views are of one tensor, a view has picked elements or modes of several parts, or the extents are not known.
    pub(crate) fn chunks(&self, ends: &Ends<'_>) -> Option<Chunks> {
        let Ends { from, to, .. } = *ends;
        let in_memory = !from.is_register() && !to.is_register() && from.view.base != to.view.base;
        let picks = |t: &Tensor| matches!(t.view.picked.as_deref(), Some(Picked::Elements(_)));
        let grouped = !from.view.groups.is_empty() || !to.view.groups.is_empty();
        if !in_memory || grouped || picks(from) || picks(to) {
            return None;
        }
        let shape: Vec<i64> = from.shape().iter().map(Expr::as_const).collect::<Option<_>>()?;
        let (threads, most) = self.registers_of_copy();
        let bits = i64::from(from.dtype.bits())
            + if from.dtype == to.dtype { 0 } else { i64::from(to.dtype.bits()) };
        let held = |registers: i64| registers * 32 / bits * threads;
        let size: i64 = shape.iter().product();
        if size <= held(most) {
            return None;
        }
        let chunk = cut(&shape, &slowest_first(self, from, to), held((most / 2).max(VECTOR)));
        let count = shape.iter().zip(&chunk).map(|(extent, step)| (extent + step - 1) / step).product();
        let registers = (size * bits + 32 * threads - 1) / (32 * threads);
        Some(Chunks { shape: chunk, count, registers })
    }

    /// Returns the number of threads that execute a copy here, and the 32-bit registers of each thread that the tile may take.
    fn registers_of_copy(&self) -> (i64, i64) {
        let limits = self.target.limits();
        let (threads, own) = (self.scopes.threads_here(), self.scopes.registers_here(limits));
        // The other half is for addresses and for the values that are live around the copy.
        (i64::from(threads), (i64::from(own) / 2).clamp(2 * VECTOR, MOST))
    }

    /// Copies chunk by chunk.
    pub(crate) fn copy_in_rounds(&mut self, ends: &Ends<'_>, chunks: Chunks) -> Lower<()> {
        let at = self.origin(ends.id);
        let extents: Vec<i64> = ends.from.shape().iter().filter_map(Expr::as_const).collect();
        self.notes.add_rounds(at, chunks.clone());
        self.chunk_after_chunk(ends, &extents, &chunks.shape, 0)
    }

    /// Copies the chunks along the modes from `mode` on.
    fn chunk_after_chunk(
        &mut self,
        ends: &Ends<'_>,
        extents: &[i64],
        chunk: &[i64],
        mode: usize,
    ) -> Lower<()> {
        let Some((&extent, &step)) = extents.get(mode).zip(chunk.get(mode)) else {
            return self.copy_chunk(ends);
        };
        if step == extent {
            return self.chunk_after_chunk(ends, extents, chunk, mode + 1);
        }
        let (full, rest) = (extent / step, extent % step);
        let along = |lowering: &mut Self, first: Expr, count: i64| {
            let [from, to] = [ends.from, ends.to].map(|t| within(lowering, t, mode, &first, count));
            lowering.chunk_after_chunk(&Ends { from: &from, to: &to, ..*ends }, extents, chunk, mode + 1)
        };
        if full == 1 {
            along(self, Expr::default(), step)?;
        } else {
            let (start, end) = (Expr::default(), Expr::constant(full));
            let var = self.output.new_var("chunk".into());
            self.facts.at_least(var.clone(), 0);
            self.facts.at_most(var.clone(), Expr::constant(full - 1));
            let first = Expr::symbol(var.clone()).scale(step);
            let (result, body) = self.nested(|lowering| along(lowering, first, step));
            self.output.push(Stmt::Control(Control::For {
                var,
                rounds: Rounds::Range { start, end, unroll: false },
                body,
            }));
            result?;
        }
        if rest > 0 { along(self, Expr::constant(full * step), rest) } else { Ok(()) }
    }

    /// Copies one chunk by way of registers.
    pub(crate) fn copy_chunk(&mut self, ends: &Ends<'_>) -> Lower<()> {
        let Ends { id, src, from, dst, to } = *ends;
        let held = self.in_registers(src, from, None)?;
        let held = if from.dtype == to.dtype {
            held
        } else {
            let value = self.converted(src, (src, Value::Tensor(held)), to.dtype, None)?;
            self.as_tensor(src, value)?
        };
        self.copy_values(id, src, &held, dst, to)
    }

    /// Returns the operand and the element type, if the expression is `cast(t, dtype)`; otherwise `None`.
    pub(crate) fn conversion(&self, at: ExprId) -> Option<(ExprId, ExprId)> {
        let HirExpr::Call { callee, args } = &self.store()[at] else { return None };
        let is_cast = matches!(
            self.frame().names.exprs.get(*callee),
            Some(Resolution::Builtin(Builtin::Common(CommonFn::Cast)))
        );
        match &args[..] {
            [t, dtype] if is_cast && t.name.is_none() && dtype.name.is_none() => Some((t.value, dtype.value)),
            _ => None,
        }
    }

    /// Copies `cast(t, dtype)`. If `t` is in memory and the registers do not hold the tile, each round converts its chunk.
    pub(crate) fn copy_converted(
        &mut self,
        id: ExprId,
        src: ExprId,
        (t, dtype): (ExprId, ExprId),
        dst: ExprId,
    ) -> Lower<()> {
        let (value, dtype) = (self.eval(t), self.dtype(dtype));
        let (value, dtype) = (value?, dtype?);
        let to = self.tensor(dst)?;
        if let Value::Tensor(from) = &value
            && dtype == to.dtype
        {
            self.want_mutable(dst, &to)?;
            self.want_distinct(dst, &to)?;
            self.same_shape(id, (src, &from.shape()), (dst, &to.shape()))?;
            let ends = Ends { id, src: t, from, dst, to: &to };
            if let Some(chunks) = self.chunks(&ends) {
                return self.copy_in_rounds(&ends, chunks);
            }
        }
        let value = self.converted(src, (t, value), dtype, None)?;
        let from = self.as_tensor(src, value)?;
        self.copy_values(id, src, &from, dst, &to)
    }
}

/// Returns the view of `count` steps of a mode from the step `first` on.
fn within(lowering: &Lowering<'_>, t: &Tensor, mode: usize, first: &Expr, count: i64) -> Tensor {
    let mut view = t.view.clone();
    let of = &mut view.modes[mode];
    let at = &mut view.offsets[of.dim];
    *at = (at.clone() + &of.factor * first).simplify(&lowering.facts);
    of.extent = Expr::constant(count);
    t.with_view(view)
}

/// Returns the modes of a copy, the contiguous one last. The others keep their order, which for row-major tensors is that of memory.
fn slowest_first(lowering: &Lowering<'_>, from: &Tensor, to: &Tensor) -> Vec<usize> {
    let mut order: Vec<usize> = (0..from.view.modes.len()).collect();
    let global = if from.is_global() { from } else { to };
    let Base::Global(id) = global.view.base else { return order };
    let Some(hx_tile::Param::Tensor(param)) = lowering.output.param(id) else { return order };
    let unit = |mode: &crate::value::SymMode| {
        (&mode.factor * &param.stride[mode.dim]).as_const() == Some(1) && mode.extent.as_const() != Some(1)
    };
    if let Some(at) = global.view.modes.iter().position(unit) {
        let contiguous = order.remove(at);
        order.push(contiguous);
    }
    order
}
