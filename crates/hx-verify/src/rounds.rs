//! Checks copies between two memories that move in rounds: their chunks take every element of the tile to its place, each once.
//!
//! The shape of the tile's register tensor says how a copy is cut. The source is cut in the same way here, with the counters, the
//! operations and the tensors that the solved program has beyond it. [`only_add`](crate::edits::only_add) then compares the two.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hx_index::{Expr, Symbol};
use hx_tile::{
    Base, Control, Leaf, Op, OpId, OpKind, Passage, Rest, Rounds, Stmt, Tensor, TensorId, TileProgram, View,
    coordinate,
};

use crate::Checked;

/// Returns the source with copies in the rounds of the solved program. Polls for each chunk.
///
/// # Errors
/// If the rounds of a copy do not move each element of its tile once.
pub(crate) fn as_solved<'p>(
    source: &'p TileProgram,
    solved: &TileProgram,
    poll: &dyn Fn(),
) -> Result<Cow<'p, TileProgram>, String> {
    if source.passing.is_empty() {
        return Ok(Cow::Borrowed(source));
    }
    let mut cutting = Cutting { source, solved, cut: source.clone(), new: New::of(source, solved), poll };
    cutting.cut.body = cutting.body(&source.body)?;
    Ok(Cow::Owned(cutting.cut))
}

/// The parts of a solved program that its source lacks, in the order of the text, without loads and moves.
struct New {
    counters: VecDeque<Symbol>,
    ops: VecDeque<OpId>,
    tensors: VecDeque<TensorId>,
}

impl New {
    fn of(source: &TileProgram, solved: &TileProgram) -> New {
        let known = source.variables();
        let mut counters = VecDeque::new();
        collect(&solved.body, &mut |var| {
            if !known.contains(var) && !source.facts.mention(var) {
                counters.push_back(var.clone());
            }
        });
        let mut own: BTreeSet<OpId> = BTreeSet::new();
        for (op, _) in source.ops(1.0) {
            own.insert(op.id);
            let OpKind::Gemm { a, b, .. } = &op.kind else { continue };
            own.extend([a, b].into_iter().filter_map(|operand| Some(operand.load?.op)));
        }
        let of_copy = |op: &&Op| matches!(op.kind, OpKind::Copy { .. } | OpKind::Cast { .. });
        let ops = solved.ops(1.0).into_iter().map(|(op, _)| op);
        let ops = ops.filter(of_copy).map(|op| op.id).filter(|id| !own.contains(id)).collect();
        let tensors = solved.tensor_ids().skip(source.tensors.len());
        let tensors = tensors.filter(|id| solved.tensor(*id).moved_from.is_none()).collect();
        New { counters, ops, tensors }
    }
}

fn collect(stmts: &[Stmt], found: &mut dyn FnMut(&Symbol)) {
    for stmt in stmts {
        if let Stmt::Control(Control::For { var, .. }) = stmt {
            found(var);
        }
        stmt.bodies().for_each(|body| collect(body, found));
    }
}

struct Cutting<'p> {
    source: &'p TileProgram,
    solved: &'p TileProgram,
    /// The source with the cuts so far.
    cut: TileProgram,
    new: New,
    poll: &'p dyn Fn(),
}

/// A part of the tile of a copy: its views in the two memories.
struct Part {
    from: View,
    to: View,
}

