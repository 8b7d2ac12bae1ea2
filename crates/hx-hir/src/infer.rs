//! Types and shapes of device code.
//!
//! Inference walks a signature or body once, with compile-time parameters and dimensions as symbols. It reports shapes that
//! differ for all values of these symbols. Checks that depend on the values of compile-time parameters are left to the
//! instance. Errors are kept as [`TypeProblem`]s, by id, and `diagnostics` puts them into words. Inference reads no positions.

mod builtin;
mod call;
mod expr;
mod family;
mod host;
mod joined;
mod picked;
mod problem;
mod roles;
mod signature;
mod stmt;
mod tensor;
mod tune;

use std::sync::Arc;

use std::collections::BTreeSet;

use hx_dtype::DType;
use hx_index::{Expr as Value, Facts, Symbol};
use la_arena::ArenaMap;

pub use family::{Family, FamilyProblem, MOST_MEMBERS, Member, auto_axes, combinations, family_of};
pub use problem::{MAX_PARTS, MAX_TERMS, MAX_THREADS, RolesProblem, TypeProblem, WARP};
pub use signature::{OpenOrder, SignatureTypes, open_orders, signature_types};
pub use tune::{MAX_AXIS, TuneProblem, TuneTypes, TuneValue, ValuesFault, tune_types};

use crate::constants::{constant_type, constants_of, standing};
use crate::{
    Builtin, BuiltinValue, Const, Db, Elem, Expr, ExprId, ExprStore, Item, ItemKey, ItemKind, LayoutFn, Name,
    Names, PatId, Resolution, StmtKind, Ty, body::is_declared, body_names, body_of, generic_symbol,
};

/// The types of a body.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inference {
    pub exprs: ArenaMap<ExprId, Ty>,
    pub pats: ArenaMap<PatId, Ty>,
    pub problems: Vec<TypeProblem>,
    pub writes: Writes,
    /// The annotation of a constant as a type.
    pub annotation: Option<Ty>,
}

/// The tensors that a body writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Writes {
    /// Parameters that are written, directly or through views, by position.
    pub params: BTreeSet<u32>,
    /// A tensor of unknown origin is written.
    pub unknown: bool,
}

/// Infers the types of the body of an item. In host code only calls are checked: host values get their types at run time.
#[salsa::tracked]
pub fn infer_body<'db>(db: &'db dyn Db, item: Item<'db>) -> Inference {
    let body = body_of(db, item);
    let mut cx = Infer::new(db, item, &body.store, body_names(db, item));
    match item {
        Item::Kernel(_) | Item::Function(_) => {
            let types = signature_types(db, item);
            (cx.generics, cx.params) = (types.generics.clone(), types.params.clone());
            cx.grid_rank = types.grid_rank;
            cx.find_assigned();
            cx.place_roles(body.root);
            let found = cx.expr(body.root);
            if !is_declared(db, item) {
                cx.check_return(body.root, &found, types.ret.as_ref());
            }
        }
        Item::Const(_) => {
            let found = cx.expr(body.root);
            cx.check_const(body.root, &found, body.ty);
            cx.out.annotation = body.ty.and_then(|ty| cx.annotated(ty));
        }
        Item::Test(_) | Item::Bench(_) | Item::Main(_) | Item::Cell(_) => cx.host(),
        Item::Use(_) => {}
    }
    cx.out
}

pub(crate) struct Infer<'a> {
    db: &'a dyn Db,
    /// The item whose signature or body is inferred.
    of: Item<'a>,
    store: &'a ExprStore,
    names: &'a Names,
    /// In a function dimensions are bound by arguments and may be constants.
    in_function: bool,
    generics: Vec<Ty>,
    params: Vec<Ty>,
    /// The type of a function's result, for its `where` clause.
    result: Ty,
    /// The dimensions of a called function with the values that the arguments bind to them; `None` except while the signature
    /// of that function is read.
    bound: Option<Vec<(Name, Value)>>,
    grid_rank: Option<usize>,
    /// Locals that some statement assigns to, so that their values are unknown.
    assigned: Vec<PatId>,
    facts: Facts,
    out: Inference,
}

