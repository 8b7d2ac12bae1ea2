//! Checks gemms: the fragments of each instruction hold the same rows, columns and steps, and every product is added once.

use hx_layout::Layout;
use hx_target::{Fragment, GemmRow};
use hx_tile::{GemmChoice, Operand, TensorId};

use crate::{Check, Checked, RegisterLayout};

impl Check<'_> {
    pub(crate) fn gemm(&self, [c, a, b]: [TensorId; 3], g: &GemmChoice) -> Checked {
        let row = g.row.get();
        let types = [c, a, b].map(|t| self.program.tensor(t).dtype);
        if types != [row.c.dtype, row.a.dtype(), row.b.dtype()]
            || self.program.tensor(c).kind.space() != row.accumulates_in()
            || !g.row.is_of(&self.program.target.rows().gemms)
        {
            return Err(format!("`{}` does not multiply these types on {}", row.name, self.program.target));
        }
        let layout = [self.register_layout(c)?, self.register_layout(a)?, self.register_layout(b)?];
        let depth = self.program.tensor(a).shape[1];
        let lanes = i64::from(row.threads);
        self.accumulates_once(&layout[0], g, row)?;
        let unheld =
            || format!("`{}` reads an operand from shared memory, which nothing here checks", row.name);
        let fragments = row.fragments().ok_or_else(unheld)?;
        let operands = [g.a.registers().ok_or_else(unheld)?, g.b.registers().ok_or_else(unheld)?];
        for first in (0..layout[0].threads).step_by(lanes as usize) {
            let products =
                Products { layout: &layout, tensors: [c, a, b], g, row, fragments, operands, first };
            for im in 0..g.issues[0] {
                for i_n in 0..g.issues[1] {
                    for il in 0..g.issues[3] {
                        (self.poll)();
                        products.each_step_once(self, [im, i_n, il], depth)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the instruction of a product, after checking that it multiplies these types.
    pub(crate) fn row_of(
        &self,
        c: TensorId,
        operands: [&Operand; 2],
        g: &GemmChoice,
    ) -> Result<&'static GemmRow, String> {
        let row = g.row.get();
        let dtype = |tensor: Option<TensorId>| tensor.map(|tensor| self.program.tensor(tensor).dtype);
        let types = [Some(c), operands[0].tensor(), operands[1].tensor()].map(dtype);
        if types != [row.c.dtype, row.a.dtype(), row.b.dtype()].map(Some)
            || self.program.tensor(c).kind.space() != row.accumulates_in()
            || !g.row.is_of(&self.program.target.rows().gemms)
        {
            return Err(format!("`{}` does not multiply these types on {}", row.name, self.program.target));
        }
        Ok(row)
    }

    /// Checks that the instructions of each thread write every value of the accumulator once.
    pub(crate) fn accumulates_once(
        &self,
        layout: &RegisterLayout<'_>,
        g: &GemmChoice,
        row: &GemmRow,
    ) -> Checked {
        if layout.threads % i64::from(row.threads) != 0 || g.c.size() != layout.values {
            return Err("threads or values are not a whole number of instructions".into());
        }
        let mut written = vec![false; layout.values as usize];
        for i in 0..g.c.size() {
            let slot =
                written.get_mut(g.c.eval(i) as usize).ok_or("a position past the last value is written")?;
            if std::mem::replace(slot, true) {
                return Err(format!("position {} of the accumulator is used twice", g.c.eval(i)));
            }
        }
        Ok(())
    }
}

/// The products that the lanes from `first` on compute together.
struct Products<'a> {
    layout: &'a [RegisterLayout<'a>; 3],
    tensors: [TensorId; 3],
    g: &'a GemmChoice,
    row: &'a GemmRow,
    fragments: [&'a Fragment; 2],
    /// The positions of A and B among a thread's values.
    operands: [&'a Layout; 2],
    first: i64,
}

impl Products<'_> {
    /// Checks one tile of the accumulator: over all issues along K, each of its elements is combined with each step once.
    fn each_step_once(&self, check: &Check<'_>, [im, i_n, il]: [i64; 3], depth: i64) -> Checked {
        let Products { layout: [hc, ha, hb], g, row, fragments, operands: [a_at, b_at], .. } = self;
        let [m_atom, n_atom, k_atom] = row.shape;
        let accumulator = |v| g.c.eval(v + row.c.values() * (im + g.issues[0] * (i_n + g.issues[1] * il)));
        let cs = self.elements(&row.c, hc, &accumulator, m_atom * n_atom);
        let mut met = vec![false; depth as usize];
        for ik in 0..g.issues[2] {
            let of_a = |v| a_at.eval(v + row.a.values() * (im + g.issues[0] * (ik + g.issues[2] * il)));
            let of_b = |v| b_at.eval(v + row.b.values() * (i_n + g.issues[1] * (ik + g.issues[2] * il)));
            let xs = self.elements(fragments[0], ha, &of_a, m_atom * k_atom);
            let ys = self.elements(fragments[1], hb, &of_b, n_atom * k_atom);
            for k in 0..k_atom {
                let step = self.same_step(check, k, [&cs, &xs, &ys])?;
                let slot =
                    met.get_mut(step as usize).ok_or_else(|| format!("step {step} is past K = {depth}"))?;
                if std::mem::replace(slot, true) {
                    return Err(format!("step {step} of K is added twice"));
                }
            }
        }
        match met.iter().position(|m| !m) {
            Some(k) => {
                let name = &check.program.tensor(self.tensors[1]).name;
                Err(format!("step {k} of K of `{name}` is never added"))
            }
            None => Ok(()),
        }
    }

    /// Returns the coordinates of a fragment's elements, by the element's index in the instruction's tile.
    fn elements(
        &self,
        fragment: &Fragment,
        layout: &RegisterLayout<'_>,
        positions: &dyn Fn(i64) -> i64,
        size: i64,
    ) -> Vec<Vec<i64>> {
        let lanes = i64::from(self.row.threads);
        let mut at = vec![Vec::new(); size as usize];
        for lane in 0..lanes {
            for v in 0..fragment.values() {
                at[fragment.layout.eval(lane + lanes * v) as usize] =
                    layout.coordinate(self.first + lane, positions(v));
            }
        }
        at
    }

    /// Returns the step of K that an instruction adds at its position `k`.
    ///
    /// # Errors
    /// If an element inside of the accumulator is not increased by the product of its row and its column at that step.
    fn same_step(&self, check: &Check<'_>, k: i64, [cs, xs, ys]: [&[Vec<i64>]; 3]) -> Result<i64, String> {
        let [m_atom, n_atom, _] = self.row.shape;
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
                if check.inside(self.tensors[0], z) && !(same && z[2..] == x[2..] && z[2..] == y[2..]) {
                    return Err(format!("{z:?} is increased by A{x:?} · B{y:?}"));
                }
            }
        }
        Ok(step)
    }
}
