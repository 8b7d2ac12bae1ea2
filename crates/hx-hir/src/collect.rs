//! Converts syntax trees to expression stores and their source maps.
//!
//! The conversion does not know names or types. Parts that the tree lacks become `Missing`.

use hx_syntax::ast::{self, AstNode, HasAttrs, LiteralKind};
use hx_syntax::{SyntaxKind, SyntaxNode};
use smol_str::SmolStr;
use text_size::TextRange;

use crate::{
    Arg, Attr, Block, Expr, ExprId, ExprStore, Float, GenericArg, Literal, Name, Pat, PatId, Path, SourceMap,
    Stmt, StmtId, StmtKind, TupleField, TypeRef, TypeRefId, WarpRole,
};

/// Fills a store and its map.
#[derive(Default)]
pub(crate) struct Collector {
    pub(crate) store: ExprStore,
    pub(crate) map: SourceMap,
}

fn range(node: &impl AstNode<Language = hx_syntax::Hx>) -> TextRange {
    tokens_range(node.syntax())
}

/// Returns the range of a node without the trivia at its edges: from its first to its last token that is not trivia.
pub(crate) fn tokens_range(syntax: &hx_syntax::SyntaxNode) -> TextRange {
    let mut tokens = syntax.descendants_with_tokens().filter_map(|it| it.into_token());
    let Some(first) = tokens.find(|t| !t.kind().is_trivia()) else { return syntax.text_range() };
    let last = std::iter::successors(syntax.last_token(), |t| t.prev_token()).find(|t| !t.kind().is_trivia());
    let end = last.map_or(first.text_range().end(), |t| t.text_range().end());
    TextRange::new(first.text_range().start(), end.max(first.text_range().end()))
}

pub(crate) fn node_range(node: &impl AstNode<Language = hx_syntax::Hx>) -> TextRange {
    range(node)
}

pub(crate) fn name_of(name: Option<ast::Name>) -> Name {
    name.map_or_else(|| SmolStr::new_static("_"), |n| SmolStr::from(n.text().trim()))
}

fn name_ref(name: Option<ast::NameRef>) -> Name {
    name.map_or_else(|| SmolStr::new_static("_"), |n| SmolStr::from(n.text().trim()))
}

impl Collector {
    pub(crate) fn alloc(&mut self, expr: Expr, at: TextRange) -> ExprId {
        let id = self.store.exprs.alloc(expr);
        self.map.exprs.insert(id, at);
        id
    }

    pub(crate) fn missing(&mut self) -> ExprId {
        self.store.exprs.alloc(Expr::Missing)
    }

    pub(crate) fn expr(&mut self, expr: Option<ast::Expr>) -> ExprId {
        match expr.and_then(ast::Expr::unparenthesized) {
            Some(expr) => self.present(expr),
            None => self.missing(),
        }
    }

    fn opt_expr(&mut self, expr: Option<ast::Expr>) -> Option<ExprId> {
        expr.map(|e| self.expr(Some(e)))
    }

    fn present(&mut self, expr: ast::Expr) -> ExprId {
        let at = range(&expr);
        match expr {
            ast::Expr::CallExpr(call) => self.call(call, at),
            ast::Expr::MethodCallExpr(call) => self.method_call(call, at),
            ast::Expr::PathExpr(path) => self.path_expr(path, at),
            ast::Expr::FieldExpr(field) => {
                let base = self.expr(field.base());
                let label = field.name_ref().map_or(at, |n| range(&n));
                let id = self.alloc(Expr::Field { base, name: name_ref(field.name_ref()) }, at);
                self.map.labels.insert(id, vec![label]);
                id
            }
            other => {
                let data = self.plain(other);
                self.alloc(data, at)
            }
        }
    }

