//! Answers about decisions of the source: compile-time arguments, the stages of pipelines, and the split of a sum over blocks.

use hx_index::Symbol;
use hx_lower::CtValue;
use hx_synth::{Forecast, Known, Solved, compared, estimate_any, forecast};
use hx_tile::Estimate;

use super::{Asked, quoted};
use crate::{Instance, Stop, instance_diagnostics, solved, tile_program};

impl<'a> Asked<'a> {
    /// Compares the instance with that of another compile-time argument.
    pub(super) fn argument(&self, name: &str, value: i64) -> Vec<String> {
        let own = self.number(name);
        let mut lines = vec![format!(
            "`{name}` is a compile-time parameter: the launch decides, not the compiler{}",
            own.map_or_else(String::new, |own| format!("; here it is {own}"))
        )];
        if own == Some(value) {
            lines.push("  that is its value".to_owned());
            return lines;
        }
        lines.extend(own.map(|own| self.row(&format!("{name} = {own}, this one"), self.instance)));
        lines.push(self.with(name, value));
        lines.extend(self.remark(name, &[value]));
        lines
    }

    /// Compares stage counts: one more and one fewer, or one of them.
    pub(super) fn stages(&self, wanted: Option<i64>) -> Vec<String> {
        let program = &self.source.program;
        if program.pipes.is_empty() {
            return vec![format!(
                "`{}` has no pipeline, so nothing has stages: `pipeline(N)` and `copy_async(…, signal: …)` make one",
                program.name
            )];
        }
        let mut lines = Vec::new();
        let mut told: Vec<String> = Vec::new();
        for pipe in &program.pipes {
            let depth = i64::from(pipe.stages);
            let Some(name) = self.parameter_of_stages(&pipe.name, depth) else {
                lines.push(format!(
                    "`{}` has {depth} stages: the text says so, and no compile-time parameter changes it alone",
                    pipe.name
                ));
                continue;
            };
            if told.contains(&name) {
                continue;
            }
            lines.push(format!(
                "`{}` has {depth} stages, `{name}`: the launch decides, not the compiler",
                pipe.name
            ));
            lines.push(self.row(&format!("{name} = {depth}, this one"), self.instance));
            let others: Vec<i64> = match wanted {
                Some(count) => vec![count],
                None => [depth - 1, depth + 1].into_iter().filter(|count| *count > 0).collect(),
            };
            let counts = others.iter().filter(|count| **count != depth);
            lines.extend(counts.map(|count| self.with(&name, *count)));
            lines.extend(self.remark(&name, &others));
            if self.forecast(self.solved).is_none() {
                lines.push(format!(
                    "  the cycles of a block are those of full pipelines: {} shows the delays that more stages cover",
                    self.dims_to_give()
                ));
            }
            told.push(name);
        }
        lines
    }

    /// Says which parameter splits a sum over blocks and compares its values, or that none does.
    pub(super) fn split(&self, wanted: Option<i64>) -> Vec<String> {
        let args = &self.source.sources.args;
        let is_split = |name: &str| name.to_lowercase().contains("split");
        let found = args.iter().find_map(|(name, value)| match value {
            CtValue::Int(parts) if is_split(name.as_str()) => Some((name.to_string(), *parts)),
            _ => None,
        });
        let Some((name, parts)) = found else {
            return self.unsplit(wanted);
        };
        let mut lines =
            vec![format!("`{name} = {parts}` splits the work: the launch decides, not the compiler")];
        lines.push(self.row(&format!("{name} = {parts}, this one"), self.instance));
        let others: Vec<i64> = match wanted {
            Some(parts) => vec![parts],
            None => [parts / 2, parts.saturating_mul(2)].into_iter().filter(|n| *n > 0).collect(),
        };
        lines.extend(others.iter().filter(|n| **n != parts).map(|n| self.with(&name, *n)));
        lines.extend(self.remark(&name, &others));
        lines
    }

    /// Answers about a kernel without a parameter that splits a sum.
    fn unsplit(&self, wanted: Option<i64>) -> Vec<String> {
        let program = self.program();
        let parts = wanted.map_or_else(String::new, |n| format!(" into {n} parts"));
        let mut lines = vec![format!(
            "nothing of `{}` splits a sum over blocks{parts}: the compiler never does, because the order of a sum changes its result",
            program.name
        )];
        let estimate = estimate_any(program, &self.solved.solution, &self.dims);
        let multiprocessors = program.target.costs().multiprocessors;
        lines.push(match estimate.launch {
            Some(launch) => format!(
                "  a split pays if blocks are few: this launch has {} for {multiprocessors} multiprocessors",
                launch.blocks
            ),
            None => format!(
                "  a split pays if blocks are fewer than the {multiprocessors} multiprocessors: {} counts those of a launch",
                self.dims_to_give()
            ),
        });
        lines.push(
            "  the text may split it: a grid axis over parts of K, and `atomic_add` or `cluster_sum`, as `std::gemm_split` and `std::gemm_splitk` do".to_owned(),
        );
        lines
    }

