//! Shared memory by the operations that wrote its parts.

use hx_tile::OpId;

use super::super::script::{Span, Team};

/// The last operation that wrote a part of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Writer {
    /// A copy into the stage `n` of a pipe.
    Fill { op: OpId, pipe: u32, n: u32 },
    /// The threads of a scope, each group at its `turn` with the operation. `done` has a bit for each group that has written its
    /// share.
    Threads { op: OpId, team: Team, turn: u32, done: u32 },
}

impl Writer {
    /// Returns the writer as if all groups had written their shares.
    pub(super) fn whole(self) -> Writer {
        match self {
            Writer::Threads { op, team, turn, .. } => Writer::Threads { op, team, turn, done: u32::MAX },
            fill @ Writer::Fill { .. } => fill,
        }
    }

    /// Reports whether the threads of a scope wrote it.
    pub(super) fn is_of(&self, team: Team) -> bool {
        matches!(self, Writer::Threads { team: of, .. } if *of == team)
    }
}

/// The writers of the shared tensors of a block, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Memory(Vec<(Span, Writer)>);

impl Memory {
    pub(super) fn write(&mut self, span: &Span, writer: Writer) {
        if let Writer::Threads { done, .. } = writer {
            let whole = writer.whole();
            let same = self.0.iter_mut().rev().find(|(of, by)| of == span && by.whole() == whole);
            if let Some((_, Writer::Threads { done: known, .. })) = same {
                *known |= done;
                return;
            }
        }
        self.0.retain(|(old, _)| !span.covers(old));
        self.0.push((span.clone(), writer));
    }

    /// Returns the writers of the parts that overlap `span`, in an order that does not depend on that of the writes.
    pub(super) fn read(&self, span: &Span) -> Vec<Writer> {
        let here = self.0.iter().filter(|(of, _)| of.overlaps(span));
        let mut writers: Vec<Writer> = here.map(|(_, writer)| *writer).collect();
        writers.sort();
        writers
    }
}
