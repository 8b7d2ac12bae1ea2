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
            Value::Relation(relation) => Ok(relation.to_layout()?),
            _ => Err(self.wanted("a layout")),
        }
    }

    pub(super) fn wanted(&self, what: &str) -> Fault {
        Fault(format!("found {} where {what} was expected", self.kind()))
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
            Value::AfterSwizzle(after) => Ok(LinearLayout::from_after_swizzle(after)?),
            Value::Relation(relation) => Ok(relation.to_linear()?),
            _ => Err(self.wanted("a linear layout")),
        }
    }

    /// Makes a linear layout of its bases: for each input its name and a list of values, one for each bit from the lowest.
    ///
    /// `outs` has the name and size of each output. Without it, the values are integers, and the output is `index`, of the
    /// smallest size that holds them.
    pub(super) fn with_outputs(&self, outs: Option<&Value>) -> Result<LinearLayout, Fault> {
        let mut ins = Vec::new();
        for (name, bases) in self.dimensions("(lane: [1, 2], register: [4, 8])")? {
            let Value::List(bases) = bases else {
                return Err(bases.wanted(&format!("the list of values of the bits of `{name}`")));
            };
            let vector = |(_, value): &(_, Value)| match value {
                Value::Int(_) => Ok(vec![value.int()?]),
                Value::List(entries) => entries.iter().map(|(_, entry)| entry.int()).collect(),
                other => Err(other.wanted("the value of a bit")),
            };
            ins.push((name, bases.iter().map(vector).collect::<Result<Vec<Vec<i64>>, Fault>>()?));
        }
        let outs = match outs {
            Some(outs) => {
                let outs = outs.dimensions("(row: 16, col: 8)")?.into_iter();
                outs.map(|(name, size)| Ok((name, size.int()?))).collect::<Result<_, Fault>>()?
            }
            None => {
                let values = ins.iter().flat_map(|(_, bases)| bases.iter().flatten());
                let top = values.fold(0, |all, v| all | v).max(0);
                let bits = (i64::BITS - top.leading_zeros()).min(i64::BITS - 2);
                vec![("index".to_string(), 1i64 << bits)]
            }
        };
        Ok(LinearLayout::new(ins, outs)?)
    }

    /// Returns the entries of a tuple in which every entry has a name; none for `[]`.
    fn dimensions(&self, example: &str) -> Result<Vec<(String, &Value)>, Fault> {
        let Value::List(entries) = self else {
            return Err(self.wanted(&format!("a tuple of dimensions such as `{example}`")));
        };
        entries
            .iter()
            .map(|(name, value)| match name {
                Some(name) => Ok((name.clone(), value)),
                None => Err(Fault(format!("every dimension has a name, as in `{example}`"))),
            })
            .collect()
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

    /// Converts to a tiler: a layout tiles the whole, a tuple or `<...>` tiles by mode, an integer `n` is `n:1`, and `_` tiles
    /// nothing.
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

    /// Makes the value of a layout without swizzle and names.
    pub fn from_layout(layout: Layout) -> Value {
        Value::Layout(layout.into())
    }
}
