//! Bodies of items, without positions, and the queries that make them.
//!
//! A single query lowers each item. The body and its source map are projections of its result, so that inference, which reads
//! only the body, does not run again when only positions changed.

use hx_syntax::ast::{self, AstNode as _};

use crate::{
    Bench, Cell, Const, Db, ExprId, ExprStore, FnSignature, ForallVariable, Function, Item, Kernel,
    KernelSignature, Main, PatId, SignatureSourceMap, SourceMap, Test, TypeRefId,
    collect::{Collector, node_range},
};

/// The body of a kernel, function, test, bench, `main` or constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    pub store: ExprStore,
    /// The block of the item; for a constant, its value.
    pub root: ExprId,
    /// `for (m, n) in [...]` of a test or bench.
    pub cases: Option<Cases>,
    /// `forall m in 1..=300, …` of a test; empty if it has none.
    pub forall: Vec<ForallVariable>,
    /// The type annotation of a constant.
    pub ty: Option<TypeRefId>,
}

/// The cases of a parameterized test or bench.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cases {
    /// The pattern that each case is bound to.
    pub pat: PatId,
    /// The list of cases.
    pub values: ExprId,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Lowered<S> {
    signature: S,
    signature_map: SignatureSourceMap,
    body: Body,
    body_map: SourceMap,
}

fn finish_body(
    mut collector: Collector,
    block: Option<ast::Block>,
    clause: Option<ast::CaseClause>,
    forall: Option<ast::ForallClause>,
) -> (Body, SourceMap) {
    let cases = clause.map(|c| Cases { values: collector.expr(c.cases()), pat: collector.pat(c.pattern()) });
    let forall = collector.forall(forall);
    let root = collector.block_expr(block);
    (Body { store: collector.store, root, cases, forall, ty: None }, collector.map)
}

fn header(
    item: &impl ast::AstNode<Language = hx_syntax::Hx>,
    keyword: Option<hx_syntax::SyntaxToken>,
    body: Option<ast::Block>,
) -> text_size::TextRange {
    let whole = node_range(item);
    let start = keyword.map_or(whole.start(), |t| t.text_range().start());
    let semicolon = || hx_syntax::ast::Fn::cast(item.syntax().clone())?.semicolon_token();
    let last = || semicolon().map_or(whole.end(), |end| end.text_range().start());
    let end = body.map_or_else(last, |b| b.syntax().text_range().start());
    text_size::TextRange::new(start, end.max(start))
}

#[salsa::tracked]
fn lowered_kernel<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Option<Lowered<KernelSignature>> {
    let node = kernel.syntax(db)?;
    let mut c = Collector::default();
    let (generics, generic_ranges) = c.generic_params(node.generic_param_list());
    let (params, param_ranges) = c.params(node.param_list());
    let wheres = c.predicates(node.where_clause());
    let grid = node.grid_clause().map(|g| c.expr(g.extents()));
    let threads = node.threads_clause().map(|t| c.expr(t.count()));
    let cluster = node.cluster_clause().map(|t| c.expr(t.extents()));
    let blocks_per_sm = node.residency_clause().map(|t| c.expr(t.count()));
    let signature_map = SignatureSourceMap {
        map: c.map,
        name: node.name().map(|n| node_range(&n)),
        generics: generic_ranges,
        params: param_ranges,
        ptx: None,
        header: header(&node, node.kernel_token(), node.body()),
    };
    let signature =
        KernelSignature { store: c.store, generics, params, wheres, grid, threads, cluster, blocks_per_sm };
    let (body, body_map) = finish_body(Collector::default(), node.body(), None, None);
    Some(Lowered { signature, signature_map, body, body_map })
}

#[salsa::tracked]
fn lowered_fn<'db>(db: &'db dyn Db, function: Function<'db>) -> Option<Lowered<FnSignature>> {
    let node = function.syntax(db)?;
    let mut c = Collector::default();
    let (generics, generic_ranges) = c.generic_params(node.generic_param_list());
    let (params, param_ranges) = c.params(node.param_list());
    let ret = node.ret_type().map(|r| c.type_ref(r.ty()));
    let wheres = c.predicates(node.where_clause());
    let signature_map = SignatureSourceMap {
        map: c.map,
        name: node.name().map(|n| node_range(&n)),
        generics: generic_ranges,
        params: param_ranges,
        ptx: node.ptx().and_then(|attr| Some(attr.string()?.syntax().text_range())),
        header: header(&node, node.fn_token(), node.body()),
    };
    let signature = FnSignature { store: c.store, generics, params, ret, wheres };
    let (body, body_map) = finish_body(Collector::default(), node.body(), None, None);
    Some(Lowered { signature, signature_map, body, body_map })
}

