//! The header of a kernel: compile-time arguments, dimensions, `where`, parameters, grid, threads.

use hx_base::codes;
use hx_dtype::{Class, DType};
use hx_hir::{
    ArithOp, BinaryOp, CmpOp, Expr as HirExpr, ExprId, Kernel, KernelSignature, Kind, LogicOp, MemorySpace,
    Name, Resolution, Stmt, StmtKind, TypeRef, TypeRefId, auto_axes, kernel_signature, signature_names,
};
use hx_index::{Cond, Expr, Facts, Symbol};
use hx_layout::{ComposedLayout, Layout};
use hx_target::{Feature, Target};
use hx_tile::{Base, GridAxis, Param, Requirement, TensorParam};

use crate::error::{ItemPart, Lower, LowerError};
use crate::instance::usual_units;
use crate::lowering::Lowering;
use crate::value::{SymView, Tensor, Value};
use crate::{CtArgs, CtValue, LaunchFacts};

/// The results of reading the header, apart from its parameters.
pub(crate) struct Header {
    pub(crate) grid: Vec<GridAxis>,
    /// The number of blocks of a cluster along each axis.
    pub(crate) cluster: [u32; 3],
    /// The number of axes that the header's `cluster` names.
    pub(crate) cluster_axes: usize,
    /// The threads of a block; `None` if the roles of the body determine them.
    pub(crate) threads: Option<u32>,
    /// The number of blocks that a multiprocessor holds together, at least.
    pub(crate) blocks_per_sm: Option<u32>,
    pub(crate) requires: Vec<Requirement>,
}

impl<'db> Lowering<'db> {
    /// Reads the header; the kernel's frame must be the innermost one. The facts that the header states hold afterwards.
    pub(crate) fn header(
        &mut self,
        kernel: Kernel<'db>,
        args: &CtArgs,
        launch: &LaunchFacts,
    ) -> Lower<Header> {
        let sig = kernel_signature(self.db, kernel);
        let names = signature_names(self.db, kernel.into());
        self.bind_generics(kernel, sig, args)?;
        let units = launch.units.clone().unwrap_or_else(|| usual_units(self.db, kernel));
        for dim in &names.dims {
            let is_unit = dim.stride && units.contains(&dim.name);
            let value = if is_unit { Expr::constant(1) } else { Expr::symbol(Symbol::Dim(dim.name.clone())) };
            self.frame_mut().dims.insert(dim.name.clone(), value);
        }
        self.bind_scalars(sig);
        let requires = self.requirements(sig)?;
        for dim in &names.dims {
            let divisor = launch.divisor(&dim.name);
            if divisor > 1 {
                self.facts.divisible(Symbol::Dim(dim.name.clone()), i64::from(divisor));
            }
        }
        let mut result = Ok(());
        for (i, param) in sig.params.iter().enumerate() {
            result = result.and(self.bind_param(i, &param.name, param.ty, launch));
        }
        result?;
        let requires = requires.into_iter().chain(self.output.take_requirements());
        let mut requires: Vec<Requirement> = requires.collect();
        let grid = self.grid(sig)?;
        let threads = self.threads(sig)?;
        let cluster = self.cluster(sig, &grid, &mut requires)?;
        let cluster_axes = if sig.cluster.is_some() { grid.len() } else { 0 };
        let blocks_per_sm = self.blocks_per_sm(sig)?;
        Ok(Header { grid, cluster, cluster_axes, threads, blocks_per_sm, requires })
    }

