//! Compiled integer expressions: every expression of a program is compiled once for a launch.
//!
//! The symbols of the launch are constants by then. A subexpression that depends on the thread index alone becomes a table. A
//! uniform subexpression is computed once for all threads, and only the rest is computed for each thread. An expression without a
//! value (a division by zero, an overflow) is kept, so that its error appears only if it is evaluated.

use std::sync::Arc;

use hx_index::{Atom, CmpOp, Cond, EvalError, Expr, Symbol, Width, floor_div, floor_mod};

/// The value of a symbol at compile time.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    Known(i64),
    Table(Arc<[i64]>),
    /// A uniform integer that changes while the block runs.
    Slot(u32),
    /// An integer of each thread that changes while the block runs.
    Lanes(u32),
}

/// The integers of one block at one point of its run.
#[derive(Debug)]
pub(crate) struct Env {
    pub(crate) slots: Vec<i64>,
    pub(crate) lanes: Vec<Vec<i64>>,
    pool: Vec<Vec<i64>>,
    masks: Vec<Vec<bool>>,
    threads: usize,
}

impl Env {
    pub(crate) fn new(slots: usize, lanes: usize, threads: usize) -> Env {
        Env {
            slots: vec![0; slots],
            lanes: vec![vec![0; threads]; lanes],
            pool: Vec::new(),
            masks: Vec::new(),
            threads,
        }
    }

    fn take(&mut self) -> Vec<i64> {
        self.pool.pop().unwrap_or_else(|| vec![0; self.threads])
    }

    fn take_mask(&mut self) -> Vec<bool> {
        self.masks.pop().unwrap_or_else(|| vec![false; self.threads])
    }
}

/// The reason why an evaluation failed, and the thread in which it failed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Failure {
    pub(crate) error: EvalError,
    pub(crate) thread: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Wrong {
    DivisionByZero,
    Overflow,
}

type Fails<T = ()> = Result<T, (Wrong, Option<usize>)>;

#[derive(Clone, Copy, PartialEq, Debug)]
enum BinOp {
    Div,
    Mod,
    Min,
    Max,
    Xor,
}

impl BinOp {
    #[inline]
    fn apply(self, a: i64, b: i64) -> Result<i64, Wrong> {
        match self {
            BinOp::Div | BinOp::Mod if b == 0 => Err(Wrong::DivisionByZero),
            BinOp::Div => Ok(floor_div(a, b)),
            BinOp::Mod => Ok(floor_mod(a, b)),
            BinOp::Min => Ok(a.min(b)),
            BinOp::Max => Ok(a.max(b)),
            BinOp::Xor => Ok(a ^ b),
        }
    }
}

#[derive(Clone, Debug)]
enum Node {
    Const(i64),
    Table(Arc<[i64]>),
    Slot(u32),
    Lanes(u32),
    Sum(Box<Sum>),
    Binary {
        op: BinOp,
        a: Box<Node>,
        b: Box<Node>,
        varying: bool,
    },
    Mask {
        a: Box<Node>,
        mask: i64,
    },
    /// Wraps the result; sums and products inside of `a` wrap too.
    Wrap {
        a: Box<Node>,
        width: Width,
    },
}

/// `constant + table[thread] + Σ uniform + Σ varying`.
#[derive(Clone, Debug, Default)]
struct Sum {
    constant: i64,
    table: Option<Arc<[i64]>>,
    uniform: Vec<Product>,
    varying: Vec<Product>,
    overflow: Overflow,
}

/// `coefficient · Π uniform · Π varying`.
#[derive(Clone, Debug)]
struct Product {
    coefficient: i64,
    uniform: Vec<Node>,
    varying: Vec<Node>,
    overflow: Overflow,
}

/// How a sum or product behaves beyond 64 bits.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
enum Overflow {
    #[default]
    Fails,
    Wraps,
}

impl Overflow {
    #[inline]
    fn multiply(self, a: i64, b: i64) -> Result<i64, Wrong> {
        match self {
            Overflow::Fails => a.checked_mul(b).ok_or(Wrong::Overflow),
            Overflow::Wraps => Ok(a.wrapping_mul(b)),
        }
    }

    #[inline]
    fn add(self, a: i64, b: i64) -> Result<i64, Wrong> {
        match self {
            Overflow::Fails => a.checked_add(b).ok_or(Wrong::Overflow),
            Overflow::Wraps => Ok(a.wrapping_add(b)),
        }
    }
}

