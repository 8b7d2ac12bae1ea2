//! Compiled conditions.

use std::sync::Arc;

use hx_index::CmpOp;

use super::{Env, Failure, Formula, nobody};

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

    pub(super) fn is_static(&self) -> bool {
        match self {
            Test::Const(_) | Test::Table(_) => true,
            Test::Cmp(_, a, b) => a.node.is_static() && b.node.is_static(),
            Test::All(v) | Test::Any(v) => v.iter().all(Test::is_static),
        }
    }

    /// Returns the answer of a test that does not vary.
    ///
    /// # Errors
    /// If a number that it compares has no value.
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
