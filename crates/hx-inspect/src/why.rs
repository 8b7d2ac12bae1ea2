//! Explains layouts: the layout of each tensor of a kernel, the instructions that touch it, and the chain of reasons.
//!
//! A tensor's reason names operations. Each of them carried a layout over from another tensor, which was decided earlier. The
//! reason of that tensor follows below, and so on down to a reason that needs no other tensor.

mod candidates;
mod orders;
mod whole;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hx_base::{line_index, nearest};
use hx_compile::{Chunks, Db, Instance, Staging, Stop, product_rules, solved, staging, tile_program};
use hx_hir::Kernel;
use hx_lower::Sources;
use hx_target::Target;
use hx_tile::{
    Choice, CopyChoice, Op, OpId, Solution, TensorId, TensorKind, TileProgram, choice_text, estimate_text,
    layout_text, op_text, reason_text, unexplored_text,
};

use crate::emit::{self, EmitError, Overrides};
use crate::setup::Setup;

/// A solved instance of a kernel, with the database that holds its text.
#[derive(Clone)]
pub struct Solved<'a> {
    db: &'a dyn Db,
    solved: &'a hx_compile::Solved,
    sources: &'a Sources,
    instance: Instance<'a>,
    target: Target,
    /// Extents and strides with known values. All others are multiples of 16.
    dims: Vec<(String, i64)>,
}

impl std::fmt::Debug for Solved<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solved").field("target", &self.target).finish_non_exhaustive()
    }
}