impl Product {
    fn scalar(&self, env: &Env) -> Fails<i64> {
        self.uniform.iter().try_fold(self.coefficient, |p, f| {
            self.overflow.multiply(p, f.scalar(env)?).map_err(|w| (w, None))
        })
    }

    fn is_static(&self) -> bool {
        self.uniform.iter().chain(&self.varying).all(Node::is_static)
    }
}

/// Applies `f` to every thread's value. In threads off the mask, a failure yields 0.
#[inline]
fn each(out: &mut [i64], mask: Option<&[bool]>, f: impl Fn(usize, i64) -> Result<i64, Wrong>) -> Fails {
    for (thread, x) in out.iter_mut().enumerate() {
        match f(thread, *x) {
            Ok(y) => *x = y,
            Err(_) if mask.is_some_and(|m| !m[thread]) => *x = 0,
            Err(wrong) => return Err((wrong, Some(thread))),
        }
    }
    Ok(())
}

impl Node {
    fn varying(&self) -> bool {
        match self {
            Node::Const(_) | Node::Slot(_) => false,
            Node::Table(_) | Node::Lanes(_) => true,
            Node::Sum(s) => s.table.is_some() || !s.varying.is_empty(),
            Node::Binary { varying, .. } => *varying,
            Node::Mask { a, .. } | Node::Wrap { a, .. } => a.varying(),
        }
    }

    /// Reports whether the value stays the same while a block runs.
    fn is_static(&self) -> bool {
        match self {
            Node::Const(_) | Node::Table(_) => true,
            Node::Slot(_) | Node::Lanes(_) => false,
            Node::Sum(s) => s.uniform.iter().chain(&s.varying).all(Product::is_static),
            Node::Binary { a, b, .. } => a.is_static() && b.is_static(),
            Node::Mask { a, .. } | Node::Wrap { a, .. } => a.is_static(),
        }
    }

    /// Returns the value of a node that does not vary.
    fn scalar(&self, env: &Env) -> Fails<i64> {
        let wrong = |w| (w, None);
        match self {
            Node::Const(c) => Ok(*c),
            Node::Slot(s) => Ok(env.slots[*s as usize]),
            Node::Sum(s) => {
                let sum = |sum, p: &Product| s.overflow.add(sum, p.scalar(env)?).map_err(wrong);
                s.uniform.iter().try_fold(s.constant, sum)
            }
            Node::Binary { op, a, b, .. } => op.apply(a.scalar(env)?, b.scalar(env)?).map_err(wrong),
            Node::Mask { a, mask } => Ok(a.scalar(env)? & mask),
            Node::Wrap { a, width } => Ok(width.wrap(a.scalar(env)?)),
            // Callers pass only nodes that do not vary. If a table or a lane vector is uniform, the first thread's value stands
            // for all.
            Node::Table(t) => Ok(t.first().copied().unwrap_or(0)),
            Node::Lanes(l) => Ok(env.lanes[*l as usize].first().copied().unwrap_or(0)),
        }
    }

    /// Computes the value for every thread. The mask must contain a thread.
    fn lanes(&self, env: &mut Env, mask: Option<&[bool]>, out: &mut [i64]) -> Fails {
        if !self.varying() {
            out.fill(self.scalar(env)?);
            return Ok(());
        }
        match self {
            Node::Table(t) => out.copy_from_slice(t),
            Node::Lanes(l) => out.copy_from_slice(&env.lanes[*l as usize]),
            Node::Sum(s) => s.lanes(env, mask, out)?,
            Node::Mask { a, mask: bits } => {
                a.lanes(env, mask, out)?;
                out.iter_mut().for_each(|x| *x &= bits);
            }
            Node::Wrap { a, width } => {
                a.lanes(env, mask, out)?;
                out.iter_mut().for_each(|x| *x = width.wrap(*x));
            }
            Node::Binary { op, a, b, .. } => {
                let op = *op;
                a.lanes(env, mask, out)?;
                if !b.varying() {
                    let b = b.scalar(env)?;
                    return each(out, mask, |_, x| op.apply(x, b));
                }
                let mut other = env.take();
                b.lanes(env, mask, &mut other)?;
                let done = each(out, mask, |t, x| op.apply(x, other[t]));
                env.pool.push(other);
                done?;
            }
            Node::Const(_) | Node::Slot(_) => {}
        }
        Ok(())
    }
}

