//! The values of constants. Each constant is evaluated once, even if many kernels and constants name it.

use std::collections::BTreeMap;

use hx_base::{SourceFile, codes};
use hx_hir::{Const, Db, ExprId, Item, ItemKey, Sound, Step, standing, steps_below};
use hx_target::Target;

use crate::error::{ItemPart, Lower, LowerError};
use crate::forms::Forms;
use crate::lowering::{Frame, Lowering};
use crate::value::Value;

/// Returns the value of a constant. The value depends on no kernel, so it has no tensors and no dimensions.
///
/// # Errors
/// The errors of its expression; none if the constant has no meaning for another reason, which has been reported before.
#[salsa::tracked]
pub(crate) fn constant_value<'db>(db: &'db dyn Db, constant: Const<'db>) -> Result<Value, Vec<LowerError>> {
    // `Sound::of` refuses a constant that depends on itself.
    let Some(sound) = Sound::of(db, constant) else { return Err(Vec::new()) };
    values_of_strips(db, constant.file(db), standing(db, constant.into()).strips_below());
    // No constant depends on the target.
    let mut lowering = Lowering::new(db, Target::usual(), Forms::PLAIN);
    let body = sound.body(db);
    lowering.frames.push(Frame {
        item: sound.item(),
        key: constant.key(db),
        store: &body.store,
        names: sound.names(db),
        in_signature: false,
        generics: Vec::new(),
        params: Vec::new(),
        dims: BTreeMap::new(),
        result: None,
        locals: BTreeMap::new(),
        variables: BTreeMap::new(),
        operands: 0,
        spread: None,
        call: None,
    });
    let value = lowering.eval(body.root).and_then(|value| match body.ty {
        Some(ty) => lowering.number_of_type(body.root, value, ty),
        None => Ok(value),
    });
    match value {
        Ok(value) if lowering.diagnostics.is_clean() => {
            if lowering.output.is_empty() {
                return Ok(value);
            }
            let place = lowering.place_at(ItemPart::Name);
            let message = "expected a value known at compile time, found a tensor or a statement of a kernel";
            Err(vec![LowerError::new(&codes::NOT_CONSTANT, place, message)])
        }
        _ => Err(lowering.diagnostics.into_errors()),
    }
}

/// Evaluates the constants in the first `strips` strips of a file, so that long chains do not overflow the call stack (see
/// [`steps_below`]).
#[salsa::tracked(returns(copy))]
fn values_of_strips(db: &dyn Db, file: SourceFile, strips: u32) {
    for step in steps_below(db, file, strips) {
        match step {
            Step::Strips(first) => values_of_strips(db, file, first),
            Step::Item(Item::Const(constant)) => {
                let _ = constant_value(db, constant);
            }
            Step::Item(_) => {}
        }
    }
}

impl Lowering<'_> {
    /// Returns the value of a constant that the expression `at` names.
    pub(crate) fn const_value(&mut self, at: ExprId, key: &ItemKey) -> Lower<Value> {
        let used = self.frame().item.used(self.db, key);
        let Some(Item::Const(constant)) = used.map(Sound::get) else { return self.meaningless(at) };
        match constant_value(self.db, constant) {
            Ok(value) => Ok(value.clone()),
            Err(errors) => {
                // The errors already carry the place of the failing constant, so the constants in between add no label.
                let reports = errors.iter().map(|error| self.diagnostics.add(error.clone()));
                reports.last().map_or_else(|| self.meaningless(at), Err)
            }
        }
    }
}
