//! Scopes: sets of threads of a block that execute the same operations.

use std::fmt;

use crate::{NamedBarrierId, Op, OpKind, TensorId, TileProgram, Turns, TurnsId};

/// A scope of a program, by position in [`TileProgram::scopes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ScopeId(pub u32);

impl ScopeId {
    /// The scope of all threads of a block.
    pub const BLOCK: ScopeId = ScopeId(0);
}

/// A set of threads that execute the same operations together, and hold the same register tensors: consecutive threads of
/// the block. Two scopes of a program are disjoint, or one contains the other. Every scope but the block consists of whole
/// warps.
///
/// A scope of several groups stands for all of them: each group executes the operations for itself, on tensors of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scope {
    pub kind: ScopeKind,
    /// The number, within the block, of the first thread.
    pub first: u32,
    /// The number of threads; of one group if there are several.
    pub threads: u32,
    /// The number of groups, which follow each other; 1 except for [`ScopeKind::Group`].
    pub groups: u32,
}

/// The part of a block that a scope is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScopeKind {
    /// All threads of a block.
    Block,
    /// The threads with one task of the kernel.
    Role,
    /// One of several groups of threads, each with the same task on other data.
    Group,
}

impl Scope {
    /// Returns the scope of a block of `threads` threads.
    pub fn block(threads: u32) -> Scope {
        Scope { kind: ScopeKind::Block, first: 0, threads, groups: 1 }
    }

    /// Returns the number, within the block, of the thread after the last one of all groups.
    pub fn end(&self) -> u64 {
        u64::from(self.first) + u64::from(self.threads) * u64::from(self.groups)
    }

    /// Reports whether all threads of `other` belong to this scope.
    pub fn contains(&self, other: &Scope) -> bool {
        self.first <= other.first && other.end() <= self.end()
    }
}

impl ScopeKind {
    /// Returns the word for the scope in messages.
    pub fn name(self) -> &'static str {
        match self {
            ScopeKind::Block => "block",
            ScopeKind::Role => "role",
            ScopeKind::Group => "group",
        }
    }
}

/// Formats a scope as in `group of threads 128..256` or `2 groups of threads 128..384`; the threads of a block need no
/// numbers.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ScopeKind::Block => f.write_str(self.kind.name()),
            ScopeKind::Role | ScopeKind::Group => {
                if self.groups > 1 {
                    write!(f, "{} ", self.groups)?;
                }
                let plural = if self.groups > 1 { "s" } else { "" };
                write!(f, "{}{plural} of threads {}..{}", self.kind.name(), self.first, self.end())
            }
        }
    }
}

/// Returns the numbers of the named barriers of a scope, one for each group. The barrier of the block has number 0, and those
/// of the other scopes follow in their order.
pub fn barriers_of(scopes: &[Scope], id: ScopeId) -> std::ops::Range<u32> {
    let groups = |scopes: &[Scope]| scopes.iter().map(|scope| scope.groups).sum();
    let first = groups(&scopes[..id.0 as usize]);
    first..first + scopes[id.0 as usize].groups
}

impl TileProgram {
    /// Returns the numbers of the named barriers of turns, one for each group: they follow those of the scopes.
    pub fn barriers_of_turns(&self, id: TurnsId) -> std::ops::Range<u32> {
        let groups = |turns: &Turns| match turns.scope {
            ScopeId::BLOCK => 0,
            scope => self.scope(scope).groups,
        };
        let scopes: u32 = self.scopes.iter().map(|scope| scope.groups).sum();
        let first = scopes + self.turns[..id.0 as usize].iter().map(groups).sum::<u32>();
        first..first + groups(self.turns(id))
    }

    /// Returns the hardware's number of a named barrier of the source: they follow those of turns.
    pub fn number_of(&self, id: NamedBarrierId) -> u32 {
        let turns = (self.turns.len() as u32).checked_sub(1).map(TurnsId);
        let scopes: u32 = self.scopes.iter().map(|scope| scope.groups).sum();
        turns.map_or(scopes, |last| self.barriers_of_turns(last).end) + id.0
    }

