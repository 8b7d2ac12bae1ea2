//! Descriptions of roles, pipelines, turns, barriers and counters: their threads, registers, stages and arrivals in the shown instance.

use hx_base::SourceFile;
use hx_compile::{Db, thread_program};
use hx_hir::{Item, file_items, item_range};
use hx_syntax::ast::{AstNode, WarpRole};
use hx_syntax::{SyntaxKind, SyntaxToken};
use hx_thread::{BarrierKind, Leaf, ThreadProgram, visit_leaves};
use hx_tile::{Choice, CounterId, Op, OpKind, PipeId, ScopeId, SyncOp, resources_text, role_text};

use crate::Shown;
use crate::solved::Solved;

/// Describes the role whose header contains a keyword: its threads, their registers and, if known, its estimated cycles.
/// `None` for another keyword, or if the kernel has errors.
pub(crate) fn role(db: &dyn Db, file: SourceFile, token: &SyntaxToken, shown: &Shown) -> Option<String> {
    let node = token.parent_ancestors().find_map(WarpRole::cast)?;
    let before = node.syntax().siblings(hx_syntax::Direction::Prev).skip(1);
    let number = before.filter(|sibling| sibling.kind() == SyntaxKind::WARP_ROLE).count();
    let around = |item: &&Item<'_>| item_range(db, **item).contains_range(token.text_range());
    let Item::Kernel(kernel) = *file_items(db, file).items.iter().find(around)? else { return None };
    let solved = Solved::of(db, kernel, shown)?;
    let program = &solved.lowered.program;
    let role = program.roles().get(number)?;
    let scope = program.scope(role.scope);
    let groups = u64::from(scope.groups) * u64::from(scope.threads) / u64::from(program.target.limits.group);
    let of = |n: u64| if n == 1 { "1 group".to_owned() } else { format!("{n} groups") };
    let mut text = format!("{}, threads {} to {}", of(groups), scope.first, scope.end() - 1);
    if groups > 1 {
        let how = if scope.groups > 1 { ", each for itself" } else { ", together" };
        text.push_str(how);
    }
    let entry = program.limits().registers_at_entry(program.block_threads());
    match solved.solution.role_registers.get(&role.scope) {
        Some(registers) => text.push_str(&format!(
            " · {registers} registers a thread; the launch gives each thread of the block {entry}"
        )),
        None => text.push_str(&format!(" · {entry} registers a thread, those of the launch")),
    }
    if let Some(estimate) = hx_compile::estimate(db, solved.instance) {
        for found in estimate.roles.iter().filter(|found| found.scope == role.scope) {
            let caveat = program.target.caveat().map(|caveat| format!(" ({caveat})")).unwrap_or_default();
            text.push_str(&format!("\n\nabout {}{caveat}", role_text(found)));
            text.push_str(&format!("  \n{}", resources_text(&found.resources, found.cycles)));
        }
    }
    Some(text)
}

/// Describes the pipeline that a local of a kernel names: its stages, the copies that fill a stage, the scopes that publish it, and the
/// arrivals that free it. `None` if the local names no pipeline.
pub(crate) fn pipeline(solved: &Solved<'_>, name: &str) -> Option<String> {
    let program = &solved.lowered.program;
    let number = program.pipes.iter().position(|pipe| pipe.name == name)?;
    let id = PipeId(number as u32);
    let stages = program.pipes[number].stages;
    let of = |n: u32, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let mut text = of(stages, "stage");
    let mut rows: Vec<&str> = Vec::new();
    for op in solved.ops() {
        let OpKind::CopyAsync { signal: Some(pipe), .. } = op.kind else { continue };
        let Some((row, _)) = solved.solution.choices.get(&op.id).and_then(Choice::mover) else { continue };
        if pipe == id && !rows.contains(&row) {
            rows.push(row);
        }
    }
    let rows = rows.iter().map(|row| format!("`{row}`")).collect::<Vec<_>>().join(" and ");
    let threads = thread_program(solved.db, solved.instance).as_ref().ok()?;
    let bytes = bytes_of(threads, name);
    let bytes = bytes.map_or_else(String::new, |bytes| format!("{bytes} B by "));
    if !rows.is_empty() {
        text.push_str(&format!(" · filled with {bytes}{rows}"));
    }
    let publishes = |op: &&Op| matches!(op.kind, OpKind::Sync(SyncOp::Publish { pipe }) if pipe == id);
    let mut writers: Vec<ScopeId> = solved.ops().into_iter().filter(publishes).map(|op| op.scope).collect();
    writers.dedup();
    if !writers.is_empty() {
        let writers: Vec<String> = writers.iter().map(|id| format!("the {}", program.scope(*id))).collect();
        text.push_str(&format!(" · published by {}", writers.join(" and ")));
    }
    let empty = threads.barriers.iter().find(|b| b.pipe == name && b.kind == BarrierKind::Empty);
    if let Some(empty) = empty {
        text.push_str(&format!(" · free after {}", of(empty.count, "arrival")));
    }
    Some(text)
}

/// Describes the counter that a local of a kernel names: its numbers, and the scopes that loop over it. `None` if it names
/// none.
pub(crate) fn counter(solved: &Solved<'_>, name: &str) -> Option<String> {
    let program = &solved.lowered.program;
    let number = program.counters.iter().position(|counter| counter.name == name)?;
    let id = CounterId(number as u32);
    let scopes: Vec<String> =
        program.scopes_over(id).iter().map(|id| program.scope(*id).to_string()).collect();
    let drawing = scopes.first().map_or(String::new(), |first| format!(" · the {first} draws"));
    let others = scopes.get(1..).filter(|others| !others.is_empty());
    let others =
        others.map_or(String::new(), |others| format!(" · also read by the {}", others.join(" and the ")));
    Some(format!("0..{}{drawing}{others}", program.counter(id).limit))
}

/// Describes the turns that a local of a kernel names: the groups that take them. `None` if it names none.
pub(crate) fn turns(solved: &Solved<'_>, name: &str) -> Option<String> {
    let program = &solved.lowered.program;
    let scope = program.turns.iter().find(|turns| turns.name == name)?.scope;
    if scope == ScopeId::BLOCK {
        return Some("no group takes them".into());
    }
    Some(format!("taken by the {}, one after the other", program.scope(scope)))
}

/// Describes the barrier of several roles that a local of a kernel names: the threads that come, and the hardware's number. `None` if it
/// names none.
pub(crate) fn barrier(solved: &Solved<'_>, name: &str) -> Option<String> {
    let program = &solved.lowered.program;
    let id = program.named_barrier_ids().find(|id| program.named_barrier(*id).name == name)?;
    let scopes: Vec<String> =
        program.scopes_at(id).into_iter().map(|scope| program.scope(scope).to_string()).collect();
    if scopes.is_empty() {
        return Some("no role comes to it".into());
    }
    let (threads, number) = (program.threads_at(id), program.number_of(id));
    Some(format!("barrier {number} of {threads} threads: the {}", scopes.join(" and the ")))
}

/// Returns the bytes of the bulk copies that fill a stage of the pipeline `pipe`; `None` if no bulk copy fills it.
fn bytes_of(threads: &ThreadProgram, pipe: &str) -> Option<u32> {
    let mut found = None;
    visit_leaves(&threads.body, &mut |leaf| {
        if let Leaf::Expect { barrier, bytes, .. } = leaf
            && threads.barriers.get(*barrier as usize).is_some_and(|barrier| barrier.pipe == pipe)
        {
            found = Some(*bytes);
        }
    });
    found
}
