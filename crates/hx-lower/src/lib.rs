//! Lowers the body of a kernel to its tile program, for one instance.
//!
//! The body is interpreted with the instance's compile-time values. Integers that only a launch knows are symbolic,
//! tensors are views, and every move or computation becomes an operation. A construct that the language has and the
//! compiler does not support yet is an error with its place, never a wrong program.
//!
//! Invariant: a tile program holds no layout that the compiler chose, and only a kernel without errors has one. The crate
//! knows no solver and no device.
//!
//! Start at [`lower`].

mod approximate;
mod asynchronous;
mod atomic;
mod bit_operator;
mod bits;
mod bounds;
mod budget;
mod builtin;
mod builtin_call;
mod cache;
mod call;
mod carried;
mod choice;
mod cluster;
mod constant;
mod counter;
mod debug;
mod diagnostics;
mod elementwise;
mod error;
mod extreme;
mod finish;
mod flow;
mod forms;
mod grid;
mod guarded;
mod header;
mod inline;
mod inside;
mod instance;
mod invariant;
mod joined;
mod layouts;
mod lowered;
mod lowering;
mod named;
mod named_barrier;
mod naming;
mod narrow;
mod notes;
mod ops;
mod origins;
mod output;
mod overlap;
mod part;
mod passage;
mod peel;
mod picked;
mod pipe;
mod ptx;
mod reduce;
mod requirements;
mod reshape;
mod roles;
mod scalar;
mod scan;
mod scopes;
mod shift;
mod slice;
mod spread;
mod staging;
mod stmt;
#[cfg(test)]
mod tests;
mod value;
mod variable;
mod variable_facts;
mod variables;
mod view;
mod view_call;
mod volatile;
mod whole;
mod widths;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use hx_base::codes;
use hx_hir::{Db, Kernel, Sound, kernel_signature, signature_names};
use hx_target::Target;
use hx_tile::{Scope, TileProgram};

pub use crate::error::{ItemPart, LowerError, Place};
pub use crate::forms::{Forms, Loads, Rings};
pub use crate::instance::{CtArgs, CtValue, LaunchFacts, usual_units};
pub use crate::lowered::{Lowered, Sources};
pub use crate::origins::OriginPlace;
pub use crate::requirements::requirements;
pub use crate::staging::OFFERED_STAGES;
pub use crate::view_call::ViewCall;
pub use crate::written::WrittenArg;

use crate::approximate::approximate;
use crate::error::Lower;
use crate::lowering::{Frame, Lowering};
use crate::value::Value;

/// Lowers a kernel. Neither the kernel nor the items that it uses may have errors, which [`Sound`] ensures.
///
/// # Errors
/// The reasons why this instance has no tile program, in the order of the text; at least one.
pub fn lower<'db>(
    db: &'db dyn Db,
    kernel: Sound<Kernel<'db>>,
    args: &CtArgs,
    facts: &LaunchFacts,
    (target, forms): (Target, Forms),
) -> Result<Lowered, Vec<LowerError>> {
    let mut lowering = Lowering::new(db, target, forms);
    let lowered = lower_kernel(&mut lowering, kernel, args, facts);
    if let (Ok((program, args)), true) = (lowered, lowering.diagnostics.is_clean()) {
        return Ok(lowering.notes.beside(program, lowering.origins.into_places(), args));
    }
    let errors = lowering.diagnostics.into_errors();
    if !errors.is_empty() {
        return Err(errors);
    }
    let place = Place { item: kernel.get().key(db), part: ItemPart::Name };
    let message = "a statement could not be lowered, and no other error explains why";
    Err(vec![LowerError::new(&codes::INTERNAL_ERROR, place, message)])
}

fn lower_kernel<'db>(
    lowering: &mut Lowering<'db>,
    sound: Sound<Kernel<'db>>,
    args: &CtArgs,
    facts: &LaunchFacts,
) -> Lower<(TileProgram, CtArgs)> {
    let (db, kernel) = (lowering.db, sound.get());
    let sig = kernel_signature(db, kernel);
    lowering.frames.push(Frame {
        item: sound.item(),
        key: kernel.key(db),
        store: &sig.store,
        names: &signature_names(db, kernel.into()).names,
        in_signature: true,
        generics: vec![Value::Error; sig.generics.len()],
        params: vec![Value::Error; sig.params.len()],
        dims: BTreeMap::new(),
        result: None,
        locals: BTreeMap::new(),
        variables: BTreeMap::new(),
        operands: 0,
        spread: None,
        call: None,
    });
    let header = lowering.header(kernel, args, facts)?;
    lowering.grid.set_cluster(header.cluster, header.cluster_axes);
    let body = sound.body(db);
    let frame = lowering.frame_mut();
    (frame.store, frame.names, frame.in_signature) = (&body.store, sound.names(db), false);
    let scopes = match header.threads {
        Some(threads) => vec![Scope::block(threads)],
        None => lowering.plan_roles(body.root)?,
    };
    lowering.scopes.set(scopes);
    lowering.eval(body.root)?;
    let generics = sig.generics.iter().zip(&lowering.frame().generics);
    let args = generics.filter_map(|(g, v)| Some((g.name.clone(), v.to_ct()?))).collect();
    lowering.forget_variables();
    lowering.stage_loads();
    let mut program = std::mem::take(&mut lowering.output).finish(TileProgram {
        target: lowering.target,
        name: kernel.name(db).to_string(),
        params: Vec::new(),
        facts: std::mem::take(&mut lowering.facts),
        grid: header.grid,
        cluster: header.cluster,
        blocks_per_sm: header.blocks_per_sm,
        multiprocessors: false,
        scopes: lowering.scopes.take(),
        requires: header.requires,
        passing: BTreeSet::new(),
        rests: Vec::new(),
        tensors: Vec::new(),
        pipes: Vec::new(),
        turns: Vec::new(),
        named_barriers: Vec::new(),
        counters: Vec::new(),
        pins: BTreeMap::new(),
        body: Vec::new(),
    });
    if !hx_hir::is_exact(db, kernel) {
        approximate(&mut program);
    }
    named_barrier::check(&program, &lowering.origins, &mut lowering.diagnostics);
    pipe::check_signals(&program, &lowering.origins, &mut lowering.diagnostics);
    lowering.check_counters(&program);
    volatile::check_volatile(&program, &lowering.origins, &mut lowering.diagnostics);
    Ok((program, args))
}
