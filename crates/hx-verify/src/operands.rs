//! Checks the routes of a product's operands: an operand in shared memory is loaded from its own view right before the product,
//! and a streamed operand is there before the steps of K that read it.

use hx_tile::{Base, Choice, Control, CopyChoice, GemmChoice, Leaf, Op, OpId, OpKind, Stmt, TensorId, View};

use crate::{Check, Checked};

impl Check<'_> {
    /// Checks the operands of a product as the program without a solution names them.
    pub(crate) fn operands(&self, written: &Op) -> Checked {
        let OpKind::Gemm { a, b, .. } = &written.kind else { return Ok(()) };
        let before = before(&self.program.body, written.id).ok_or("the product is missing")?;
        let Some(OpKind::Gemm { a: solved_a, b: solved_b, .. }) =
            self.program.op(written.id).map(|op| &op.kind)
        else {
            return Err("the product is missing".into());
        };
        for (name, operand, solved) in [("A", a, solved_a), ("B", b, solved_b)] {
            let Some(register) = solved.view.register() else {
                if solved.view != operand.view {
                    return Err(format!("operand {name} is another view of shared memory"));
                }
                continue;
            };
            if let Base::Shared(_) = operand.view.base {
                loaded(before, register, &operand.view)
                    .map_err(|message| format!("operand {name}: {message}"))?;
            }
        }
        Ok(())
    }

    /// Checks that the copies of a stream fill operands for this product alone, and that each slice of K is loaded by itself.
    pub(crate) fn streamed(&self, op: OpId, [a, b]: [TensorId; 2], g: &GemmChoice) -> Checked {
        let Some(stream) = &g.stream else { return Ok(()) };
        if stream.loads.is_empty() {
            return Err("a stream loads nothing".into());
        }
        let before = before(&self.program.body, op).ok_or("the product is missing")?;
        let adjacent = before.iter().rev().take(stream.loads.len());
        let mut adjacent: Vec<OpId> = adjacent.filter_map(|stmt| op_of(stmt).map(|op| op.id)).collect();
        adjacent.reverse();
        if adjacent != stream.loads {
            return Err("other operations stand between a streamed load and its product".into());
        }
        let depth = self.program.tensor(a).shape[1];
        if stream.depth < 1 || depth % stream.depth != 0 || depth / stream.depth < 2 {
            return Err(format!("slices of {} do not divide {depth} steps of K", stream.depth));
        }
        let mut filled = Vec::new();
        for load in &stream.loads {
            let found = self.program.op(*load).map(|op| &op.kind);
            let (Some(OpKind::Copy { src, dst }), Some(Choice::Copy(copy))) =
                (found, self.solution.choices.get(load))
            else {
                return Err(format!("operation #{} of the stream is not a copy", load.0));
            };
            let (Base::Shared(_), Some(register)) = (src.base, dst.register()) else {
                return Err(format!("operation #{} of the stream is not a load", load.0));
            };
            let name = &self.program.tensor(register).name;
            let ops = self.program.ops(1.0);
            let users = ops.iter().filter(|(op, _)| op.kind.tensors().contains(&register)).count();
            if users != 2 || a == b || filled.contains(&register) || ![a, b].contains(&register) {
                return Err(format!("`{name}` is streamed, but it is not an operand of this product alone"));
            }
            filled.push(register);
            self.sliced(register, stream.depth, copy, g, register == a)?;
        }
        Ok(())
    }

    /// Checks that each instruction of the load, and each step of the product, stays within one slice of K.
    fn sliced(
        &self,
        register: TensorId,
        depth: i64,
        copy: &CopyChoice,
        g: &GemmChoice,
        is_a: bool,
    ) -> Checked {
        let layout = self.register_layout(register)?;
        let name = &self.program.tensor(register).name;
        let slice_of = |positions: &mut dyn Iterator<Item = i64>| {
            let mut slice = None;
            for position in positions {
                for thread in 0..layout.threads {
                    let at = layout.coordinate(thread, position)[1] / depth;
                    if *slice.get_or_insert(at) != at {
                        return None;
                    }
                }
            }
            slice
        };
        let values = copy.register.mode(0).size();
        for issue in 0..copy.register.size() / values {
            (self.poll)();
            slice_of(&mut (0..values).map(|v| copy.register.eval(v + values * issue)))
                .ok_or_else(|| format!("an instruction loads more than one slice of `{name}`"))?;
        }
        let row = g.row.get();
        let (read, fragment) = if is_a { (&g.a, &row.a) } else { (&g.b, &row.b) };
        let positions = read.registers().ok_or_else(|| format!("`{name}` is loaded, but not read"))?;
        let [im, i_n, steps, batch] = g.issues;
        let outer = if is_a { im } else { i_n };
        let values = fragment.values() * outer;
        for step in 0..steps {
            (self.poll)();
            let all = (0..batch).flat_map(|l| (0..values).map(move |v| v + values * (step + steps * l)));
            if slice_of(&mut all.map(|i| positions.eval(i))) != Some(step * row.shape[2] / depth) {
                return Err(format!("step {step} of the product reads `{name}` from another slice"));
            }
        }
        Ok(())
    }
}

/// Returns the statements that stand before an operation in the same body; `None` if the operation is in none of the bodies.
fn before(body: &[Stmt], id: OpId) -> Option<&[Stmt]> {
    let found = body.iter().position(|stmt| op_of(stmt).is_some_and(|op| op.id == id));
    let inner = || body.iter().flat_map(Stmt::bodies).find_map(|body| before(body, id));
    found.map(|at| &body[..at]).or_else(inner)
}

fn op_of(stmt: &Stmt) -> Option<&Op> {
    match stmt {
        Stmt::Leaf(Leaf::Op(op)) => Some(op),
        Stmt::Control(Control::For { .. } | Control::If { .. } | Control::While { .. })
        | Stmt::Leaf(_)
        | Stmt::Control(Control::Roles(_)) => None,
    }
}

/// Checks that a register tensor holds the elements of a view after these statements: it was copied from the view, perhaps moved
/// between threads, and nothing that changes memory or integers came after the copy.
fn loaded(before: &[Stmt], mut register: TensorId, view: &View) -> Checked {
    for op in before.iter().rev().map_while(op_of) {
        if let OpKind::Rearrange { dst, src, .. } = &op.kind {
            if *dst == register {
                register = *src;
            }
            continue;
        }
        let OpKind::Copy { src, dst } = &op.kind else { break };
        if dst.register() == Some(register) {
            return if src == view { Ok(()) } else { Err("another view is loaded".into()) };
        }
        if dst.register().is_none() {
            break;
        }
    }
    Err("its load does not stand right before the product".into())
}
