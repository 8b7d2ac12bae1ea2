//! Prints the stages as text, for `--emit` and for goldens.

use hx_lower::Lowered;
use hx_tile::Demand;

use crate::{Db, Instance, Stop, cuda_source, demands, routed_program, solved, thread_program, tile_program};

/// A stage that can be shown without a device. PTX and machine code come from the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Emit {
    /// The operations of the tile program.
    Tile,
    /// The demands of the operations on layouts.
    Constraints,
    /// The layouts and instructions, with reasons.
    Layouts,
    /// The code of every thread.
    Thread,
    /// CUDA C++.
    Cuda,
}

impl Emit {
    /// Every stage, in compilation order.
    pub const ALL: [Emit; 5] = [Emit::Tile, Emit::Constraints, Emit::Layouts, Emit::Thread, Emit::Cuda];

    /// Returns the word after `--emit`.
    pub fn name(self) -> &'static str {
        match self {
            Emit::Tile => "tile",
            Emit::Constraints => "constraints",
            Emit::Layouts => "layouts",
            Emit::Thread => "thread",
            Emit::Cuda => "cuda",
        }
    }
}

/// Returns a stage of an instance as text.
///
/// # Errors
/// The reason why the instance does not reach the stage.
pub fn emit<'db>(db: &'db dyn Db, instance: Instance<'db>, stage: Emit) -> Result<String, &'db Stop> {
    let lowered = tile_program(db, instance).as_ref()?;
    Ok(match stage {
        Emit::Tile => hx_tile::emit_tile(&lowered.program),
        Emit::Constraints => {
            let lowered = routed_program(db, instance).as_ref()?;
            constraints(lowered, &solved(db, instance).as_ref()?.solution.constraints)
        }
        Emit::Layouts => {
            let solved = solved(db, instance).as_ref()?;
            hx_tile::emit_layouts(&solved.program, &solved.solution)
        }
        Emit::Thread => hx_thread::emit_thread(thread_program(db, instance).as_ref()?),
        // Leave out the line marks, which are for profilers.
        Emit::Cuda => {
            let marked = cuda_source(db, instance).as_ref()?;
            let program = thread_program(db, instance).as_ref()?;
            // A program that has a text with marks also has one without.
            let poll = || db.unwind_if_revision_cancelled();
            hx_codegen::cuda_with_lines(program, None, &poll)
                .map_or_else(|_| marked.text.clone(), |plain| plain.text)
        }
    })
}

/// Returns the constraints of an instance without layouts, as far as they were built; `None` if it has layouts, or no tile
/// program.
pub fn built_constraints<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<String> {
    let lowered = routed_program(db, instance).as_ref().ok()?;
    Some(constraints(lowered, demands(db, instance).as_ref()?))
}

/// Formats each operation that has demands, with its demands below it.
fn constraints(lowered: &Lowered, constraints: &[Demand]) -> String {
    let mut text = String::new();
    for (op, _) in lowered.program.ops(1.0) {
        let mut demands = constraints.iter().filter(|demand| demand.op == op.id).peekable();
        if demands.peek().is_none() {
            continue;
        }
        text.push_str(&format!("#{} {}\n", op.id.0, hx_tile::op_text(&lowered.program, op)));
        demands.for_each(|demand| text.push_str(&format!("    {}\n", demand.text)));
    }
    text
}
