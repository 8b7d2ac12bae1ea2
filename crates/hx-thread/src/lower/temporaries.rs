//! The registers and the shared memory that an operation needs besides its tensors.

use hx_tile::{
    Choice, Lanes, OpId, OpKind, RearrangeChoice, ReduceChoice, Route, ScanChoice, ScopeId, SliceChoice,
    Solution, TensorId, TileProgram,
};

use super::scan;
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
    match (&found.kind, solution.choices.get(&op)) {
        (OpKind::Reduce { dst, .. }, Some(Choice::Reduce(choice))) => names.reduce(*dst, choice),
        (OpKind::Rearrange { dst, .. }, Some(Choice::Rearrange(RearrangeChoice { route, .. }))) => {
            match route {
                Route::Lanes(lanes) => names.exchange(*dst, lanes),
                Route::Within(_) | Route::Renamed(_) | Route::Matrices { .. } | Route::Shared { .. } => {
                    Temporaries::default()
                }
            }
        }
        (OpKind::Slice { dst, .. }, Some(Choice::Slice(choice))) => names.slice(*dst, choice),
        (OpKind::Scan { dst, .. }, Some(Choice::Scan(choice))) => names.scan(dst, choice, solution),
        (
            OpKind::Fill { .. }
            | OpKind::Copy { .. }
            | OpKind::Gemm { .. }
            | OpKind::Cast { .. }
            | OpKind::Sync
            | OpKind::SyncWarp
            | OpKind::CopyAsync { .. }
            | OpKind::Commit
            | OpKind::Wait { .. }
            | OpKind::GemmWait { .. }
            | OpKind::Take { .. }
            | OpKind::Pass { .. }
            | OpKind::Acquire { .. }
            | OpKind::WaitStage { .. }
            | OpKind::Release { .. }
            | OpKind::Skip { .. }
            | OpKind::Store { .. }
            | OpKind::WaitStores { .. }
            | OpKind::Map(_)
            | OpKind::Rearrange { .. }
            | OpKind::Reduce { .. }
            | OpKind::Slice { .. }
            | OpKind::ReadNumber { .. }
            | OpKind::Scan { .. }
            | OpKind::AtomicAdd { .. }
            | OpKind::Print { .. }
            | OpKind::Assert { .. },
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
        RegisterArray { name: format!("{}_{what}", tensor.name), dtype: tensor.dtype, len, scope: self.scope }
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

    fn slice(&self, dst: TensorId, choice: &SliceChoice) -> Temporaries {
        let through = choice.through.iter();
        let buffers = through.map(|through| self.buffer(dst, through.offset, through.bytes)).collect();
        Temporaries { arrays: Vec::new(), buffers }
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
