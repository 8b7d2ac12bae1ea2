//! More of something than a block has.

use hx_base::{Diagnostic, codes};
use hx_tile::{Solution, TensorKind, TileProgram};

use super::Places;

/// The number of threads: at most what a block has, in whole warps.
pub(super) fn threads(places: &Places<'_>, program: &TileProgram) -> Option<Diagnostic> {
    let (file, range) = places.header_threads();
    let threads = program.threads;
    let limit = places.instance.arch(places.db).limits().threads_per_block;
    if threads > limit {
        let message = format!("found {threads} threads, a block has at most {limit}");
        return Some(Diagnostic::new(&codes::TOO_MANY_THREADS, file, range, message));
    }
    if threads == 0 || threads % 32 != 0 {
        let message = format!("found {threads} threads, expected a multiple of 32");
        let below = threads / 32 * 32;
        let near =
            if below == 0 { "32".to_owned() } else { format!("{below} or {}", (below + 32).min(limit)) };
        let found = Diagnostic::new(&codes::BAD_THREAD_COUNT, file, range, message);
        return Some(found.help(format!("threads run in warps of 32: use {near}")));
    }
    None
}

/// Shared memory: at most what a block may have.
pub(super) fn shared_memory(
    places: &Places<'_>,
    program: &TileProgram,
    solution: &Solution,
) -> Option<Diagnostic> {
    let arch = places.instance.arch(places.db);
    let limit = arch.limits().shared_bytes;
    if solution.shared_bytes <= limit {
        return None;
    }
    let (file, range) = places.kernel();
    let message = format!(
        "found {} bytes of shared memory, a block of {arch} has at most {limit}",
        solution.shared_bytes
    );
    let mut found = Diagnostic::new(&codes::TOO_MUCH_SHARED_MEMORY, file, range, message);
    let tensors = program.tensor_ids().map(|id| (id, program.tensor(id)));
    for (id, tensor) in tensors.filter(|(_, tensor)| matches!(tensor.kind, TensorKind::Shared { .. })) {
        let bytes = solution.shared.get(&id).map_or(0, |layout| layout.bytes);
        found = found.note(format!("`{}` takes {bytes} bytes", tensor.name));
    }
    Some(found.help("use smaller tiles or fewer stages"))
}
