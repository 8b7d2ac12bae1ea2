//! The statements of a protocol.

use hx_dtype::DType;
use hx_index::{Cond, Expr, Symbol};
use hx_target::Mode;
use hx_tile::{OpId, ParamId, Scalar, TensorId};

use super::reach::Reach;

/// The statements of the groups of a block. Groups are numbered from 0, and every group of a role runs the role's statements.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Protocol {
    pub pipes: Vec<Pipe>,
    pub turns: Vec<Turns>,
    pub barriers: Vec<NamedBarrier>,
    /// The number of groups of a block.
    pub groups: u32,
    /// The statements that all groups run, before those of the roles.
    pub body: Vec<Stmt>,
    pub roles: Vec<Role>,
}

/// A ring of stages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pipe {
    pub name: String,
    pub stages: u32,
    /// The number of groups of a block that give back each stage.
    pub readers: u32,
    /// The number of scopes of a block that fill each stage together.
    pub fillers: u32,
    /// Whether one thread of a group gives a stage back for the group, which only multiplies its tiles. Then a release tells nothing of
    /// other accesses of the group.
    pub by_groups: bool,
}

/// An order among the groups of a role with [`Role::each`]: round robin, from its first group on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turns {
    pub name: String,
}

/// A barrier of several groups. Each comes once in each round, and may wait there for the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedBarrier {
    pub name: String,
    /// The numbers of the groups that come, in ascending order.
    pub groups: Vec<u32>,
}

/// The task of some groups of threads.
#[derive(Clone, PartialEq, Debug)]
pub struct Role {
    pub name: String,
    /// The threads of the role, if another one has the same name.
    pub threads: Option<String>,
    /// The number of the first group.
    pub first: u32,
    pub groups: u32,
    /// Whether each group is a scope of its own. Otherwise all groups of the role are one scope.
    pub each: bool,
    /// With `each`, the symbol of the number of the group within the role; otherwise `None`.
    pub index: Option<Symbol>,
    pub body: Vec<Stmt>,
}

/// A statement of a protocol: a tile program reduced to its synchronization and to the data on which that depends.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// The effect of an operation on the protocol.
    Act(OpId, Act),
    /// Runs `for var in start..end`.
    For {
        var: Symbol,
        start: Expr,
        end: Expr,
        body: Vec<Stmt>,
    },
    /// Runs while the condition holds.
    While {
        cond: Cond,
        body: Vec<Stmt>,
    },
    If {
        cond: Cond,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// Defines a local integer.
    Let {
        var: Symbol,
        value: Expr,
    },
    /// Changes a local integer.
    Assign {
        var: Symbol,
        value: Expr,
    },
    /// Defines a local number that data decide, or changes it.
    Number {
        var: Symbol,
        changes: bool,
        number: Number,
    },
    /// Gives a register tensor new data.
    Value(Value),
}

/// A number that a launch reads or computes from data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Number {
    /// An element of a tensor in memory.
    Element { source: String, at: Vec<Expr>, dtype: DType, identity: Identity },
    /// The only element of a register tensor.
    Register { tensor: TensorId, dtype: DType },
    /// The value of an expression.
    Computed(Scalar),
}

/// The data that an operation writes to a register tensor. Equal operations on equal data give equal data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    pub tensor: TensorId,
    /// The operation and everything about it that is the same in all launches.
    pub kind: String,
    pub inputs: Vec<TensorId>,
    /// Everything about it that the launch decides.
    pub at: Vec<Expr>,
    pub identity: Identity,
}

/// The reads of one place that return equal data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Identity {
    /// All of them: nothing writes the place.
    Data,
    /// The first reads of all scopes, the second ones, and so on: the scopes of the block hand the data on.
    Turn,
    /// None: other blocks may write in between.
    Own,
}

