//! Types and shapes of device code.
//!
//! Inference walks a signature or body once, with compile-time parameters and dimensions as symbols. Shapes that differ in every
//! case are reported here; what depends on the values of compile-time parameters is left to the instance. What is wrong is kept
//! as [`TypeProblem`]s, by id, for `diagnostics` to put into words. No positions are read.

mod call;
mod expr;
mod host;
mod problem;
mod signature;
mod stmt;
mod tensor;

use std::collections::BTreeSet;

use hx_dtype::DType;
use hx_index::{Expr as Value, Facts, Symbol};
use la_arena::ArenaMap;

pub use problem::{MAX_PARTS, MAX_TERMS, MAX_THREADS, TypeProblem, WARP};
pub use signature::{SignatureTypes, signature_types};

use crate::constants::{constant_type, constants_of, standing};
use crate::{
    Const, Db, Elem, Expr, ExprId, ExprStore, Item, ItemKey, ItemKind, Name, Names, PatId, Resolution,
    StmtKind, Ty, body_names, body_of, generic_symbol,
};

/// The types of a body.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inference {
    pub exprs: ArenaMap<ExprId, Ty>,
    pub pats: ArenaMap<PatId, Ty>,
    pub problems: Vec<TypeProblem>,
    pub writes: Writes,
    /// Of a constant: the type that is written for it.
    pub annotation: Option<Ty>,
}

/// What a body writes to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Writes {
    /// Parameters, by position, themselves or through views.
    pub params: BTreeSet<u32>,
    /// Something that is not known is written.
    pub unknown: bool,
}

/// The types of the body of an item. Of host code only calls are looked at: its values have types at run time.
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
            let found = cx.expr(body.root);
            cx.check_return(body.root, &found, types.ret.as_ref());
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
    /// The item whose signature or body is walked.
    of: Item<'a>,
    store: &'a ExprStore,
    names: &'a Names,
    /// In a function dimensions are bound by arguments and may be constants.
    in_function: bool,
    generics: Vec<Ty>,
    params: Vec<Ty>,
    /// Of the function whose signature is read for a call: its dimensions, bound by the arguments.
    bound: Option<Vec<(Name, Value)>>,
    grid_rank: Option<usize>,
    /// Locals that some statement assigns to: their values are not known.
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

    /// The type of a path by what it means.
    fn resolved(&mut self, id: ExprId) -> Ty {
        match self.names.exprs.get(id) {
            // The name means nothing, which has been reported.
            None => Ty::Error,
            Some(Resolution::Local(pat)) => self.out.pats.get(*pat).cloned().unwrap_or(Ty::Unknown),
            // Only host code sees one, and its values have types when it runs.
            Some(Resolution::Binding(_)) => Ty::Unknown,
            Some(Resolution::Param(i)) => self.params.get(*i as usize).cloned().unwrap_or(Ty::Unknown),
            Some(Resolution::Generic(i)) => self.generics.get(*i as usize).cloned().unwrap_or(Ty::Unknown),
            Some(Resolution::Dim(name)) => self.dim(name),
            Some(Resolution::DType(dtype)) => Ty::DType(Elem::Known(*dtype)),
            Some(Resolution::Item(key)) => self.item(id, &key.clone()),
            Some(Resolution::Builtin(b)) => match b.name() {
                "block_idx" => self.block_idx(),
                "auto" | "swizzle" => Ty::Layout(None),
                name if b.get().params.is_some() => {
                    self.report(TypeProblem::FunctionAsValue { expr: id, name: name.into() })
                }
                _ => Ty::Unknown,
            },
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

    fn block_idx(&self) -> Ty {
        let axis = |i: usize| Ty::Int(Some(Value::symbol(Symbol::BlockIdx(i as u8))));
        match self.grid_rank {
            Some(1) => axis(0),
            Some(rank) => Ty::Array((0..rank).map(axis).collect()),
            None => Ty::Unknown,
        }
    }

    fn item(&mut self, id: ExprId, key: &ItemKey) -> Ty {
        match key.find(self.db) {
            Some(Item::Const(constant)) => self.constant(id, key, constant),
            Some(_) => self.report(TypeProblem::FunctionAsValue { expr: id, name: key.name.clone() }),
            None => Ty::Unknown,
        }
    }

    /// The type and value of a constant, found in its own body. Its problems are its own.
    fn constant(&mut self, id: ExprId, key: &ItemKey, constant: Const<'a>) -> Ty {
        if !standing(self.db, constant).is_circular {
            return constant_type(self.db, constant).clone();
        }
        let known = constants_of(self.db, key.file);
        let of = self.of.key(self.db);
        // An item on the circle reports it; an item that only leads to it stays quiet.
        if known.circle(&of) != known.circle(key) {
            return Ty::Error;
        }
        let name = if of.kind == ItemKind::Const { of.name } else { key.name.clone() };
        self.report(TypeProblem::Recursion { expr: id, name })
    }

    /// A tuple or array, unless it has too many parts for the compiler to compute with.
    fn compound(&mut self, id: ExprId, parts: Vec<Ty>, make: fn(Vec<Ty>) -> Ty) -> Ty {
        let made = make(parts);
        if made.has_more_parts_than(MAX_PARTS) {
            self.report(TypeProblem::TooManyParts { expr: id })
        } else {
            made
        }
    }

    /// The type that a compile-time parameter of this kind has.
    fn generic_ty(name: &Name, kind: &Ty) -> Ty {
        match kind {
            Ty::Int(_) => Ty::Int(Some(Value::symbol(generic_symbol(name)))),
            Ty::DType(_) => Ty::DType(Elem::Param(name.clone())),
            other => other.clone(),
        }
    }
}

/// The type of a number of that element type.
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
