//! Lowers rearrangements: values move to other registers or to other threads.

use hx_dtype::{DType, Operator};
use hx_index::{Expr, Symbol};
use hx_layout::Layout;
use hx_target::Catalogue;
use hx_tile::{Base, Lanes, Op, Route, Scalar, TensorId, View};

use super::layout::{registers, unrolled, walk};
use super::scalar::hardware;
use super::{COUNTED, Local, LowerError, Lowering, counted};
use crate::{Body, Compute, Convert, Exchange, Lane, Leaf, Registers, Stmt};

impl Lowering<'_> {
    pub(super) fn rearrange(
        &self,
        op: &Op,
        [dst, src]: [TensorId; 2],
        through: Option<TensorId>,
        route: &Route,
    ) -> Result<Body, LowerError> {
        match (route, through) {
            (Route::Within(positions), _) => {
                let count = positions.size();
                let var = self.counter("i", op, COUNTED);
                let at = counted(&var, count);
                let to = Registers { array: self.array(op, dst)?, base: at.clone(), offsets: vec![0] };
                let from = self.positions(op, &[Layout::unit(), positions.clone()])?;
                let from = registers(self.array(op, src)?, &from, &[at]);
                let convert = Stmt::Leaf(Leaf::Convert(Convert { row: None, dst: to, src: from }));
                Ok(unrolled(&[(var, count)], vec![convert]))
            }
            (Route::Renamed(positions), _) => {
                let (to, from) = (self.array(op, dst)?, self.array(op, src)?);
                let one = |array, at: i64| Registers { array, base: Expr::constant(at), offsets: vec![0] };
                let renamed = positions.iter().zip(0..).map(|(position, i)| {
                    Stmt::Leaf(Leaf::Convert(Convert {
                        row: None,
                        dst: one(to, i),
                        src: one(from, *position),
                    }))
                });
                Ok(renamed.collect())
            }
            (Route::Lanes(lanes), _) => self.lanes(op, [dst, src], lanes),
            (Route::Matrices { row, src: positions }, _) => {
                let [each, count] = [0, 1].map(|mode| positions.mode(mode).size());
                let var = self.counter("i", op, COUNTED);
                let at = counted(&var, count);
                let own = [(each, 1), (count, each)].map(|mode| Layout::flat(&[mode]));
                let [values, words] = own.map(|mode| mode.map_err(|e| self.error(op, e.to_string())));
                let own = self.positions(op, &[values?, words?])?;
                let exchange = Stmt::Leaf(Leaf::Exchange(Exchange {
                    row: *row,
                    dst: registers(self.array(op, dst)?, &own, std::slice::from_ref(&at)),
                    src: registers(self.array(op, src)?, positions, &[at]),
                    lane: Lane::Tile,
                }));
                Ok(unrolled(&[(var, count)], vec![exchange]))
            }
            (Route::Shared { store, load }, Some(shared)) => {
                let view = |base, tensor: TensorId| View::whole(base, &self.program.tensor(tensor).shape);
                let memory = view(Base::Shared(shared), shared);
                // After this barrier all threads have read the previous contents of the memory.
                let mut body = vec![Stmt::Leaf(Leaf::Barrier)];
                body.extend(self.copy(op, &view(Base::Register(src), src), &memory, store)?);
                body.push(Stmt::Leaf(Leaf::Barrier));
                body.extend(self.copy(op, &memory, &view(Base::Register(dst), dst), load)?);
                Ok(body)
            }
            (Route::Shared { .. }, None) => Err(self.error(op, "no shared memory to change hands in")),
        }
    }

    fn positions(&self, op: &Op, modes: &[Layout]) -> Result<Layout, LowerError> {
        Layout::concat(modes).map_err(|e| self.error(op, e.to_string()))
    }

    /// Returns the index of a layout at the thread's number, as a sum over its digits.
    fn of_thread(&self, op: &Op, layout: &Layout) -> Expr {
        let mut unit = 1;
        let mut sum = Expr::default();
        for (extent, stride) in layout.leaves() {
            if *stride != 0 {
                sum = sum + self.digit(op, unit, *extent).scale(*stride);
            }
            unit *= extent;
        }
        sum
    }

    /// Lowers an exchange between lanes. If all source lanes have the value at one position, each register takes one
    /// instruction. Otherwise it takes one for each position at which some source lane has it, and each thread selects the
    /// value it wants.
    fn lanes(&self, op: &Op, [dst, src]: [TensorId; 2], lanes: &Lanes) -> Result<Body, LowerError> {
        let [by_thread, by_value] = &lanes.position;
        let mut apart: Vec<i64> = (0..by_thread.size()).map(|t| by_thread.eval(t)).collect();
        apart.sort_unstable();
        apart.dedup();
        let (together, dtype) = (lanes.together, self.program.tensor(dst).dtype);
        let count = by_value.size() / together;
        let var = self.counter("i", op, COUNTED);
        let first = counted(&var, count).scale(together);
        let lane = self.counter("lane", op, Local::Lane as u32);
        let from = self.of_thread(op, &lanes.lane[0]) + walk(&lanes.lane[1], &first);
        let mut body = vec![Stmt::Leaf(Leaf::Let { var: lane.clone(), value: from })];
        let word = |array, base| Registers { array, base, offsets: (0..together as u32).collect() };
        let (to, from) = (self.array(op, dst)?, self.array(op, src)?);
        let other = self.temporaries.get(&op.id).and_then(|t| t.first().copied());
        for position in &apart {
            // The value at the first position goes to the destination. A value at a later position replaces it in the threads
            // that want that position.
            let is_first = position == &apart[0];
            let here = if is_first { Some(to) } else { other };
            let rows = self.program.target.rows();
            let here = here.ok_or_else(|| self.error(op, "no registers for what is chosen from"))?;
            let base = if is_first { first.clone() } else { Expr::default() };
            body.push(Stmt::Leaf(Leaf::Exchange(Exchange {
                row: lanes.row,
                dst: word(here, base),
                src: word(from, walk(by_value, &first) + Expr::constant(*position)),
                lane: Lane::At(Expr::symbol(lane.clone())),
            })));
            if !is_first {
                let wanted = Expr::symbol(self.wanted(op));
                let chosen = (0..together)
                    .map(|i| choose((rows, dtype), (to, first.clone()), here, i, (&wanted, *position)));
                body.extend(chosen);
            }
        }
        let exchanged = unrolled(&[(var, count)], body);
        if apart.len() == 1 {
            return Ok(exchanged);
        }
        let wanted = Stmt::Leaf(Leaf::Let { var: self.wanted(op), value: self.of_thread(op, by_thread) });
        Ok(std::iter::once(wanted).chain(exchanged).collect())
    }

    /// Returns the local with the position that the thread wants.
    fn wanted(&self, op: &Op) -> Symbol {
        self.counter("wanted", op, Local::Digit as u32)
    }
}

/// Replaces value `i` of the destination by value `i` of `came` in threads that want this position.
fn choose(
    (rows, dtype): (&Catalogue, DType),
    (to, base): (crate::RegId, Expr),
    came: crate::RegId,
    i: i64,
    (wanted, position): (&Expr, i64),
) -> Stmt {
    let int = |value: Expr| Scalar::Integer { value, dtype: DType::I32 };
    let asked = [int(wanted.clone()), int(Expr::constant(position))];
    let asked = Scalar::apply(Operator::Eq, DType::I32, asked);
    let input = |index| Scalar::Input { index, dtype };
    let dst = Registers { array: to, base: base + Expr::constant(i), offsets: vec![0] };
    let came = Registers { array: came, base: Expr::constant(i), offsets: vec![0] };
    let value = Scalar::apply(Operator::Select, dtype, [asked, input(0), input(1)]);
    // Not every type has an instruction for `Select`.
    Stmt::Leaf(Leaf::Compute(Compute {
        dst: dst.clone(),
        inputs: vec![came, dst],
        value: hardware(rows, &value),
    }))
}