    fn number(&self, name: &str) -> Option<i64> {
        let mut args = self.source.sources.args.iter();
        let (_, value) = args.find(|(own, _)| own.as_str() == name)?;
        match value {
            CtValue::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// Returns the parameter that alone changes the number of a pipeline's stages.
    fn parameter_of_stages(&self, pipe: &str, depth: i64) -> Option<String> {
        let equal = |value: &CtValue| matches!(value, CtValue::Int(n) if *n == depth);
        let names = self.source.sources.args.iter().filter(|(_, value)| equal(value)).map(|(name, _)| name);
        names.map(ToString::to_string).find(|name| {
            // One stage more may not fit, one fewer does; a program has its stages before it has layouts.
            let other = if depth > 1 { depth - 1 } else { depth + 1 };
            let program = tile_program(self.db, self.instance_with(name, other)).as_ref().ok();
            program.is_some_and(|lowered| {
                let mut pipes = lowered.program.pipes.iter();
                pipes.any(|own| own.name == pipe && i64::from(own.stages) == other)
            })
        })
    }

    fn instance_with(&self, name: &str, value: i64) -> Instance<'a> {
        let mut args = self.instance.args(self.db).clone();
        args.insert(hx_hir::Name::new(name), CtValue::Int(value));
        self.instance.with_args(self.db, args).with_candidate(self.db, 0)
    }

    fn with(&self, name: &str, value: i64) -> String {
        self.row(&format!("{name} = {value}"), self.instance_with(name, value))
    }

    /// Formats an instance: its estimate, and the resources that it takes, or why it cannot be.
    fn row(&self, what: &str, instance: Instance<'a>) -> String {
        match solved(self.db, instance) {
            Ok(found) => format!("  {what}: {}", self.figures(found)),
            Err(Stop::Layouts(failure)) => format!("  {what}: no: {}", failure.message),
            Err(Stop::Unsound | Stop::Program(_) | Stop::Target(_) | Stop::Internal { .. }) => {
                let errors = instance_diagnostics(self.db, instance);
                let first = errors.iter().find(|found| found.is_error());
                let why = first.map_or("the kernel has errors with it", |found| found.message.as_str());
                format!("  {what}: no: {why}")
            }
        }
    }

    fn figures(&self, found: &Solved) -> String {
        let estimate = estimate_any(&found.program, &found.solution, &self.dims);
        let limits = self.program().target.limits();
        let cycles = match self.forecast(found) {
            Some(launch) => format!(
                "{:.0} cycles of the launch, {:.1} µs, bound by {}",
                launch.cycles,
                launch.micros(),
                launch.bound.name()
            ),
            None => format!("{:.0} cycles of a block", compared(&found.program, &found.solution)),
        };
        let registers = most_registers(&estimate)
            .map_or_else(String::new, |[needed, budget]| format!(", about {needed} of {budget} registers"));
        format!(
            "{cycles}, {} of {} B of shared memory{registers}",
            found.solution.shared_bytes, limits.shared_bytes
        )
    }

    /// Returns the forecast of the launch; `None` if its dimensions are unknown.
    fn forecast(&self, found: &Solved) -> Option<Forecast> {
        let known = self.dims.iter().map(|(name, value)| (Symbol::Dim(name.as_str().into()), *value));
        forecast(&found.program, &found.solution, Known::symbols(&known.collect()))
    }

    /// Returns a remark if the values change the work of a block, so that cycles of blocks do not compare.
    fn remark(&self, name: &str, values: &[i64]) -> Option<String> {
        let own = &self.source.program;
        let known = self.forecast(self.solved).is_some();
        let differs = values.iter().any(|value| {
            let other = tile_program(self.db, self.instance_with(name, *value)).as_ref().ok();
            other.is_some_and(|other| other.program.grid != own.grid || other.program.cluster != own.cluster)
        });
        (differs && !known).then(|| {
            format!(
                "  the grids differ, so blocks do different work: {} compares launches",
                self.dims_to_give()
            )
        })
    }

    /// Formats the flag that gives the dimensions whose values are unknown: `` `--dim` of `m`, `n` ``.
    fn dims_to_give(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        for param in &self.source.program.params {
            let hx_tile::Param::Tensor(tensor) = param else { continue };
            for symbol in tensor.shape.iter().flat_map(hx_index::Expr::symbols) {
                let Symbol::Dim(name) = symbol else { continue };
                let name = name.to_string();
                if !names.contains(&name) && !self.dims.iter().any(|(known, _)| *known == name) {
                    names.push(name);
                }
            }
        }
        if names.is_empty() { "`--dim`".to_owned() } else { format!("`--dim` of {}", quoted(&names)) }
    }
}

fn most_registers(estimate: &Estimate) -> Option<[i64; 2]> {
    estimate.roles.iter().map(|role| role.registers).max_by_key(|registers| registers[0])
}
