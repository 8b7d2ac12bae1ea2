// Written by `cargo xtask codegen` from grammar/hx.ungram. Do not edit.

use crate::{
    Hx,
    SyntaxKind::{self, *},
    SyntaxNode, SyntaxToken,
    ast::{AstChildren, AstNode, support},
};

/// A node of kind `SOURCE_FILE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceFile {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl SourceFile {
    pub fn items(&self) -> AstChildren<Item> {
        support::children(&self.syntax)
    }
}

impl AstNode for SourceFile {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == SOURCE_FILE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `CELL`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cell {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Cell {
    pub fn items(&self) -> AstChildren<Item> {
        support::children(&self.syntax)
    }
    pub fn statements(&self) -> AstChildren<Stmt> {
        support::children(&self.syntax)
    }
    pub fn tail_expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for Cell {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CELL
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `USE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Use {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Use {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn use_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, USE_KW)
    }
    pub fn use_tree(&self) -> Option<UseTree> {
        support::child(&self.syntax)
    }
    pub fn semicolon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SEMICOLON)
    }
}

impl AstNode for Use {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == USE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `CONST`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Const {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Const {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn const_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, CONST_KW)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn ty(&self) -> Option<Type> {
        support::child(&self.syntax)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
    pub fn value(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn semicolon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SEMICOLON)
    }
}

impl AstNode for Const {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CONST
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `FN`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fn {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Fn {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn fn_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FN_KW)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn generic_param_list(&self) -> Option<GenericParamList> {
        support::child(&self.syntax)
    }
    pub fn param_list(&self) -> Option<ParamList> {
        support::child(&self.syntax)
    }
    pub fn ret_type(&self) -> Option<RetType> {
        support::child(&self.syntax)
    }
    pub fn where_clause(&self) -> Option<WhereClause> {
        support::child(&self.syntax)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
    pub fn semicolon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SEMICOLON)
    }
}

impl AstNode for Fn {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FN
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `KERNEL`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kernel {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Kernel {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn kernel_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, KERNEL_KW)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn generic_param_list(&self) -> Option<GenericParamList> {
        support::child(&self.syntax)
    }
    pub fn param_list(&self) -> Option<ParamList> {
        support::child(&self.syntax)
    }
    pub fn where_clause(&self) -> Option<WhereClause> {
        support::child(&self.syntax)
    }
    pub fn tune_clause(&self) -> Option<TuneClause> {
        support::child(&self.syntax)
    }
    pub fn grid_clause(&self) -> Option<GridClause> {
        support::child(&self.syntax)
    }
    pub fn threads_clause(&self) -> Option<ThreadsClause> {
        support::child(&self.syntax)
    }
    pub fn cluster_clause(&self) -> Option<ClusterClause> {
        support::child(&self.syntax)
    }
    pub fn residency_clause(&self) -> Option<ResidencyClause> {
        support::child(&self.syntax)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

impl AstNode for Kernel {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == KERNEL
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `TEST`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Test {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Test {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn test_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, TEST_KW)
    }
    pub fn name_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STRING)
    }
    pub fn case_clause(&self) -> Option<CaseClause> {
        support::child(&self.syntax)
    }
    pub fn forall_clause(&self) -> Option<ForallClause> {
        support::child(&self.syntax)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

impl AstNode for Test {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TEST
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `BENCH`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bench {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Bench {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn bench_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, BENCH_KW)
    }
    pub fn name_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STRING)
    }
    pub fn case_clause(&self) -> Option<CaseClause> {
        support::child(&self.syntax)
    }
    pub fn forall_clause(&self) -> Option<ForallClause> {
        support::child(&self.syntax)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

impl AstNode for Bench {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == BENCH
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `MAIN`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Main {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Main {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn main_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, MAIN_KW)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

impl AstNode for Main {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == MAIN
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `ATTR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Attr {
    pub fn pound_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, POUND)
    }
    pub fn l_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACK)
    }
    pub fn path(&self) -> Option<Path> {
        support::child(&self.syntax)
    }
    pub fn arg_list(&self) -> Option<ArgList> {
        support::child(&self.syntax)
    }
    pub fn r_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACK)
    }
}

