//! Lowers copies that a solution cuts into boxes or runs: tensor maps, coordinates, and places in shared memory.
//!
//! The hardware clips a box where the dimensions of its map end, and only there. For a part of a tensor that ends at row `e`, which the
//! copy knows and the launch does not, the map has 2³⁰ rows, and two dimensions more: one with the stride of a row, and one whose step
//! is 2³⁴ elements less a row. The box at row `c` has the coordinates `c + 2³⁰ - e`, `e` and 2³⁰ in these three. Its rows end at 2³⁰,
//! which is `e`; and its address is that of row `c`, because 2³⁰ steps of 2³⁴ elements are a multiple of 2⁶⁴ bytes, where addresses
//! wrap. (Triton's `ragged_tma` does the same.)
//!
//! The map of a tensor whose elements are narrower than a byte is a map of bytes: the extents and coordinates along its first
//! dimension are those of the elements, divided by the elements of a byte. The solver chose boxes only where this is exact.

use hx_index::{Expr, Facts};
use hx_target::{Cache, SwizzleMode};
use hx_tensor_map::carrier;
use hx_tile::{Base, BulkChoice, Choice, Op, OpKind, PrefetchChoice, Solution, TileProgram, View};

use super::{LowerError, Lowering};
use crate::{Address, Body, Bulk, BulkStore, Control, Fetched, Leaf, Part, Prefetch, Stmt, TensorMap};

/// The bytes that the L2 cache fetches at once for a box. Other values were equally fast for products of matrices.
const L2_BYTES: u32 = 128;

/// The rows of a map that clips each box at an end which the copy gives. No tensor has more rows.
const ROWS: i64 = 1 << 30;

/// A box or a run of a copy, and its first element in shared memory.
struct Moved {
    part: Part,
    address: Address,
}

/// Returns the tensor maps of a program. Copies with equal boxes of the same tensor share a map.
pub(super) fn maps(program: &TileProgram, solution: &Solution) -> Result<Vec<TensorMap>, LowerError> {
    let mut out: Vec<TensorMap> = Vec::new();
    for (op, _) in program.ops(1.0) {
        if let Some(Choice::Bulk(choice)) = solution.choices.get(&op.id)
            && !choice.runs
        {
            let map = map(program, solution, op, choice)?;
            if !out.contains(&map) {
                out.push(map);
            }
        } else if let (OpKind::Prefetch { view }, Some(Choice::Prefetch(choice))) =
            (&op.kind, solution.choices.get(&op.id))
            && !choice.dims.is_empty()
        {
            let map = fetched_map(program, op, view, choice)?;
            if !out.contains(&map) {
                out.push(map);
            }
        }
    }
    Ok(out)
}

/// Returns the views of global and of shared memory of a copy in boxes or runs; `None` for another operation.
fn sides(op: &Op) -> Option<[&View; 2]> {
    if let OpKind::CopyAsync { src, dst, .. } = &op.kind {
        return Some([src, dst]);
    }
    let OpKind::Store { src, dst, .. } = &op.kind else { return None };
    Some([dst, src])
}

fn map(
    program: &TileProgram,
    solution: &Solution,
    op: &Op,
    choice: &BulkChoice,
) -> Result<TensorMap, LowerError> {
    let error = |message: &str| LowerError { op: op.id, message: message.to_owned() };
    let [global, shared] = sides(op).ok_or_else(|| error("only copies have boxes"))?;
    let Base::Shared(tensor) = shared.base else {
        return Err(error("a box is copied to or from shared memory"));
    };
    let layout = solution.shared.get(&tensor).ok_or_else(|| error("no shared layout"))?;
    let swizzle = SwizzleMode::of(layout.swizzle, program.tensor(tensor).dtype.bits());
    let swizzle = swizzle.ok_or_else(|| error("no instruction has this swizzle"))?;
    map_of_boxes(program, op, global, (&choice.dims, &choice.extents), swizzle)
}

/// Returns the map of a prefetch in boxes.
fn fetched_map(
    program: &TileProgram,
    op: &Op,
    view: &View,
    choice: &PrefetchChoice,
) -> Result<TensorMap, LowerError> {
    map_of_boxes(program, op, view, (&choice.dims, &choice.extents), SwizzleMode::Plain)
}

