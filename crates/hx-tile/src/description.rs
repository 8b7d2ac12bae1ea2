//! The description of each operation, which answers what more than one stage asks: its name, its memory accesses, the order that it
//! imposes, its instruction's form, and the tensors that threads hold across it. Placement, liveness, synchronization, cost and hovers
//! ask the description and have no list of operations of their own, so that a new operation is described once.
//! Accesses of asynchronous operations come from the table of asynchronous instructions. The verifier has an account of
//! its own, so that it does not repeat a mistake made here.

use std::collections::BTreeSet;

use hx_target::{Asynchronous, AsynchronousAccess, Form, Space};

use crate::{Base, Completion, Mode, OpKind, Order, Picked, Proxy, Rows, SyncOp, TensorId, View};

#[cfg(test)]
mod tests;

/// What stages ask of an operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Description<'a> {
    /// The word of the language for it.
    pub name: &'static str,
    /// Accesses to registers come first, in the order of the operands, results before sources; then views and tables of
    /// memory.
    pub accesses: Vec<Access<'a>>,
    pub order: Order,
    /// The form of its instruction, if the instruction is not complete when it is issued.
    pub form: Option<Form>,
    pub holds: Holds,
    /// True if each thread needs the same elements of all its register tensors.
    pub is_alike: bool,
    /// The position, in [`OpKind::registers`], of the first tensor that it computes from. `None` if it moves or reports values as
    /// they are.
    pub inputs: Option<usize>,
    /// The register tensors that have the distribution of the one that it moves between registers and memory: indices, values to
    /// compare with, and the elements as they were before.
    pub companions: Vec<TensorId>,
}

/// The register tensors that threads hold as a whole at an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// None: it is computed value by value.
    Nothing,
    /// Those that are live before and after it: it reduces or waits.
    Live,
    /// The same and this accumulator: it multiplies.
    LiveAnd(TensorId),
}

/// An access of an operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Access<'a> {
    pub region: Region<'a>,
    pub mode: Mode,
    pub proxy: Proxy,
    pub completion: Completion,
}