    fn bind_generics(&mut self, kernel: Kernel<'db>, sig: &'db KernelSignature, args: &CtArgs) -> Lower<()> {
        if let Some(name) = args.keys().find(|name| !sig.generics.iter().any(|g| g.name == **name)) {
            let place = self.place_at(ItemPart::Name);
            let message = format!("the kernel has no compile-time parameter `{name}`");
            let error = LowerError::new(&codes::UNKNOWN_ARGUMENT, place, message);
            return Err(self.report(error));
        }
        for (i, generic) in sig.generics.iter().enumerate() {
            let place = self.place_at(ItemPart::Generic(i));
            let value = match (args.get(&generic.name), generic.default) {
                (Some(value), _) => Value::from_ct(value),
                (None, Some(default)) => match first_of_auto(self.db, kernel, &generic.name) {
                    Some(first) => first,
                    None => self.eval(default)?.widened(),
                },
                (None, None) => {
                    let message = format!("the compile-time parameter `{}` has no value", generic.name);
                    let error = LowerError::new(&codes::UNINFERRED_PARAMETER, place, message);
                    return Err(self.report(error));
                }
            };
            let kind = generic.ty.and_then(|ty| self.kind_of(ty));
            if let Some(kind) = kind
                && !fits(kind, &value)
            {
                let message =
                    format!("found {} for `{}`, expected {}", value.what(), generic.name, kind_text(kind));
                let error = LowerError::new(&codes::TYPE_MISMATCH, place, message);
                return Err(self.report(error));
            }
            if let (None, Value::Function(_)) = (kind, &value) {
                let message = format!("found {} for `{}`", value.what(), generic.name);
                let help = format!("a parameter that takes functions says so: `{}: fn`", generic.name);
                let error = LowerError::new(&codes::TYPE_MISMATCH, place, message).help(help);
                return Err(self.report(error));
            }
            if value.to_ct().is_none() {
                let message =
                    format!("the compile-time parameter `{}` is known only at run time", generic.name);
                let error = LowerError::new(&codes::NOT_CONSTANT, place, message);
                return Err(self.report(error));
            }
            self.frame_mut().generics[i] = value;
        }
        Ok(())
    }

    fn kind_of(&self, ty: TypeRefId) -> Option<Kind> {
        match self.frame().names.types.get(ty)? {
            Resolution::Kind(kind) => Some(*kind),
            Resolution::DType(dtype) => Some(match dtype.class() {
                Class::Bool => Kind::Bool,
                Class::Int => Kind::Int,
                Class::Float => Kind::Float,
            }),
            _ => None,
        }
    }

    /// Binds run-time numbers. They come before everything else because shapes and clauses may mention them.
    fn bind_scalars(&mut self, sig: &'db KernelSignature) {
        for (i, param) in sig.params.iter().enumerate() {
            let TypeRef::Named { shape: None, .. } = &sig.store[param.ty] else { continue };
            let Some(dtype) = self.element_type(param.ty) else { continue };
            let value = if dtype.is_int() {
                let symbol = Symbol::Scalar(param.name.clone());
                crate::whole::state_range(&mut self.facts, symbol.clone(), dtype);
                Value::Scalar(hx_tile::Scalar::Integer { value: Expr::symbol(symbol), dtype })
            } else {
                Value::Scalar(hx_tile::Scalar::Param { name: param.name.to_string(), dtype })
            };
            self.frame_mut().params[i] = value;
        }
    }

    pub(crate) fn element_type(&self, ty: TypeRefId) -> Option<DType> {
        match self.frame().names.types.get(ty)? {
            Resolution::DType(dtype) => Some(*dtype),
            Resolution::Generic(i) => match self.frame().generics.get(*i as usize)? {
                Value::DType(dtype) => Some(*dtype),
                _ => None,
            },
            _ => None,
        }
    }

    fn bind_param(&mut self, i: usize, name: &str, ty: TypeRefId, launch: &LaunchFacts) -> Lower<()> {
        let store = self.store();
        let TypeRef::Named { space, mutable, shape, layout, .. } = &store[ty] else {
            let place = self.place_at(ItemPart::Param(i));
            let error =
                LowerError::new(&codes::UNSUPPORTED, place, "a tuple parameter cannot be compiled yet");
            return Err(self.report(error));
        };
        let place = self.place_at(ItemPart::Param(i));
        let Some(dtype) = self.element_type(ty) else {
            let error = LowerError::new(
                &codes::WRONG_KIND,
                place,
                format!("the type of `{name}` is not an element type"),
            );
            return Err(self.report(error));
        };
        let is_elsewhere = space.is_some_and(|space| match space {
            MemorySpace::Shared | MemorySpace::Register => true,
            MemorySpace::Global => false,
        });
        if is_elsewhere {
            let message = format!("`{name}` is a kernel parameter, so it is in global memory");
            let error = LowerError::new(&codes::WRONG_MEMORY, place, message);
            return Err(self.report(error));
        }
        let Some(shape) = shape else {
            let name = name.to_owned();
            self.output.add_param(if dtype.is_int() {
                Param::Int { name, dtype }
            } else {
                Param::Float { name, dtype }
            });
            return Ok(());
        };
        let shape = shape.iter().map(|e| self.int(*e)).collect::<Lower<Vec<Expr>>>()?;
        let (stride, block) = self.strides(&shape, *layout)?;
        let id = self.output.next_param();
        let tensor =
            Tensor { view: SymView::whole(Base::Global(id), &shape), dtype, mutable: *mutable, fresh: false };
        self.output.add_param(Param::Tensor(TensorParam {
            name: name.to_owned(),
            dtype,
            mutable: *mutable,
            shape,
            stride,
            block,
            // An access starts at an element, so the alignment is at least the element's size.
            align: launch.alignment(name).max(dtype.bits() / 8),
        }));
        self.frame_mut().params[i] = Value::Tensor(tensor);
        Ok(())
    }

