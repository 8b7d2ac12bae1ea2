//! The nodes of a compiled expression, and their evaluation: once for all threads, or for each.

use std::sync::Arc;

use hx_index::{Width, floor_div, floor_mod};

use super::Env;

#[derive(Clone, Copy, Debug)]
pub(super) enum Wrong {
    DivisionByZero,
    Overflow,
}

pub(super) type Fails<T = ()> = Result<T, (Wrong, Option<usize>)>;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum BinOp {
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
pub(super) enum Node {
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
    /// Wraps the result. The sum and the products of `a` itself wrap, too; an overflow inside of its quotients, minima etc.
    /// fails.
    Wrap {
        a: Box<Node>,
        width: Width,
    },
}

/// `constant + table[thread] + Σ uniform + Σ varying`.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub(super) constant: i64,
    pub(super) table: Option<Arc<[i64]>>,
    pub(super) uniform: Vec<Product>,
    pub(super) varying: Vec<Product>,
    pub(super) overflow: Overflow,
}

/// `coefficient · Π uniform · Π varying`.
#[derive(Clone, Debug)]
pub(super) struct Product {
    pub(super) coefficient: i64,
    pub(super) uniform: Vec<Node>,
    pub(super) varying: Vec<Node>,
    pub(super) overflow: Overflow,
}

/// The behaviour of a sum or product beyond 64 bits.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) enum Overflow {
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
    pub(super) fn scalar(&self, env: &Env) -> Fails<i64> {
        self.uniform.iter().try_fold(self.coefficient, |p, f| {
            self.overflow.multiply(p, f.scalar(env)?).map_err(|w| (w, None))
        })
    }

    pub(super) fn is_static(&self) -> bool {
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
    pub(super) fn varying(&self) -> bool {
        match self {
            Node::Const(_) | Node::Slot(_) => false,
            Node::Table(_) | Node::Lanes(_) => true,
            Node::Sum(s) => s.table.is_some() || !s.varying.is_empty(),
            Node::Binary { varying, .. } => *varying,
            Node::Mask { a, .. } | Node::Wrap { a, .. } => a.varying(),
        }
    }

    /// Reports whether the value stays the same while a block runs.
    pub(super) fn is_static(&self) -> bool {
        match self {
            Node::Const(_) | Node::Table(_) => true,
            Node::Slot(_) | Node::Lanes(_) => false,
            Node::Sum(s) => s.uniform.iter().chain(&s.varying).all(Product::is_static),
            Node::Binary { a, b, .. } => a.is_static() && b.is_static(),
            Node::Mask { a, .. } | Node::Wrap { a, .. } => a.is_static(),
        }
    }

    /// Returns the value of a node that does not vary.
    pub(super) fn scalar(&self, env: &Env) -> Fails<i64> {
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
    pub(super) fn lanes(&self, env: &mut Env, mask: Option<&[bool]>, out: &mut [i64]) -> Fails {
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
    pub(super) fn lanes(&self, env: &mut Env, mask: Option<&[bool]>, out: &mut [i64]) -> Fails {
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

    /// Returns the simplest node with this value. A sum with a table has the constant 0.
    pub(super) fn simplest(mut self) -> Node {
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
