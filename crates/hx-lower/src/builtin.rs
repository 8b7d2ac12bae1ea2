//! Calls of built-in functions, by the families of their table.

use hx_base::codes;
use hx_dtype::Operator;
use hx_hir::{Builtin, CommonFn, ExprId, KernelFn, MathFn};
use hx_tile::{OpKind, SyncOp};

use crate::asynchronous::Named;
use crate::builtin_call::BuiltinCall;
use crate::elementwise::is_elementwise;
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::Value;

impl<'db> Lowering<'db> {
    pub(crate) fn builtin(&mut self, builtin: Builtin, call: &BuiltinCall<'_, 'db>) -> Lower<Value> {
        match builtin {
            Builtin::Kernel(function) => self.kernel_fn(function, call),
            Builtin::Atomic(function) => self.atomic(call, function.op()),
            Builtin::Common(function) => self.common_fn(function, call),
            Builtin::Math(function) => {
                let [x] = self.first(call)?;
                self.math(call.id, operator_of(function), x)
            }
            Builtin::Layout(function) => self.layout_fn(function, call),
            // Device code sees no name of the host, and a value is not called.
            Builtin::Value(_) | Builtin::Method(_) | Builtin::HostLayout(_) | Builtin::Host(_) => {
                self.not_compiled(call)
            }
        }
    }