    /// Returns the strides: row-major unless the type names strides. A block layout is returned as well; its repetitions are
    /// row-major.
    fn strides(&mut self, shape: &[Expr], layout: Option<ExprId>) -> Lower<(Vec<Expr>, Option<Layout>)> {
        let row_major = || {
            let mut stride = Expr::constant(1);
            let mut strides: Vec<Expr> = Vec::with_capacity(shape.len());
            for extent in shape.iter().rev() {
                strides.push(stride.clone());
                stride = &stride * extent;
            }
            strides.reverse();
            strides
        };
        let Some(layout) = layout else { return Ok((row_major(), None)) };
        let strides = match self.eval(layout)? {
            Value::Auto => return Ok((row_major(), None)),
            Value::Layout(value) => {
                let block = match value.to_composed() {
                    Ok(block) => self.block_layout(layout, shape, block)?,
                    Err((code, message)) => return self.fail(code, layout, message),
                };
                return Ok((row_major(), Some(block)));
            }
            _ => self.ints(layout)?,
        };
        if strides.len() != shape.len() {
            let message = format!("found {} strides, expected {}", strides.len(), shape.len());
            return self.fail(&codes::RANK_MISMATCH, layout, message);
        }
        Ok((strides, None))
    }

    /// Checks the block layout of a tensor. It needs one mode for each dimension, and must map the elements one-to-one onto
    /// consecutive places. The extents of the tensor must be multiples of the block's extents.
    fn block_layout(&mut self, at: ExprId, shape: &[Expr], layout: ComposedLayout) -> Lower<Layout> {
        if !layout.swizzle.is_identity() {
            return self.fail(&codes::LAYOUT_ALGEBRA, at, "the layout of global memory has no swizzle");
        }
        let block = layout.layout;
        let modes = block.modes();
        if modes.len() != shape.len() {
            let message = format!(
                "found the layout `{block}` of rank {}, expected rank {}: a mode for each dimension",
                modes.len(),
                shape.len()
            );
            return self.fail(&codes::RANK_MISMATCH, at, message);
        }
        if !block.is_injective().unwrap_or(false) || block.cosize() != block.size() {
            let message = format!(
                "the block `{block}` has {} elements in {} places, expected each in one of its own and none left over",
                block.size(),
                block.cosize()
            );
            return self.fail(&codes::LAYOUT_ALGEBRA, at, message);
        }
        for (extent, mode) in shape.iter().zip(&modes) {
            let size = mode.size();
            let rest = extent.rem(&Expr::constant(size), &self.facts);
            if let Some(rest) = rest.as_const() {
                if rest != 0 {
                    let message = format!(
                        "found the extent `{extent}`, expected a multiple of {size}, that of the block `{block}`"
                    );
                    return self.fail(&codes::SHAPE_MISMATCH, at, message);
                }
                continue;
            }
            let cond = hx_index::Cond::cmp(hx_index::CmpOp::Eq, rest, Expr::default(), &self.facts);
            self.output.require(Requirement { cond, text: format!("{extent} % {size} == 0") });
            if let Some(symbol) = extent.as_symbol() {
                self.facts.divisible(symbol.clone(), size);
            }
        }
        Ok(block)
    }

