//! The atomic instructions: writes out the rows of `atomic.toml`, each of which stands for several instructions.

use hx_dtype::{AtomicOp, DType};
use serde::Deserialize;

use crate::copy::{AtomicForm, CopyRow};
use crate::{Feature, Space};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    latency: Latencies,
    atomic: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Latencies {
    global: f64,
    global_returning: f64,
    shared: f64,
    shared_returning: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    op: AtomicOp,
    suffix: String,
    types: Vec<DType>,
    bits: u32,
    issue: f64,
    #[serde(default)]
    needs: Option<Feature>,
}

/// Returns the instructions that a file of atomic rows stands for.
///
/// # Errors
/// If the file is malformed.
pub(crate) fn rows(text: &str) -> Result<Vec<CopyRow>, toml::de::Error> {
    let file: File = toml::from_str(text)?;
    let mut out = Vec::new();
    for row in &file.atomic {
        for (number, dtype) in row.types.iter().enumerate() {
            for space in [Space::Global, Space::Shared] {
                for returns in forms(row.op) {
                    out.push(row.instruction((*dtype, *returns), space, number > 0, &file.latency));
                }
            }
        }
    }
    Ok(out)
}

/// Returns the forms of an operation's instructions: for each whether it returns the element as it was before.
fn forms(op: AtomicOp) -> &'static [bool] {
    match op {
        AtomicOp::Add | AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => {
            &[false, true]
        }
        AtomicOp::Exchange | AtomicOp::CompareExchange => &[true],
        AtomicOp::Load | AtomicOp::Store => &[false],
    }
}

impl Row {
    /// Returns one instruction. If `is_other`, an earlier type of the row has the same spelling, so the name adds the type.
    fn instruction(
        &self,
        (dtype, returns): (DType, bool),
        space: Space,
        is_other: bool,
        latency: &Latencies,
    ) -> CopyRow {
        let (verb, operands) = match (self.op, returns) {
            (AtomicOp::Load, _) => ("ld", "{r}, [{a}]"),
            (AtomicOp::Store, _) => ("st", "[{a}], {r}"),
            (AtomicOp::CompareExchange, _) => ("atom", "{o}, [{a}], {c}, {r}"),
            (_, true) => ("atom", "{o}, [{a}], {r}"),
            (_, false) => ("red", "[{a}], {r}"),
        };
        let (memory, suffix) = (space.name(), &self.suffix);
        let plain = match self.op {
            AtomicOp::Load | AtomicOp::Store => format!("{verb}.relaxed.{memory}.{suffix}"),
            _ => format!("{verb}.{memory}.{suffix}"),
        };
        let name = if is_other { format!("{plain}.{dtype}") } else { plain };
        let loads = self.op == AtomicOp::Load;
        let (from, to) = if loads { (space, Space::Register) } else { (Space::Register, space) };
        let latency = match (space, returns || loads) {
            (Space::Global, false) => latency.global,
            (Space::Global, true) => latency.global_returning,
            (_, false) => latency.shared,
            (_, true) => latency.shared_returning,
        };
        let bytes = self.bits / 8;
        CopyRow {
            name,
            from,
            to,
            threads: 1,
            atomic: Some(AtomicForm { op: self.op, dtype, returns }),
            element_bits: None,
            bytes,
            access: bytes,
            word: self.bits,
            words: 1,
            permutes: 0,
            memory: None,
            register: None,
            issue: self.issue,
            latency,
            needs: self.needs,
            hints: None,
            ptx: format!("{verb}{{m}}.{memory}.{suffix} {operands};"),
        }
    }
}
