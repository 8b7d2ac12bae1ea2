//! The members of a kernel's family with their compile-time arguments, and the errors in the list.

use std::collections::BTreeSet;

use super::{Infer, TuneValue};
use crate::{
    Db, Elem, Expr, ExprId, ExprStore, GenericArg, Item, ItemKey, Kernel, Literal, Name, Names, Resolution,
    Ty, TypeProblem, family_names, kernel_family, kernel_signature, signature_types, tune_types,
};

/// A member of a family: a kernel, and the compile-time arguments with which it is one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    /// The place in the list, an id of [`crate::FamilyList::store`].
    pub at: ExprId,
    pub kernel: ItemKey,
    pub args: Vec<(Name, TuneValue)>,
}

/// The meaning of a kernel's list of members.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Family {
    /// In the order of the text. A member with an error is left out.
    pub members: Vec<Member>,
    /// The parameters that decide between the members: those of the `tune` clause, and those that members set. A launch that gives one
    /// of them runs the kernel itself.
    pub decided: BTreeSet<Name>,
    pub problems: Vec<TypeProblem>,
    pub faults: Vec<FamilyProblem>,
}

/// An error in a list of members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FamilyProblem {
    /// The list is empty.
    Empty,
    /// The expression is no kernel.
    NoKernel { expr: ExprId },
    /// The parameters of the listed kernel, `found`, differ from those of the kernel that has the family, `wanted`.
    Params { expr: ExprId, wanted: Vec<Name>, found: Vec<Name> },
    /// The kernel has no compile-time parameter of this name.
    UnknownParam { expr: ExprId, name: Name, known: Vec<Name> },
    /// A compile-time argument without a name.
    Unnamed { expr: ExprId },
    /// An argument that is no constant integer, `true` or `false`, or an element type.
    NotConstant { expr: ExprId, name: Name },
    /// The member repeats the kernel and the arguments of the member at `first`.
    Twice { expr: ExprId, first: ExprId },
}

/// Infers the members of a kernel's family; none if it has no list.
#[salsa::tracked]
pub fn family_of<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Family {
    let (list, names) = (kernel_family(db, kernel), family_names(db, kernel));
    let mut cx = Members {
        db,
        infer: Infer::new(db, Item::Kernel(kernel), &list.store, names),
        store: &list.store,
        names,
        head: kernel,
        found: Family::default(),
    };
    if list.members.is_empty() {
        if crate::family_source_map(db, kernel).is_some() {
            cx.found.faults.push(FamilyProblem::Empty);
        }
        return cx.found;
    }
    cx.found.decided.extend(tune_types(db, kernel).axes.iter().map(|(name, _)| name.clone()));
    for &expr in &list.members {
        let Some(member) = cx.member(expr) else { continue };
        cx.found.decided.extend(member.args.iter().map(|(name, _)| name.clone()));
        let repeats = |other: &&Member| (&other.kernel, &other.args) == (&member.kernel, &member.args);
        match cx.found.members.iter().find(repeats).map(|other| other.at) {
            Some(first) => cx.found.faults.push(FamilyProblem::Twice { expr, first }),
            None => cx.found.members.push(member),
        }
    }
    let problems = cx.infer.out.problems;
    Family { problems, ..cx.found }
}

struct Members<'a> {
    db: &'a dyn Db,
    infer: Infer<'a>,
    store: &'a ExprStore,
    names: &'a Names,
    head: Kernel<'a>,
    found: Family,
}

impl Members<'_> {
    /// Returns a member; `None` if its text is wrong, which is reported.
    fn member(&mut self, expr: ExprId) -> Option<Member> {
        let Expr::Path { generics, .. } = &self.store[expr] else {
            if !super::is_missing(self.store, expr) {
                self.found.faults.push(FamilyProblem::NoKernel { expr });
            }
            return None;
        };
        // Name resolution reports an unknown name.
        let meaning = self.names.exprs.get(expr)?;
        let key = if let Resolution::Item(key) = meaning { Some(key) } else { None };
        let Some((key, Item::Kernel(kernel))) = key.and_then(|key| Some((key, key.find(self.db)?))) else {
            self.found.faults.push(FamilyProblem::NoKernel { expr });
            return None;
        };
        let params = |kernel| -> Vec<Name> {
            kernel_signature(self.db, kernel).params.iter().map(|param| param.name.clone()).collect()
        };
        let (wanted, found) = (params(self.head), params(kernel));
        if wanted != found {
            self.found.faults.push(FamilyProblem::Params { expr, wanted, found });
            return None;
        }
        let args: Vec<_> = generics.iter().map(|arg| self.arg(expr, kernel, arg)).collect();
        Some(Member { at: expr, kernel: key.clone(), args: args.into_iter().collect::<Option<_>>()? })
    }

    fn arg(&mut self, member: ExprId, kernel: Kernel<'_>, arg: &GenericArg) -> Option<(Name, TuneValue)> {
        let Some(name) = arg.name.clone() else {
            self.found.faults.push(FamilyProblem::Unnamed { expr: arg.value });
            return None;
        };
        let generics = &kernel_signature(self.db, kernel).generics;
        let Some(index) = generics.iter().position(|generic| generic.name == name) else {
            let known = generics.iter().map(|generic| generic.name.clone()).collect();
            self.found.faults.push(FamilyProblem::UnknownParam { expr: member, name, known });
            return None;
        };
        let wanted = signature_types(self.db, Item::Kernel(kernel)).generics.get(index)?;
        let found = self.infer.expr(arg.value);
        let value = match (wanted, &found) {
            (_, Ty::Error) => return None,
            (Ty::Int(_), Ty::Int(Some(value))) => value.as_const().map(TuneValue::Int),
            (Ty::Bool, Ty::Bool) => match self.store[arg.value] {
                Expr::Literal(Literal::Bool(value)) => Some(TuneValue::Bool(value)),
                _ => None,
            },
            (Ty::DType(_), Ty::DType(Elem::Known(dtype))) => Some(TuneValue::DType(*dtype)),
            _ => None,
        };
        if value.is_none() {
            self.found.faults.push(FamilyProblem::NotConstant { expr: arg.value, name: name.clone() });
        }
        Some((name, value?))
    }
}