    fn grid(&mut self, sig: &'db KernelSignature) -> Lower<Vec<GridAxis>> {
        let Some(grid) = sig.grid else {
            return self.header_error("the kernel has no `grid`: how many blocks run it");
        };
        let blocks = self.ints(grid)?;
        if blocks.is_empty() || blocks.len() > 3 {
            return self.fail(
                &codes::BAD_HEADER,
                grid,
                format!("found {} axes, expected 1 to 3", blocks.len()),
            );
        }
        for (axis, count) in blocks.iter().enumerate() {
            self.facts.at_most(Symbol::BlockIdx(axis as u8), count.clone() - Expr::constant(1));
        }
        blocks.iter().for_each(|count| self.facts.occupied(count));
        self.grid.set(blocks.clone());
        Ok(blocks.into_iter().map(|blocks| GridAxis { blocks }).collect())
    }

    fn threads(&mut self, sig: &'db KernelSignature) -> Lower<Option<u32>> {
        let Some(threads) = sig.threads else {
            if self.frame().item.body(self.db).store.stmts.values().any(is_warp_groups) {
                return Ok(None);
            }
            return self.header_error("the kernel has no `threads`: how many threads a block has");
        };
        let count = self.const_int(threads, "the number of threads")?;
        let limits = self.target.limits();
        let most = limits.threads_per_block;
        if count > i64::from(most) {
            let message = format!("found {count} threads, expected at most {most}");
            return self.fail(&codes::TOO_MANY_THREADS, threads, message);
        }
        let warp = i64::from(limits.lanes);
        if count <= 0 || count % warp != 0 {
            return self.fail(
                &codes::BAD_THREAD_COUNT,
                threads,
                format!("found {count} threads, expected a multiple of {warp}"),
            );
        }
        Ok(Some(count as u32))
    }

    /// Returns the number of blocks that a multiprocessor holds together, at least, if the header says so. The solver knows whether their
    /// threads and their shared memory fit.
    fn blocks_per_sm(&mut self, sig: &'db KernelSignature) -> Lower<Option<u32>> {
        let Some(at) = sig.blocks_per_sm else { return Ok(None) };
        let count = self.const_int(at, "the number of blocks")?;
        let most = self.target.limits().resident_blocks;
        match u32::try_from(count) {
            Ok(count @ 1..) if count <= most => Ok(Some(count)),
            _ => {
                let message = format!("found {count} blocks on a multiprocessor, expected 1 to {most}");
                self.fail(&codes::BAD_HEADER, at, message)
            }
        }
    }

    /// Returns the most blocks of a cluster. A target without clusters refuses the program later, so that the refusal names it: here
    /// the limit of the others holds.
    fn most_in_a_cluster(&self) -> i64 {
        let own = std::iter::once(self.target).chain(Target::all().iter().copied());
        let most =
            own.filter(|target| target.has(Feature::Clusters)).map(|target| target.limits.cluster).next();
        i64::from(most.unwrap_or(1))
    }

    /// Returns the number of blocks of a cluster along each axis. Along each axis the grid must be a multiple of it: a
    /// requirement of the launch, unless the instance decides it.
    fn cluster(
        &mut self,
        sig: &'db KernelSignature,
        grid: &[GridAxis],
        requires: &mut Vec<Requirement>,
    ) -> Lower<[u32; 3]> {
        let mut out = [1; 3];
        let Some(cluster) = sig.cluster else { return Ok(out) };
        let most = self.most_in_a_cluster();
        let counts = self.ints(cluster)?;
        if counts.len() != grid.len() {
            let message = format!(
                "found {} axes in `cluster`, expected {}, those of the `grid`",
                counts.len(),
                grid.len()
            );
            return self.fail(&codes::BAD_CLUSTER, cluster, message);
        }
        for (axis, (count, GridAxis { blocks })) in counts.iter().zip(grid).enumerate() {
            let Some(size) = count.as_const() else {
                let message =
                    format!("expected a constant, found `{count}` blocks of a cluster along axis {axis}");
                return self.fail(&codes::BAD_CLUSTER, cluster, message);
            };
            if !(1..=most).contains(&size) {
                let message =
                    format!("found {size} blocks of a cluster along axis {axis}, expected 1 to {most}");
                return self.fail(&codes::BAD_CLUSTER, cluster, message);
            }
            out[axis] = size as u32;
            let rest = blocks.rem(&Expr::constant(size), &self.facts);
            match rest.as_const() {
                Some(0) => {}
                Some(rest) => {
                    let message = format!(
                        "found a grid of `{blocks}` blocks along axis {axis}, expected a multiple of {size}: clusters of {size} leave {rest}"
                    );
                    return self.fail(&codes::BAD_CLUSTER, cluster, message);
                }
                None => {
                    let cond = hx_index::Cond::cmp(hx_index::CmpOp::Eq, rest, Expr::default(), &self.facts);
                    requires.push(Requirement { cond, text: format!("({blocks}) % {size} == 0") });
                }
            }
        }
        let total: u32 = out.iter().product();
        if i64::from(total) > most {
            let message = format!("found {total} blocks in a cluster, expected at most {most}");
            return self.fail(&codes::BAD_CLUSTER, cluster, message);
        }
        Ok(out)
    }