    /// Lowers a call of a function that only kernels have.
    fn kernel_fn(&mut self, function: KernelFn, call: &BuiltinCall<'_, 'db>) -> Lower<Value> {
        let BuiltinCall { id, args, hint, .. } = *call;
        match function {
            KernelFn::RegisterTensor => {
                let [dtype, shape] = self.first(call)?;
                self.make_tensor(id, false, dtype, shape, call.slot(2), hint)
            }
            KernelFn::SharedTensor => {
                let [dtype, shape] = self.first(call)?;
                self.make_tensor(id, true, dtype, shape, call.slot(2), hint)
            }
            KernelFn::GlobalView => self.global_view_of(call),
            KernelFn::Tile => self.tile_of(call),
            KernelFn::Gather => self.picked_view(call, false),
            KernelFn::Scatter => self.picked_view(call, true),
            KernelFn::Copy => {
                let [src, dst] = self.first(call)?;
                let hints = self.hints(call.slot(2), call.slot(3))?;
                self.by(call.slot(4), |it| it.copy(id, src, dst, hints))
            }
            KernelFn::CopyAsync => match call.slots[..] {
                [Some(src), Some(dst), signal, multicast, add, l1, l2, by] => {
                    let hints = self.hints_of_copies(l1, l2)?;
                    self.by(by, |it| it.copy_async(id, src, dst, Named { signal, multicast, add, hints }))
                }
                _ => self.not_compiled(call),
            },
            KernelFn::Prefetch => {
                let [view] = self.first(call)?;
                self.prefetch(id, view)
            }
            KernelFn::Load => {
                let [view] = self.first(call)?;
                let hints = self.hints(call.slot(1), call.slot(2))?;
                self.by(call.slot(3), |it| it.load(id, view, hints, hint))
            }
            KernelFn::Rearrange => {
                let [t, layout] = self.first(call)?;
                self.rearrange(id, t, layout, hint)
            }
            KernelFn::Fill => {
                let [t, x] = self.first(call)?;
                self.fill(id, t, x)
            }
            KernelFn::Index => {
                let [t, axis] = self.first(call)?;
                self.coordinates(t, axis)
            }
            KernelFn::Scalar => {
                let [t] = self.first(call)?;
                self.scalar(id, t)
            }
            KernelFn::Gemm | KernelFn::GemmAsync => {
                let [c, a, b] = self.first(call)?;
                self.by(call.slot(4), |it| it.gemm(id, [c, a, b], args, function == KernelFn::GemmAsync))
            }
            KernelFn::GemmWait => {
                let [n] = self.first(call)?;
                self.gemm_wait(id, n)
            }
            KernelFn::Pipeline => self.pipeline(call),
            KernelFn::Turns => self.make_turns(call),
            KernelFn::Barrier => self.make_barrier(call),
            KernelFn::Counter => self.counter_of(call),
            KernelFn::Sync => self.unit(OpKind::Sync(SyncOp::Scope), id),
            KernelFn::SyncWarp => self.unit(OpKind::Sync(SyncOp::Warp), id),
            KernelFn::Commit => self.unit(OpKind::Sync(SyncOp::Commit), id),
            KernelFn::Wait => {
                let [n] = self.first(call)?;
                self.wait(id, n)
            }
            KernelFn::Min => self.extreme_or_reduce(Operator::Min, call),
            KernelFn::Max => self.extreme_or_reduce(Operator::Max, call),
            KernelFn::Sum => match call.slots[..] {
                [Some(t), Some(axis), None, None, None] => self.reduce(id, Operator::Add, t, axis, hint),
                [Some(t), None, Some(axis), to, None] => self.cluster_sum(id, (t, axis), to, hint),
                [Some(t), None, Some(axis), None, Some(along)] => {
                    self.scattered_sum(id, (t, axis), along, hint)
                }
                [_, Some(_), Some(at), ..] => self.two_of(at, "`cluster`", "`axis`"),
                [_, _, _, Some(_), Some(at)] => self.two_of(at, "`scatter`", "`to`"),
                _ => self.not_compiled(call),
            },
            KernelFn::Argmax | KernelFn::Argmin => {
                let [t, axis] = self.first(call)?;
                self.position(id, function == KernelFn::Argmax, t, axis, hint)
            }
            KernelFn::Any | KernelFn::All => {
                let [t] = self.first(call)?;
                let operator = if function == KernelFn::Any { Operator::Or } else { Operator::And };
                self.truths(id, operator, t, call.slot(1), hint)
            }
            KernelFn::Reduce => {
                let [t, axis, op] = self.first(call)?;
                match self.closure_operator(op)? {
                    Some(operator) => self.reduce(id, operator, t, axis, hint),
                    None => self.reduce_by(id, t, axis, op, hint),
                }
            }
            KernelFn::Concat => self.concat(call),
            KernelFn::Split => self.split(call),
            KernelFn::Reshape => {
                let [t, shape] = self.first(call)?;
                self.reshape(t, shape, hint)
            }
            KernelFn::Scan => self.scan(call),
            KernelFn::WaitStores => {
                let [n] = self.first(call)?;
                self.wait_stores(id, n, call.slot(1))
            }
            KernelFn::WaitForPrevious => self.unit(OpKind::Sync(SyncOp::WaitPrevious), id),
            KernelFn::AllowNext => self.unit(OpKind::Sync(SyncOp::AllowNext), id),
            KernelFn::Mbarrier | KernelFn::Arrive | KernelFn::Expect => self.not_compiled(call),
        }
    }

    /// Lowers a call of a function that the host has too.
    fn common_fn(&mut self, function: CommonFn, call: &BuiltinCall<'_, 'db>) -> Lower<Value> {
        let BuiltinCall { id, args, hint, .. } = *call;
        match function {
            CommonFn::Permute => {
                let [t, order] = self.first(call)?;
                let tensor = self.tensor(t)?;
                self.permute(id, &tensor, order)
            }
            CommonFn::Flip => self.flip(call),
            CommonFn::Cast => {
                let [t, dtype] = self.first(call)?;
                self.cast(id, t, dtype, hint)
            }
            CommonFn::Bitcast => {
                let [t, dtype] = self.first(call)?;
                self.bitcast(call, t, dtype)
            }
            CommonFn::Mulhi => self.of_operands::<2>(id, Operator::Mulhi, call),
            CommonFn::Pow => self.of_operands::<2>(id, Operator::Pow, call),
            CommonFn::Atan2 => self.of_operands::<2>(id, Operator::Atan2, call),
            CommonFn::Fmod => self.of_operands::<2>(id, Operator::Fmod, call),
            CommonFn::Copysign => self.of_operands::<2>(id, Operator::Copysign, call),
            CommonFn::Clamp => {
                let [x, low, high] = self.first(call)?;
                self.clamp(id, x, (low, high))
            }
            CommonFn::Where => {
                let [c, x, y] = self.first(call)?;
                self.select(id, c, x, y)
            }
            CommonFn::Fma => self.of_operands::<3>(id, Operator::Fma, call),
            CommonFn::Cdiv => {
                let [a, b] = self.first(call)?;
                self.cdiv(a, b)
            }
            CommonFn::Print => self.print(id, args),
            CommonFn::Assert => {
                let [condition] = self.first(call)?;
                self.assert(condition, call.slot(1))
            }
        }
    }