impl<'a> Solved<'a> {
    /// Solves the default instance of a kernel, with some compile-time arguments replaced.
    ///
    /// # Errors
    /// If an argument does not fit its parameter, or the kernel has no layouts.
    pub fn new(
        db: &'a dyn Db,
        kernel: Kernel<'a>,
        overrides: &Overrides,
        setup: &Setup,
    ) -> Result<Solved<'a>, EmitError> {
        let instance = emit::instance(db, kernel, overrides, setup)?;
        let stopped = |stop: &Stop| emit::stopped(db, instance, stop);
        let lowered = tile_program(db, instance).as_ref().map_err(stopped)?;
        let solved = solved(db, instance).as_ref().map_err(stopped)?;
        Ok(Solved::with(db, solved, &lowered.sources, instance, &[]))
    }

    /// Returns the solved instance if it has layouts. `dims` are the known values of dimensions and strides; the others count
    /// as multiples of 16.
    pub fn of(db: &'a dyn Db, instance: Instance<'a>, dims: &[(String, i64)]) -> Option<Solved<'a>> {
        let sources = &tile_program(db, instance).as_ref().ok()?.sources;
        let solved = solved(db, instance).as_ref().ok()?;
        Some(Solved::with(db, solved, sources, instance, dims))
    }

    fn with(
        db: &'a dyn Db,
        solved: &'a hx_compile::Solved,
        sources: &'a Sources,
        instance: Instance<'a>,
        dims: &[(String, i64)],
    ) -> Solved<'a> {
        let mut dims = dims.to_vec();
        let units = instance.units(db);
        dims.extend(
            units
                .iter()
                .filter(|unit| !dims.iter().any(|(name, _)| name == unit.as_str()))
                .map(|unit| (unit.to_string(), 1))
                .collect::<Vec<_>>(),
        );
        Solved { db, solved, sources, instance, target: instance.target(db), dims }
    }

    /// Returns the tile program of the instance.
    pub fn program(&self) -> &TileProgram {
        &self.solved.program
    }

    /// Returns the solution whose layouts are explained.
    pub fn solution(&self) -> &'a Solution {
        &self.solved.solution
    }

    /// Returns the tensors of that name, which may be several in different scopes, or all tensors without a name.
    ///
    /// # Errors
    /// If no tensor has that name, as text.
    pub fn tensors(&self, name: Option<&str>) -> Result<Vec<TensorId>, String> {
        tensors(&self.solved.program, name)
    }

    /// Formats every solution of an instance, cheapest first, each with the layouts and operations of the tensors of that name.
    ///
    /// # Errors
    /// If the instance has no solution.
    pub fn candidates(
        db: &'a dyn Db,
        instance: Instance<'a>,
        tensor: Option<&str>,
    ) -> Result<String, &'a Stop> {
        let all = hx_compile::candidates(db, instance).as_ref()?;
        Ok(candidates::table(all, tensor))
    }

    /// Formats the instance, what makes accesses to the tensors slow, the estimate, and for each tensor its layout, the operations that
    /// touch it, and the chain of reasons: down to `depth` operations, or to the end.
    pub fn why(&self, tensors: &[TensorId], depth: Option<usize>) -> String {
        let mut out = self.head(tensors);
        let mut chains = Chains { depth: depth.unwrap_or(usize::MAX), ..Chains::default() };
        for &tensor in tensors {
            self.tensor(tensor, &mut chains, &mut out);
        }
        out
    }

    /// Formats the instance as [`Solved::why`] does for all of its tensors, each tensor and each operation once. Those of an unrolled
    /// loop that differ in nothing but their names are one entry.
    pub fn why_all(&self, depth: usize) -> String {
        let all: Vec<TensorId> = self.solved.program.tensor_ids().collect();
        let mut out = self.head(&all);
        whole::layouts(self, depth, &mut out);
        whole::operations(self, &mut out);
        out
    }

    /// Formats the instance, what makes accesses to the tensors slow, and the estimate.
    fn head(&self, tensors: &[TensorId]) -> String {
        let (program, target) = (&self.solved.program, self.target);
        let args: Vec<String> =
            self.sources.args.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let args = if args.is_empty() { String::new() } else { format!("<{}>", args.join(", ")) };
        let mut out =
            format!("kernel {}{args}: {} threads, {target}\n", program.name, program.block_threads());
        let given: Vec<String> = self.dims.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let assumed = match given.as_slice() {
            [] => "that all dimensions and strides".to_owned(),
            given => format!("{}, and that all other dimensions and strides", given.join(", ")),
        };
        let _ = writeln!(out, "assuming {assumed} are multiples of 16");
        out += &self.order_lines();
        if let Some(stopped) = unexplored_text(&self.solved.solution) {
            let _ = writeln!(out, "{stopped}");
        }
        self.notes(tensors, &mut out);
        if let Some(estimate) = hx_compile::estimated(program, &self.solved.solution, &self.dims) {
            let _ = write!(out, "\n{}", estimate_text(program, &estimate));
        }
        out
    }

    /// Lists what makes accesses to these tensors slow, with the cause: accesses narrower than 16 bytes, and bank conflicts.
    fn notes(&self, tensors: &[TensorId], out: &mut String) {
        let program = &self.solved.program;
        let (mut notes, mut told) = (Vec::new(), BTreeSet::new());
        let rounds = self.solved.rounds();
        for (op, _) in program.ops(1.0) {
            let Some(Choice::Copy(copy)) = self.solved.solution.choices.get(&op.id) else { continue };
            let touched = op.kind.tensors();
            if !tensors.iter().any(|tensor| touched.contains(tensor)) {
                continue;
            }
            let place = self.place(op);
            if let Some(reason) = self.sources.unboxed.get(&op.origin) {
                notes.push(format!("#{} the store goes through registers{place}\n      {reason}", op.id.0));
            }
            if let Some(chunks) = rounds.get(&op.origin).filter(|_| told.insert(op.origin)) {
                let Chunks { shape, count, registers } = chunks;
                let chunk = shape.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
                let what = format!("#{} the copy moves in {count} rounds of [{chunk}]{place}", op.id.0);
                notes.push(format!(
                    "{what}\n      at once it would hold {registers} registers of each thread"
                ));
            }
            if self.is_narrow(copy) {
                let way = staging(self.db, self.instance, op.id);
                let way = way.map(|way| format!("\n      {}", self.staged(&way))).unwrap_or_default();
                let (width, cause) = (copy.bytes, self.narrow_cause(copy));
                notes.push(format!("#{} {width} B an access{place}\n      {cause}{way}", op.id.0));
            }
            if let Some(conflicts) = copy.conflicts.filter(|found| found.wavefronts > found.ideal) {
                let times = conflicts.wavefronts as f64 / conflicts.ideal.max(1) as f64;
                let what = format!("#{} bank conflicts: {times:.1} times the wavefronts{place}", op.id.0);
                notes.push(format!("{what}\n      {}", self.conflict_cause(op)));
            }
        }
        if !notes.is_empty() {
            let _ = writeln!(out, "\nnotes");
            for note in notes {
                let _ = writeln!(out, "  {note}");
            }
        }
    }

    /// Formats the change that makes accesses wider, with the estimated cycles before and after it.
    pub(crate) fn staged(&self, Staging { tensor, bytes, cycles }: &Staging) -> String {
        let old = self.solved.solution.cost.round();
        format!(
            "`rearrange({tensor}, auto)` here: {bytes} B an access, estimated cycles {old} → {}",
            cycles.round()
        )
    }

    /// Reports whether an access is narrower than those of the target may be.
    pub(crate) fn is_narrow(&self, copy: &CopyChoice) -> bool {
        copy.bytes < self.target.limits.access_bytes
    }

    /// Explains why an access is narrow.
    pub(crate) fn narrow_cause(&self, copy: &CopyChoice) -> String {
        // The reason may begin with the width as well: do not repeat it.
        copy.reason.text.replace(&format!("{} B: ", copy.bytes), "")
    }

    /// Explains why an access to shared memory has bank conflicts.
    pub(crate) fn conflict_cause(&self, op: &Op) -> String {
        let program = &self.solved.program;
        let shared = op.kind.tensors().into_iter().find(|tensor| !program.tensor(*tensor).is_register());
        let Some((tensor, layout)) =
            shared.and_then(|tensor| Some((tensor, self.solved.solution.shared.get(&tensor)?)))
        else {
            return "the addresses are given".to_owned();
        };
        let name = &program.tensor(tensor).name;
        if matches!(&program.tensor(tensor).kind, TensorKind::Shared { pinned: Some(_) }) {
            return format!(
                "the layout of `{name}` is pinned to `{}`; without `layout:` the compiler chooses one",
                layout.layout
            );
        }
        let others = layout.reason.from.iter().filter(|id| **id != op.id);
        let others: Vec<String> = others.map(|id| format!("#{}", id.0)).collect();
        match others.as_slice() {
            [] => format!("no order and swizzle of `{name}` that was tried has fewer"),
            others => format!(
                "`{name}` is laid out for {} as well: the sum over all accesses is the least that was found",
                others.join(", ")
            ),
        }
    }

    /// Formats one tensor: its layout, the operations that touch it, the reasons.
    fn tensor(&self, tensor: TensorId, chains: &mut Chains, out: &mut String) {
        let program = &self.solved.program;
        let Some((layout, reason)) = layout_text(program, &self.solved.solution, tensor) else { return };
        let _ = writeln!(out, "\n{layout}");
        let mut listed = BTreeSet::new();
        for (op, _) in program.ops(1.0) {
            if op.kind.tensors().contains(&tensor) && listed.insert(op.id) {
                self.operation(op, 1, chains, out);
            }
        }
        let _ = writeln!(out, "  because: {}", reason_text(reason));
        self.causes(tensor, (2, chains.depth), chains, out);
        chains.end(tensor);
    }

    /// Formats an operation with its place, and the first time with its instruction and the reason for the instruction.
    fn operation(&self, op: &Op, indent: usize, chains: &mut Chains, out: &mut String) {
        let indent = "  ".repeat(indent);
        if !chains.told.insert(op.id) {
            let _ = writeln!(out, "{indent}#{} {}", op.id.0, op_text(&self.solved.program, op));
            return;
        }
        for (i, line) in self.operation_lines(op).into_iter().enumerate() {
            let further = if i == 0 { "" } else { "    " };
            let _ = writeln!(out, "{indent}{further}{line}");
        }
    }

    /// Returns an operation with its place and instruction, the reason for the instruction, and the rules that keep a better one from
    /// it.
    fn operation_lines(&self, op: &Op) -> Vec<String> {
        let place = self.place(op);
        match choice_text(&self.solved.program, &self.solved.solution, op) {
            Some((choice, reason)) => {
                let rules = product_rules(self.db, self.instance, op.id);
                [format!("{choice}{place}"), reason_text(reason)].into_iter().chain(rules).collect()
            }
            None => vec![format!("#{} {}{place}", op.id.0, op_text(&self.solved.program, op))],
        }
    }

    /// Formats the tensors that a tensor's reason leads to, each with its own reason, recursively down to `depth` operations.
    fn causes(
        &self,
        tensor: TensorId,
        (indent, depth): (usize, usize),
        chains: &mut Chains,
        out: &mut String,
    ) {
        let program = &self.solved.program;
        let Some((_, reason)) = layout_text(program, &self.solved.solution, tensor) else { return };
        chains.seen.insert(tensor);
        if depth == 0 {
            return;
        }
        let spaces = "  ".repeat(indent);
        for id in &reason.from {
            let Some(op) = program.op(*id) else { continue };
            self.operation(op, indent, chains, out);
            for other in op.kind.tensors() {
                let Some((layout, reason)) = layout_text(program, &self.solved.solution, other) else {
                    continue;
                };
                // Skip a tensor whose layout this operation decided: it is an effect of the operation, as the current tensor is,
                // not a cause.
                if reason.from.contains(id) || !chains.seen.insert(other) {
                    continue;
                }
                if chains.ended.contains(&other) {
                    let _ = writeln!(out, "{spaces}  {}: above", program.tensor(other).name);
                    continue;
                }
                let _ = writeln!(out, "{spaces}  {layout}\n{spaces}      {}", reason_text(reason));
                self.causes(other, (indent + 2, depth - 1), chains, out);
            }
        }
    }

    /// Formats ` (FILE:LINE:COLUMN)`.
    fn place(&self, op: &Op) -> String {
        let place =
            self.sources.origins.get(op.origin.0 as usize).and_then(|origin| origin.place.range(self.db));
        place.map_or_else(String::new, |(file, range)| {
            let at = line_index(self.db, file).line_col(range.start());
            format!("  at {}:{}:{}", file.path(self.db), at.line + 1, at.col + 1)
        })
    }
}

