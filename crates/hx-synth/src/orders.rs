//! Packed orders of a tensor in global memory, read off the fragments in which a solved program holds its elements.
//!
//! A thread reads 16 bytes with one instruction if its elements follow each other in memory, and a warp reads whole lines if the bytes of
//! its lanes do. The order of a block is therefore that of one register tensor: the first elements of a thread, then the lanes of a warp,
//! then the elements that complete the block to a box. Narrow elements are converted several at a time from a register whose two halves
//! hold the neighbours of a pair, so each order has a second form with the pairs apart.
//!
//! Nothing here decides: the caller solves the program again with each order, and compares the solutions.

use std::collections::{BTreeMap, BTreeSet};

use hx_layout::Layout;
use hx_tile::{Base, OpKind, ParamId, TensorId, TileMode, TileProgram, View, tile_modes};

use crate::Solved;

/// The bits of a register.
const REGISTER_BITS: u32 = 32;

/// An order of a block of a packed tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackedOrder {
    /// The block: one mode for each dimension of the parameter, one-to-one onto consecutive places.
    pub block: Layout,
    /// The register tensor of the solved program that holds the elements of a thread in this order.
    pub tensor: TensorId,
    /// Whether the two elements of a pair lie in the two halves of a register.
    pub halves: bool,
}

/// A bit of the coordinate of an element: half of all elements are `step` further along a dimension of the parameter than the other half.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Bit {
    dim: usize,
    step: i64,
}

/// The dimension of the parameter that one step along an axis of a tensor walks, and by how many elements.
type Axis = Option<(usize, i64)>;

/// Returns the orders of a block of a parameter in which threads would read it as they hold it, without repeats, in the order of the
/// tensors. Only fragments whose modes are powers of two have one.
pub fn packed_orders(solved: &Solved, param: ParamId) -> Vec<PackedOrder> {
    let program = &solved.program;
    let Some(declared) = program.tensor_param(param) else { return Vec::new() };
    let rank = declared.shape.len();
    let widest = 8 * program.target.limits().access_bytes;
    let count = |bits: u32| (bits / declared.dtype.bits()).max(1).ilog2() as usize;
    let mut found: Vec<PackedOrder> = Vec::new();
    for (tensor, axes) in axes(program, param) {
        let Some((values, lanes)) = held(solved, tensor, &axes) else { continue };
        for halves in [false, true] {
            let bits = order_of_bits(&values, &lanes, [widest, REGISTER_BITS].map(count), halves);
            let Some(block) = bits.and_then(|bits| block(rank, bits)) else { continue };
            if divides(program, tensor, &axes, &block) && !found.iter().any(|known| known.block == block) {
                found.push(PackedOrder { block, tensor, halves });
            }
        }
    }
    found
}

/// Reports whether the extents of a tensor are whole blocks, so that a tile never begins or ends within a block.
fn divides(program: &TileProgram, tensor: TensorId, axes: &[Axis], block: &Layout) -> bool {
    let extents = &program.tensor(tensor).shape;
    let of_axis = axes.iter().zip(extents).filter_map(|(axis, extent)| Some(((*axis)?, extent)));
    of_axis.filter(|((_, step), _)| *step == 1).all(|((dim, _), extent)| extent % block.mode(dim).size() == 0)
}