impl<'a> Infer<'a> {
    fn new(db: &'a dyn Db, item: Item<'a>, store: &'a ExprStore, names: &'a Names) -> Infer<'a> {
        Infer {
            db,
            of: item,
            store,
            names,
            in_function: matches!(item, Item::Function(_)),
            generics: Vec::new(),
            params: Vec::new(),
            result: Ty::Unknown,
            bound: None,
            grid_rank: None,
            assigned: Vec::new(),
            facts: Facts::default(),
            out: Inference::default(),
        }
    }

    fn report(&mut self, problem: TypeProblem) -> Ty {
        if !self.out.problems.contains(&problem) {
            self.out.problems.push(problem);
        }
        Ty::Error
    }

    fn find_assigned(&mut self) {
        let places = self.store.stmts.values().filter_map(|s| match &s.kind {
            StmtKind::Assign { place, .. } => Some(*place),
            _ => None,
        });
        let names = self.names;
        self.assigned = places
            .filter_map(|place| match names.exprs.get(place) {
                Some(Resolution::Local(pat)) => Some(*pat),
                _ => None,
            })
            .collect();
    }

    /// Returns the type of a path from its resolution.
    fn resolved(&mut self, id: ExprId) -> Ty {
        match self.names.exprs.get(id) {
            // The name has no meaning, which has been reported.
            None => Ty::Error,
            Some(Resolution::Local(pat)) => self.out.pats.get(*pat).cloned().unwrap_or(Ty::Unknown),
            // Only host code sees a binding, and host values get their types at run time.
            Some(Resolution::Binding(_)) => Ty::Unknown,
            Some(Resolution::Param(i)) => self.params.get(*i as usize).cloned().unwrap_or(Ty::Unknown),
            Some(Resolution::Generic(i)) => self.generics.get(*i as usize).cloned().unwrap_or(Ty::Unknown),
            Some(Resolution::Dim(name)) => self.dim(name),
            Some(Resolution::Result) => self.result.clone(),
            Some(Resolution::DType(dtype)) => Ty::DType(Elem::Known(*dtype)),
            Some(Resolution::Item(key)) => self.item(id, &key.clone()),
            Some(Resolution::Builtin(Builtin::Value(value))) => match value {
                BuiltinValue::BlockIdx => self.along_grid(Symbol::BlockIdx),
                BuiltinValue::GridDim => self.along_grid(Symbol::GridDim),
                BuiltinValue::Multiprocessors => Ty::Int(Some(Value::symbol(Symbol::Multiprocessors))),
                BuiltinValue::Auto => Ty::Layout(None),
                BuiltinValue::Infer => self.report(TypeProblem::MisplacedInfer { expr: id }),
                BuiltinValue::Nan => Ty::Float(None),
                BuiltinValue::Args => Ty::Unknown,
            },
            Some(Resolution::Builtin(Builtin::Layout(LayoutFn::Swizzle))) => Ty::Layout(None),
            Some(Resolution::Builtin(b)) => {
                self.report(TypeProblem::FunctionAsValue { expr: id, name: b.name().into() })
            }
            Some(Resolution::Module(_) | Resolution::Kind(_)) => {
                self.report(TypeProblem::NoValue { expr: id })
            }
        }
    }

    fn dim(&self, name: &Name) -> Ty {
        let bound = self.bound.as_ref().map(|b| b.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()));
        match bound {
            Some(value) => Ty::Int(value),
            None => Ty::Int(Some(Value::symbol(Symbol::Dim(name.clone())))),
        }
    }

    /// Returns the type of a value of each axis of the grid: an integer for one axis, otherwise an array; unknown without the
    /// number of axes.
    fn along_grid(&self, symbol: fn(u8) -> Symbol) -> Ty {
        let axis = |i: usize| Ty::Int(Some(Value::symbol(symbol(i as u8))));
        match self.grid_rank {
            Some(1) => axis(0),
            Some(rank) => Ty::Array((0..rank).map(axis).collect()),
            None => Ty::Unknown,
        }
    }

    fn item(&mut self, id: ExprId, key: &ItemKey) -> Ty {
        match key.find(self.db) {
            Some(Item::Const(constant)) => self.constant(id, key, constant),
            Some(Item::Function(_)) => Ty::Function(Some(key.clone())),
            Some(_) => self.report(TypeProblem::FunctionAsValue { expr: id, name: key.name.clone() }),
            None => Ty::Unknown,
        }
    }

    /// Returns the type and value of a constant, inferred from its own body. Problems in that body are reported there.
    fn constant(&mut self, id: ExprId, key: &ItemKey, constant: Const<'a>) -> Ty {
        if standing(self.db, constant.into()).circle.is_none() {
            return constant_type(self.db, constant).clone();
        }
        let known = constants_of(self.db, key.file);
        let of = self.of.key(self.db);
        // Items on the circle report it. An item that only leads to the circle does not.
        if known.circle(&of) != known.circle(key) {
            return Ty::Error;
        }
        let name = if of.kind == ItemKind::Const { of.name } else { key.name.clone() };
        self.report(TypeProblem::Recursion { expr: id, name })
    }

    /// Makes a tuple or array, or reports that it has too many parts to compute with.
    fn compound(&mut self, id: ExprId, parts: Arc<[Ty]>, make: fn(Arc<[Ty]>) -> Ty) -> Ty {
        let made = make(parts);
        if made.has_more_parts_than(MAX_PARTS) {
            self.report(TypeProblem::TooManyParts { expr: id })
        } else {
            made
        }
    }

    /// Returns the type of a compile-time parameter of this kind.
    fn generic_ty(name: &Name, kind: &Ty) -> Ty {
        match kind {
            Ty::Int(_) => Ty::Int(Some(Value::symbol(generic_symbol(name)))),
            Ty::DType(_) => Ty::DType(Elem::Param(name.clone())),
            // The default is one of many functions that an instance may have.
            Ty::Function(_) => Ty::Function(None),
            other => other.clone(),
        }
    }
}

/// Returns the type of a number of this element type.
fn scalar_ty(dtype: DType) -> Ty {
    if dtype == DType::Bool {
        Ty::Bool
    } else if dtype.is_int() {
        Ty::Int(None)
    } else {
        Ty::Float(Some(Elem::Known(dtype)))
    }
}

fn is_missing(store: &ExprStore, id: ExprId) -> bool {
    matches!(store[id], Expr::Missing)
}
