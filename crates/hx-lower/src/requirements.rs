//! The `where` conditions of an instance, without its body.

use std::collections::BTreeMap;

use hx_hir::{Db, Kernel, Sound, kernel_signature, signature_names};
use hx_index::{Cond, Expr, Symbol};
use hx_target::Target;

use crate::CtArgs;
use crate::error::LowerError;
use crate::forms::Forms;
use crate::lowering::{Frame, Lowering};
use crate::value::Value;

/// Returns the conditions of a kernel's `where` in the order of the text. Only compile-time arguments, dimensions and numbers of
/// the launch have values, so this is much cheaper than lowering the kernel.
///
/// # Errors
/// The errors of the compile-time arguments and of the conditions.
pub fn requirements<'db>(
    db: &'db dyn Db,
    kernel: Sound<Kernel<'db>>,
    args: &CtArgs,
) -> Result<Vec<Cond>, Vec<LowerError>> {
    let sig = kernel_signature(db, kernel.get());
    let names = signature_names(db, kernel.get().into());
    let dims = names.dims.iter().map(|dim| {
        let symbol = Symbol::Dim(dim.name.clone());
        (dim.name.clone(), Expr::symbol(symbol))
    });
    // No requirement depends on the target.
    let mut lowering = Lowering::new(db, Target::usual(), Forms::PLAIN);
    lowering.frames.push(Frame {
        item: kernel.item(),
        key: kernel.get().key(db),
        store: &sig.store,
        names: &names.names,
        in_signature: true,
        generics: vec![Value::Error; sig.generics.len()],
        params: vec![Value::Error; sig.params.len()],
        dims: dims.collect(),
        result: None,
        locals: BTreeMap::new(),
        variables: BTreeMap::new(),
        operands: 0,
        spread: None,
        call: None,
    });
    lowering
        .conditions(kernel.get(), sig, args)
        .map_err(|_| std::mem::take(&mut lowering.diagnostics).into_errors())
}
