//! The memory accesses of each operation and the order it imposes. Placement, liveness, synchronization and hovers ask this
//! module. The verifier has an account of its own, so that it does not repeat a mistake made here.

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
    fn of(region: Region<'a>, mode: Mode, completion: Completion) -> Access<'a> {
        let proxy = match completion {
            Completion::AtOnce | Completion::Group | Completion::Product => Proxy::Generic,
            Completion::Barrier | Completion::Store => Proxy::Asynchronous,
        };
        Access { region, mode, proxy, completion }
    }

    /// Returns the tensor that is accessed.
    pub fn base(&self) -> Base {
        match self.region {
            Region::Whole(base) => base,
            Region::View(view) => view.base,
            Region::Table(rows) => rows.base,
        }
    }

    /// Returns the register tensor, if the access is to one.
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
    fn registers(self, mode: Mode, tensors: impl IntoIterator<Item = TensorId>) -> Collector<'a> {
        self.registers_until(Completion::AtOnce, mode, tensors)
    }

    fn registers_until(
        mut self,
        completion: Completion,
        mode: Mode,
        tensors: impl IntoIterator<Item = TensorId>,
    ) -> Collector<'a> {
        let whole = |tensor| Access::of(Region::Whole(Base::Register(tensor)), mode, completion);
        self.0.extend(tensors.into_iter().map(whole));
        self
    }

    /// Adds an operand that a product reads from shared memory by descriptor.
    fn described(mut self, view: &'a View, completion: Completion) -> Collector<'a> {
        let proxy = Proxy::Asynchronous;
        self.0.push(Access { proxy, ..Access::of(Region::View(view), Mode::Read, completion) });
        self
    }

    fn shared(mut self, mode: Mode, tensor: TensorId) -> Collector<'a> {
        self.0.push(Access::of(Region::Whole(Base::Shared(tensor)), mode, Completion::AtOnce));
        self
    }

    /// Adds a view, and the table that picks its rows. Registers that pick elements are operands.
    fn view(mut self, mode: Mode, view: &'a View, completion: Completion) -> Collector<'a> {
        self.0.push(Access::of(Region::View(view), mode, completion));
        let table = view.rows().map(Region::Table);
        self.0.extend(table.map(|table| Access::of(table, Mode::Read, Completion::AtOnce)));
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
                all.view(Mode::Write, dst, Completion::AtOnce)
                    .view(Mode::Read, src, Completion::AtOnce)
                    .registers(Mode::Read, picks)
                    .effects()
            }
            // A solution that loads an operand makes it a register tensor. One that it leaves in shared memory is read by
            // descriptor.
            OpKind::Gemm { c, a, b, asynchronous, .. } => {
                let until = if *asynchronous { Completion::Product } else { Completion::AtOnce };
                let views = [&a.view, &b.view];
                let registers = views.into_iter().filter_map(View::register);
                let all = all.registers_until(until, Mode::Update, [*c]);
                let all = all.registers_until(until, Mode::Read, registers);
                let memory = views.into_iter().filter(|view| view.register().is_none());
                memory.fold(all, |all, view| all.described(view, until)).effects()
            }
            OpKind::Sync(op) => Effects { accesses: Vec::new(), order: op.order() },
            OpKind::Cast { dst, src } | OpKind::Reduce { dst, src, .. } => {
                all.registers(Mode::Write, [*dst]).registers(Mode::Read, [*src]).effects()
            }
            OpKind::CopyAsync { src, dst, signal: None, .. } => all
                .view(Mode::Write, dst, Completion::Group)
                .view(Mode::Read, src, Completion::Group)
                .effects(),
            OpKind::CopyAsync { src, dst, signal: Some(_), .. } => all
                .view(Mode::Write, dst, Completion::Barrier)
                .view(Mode::Read, src, Completion::Barrier)
                .effects(),
            OpKind::Store { src, dst, adds } => all
                .view(if *adds { Mode::Add } else { Mode::Write }, dst, Completion::Store)
                .view(Mode::Read, src, Completion::Store)
                .effects(),
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
            OpKind::Slice { dst, src } => {
                all.registers(Mode::Write, [*dst]).view(Mode::Read, src, Completion::AtOnce).effects()
            }
            OpKind::Insert { dst, src } => {
                all.view(Mode::Update, dst, Completion::AtOnce).registers(Mode::Read, [*src]).effects()
            }
            OpKind::ReadNumber { src, .. } => all.registers(Mode::Read, [*src]).effects(),
            OpKind::Scan { dst, src, .. } => {
                let [dst, src] = [dst, src].map(|tensors| tensors.iter().copied());
                all.registers(Mode::Write, dst).registers(Mode::Read, src).effects()
            }
            OpKind::Atomic(atomic) => all
                .registers(Mode::Write, atomic.results())
                .registers(Mode::Read, atomic.operands())
                .view(Mode::Add, &atomic.memory, Completion::AtOnce)
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
            };
            let bulk = matches!(access.completion, Completion::Barrier | Completion::Store);
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
                "write g0 [store], read s3 [store]",
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
            (OpKind::Sync(SyncOp::WaitStores { leave: 1 }), "WaitStores(1)"),
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