impl AstNode for Attr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ATTR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `USE_TREE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UseTree {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl UseTree {
    pub fn path(&self) -> Option<Path> {
        support::child(&self.syntax)
    }
    pub fn colon2_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON2)
    }
    pub fn use_tree_list(&self) -> Option<UseTreeList> {
        support::child(&self.syntax)
    }
    pub fn rename(&self) -> Option<Rename> {
        support::child(&self.syntax)
    }
}

impl AstNode for UseTree {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == USE_TREE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `PATH`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Path {
    pub fn segments(&self) -> AstChildren<NameRef> {
        support::children(&self.syntax)
    }
}

impl AstNode for Path {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PATH
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `USE_TREE_LIST`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UseTreeList {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl UseTreeList {
    pub fn l_brace_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACE)
    }
    pub fn use_trees(&self) -> AstChildren<UseTree> {
        support::children(&self.syntax)
    }
    pub fn r_brace_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACE)
    }
}

impl AstNode for UseTreeList {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == USE_TREE_LIST
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `RENAME`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rename {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Rename {
    pub fn as_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AS_KW)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
}

impl AstNode for Rename {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == RENAME
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Name {
    pub fn ident_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IDENT)
    }
}

impl AstNode for Name {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == NAME
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `GENERIC_PARAM_LIST`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GenericParamList {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl GenericParamList {
    pub fn l_angle_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_ANGLE)
    }
    pub fn params(&self) -> AstChildren<GenericParam> {
        support::children(&self.syntax)
    }
    pub fn r_angle_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_ANGLE)
    }
}

impl AstNode for GenericParamList {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == GENERIC_PARAM_LIST
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `PARAM_LIST`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParamList {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ParamList {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn params(&self) -> AstChildren<Param> {
        support::children(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

impl AstNode for ParamList {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PARAM_LIST
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `RET_TYPE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RetType {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl RetType {
    pub fn thin_arrow_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, THIN_ARROW)
    }
    pub fn ty(&self) -> Option<Type> {
        support::child(&self.syntax)
    }
}

impl AstNode for RetType {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == RET_TYPE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `WHERE_CLAUSE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WhereClause {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl WhereClause {
    pub fn where_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, WHERE_KW)
    }
    pub fn predicates(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
}

impl AstNode for WhereClause {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == WHERE_CLAUSE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `BLOCK`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Block {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Block {
    pub fn l_brace_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACE)
    }
    pub fn statements(&self) -> AstChildren<Stmt> {
        support::children(&self.syntax)
    }
    pub fn tail_expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn r_brace_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACE)
    }
}

impl AstNode for Block {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == BLOCK
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `TUNE_CLAUSE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TuneClause {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl TuneClause {
    pub fn tune_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, TUNE_KW)
    }
    pub fn axes(&self) -> AstChildren<TuneAxis> {
        support::children(&self.syntax)
    }
}