/// The elements that an access covers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Region<'a> {
    /// All elements of a tensor.
    Whole(Base),
    /// The elements that a view shows of its base.
    View(&'a View),
    /// The elements of a table that selects the rows of a view.
    Table(&'a Rows),
}

impl<'a> Access<'a> {
    /// Returns an access by the threads themselves, complete at the end of the operation.
    fn at_once(region: Region<'a>, mode: Mode) -> Access<'a> {
        Access { region, mode, proxy: Proxy::Generic, completion: Completion::AtOnce }
    }

    fn of(region: Region<'a>, access: AsynchronousAccess) -> Access<'a> {
        Access { region, mode: access.mode, proxy: access.proxy, completion: access.until }
    }

    /// Returns the tensor that is accessed.
    pub fn base(&self) -> Base {
        match self.region {
            Region::Whole(base) => base,
            Region::View(view) => view.base,
            Region::Table(rows) => rows.base,
        }
    }

    /// Returns the register tensor; `None` for an access to other memory.
    pub fn register(&self) -> Option<TensorId> {
        self.base().register()
    }
}

impl<'a> Description<'a> {
    /// Describes an operation that accesses nothing.
    pub(crate) fn of(name: &'static str) -> Description<'a> {
        Description {
            name,
            accesses: Vec::new(),
            order: Order::Nothing,
            form: None,
            holds: Holds::Nothing,
            is_alike: false,
            inputs: None,
            companions: Vec::new(),
        }
    }

    /// Returns the accesses to a shared tensor.
    pub fn shared(&self, tensor: TensorId) -> impl Iterator<Item = &Access<'_>> {
        self.accesses.iter().filter(move |access| access.base() == Base::Shared(tensor))
    }

    fn registers(mut self, mode: Mode, tensors: impl IntoIterator<Item = TensorId>) -> Description<'a> {
        let whole = |tensor| Access::at_once(Region::Whole(Base::Register(tensor)), mode);
        self.accesses.extend(tensors.into_iter().map(whole));
        self
    }

    /// Adds a result, and the tensors that it is computed from.
    fn computed(self, dst: TensorId, from: impl IntoIterator<Item = TensorId>) -> Description<'a> {
        self.registers(Mode::Write, [dst]).registers(Mode::Read, from)
    }

    fn memory(mut self, mode: Mode, tensor: TensorId) -> Description<'a> {
        self.accesses.push(Access::at_once(Region::Whole(Base::Shared(tensor)), mode));
        self
    }

    /// Adds a view, and the table that picks its rows. Registers that pick elements are operands.
    fn view(self, mode: Mode, view: &'a View) -> Description<'a> {
        self.viewed(view, Access::at_once(Region::View(view), mode))
    }

    fn viewed(mut self, view: &'a View, access: Access<'a>) -> Description<'a> {
        self.accesses.push(access);
        let table = view.rows().map(Region::Table);
        self.accesses.extend(table.map(|table| Access::at_once(table, Mode::Read)));
        self
    }

    /// Adds the accesses of a copy between a view of global memory and one of shared memory.
    fn copied(self, form: Form, [global, shared]: [&'a View; 2]) -> Description<'a> {
        let asynchronous: &Asynchronous = form.asynchronous();
        asynchronous.accesses.iter().fold(self.form(form), |all, access| {
            let view = if access.space == Space::Global { global } else { shared };
            all.viewed(view, Access::of(Region::View(view), *access))
        })
    }

    /// Adds the accesses of a product: to its accumulator, to operands in registers, and to those that it reads from shared memory
    /// by descriptor. A product that is not asynchronous waits for itself.
    fn multiplied(mut self, c: TensorId, operands: [&'a View; 2], is_asynchronous: bool) -> Description<'a> {
        self.form = is_asynchronous.then_some(Form::Product);
        for access in &Form::Product.asynchronous().accesses {
            let until = if is_asynchronous { access.until } else { Completion::AtOnce };
            let access = AsynchronousAccess { until, ..*access };
            let is_register = access.space == Space::Register;
            if is_register && access.mode.writes() {
                self.accesses.push(Access::of(Region::Whole(Base::Register(c)), access));
                continue;
            }
            for view in operands.into_iter().filter(|view| view.register().is_some() == is_register) {
                let region = view.register().map_or(Region::View(view), |t| Region::Whole(Base::Register(t)));
                self.accesses.push(Access::of(region, access));
            }
        }
        self
    }

    /// Sets the form of its instruction.
    fn form(self, form: Form) -> Description<'a> {
        Description { form: Some(form), ..self }
    }

    fn holds(self, holds: Holds) -> Description<'a> {
        Description { holds, ..self }
    }

    /// States that each thread needs the same elements of all register tensors.
    fn alike(self) -> Description<'a> {
        Description { is_alike: true, ..self }
    }

    fn inputs(self, first: usize) -> Description<'a> {
        Description { inputs: Some(first), ..self }
    }

    fn companions(self, companions: impl Iterator<Item = TensorId>) -> Description<'a> {
        Description { companions: companions.collect(), ..self }
    }
}

