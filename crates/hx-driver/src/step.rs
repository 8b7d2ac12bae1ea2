//! Steps through one launch of a test or of a program: runs it up to the launch, records one block, and hands the record over as
//! a [`Stepper`].
//!
//! If the request names neither a kernel nor a launch, the stepper takes the launch with a fault, else the launch that wrote a
//! wrong element, else the first one. To find it, the case is evaluated once before the recording, and a second time for a wrong
//! element.

mod integers;
mod place;
mod stepper;
mod tile;

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use hx_base::interrupt::{Ended, Until};
use hx_base::{Diagnostic, SourceFile};
use hx_hir::{Item, Sound, file_items, reached_errors};
use hx_host::eval::{Options, Session, Suspect};
use hx_launch::{Launcher, Machine, Recorded, Stepping};
use hx_sim::{Fault, Memory, SimError};
use hx_workspace::Database;

use crate::bounded::WorkLimit;
use crate::test::{Captured, Case, Failed, Property, Run, TestOptions, evaluated};

pub use place::Named;
pub use stepper::{StepFrame, StepSpot, Stepper};
pub use tile::{Cell, Tile};

/// An evaluation with launches.
#[derive(Clone, Copy, Debug)]
pub enum StepCase<'c> {
    Test(&'c Case),
    /// The `main` of a file.
    Main(SourceFile),
}

/// The launch to step through, and the settings of its evaluation.
#[derive(Clone, Debug)]
pub struct StepRequest<'r> {
    pub case: StepCase<'r>,
    pub kernel: Option<String>,
    /// Counted from 0 over all launches of the evaluation. `None` takes the first of `kernel`; without `kernel`, the launch
    /// that fails, or else the first one.
    pub launch: Option<usize>,
    /// The index of the block along each axis; `None` for the block of the failure, or else the first block.
    pub block: Option<[u32; 3]>,
    /// The order of events, as in [`TestOptions::orders`].
    pub order: u64,
    pub seed: u64,
    /// The command-line arguments of a program, which its `main` reads.
    pub args: Vec<String>,
    /// The bytes that the record may take, about.
    pub budget: usize,
}

/// The memory of one element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub memory: Memory,
    /// Bytes; for registers, positions among a thread's values.
    pub range: Range<usize>,
    /// The thread that holds it, for registers.
    pub thread: Option<u32>,
}

/// The moment at which a stepper begins.
#[derive(Clone, PartialEq, Debug)]
pub enum Goal {
    /// The first operation of the block.
    Start,
    /// The fault that ends the run of the block.
    Fault,
    /// The access of the block to an element of a tensor that another block accesses, too.
    Clash { tensor: String, element: i64, text: String },
    /// The last write of a wrong element of a parameter, by a thread.
    Wrong { param: usize, element: i64, thread: u32 },
}

/// The reason why there is nothing to step through.
#[derive(Clone, Debug)]
pub enum StepError {
    /// The evaluation failed before the launch, or the launch was refused.
    Failed(Vec<Diagnostic>),
    /// The test has a `forall` and its cases are not drawn yet, so there is no single case to step through.
    Drawn,
    /// The evaluation ended after this number of launches.
    NoLaunch(usize),
    /// The evaluation was interrupted.
    Stopped,
}

/// The end of an evaluation.
struct Evaluated {
    error: Option<Failed>,
    suspect: Option<Suspect>,
}

/// The launch to record, and the moment at which to begin.
struct Found {
    launch: Option<usize>,
    block: [u32; 3],
    goal: Goal,
}

