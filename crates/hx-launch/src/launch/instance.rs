//! Chooses the instance of a launch, and checks what only the instance knows: computed shapes and `where` clauses.

use std::collections::BTreeMap;
use std::fmt;

use hx_base::{Label, codes};
use hx_compile::{Db, Instance, instance_errors, thread_program, tile_program};
use hx_hir::Kernel;
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_index::{Cond, Expr, Symbol};
use hx_lower::{LaunchFacts, Lowered};
use hx_tile::{Base, Mode, TileProgram};

use super::bind::{Header, Prepared};
use super::{Bound, BoundParam, BoundTensor, Launcher, orders, stopped_at};
use crate::machine::Machine;

/// An instance in which the static checks found no error. Launches run and compile only such instances, on every machine. Only a
/// stepper runs others, on the simulator, whose checkers find the error again.
#[derive(Clone, Copy)]
pub(super) struct Checked<'db>(Instance<'db>);

impl<'db> Checked<'db> {
    /// Checks an instance as `hx check` does. The database caches the result for each instance.
    pub(super) fn new(db: &'db dyn Db, instance: Instance<'db>) -> Result<Checked<'db>, LaunchError> {
        let errors = instance_errors(db, instance);
        if errors.is_empty() { Ok(Checked(instance)) } else { Err(LaunchError::Found(errors.clone())) }
    }

    /// Returns the checked instance.
    pub(super) fn get(self) -> Instance<'db> {
        self.0
    }
}

/// The parts of an instance as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstanceText {
    /// The path of the file.
    pub path: String,
    pub kernel: String,
    /// All compile-time arguments, by name.
    pub arguments: Vec<(String, String)>,
    /// The divisors of dimensions and strides that are below the maximum, as `k % 8`, and the strides that are 1 if they are not the usual
    /// ones, as `ld = 1`.
    pub facts: Vec<String>,
    /// The number of the candidate; 0 is the first.
    pub candidate: u32,
}

impl InstanceText {
    pub(super) fn of<'db>(db: &'db dyn Db, checked: Checked<'db>) -> InstanceText {
        let instance = checked.get();
        let kernel = instance.kernel(db);
        let args = tile_program(db, instance).as_ref().map(|lowered| &lowered.sources.args);
        let arguments = args.into_iter().flatten().map(|(name, value)| (name.to_string(), value.to_string()));
        let facts = instance.facts(db);
        let divisors = facts.dims.iter().filter(|(_, d)| **d < LaunchFacts::MAX);
        let units = facts.units.iter().flatten().map(|name| format!("{name} = 1"));
        InstanceText {
            path: kernel.file(db).path(db).to_owned(),
            kernel: kernel.name(db).to_string(),
            arguments: arguments.collect(),
            facts: divisors.map(|(name, divisor)| format!("{name} % {divisor}")).chain(units).collect(),
            candidate: instance.candidate(db),
        }
    }
}

impl fmt::Display for InstanceText {
    /// Formats an instance as `path::kernel<BM = 64, T = f16> k % 8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<_> = self.arguments.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        write!(f, "{}::{}<{}>", self.path, self.kernel, args.join(", "))?;
        for fact in &self.facts {
            write!(f, " {fact}")?;
        }
        match self.candidate {
            0 => Ok(()),
            number => write!(f, " candidate {number}"),
        }
    }
}

/// Formats an instance as [`InstanceText`] does.
pub(super) fn shown<'db>(db: &'db dyn Db, checked: Checked<'db>) -> String {
    InstanceText::of(db, checked).to_string()
}

/// The treatment of instances in which the static checks found errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Errors {
    /// Launches of such instances are refused.
    #[default]
    Refused,
    /// Such instances run on the simulator if each thread has a program.
    Stepped,
}

