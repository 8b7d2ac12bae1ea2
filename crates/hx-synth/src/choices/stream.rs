//! Decides which products take their operands from shared memory slice by slice along K. While one slice is multiplied, the
//! next is loaded, so that only two slices of a fragment are live.

use std::collections::BTreeMap;

use hx_tile::{
    Base, Choice, CopyChoice, GemmChoice, Leaf, Op, OpId, OpKind, Solution, Stmt, Stream, TensorId,
    TileProgram, tile_modes,
};

/// Records the streamed operands of every product of a solved program.
pub(crate) fn streams(program: &TileProgram, solution: &mut Solution) {
    let mut uses = BTreeMap::new();
    for tensor in program.ops(1.0).into_iter().flat_map(|(op, _)| op.kind.registers()) {
        *uses.entry(tensor).or_default() += 1;
    }
    let mut found = Vec::new();
    Finder { program, solution, uses }.body(&program.body, &mut found);
    for (gemm, stream) in found {
        if let Some(Choice::Gemm(choice)) = solution.choices.get_mut(&gemm) {
            choice.stream = Some(stream);
        }
    }
}

struct Finder<'p> {
    program: &'p TileProgram,
    solution: &'p Solution,
    /// The number of operations that use each register tensor.
    uses: BTreeMap<TensorId, usize>,
}

impl<'p> Finder<'p> {
    fn body(&self, body: &'p [Stmt], out: &mut Vec<(OpId, Stream)>) {
        let mut copies = Vec::new();
        for stmt in body {
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) if matches!(op.kind, OpKind::Copy { .. }) => copies.push(op),
                Stmt::Leaf(Leaf::Op(op)) => {
                    out.extend(self.stream(op, &copies).map(|stream| (op.id, stream)));
                    copies.clear();
                }
                control => {
                    control.bodies().for_each(|body| self.body(body, out));
                    copies.clear();
                }
            }
        }
    }

    /// Returns the stream of a product after these copies, whose last two, or whose last one alone, feed it. `None` if the
    /// product does not take its operands slice by slice.
    fn stream(&self, op: &'p Op, copies: &[&'p Op]) -> Option<Stream> {
        let OpKind::Gemm { a, b, .. } = &op.kind else { return None };
        let Some(Choice::Gemm(choice)) = self.solution.choices.get(&op.id) else { return None };
        let operands = [a.view.register()?, b.view.register()?];
        if operands[0] == operands[1] {
            return None;
        }
        let pair = copies.len().checked_sub(2).map(|first| &copies[first..]);
        let single = copies.len().checked_sub(1).map(|first| &copies[first..]);
        pair.into_iter().chain(single).find_map(|loads| self.of(operands, choice, loads))
    }

    fn of(&self, operands: [TensorId; 2], choice: &GemmChoice, loads: &[&'p Op]) -> Option<Stream> {
        let widths: Option<Vec<(TensorId, i64)>> =
            loads.iter().map(|load| self.width(load, operands)).collect();
        let widths = widths?;
        if matches!(widths[..], [(one, _), (other, _)] if one == other) {
            return None;
        }
        let least = choice.row.shape[2];
        let depth = widths.iter().map(|(_, width)| *width).fold(least, i64::max);
        let fits = widths.iter().all(|(_, width)| depth % width == 0) && depth % least == 0;
        let k = self.program.tensor(operands[0]).shape[1];
        let loads = loads.iter().map(|load| load.id).collect();
        (fits && k % depth == 0 && k / depth >= 2).then_some(Stream { loads, depth })
    }

    /// Returns the operand that a copy from shared memory fills for the product alone, and the steps of K that each of the copy's
    /// instructions loads. `None` if the instructions do not walk along K one slice after the other.
    fn width(&self, op: &Op, operands: [TensorId; 2]) -> Option<(TensorId, i64)> {
        let OpKind::Copy { src, dst } = &op.kind else { return None };
        let register = dst.register().filter(|t| operands.contains(t) && self.uses.get(t) == Some(&2))?;
        let (Base::Shared(_), Some(Choice::Copy(choice))) = (src.base, self.solution.choices.get(&op.id))
        else {
            return None;
        };
        let extent = self.program.tensor(register).shape[1];
        Some((register, along_k(choice, extent)?))
    }
}

/// Returns the steps of K of one instruction. `None` unless exactly one mode of the copy's issues walks along K, and over all
/// of it.
fn along_k(choice: &CopyChoice, extent: i64) -> Option<i64> {
    tile_modes(&choice.memory.mode(0), &choice.tile)?;
    let issue = tile_modes(&choice.memory.mode(2), &choice.tile)?;
    let mut along = issue.iter().filter(|mode| mode.extent > 1 && mode.strides[1] != 0);
    let mode = along.next()?;
    let regular = mode.strides[0] == 0 && mode.strides[1] * mode.extent == extent && along.next().is_none();
    (regular && choice.register.mode(1).leaves().len() == issue.len()).then_some(mode.strides[1])
}