/// Returns the map of boxes of a view, which have the extents along the dimensions of its tensor.
fn map_of_boxes(
    program: &TileProgram,
    op: &Op,
    global: &View,
    (along, extents): (&[usize], &[u32]),
    swizzle: SwizzleMode,
) -> Result<TensorMap, LowerError> {
    let error = |message: &str| LowerError { op: op.id, message: message.to_owned() };
    let id = global.base.param().ok_or_else(|| error("a box is in global memory"))?;
    let param = program.tensor_param(id).ok_or_else(|| error("not a tensor"))?;
    let (element, each) = (carrier(param.dtype), param.dtype.per_byte());
    let bytes = i64::from(element.bits() / 8);
    let of_bytes = |elements: &Expr| in_bytes(elements, each, &program.facts);
    let mut dims: Vec<Expr> = along.iter().map(|dim| param.shape[*dim].clone()).collect();
    let stride_of = |dim: &usize| of_bytes(&param.stride[*dim]).scale(bytes);
    let mut strides: Vec<Expr> = along.iter().skip(1).map(stride_of).collect();
    let mut extents = extents.to_vec();
    let (Some(inner), Some(row)) = (dims.first_mut(), extents.first_mut()) else {
        return Err(error("a box has no dimension"));
    };
    *inner = of_bytes(inner);
    *row /= each;
    let clipped =
        global.box_end(param, program.target.rows().map.dims, &program.facts).map_err(|why| error(&why))?;
    if let Some((dim, _)) = clipped {
        let place = along.iter().position(|own| *own == dim);
        let place = place.ok_or_else(|| error("the boxes lack a dimension"))?;
        let (rows, stride) = (param.shape[dim].clone(), stride_of(&dim));
        // An empty tensor has an empty map.
        let any = rows.minimum(&Expr::constant(1), &program.facts);
        dims[place] = any.scale(ROWS);
        // The limit of 2³² on an extent keeps the rows at 2³⁰.
        dims.extend([rows.scale(4), any.scale(2 * ROWS)]);
        strides.extend([stride.clone(), Expr::constant(1 << 34).scale(bytes) - stride]);
        extents.extend([1, 1]);
    }
    Ok(TensorMap {
        dims,
        strides,
        extents,
        swizzle: swizzle.in_map(),
        l2: L2_BYTES,
        ..TensorMap::plain(id.0, &param.name, element)
    })
}

/// Returns a number of elements in units of the `each` elements that share a byte.
fn in_bytes(elements: &Expr, each: u32, facts: &Facts) -> Expr {
    if each == 1 { elements.clone() } else { elements.div(&Expr::constant(i64::from(each)), facts) }
}