    /// Returns the arguments of the first `N` parameters.
    ///
    /// # Errors
    /// If one of them is missing: the form of the call is not compiled.
    pub(crate) fn first<const N: usize>(&mut self, call: &BuiltinCall<'_, '_>) -> Lower<[ExprId; N]> {
        let found: Vec<ExprId> = call.slots.iter().take(N).copied().flatten().collect();
        match found.try_into() {
            Ok(found) => Ok(found),
            Err(_) => self.not_compiled(call),
        }
    }

    pub(crate) fn not_compiled<T>(&mut self, call: &BuiltinCall<'_, '_>) -> Lower<T> {
        self.unsupported(call.id, format!("`{}`", call.name))
    }

    pub(crate) fn unit(&mut self, kind: OpKind, id: ExprId) -> Lower<Value> {
        self.emit(kind, id);
        Ok(Value::Unit)
    }

    /// Lowers `global_view(buffer, layout)`.
    fn global_view_of(&mut self, call: &BuiltinCall<'_, '_>) -> Lower<Value> {
        let [buffer, layout] = self.first(call)?;
        let value = self.eval(buffer)?;
        let t = self.want_global(buffer, value, call.name)?;
        let pad = self.pad(call.id, &t, call.args)?;
        self.global_view(buffer, &t, layout, pad)
    }

    /// Lowers `tile(t, shape)`.
    fn tile_of(&mut self, call: &BuiltinCall<'_, '_>) -> Lower<Value> {
        let [t, shape] = self.first(call)?;
        let tensor = self.tensor(t)?;
        let pad = self.pad(call.id, &tensor, call.args)?;
        if tensor.is_register() {
            let message = "found a register tensor, expected one in memory for `tile`";
            return self.fail(&codes::WRONG_MEMORY, t, message);
        }
        self.tile(call.id, &tensor, t, shape, pad)
    }

    /// Lowers `min(a, b)`, or `min(t, axis: 0)`, and the same of `max`.
    fn extreme_or_reduce(&mut self, operator: Operator, call: &BuiltinCall<'_, '_>) -> Lower<Value> {
        match call.slots[..] {
            [Some(a), Some(b), None] => self.extreme(call.id, operator, a, b),
            [Some(t), None, Some(axis)] => self.reduce(call.id, operator, t, axis, call.hint),
            _ => self.not_compiled(call),
        }
    }

    fn cdiv(&mut self, a: ExprId, b: ExprId) -> Lower<Value> {
        let (x, y) = (self.int(a), self.int(b));
        let (x, y) = (x?, y?);
        if y.as_const().is_some_and(|y| y <= 0) {
            return self.fail(
                &codes::CONSTANT_ERROR,
                b,
                format!("found the divisor `{y}`, expected a positive one"),
            );
        }
        Ok(Value::Int(x.ceil_div(&y, &self.facts)))
    }

    /// Lowers a function of `N` tensors or numbers that is one operator.
    fn of_operands<const N: usize>(
        &mut self,
        id: ExprId,
        operator: Operator,
        call: &BuiltinCall<'_, '_>,
    ) -> Lower<Value> {
        let operands: [ExprId; N] = self.first(call)?;
        self.elementwise_call(id, operator, &operands)
    }

