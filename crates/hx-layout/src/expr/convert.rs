//! Converts values to the arguments of functions.

use super::{ExprError, Fault, Value};
use crate::labels::{Labeled, Labels};
use crate::{ComposedLayout, Coord, IntTuple, Layout, LinearLayout, Tiler};

impl Value {
    /// Returns the function of a layout of any kind, for drawing and comparing. A linear layout must have a shape and stride.
    ///
    /// # Errors
    /// If the value is no layout.
    pub fn function(&self) -> Result<ComposedLayout, ExprError> {
        self.composed().map_err(|Fault(message)| ExprError::whole(message))
    }

    pub(super) fn composed(&self) -> Result<ComposedLayout, Fault> {
        match self {
            Value::Composed(composed) => Ok(composed.clone()),
            Value::Layout(layout) => Ok(ComposedLayout::plain(layout.layout.clone())),
            Value::Linear(linear) => Ok(ComposedLayout::plain(linear.to_layout()?)),
            _ => Err(self.wanted("a layout")),
        }
    }

    fn wanted(&self, what: &str) -> Fault {
        Fault(format!("found {} where {what} was wanted", self.kind()))
    }

    pub(super) fn int(&self) -> Result<i64, Fault> {
        match self {
            Value::Int(i) => Ok(*i),
            _ => Err(self.wanted("an integer")),
        }
    }

    pub(super) fn tuple(&self) -> Result<IntTuple, Fault> {
        match self {
            Value::Int(i) => Ok(IntTuple::Int(*i)),
            Value::List(entries) => {
                Ok(IntTuple::Tuple(entries.iter().map(|(_, v)| v.tuple()).collect::<Result<_, _>>()?))
            }
            _ => Err(self.wanted("a tuple of integers")),
        }
    }

    /// Returns the labels of a shape.
    fn labels(&self) -> Labels {
        let Value::List(entries) = self else { return Labels::default() };
        let below =
            |(label, value): &(Option<String>, Value)| Labels { name: label.clone(), ..value.labels() };
        Labels { name: None, modes: entries.iter().map(below).collect() }
    }

    /// Makes `self : stride`.
    pub(super) fn with_stride(&self, stride: &Value) -> Result<Value, Fault> {
        let layout = Layout::new(self.tuple()?, stride.tuple()?)?;
        Ok(Value::Layout(Labeled::new(layout, self.labels())))
    }

    pub(super) fn layout(&self) -> Result<Labeled, Fault> {
        match self {
            Value::Layout(layout) => Ok(layout.clone()),
            _ => Err(self.wanted("a layout")),
        }
    }

    pub(super) fn linear(&self) -> Result<LinearLayout, Fault> {
        match self {
            Value::Linear(linear) => Ok(linear.clone()),
            Value::Layout(layout) => Ok(LinearLayout::from_layout_by_mode(&layout.layout)?),
            Value::Composed(composed) => Ok(LinearLayout::from_composed(composed)?),
            _ => Err(self.wanted("a linear layout")),
        }
    }

    pub(super) fn coord(&self) -> Result<Coord, Fault> {
        match self {
            Value::Keep => Ok(Coord::Keep),
            Value::Int(i) => Ok(Coord::Int(*i)),
            Value::List(entries) => {
                Ok(Coord::Tuple(entries.iter().map(|(_, v)| v.coord()).collect::<Result<_, _>>()?))
            }
            _ => Err(self.wanted("a coordinate")),
        }
    }

    /// Converts to a tiler: a layout tiles the whole, a tuple or `<...>` tiles by mode, and an integer `n` is `n:1`.
    pub(super) fn tiler(&self) -> Result<Tiler, Fault> {
        match self {
            Value::Keep => Ok(Tiler::Keep),
            Value::Int(n) => Ok(Tiler::extent(*n)?),
            Value::Layout(layout) => Ok(Tiler::Layout(layout.layout.clone())),
            Value::Tiler(tiler) => Ok(tiler.clone()),
            Value::List(entries) => {
                Ok(Tiler::Modes(entries.iter().map(|(_, v)| v.tiler()).collect::<Result<_, _>>()?))
            }
            _ => Err(self.wanted("a tiler")),
        }
    }

    /// Converts a tuple of integers to a value.
    pub(super) fn from_tuple(tuple: &IntTuple) -> Value {
        match tuple {
            IntTuple::Int(i) => Value::Int(*i),
            IntTuple::Tuple(entries) => {
                Value::List(entries.iter().map(|e| (None, Value::from_tuple(e))).collect())
            }
        }
    }

    pub(super) fn from_layout(layout: Layout) -> Value {
        Value::Layout(layout.into())
    }
}