impl Lowering<'_> {
    /// Returns the position of the map of a copy.
    fn map_of(&self, op: &Op, choice: &BulkChoice) -> Result<u32, LowerError> {
        let own = map(self.program, self.solution, op, choice)?;
        let map = self.maps.iter().position(|map| *map == own);
        Ok(map.ok_or_else(|| self.error(op, "the copy has no tensor map"))? as u32)
    }

    /// Returns the boxes or runs that the executing block moves, those along the first mode of the tile fastest. `place` is
    /// the coordinate of the block among `blocks` that share the copy.
    fn parts(
        &self,
        op: &Op,
        choice: &BulkChoice,
        (place, blocks): (&Expr, i64),
    ) -> Result<Vec<Moved>, LowerError> {
        let map = if choice.runs { None } else { Some(self.map_of(op, choice)?) };
        let elements: u32 = choice.extents.iter().product();
        let [global, shared] = sides(op).ok_or_else(|| self.error(op, "only copies have boxes"))?;
        let facts = self.facts_of(op);
        let firsts =
            self.firsts(op, global, (&choice.dims, &choice.extents), choice.share, (place, blocks))?;
        let mut out = Vec::with_capacity(firsts.len());
        for first in firsts {
            let part = match map {
                Some(map) => {
                    Part::Box { map, coordinates: self.coordinates(op, global, &choice.dims, &first)? }
                }
                None => {
                    let coordinate = |dim: usize| global.coordinate(dim, &first).simplify(facts);
                    let at: Vec<Expr> = (0..global.offsets.len()).map(coordinate).collect();
                    Part::Run { first: self.address(op, global, &at, facts)?, elements }
                }
            };
            let place: Vec<Expr> =
                (0..shared.offsets.len()).map(|dim| shared.coordinate(dim, &first)).collect();
            // The instruction swizzles the addresses of a box itself, so it takes the place without the swizzle.
            let address = self.unswizzled(op, shared, &place, facts)?;
            out.push(Moved { part, address });
        }
        Ok(out)
    }

    /// Returns the coordinates, in a view, of the first element of each of its boxes, which have these extents along these dimensions. Those
    /// along the first mode of the view come fastest. `place` is the coordinate of the block among `blocks` that share the mode `share`.
    fn firsts(
        &self,
        op: &Op,
        global: &View,
        (dims, extents): (&[usize], &[u32]),
        share: Option<usize>,
        (place, blocks): (&Expr, i64),
    ) -> Result<Vec<Vec<Expr>>, LowerError> {
        // For each mode of the tile: how many boxes of the block there are along it, the extent of each, and the first of them.
        let along = |dim: usize| dims.iter().position(|own| *own == dim);
        let mut steps = Vec::with_capacity(global.modes.len());
        for (at, mode) in global.modes.iter().enumerate() {
            let blocks = if share == Some(at) { blocks } else { 1 };
            let extent = along(mode.dim).and_then(|at| extents.get(at)).map(|n| i64::from(*n));
            let extent = extent.filter(|n| *n > 0 && mode.extent % (n * blocks) == 0);
            let extent = extent.ok_or_else(|| self.error(op, "the boxes do not tile the copy"))?;
            let first = if blocks > 1 { place.scale(mode.extent / blocks) } else { Expr::default() };
            steps.push((mode.extent / extent / blocks, extent, first));
        }
        let count: i64 = steps.iter().map(|(boxes, ..)| boxes).product();
        let first = |number: i64| {
            let mut rest = number;
            let at = |(boxes, extent, first): &(i64, i64, Expr)| {
                let at = rest % boxes * extent;
                rest /= boxes;
                first.clone() + Expr::constant(at)
            };
            steps.iter().map(at).collect()
        };
        Ok((0..count).map(first).collect())
    }

    /// Returns the coordinates of a box in its map. `first` is its first element in the view.
    fn coordinates(
        &self,
        op: &Op,
        global: &View,
        dims: &[usize],
        first: &[Expr],
    ) -> Result<Vec<Expr>, LowerError> {
        let facts = self.facts_of(op);
        let coordinate = |dim: usize| global.coordinate(dim, first).simplify(facts);
        let param = global.base.param().and_then(|id| self.program.tensor_param(id));
        let param = param.ok_or_else(|| self.error(op, "a box is of a tensor"))?;
        let clipped = global
            .box_end(param, self.program.target.rows().map.dims, &self.program.facts)
            .map_err(|why| self.error(op, &why))?;
        let mut coordinates: Vec<Expr> = dims.iter().map(|dim| coordinate(*dim)).collect();
        if let Some(inner) = coordinates.first_mut() {
            *inner = in_bytes(inner, param.dtype.per_byte(), facts);
        }
        if let Some((dim, end)) = &clipped {
            for (own, at) in dims.iter().zip(&mut coordinates).filter(|(own, _)| *own == dim) {
                *at = (coordinate(*own) + Expr::constant(ROWS) - end.clone()).simplify(facts);
            }
            coordinates.extend([end.clone(), Expr::constant(ROWS)]);
        }
        Ok(coordinates)
    }

    /// Lowers a prefetch: one thread fetches boxes, or all threads fetch lines.
    pub(super) fn prefetch(&self, op: &Op, view: &View, choice: &PrefetchChoice) -> Result<Body, LowerError> {
        if choice.dims.is_empty() {
            return self.fetched_lines(op, view, choice);
        }
        let own = fetched_map(self.program, op, view, choice)?;
        let map = self.maps.iter().position(|map| *map == own);
        let map = map.ok_or_else(|| self.error(op, "the prefetch has no tensor map"))? as u32;
        let boxes = (&choice.dims[..], &choice.extents[..]);
        let firsts = self.firsts(op, view, boxes, None, (&Expr::default(), 1))?;
        let fetch = |first: Vec<Expr>| {
            let coordinates = self.coordinates(op, view, &choice.dims, &first)?;
            let of = Fetched::Box { map, coordinates };
            Ok(Stmt::Leaf(Leaf::Prefetch(Prefetch { row: choice.row, of })))
        };
        firsts.into_iter().map(fetch).collect()
    }

    /// Lowers a copy whose boxes or runs signal the barrier of the stage that they fill.
    pub(super) fn load(&self, op: &Op, choice: &BulkChoice) -> Result<Body, LowerError> {
        let barrier = self.stage_signalled(op)?;
        let (place, blocks) = match choice.share {
            Some(_) => self.sharers(op)?,
            None => (Expr::default(), Vec::new()),
        };
        let cache = sides(op).map_or(Cache::default(), |[global, _]| global.cache);
        let load = |Moved { part: from, address }: Moved| {
            let (row, barrier, blocks) = (choice.row, barrier.clone(), blocks.clone());
            Stmt::Leaf(Leaf::Bulk(Bulk { row, from, address, barrier, blocks, cache }))
        };
        let parts = self.parts(op, choice, (&place, blocks.len().max(1) as i64))?;
        Ok(parts.into_iter().map(load).collect())
    }

    pub(super) fn store(&self, op: &Op, choice: &BulkChoice) -> Result<Body, LowerError> {
        let cache = sides(op).map_or(Cache::default(), |[global, _]| global.cache);
        let store = |Moved { part: to, address }: Moved| {
            Stmt::Leaf(Leaf::BulkStore(BulkStore { row: choice.row, to, address, cache }))
        };
        let parts = self.parts(op, choice, (&Expr::default(), 1))?;
        let mut body: Body = parts.into_iter().map(store).collect();
        body.push(Stmt::Leaf(Leaf::BulkCommit));
        Ok(body)
    }
}

/// Makes every scope wait for its stores at its end, because shared memory must outlive them.
pub(super) fn end_stores(body: &mut Body) {
    let mut stores = false;
    crate::visit_leaves(body, &mut |leaf| stores |= matches!(leaf, Leaf::BulkStore(_)));
    if !stores {
        return;
    }
    if let Some(Stmt::Control(Control::Roles(roles))) = body.last_mut() {
        roles.iter_mut().for_each(|role| end_stores(&mut role.body));
        let mut before = false;
        let all = body.len() - 1;
        crate::visit_leaves(&body[..all], &mut |leaf| before |= matches!(leaf, Leaf::BulkStore(_)));
        if before {
            body.insert(all, Stmt::Leaf(Leaf::BulkWait { leave: 0, read: false }));
        }
        return;
    }
    body.push(Stmt::Leaf(Leaf::BulkWait { leave: 0, read: false }));
}
