//! Lowers elementwise expressions: one statement for each element that a thread holds, or for each pair of elements, in
//! unrolled loops.

use hx_dtype::DType;
use hx_index::{Expr, Facts, Symbol};
use hx_layout::Layout;
use hx_target::Catalogue;
use hx_tile::{Map, MapChoice, Op, Scalar, TileMode, tile_modes};

use super::layout::{unrolled, walk};
use super::scalar::{contracted, hardware};
use super::{LowerError, Lowering, TensorId};
use crate::{Body, Compute, Leaf, RegId, Registers, Stmt};

/// A walk over the values of a tensor in one thread: nested loops, their counters, the coordinate they reach, and the
/// statements before the loops.
pub(super) struct Walk {
    pub(super) setup: Body,
    pub(super) counters: Vec<Expr>,
    pub(super) loops: Vec<(Symbol, i64)>,
    /// The coordinate, in the tensor's tile, that the loops reach.
    pub(super) at: Vec<Expr>,
    pub(super) facts: Facts,
}

impl Lowering<'_> {
    /// Returns loops over the values of a tensor in the order of its value modes, the first mode innermost.
    pub(super) fn walk(&self, op: &Op, tensor: TensorId) -> Result<Walk, LowerError> {
        let held = self.solution.registers.get(&tensor).ok_or_else(|| self.error(op, "no layout"))?;
        let irregular = || self.error(op, "a layout runs over the end of a dimension");
        let thread = tile_modes(&held.layout.mode(0), &held.tile).ok_or_else(irregular)?;
        let mut facts = self.facts_of(op).clone();
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
                Some(Scalar::Integer { value, dtype: DType::I32 })
            }
            _ => None,
        });
        if let Some(body) = self.packed(op, map, choice)? {
            return Ok(body);
        }
        let inputs = map
            .inputs
            .iter()
            .zip(&choice.inputs)
            .map(|(tensor, positions)| Ok(element(self.array(op, *tensor)?, positions, &walk.counters)));
        let compute = Stmt::Leaf(Leaf::Compute(Compute {
            dst: self.own(op, map.dst, &walk)?,
            inputs: inputs.collect::<Result<_, LowerError>>()?,
            value: hardware(self.program.target.rows(), &value),
        }));
        let uses_index = map.value.mentions_index();
        let mut body = if uses_index { walk.setup } else { Body::new() };
        body.extend(unrolled(&walk.loops, vec![compute]));
        Ok(body)
    }

    /// Lowers an expression for two neighbours at once. Returns `None` if an operator has no instruction for two values, if
    /// an operand neither holds the two values side by side nor has the same value for both, or if the values do not divide
    /// into pairs.
    fn packed(&self, op: &Op, map: &Map, choice: &MapChoice) -> Result<Option<Body>, LowerError> {
        const PAIR: i64 = 2;
        let dtype = self.program.tensor(map.dst).dtype;
        let value = contracted(self.program.target.rows(), &map.value);
        if !packs(self.program.target.rows(), &value, dtype, PAIR as u32) {
            return Ok(None);
        }
        let held = self.solution.registers.get(&map.dst).ok_or_else(|| self.error(op, "no layout"))?;
        let extents: Vec<i64> = held.layout.mode(1).leaves().iter().map(|l| l.0).collect();
        let Some(first) = extents.iter().position(|e| *e != 1) else { return Ok(None) };
        if extents[first] % PAIR != 0 {
            return Ok(None);
        }
        let mut steps = Vec::new();
        let mut loops = Vec::new();
        let mut facts = self.facts_of(op).clone();
        for (j, extent) in extents.iter().enumerate() {
            let count = if j == first { extent / PAIR } else { *extent };
            let (counter, counted) = self.step(op, j, count, &mut facts);
            steps.push(counted);
            loops.push((counter, count));
        }
        let mut inputs = Vec::new();
        for (tensor, positions) in map.inputs.iter().zip(&choice.inputs) {
            let Some(pair) = pairs(&positions.mode(first), extents[first]) else { return Ok(None) };
            let array = self.array(op, *tensor)?;
            let base = steps.iter().enumerate().fold(Expr::default(), |sum, (j, step)| {
                let mode = if j == first { pair.0.clone() } else { positions.mode(j) };
                sum + walk(&mode, step)
            });
            inputs.push(Registers { array, base, offsets: vec![0, pair.1] });
        }
        let (mut base, mut unit) = (Expr::default(), 1);
        for (j, (step, extent)) in steps.iter().zip(&extents).enumerate() {
            base = base + step.scale(if j == first { unit * PAIR } else { unit });
            unit *= extent;
        }
        let dst = Registers { array: self.array(op, map.dst)?, base, offsets: vec![0, 1] };
        loops.reverse();
        let compute = Stmt::Leaf(Leaf::Compute(Compute { dst, inputs, value }));
        Ok(Some(unrolled(&loops, vec![compute])))
    }

    /// Returns the register of the element of `tensor` that a walk over this tensor has reached.
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

/// Returns one element of an array. `positions` maps the counters to its position, one top-level mode for each counter.
pub(super) fn element(array: RegId, positions: &hx_layout::Layout, counters: &[Expr]) -> Registers {
    let base = counters
        .iter()
        .enumerate()
        .fold(Expr::default(), |sum, (i, counter)| sum + walk(&positions.mode(i), counter));
    Registers { array, base, offsets: vec![0] }
}

/// Reports whether an expression has only inputs and literals of this type, and operators with a row for `values` elements of
/// it at once.
fn packs(rows: &Catalogue, value: &Scalar, dtype: DType, values: u32) -> bool {
    fn all(rows: &Catalogue, value: &Scalar, dtype: DType, values: u32) -> bool {
        match value {
            Scalar::Input { dtype: own, .. } | Scalar::Const { dtype: own, .. } => *own == dtype,
            Scalar::Apply { operator, dtype: own, args } => {
                let row = rows.compute_packed(*operator, *own);
                *own == dtype
                    && row.is_some_and(|row| row.values == values)
                    && args.iter().all(|arg| all(rows, arg, dtype, values))
            }
            _ => false,
        }
    }
    matches!(value, Scalar::Apply { .. }) && all(rows, value, dtype, values)
}

/// Returns the positions of the first element of each pair along a mode, and the distance of the second from it: 1 if the
/// two lie side by side in a word, 0 if they are one element. Returns `None` if the pairs differ or have another distance.
fn pairs(positions: &Layout, extent: i64) -> Option<(Layout, u32)> {
    let distance = positions.eval(1) - positions.eval(0);
    let is_pair = |i: i64| {
        let first = positions.eval(i);
        positions.eval(i + 1) - first == distance && (distance == 0 || distance == 1 && first % 2 == 0)
    };
    if !(0..extent).step_by(2).all(is_pair) {
        return None;
    }
    let firsts = Layout::flat(&[(extent / 2, 2)]).and_then(|every| positions.compose(&every)).ok()?;
    Some((firsts, u32::try_from(distance).ok()?))
}