impl OpKind {
    /// Returns the description of the operation.
    pub fn description(&self) -> Description<'_> {
        match self {
            OpKind::Sync(op) => op.description(),
            OpKind::Fill { dst, .. } => Description::of("fill").registers(Mode::Write, [*dst]),
            OpKind::Copy { src, dst } => {
                // The register that it moves stays as it is; indices follow it.
                let picks = || dst.picks().iter().chain(src.picks()).map(|pick| pick.index);
                let moved = Description::of("copy").view(Mode::Write, dst).view(Mode::Read, src);
                moved.registers(Mode::Read, picks()).inputs(1).companions(picks())
            }
            // An operand that the solution loads is a register tensor here. An operand that stays in shared memory is read by descriptor.
            OpKind::Gemm { c, a, b, asynchronous, .. } => {
                let name = if *asynchronous { "gemm_async" } else { "gemm" };
                let product = Description::of(name).multiplied(*c, [&a.view, &b.view], *asynchronous);
                product.holds(Holds::LiveAnd(*c)).inputs(1)
            }
            OpKind::Cast { dst, src } => Description::of("cast").computed(*dst, [*src]).alike().inputs(1),
            OpKind::Reduce { dst, src, .. } => {
                Description::of("reduce").computed(*dst, [*src]).holds(Holds::Live).inputs(1)
            }
            OpKind::CopyAsync { src, dst, signal, .. } => {
                let form = if signal.is_some() { Form::BulkLoad } else { Form::CopyInGroup };
                Description::of("copy_async").copied(form, [src, dst])
            }
            OpKind::Store { src, dst, adds } => {
                let form = if *adds { Form::BulkAdd } else { Form::BulkStore };
                Description::of("copy_async").copied(form, [dst, src])
            }
            // A fetch is no access: whatever writes the tile before or after it, loads find what is written.
            OpKind::Prefetch { .. } => Description::of("prefetch"),
            OpKind::Map(map) => {
                Description::of("elementwise").computed(map.dst, map.inputs.iter().copied()).inputs(1)
            }
            OpKind::Rearrange { dst, src, through } => {
                let moved = Description::of("rearrange").computed(*dst, [*src]);
                through.iter().fold(moved, |moved, shared| {
                    moved.memory(Mode::Write, *shared).memory(Mode::Read, *shared)
                })
            }
            OpKind::Slice { dst, src } => {
                Description::of("slice").registers(Mode::Write, [*dst]).view(Mode::Read, src)
            }
            OpKind::Insert { dst, src } => {
                Description::of("insert").view(Mode::Update, dst).registers(Mode::Read, [*src])
            }
            OpKind::ReadNumber { src, .. } => Description::of("scalar").registers(Mode::Read, [*src]),
            OpKind::Scan { dst, src, .. } => {
                let [dst, src] = [dst, src].map(|tensors| tensors.iter().copied());
                Description::of("scan").registers(Mode::Write, dst).registers(Mode::Read, src)
            }
            OpKind::Atomic(atomic) => {
                let registers = Description::of(atomic.op.name())
                    .registers(Mode::Write, atomic.results())
                    .registers(Mode::Read, atomic.operands());
                // The value that it moves stays as it is; indices and values to compare with follow it.
                let moved = usize::from(!atomic.is_load()) + atomic.results().count();
                registers.view(Mode::Add, &atomic.memory).inputs(moved).companions(atomic.companions())
            }
            // The memory through which blocks exchange values is no tensor: only these operations access it. The threads with the
            // same number hold the same elements in all blocks, whatever the layout of a whole tensor.
            OpKind::ClusterSum { x, parts, .. } => {
                let mode = if parts.is_empty() { Mode::Update } else { Mode::Write };
                let sum = Description::of("sum").registers(mode, [*x]);
                sum.registers(Mode::Read, parts.iter().copied()).form(Form::Send).holds(Holds::Live).alike()
            }
            OpKind::Print { src, .. } => Description::of("print").registers(Mode::Read, *src),
            OpKind::Assert { cond, sides, .. } => Description::of("assert")
                .registers(Mode::Read, [*cond])
                .registers(Mode::Read, sides.iter().copied()),
        }
    }

    /// Returns how many of [`OpKind::registers`] the operation writes. These come first.
    pub fn results(&self) -> usize {
        self.of_registers().take_while(|(_, mode)| mode.writes()).count()
    }

    /// Reports whether the operation also reads the tensor that it writes at this position of [`OpKind::registers`].
    pub fn updates(&self, operand: usize) -> bool {
        self.of_registers().nth(operand).is_some_and(|(_, mode)| mode == Mode::Update)
    }

    /// Reports whether the operation writes a register tensor.
    pub fn writes(&self, tensor: TensorId) -> bool {
        self.of_registers().any(|(written, mode)| written == tensor && mode.writes())
    }

    /// Returns the register tensors that the operation computes from and does not write, with their positions in
    /// [`OpKind::registers`].
    pub fn inputs(&self) -> Vec<(usize, TensorId)> {
        let first = self.description().inputs.unwrap_or(usize::MAX);
        let reads = self.registers().into_iter().enumerate().skip(first);
        reads.filter(|(_, tensor)| !self.writes(*tensor)).collect()
    }

    /// Returns the register tensors that the operation reads, also those that it writes as well.
    pub fn read_registers(&self) -> impl Iterator<Item = TensorId> {
        self.of_registers().filter(|(_, mode)| mode.reads()).map(|(tensor, _)| tensor)
    }

    /// Returns the register tensors of the operation, in the order of the operands.
    pub fn registers(&self) -> Vec<TensorId> {
        self.of_registers().map(|(tensor, _)| tensor).collect()
    }

    fn of_registers(&self) -> impl Iterator<Item = (TensorId, Mode)> {
        let accesses = self.description().accesses.into_iter();
        accesses.filter_map(|access| Some((access.register()?, access.mode))).collect::<Vec<_>>().into_iter()
    }

    /// Returns the register and shared tensors that the operation reads or writes, including tables that select rows.
    pub fn tensors(&self) -> BTreeSet<TensorId> {
        self.description().accesses.iter().filter_map(|access| access.base().tensor()).collect()
    }
}

