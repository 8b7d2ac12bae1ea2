//! The built-in names, which every file knows without importing them: one table with their names, parameters and documentation.
//!
//! The table ([`table`]) has an enum for each family of names. Inference, lowering and the host match on the enums and name every
//! variant, so a new row is a compile error wherever it needs a type or a meaning. The table does not say how anything is computed.

mod table;

pub use table::{
    AtomicFn, Builtin, BuiltinValue, CommonFn, HostFn, HostLayoutFn, KernelFn, LayoutFn, MathFn, Method,
    builtins,
};

use hx_dtype::AtomicOp;

use crate::{Item, Ty};

/// The code in which a built-in name has a meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Place {
    /// In `kernel` and `fn`.
    Device,
    /// In `test`, `bench`, `main` and the REPL.
    Host,
    /// In device code, in host code, and in constants.
    Both,
    /// Behind a dot in device code: [`Method`].
    Member,
}

impl Place {
    /// Returns the place in which the names of an item are looked up.
    pub(crate) fn of(item: Item<'_>) -> Place {
        match item {
            Item::Kernel(_) | Item::Function(_) => Place::Device,
            Item::Test(_) | Item::Bench(_) | Item::Main(_) | Item::Cell(_) => Place::Host,
            Item::Const(_) | Item::Use(_) => Place::Both,
        }
    }
}

/// The ways to pass an argument to a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Need {
    /// By position, or by name.
    Required,
    /// By position or by name; may be omitted.
    Optional,
    /// By name only; may be omitted.
    Named,
    /// Any number of arguments, by position.
    Rest,
}

/// A parameter of a built-in function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BuiltinParam {
    pub name: &'static str,
    pub need: Need,
}

const fn required(name: &'static str) -> BuiltinParam {
    BuiltinParam { name, need: Need::Required }
}

const fn optional(name: &'static str) -> BuiltinParam {
    BuiltinParam { name, need: Need::Optional }
}

const fn named(name: &'static str) -> BuiltinParam {
    BuiltinParam { name, need: Need::Named }
}

const fn rest(name: &'static str) -> BuiltinParam {
    BuiltinParam { name, need: Need::Rest }
}

/// A row of the table.
struct Row {
    name: &'static str,
    params: &'static [BuiltinParam],
    doc: &'static str,
    is_method: bool,
}

impl Row {
    const fn method(self) -> Row {
        Row { is_method: true, ..self }
    }
}

/// Declares the families: for each an enum with a variant for each row, and [`Builtin`], which is any of them.
macro_rules! families {
    ($(
        $(#[doc = $about:literal])*
        $family:ident($functions:ident) {
            $($variant:ident: $name:literal, $params:expr, $doc:literal $(, $flag:ident)?;)*
        }
    )*) => {
        $(
            $(#[doc = $about])*
            #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
            pub enum $functions {
                $(#[doc = $doc] $variant,)*
            }

            impl $functions {
                const ROWS: &[super::Row] = &[$(
                    super::Row { name: $name, params: &$params, doc: $doc, is_method: false }$(.$flag())?,
                )*];

                fn row(self) -> &'static super::Row {
                    &Self::ROWS[self as usize]
                }

                /// Returns the name, with `::` if it is a path.
                pub fn name(self) -> &'static str {
                    self.row().name
                }
            }
        )*

        /// A built-in name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Builtin {
            $($(#[doc = $about])* $family($functions),)*
        }

        impl Builtin {
            pub(super) fn row(self) -> &'static super::Row {
                match self {
                    $(Builtin::$family(function) => function.row(),)*
                }
            }
        }

        /// Returns every built-in name, in the order of the table.
        pub fn builtins() -> impl Iterator<Item = Builtin> {
            [$($(Builtin::$family($functions::$variant),)*)*].into_iter()
        }
    };
}
use families;

impl Builtin {
    /// Returns the name, with `::` if it is a path.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the code in which the name has this meaning.
    pub fn place(self) -> Place {
        match self {
            Builtin::Value(
                BuiltinValue::BlockIdx | BuiltinValue::GridDim | BuiltinValue::Multiprocessors,
            )
            | Builtin::Kernel(_)
            | Builtin::Atomic(_) => Place::Device,
            Builtin::Value(BuiltinValue::Auto | BuiltinValue::Infer | BuiltinValue::Nan)
            | Builtin::Common(_)
            | Builtin::Math(_)
            | Builtin::Layout(_) => Place::Both,
            Builtin::Method(_) => Place::Member,
            Builtin::Value(BuiltinValue::Args) | Builtin::HostLayout(_) | Builtin::Host(_) => Place::Host,
        }
    }

    /// Reports whether the name has this meaning in code at `place`. At [`Place::Both`] only names with a meaning everywhere do.
    pub fn is_at(self, place: Place) -> bool {
        self.place() == place || self.place() == Place::Both
    }

    /// Returns the parameters; `None` for a value such as `block_idx`.
    pub fn params(self) -> Option<&'static [BuiltinParam]> {
        match self {
            Builtin::Value(_) => None,
            Builtin::Kernel(_)
            | Builtin::Atomic(_)
            | Builtin::Method(_)
            | Builtin::Common(_)
            | Builtin::Math(_)
            | Builtin::Layout(_)
            | Builtin::HostLayout(_)
            | Builtin::Host(_) => Some(self.row().params),
        }
    }

    /// Returns the documentation: one line of Markdown.
    pub fn doc(self) -> &'static str {
        self.row().doc
    }

    /// Reports whether host code can also write the function behind its first argument, as in `x.sum(axis: 1)`.
    pub fn is_method(self) -> bool {
        self.row().is_method
    }

    /// Returns the signature as it would be declared, such as `copy(src, dst)`, or `.skip(n)` for a method.
    pub fn signature(self) -> String {
        let Some(params) = self.params() else { return self.name().to_owned() };
        let dot = if self.place() == Place::Member { "." } else { "" };
        let mut text = format!("{dot}{}(", self.name());
        for (i, p) in params.iter().enumerate() {
            if i > 0 {
                text.push_str(", ");
            }
            text.push_str(p.name);
            text.push_str(match p.need {
                Need::Required => "",
                Need::Optional => "?",
                Need::Named => ": …",
                Need::Rest => ", …",
            });
        }
        text.push(')');
        text
    }
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Finds the built-in of that name for code at `place`. [`Place::Both`] finds only names that have a meaning everywhere. `None`
/// if there is none.
pub fn builtin(name: &str, place: Place) -> Option<Builtin> {
    builtins().find(|b| b.name() == name && b.is_at(place))
}

