//! Answers about instructions: of products, of copies, and their widths.

use std::collections::BTreeSet;

use hx_lower::Lowered;
use hx_synth::{Rule, Wish, nearest, widest_access};
use hx_target::{CopyRow, GemmRow, Instructions, Space, SwizzleMode, Target};
use hx_tile::{Choice, CopyChoice, GemmChoice, Op, OpId, OpKind, View, instruction_text};

use super::{Asked, Subject, joined, quoted};
use crate::{Db, Instance, solved, tile_program};

/// Returns the rules that keep the best kind of instruction of the target from a product, as a sentence; `None` if the product uses
/// such an instruction, or if no rule keeps it from one.
pub fn product_rules(db: &dyn Db, instance: Instance<'_>, op: OpId) -> Option<String> {
    let source = tile_program(db, instance).as_ref().ok()?;
    let chosen = solved(db, instance).as_ref().ok()?.solution.choices.get(&op)?.gemm()?;
    let family = better_family(source.program.target, chosen)?;
    let (row, rules) = nearest(&source.program, source.program.op(op)?, &|row| is_of(row, &family))?;
    (!rules.is_empty()).then(|| against(&row.name, &rules, source))
}

/// Returns what the other kind of matrix instruction is worth for a product, as a sentence: the rules against it, or its estimated
/// cycles. `None` if the target has one kind only. Solves the kernel again.
#[salsa::tracked]
pub fn product_alternative<'db>(db: &'db dyn Db, instance: Instance<'db>, op: OpId) -> Option<String> {
    let asked = Asked::of(db, instance, &[])?;
    let chosen = asked.choice(op)?.gemm()?;
    let target = asked.program().target;
    let family = better_family(target, chosen).or_else(|| other_family(target, chosen))?;
    let source = asked.source.program.op(op)?;
    let (row, rules) = nearest(&asked.source.program, source, &|row| is_of(row, &family))?;
    if !rules.is_empty() {
        return Some(against(&row.name, &rules, asked.source));
    }
    let rows = target.rows().gemms.iter().filter(|row| is_of(row, &family));
    let rows: BTreeSet<String> = rows.map(|row| row.name.clone()).collect();
    Some(match asked.wishing(&Wish::of_rows([op], &rows)) {
        Ok(other) => asked.verdict(&format!("`{family}`"), &other),
        Err(failure) => format!("not `{family}`: {}", failure.message),
    })
}

/// Returns the rules that keep the instruction that the source names for a product from it, as a sentence; `None` if it names none, or no
/// rule keeps it.
pub(crate) fn named_product_rules(source: &Lowered, op: OpId) -> Option<String> {
    let pin = source.program.pins.get(&op)?;
    let is_named = |row: &GemmRow| pin.rows.contains(&row.name);
    let (row, rules) = nearest(&source.program, source.program.op(op)?, &is_named)?;
    (!rules.is_empty()).then(|| against(&row.name, &rules, source))
}