    fn header_error<T>(&mut self, message: &str) -> Lower<T> {
        let place = self.place_at(ItemPart::Name);
        let error = LowerError::new(&codes::BAD_HEADER, place, message);
        Err(self.report(error))
    }

    /// Binds the compile-time arguments and the numbers of the launch, and evaluates the `where` clauses.
    pub(crate) fn conditions(
        &mut self,
        kernel: Kernel<'db>,
        sig: &'db KernelSignature,
        args: &CtArgs,
    ) -> Lower<Vec<Cond>> {
        self.bind_generics(kernel, sig, args)?;
        self.bind_scalars(sig);
        sig.wheres.iter().map(|predicate| self.cond(predicate.condition)).collect()
    }

    /// Evaluates the `where` clauses as conditions and adds them to the facts.
    fn requirements(&mut self, sig: &'db KernelSignature) -> Lower<Vec<Requirement>> {
        // The conditions are simplified without the facts that they state, which would reduce them to `true`.
        let mut facts = Facts::default();
        for param in &sig.params {
            if let (TypeRef::Named { shape: None, .. }, Some(dtype)) =
                (&sig.store[param.ty], self.element_type(param.ty))
            {
                crate::whole::state_range(&mut facts, Symbol::Scalar(param.name.clone()), dtype);
            }
        }
        let mut requires = Vec::new();
        for predicate in &sig.wheres {
            let cond = self.cond(predicate.condition)?;
            match cond {
                hx_index::Cond::True => {}
                hx_index::Cond::False => {
                    let error = self
                        .error(
                            &codes::BROKEN_REQUIREMENT,
                            predicate.condition,
                            format!("`{}` does not hold for this instance", predicate.text),
                        )
                        .help("choose other compile-time arguments");
                    return Err(self.report(error));
                }
                cond => requires.push(Requirement { cond, text: predicate.text.clone() }),
            }
        }
        for predicate in &sig.wheres {
            self.state(predicate.condition, &mut facts)?;
        }
        self.facts = facts;
        Ok(requires)
    }

