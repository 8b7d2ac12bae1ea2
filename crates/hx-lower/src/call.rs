//! Calls of primitives, found in the table of built-in names, and of tile functions, which are inlined.

use hx_base::codes;
use hx_dtype::Operator;
use hx_hir::{
    Arg, ArgProblem, Expr as HirExpr, ExprId, ItemKind, Need, Resolution, builtin_params, match_args,
};
use hx_index::Expr;
use hx_layout::Layout;
use hx_tile::OpKind;

use crate::cx::Cx;
use crate::elementwise::is_elementwise;
use crate::error::{At, Lower, LowerError};
use crate::value::{SymLayout, Value};

impl<'db> Cx<'db> {
    pub(crate) fn call(
        &mut self,
        id: ExprId,
        callee: ExprId,
        args: &'db [Arg],
        hint: Option<&str>,
    ) -> Lower<Value> {
        let store = self.store();
        let HirExpr::Path { path, generics } = &store[callee] else {
            let value = self.eval(callee)?;
            let message = format!("found {} before `(`, wanted a function", value.what());
            return self.fail(&codes::NOT_CALLABLE, callee, message);
        };
        match self.frame().names.exprs.get(callee).cloned() {
            Some(Resolution::Builtin(b)) => match b.get().params {
                Some(params) => {
                    let slots = self.args(id, b.name(), &builtin_params(params), args)?;
                    let slots: Vec<Option<ExprId>> = slots.iter().map(|s| s.map(|i| args[i].value)).collect();
                    self.primitive(id, b.name(), &slots, args, hint)
                }
                None => self.fail(&codes::NOT_CALLABLE, callee, format!("`{}` is no function", b.name())),
            },
            Some(Resolution::Item(key)) if key.kind == ItemKind::Function => {
                self.inline(id, callee, &key, generics, args)
            }
            Some(Resolution::Item(key)) if key.kind == ItemKind::Kernel => {
                let message = format!(
                    "the kernel `{}` is called in a kernel: kernels are launched from the host",
                    key.name
                );
                self.fail(&codes::NOT_A_PRIMITIVE, callee, message)
            }
            Some(Resolution::DType(dtype)) => {
                let error = self
                    .error(&codes::NOT_CALLABLE, callee, format!("the element type `{dtype}` is called"))
                    .help(format!("`cast(x, {dtype})` converts"));
                Err(self.report(error))
            }
            Some(_) => self.fail(&codes::NOT_CALLABLE, callee, format!("`{path}` is no function")),
            None => self.meaningless(callee),
        }
    }

    /// Returns the index of the argument for each parameter, and reports the arguments that match no parameter.
    pub(crate) fn args(
        &mut self,
        id: ExprId,
        name: &str,
        params: &[(&str, Need)],
        args: &[Arg],
    ) -> Lower<Vec<Option<usize>>> {
        let (slots, problems) = match_args(params, args);
        let mut result = Ok(slots);
        for problem in problems {
            let at = |cx: &Self, arg: usize| cx.place_at(At::Label(id, arg));
            let error = match problem {
                ArgProblem::TooMany { arg, found, wanted } => {
                    let message = format!("`{name}` takes {wanted} arguments, found {found}");
                    LowerError::new(&codes::WRONG_ARGUMENT_COUNT, at(self, arg), message)
                }
                ArgProblem::Missing { params } => {
                    let message = format!("`{name}` lacks the argument `{}`", params.join("`, `"));
                    self.error(&codes::MISSING_ARGUMENT, id, message)
                }
                ArgProblem::UnknownName { arg } => {
                    let label = args.get(arg).and_then(|a| a.name.clone()).unwrap_or_default();
                    let message = format!("`{name}` has no parameter `{label}`");
                    LowerError::new(&codes::UNKNOWN_ARGUMENT, at(self, arg), message)
                }
                ArgProblem::Twice { arg, first } => {
                    let error = LowerError::new(
                        &codes::DUPLICATE_ARGUMENT,
                        at(self, arg),
                        "an argument is given twice",
                    );
                    error.also(at(self, first), "given here first")
                }
            };
            result = Err(self.report(error));
        }
        result
    }