impl Sum {
    fn lanes(&self, env: &mut Env, mask: Option<&[bool]>, out: &mut [i64]) -> Fails {
        let mut base = self.constant;
        for p in &self.uniform {
            base = self.overflow.add(base, p.scalar(env)?).map_err(|w| (w, None))?;
        }
        match &self.table {
            Some(table) => {
                out.copy_from_slice(table);
                if base != 0 {
                    each(out, mask, |_, x| self.overflow.add(x, base))?;
                }
            }
            None => out.fill(base),
        }
        if self.varying.is_empty() {
            return Ok(());
        }
        let (mut product, mut factor) = (env.take(), env.take());
        for p in &self.varying {
            let scale = p.scalar(env)?;
            for (i, f) in p.varying.iter().enumerate() {
                if i == 0 {
                    f.lanes(env, mask, &mut product)?;
                } else {
                    f.lanes(env, mask, &mut factor)?;
                    each(&mut product, mask, |t, x| self.overflow.multiply(x, factor[t]))?;
                }
            }
            each(out, mask, |t, x| self.overflow.add(x, self.overflow.multiply(product[t], scale)?))?;
        }
        env.pool.push(product);
        env.pool.push(factor);
        Ok(())
    }
}

/// Compiles expressions for blocks of `threads` threads under a binding of the symbols.
pub(crate) struct Compiler<'a> {
    pub(crate) threads: usize,
    pub(crate) lookup: &'a dyn Fn(&Symbol) -> Option<Binding>,
}

impl Compiler<'_> {
    /// Compiles an integer expression.
    ///
    /// # Errors
    /// If a symbol has no value.
    pub(crate) fn formula(&self, expr: &Expr) -> Result<Formula, EvalError> {
        Ok(Formula { node: self.node(expr, Overflow::Fails)?, source: expr.clone() })
    }

    pub(crate) fn test(&self, cond: &Cond) -> Result<Test, EvalError> {
        let all = |v: &[Cond]| v.iter().map(|c| self.test(c)).collect::<Result<Vec<_>, _>>();
        let test = match cond {
            Cond::True => Test::Const(true),
            Cond::False => Test::Const(false),
            Cond::Cmp(op, a, b) => Test::Cmp(*op, self.formula(a)?, self.formula(b)?),
            Cond::And(v) => Test::All(all(v)?),
            Cond::Or(v) => Test::Any(all(v)?),
        };
        Ok(self.fold_test(test))
    }

    fn node(&self, expr: &Expr, overflow: Overflow) -> Result<Node, EvalError> {
        let [mut sum, mut fixed] = [(); 2].map(|()| Sum { overflow, ..Sum::default() });
        for (monomial, coefficient) in expr.terms() {
            let mut product = Product { coefficient, uniform: Vec::new(), varying: Vec::new(), overflow };
            for atom in monomial {
                let node = self.atom(atom)?;
                if node.varying() { product.varying.push(node) } else { product.uniform.push(node) }
            }
            let into = if product.is_static() { &mut fixed } else { &mut sum };
            if product.varying.is_empty() { into.uniform.push(product) } else { into.varying.push(product) }
        }
        match self.fold(Node::Sum(Box::new(fixed))) {
            Node::Const(c) => sum.constant = c,
            Node::Table(t) => sum.table = Some(t),
            Node::Sum(s) => {
                sum.uniform.extend(s.uniform);
                sum.varying.extend(s.varying);
            }
            _ => {}
        }
        Ok(sum.simplest())
    }

    fn atom(&self, atom: &Atom) -> Result<Node, EvalError> {
        let binary = |op, a: &Expr, b: &Expr| {
            let (a, b) = (self.node(a, Overflow::Fails)?, self.node(b, Overflow::Fails)?);
            let varying = a.varying() || b.varying();
            Ok(Node::Binary { op, a: Box::new(a), b: Box::new(b), varying })
        };
        let node = match atom {
            Atom::Symbol(s) => match (self.lookup)(s) {
                Some(Binding::Known(c)) => Node::Const(c),
                Some(Binding::Table(t)) => Node::Table(t),
                Some(Binding::Slot(s)) => Node::Slot(s),
                Some(Binding::Lanes(l)) => Node::Lanes(l),
                None => return Err(EvalError::Unbound(s.to_string())),
            },
            Atom::Div(a, b) => binary(BinOp::Div, a, b)?,
            Atom::Mod(a, b) => binary(BinOp::Mod, a, b)?,
            Atom::Min(a, b) => binary(BinOp::Min, a, b)?,
            Atom::Max(a, b) => binary(BinOp::Max, a, b)?,
            Atom::Xor(a, b) => binary(BinOp::Xor, a, b)?,
            Atom::And(a, mask) => Node::Mask { a: Box::new(self.node(a, Overflow::Fails)?), mask: *mask },
            Atom::Wrap(a, width) => Node::Wrap { a: Box::new(self.node(a, Overflow::Wraps)?), width: *width },
        };
        Ok(self.fold(node))
    }

    /// Replaces a node that is known at compile time by its value.
    fn fold(&self, node: Node) -> Node {
        if !node.is_static() {
            return node;
        }
        let mut env = Env::new(0, 0, self.threads);
        if !node.varying() {
            return node.scalar(&env).map_or(node, Node::Const);
        }
        let mut values = vec![0; self.threads];
        match node.lanes(&mut env, None, &mut values) {
            Ok(()) => match values.first() {
                Some(&first) if values.iter().all(|&v| v == first) => Node::Const(first),
                _ => Node::Table(values.into()),
            },
            Err(_) => node,
        }
    }

    fn fold_test(&self, test: Test) -> Test {
        if !test.is_static() || matches!(test, Test::Const(_) | Test::Table(_)) {
            return test;
        }
        let mut env = Env::new(0, 0, self.threads);
        let mut values = vec![false; self.threads];
        match test.lanes(&mut env, None, &mut values) {
            Ok(()) if values.iter().all(|&v| v) => Test::Const(true),
            Ok(()) if values.iter().all(|&v| !v) => Test::Const(false),
            Ok(()) => Test::Table(values.into()),
            Err(_) => test,
        }
    }
}

