//! The values of the axes of a `tune` clause, and the errors in the clause.

use hx_dtype::DType;
use la_arena::ArenaMap;

use super::{Infer, TypeProblem};
use crate::tune::{TuneAxis, TuneValues};
use crate::{
    Db, Elem, Expr, ExprId, ExprStore, Item, Kernel, Literal, Name, Names, Resolution, Ty, TypeRef,
    kernel_signature, kernel_tune, signature_names, signature_types, tune_names,
};

/// The largest number of values of one axis.
pub const MAX_AXIS: i64 = 100_000;

/// A value of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TuneValue {
    Int(i64),
    Bool(bool),
    DType(DType),
}

/// The meaning of a `tune` clause.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TuneTypes {
    /// Each parameter with its values, in the order of the text. An axis with an error is left out.
    pub axes: Vec<(Name, Vec<TuneValue>)>,
    pub exprs: ArenaMap<ExprId, Ty>,
    pub problems: Vec<TypeProblem>,
    pub faults: Vec<TuneProblem>,
}

/// An error in a `tune` clause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TuneProblem {
    /// No compile-time parameter has this name.
    UnknownParam { expr: ExprId, name: Name, known: Vec<Name> },
    /// The name is that of something that is known only at launch; `what` says what it is.
    AtLaunch { expr: ExprId, name: Name, what: &'static str },
    /// An earlier axis has the same parameter.
    Twice { expr: ExprId, first: ExprId, name: Name },
    /// The values of an axis are wrong.
    Values { expr: ExprId, fault: ValuesFault },
    /// A value that occurs twice in a list.
    ValueTwice { expr: ExprId, first: ExprId },
    /// A parameter has no value: no default, no axis, and no parameter's type that binds it.
    Undetermined { name: Name, index: usize },
    /// The default of a parameter is `auto`, and no axis names the parameter.
    NoValues { name: Name, index: usize },
}

/// An error in the values of an axis, at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValuesFault {
    /// Neither a list nor a range.
    Single,
    /// Only integers have ranges; `wanted` is what the values of the parameter are.
    Range {
        name: Name,
        wanted: &'static str,
    },
    /// A parameter of this kind cannot be tuned.
    Untunable {
        name: Name,
        kind: &'static str,
    },
    NotConstant,
    StepOfList,
    Open,
    Step(i64),
    Empty,
    TooMany(i64),
}

/// Infers the values of a kernel's `tune` clause.
#[salsa::tracked]
pub fn tune_types<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> TuneTypes {
    let (clause, names) = (kernel_tune(db, kernel), tune_names(db, kernel));
    let item = Item::Kernel(kernel);
    let mut cx = Tuning {
        infer: Infer::new(db, item, &clause.store, names),
        store: &clause.store,
        names,
        generics: &signature_types(db, item).generics,
        found: TuneTypes::default(),
    };
    cx.infer.generics = cx.generics.to_vec();
    let mut seen: Vec<(u32, ExprId)> = Vec::new();
    for axis in &clause.axes {
        let Some(index) = cx.param(db, kernel, axis.param, &mut seen) else { continue };
        if let Some(values) = cx.values(axis, index, db, kernel) {
            cx.found.axes.push((kernel_signature(db, kernel).generics[index as usize].name.clone(), values));
        }
    }
    if !clause.axes.is_empty() {
        cx.undetermined(db, kernel, &seen);
    }
    cx.without_values(db, kernel, &seen);
    let (exprs, problems) = (cx.infer.out.exprs, cx.infer.out.problems);
    TuneTypes { exprs, problems, ..cx.found }
}

struct Tuning<'a> {
    infer: Infer<'a>,
    store: &'a ExprStore,
    names: &'a Names,
    generics: &'a [Ty],
    found: TuneTypes,
}

