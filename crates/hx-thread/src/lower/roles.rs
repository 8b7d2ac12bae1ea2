//! Lowers roles, the turns of their groups, and the barriers that several roles come to.
//!
//! Turns are named barriers, one for each group. A group that takes its turn waits at its own barrier, and the group before
//! it arrives there when it passes the turn on. No group passes the first turn to group 0, so the last group arrives for it
//! before it does anything else.

use hx_index::{CmpOp, Cond, Expr};
use hx_tile::{NamedBarrierId, Op, Role as TileRole, TurnsId};

use super::waiters::lanes;
use super::{LowerError, Lowering};
use crate::{Body, Control, Leaf, Role, Stmt};

impl Lowering<'_> {
    pub(super) fn role(&self, role: &TileRole) -> Result<Role, LowerError> {
        let mut body = self.ring_positions(role.scope);
        body.extend(self.first_turns(role));
        body.extend(self.stmts(&role.body)?);
        Ok(Role {
            scope: role.scope,
            registers: self.solution.role_registers.get(&role.scope).copied(),
            index: role.index.clone(),
            lanes: lanes(self.program, self.solution, role.scope),
            body,
        })
    }

    /// Gives the first turn of every `turns()` of a role to group 0: the last group arrives at its barrier.
    fn first_turns(&self, role: &TileRole) -> Body {
        let groups = self.program.scope(role.scope).groups;
        let Some(index) = role.index.as_ref().filter(|_| groups > 1) else { return Vec::new() };
        let all = (0..self.program.turns.len() as u32).map(TurnsId);
        let first = |turns: TurnsId| {
            Stmt::Leaf(Leaf::NamedArrive {
                id: Expr::constant(i64::from(self.program.barriers_of_turns(turns).start)),
                threads: self.threads_of_turns(role.scope),
            })
        };
        let arrive: Body =
            all.filter(|turns| self.program.turns(*turns).scope == role.scope).map(first).collect();
        if arrive.is_empty() {
            return Vec::new();
        }
        let last = Expr::constant(i64::from(groups) - 1);
        let cond = Cond::cmp(CmpOp::Eq, Expr::symbol(index.clone()), last, &self.program.facts);
        vec![Stmt::Control(Control::If { cond, then: arrive, otherwise: Vec::new() })]
    }

    /// Returns the position of the executing group's part in memory that has a part of this many elements for each group.
    pub(super) fn first_of_group(&self, op: &Op, elements: i64) -> Expr {
        let role = self.program.roles().iter().find(|role| role.scope == op.scope);
        let index = role.and_then(|role| role.index.clone());
        index.map_or_else(Expr::default, |index| Expr::symbol(index).scale(elements))
    }

    /// Returns how many threads meet at a barrier of turns: the group that waits and the group that passes the turn to it.
    fn threads_of_turns(&self, scope: hx_tile::ScopeId) -> u32 {
        2 * self.program.scope(scope).threads
    }

    pub(super) fn take(&self, op: &Op, turns: TurnsId) -> Body {
        let threads = self.threads_of_turns(op.scope);
        self.turn_of(op, turns, 0).map(|id| Stmt::Leaf(Leaf::NamedSync { id, threads })).into_iter().collect()
    }

    pub(super) fn pass(&self, op: &Op, turns: TurnsId) -> Body {
        let threads = self.threads_of_turns(op.scope);
        self.turn_of(op, turns, 1)
            .map(|id| Stmt::Leaf(Leaf::NamedArrive { id, threads }))
            .into_iter()
            .collect()
    }

    /// Brings the executing threads to a barrier of several roles.
    pub(super) fn come(&self, barrier: NamedBarrierId, waits: bool) -> Body {
        let id = Expr::constant(i64::from(self.program.number_of(barrier)));
        let threads = self.program.threads_at(barrier);
        let leaf = if waits { Leaf::NamedSync { id, threads } } else { Leaf::NamedArrive { id, threads } };
        vec![Stmt::Leaf(leaf)]
    }

    /// Returns the barrier of the group `after` places behind the one that executes the operation. `None` if a group is
    /// alone: it is always its turn.
    fn turn_of(&self, op: &Op, turns: TurnsId, after: i64) -> Option<Expr> {
        let groups = self.program.groups_of(op);
        let role = self.program.roles().iter().find(|role| role.scope == op.scope)?;
        let index = role.index.as_ref().filter(|_| groups > 1)?;
        let first = Expr::constant(i64::from(self.program.barriers_of_turns(turns).start));
        let next = Expr::symbol(index.clone()) + Expr::constant(after);
        Some(first + next.rem(&Expr::constant(i64::from(groups)), &self.program.facts))
    }
}
