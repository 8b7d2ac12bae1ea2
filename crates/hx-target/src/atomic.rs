//! The atomic instructions: reads the rows of `atomic.toml`, each of which stands for several instructions.

use hx_dtype::{AtomicOp, DType};
use serde::Deserialize;

use crate::catalogue::AtomicForm;
use crate::{CopyRow, Space};

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
    arch: u32,
}

/// Returns the instructions that a file of atomic rows stands for.
pub(crate) fn rows(text: &str) -> Vec<CopyRow> {
    // The file is part of the program, and every test reads it.
    let file: File = toml::from_str(text).unwrap_or_else(|e| panic!("atomic.toml is malformed: {e}"));
    let mut out = Vec::new();
    for row in &file.atomic {
        for (number, dtype) in row.types.iter().enumerate() {
            for space in [Space::Global, Space::Shared] {
                for returns in forms(row.op) {
                    let form = AtomicForm { op: row.op, dtype: *dtype, returns: *returns };
                    out.push(row.instruction(form, space, number > 0, &file.latency));
                }
            }
        }
    }
    out
}

/// Returns whether the instructions of an operation return the element as it was before.
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
    fn instruction(&self, form: AtomicForm, space: Space, is_other: bool, latency: &Latencies) -> CopyRow {
        let AtomicForm { op, dtype, returns } = form;
        let (verb, operands) = match (op, returns) {
            (AtomicOp::Load, _) => ("ld", "{r}, [{a}]"),
            (AtomicOp::Store, _) => ("st", "[{a}], {r}"),
            (AtomicOp::CompareExchange, _) => ("atom", "{o}, [{a}], {c}, {r}"),
            (_, true) => ("atom", "{o}, [{a}], {r}"),
            (_, false) => ("red", "[{a}], {r}"),
        };
        let (memory, suffix) = (space.name(), &self.suffix);
        let plain = match op {
            AtomicOp::Load | AtomicOp::Store => format!("{verb}.relaxed.{memory}.{suffix}"),
            _ => format!("{verb}.{memory}.{suffix}"),
        };
        let loads = op == AtomicOp::Load;
        let bytes = self.bits / 8;
        CopyRow {
            name: if is_other { format!("{plain}.{dtype}") } else { plain },
            from: if loads { space } else { Space::Register },
            to: if loads { Space::Register } else { space },
            threads: 1,
            atomic: Some(form),
            element_bits: None,
            bytes,
            access: bytes,
            word: self.bits,
            words: 1,
            memory: None,
            register: None,
            issue: self.issue,
            latency: match (space, returns || loads) {
                (Space::Global, false) => latency.global,
                (Space::Global, true) => latency.global_returning,
                (_, false) => latency.shared,
                (_, true) => latency.shared_returning,
            },
            arch: self.arch,
            ptx: format!("{verb}{{m}}.{memory}.{suffix} {operands};"),
        }
    }
}