impl Cutting<'_> {
    fn body(&mut self, stmts: &[Stmt]) -> Result<Vec<Stmt>, String> {
        let (mut out, mut at) = (Vec::new(), 0);
        while let Some(stmt) = stmts.get(at) {
            at += 1;
            if let Some(passage) = Passage::begins(self.source, &stmts[at - 1..])
                && self.is_cut(&passage)
            {
                let rounds = self.rounds(&passage)?;
                self.moves_each_once(&passage, &rounds)?;
                out.extend(rounds);
                at += passage.ops().count() - 1;
                continue;
            }
            let mut stmt = stmt.clone();
            for body in stmt.bodies_mut() {
                *body = self.body(body)?;
            }
            out.push(stmt);
        }
        Ok(out)
    }

    fn is_cut(&self, passage: &Passage<'_>) -> bool {
        let tile = self.solved.tensors.get(passage.tile.0 as usize);
        tile.is_none_or(|tile| tile.shape != passage.from.shape())
    }

    /// Returns the rounds of a copy whose chunks have the shape of the solved program's tile.
    fn rounds(&mut self, passage: &Passage<'_>) -> Result<Vec<Stmt>, String> {
        let chunk = self.solved.tensors.get(passage.tile.0 as usize).map_or(&[][..], |tile| &tile.shape);
        let shape = passage.from.shape();
        let fits = |(step, extent): (&i64, &i64)| (1..=*extent).contains(step);
        if chunk.len() != shape.len() || !chunk.iter().zip(&shape).all(fits) {
            return Err(format!("chunks of {chunk:?} do not make up a tile of {shape:?}"));
        }
        let mut names = VecDeque::from([Names::of(passage)]);
        let whole = Part { from: passage.from.clone(), to: passage.to.clone() };
        self.nest(passage, chunk, whole, &mut names)
    }

    /// Cuts a part along its first mode that is longer than the chunks: into a loop over whole steps, and the rest.
    fn nest(
        &mut self,
        passage: &Passage<'_>,
        chunk: &[i64],
        part: Part,
        names: &mut VecDeque<Names>,
    ) -> Result<Vec<Stmt>, String> {
        let shape = part.from.shape();
        let Some(mode) = (0..shape.len()).find(|mode| shape[*mode] > chunk[*mode]) else {
            return self.chunk(passage, part, names);
        };
        let (extent, step) = (shape[mode], chunk[mode]);
        let within = |cutting: &Self, first: &Expr, count: i64| {
            let [from, to] =
                [&part.from, &part.to].map(|view| view.chunk(mode, first, count, &cutting.cut.facts));
            Part { from, to }
        };
        let steps = extent / step;
        let mut out = if steps > 1 {
            let var = self.new.counters.pop_front().ok_or("the solved program lacks a loop over chunks")?;
            self.cut.facts.at_least(var.clone(), 0);
            self.cut.facts.at_most(var.clone(), Expr::constant(steps - 1));
            let inside = within(self, &Expr::symbol(var.clone()).scale(step), step);
            let body = self.nest(passage, chunk, inside, names)?;
            let rounds = Rounds::Range { start: Expr::default(), end: Expr::constant(steps), unroll: false };
            vec![Stmt::Control(Control::For { var, rounds, body })]
        } else {
            let inside = within(self, &Expr::default(), step);
            self.nest(passage, chunk, inside, names)?
        };
        if extent % step > 0 {
            let inside = within(self, &Expr::constant(steps * step), extent % step);
            out.extend(self.nest(passage, chunk, inside, names)?);
        }
        Ok(out)
    }

    /// Returns the operations on a chunk: the first ones of a copy are its own.
    fn chunk(
        &mut self,
        passage: &Passage<'_>,
        Part { from, to }: Part,
        names: &mut VecDeque<Names>,
    ) -> Result<Vec<Stmt>, String> {
        let shape = from.shape();
        let Names { ops, tile, stored } = match names.pop_front() {
            Some(own) => own,
            None => self.names(passage).ok_or("the solved program lacks the operations of a chunk")?,
        };
        if tile != passage.tile {
            self.cut.rests.push(Rest {
                ops: ops.iter().copied().zip(passage.ops()).map(|(own, of)| [own, of.id]).collect(),
                tensors: BTreeSet::from([[tile, passage.tile], [stored, passage.stored]])
                    .into_iter()
                    .collect(),
            });
        }
        for (tensor, of) in [(tile, passage.tile), (stored, passage.stored)] {
            self.hold(tensor, of, &shape)?;
        }
        let whole = |tensor| View::whole(Base::Register(tensor), &shape);
        let mut kinds = vec![OpKind::Copy { src: from, dst: whole(tile) }];
        kinds.extend(passage.cast.map(|_| OpKind::Cast { dst: stored, src: tile }));
        kinds.push(OpKind::Copy { src: whole(stored), dst: to });
        let made = passage.ops().zip(ops).zip(kinds);
        Ok(made.map(|((of, id), kind)| Stmt::Leaf(Leaf::Op(Op { id, kind, ..of.clone() }))).collect())
    }

    /// Takes the names of another chunk from those that the source lacks.
    fn names(&mut self, passage: &Passage<'_>) -> Option<Names> {
        let ops = passage.ops().map(|_| self.new.ops.pop_front()).collect::<Option<_>>()?;
        let tile = self.new.tensors.pop_front()?;
        let stored = if passage.cast.is_some() { self.new.tensors.pop_front()? } else { tile };
        Some(Names { ops, tile, stored })
    }

    /// Gives the tensor of a chunk its shape. It is like the copy's own tensor otherwise; a new one may have any name.
    fn hold(&mut self, tensor: TensorId, of: TensorId, shape: &[i64]) -> Checked {
        let own = self.source.tensor(of);
        let found = self.solved.tensors.get(tensor.0 as usize).ok_or("the solved program lacks a tensor")?;
        let name = if tensor == of { own.name.clone() } else { found.name.clone() };
        let wanted = Tensor { name, shape: shape.to_vec(), ..own.clone() };
        if wanted != *found {
            return Err(format!("`{}` cannot hold a chunk of `{}`", found.name, own.name));
        }
        let at = tensor.0 as usize;
        match at.cmp(&self.cut.tensors.len()) {
            Ordering::Less => self.cut.tensors[at] = wanted,
            Ordering::Equal => self.cut.tensors.push(wanted),
            Ordering::Greater => return Err(format!("`{}` has a number that is too high", wanted.name)),
        }
        Ok(())
    }

    /// Checks by enumeration that rounds take each element of a tile from its place in one memory to its place in the other, once.
    fn moves_each_once(&self, passage: &Passage<'_>, rounds: &[Stmt]) -> Checked {
        let mut values = BTreeMap::new();
        let mut wanted = pairs([passage.from, passage.to], &values);
        let mut found = Vec::new();
        run(rounds, &mut values, self.poll, &mut found);
        wanted.sort_unstable();
        found.sort_unstable();
        if wanted == found {
            return Ok(());
        }
        let name = &self.source.tensor(passage.tile).name;
        Err(format!("the rounds of the copy through `{name}` do not move each element of the tile once"))
    }
}