impl SyncOp {
    /// Returns the word of the language for the operation.
    pub fn name(&self) -> &'static str {
        self.description().name
    }

    /// Returns the description of the operation.
    fn description(&self) -> Description<'static> {
        let orders = |name, order| Description { order, ..Description::of(name) };
        let waits = |name, order| Description { holds: Holds::Live, ..orders(name, order) };
        match self {
            SyncOp::Scope => waits("sync", Order::Scope),
            SyncOp::Warp => waits("sync_warp", Order::Warp),
            // A turn orders groups, and no other access of the program relies on that order.
            SyncOp::Take { .. } => orders("take", Order::Nothing),
            SyncOp::Pass { .. } => orders("pass", Order::Nothing),
            // It orders its own scope as `sync` does, and the other scopes that come to the barrier.
            SyncOp::SyncAt { .. } => waits("sync", Order::Scope),
            SyncOp::ArriveAt { .. } => orders("arrive", Order::Arrive),
            SyncOp::Commit => orders("commit", Order::Close),
            SyncOp::Wait { groups } => waits("wait", Order::Wait(*groups)),
            SyncOp::GemmWait { leave } => waits("gemm_wait", Order::WaitProducts(*leave)),
            SyncOp::Acquire { .. } => waits("acquire", Order::Await),
            SyncOp::Publish { .. } => orders("publish", Order::Arrive),
            SyncOp::WaitStage { .. } => waits("wait", Order::Await),
            SyncOp::Release { keep: 0, .. } => orders("release", Order::Arrive),
            SyncOp::Release { .. } => orders("release_previous", Order::Arrive),
            // After a skip, the scopes that use the skipped stages order their own accesses.
            SyncOp::Skip { .. } => orders("skip", Order::Nothing),
            SyncOp::WaitStores { leave, read } => {
                waits("wait_stores", Order::WaitStores { leave: *leave, read: *read })
            }
            // They order launches, and no accesses of one launch.
            SyncOp::WaitPrevious => waits("wait_for_previous", Order::Nothing),
            SyncOp::AllowNext => orders("allow_next", Order::Nothing),
        }
    }
}

