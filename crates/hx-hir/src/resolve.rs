//! The meanings of the names in a body or signature.
//!
//! Resolution walks the scopes once, in the order of the text, and reads no types. Names without a meaning are kept as
//! [`NameProblem`]s, by id.

use hx_base::SourceFile;
use hx_dtype::DType;
use la_arena::ArenaMap;

use crate::{
    Block, Builtin, BuiltinValue, Db, Expr, ExprId, ExprStore, Function, GenericParam, Item, ItemKey, Kernel,
    Name, Param, Pat, PatId, Path, PathTarget, Place, Predicate, StmtId, StmtKind, TypeRef, TypeRefId,
    body_of, builtin, fn_signature, is_binding, kernel_family, kernel_signature, kernel_tune, resolve_path,
};

/// The meaning of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// A local, by the pattern that introduces it.
    Local(PatId),
    /// A value that an earlier cell of the session bound.
    Binding(Name),
    /// A run-time parameter, by position.
    Param(u32),
    /// A compile-time parameter, by position.
    Generic(u32),
    /// A dimension or stride that the parameters' types bind.
    Dim(Name),
    /// The result of a function, in its `where` clause.
    Result,
    Item(ItemKey),
    /// A file, reached by `use`.
    Module(SourceFile),
    Builtin(Builtin),
    DType(DType),
    Kind(Kind),
}

impl Resolution {
    /// Returns the item, if the name means one.
    pub fn item(&self) -> Option<&ItemKey> {
        match self {
            Resolution::Item(key) => Some(key),
            _ => None,
        }
    }
}

/// The kinds of compile-time values other than element types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    Int,
    Float,
    Bool,
    Type,
    Layout,
    /// A tile function.
    Function,
    /// Only a `fn` has parameters of this kind and the next three.
    Pipeline,
    Turns,
    Barrier,
    Counter,
}

impl Kind {
    /// Returns the kind of that name; `None` for any other name.
    pub fn parse(name: &str) -> Option<Kind> {
        Some(match name {
            "int" => Kind::Int,
            "type" => Kind::Type,
            "layout" => Kind::Layout,
            "fn" => Kind::Function,
            "pipeline" => Kind::Pipeline,
            "turns" => Kind::Turns,
            "barrier" => Kind::Barrier,
            "counter" => Kind::Counter,
            _ => return None,
        })
    }
}

/// The meanings of the names of one store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// The meaning of each [`Expr::Path`] that has one.
    pub exprs: ArenaMap<ExprId, Resolution>,
    /// The meaning of the name of each [`TypeRef::Named`].
    pub types: ArenaMap<TypeRefId, Resolution>,
    pub problems: Vec<NameProblem>,
}

impl Names {
    /// Reports whether an expression is `auto`.
    pub fn is_auto(&self, expr: ExprId) -> bool {
        self.exprs.get(expr) == Some(&Resolution::Builtin(Builtin::Value(BuiltinValue::Auto)))
    }

    /// Reports whether an expression is `infer`.
    pub fn is_infer(&self, expr: ExprId) -> bool {
        self.exprs.get(expr) == Some(&Resolution::Builtin(Builtin::Value(BuiltinValue::Infer)))
    }

    /// Reports whether a clause of a function's `where` is about the result, so that the function promises it. Any other is about the
    /// arguments, and a call has to keep it.
    pub fn is_promise(&self, store: &ExprStore, clause: &Predicate) -> bool {
        store.any_below(clause.condition, &mut |expr| self.exprs.get(expr) == Some(&Resolution::Result))
    }
}

/// A name without a meaning, or without one in this place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameProblem {
    /// The name has no meaning; `scope` lists the local names that were in scope.
    Unknown {
        expr: ExprId,
        path: Path,
        /// Whether the path is called, so that a function is expected.
        called: bool,
        scope: Vec<Name>,
    },
    UnknownType {
        ty: TypeRefId,
        path: Path,
    },
    /// The name means something other than a type.
    NotAType {
        ty: TypeRefId,
        path: Path,
    },
    /// A name of host code is used in device code, or the other way round.
    WrongPlace {
        expr: ExprId,
        path: Path,
        place: Place,
    },
    /// The parameter at this position has the name of an earlier one.
    DuplicateParam {
        generic: bool,
        index: usize,
        name: Name,
    },
}

