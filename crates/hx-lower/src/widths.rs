//! `bitcast` between types of different widths: each element becomes several narrower ones along an axis, or several become a wider
//! one. The order within a word is that of memory, the lowest bits first.
//!
//! The narrow tensor has a further mode behind the axis, which counts the parts of a word. A thread that holds a word holds all its
//! parts, so the registers keep their contents.

use hx_base::codes;
use hx_dtype::{DType, Operator};
use hx_hir::ExprId;
use hx_index::Expr;
use hx_tile::{Base, Map, OpKind, Scalar, TensorId, View};

use crate::builtin_call::BuiltinCall;
use crate::error::Lower;
use crate::lowering::{Lowering, shape_text};
use crate::value::{Lazy, Tensor, Value};

/// A cast of bits between two widths.
#[derive(Clone, Copy)]
struct Widths {
    from: DType,
    to: DType,
    axis: usize,
}

impl Widths {
    /// Returns the number of narrow elements in a wide one.
    fn parts(self) -> i64 {
        i64::from(self.from.bits().max(self.to.bits()) / self.from.bits().min(self.to.bits()))
    }

    /// Returns the shape of the narrow tensor with a mode for the parts, from that of the wide one.
    fn parted(self, wide: &[i64], parts: i64) -> Vec<i64> {
        let mut shape = wide.to_vec();
        shape.insert(self.axis + 1, parts);
        shape
    }
}

impl Lowering<'_> {
    /// Returns the bits of a tensor as elements of a type of another width.
    pub(crate) fn bitcast_widths(
        &mut self,
        call: &BuiltinCall<'_, '_>,
        (at, lazy): (ExprId, Lazy),
        to: DType,
    ) -> Lower<Value> {
        let from = lazy.value.dtype();
        let shape = lazy.shape.clone();
        let Some(last) = shape.len().checked_sub(1) else {
            let message = format!("found a tensor without modes, expected one along which `{to}` can lie");
            return self.fail(&codes::SHAPE_MISMATCH, at, message);
        };
        let axis = call.slot(2).map(|axis| self.axis(axis, shape.len())).transpose()?.unwrap_or(last);
        let widths = Widths { from, to, axis };
        let (extent, parts) = (shape[axis], widths.parts());
        if from.bits() < to.bits() && extent % parts != 0 {
            return self.uneven(call, at, &shape, widths);
        }
        let src = match lazy.inputs[..] {
            [input]
                if matches!(lazy.value, Scalar::Input { .. }) && self.output.tensor(input).shape == shape =>
            {
                input
            }
            _ => {
                let src = self.output.next_tensor();
                self.materialize(at, lazy, None);
                src
            }
        };
        let hint = call.hint.unwrap_or("bits");
        Ok(Value::Tensor(match from.bits() > to.bits() {
            true => self.narrower(call.id, src, widths, hint),
            false => self.wider(call.id, src, widths, hint),
        }))
    }

    /// Reports an extent that is no multiple of the parts of a wide element.
    fn uneven<T>(
        &mut self,
        call: &BuiltinCall<'_, '_>,
        at: ExprId,
        shape: &[i64],
        Widths { from, to, axis }: Widths,
    ) -> Lower<T> {
        let parts = Widths { from, to, axis }.parts();
        let extents: Vec<Expr> = shape.iter().map(|extent| Expr::constant(*extent)).collect();
        let message = format!(
            "found the extent {} along axis {axis} of `{}`, expected a multiple of {parts}",
            shape[axis],
            shape_text(&extents)
        );
        let error = self.error(&codes::SHAPE_MISMATCH, call.id, message);
        let error = error.also(self.place(at), format!("{parts} elements of `{from}` are one of `{to}`"));
        let other = (0..shape.len()).find(|other| shape[*other] % parts == 0);
        let error = match other {
            Some(other) => error.help(format!("`axis: {other}` takes the elements along axis {other}")),
            None => {
                error.help(format!("a tile with a multiple of {parts} elements along an axis has whole ones"))
            }
        };
        Err(self.report(error))
    }

    /// Cuts each element into narrower ones.
    fn narrower(&mut self, at: ExprId, src: TensorId, widths: Widths, hint: &str) -> Tensor {
        let mut shape = self.output.tensor(src).shape.clone();
        let parts = widths.parts();
        let words = self.reshaped(at, src, widths.parted(&shape, 1), "words");
        let (dst, _) = self.new_register("parts", widths.to, widths.parted(&shape, parts), at);
        self.emit(OpKind::Map(Map { dst, inputs: vec![words], value: part_of(widths) }), at);
        shape[widths.axis] *= parts;
        self.reshaped_tensor(at, dst, shape, hint)
    }

    /// Joins neighbouring elements to wider ones.
    fn wider(&mut self, at: ExprId, src: TensorId, widths: Widths, hint: &str) -> Tensor {
        let mut shape = self.output.tensor(src).shape.clone();
        let parts = widths.parts();
        shape[widths.axis] /= parts;
        let all = widths.parted(&shape, parts);
        let mut held = self.reshaped(at, src, all.clone(), "parts");
        // Parts of a byte are in words of their own before they are joined: the compiler of the CUDA text does not see through bytes
        // that were packed in another order.
        if widths.from.bits() == 8 {
            let (spread, _) = self.new_register("spread", word(widths), all, at);
            let value = in_word(widths);
            self.emit(OpKind::Map(Map { dst: spread, inputs: vec![held], value }), at);
            held = spread;
        }
        let one = widths.parted(&shape, 1);
        let dtype = self.output.tensor(held).dtype;
        let mut inputs = Vec::new();
        for i in 0..parts {
            let (part, _) = self.new_register("part", dtype, one.clone(), at);
            let src = self.part_view(held, widths.axis + 1, i);
            self.emit(OpKind::Slice { dst: part, src }, at);
            inputs.push(part);
        }
        let (dst, _) = self.new_register("words", widths.to, one, at);
        self.emit(OpKind::Map(Map { dst, inputs, value: joined(widths, dtype) }), at);
        self.reshaped_tensor(at, dst, shape, hint)
    }

    /// Returns the view of element `i` along an axis of a register tensor, which keeps its mode.
    fn part_view(&self, tensor: TensorId, axis: usize, i: i64) -> View {
        let mut view = View::whole(Base::Register(tensor), &self.output.tensor(tensor).shape);
        view.offsets[axis] = Expr::constant(i);
        view.modes[axis].extent = 1;
        view
    }

    fn reshaped(&mut self, at: ExprId, src: TensorId, shape: Vec<i64>, hint: &str) -> TensorId {
        let dst = self.output.next_tensor();
        self.reshaped_tensor(at, src, shape, hint);
        dst
    }

    fn reshaped_tensor(&mut self, at: ExprId, src: TensorId, shape: Vec<i64>, hint: &str) -> Tensor {
        let dtype = self.output.tensor(src).dtype;
        let (dst, made) = self.new_register(hint, dtype, shape, at);
        self.emit(OpKind::Cast { dst, src }, at);
        made
    }
}