impl Tuning<'_> {
    fn fault(&mut self, fault: TuneProblem) {
        self.found.faults.push(fault);
    }

    fn values_fault(&mut self, expr: ExprId, fault: ValuesFault) {
        self.fault(TuneProblem::Values { expr, fault });
    }

    /// Returns the position of the compile-time parameter that an axis names for the first time; `None` for any other name,
    /// which is reported.
    fn param(
        &mut self,
        db: &dyn Db,
        kernel: Kernel<'_>,
        expr: ExprId,
        seen: &mut Vec<(u32, ExprId)>,
    ) -> Option<u32> {
        let Expr::Path { path, .. } = &self.store[expr] else { return None };
        let name = path.as_name()?.clone();
        let index = match self.names.exprs.get(expr) {
            Some(Resolution::Generic(index)) => *index,
            Some(Resolution::Param(_)) => {
                self.fault(TuneProblem::AtLaunch { expr, name, what: "a parameter of the launch" });
                return None;
            }
            Some(Resolution::Dim(_)) => {
                self.fault(TuneProblem::AtLaunch { expr, name, what: "a dimension of the launch" });
                return None;
            }
            _ => {
                let generics = &kernel_signature(db, kernel).generics;
                // Do not suggest a parameter that already has an axis.
                let is_free = |index: usize| !seen.iter().any(|(known, _)| *known as usize == index);
                let free = generics.iter().enumerate().filter(|(index, _)| is_free(*index));
                let known = free.map(|(_, generic)| generic.name.clone()).collect();
                self.fault(TuneProblem::UnknownParam { expr, name, known });
                return None;
            }
        };
        if let Some(&(_, first)) = seen.iter().find(|(known, _)| *known == index) {
            self.fault(TuneProblem::Twice { expr, first, name });
            return None;
        }
        seen.push((index, expr));
        Some(index)
    }

    /// Returns the values of an axis; `None` if it has an error, which is reported.
    fn values(
        &mut self,
        axis: &TuneAxis,
        index: u32,
        db: &dyn Db,
        kernel: Kernel<'_>,
    ) -> Option<Vec<TuneValue>> {
        let before = (self.found.faults.len(), self.infer.out.problems.len());
        let name = kernel_signature(db, kernel).generics.get(index as usize)?.name.clone();
        let kind = match self.generics.get(index as usize)? {
            Ty::Int(_) => Wanted::Int,
            Ty::Bool => Wanted::Bool,
            Ty::DType(_) => Wanted::DType,
            quiet if quiet.is_quiet() => return None,
            other => {
                let kind =
                    if matches!(other, Ty::Layout(_)) { "a layout" } else { "a number with a fraction" };
                self.values_fault(axis.param, ValuesFault::Untunable { name, kind });
                return None;
            }
        };
        let values = match &axis.values {
            TuneValues::List(elements) => {
                if let Some(step) = axis.step {
                    self.values_fault(step, ValuesFault::StepOfList);
                }
                self.list(elements, axis.at, kind)
            }
            TuneValues::Range { .. } if kind != Wanted::Int => {
                self.values_fault(axis.at, ValuesFault::Range { name, wanted: kind.text() });
                return None;
            }
            TuneValues::Range { start, end, inclusive } => {
                self.range(axis, [*start, *end], *inclusive).unwrap_or_default()
            }
            TuneValues::Other => {
                // The parser has reported values that are missing.
                if !matches!(self.store[axis.at], Expr::Missing) {
                    self.values_fault(axis.at, ValuesFault::Single);
                }
                return None;
            }
        };
        (before == (self.found.faults.len(), self.infer.out.problems.len())).then_some(values)
    }

    fn list(&mut self, elements: &[ExprId], at: ExprId, wanted: Wanted) -> Vec<TuneValue> {
        if elements.is_empty() {
            self.values_fault(at, ValuesFault::Empty);
        }
        let mut values: Vec<(TuneValue, ExprId)> = Vec::new();
        for &element in elements {
            let Some(value) = self.value(element, wanted) else { continue };
            match values.iter().find(|(known, _)| *known == value) {
                Some(&(_, first)) => self.fault(TuneProblem::ValueTwice { expr: element, first }),
                None => values.push((value, element)),
            }
        }
        values.into_iter().map(|(value, _)| value).collect()
    }

    fn range(
        &mut self,
        axis: &TuneAxis,
        [start, end]: [Option<ExprId>; 2],
        inclusive: bool,
    ) -> Option<Vec<TuneValue>> {
        let (Some(start), Some(end)) = (start, end) else {
            self.values_fault(axis.at, ValuesFault::Open);
            return None;
        };
        let (start, end) = (self.int(start), self.int(end));
        let step = match axis.step {
            Some(expr) => {
                let step = self.int(expr)?;
                if step <= 0 {
                    self.values_fault(expr, ValuesFault::Step(step));
                    return None;
                }
                step
            }
            None => 1,
        };
        let (start, end) = (start?, end?);
        let last = if inclusive { end } else { end.checked_sub(1)? };
        if last < start {
            self.values_fault(axis.at, ValuesFault::Empty);
            return None;
        }
        let count = last.checked_sub(start).map_or(i64::MAX, |span| span / step + 1);
        if count > MAX_AXIS {
            self.values_fault(axis.at, ValuesFault::TooMany(count));
            return None;
        }
        Some((0..count).map(|i| TuneValue::Int(start + i * step)).collect())
    }

    fn int(&mut self, expr: ExprId) -> Option<i64> {
        match self.value(expr, Wanted::Int)? {
            TuneValue::Int(value) => Some(value),
            TuneValue::Bool(_) | TuneValue::DType(_) => None,
        }
    }

    /// Returns the value of an expression, which must be a constant of this kind; `None` if it is not, which is reported.
    fn value(&mut self, expr: ExprId, wanted: Wanted) -> Option<TuneValue> {
        let found = self.infer.expr(expr);
        match (wanted, &found) {
            (_, quiet) if *quiet == Ty::Error => {}
            (Wanted::Int, Ty::Int(value)) => match value.as_ref().and_then(hx_index::Expr::as_const) {
                Some(value) => return Some(TuneValue::Int(value)),
                None => self.values_fault(expr, ValuesFault::NotConstant),
            },
            (Wanted::Bool, Ty::Bool) => match self.store[expr] {
                Expr::Literal(Literal::Bool(value)) => return Some(TuneValue::Bool(value)),
                _ => self.values_fault(expr, ValuesFault::NotConstant),
            },
            (Wanted::DType, Ty::DType(Elem::Known(dtype))) => return Some(TuneValue::DType(*dtype)),
            (Wanted::DType, Ty::DType(_)) | (_, Ty::Unknown) => {
                self.values_fault(expr, ValuesFault::NotConstant)
            }
            _ if super::is_missing(self.store, expr) => {}
            _ => {
                self.infer.report(TypeProblem::Mismatch { expr, found, wanted: wanted.text() });
            }
        }
        None
    }

    /// Reports the compile-time parameters that nothing gives a value.
    fn undetermined(&mut self, db: &dyn Db, kernel: Kernel<'_>, axes: &[(u32, ExprId)]) {
        let signature = kernel_signature(db, kernel);
        let names = &signature_names(db, Item::Kernel(kernel)).names;
        let mut bound: Vec<u32> = axes.iter().map(|(index, _)| *index).collect();
        let mut binds = |found: Option<&Resolution>| bound.extend(generic_of(found));
        for param in &signature.params {
            let TypeRef::Named { shape, layout, .. } = &signature.store[param.ty] else { continue };
            binds(names.types.get(param.ty));
            shape.iter().flatten().for_each(|extent| binds(names.exprs.get(*extent)));
            if let Some(Expr::Array(strides)) = layout.map(|layout| &signature.store[layout]) {
                strides.iter().for_each(|stride| binds(names.exprs.get(*stride)));
            }
        }
        for (index, generic) in signature.generics.iter().enumerate() {
            if generic.default.is_none() && !bound.contains(&(index as u32)) {
                self.fault(TuneProblem::Undetermined { name: generic.name.clone(), index });
            }
        }
    }

    /// Reports the parameters whose default is `auto` and that no axis names.
    fn without_values(&mut self, db: &dyn Db, kernel: Kernel<'_>, axes: &[(u32, ExprId)]) {
        let names = &signature_names(db, Item::Kernel(kernel)).names;
        for (index, generic) in kernel_signature(db, kernel).generics.iter().enumerate() {
            let is_layout = matches!(self.generics.get(index), Some(Ty::Layout(_)));
            let is_auto = generic.default.is_some_and(|default| names.is_auto(default));
            if is_auto && !is_layout && !axes.iter().any(|(axis, _)| *axis as usize == index) {
                self.fault(TuneProblem::NoValues { name: generic.name.clone(), index });
            }
        }
    }
}

fn generic_of(found: Option<&Resolution>) -> Option<u32> {
    match found {
        Some(Resolution::Generic(index)) => Some(*index),
        _ => None,
    }
}

/// The kinds of parameters that can be tuned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Int,
    Bool,
    DType,
}

impl Wanted {
    fn text(self) -> &'static str {
        match self {
            Wanted::Int => "an integer",
            Wanted::Bool => "`true` or `false`",
            Wanted::DType => "an element type",
        }
    }
}
