//! The members of a kernel's family with their compile-time arguments, and the errors in the list.

use std::collections::BTreeSet;

use super::{Infer, TuneValue};
use crate::{
    Db, Elem, Expr, ExprId, ExprStore, GenericArg, Item, ItemKey, Kernel, Literal, Name, Names, Resolution,
    Ty, TypeProblem, family_names, kernel_family, kernel_signature, signature_names, signature_types,
    tune_types,
};

/// A member of a family: a kernel, and the compile-time arguments with which it is one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    /// The place in the list, an id of [`crate::FamilyList::store`]; `None` if the kernel has no list, but parameters that are `auto`.
    pub at: Option<ExprId>,
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
    /// `auto` for a parameter that has no values in the `tune` clause of its kernel.
    NoAxis { expr: ExprId, name: Name },
    /// The parameters that are `auto` have more than [`MOST_MEMBERS`] combinations.
    TooMany { expr: Option<ExprId>, members: usize },
    /// The member repeats the kernel and the arguments of the member at `first`.
    Twice { expr: ExprId, first: ExprId },
}

/// The largest number of members of a family. The first launch of a shape estimates each of them.
pub const MOST_MEMBERS: usize = 64;

/// The value of an argument of a member in the text.
enum Given {
    Is(TuneValue),
    /// `auto`: each value of the parameter's axis.
    Auto,
}

/// A kernel of the list, and its arguments.
type Listed<'a> = (ItemKey, Kernel<'a>, Vec<(Name, Given)>);

/// Returns the axes of the parameters of a kernel whose default is `auto`, in the order of the `tune` clause.
pub fn auto_axes<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Vec<&'db (Name, Vec<TuneValue>)> {
    let names = &signature_names(db, Item::Kernel(kernel)).names;
    let generics = &kernel_signature(db, kernel).generics;
    let is_auto = |name: &Name| {
        let generic = generics.iter().find(|generic| generic.name == *name);
        generic.and_then(|generic| generic.default).is_some_and(|default| names.is_auto(default))
    };
    if !generics.iter().any(|generic| is_auto(&generic.name)) {
        return Vec::new();
    }
    tune_types(db, kernel).axes.iter().filter(|(name, _)| is_auto(name)).collect()
}

/// Returns all combinations of the values of axes, those of the first axis slowest.
pub fn combinations(axes: &[&(Name, Vec<TuneValue>)]) -> Vec<Vec<(Name, TuneValue)>> {
    axes.iter().fold(vec![Vec::new()], |known, (name, values)| {
        let with = |args: &Vec<(Name, TuneValue)>| {
            let args = args.clone();
            values.iter().map(move |value| [args.clone(), vec![(name.clone(), *value)]].concat())
        };
        known.iter().flat_map(with).collect()
    })
}

/// Infers the members of a kernel's family: those of its list, or one for each value of its parameters that are `auto`. None if it has
/// neither.
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
            return cx.found;
        }
        if auto_axes(db, kernel).is_empty() {
            return cx.found;
        }
        cx.add(None, Item::Kernel(kernel).key(db), kernel, Vec::new());
    }
    cx.found.decided.extend(tune_types(db, kernel).axes.iter().map(|(name, _)| name.clone()));
    for &expr in &list.members {
        if let Some((key, listed, args)) = cx.member(expr) {
            cx.found.decided.extend(args.iter().map(|(name, _)| name.clone()));
            cx.add(Some(expr), key, listed, args);
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

impl<'a> Members<'a> {
    /// Adds a kernel with these arguments: a member for each combination of the values of what is `auto`.
    fn add(&mut self, at: Option<ExprId>, key: ItemKey, kernel: Kernel<'_>, given: Vec<(Name, Given)>) {
        let own = auto_axes(self.db, kernel)
            .into_iter()
            .filter(|(name, _)| !given.iter().any(|(is, _)| is == name));
        let stated = tune_types(self.db, kernel).axes.iter();
        let stated =
            stated.filter(|(name, _)| given.iter().any(|(is, of)| is == name && matches!(of, Given::Auto)));
        let axes: Vec<_> = stated.chain(own).collect();
        let count = axes.iter().fold(1usize, |n, (_, values)| n.saturating_mul(values.len()));
        let members = self.found.members.len().saturating_add(count);
        if members > MOST_MEMBERS {
            self.found.faults.push(FamilyProblem::TooMany { expr: at, members });
            return;
        }
        let fixed: Vec<(Name, TuneValue)> = given
            .into_iter()
            .filter_map(|(name, of)| if let Given::Is(value) = of { Some((name, value)) } else { None })
            .collect();
        for args in combinations(&axes) {
            let args = [fixed.clone(), args].concat();
            let repeats = |other: &&Member| (&other.kernel, &other.args) == (&key, &args);
            match (self.found.members.iter().find(repeats).map(|other| other.at), at) {
                (Some(Some(first)), Some(expr)) => {
                    self.found.faults.push(FamilyProblem::Twice { expr, first });
                    return;
                }
                _ => self.found.members.push(Member { at, kernel: key.clone(), args }),
            }
        }
    }

    /// Returns a kernel of the list and its arguments; `None` if its text is wrong, which is reported.
    fn member(&mut self, expr: ExprId) -> Option<Listed<'a>> {
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
        Some((key.clone(), kernel, args.into_iter().collect::<Option<_>>()?))
    }

    fn arg(&mut self, member: ExprId, kernel: Kernel<'_>, arg: &GenericArg) -> Option<(Name, Given)> {
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
        if self.names.is_auto(arg.value) {
            if tune_types(self.db, kernel).axes.iter().any(|(axis, _)| *axis == name) {
                return Some((name, Given::Auto));
            }
            self.found.faults.push(FamilyProblem::NoAxis { expr: arg.value, name });
            return None;
        }
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
        Some((name, Given::Is(value?)))
    }
}
