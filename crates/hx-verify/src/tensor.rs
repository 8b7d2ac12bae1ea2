//! Checks the coverage of register tensors, and the injectivity, pins and placement of shared tensors.

use std::collections::BTreeSet;

use hx_tile::{Leaf, Op, OpKind, Stmt, SyncOp, TensorId, TensorKind, index};

use crate::{Check, Checked};

impl Check<'_> {
    pub(crate) fn tensor(&self, tensor: TensorId) -> Checked {
        match &self.program.tensor(tensor).kind {
            TensorKind::Register { .. } => self.register(tensor),
            TensorKind::Shared { .. } => self.shared(tensor),
        }
    }

    /// Checks that some thread holds every element, that no thread holds an element twice, that threads with a common element have all
    /// elements in common, and that a pin is kept.
    fn register(&self, tensor: TensorId) -> Checked {
        let info = self.program.tensor(tensor);
        let layout = self.register_layout(tensor)?;
        let tile = &layout.distribution.tile;
        if tile.len() != info.shape.len() || tile.iter().zip(&info.shape).any(|(t, s)| t < s) {
            return Err(format!("the layout of `{}` covers {tile:?} of {:?}", info.name, info.shape));
        }
        let mut covered = vec![false; info.size() as usize];
        // The first thread with each index.
        let mut owner: Vec<Option<i64>> = vec![None; tile.iter().product::<i64>() as usize];
        let size: i64 = tile.iter().product();
        for t in 0..layout.threads {
            let mut own = BTreeSet::new();
            for v in 0..layout.values {
                let i = layout.index(t, v);
                if i < 0 || i >= size {
                    return Err(format!(
                        "thread {t} holds index {i} of `{}`, past its tile {tile:?}",
                        info.name
                    ));
                }
                if !own.insert(i) {
                    return Err(format!("thread {t} holds an element of `{}` twice", info.name));
                }
                let at = layout.coordinate(t, v);
                if self.inside(tensor, &at) {
                    let first = *owner[i as usize].get_or_insert(t);
                    if first != t && (0..layout.values).any(|v| layout.index(first, v) != layout.index(t, v))
                    {
                        return Err(format!(
                            "the threads {first} and {t} share element {at:?} of `{}`, but not all of their elements",
                            info.name
                        ));
                    }
                    covered[index(&at, &info.shape) as usize] = true;
                }
            }
        }
        if let Some(i) = covered.iter().position(|c| !c) {
            let at = hx_tile::coordinate(i as i64, &info.shape);
            return Err(format!("no thread holds element {at:?} of `{}`", info.name));
        }
        let TensorKind::Register { pinned: Some(pin) } = &info.kind else { return Ok(()) };
        if (0..pin.size()).any(|i| pin.eval(i) != layout.distribution.layout.eval(i)) {
            return Err(format!(
                "`{}` is pinned to `{pin}`, and got `{}`",
                info.name, layout.distribution.layout
            ));
        }
        Ok(())
    }

    /// Checks that no two elements share a place, that all lie in the buffer, and that a pin is kept.
    fn shared(&self, tensor: TensorId) -> Checked {
        let info = self.program.tensor(tensor);
        let place =
            self.solution.shared.get(&tensor).ok_or_else(|| format!("`{}` has no layout", info.name))?;
        if place.layout.size() != info.size() {
            return Err(format!(
                "the layout of `{}` has {} elements, the tensor {}",
                info.name,
                place.layout.size(),
                info.size()
            ));
        }
        let capacity = i64::from(place.bytes) * 8 / i64::from(info.dtype.bits());
        let mut taken = vec![false; capacity as usize];
        for i in 0..info.size() {
            let offset = place.swizzle.apply(place.layout.eval(i));
            let slot = usize::try_from(offset).ok().and_then(|o| taken.get_mut(o));
            let slot = slot.ok_or_else(|| {
                format!("element {i} of `{}` lies at {offset}, past its {} B", info.name, place.bytes)
            })?;
            if std::mem::replace(slot, true) {
                return Err(format!("two elements of `{}` lie at {offset}", info.name));
            }
        }
        let TensorKind::Shared { pinned: Some(pin) } = &info.kind else { return Ok(()) };
        if (0..pin.size()).any(|i| pin.eval(i) != place.swizzle.apply(place.layout.eval(i))) {
            return Err(format!("`{}` is pinned to `{pin}`, and got `{}`", info.name, place.layout));
        }
        Ok(())
    }

    /// Checks that buffers overlap only if a barrier of the source separates their uses, and that they fit the block's
    /// shared memory and the limit of the hardware.
    pub(crate) fn overlap(&self) -> Checked {
        let total = self.solution.shared_bytes;
        let limit = self.program.limits().shared_bytes;
        if total > limit {
            return Err(format!("{total} B of shared memory, and {} has {limit} B", self.program.target));
        }
        let mut spans: Vec<_> =
            self.solution.shared.iter().map(|(t, s)| (s.offset, s.offset + s.bytes, *t)).collect();
        spans.sort();
        for (i, first) in spans.iter().enumerate() {
            for second in spans[i + 1..].iter().filter(|second| first.1 > second.0) {
                if !self.take_turns(first.2, second.2) && !self.take_turns(second.2, first.2) {
                    let names = [first.2, second.2].map(|t| self.program.tensor(t).name.clone());
                    return Err(format!("`{}` and `{}` overlap in shared memory", names[0], names[1]));
                }
            }
        }
        match spans.iter().max_by_key(|span| span.1) {
            Some((_, end, t)) if *end > total => {
                Err(format!("`{}` ends at {end} of {total} B of shared memory", self.program.tensor(*t).name))
            }
            _ => Ok(()),
        }
    }

    /// Checks that what the threads synchronize by has memory of its own, behind all buffers: two barriers of 8 B for each stage of
    /// a pipeline, and for each of the two tickets of a counter, which has 4 B besides.
    pub(crate) fn barriers(&self) -> Checked {
        let stages: u32 = self.program.pipes.iter().map(|pipe| pipe.stages).sum();
        let bytes = 16 * stages + 2 * (16 + 4) * self.program.counters.len() as u32;
        let total = self.solution.shared_bytes;
        let Some(start) = total.checked_sub(bytes) else {
            return Err(format!("barriers and tickets take {bytes} B of {total} B of shared memory"));
        };
        if bytes > 0 && start % 8 != 0 {
            return Err(format!("barriers begin at {start}, which is not a multiple of 8"));
        }
        let ends = self.solution.shared.iter().map(|(tensor, place)| (place.offset + place.bytes, tensor));
        match ends.max() {
            Some((end, tensor)) if end > start => {
                let name = &self.program.tensor(*tensor).name;
                Err(format!("`{name}` ends at {end}, and the barriers begin at {start}"))
            }
            _ => Ok(()),
        }
    }

    /// Reports whether `other` takes the place of `one`: after the last use of `one`, and when no copy to it is in flight
    /// any more, every thread meets a barrier, and only then comes the first use of `other`.
    fn take_turns(&self, one: TensorId, other: TensorId) -> bool {
        let (mut used, mut parted) = (false, false);
        let mut arriving: Vec<&Op> = Vec::new();
        for stmt in &self.program.body {
            let mut ops = Vec::new();
            flat(stmt, &mut ops);
            if ops.iter().any(|op| crate::used(&op.kind).contains(&other)) {
                // This is the first use of `other`, so `one` must be finished.
                if !used {
                    return false;
                }
                return parted && !self.used_from(one, stmt);
            }
            if ops.iter().any(|op| crate::used(&op.kind).contains(&one)) {
                (used, parted) = (true, false);
                // Copies into the stages of a drained pipeline have arrived where the last stage was waited for.
                let arrives = |op: &&Op| {
                    matches!(op.kind, OpKind::CopyAsync { .. } | OpKind::Store { .. })
                        && crate::used(&op.kind).contains(&one)
                        && !self.program.is_drained(op)
                };
                arriving.extend(ops.iter().copied().filter(arrives));
            }
            // Only statements of the kernel's own body count: waits of the threads that copy, and barriers of all threads.
            let Stmt::Leaf(Leaf::Op(op)) = stmt else { continue };
            if op.kind == (OpKind::Sync(SyncOp::Wait { groups: 0 })) {
                // No wait of the body ends copies that signal a pipeline, and stores.
                let ends = |copy: &Op| {
                    matches!(copy.kind, OpKind::CopyAsync { signal: None, .. }) && self.is_among(copy, op)
                };
                arriving.retain(|copy| !ends(copy));
            } else if op.kind == OpKind::Sync(SyncOp::Scope)
                && self.is_of_all(op)
                && used
                && arriving.is_empty()
            {
                parted = true;
            }
        }
        // `other` is never used.
        true
    }

    /// Reports whether a tensor is used in the statement `from` of the body or after it.
    fn used_from(&self, tensor: TensorId, from: &Stmt) -> bool {
        let later = self.program.body.iter().skip_while(|stmt| !std::ptr::eq(*stmt, from));
        let mut ops = Vec::new();
        later.for_each(|stmt| flat(stmt, &mut ops));
        ops.iter().any(|op| crate::used(&op.kind).contains(&tensor))
    }
}

fn flat<'p>(stmt: &'p Stmt, out: &mut Vec<&'p Op>) {
    match stmt {
        Stmt::Leaf(Leaf::Op(op)) => out.push(op),
        control => control.bodies().flatten().for_each(|s| flat(s, out)),
    }
}