    /// Converts expressions whose parts have no entries in [`SourceMap::labels`].
    fn plain(&mut self, expr: ast::Expr) -> Expr {
        match expr {
            ast::Expr::Literal(literal) => literal_of(&literal),
            ast::Expr::UnaryExpr(e) => match e.op_kind() {
                Some(op) => Expr::Unary { op, operand: self.expr(e.operand()) },
                None => Expr::Missing,
            },
            ast::Expr::BinaryExpr(e) => {
                let (lhs, rhs) = (self.expr(e.lhs()), self.expr(e.rhs()));
                e.op_kind().map_or(Expr::Missing, |op| Expr::Binary { op, lhs, rhs })
            }
            ast::Expr::LayoutExpr(e) => {
                Expr::Layout { shape: self.expr(e.shape()), stride: self.expr(e.stride()) }
            }
            ast::Expr::RangeExpr(e) => {
                Expr::Range { start: self.opt_expr(e.start()), end: self.opt_expr(e.end()) }
            }
            ast::Expr::IndexExpr(e) => {
                let base = self.expr(e.base());
                let args =
                    e.index_list().into_iter().flat_map(|l| l.args()).map(|a| self.expr(Some(a))).collect();
                Expr::Index { base, args }
            }
            ast::Expr::GuardedExpr(e) => {
                Expr::Guarded { read: self.expr(e.read()), otherwise: self.expr(e.otherwise()) }
            }
            ast::Expr::TupleExpr(e) => Expr::Tuple(e.fields().map(|f| self.tuple_field(f)).collect()),
            ast::Expr::ArrayExpr(e) => Expr::Array(e.elements().map(|x| self.expr(Some(x))).collect()),
            ast::Expr::NewExpr(_) => Expr::New,
            ast::Expr::WildcardExpr(_) => Expr::Wildcard,
            ast::Expr::ClosureExpr(e) => {
                let params = e.params().map(|p| self.pat(Some(p))).collect();
                Expr::Closure { params, body: self.expr(e.body()) }
            }
            ast::Expr::IfExpr(e) => self.if_expr(&e),
            ast::Expr::BlockExpr(e) => self.block(e.block()),
            ast::Expr::ParenExpr(_)
            | ast::Expr::PathExpr(_)
            | ast::Expr::CallExpr(_)
            | ast::Expr::MethodCallExpr(_)
            | ast::Expr::FieldExpr(_) => Expr::Missing,
        }
    }

    fn tuple_field(&mut self, field: ast::TupleField) -> TupleField {
        let label = field.label().map(|l| name_of(Some(l)));
        TupleField { label, value: self.expr(field.expr()) }
    }

    fn if_expr(&mut self, e: &ast::IfExpr) -> Expr {
        let condition = self.expr(e.condition());
        let then = self.block_expr(e.then_branch());
        let otherwise = e.else_branch().map(|branch| match branch.if_expr() {
            Some(inner) => self.present(ast::Expr::IfExpr(inner)),
            None => self.block_expr(branch.block()),
        });
        Expr::If { condition, then, otherwise }
    }

    fn args(&mut self, list: Option<ast::ArgList>) -> (Vec<Arg>, Vec<TextRange>) {
        let (mut args, mut labels) = (Vec::new(), Vec::new());
        for arg in list.into_iter().flat_map(|l| l.args()) {
            labels.push(arg.name_ref().map_or_else(|| range(&arg), |n| range(&n)));
            let name = arg.name_ref().map(|n| name_ref(Some(n)));
            args.push(Arg { name, value: self.expr(arg.expr()) });
        }
        (args, labels)
    }

    fn call(&mut self, call: ast::CallExpr, at: TextRange) -> ExprId {
        let callee = self.expr(call.callee());
        let (args, labels) = self.args(call.arg_list());
        let id = self.alloc(Expr::Call { callee, args }, at);
        self.map.labels.insert(id, labels);
        id
    }

