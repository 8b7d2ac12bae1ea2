//! Checks exchanges between the lanes of a warp: every thread gets the right element, from a lane of its own warp.

use hx_layout::Layout;
use hx_target::{ExchangeRow, Reach, Row};
use hx_tile::{Lanes, TensorId};

use crate::{Check, Checked, RegisterLayout};

impl Check<'_> {
    /// Checks that each value of each thread is the element that `source` names: a thread and a position.
    pub(crate) fn finds(
        &self,
        d: &RegisterLayout<'_>,
        s: &RegisterLayout<'_>,
        source: &dyn Fn(i64, i64) -> (i64, i64),
    ) -> Checked {
        for (t, v) in (0..d.threads).flat_map(|t| (0..d.values).map(move |v| (t, v))) {
            let (thread, position) = source(t, v);
            let is_there = (0..s.threads).contains(&thread) && (0..s.values).contains(&position);
            if !is_there || s.coordinate(thread, position) != d.coordinate(t, v) {
                let at = d.coordinate(t, v);
                return Err(format!(
                    "thread {t} does not get {at:?} from thread {thread}, position {position}"
                ));
            }
        }
        Ok(())
    }

    fn exchange_row(
        &self,
        row: Row<ExchangeRow>,
        reach: Reach,
        threads: i64,
    ) -> Result<&'static ExchangeRow, String> {
        if row.reach != reach || !row.is_of(&self.program.target.rows().exchanges) {
            return Err(format!("`{row}` does not exchange these values on {}", self.program.target));
        }
        if threads % i64::from(self.program.target.limits.lanes) != 0 {
            return Err(format!("{threads} threads are not a whole number of warps"));
        }
        Ok(row.get())
    }

    /// Returns the thread at this lane of the warp of `t`; -1 for a lane outside of the warp.
    fn in_warp(&self, t: i64, lane: i64) -> i64 {
        let warp = i64::from(self.program.target.limits.lanes);
        if (0..warp).contains(&lane) { t / warp * warp + lane } else { -1 }
    }

    pub(crate) fn lanes(&self, dst: TensorId, src: TensorId, lanes: &Lanes) -> Checked {
        let (d, s) = (self.register_layout(dst)?, self.register_layout(src)?);
        let row = self.exchange_row(lanes.row, Reach::Lane, d.threads)?;
        for [by_thread, by_value] in [&lanes.lane, &lanes.position] {
            if by_thread.size() != d.threads || by_value.size() != d.values {
                return Err("the lanes are not those of these threads and values".into());
            }
        }
        let bits = i64::from(self.program.tensor(dst).dtype.bits());
        let together = lanes.together;
        let fills = together == 1 || together * bits == i64::from(row.bits);
        if !fills || d.values % together != 0 || s.values % together != 0 {
            return Err(format!("{together} neighbours do not fill a register of `{}`", row.name));
        }
        let source = |t: i64, v: i64| {
            // Values that move together come from the lane and position of the first of them.
            let first = v / together * together;
            let [lane, position] = [&lanes.lane, &lanes.position]
                .map(|[by_thread, by_value]| by_thread.eval(t) + by_value.eval(first));
            let aligned = position % together == 0;
            (if aligned { self.in_warp(t, lane) } else { -1 }, position + v % together)
        };
        self.finds(&d, &s, &source)
    }

    pub(crate) fn matrices(
        &self,
        dst: TensorId,
        src: TensorId,
        row: Row<ExchangeRow>,
        positions: &Layout,
    ) -> Checked {
        let (d, s) = (self.register_layout(dst)?, self.register_layout(src)?);
        let row = self.exchange_row(row, Reach::Tile, d.threads)?;
        let sources = row.sources().ok_or_else(|| format!("`{}` has no layouts", row.name))?;
        let each = sources.len() as i64;
        let bits = i64::from(self.program.tensor(dst).dtype.bits());
        if each * bits != i64::from(row.bits) || positions.size() != d.values || d.values % each != 0 {
            return Err(format!(
                "`{}` moves {each} elements of a register, not {} bits each",
                row.name, bits
            ));
        }
        let source = |t: i64, v: i64| {
            let (lane, number) =
                sources[(v % each) as usize][(t % i64::from(self.program.target.limits.lanes)) as usize];
            let first = positions.eval(v / each * each);
            let side_by_side = (0..each).all(|i| positions.eval(v / each * each + i) == first + i);
            let whole = side_by_side && first % each == 0;
            (if whole { self.in_warp(t, lane) } else { -1 }, first + number)
        };
        self.finds(&d, &s, &source)
    }
}
