//! Values that change hands between threads.

use hx_tile::{Base, Op, Route, TensorId, View};

use super::layout::{registers, unrolled};
use super::{COUNTED, LowerError, Lowering, counted};
use crate::{Body, Convert, Registers, Stmt};

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
                let unit = hx_layout::Layout::unit();
                let from = hx_layout::Layout::concat(&[unit, positions.clone()])
                    .map_err(|e| self.error(op, e.to_string()))?;
                let from = registers(self.array(op, src)?, &from, &[at]);
                let convert = Stmt::Convert(Convert { row: None, dst: to, src: from });
                Ok(unrolled(&[(var, count)], vec![convert]))
            }
            (Route::Shared { store, load }, Some(shared)) => {
                let view = |base, tensor: TensorId| View::whole(base, &self.program.tensor(tensor).shape);
                let memory = view(Base::Shared(shared), shared);
                // What was in this memory before has been read when all threads are here.
                let mut body = vec![Stmt::Barrier];
                body.extend(self.copy(op, &view(Base::Register(src), src), &memory, store)?);
                body.push(Stmt::Barrier);
                body.extend(self.copy(op, &memory, &view(Base::Register(dst), dst), load)?);
                Ok(body)
            }
            (Route::Shared { .. }, None) => Err(self.error(op, "no shared memory to change hands in")),
        }
    }
}
