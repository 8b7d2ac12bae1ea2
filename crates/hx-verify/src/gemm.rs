//! Checks gemms: the fragments of each instruction hold the same rows, columns and steps, and every product is added once.

use hx_target::catalogue;
use hx_tile::{GemmChoice, TensorId};

use crate::{Check, Checked, Held};

impl Check<'_> {
    pub(crate) fn gemm(&self, [c, a, b]: [TensorId; 3], g: &GemmChoice) -> Checked {
        let row = catalogue().gemm(&g.row).ok_or_else(|| format!("no instruction `{}`", g.row))?;
        let types = [c, a, b].map(|t| self.program.tensor(t).dtype);
        if types != [row.c.dtype, row.a.dtype(), row.b.dtype()] || row.arch > self.arch.number() {
            return Err(format!("`{}` does not multiply these types on {}", row.name, self.arch));
        }
        let held = [self.held(c)?, self.held(a)?, self.held(b)?];
        let depth = self.program.tensor(a).shape[1];
        let lanes = i64::from(row.threads);
        if held[0].threads % lanes != 0 || g.c.size() != held[0].values {
            return Err("threads or values are no whole number of instructions".into());
        }
        let mut written = vec![false; held[0].values as usize];
        for i in 0..g.c.size() {
            let slot =
                written.get_mut(g.c.eval(i) as usize).ok_or("a position past the last value is written")?;
            if std::mem::replace(slot, true) {
                return Err(format!("position {} of the accumulator is used twice", g.c.eval(i)));
            }
        }
        for first in (0..held[0].threads).step_by(lanes as usize) {
            for im in 0..g.issues[0] {
                for i_n in 0..g.issues[1] {
                    for il in 0..g.issues[3] {
                        self.products(&held, [c, a, b], g, row, first, [im, i_n, il], depth)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks one tile of the accumulator: over all issues along K, each of its elements is combined with each step once.
    #[expect(clippy::too_many_arguments, reason = "one loop body with everything it reads")]
    fn products(
        &self,
        [hc, ha, hb]: &[Held<'_>; 3],
        [c, a, _]: [TensorId; 3],
        g: &GemmChoice,
        row: &hx_target::GemmRow,
        first: i64,
        [im, i_n, il]: [i64; 3],
        depth: i64,
    ) -> Checked {
        (self.poll)();
        let [m_atom, n_atom, k_atom] = row.shape;
        let lanes = i64::from(row.threads);
        // Returns the coordinates of a fragment's elements, by the element's index in the instruction's tile.
        let fragment =
            |f: &hx_target::Fragment, held: &Held<'_>, positions: &dyn Fn(i64) -> i64, size: i64| {
                let mut at = vec![Vec::new(); size as usize];
                for lane in 0..lanes {
                    for v in 0..f.values() {
                        at[f.layout.eval(lane + lanes * v) as usize] =
                            held.coordinate(first + lane, positions(v));
                    }
                }
                at
            };
        let unheld =
            || format!("`{}` reads an operand from shared memory, which nothing here checks", row.name);
        let [a_fragment, b_fragment] = row.fragments().ok_or_else(unheld)?;
        let cs = fragment(
            &row.c,
            hc,
            &|v| g.c.eval(v + row.c.values() * (im + g.issues[0] * (i_n + g.issues[1] * il))),
            m_atom * n_atom,
        );
        let mut met = vec![false; depth as usize];
        for ik in 0..g.issues[2] {
            let xs = fragment(
                a_fragment,
                ha,
                &|v| g.a.eval(v + row.a.values() * (im + g.issues[0] * (ik + g.issues[2] * il))),
                m_atom * k_atom,
            );
            let ys = fragment(
                b_fragment,
                hb,
                &|v| g.b.eval(v + row.b.values() * (i_n + g.issues[1] * (ik + g.issues[2] * il))),
                n_atom * k_atom,
            );
            for k in 0..k_atom {
                let step = xs[(m_atom * k) as usize][1];
                for m in 0..m_atom {
                    for n in 0..n_atom {
                        let (z, x, y) = (
                            &cs[(m + m_atom * n) as usize],
                            &xs[(m + m_atom * k) as usize],
                            &ys[(n + n_atom * k) as usize],
                        );
                        // The coordinates after M, N and K are the position in the batch.
                        let same = z[0] == x[0] && z[1] == y[0] && x[1] == step && y[1] == step;
                        if self.inside(c, z) && !(same && z[2..] == x[2..] && z[2..] == y[2..]) {
                            return Err(format!("{z:?} is increased by A{x:?} · B{y:?}"));
                        }
                    }
                }
                let slot =
                    met.get_mut(step as usize).ok_or_else(|| format!("step {step} is past K = {depth}"))?;
                if std::mem::replace(slot, true) {
                    return Err(format!("step {step} of K is added twice"));
                }
            }
        }
        match met.iter().position(|m| !m) {
            Some(k) => Err(format!("step {k} of K of `{}` is never added", self.program.tensor(a).name)),
            None => Ok(()),
        }
    }
}
