//! Decides which accesses of a launch may come before the end of the launches before it.
//!
//! A program with [`SyncOp::WaitPrevious`] is launched while the launches before it may still run. A thread sees the writes of
//! these launches, and may overwrite the elements that they read, only after it has waited. So no thread accesses a tensor of
//! global memory before its wait.
//!
//! The wait stands where every launch executes it: a launch that ends without it counts as complete for the launches after it,
//! while launches before it may still run. Start at [`faults`].

use hx_tile::{
    Base, Control, Leaf, Mode, Op, OpId, OpKind, Origin, ParamId, Role, Rounds, ScopeId, Stmt, SyncOp,
    TileProgram,
};

/// The findings about the waits of a program for the launches before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Threads access global memory before they have waited.
    Early {
        /// The scope of the threads: the block, or a role.
        scope: ScopeId,
        /// In program order, at least one.
        accesses: Vec<Early>,
        /// The first wait of the scope, after the accesses; otherwise the first wait of the program, in another scope.
        wait: OpId,
        /// Whether `wait` is a wait of the scope itself.
        own: bool,
    },
    /// A wait in a loop or under a condition, which a launch may leave out.
    Uncertain { wait: OpId, looped: bool },
    /// A wait of threads that have already waited.
    Idle { wait: OpId, first: OpId },
}

/// An access to global memory before the threads have waited for the launches before this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Early {
    pub origin: Origin,
    pub param: ParamId,
    /// Whether the access writes; a draw from a counter does.
    pub writes: bool,
}

/// Returns the faults of a program, those of the block's statements first; none if it never waits for the launches before it.
pub fn faults(program: &TileProgram) -> Vec<Fault> {
    let Some(first) = program.ops(1.0).into_iter().find(|(op, _)| is_wait(op)).map(|(op, _)| op.id) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let mut block = Walk::new(program, ScopeId::BLOCK, None);
    block.body(&program.body, None);
    for role in program.roles() {
        out.extend(block.role(role, first));
    }
    let mut all = block.finish(first);
    all.extend(out);
    all
}

fn is_wait(op: &Op) -> bool {
    op.kind == OpKind::Sync(SyncOp::WaitPrevious)
}

/// The control flow around a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    Loop,
    Condition,
}

/// Follows the statements of one scope in program order.
struct Walk<'p> {
    program: &'p TileProgram,
    scope: ScopeId,
    /// The first wait so far; `None` before it.
    waited: Option<OpId>,
    /// The first wait of the scope itself; `None` before it.
    own: Option<OpId>,
    early: Vec<Early>,
    faults: Vec<Fault>,
}

impl<'p> Walk<'p> {
    fn new(program: &'p TileProgram, scope: ScopeId, waited: Option<OpId>) -> Walk<'p> {
        Walk { program, scope, waited, own: None, early: Vec::new(), faults: Vec::new() }
    }

    /// Follows a role, which runs after the statements of the block.
    fn role(&self, role: &Role, first: OpId) -> Vec<Fault> {
        let mut walk = Walk::new(self.program, role.scope, self.waited);
        walk.body(&role.body, None);
        walk.finish(first)
    }

    fn finish(mut self, first: OpId) -> Vec<Fault> {
        if !self.early.is_empty() {
            let (scope, accesses, own) = (self.scope, self.early, self.own.is_some());
            self.faults.insert(0, Fault::Early { scope, accesses, wait: self.own.unwrap_or(first), own });
        }
        self.faults
    }

    fn body(&mut self, body: &[Stmt], around: Option<Around>) {
        for stmt in body {
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) if is_wait(op) => self.wait(op.id, around),
                Stmt::Leaf(Leaf::Op(op)) => self.op(op),
                Stmt::Control(Control::For { rounds, body, .. }) => {
                    if let Rounds::Drawn { counter, origin, .. } = rounds {
                        let param = self.program.counter(*counter).param;
                        self.access(Early { origin: *origin, param, writes: true });
                    }
                    self.body(body, Some(Around::Loop));
                }
                Stmt::Control(Control::While { body, .. }) => self.body(body, Some(Around::Loop)),
                Stmt::Control(Control::If { then, otherwise, .. }) => {
                    let around = around.or(Some(Around::Condition));
                    let before = self.waited;
                    self.body(then, around);
                    // A wait in one branch says nothing about the other one.
                    let after = std::mem::replace(&mut self.waited, before);
                    self.body(otherwise, around);
                    self.waited = self.waited.or(after);
                }
                Stmt::Leaf(Leaf::LoadScalar { src, origin, .. }) => self.touch(src.base, *origin, false),
                Stmt::Leaf(Leaf::Let { .. } | Leaf::Assign { .. } | Leaf::LetNumber { .. } | Leaf::AssignNumber { .. })
                // Each role is followed on its own.
                | Stmt::Control(Control::Roles(_)) => {}
            }
        }
    }

    fn wait(&mut self, wait: OpId, around: Option<Around>) {
        self.own = self.own.or(Some(wait));
        let first = *self.waited.get_or_insert(wait);
        match around {
            Some(around) => {
                self.faults.push(Fault::Uncertain { wait, looped: around == Around::Loop });
            }
            None if first != wait => self.faults.push(Fault::Idle { wait, first }),
            None => {}
        }
    }

    fn op(&mut self, op: &Op) {
        for access in op.kind.description().accesses {
            self.touch(access.base(), op.origin, access.mode != Mode::Read);
        }
    }

    fn touch(&mut self, base: Base, origin: Origin, writes: bool) {
        if let Base::Global(param) = base {
            self.access(Early { origin, param, writes });
        }
    }

    fn access(&mut self, early: Early) {
        if self.waited.is_none() {
            self.early.push(early);
        }
    }
}
