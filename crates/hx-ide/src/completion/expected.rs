//! The class of values that an argument takes: entries of that class come first.

use hx_hir::{ItemKind, MemorySpace, Ty, signature_types};
use hx_syntax::{SyntaxKind, T};

use super::Completing;
use crate::callable::{CallAt, call_at};
use crate::names::Def;

/// A class of values, as coarse as a person chooses by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// A tensor in any memory, or a view of one.
    Tensor,
    /// A view of global memory.
    View,
    Number,
    /// A number, or a tile in registers: a `fn` of numbers is applied to each element of a tile.
    Element,
    DType,
    Layout,
    Function,
}

impl Class {
    /// Returns the class of a type; `None` if no argument is ranked by it.
    pub(super) fn of(ty: &Ty) -> Option<Class> {
        Some(match ty {
            Ty::Tensor(tensor) if tensor.space == MemorySpace::Global => Class::View,
            Ty::Tensor(_) => Class::Tensor,
            Ty::Int(_) | Ty::Float(_) => Class::Number,
            Ty::DType(_) => Class::DType,
            Ty::Layout(_) => Class::Layout,
            Ty::Function(_) => Class::Function,
            Ty::Error
            | Ty::Unknown
            | Ty::Unit
            | Ty::Bool
            | Ty::Str
            | Ty::Range { .. }
            | Ty::New
            | Ty::Closure
            | Ty::Pipeline
            | Ty::Turns
            | Ty::Barrier
            | Ty::Counter
            | Ty::Tuple(_)
            | Ty::Array(_) => return None,
        })
    }

    /// Reports whether a value of the class `given` is one of this class.
    fn takes(self, given: Class) -> bool {
        match self {
            Class::Tensor => matches!(given, Class::Tensor | Class::View),
            Class::Element => matches!(given, Class::Tensor | Class::Number),
            Class::View | Class::Number | Class::DType | Class::Layout | Class::Function => self == given,
        }
    }
}

impl Completing<'_> {
    /// Returns the class that the argument at the offset takes. `None` inside of a part of an argument, and outside of calls.
    pub(super) fn expected(&self) -> Option<Class> {
        let before = self.before.as_ref()?;
        let parent = before.parent()?.kind();
        let begins = match before.kind() {
            T!['('] | T![,] => parent == SyntaxKind::ARG_LIST,
            T![:] => parent == SyntaxKind::ARG,
            _ => false,
        };
        if !begins {
            return None;
        }
        let CallAt { def, callable, active, .. } = call_at(self.db, self.file, self.at)?;
        let active = active?;
        match &def {
            Def::Item(key) => {
                let class = Class::of(signature_types(self.db, key.find(self.db)?).params.get(active)?)?;
                let is_mapped = key.kind == ItemKind::Function && class == Class::Number;
                Some(if is_mapped { Class::Element } else { class })
            }
            _ => of_builtin(&callable.name, &callable.params.get(active)?.name),
        }
    }

    /// Returns the rank of an entry of this class: 0, the first place, if the argument takes the class, else `rank`.
    pub(super) fn ranked(&self, rank: u8, class: Option<Class>) -> u8 {
        match (self.wanted, class) {
            (Some(wanted), Some(class)) if wanted.takes(class) => 0,
            _ => rank,
        }
    }
}

/// Returns the class of a built-in name's parameter; `None` if it is unknown. Built-in names have no declared types: their
/// parameters are named alike.
fn of_builtin(function: &str, param: &str) -> Option<Class> {
    Some(match (function, param) {
        ("tile" | "gather" | "scatter" | "load" | "global_view", "t" | "view" | "buffer") => Class::View,
        (_, "t" | "src" | "dst" | "view" | "tensor" | "rows" | "expected") => Class::Tensor,
        ("gemm" | "gemm_async", "a" | "b" | "c") => Class::Tensor,
        (_, "dtype") => Class::DType,
        (_, "layout" | "l" | "tiler") => Class::Layout,
        (_, "axis" | "n" | "count" | "stages" | "bytes" | "seed" | "ulp") => Class::Number,
        (_, "op") => Class::Function,
        _ => return None,
    })
}
