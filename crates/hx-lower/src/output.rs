//! The parts of the program that lowering has made so far, and the names and numbers that it has given out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hx_hir::Name;
use hx_index::Symbol;
use hx_tile::{
    Counter, CounterId, InstructionPin, NamedBarrier, NamedBarrierId, OpId, Origin, Param, ParamId, Pipe,
    PipeId, Requirement, ScopeId, Stmt, Tensor, TensorId, TileProgram, Turns, TurnsId,
};

use crate::finish::finish;

/// The parameters, tensors and statements made so far.
#[derive(Default)]
pub(crate) struct Output {
    params: Vec<Param>,
    tensors: Vec<Tensor>,
    /// See [`TileProgram::passing`].
    passing: BTreeSet<TensorId>,
    pipes: Vec<Pipe>,
    turns: Vec<Turns>,
    named_barriers: Vec<NamedBarrier>,
    counters: Vec<Counter>,
    /// See [`TileProgram::pins`].
    pins: BTreeMap<OpId, InstructionPin>,
    /// The requirements on a launch that follow from the text.
    requires: Vec<Requirement>,
    /// True once an expression has named the number of multiprocessors.
    multiprocessors: bool,
    /// The statements outside of all blocks below.
    body: Vec<Stmt>,
    /// The open nested blocks, innermost last.
    blocks: Vec<Vec<Stmt>>,
    /// The tensor names in use. For each requested name, the first numeric suffix that may be free.
    names: HashMap<String, u32>,
    next_op: u32,
    next_var: u32,
}

impl Output {
    /// Adds a statement to the innermost open block.
    pub(crate) fn push(&mut self, stmt: Stmt) {
        self.blocks.last_mut().unwrap_or(&mut self.body).push(stmt);
    }

    /// Returns the statements of the innermost open block.
    pub(crate) fn statements(&self) -> &[Stmt] {
        self.blocks.last().unwrap_or(&self.body)
    }

    /// Opens a block that begins with these statements.
    pub(crate) fn open(&mut self, stmts: Vec<Stmt>) {
        self.blocks.push(stmts);
    }

    /// Closes the innermost open block and returns its statements.
    pub(crate) fn close(&mut self) -> Vec<Stmt> {
        self.blocks.pop().unwrap_or_default()
    }

    /// Reports whether no tensor and no statement was made.
    pub(crate) fn is_empty(&self) -> bool {
        self.tensors.is_empty() && self.body.is_empty() && self.blocks.iter().all(Vec::is_empty)
    }

    /// Returns the number of the next operation.
    pub(crate) fn next_op(&mut self) -> OpId {
        self.next_op += 1;
        OpId(self.next_op - 1)
    }

    /// Says which instructions an operation must use.
    pub(crate) fn pin(&mut self, op: OpId, pin: InstructionPin) {
        self.pins.insert(op, pin);
    }

    /// Reports whether the source names the instruction of an operation.
    pub(crate) fn is_pinned(&self, op: OpId) -> bool {
        self.pins.contains_key(&op)
    }

    /// Makes a symbol for a counter or local integer, distinct from all others.
    pub(crate) fn new_var(&mut self, name: Name) -> Symbol {
        self.next_var += 1;
        Symbol::Var(name, self.next_var - 1)
    }

    /// Returns the number that the next symbol of [`Output::new_var`] gets. Those made before it have smaller ones.
    pub(crate) fn numbers_made(&self) -> u32 {
        self.next_var
    }

    /// Returns a name that no tensor and no parameter has.
    pub(crate) fn unique_name(&mut self, hint: &str) -> String {
        let mut name = hint.to_owned();
        let mut n = self.names.get(hint).copied().unwrap_or(0).max(1);
        while self.names.contains_key(&name) || self.params.iter().any(|p| param_name(p) == name) {
            name = format!("{hint}_{n}");
            n += 1;
        }
        self.names.insert(hint.to_owned(), n);
        self.names.entry(name.clone()).or_insert(1);
        name
    }

    /// Returns the parameter of this number; `None` before it is bound.
    pub(crate) fn param(&self, id: ParamId) -> Option<&Param> {
        self.params.get(id.0 as usize)
    }

    /// Adds a parameter after those of the header before it.
    pub(crate) fn add_param(&mut self, param: Param) {
        self.params.push(param);
    }

    /// Returns the number that the next parameter gets.
    pub(crate) fn next_param(&self) -> ParamId {
        ParamId(self.params.len() as u32)
    }

