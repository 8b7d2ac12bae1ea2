//! The caches of global memory: prefetches, and the arguments `l1` and `l2` of copies and loads. A view of global memory carries the hints
//! of the access through it, so that they follow each part of an access that the compiler divides.

use hx_base::codes;
use hx_hir::ExprId;
use hx_target::{Cache, L1, L2};
use hx_tile::{OpKind, Param};

use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Tensor, Value};

/// The hints of a call, and the arguments that give them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Hints {
    cache: Cache,
    l1: Option<ExprId>,
    l2: Option<ExprId>,
}

impl Hints {
    /// Returns the first argument that gives a hint.
    pub(crate) fn at(self) -> Option<ExprId> {
        self.l1.or(self.l2)
    }
}

impl Lowering<'_> {
    /// Evaluates the arguments `l1` and `l2` of a call.
    pub(crate) fn hints(&mut self, l1: Option<ExprId>, l2: Option<ExprId>) -> Lower<Hints> {
        let cache = Cache {
            l1: l1
                .map(|at| self.word(at, "hint for L1", L1::ALL.map(|hint| (hint.name(), hint))))
                .transpose()?,
            l2: l2
                .map(|at| self.word(at, "hint for L2", L2::ALL.map(|hint| (hint.name(), hint))))
                .transpose()?,
        };
        Ok(Hints { cache, l1, l2 })
    }

    /// As [`Lowering::hints`], of an asynchronous copy. It refuses a hint for L1.
    pub(crate) fn hints_of_copies(&mut self, l1: Option<ExprId>, l2: Option<ExprId>) -> Lower<Hints> {
        if let Some(at) = l1 {
            let message = "found `l1` of a `copy_async`, which takes no hint for L1";
            let error = self.error(&codes::NO_SUCH_OPERATION, at, message);
            let help = "boxes and accesses of 16 B go past L1 by themselves; `copy` and `load` take the hint";
            return Err(self.report(error.help(help)));
        }
        self.hints(None, l2)
    }

    /// Gives the hints to the ends of an access that are in global memory, which is any other end's error.
    pub(crate) fn give_hints<const N: usize>(
        &mut self,
        hints: Hints,
        name: &str,
        ends: [&mut Tensor; N],
    ) -> Lower<()> {
        let Some(at) = hints.at() else { return Ok(()) };
        let spaces: Vec<&str> = ends.iter().map(|end| end.space()).collect();
        let mut is_given = false;
        for end in ends.into_iter().filter(|end| end.is_global()) {
            end.view.cache = hints.cache;
            is_given = true;
        }
        if is_given {
            return Ok(());
        }
        let argument = if hints.l1.is_some() { "l1" } else { "l2" };
        let between = match spaces.as_slice() {
            [from, to] => format!("between {from} and {to} memory"),
            all => format!("of {} memory", all.join(" and ")),
        };
        let message =
            format!("found `{argument}` of a `{name}` {between}, expected an access to global memory");
        let error = self.error(&codes::NO_SUCH_OPERATION, at, message);
        Err(self.report(error.help("only accesses to global memory go through the caches")))
    }

    /// Lowers `prefetch(view)`.
    pub(crate) fn prefetch(&mut self, id: ExprId, at: ExprId) -> Lower<Value> {
        let value = self.eval(at)?;
        let mut t = self.want_global(at, value, "prefetch")?;
        let param = t.view.base.param().and_then(|param| self.output.param(param));
        if matches!(param, Some(Param::Tensor(param)) if param.block.is_some()) {
            return self.unsupported(at, "`prefetch` of a packed tensor");
        }
        if t.view.picked.is_some() {
            return self.unsupported(at, "`prefetch` of gathered elements");
        }
        t.view.groups.clear();
        let view = self.static_view(at, &t)?;
        self.unit(OpKind::Prefetch { view }, id)
    }
}
