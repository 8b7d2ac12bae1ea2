//! The packed orders that the compiler infers: layouts of tensors in global memory whose default is `infer`.
//!
//! An order is inferred once for a kernel, from the instance in which every parameter has its default: the instance is solved with a
//! row-major tensor, then with each order in which its fragments lie ([`hx_synth::packed_orders`]), and the cheapest one is taken. All
//! instances for the same element types and architecture have this order, so that weights are packed once.

use std::borrow::Cow;

use hx_base::codes;
use hx_hir::{Kernel, Name, OpenOrder, Sound, kernel_signature, open_orders};
use hx_layout::Layout;
use hx_lower::{CtArgs, CtValue, Forms, ItemPart, LaunchFacts, LowerError, Place};
use hx_synth::Solved;
use hx_target::Target;
use hx_tile::ParamId;

use crate::forms::best_forms;
use crate::instance::Form;
use crate::needs;
use crate::{Db, Instance};

/// An order that the compiler inferred.
#[derive(Clone, PartialEq, Debug)]
pub struct InferredOrder {
    /// The name of the compile-time parameter.
    pub name: Name,
    /// The positions of the tensor parameters that have the order.
    pub params: Vec<usize>,
    /// The chosen block; `None` if a row-major tensor is as cheap.
    pub block: Option<Layout>,
    /// The orders that were compared, the row-major one first.
    pub tried: Vec<TriedOrder>,
}

impl InferredOrder {
    /// Returns the value of the compile-time parameter.
    pub fn value(&self) -> CtValue {
        self.block.clone().map_or(CtValue::Auto, CtValue::Layout)
    }

    /// Returns the orders that were compared, cheapest first; those without layouts come last.
    pub fn cheapest_first(&self) -> Vec<&TriedOrder> {
        let cycles = |tried: &TriedOrder| tried.cycles.unwrap_or(f64::INFINITY);
        let mut tried: Vec<&TriedOrder> = self.tried.iter().collect();
        tried.sort_by(|a, b| cycles(a).total_cmp(&cycles(b)));
        tried
    }
}

/// An order that was compared with others.
#[derive(Clone, PartialEq, Debug)]
pub struct TriedOrder {
    /// The block; `None` for a row-major tensor.
    pub block: Option<Layout>,
    /// The register tensor that holds a thread's elements in this order; empty for a row-major tensor.
    pub fragment: String,
    /// Whether the two elements of a pair lie in the two halves of a register.
    pub halves: bool,
    /// The cycles by which solutions are compared; `None` if the instance has no solution with this order.
    pub cycles: Option<f64>,
}

impl TriedOrder {
    /// Formats the block, or `row-major`.
    pub fn block_text(&self) -> String {
        self.block.as_ref().map_or("row-major".to_owned(), Layout::to_string)
    }

    /// Formats the cycles, or says that there are no layouts.
    pub fn cycles_text(&self) -> String {
        self.cycles.map_or("no layouts".to_owned(), |cycles| format!("{cycles:.0}"))
    }
}

/// Returns the orders that the compiler infers for a kernel on an architecture, in the order of its header. `args` hold at least the element
/// types that the header leaves open; other arguments make no difference.
///
/// # Errors
/// If the kernel has no instance in which each parameter has its default, or that instance has no solution.
pub(crate) fn inferred_orders<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    args: &CtArgs,
    target: Target,
) -> &'db Result<Vec<InferredOrder>, Vec<LowerError>> {
    let types = args.iter().filter(|(_, value)| matches!(value, CtValue::DType(_)));
    let types: CtArgs = types.map(|(name, value)| (name.clone(), value.clone())).collect();
    of_types::inferred(db, Form::new(db, kernel, types, LaunchFacts::all_16(), target))
}

/// Returns the orders that the compiler infers for parameters that the arguments of a kernel leave open, in the order of its header.
///
/// # Errors
/// As for [`inferred_orders`].
pub fn orders_left_open<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    args: &CtArgs,
    target: Target,
) -> Result<Vec<&'db InferredOrder>, &'db Vec<LowerError>> {
    if !open_orders(db, kernel).iter().any(|open| !args.contains_key(&open.name)) {
        return Ok(Vec::new());
    }
    let all = inferred_orders(db, kernel, args, target).as_ref()?;
    Ok(all.iter().filter(|order| !args.contains_key(&order.name)).collect())
}

/// Returns the compile-time arguments of a form with the orders that the compiler infers for those that it leaves open.
///
/// # Errors
/// As for [`inferred_orders`].
pub(crate) fn with_orders<'db>(
    db: &'db dyn Db,
    form: Form<'db>,
) -> Result<Cow<'db, CtArgs>, Vec<LowerError>> {
    let mut args = Cow::Borrowed(form.args(db));
    let open = orders_left_open(db, form.kernel(db), form.args(db), form.target(db)).map_err(Clone::clone)?;
    for order in open {
        args.to_mut().insert(order.name.clone(), order.value());
    }
    Ok(args)
}