/// Returns the unsigned integers of a width.
fn unsigned(dtype: DType) -> DType {
    let same = |other: &DType| other.is_int() && !other.is_signed_int() && other.bits() == dtype.bits();
    DType::ALL.into_iter().find(same).unwrap_or(dtype)
}

/// Returns the type in which the parts of a word are shifted.
fn word(widths: Widths) -> DType {
    if widths.from.bits().max(widths.to.bits()) > 32 { DType::U64 } else { DType::U32 }
}

/// Returns the bits of the only input, which has a type of `widths.from`, in a word.
fn in_word(widths: Widths) -> Scalar {
    let input = Scalar::Input { index: 0, dtype: widths.from };
    input.bitcast(unsigned(widths.from)).cast(word(widths))
}

/// Returns the part of a wide element that the coordinate along the mode of the parts counts.
fn part_of(widths: Widths) -> Scalar {
    let word = word(widths);
    let bits = Scalar::Const { bits: u64::from(widths.to.bits()), dtype: word };
    let number = Scalar::Index { axis: widths.axis + 1 }.cast(word);
    let distance = Scalar::apply(Operator::Mul, word, [number, bits]);
    let shifted = Scalar::apply(Operator::Shr, word, [in_word(widths), distance]);
    shifted.cast(unsigned(widths.to)).bitcast(widths.to)
}

/// Returns the wide element of as many inputs as it has parts.
fn joined(widths: Widths, from: DType) -> Scalar {
    let word = word(widths);
    let part = |i: i64| {
        let input = Scalar::Input { index: i as u32, dtype: from };
        let bits = input.bitcast(unsigned(from)).cast(word);
        let distance = Scalar::Const { bits: i as u64 * u64::from(widths.from.bits()), dtype: word };
        if i == 0 { bits } else { Scalar::apply(Operator::Shl, word, [bits, distance]) }
    };
    let or = |all, i| Scalar::apply(Operator::Or, word, [all, part(i)]);
    (1..widths.parts()).fold(part(0), or).cast(unsigned(widths.to)).bitcast(widths.to)
}
