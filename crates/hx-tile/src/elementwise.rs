//! Elementwise expressions over register tensors.

use std::sync::Arc;

use hx_dtype::{DType, Operator};
use hx_index::{Expr, Symbol};

use crate::{Inline, TensorId};

/// Sets every element of `dst` to the value of an expression at that element. Each input has the extents of `dst`, or extent
/// 1 in the dimensions in which it is broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Map {
    pub dst: TensorId,
    pub inputs: Vec<TensorId>,
    pub value: Scalar,
}

/// The value of an expression at one element. Every node knows its type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scalar {
    /// The element of the input at this position of the list of inputs.
    Input { index: u32, dtype: DType },
    /// The element's coordinate along an axis, an `i32`.
    Index { axis: usize },
    /// An integer that is the same for the whole block. In a thread program it may depend on the thread.
    Integer { value: Expr, dtype: DType },
    /// A number of the block that is not an integer. A [`crate::Leaf::LetNumber`], a [`crate::Leaf::LoadScalar`] or a
    /// [`crate::OpKind::ReadNumber`] defines it.
    Var { var: Symbol, dtype: DType },
    /// A floating-point parameter of the kernel.
    Param { name: String, dtype: DType },
    /// A literal, as bits of its type.
    Const { bits: u64, dtype: DType },
    /// An operator on operands of type `dtype`; the condition of [`Operator::Select`] is a `bool`.
    Apply { operator: Operator, dtype: DType, args: Vec<Scalar> },
    /// A conversion. Floating-point results are rounded to nearest even. A floating-point number becomes an integer toward
    /// zero, and saturates; integers wrap.
    Cast { to: DType, arg: Box<Scalar> },
    /// Reads the bits of an element as those of another type of the same width.
    Bitcast { to: DType, arg: Box<Scalar> },
    /// An instruction that the source writes itself.
    Inlined(Box<Inlined>),
}

/// The result of a text of PTX at one element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inlined {
    pub inline: Arc<Inline>,
    /// The operands, in the order of the function's parameters.
    pub args: Vec<Scalar>,
    /// The value that the text computes, by the function's body: an expression of the same type over the same inputs. The simulator
    /// and all proofs evaluate it. `None` if the function has no body, so that only the hardware knows the value.
    pub meaning: Option<Scalar>,
}

impl Inlined {
    /// Returns the operands and the meaning.
    pub fn parts(&self) -> impl Iterator<Item = &Scalar> {
        self.args.iter().chain(&self.meaning)
    }

    /// Returns the same instruction with other operands and another meaning.
    pub fn map(&self, change: &mut dyn FnMut(&Scalar) -> Scalar) -> Inlined {
        Inlined {
            inline: self.inline.clone(),
            args: self.args.iter().map(&mut *change).collect(),
            meaning: self.meaning.as_ref().map(change),
        }
    }
}

impl Scalar {
    /// Returns the literal `value`, rounded to `dtype`.
    pub fn constant(value: f64, dtype: DType) -> Scalar {
        Scalar::Const { bits: dtype.encode(value), dtype }
    }

    /// Makes an operator on operands of type `dtype`, in the order of `args`.
    pub fn apply(operator: Operator, dtype: DType, args: impl IntoIterator<Item = Scalar>) -> Scalar {
        Scalar::Apply { operator, dtype, args: args.into_iter().collect() }
    }

    /// Converts the value to `to`; returns it unchanged if it has that type.
    pub fn cast(self, to: DType) -> Scalar {
        if self.dtype() == to { self } else { Scalar::Cast { to, arg: Box::new(self) } }
    }

    /// Returns the same bits as an element of `to`, which has the same width.
    pub fn bitcast(self, to: DType) -> Scalar {
        match self {
            Scalar::Const { bits, .. } => Scalar::Const { bits, dtype: to },
            same if same.dtype() == to => same,
            other => Scalar::Bitcast { to, arg: Box::new(other) },
        }
    }

    /// Returns the type of the value. It may differ from the operands' type: a comparison gives `bool`.
    pub fn dtype(&self) -> DType {
        match self {
            Scalar::Input { dtype, .. }
            | Scalar::Integer { dtype, .. }
            | Scalar::Var { dtype, .. }
            | Scalar::Param { dtype, .. }
            | Scalar::Const { dtype, .. } => *dtype,
            Scalar::Index { .. } => DType::I32,
            Scalar::Apply { operator, dtype, .. } => operator.result(*dtype),
            Scalar::Cast { to, .. } | Scalar::Bitcast { to, .. } => *to,
            Scalar::Inlined(inlined) => inlined.inline.dtype,
        }
    }