    fn primitive(
        &mut self,
        id: ExprId,
        name: &str,
        slots: &[Option<ExprId>],
        args: &[Arg],
        hint: Option<&str>,
    ) -> Lower<Value> {
        match (name, slots) {
            ("register_tensor", [Some(dtype), Some(shape), layout]) => {
                self.make_tensor(id, false, *dtype, *shape, *layout, hint)
            }
            ("shared_tensor", [Some(dtype), Some(shape), layout]) => {
                self.make_tensor(id, true, *dtype, *shape, *layout, hint)
            }
            ("global_view", [Some(buffer), Some(layout), _]) => {
                let value = self.eval(*buffer)?;
                let t = self.want_global(*buffer, value, name)?;
                let pad = self.pad(args)?;
                self.global_view(*buffer, &t, *layout, pad)
            }
            ("tile", [Some(t), Some(shape), _]) => {
                let tensor = self.tensor(*t)?;
                let pad = self.pad(args)?;
                if tensor.is_register() {
                    return self.fail(
                        &codes::WRONG_MEMORY,
                        *t,
                        "found a register tensor, wanted one in memory for `tile`",
                    );
                }
                self.tile(id, &tensor, *t, *shape, pad)
            }
            ("permute", [Some(t), Some(order)]) => {
                let tensor = self.tensor(*t)?;
                self.permute(id, &tensor, *order)
            }
            ("copy", [Some(src), Some(dst)]) => self.copy(id, *src, *dst),
            ("load", [Some(view)]) => self.load(id, *view, hint),
            ("cast", [Some(t), Some(dtype)]) => self.cast(id, *t, *dtype, hint),
            ("fill", [Some(t), Some(x)]) => self.fill(id, *t, *x),
            ("gemm", [Some(c), Some(a), Some(b), _]) => self.gemm(id, [*c, *a, *b], args),
            ("sync", _) => {
                self.emit(OpKind::Sync, id);
                Ok(Value::Unit)
            }
            ("sync_warp", _) => {
                self.emit(OpKind::SyncWarp, id);
                Ok(Value::Unit)
            }
            ("cdiv", [Some(a), Some(b)]) => self.cdiv(*a, *b),
            ("min" | "max", [Some(a), Some(b), None]) => self.extreme(id, name == "min", *a, *b),
            ("print", _) => self.print(id, args),
            ("assert", [Some(condition), message]) => self.assert(*condition, *message),
            ("rearrange", [Some(t), Some(layout)]) => self.rearrange(id, *t, *layout, hint),
            ("copy_async", [Some(src), Some(dst), None, None]) => self.copy_async(id, *src, *dst),
            ("commit", _) => {
                self.emit(OpKind::Commit, id);
                Ok(Value::Unit)
            }
            ("wait", [Some(n)]) => self.wait(id, *n),
            ("where", [Some(c), Some(x), Some(y)]) => self.select(id, *c, *x, *y),
            ("fma", [Some(a), Some(b), Some(c)]) => self.elementwise_call(id, Operator::Fma, &[*a, *b, *c]),
            ("index", [Some(t), Some(axis)]) => self.coordinates(*t, *axis),
            ("sum", [Some(t), Some(axis)]) => self.reduce(id, Operator::Add, *t, *axis, hint),
            ("min", [Some(t), None, Some(axis)]) => self.reduce(id, Operator::Min, *t, *axis, hint),
            ("max", [Some(t), None, Some(axis)]) => self.reduce(id, Operator::Max, *t, *axis, hint),
            ("reduce", [Some(t), Some(axis), Some(op)]) => match self.closure_operator(*op)? {
                Some(operator) => self.reduce(id, operator, *t, *axis, hint),
                None => self.reduce_by(id, *t, *axis, *op, hint),
            },
            ("scan", [Some(t), Some(axis), Some(op)]) => self.scan(id, *t, *axis, *op, hint),
            ("scalar", [Some(t)]) => self.scalar(id, *t),
            ("atomic_add", [Some(view), Some(t)]) => self.atomic_add(id, *view, *t),
            ("gather", [Some(t), Some(rows)]) => self.gather(*t, *rows),
            ("size" | "cosize", [Some(x)]) => self.size(name, *x),
            ("coalesce" | "inverse" | "right_inverse" | "left_inverse", [Some(l), ..]) => {
                let layout = self.plain_layout(*l)?;
                let made = match name {
                    "coalesce" => Ok(layout.coalesce()),
                    "left_inverse" => layout.left_inverse(),
                    _ => Ok(layout.right_inverse()),
                };
                if name == "inverse" && made.as_ref().is_ok_and(|made| made.size() != layout.size()) {
                    let message = format!("`{layout}` is no permutation of 0..{}", layout.size());
                    let error = self
                        .error(&codes::LAYOUT_ALGEBRA, id, message)
                        .help("`right_inverse` or `left_inverse` may do");
                    return Err(self.report(error));
                }
                self.algebra(id, made)
            }
            ("complement", [Some(l), size]) => {
                let layout = self.plain_layout(*l)?;
                let size = size.map(|size| self.const_int(size, "the size")).transpose()?;
                self.algebra(id, layout.complement(size.unwrap_or(layout.cosize())))
            }
            ("compose", [Some(a), Some(b)]) => {
                let (a, b) = (self.plain_layout(*a)?, self.plain_layout(*b)?);
                self.algebra(id, a.compose(&b))
            }
            ("divide" | "product", [Some(l), Some(by)]) => {
                let (layout, by) = (self.plain_layout(*l)?, self.plain_layout(*by)?);
                let by = hx_layout::Tiler::Layout(by);
                let made =
                    if name == "divide" { layout.logical_divide(&by) } else { layout.logical_product(&by) };
                self.algebra(id, made)
            }
            (_, [Some(x)]) if is_math(name) => match Operator::find(name, 1) {
                Some(operator) => self.math(id, operator, *x),
                None => self.unsupported(id, format!("`{name}`")),
            },
            _ => self.unsupported(id, format!("`{name}`")),
        }
    }

