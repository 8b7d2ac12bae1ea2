//! The memory accesses of each operation and the order it imposes. Placement, liveness, synchronization and hovers ask this
//! module. Accesses of asynchronous operations come from the table of asynchronous instructions. The verifier has an account of
//! its own, so that it does not repeat a mistake made here.

use hx_target::{Asynchronous, AsynchronousAccess, Form, Space};

use crate::{Base, Completion, Mode, OpKind, Order, Proxy, Rows, TensorId, View};

/// Everything that an operation does to memory and to the order of accesses.
#[derive(Clone, PartialEq, Debug)]
pub struct Effects<'a> {
    /// Accesses to registers come first, in the order of the operands, results before sources; then views and tables of
    /// memory.
    pub accesses: Vec<Access<'a>>,
    pub order: Order,
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
        match self.base() {
            Base::Register(tensor) => Some(tensor),
            Base::Global(_) | Base::Shared(_) => None,
        }
    }
}

impl Effects<'_> {
    /// Returns the accesses to a shared tensor.
    pub fn shared(&self, tensor: TensorId) -> impl Iterator<Item = &Access<'_>> {
        self.accesses.iter().filter(move |access| access.base() == Base::Shared(tensor))
    }
}

/// Collects the accesses of an operation.
#[derive(Default)]
struct Collector<'a>(Vec<Access<'a>>);

