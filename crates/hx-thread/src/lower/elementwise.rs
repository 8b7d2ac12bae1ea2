//! Elementwise expressions: one statement for each element that a thread holds, in unrolled loops.

use hx_index::{Expr, Facts, Symbol};
use hx_tile::{Map, MapChoice, Op, Scalar, TileMode, tile_modes};

use super::layout::{unrolled, walk};
use super::scalar::hardware;
use super::{LowerError, Lowering, TensorId};
use crate::{Body, Compute, RegId, Registers, Stmt};

/// The values of a tensor that a thread walks: counters of nested loops, the coordinate they reach, and the statements before.
pub(super) struct Walk {
    pub(super) setup: Body,
    pub(super) counters: Vec<Expr>,
    pub(super) loops: Vec<(Symbol, i64)>,
    /// Coordinate in the tensor's tile.
    pub(super) at: Vec<Expr>,
    pub(super) facts: Facts,
}

impl Lowering<'_> {
    /// Loops over the values of a tensor, in the order of its value modes, the first innermost.
    pub(super) fn walk(&self, op: &Op, tensor: TensorId) -> Result<Walk, LowerError> {
        let held = self.solution.registers.get(&tensor).ok_or_else(|| self.error(op, "no layout"))?;
        let irregular = || self.error(op, "a layout runs over the end of a dimension");
        let thread = tile_modes(&held.layout.mode(0), &held.tile).ok_or_else(irregular)?;
        let mut facts = self.facts.clone();
        let (setup, mut at) = self.thread_coordinates(op, &thread, &held.tile, &mut facts);
        let values = held.layout.mode(1);
        let mut counters = Vec::new();
        let mut loops = Vec::new();
        for (j, (extent, stride)) in values.leaves().iter().enumerate() {
            let mode = TileMode::new(*extent, hx_tile::coordinate(*stride, &held.tile));
            let (counter, counted) = self.step(op, j, *extent, &mut facts);
            for (coordinate, stride) in at.iter_mut().zip(&mode.strides) {
                *coordinate = coordinate.clone() + counted.scale(*stride);
            }
            counters.push(counted);
            loops.push((counter, *extent));
        }
        loops.reverse();
        Ok(Walk { setup, counters, loops, at, facts })
    }

    pub(super) fn map(&self, op: &Op, map: &Map, choice: &MapChoice) -> Result<Body, LowerError> {
        let walk = self.walk(op, map.dst)?;
        let value = map.value.map_leaves(&mut |leaf| match leaf {
            Scalar::Index { axis } => {
                let value = walk.at.get(*axis)?.clone();
                Some(Scalar::Integer { value, dtype: hx_dtype::DType::I32 })
            }
            _ => None,
        });
        let inputs = map
            .inputs
            .iter()
            .zip(&choice.inputs)
            .map(|(tensor, positions)| Ok(element(self.array(op, *tensor)?, positions, &walk.counters)));
        let compute = Stmt::Compute(Compute {
            dst: self.own(op, map.dst, &walk)?,
            inputs: inputs.collect::<Result<_, LowerError>>()?,
            value: hardware(&value),
        });
        let uses_index = map.value.mentions_index();
        let mut body = if uses_index { walk.setup } else { Body::new() };
        body.extend(unrolled(&walk.loops, vec![compute]));
        Ok(body)
    }

    /// The element of the walked tensor itself.
    pub(super) fn own(&self, op: &Op, tensor: TensorId, walk: &Walk) -> Result<Registers, LowerError> {
        let mut unit = 1;
        let mut base = Expr::default();
        let extents = walk.loops.iter().rev().map(|l| l.1);
        for (counter, extent) in walk.counters.iter().zip(extents) {
            base = base + counter.scale(unit);
            unit *= extent;
        }
        Ok(Registers { array: self.array(op, tensor)?, base, offsets: vec![0] })
    }
}

/// One element of an array, at the position that a layout gives for the counters, one top-level mode each.
pub(super) fn element(array: RegId, positions: &hx_layout::Layout, counters: &[Expr]) -> Registers {
    let base = counters
        .iter()
        .enumerate()
        .fold(Expr::default(), |sum, (i, counter)| sum + walk(&positions.mode(i), counter));
    Registers { array, base, offsets: vec![0] }
}