    /// Evaluates a layout of known integers without a swizzle; an integer counts as a layout of one mode.
    fn plain_layout(&mut self, id: ExprId) -> Lower<Layout> {
        let found = match self.eval(id)?.widened() {
            Value::Layout(layout) => layout.to_layout(),
            Value::Int(x) => x.as_const().and_then(|x| Layout::flat(&[(x, 1)]).ok()),
            other => {
                let message = format!("found {}, wanted a layout", other.what());
                return self.fail(&codes::TYPE_MISMATCH, id, message);
            }
        };
        let message = "wanted a layout of known integers without a swizzle";
        found.map_or_else(|| self.fail(&codes::NOT_CONSTANT, id, message), Ok)
    }

    fn algebra(&mut self, id: ExprId, made: Result<Layout, hx_layout::LayoutError>) -> Lower<Value> {
        match made {
            Ok(layout) => Ok(Value::Layout(SymLayout::from_layout(&layout))),
            Err(error) => self.fail(&codes::LAYOUT_ALGEBRA, id, error.to_string()),
        }
    }

    /// Evaluates `size(x)`, the number of elements of a layout or tensor, or `cosize(x)`, one more than a layout's largest
    /// index.
    fn size(&mut self, name: &str, x: ExprId) -> Lower<Value> {
        match self.eval(x)? {
            Value::Tensor(t) if name == "size" => {
                let product = t.shape().iter().fold(Expr::constant(1), |p, e| &p * e);
                Ok(Value::Int(product.simplify(&self.facts)))
            }
            Value::Lazy(lazy) if name == "size" => {
                Ok(Value::Int(Expr::constant(lazy.shape.iter().product())))
            }
            Value::Layout(layout) => match layout.to_layout() {
                Some(l) => Ok(Value::Int(Expr::constant(if name == "size" { l.size() } else { l.cosize() }))),
                None => {
                    self.fail(&codes::NOT_CONSTANT, x, "wanted a layout of known integers without a swizzle")
                }
            },
            other => {
                let message = format!("found {}, wanted a layout for `{name}`", other.what());
                self.fail(&codes::TYPE_MISMATCH, x, message)
            }
        }
    }

    fn cdiv(&mut self, a: ExprId, b: ExprId) -> Lower<Value> {
        let (x, y) = (self.int(a), self.int(b));
        let (x, y) = (x?, y?);
        if y.as_const().is_some_and(|y| y <= 0) {
            return self.fail(
                &codes::CONSTANT_ERROR,
                b,
                format!("found the divisor `{y}`, wanted a positive one"),
            );
        }
        Ok(Value::Int(x.ceil_div(&y, &self.facts)))
    }

    fn extreme(&mut self, id: ExprId, least: bool, a: ExprId, b: ExprId) -> Lower<Value> {
        let x = self.eval(a);
        let mark = self.mark();
        let y = self.eval(b);
        match (x?, y?) {
            (x, y) if is_elementwise(&x) || is_elementwise(&y) => {
                self.unwritten(a, &x, mark)?;
                let operator = if least { Operator::Min } else { Operator::Max };
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
                let message = format!("found {} and {}, wanted two numbers", x.what(), y.what());
                self.fail(&codes::NO_SUCH_OPERATION, id, message)
            }
        }
    }

    /// Reports whether `a == b` follows from the facts.
    pub(crate) fn same(&self, a: &Expr, b: &Expr) -> bool {
        (a.clone() - b.clone()).simplify(&self.facts).is_zero()
    }
}

/// Reports whether `name` is a function of one number that applies to every element.
fn is_math(name: &str) -> bool {
    [
        "exp2", "exp", "log2", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos", "floor",
        "ceil", "round", "abs",
    ]
    .contains(&name)
}
