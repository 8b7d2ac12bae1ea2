//! Checks expressions and reductions: every thread holds the operands it works on, and every element is combined once.

use hx_tile::{Map, MapChoice, ReduceChoice, TensorId};

use crate::{Check, Checked};

impl Check<'_> {
    /// Checks that each thread holds, for each value of its result, the same element of every input, at the position that the
    /// choice names.
    pub(crate) fn map(&self, map: &Map, choice: &MapChoice) -> Checked {
        let d = self.register_layout(map.dst)?;
        if choice.inputs.len() != map.inputs.len() {
            return Err(format!("{} inputs, and positions for {}", map.inputs.len(), choice.inputs.len()));
        }
        for (input, positions) in map.inputs.iter().zip(&choice.inputs) {
            let s = self.register_layout(*input)?;
            let name = &self.program.tensor(*input).name;
            if positions.size() != d.values {
                return Err(format!("{} positions of `{name}` for {} values", positions.size(), d.values));
            }
            let shape = &self.program.tensor(*input).shape;
            let wide = &self.program.tensor(map.dst).shape;
            for t in 0..d.threads {
                for v in 0..d.values {
                    let mut at = d.coordinate(t, v);
                    for (c, (from, to)) in at.iter_mut().zip(shape.iter().zip(wide)) {
                        *c = if *from == 1 && *to != 1 { 0 } else { *c };
                    }
                    let position = positions.eval(v);
                    if position >= s.values || s.coordinate(t, position) != at {
                        return Err(format!(
                            "thread {t} does not find {at:?} of `{name}` at position {position}"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks a reduction with sets of elements instead of numbers. After all steps, every result of every thread must
    /// contain every element once.
    pub(crate) fn reduce(&self, [dst, src]: [TensorId; 2], axis: usize, choice: &ReduceChoice) -> Checked {
        let (d, s) = (self.register_layout(dst)?, self.register_layout(src)?);
        let (shape, name) = (&self.program.tensor(src).shape, &self.program.tensor(dst).name);
        let threads = d.threads as usize;
        let values = d.values as usize;
        // For each thread and result, how often each coordinate along the axis was combined.
        let extent = shape[axis] as usize;
        let mut sums = vec![vec![0u16; extent]; threads * values];
        for t in 0..s.threads {
            for v in 0..s.values {
                let at = s.coordinate(t, v);
                let mut result = at.clone();
                result[axis] = 0;
                let position = choice.local.eval(v);
                if position >= d.values || d.coordinate(t, position) != result {
                    return Err(format!("thread {t} combines {at:?} into another element of `{name}`"));
                }
                if (at[axis] as usize) < extent {
                    sums[t as usize * values + position as usize][at[axis] as usize] += 1;
                }
            }
        }
        for mask in &choice.lanes {
            let before = sums.clone();
            for t in 0..threads {
                let other = t ^ *mask as usize;
                let warp_of = |thread: usize| thread / self.program.target.limits.lanes as usize;
                if warp_of(other) != warp_of(t) || other >= threads {
                    return Err(format!("lane {t} exchanges with {other}, outside of its warp"));
                }
                for v in 0..values {
                    if d.coordinate(t as i64, v as i64) != d.coordinate(other as i64, v as i64) {
                        return Err(format!(
                            "threads {t} and {other} exchange different elements of `{name}`"
                        ));
                    }
                    add(&mut sums[t * values + v], &before[other * values + v]);
                }
            }
        }
        if let Some(across) = &choice.across {
            self.meet(&d, &across.digits, &mut sums)?;
        }
        for (i, sum) in sums.iter().enumerate() {
            if self.inside(dst, &d.coordinate((i / values) as i64, (i % values) as i64))
                && sum.iter().any(|n| *n != 1)
            {
                return Err(format!("thread {} does not combine every element of `{name}` once", i / values));
            }
        }
        Ok(())
    }

    /// Combines the partial results of threads whose numbers differ in these digits only, each given as `(unit, extent)`.
    fn meet(&self, d: &crate::RegisterLayout<'_>, digits: &[(i64, i64)], sums: &mut [Vec<u16>]) -> Checked {
        let before = sums.to_vec();
        let values = d.values as usize;
        for t in 0..d.threads {
            let own: i64 = digits.iter().map(|(unit, extent)| t / unit % extent * unit).sum();
            for v in 0..values {
                let slot = t as usize * values + v;
                sums[slot].fill(0);
                for other in others(t - own, digits) {
                    if d.coordinate(other, v as i64) != d.coordinate(t, v as i64) {
                        return Err(format!("threads {t} and {other} meet with different elements"));
                    }
                    add(&mut sums[slot], &before[other as usize * values + v]);
                }
            }
        }
        Ok(())
    }
}

/// Returns all thread numbers that have `base` with any values of these digits added.
fn others(base: i64, digits: &[(i64, i64)]) -> Vec<i64> {
    digits.iter().fold(vec![base], |all, (unit, extent)| {
        all.iter().flat_map(|t| (0..*extent).map(move |i| t + i * unit)).collect()
    })
}

fn add(sum: &mut [u16], other: &[u16]) {
    sum.iter_mut().zip(other).for_each(|(a, b)| *a += b);
}
