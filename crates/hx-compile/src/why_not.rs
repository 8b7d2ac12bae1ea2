//! Answers why the solution of an instance is not another one: with another instruction, width, layout, swizzle, box, arrangement of
//! warps, stage count or split.
//!
//! If a rule excludes the alternative, the answer is the rule with its numbers. Otherwise the instance is solved again with the
//! alternative ([`hx_synth::Wish`], a pin, another compile-time argument), and the answer compares both estimates, or is the failure
//! of that solution: a conflict, or a limit with the amount that the alternative takes.
//!
//! Start at [`why_not`]; [`question`] reads the text of a question.

mod arguments;
mod compared;
mod instructions;
mod question;
mod tensors;
mod warps;

use std::collections::BTreeSet;

use hx_base::line_index;
use hx_lower::Lowered;
use hx_synth::{Failure, Solved, Wish};
use hx_tile::{Choice, Op, OpId, Origin, TensorId, TileProgram, choice_text, op_text};

use crate::{Db, Instance, solved, tile_program};
use question::Question;

pub(crate) use instructions::named_product_rules;
pub(crate) use instructions::parameter_of;
pub use instructions::{product_alternative, product_rules};

/// Answers why the solution of an instance is not the one that `question` names, for the operations that touch a tensor or
/// parameter of this name, or for all. `dims` are the known dimensions and strides of the launch.
///
/// # Errors
/// If the name or the question is unknown, the names or the kinds of questions, with examples for this instance, as text.
pub fn why_not(
    db: &dyn Db,
    instance: Instance<'_>,
    tensor: Option<&str>,
    question: &str,
    dims: &[(String, i64)],
) -> Result<String, String> {
    let asked = Asked::of(db, instance, dims).ok_or("the kernel has no layouts")?;
    let parsed = question::parse(question, &asked).ok_or_else(|| question::kinds(question, &asked))?;
    let subject = asked.subject(tensor)?;
    let lines = match &parsed {
        Question::Rows(named) => asked.instructions(named, &subject),
        Question::Width(bytes) => asked.width(*bytes, &subject),
        Question::Layout(layout) => asked.layout(layout, &subject)?,
        Question::Swizzle(wanted) => asked.swizzle(*wanted, &subject)?,
        Question::Boxes(extents) => asked.boxes(extents.as_deref(), &subject),
        Question::Warps(wanted) => asked.warps(*wanted, &subject),
        Question::Candidate(number) => asked.candidate(*number),
        Question::Stages(count) => asked.stages(*count),
        Question::Split(parts) => asked.split(*parts),
        Question::Argument(name, value) => asked.argument(name, *value),
    };
    Ok(lines.into_iter().map(|line| format!("{line}\n")).collect())
}

/// The operations and tensors that a question is about.
#[derive(Debug)]
struct Subject {
    /// The name in the question, for messages.
    name: Option<String>,
    /// The register and shared tensors of that name; all if the question has no name.
    tensors: Vec<TensorId>,
    /// The operations of the solved program that touch them.
    ops: BTreeSet<OpId>,
}

/// An instance about which a question is asked.
struct Asked<'a> {
    db: &'a dyn Db,
    instance: Instance<'a>,
    /// The program before the solver.
    source: &'a Lowered,
    solved: &'a Solved,
    dims: Vec<(String, i64)>,
}