/// The operations and tensors of a chunk.
struct Names {
    ops: Vec<OpId>,
    tile: TensorId,
    stored: TensorId,
}

impl Names {
    fn of(passage: &Passage<'_>) -> Names {
        let ops = passage.ops().map(|op| op.id).collect();
        Names { ops, tile: passage.tile, stored: passage.stored }
    }
}

/// The coordinates of an element in two memories.
type Moved = [Vec<i64>; 2];

/// Collects the elements that the copies of some rounds move.
fn run(stmts: &[Stmt], values: &mut BTreeMap<Symbol, i64>, poll: &dyn Fn(), out: &mut Vec<Moved>) {
    let mut from = None;
    for stmt in stmts {
        if let Stmt::Control(Control::For { var, rounds, body }) = stmt {
            for value in 0..rounds.count().unwrap_or(0) {
                values.insert(var.clone(), value);
                run(body, values, poll, out);
            }
            values.remove(var);
        }
        match stmt.op().map(|op| &op.kind) {
            Some(OpKind::Copy { src, dst }) if dst.register().is_some() => from = Some(src),
            Some(OpKind::Copy { dst, .. }) => {
                poll();
                out.extend(from.take().into_iter().flat_map(|from| pairs([from, dst], values)));
            }
            Some(_) | None => {}
        }
    }
}

/// Returns the coordinates in two memories of each element of two views, with all symbols but these taken as 0.
fn pairs(views: [&View; 2], values: &BTreeMap<Symbol, i64>) -> Vec<Moved> {
    let at = |expr: &Expr| {
        expr.eval(&|symbol: &Symbol| Some(values.get(symbol).copied().unwrap_or(0))).unwrap_or(0)
    };
    let starts = views.map(|view| view.offsets.iter().map(at).collect::<Vec<i64>>());
    let steps =
        views.map(|view| view.modes.iter().map(|mode| (mode.dim, at(&mode.factor))).collect::<Vec<_>>());
    let shape = views[0].shape();
    let place = |view: usize, element: &[i64]| {
        let mut place = starts[view].clone();
        steps[view].iter().zip(element).for_each(|((dim, step), c)| place[*dim] += step * c);
        place
    };
    let all = 0..shape.iter().product::<i64>();
    all.map(|index| coordinate(index, &shape))
        .map(|element| [0, 1].map(|view| place(view, &element)))
        .collect()
}
