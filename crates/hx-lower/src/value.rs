//! The values of expressions while a kernel is lowered.

use std::sync::Arc;

use hx_base::{Code, codes};
use hx_dtype::DType;
use hx_hir::ItemKey;
use hx_index::{Cond, Expr};
use hx_layout::{ComposedLayout, IntTuple, Layout, LayoutError, Swizzle};
use hx_target::{Cache, Space};
use hx_tile::{Base, Constant, NamedBarrierId, Picked, PipeId, Scalar, TensorId, TurnsId, View, ViewMode};
use smol_str::SmolStr;

use crate::CtValue;
use crate::view_call::CreatingCall;

/// An elementwise expression that is not yet stored in a tensor.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Lazy {
    pub(crate) shape: Vec<i64>,
    pub(crate) inputs: Vec<TensorId>,
    pub(crate) value: Scalar,
}

/// A choice between literals for each element, which takes its type from its use.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Choice {
    pub(crate) cond: Lazy,
    pub(crate) then: Value,
    pub(crate) otherwise: Value,
}

impl Choice {
    /// Reports whether one of the literals is a floating-point number.
    pub(crate) fn is_float(&self) -> bool {
        [&self.then, &self.otherwise].into_iter().any(|part| match part {
            Value::Choice(inner) => inner.is_float(),
            literal => matches!(literal, Value::Float(_)),
        })
    }
}

/// A value of the interpreter: numbers are symbolic, tensors are views.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    /// The result of an error that has been reported; operations on it report nothing further.
    Error,
    Unit,
    Int(Expr),
    Float(f64),
    /// A number that is the same for all threads of the block and known only at run time.
    Scalar(Scalar),
    /// An elementwise expression.
    Lazy(Lazy),
    Choice(Arc<Choice>),
    Bool(Cond),
    Str(SmolStr),
    DType(DType),
    Auto,
    Layout(SymLayout),
    Swizzle(Swizzle),
    /// Clones share the parts, so that a constant of constants takes memory for its own parts only.
    Tuple(Arc<[Value]>),
    Array(Arc<[Value]>),
    Range {
        start: Option<Expr>,
        end: Option<Expr>,
    },
    /// `new` in an index: a new mode of extent 1.
    New,
    Tensor(Tensor),
    /// A tile function.
    Function(ItemKey),
    Pipe(PipeId),
    Turns(TurnsId),
    Barrier(NamedBarrierId),
    /// A counter, by its position among those of the source.
    Counter(usize),
}

impl Value {
    /// Describes the kind of the value, for messages.
    pub(crate) fn what(&self) -> String {
        match self {
            Value::Error => "an error".into(),
            Value::Unit => "nothing".into(),
            Value::Int(_) => "an integer".into(),
            Value::Float(_) => "a floating-point number".into(),
            Value::Scalar(_) => "a run-time number".into(),
            Value::Lazy(_) => "a register tensor".into(),
            Value::Choice(_) => "a choice between literals, which has no type yet".into(),
            Value::Bool(_) => "a truth value".into(),
            Value::Str(_) => "a string".into(),
            Value::DType(d) => format!("the element type `{d}`"),
            Value::Auto => "`auto`".into(),
            Value::Layout(_) => "a layout".into(),
            Value::Swizzle(_) => "a swizzle".into(),
            Value::Tuple(parts) => format!("a tuple of {}", parts.len()),
            Value::Array(parts) => format!("an array of {}", parts.len()),
            Value::Range { .. } => "a range".into(),
            Value::New => "`new`".into(),
            Value::Tensor(t) => format!("a {} tensor", t.space()),
            Value::Function(key) => format!("the function `{}`", key.name),
            Value::Pipe(_) => "a pipeline".into(),
            Value::Turns(_) => "turns".into(),
            Value::Barrier(_) => "a barrier".into(),
            Value::Counter(_) => "a counter".into(),
        }
    }

    /// Converts a compile-time argument to a value.
    pub(crate) fn from_ct(value: &CtValue) -> Value {
        match value {
            CtValue::Int(x) => Value::Int(Expr::constant(*x)),
            CtValue::Float(x) => Value::Float(x.value()),
            CtValue::Bool(x) => Value::Bool(if *x { Cond::True } else { Cond::False }),
            CtValue::DType(x) => Value::DType(*x),
            CtValue::Layout(x) => Value::Layout(SymLayout::from_layout(x)),
            CtValue::Auto => Value::Auto,
            CtValue::Function(key) => Value::Function(key.clone()),
            CtValue::Tuple(parts) => Value::Tuple(parts.iter().map(Value::from_ct).collect()),
        }
    }

