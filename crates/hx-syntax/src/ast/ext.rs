//! Accessors that no grammar rule can express.

use super::{
    AstNode, Attr, Bench, Cell, ClosureExpr, Expr, FloatNumber, Fn, HasAttrs, IntNumber, Item, Literal,
    MeasureQuantity, Name, NameRef, NamedType, Param, Path, Pattern, RangeExpr, SourceFile, StringLit, Test,
    Type, WarpRole, support,
};
use crate::{SyntaxKind, SyntaxToken, T};

/// The value of a literal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LiteralKind {
    /// A whole number.
    Int(IntNumber),
    /// A number with a point or an exponent.
    Float(FloatNumber),
    /// A string.
    String(StringLit),
    /// `true` or `false`.
    Bool(bool),
    /// `inf`.
    Inf,
}

/// The memory that a tensor type names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum MemorySpace {
    Global,
    Shared,
    Register,
}

/// The task of a role of `warp_groups`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum RoleKind {
    Producer,
    Consumer,
}

/// The work that a `measure` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum MeasureKind {
    Flops,
    Bytes,
}

impl SourceFile {
    /// Returns the entry of the REPL; `None` for an ordinary file.
    pub fn cell(&self) -> Option<Cell> {
        support::child(self.syntax())
    }
}

impl Name {
    /// Returns the name as it is written.
    pub fn text(&self) -> String {
        self.syntax().text().to_string()
    }
}

impl NameRef {
    /// Returns the name as it is written.
    pub fn text(&self) -> String {
        self.syntax().text().to_string()
    }
}

impl Path {
    /// Returns the segments joined by `::`, without spaces or comments.
    pub fn text(&self) -> String {
        let segments: Vec<String> = self.segments().map(|segment| segment.text()).collect();
        segments.join("::")
    }

    /// Returns the name of a path with one segment; `None` for `a::b`.
    pub fn as_name(&self) -> Option<NameRef> {
        let mut segments = self.segments();
        let first = segments.next()?;
        segments.next().is_none().then_some(first)
    }

    /// Returns the last segment, which is the name of the path's target; `None` in broken code.
    pub fn last_segment(&self) -> Option<NameRef> {
        self.segments().last()
    }
}

impl Literal {
    /// Returns the token of the literal, which has only one; `None` in broken code.
    pub fn token(&self) -> Option<SyntaxToken> {
        self.syntax()
            .children_with_tokens()
            .filter_map(|it| it.into_token())
            .find(|token| !token.kind().is_trivia())
    }

    /// Returns the value of the literal; `None` in broken code.
    pub fn kind(&self) -> Option<LiteralKind> {
        let token = self.token()?;
        Some(match token.kind() {
            T![int_number] => LiteralKind::Int(IntNumber::cast(token)?),
            T![float_number] => LiteralKind::Float(FloatNumber::cast(token)?),
            T![string] => LiteralKind::String(StringLit::cast(token)?),
            T![true] => LiteralKind::Bool(true),
            T![false] => LiteralKind::Bool(false),
            T![inf] => LiteralKind::Inf,
            _ => return None,
        })
    }
}

impl RangeExpr {
    fn dots(&self) -> Option<SyntaxToken> {
        support::token(self.syntax(), T![..])
    }

    /// Returns the expression before `..`; `None` if the range has no start.
    pub fn start(&self) -> Option<Expr> {
        let dots = self.dots()?.text_range().start();
        support::children(self.syntax()).find(|expr: &Expr| expr.syntax().text_range().end() <= dots)
    }

    /// Returns the expression after `..`; `None` if the range has no end.
    pub fn end(&self) -> Option<Expr> {
        let dots = self.dots()?.text_range().end();
        support::children(self.syntax()).find(|expr: &Expr| expr.syntax().text_range().start() >= dots)
    }
}

impl Expr {
    /// Returns the expression without the parentheses around it; `None` if they are empty in broken code.
    pub fn unparenthesized(self) -> Option<Expr> {
        let mut expr = self;
        while let Expr::ParenExpr(paren) = &expr {
            expr = paren.expr()?;
        }
        Some(expr)
    }

    /// Returns the name, if the expression is a single name without compile-time arguments.
    pub fn as_name(&self) -> Option<NameRef> {
        match self {
            Expr::PathExpr(path) if path.generic_arg_list().is_none() => path.path()?.as_name(),
            _ => None,
        }
    }
}