impl AstNode for TuneClause {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TUNE_CLAUSE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `GRID_CLAUSE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GridClause {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl GridClause {
    pub fn grid_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, GRID_KW)
    }
    pub fn extents(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for GridClause {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == GRID_CLAUSE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `THREADS_CLAUSE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ThreadsClause {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ThreadsClause {
    pub fn threads_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, THREADS_KW)
    }
    pub fn count(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for ThreadsClause {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == THREADS_CLAUSE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `CLUSTER_CLAUSE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClusterClause {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ClusterClause {
    pub fn cluster_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, CLUSTER_KW)
    }
    pub fn extents(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for ClusterClause {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CLUSTER_CLAUSE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `RESIDENCY_CLAUSE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResidencyClause {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ResidencyClause {
    pub fn blocks_per_sm_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, BLOCKS_PER_SM_KW)
    }
    pub fn count(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for ResidencyClause {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == RESIDENCY_CLAUSE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `CASE_CLAUSE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CaseClause {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl CaseClause {
    pub fn for_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FOR_KW)
    }
    pub fn pattern(&self) -> Option<Pattern> {
        support::child(&self.syntax)
    }
    pub fn in_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IN_KW)
    }
    pub fn cases(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for CaseClause {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CASE_CLAUSE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `FORALL_CLAUSE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ForallClause {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ForallClause {
    pub fn forall_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FORALL_KW)
    }
    pub fn variables(&self) -> AstChildren<ForallVariable> {
        support::children(&self.syntax)
    }
}

impl AstNode for ForallClause {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FORALL_CLAUSE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `FORALL_VARIABLE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ForallVariable {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ForallVariable {
    pub fn pattern(&self) -> Option<Pattern> {
        support::child(&self.syntax)
    }
    pub fn in_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IN_KW)
    }
    pub fn domain(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for ForallVariable {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FORALL_VARIABLE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `ARG_LIST`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArgList {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ArgList {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn args(&self) -> AstChildren<Arg> {
        support::children(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

impl AstNode for ArgList {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ARG_LIST
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `GENERIC_PARAM`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GenericParam {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl GenericParam {
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn ty(&self) -> Option<Type> {
        support::child(&self.syntax)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
    pub fn default(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for GenericParam {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == GENERIC_PARAM
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `PARAM`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Param {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Param {
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn ty(&self) -> Option<Type> {
        support::child(&self.syntax)
    }
}

impl AstNode for Param {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PARAM
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `TUNE_AXIS`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TuneAxis {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl TuneAxis {
    pub fn name_ref(&self) -> Option<NameRef> {
        support::child(&self.syntax)
    }
    pub fn in_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IN_KW)
    }
    pub fn values(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn tune_step(&self) -> Option<TuneStep> {
        support::child(&self.syntax)
    }
}

impl AstNode for TuneAxis {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TUNE_AXIS
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `NAME_REF`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NameRef {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl NameRef {
    pub fn ident_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IDENT)
    }
}

impl AstNode for NameRef {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == NAME_REF
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `TUNE_STEP`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TuneStep {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl TuneStep {
    pub fn step_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STEP_KW)
    }
    pub fn step(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for TuneStep {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TUNE_STEP
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `NAMED_TYPE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamedType {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl NamedType {
    pub fn mut_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, MUT_KW)
    }
    pub fn path(&self) -> Option<Path> {
        support::child(&self.syntax)
    }
    pub fn shape(&self) -> Option<Shape> {
        support::child(&self.syntax)
    }
    pub fn layout_annotation(&self) -> Option<LayoutAnnotation> {
        support::child(&self.syntax)
    }
}

impl AstNode for NamedType {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == NAMED_TYPE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `TUPLE_TYPE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TupleType {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl TupleType {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn fields(&self) -> AstChildren<Type> {
        support::children(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

impl AstNode for TupleType {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TUPLE_TYPE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `FN_TYPE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FnType {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl FnType {
    pub fn fn_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FN_KW)
    }
}

impl AstNode for FnType {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FN_TYPE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `SHAPE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shape {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Shape {
    pub fn l_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACK)
    }
    pub fn dims(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
    pub fn r_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACK)
    }
}

impl AstNode for Shape {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == SHAPE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `LAYOUT_ANNOTATION`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LayoutAnnotation {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl LayoutAnnotation {
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn value(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for LayoutAnnotation {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == LAYOUT_ANNOTATION
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `LET_STMT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LetStmt {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl LetStmt {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn let_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, LET_KW)
    }
    pub fn pattern(&self) -> Option<Pattern> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn ty(&self) -> Option<Type> {
        support::child(&self.syntax)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
    pub fn initializer(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn semicolon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SEMICOLON)
    }
}

impl AstNode for LetStmt {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == LET_STMT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `ASSIGN_STMT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AssignStmt {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl AssignStmt {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn place(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn value(&self) -> Option<Expr> {
        support::children(&self.syntax).nth(1)
    }
    pub fn semicolon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SEMICOLON)
    }
}

impl AstNode for AssignStmt {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ASSIGN_STMT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `EXPR_STMT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExprStmt {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ExprStmt {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn semicolon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SEMICOLON)
    }
}

impl AstNode for ExprStmt {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == EXPR_STMT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `FOR_STMT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ForStmt {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ForStmt {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn for_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FOR_KW)
    }
    pub fn pattern(&self) -> Option<Pattern> {
        support::child(&self.syntax)
    }
    pub fn in_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IN_KW)
    }
    pub fn iterable(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn pipelined_clause(&self) -> Option<PipelinedClause> {
        support::child(&self.syntax)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

impl AstNode for ForStmt {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FOR_STMT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `WHILE_STMT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WhileStmt {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl WhileStmt {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn while_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, WHILE_KW)
    }
    pub fn condition(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

impl AstNode for WhileStmt {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == WHILE_STMT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `WARP_GROUPS_STMT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WarpGroupsStmt {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl WarpGroupsStmt {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn warp_groups_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, WARP_GROUPS_KW)
    }
    pub fn l_brace_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACE)
    }
    pub fn roles(&self) -> AstChildren<WarpRole> {
        support::children(&self.syntax)
    }
    pub fn r_brace_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACE)
    }
}

impl AstNode for WarpGroupsStmt {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == WARP_GROUPS_STMT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `MEASURE_STMT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MeasureStmt {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl MeasureStmt {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn measure_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, MEASURE_KW)
    }
    pub fn quantities(&self) -> AstChildren<MeasureQuantity> {
        support::children(&self.syntax)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

impl AstNode for MeasureStmt {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == MEASURE_STMT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `BASELINE_STMT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BaselineStmt {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl BaselineStmt {
    pub fn attrs(&self) -> AstChildren<Attr> {
        support::children(&self.syntax)
    }
    pub fn baseline_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, BASELINE_KW)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn semicolon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SEMICOLON)
    }
}

impl AstNode for BaselineStmt {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == BASELINE_STMT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `PIPELINED_CLAUSE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PipelinedClause {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl PipelinedClause {
    pub fn pipelined_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, PIPELINED_KW)
    }
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn stages(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

impl AstNode for PipelinedClause {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PIPELINED_CLAUSE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `WARP_ROLE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WarpRole {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl WarpRole {
    pub fn each_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EACH_KW)
    }
    pub fn role_count(&self) -> Option<RoleCount> {
        support::child(&self.syntax)
    }
    pub fn role_binder(&self) -> Option<RoleBinder> {
        support::child(&self.syntax)
    }
    pub fn registers_clause(&self) -> Option<RegistersClause> {
        support::child(&self.syntax)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

impl AstNode for WarpRole {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == WARP_ROLE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `ROLE_COUNT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RoleCount {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl RoleCount {
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for RoleCount {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ROLE_COUNT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `ROLE_BINDER`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RoleBinder {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl RoleBinder {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

impl AstNode for RoleBinder {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ROLE_BINDER
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `REGISTERS_CLAUSE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RegistersClause {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl RegistersClause {
    pub fn registers_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, REGISTERS_KW)
    }
    pub fn count(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for RegistersClause {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == REGISTERS_CLAUSE
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `MEASURE_QUANTITY`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MeasureQuantity {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl MeasureQuantity {
    pub fn amount(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for MeasureQuantity {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == MEASURE_QUANTITY
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `LITERAL`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Literal {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Literal {
}

impl AstNode for Literal {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == LITERAL
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `PATH_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl PathExpr {
    pub fn path(&self) -> Option<Path> {
        support::child(&self.syntax)
    }
    pub fn generic_arg_list(&self) -> Option<GenericArgList> {
        support::child(&self.syntax)
    }
}

impl AstNode for PathExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PATH_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `PAREN_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParenExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ParenExpr {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

impl AstNode for ParenExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PAREN_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `TUPLE_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TupleExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl TupleExpr {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn fields(&self) -> AstChildren<TupleField> {
        support::children(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

impl AstNode for TupleExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TUPLE_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `ARRAY_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArrayExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ArrayExpr {
    pub fn l_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACK)
    }
    pub fn elements(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
    pub fn r_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACK)
    }
}

impl AstNode for ArrayExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ARRAY_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `CALL_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl CallExpr {
    pub fn callee(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn arg_list(&self) -> Option<ArgList> {
        support::child(&self.syntax)
    }
}

impl AstNode for CallExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CALL_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `METHOD_CALL_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MethodCallExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl MethodCallExpr {
    pub fn receiver(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn dot_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, DOT)
    }
    pub fn name_ref(&self) -> Option<NameRef> {
        support::child(&self.syntax)
    }
    pub fn arg_list(&self) -> Option<ArgList> {
        support::child(&self.syntax)
    }
}

impl AstNode for MethodCallExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == METHOD_CALL_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `FIELD_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl FieldExpr {
    pub fn base(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn dot_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, DOT)
    }
    pub fn name_ref(&self) -> Option<NameRef> {
        support::child(&self.syntax)
    }
}

impl AstNode for FieldExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FIELD_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `INDEX_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndexExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl IndexExpr {
    pub fn base(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn index_list(&self) -> Option<IndexList> {
        support::child(&self.syntax)
    }
}

impl AstNode for IndexExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == INDEX_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `GUARDED_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GuardedExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl GuardedExpr {
    pub fn read(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn else_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ELSE_KW)
    }
    pub fn otherwise(&self) -> Option<Expr> {
        support::children(&self.syntax).nth(1)
    }
}

impl AstNode for GuardedExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == GUARDED_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `UNARY_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnaryExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl UnaryExpr {
    pub fn operand(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for UnaryExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == UNARY_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `BINARY_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BinaryExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl BinaryExpr {
    pub fn lhs(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn rhs(&self) -> Option<Expr> {
        support::children(&self.syntax).nth(1)
    }
}

impl AstNode for BinaryExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == BINARY_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `LAYOUT_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LayoutExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl LayoutExpr {
    pub fn shape(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn stride(&self) -> Option<Expr> {
        support::children(&self.syntax).nth(1)
    }
}

impl AstNode for LayoutExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == LAYOUT_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `RANGE_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RangeExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl RangeExpr {
    pub fn dot2_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, DOT2)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
}

impl AstNode for RangeExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == RANGE_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `NEW_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NewExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl NewExpr {
    pub fn new_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, NEW_KW)
    }
}

impl AstNode for NewExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == NEW_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `WILDCARD_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WildcardExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl WildcardExpr {
    pub fn underscore_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, UNDERSCORE)
    }
}

impl AstNode for WildcardExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == WILDCARD_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `CLOSURE_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClosureExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ClosureExpr {
    pub fn closure_param_list(&self) -> Option<ClosureParamList> {
        support::child(&self.syntax)
    }
    pub fn body(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for ClosureExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CLOSURE_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `IF_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IfExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl IfExpr {
    pub fn if_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IF_KW)
    }
    pub fn condition(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn then_branch(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
    pub fn else_branch(&self) -> Option<ElseBranch> {
        support::child(&self.syntax)
    }
}

impl AstNode for IfExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == IF_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `BLOCK_EXPR`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlockExpr {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl BlockExpr {
    pub fn block(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

impl AstNode for BlockExpr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == BLOCK_EXPR
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `GENERIC_ARG_LIST`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GenericArgList {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl GenericArgList {
    pub fn l_angle_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_ANGLE)
    }
    pub fn args(&self) -> AstChildren<GenericArg> {
        support::children(&self.syntax)
    }
    pub fn r_angle_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_ANGLE)
    }
}

impl AstNode for GenericArgList {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == GENERIC_ARG_LIST
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `GENERIC_ARG`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GenericArg {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl GenericArg {
    pub fn name_ref(&self) -> Option<NameRef> {
        support::child(&self.syntax)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
    pub fn value(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for GenericArg {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == GENERIC_ARG
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `TUPLE_FIELD`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TupleField {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl TupleField {
    pub fn label(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for TupleField {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TUPLE_FIELD
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `ARG`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Arg {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl Arg {
    pub fn name_ref(&self) -> Option<NameRef> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

impl AstNode for Arg {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ARG
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `INDEX_LIST`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndexList {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl IndexList {
    pub fn l_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACK)
    }
    pub fn args(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
    pub fn r_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACK)
    }
}

impl AstNode for IndexList {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == INDEX_LIST
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `CLOSURE_PARAM_LIST`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClosureParamList {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ClosureParamList {
    pub fn pipe_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, PIPE)
    }
    pub fn params(&self) -> AstChildren<Pattern> {
        support::children(&self.syntax)
    }
}

impl AstNode for ClosureParamList {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CLOSURE_PARAM_LIST
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `ELSE_BRANCH`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ElseBranch {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ElseBranch {
    pub fn else_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ELSE_KW)
    }
    pub fn block(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
    pub fn if_expr(&self) -> Option<IfExpr> {
        support::child(&self.syntax)
    }
}

impl AstNode for ElseBranch {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ELSE_BRANCH
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `NAME_PAT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamePat {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl NamePat {
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
}

impl AstNode for NamePat {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == NAME_PAT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `TUPLE_PAT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TuplePat {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl TuplePat {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn fields(&self) -> AstChildren<Pattern> {
        support::children(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

impl AstNode for TuplePat {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TUPLE_PAT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `ARRAY_PAT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArrayPat {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl ArrayPat {
    pub fn l_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACK)
    }
    pub fn elements(&self) -> AstChildren<Pattern> {
        support::children(&self.syntax)
    }
    pub fn r_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACK)
    }
}

impl AstNode for ArrayPat {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ARRAY_PAT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// A node of kind `WILDCARD_PAT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WildcardPat {
    syntax: SyntaxNode,
}

#[allow(missing_docs)]
impl WildcardPat {
    pub fn underscore_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, UNDERSCORE)
    }
}

impl AstNode for WildcardPat {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        kind == WILDCARD_PAT
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }

    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}

/// One of the alternatives of `Item`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Item {
    Use(Use),
    Const(Const),
    Fn(Fn),
    Kernel(Kernel),
    Test(Test),
    Bench(Bench),
    Main(Main),
}

impl AstNode for Item {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        matches!(
            kind,
            USE
                | CONST
                | FN
                | KERNEL
                | TEST
                | BENCH
                | MAIN
        )
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        match syntax.kind() {
            USE => Use::cast(syntax).map(Self::Use),
            CONST => Const::cast(syntax).map(Self::Const),
            FN => Fn::cast(syntax).map(Self::Fn),
            KERNEL => Kernel::cast(syntax).map(Self::Kernel),
            TEST => Test::cast(syntax).map(Self::Test),
            BENCH => Bench::cast(syntax).map(Self::Bench),
            MAIN => Main::cast(syntax).map(Self::Main),
            _ => None,
        }
    }

    fn syntax(&self) -> &SyntaxNode {
        match self {
            Self::Use(it) => it.syntax(),
            Self::Const(it) => it.syntax(),
            Self::Fn(it) => it.syntax(),
            Self::Kernel(it) => it.syntax(),
            Self::Test(it) => it.syntax(),
            Self::Bench(it) => it.syntax(),
            Self::Main(it) => it.syntax(),
        }
    }
}

impl From<Use> for Item {
    fn from(node: Use) -> Item {
        Item::Use(node)
    }
}

impl From<Const> for Item {
    fn from(node: Const) -> Item {
        Item::Const(node)
    }
}

impl From<Fn> for Item {
    fn from(node: Fn) -> Item {
        Item::Fn(node)
    }
}

impl From<Kernel> for Item {
    fn from(node: Kernel) -> Item {
        Item::Kernel(node)
    }
}

impl From<Test> for Item {
    fn from(node: Test) -> Item {
        Item::Test(node)
    }
}

impl From<Bench> for Item {
    fn from(node: Bench) -> Item {
        Item::Bench(node)
    }
}

impl From<Main> for Item {
    fn from(node: Main) -> Item {
        Item::Main(node)
    }
}

/// One of the alternatives of `Stmt`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Stmt {
    LetStmt(LetStmt),
    AssignStmt(AssignStmt),
    ExprStmt(ExprStmt),
    ForStmt(ForStmt),
    WhileStmt(WhileStmt),
    WarpGroupsStmt(WarpGroupsStmt),
    MeasureStmt(MeasureStmt),
    BaselineStmt(BaselineStmt),
}

impl AstNode for Stmt {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        matches!(
            kind,
            LET_STMT
                | ASSIGN_STMT
                | EXPR_STMT
                | FOR_STMT
                | WHILE_STMT
                | WARP_GROUPS_STMT
                | MEASURE_STMT
                | BASELINE_STMT
        )
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        match syntax.kind() {
            LET_STMT => LetStmt::cast(syntax).map(Self::LetStmt),
            ASSIGN_STMT => AssignStmt::cast(syntax).map(Self::AssignStmt),
            EXPR_STMT => ExprStmt::cast(syntax).map(Self::ExprStmt),
            FOR_STMT => ForStmt::cast(syntax).map(Self::ForStmt),
            WHILE_STMT => WhileStmt::cast(syntax).map(Self::WhileStmt),
            WARP_GROUPS_STMT => WarpGroupsStmt::cast(syntax).map(Self::WarpGroupsStmt),
            MEASURE_STMT => MeasureStmt::cast(syntax).map(Self::MeasureStmt),
            BASELINE_STMT => BaselineStmt::cast(syntax).map(Self::BaselineStmt),
            _ => None,
        }
    }

    fn syntax(&self) -> &SyntaxNode {
        match self {
            Self::LetStmt(it) => it.syntax(),
            Self::AssignStmt(it) => it.syntax(),
            Self::ExprStmt(it) => it.syntax(),
            Self::ForStmt(it) => it.syntax(),
            Self::WhileStmt(it) => it.syntax(),
            Self::WarpGroupsStmt(it) => it.syntax(),
            Self::MeasureStmt(it) => it.syntax(),
            Self::BaselineStmt(it) => it.syntax(),
        }
    }
}

impl From<LetStmt> for Stmt {
    fn from(node: LetStmt) -> Stmt {
        Stmt::LetStmt(node)
    }
}

impl From<AssignStmt> for Stmt {
    fn from(node: AssignStmt) -> Stmt {
        Stmt::AssignStmt(node)
    }
}

impl From<ExprStmt> for Stmt {
    fn from(node: ExprStmt) -> Stmt {
        Stmt::ExprStmt(node)
    }
}

impl From<ForStmt> for Stmt {
    fn from(node: ForStmt) -> Stmt {
        Stmt::ForStmt(node)
    }
}

impl From<WhileStmt> for Stmt {
    fn from(node: WhileStmt) -> Stmt {
        Stmt::WhileStmt(node)
    }
}

impl From<WarpGroupsStmt> for Stmt {
    fn from(node: WarpGroupsStmt) -> Stmt {
        Stmt::WarpGroupsStmt(node)
    }
}

impl From<MeasureStmt> for Stmt {
    fn from(node: MeasureStmt) -> Stmt {
        Stmt::MeasureStmt(node)
    }
}

impl From<BaselineStmt> for Stmt {
    fn from(node: BaselineStmt) -> Stmt {
        Stmt::BaselineStmt(node)
    }
}

/// One of the alternatives of `Expr`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Expr {
    Literal(Literal),
    PathExpr(PathExpr),
    ParenExpr(ParenExpr),
    TupleExpr(TupleExpr),
    ArrayExpr(ArrayExpr),
    CallExpr(CallExpr),
    MethodCallExpr(MethodCallExpr),
    FieldExpr(FieldExpr),
    IndexExpr(IndexExpr),
    GuardedExpr(GuardedExpr),
    UnaryExpr(UnaryExpr),
    BinaryExpr(BinaryExpr),
    LayoutExpr(LayoutExpr),
    RangeExpr(RangeExpr),
    NewExpr(NewExpr),
    WildcardExpr(WildcardExpr),
    ClosureExpr(ClosureExpr),
    IfExpr(IfExpr),
    BlockExpr(BlockExpr),
}

impl AstNode for Expr {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        matches!(
            kind,
            LITERAL
                | PATH_EXPR
                | PAREN_EXPR
                | TUPLE_EXPR
                | ARRAY_EXPR
                | CALL_EXPR
                | METHOD_CALL_EXPR
                | FIELD_EXPR
                | INDEX_EXPR
                | GUARDED_EXPR
                | UNARY_EXPR
                | BINARY_EXPR
                | LAYOUT_EXPR
                | RANGE_EXPR
                | NEW_EXPR
                | WILDCARD_EXPR
                | CLOSURE_EXPR
                | IF_EXPR
                | BLOCK_EXPR
        )
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        match syntax.kind() {
            LITERAL => Literal::cast(syntax).map(Self::Literal),
            PATH_EXPR => PathExpr::cast(syntax).map(Self::PathExpr),
            PAREN_EXPR => ParenExpr::cast(syntax).map(Self::ParenExpr),
            TUPLE_EXPR => TupleExpr::cast(syntax).map(Self::TupleExpr),
            ARRAY_EXPR => ArrayExpr::cast(syntax).map(Self::ArrayExpr),
            CALL_EXPR => CallExpr::cast(syntax).map(Self::CallExpr),
            METHOD_CALL_EXPR => MethodCallExpr::cast(syntax).map(Self::MethodCallExpr),
            FIELD_EXPR => FieldExpr::cast(syntax).map(Self::FieldExpr),
            INDEX_EXPR => IndexExpr::cast(syntax).map(Self::IndexExpr),
            GUARDED_EXPR => GuardedExpr::cast(syntax).map(Self::GuardedExpr),
            UNARY_EXPR => UnaryExpr::cast(syntax).map(Self::UnaryExpr),
            BINARY_EXPR => BinaryExpr::cast(syntax).map(Self::BinaryExpr),
            LAYOUT_EXPR => LayoutExpr::cast(syntax).map(Self::LayoutExpr),
            RANGE_EXPR => RangeExpr::cast(syntax).map(Self::RangeExpr),
            NEW_EXPR => NewExpr::cast(syntax).map(Self::NewExpr),
            WILDCARD_EXPR => WildcardExpr::cast(syntax).map(Self::WildcardExpr),
            CLOSURE_EXPR => ClosureExpr::cast(syntax).map(Self::ClosureExpr),
            IF_EXPR => IfExpr::cast(syntax).map(Self::IfExpr),
            BLOCK_EXPR => BlockExpr::cast(syntax).map(Self::BlockExpr),
            _ => None,
        }
    }

    fn syntax(&self) -> &SyntaxNode {
        match self {
            Self::Literal(it) => it.syntax(),
            Self::PathExpr(it) => it.syntax(),
            Self::ParenExpr(it) => it.syntax(),
            Self::TupleExpr(it) => it.syntax(),
            Self::ArrayExpr(it) => it.syntax(),
            Self::CallExpr(it) => it.syntax(),
            Self::MethodCallExpr(it) => it.syntax(),
            Self::FieldExpr(it) => it.syntax(),
            Self::IndexExpr(it) => it.syntax(),
            Self::GuardedExpr(it) => it.syntax(),
            Self::UnaryExpr(it) => it.syntax(),
            Self::BinaryExpr(it) => it.syntax(),
            Self::LayoutExpr(it) => it.syntax(),
            Self::RangeExpr(it) => it.syntax(),
            Self::NewExpr(it) => it.syntax(),
            Self::WildcardExpr(it) => it.syntax(),
            Self::ClosureExpr(it) => it.syntax(),
            Self::IfExpr(it) => it.syntax(),
            Self::BlockExpr(it) => it.syntax(),
        }
    }
}

impl From<Literal> for Expr {
    fn from(node: Literal) -> Expr {
        Expr::Literal(node)
    }
}

impl From<PathExpr> for Expr {
    fn from(node: PathExpr) -> Expr {
        Expr::PathExpr(node)
    }
}

impl From<ParenExpr> for Expr {
    fn from(node: ParenExpr) -> Expr {
        Expr::ParenExpr(node)
    }
}

impl From<TupleExpr> for Expr {
    fn from(node: TupleExpr) -> Expr {
        Expr::TupleExpr(node)
    }
}

impl From<ArrayExpr> for Expr {
    fn from(node: ArrayExpr) -> Expr {
        Expr::ArrayExpr(node)
    }
}

impl From<CallExpr> for Expr {
    fn from(node: CallExpr) -> Expr {
        Expr::CallExpr(node)
    }
}

impl From<MethodCallExpr> for Expr {
    fn from(node: MethodCallExpr) -> Expr {
        Expr::MethodCallExpr(node)
    }
}

impl From<FieldExpr> for Expr {
    fn from(node: FieldExpr) -> Expr {
        Expr::FieldExpr(node)
    }
}

impl From<IndexExpr> for Expr {
    fn from(node: IndexExpr) -> Expr {
        Expr::IndexExpr(node)
    }
}

impl From<GuardedExpr> for Expr {
    fn from(node: GuardedExpr) -> Expr {
        Expr::GuardedExpr(node)
    }
}

impl From<UnaryExpr> for Expr {
    fn from(node: UnaryExpr) -> Expr {
        Expr::UnaryExpr(node)
    }
}

impl From<BinaryExpr> for Expr {
    fn from(node: BinaryExpr) -> Expr {
        Expr::BinaryExpr(node)
    }
}

impl From<LayoutExpr> for Expr {
    fn from(node: LayoutExpr) -> Expr {
        Expr::LayoutExpr(node)
    }
}

impl From<RangeExpr> for Expr {
    fn from(node: RangeExpr) -> Expr {
        Expr::RangeExpr(node)
    }
}

impl From<NewExpr> for Expr {
    fn from(node: NewExpr) -> Expr {
        Expr::NewExpr(node)
    }
}

impl From<WildcardExpr> for Expr {
    fn from(node: WildcardExpr) -> Expr {
        Expr::WildcardExpr(node)
    }
}

impl From<ClosureExpr> for Expr {
    fn from(node: ClosureExpr) -> Expr {
        Expr::ClosureExpr(node)
    }
}

impl From<IfExpr> for Expr {
    fn from(node: IfExpr) -> Expr {
        Expr::IfExpr(node)
    }
}

impl From<BlockExpr> for Expr {
    fn from(node: BlockExpr) -> Expr {
        Expr::BlockExpr(node)
    }
}

/// One of the alternatives of `Type`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    NamedType(NamedType),
    TupleType(TupleType),
    FnType(FnType),
}

impl AstNode for Type {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        matches!(
            kind,
            NAMED_TYPE
                | TUPLE_TYPE
                | FN_TYPE
        )
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        match syntax.kind() {
            NAMED_TYPE => NamedType::cast(syntax).map(Self::NamedType),
            TUPLE_TYPE => TupleType::cast(syntax).map(Self::TupleType),
            FN_TYPE => FnType::cast(syntax).map(Self::FnType),
            _ => None,
        }
    }

    fn syntax(&self) -> &SyntaxNode {
        match self {
            Self::NamedType(it) => it.syntax(),
            Self::TupleType(it) => it.syntax(),
            Self::FnType(it) => it.syntax(),
        }
    }
}

impl From<NamedType> for Type {
    fn from(node: NamedType) -> Type {
        Type::NamedType(node)
    }
}

impl From<TupleType> for Type {
    fn from(node: TupleType) -> Type {
        Type::TupleType(node)
    }
}

impl From<FnType> for Type {
    fn from(node: FnType) -> Type {
        Type::FnType(node)
    }
}

/// One of the alternatives of `Pattern`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Pattern {
    NamePat(NamePat),
    TuplePat(TuplePat),
    ArrayPat(ArrayPat),
    WildcardPat(WildcardPat),
}

impl AstNode for Pattern {
    type Language = Hx;

    fn can_cast(kind: SyntaxKind) -> bool {
        matches!(
            kind,
            NAME_PAT
                | TUPLE_PAT
                | ARRAY_PAT
                | WILDCARD_PAT
        )
    }

    fn cast(syntax: SyntaxNode) -> Option<Self> {
        match syntax.kind() {
            NAME_PAT => NamePat::cast(syntax).map(Self::NamePat),
            TUPLE_PAT => TuplePat::cast(syntax).map(Self::TuplePat),
            ARRAY_PAT => ArrayPat::cast(syntax).map(Self::ArrayPat),
            WILDCARD_PAT => WildcardPat::cast(syntax).map(Self::WildcardPat),
            _ => None,
        }
    }

    fn syntax(&self) -> &SyntaxNode {
        match self {
            Self::NamePat(it) => it.syntax(),
            Self::TuplePat(it) => it.syntax(),
            Self::ArrayPat(it) => it.syntax(),
            Self::WildcardPat(it) => it.syntax(),
        }
    }
}

impl From<NamePat> for Pattern {
    fn from(node: NamePat) -> Pattern {
        Pattern::NamePat(node)
    }
}

impl From<TuplePat> for Pattern {
    fn from(node: TuplePat) -> Pattern {
        Pattern::TuplePat(node)
    }
}

impl From<ArrayPat> for Pattern {
    fn from(node: ArrayPat) -> Pattern {
        Pattern::ArrayPat(node)
    }
}

impl From<WildcardPat> for Pattern {
    fn from(node: WildcardPat) -> Pattern {
        Pattern::WildcardPat(node)
    }
}

impl super::HasName for Const {}
impl super::HasName for Fn {}
impl super::HasName for GenericParam {}
impl super::HasName for Kernel {}
impl super::HasName for NamePat {}
impl super::HasName for Param {}
impl super::HasName for Rename {}
impl super::HasName for RoleBinder {}

impl super::HasAttrs for AssignStmt {}
impl super::HasAttrs for BaselineStmt {}
impl super::HasAttrs for Bench {}
impl super::HasAttrs for Const {}
impl super::HasAttrs for ExprStmt {}
impl super::HasAttrs for Fn {}
impl super::HasAttrs for ForStmt {}
impl super::HasAttrs for Kernel {}
impl super::HasAttrs for LetStmt {}
impl super::HasAttrs for Main {}
impl super::HasAttrs for MeasureStmt {}
impl super::HasAttrs for Test {}
impl super::HasAttrs for Use {}
impl super::HasAttrs for WarpGroupsStmt {}
impl super::HasAttrs for WhileStmt {}

impl super::HasDocs for Use {}
impl super::HasDocs for Const {}
impl super::HasDocs for Fn {}
impl super::HasDocs for Kernel {}
impl super::HasDocs for Test {}
impl super::HasDocs for Bench {}
impl super::HasDocs for Main {}
impl super::HasDocs for Item {}
impl super::HasAttrs for Item {}