    /// Converts the value to a compile-time argument. `None` for any value but known untyped numbers and conditions, types,
    /// `auto`, functions, layouts and tuples of these.
    pub(crate) fn to_ct(&self) -> Option<CtValue> {
        Some(match self {
            Value::Int(x) => CtValue::Int(x.as_const()?),
            Value::Float(x) => CtValue::Float(hx_hir::Float::new(*x)),
            Value::Bool(Cond::True) => CtValue::Bool(true),
            Value::Bool(Cond::False) => CtValue::Bool(false),
            Value::DType(x) => CtValue::DType(*x),
            Value::Auto => CtValue::Auto,
            Value::Function(key) => CtValue::Function(key.clone()),
            Value::Layout(l) => CtValue::Layout(l.to_layout()?),
            Value::Tuple(parts) => CtValue::Tuple(parts.iter().map(Value::to_ct).collect::<Option<_>>()?),
            _ => return None,
        })
    }
}

/// A tuple of tuples of symbolic integers: a shape or a stride.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ExprTuple {
    Leaf(Expr),
    Tuple(Vec<ExprTuple>),
}

impl ExprTuple {
    /// Returns the top-level entries; an integer is its own only entry.
    pub(crate) fn entries(&self) -> &[ExprTuple] {
        match self {
            ExprTuple::Leaf(_) => std::slice::from_ref(self),
            ExprTuple::Tuple(entries) => entries,
        }
    }

    fn from_ints(ints: &IntTuple) -> ExprTuple {
        match ints {
            IntTuple::Int(x) => ExprTuple::Leaf(Expr::constant(*x)),
            IntTuple::Tuple(parts) => ExprTuple::Tuple(parts.iter().map(ExprTuple::from_ints).collect()),
        }
    }

    fn to_ints(&self) -> Option<IntTuple> {
        Some(match self {
            ExprTuple::Leaf(x) => IntTuple::Int(x.as_const()?),
            ExprTuple::Tuple(parts) => {
                IntTuple::Tuple(parts.iter().map(ExprTuple::to_ints).collect::<Option<_>>()?)
            }
        })
    }

    /// Reports whether both tuples nest in the same way.
    pub(crate) fn congruent(&self, other: &ExprTuple) -> bool {
        match (self, other) {
            (ExprTuple::Leaf(_), ExprTuple::Leaf(_)) => true,
            (ExprTuple::Tuple(a), ExprTuple::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.congruent(b))
            }
            _ => false,
        }
    }
}

/// A layout whose extents and strides may be symbolic; shape and stride are congruent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SymLayout {
    pub(crate) shape: ExprTuple,
    pub(crate) stride: ExprTuple,
    /// Applied to the indices that the layout returns.
    pub(crate) swizzle: Swizzle,
}

impl SymLayout {
    pub(crate) fn from_layout(layout: &Layout) -> SymLayout {
        SymLayout {
            shape: ExprTuple::from_ints(layout.shape()),
            stride: ExprTuple::from_ints(layout.stride()),
            swizzle: Swizzle::identity(),
        }
    }

    /// Returns the layout if all its integers are known and it has no swizzle; otherwise `None`.
    pub(crate) fn to_layout(&self) -> Option<Layout> {
        self.to_composed().ok().filter(|l| l.swizzle.is_identity()).map(|l| l.layout)
    }

    /// Returns the layout with its swizzle.
    ///
    /// # Errors
    /// Returns a code and a message if an integer is not known, or if the integers form no layout, for example because its
    /// indices overflow.
    pub(crate) fn to_composed(&self) -> Result<ComposedLayout, (&'static Code, String)> {
        let (Some(shape), Some(stride)) = (self.shape.to_ints(), self.stride.to_ints()) else {
            let message = "found a layout with run-time integers, expected a constant one";
            return Err((&codes::NOT_CONSTANT, message.to_owned()));
        };
        match Layout::new(shape, stride) {
            Ok(layout) => Ok(ComposedLayout::swizzled(self.swizzle, layout)),
            Err(LayoutError::Overflow(what)) => {
                let message =
                    format!("the numbers of this layout are too large: {what} does not fit 64 bits");
                Err((&codes::CONSTANT_ERROR, message))
            }
            Err(error) => Err((&codes::LAYOUT_ALGEBRA, error.to_string())),
        }
    }
}

