//! Checks a solution by enumeration, whatever way it was found.
//!
//! Every statement of the paper's constraints is read as an equation between functions and evaluated at every thread and value:
//! coverage, injectivity of shared layouts, what each instruction moves or multiplies, alignment, overlap of buffers.
//! The crate shares no code with the solver and does not depend on it. Start at [`verify`].

mod copy;
mod elementwise;
mod gemm;
mod lanes;
mod parts;
mod starts;
mod tensor;

use std::fmt;

use hx_index::{Expr, Symbol};
use hx_target::Arch;
use hx_tile::{
    Base, Choice, ConvertChoice, Distribution, OpId, OpKind, RearrangeChoice, Route, Solution, TensorId,
    TileProgram, View, coordinate,
};

/// A statement that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Where it shows, if at an operation.
    pub op: Option<OpId>,
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op {
            Some(op) => write!(f, "operation #{}: {}", op.0, self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Everything in the solution that does not hold, at most one violation for each tensor and operation; empty for a right solution.
pub fn verify(program: &TileProgram, solution: &Solution, arch: Arch) -> Vec<Violation> {
    verify_polled(program, solution, arch, &|| ())
}

/// The same, with polls for each tensor, operation and part of a large one; a poll may unwind.
pub fn verify_polled(
    program: &TileProgram,
    solution: &Solution,
    arch: Arch,
    poll: &dyn Fn(),
) -> Vec<Violation> {
    let edited = solution.program(program);
    let program = &*edited;
    let check = Check { program, solution, arch, poll };
    let mut out = Vec::new();
    for tensor in program.tensor_ids() {
        poll();
        out.extend(check.tensor(tensor).err().map(|message| Violation { op: None, message }));
    }
    out.extend(check.overlap().err().map(|message| Violation { op: None, message }));
    for (op, _) in program.ops(1.0) {
        poll();
        let choice = solution.choices.get(&op.id);
        let result = match (&op.kind, choice) {
            (
                OpKind::Fill { .. } | OpKind::Sync | OpKind::SyncWarp | OpKind::Commit | OpKind::Wait { .. },
                _,
            ) => Ok(()),
            // They read each element wherever it is held.
            (OpKind::Print { .. } | OpKind::Assert { .. }, _) => Ok(()),
            (OpKind::CopyAsync { src, dst }, Some(Choice::Copy(c))) => check.copy_async(src, dst, c),
            (OpKind::Map(map), Some(Choice::Map(m))) => check.map(map, m),
            (OpKind::Reduce { dst, src, axis, .. }, Some(Choice::Reduce(r))) => {
                check.reduce([*dst, *src], *axis, r)
            }
            (OpKind::Copy { src, dst }, Some(Choice::Copy(c))) => check.copy(src, dst, c),
            (OpKind::Rearrange { dst, src, through }, Some(Choice::Rearrange(r))) => {
                check.rearrange([*dst, *src], *through, r)
            }
            (OpKind::AtomicAdd { src, dst }, Some(Choice::Copy(c))) => check.atomic_add(*src, dst, c),
            (OpKind::Slice { dst, src }, Some(Choice::Slice(s))) => check.slice(*dst, src, s),
            (OpKind::ReadNumber { src, .. }, _) => check.read_number(*src),
            (OpKind::Scan { dst, src, axis, op }, Some(Choice::Scan(s))) => {
                check.scan((dst, src), *axis, op.len(), s)
            }
            (OpKind::Gemm { c, a, b, .. }, Some(Choice::Gemm(g))) => check.gemm([*c, *a, *b], g),
            (OpKind::Cast { dst, src }, Some(Choice::Convert(c))) => check.convert(*dst, *src, c),
            _ => Err("no instruction was chosen".into()),
        };
        out.extend(result.err().map(|message| Violation { op: Some(op.id), message }));
    }
    out
}

/// A statement holds, or the first place where it does not.
type Checked = Result<(), String>;

struct Check<'p> {
    program: &'p TileProgram,
    solution: &'p Solution,
    arch: Arch,
    poll: &'p dyn Fn(),
}

/// A thread-value layout as a table.
struct Held<'p> {
    distribution: &'p Distribution,
    threads: i64,
    values: i64,
}

impl Held<'_> {
    /// Index in the distribution's tile of what a thread holds at a position.
    fn index(&self, thread: i64, position: i64) -> i64 {
        self.distribution.layout.eval(thread + self.threads * position)
    }

    fn coordinate(&self, thread: i64, position: i64) -> Vec<i64> {
        coordinate(self.index(thread, position), &self.distribution.tile)
    }
}

