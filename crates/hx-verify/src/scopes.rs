//! Checks scopes: their threads, the tensors that their operations reach, and the shared memory that operations use for
//! themselves.

use hx_tile::{Choice, Op, OpId, Scope, ScopeId, ScopeKind};

use crate::{Check, Checked, used};

impl Check<'_> {
    /// Checks that the first scope is the block, that the other scopes are whole warps of it, that two scopes share all threads
    /// of one of them or none, and that every tensor and operation has one of the scopes.
    pub(crate) fn scopes(&self) -> Checked {
        let scopes = &self.program.scopes;
        let Some(block) = scopes.first() else { return Err("the program has no scope".into()) };
        if block.kind != ScopeKind::Block || block.first != 0 {
            return Err(format!("the first scope is a {block}, not the block"));
        }
        for (i, scope) in scopes.iter().enumerate().skip(1) {
            if scope.kind == ScopeKind::Block {
                return Err("a second scope is the block".into());
            }
            if scope.threads == 0
                || scope.first % self.program.target.limits.lanes != 0
                || scope.threads % self.program.target.limits.lanes != 0
            {
                return Err(format!("the {scope} does not consist of whole warps"));
            }
            if threads(scope).end > threads(block).end {
                return Err(format!("the {scope} lies outside of the block's {} threads", block.threads));
            }
            for other in &scopes[..i] {
                let (a, b) = (threads(scope), threads(other));
                let common = a.end.min(b.end).saturating_sub(a.start.max(b.start));
                if common > 0 && common != threads(scope).count().min(threads(other).count()) as u64 {
                    return Err(format!("the {other} and the {scope} share {common} threads"));
                }
            }
        }
        let tensors = self.program.tensors.iter().map(|tensor| tensor.scope);
        let ops = self.program.ops(1.0).into_iter().map(|(op, _)| op.scope);
        match tensors.chain(ops).find(|scope| scope.0 as usize >= scopes.len()) {
            Some(scope) => Err(format!("there is no scope {}", scope.0)),
            None => Ok(()),
        }
    }

    /// Checks that the threads of an operation are those that hold its register tensors, and that they may access its shared
    /// tensors.
    pub(crate) fn reaches(&self, op: &Op) -> Checked {
        let own = self.scope(op.scope);
        for tensor in used(&op.kind) {
            let info = self.program.tensor(tensor);
            let other = self.scope(info.scope);
            let within = threads(other).start <= threads(own).start && threads(own).end <= threads(other).end;
            if !within || (info.is_register() && threads(own) != threads(other)) {
                return Err(format!("the {own} uses `{}` of the {other}", info.name));
            }
        }
        Ok(())
    }

    /// Checks that the shared memory that operations use for themselves lies apart from tensors, and from that of operations
    /// of other scopes. Operations of one scope follow each other: each has a barrier of the scope before its first access.
    pub(crate) fn scratch(&self) -> Checked {
        let mut taken: Vec<(ScopeId, OpId, [u32; 2])> = Vec::new();
        for (op, _) in self.program.ops(1.0) {
            for [start, end] in self.scratch_of(op) {
                if end > self.solution.shared_bytes {
                    return Err(format!("scratch memory ends at {end} of {} B", self.solution.shared_bytes));
                }
                for (tensor, place) in &self.solution.shared {
                    if start < place.offset + place.bytes && place.offset < end {
                        let name = &self.program.tensor(*tensor).name;
                        return Err(format!("operation #{} uses the memory of `{name}` for itself", op.id.0));
                    }
                }
                let others = taken.iter().filter(|(scope, _, _)| *scope != op.scope);
                for (_, other, [first, last]) in others {
                    if start < *last && *first < end {
                        return Err(format!(
                            "operations #{} and #{} of two scopes use the same memory for themselves",
                            other.0, op.id.0
                        ));
                    }
                }
                taken.push((op.scope, op.id, [start, end]));
            }
        }
        Ok(())
    }

    /// Returns the first byte of each range of shared memory that an operation uses for itself, and the byte after its last.
    fn scratch_of(&self, op: &Op) -> Vec<[u32; 2]> {
        match self.solution.choices.get(&op.id) {
            Some(Choice::Reduce(reduce)) => {
                reduce.across.iter().map(|across| [across.offset, across.offset + across.bytes]).collect()
            }
            Some(Choice::Slice(slice)) => {
                slice.through.iter().map(|scratch| [scratch.offset, scratch.offset + scratch.bytes]).collect()
            }
            Some(Choice::Copy(copy)) => {
                copy.spread.iter().map(|scratch| [scratch.offset, scratch.offset + scratch.bytes]).collect()
            }
            Some(Choice::Scan(scan)) => {
                scan.scratch.iter().map(|scratch| [scratch.offset, scratch.offset + scratch.bytes]).collect()
            }
            Some(
                Choice::Gemm(_)
                | Choice::Convert(_)
                | Choice::Map(_)
                | Choice::Rearrange(_)
                | Choice::Bulk(_)
                | Choice::Prefetch(_),
            )
            | None => Vec::new(),
        }
    }

    pub(crate) fn scope(&self, scope: ScopeId) -> &Scope {
        &self.program.scopes[scope.0 as usize]
    }

    /// Returns the number of threads that execute an operation together.
    pub(crate) fn threads_of(&self, op: &Op) -> i64 {
        i64::from(self.scope(op.scope).threads)
    }

    /// Reports whether every thread of the block executes an operation.
    pub(crate) fn is_of_all(&self, op: &Op) -> bool {
        threads(self.scope(op.scope)) == threads(self.scope(ScopeId::BLOCK))
    }

    /// Reports whether the threads of `later` are among those of `earlier`.
    pub(crate) fn is_among(&self, later: &Op, earlier: &Op) -> bool {
        let [later, earlier] = [later, earlier].map(|op| threads(self.scope(op.scope)));
        earlier.start <= later.start && later.end <= earlier.end
    }
}

fn threads(scope: &Scope) -> std::ops::Range<u64> {
    u64::from(scope.first)..scope.end()
}