/// The parts of an explanation that were formatted already, so that each is there once.
#[derive(Debug, Default)]
struct Chains {
    /// The number of operations down to which chains are followed.
    depth: usize,
    /// The operations with their instructions.
    told: BTreeSet<OpId>,
    /// The tensors of the current chain.
    seen: BTreeSet<TensorId>,
    /// The tensors of earlier chains.
    ended: BTreeSet<TensorId>,
}

impl Chains {
    /// Ends the chain of a tensor.
    fn end(&mut self, tensor: TensorId) {
        self.ended.append(&mut self.seen);
        self.ended.insert(tensor);
    }
}

fn tensors(program: &TileProgram, name: Option<&str>) -> Result<Vec<TensorId>, String> {
    let Some(name) = name else { return Ok(program.tensor_ids().collect()) };
    let named: Vec<TensorId> = program.tensor_ids().filter(|&id| program.tensor(id).name == name).collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let is_param = |param: &hx_tile::Param| matches!(param, hx_tile::Param::Tensor(t) if t.name == name);
    if program.params.iter().any(is_param) {
        return Err(format!(
            "`{name}` is a parameter of `{}`: its layout is given, not chosen",
            program.name
        ));
    }
    let names: Vec<&str> = program.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    Err(format!("`{}` has no register or shared tensor `{name}`{}", program.name, hint(name, &names)))
}

fn hint(name: &str, names: &[&str]) -> String {
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("; perhaps `{near}` is meant"),
        None if names.is_empty() => "; it has none".to_owned(),
        None => format!("; it has {}", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    }
}