/// An act of a scope. Bulk copies, stores and waits for stores are done by one thread of the scope; everything else by all of
/// them.
#[derive(Clone, PartialEq, Debug)]
pub enum Act {
    /// Waits until the readers gave back the next stage. Defines the number of the stage.
    Acquire { pipe: u32, var: Option<Symbol> },
    /// Hands on the stage acquired last: the groups of the scope have written their part of it.
    Publish { pipe: u32 },
    /// Waits until the copies into the next stage arrived and its scopes published it. Defines the number of the stage.
    Wait { pipe: u32, var: Option<Symbol> },
    /// Gives back all stages that the scope waited for and has not given back, but the newest `keep`.
    Release { pipe: u32, keep: u32 },
    /// Leaves stages to others: moves the positions of the scope.
    Skip { pipe: u32, count: Expr },
    /// Begins a copy that fills a part of the stage acquired last. `into` is `None` if the part is not known.
    Fill { pipe: u32, into: Option<Place>, bytes: u64, multicast: Option<Multicast> },
    /// Begins a copy in groups, by every thread of the scope.
    Copy { into: Place },
    /// Closes the group of copies.
    Commit,
    /// Waits until at most `leave` groups of copies are in flight.
    WaitCopies { leave: u32 },
    /// The threads of the scope access shared memory.
    Access { place: Place, write: bool },
    /// The threads of the scope access shared memory atomically. A write may end a wait for the tensor.
    Atomic { place: Place, writes: bool, releases: bool },
    /// Waits until another scope has written a shared tensor atomically: a loop that reads a flag.
    AwaitFlag { tensor: TensorId },
    /// The threads of the scope read or write a register tensor.
    Touch { tensor: TensorId, write: bool },
    /// Begins a product. If it is not asynchronous, it is complete at once.
    Multiply(Operands),
    /// Waits until at most `leave` products of the group are in flight.
    WaitProducts { leave: u32 },
    /// Begins a bulk copy from shared memory. `from` is `None` if the part is not known, and `to` if no other scope uses what it writes.
    Store { from: Option<Place>, to: Option<Far>, adds: bool },
    /// Waits until at most `leave` stores of the scope still read shared memory, and unless `read`, still write.
    WaitStores { leave: u32, read: bool },
    /// The threads of the scope access global memory that a store of another scope writes.
    Far { far: Far, mode: Mode },
    /// Waits for the turn of the group.
    Take { turns: u32 },
    /// Hands the turn to the next group.
    Pass { turns: u32 },
    /// Comes to a barrier of several groups, and waits for the others if `waits`.
    Come { barrier: u32, waits: bool },
    /// Waits for all threads of the scope.
    Sync,
    /// Waits for the scope in the other blocks along an axis of the cluster, at the same operation.
    Meet { axis: u8 },
    /// Waits for all threads of the cluster.
    SyncCluster,
}

/// A copy that each block of a cluster along an axis makes a share of, for all of these blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Multicast {
    pub axis: u8,
    /// The coordinates of the source, which must be the same in all blocks.
    pub source: Vec<Expr>,
}

/// The operands of a product.
#[derive(Clone, PartialEq, Debug)]
pub struct Operands {
    pub c: TensorId,
    /// Operands in registers.
    pub registers: Vec<TensorId>,
    /// Operands in shared memory.
    pub shared: Vec<Place>,
    pub asynchronous: bool,
}

/// A part of a shared tensor: in each dimension its first coordinate, and all its coordinates counted from that one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub tensor: TensorId,
    pub ranges: Vec<(Expr, Reach)>,
    /// Whether each group has a tensor of its own.
    pub own: bool,
}

/// A part of a tensor in global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Far {
    pub param: ParamId,
    /// In each dimension the first coordinate, all coordinates counted from that one, and the extent of the tensor.
    pub ranges: Vec<(Expr, Reach, Expr)>,
}