/// Returns the register and shared tensors that hold elements of a parameter, with the steps of their axes.
fn axes(program: &TileProgram, param: ParamId) -> BTreeMap<TensorId, Vec<Axis>> {
    let mut known = BTreeMap::new();
    // A loop may read a stage before the text fills it, so one pass in the order of the text does not reach everything.
    loop {
        let before = known.len();
        for (op, _) in program.ops(1.0) {
            let Some((dst, axes)) = step(program, &op.kind, (param, &known)) else { continue };
            if axes.iter().any(Option::is_some) {
                known.entry(dst).or_insert(axes);
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

/// Returns the tensor that an operation fills with elements of the parameter, and the steps of its axes; `None` if it fills none. Arithmetic
/// keeps the places of its operands.
fn step(
    program: &TileProgram,
    op: &OpKind,
    of: (ParamId, &BTreeMap<TensorId, Vec<Axis>>),
) -> Option<(TensorId, Vec<Axis>)> {
    let same = |src: TensorId, dst: TensorId| {
        let axes = of.1.get(&src)?;
        (program.tensor(src).shape == program.tensor(dst).shape).then(|| (dst, axes.clone()))
    };
    match op {
        OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. } => along(program, src, dst, of),
        OpKind::Slice { dst, src } => {
            let whole = View::whole(Base::Register(*dst), &program.tensor(*dst).shape);
            along(program, src, &whole, of)
        }
        OpKind::Insert { dst, src } => {
            let whole = View::whole(Base::Register(*src), &program.tensor(*src).shape);
            along(program, &whole, dst, of)
        }
        OpKind::Cast { dst, src } | OpKind::Rearrange { dst, src, .. } => same(*src, *dst),
        OpKind::Map(map) => map.inputs.iter().find_map(|input| same(*input, map.dst)),
        OpKind::Sync(_)
        | OpKind::Fill { .. }
        | OpKind::Gemm { .. }
        | OpKind::Store { .. }
        | OpKind::Prefetch { .. }
        | OpKind::Reduce { .. }
        | OpKind::ReadNumber { .. }
        | OpKind::Scan { .. }
        | OpKind::Atomic(_)
        | OpKind::ClusterSum { .. }
        | OpKind::Print { .. }
        | OpKind::Assert { .. } => None,
    }
}

/// Returns the tensor of the destination of a move, and the steps of its axes in the parameter.
fn along(
    program: &TileProgram,
    src: &View,
    dst: &View,
    (param, known): (ParamId, &BTreeMap<TensorId, Vec<Axis>>),
) -> Option<(TensorId, Vec<Axis>)> {
    let tensor = dst.base.tensor()?;
    let of_source = |dim: usize| match src.base {
        Base::Global(base) => (base == param).then_some((dim, 1)),
        Base::Shared(base) | Base::Register(base) => *known.get(&base)?.get(dim)?,
    };
    let mut axes = vec![None; program.tensor(tensor).shape.len()];
    for (from, to) in src.modes.iter().zip(&dst.modes) {
        let Some((dim, step)) = of_source(from.dim) else { continue };
        let Some(factor) = from.factor.as_const() else { continue };
        if to.factor.as_const() == Some(1) && !src.is_picked(from.dim) {
            axes[to.dim] = Some((dim, step * factor));
        }
    }
    Some((tensor, axes))
}

/// Returns the bits of a thread's values and those of the lanes of a warp, the fastest first. `None` for a tensor that is not in registers,
/// or whose modes are no powers of two. Values and lanes that repeat an element have no bit.
fn held(solved: &Solved, tensor: TensorId, axes: &[Axis]) -> Option<(Vec<Bit>, Vec<Bit>)> {
    let distribution = solved.solution.registers.get(&tensor)?;
    let modes = |mode: usize| bits(&tile_modes(&distribution.layout.mode(mode), &distribution.tile)?, axes);
    let lanes = solved.program.target.limits().lanes.ilog2() as usize;
    let threads = modes(0)?.into_iter().take(lanes).flatten().collect::<Vec<Bit>>();
    let values = modes(1)?.into_iter().flatten().collect::<Vec<Bit>>();
    let mut all = BTreeSet::new();
    let is_once = values.iter().chain(&threads).all(|bit| all.insert(*bit));
    (is_once && !values.is_empty()).then_some((values, threads))
}

/// Splits modes into bits; a bit is `None` if all of its elements are one element of the parameter. `None` if a mode walks several dimensions,
/// or its extent or step is no power of two.
fn bits(modes: &[TileMode], axes: &[Axis]) -> Option<Vec<Option<Bit>>> {
    let mut out = Vec::new();
    for mode in modes.iter().filter(|mode| mode.extent != 1) {
        let count = u64::try_from(mode.extent).ok().filter(|extent| extent.is_power_of_two())?.ilog2();
        let first = match mode.along() {
            Some((axis, stride)) => axes.get(axis)?.map(|(dim, step)| (dim, step * stride)),
            None => mode.is_still().then_some(None)?,
        };
        if first.is_some_and(|(_, step)| step <= 0 || step.count_ones() != 1) {
            return None;
        }
        out.extend((0..count).map(|at| first.map(|(dim, step)| Bit { dim, step: step << at })));
    }
    Some(out)
}

/// Returns the bits of a block by their places in memory: the values of one access of a thread, then the lanes. `access` and `register` are
/// the bits of the elements that an access and a register hold. With `halves`, the bit that tells the elements of a pair apart selects the
/// half of a register. `None` if a register has no such halves.
fn order_of_bits(
    values: &[Bit],
    lanes: &[Bit],
    [access, register]: [usize; 2],
    halves: bool,
) -> Option<Vec<Bit>> {
    let mut bits: Vec<Bit> = values.iter().copied().take(access).collect();
    if halves {
        if register < 2 || bits.len() < register {
            return None;
        }
        bits[..register].rotate_left(1);
    }
    bits.extend(lanes);
    Some(bits)
}

/// Returns the layout of a block whose coordinate has these bits, from the fastest place on. Lower bits that are missing along a dimension
/// follow, so that the block is a box. `None` if the layout cannot be represented.
fn block(rank: usize, mut bits: Vec<Bit>) -> Option<Layout> {
    for dim in 0..rank {
        let most = bits.iter().filter(|bit| bit.dim == dim).map(|bit| bit.step).max().unwrap_or(0);
        let steps = std::iter::successors(Some(1), |step| Some(step * 2)).take_while(|step| *step < most);
        let missing: Vec<Bit> =
            steps.map(|step| Bit { dim, step }).filter(|bit| !bits.contains(bit)).collect();
        bits.extend(missing);
    }
    let mode = |dim: usize| {
        let mut own: Vec<(i64, i64)> = bits
            .iter()
            .enumerate()
            .filter(|(_, bit)| bit.dim == dim)
            .map(|(place, bit)| (bit.step, 1 << place))
            .collect();
        own.sort_unstable();
        if own.is_empty() {
            return Layout::flat(&[(1, 0)]).ok();
        }
        Layout::flat(&merged(own.into_iter().map(|(_, place)| place))).ok()
    };
    let modes: Vec<Layout> = (0..rank).map(mode).collect::<Option<_>>()?;
    Layout::concat(&modes).ok()
}

/// Joins bits whose places double from one to the next into modes.
fn merged(places: impl Iterator<Item = i64>) -> Vec<(i64, i64)> {
    let mut modes: Vec<(i64, i64)> = Vec::new();
    for place in places {
        match modes.last_mut() {
            Some((extent, stride)) if *extent * *stride == place => *extent *= 2,
            Some(_) | None => modes.push((2, place)),
        }
    }
    modes
}