/// Reports whether an item is a function that ends with `;` in place of a body.
pub(crate) fn is_declared<'db>(db: &'db dyn Db, item: Item<'db>) -> bool {
    matches!(item, Item::Function(function) if *has_no_body(db, function))
}

#[salsa::tracked]
fn has_no_body<'db>(db: &'db dyn Db, function: Function<'db>) -> bool {
    function.syntax(db).is_some_and(|node| node.body().is_none() && node.semicolon_token().is_some())
}

#[salsa::tracked]
fn lowered_const<'db>(db: &'db dyn Db, item: Const<'db>) -> Option<(Body, SourceMap)> {
    let node = item.syntax(db)?;
    let mut c = Collector::default();
    let ty = node.ty().map(|t| c.type_ref(Some(t)));
    let root = c.expr(node.value());
    Some((Body { store: c.store, root, cases: None, forall: Vec::new(), ty }, c.map))
}

#[salsa::tracked]
fn lowered_test<'db>(db: &'db dyn Db, test: Test<'db>) -> Option<(Body, SourceMap)> {
    let node = test.syntax(db)?;
    Some(finish_body(Collector::default(), node.body(), node.case_clause(), node.forall_clause()))
}

#[salsa::tracked]
fn lowered_bench<'db>(db: &'db dyn Db, bench: Bench<'db>) -> Option<(Body, SourceMap)> {
    let node = bench.syntax(db)?;
    Some(finish_body(Collector::default(), node.body(), node.case_clause(), node.forall_clause()))
}

#[salsa::tracked]
fn lowered_main<'db>(db: &'db dyn Db, main: Main<'db>) -> Option<(Body, SourceMap)> {
    let node = main.syntax(db)?;
    Some(finish_body(Collector::default(), node.body(), None, None))
}

#[salsa::tracked]
fn lowered_cell<'db>(db: &'db dyn Db, cell: Cell<'db>) -> Option<(Body, SourceMap)> {
    let node = cell.syntax(db)?;
    let mut c = Collector::default();
    let root = c.cell_block(node);
    Some((Body { store: c.store, root, cases: None, forall: Vec::new(), ty: None }, c.map))
}

/// Returns the header of a kernel.
#[salsa::tracked]
pub fn kernel_signature<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> KernelSignature {
    lowered_kernel(db, kernel).as_ref().map(|l| l.signature.clone()).unwrap_or_default()
}

/// Returns the header of a tile function.
#[salsa::tracked]
pub fn fn_signature<'db>(db: &'db dyn Db, function: Function<'db>) -> FnSignature {
    lowered_fn(db, function).as_ref().map(|l| l.signature.clone()).unwrap_or_default()
}

/// Returns the places of the header of a kernel or function; `None` for other items.
pub fn signature_source_map<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<&'db SignatureSourceMap> {
    match item {
        Item::Kernel(it) => lowered_kernel(db, it).as_ref().map(|l| &l.signature_map),
        Item::Function(it) => lowered_fn(db, it).as_ref().map(|l| &l.signature_map),
        _ => None,
    }
}

/// Returns the body of an item; empty for a `use`.
#[salsa::tracked]
pub fn body_of<'db>(db: &'db dyn Db, item: Item<'db>) -> Body {
    let pair = |lowered: &Option<(Body, SourceMap)>| lowered.as_ref().map(|(body, _)| body.clone());
    let body = match item {
        Item::Kernel(it) => lowered_kernel(db, it).as_ref().map(|l| l.body.clone()),
        Item::Function(it) => lowered_fn(db, it).as_ref().map(|l| l.body.clone()),
        Item::Const(it) => pair(lowered_const(db, it)),
        Item::Test(it) => pair(lowered_test(db, it)),
        Item::Bench(it) => pair(lowered_bench(db, it)),
        Item::Main(it) => pair(lowered_main(db, it)),
        Item::Cell(it) => pair(lowered_cell(db, it)),
        Item::Use(_) => None,
    };
    body.unwrap_or_else(|| finish_body(Collector::default(), None, None, None).0)
}

/// Returns the places of an item's body; `None` for a `use`. Only code that reports diagnostics may call this: a query that
/// reads places runs again whenever text moves.
pub fn body_source_map<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<&'db SourceMap> {
    let pair = |lowered: &'db Option<(Body, SourceMap)>| lowered.as_ref().map(|(_, map)| map);
    match item {
        Item::Kernel(it) => lowered_kernel(db, it).as_ref().map(|l| &l.body_map),
        Item::Function(it) => lowered_fn(db, it).as_ref().map(|l| &l.body_map),
        Item::Const(it) => pair(lowered_const(db, it)),
        Item::Test(it) => pair(lowered_test(db, it)),
        Item::Bench(it) => pair(lowered_bench(db, it)),
        Item::Main(it) => pair(lowered_main(db, it)),
        Item::Cell(it) => pair(lowered_cell(db, it)),
        Item::Use(_) => None,
    }
}