impl Number {
    /// Returns the expressions of integers that the number depends on.
    pub(crate) fn exprs(&self) -> Vec<Expr> {
        match self {
            Number::Element { at, .. } => at.clone(),
            Number::Register { .. } => Vec::new(),
            Number::Computed(scalar) => {
                let mut exprs = Vec::new();
                scalar.map_leaves(&mut |leaf| {
                    match leaf {
                        Scalar::Integer { value, .. } => exprs.push(value.clone()),
                        Scalar::Var { var, .. } => exprs.push(Expr::symbol(var.clone())),
                        _ => {}
                    }
                    None
                });
                exprs
            }
        }
    }
}

impl Protocol {
    /// Calls `see` for every statement, and for the statements in it, in program order.
    pub(crate) fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a Stmt)) {
        let roles = self.roles.iter().map(|role| &role.body);
        std::iter::once(&self.body).chain(roles).for_each(|body| visit(body, see));
    }

    /// Calls `see` for every statement that a group runs, in program order.
    pub(crate) fn visit_group<'a>(&'a self, group: u32, see: &mut dyn FnMut(&'a Stmt)) {
        let own = self.roles.iter().filter(|role| (role.first..role.first + role.groups).contains(&group));
        std::iter::once(&self.body).chain(own.map(|role| &role.body)).for_each(|body| visit(body, see));
    }

    /// Calls `see` for every body, outer ones first.
    pub(crate) fn visit_bodies<'a>(&'a self, see: &mut dyn FnMut(&'a [Stmt])) {
        see(&self.body);
        self.roles.iter().for_each(|role| see(&role.body));
        self.visit(&mut |stmt| stmt.bodies().for_each(|body| see(body)));
    }

    /// Calls `change` for every body, inner ones first.
    pub(crate) fn bodies_mut(&mut self, change: &mut dyn FnMut(&mut Vec<Stmt>)) {
        let roles = self.roles.iter_mut().map(|role| &mut role.body);
        std::iter::once(&mut self.body).chain(roles).for_each(|body| bodies_mut(body, change));
    }

    /// Returns the first act of an operation; `None` if it has none.
    pub(crate) fn act(&self, op: OpId) -> Option<&Act> {
        let mut found = None;
        self.visit(&mut |stmt| {
            if let Stmt::Act(of, act) = stmt
                && *of == op
            {
                found = found.or(Some(act));
            }
        });
        found
    }

    /// Returns the role whose statements contain an operation; `None` if it is one of the block.
    pub(crate) fn role_of(&self, op: OpId) -> Option<&Role> {
        self.roles.iter().find(|role| role.body.iter().any(|stmt| stmt.contains(op)))
    }

    /// Returns the name of a group for messages.
    pub(crate) fn group_name(&self, group: u32) -> String {
        let role = self.roles.iter().find(|role| (role.first..role.first + role.groups).contains(&group));
        let threads = role.and_then(|role| role.threads.as_ref());
        let threads = threads.map_or_else(String::new, |threads| format!(" ({threads})"));
        match role {
            Some(role) if role.groups > 1 => {
                format!("group {} of `{}`{threads}", group - role.first, role.name)
            }
            Some(role) => format!("`{}`{threads}", role.name),
            None if self.groups > 1 => format!("group {group} of the block"),
            None => "the block".to_owned(),
        }
    }
}

impl Act {
    /// Returns the parts of shared tensors that the act names.
    pub(crate) fn places(&self) -> Vec<&Place> {
        match self {
            Act::Copy { into: place } | Act::Access { place, .. } | Act::Atomic { place, .. } => vec![place],
            Act::Fill { into: place, .. } | Act::Store { from: place, .. } => place.iter().collect(),
            Act::Multiply(operands) => operands.shared.iter().collect(),
            Act::Acquire { .. }
            | Act::Publish { .. }
            | Act::Wait { .. }
            | Act::Release { .. }
            | Act::Skip { .. }
            | Act::Commit
            | Act::WaitCopies { .. }
            | Act::AwaitFlag { .. }
            | Act::Touch { .. }
            | Act::WaitProducts { .. }
            | Act::WaitStores { .. }
            | Act::Far { .. }
            | Act::Take { .. }
            | Act::Pass { .. }
            | Act::Come { .. }
            | Act::Sync
            | Act::Meet { .. }
            | Act::SyncCluster => Vec::new(),
        }
    }

