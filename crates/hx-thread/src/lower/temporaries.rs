//! The registers and the shared memory that an operation needs besides its tensors.

use hx_tile::{
    Choice, Lanes, OpId, OpKind, RearrangeChoice, ReduceChoice, Route, SUM_CHUNK, ScanChoice, ScopeId,
    Scratch, Solution, TensorId, TileProgram,
};

use super::{scan, sum};
use crate::{RegisterArray, SharedBuffer};

/// The temporaries of one operation.
#[derive(Default)]
pub(super) struct Temporaries {
    pub(super) arrays: Vec<RegisterArray>,
    pub(super) buffers: Vec<SharedBuffer>,
}

/// Returns the temporaries of an operation with its choice in the solution.
pub(super) fn of(program: &TileProgram, solution: &Solution, op: OpId) -> Temporaries {
    let Some(found) = program.op(op) else { return Temporaries::default() };
    let names = Names { program, scope: found.scope };
    if let OpKind::ClusterSum { x, axis, .. } = found.kind {
        return names.cluster_sum(x, axis);
    }
    let Some(choice) = solution.choices.get(&op) else { return Temporaries::default() };
    let all = found.kind.registers();
    let results = &all[..found.kind.results()];
    match (choice, results) {
        (Choice::Reduce(choice), [dst]) => names.reduce(*dst, choice),
        (Choice::Rearrange(RearrangeChoice { route: Route::Lanes(lanes), .. }), [dst]) => {
            names.exchange(*dst, lanes)
        }
        (Choice::Slice(choice), [whole]) if matches!(found.kind, OpKind::Insert { .. }) => {
            let through = names.slice(*whole, choice.through.as_ref());
            let other = choice.through.map(|_| names.array(*whole, "other", 1));
            Temporaries { arrays: other.into_iter().collect(), ..through }
        }
        (Choice::Slice(choice), [dst]) => names.slice(*dst, choice.through.as_ref()),
        (Choice::Copy(choice), [dst]) => names.slice(*dst, choice.spread.as_ref()),
        (Choice::Scan(choice), results) => names.scan(results, choice, solution),
        (
            Choice::Copy(_)
            | Choice::Gemm(_)
            | Choice::Convert(_)
            | Choice::Map(_)
            | Choice::Reduce(_)
            | Choice::Rearrange(_)
            | Choice::Slice(_)
            | Choice::Bulk(_)
            | Choice::Prefetch(_),
            _,
        ) => Temporaries::default(),
    }
}

/// Names temporaries after the tensor that they help to compute.
struct Names<'p> {
    program: &'p TileProgram,
    /// The scope that executes the operation.
    scope: ScopeId,
}

impl Names<'_> {
    fn array(&self, of: TensorId, what: &str, len: u32) -> RegisterArray {
        let tensor = self.program.tensor(of);
        let name = format!("{}_{what}", tensor.name);
        RegisterArray { name, dtype: tensor.dtype, len, scope: self.scope, tensor: None }
    }

    fn buffer(&self, of: TensorId, offset: u32, bytes: u32) -> SharedBuffer {
        let tensor = self.program.tensor(of);
        SharedBuffer { name: format!("{}_parts", tensor.name), dtype: tensor.dtype, offset, bytes }
    }

    fn reduce(&self, dst: TensorId, choice: &ReduceChoice) -> Temporaries {
        let meets = !choice.lanes.is_empty() || choice.across.is_some();
        let across = choice.across.iter();
        Temporaries {
            arrays: meets.then(|| self.array(dst, "other", 1)).into_iter().collect(),
            buffers: across.map(|across| self.buffer(dst, across.offset, across.bytes)).collect(),
        }
    }

    fn exchange(&self, dst: TensorId, lanes: &Lanes) -> Temporaries {
        let by_thread = &lanes.position[0];
        // If threads want different positions of their source lanes, each position is exchanged and each thread selects its
        // own.
        let several = (0..by_thread.size()).any(|t| by_thread.eval(t) != by_thread.eval(0));
        let array = several.then(|| self.array(dst, "other", lanes.together as u32));
        Temporaries { arrays: array.into_iter().collect(), buffers: Vec::new() }
    }

    fn slice(&self, dst: TensorId, through: Option<&Scratch>) -> Temporaries {
        let buffers =
            through.into_iter().map(|through| self.buffer(dst, through.offset, through.bytes)).collect();
        Temporaries { arrays: Vec::new(), buffers }
    }

    /// Returns arrays of registers, each for a chunk of elements.
    fn cluster_sum(&self, x: TensorId, axis: u8) -> Temporaries {
        let len = SUM_CHUNK * 8 / self.program.tensor(x).dtype.bits();
        let arrays = sum::temporaries(self.program, axis).iter().map(|what| self.array(x, what, len));
        Temporaries { arrays: arrays.collect(), buffers: Vec::new() }
    }

    fn scan(&self, dst: &[TensorId], choice: &ScanChoice, solution: &Solution) -> Temporaries {
        let values = |t: &TensorId| solution.registers[t].layout.mode(1).size() as u32;
        let arrays = |t: &TensorId| {
            let len = |what: &str| if what == "total" { values(t) } else { 1 };
            scan::ARRAYS.map(|what| self.array(*t, what, len(what)))
        };
        let buffers = dst.iter().zip(&choice.scratch);
        Temporaries {
            arrays: dst.iter().flat_map(arrays).collect(),
            buffers: buffers.map(|(t, scratch)| self.buffer(*t, scratch.offset, scratch.bytes)).collect(),
        }
    }
}
