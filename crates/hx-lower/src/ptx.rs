//! Calls of functions with PTX. The text is applied to each element of the operands, and the body of the function is the meaning of the
//! text.

use std::sync::Arc;

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::{ExprId, FnSignature, Item, Param, Ptx, PtxPart, Sound, fn_ptx};
use hx_tile::{Inline, Inlined, Scalar, TensorId};

use crate::elementwise::renumber;
use crate::error::{ItemPart, Lower};
use crate::lowering::Lowering;
use crate::origins::OriginPlace;
use crate::value::{Lazy, Value};

/// The PTX of a function that is called.
pub(crate) struct PtxCall<'db> {
    ptx: &'db Ptx,
    /// The names and types of the parameters.
    params: Vec<(&'db str, DType)>,
    /// The type of the result.
    dtype: DType,
}

impl<'db> Lowering<'db> {
    /// Returns the PTX of the innermost function, whose signature is still open; `None` if it has none.
    pub(crate) fn ptx_of(&self, sig: &'db FnSignature, item: Sound<Item<'db>>) -> Option<PtxCall<'db>> {
        let ptx = fn_ptx(self.db, item.function()?.get()).as_ref()?;
        let param = |param: &'db Param| Some((param.name.as_str(), self.element_type(param.ty)?));
        let params = sig.params.iter().map(param).collect::<Option<Vec<_>>>()?;
        Some(PtxCall { ptx, params, dtype: self.element_type(sig.ret?)? })
    }

    /// Applies the PTX of the innermost function to its arguments, which have been checked. Returns `None` if all arguments are known:
    /// then the body computes the result.
    pub(crate) fn ptx_call(
        &mut self,
        root: ExprId,
        call: &PtxCall<'db>,
        args: &[(ExprId, Value)],
    ) -> Lower<Option<Value>> {
        let (ptx, dtype) = (call.ptx, call.dtype);
        let params = self.frame().params.clone();
        if ptx.has_meaning && !ptx.is_volatile && params.iter().all(is_known) {
            return Ok(None);
        }
        let (mut inputs, mut shape, mut operands) = (Vec::new(), None, Vec::new());
        for ((param, (at, _)), value) in call.params.iter().zip(args).zip(params) {
            let lazy = self.ptx_operand((root, *at), value, *param)?;
            operands.push(renumber(&lazy, &mut inputs));
            if !lazy.shape.is_empty() {
                shape = Some(match shape {
                    None => (root, lazy),
                    Some(known) => self.joined(root, known, (root, lazy))?,
                });
            }
        }
        let meaning = self.meaning_of_ptx(root, ptx, &operands, dtype)?;
        let inline = self.inline_text(ptx, dtype)?;
        let value = Scalar::Inlined(Box::new(Inlined { inline: Arc::new(inline), args: operands, meaning }));
        let Some((_, Lazy { shape, .. })) = shape else {
            return self.number_of_ptx(root, ptx, args, value).map(Some);
        };
        self.elements_of_ptx(root, ptx, Lazy { shape, inputs, value }).map(Some)
    }

    /// Returns an argument as an expression for each element, without a shape if it is a number.
    fn ptx_operand(
        &mut self,
        (root, at): (ExprId, ExprId),
        value: Value,
        (name, wanted): (&str, DType),
    ) -> Lower<Lazy> {
        let uniform = |value| Lazy { shape: Vec::new(), inputs: Vec::<TensorId>::new(), value };
        let value = match value {
            Value::Tensor(t) => self.lazy_operand(root, Value::Tensor(t))?,
            value => value,
        };
        let found = match value {
            Value::Lazy(lazy) if lazy.value.dtype() == wanted => return Ok(lazy),
            Value::Scalar(scalar) if scalar.dtype() == wanted => return Ok(uniform(scalar)),
            Value::Float(x) if wanted.is_float() && wanted.holds(x) => {
                return Ok(uniform(Scalar::constant(x, wanted)));
            }
            Value::Int(x) if wanted.is_float() => match x.as_const() {
                Some(x) if wanted.holds(x as f64) => return Ok(uniform(Scalar::constant(x as f64, wanted))),
                _ => "an integer".to_owned(),
            },
            Value::Float(x) => format!("`{x:?}`"),
            Value::Scalar(scalar) => format!("a number of type `{}`", scalar.dtype()),
            other => other.what(),
        };
        let message = format!("found {found} for `{name}`, expected a number of type `{wanted}`");
        self.arg_error(at, &codes::TYPE_MISMATCH, message)
    }

    /// Returns the value that the body of the innermost function computes from the operands; `None` if it has no body.
    fn meaning_of_ptx(
        &mut self,
        root: ExprId,
        ptx: &Ptx,
        operands: &[Scalar],
        dtype: DType,
    ) -> Lower<Option<Scalar>> {
        if !ptx.has_meaning {
            return Ok(None);
        }
        let params: Vec<Value> = (0u32..)
            .zip(operands)
            .map(|(index, operand)| Value::Scalar(Scalar::Input { index, dtype: operand.dtype() }))
            .collect();
        self.frame_mut().params = params;
        let mark = self.mark();
        let value = self.eval_named(root, None)?;
        if self.mark() != mark {
            let error = self
                .error(
                    &codes::BAD_PTX,
                    root,
                    "found a meaning that is more than an expression of the operands",
                )
                .help("choose with `where(condition, x, y)`");
            return Err(self.report(error));
        }
        let value = self.number_as(root, value, dtype)?;
        let value = self.as_number(root, value, dtype)?;
        Ok(Some(value.map_leaves(&mut |leaf| match leaf {
            Scalar::Input { index, .. } => operands.get(*index as usize).cloned(),
            _ => None,
        })))
    }

    /// Returns the PTX with the values of the compile-time parameters in it.
    fn inline_text(&mut self, ptx: &Ptx, dtype: DType) -> Lower<Inline> {
        let mut text = String::new();
        for part in &ptx.parts {
            match part {
                PtxPart::Text(part) => text.push_str(part),
                PtxPart::Result => text.push_str("{d}"),
                PtxPart::Param(i) => text.push_str(&format!("{{s{i}}}")),
                PtxPart::Generic(i) => {
                    let value = self.frame().generics.get(*i as usize).cloned().and_then(|v| v.whole());
                    match value.and_then(|whole| whole.value.as_const()) {
                        Some(value) => text.push_str(&value.to_string()),
                        None => {
                            let place = self.place_at(ItemPart::Generic(*i as usize));
                            let message = "expected a number that is known at compile time, for the PTX";
                            let error = crate::error::LowerError::new(&codes::NOT_CONSTANT, place, message);
                            return Err(self.report(error));
                        }
                    }
                }
            }
        }
        let place = self.place_at(ItemPart::Ptx);
        // One place for all calls, so that equal calls are equal expressions.
        let origin = self.origins.number(OriginPlace { place, call: None });
        Ok(Inline {
            name: self.frame().key.name.to_string(),
            ptx: text,
            instructions: ptx.instructions,
            dtype,
            is_volatile: ptx.is_volatile,
            origin,
        })
    }

    /// Returns the result for operands that are numbers of the block.
    fn number_of_ptx(
        &mut self,
        root: ExprId,
        ptx: &Ptx,
        args: &[(ExprId, Value)],
        value: Scalar,
    ) -> Lower<Value> {
        if !ptx.is_volatile {
            return Ok(Value::Scalar(value));
        }
        let name = self.frame().key.name.clone();
        let message = format!(
            "the threads of a block may get different results of `{name}`, so it is no number of the block: give it a register tensor"
        );
        let at = args.first().map_or(root, |(at, _)| *at);
        self.arg_error(at, &codes::BAD_PTX, message)
    }

    /// Returns the result for each element. That of a volatile text is stored at once, so that every use has the same.
    fn elements_of_ptx(&mut self, root: ExprId, ptx: &Ptx, lazy: Lazy) -> Lower<Value> {
        if ptx.is_volatile {
            return Ok(Value::Tensor(self.materialize(root, lazy, None)));
        }
        Ok(Value::Lazy(lazy))
    }
}

/// Reports whether a value is known at compile time.
fn is_known(value: &Value) -> bool {
    match value {
        Value::Float(_) | Value::Scalar(Scalar::Const { .. }) => true,
        other => other.whole().is_some_and(|whole| whole.value.as_const().is_some()),
    }
}