    fn method_call(&mut self, call: ast::MethodCallExpr, at: TextRange) -> ExprId {
        let receiver = self.expr(call.receiver());
        let (args, mut labels) = self.args(call.arg_list());
        labels.insert(0, call.name_ref().map_or(at, |n| range(&n)));
        let id = self.alloc(Expr::MethodCall { receiver, name: name_ref(call.name_ref()), args }, at);
        self.map.labels.insert(id, labels);
        id
    }

    fn path_expr(&mut self, expr: ast::PathExpr, at: TextRange) -> ExprId {
        let Some(path) = expr.path().and_then(|p| path_of(&p)) else { return self.missing() };
        let (mut generics, mut labels) = (Vec::new(), Vec::new());
        for arg in expr.generic_arg_list().into_iter().flat_map(|l| l.args()) {
            labels.push(arg.name_ref().map_or_else(|| range(&arg), |n| range(&n)));
            let name = arg.name_ref().map(|n| name_ref(Some(n)));
            generics.push(GenericArg { name, value: self.expr(arg.value()) });
        }
        let id = self.alloc(Expr::Path { path, generics }, at);
        if !labels.is_empty() {
            self.map.labels.insert(id, labels);
        }
        id
    }

    pub(crate) fn block_expr(&mut self, block: Option<ast::Block>) -> ExprId {
        match block {
            Some(block) => {
                let at = range(&block);
                let data = self.block(Some(block));
                self.alloc(data, at)
            }
            None => self.missing(),
        }
    }

    /// Converts the statements of a cell to a block, as if they stood in a body.
    pub(crate) fn cell_block(&mut self, cell: ast::Cell) -> ExprId {
        let at = range(&cell);
        let stmts = cell.statements().filter_map(|s| self.stmt(s)).collect();
        let tail = self.opt_expr(cell.tail_expr());
        self.alloc(Expr::Block(Block { stmts, tail }), at)
    }

    fn block(&mut self, block: Option<ast::Block>) -> Expr {
        let Some(block) = block else { return Expr::Missing };
        let stmts = block.statements().filter_map(|s| self.stmt(s)).collect();
        let tail = self.opt_expr(block.tail_expr());
        Expr::Block(Block { stmts, tail })
    }

    pub(crate) fn stmt(&mut self, stmt: ast::Stmt) -> Option<StmtId> {
        let at = range(&stmt);
        let (attrs, attr_ranges) = match &stmt {
            ast::Stmt::LetStmt(s) => self.attrs(s),
            ast::Stmt::AssignStmt(s) => self.attrs(s),
            ast::Stmt::ExprStmt(s) => self.attrs(s),
            ast::Stmt::ForStmt(s) => self.attrs(s),
            ast::Stmt::WhileStmt(s) => self.attrs(s),
            ast::Stmt::WarpGroupsStmt(s) => self.attrs(s),
            ast::Stmt::MeasureStmt(s) => self.attrs(s),
            ast::Stmt::BaselineStmt(s) => self.attrs(s),
        };
        let kind = self.stmt_kind(stmt)?;
        let id = self.store.stmts.alloc(Stmt { attrs, kind });
        self.map.stmts.insert(id, at);
        if !attr_ranges.is_empty() {
            self.map.attrs.insert(id, attr_ranges);
        }
        Some(id)
    }