/// A part of an operation that names tensors, to change them.
enum Slot<'a> {
    /// A register tensor.
    Register(&'a mut TensorId),
    /// A register tensor as a whole, or a part of a tensor or of a memory.
    View(&'a mut View),
    /// A tensor that no operand names: shared memory of the operation, or registers that are reserved for a load.
    Reserved(&'a mut TensorId),
}

impl OpKind {
    /// Returns the parts of the operation that name tensors. The register tensors among them have the order of
    /// [`OpKind::registers`]; the indices of views follow them.
    fn slots(&mut self) -> Vec<Slot<'_>> {
        match self {
            OpKind::Sync(_) => Vec::new(),
            OpKind::Fill { dst, .. } => vec![Slot::Register(dst)],
            OpKind::Copy { src, dst }
            | OpKind::CopyAsync { src, dst, .. }
            | OpKind::Store { src, dst, .. } => vec![Slot::View(dst), Slot::View(src)],
            OpKind::Gemm { c, a, b, .. } => {
                let mut slots = vec![Slot::Register(c)];
                for operand in [a, b] {
                    slots.push(Slot::View(&mut operand.view));
                    slots.extend(operand.load.iter_mut().map(|load| Slot::Reserved(&mut load.tensor)));
                }
                slots
            }
            OpKind::Cast { dst, src } | OpKind::Reduce { dst, src, .. } => {
                vec![Slot::Register(dst), Slot::Register(src)]
            }
            OpKind::Map(map) => {
                std::iter::once(&mut map.dst).chain(&mut map.inputs).map(Slot::Register).collect()
            }
            OpKind::Rearrange { dst, src, through } => {
                let registers = [dst, src].into_iter().map(Slot::Register);
                registers.chain(through.iter_mut().map(Slot::Reserved)).collect()
            }
            OpKind::Prefetch { view } => vec![Slot::View(view)],
            OpKind::Slice { dst, src } => vec![Slot::Register(dst), Slot::View(src)],
            OpKind::Insert { dst, src } => vec![Slot::View(dst), Slot::Register(src)],
            OpKind::ReadNumber { src, .. } => vec![Slot::Register(src)],
            OpKind::Scan { dst, src, .. } => dst.iter_mut().chain(src).map(Slot::Register).collect(),
            OpKind::Atomic(atomic) => {
                let is_load = atomic.is_load();
                let (value, old) = (&mut atomic.value, &mut atomic.old);
                let (first, last) = if is_load { (Some(value), None) } else { (None, Some(value)) };
                let registers = first.into_iter().chain(old).chain(last).chain(&mut atomic.compare);
                registers.map(Slot::Register).chain([Slot::View(&mut atomic.memory)]).collect()
            }
            OpKind::ClusterSum { x, parts, .. } => {
                std::iter::once(x).chain(parts).map(Slot::Register).collect()
            }
            OpKind::Print { src, .. } => src.iter_mut().map(Slot::Register).collect(),
            OpKind::Assert { cond, sides, .. } => {
                std::iter::once(cond).chain(sides).map(Slot::Register).collect()
            }
        }
    }

    /// Replaces the operand at this position of [`OpKind::registers`] by another register tensor.
    pub fn replace(&mut self, operand: usize, with: TensorId) {
        let (mut registers, mut picks) = (Vec::new(), Vec::new());
        for slot in self.slots() {
            match slot {
                Slot::Register(tensor) => registers.push(tensor),
                Slot::View(view) => {
                    if let Base::Register(tensor) = &mut view.base {
                        registers.push(tensor);
                    }
                    if let Some(Picked::Elements(picked)) = &mut view.picked {
                        picks.extend(picked.iter_mut().map(|pick| &mut pick.index));
                    }
                }
                Slot::Reserved(_) => {}
            }
        }
        registers.into_iter().chain(picks).skip(operand).take(1).for_each(|tensor| *tensor = with);
    }

    /// Calls `see` with every tensor that the operation names, to change it: [`OpKind::tensors`], and those that are reserved for
    /// loads.
    pub fn each_tensor(&mut self, see: &mut dyn FnMut(&mut TensorId)) {
        for slot in self.slots() {
            match slot {
                Slot::Register(tensor) | Slot::Reserved(tensor) => see(tensor),
                Slot::View(view) => {
                    let table = match &mut view.picked {
                        Some(Picked::Rows(rows)) => Some(&mut rows.base),
                        Some(Picked::Elements(picks)) => {
                            picks.iter_mut().for_each(|pick| see(&mut pick.index));
                            None
                        }
                        None => None,
                    };
                    let bases = std::iter::once(&mut view.base).chain(table);
                    bases.filter_map(Base::tensor_mut).for_each(&mut *see);
                }
            }
        }
    }
}