    /// Adds to `facts` what follows from the condition; parts that facts cannot express are ignored.
    fn state(&mut self, condition: ExprId, facts: &mut Facts) -> Lower<()> {
        let store = self.store();
        let HirExpr::Binary { op, lhs, rhs } = &store[condition] else { return Ok(()) };
        match op {
            BinaryOp::Logic(LogicOp::And) => {
                self.state(*lhs, facts)?;
                self.state(*rhs, facts)
            }
            BinaryOp::Cmp(CmpOp::Eq) => {
                // `x % d == 0`
                if let HirExpr::Binary { op: BinaryOp::Arith(ArithOp::Rem), lhs: x, rhs: d } = &store[*lhs] {
                    let (x, d, zero) = (self.int(*x)?, self.int(*d)?, self.int(*rhs)?);
                    match (x.as_symbol().cloned(), d.as_const()) {
                        (Some(symbol), Some(d)) if zero.is_zero() && d > 0 => facts.divisible(symbol, d),
                        (_, None) if zero.is_zero() => facts.exact(&x, &d),
                        _ => {}
                    }
                    return Ok(());
                }
                let (a, b) = (self.int_or_none(*lhs)?, self.int_or_none(*rhs)?);
                if let (Some(a), Some(b)) = (a, b) {
                    at_most(facts, &a, &b);
                    at_least(facts, &a, &b);
                    at_most(facts, &b, &a);
                    at_least(facts, &b, &a);
                    facts.equal(&a, &b);
                }
                Ok(())
            }
            BinaryOp::Cmp(op @ (CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge)) => {
                let (Some(a), Some(b)) = (self.int_or_none(*lhs)?, self.int_or_none(*rhs)?) else {
                    return Ok(());
                };
                let one = Expr::constant(1);
                let (low, high) = match op {
                    CmpOp::Lt => (a + one, b),
                    CmpOp::Le => (a, b),
                    CmpOp::Gt => (b + one, a),
                    _ => (b, a),
                };
                at_most(facts, &low, &high);
                at_least(facts, &high, &low);
                facts.ordered(&low, &high);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn int_or_none(&mut self, id: ExprId) -> Lower<Option<Expr>> {
        Ok(match self.eval(id)?.widened() {
            Value::Int(x) => Some(x),
            _ => None,
        })
    }
}

/// Returns the value of a parameter whose default is `auto`, if nobody has chosen one: the first of its axis.
fn first_of_auto(db: &dyn hx_hir::Db, kernel: Kernel<'_>, name: &Name) -> Option<Value> {
    let (_, values) = auto_axes(db, kernel).into_iter().find(|(axis, _)| axis == name)?;
    values.first().map(|first| Value::from_ct(&CtValue::from(*first)))
}

/// States `x <= bound` if `x` is one symbol plus a constant. If the new bound cannot be compared with a known one, the known
/// one stays.
fn at_most(facts: &mut Facts, x: &Expr, bound: &Expr) {
    let constant = Expr::constant(x.constant_term());
    let Some(symbol) = (x.clone() - constant.clone()).as_symbol().cloned() else { return };
    let bound = bound.clone() - constant;
    // A bound by a later symbol could make proofs circular.
    if bound.symbols().iter().any(|s| *s >= symbol) {
        return;
    }
    let known = facts.range(&Expr::symbol(symbol.clone())).1;
    if known.is_none_or(|k| facts.launch_range(&bound).1.is_some_and(|b| b < k)) {
        // `Facts::at_most` also states the lower bound 0, which is wrong for a number that may be negative.
        if matches!(symbol, Symbol::Scalar(_)) && facts.range(&Expr::symbol(symbol.clone())).0.is_none() {
            return;
        }
        facts.at_most(symbol, bound);
    }
}

/// States `x >= bound` if `x` is one symbol plus a constant; `bound` is replaced by its least value.
fn at_least(facts: &mut Facts, x: &Expr, bound: &Expr) {
    let constant = x.constant_term();
    let symbol = (x.clone() - Expr::constant(constant)).as_symbol().cloned();
    let (Some(symbol), Some(bound)) = (symbol, facts.range(bound).0) else { return };
    let bound = bound - constant;
    if facts.range(&Expr::symbol(symbol.clone())).0.is_none_or(|known| known < bound) {
        facts.at_least(symbol, bound);
    }
}

fn is_warp_groups(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::WarpGroups(_))
}

fn fits(kind: Kind, value: &Value) -> bool {
    matches!(
        (kind, value),
        (Kind::Int, Value::Int(_))
            | (Kind::Float, Value::Float(_) | Value::Int(_))
            | (Kind::Bool, Value::Bool(_))
            | (Kind::Type, Value::DType(_))
            | (Kind::Layout, Value::Layout(_) | Value::Auto)
            | (Kind::Function, Value::Function(_))
    )
}

fn kind_text(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "an integer",
        Kind::Float => "a number",
        Kind::Bool => "a truth value",
        Kind::Type => "an element type",
        Kind::Layout => "a layout",
        Kind::Function => "a function",
        Kind::Pipeline => "a pipeline, which only a parameter of a `fn` can be",
        Kind::Turns => "turns, which only a parameter of a `fn` can be",
        Kind::Barrier => "a barrier, which only a parameter of a `fn` can be",
        Kind::Counter => "a counter, which only a parameter of a `fn` can be",
    }
}