/// The name of a function's result in its `where` clause.
pub const RESULT: &str = "result";

/// The meanings of the names of a signature, and the dimensions that it binds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SignatureNames {
    pub names: Names,
    /// The dimensions, in the order of their first bare use.
    pub dims: Vec<Dim>,
}

/// A dimension or stride bound by a parameter's type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dim {
    pub name: Name,
    /// The first bare use of the name.
    pub at: ExprId,
    /// The position of the parameter that binds it.
    pub param: u32,
    /// The index of the entry in the parameter's shape or strides.
    pub axis: u32,
    pub stride: bool,
}

/// Resolves the names of the signature of a kernel or function; empty for other items.
#[salsa::tracked]
pub fn signature_names<'db>(db: &'db dyn Db, item: Item<'db>) -> SignatureNames {
    match item {
        Item::Kernel(kernel) => kernel_names(db, kernel),
        Item::Function(function) => function_names(db, function),
        _ => SignatureNames::default(),
    }
}

fn kernel_names<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> SignatureNames {
    let sig = kernel_signature(db, kernel);
    let clauses: Vec<ExprId> =
        [sig.grid, sig.threads, sig.cluster, sig.blocks_per_sm].into_iter().flatten().collect();
    let resolver = Resolver::new(db, kernel.file(db), Place::Device, &sig.store);
    resolver.signature(&sig.generics, &sig.params, None, &sig.wheres, &clauses)
}

fn function_names<'db>(db: &'db dyn Db, function: Function<'db>) -> SignatureNames {
    let sig = fn_signature(db, function);
    let resolver = Resolver::new(db, function.file(db), Place::Device, &sig.store);
    resolver.signature(&sig.generics, &sig.params, sig.ret, &sig.wheres, &[])
}

/// Resolves the names of a kernel's `tune` clause. The parameter of an axis means one of the kernel's; a name that means nothing
/// there is left to inference, which reports it.
#[salsa::tracked]
pub fn tune_names<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Names {
    let clause = kernel_tune(db, kernel);
    let sig = kernel_signature(db, kernel);
    let mut resolver = Resolver::new(db, kernel.file(db), Place::Device, &clause.store);
    resolver.declare(&sig.generics, &sig.params);
    for dim in &signature_names(db, kernel.into()).dims {
        resolver.bind(dim.name.clone(), Resolution::Dim(dim.name.clone()));
    }
    for axis in &clause.axes {
        if let Some(found) = resolver.bare_name(axis.param).and_then(|name| resolver.scoped(name)) {
            resolver.names.exprs.insert(axis.param, found);
        }
        resolver.expr(axis.at);
        axis.step.into_iter().for_each(|step| resolver.expr(step));
    }
    resolver.names
}

/// Resolves the names in the family of a kernel: kernels, and the constants among their arguments. The list cannot name the parameters of
/// the kernel, because a launch reads it before it binds them.
#[salsa::tracked]
pub fn family_names<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Names {
    let list = kernel_family(db, kernel);
    let mut resolver = Resolver::new(db, kernel.file(db), Place::Host, &list.store);
    list.members.iter().for_each(|member| resolver.expr(*member));
    resolver.names
}

/// Resolves the names of the body of an item.
#[salsa::tracked]
pub fn body_names<'db>(db: &'db dyn Db, item: Item<'db>) -> Names {
    let place = Place::of(item);
    let body = body_of(db, item);
    let mut resolver = Resolver::new(db, item.file(db), place, &body.store);
    resolver.sees_bindings = matches!(item, Item::Cell(_));
    let (generics, params) = match item {
        Item::Kernel(it) => {
            let sig = kernel_signature(db, it);
            (sig.generics.as_slice(), sig.params.as_slice())
        }
        Item::Function(it) => {
            let sig = fn_signature(db, it);
            (sig.generics.as_slice(), sig.params.as_slice())
        }
        _ => (&[][..], &[][..]),
    };
    resolver.declare(generics, params);
    for dim in &signature_names(db, item).dims {
        resolver.bind(dim.name.clone(), Resolution::Dim(dim.name.clone()));
    }
    if let Some(ty) = body.ty {
        resolver.type_ref(ty);
    }
    if let Some(cases) = body.cases {
        resolver.expr(cases.values);
        resolver.pat(cases.pat);
    }
    for variable in &body.forall {
        resolver.expr(variable.at);
        resolver.pat(variable.pat);
    }
    resolver.expr(body.root);
    resolver.names
}

