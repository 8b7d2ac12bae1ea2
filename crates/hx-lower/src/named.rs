//! The argument `by` of copies, loads and products: the instruction by its name.

use hx_base::{codes, nearest};
use hx_hir::ExprId;
use hx_target::{Instructions, Space, Target};

use crate::error::Lower;
use crate::lowering::Lowering;
use crate::naming::Naming;
use crate::value::Value;

impl Lowering<'_> {
    /// Lowers a call whose operations use the instructions that its argument `by` names.
    pub(crate) fn by(
        &mut self,
        by: Option<ExprId>,
        lower: impl FnOnce(&mut Self) -> Lower<Value>,
    ) -> Lower<Value> {
        let naming = match by {
            Some(at) => Some(self.naming(at)?),
            None => None,
        };
        let outer = std::mem::replace(&mut self.naming, naming);
        let result = lower(self);
        let naming = std::mem::replace(&mut self.naming, outer);
        let (Some(at), Some(Naming { named, is_met: false })) = (by, naming) else { return result };
        result?;
        let mut error = self.error(
            &codes::NO_SUCH_OPERATION,
            at,
            format!("`{}` {}, which no operation of this call does", named.text, does(&named, self.target)),
        );
        // `copy` goes through registers; only these instructions do not.
        let ends = named.ends(self.target.rows());
        if let Some([from, to]) = ends.into_iter().find(|ends| ends.iter().all(|end| *end != Space::Register))
        {
            let (from, to) = (from.name(), to.name());
            error = error.help(format!(
                "`copy_async` copies from {from} to {to} memory with it; `copy` goes through registers"
            ));
        }
        Err(self.report(error))
    }

    /// Finds the instructions of the target that an argument `by` names.
    fn naming(&mut self, at: ExprId) -> Lower<Naming> {
        let text = self.text(at)?;
        let named = Instructions::named(&text, self.target.rows());
        if !named.moves_nothing() {
            return Ok(Naming { named, is_met: false });
        }
        let target = self.target;
        let message = if named.is_empty() {
            format!("{target} has no instruction `{text}`")
        } else {
            format!("`{text}` neither copies nor multiplies: its places follow from the text and the layouts")
        };
        let mut error = self.error(&codes::NO_SUCH_OPERATION, at, message);
        let has = |other: &&Target| !Instructions::named(&text, other.rows()).moves_nothing();
        let others: Vec<&str> = Target::all().iter().filter(has).map(|other| other.name()).collect();
        let near = nearest(&text, Instructions::names(target.rows()))
            .filter(|near| named.is_empty() && *near != text);
        error = match (others.as_slice(), near) {
            ([], Some(near)) => error.help(format!("`{near}` is near in spelling")),
            ([], None) => error.help("`hx layout why` shows the names of the instructions that a kernel has"),
            ([one], _) => error.help(format!("{one} has it")),
            (all, _) => error.help(format!("{} have it", all.join(", "))),
        };
        Err(self.report(error))
    }
}

/// Says what the instructions do.
fn does(named: &Instructions, target: Target) -> String {
    let moves = named.ends(target.rows());
    let ways: Vec<String> =
        moves.iter().map(|[from, to]| format!("{} to {} memory", from.name(), to.name())).collect();
    match ways.is_empty() {
        true => "multiplies matrices".to_owned(),
        false => format!("moves {}", ways.join(" or ")),
    }
}