impl Sum {
    /// Returns the simplest node with this value.
    fn simplest(mut self) -> Node {
        if self.uniform.is_empty() && self.varying.is_empty() {
            return match self.table {
                Some(t) => Node::Table(t),
                None => Node::Const(self.constant),
            };
        }
        if self.constant == 0 && self.table.is_none() && self.uniform.len() + self.varying.len() == 1 {
            let only = self.uniform.first_mut().or(self.varying.first_mut());
            if let Some(p) = only
                && p.coefficient == 1
                && p.uniform.len() + p.varying.len() == 1
                && let Some(node) = p.uniform.pop().or(p.varying.pop())
            {
                return node;
            }
        }
        Node::Sum(Box::new(self))
    }
}

/// Reports whether the mask is empty: then nothing is evaluated, and nothing can fail.
fn nobody(mask: Option<&[bool]>) -> bool {
    mask.is_some_and(|m| !m.contains(&true))
}

/// A compiled integer expression.
#[derive(Clone, Debug)]
pub(crate) struct Formula {
    node: Node,
    /// The original expression, for messages.
    source: Expr,
}

impl Formula {
    /// Reports whether threads may get different values.
    pub(crate) fn varying(&self) -> bool {
        self.node.varying()
    }

    /// Returns the binding of a local integer with this value, if the value is known at compile time.
    pub(crate) fn known(&self) -> Option<Binding> {
        match &self.node {
            Node::Const(c) => Some(Binding::Known(*c)),
            Node::Table(t) => Some(Binding::Table(t.clone())),
            _ => None,
        }
    }

    /// Returns the value of each thread, if it stays the same while a block runs.
    pub(crate) fn as_table(&self, threads: usize) -> Option<Vec<i64>> {
        match &self.node {
            Node::Const(c) => Some(vec![*c; threads]),
            Node::Table(t) => Some(t.to_vec()),
            _ => None,
        }
    }

    pub(crate) fn as_const(&self) -> Option<i64> {
        match self.node {
            Node::Const(c) => Some(c),
            _ => None,
        }
    }

    /// Returns the value of a formula that does not vary.
    pub(crate) fn scalar(&self, env: &Env) -> Result<i64, Failure> {
        self.node.scalar(env).map_err(|w| self.failure(w))
    }

