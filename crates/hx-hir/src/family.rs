//! The family of a kernel: `#[family(gemm<BN = 128>, gemm_pingpong, gemm_swapped<BM = 16>)]` before it. A launch of the kernel that
//! leaves the choice open runs the member that is fastest for its shape.
//!
//! As the `tune` clause, the list has a store of its own: an edit of it lowers and solves nothing again.

use hx_syntax::ast;

use crate::{Db, ExprId, ExprStore, Kernel, SourceMap, collect::Collector};

/// The name of the attribute.
pub(crate) const FAMILY: &str = "family";

/// The members that a kernel lists; none if it has no family.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FamilyList {
    pub store: ExprStore,
    /// Each an [`crate::Expr::Path`] with compile-time arguments, unless the text is wrong.
    pub members: Vec<ExprId>,
}

#[salsa::tracked]
fn lowered_family<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Option<(FamilyList, SourceMap)> {
    let named = |attr: &ast::Attr| attr.text().as_deref() == Some(FAMILY);
    let attr = kernel.syntax(db)?.attrs().find(named)?;
    let mut c = Collector::default();
    let args = attr.arg_list().into_iter().flat_map(|list| list.args());
    let members = args.map(|arg| c.expr(arg.expr())).collect();
    Some((FamilyList { store: c.store, members }, c.map))
}

/// Returns the members that a kernel lists.
#[salsa::tracked]
pub fn kernel_family<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> FamilyList {
    lowered_family(db, kernel).as_ref().map(|(list, _)| list.clone()).unwrap_or_default()
}

/// Returns the places of a kernel's list of members, if it has one.
pub fn family_source_map<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Option<&'db SourceMap> {
    lowered_family(db, kernel).as_ref().map(|(_, map)| map)
}
