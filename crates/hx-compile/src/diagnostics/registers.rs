//! Tensors that no thread has the registers for. What the CUDA compiler does with many smaller ones is its own business; a
//! tensor that alone takes more than there are cannot but spill.

use hx_base::{Diagnostic, codes};
use hx_lower::Lowered;
use hx_tile::Solution;

use super::Places;

/// Registers are of 32 bits.
const REGISTER_BITS: i64 = 32;

/// One warning for each register tensor that alone is too large for a thread.
pub(super) fn too_many(places: &Places<'_>, lowered: &Lowered, solution: &Solution) -> Vec<Diagnostic> {
    let arch = places.instance.arch(places.db);
    let limits = arch.limits();
    let threads = i64::from(lowered.program.threads.max(1));
    let most = i64::from(limits.registers_per_thread).min(i64::from(limits.registers) / threads);
    let program = solution.program(&lowered.program);
    let mut found = Vec::new();
    for (&id, distribution) in &solution.registers {
        let tensor = program.tensor(id);
        let values = distribution.layout.mode(1).size();
        let bits = values * i64::from(tensor.dtype.bits());
        let registers = (bits + REGISTER_BITS - 1) / REGISTER_BITS;
        if registers <= most {
            continue;
        }
        let name = &tensor.name;
        let (file, range) = places.tensor(lowered, id).unwrap_or_else(|| places.kernel());
        let message = format!(
            "`{name}` takes {registers} registers of each of {threads} threads, and {arch} has {most} for one"
        );
        let diagnostic = Diagnostic::new(&codes::TOO_MANY_REGISTERS, file, range, message)
            .label(format!("{values} elements of {} a thread", tensor.dtype));
        found.push(diagnostic.help("a smaller tile or more threads"));
    }
    found
}