/// A tensor, or a view of one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tensor {
    pub(crate) view: SymView,
    pub(crate) dtype: DType,
    /// Whether the tensor may be written through this value.
    pub(crate) mutable: bool,
    /// Whether the expression itself made the tensor and no name refers to it yet. A `let` then takes it without a copy.
    pub(crate) fresh: bool,
}

impl Tensor {
    /// Returns the name of the memory that holds the tensor.
    pub(crate) fn space(&self) -> &'static str {
        self.view.base.space().name()
    }

    pub(crate) fn is_register(&self) -> bool {
        self.view.base.space().is_held()
    }

    pub(crate) fn is_global(&self) -> bool {
        self.view.base.space() == Space::Global
    }

    /// Returns the extents of the modes.
    pub(crate) fn shape(&self) -> Vec<Expr> {
        let extents = self.view.modes.iter().map(|m| m.extent.clone());
        if self.view.groups.is_empty() {
            return extents.collect();
        }
        let mut extents = extents;
        let product = |extents: &mut dyn Iterator<Item = Expr>, n: usize| {
            extents.take(n).fold(Expr::constant(1), |product, extent| &product * &extent)
        };
        self.view.groups.iter().map(|n| product(&mut extents, *n)).collect()
    }

    /// Returns the same tensor with another view.
    pub(crate) fn with_view(&self, view: SymView) -> Tensor {
        Tensor { view, dtype: self.dtype, mutable: self.mutable, fresh: self.fresh }
    }
}

/// A view whose extents may be symbolic; see [`hx_tile::View`].
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SymView {
    pub(crate) base: Base,
    pub(crate) offsets: Vec<Expr>,
    pub(crate) modes: Vec<SymMode>,
    pub(crate) pad: f64,
    /// See [`hx_tile::View::ends`].
    pub(crate) ends: Vec<(usize, Expr)>,
    /// See [`hx_tile::View::picked`].
    pub(crate) picked: Option<Box<Picked>>,
    /// See [`hx_tile::View::cache`].
    pub(crate) cache: Cache,
    /// The number of modes that each mode of the tensor consists of, the slowest first. Empty if it is 1 for all.
    pub(crate) groups: Vec<usize>,
    pub(crate) call: CreatingCall,
}

/// A mode: `extent` steps of `factor` along dimension `dim` of the base.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SymMode {
    pub(crate) extent: Expr,
    pub(crate) dim: usize,
    pub(crate) factor: Expr,
}

impl SymView {
    /// Returns a view of a whole tensor.
    pub(crate) fn whole(base: Base, shape: &[Expr]) -> SymView {
        let mode = |(dim, extent): (usize, &Expr)| SymMode {
            extent: extent.clone(),
            dim,
            factor: Expr::constant(1),
        };
        SymView {
            base,
            offsets: vec![Expr::default(); shape.len()],
            modes: shape.iter().enumerate().map(mode).collect(),
            pad: 0.0,
            ends: Vec::new(),
            picked: None,
            cache: Cache::default(),
            groups: Vec::new(),
            call: CreatingCall::default(),
        }
    }

    /// Returns the view with constant extents; `None` if one is not known.
    pub(crate) fn to_view(&self) -> Option<View> {
        let mode = |m: &SymMode| {
            Some(ViewMode { extent: m.extent.as_const()?, dim: m.dim, factor: m.factor.clone() })
        };
        Some(View {
            base: self.base,
            offsets: self.offsets.clone(),
            modes: self.modes.iter().map(mode).collect::<Option<_>>()?,
            pad: Constant::new(self.pad),
            ends: self.ends.clone(),
            picked: self.picked.as_deref().cloned(),
            cache: self.cache,
        })
    }

    /// Returns the dimension of each mode, if the view only reorders the modes of a whole tensor of this shape; otherwise
    /// `None`.
    pub(crate) fn as_permutation(&self, shape: &[i64]) -> Option<Vec<usize>> {
        let whole =
            |m: &SymMode| m.factor.as_const() == Some(1) && m.extent.as_const() == shape.get(m.dim).copied();
        let order: Vec<usize> = self.modes.iter().map(|m| m.dim).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let complete = sorted.iter().copied().eq(0..shape.len());
        (complete && self.modes.iter().all(whole) && self.offsets.iter().all(Expr::is_zero)).then_some(order)
    }
}
