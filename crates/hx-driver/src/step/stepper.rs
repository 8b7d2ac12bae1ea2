//! A recorded launch with the names and places of its source: moves by operations, lines and functions.

use std::collections::BTreeSet;
use std::time::Duration;

use hx_base::{Diagnostic, SourceFile, TextRange, line_index};
use hx_compile::Instance;
use hx_hir::{ItemKey, Name};
use hx_launch::Recorded;
use hx_lower::{CtArgs, Lowered};
use hx_sim::{AgentId, AgentState, Fault, MemoryAccess, Playback, Prepared};
use hx_thread::ThreadProgram;
use hx_tile::{Origin, Solution, TileProgram};
use hx_workspace::Database;

use super::{Goal, Place};

/// A call or a kernel that an operation is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepFrame {
    /// The function or the kernel.
    pub item: ItemKey,
    pub file: SourceFile,
    pub range: TextRange,
    /// The line, from 0.
    pub line: u32,
}

/// The place of an operation in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepSpot {
    /// The number of the operation, as messages show it: `#4`.
    pub op: Option<u32>,
    /// The operation as text: `gemm(acc, ra, rb)`.
    pub title: String,
    /// From the innermost function out to the kernel; never empty.
    pub frames: Vec<StepFrame>,
}

impl StepFrame {
    /// Returns the name of the function or of the kernel.
    pub fn name(&self) -> &Name {
        &self.item.name
    }
}

impl StepSpot {
    /// Returns the place in the innermost function.
    pub fn here(&self) -> &StepFrame {
        &self.frames[0]
    }
}

/// A recorded launch at one moment, with an agent and a thread in focus.
#[derive(Debug)]
pub struct Stepper<'r> {
    pub(super) db: &'r Database,
    pub(super) solution: &'r Solution,
    /// The solved program.
    pub(super) tile: &'r TileProgram,
    pub(super) program: &'r ThreadProgram,
    pub(super) prepared: &'r Prepared,
    pub(super) playback: Playback<'r>,
    pub(super) instance: Instance<'r>,
    /// The place of each site of the thread program; `None` if the source has no place for it.
    spots: Vec<Option<StepSpot>>,
    pub(super) arguments: &'r CtArgs,
    found: Vec<Diagnostic>,
    reason: Option<String>,
    took: Duration,
    focus: AgentId,
    thread: u32,
}

impl<'r> Stepper<'r> {
    pub(super) fn new(db: &'r Database, recorded: Recorded<'r, 'r>) -> Stepper<'r> {
        let Recorded { instance, lowered, solved, program, block, prepared, playback, found, took } =
            recorded;
        let rank = prepared.blocks().iter().position(|index| *index == block).unwrap_or_default();
        let spot =
            |place: hx_sim::Place| spot(db, lowered, place.origin?, (place.op.map(|op| op.0), place.title));
        Stepper {
            db,
            solution: &solved.solution,
            tile: &solved.program,
            program,
            prepared,
            playback,
            instance,
            arguments: &lowered.sources.args,
            spots: prepared.places().into_iter().map(spot).collect(),
            found,
            reason: None,
            took,
            focus: AgentId { rank, number: 0 },
            thread: 0,
        }
    }

    /// Goes to the moment at which the stepper begins.
    pub(super) fn begin(&mut self, goal: &Goal) {
        match goal {
            Goal::Start => {
                self.playback.seek(0);
                let rank = self.focus.rank;
                let mut begins = |playback: &Playback<'r>| {
                    let running = playback.running();
                    running.rank == rank
                        && playback.state(running).is_some_and(|state| state.begins_operation)
                };
                // The agent of the block may begin no operation of its own: its roles do.
                if !begins(&self.playback) {
                    self.playback.forward(&mut begins);
                }
                self.thread =
                    self.playback.state(self.playback.running()).map_or(0, |state| state.threads[0]);
                self.focus_on_thread();
            }
            Goal::Fault => self.to_end(),
            Goal::Clash { tensor, element, text } => {
                self.reason = Some(format!("block {:?} {text}", self.focus().block));
                let param = self.program.params.iter().position(
                    |param| matches!(param, hx_thread::Param::Tensor(param) if param.name == *tensor),
                );
                self.to_end();
                if let Some(place) = param.and_then(|param| self.global_place(param, *element)) {
                    self.find(&place, false, &|_| true);
                }
            }
            Goal::Wrong { param, element, thread } => {
                let at = self.prepared.coordinate(*param, *element);
                if let (Some(hx_thread::Param::Tensor(tensor)), Some(at)) =
                    (self.program.params.get(*param), at)
                {
                    let at: Vec<String> = at.iter().map(i64::to_string).collect();
                    let element = format!("`{}[{}]`", tensor.name, at.join(", "));
                    self.reason = Some(format!("the last write of {element}, the first wrong element"));
                }
                self.to_end();
                if let Some(place) = self.global_place(*param, *element) {
                    self.find(&place, false, &|access| access.kind != hx_sim::AccessKind::Read);
                }
                self.set_thread(*thread);
            }
        }
    }

