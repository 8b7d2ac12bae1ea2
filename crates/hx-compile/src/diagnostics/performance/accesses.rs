//! Accesses that are narrower than their memory allows.

use std::collections::BTreeSet;

use hx_base::{Applicability, Diagnostic, Fix, codes};
use hx_tile::{CopyChoice, Op, OpId, OpKind, TensorId, View};

use super::Context;
use crate::crowded::crowded;
use crate::diagnostics::repair::widths::edits;
use crate::widths::{copy_of, other_widths};

/// Bytes of a bank of shared memory, and of the narrowest access that fills a sector with the lanes of a warp. An access below that is
/// reported even if no change is known that the estimate prefers.
const WORD: u32 = 4;

/// A cheaper width must lower the estimate to this fraction, or below.
const WORTH: f64 = 0.95;

/// Returns a note for each access that takes at least twice as many instructions as a wide one would. `told` are the accesses that the
/// note of a buffer names already.
pub(super) fn narrow(context: &Context<'_>, told: &BTreeSet<OpId>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    // A kernel whose tensors do not fit the registers has other notes, and its layouts would change with them.
    if crowded(context.solved).is_some() {
        return found;
    }
    for (op, _) in context.ops() {
        let Some(access) = Access::of(context, op) else { continue };
        if told.contains(&op.id) || !context.shares.is_worth(op.id) {
            continue;
        }
        // The parts of an unrolled body have one place, and one note.
        found.extend(note(context, op, &access).filter(|note| !found.contains(note)));
    }
    found
}

/// A narrow access.
struct Access<'a> {
    choice: &'a CopyChoice,
    /// The fact about the addresses that limits the width, as text; `None` if the layout limits it.
    limit: Option<String>,
}

impl<'a> Access<'a> {
    /// Returns the access of a copy; `None` if it is as wide as its bytes allow.
    fn of(context: &'a Context<'_>, op: &Op) -> Option<Access<'a>> {
        let program = &context.lowered.program;
        let choice = copy_of(&context.solved.solution, op.id)?;
        let widest = program.target.limits.access_bytes;
        // Atomic accesses and picked elements move one at a time, and an author who names the instruction knows its width.
        let is_plain = matches!(op.kind, OpKind::Copy { .. } | OpKind::CopyAsync { .. });
        if !is_plain
            || picks(op)
            || program.pins.contains_key(&op.id)
            || choice.bytes >= widest
            || choice.row.get().is_collective()
        {
            return None;
        }
        let allowed = hx_synth::widest_access(program, op);
        let limit = allowed.filter(|(bytes, _)| *bytes <= i64::from(choice.bytes)).map(|(_, limit)| limit);
        let accesses = choice.memory.mode(2).size();
        let bytes = accesses * i64::from(choice.bytes);
        let fewest = (bytes + i64::from(widest) - 1) / i64::from(widest);
        // Lanes that access eight bytes each fill their sectors, and the author cannot change a true fact about the addresses.
        let is_full = limit.is_some() && choice.bytes > WORD;
        (accesses >= 2 * fewest.max(1) && !is_full).then_some(Access { choice, limit })
    }
}

/// Returns the source and the destination of a copy; `None` for other operations.
fn sides(op: &Op) -> Option<[&View; 2]> {
    if let OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. } = &op.kind {
        return Some([src, dst]);
    }
    None
}

/// Reports whether index tensors pick the elements of a copy.
fn picks(op: &Op) -> bool {
    sides(op).is_some_and(|sides| sides.into_iter().any(|view| !view.picks().is_empty()))
}

fn note(context: &Context<'_>, op: &Op, access: &Access<'_>) -> Option<Diagnostic> {
    let program = &context.lowered.program;
    let bytes = access.choice.bytes;
    let fix = wider(context, op, bytes);
    if fix.is_none() && access.limit.is_none() && bytes >= WORD {
        return None;
    }
    let (file, range) = context.place(op);
    let [src, dst] = sides(op)?;
    let is_load = dst.register().is_some() || matches!(op.kind, OpKind::CopyAsync { .. });
    let (verb, memory) = if is_load { ("read", src) } else { ("written", dst) };
    let name = program.base_name(memory.base);
    let message = format!("`{name}` is {verb} {bytes} B at a time");
    let share = 100.0 * context.shares.share(op.id);
    let mut found = Diagnostic::new(&codes::NARROW_ACCESS, file, range, message).note(format!(
        "`{}` runs {} times a thread here, which is {share:.0}% of a block's estimated cycles",
        access.choice.row,
        access.choice.memory.mode(2).size()
    ));
    found = match &access.limit {
        Some(limit) => found.note(limit.clone()),
        None => demanded(context, [src.register(), dst.register()], access.choice, found),
    };
    found = match fix {
        Some(Wider::Fix(fix)) => found.with_fix(fix),
        Some(Wider::Help(help)) => found.help(help),
        None if access.limit.is_none() => found.note(nearest(context, op, bytes)),
        None => found,
    };
    Some(context.called(op, found))
}

