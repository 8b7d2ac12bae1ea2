//! The values of constants: each is evaluated once, however often kernels and other constants name it.

use std::collections::BTreeMap;

use hx_base::codes;
use hx_hir::{Const, Db, ExprId, Item, ItemKey, Sound, constants_first};

use crate::cx::{Cx, Frame};
use crate::error::{At, Lower, LowerError, Reported};
use crate::value::Value;

/// The value of a constant. It depends on no kernel: no tensors, no dimensions.
#[salsa::tracked]
pub(crate) fn constant_value<'db>(db: &'db dyn Db, constant: Const<'db>) -> Result<Value, Vec<LowerError>> {
    // A constant that needs itself is not sound.
    let Some(sound) = Sound::of(db, constant) else { return Err(Vec::new()) };
    for below in constants_first(db, constant) {
        let _ = constant_value(db, below);
    }
    let mut cx = Cx::new(db);
    let body = sound.body(db);
    cx.frames.push(Frame {
        item: sound.item(),
        key: constant.key(db),
        store: &body.store,
        names: sound.names(db),
        in_signature: false,
        generics: Vec::new(),
        params: Vec::new(),
        dims: BTreeMap::new(),
        locals: BTreeMap::new(),
        variables: BTreeMap::new(),
        operands: 0,
        call: None,
    });
    let value = cx.eval(body.root).and_then(|value| match body.ty {
        Some(ty) => cx.number_of_type(body.root, value, ty),
        None => Ok(value),
    });
    match value {
        Ok(value) if cx.errors.is_empty() && !cx.failed => {
            if cx.tensors.is_empty() && cx.blocks.iter().all(Vec::is_empty) {
                return Ok(value);
            }
            let place = cx.place_at(At::Name);
            let message = "found a tensor or a statement of a kernel, wanted a value known at compile time";
            Err(vec![LowerError::new(&codes::NOT_CONSTANT, place, message)])
        }
        _ => Err(cx.errors),
    }
}

impl Cx<'_> {
    /// The value of a constant where it is named.
    pub(crate) fn const_value(&mut self, at: ExprId, key: &ItemKey) -> Lower<Value> {
        let used = self.frame().item.used(self.db, key);
        let Some(Item::Const(constant)) = used.map(Sound::get) else { return self.meaningless(at) };
        match constant_value(self.db, constant) {
            Ok(value) => Ok(value.clone()),
            Err(errors) if errors.is_empty() => self.meaningless(at),
            Err(errors) => {
                // Its own place says enough: the constants in between only pass it on.
                for error in errors {
                    if !self.errors.contains(error) {
                        self.errors.push(error.clone());
                    }
                }
                Err(Reported(()))
            }
        }
    }
}