impl AtomicFn {
    /// Returns the operation on memory that the function performs, such as addition for `atomic_add`.
    pub fn op(self) -> AtomicOp {
        match self {
            AtomicFn::Add => AtomicOp::Add,
            AtomicFn::Min => AtomicOp::Min,
            AtomicFn::Max => AtomicOp::Max,
            AtomicFn::And => AtomicOp::And,
            AtomicFn::Or => AtomicOp::Or,
            AtomicFn::Xor => AtomicOp::Xor,
            AtomicFn::Exchange => AtomicOp::Exchange,
            AtomicFn::CompareExchange => AtomicOp::CompareExchange,
            AtomicFn::Load => AtomicOp::Load,
            AtomicFn::Store => AtomicOp::Store,
        }
    }
}

impl Method {
    /// Returns the methods of values of a type.
    pub fn all_of(ty: &Ty) -> &'static [Method] {
        const PIPELINE: [Method; 6] = [
            Method::Acquire,
            Method::Publish,
            Method::WaitStage,
            Method::Release,
            Method::ReleasePrevious,
            Method::Skip,
        ];
        match ty {
            Ty::Pipeline => &PIPELINE,
            Ty::Turns => &[Method::Take, Method::Pass],
            Ty::Barrier => &[Method::SyncAt, Method::ArriveAt],
            _ => &[],
        }
    }

    /// Finds the method of that name behind a value of a type. `None` if there is none.
    pub fn of(ty: &Ty, name: &str) -> Option<Method> {
        Method::all_of(ty).iter().copied().find(|method| method.name() == name)
    }

    /// Reports whether a call of the method may be a statement of its own, which drops the result.
    pub fn drops_result(self) -> bool {
        match self {
            Method::Acquire | Method::WaitStage => true,
            Method::Publish
            | Method::Release
            | Method::ReleasePrevious
            | Method::Skip
            | Method::Take
            | Method::Pass
            | Method::SyncAt
            | Method::ArriveAt => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_thing_at_each_place() {
        for place in [Place::Device, Place::Host] {
            let mut names: Vec<&str> = builtins().filter(|b| b.is_at(place)).map(Builtin::name).collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn signatures_read_as_declarations() {
        let text = |name| builtin(name, Place::Device).map(Builtin::signature);
        assert_eq!(text("copy").as_deref(), Some("copy(src, dst, l1: …, l2: …, by: …)"));
        assert_eq!(text("max").as_deref(), Some("max(a, b?, axis: …)"));
        assert_eq!(text("block_idx").as_deref(), Some("block_idx"));
        assert_eq!(text("randn"), None);
    }
}
