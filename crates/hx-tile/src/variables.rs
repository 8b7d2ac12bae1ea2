//! The symbols that the statements of a program define.

use std::collections::BTreeSet;

use hx_index::Symbol;

use crate::{Control, Leaf, OpKind, Stmt, TileProgram};

impl TileProgram {
    /// Returns the counters of loops, the numbers of groups, and the numbers of the block.
    pub fn variables(&self) -> BTreeSet<Symbol> {
        let mut out = BTreeSet::new();
        collect(&self.body, &mut out);
        out
    }
}

fn collect(stmts: &[Stmt], out: &mut BTreeSet<Symbol>) {
    for stmt in stmts {
        match stmt {
            Stmt::Control(Control::For { var, .. }) => drop(out.insert(var.clone())),
            Stmt::Control(Control::Roles(roles)) => {
                out.extend(roles.iter().filter_map(|role| role.index.clone()));
            }
            Stmt::Control(Control::If { .. } | Control::While { .. }) => {}
            Stmt::Leaf(Leaf::Op(op)) => {
                out.extend(if let OpKind::ReadNumber { var, .. } = &op.kind {
                    Some(var.clone())
                } else {
                    None
                });
            }
            Stmt::Leaf(
                Leaf::Let { var, .. }
                | Leaf::Assign { var, .. }
                | Leaf::LoadScalar { var, .. }
                | Leaf::LetNumber { var, .. }
                | Leaf::AssignNumber { var, .. },
            ) => drop(out.insert(var.clone())),
        }
        stmt.bodies().for_each(|body| collect(body, out));
    }
}