struct Resolver<'a> {
    db: &'a dyn Db,
    file: SourceFile,
    place: Place,
    /// True for the statements of a cell, which see the values that earlier cells bound. Items never see them.
    sees_bindings: bool,
    store: &'a ExprStore,
    scopes: Vec<Vec<(Name, Resolution)>>,
    names: Names,
}

impl<'a> Resolver<'a> {
    fn new(db: &'a dyn Db, file: SourceFile, place: Place, store: &'a ExprStore) -> Resolver<'a> {
        let (scopes, names) = (vec![Vec::new()], Names::default());
        Resolver { db, file, place, sees_bindings: false, store, scopes, names }
    }

    fn bind(&mut self, name: Name, to: Resolution) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((name, to));
        }
    }

    fn declare(&mut self, generics: &[GenericParam], params: &[Param]) {
        for (i, generic) in generics.iter().enumerate() {
            self.bind(generic.name.clone(), Resolution::Generic(i as u32));
        }
        for (i, param) in params.iter().enumerate() {
            self.bind(param.name.clone(), Resolution::Param(i as u32));
        }
    }

    fn signature(
        mut self,
        generics: &[GenericParam],
        params: &[Param],
        ret: Option<TypeRefId>,
        wheres: &[Predicate],
        clauses: &[ExprId],
    ) -> SignatureNames {
        self.duplicates(generics, params);
        // A default value sees the parameters before it.
        for (i, generic) in generics.iter().enumerate() {
            if let Some(ty) = generic.ty {
                self.type_ref(ty);
            }
            if let Some(default) = generic.default {
                self.expr(default);
            }
            self.bind(generic.name.clone(), Resolution::Generic(i as u32));
        }
        for (i, param) in params.iter().enumerate() {
            self.bind(param.name.clone(), Resolution::Param(i as u32));
        }
        let dims = self.dims(params);
        for dim in &dims {
            self.bind(dim.name.clone(), Resolution::Dim(dim.name.clone()));
        }
        for param in params {
            self.type_ref(param.ty);
        }
        if let Some(ret) = ret {
            self.type_ref(ret);
            // A parameter or dimension of that name hides the result.
            if self.scoped(RESULT).is_none() {
                self.bind(RESULT.into(), Resolution::Result);
            }
        }
        for &expr in wheres.iter().map(|p| &p.condition).chain(clauses) {
            self.expr(expr);
        }
        SignatureNames { names: self.names, dims }
    }

    fn duplicates(&mut self, generics: &[GenericParam], params: &[Param]) {
        let names = generics.iter().map(|g| &g.name).chain(params.iter().map(|p| &p.name));
        let mut seen: Vec<&Name> = Vec::new();
        for (i, name) in names.enumerate() {
            if seen.contains(&name) && name != "_" {
                let generic = i < generics.len();
                let index = if generic { i } else { i - generics.len() };
                self.names.problems.push(NameProblem::DuplicateParam { generic, index, name: name.clone() });
            }
            seen.push(name);
        }
    }

    /// Returns the dimensions and strides that parameters bind: names that stand alone in a shape or stride and mean nothing
    /// else.
    fn dims(&self, params: &[Param]) -> Vec<Dim> {
        let mut dims: Vec<Dim> = Vec::new();
        for (i, param) in params.iter().enumerate() {
            let TypeRef::Named { shape, layout, .. } = &self.store[param.ty] else { continue };
            let strides: &[ExprId] = match layout.map(|l| &self.store[l]) {
                Some(Expr::Array(strides)) => strides,
                _ => &[],
            };
            let shape = shape.iter().flatten().enumerate().map(|(axis, e)| (axis, *e, false));
            for (axis, expr, stride) in
                shape.chain(strides.iter().enumerate().map(|(axis, e)| (axis, *e, true)))
            {
                let Some(name) = self.bare_name(expr) else { continue };
                let known = self.scoped(name).is_some() || dims.iter().any(|d| d.name == *name);
                if !known && !self.is_constant(name) {
                    dims.push(Dim {
                        name: name.clone(),
                        at: expr,
                        param: i as u32,
                        axis: axis as u32,
                        stride,
                    });
                }
            }
        }
        dims
    }

    /// Reports whether a name means a constant. Only a constant prevents a name from binding a dimension; a kernel called `k`
    /// does not.
    fn is_constant(&self, name: &Name) -> bool {
        let target = resolve_path(self.db, self.file, &Path::from_name(name.clone()));
        matches!(target, Some(PathTarget::Item(Item::Const(_))))
    }

    fn bare_name(&self, expr: ExprId) -> Option<&'a Name> {
        match &self.store[expr] {
            Expr::Path { path, generics } if generics.is_empty() => path.as_name(),
            _ => None,
        }
    }

    fn scoped(&self, name: &str) -> Option<Resolution> {
        let innermost = self.scopes.iter().rev().flat_map(|scope| scope.iter().rev());
        innermost.into_iter().find(|(n, _)| n == name).map(|(_, to)| to.clone())
    }

    fn lookup(&self, path: &Path) -> Option<Resolution> {
        if let Some(name) = path.as_name()
            && let Some(found) = self.scoped(name)
        {
            return Some(found);
        }
        if let Some(name) = path.as_name()
            && self.sees_bindings
            && is_binding(self.db, self.file, name)
        {
            return Some(Resolution::Binding(name.clone()));
        }
        match resolve_path(self.db, self.file, path) {
            Some(PathTarget::Item(item)) => return Some(Resolution::Item(item.key(self.db))),
            Some(PathTarget::Module(file)) => return Some(Resolution::Module(file)),
            None => {}
        }
        if let Some(found) = builtin(&path.to_string(), self.place) {
            return Some(Resolution::Builtin(found));
        }
        DType::parse(path.as_name()?).map(Resolution::DType)
    }

    fn path(&mut self, id: ExprId, path: &Path, called: bool) {
        if let Some(found) = self.lookup(path) {
            self.names.exprs.insert(id, found);
            return;
        }
        let elsewhere =
            [Place::Host, Place::Device].into_iter().find(|p| builtin(&path.to_string(), *p).is_some());
        let problem = match elsewhere {
            Some(place) => NameProblem::WrongPlace { expr: id, path: path.clone(), place },
            None => {
                let mut scope: Vec<Name> = self.scopes.iter().flatten().map(|(n, _)| n.clone()).collect();
                scope.sort();
                scope.dedup();
                NameProblem::Unknown { expr: id, path: path.clone(), called, scope }
            }
        };
        self.names.problems.push(problem);
    }

    fn type_ref(&mut self, id: TypeRefId) {
        match &self.store[id] {
            TypeRef::Missing => {}
            TypeRef::Tuple(fields) => fields.iter().for_each(|f| self.type_ref(*f)),
            TypeRef::Named { path, shape, layout, .. } => {
                self.type_name(id, path);
                for &dim in shape.iter().flatten() {
                    self.expr(dim);
                }
                if let Some(layout) = layout {
                    self.expr(*layout);
                }
            }
        }
    }

    fn type_name(&mut self, id: TypeRefId, path: &Path) {
        let name = path.as_name();
        let known = name.and_then(|n| {
            DType::parse(n).map(Resolution::DType).or_else(|| Kind::parse(n).map(Resolution::Kind))
        });
        match known.or_else(|| self.lookup(path)) {
            Some(found @ (Resolution::DType(_) | Resolution::Kind(_) | Resolution::Generic(_))) => {
                self.names.types.insert(id, found);
            }
            Some(found @ Resolution::Item(ItemKey { kind: crate::ItemKind::Const, .. })) => {
                // Inference checks that the constant is an element type.
                self.names.types.insert(id, found);
            }
            Some(_) => self.names.problems.push(NameProblem::NotAType { ty: id, path: path.clone() }),
            None => self.names.problems.push(NameProblem::UnknownType { ty: id, path: path.clone() }),
        }
    }

    fn expr(&mut self, id: ExprId) {
        let store = self.store;
        match &store[id] {
            Expr::Missing | Expr::Literal(_) | Expr::New | Expr::Wildcard => {}
            Expr::Path { path, generics } => {
                self.path(id, path, false);
                generics.iter().for_each(|g| self.expr(g.value));
            }
            Expr::Unary { operand, .. } => self.expr(*operand),
            Expr::Binary { lhs, rhs, .. } => self.all(&[*lhs, *rhs]),
            Expr::Call { callee, args } => {
                match &store[*callee] {
                    Expr::Path { path, generics } => {
                        self.path(*callee, path, true);
                        generics.iter().for_each(|g| self.expr(g.value));
                    }
                    _ => self.expr(*callee),
                }
                args.iter().for_each(|a| self.expr(a.value));
            }
            Expr::MethodCall { receiver, args, .. } => {
                self.expr(*receiver);
                args.iter().for_each(|a| self.expr(a.value));
            }
            Expr::Field { base, .. } => self.expr(*base),
            Expr::Index { base, args } => {
                self.expr(*base);
                self.all(args);
            }
            Expr::Guarded { read, otherwise } => self.all(&[*read, *otherwise]),
            Expr::Tuple(fields) => fields.iter().for_each(|f| self.expr(f.value)),
            Expr::Array(elements) => self.all(elements),
            Expr::Layout { shape, stride } => self.all(&[*shape, *stride]),
            Expr::Range { start, end } => start.iter().chain(end).for_each(|e| self.expr(*e)),
            Expr::Closure { params, body } => self.scoped_walk(|this| {
                params.iter().for_each(|p| this.pat(*p));
                this.expr(*body);
            }),
            Expr::If { condition, then, otherwise } => {
                self.all(&[*condition, *then]);
                otherwise.iter().for_each(|e| self.expr(*e));
            }
            Expr::Block(Block { stmts, tail }) => self.scoped_walk(|this| {
                stmts.iter().for_each(|s| this.stmt(*s));
                tail.iter().for_each(|e| this.expr(*e));
            }),
        }
    }

    fn all(&mut self, exprs: &[ExprId]) {
        exprs.iter().for_each(|e| self.expr(*e));
    }

    fn scoped_walk(&mut self, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(Vec::new());
        walk(self);
        self.scopes.pop();
    }

    fn pat(&mut self, id: PatId) {
        match &self.store[id] {
            Pat::Missing | Pat::Wildcard => {}
            Pat::Bind(name) => self.bind(name.clone(), Resolution::Local(id)),
            Pat::Tuple(parts) | Pat::Array(parts) => parts.iter().for_each(|p| self.pat(*p)),
        }
    }

    fn stmt(&mut self, id: StmtId) {
        let store = self.store;
        let stmt = &store[id];
        stmt.attrs.iter().for_each(|a| self.all(&a.args));
        match &stmt.kind {
            StmtKind::Let { pat, ty, value } => {
                self.expr(*value);
                ty.iter().for_each(|t| self.type_ref(*t));
                self.pat(*pat);
            }
            StmtKind::Assign { place, value, .. } => self.all(&[*place, *value]),
            StmtKind::Expr(expr) | StmtKind::Baseline(expr) => self.expr(*expr),
            StmtKind::For { pat, iterable, stages, body } => {
                self.expr(*iterable);
                stages.iter().for_each(|stages| self.expr(*stages));
                self.scoped_walk(|this| {
                    this.pat(*pat);
                    this.expr(*body);
                });
            }
            StmtKind::While { condition, body } => self.all(&[*condition, *body]),
            StmtKind::WarpGroups(roles) => {
                for role in roles {
                    role.count.iter().chain(&role.registers).for_each(|e| self.expr(*e));
                    self.scoped_walk(|this| {
                        role.binder.iter().for_each(|p| this.pat(*p));
                        this.expr(role.body);
                    });
                }
            }
            StmtKind::Measure { quantities, body } => {
                quantities.iter().for_each(|(_, e)| self.expr(*e));
                self.expr(*body);
            }
        }
    }
}