impl<'a> Asked<'a> {
    /// Returns the instance with its solution; `None` if it has none.
    fn of(db: &'a dyn Db, instance: Instance<'a>, dims: &[(String, i64)]) -> Option<Asked<'a>> {
        let source = tile_program(db, instance).as_ref().ok()?;
        let solved = solved(db, instance).as_ref().ok()?;
        let mut dims = dims.to_vec();
        let units = instance.units(db);
        let open = units.iter().filter(|unit| !dims.iter().any(|(name, _)| name == unit.as_str()));
        let open: Vec<(String, i64)> = open.map(|unit| (unit.to_string(), 1)).collect();
        dims.extend(open);
        Some(Asked { db, instance, source, solved, dims })
    }

    fn program(&self) -> &'a TileProgram {
        &self.solved.program
    }

    fn choice(&self, op: OpId) -> Option<&'a Choice> {
        self.solved.solution.choices.get(&op)
    }

    /// Returns the tensors of a name, and the operations that touch them or a parameter of that name.
    ///
    /// # Errors
    /// If nothing has the name, the names that there are.
    fn subject(&self, name: Option<&str>) -> Result<Subject, String> {
        let (program, source) = (self.program(), &self.source.program);
        let ids = program.tensor_ids();
        let Some(name) = name else {
            let ops = program.ops(1.0).into_iter().map(|(op, _)| op.id).collect();
            return Ok(Subject { name: None, tensors: ids.collect(), ops });
        };
        let tensors: Vec<TensorId> = ids.filter(|id| program.tensor(*id).name == name).collect();
        let names_it = |program: &TileProgram, op: &Op| {
            let bases = op.kind.description().accesses.into_iter().map(|access| access.base());
            op.kind.tensors().iter().any(|id| program.tensor(*id).name == name)
                || bases.into_iter().any(|base| program.base_name(base) == name)
        };
        // An operand in shared memory may be loaded before its product, which then names the loaded tensor. The product counts too.
        let touches = |op: &Op| {
            names_it(program, op) || source.op(op.id).is_some_and(|before| names_it(source, before))
        };
        let ops: BTreeSet<OpId> =
            program.ops(1.0).into_iter().filter(|(op, _)| touches(op)).map(|(op, _)| op.id).collect();
        if tensors.is_empty() && ops.is_empty() {
            let mut names: Vec<&str> = program.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
            names.extend(program.params.iter().filter_map(|param| match param {
                hx_tile::Param::Tensor(tensor) => Some(tensor.name.as_str()),
                hx_tile::Param::Int { .. } | hx_tile::Param::Float { .. } => None,
            }));
            let near = hx_base::nearest(name, names.iter().copied());
            let hint = match near {
                Some(near) => format!("; perhaps `{near}` is meant"),
                None => format!("; it has {}", quoted(&names)),
            };
            return Err(format!("`{}` has no tensor `{name}`{hint}", program.name));
        }
        Ok(Subject { name: Some(name.to_owned()), tensors, ops })
    }

    /// Returns the operations of a subject that `is_meant`, one list for each place in the text: an unrolled loop has several.
    fn groups(&self, subject: &Subject, is_meant: impl Fn(&Op) -> bool) -> Vec<Vec<&'a Op>> {
        let mut groups: Vec<(Origin, Vec<&'a Op>)> = Vec::new();
        for (op, _) in self.program().ops(1.0) {
            if !subject.ops.contains(&op.id) || !is_meant(op) {
                continue;
            }
            match groups.iter_mut().find(|(origin, of)| {
                *origin == op.origin && of.first().is_none_or(|first| first.kind.name() == op.kind.name())
            }) {
                Some((_, of)) => of.push(op),
                None => groups.push((op.origin, vec![op])),
            }
        }
        groups.into_iter().map(|(_, of)| of).collect()
    }

    /// Formats an operation with its instruction and its place, and the number of further ones of the same place.
    fn head(&self, ops: &[&Op]) -> String {
        let Some(op) = ops.first() else { return String::new() };
        let text = match choice_text(self.program(), &self.solved.solution, op) {
            Some((text, _)) => text,
            None => format!("#{} {}", op.id.0, op_text(self.program(), op)),
        };
        let others = match ops.len() - 1 {
            0 => String::new(),
            n => format!(", and {n} more of this line"),
        };
        format!("{text}{}{others}", self.place(op))
    }

    /// Formats `  at FILE:LINE:COLUMN`; empty if the operation has no place.
    fn place(&self, op: &Op) -> String {
        let origin = self.source.sources.origins.get(op.origin.0 as usize);
        origin.and_then(|origin| origin.place.range(self.db)).map_or_else(String::new, |(file, range)| {
            let at = line_index(self.db, file).line_col(range.start());
            format!("  at {}:{}:{}", file.path(self.db), at.line + 1, at.col + 1)
        })
    }

    /// Solves the instance with an alternative.
    ///
    /// # Errors
    /// As [`hx_synth::solve`].
    fn wishing(&self, wish: &Wish) -> Result<Solved, Failure> {
        let db = self.db;
        let poll = || {
            db.unwind_if_revision_cancelled();
            false
        };
        hx_synth::solve_wishing(&self.source.program, wish, &poll)
    }

    /// Solves a changed program of the instance.
    ///
    /// # Errors
    /// As [`hx_synth::solve`].
    fn solving(&self, program: &TileProgram) -> Result<Solved, Failure> {
        let db = self.db;
        let poll = || {
            db.unwind_if_revision_cancelled();
            false
        };
        hx_synth::solve(program, &poll)
    }
}

/// Formats names: `` `a`, `b` ``.
fn quoted<T: AsRef<str>>(names: &[T]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The most groups of operations that an answer lists.
const MOST_GROUPS: usize = 5;

/// Joins the answers about a number of groups of operations. Says how many groups it leaves out; those are not answered, because an
/// answer may solve the instance again.
fn joined(number: usize, answers: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let more = number.saturating_sub(MOST_GROUPS);
    let answers: Vec<Vec<String>> = answers.take(MOST_GROUPS).collect();
    let mut lines = answers.join(&String::new());
    if more > 0 {
        let others = if more == 1 { "operation" } else { "operations" };
        lines.push(String::new());
        lines.push(format!("and {more} other {others}: name a tensor to see the answer for them"));
    }
    lines
}