/// Returns the orders that an instance takes because the compiler inferred them.
///
/// # Errors
/// As for [`inferred_orders`].
pub fn orders_of<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
) -> Result<Vec<&'db InferredOrder>, &'db Vec<LowerError>> {
    orders_left_open(db, instance.kernel(db), instance.args(db), instance.target(db))
}

mod of_types {
    use super::*;

    #[salsa::tracked]
    pub(super) fn inferred<'db>(
        db: &'db dyn Db,
        form: Form<'db>,
    ) -> Result<Vec<InferredOrder>, Vec<LowerError>> {
        let mut args = form.args(db).clone();
        let mut found = Vec::new();
        for open in open_orders(db, form.kernel(db)) {
            let order = cheapest(db, form, &args, open)?;
            args.insert(order.name.clone(), order.value());
            found.push(order);
        }
        Ok(found)
    }
}

/// Compares the orders of one layout, with the arguments known so far.
fn cheapest<'db>(
    db: &'db dyn Db,
    form: Form<'db>,
    args: &CtArgs,
    open: OpenOrder,
) -> Result<InferredOrder, Vec<LowerError>> {
    let solve = |value: CtValue| {
        let mut args = args.clone();
        args.insert(open.name.clone(), value);
        solved(db, form, &args)
    };
    let cycles = |solved: &Solved| hx_synth::compared(&solved.program, &solved.solution);
    let row_major = match solve(CtValue::Auto)? {
        Ok(solved) => solved,
        // The diagnostics of the row-major instance say what the target lacks.
        Err(Unsolved::Target) => {
            return Ok(InferredOrder {
                name: open.name,
                params: open.params,
                block: None,
                tried: Vec::new(),
            });
        }
        Err(Unsolved::Because(reason)) => return Err(vec![no_layouts(db, form, &open, reason)]),
    };
    let mut tried = vec![TriedOrder {
        block: None,
        fragment: String::new(),
        halves: false,
        cycles: Some(cycles(&row_major)),
    }];
    let params = open.params.iter().map(|param| ParamId(*param as u32));
    for order in params.flat_map(|param| hx_synth::packed_orders(&row_major, param)) {
        if tried.iter().any(|known| known.block.as_ref() == Some(&order.block)) {
            continue;
        }
        // An instance whose tiles are no whole blocks has no program with this order.
        let solved = solve(CtValue::Layout(order.block.clone())).ok().and_then(Result::ok);
        let fragment = row_major.program.tensor(order.tensor).name.clone();
        let cycles = solved.as_ref().map(cycles);
        tried.push(TriedOrder { block: Some(order.block), fragment, halves: order.halves, cycles });
    }
    let least = tried.iter().filter_map(|order| Some((order.cycles?, order)));
    let block = least.reduce(|best, next| if next.0 < best.0 { next } else { best });
    let block = block.and_then(|(_, order)| order.block.clone());
    Ok(InferredOrder { name: open.name, params: open.params, block, tried })
}

/// The reason why an instance with a program has no solution.
enum Unsolved {
    /// The target lacks what the kernel needs.
    Target,
    Because(String),
}

/// Solves a form with these arguments. The inner error says why it has a program and no solution.
///
/// # Errors
/// If it has no program.
fn solved<'db>(
    db: &'db dyn Db,
    form: Form<'db>,
    args: &CtArgs,
) -> Result<Result<Solved, Unsolved>, Vec<LowerError>> {
    let kernel = form.kernel(db);
    let Some(sound) = Sound::of(db, kernel) else {
        return Ok(Err(Unsolved::Because(format!("`{}` has errors", kernel.name(db)))));
    };
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    let lower = |forms: Forms| hx_lower::lower(db, sound, args, form.facts(db), (form.target(db), forms));
    let chosen = best_forms(&lower, &poll)?;
    if let Some(solved) = chosen.solved {
        return Ok(Ok(solved));
    }
    let program = &chosen.lowered.program;
    if needs::check(program).is_err() {
        return Ok(Err(Unsolved::Target));
    }
    Ok(hx_synth::solve(program, &poll).map_err(|failure| Unsolved::Because(failure.message)))
}

/// Returns the error of a kernel whose default instance has no solution.
fn no_layouts<'db>(db: &'db dyn Db, form: Form<'db>, open: &OpenOrder, reason: String) -> LowerError {
    let kernel = form.kernel(db);
    let generics = &kernel_signature(db, kernel).generics;
    let index = generics.iter().position(|generic| generic.name == open.name).unwrap_or(0);
    let place = Place { item: kernel.key(db), part: ItemPart::Generic(index) };
    let message = format!(
        "cannot infer `{}`: the instance of `{}` with all defaults has no layouts on {}",
        open.name,
        kernel.name(db),
        form.target(db).name
    );
    let help = format!("`--set {}=auto` shows the place, or write the order here", open.name);
    LowerError::new(&codes::UNINFERRED_PARAMETER, place, message).note(reason).help(help)
}
