//! Diagnostics about atomic accesses to global memory whose scope leaves out other blocks.

use std::collections::BTreeSet;

use hx_base::{Diagnostic, Severity, codes};
use hx_index::{Expr, Symbol};
use hx_lower::Lowered;
use hx_tile::{Atomic, Base, Control, Leaf, MemoryScope, Op, OpKind, Stmt};

use super::Places;

/// Returns the findings: an error if all blocks access the same elements, a warning if nothing says that each block has elements of
/// its own.
pub(super) fn narrow(places: &Places<'_>, lowered: &Lowered) -> Vec<Diagnostic> {
    let one = |blocks: &Expr| blocks.as_const() == Some(1);
    if lowered.program.grid.iter().all(|axis| one(&axis.blocks)) {
        return Vec::new();
    }
    let mut search = Search { places, lowered, found: Vec::new() };
    search.body(&lowered.program.body, false);
    search.found
}

struct Search<'a> {
    places: &'a Places<'a>,
    lowered: &'a Lowered,
    found: Vec<Diagnostic>,
}

fn is_block(symbol: &Symbol) -> bool {
    matches!(symbol, Symbol::BlockIdx(_))
}

impl Search<'_> {
    /// Searches statements. `branches`: a condition is around them, so that some blocks may not run them.
    fn body(&mut self, body: &[Stmt], branches: bool) {
        for stmt in body {
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) => self.op(op, branches),
                Stmt::Control(Control::If { cond, then, otherwise }) => {
                    // A condition of the block's index may leave one block.
                    if !cond.symbols().iter().any(is_block) {
                        self.body(then, true);
                        self.body(otherwise, true);
                    }
                }
                Stmt::Control(Control::For { body, .. } | Control::While { body, .. }) => {
                    self.body(body, branches)
                }
                Stmt::Control(Control::Roles(roles)) => {
                    roles.iter().for_each(|role| self.body(&role.body, branches))
                }
                Stmt::Leaf(_) => {}
            }
        }
    }

    fn op(&mut self, op: &Op, branches: bool) {
        let OpKind::Atomic(Atomic { memory, scope: MemoryScope::Block, .. }) = &op.kind else { return };
        let Base::Global(param) = memory.base else { return };
        let symbols: BTreeSet<Symbol> = memory.offsets.iter().flat_map(Expr::symbols).collect();
        if symbols.iter().any(is_block) {
            return;
        }
        let of_launch = |symbol: &Symbol| {
            matches!(
                symbol,
                Symbol::Dim(_) | Symbol::Scalar(_) | Symbol::GridDim(_) | Symbol::Multiprocessors
            )
        };
        let is_certain = !branches && memory.picked.is_none() && symbols.iter().all(of_launch);
        let name = self.lowered.program.tensor_param(param).map_or("", |param| param.name.as_str());
        let Some((file, range)) = self.places.op(self.lowered, op.id) else { return };
        let message = match is_certain {
            true => format!(
                "all blocks access the same elements of `{name}`, each atomically for its own threads only"
            ),
            false => format!(
                "blocks may access the same elements of `{name}`, each atomically for its own threads only"
            ),
        };
        let found = Diagnostic::new(&codes::NARROW_SCOPE, file, range, message);
        let found = found.with_severity(if is_certain { Severity::Error } else { Severity::Warning });
        self.found.push(found.help(
            "leave out `scope:`: accesses to global memory are atomic among all threads of the device then",
        ));
    }
}