impl<'a> Launcher<'a> {
    /// Checks an instance, or accepts one with errors for a stepper.
    pub(super) fn checked(&self, instance: Instance<'a>) -> Result<Checked<'a>, LaunchError> {
        let checked = Checked::new(self.db, instance);
        if checked.is_err() && thread_program(self.db, instance).is_ok() {
            self.refused.set(true);
            if self.errors == Errors::Stepped {
                return Ok(Checked(instance));
            }
        }
        checked
    }
}

/// Returns the instance of a launch, which is not checked.
pub(super) fn choose<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    machine: &Machine,
    prepared: &Prepared,
) -> Instance<'db> {
    let facts =
        LaunchFacts { align: prepared.align.clone(), ..LaunchFacts::of_launch(db, kernel, &prepared.dims) };
    let instance = Instance::chosen(db, kernel, prepared.args.clone(), machine.target(), facts);
    match prepared.candidate {
        Some(candidate) => instance.with_candidate(db, candidate),
        None => instance,
    }
}

/// Checks the extents, the `where` clauses and the grid of a launch of this instance. Returns the arguments with the values of the
/// launch's symbols.
pub(super) fn check_launch<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    machine: &Machine,
    prepared: Prepared,
) -> Result<Bound, LaunchError> {
    let lowered = tile_program(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
    let header = Header::new(db, instance.kernel(db));
    let mut symbols: BTreeMap<Symbol, i64> =
        prepared.dims.iter().map(|(name, value)| (Symbol::Dim(name.clone()), *value)).collect();
    symbols.insert(Symbol::Multiprocessors, i64::from(machine.multiprocessors()));
    for (declared, param) in header.signature.params.iter().zip(&prepared.params) {
        if let BoundParam::Int(value) = param {
            symbols.insert(Symbol::Scalar(declared.name.clone()), *value);
        }
    }
    let lookup = |s: &Symbol| symbols.get(s).copied();
    for (index, param) in prepared.params.iter().enumerate() {
        if let (BoundParam::Tensor(bound), Some(hx_tile::Param::Tensor(declared))) =
            (param, lowered.program.params.get(index))
        {
            // A tensor that is only written may lie in any order before.
            let is_read = !declared.mutable || reads(&lowered.program, index);
            let order = || match is_read {
                true => orders::check_declared(&header, index, bound, declared.block.as_ref()),
                false => Ok(()),
            };
            extents(&header, index, bound, &declared.shape, &lookup)
                .and_then(|()| order())
                .map_err(|error| LaunchError::arg(prepared.sources[index], error))?;
        }
    }
    requirements(&header, lowered, &symbols).map_err(LaunchError::call)?;
    blocks(&header, lowered, &symbols).map_err(LaunchError::call)?;
    Ok(Bound { symbols, params: prepared.params, same: prepared.same })
}

/// Reports whether a program reads a tensor parameter.
fn reads(program: &TileProgram, param: usize) -> bool {
    let is_param = |base: Base| base.param().is_some_and(|id| id.0 as usize == param);
    program.ops(1.0).into_iter().any(|(op, _)| {
        let description = op.kind.description();
        description.accesses.iter().any(|access| access.mode != Mode::Write && is_param(access.base()))
    })
}

/// Compares the argument's extents with computed ones, as in `f16[BM * 2]`.
fn extents(
    header: &Header<'_>,
    index: usize,
    bound: &BoundTensor,
    declared: &[Expr],
    lookup: &dyn Fn(&Symbol) -> Option<i64>,
) -> Result<(), HostError> {
    let name = &header.signature.params[index].name;
    for (axis, (expr, &found)) in declared.iter().zip(&bound.shape).enumerate() {
        let value = expr.eval(lookup).map_err(|e| HostError::new(&codes::LAUNCH_DIMENSION, e.to_string()))?;
        if value != found {
            let error = HostError::new(
                &codes::LAUNCH_DIMENSION,
                format!("dimension {axis} of `{name}` is {found}, and must be `{expr}`, which is {value}"),
            );
            return Err(match header.at_type(index, "declared here") {
                Some(label) => error.label(label),
                None => error,
            });
        }
    }
    Ok(())
}

/// Checks the `where` clauses with the values of this launch.
fn requirements(
    header: &Header<'_>,
    lowered: &Lowered,
    symbols: &BTreeMap<Symbol, i64>,
) -> Result<(), HostError> {
    let lookup = &|s: &Symbol| symbols.get(s).copied();
    for requirement in &lowered.program.requires {
        let refuse = |what: &str| {
            let with = with_values(&requirement.text, lowered, symbols);
            let error =
                HostError::new(&codes::BROKEN_REQUIREMENT, format!("`{}` {what}{with}", requirement.text));
            let clause = header.signature.wheres.iter().find(|p| p.text == requirement.text);
            match clause
                .and_then(|p| header.at_expr(p.condition, format!("`{}` relies on this", header.name())))
            {
                Some(label) => error.label(label),
                None => error,
            }
        };
        match requirement.cond.eval(lookup) {
            Ok(true) => {}
            Ok(false) => {
                let error = refuse("does not hold");
                return Err(match sides(&requirement.cond, lookup) {
                    Some((left, right)) => {
                        error.note(format!("the left side is {left}, the right side is {right}"))
                    }
                    None => error,
                });
            }
            Err(e) => return Err(refuse("cannot be decided").note(e.to_string())),
        }
    }
    Ok(())
}

/// Checks the number of blocks along each axis of the grid. Zero blocks are allowed.
fn blocks(header: &Header<'_>, lowered: &Lowered, symbols: &BTreeMap<Symbol, i64>) -> Result<(), HostError> {
    let lookup = &|s: &Symbol| symbols.get(s).copied();
    for (axis, (declared, limit)) in
        lowered.program.grid.iter().zip(lowered.program.target.limits.grid).enumerate()
    {
        let value = declared.blocks.eval(lookup);
        if matches!(value, Ok(blocks) if (0..=limit).contains(&blocks)) {
            continue;
        }
        let entry = header.signature.grid.map(|grid| match &header.signature.store[grid] {
            hx_hir::Expr::Array(entries) => entries.get(axis).copied().unwrap_or(grid),
            _ => grid,
        });
        let label = entry.and_then(|entry| header.at_expr(entry, "the number of blocks is written here"));
        let text = label.as_ref().map(|label| &label.file.text(header.db)[label.range]).unwrap_or_default();
        let with = with_values(text, lowered, symbols);
        let error = match value {
            Ok(blocks) => {
                let wanted = if blocks < 0 { "0 or more".to_owned() } else { format!("at most {limit}") };
                let message =
                    format!("the grid has {blocks} blocks along axis {axis}{with}, expected {wanted}");
                HostError::new(&codes::BAD_GRID, message)
            }
            Err(fault) => {
                let message = format!("the blocks along axis {axis} of the grid cannot be counted{with}");
                HostError::new(&codes::BAD_GRID, message).note(fault.to_string())
            }
        };
        return Err(match label {
            Some(label) => error.label(label),
            None => error,
        });
    }
    Ok(())
}

/// Returns a label at the grid of a kernel, if it has one.
pub fn grid_label<'db>(db: &'db dyn Db, instance: Instance<'db>, message: String) -> Option<Label> {
    let header = Header::new(db, instance.kernel(db));
    header.at_expr(header.signature.grid?, message)
}

