//! The abilities that a program needs and that are no instruction of the catalogue.

use hx_target::Feature;
use hx_tile::{OpId, OpKind, Origin, SyncOp, TileProgram};

/// An ability that a program needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    pub feature: Feature,
    /// The part of the feature that the construct needs, in a message.
    pub name: &'static str,
    /// The construct that needs it, as in the source.
    pub what: &'static str,
    pub at: NeededAt,
}

/// The part of a kernel that needs an ability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededAt {
    /// The `cluster` of the header.
    Cluster,
    /// The `warp_groups` of the body.
    Roles,
    Op(OpId),
    /// The place where the program declares an object, such as a counter.
    Made(Origin),
}

/// Checks that the architecture has every ability that the program needs.
///
/// # Errors
/// The abilities that it lacks, in the order of the text.
pub(crate) fn check(program: &TileProgram) -> Result<(), Vec<Need>> {
    let target = program.target;
    let mut lacks: Vec<Need> = needs(program).into_iter().filter(|need| !target.has(need.feature)).collect();
    // A target without roles has no registers for them either: one refusal is enough.
    if !target.has(Feature::Roles) {
        lacks.retain(|need| need.feature != Feature::RoleRegisters);
    }
    if lacks.is_empty() { Ok(()) } else { Err(lacks) }
}

fn needs(program: &TileProgram) -> Vec<Need> {
    let mut out = Vec::new();
    if program.cluster != [1, 1, 1] {
        out.push(Need {
            feature: Feature::Clusters,
            name: Feature::Clusters.name(),
            what: "`cluster`",
            at: NeededAt::Cluster,
        });
    }
    if !program.roles().is_empty() {
        out.push(Need {
            feature: Feature::Roles,
            name: Feature::Roles.name(),
            what: "`warp_groups`",
            at: NeededAt::Roles,
        });
    }
    if !hx_synth::role_registers(program).is_empty() {
        out.push(Need {
            feature: Feature::RoleRegisters,
            name: Feature::RoleRegisters.name(),
            what: "`registers` of a role",
            at: NeededAt::Roles,
        });
    }
    out.extend(program.counters.first().map(|counter| Need {
        feature: Feature::Barriers,
        name: "the barriers in shared memory that counters need",
        what: "`counter`",
        at: NeededAt::Made(counter.origin),
    }));
    let stores = program.ops(1.0).into_iter().find(|(op, _)| matches!(op.kind, OpKind::Store { .. }));
    out.extend(stores.map(|(op, _)| Need {
        feature: Feature::BulkCopies,
        name: "asynchronous stores from shared memory",
        what: "`copy_async` to global memory",
        at: NeededAt::Op(op.id),
    }));
    let orders = [(SyncOp::WaitPrevious, "`wait_for_previous`"), (SyncOp::AllowNext, "`allow_next`")];
    for (order, what) in orders {
        let first = program.ops(1.0).into_iter().find(|(op, _)| op.kind == OpKind::Sync(order.clone()));
        let feature = Feature::LaunchOrder;
        out.extend(first.map(|(op, _)| Need {
            feature,
            name: feature.name(),
            what,
            at: NeededAt::Op(op.id),
        }));
    }
    out
}
