//! Checks parts of register tensors, and scans: every thread gets the right elements, and the levels of a scan are all digits
//! of the coordinate along its axis, each once.

use hx_tile::{Op, ScanChoice, ScanLevel, SliceChoice, TensorId, View};

use crate::{Check, Checked, RegisterLayout, Walk};

impl Check<'_> {
    /// Checks that each thread finds every element of the part: in its own registers, in another lane's, or in shared
    /// memory.
    pub(crate) fn slice(&self, op: &Op, dst: TensorId, src: &View, choice: &SliceChoice) -> Checked {
        let warp = i64::from(self.program.target.limits.lanes);
        let id = src.register().ok_or("not a part of a register tensor")?;
        let (d, s) = (self.register_layout(dst)?, self.register_layout(id)?);
        let Some(positions) = &choice.positions else { return self.has_room(op, dst, choice) };
        if positions.size() != d.values {
            return Err(format!("{} positions for {} values", positions.size(), d.values));
        }
        let walk = Walk::of(src);
        for t in 0..d.threads {
            let owner = choice
                .lanes
                .iter()
                .fold(t, |owner, (unit, extent, digit)| owner + (digit - t / unit % extent) * unit)
                ^ i64::from(choice.mirrored);
            if owner / warp != t / warp || owner >= d.threads {
                return Err(format!("thread {t} gets elements from thread {owner}, outside of its warp"));
            }
            for v in 0..d.values {
                let at = d.coordinate(t, v);
                if !self.inside(dst, &at) {
                    continue;
                }
                let wanted = walk.coordinate(&at);
                let position = choice.first + positions.eval(v);
                if !(0..s.values).contains(&position) || s.coordinate(owner, position) != wanted {
                    return Err(format!(
                        "thread {t} does not find {wanted:?} at position {position} of thread {owner}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks that shared memory was set aside for a part that goes through it, of at least the bytes of the part for each
    /// group of threads.
    fn has_room(&self, op: &Op, part: TensorId, choice: &SliceChoice) -> Checked {
        let info = self.program.tensor(part);
        let groups = i64::from(self.scope(op.scope).groups);
        let bytes = groups * info.size() * i64::from(info.dtype.bits()).max(8) / 8;
        match &choice.through {
            Some(scratch) if i64::from(scratch.bytes) >= bytes => Ok(()),
            _ => Err(format!("`{}` has no room in shared memory to go through", info.name)),
        }
    }

    /// Checks that each thread sets exactly the elements of the part that it holds, each to the element of `src` that belongs there.
    pub(crate) fn insert(&self, op: &Op, dst: &View, src: TensorId, choice: &SliceChoice) -> Checked {
        let id = dst.register().ok_or("not a part of a register tensor")?;
        let (d, s) = (self.register_layout(id)?, self.register_layout(src)?);
        let Some(positions) = &choice.positions else { return self.has_room(op, src, choice) };
        if !choice.lanes.is_empty() || choice.mirrored != 0 {
            return Err("elements of other lanes are not inserted".into());
        }
        if positions.size() != s.values {
            return Err(format!("{} positions for {} values", positions.size(), s.values));
        }
        let walk = Walk::of(dst);
        let shape = &self.program.tensor(id).shape;
        let firsts: Option<Vec<i64>> = dst.offsets.iter().map(hx_index::Expr::as_const).collect();
        let firsts = firsts.ok_or("a part that begins at a number of the launch")?;
        let is_in_part = |at: &[i64]| {
            (0..shape.len()).all(|dim| {
                let first = firsts[dim];
                let extent = dst.modes.iter().find(|m| m.dim == dim && !m.factor.is_zero());
                (first..first + extent.map_or(1, |m| m.extent)).contains(&at[dim])
            })
        };
        for t in 0..d.threads {
            let mut set = vec![false; d.values as usize];
            for v in 0..s.values {
                let at = s.coordinate(t, v);
                let position = choice.first + positions.eval(v);
                if !(0..d.values).contains(&position) {
                    return Err(format!("value {v} of thread {t} goes to position {position}, past the end"));
                }
                set[position as usize] = true;
                let (found, wanted) = (d.coordinate(t, position), walk.coordinate(&at));
                let fits = if self.inside(src, &at) { found == wanted } else { !self.inside(id, &found) };
                if !fits {
                    return Err(format!("thread {t} sets {found:?} to the element for {wanted:?}"));
                }
            }
            let left = (0..d.values).find(|p| {
                let at = d.coordinate(t, *p);
                self.inside(id, &at) && is_in_part(&at) && !set[*p as usize]
            });
            if let Some(left) = left {
                return Err(format!("thread {t} does not set position {left}, which is in the part"));
            }
        }
        Ok(())
    }

    /// Checks that every thread holds the only element of the tensor.
    pub(crate) fn read_number(&self, src: TensorId) -> Checked {
        let s = self.register_layout(src)?;
        let missing = (0..s.threads).find(|t| s.coordinate(*t, 0).iter().any(|c| *c != 0));
        match missing {
            Some(t) => Err(format!("thread {t} does not hold `{}`", self.program.tensor(src).name)),
            None => Ok(()),
        }
    }

    /// Checks that the levels are the digits of the coordinate along the axis: together they count it, and each moves along it
    /// only. Each thread must have the same elements of all tensors: those of the results at the same positions, those of the
    /// sources at the positions that the choice names.
    pub(crate) fn scan(
        &self,
        (dst, src): (&[TensorId], &[TensorId]),
        axis: usize,
        parts: usize,
        choice: &ScanChoice,
    ) -> Checked {
        if [dst.len(), src.len(), choice.src.len()] != [parts; 3] {
            return Err(format!("{parts} tensors are scanned, with layouts for {}", choice.src.len()));
        }
        let first = self.register_layout(*dst.first().ok_or("nothing is scanned")?)?;
        for ((to, from), positions) in dst.iter().zip(src).zip(&choice.src) {
            let (d, s) = (self.register_layout(*to)?, self.register_layout(*from)?);
            if d.values != first.values || positions.size() != d.values {
                return Err("the tensors of a scan are held in different ways".into());
            }
            for t in 0..d.threads {
                for v in 0..d.values {
                    let at = d.coordinate(t, v);
                    let position = positions.eval(v);
                    if at != first.coordinate(t, v)
                        || !(0..s.values).contains(&position)
                        || s.coordinate(t, position) != at
                    {
                        return Err(format!("thread {t} does not have {at:?} of every tensor of the scan"));
                    }
                }
            }
        }
        self.levels(&first, axis, choice)
    }

    fn levels(&self, layout: &RegisterLayout<'_>, axis: usize, choice: &ScanChoice) -> Checked {
        let warp = i64::from(self.program.target.limits.lanes);
        let mut next = 1;
        for level in &choice.levels {
            let (extent, step) = match *level {
                ScanLevel::Values { extent, step, .. }
                | ScanLevel::Lanes { extent, step, .. }
                | ScanLevel::Across { extent, step, .. } => (extent, step),
            };
            if step != next {
                return Err(format!(
                    "a digit moves by {step} along the axis, where {next} follow each other"
                ));
            }
            next *= extent;
            if let ScanLevel::Lanes { unit, extent, .. } = *level
                && (warp % (unit * extent) != 0 || extent & (extent - 1) != 0)
            {
                return Err(format!("{extent} lanes {unit} apart are not within a warp"));
            }
        }
        if next < layout.distribution.tile[axis] {
            return Err(format!("the digits count {next} of {}", layout.distribution.tile[axis]));
        }
        if choice.levels.iter().any(|l| matches!(l, ScanLevel::Across { .. }))
            && choice.scratch.len() != choice.src.len()
        {
            return Err("there is no shared memory to meet in".into());
        }
        for t in 0..layout.threads {
            for v in 0..layout.values {
                let at = layout.coordinate(t, v);
                let along: i64 = choice
                    .levels
                    .iter()
                    .map(|level| match *level {
                        ScanLevel::Values { unit, extent, step } => v / unit % extent * step,
                        ScanLevel::Lanes { unit, extent, step }
                        | ScanLevel::Across { unit, extent, step } => t / unit % extent * step,
                    })
                    .sum();
                if along != at[axis] {
                    return Err(format!("the digits of thread {t}, value {v} give {along}, it holds {at:?}"));
                }
            }
        }
        self.moves_along(layout, axis, choice)
    }

    /// Checks that threads whose numbers differ in one digit of a level hold elements that differ only in the coordinate along
    /// the axis.
    fn moves_along(&self, layout: &RegisterLayout<'_>, axis: usize, choice: &ScanChoice) -> Checked {
        for level in &choice.levels {
            let (ScanLevel::Lanes { unit, extent, .. } | ScanLevel::Across { unit, extent, .. }) = *level
            else {
                continue;
            };
            for t in (0..layout.threads).filter(|t| t / unit % extent + 1 < extent) {
                for v in 0..layout.values {
                    let (a, b) = (layout.coordinate(t, v), layout.coordinate(t + unit, v));
                    if (0..a.len()).any(|d| d != axis && a[d] != b[d]) {
                        return Err(format!("threads {t} and {} of a scan hold different rows", t + unit));
                    }
                }
            }
        }
        Ok(())
    }
}