impl<'a> Collector<'a> {
    fn registers(mut self, mode: Mode, tensors: impl IntoIterator<Item = TensorId>) -> Collector<'a> {
        let whole = |tensor| Access::at_once(Region::Whole(Base::Register(tensor)), mode);
        self.0.extend(tensors.into_iter().map(whole));
        self
    }

    fn shared(mut self, mode: Mode, tensor: TensorId) -> Collector<'a> {
        self.0.push(Access::at_once(Region::Whole(Base::Shared(tensor)), mode));
        self
    }

    /// Adds a view, and the table that picks its rows. Registers that pick elements are operands.
    fn view(self, mode: Mode, view: &'a View) -> Collector<'a> {
        self.viewed(view, Access::at_once(Region::View(view), mode))
    }

    fn viewed(mut self, view: &'a View, access: Access<'a>) -> Collector<'a> {
        self.0.push(access);
        let table = view.rows().map(Region::Table);
        self.0.extend(table.map(|table| Access::at_once(table, Mode::Read)));
        self
    }

    /// Adds the accesses of a copy between a view of global memory and one of shared memory.
    fn copied(self, form: Form, [global, shared]: [&'a View; 2]) -> Collector<'a> {
        let asynchronous: &Asynchronous = form.asynchronous();
        asynchronous.accesses.iter().fold(self, |all, access| {
            let view = if access.space == Space::Global { global } else { shared };
            all.viewed(view, Access::of(Region::View(view), *access))
        })
    }

    /// Adds the accesses of a product: to its accumulator, to operands in registers, and to those that it reads from shared memory
    /// by descriptor. A product that is not asynchronous waits for itself.
    fn multiplied(mut self, c: TensorId, operands: [&'a View; 2], is_asynchronous: bool) -> Collector<'a> {
        for access in &Form::Product.asynchronous().accesses {
            let until = if is_asynchronous { access.until } else { Completion::AtOnce };
            let access = AsynchronousAccess { until, ..*access };
            let is_register = access.space == Space::Register;
            if is_register && access.mode.writes() {
                self.0.push(Access::of(Region::Whole(Base::Register(c)), access));
                continue;
            }
            for view in operands.into_iter().filter(|view| view.register().is_some() == is_register) {
                let region = view.register().map_or(Region::View(view), |t| Region::Whole(Base::Register(t)));
                self.0.push(Access::of(region, access));
            }
        }
        self
    }

    fn effects(self) -> Effects<'a> {
        Effects { accesses: self.0, order: Order::Nothing }
    }
}

impl OpKind {
    /// Returns the memory accesses of the operation and the order that it imposes.
    pub fn effects(&self) -> Effects<'_> {
        let all = Collector::default();
        match self {
            OpKind::Fill { dst, .. } => all.registers(Mode::Write, [*dst]).effects(),
            OpKind::Copy { src, dst } => {
                let picks = dst.picks().iter().chain(src.picks()).map(|pick| pick.index);
                all.view(Mode::Write, dst).view(Mode::Read, src).registers(Mode::Read, picks).effects()
            }
            // An operand that the solution loads is a register tensor here. An operand that stays in shared memory is read by descriptor.
            OpKind::Gemm { c, a, b, asynchronous, .. } => {
                all.multiplied(*c, [&a.view, &b.view], *asynchronous).effects()
            }
            OpKind::Sync(op) => Effects { accesses: Vec::new(), order: op.order() },
            OpKind::Cast { dst, src } | OpKind::Reduce { dst, src, .. } => {
                all.registers(Mode::Write, [*dst]).registers(Mode::Read, [*src]).effects()
            }
            OpKind::CopyAsync { src, dst, signal: None, .. } => {
                all.copied(Form::CopyInGroup, [src, dst]).effects()
            }
            OpKind::CopyAsync { src, dst, signal: Some(_), .. } => {
                all.copied(Form::BulkLoad, [src, dst]).effects()
            }
            OpKind::Store { src, dst, adds } => {
                let form = if *adds { Form::BulkAdd } else { Form::BulkStore };
                all.copied(form, [dst, src]).effects()
            }
            OpKind::Map(map) => {
                let inputs = map.inputs.iter().copied();
                all.registers(Mode::Write, [map.dst]).registers(Mode::Read, inputs).effects()
            }
            OpKind::Rearrange { dst, src, through } => {
                let moved = all.registers(Mode::Write, [*dst]).registers(Mode::Read, [*src]);
                match through {
                    Some(shared) => moved.shared(Mode::Write, *shared).shared(Mode::Read, *shared).effects(),
                    None => moved.effects(),
                }
            }
            OpKind::Slice { dst, src } => all.registers(Mode::Write, [*dst]).view(Mode::Read, src).effects(),
            OpKind::Insert { dst, src } => {
                all.view(Mode::Update, dst).registers(Mode::Read, [*src]).effects()
            }
            OpKind::ReadNumber { src, .. } => all.registers(Mode::Read, [*src]).effects(),
            OpKind::Scan { dst, src, .. } => {
                let [dst, src] = [dst, src].map(|tensors| tensors.iter().copied());
                all.registers(Mode::Write, dst).registers(Mode::Read, src).effects()
            }
            OpKind::Atomic(atomic) => all
                .registers(Mode::Write, atomic.results())
                .registers(Mode::Read, atomic.operands())
                .view(Mode::Add, &atomic.memory)
                .effects(),
            // The memory through which blocks exchange values is no tensor: only these operations access it.
            OpKind::ClusterSum { x, parts, .. } => {
                let mode = if parts.is_empty() { Mode::Update } else { Mode::Write };
                all.registers(mode, [*x]).registers(Mode::Read, parts.iter().copied()).effects()
            }
            OpKind::Print { src, .. } => all.registers(Mode::Read, *src).effects(),
            OpKind::Assert { cond, sides, .. } => {
                all.registers(Mode::Read, [*cond]).registers(Mode::Read, sides.iter().copied()).effects()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hx_dtype::AtomicOp;
    use hx_index::Expr;

    use super::*;
    use crate::{Atomic, MemoryOrder, MemoryScope, Operand, ParamId, Pick, Picked, PipeId, SyncOp};

    /// Formats accesses as in `write r0, read s1 [group]`. An operation that orders has no accesses: formats its order.
    fn shown(kind: &OpKind) -> String {
        let base = |base| match base {
            Base::Global(param) => format!("g{}", param.0),
            Base::Shared(tensor) => format!("s{}", tensor.0),
            Base::Register(tensor) => format!("r{}", tensor.0),
        };
        let effects = kind.effects();
        let access = |access: &Access<'_>| {
            let pending = match access.completion {
                Completion::AtOnce => "",
                Completion::Group => " [group]",
                Completion::Product => " [product]",
                Completion::Barrier => " [barrier]",
                Completion::Store => " [store]",
                Completion::StoreRead => " [store read]",
            };
            let bulk =
                matches!(access.completion, Completion::Barrier | Completion::Store | Completion::StoreRead);
            let described = access.proxy == Proxy::Asynchronous && !bulk;
            let proxy = if described { " by descriptor" } else { "" };
            let table = if matches!(access.region, Region::Table(_)) { "table " } else { "" };
            format!("{:?} {table}{}{proxy}{pending}", access.mode, base(access.base())).to_lowercase()
        };
        let accesses: Vec<String> = effects.accesses.iter().map(access).collect();
        match effects.order {
            Order::Nothing => accesses.join(", "),
            order => format!("{order:?}"),
        }
    }

    #[test]
    fn accesses_are_listed_with_tables_and_buffers_of_exchanges() {
        let [r0, r1, r2, s3] = [0, 1, 2, 3].map(TensorId);
        let register = |tensor| View::whole(Base::Register(tensor), &[4]);
        let shared = View::whole(Base::Shared(s3), &[4]);
        let operand = |tensor| Operand::register(tensor, &[4]);
        let staged = Operand { view: shared.clone(), load: None };
        let mut gathered = View::whole(Base::Global(ParamId(0)), &[4]);
        gathered.picked = Some(Picked::Rows(Rows {
            dim: 0,
            base: Base::Shared(s3),
            offsets: vec![Expr::default()],
            along: 0,
            factor: Expr::constant(1),
            extent: Expr::constant(4),
            ends: Vec::new(),
        }));
        let whole = View::whole(Base::Global(ParamId(0)), &[4]);
        let pick = Pick { dim: 0, index: r1, factor: Expr::constant(1), extent: Expr::constant(4) };
        let scattered = View { picked: Some(Picked::Elements(vec![pick])), ..whole.clone() };
        let adds = Atomic {
            op: AtomicOp::Add,
            value: r0,
            compare: None,
            old: None,
            memory: whole,
            order: MemoryOrder::Relaxed,
            scope: MemoryScope::Gpu,
        };
        let cases = [
            (OpKind::Fill { dst: r0, value: 0.0 }, "write r0"),
            (OpKind::Copy { src: gathered.clone(), dst: register(r0) }, "write r0, read g0, read table s3"),
            (OpKind::Copy { src: register(r0), dst: shared.clone() }, "write s3, read r0"),
            (
                OpKind::CopyAsync { src: gathered, dst: shared.clone(), signal: None, multicast: None },
                "write s3 [group], read g0 [group], read table s3",
            ),
            (
                OpKind::CopyAsync {
                    src: View::whole(Base::Global(ParamId(0)), &[4]),
                    dst: shared.clone(),
                    signal: Some(PipeId(0)),
                    multicast: None,
                },
                "write s3 [barrier], read g0 [barrier]",
            ),
            (
                OpKind::Store { src: shared, dst: View::whole(Base::Global(ParamId(0)), &[4]), adds: false },
                "write g0 [store], read s3 [store read]",
            ),
            (
                OpKind::Gemm { c: r0, a: operand(r1), b: operand(r2), warps: None, asynchronous: false },
                "update r0, read r1, read r2",
            ),
            (
                OpKind::Gemm { c: r0, a: staged.clone(), b: operand(r2), warps: None, asynchronous: false },
                "update r0, read r2, read s3 by descriptor",
            ),
            (
                OpKind::Gemm { c: r0, a: operand(r1), b: staged.clone(), warps: None, asynchronous: true },
                "update r0 [product], read r1 [product], read s3 by descriptor [product]",
            ),
            (OpKind::Sync(SyncOp::GemmWait { leave: 1 }), "WaitProducts(1)"),
            (OpKind::Rearrange { dst: r0, src: r1, through: None }, "write r0, read r1"),
            (
                OpKind::Rearrange { dst: r0, src: r1, through: Some(s3) },
                "write r0, read r1, write s3, read s3",
            ),
            (OpKind::Slice { dst: r0, src: register(r1) }, "write r0, read r1"),
            (OpKind::Insert { dst: register(r0), src: r1 }, "update r0, read r1"),
            (OpKind::Atomic(adds.clone()), "read r0, add g0"),
            (
                OpKind::Atomic(Atomic { old: Some(r2), memory: scattered.clone(), ..adds }),
                "write r2, read r0, read r1, add g0",
            ),
            (OpKind::Copy { src: register(r0), dst: scattered }, "write g0, read r0, read r1"),
            (OpKind::ClusterSum { x: r0, parts: vec![], axis: 0, to: None }, "update r0"),
            (
                OpKind::ClusterSum { x: r0, parts: vec![r1, r2], axis: 0, to: None },
                "write r0, read r1, read r2",
            ),
            (OpKind::Sync(SyncOp::Scope), "Scope"),
            (OpKind::Sync(SyncOp::Wait { groups: 2 }), "Wait(2)"),
            (
                OpKind::Sync(SyncOp::WaitStage {
                    pipe: PipeId(0),
                    var: hx_index::Symbol::Var("s".into(), 0),
                }),
                "Await",
            ),
            (OpKind::Sync(SyncOp::Release { pipe: PipeId(0), keep: 1 }), "Arrive"),
            (
                OpKind::Sync(SyncOp::WaitStores { leave: 1, read: true }),
                "WaitStores { leave: 1, read: true }",
            ),
        ];
        for (kind, wanted) in cases {
            assert_eq!(shown(&kind), wanted, "{}", kind.name());
        }
    }

    #[test]
    fn results_stand_before_sources_and_accumulators_are_both() {
        let [c, a, b] = [0, 1, 2].map(TensorId);
        let operand = |tensor| Operand::register(tensor, &[4]);
        let gemm = OpKind::Gemm { c, a: operand(a), b: operand(b), warps: None, asynchronous: false };
        assert_eq!((gemm.registers(), gemm.results()), (vec![c, a, b], 1));
        assert!(gemm.updates(0) && !gemm.updates(1) && gemm.writes(c) && !gemm.writes(a));
        let scan = OpKind::Scan { dst: vec![c, a], src: vec![b, b], axis: 0, op: Vec::new() };
        assert_eq!((scan.registers(), scan.results()), (vec![c, a, b, b], 2));
        assert!(!scan.updates(0));
    }

    #[test]
    fn an_operand_in_shared_memory_is_no_register_to_replace() {
        let [c, b, s, new] = [0, 1, 2, 3].map(TensorId);
        let staged = Operand { view: View::whole(Base::Shared(s), &[4]), load: None };
        let held = Operand::register(b, &[4]);
        let mut gemm = OpKind::Gemm { c, a: staged, b: held, warps: None, asynchronous: false };
        assert_eq!(gemm.tensors(), [c, b, s].into());
        gemm.replace(1, new);
        assert_eq!((gemm.registers(), gemm.tensors()), (vec![c, new], [c, s, new].into()));
    }
}