/// Returns the kind of an instruction: the first word of its name.
fn family(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn is_of(row: &GemmRow, name: &str) -> bool {
    family(&row.name) == name
}

/// Returns the kind of instruction that reads operands by descriptor, or that a warp executes together, if a product has a lesser
/// one and the target has such.
fn better_family(target: Target, chosen: &GemmChoice) -> Option<String> {
    let rows = target.rows().gemms.iter().filter(|row| !row.is_swapped);
    let best = rows.max_by_key(|row| row.class())?;
    (chosen.row.get().class() < best.class()).then(|| family(&best.name).to_owned())
}

/// Returns the kind of instruction of a warp that is not the chosen one.
fn other_family(target: Target, chosen: &GemmChoice) -> Option<String> {
    let own = family(&chosen.row.get().name);
    let mut rows = target.rows().gemms.iter().filter(|row| row.threads > 1);
    rows.find(|row| family(&row.name) != own).map(|row| family(&row.name).to_owned())
}

/// Formats the rules that keep an instruction from a product.
fn against(row: &str, rules: &[Rule], source: &Lowered) -> String {
    let named = |value: i64| parameter_of(source, value);
    let rules: Vec<String> = rules.iter().map(|rule| rule.text(&named)).collect();
    format!("not `{row}`: {}", rules.join("; "))
}

/// Returns the name of the only compile-time parameter with this value.
pub(crate) fn parameter_of(source: &Lowered, value: i64) -> Option<String> {
    let is_it = |own: &hx_lower::CtValue| matches!(own, hx_lower::CtValue::Int(n) if *n == value);
    let mut named = source.sources.args.iter().filter(|(_, own)| is_it(own));
    match (named.next(), named.next()) {
        (Some((name, _)), None) => Some(name.to_string()),
        _ => None,
    }
}

impl Asked<'_> {
    /// Answers why operations of the subject do not use the instructions of a name.
    pub(super) fn instructions(&self, named: &Instructions, subject: &Subject) -> Vec<String> {
        let target = self.program().target;
        if named.is_empty() {
            return vec![self.elsewhere(&named.text)];
        }
        if !named.products.is_empty() {
            let groups = self.groups(subject, |op| matches!(op.kind, OpKind::Gemm { .. }));
            if groups.is_empty() {
                let what = self.about(subject);
                return vec![format!("`{}` multiplies matrices, and {what} has no `gemm`", named.text)];
            }
            return joined(groups.len(), groups.iter().map(|ops| self.of_product(named, ops)));
        }
        let moving = named.moving();
        if moving.is_empty() {
            return vec![format!(
                "{} of {target}: its places follow from the text and the layouts, so no solution decides about it alone",
                quoted(&named.others.iter().take(3).collect::<Vec<_>>())
            )];
        }
        let ends = named.ends(target.rows());
        let groups = self.groups(subject, |op| op.kind.moved().is_some_and(|own| ends.contains(&own)));
        let others = self.not_moved(&format!("`{}`", named.text), &ends, subject);
        let number = groups.len() + others.len();
        if number == 0 {
            let ways: Vec<String> =
                ends.iter().map(|[from, to]| format!("{} to {} memory", from.name(), to.name())).collect();
            let what = self.about(subject);
            return vec![format!(
                "`{}` moves {}, and no operation of {what} does",
                named.text,
                ways.join(" or ")
            )];
        }
        joined(number, groups.iter().map(|ops| self.of_copy(&named.text, &moving, ops)).chain(others))
    }

    /// Names the subject of a question.
    pub(super) fn about(&self, subject: &Subject) -> String {
        format!("`{}`", subject.name.as_ref().unwrap_or(&self.program().name))
    }

    /// Says which targets have an instruction that this one lacks.
    fn elsewhere(&self, text: &str) -> String {
        let target = self.program().target;
        let has = |other: &&Target| {
            let rows = other.rows();
            let names = rows.gemms.iter().map(|row| &row.name).chain(rows.bulks.iter().map(|row| &row.name));
            let mut names = names.chain(rows.copies.iter().map(|row| &row.name));
            names.any(|name| name.to_lowercase().starts_with(&text.to_lowercase()))
        };
        let others: Vec<&str> = Target::all().iter().filter(has).map(|other| other.name()).collect();
        let have = if others.len() == 1 { "has" } else { "have" };
        format!("{target} has no `{text}`; {} {have} it", quoted(&others))
    }

    /// Answers about a product: the rules against the instructions, or the estimate with them.
    fn of_product(&self, named: &Instructions, ops: &[&Op]) -> Vec<String> {
        let mut lines = vec![self.head(ops)];
        let Some(op) = ops.first() else { return lines };
        let Some(chosen) = self.choice(op.id).and_then(Choice::gemm) else { return lines };
        if named.products.contains(&chosen.row.get().name) {
            lines.push(format!("  it uses `{}`: {}", chosen.row, chosen.reason.text));
            return lines;
        }
        let Some(source) = self.source.program.op(op.id) else { return lines };
        let is_named = |row: &GemmRow| named.products.contains(&row.name);
        let Some((row, rules)) = nearest(&self.source.program, source, &is_named) else { return lines };
        if !rules.is_empty() {
            lines.push(format!("  {}", against(&row.name, &rules, self.source)));
            let copies = rules.iter().filter_map(|rule| match rule {
                Rule::Contiguous { copy, least, .. } => Some((self.program().op(*copy)?, least)),
                _ => None,
            });
            lines.extend(copies.map(|(copy, least)| {
                format!("    it is filled by a copy of {least} neighbours or more: {}", self.head(&[copy]))
            }));
            return lines;
        }
        let wish = Wish::of_rows(ops.iter().map(|op| op.id), &named.products);
        lines.extend(self.outcome(&format!("`{}`", named.text), self.wishing(&wish)));
        lines
    }

    /// Answers about a copy: the rule against the instructions, or the estimate with them.
    fn of_copy(&self, text: &str, rows: &BTreeSet<String>, ops: &[&Op]) -> Vec<String> {
        let mut lines = vec![self.head(ops)];
        let Some(op) = ops.first() else { return lines };
        let used = self.choice(op.id).and_then(Choice::mover);
        if let Some((row, reason)) = used.filter(|(row, _)| rows.contains(*row)) {
            lines.push(format!("  it uses `{row}`: {}", reason.text));
            return lines;
        }
        if let Some(rule) = self.rule_of_copy(rows, op) {
            lines.push(format!("  not `{text}`: {rule}"));
            return lines;
        }
        let wish = Wish::of_rows(ops.iter().map(|op| op.id), rows);
        lines.extend(self.outcome(&format!("`{text}`"), self.wishing(&wish)));
        lines
    }

    /// Returns the rule by which an operation cannot be made by the instructions, whatever its layouts; `None` if there is none.
    fn rule_of_copy(&self, rows: &BTreeSet<String>, op: &Op) -> Option<String> {
        let catalogue = self.program().target.rows();
        let is_bulk = catalogue.bulks.iter().any(|row| rows.contains(&row.name));
        let narrowest =
            catalogue.copies.iter().filter(|row| rows.contains(&row.name)).map(|row| row.access).min();
        if let (false, Some(least)) = (is_bulk, narrowest)
            && let Some((bytes, why)) = widest_access(self.program(), op)
            && bytes < i64::from(least)
        {
            return Some(why);
        }
        if is_bulk {
            let joins_a_group = matches!(op.kind, OpKind::CopyAsync { signal: None, .. });
            return joins_a_group.then(|| {
                "this copy joins a group, and bulk copies signal a pipeline: `copy_async(…, signal: pipe)` in a stage of a `pipeline`"
                    .to_owned()
            });
        }
        matches!(op.kind, OpKind::Store { .. })
            .then(|| "an asynchronous store is a bulk copy; `copy` goes through registers".to_owned())
    }

    /// Answers about operations that only other statements would let the instructions make: synchronous copies, and operands that a
    /// product reads itself.
    pub(super) fn not_moved(
        &self,
        text: &str,
        ends: &BTreeSet<[Space; 2]>,
        subject: &Subject,
    ) -> Vec<Vec<String>> {
        let mut answers = Vec::new();
        if ends.contains(&[Space::Shared, Space::Global]) {
            let is_store = |op: &Op| matches!(&op.kind, OpKind::Copy { src, dst } if src.register().is_some() && dst.base.space() == Space::Global);
            for ops in self.groups(subject, is_store) {
                let unboxed = ops.first().and_then(|op| self.source.sources.unboxed.get(&op.origin));
                let why = unboxed.map_or(
                    "the statement stores registers; only `copy_async` from a shared tensor goes without them",
                    String::as_str,
                );
                answers.push(vec![self.head(&ops), format!("  not {text}: {why}")]);
            }
        }
        if ends.contains(&[Space::Global, Space::Shared]) {
            let is_load = |op: &Op| matches!(&op.kind, OpKind::Copy { src, dst } if src.base.space() == Space::Global && dst.register().is_some());
            for ops in self.groups(subject, is_load) {
                let why =
                    "the statement loads registers; only `copy_async` to a shared tensor goes without them";
                answers.push(vec![self.head(&ops), format!("  not {text}: {why}")]);
            }
        }
        if ends.contains(&[Space::Shared, Space::Register]) {
            let is_read = |op: &Op| matches!(&op.kind, OpKind::Gemm { a, b, .. } if [a, b].into_iter().any(|operand| is_shared(&operand.view)));
            for ops in self.groups(subject, is_read) {
                let why = "the product reads the operand from shared memory itself, so nothing loads it";
                answers.push(vec![self.head(&ops), format!("  not {text}: {why}")]);
            }
        }
        answers
    }

    /// Answers why copies of the subject do not access this many bytes at once.
    pub(super) fn width(&self, bytes: u32, subject: &Subject) -> Vec<String> {
        let target = self.program().target;
        let widest = target.limits.access_bytes;
        if bytes > widest || !bytes.is_power_of_two() {
            let widths =
                std::iter::successors(Some(1), |width| Some(width * 2)).take_while(|width| *width <= widest);
            let widths: Vec<String> = widths.map(|width: u32| width.to_string()).collect();
            let is_swizzle = |mode: &SwizzleMode| *mode != SwizzleMode::Plain && mode.width_bytes() == bytes;
            let hint = match SwizzleMode::ALL.iter().any(is_swizzle) {
                true => format!("; `{bytes}B swizzle` asks about the swizzle"),
                false => String::new(),
            };
            return vec![format!("an access of {target} moves {} B, not {bytes}{hint}", widths.join(", "))];
        }
        let is_copy = |op: &Op| matches!(self.choice(op.id), Some(Choice::Copy(_) | Choice::Bulk(_)));
        let groups = self.groups(subject, is_copy);
        if groups.is_empty() {
            return vec![format!("no copy touches {}: nothing else has a width", self.about(subject))];
        }
        // Wider accesses than those of the question are no question.
        let is_asked = |ops: &&Vec<&Op>| {
            subject.name.is_some()
                || ops.iter().any(|op| {
                    self.choice(op.id).and_then(Choice::copy).is_some_and(|copy| copy.bytes < bytes)
                })
        };
        let asked: Vec<&Vec<&Op>> = groups.iter().filter(is_asked).collect();
        if asked.is_empty() {
            return vec![format!("all copies of {} move {bytes} B or more at once", self.about(subject))];
        }
        joined(asked.len(), asked.iter().map(|ops| self.width_of(bytes, ops)))
    }

    fn width_of(&self, bytes: u32, ops: &[&Op]) -> Vec<String> {
        let mut lines = vec![self.head(ops)];
        let Some(op) = ops.first() else { return lines };
        let choice = self.choice(op.id);
        if let Some(copy) = choice.and_then(Choice::copy) {
            lines.extend(self.width_of_copy(bytes, copy, ops));
        } else if let Some((_, reason)) = choice.and_then(Choice::mover) {
            lines.push(format!(
                "  one thread moves it in whole, so its accesses have no width: {}",
                reason.text
            ));
        } else {
            let text = instruction_text(self.program(), &self.solved.solution, op);
            lines.extend(text.map(|(text, _)| format!("  {text}")));
        }
        lines
    }

    /// Answers why a copy by threads does not access this many bytes at once.
    fn width_of_copy(&self, bytes: u32, copy: &CopyChoice, ops: &[&Op]) -> Vec<String> {
        let Some(op) = ops.first() else { return Vec::new() };
        if copy.bytes == bytes {
            return vec![format!("  it moves {bytes} B at once: {}", copy.reason.text)];
        }
        let allowed = widest_access(self.program(), op);
        if let Some((_, why)) = allowed.filter(|(allowed, _)| *allowed < i64::from(bytes)) {
            return vec![format!("  not {bytes} B: {why}")];
        }
        let own = op.kind.moved();
        let fits =
            |row: &&CopyRow| row.atomic.is_none() && row.access == bytes && own == Some([row.from, row.to]);
        let rows = self.program().target.rows().copies.iter().filter(fits);
        let rows: BTreeSet<String> = rows.map(|row| row.name.clone()).collect();
        if rows.is_empty() {
            return vec![format!("  no instruction between these memories moves {bytes} B at once")];
        }
        let wish = Wish::of_rows(ops.iter().map(|op| op.id), &rows);
        self.outcome(&format!("{bytes} B"), self.wishing(&wish))
    }
}

fn is_shared(view: &View) -> bool {
    view.base.space() == Space::Shared
}