    fn extreme(&mut self, id: ExprId, operator: Operator, a: ExprId, b: ExprId) -> Lower<Value> {
        let x = self.eval(a);
        let mark = self.mark();
        let y = self.eval(b);
        let (x, y) = (x?, y?);
        if is_elementwise(&x) || is_elementwise(&y) {
            self.unwritten(a, &x, mark)?;
        }
        self.extreme_of(id, operator, (a, x), (b, y))
    }

    /// Lowers `clamp(x, low, high)`, which is `min(max(x, low), high)`.
    fn clamp(&mut self, id: ExprId, x: ExprId, (low, high): (ExprId, ExprId)) -> Lower<Value> {
        let value = self.eval(x);
        let mark = self.mark();
        let bounds = (self.eval(low), self.eval(high));
        let (value, least, most) = (value?, bounds.0?, bounds.1?);
        if is_elementwise(&value) || is_elementwise(&least) || is_elementwise(&most) {
            self.unwritten(x, &value, mark)?;
        }
        let raised = self.extreme_of(id, Operator::Max, (x, value), (low, least))?;
        self.extreme_of(id, Operator::Min, (x, raised), (high, most))
    }

    fn extreme_of(
        &mut self,
        id: ExprId,
        operator: Operator,
        (a, x): (ExprId, Value),
        (b, y): (ExprId, Value),
    ) -> Lower<Value> {
        let least = operator == Operator::Min;
        match (x, y) {
            (x, y) if is_elementwise(&x) || is_elementwise(&y) => {
                self.apply(id, operator, vec![(a, x), (b, y)])
            }
            (Value::Int(x), Value::Int(y)) => {
                Ok(Value::Int(if least { x.minimum(&y, &self.facts) } else { x.maximum(&y, &self.facts) }))
            }
            (Value::Float(x), Value::Float(y)) => Ok(Value::Float(if least { x.min(y) } else { x.max(y) })),
            (Value::Int(x), Value::Float(y)) | (Value::Float(y), Value::Int(x)) if x.as_const().is_some() => {
                let x = x.as_const().unwrap_or_default() as f64;
                Ok(Value::Float(if least { x.min(y) } else { x.max(y) }))
            }
            (x, y) => {
                let message = format!("found {} and {}, expected two numbers", x.what(), y.what());
                self.fail(&codes::NO_SUCH_OPERATION, id, message)
            }
        }
    }
}

/// Returns the operator that a function of one number applies to every element.
fn operator_of(function: MathFn) -> Operator {
    match function {
        MathFn::Exp2 => Operator::Exp2,
        MathFn::Exp => Operator::Exp,
        MathFn::Log2 => Operator::Log2,
        MathFn::Log => Operator::Log,
        MathFn::Sqrt => Operator::Sqrt,
        MathFn::Rsqrt => Operator::Rsqrt,
        MathFn::Tanh => Operator::Tanh,
        MathFn::Sigmoid => Operator::Sigmoid,
        MathFn::Erf => Operator::Erf,
        MathFn::Log10 => Operator::Log10,
        MathFn::Exp10 => Operator::Exp10,
        MathFn::Expm1 => Operator::Expm1,
        MathFn::Log1p => Operator::Log1p,
        MathFn::Cbrt => Operator::Cbrt,
        MathFn::Sinh => Operator::Sinh,
        MathFn::Cosh => Operator::Cosh,
        MathFn::Tan => Operator::Tan,
        MathFn::Asin => Operator::Asin,
        MathFn::Acos => Operator::Acos,
        MathFn::Atan => Operator::Atan,
        MathFn::Erfinv => Operator::Erfinv,
        MathFn::Lgamma => Operator::Lgamma,
        MathFn::Trunc => Operator::Trunc,
        MathFn::Sign => Operator::Sign,
        MathFn::Sin => Operator::Sin,
        MathFn::Cos => Operator::Cos,
        MathFn::Floor => Operator::Floor,
        MathFn::Ceil => Operator::Ceil,
        MathFn::Round => Operator::Round,
        MathFn::Abs => Operator::Abs,
        MathFn::Isnan => Operator::IsNan,
        MathFn::Popcount => Operator::Popcount,
        MathFn::Clz => Operator::Clz,
    }
}