/// Adds the cause that lies in the layout of the register tensor, and the operations that demand the layout.
fn demanded(
    context: &Context<'_>,
    registers: [Option<TensorId>; 2],
    choice: &CopyChoice,
    found: Diagnostic,
) -> Diagnostic {
    let reason = choice.reason.text.replace(&format!("{} B: ", choice.bytes), "");
    let found = found.note(reason);
    let Some(tensor) = registers.into_iter().flatten().next() else { return found };
    let Some(op) = anchor(context, tensor) else { return found };
    let ((file, range), own) = (context.place(op), found.primary.range);
    let is_own = file == found.primary.file && own.contains_range(range);
    if is_own {
        return found;
    }
    found.also(file, range, format!("the layout follows from this `{}`", op.kind.name()))
}

/// Returns the operation from which the layout of a register tensor follows, through operations that hand on the layouts of others.
fn anchor<'a>(context: &'a Context<'_>, tensor: TensorId) -> Option<&'a Op> {
    let (program, solution) = (&context.lowered.program, &context.solved.solution);
    let (mut tensor, mut last) = (tensor, None);
    let mut seen = BTreeSet::new();
    while seen.insert(tensor) {
        let Some(op) =
            solution.registers.get(&tensor).and_then(|held| program.op(*held.reason.from.first()?))
        else {
            break;
        };
        last = Some(op);
        if matches!(op.kind, OpKind::Gemm { .. } | OpKind::Copy { .. }) {
            break;
        }
        let follows = |id: &TensorId| {
            let held = solution.registers.get(id);
            held.is_some_and(|held| !held.reason.from.contains(&op.id))
        };
        let Some(next) = op.kind.registers().into_iter().find(follows) else { break };
        tensor = next;
    }
    last
}

/// Describes the change that makes an access wider and raises the estimate least.
fn nearest(context: &Context<'_>, op: &Op, own: u32) -> String {
    let widths = other_widths(context.places.db, context.places.instance, op.id);
    let wider = widths.iter().filter(|width| width.bytes > own);
    match wider.min_by(|a, b| a.cycles.total_cmp(&b.cycles)) {
        Some(width) => format!(
            "{} B at a time takes {:.2} times the estimated cycles, if you {}",
            width.bytes,
            width.cycles / context.solved.solution.cost,
            width.change.text(&context.lowered.program)
        ),
        None => {
            "of the pins and rearrangements of its tensors that were tried, none makes it wider".to_owned()
        }
    }
}

/// A change that makes an access wider and the kernel faster.
enum Wider {
    Fix(Fix),
    Help(String),
}

/// Returns the widest access that lowers the estimate, of the changes that were solved.
fn wider(context: &Context<'_>, op: &Op, own: u32) -> Option<Wider> {
    let (places, lowered) = (context.places, context.lowered);
    let now = context.solved.solution.cost;
    let widths = other_widths(places.db, places.instance, op.id);
    let better = widths.iter().filter(|width| width.bytes > own && width.cycles <= now * WORTH);
    let mut help = None;
    for width in better {
        let (old, new) = (now.round(), width.cycles.round());
        let estimate = format!("{} B accesses, estimated cycles {old} → {new}", width.bytes);
        match edits(places, lowered, &width.change) {
            Some((how, edits)) => {
                let title = format!("{how}: {estimate}");
                return Some(Wider::Fix(Fix { title, edits, applicability: Applicability::Verified }));
            }
            None => {
                help = help.or_else(|| Some(format!("{}: {estimate}", width.change.text(&lowered.program))))
            }
        }
    }
    help.map(Wider::Help)
}
