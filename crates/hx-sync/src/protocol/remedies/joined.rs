//! A barrier of two roles, or of the groups of one role, as a change of a protocol.

use hx_tile::OpId;

use super::super::{Act, Fault, Fix, FixAt, Joint, Kind, NamedBarrier, Protocol, RaceAccess, Role, Stmt};

/// Returns the barriers to try between two accesses that nothing orders, the fewest first. A write comes before a read: which of them the
/// machine runs first says nothing if nothing orders them.
pub(super) fn candidates(protocol: &Protocol, earlier: RaceAccess, later: RaceAccess) -> Vec<Fix> {
    let Some(roles) = roles(protocol, [earlier.op, later.op]) else { return Vec::new() };
    let alone = roles.len() == 1;
    if earlier.op == later.op || alone && !(roles[0].each && roles[0].groups > 1) {
        return Vec::new();
    }
    let ordered = [[earlier.op, later.op], [later.op, earlier.op]];
    // Within one role the order of the text is that of the program.
    let ways = match (alone, earlier.write, later.write) {
        (true, ..) => &ordered[usize::from(earlier.op > later.op)..][..1],
        (false, false, true) => &ordered[1..],
        (false, true, false) => &ordered[..1],
        (false, ..) => &ordered[..],
    };
    let mut all = Vec::new();
    for outside in [[false, false], [true, false], [false, true], [true, true]] {
        for joint in [Joint::Between, Joint::Around] {
            let fix = |[earlier, later]: &[OpId; 2]| Fix {
                at: FixAt::Join { earlier: *earlier, later: *later, outside, joint },
                with: Vec::new(),
            };
            all.extend(ways.iter().map(fix));
        }
    }
    // The role that goes on comes to the barrier at the end of its round.
    let behind = |[first, second]: [OpId; 2]| {
        let at = FixAt::Join {
            earlier: end_of_round(protocol, first)?,
            later: second,
            outside: [false, false],
            joint: Joint::Behind,
        };
        Some(Fix { at, with: Vec::new() })
    };
    if !alone {
        all.extend(ordered.into_iter().filter_map(behind));
    }
    all
}

/// Reports whether a new barrier orders a part of the accesses to a tensor only. Roles that use it in turns need more than that barrier.
pub(super) fn is_part(fix: &Fix, kind: &Kind, left: &[Fault]) -> bool {
    let raced = |kind: &Kind| match kind {
        Kind::Race { tensor, .. } => Some(*tensor),
        _ => None,
    };
    matches!(fix.at, FixAt::Join { .. }) && left.iter().any(|fault| raced(&fault.kind) == raced(kind))
}

/// Returns the last operation of the body of an operation, if it is a statement of that body.
fn end_of_round(protocol: &Protocol, op: OpId) -> Option<OpId> {
    let mut end = None;
    protocol.visit_bodies(&mut |body| {
        if let Some(Stmt::Act(last, _)) = body.last()
            && body.iter().any(|stmt| matches!(stmt, Stmt::Act(of, _) if *of == op))
        {
            end = Some(*last);
        }
    });
    end
}

/// Returns the roles of two operations, one if it is the same; `None` if one of them is an operation of the block.
fn roles(protocol: &Protocol, ops: [OpId; 2]) -> Option<Vec<&Role>> {
    let [first, second] = ops.map(|op| protocol.role_of(op));
    let mut roles = vec![first?, second?];
    roles.dedup_by_key(|role| role.first);
    Some(roles)
}

/// Returns the protocol with a barrier between two operations; `None` if a place of the barrier is not there.
pub(super) fn changed(
    mut protocol: Protocol,
    [earlier, later]: [OpId; 2],
    outside: [bool; 2],
    joint: Joint,
) -> Option<Protocol> {
    let roles = roles(&protocol, [earlier, later])?;
    let alone = roles.len() == 1;
    let mut groups: Vec<u32> = roles.iter().flat_map(|role| role.first..role.first + role.groups).collect();
    groups.sort_unstable();
    let barrier = protocol.barriers.len() as u32;
    protocol.barriers.push(NamedBarrier { name: String::new(), groups });
    let come = |op: OpId, times: usize| vec![Stmt::Act(op, Act::Come { barrier, waits: true }); times];
    let [first, before, behind] = joint.times();
    let mut done = true;
    if !alone {
        done &= insert(&mut protocol, earlier, outside[0], &[], &come(earlier, first));
    }
    done &= insert(&mut protocol, later, outside[1], &come(later, before), &come(later, behind));
    done.then_some(protocol)
}

/// Inserts statements before and behind the first and last statement of an operation, or those around it if `outside`. Reports whether the
/// place is there.
fn insert(protocol: &mut Protocol, op: OpId, outside: bool, before: &[Stmt], after: &[Stmt]) -> bool {
    let is = |stmt: &Stmt| matches!(stmt, Stmt::Act(of, _) if *of == op);
    let at = |stmt: &Stmt| if outside { !is(stmt) && stmt.contains(op) } else { is(stmt) };
    let mut done = false;
    protocol.bodies_mut(&mut |body| {
        let (Some(first), Some(last)) = (body.iter().position(at), body.iter().rposition(at)) else { return };
        // Inner bodies come first, so that the innermost statement is the one.
        if !done {
            body.splice(last + 1..last + 1, after.to_vec());
            body.splice(first..first, before.to_vec());
            done = true;
        }
    });
    done
}
