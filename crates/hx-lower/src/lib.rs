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

mod asynchronous;
mod atomic;
mod bit_operator;
mod bits;
mod bounds;
mod builtin;
mod call;
mod carried;
mod choice;
mod chunks;
mod cluster;
mod constant;
mod counter;
mod cx;
mod debug;
mod elementwise;
mod error;
mod extreme;
mod finish;
mod flow;
mod given;
mod guarded;
mod header;
mod inline;
mod inside;
mod instance;
mod invariant;
mod joined;
mod known;
mod layouts;
mod made;
mod ops;
mod overlap;
mod part;
mod peel;
mod picked;
mod pipe;
mod reduce;
mod requirements;
mod reshape;
mod roles;
mod rounds;
mod scalar;
mod scan;
mod slice;
mod spread;
mod stmt;
#[cfg(test)]
mod tests;
mod value;
mod variable;
mod view;
mod whole;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hx_base::codes;
use hx_hir::{Db, Kernel, Sound, kernel_signature, signature_names};
use hx_index::Expr;
use hx_target::Target;
use hx_tile::{Origin, ParamId, Scope, TileProgram};

pub use crate::chunks::Chunks;
pub use crate::cx::OriginPlace;
pub use crate::error::{At, LowerError, Place};
pub use crate::instance::{CtArgs, CtValue, LaunchFacts, usual_units};
pub use crate::made::Made;
pub use crate::requirements::requirements;
pub use crate::written::WrittenArg;

use crate::cx::{Cx, Frame};
use crate::error::Lower;
use crate::value::Value;

/// The tile program of one instance, with the origins of its operations and tensors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lowered {
    pub program: Arc<TileProgram>,
    pub sources: Arc<Sources>,
}

/// The arguments of a tile program, and the places in the text that it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sources {
    /// Indexed by [`hx_tile::Origin`].
    pub origins: Vec<OriginPlace>,
    /// Every compile-time parameter with its value, defaults included.
    pub args: CtArgs,
    /// The stores that go through registers although the text asks for boxes: the origin of each load from shared memory, and why
    /// no box stores the tile.
    pub unboxed: BTreeMap<Origin, String>,
    /// The copies between two memories that move in rounds.
    pub rounds: BTreeMap<Origin, Chunks>,
    /// The calls that made the views of global memory, by the origin of the operation that reads a view, and by its parameter.
    pub made: BTreeMap<Origin, Vec<(ParamId, Made)>>,
    /// The lengths of parts of global tensors, `end - first` of `x[first..end]`, that nothing proves to be at least 0.
    pub parts: BTreeSet<Expr>,
}

/// Lowers a kernel. Neither the kernel nor the items that it uses may have errors, which [`Sound`] ensures.
///
/// # Errors
/// The reasons why this instance has no tile program, in the order of the text; at least one.
pub fn lower<'db>(
    db: &'db dyn Db,
    kernel: Sound<Kernel<'db>>,
    args: &CtArgs,
    facts: &LaunchFacts,
    target: Target,
) -> Result<Lowered, Vec<LowerError>> {
    let mut cx = Cx::new(db, target);
    match lower_kernel(&mut cx, kernel, args, facts) {
        Ok((program, args)) if cx.errors.is_empty() && !cx.failed => Ok(Lowered {
            program: Arc::new(program),
            sources: Arc::new(Sources {
                origins: cx.origins,
                args,
                unboxed: cx.unboxed,
                rounds: cx.rounds,
                made: cx.made,
                parts: cx.parts,
            }),
        }),
        _ if cx.errors.is_empty() => {
            let place = Place { item: kernel.get().key(db), at: At::Name };
            let message = "a statement could not be lowered, and no other error explains why";
            Err(vec![LowerError::new(&codes::INTERNAL_ERROR, place, message)])
        }
        _ => Err(cx.errors),
    }
}

fn lower_kernel<'db>(
    cx: &mut Cx<'db>,
    sound: Sound<Kernel<'db>>,
    args: &CtArgs,
    facts: &LaunchFacts,
) -> Lower<(TileProgram, CtArgs)> {
    let (db, kernel) = (cx.db, sound.get());
    let sig = kernel_signature(db, kernel);
    cx.frames.push(Frame {
        item: sound.item(),
        key: kernel.key(db),
        store: &sig.store,
        names: &signature_names(db, kernel.into()).names,
        in_signature: true,
        generics: vec![Value::Error; sig.generics.len()],
        params: vec![Value::Error; sig.params.len()],
        dims: BTreeMap::new(),
        locals: BTreeMap::new(),
        variables: BTreeMap::new(),
        operands: 0,
        spread: None,
        call: None,
    });
    let header = cx.header(kernel, args, facts)?;
    (cx.cluster, cx.cluster_axes) = (header.cluster, header.cluster_axes);
    let body = sound.body(db);
    let frame = cx.frame_mut();
    (frame.store, frame.names, frame.in_signature) = (&body.store, sound.names(db), false);
    cx.scopes = match header.threads {
        Some(threads) => vec![Scope::block(threads)],
        None => cx.plan_roles(body.root)?,
    };
    cx.block = cx.scopes[0];
    cx.eval(body.root)?;
    let generics = sig.generics.iter().zip(&cx.frame().generics);
    let args = generics.filter_map(|(g, v)| Some((g.name.clone(), v.to_ct()?))).collect();
    cx.forget_variables();
    let mut stmts = cx.blocks.pop().unwrap_or_default();
    let tensors = finish::finish(std::mem::take(&mut cx.tensors), &mut stmts);
    let program = TileProgram {
        target: cx.target,
        name: kernel.name(db).to_string(),
        params: std::mem::take(&mut cx.params),
        facts: std::mem::take(&mut cx.facts),
        grid: header.grid,
        cluster: header.cluster,
        multiprocessors: cx.multiprocessors,
        scopes: std::mem::take(&mut cx.scopes),
        requires: header.requires.into_iter().chain(std::mem::take(&mut cx.more_requires)).collect(),
        tensors,
        pipes: std::mem::take(&mut cx.pipes),
        turns: std::mem::take(&mut cx.turns),
        counters: std::mem::take(&mut cx.counters),
        body: stmts,
    };
    let whole = cx.errors.is_empty() && !cx.failed;
    cx.errors.extend(pipe::check_signals(&program, &cx.origins, whole));
    cx.check_counters(&program);
    Ok((program, args))
}