    fn stmt_kind(&mut self, stmt: ast::Stmt) -> Option<StmtKind> {
        Some(match stmt {
            ast::Stmt::LetStmt(s) => {
                // The initializer comes before the pattern, because a name is not visible in its own definition.
                let value = self.expr(s.initializer());
                let ty = s.ty().map(|t| self.type_ref(Some(t)));
                StmtKind::Let { pat: self.pat(s.pattern()), ty, value }
            }
            ast::Stmt::AssignStmt(s) => {
                let op = match s.op_kind() {
                    Some(ast::AssignOp::Arith(op)) => Some(op),
                    _ => None,
                };
                StmtKind::Assign { place: self.expr(s.place()), op, value: self.expr(s.value()) }
            }
            ast::Stmt::ExprStmt(s) => StmtKind::Expr(self.expr(Some(s.expr()?))),
            ast::Stmt::ForStmt(s) => StmtKind::For {
                iterable: self.expr(s.iterable()),
                stages: s.pipelined_clause().map(|clause| self.expr(clause.stages())),
                pat: self.pat(s.pattern()),
                body: self.block_expr(s.body()),
            },
            ast::Stmt::WhileStmt(s) => {
                StmtKind::While { condition: self.expr(s.condition()), body: self.block_expr(s.body()) }
            }
            ast::Stmt::WarpGroupsStmt(s) => {
                StmtKind::WarpGroups(s.roles().filter_map(|r| self.role(&r)).collect())
            }
            ast::Stmt::MeasureStmt(s) => StmtKind::Measure {
                quantities: s.quantities().filter_map(|q| Some((q.kind()?, self.expr(q.amount())))).collect(),
                body: self.block_expr(s.body()),
            },
            ast::Stmt::BaselineStmt(s) => StmtKind::Baseline(self.expr(s.expr())),
        })
    }

    fn role(&mut self, role: &ast::WarpRole) -> Option<WarpRole> {
        let binder = role.role_binder().map(|b| {
            let at = range(&b);
            self.bind(name_of(b.name()), at)
        });
        Some(WarpRole {
            kind: role.kind()?,
            each: role.is_each(),
            count: role.role_count().map(|c| self.expr(c.expr())),
            binder,
            registers: role.registers_clause().map(|c| self.expr(c.count())),
            body: self.block_expr(role.body()),
        })
    }

    fn attrs(&mut self, node: &impl HasAttrs) -> (Vec<Attr>, Vec<TextRange>) {
        let (mut attrs, mut ranges) = (Vec::new(), Vec::new());
        for attr in node.attrs() {
            let Some(name) = attr.text() else { continue };
            ranges.push(attr.path().map_or_else(|| range(&attr), |p| range(&p)));
            let args =
                attr.arg_list().into_iter().flat_map(|l| l.args()).map(|a| self.expr(a.expr())).collect();
            attrs.push(Attr { name: name.into(), args });
        }
        (attrs, ranges)
    }

    fn bind(&mut self, name: Name, at: TextRange) -> PatId {
        let id = self.store.pats.alloc(Pat::Bind(name));
        self.map.pats.insert(id, at);
        id
    }

    pub(crate) fn pat(&mut self, pat: Option<ast::Pattern>) -> PatId {
        let Some(pat) = pat else { return self.store.pats.alloc(Pat::Missing) };
        let at = range(&pat);
        let data = match pat {
            ast::Pattern::NamePat(p) => match p.name() {
                Some(name) => Pat::Bind(name_of(Some(name))),
                None => Pat::Missing,
            },
            // `(m)` without a comma is `m`, as in expressions.
            ast::Pattern::TuplePat(p) if !has_comma(p.syntax()) && p.fields().count() == 1 => {
                return self.pat(p.fields().next());
            }
            ast::Pattern::TuplePat(p) => Pat::Tuple(p.fields().map(|f| self.pat(Some(f))).collect()),
            ast::Pattern::ArrayPat(p) => Pat::Array(p.elements().map(|f| self.pat(Some(f))).collect()),
            ast::Pattern::WildcardPat(_) => Pat::Wildcard,
        };
        let id = self.store.pats.alloc(data);
        self.map.pats.insert(id, at);
        id
    }