    /// Returns the expression with every leaf replaced by the result of `leaf`. If that is `None`, the leaf is kept.
    pub fn map_leaves(&self, leaf: &mut dyn FnMut(&Scalar) -> Option<Scalar>) -> Scalar {
        match self {
            Scalar::Apply { operator, dtype, args } => Scalar::Apply {
                operator: *operator,
                dtype: *dtype,
                args: args.iter().map(|a| a.map_leaves(leaf)).collect(),
            },
            Scalar::Cast { to, arg } => Scalar::Cast { to: *to, arg: Box::new(arg.map_leaves(leaf)) },
            Scalar::Bitcast { to, arg } => Scalar::Bitcast { to: *to, arg: Box::new(arg.map_leaves(leaf)) },
            Scalar::Inlined(inlined) => {
                Scalar::Inlined(Box::new(inlined.map(&mut |part| part.map_leaves(leaf))))
            }
            other => leaf(other).unwrap_or_else(|| other.clone()),
        }
    }

    /// Reports whether it is a division by a power of two, of which the C++ compiler makes a multiplication.
    pub fn divides_by_power_of_two(&self) -> bool {
        let Scalar::Apply { operator: Operator::Div, args, .. } = self else { return false };
        let [_, Scalar::Const { bits, dtype }] = args.as_slice() else { return false };
        let divisor = dtype.decode(*bits).abs();
        dtype.is_float() && divisor.is_normal() && divisor.log2().fract() == 0.0
    }

    /// Reports whether two evaluations may differ: a volatile instruction of the source occurs in the expression.
    pub fn is_volatile(&self) -> bool {
        let mut inlined = Vec::new();
        self.inlined(&mut inlined);
        inlined.iter().any(|inlined| inlined.inline.is_volatile)
    }

    /// Reports whether a coordinate occurs in the expression.
    pub fn mentions_index(&self) -> bool {
        let mut found = false;
        self.map_leaves(&mut |leaf| {
            found |= matches!(leaf, Scalar::Index { .. });
            None
        });
        found
    }

    /// Collects the instructions of the source in the expression, outermost first.
    pub fn inlined<'s>(&'s self, out: &mut Vec<&'s Inlined>) {
        match self {
            Scalar::Apply { args, .. } => args.iter().for_each(|arg| arg.inlined(out)),
            Scalar::Cast { arg, .. } | Scalar::Bitcast { arg, .. } => arg.inlined(out),
            Scalar::Inlined(inlined) => {
                out.push(inlined);
                inlined.args.iter().for_each(|arg| arg.inlined(out));
            }
            Scalar::Input { .. }
            | Scalar::Index { .. }
            | Scalar::Integer { .. }
            | Scalar::Var { .. }
            | Scalar::Param { .. }
            | Scalar::Const { .. } => {}
        }
    }

    /// Collects the operators of the expression with their types, for the cost of one element. An instruction of the source counts as a
    /// sum of its type.
    pub fn operators(&self, out: &mut Vec<(Operator, DType)>) {
        match self {
            Scalar::Inlined(inlined) => {
                let each = (Operator::Add, inlined.inline.dtype);
                out.extend((0..inlined.inline.instructions).map(|_| each));
                inlined.args.iter().for_each(|arg| arg.operators(out));
            }
            Scalar::Apply { operator, dtype, args } => {
                out.push((*operator, *dtype));
                args.iter().for_each(|a| a.operators(out));
            }
            Scalar::Cast { arg, .. } | Scalar::Bitcast { arg, .. } => arg.operators(out),
            _ => {}
        }
    }
}

impl std::fmt::Display for Scalar {
    /// Prints inputs as `$0`, `$1`, …, and infix operators in parentheses.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Input { index, .. } => write!(f, "${index}"),
            Scalar::Index { axis } => write!(f, "index({axis})"),
            Scalar::Integer { value, .. } => write!(f, "({value})"),
            Scalar::Param { name, .. } => write!(f, "{name}"),
            Scalar::Var { var, .. } => write!(f, "{var}"),
            Scalar::Const { bits, dtype } => write!(f, "{:?}", dtype.decode(*bits)),
            Scalar::Cast { to, arg } => write!(f, "cast({arg}, {to})"),
            Scalar::Bitcast { to, arg } => write!(f, "bitcast({arg}, {to})"),
            Scalar::Inlined(inlined) => {
                let args: Vec<String> = inlined.args.iter().map(ToString::to_string).collect();
                write!(f, "{}({})", inlined.inline.name, args.join(", "))
            }
            Scalar::Apply { operator, args, .. } => {
                let name = operator.name();
                match args.as_slice() {
                    [a, b] if !name.starts_with(char::is_alphabetic) => write!(f, "({a} {name} {b})"),
                    [a] if !name.starts_with(char::is_alphabetic) => write!(f, "{name}{a}"),
                    args => {
                        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
                        write!(f, "{name}({})", args.join(", "))
                    }
                }
            }
        }
    }
}