/// Runs a test or a program on the simulator up to a launch, records a block, and calls `visit` with the record. Once `stop` is true,
/// recording ends, and so does each move of the record.
///
/// # Errors
/// If the case is still to be drawn, the evaluation fails or ends before the launch, or it is interrupted.
pub fn step(
    db: &Database,
    machine: &Machine,
    request: &StepRequest<'_>,
    stop: &AtomicBool,
    visit: &mut dyn FnMut(&mut Stepper<'_>),
) -> Result<(), StepError> {
    if let StepCase::Test(Case { property: Some(Property::Drawn(_)), .. }) = request.case {
        return Err(StepError::Drawn);
    }
    // The session runs inside of the evaluation, so an interrupt of a command must not end the evaluation.
    let until = WorkLimit::unlimited().from_now();
    let named = request.kernel.is_some() || request.launch.is_some();
    let ran = until.run(db, |db| {
        let block = request.block.unwrap_or_default();
        let mut found = Found { launch: request.launch, block, goal: Goal::Start };
        if !named {
            found = failing(db, machine, request, until, found)?;
        }
        // The goal is a moment of the failing block. Another block begins at its first operation.
        if request.block.is_some_and(|block| block != found.block) {
            found = Found { block, goal: Goal::Start, ..found };
        }
        recorded(db, machine, request, (until, stop), &found, visit)
    });
    match ran {
        Ok(done) => done,
        Err(Ended) => Err(StepError::Stopped),
    }
}

/// Evaluates the case once to find the launch with a fault, or a second time to find the write of a wrong element. Returns
/// `otherwise` if neither occurs.
fn failing(
    db: &Database,
    machine: &Machine,
    request: &StepRequest<'_>,
    until: Until<'_>,
    otherwise: Found,
) -> Result<Found, StepError> {
    let mut launcher = Launcher::new(db, machine, until).in_order(request.order).lenient();
    let ended = evaluate(db, machine, request, until, &mut launcher);
    if launcher.launches() == 0 {
        return Err(match ended.error {
            Some(error) => StepError::Failed(diagnostics(db, request, error)),
            None => StepError::NoLaunch(0),
        });
    }
    if let Some((launch, error)) = launcher.faulted() {
        let (block, goal) = fault_goal(error);
        return Ok(Found { launch: Some(*launch), block, goal });
    }
    let Some(suspect) = ended.suspect else { return Ok(otherwise) };
    let mut launcher = Launcher::new(db, machine, until).in_order(request.order).lenient().watching(&suspect);
    evaluate(db, machine, request, until, &mut launcher);
    let seen = launcher.seen();
    let wrote = seen.as_ref().and_then(|seen| Some((seen.write(seen.first)?, seen.positions[seen.first]?)));
    let (Some(seen), Some((wrote, position))) = (seen, wrote) else {
        // Nothing wrote the element: begin at the first operation of the launch.
        return Ok(Found { launch: Some(suspect.launch), ..otherwise });
    };
    let goal = Goal::Wrong { param: seen.param, element: position as i64, thread: wrote.thread };
    Ok(Found { launch: Some(suspect.launch), block: seen.witness.block_index(wrote.block), goal })
}

/// Returns the block of a fault, and the moment to begin at.
fn fault_goal(error: &SimError) -> ([u32; 3], Goal) {
    let block = error.place.as_ref().and_then(|place| place.block).unwrap_or_default();
    let goal = match &error.fault {
        // Two blocks race, which shows only when their changes are merged: neither block ends with a fault.
        Fault::BlockRace { tensor, element, .. } => {
            Goal::Clash { tensor: tensor.clone(), element: *element, text: error.fault.to_string() }
        }
        _ => Goal::Fault,
    };
    (block, goal)
}

/// Evaluates the case with a launcher.
fn evaluate(
    db: &Database,
    machine: &Machine,
    request: &StepRequest<'_>,
    until: Until<'_>,
    launcher: &mut Launcher<'_>,
) -> Evaluated {
    match request.case {
        StepCase::Test(case) => {
            let options = TestOptions { seed: request.seed, ..TestOptions::default() };
            let run = Run { db, case, machine, options: &options, stop: until.stop };
            let ran = evaluated(db, run, launcher, &mut Captured::default());
            Evaluated { error: ran.verdict.err(), suspect: ran.suspect }
        }
        StepCase::Main(file) => {
            let main = file_items(db, file).main().map(Item::Main);
            let Some(main) = main.and_then(|main| Sound::of(db, main)) else {
                return Evaluated { error: Some(Failed::Unsound), suspect: None };
            };
            let options = Options { args: request.args.clone(), seed: request.seed, ..Options::default() };
            let mut captured = Captured::default();
            let mut session = Session::new(db, launcher, &mut captured, options);
            let error = session.run(main, None).err().map(Failed::At);
            Evaluated { error, suspect: session.suspect().cloned() }
        }
    }
}

/// Returns the diagnostics of a failure.
fn diagnostics(db: &Database, request: &StepRequest<'_>, error: Failed) -> Vec<Diagnostic> {
    let item = match request.case {
        StepCase::Test(case) => case.test.find(db),
        StepCase::Main(file) => file_items(db, file).main().map(Item::Main),
    };
    match (error, item) {
        (Failed::At(error), _) => error.diagnostics(db),
        (Failed::Unsound, Some(item)) => reached_errors(db, item).clone(),
        (Failed::Unsound | Failed::Gone, _) => Vec::new(),
    }
}

fn recorded(
    db: &Database,
    machine: &Machine,
    request: &StepRequest<'_>,
    (until, stop): (Until<'_>, &AtomicBool),
    found: &Found,
    visit: &mut dyn FnMut(&mut Stepper<'_>),
) -> Result<(), StepError> {
    let mut visited = false;
    let mut take = |recorded: Recorded<'_, '_>| {
        visited = true;
        let mut stepper = Stepper::new(db, recorded);
        stepper.begin(&found.goal);
        visit(&mut stepper);
    };
    let stepping = Stepping {
        kernel: request.kernel.as_deref(),
        launch: found.launch,
        block: found.block,
        budget: request.budget,
        stop,
        visit: &mut take,
    };
    let mut launcher = Launcher::new(db, machine, until).in_order(request.order).lenient().stepping(stepping);
    let ended = evaluate(db, machine, request, until, &mut launcher);
    let launches = launcher.launches();
    drop(launcher);
    match (visited, ended.error) {
        (true, _) => Ok(()),
        (false, Some(error)) => Err(StepError::Failed(diagnostics(db, request, error))),
        (false, None) => Err(StepError::NoLaunch(launches)),
    }
}