    /// Returns a scope of the program.
    ///
    /// # Panics
    /// If the program has no such id among its scopes.
    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0 as usize]
    }

    /// Returns a scope and the scopes that it contains.
    pub fn scopes_within(&self, id: ScopeId) -> impl Iterator<Item = ScopeId> + '_ {
        let ids = (0..self.scopes.len() as u32).map(ScopeId);
        ids.filter(move |inner| self.scope(id).contains(self.scope(*inner)))
    }

    /// Returns the number of threads of a block: what a launch and the limits of a multiprocessor need. The threads that
    /// execute an operation are those of its scope: [`TileProgram::threads_of`].
    pub fn block_threads(&self) -> u32 {
        self.scope(ScopeId::BLOCK).threads
    }

    /// Returns the number of groups that execute an operation, each for itself.
    pub fn groups_of(&self, op: &Op) -> u32 {
        self.scope(op.scope).groups
    }

    /// Returns how many times a shared tensor exists: once for each group that moves values through it in a rearrangement. A
    /// tensor of the source that groups have for themselves has a mode for them instead.
    pub fn copies_of(&self, tensor: TensorId) -> u32 {
        let scope = self.tensor(tensor).scope;
        let groups = self.scope(scope).groups;
        let through = |op: &Op| matches!(op.kind, OpKind::Rearrange { through: Some(through), .. } if through == tensor);
        if groups > 1 && self.ops(1.0).iter().any(|(op, _)| through(op)) { groups } else { 1 }
    }

    /// Returns the number of threads that execute an operation together.
    pub fn threads_of(&self, op: &Op) -> u32 {
        self.scope(op.scope).threads
    }

    /// Returns the number of threads that a register tensor is dealt to.
    pub fn threads_holding(&self, tensor: TensorId) -> u32 {
        self.scope(self.tensor(tensor).scope).threads
    }

    /// Returns the program for blocks of another number of threads. Returns `None` if the program has scopes besides the
    /// block: these are fixed threads of it.
    pub fn with_block_threads(&self, threads: u32) -> Option<TileProgram> {
        (self.scopes.len() == 1).then(|| TileProgram { scopes: vec![Scope::block(threads)], ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use hx_dtype::DType;
    use hx_index::Expr;

    use super::*;
    use crate::{
        Constant, GridAxis, Leaf, LiveAcross, LiveTensors, OpId, OpKind, Origin, Stmt, SyncOp, Tensor,
        TensorKind, emit_tile,
    };

    /// Returns the program in which a block of 256 threads fills `x`, and its second half fills `y`.
    fn program() -> TileProgram {
        let group = Scope { kind: ScopeKind::Group, first: 128, threads: 128, groups: 1 };
        let tensor = |name: &str, scope| Tensor {
            name: name.into(),
            dtype: DType::F32,
            shape: vec![256],
            kind: TensorKind::Register { pinned: None },
            scope,
            origin: Origin(0),
            binder: None,
            moved_from: None,
        };
        let fill = |id: u32, scope| {
            let kind = OpKind::Fill { dst: TensorId(id), value: Constant::ZERO };
            Stmt::Leaf(Leaf::Op(Op { id: OpId(id), kind, scope, origin: Origin(0) }))
        };
        TileProgram {
            name: "halves".into(),
            grid: vec![GridAxis { blocks: Expr::constant(1) }],
            scopes: vec![Scope::block(256), group],
            tensors: vec![tensor("x", ScopeId::BLOCK), tensor("y", ScopeId(1))],
            turns: vec![],
            body: vec![fill(0, ScopeId::BLOCK), fill(1, ScopeId(1))],
            ..TileProgram::default()
        }
    }

    #[test]
    fn operations_and_tensors_have_the_threads_of_their_scope() {
        let program = program();
        assert_eq!(program.block_threads(), 256);
        let of_ops: Vec<u32> = program.ops(1.0).iter().map(|(op, _)| program.threads_of(op)).collect();
        assert_eq!(of_ops, [256, 128]);
        let of_tensors: Vec<u32> = program.tensor_ids().map(|id| program.threads_holding(id)).collect();
        assert_eq!(of_tensors, [256, 128]);
    }

    #[test]
    fn the_text_names_scopes_besides_the_block() {
        expect![[r#"
            kernel halves threads 256
              grid [1]
              scope 1: group of threads 128..256
              register x: f32[256]
              register y: f32[256] in scope 1
              #0 fill(x, 0.0)
              #1 fill(y, 0.0) in scope 1
        "#]]
        .assert_eq(&emit_tile(&program()));
    }

    #[test]
    fn other_threads_are_given_only_to_a_block_without_further_scopes() {
        let mut program = program();
        assert!(program.with_block_threads(512).is_none());
        program.scopes.truncate(1);
        assert_eq!(program.with_block_threads(512).map(|program| program.block_threads()), Some(512));
    }

    #[test]
    fn scopes_contain_what_lies_within_their_threads() {
        let scope = |first, threads| Scope { kind: ScopeKind::Role, first, threads, groups: 1 };
        let [block, first, last] = [Scope::block(256), scope(0, 128), scope(128, 128)];
        assert!(block.contains(&first) && block.contains(&last) && block.contains(&block));
        assert!(!first.contains(&last) && !last.contains(&first) && !last.contains(&block));
    }

    /// Reports as text which tensors the threads of each scope hold across each barrier.
    fn live_tensors(program: &TileProgram) -> String {
        let name = |tensor: &TensorId| program.tensor(*tensor).name.clone();
        let line = |LiveAcross { op, scope, tensors }: &LiveAcross<'_>| {
            let names: Vec<String> = tensors.iter().map(name).collect();
            format!("#{}, {}: {}", op.id.0, program.scope(*scope), names.join(" "))
        };
        LiveTensors::of(program).across.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_thread_holds_the_tensors_of_its_scopes_only() {
        let mut program = program();
        program.scopes.push(Scope { kind: ScopeKind::Group, first: 0, threads: 128, groups: 1 });
        let other = Tensor { name: "z".into(), scope: ScopeId(2), ..program.tensors[1].clone() };
        program.tensors.push(other);
        let op = |id, kind, scope| Stmt::Leaf(Leaf::Op(Op { id: OpId(id), kind, scope, origin: Origin(0) }));
        let [x, y, z] = [0, 1, 2].map(TensorId);
        let print = |src| OpKind::Print { text: String::new(), src: Some(src), uniform: false };
        program.body.extend([
            op(2, OpKind::Fill { dst: z, value: Constant::ZERO }, ScopeId(2)),
            op(3, OpKind::Sync(SyncOp::Scope), ScopeId::BLOCK),
            op(4, OpKind::Sync(SyncOp::Scope), ScopeId(2)),
            op(5, print(x), ScopeId::BLOCK),
            op(6, print(y), ScopeId(1)),
            op(7, print(z), ScopeId(2)),
        ]);
        expect![[r#"
            #3, block: x
            #3, group of threads 128..256: x y
            #3, group of threads 0..128: x z
            #4, group of threads 0..128: x z"#]]
        .assert_eq(&live_tensors(&program));
    }
}
