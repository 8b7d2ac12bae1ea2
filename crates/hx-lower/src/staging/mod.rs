//! Loads that go through shared memory: those of a loop with `pipelined(n)` into a ring of `n` stages ([`ring`]), and those whose
//! values only products read into a buffer of their own ([`direct`]), if the caller asks for that.
//!
//! Both change the finished statements. Only then is it known who reads a tile ([`uses`]), and a tile that only products read needs no
//! registers of its own: the products read it from shared memory.

mod direct;
mod groups;
mod loads;
mod ring;
mod signalled;
mod uses;

use hx_base::codes;
use hx_hir::ExprId;
use hx_index::{Expr, Symbol};
use hx_tile::{Base, Leaf, Op, OpKind, Stmt, SyncOp, Tensor, TensorId, TensorKind, View};

use self::loads::Load;
use crate::error::Lower;
use crate::forms::{Loads, Pipelined, Rings};
use crate::lowering::Lowering;

/// The most stages of a ring.
const MOST_STAGES: i64 = 16;

/// The stages of a ring that is offered.
pub const OFFERED_STAGES: i64 = 3;

impl Lowering<'_> {
    /// Evaluates the number of stages of `pipelined`.
    pub(crate) fn stages_of(&mut self, at: ExprId) -> Lower<(ExprId, i64)> {
        let stages = self.const_int(at, "the number of stages")?;
        if (2..=MOST_STAGES).contains(&stages) {
            return Ok((at, stages));
        }
        let message = format!("found {stages} stages, expected 2 to {MOST_STAGES}");
        self.fail(&codes::LITERAL_OUT_OF_RANGE, at, message)
    }

    /// Records a loop that reads ahead, or without `stages` one that could.
    pub(crate) fn pipelines(
        &mut self,
        counter: &Symbol,
        iterable: ExprId,
        stages: Option<(ExprId, i64)>,
        first_inside: u32,
    ) {
        let (at, stages, is_offered) = match stages {
            Some((at, stages)) => (at, stages, false),
            None => (iterable, OFFERED_STAGES, true),
        };
        if is_offered && !self.forms.offers {
            return;
        }
        let (place, origin) = (self.place(at), self.origin(at));
        let counter = counter.clone();
        self.pipelined.push(Pipelined { counter, stages, place, origin, first_inside, is_offered });
    }

    /// Stages the loads of the program: those of loops with `pipelined`, and the others if the forms ask for it.
    pub(crate) fn stage_loads(&mut self) {
        let mut body = self.output.take_body();
        let has_rings = !self.pipelined.is_empty();
        let pipelined = std::mem::take(&mut self.pipelined);
        let staged = if self.forms.rings == Rings::Unstaged { &[][..] } else { &pipelined };
        for pipelined in staged {
            let readers = uses::Readers::of(&body);
            self.read_ahead(&mut body, pipelined, &readers, false);
        }
        if self.stage_directly(&mut body) {
            self.notes.add_stageable();
        }
        if has_rings {
            self.notes.add_ring();
        }
        if has_rings || self.forms.loads == Loads::Staged {
            uses::Readers::of(&body).drop_unread_views(&mut body);
        }
        self.output.set_body(body);
    }

    /// Makes a tensor like `like` in shared memory, with `stages` as a further mode if there are any. Groups that execute the same statements
    /// have a tensor each: the last mode.
    fn shared_like(&mut self, like: &Tensor, name: String, stages: Option<i64>) -> TensorId {
        let groups = self.scopes.number_of(like.scope).map(|_| i64::from(self.scopes.get(like.scope).groups));
        let shape = like.shape.iter().copied().chain(stages).chain(groups).collect();
        let kind = TensorKind::Shared { pinned: None };
        self.output.push_tensor(Tensor { name, shape, kind, ..like.clone() })
    }

    /// Returns the view of the executing group's tile of a tensor of [`Lowering::shared_like`].
    fn staged_tile(&self, shared: TensorId, stage: Option<Expr>) -> View {
        let tensor = self.output.tensor(shared);
        let group = self.scopes.number_of(tensor.scope).cloned().map(Expr::symbol);
        let rest: Vec<Expr> = stage.into_iter().chain(group).collect();
        let mut view = View::whole(Base::Shared(shared), &tensor.shape);
        let rank = view.modes.len() - rest.len();
        view.modes.truncate(rank);
        view.offsets.splice(rank.., rest);
        view
    }

    /// Makes a tensor like `like` in registers.
    fn register_like(&mut self, like: &Tensor, hint: &str) -> TensorId {
        let name = self.output.unique_name(hint);
        let kind = TensorKind::Register { pinned: None };
        self.output.push_tensor(Tensor { name, kind, binder: None, ..like.clone() })
    }

    fn op_of(&mut self, load: &Load, kind: OpKind) -> Stmt {
        let op = Op { id: self.output.next_op(), kind, scope: load.scope, origin: load.origin };
        Stmt::Leaf(Leaf::Op(op))
    }

    /// Makes a barrier of the threads that make a load.
    fn barrier(&mut self, load: &Load) -> Stmt {
        self.op_of(load, OpKind::Sync(SyncOp::Scope))
    }

    /// Returns the copy of a tile from global to shared memory by way of registers.
    fn through_registers(&mut self, load: &Load, src: View, dst: View) -> [Stmt; 2] {
        let like = self.output.tensor(load.tile).clone();
        let tile = self.register_like(&like, &like.name);
        self.output.pass(tile);
        let held = View::whole(Base::Register(tile), &like.shape);
        [
            self.op_of(load, OpKind::Copy { src, dst: held.clone() }),
            self.op_of(load, OpKind::Copy { src: held, dst }),
        ]
    }
}