/// Returns the values of both sides of a comparison; `None` for any other condition, or if a side has no value.
fn sides(cond: &Cond, lookup: &dyn Fn(&Symbol) -> Option<i64>) -> Option<(i64, i64)> {
    match cond {
        Cond::Cmp(_, a, b) => Some((a.eval(lookup).ok()?, b.eval(lookup).ok()?)),
        _ => None,
    }
}

/// Formats ` with k = 20, BK = 16`: each name in the text that has a value, once. Returns an empty text if no name has one.
fn with_values(text: &str, lowered: &Lowered, symbols: &BTreeMap<Symbol, i64>) -> String {
    let mut seen = Vec::new();
    let mut out = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if word.is_empty() || seen.contains(&word) {
            continue;
        }
        seen.push(word);
        let bound = |symbol: Symbol| symbols.get(&symbol).map(i64::to_string);
        let value = match word {
            "multiprocessors" => bound(Symbol::Multiprocessors),
            _ => bound(Symbol::Dim(word.into())).or_else(|| bound(Symbol::Scalar(word.into()))),
        };
        if let Some(value) = value.or_else(|| lowered.sources.args.get(word).map(ToString::to_string)) {
            out.push(format!("{word} = {value}"));
        }
    }
    if out.is_empty() { String::new() } else { format!(" with {}", out.join(", ")) }
}
