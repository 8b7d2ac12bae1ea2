//! Lowers operations of the blocks of a cluster together: the axis that an argument names, and sums over the blocks.

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::ExprId;
use hx_tile::OpKind;

use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Tensor, Value};

impl Lowering<'_> {
    /// Returns the axis of the cluster that the argument `name` holds. Reports an axis along which the cluster has fewer than
    /// two blocks.
    pub(crate) fn cluster_axis(&mut self, at: ExprId, name: &str) -> Lower<u8> {
        let axis = self.const_int(at, &format!("the axis of `{name}`"))?;
        let along = usize::try_from(axis).ok().and_then(|axis| self.grid.cluster().get(axis).copied());
        let blocks = along.unwrap_or(1);
        if blocks < 2 {
            return self.one_block(at, axis, name);
        }
        Ok(axis as u8)
    }

    /// Reports an axis along which the cluster has fewer than two blocks, and names an axis along which it has more.
    fn one_block<T>(&mut self, at: ExprId, axis: i64, name: &str) -> Lower<T> {
        let message =
            format!("found a cluster of 1 block along axis {axis}, expected 2 or more for `{name}`");
        let error = self.error(&codes::BAD_CLUSTER, at, message);
        let error = match self.grid.cluster().iter().position(|blocks| *blocks > 1) {
            Some(other) => {
                error.help(format!("its {} blocks lie along axis {other}", self.grid.cluster()[other]))
            }
            None => error,
        };
        Err(self.report(error))
    }

    /// Lowers `sum(t, cluster: 0, to: 1)`: adds up the same element of all blocks along an axis of the cluster. Without `to` every
    /// block gets the sum.
    pub(crate) fn cluster_sum(
        &mut self,
        id: ExprId,
        (t, axis): (ExprId, ExprId),
        to: Option<ExprId>,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let tensor = self.summand(t)?;
        let (src, order) = match self.register_of(&tensor) {
            Some((src, shape)) if let Some(order) = tensor.view.as_permutation(&shape) => (src, order),
            _ => {
                let (part, _) = self.settled(t, &tensor, None)?;
                (part, (0..tensor.shape().len()).collect())
            }
        };
        let axis = self.cluster_axis_or_one(axis)?;
        let to = to.map(|at| self.target(at, axis)).transpose()?;
        let shape = self.output.tensor(src).shape.clone();
        let (x, result) = self.new_register(hint.unwrap_or("total"), tensor.dtype, shape, id);
        self.emit(OpKind::Cast { dst: x, src }, id);
        if let Some(axis) = axis {
            self.emit(OpKind::ClusterSum { x, parts: Vec::new(), axis, to }, id);
        }
        Ok(Value::Tensor(crate::stmt::permuted(&result, &order)))
    }

    /// Lowers `sum(t, cluster: 0, scatter: 1)`: each block gets a part of the sum, cut along a mode of `t`.
    pub(crate) fn scattered_sum(
        &mut self,
        id: ExprId,
        (t, axis): (ExprId, ExprId),
        along: ExprId,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let tensor = self.summand(t)?;
        let along_at = self.axis(along, tensor.shape().len())?;
        let Some(axis) = self.cluster_axis_or_one(axis)? else {
            return self.cluster_sum(id, (t, axis), None, hint);
        };
        let view = self.part(t, &tensor)?;
        let (blocks, extent) = (i64::from(self.grid.cluster()[usize::from(axis)]), view.shape()[along_at]);
        if extent % blocks != 0 {
            let message = format!(
                "found the extent {extent} along axis {along_at}, expected a multiple of {blocks}: each block of the cluster gets a part"
            );
            return self.fail(&codes::SHAPE_MISMATCH, along, message);
        }
        let mut parts = Vec::new();
        for block in 0..blocks {
            let mut part = view.clone();
            let mode = &mut part.modes[along_at];
            mode.extent = extent / blocks;
            let (dim, step) = (mode.dim, mode.factor.scale(block * extent / blocks));
            part.offsets[dim] = part.offsets[dim].clone() + step;
            let name = format!("{}_of_{block}", self.base_name(view.base));
            let (dst, _) = self.new_register(&name, tensor.dtype, part.shape(), t);
            self.emit(OpKind::Slice { dst, src: part }, t);
            parts.push(dst);
        }
        let shape = self.output.tensor(parts[0]).shape.clone();
        let (x, result) = self.new_register(hint.unwrap_or("total"), tensor.dtype, shape, id);
        self.emit(OpKind::ClusterSum { x, parts, axis, to: None }, id);
        Ok(Value::Tensor(result))
    }

    /// Reports two arguments of one call that exclude each other.
    pub(crate) fn two_of(&mut self, at: ExprId, found: &str, other: &str) -> Lower<Value> {
        let message = format!("found {found} and {other} of one sum, expected one of them");
        self.fail(&codes::NO_SUCH_OPERATION, at, message)
    }

    /// Returns the tensor of a sum over the cluster: a register tensor of a type that blocks exchange.
    fn summand(&mut self, t: ExprId) -> Lower<Tensor> {
        let tensor = self.tensor(t)?;
        if !tensor.is_register() {
            let message = format!("found a {} tensor, expected a register one for a sum", tensor.space());
            let error =
                self.error(&codes::WRONG_MEMORY, t, message).help("`load(…)` moves a tile into registers");
            return Err(self.report(error));
        }
        let dtype = tensor.dtype;
        if matches!(dtype, DType::F32 | DType::F64 | DType::I32) {
            return Ok(tensor);
        }
        let message = format!(
            "found elements of type `{dtype}`, expected `f32`, `f64` or `i32` for a sum over the cluster"
        );
        let error = self.error(&codes::NO_SUCH_OPERATION, t, message).help("`cast(…, f32)` converts them");
        Err(self.report(error))
    }

    /// Returns the axis of a sum; `None` if the cluster is a single block, whose elements are the sum. Reports an axis with one
    /// block if the cluster has several blocks along another axis.
    fn cluster_axis_or_one(&mut self, at: ExprId) -> Lower<Option<u8>> {
        let axis = self.const_int(at, "the axis of `cluster`")?;
        if let Some(known) = usize::try_from(axis).ok().filter(|axis| *axis < self.grid.cluster_axes()) {
            return match self.grid.cluster()[known] {
                1 if self.grid.cluster().iter().any(|blocks| *blocks > 1) => {
                    self.one_block(at, axis, "cluster")
                }
                blocks => Ok((blocks > 1).then_some(known as u8)),
            };
        }
        let message = match self.grid.cluster_axes() {
            0 => "found a sum over the cluster in a kernel without `cluster`".to_owned(),
            axes => format!("found axis {axis} of the cluster, expected one below {axes}"),
        };
        let error = self.error(&codes::BAD_CLUSTER, at, message);
        let help = "`cluster [2]` behind the `grid` makes clusters of two blocks along axis 0";
        Err(self.report(error.help(help)))
    }

    /// Returns the coordinate, along the axis, of the block that gets the sum.
    fn target(&mut self, at: ExprId, axis: Option<u8>) -> Lower<u8> {
        let to = self.const_int(at, "the block of `to`")?;
        let blocks = axis.map_or(1, |axis| self.grid.cluster()[usize::from(axis)]);
        match u32::try_from(to).ok().filter(|to| *to < blocks) {
            Some(to) => Ok(to as u8),
            None => {
                let message = format!(
                    "found block {to}, expected one below {blocks}: the cluster has {blocks} along this axis"
                );
                self.fail(&codes::BAD_CLUSTER, at, message)
            }
        }
    }
}