impl<'p> Check<'p> {
    fn held(&self, tensor: TensorId) -> Result<Held<'p>, String> {
        let name = &self.program.tensor(tensor).name;
        let distribution =
            self.solution.registers.get(&tensor).ok_or_else(|| format!("`{name}` has no layout"))?;
        let layout = &distribution.layout;
        if layout.rank() != 2 {
            return Err(format!("the layout of `{name}` has {} modes, not thread and value", layout.rank()));
        }
        let (threads, values) = (layout.mode(0).size(), layout.mode(1).size());
        if threads != i64::from(self.program.threads) {
            return Err(format!(
                "the layout of `{name}` is for {threads} threads, the block has {}",
                self.program.threads
            ));
        }
        Ok(Held { distribution, threads, values })
    }

    fn inside(&self, tensor: TensorId, at: &[i64]) -> bool {
        at.iter().zip(&self.program.tensor(tensor).shape).all(|(c, extent)| c < extent)
    }

    /// Every thread finds its values among its own, or all of them go through a shared tensor: what is written there is what is read.
    fn rearrange(
        &self,
        [dst, src]: [TensorId; 2],
        through: Option<TensorId>,
        choice: &RearrangeChoice,
    ) -> Checked {
        match (&choice.route, through) {
            (Route::Within(positions), None) => {
                let (d, s) = (self.held(dst)?, self.held(src)?);
                if positions.size() != d.values {
                    return Err(format!("{} positions for {} values", positions.size(), d.values));
                }
                self.finds(&d, &s, &|t, v| (t, positions.eval(v)))
            }
            (Route::Renamed(positions), None) => {
                let (d, s) = (self.held(dst)?, self.held(src)?);
                if positions.len() as i64 != d.values {
                    return Err(format!("{} positions for {} values", positions.len(), d.values));
                }
                let source = |t: i64, v: i64| (t, positions[v as usize]);
                self.finds(&d, &s, &source)
            }
            (Route::Lanes(lanes), None) => self.lanes(dst, src, lanes),
            (Route::Matrices { row, src: positions }, None) => self.matrices(dst, src, row, positions),
            (Route::Shared { store, load }, Some(shared)) => {
                let view = |base, tensor: TensorId| View::whole(base, &self.program.tensor(tensor).shape);
                let memory = view(Base::Shared(shared), shared);
                self.copy(&view(Base::Register(src), src), &memory, store)?;
                self.copy(&memory, &view(Base::Register(dst), dst), load)
            }
            _ => Err("the way and the shared tensor do not go together".into()),
        }
    }

    /// Every position of the destination is converted once, from the position of its element in the source, which may hold others
    /// besides.
    fn convert(&self, dst: TensorId, src: TensorId, choice: &ConvertChoice) -> Checked {
        let (d, s) = (self.held(dst)?, self.held(src)?);
        let converted = [choice.src.size(), choice.dst.size()];
        if converted != [d.values; 2] {
            return Err(format!("{converted:?} positions for {} values", d.values));
        }
        let mut written = vec![false; d.values as usize];
        for i in 0..d.values {
            let (from, to) = (choice.src.eval(i), choice.dst.eval(i));
            let slot = written.get_mut(to as usize).ok_or("a position past the last value is written")?;
            if std::mem::replace(slot, true) {
                return Err(format!("position {to} is written twice"));
            }
            if !(0..s.values).contains(&from) {
                return Err(format!("position {from} is read, of {} values", s.values));
            }
            for t in 0..d.threads {
                if d.coordinate(t, to) != s.coordinate(t, from) {
                    return Err(format!(
                        "thread {t} converts {:?} into {:?}",
                        s.coordinate(t, from),
                        d.coordinate(t, to)
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Where a view leads, with every dimension and counter taken as 0.
struct Walk {
    start: Vec<i64>,
    /// The dimension that each mode of the view walks along, and how far at each step.
    steps: Vec<(usize, i64)>,
}

impl Walk {
    fn of(view: &View) -> Walk {
        let steps = view.modes.iter().map(|mode| (mode.dim, at_zero(&mode.factor)));
        Walk { start: view.offsets.iter().map(at_zero).collect(), steps: steps.collect() }
    }

    /// The coordinate in the tensor of a coordinate of the view.
    fn coordinate(&self, at: &[i64]) -> Vec<i64> {
        let mut out = self.start.clone();
        for ((dim, step), c) in self.steps.iter().zip(at) {
            out[*dim] += step * c;
        }
        out
    }
}

/// The value of an expression with every dimension and counter taken as 0.
fn at_zero(expr: &Expr) -> i64 {
    expr.eval(&|_: &Symbol| Some(0)).unwrap_or(0)
}