    /// Goes to the end of the record, and focuses on the agent and the thread of the fault if there is one.
    pub fn to_end(&mut self) {
        self.playback.seek(u64::MAX);
        if let Some(error) = self.playback.outcome() {
            let place = error.place.as_ref();
            let block = place.and_then(|place| place.block);
            let rank = self.prepared.blocks().iter().position(|index| Some(*index) == block);
            let first_waiting = match &error.fault {
                Fault::Deadlock { blocked, .. } => blocked.first().map(|blocked| blocked.threads[0]),
                _ => None,
            };
            self.focus.rank = rank.unwrap_or(self.focus.rank);
            self.thread = place.and_then(|place| place.thread).or(first_waiting).unwrap_or(self.thread);
        }
        self.focus_on_thread();
    }

    /// Returns the name of the kernel.
    pub fn kernel(&self) -> &Name {
        self.instance.kernel(self.db).name(self.db)
    }

    /// Returns the file of the kernel.
    pub fn kernel_file(&self) -> SourceFile {
        self.instance.kernel(self.db).file(self.db)
    }

    /// Returns the database of the sources.
    pub fn db(&self) -> &'r Database {
        self.db
    }

    /// Returns the fault that ends the record, if there is one.
    pub fn fault(&self) -> &[Diagnostic] {
        &self.found
    }

    /// Returns the reason for the moment at which the stepper began, unless it is a fault or the first operation.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Reports whether the moment is the one before the fault.
    pub fn is_at_fault(&self) -> bool {
        self.playback.outcome().is_some() && self.playback.step() == self.playback.length()
    }

    /// Returns the number of steps before this moment, and of all steps.
    pub fn progress(&self) -> [u64; 2] {
        [self.playback.step(), self.playback.length()]
    }

    /// Returns the time that recording took, and the bytes that the record takes, about.
    pub fn cost(&self) -> (Duration, usize) {
        (self.took, self.playback.held_bytes())
    }

    /// Returns the indices of the blocks that run together.
    pub fn blocks(&self) -> Vec<[u32; 3]> {
        self.prepared.blocks()
    }

    /// Returns the number of blocks along each axis.
    pub fn grid(&self) -> [u64; 3] {
        self.prepared.grid_shape()
    }

    /// Returns the agents of all blocks that run together.
    pub fn agents(&self) -> Vec<AgentState> {
        self.playback.agents()
    }

    /// Returns the agent in focus.
    pub fn focus(&self) -> AgentState {
        let state = self.playback.state(self.focus).or_else(|| self.playback.state(self.playback.running()));
        state.unwrap_or_else(|| unreachable!("an agent runs"))
    }

    /// Returns the thread in focus, a number in its block.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Focuses on an agent, and on its first thread unless it has the thread in focus.
    pub fn set_focus(&mut self, id: AgentId) {
        self.focus = id;
        if let Some(agent) = self.playback.state(id)
            && !(agent.threads[0]..agent.threads[1]).contains(&self.thread)
        {
            self.thread = agent.threads[0];
        }
    }

    /// Focuses on a thread of the block in focus, and on an agent that it belongs to. Returns false if the block has no such thread.
    pub fn set_thread(&mut self, thread: u32) -> bool {
        let Some(agent) = self.agent_of(thread) else { return false };
        (self.focus, self.thread) = (agent, thread);
        true
    }

    /// Returns the agent that a thread of the block in focus belongs to: the running one if it has the thread, otherwise one that has
    /// not ended, of a role rather than that of the block.
    fn agent_of(&self, thread: u32) -> Option<AgentId> {
        let (rank, running) = (self.focus.rank, self.playback.running());
        let agents = self.playback.agents().into_iter().filter(|agent| agent.id.rank == rank);
        let has = |agent: &AgentState| agent.threads[0] <= thread && thread < agent.threads[1];
        let best =
            agents.filter(has).max_by_key(|agent| (agent.id == running, !agent.ended, agent.id.number));
        best.map(|agent| agent.id)
    }

    /// Focuses on the agent that the thread in focus belongs to at this moment. Roles begin and end between moments.
    fn focus_on_thread(&mut self) {
        if let Some(agent) = self.agent_of(self.thread) {
            self.focus = agent;
        }
    }

    /// Returns the place of the operation that an agent executes or executes next.
    pub fn spot_of(&self, agent: &AgentState) -> Option<&StepSpot> {
        self.spots.get(agent.site? as usize)?.as_ref()
    }

    /// Returns the place of the operation of the agent in focus.
    pub fn spot(&self) -> Option<&StepSpot> {
        self.spot_of(&self.focus())
    }

    /// Returns the place of the operation of an access.
    pub fn spot_at(&self, site: u32) -> Option<&StepSpot> {
        self.spots.get(site as usize)?.as_ref()
    }

    /// Goes to the next or the previous moment at which the thread in focus begins an operation that is wanted, as part of whichever
    /// agent. Returns false at an end of the record, and stops there.
    fn seek_operation(&mut self, forward: bool, wanted: &dyn Fn(&StepSpot) -> bool) -> bool {
        let (rank, thread, start) = (self.focus.rank, self.thread, self.focus());
        let spots = &self.spots;
        let mut stops = |playback: &Playback<'r>| {
            let running = playback.running();
            let state =
                playback.state(running).filter(|state| state.begins_operation && running.rank == rank);
            let Some(state) = state else { return false };
            let has_thread = (state.threads[0]..state.threads[1]).contains(&thread);
            let is_same = start.begins_operation && (state.id, state.begun) == (start.id, start.begun);
            let spot = state.site.and_then(|site| spots[site as usize].as_ref());
            has_thread && !is_same && spot.is_some_and(wanted)
        };
        let stopped = match forward {
            true => self.playback.forward(&mut stops),
            false => self.playback.backward(&mut stops),
        };
        if !stopped && forward {
            self.to_end()
        } else {
            self.focus_on_thread()
        }
        stopped
    }

    /// Goes to the next or the previous operation of the thread in focus whose number or text is wanted: `#4`, or a part of its
    /// text. Returns false at an end of the record.
    pub fn step_to(&mut self, forward: bool, wanted: &str) -> bool {
        let number = wanted.strip_prefix('#').and_then(|number| number.parse::<u32>().ok());
        let fits = |spot: &StepSpot| match number {
            Some(number) => spot.op == Some(number),
            None => spot.title.contains(wanted),
        };
        self.seek_operation(forward, &fits)
    }

    /// Goes to the next or the previous operation of the thread in focus. Returns false at an end of the record.
    pub fn step_operation(&mut self, forward: bool) -> bool {
        self.seek_operation(forward, &|_| true)
    }

    /// Goes to the next or the previous operation of the thread in focus on another line, over calls. Returns false at an end
    /// of the record.
    pub fn step_line(&mut self, forward: bool) -> bool {
        let Some(here) = self.spot().cloned() else { return self.step_operation(forward) };
        let depth = here.frames.len();
        let line = |spot: &StepSpot| {
            spot.frames.iter().rev().take(depth).map(|f| (f.file, f.line)).collect::<Vec<_>>()
        };
        let now = line(&here);
        self.seek_operation(forward, &|spot| line(spot) != now)
    }

    /// Goes to the next or the previous operation of the thread in focus outside of the innermost call. Returns false at an end
    /// of the record.
    pub fn step_out(&mut self, forward: bool) -> bool {
        let depth = self.spot().map_or(1, |spot| spot.frames.len());
        self.seek_operation(forward, &|spot| spot.frames.len() < depth)
    }

    /// Goes to the next or the previous moment at which an agent begins an operation on one of these lines, and focuses on that agent.
    /// Returns false at an end of the record.
    pub fn run_to(&mut self, forward: bool, lines: &BTreeSet<(SourceFile, u32)>) -> bool {
        let wanted: Vec<bool> = self
            .spots
            .iter()
            .map(|spot| {
                let frames = spot.iter().flat_map(|spot| &spot.frames);
                frames.into_iter().any(|frame| lines.contains(&(frame.file, frame.line)))
            })
            .collect();
        let mut stops = |playback: &Playback<'r>| {
            let state = playback.state(playback.running()).filter(|state| state.begins_operation);
            state.and_then(|state| state.site).is_some_and(|site| wanted[site as usize])
        };
        let stopped = match forward {
            true => self.playback.forward(&mut stops),
            false => self.playback.backward(&mut stops),
        };
        match (stopped, forward) {
            (true, _) => self.set_focus(self.playback.running()),
            (false, true) => self.to_end(),
            (false, false) => self.focus_on_thread(),
        }
        stopped
    }

    /// Returns the lines that have operations, each with its file.
    pub fn lines(&self) -> BTreeSet<(SourceFile, u32)> {
        let frames = self.spots.iter().flatten().flat_map(|spot| &spot.frames);
        frames.map(|frame| (frame.file, frame.line)).collect()
    }

    /// Goes to the moment after `step` steps.
    pub fn seek(&mut self, step: u64) {
        self.playback.seek(step);
        self.focus_on_thread();
    }

    /// Goes to the moment before the next or the previous wanted access to a place, and focuses on its agent and thread.
    /// Returns the access; `None` if there is none.
    pub fn find(
        &mut self,
        place: &Place,
        forward: bool,
        wanted: &dyn Fn(&MemoryAccess) -> bool,
    ) -> Option<MemoryAccess> {
        let (rank, thread) = (self.focus.rank, place.thread);
        let of_thread = |access: &MemoryAccess| {
            thread.is_none_or(|thread| access.threads[0] <= thread && thread < access.threads[1])
        };
        let place = (place.memory, place.range.clone());
        let found = self
            .playback
            .find_access(self.focus.rank, place, forward, &|access| of_thread(access) && wanted(access))?;
        // A block of the cluster may access the memory of another. The arrival of a copy is the step of no thread.
        if found.kind != hx_sim::AccessKind::Arrive {
            self.focus = self.playback.running();
            self.thread = thread.filter(|_| self.focus.rank == rank).unwrap_or(found.threads[0]);
        }
        self.focus_on_thread();
        Some(found)
    }

    /// Describes the barriers of the block in focus. A barrier in memory has its name, the pipeline with the stage and the kind of
    /// barrier, and its state: phases, arrivals and missing bytes. A barrier of several roles tells how many threads have come.
    pub fn barriers(&self) -> Vec<(String, String)> {
        let stage = |stage: hx_sim::Stage| {
            let barrier = &self.program.barriers[stage.barrier];
            let name = format!("{}[{}].{}", barrier.pipe, stage.stage, barrier.kind.word());
            let [pending, count] = stage.pending;
            let mut text =
                format!("{} phases complete, {} of {count} arrivals", stage.complete, count - pending);
            if stage.bytes != 0 {
                text += &format!(", {} bytes missing", stage.bytes);
            }
            (name, text)
        };
        let named = |(name, [come, wanted]): (String, [usize; 2])| match wanted {
            0 => (name, "no thread has come".to_owned()),
            _ => (name, format!("{come} of {wanted} threads have come")),
        };
        let stages = self.playback.stages(self.focus.rank).into_iter().map(stage);
        stages.chain(self.playback.named(self.focus.rank).into_iter().map(named)).collect()
    }
}

/// Returns the place of an operation.
fn spot(
    db: &Database,
    lowered: &Lowered,
    origin: Origin,
    (op, title): (Option<u32>, String),
) -> Option<StepSpot> {
    let (mut frames, mut next) = (Vec::new(), Some(origin));
    while let Some(origin) = next.and_then(|origin| lowered.sources.origins.get(origin.0 as usize)) {
        if let Some((file, range)) = origin.place.range(db) {
            let line = line_index(db, file).line_col(range.start()).line;
            frames.push(StepFrame { item: origin.place.item.clone(), file, range, line });
        }
        next = origin.call;
    }
    (!frames.is_empty()).then_some(StepSpot { op, title, frames })
}