    /// Computes the value for each thread. Threads off the mask get an arbitrary value and never fail.
    pub(crate) fn lanes(&self, env: &mut Env, mask: Option<&[bool]>, out: &mut [i64]) -> Result<(), Failure> {
        if nobody(mask) {
            return Ok(());
        }
        self.node.lanes(env, mask, out).map_err(|w| self.failure(w))
    }

    fn failure(&self, (wrong, thread): (Wrong, Option<usize>)) -> Failure {
        let text = self.source.to_string();
        let error = match wrong {
            // The message names the division alone, if the expression has only one.
            Wrong::DivisionByZero => EvalError::DivisionByZero(match self.source.divisions().as_slice() {
                [only] => only.to_string(),
                _ => text,
            }),
            Wrong::Overflow => EvalError::Overflow(text),
        };
        Failure { error, thread }
    }
}

/// A compiled condition.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Const(bool),
    Table(Arc<[bool]>),
    Cmp(CmpOp, Formula, Formula),
    All(Vec<Test>),
    Any(Vec<Test>),
}

#[inline]
fn compare(op: CmpOp, a: i64, b: i64) -> bool {
    match op {
        CmpOp::Lt => a < b,
        CmpOp::Le => a <= b,
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
    }
}

impl Test {
    /// Reports whether threads may get different answers.
    pub(crate) fn varying(&self) -> bool {
        match self {
            Test::Const(_) => false,
            Test::Table(_) => true,
            Test::Cmp(_, a, b) => a.varying() || b.varying(),
            Test::All(v) | Test::Any(v) => v.iter().any(Test::varying),
        }
    }

    fn is_static(&self) -> bool {
        match self {
            Test::Const(_) | Test::Table(_) => true,
            Test::Cmp(_, a, b) => a.node.is_static() && b.node.is_static(),
            Test::All(v) | Test::Any(v) => v.iter().all(Test::is_static),
        }
    }

    /// Returns the answer of a test that does not vary.
    pub(crate) fn scalar(&self, env: &Env) -> Result<bool, Failure> {
        Ok(match self {
            Test::Const(c) => *c,
            Test::Table(t) => t.first().copied().unwrap_or(false),
            Test::Cmp(op, a, b) => compare(*op, a.scalar(env)?, b.scalar(env)?),
            Test::All(v) => {
                for t in v {
                    if !t.scalar(env)? {
                        return Ok(false);
                    }
                }
                true
            }
            Test::Any(v) => {
                for t in v {
                    if t.scalar(env)? {
                        return Ok(true);
                    }
                }
                false
            }
        })
    }

    /// Computes the answer for each thread. Threads off the mask get an arbitrary answer and never fail.
    pub(crate) fn lanes(
        &self,
        env: &mut Env,
        mask: Option<&[bool]>,
        out: &mut [bool],
    ) -> Result<(), Failure> {
        match self {
            _ if nobody(mask) => {}
            _ if !self.varying() => out.fill(self.scalar(env)?),
            Test::Const(c) => out.fill(*c),
            Test::Table(t) => out.copy_from_slice(t),
            Test::Cmp(op, a, b) => {
                let (mut x, mut y) = (env.take(), env.take());
                a.lanes(env, mask, &mut x)?;
                if b.varying() {
                    b.lanes(env, mask, &mut y)?;
                    out.iter_mut().zip(x.iter().zip(&y)).for_each(|(o, (a, b))| *o = compare(*op, *a, *b));
                } else {
                    let b = b.scalar(env)?;
                    out.iter_mut().zip(&x).for_each(|(o, a)| *o = compare(*op, *a, b));
                }
                env.pool.push(x);
                env.pool.push(y);
            }
            // Short-circuits in each thread: a condition is evaluated only for threads whose answer the earlier conditions leave
            // open.
            Test::All(v) | Test::Any(v) => {
                let any = matches!(self, Test::Any(_));
                let (mut open, mut here) = (env.take_mask(), env.take_mask());
                match mask {
                    Some(m) => open.copy_from_slice(m),
                    None => open.fill(true),
                }
                out.fill(!any);
                for t in v {
                    t.lanes(env, Some(&open), &mut here)?;
                    for ((o, open), here) in out.iter_mut().zip(&mut open).zip(&here) {
                        if *open && *here == any {
                            *o = any;
                            *open = false;
                        }
                    }
                }
                env.masks.push(open);
                env.masks.push(here);
            }
        }
        Ok(())
    }
}