    pub(crate) fn type_ref(&mut self, ty: Option<ast::Type>) -> TypeRefId {
        let Some(ty) = ty else { return self.store.types.alloc(TypeRef::Missing) };
        let at = range(&ty);
        let data = match ty {
            ast::Type::NamedType(t) => match t.path().and_then(|p| path_of(&p)) {
                Some(path) => TypeRef::Named {
                    space: t.space(),
                    mutable: t.is_mut(),
                    path,
                    shape: t.shape().map(|s| s.dims().map(|d| self.expr(Some(d))).collect()),
                    layout: t.layout_annotation().map(|l| self.expr(l.value())),
                },
                None => TypeRef::Missing,
            },
            // No item is called `fn`, so the path can only mean the kind of functions.
            ast::Type::FnType(_) => TypeRef::Named {
                space: None,
                mutable: false,
                path: crate::Path::from_name(crate::Name::new_static("fn")),
                shape: None,
                layout: None,
            },
            ast::Type::TupleType(t) => TypeRef::Tuple(t.fields().map(|f| self.type_ref(Some(f))).collect()),
        };
        let id = self.store.types.alloc(data);
        self.map.types.insert(id, at);
        id
    }

    pub(crate) fn generic_params(
        &mut self,
        list: Option<ast::GenericParamList>,
    ) -> (Vec<crate::GenericParam>, Vec<TextRange>) {
        let (mut params, mut ranges) = (Vec::new(), Vec::new());
        for param in list.into_iter().flat_map(|l| l.params()) {
            ranges.push(param.name().map_or_else(|| range(&param), |n| range(&n)));
            let ty = param.ty().map(|t| self.type_ref(Some(t)));
            let default = param.default().map(|e| self.expr(Some(e)));
            params.push(crate::GenericParam { name: name_of(param.name()), ty, default });
        }
        (params, ranges)
    }

    pub(crate) fn params(&mut self, list: Option<ast::ParamList>) -> (Vec<crate::Param>, Vec<TextRange>) {
        let (mut params, mut ranges) = (Vec::new(), Vec::new());
        for param in list.into_iter().flat_map(|l| l.params()) {
            ranges.push(param.name().map_or_else(|| range(&param), |n| range(&n)));
            params.push(crate::Param { name: name_of(param.name()), ty: self.type_ref(param.ty()) });
        }
        (params, ranges)
    }

    pub(crate) fn predicates(&mut self, clause: Option<ast::WhereClause>) -> Vec<crate::Predicate> {
        let predicates = clause.into_iter().flat_map(|c| c.predicates());
        predicates
            .map(|p| crate::Predicate { text: plain_text(p.syntax()), condition: self.expr(Some(p)) })
            .collect()
    }
}

fn literal_of(literal: &ast::Literal) -> Expr {
    let Some(kind) = literal.kind() else { return Expr::Missing };
    Expr::Literal(match kind {
        LiteralKind::Int(n) => match n.value().and_then(|v| i128::try_from(v).ok()) {
            Some(value) => Literal::Int(value),
            None => return Expr::Missing,
        },
        LiteralKind::Float(x) => match x.value() {
            Some(value) => Literal::Float(Float::new(value)),
            None => return Expr::Missing,
        },
        LiteralKind::String(s) => Literal::String(s.value().into()),
        LiteralKind::Bool(b) => Literal::Bool(b),
        LiteralKind::Inf => Literal::Inf,
    })
}

pub(crate) fn path_of(path: &ast::Path) -> Option<Path> {
    let segments: Vec<Name> = path.segments().map(|s| name_ref(Some(s))).collect();
    (!segments.is_empty()).then_some(Path { segments })
}

/// Returns the text of a node without comments, with single spaces for any whitespace.
pub(crate) fn plain_text(node: &hx_syntax::SyntaxNode) -> String {
    let mut text = String::new();
    let mut gap = false;
    for token in node.descendants_with_tokens().filter_map(|it| it.into_token()) {
        if token.kind().is_trivia() {
            gap = true;
            continue;
        }
        if gap && !text.is_empty() {
            text.push(' ');
        }
        gap = false;
        text.push_str(token.text());
    }
    text
}

/// Reports whether a comma separates or ends the parts of a node.
fn has_comma(node: &SyntaxNode) -> bool {
    node.children_with_tokens().any(|part| part.kind() == SyntaxKind::COMMA)
}
