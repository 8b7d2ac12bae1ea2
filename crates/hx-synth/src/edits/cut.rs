//! Copies chunk by chunk: a loop over the chunks of one shape, then a last chunk with fewer elements.

use hx_index::{Expr, Facts, Symbol};
use hx_tile::{
    Base, Control, Leaf, Op, OpId, OpKind, Origin, Passage, Rest, Rounds, Stmt, Tensor, TensorId,
    TileProgram, View,
};

/// The chunks in which a copy moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chunks {
    /// The extents of a chunk; the last chunk along a mode may have fewer.
    pub shape: Vec<i64>,
    /// The number of chunks.
    pub count: i64,
    /// The 32-bit registers of each thread that the whole tile takes.
    pub registers: i64,
}

/// A copy between two memories that moves in rounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    /// The operation that loads the tile.
    pub(crate) load: OpId,
    /// The origin of the copy.
    pub(crate) origin: Origin,
    pub(crate) chunks: Chunks,
}

/// Cuts copies of a program into rounds. The first chunk keeps the operations and tensors of the copy. Those of a last chunk with
/// fewer elements have numbers after those of the program: operations from `next_op` on. A copy whose tile is a chunk already stays
/// as it is.
pub(crate) fn apply(program: &mut TileProgram, cuts: &[Cut], next_op: u32) {
    let number = |symbol: &Symbol| if let Symbol::Var(_, number) = symbol { number + 1 } else { 0 };
    let mut cutter = Cutter {
        cuts,
        tensors: program.tensors.clone(),
        facts: program.facts.clone(),
        next_op,
        next_var: program.variables().iter().map(number).max().unwrap_or(0),
        rests: program.rests.clone(),
    };
    let body = cutter.body(program, &program.body);
    let Cutter { tensors, facts, rests, .. } = cutter;
    *program = TileProgram { tensors, facts, rests, body, ..std::mem::take(program) };
}

struct Cutter<'c> {
    cuts: &'c [Cut],
    tensors: Vec<Tensor>,
    facts: Facts,
    /// The number of the next operation that the program lacks.
    next_op: u32,
    /// The number of the next counter.
    next_var: u32,
    rests: Vec<Rest>,
}

/// A part of a copy: the chunks along the modes so far.
#[derive(Clone)]
struct Part {
    from: View,
    to: View,
}

impl Cutter<'_> {
    fn body(&mut self, program: &TileProgram, stmts: &[Stmt]) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        let mut at = 0;
        while let Some(stmt) = stmts.get(at) {
            if let Some(passage) = Passage::begins(program, &stmts[at..])
                && let Some(cut) = self.cuts.iter().find(|cut| cut.load == passage.load.id)
                && passage.from.shape() != cut.chunks.shape
            {
                let whole = Part { from: passage.from.clone(), to: passage.to.clone() };
                let mut rounds = Copy { passage, chunk: &cut.chunks.shape, begun: false };
                out.extend(self.along(&mut rounds, whole, 0));
                at += passage.ops().count();
                continue;
            }
            let mut stmt = stmt.clone();
            for body in stmt.bodies_mut() {
                *body = self.body(program, body);
            }
            out.push(stmt);
            at += 1;
        }
        out
    }

    /// Returns the statements that copy a part, cut along the modes from `mode` on.
    fn along(&mut self, copy: &mut Copy<'_>, part: Part, mode: usize) -> Vec<Stmt> {
        let Some(&step) = copy.chunk.get(mode) else { return self.chunk(copy, part) };
        let extent = part.from.modes[mode].extent;
        if step == extent {
            return self.along(copy, part, mode + 1);
        }
        let (full, rest) = (extent / step, extent % step);
        let mut out = if full == 1 {
            let part = self.within(&part, mode, &Expr::default(), step);
            self.along(copy, part, mode + 1)
        } else {
            let var = self.new_var();
            self.facts.at_least(var.clone(), 0);
            self.facts.at_most(var.clone(), Expr::constant(full - 1));
            let first = Expr::symbol(var.clone()).scale(step);
            let part = self.within(&part, mode, &first, step);
            let body = self.along(copy, part, mode + 1);
            let rounds = Rounds::Range { start: Expr::default(), end: Expr::constant(full), unroll: false };
            vec![Stmt::Control(Control::For { var, rounds, body })]
        };
        if rest > 0 {
            let part = self.within(&part, mode, &Expr::constant(full * step), rest);
            out.extend(self.along(copy, part, mode + 1));
        }
        out
    }

    fn within(&self, part: &Part, mode: usize, first: &Expr, count: i64) -> Part {
        let [from, to] = [&part.from, &part.to].map(|view| view.chunk(mode, first, count, &self.facts));
        Part { from, to }
    }

    /// Copies a chunk. The first one of a copy takes its operations and tensors, and another one repeats them.
    fn chunk(&mut self, copy: &mut Copy<'_>, Part { from, to }: Part) -> Vec<Stmt> {
        let Passage { load, cast, store, tile, stored, .. } = copy.passage;
        let shape = from.shape();
        let mut rest = std::mem::replace(&mut copy.begun, true).then(Rest::default);
        let tile = self.tensor(tile, &shape, &mut rest);
        let stored = if cast.is_some() { self.tensor(stored, &shape, &mut rest) } else { tile };
        let whole = |tensor| View::whole(Base::Register(tensor), &shape);
        let mut out = vec![self.op(load, OpKind::Copy { src: from, dst: whole(tile) }, &mut rest)];
        out.extend(cast.map(|cast| self.op(cast, OpKind::Cast { dst: stored, src: tile }, &mut rest)));
        out.push(self.op(store, OpKind::Copy { src: whole(stored), dst: to }, &mut rest));
        self.rests.extend(rest);
        out
    }

    /// Returns an operation of the copy on a chunk, or its repetition for the last chunk.
    fn op(&mut self, of: &Op, kind: OpKind, rest: &mut Option<Rest>) -> Stmt {
        let mut id = of.id;
        if let Some(rest) = rest {
            id = OpId(self.next_op);
            self.next_op += 1;
            rest.ops.push([id, of.id]);
        }
        Stmt::Leaf(Leaf::Op(Op { id, kind, ..of.clone() }))
    }

    /// Gives a tensor of the copy the shape of a chunk, or returns a new one for the last chunk.
    fn tensor(&mut self, tensor: TensorId, shape: &[i64], rest: &mut Option<Rest>) -> TensorId {
        let old = &mut self.tensors[tensor.0 as usize];
        let Some(rest) = rest else {
            old.shape = shape.to_vec();
            return tensor;
        };
        let new = Tensor { name: format!("{}_rest", old.name), shape: shape.to_vec(), ..old.clone() };
        let id = TensorId(self.tensors.len() as u32);
        self.tensors.push(new);
        rest.tensors.push([id, tensor]);
        id
    }

    /// Returns a counter that neither statements nor facts mention.
    fn new_var(&mut self) -> Symbol {
        loop {
            let var = Symbol::Var("chunk".into(), self.next_var);
            self.next_var += 1;
            if !self.facts.mention(&var) {
                return var;
            }
        }
    }
}

/// A copy that is cut.
struct Copy<'p> {
    passage: Passage<'p>,
    /// The extents of a chunk.
    chunk: &'p [i64],
    /// Whether a chunk has the operations and tensors of the copy.
    begun: bool,
}
