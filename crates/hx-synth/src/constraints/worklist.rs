//! The work-list: derives layouts from those already known, constraint by constraint in the order of the text.

use std::collections::BTreeSet;
use std::rc::Rc;

use hx_tile::{OpId, Reason, TensorId};

use super::{Constraint, System};
use crate::access::{Run, vector};
use crate::distribution::ThreadValueLayout;
use crate::distribution::layouts::{Layouts, ReasonedLayout};
use crate::edits::Move;
use crate::failure::{Failure, FailureKind};
use crate::movement::parts;
use crate::search::pool::Pool;

/// The effect of a constraint on the layouts known so far: none, the layout of a further tensor, or a contradiction.
enum Fired {
    Nothing,
    Follows(TensorId, ReasonedLayout),
    Conflict,
}

impl System<'_> {
    /// Fires every constraint that the changed tensors make ready, until no further layout follows. Returns the indices of the
    /// constraints whose sides are both known and disagree.
    pub(crate) fn propagate(
        &self,
        pool: &Pool,
        known: &mut Layouts,
        changed: &[TensorId],
    ) -> BTreeSet<usize> {
        let touching = |tensor: TensorId| self.touching[tensor.0 as usize].iter().copied();
        let mut ready: BTreeSet<usize> = changed.iter().flat_map(|t| touching(*t)).collect();
        let mut conflicts = BTreeSet::new();
        while let Some(next) = ready.pop_first() {
            match self.fire(next, pool, known) {
                Fired::Nothing => {}
                Fired::Follows(tensor, layout) => {
                    known.set(tensor, Rc::new(layout));
                    ready.extend(touching(tensor));
                }
                Fired::Conflict => {
                    conflicts.insert(next);
                }
            }
        }
        conflicts
    }

    fn fire(&self, index: usize, pool: &Pool, known: &Layouts) -> Fired {
        let demanded = &self.constraints[index];
        let from = demanded.op.into_iter().collect();
        match &demanded.constraint {
            Constraint::Equal { a, b } => match (known.get(*a), known.get(*b)) {
                (None, None) => Fired::Nothing,
                (Some(x), Some(y)) => match self.reshaped(pool, &x.layout, [*a, *b]) {
                    Some(x) => agreed(pool.reads(&y.layout, &x)),
                    None => Fired::Conflict,
                },
                (Some(x), None) => self.follows(pool, x, [*a, *b], from),
                (None, Some(y)) => self.follows(pool, y, [*b, *a], from),
            },
            Constraint::Project { from: whole, to, axes } => match (known.get(*whole), known.get(*to)) {
                (None, _) => Fired::Nothing,
                (Some(x), Some(y)) => {
                    let wanted = pool.project_values(&x.layout, axes);
                    agreed(pool.reads(&y.layout, &wanted))
                }
                (Some(x), None) => {
                    let text = format!("the projection of its operand along {axes:?}");
                    let reason = Reason { text, from };
                    Fired::Follows(
                        *to,
                        ReasonedLayout { layout: pool.project(&x.layout, axes), reason, pin: x.pin },
                    )
                }
            },
            Constraint::Part { from: whole, to, view, inserted } => {
                let shape = &self.program.tensor(*whole).shape;
                let follows = |x: &ReasonedLayout,
                               layout: Option<ThreadValueLayout>,
                               target: TensorId,
                               text: &str| match layout {
                    Some(layout) => {
                        let reason = Reason { text: text.into(), from: from.clone() };
                        Fired::Follows(
                            target,
                            ReasonedLayout { layout: pool.keep(layout), reason, pin: x.pin },
                        )
                    }
                    None => Fired::Nothing,
                };
                match (known.get(*whole), known.get(*to)) {
                    (Some(x), None) if *inserted => {
                        let layout = parts::in_place(pool.target(), &x.layout, view, shape);
                        follows(
                            x,
                            layout,
                            *to,
                            "a part of the tensor that it is inserted into, where it goes",
                        )
                    }
                    (None, Some(y)) if *inserted => {
                        let layout = parts::grown(
                            pool.target(),
                            &y.layout,
                            view,
                            shape,
                            &self.program.tensor(*to).shape,
                        );
                        follows(y, layout, *whole, "each thread has the same places of every part")
                    }
                    (Some(x), None) => follows(
                        x,
                        parts::part(pool.target(), &x.layout, view, shape),
                        *to,
                        "a part of its operand, where it is",
                    ),
                    (None, Some(y)) => follows(
                        y,
                        parts::whole(&y.layout, view, shape),
                        *whole,
                        "what it is under other names",
                    ),
                    _ => Fired::Nothing,
                }
            }
            // The search decides these, or the layout of the memory does.
            Constraint::Pinned { .. }
            | Constraint::Gemm { .. }
            | Constraint::Copy { .. }
            | Constraint::Free { .. }
            | Constraint::Move { .. } => Fired::Nothing,
        }
    }

    /// Returns the layout that `to` gets from `from`, which holds the same elements under the same shape or another one.
    /// Returns a conflict if no layout of the shape of `to` deals them equally.
    fn follows(
        &self,
        pool: &Pool,
        reasoned: &ReasonedLayout,
        [from, to]: [TensorId; 2],
        ops: Vec<OpId>,
    ) -> Fired {
        match self.reshaped(pool, &reasoned.layout, [from, to]) {
            Some(layout) => {
                Fired::Follows(to, self.equal(to, pool, &ReasonedLayout { layout, ..reasoned.clone() }, ops))
            }
            None => Fired::Conflict,
        }
    }

    /// Returns a layout of the first tensor as one of the second, whose elements have the same row-major indices. `None` if no
    /// layout of the second shape deals them equally.
    pub(crate) fn reshaped(
        &self,
        pool: &Pool,
        layout: &Rc<ThreadValueLayout>,
        [from, to]: [TensorId; 2],
    ) -> Option<Rc<ThreadValueLayout>> {
        let [from, to] = [from, to].map(|tensor| &self.program.tensor(tensor).shape);
        if from == to {
            Some(layout.clone())
        } else {
            layout.reshaped(from, to).map(|layout| pool.keep(layout))
        }
    }

    /// Returns the layout of `tensor`, which equals `reasoned` except that packed elements take the order of their memory.
    fn equal(
        &self,
        tensor: TensorId,
        pool: &Pool,
        reasoned: &ReasonedLayout,
        from: Vec<OpId>,
    ) -> ReasonedLayout {
        let first = self
            .orders
            .get(&tensor)
            .and_then(|run| run.first(vector::held(&reasoned.layout, run, Run::first)));
        let ordered =
            first.and_then(|run| run.order(&reasoned.layout)).filter(|layout| *layout != *reasoned.layout);
        let text = match &ordered {
            Some(_) => "elementwise: as its operand, in the order of its memory",
            None => "elementwise: as its operand",
        };
        let layout = ordered.map_or_else(|| reasoned.layout.clone(), |layout| pool.keep(layout));
        ReasonedLayout { layout, reason: Reason { text: text.into(), from }, pin: reasoned.pin }
    }

    /// Returns the moves that repair a violated constraint: of an operand before its operation, or of the result after it. No
    /// move overrides a pin, so two pinned layouts have none, unless every thread already has its elements and only their order
    /// differs.
    pub(crate) fn moves(&self, index: usize, pool: &Pool, known: &Layouts) -> Vec<Move> {
        let demanded = &self.constraints[index];
        let (first, second, axes) = match &demanded.constraint {
            Constraint::Equal { a, b } => (*a, *b, &[][..]),
            Constraint::Project { from, to, axes } => (*from, *to, &axes[..]),
            _ => return vec![],
        };
        let Some(op) = demanded.op.and_then(|op| self.op(op)) else { return vec![] };
        if let (Some(x), Some(y)) = (known.get(first), known.get(second))
            && x.pin.is_some()
            && y.pin.is_some()
            && self
                .reshaped(pool, &pool.project_values(&x.layout, axes), [first, second])
                .is_none_or(|x| pool.positions(&y.layout, &x).is_none())
        {
            return vec![];
        }
        let operands = op.kind.registers();
        let results = op.kind.results();
        let inputs = [first, second].into_iter().filter_map(|tensor| {
            let at = operands.iter().skip(results).position(|t| *t == tensor)?;
            Some(Move::of(op, at + results))
        });
        // A scatter has no result.
        let others = operands.iter().take(results).skip(1).position(|t| *t == second);
        let result = others.map_or(0, |at| at + 1);
        inputs.chain((results > 0).then(|| Move::of(op, result))).collect()
    }

    /// Returns the failure for a violated constraint.
    pub(crate) fn conflict(&self, index: usize, known: &Layouts) -> Failure {
        let demanded = &self.constraints[index];
        let (at, operand) = match &demanded.constraint {
            Constraint::Equal { a, b } => (*a, *b),
            Constraint::Project { from, to, .. } => (*from, *to),
            _ => return Failure::new(FailureKind::Conflict, "no layout was found"),
        };
        let (Some(d), Some(s)) = (known.get(at), known.get(operand)) else {
            return Failure::new(FailureKind::Conflict, "no layout was found");
        };
        let [at_name, operand_name] = [at, operand].map(|t| self.program.tensor(t).name.as_str());
        let failure = Failure::new(
            FailureKind::Conflict,
            format!(
                "`{at_name}` and `{operand_name}` are held in different thread-value layouts{}",
                apart([at_name, operand_name], d, s)
            ),
        );
        let failure = demanded.op.into_iter().fold(failure, Failure::at);
        let part = |failure: Failure, tensor: TensorId, name: &str, k: &ReasonedLayout| {
            let text = format!("`{name}` is held as {}: {}", k.layout.text(), k.reason.text);
            failure.part(k.reason.from.first().copied(), Some(tensor), text)
        };
        let failure = part(part(failure, at, at_name, d), operand, operand_name, s);
        failure.help(format!("`rearrange({operand_name}, auto)` moves it to the threads that need it"))
    }
}

fn agreed(yes: bool) -> Fired {
    if yes { Fired::Nothing } else { Fired::Conflict }
}

/// Describes the first value that one thread holds in `d` and not in `s`. Returns an empty text if the shapes of the layouts
/// differ.
fn apart([d_name, s_name]: [&str; 2], d: &ReasonedLayout, s: &ReasonedLayout) -> String {
    let (d, s) = (&d.layout, &s.layout);
    if d.tile != s.tile || d.values() != s.values() || d.threads() != s.threads() {
        return String::new();
    }
    let values = d.values();
    let mut pairs = (0..d.threads() * values).map(|i| (i / values, i % values));
    let differ = |&(thread, value): &(i64, i64)| d.coordinate(thread, value) != s.coordinate(thread, value);
    let Some((thread, value)) = pairs.find(differ) else { return String::new() };
    let [mine, theirs] = [d, s].map(|layout| layout.coordinate(thread, value));
    format!(": value {value} of thread {thread} is {mine:?} of `{d_name}` and {theirs:?} of `{s_name}`")
}