impl ClosureExpr {
    /// Returns the patterns between the bars.
    pub fn params(&self) -> impl Iterator<Item = Pattern> {
        self.closure_param_list().into_iter().flat_map(|list| list.params())
    }
}

impl NamedType {
    /// Returns the memory that the type names, if it names one.
    pub fn space(&self) -> Option<MemorySpace> {
        self.syntax().children_with_tokens().find_map(|it| match it.kind() {
            T![global] => Some(MemorySpace::Global),
            T![shared] => Some(MemorySpace::Shared),
            T![register] => Some(MemorySpace::Register),
            _ => None,
        })
    }

    /// Reports whether the type is marked `mut`.
    pub fn is_mut(&self) -> bool {
        self.mut_token().is_some()
    }
}

impl Param {
    /// Returns the type if it is a named one, such as a scalar or a tensor; `None` for a tuple or a function, and in broken
    /// code.
    pub fn named_type(&self) -> Option<NamedType> {
        match self.ty()? {
            Type::NamedType(ty) => Some(ty),
            Type::TupleType(_) | Type::FnType(_) => None,
        }
    }
}

impl WarpRole {
    /// Returns the task of the role, from its keyword; `None` if the keyword is missing in broken code.
    pub fn kind(&self) -> Option<RoleKind> {
        self.syntax().children_with_tokens().find_map(|it| match it.kind() {
            T![producer] => Some(RoleKind::Producer),
            T![consumer] => Some(RoleKind::Consumer),
            _ => None,
        })
    }

    /// Reports whether each group of the role works on a tile of its own: `consumer each n (g)`.
    pub fn is_each(&self) -> bool {
        self.each_token().is_some()
    }
}

impl MeasureQuantity {
    /// Returns the quantity that the number counts, `flops` or `bytes`; `None` if the word is missing in broken code.
    pub fn kind(&self) -> Option<MeasureKind> {
        self.syntax().children_with_tokens().find_map(|it| match it.kind() {
            T![flops] => Some(MeasureKind::Flops),
            T![bytes] => Some(MeasureKind::Bytes),
            _ => None,
        })
    }
}

impl Attr {
    /// Returns the name of the attribute, `unroll` for `#[unroll(4)]`; `None` if it is missing in broken code.
    pub fn text(&self) -> Option<String> {
        Some(self.path()?.text())
    }

    /// Returns the value of each argument that is a string; `None` for every other argument.
    pub fn texts(&self) -> Vec<Option<String>> {
        let args = self.arg_list().into_iter().flat_map(|list| list.args());
        let text = |expr: Option<Expr>| match expr? {
            Expr::Literal(literal) => match literal.kind()? {
                LiteralKind::String(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        };
        args.map(|arg| text(arg.expr())).collect()
    }
}

impl Attr {
    /// Returns the first argument if it is a string; otherwise `None`.
    pub fn string(&self) -> Option<StringLit> {
        match self.arg_list()?.args().next()?.expr()? {
            Expr::Literal(literal) => match literal.kind()? {
                LiteralKind::String(text) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Fn {
    /// Returns the first `#[ptx(…)]` of the function; `None` without one.
    pub fn ptx(&self) -> Option<Attr> {
        self.attr("ptx")
    }
}

impl Test {
    /// Returns the name of the test, which is the value of its string; `None` if it is missing in broken code.
    pub fn title(&self) -> Option<String> {
        Some(StringLit::cast(self.name_token()?)?.value())
    }
}

impl Bench {
    /// Returns the name of the bench, which is the value of its string; `None` if it is missing in broken code.
    pub fn title(&self) -> Option<String> {
        Some(StringLit::cast(self.name_token()?)?.value())
    }
}

impl Item {
    /// Returns the name of a `const`, `fn` or `kernel`; `None` for other items, and if the name is missing in broken code.
    pub fn name(&self) -> Option<Name> {
        match self {
            Item::Const(it) => it.name(),
            Item::Fn(it) => it.name(),
            Item::Kernel(it) => it.name(),
            Item::Use(_) | Item::Test(_) | Item::Bench(_) | Item::Main(_) => None,
        }
    }

    /// Returns the keyword that starts the item; `None` in broken code.
    pub fn keyword(&self) -> Option<SyntaxToken> {
        self.syntax()
            .children_with_tokens()
            .filter_map(|it| it.into_token())
            .find(|token| SyntaxKind::is_keyword(token.kind()))
    }
}