    fn counts(&self) -> bool {
        match self {
            Act::Acquire { .. }
            | Act::Publish { .. }
            | Act::Wait { .. }
            | Act::Release { .. }
            | Act::Skip { .. }
            | Act::Commit
            | Act::WaitCopies { .. }
            | Act::WaitProducts { .. }
            | Act::WaitStores { .. }
            | Act::Take { .. }
            | Act::Pass { .. }
            | Act::Come { .. }
            | Act::Sync
            | Act::Meet { .. }
            | Act::AwaitFlag { .. }
            | Act::Atomic { writes: true, .. }
            | Act::SyncCluster => true,
            Act::Fill { .. }
            | Act::Copy { .. }
            | Act::Access { .. }
            | Act::Atomic { writes: false, .. }
            | Act::Touch { .. }
            | Act::Far { .. }
            | Act::Multiply(_)
            | Act::Store { .. } => false,
        }
    }
}

impl Stmt {
    /// Returns the bodies inside the statement.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Vec<Stmt>> {
        let bodies = match self {
            Stmt::For { body, .. } | Stmt::While { body, .. } => [Some(body), None],
            Stmt::If { then, otherwise, .. } => [Some(then), Some(otherwise)],
            Stmt::Act(..) | Stmt::Let { .. } | Stmt::Assign { .. } | Stmt::Number { .. } | Stmt::Value(_) => {
                [None, None]
            }
        };
        bodies.into_iter().flatten()
    }

    /// Returns the operation of the statement, or the first one inside, in program order; `None` if it has none.
    pub(crate) fn first_op(&self) -> Option<OpId> {
        match self {
            Stmt::Act(op, _) => Some(*op),
            control => control.bodies().flatten().find_map(Stmt::first_op),
        }
    }

    /// Returns the operation of the statement, or the last one inside, in program order; `None` if it has none.
    pub(crate) fn last_op(&self) -> Option<OpId> {
        match self {
            Stmt::Act(op, _) => Some(*op),
            control => {
                let bodies: Vec<&Vec<Stmt>> = control.bodies().collect();
                bodies.into_iter().rev().flat_map(|body| body.iter().rev()).find_map(Stmt::last_op)
            }
        }
    }

    /// Reports whether the statement moves a position, waits, or lets others go on.
    pub(crate) fn counts(&self) -> bool {
        match self {
            Stmt::Act(_, act) => act.counts(),
            control => control.bodies().flatten().any(Stmt::counts),
        }
    }

    /// Reports whether the statement is the operation's, or contains it.
    pub(crate) fn contains(&self, op: OpId) -> bool {
        match self {
            Stmt::Act(of, _) => *of == op,
            control => control.bodies().flatten().any(|stmt| stmt.contains(op)),
        }
    }
}

fn visit<'a>(body: &'a [Stmt], see: &mut dyn FnMut(&'a Stmt)) {
    for stmt in body {
        see(stmt);
        stmt.bodies().for_each(|body| visit(body, see));
    }
}

fn bodies_mut(body: &mut Vec<Stmt>, change: &mut dyn FnMut(&mut Vec<Stmt>)) {
    for stmt in body.iter_mut() {
        match stmt {
            Stmt::For { body, .. } | Stmt::While { body, .. } => bodies_mut(body, change),
            Stmt::If { then, otherwise, .. } => {
                bodies_mut(then, change);
                bodies_mut(otherwise, change);
            }
            Stmt::Act(..) | Stmt::Let { .. } | Stmt::Assign { .. } | Stmt::Number { .. } | Stmt::Value(_) => {
            }
        }
    }
    change(body);
}