    /// Returns the tensor of this number.
    ///
    /// # Panics
    /// If [`Output::add_tensor`] has not returned it.
    pub(crate) fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.0 as usize]
    }

    /// Returns the number that the next tensor gets.
    pub(crate) fn next_tensor(&self) -> TensorId {
        TensorId(self.tensors.len() as u32)
    }

    /// Adds a tensor, which gets the number of [`Output::next_tensor`].
    pub(crate) fn add_tensor(&mut self, tensor: Tensor) {
        self.tensors.push(tensor);
    }

    /// Sets the pattern of the source that names a tensor.
    pub(crate) fn set_binder(&mut self, id: TensorId, binder: Origin) {
        self.tensors[id.0 as usize].binder = Some(binder);
    }

    /// Records that a register tensor holds the tile of a copy between two memories.
    pub(crate) fn pass(&mut self, tile: TensorId) {
        self.passing.insert(tile);
    }

    /// Adds a tensor and returns its number.
    pub(crate) fn push_tensor(&mut self, tensor: Tensor) -> TensorId {
        let id = self.next_tensor();
        self.add_tensor(tensor);
        id
    }

    /// Reports whether a register tensor holds the tile of a copy between two memories.
    pub(crate) fn is_passing(&self, tile: TensorId) -> bool {
        self.passing.contains(&tile)
    }

    /// Takes the statements outside of all blocks, to change them.
    pub(crate) fn take_body(&mut self) -> Vec<Stmt> {
        std::mem::take(&mut self.body)
    }

    /// Gives back the statements of [`Output::take_body`].
    pub(crate) fn set_body(&mut self, body: Vec<Stmt>) {
        self.body = body;
    }

    /// Returns the pipeline of this number.
    pub(crate) fn pipe(&self, id: PipeId) -> &Pipe {
        &self.pipes[id.0 as usize]
    }

    /// Adds a pipeline and returns its number.
    pub(crate) fn add_pipe(&mut self, pipe: Pipe) -> PipeId {
        self.pipes.push(pipe);
        PipeId(self.pipes.len() as u32 - 1)
    }

    /// Returns all turns.
    pub(crate) fn turns(&self) -> &[Turns] {
        &self.turns
    }

    /// Adds turns and returns their number.
    pub(crate) fn add_turns(&mut self, turns: Turns) -> TurnsId {
        self.turns.push(turns);
        TurnsId(self.turns.len() as u32 - 1)
    }

    /// Sets the scope whose groups take turns.
    pub(crate) fn give_turns(&mut self, id: TurnsId, scope: ScopeId) {
        self.turns[id.0 as usize].scope = scope;
    }

    /// Adds a barrier of several roles and returns its number.
    pub(crate) fn add_barrier(&mut self, barrier: NamedBarrier) -> NamedBarrierId {
        self.named_barriers.push(barrier);
        NamedBarrierId(self.named_barriers.len() as u32 - 1)
    }

    /// Adds a counter and returns its number.
    pub(crate) fn add_counter(&mut self, counter: Counter) -> CounterId {
        self.counters.push(counter);
        CounterId(self.counters.len() as u32 - 1)
    }

    /// Adds a requirement on a launch.
    pub(crate) fn require(&mut self, requirement: Requirement) {
        self.requires.push(requirement);
    }

    /// Takes the requirements that were added since the last call.
    pub(crate) fn take_requirements(&mut self) -> Vec<Requirement> {
        std::mem::take(&mut self.requires)
    }

    /// Records that the program reads the number of multiprocessors.
    pub(crate) fn read_multiprocessors(&mut self) {
        self.multiprocessors = true;
    }

    /// Moves the parts into a program that has everything else, and its own requirements.
    pub(crate) fn finish(self, program: TileProgram) -> TileProgram {
        let mut body = self.body;
        let (tensors, passing, pins) = finish(self.tensors, self.passing, &self.pins, &mut body);
        let mut requires = program.requires;
        requires.extend(self.requires);
        TileProgram {
            params: self.params,
            tensors,
            passing,
            pipes: self.pipes,
            turns: self.turns,
            named_barriers: self.named_barriers,
            counters: self.counters,
            pins,
            requires,
            multiprocessors: self.multiprocessors,
            body,
            ..program
        }
    }
}

/// Returns the name of a parameter.
pub(crate) fn param_name(param: &Param) -> &str {
    match param {
        Param::Tensor(t) => &t.name,
        Param::Int { name, .. } | Param::Float { name, .. } => name,
    }
}
