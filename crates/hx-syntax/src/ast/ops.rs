//! Operators, and the accessors for the operator of a node.

use super::{AssignStmt, AstNode, BinaryExpr, UnaryExpr};
use crate::{SyntaxKind::*, SyntaxNode, SyntaxToken, T};

/// An operator between two operands. `:` has its own node, [`super::LayoutExpr`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOp {
    /// `||` and `&&`.
    Logic(LogicOp),
    /// A comparison.
    Cmp(CmpOp),
    /// An arithmetic operator, `@` included.
    Arith(ArithOp),
    /// `∘`, the composition of layouts.
    Compose,
}

/// A logical operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum LogicOp {
    Or,
    And,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum ArithOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    /// `@`, the matrix product.
    MatMul,
    /// `&`.
    BitAnd,
    /// `|`.
    BitOr,
    /// `^`.
    BitXor,
    /// `<<`.
    Shl,
    /// `>>`.
    Shr,
}

/// An operator before its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Neg,
    Not,
    /// `~`.
    BitNot,
}

/// The operator of an assignment, compound ones included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AssignOp {
    /// `=`.
    Plain,
    /// A compound assignment: `x += e` is `x = x + e`.
    Arith(ArithOp),
}

impl BinaryOp {
    /// Returns the operator as it is written.
    pub fn text(self) -> &'static str {
        match self {
            BinaryOp::Logic(LogicOp::Or) => "||",
            BinaryOp::Logic(LogicOp::And) => "&&",
            BinaryOp::Cmp(op) => op.text(),
            BinaryOp::Arith(op) => op.text(),
            BinaryOp::Compose => "∘",
        }
    }
}

impl CmpOp {
    /// Returns the operator as it is written.
    pub fn text(self) -> &'static str {
        match self {
            CmpOp::Eq => "==",
            CmpOp::Ne => "!=",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
        }
    }
}

impl ArithOp {
    /// Returns the operator as it is written.
    pub fn text(self) -> &'static str {
        match self {
            ArithOp::Add => "+",
            ArithOp::Sub => "-",
            ArithOp::Mul => "*",
            ArithOp::Div => "/",
            ArithOp::Rem => "%",
            ArithOp::MatMul => "@",
            ArithOp::BitAnd => "&",
            ArithOp::BitOr => "|",
            ArithOp::BitXor => "^",
            ArithOp::Shl => "<<",
            ArithOp::Shr => ">>",
        }
    }
}

impl UnaryOp {
    /// Returns the operator as it is written.
    pub fn text(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
            UnaryOp::BitNot => "~",
        }
    }
}

/// Returns the first token among a node's children that `read` accepts as an operator.
fn find_op<T>(node: &SyntaxNode, read: impl Fn(&SyntaxToken) -> Option<T>) -> Option<(SyntaxToken, T)> {
    node.children_with_tokens().filter_map(|it| it.into_token()).find_map(|token| {
        let op = read(&token)?;
        Some((token, op))
    })
}

impl BinaryExpr {
    /// Returns the operator and its token; `None` if the operator is missing in broken code.
    pub fn op(&self) -> Option<(SyntaxToken, BinaryOp)> {
        find_op(self.syntax(), |token| {
            Some(match token.kind() {
                T![||] => BinaryOp::Logic(LogicOp::Or),
                T![&&] => BinaryOp::Logic(LogicOp::And),
                T![==] => BinaryOp::Cmp(CmpOp::Eq),
                T![!=] => BinaryOp::Cmp(CmpOp::Ne),
                T![<] => BinaryOp::Cmp(CmpOp::Lt),
                T![<=] => BinaryOp::Cmp(CmpOp::Le),
                T![>] => BinaryOp::Cmp(CmpOp::Gt),
                T![>=] => BinaryOp::Cmp(CmpOp::Ge),
                T![+] => BinaryOp::Arith(ArithOp::Add),
                T![-] => BinaryOp::Arith(ArithOp::Sub),
                T![*] => BinaryOp::Arith(ArithOp::Mul),
                T![/] => BinaryOp::Arith(ArithOp::Div),
                T![%] => BinaryOp::Arith(ArithOp::Rem),
                T![@] => BinaryOp::Arith(ArithOp::MatMul),
                T![&] => BinaryOp::Arith(ArithOp::BitAnd),
                T![|] => BinaryOp::Arith(ArithOp::BitOr),
                T![^] => BinaryOp::Arith(ArithOp::BitXor),
                T![<<] => BinaryOp::Arith(ArithOp::Shl),
                T![>>] => BinaryOp::Arith(ArithOp::Shr),
                COMPOSE => BinaryOp::Compose,
                _ => return None,
            })
        })
    }

    /// Returns the operator; `None` if it is missing in broken code.
    pub fn op_kind(&self) -> Option<BinaryOp> {
        self.op().map(|(_, op)| op)
    }

    /// Returns the token of the operator; `None` if it is missing in broken code.
    pub fn op_token(&self) -> Option<SyntaxToken> {
        self.op().map(|(token, _)| token)
    }
}

impl UnaryExpr {
    /// Returns the operator and its token; `None` if the operator is missing in broken code.
    pub fn op(&self) -> Option<(SyntaxToken, UnaryOp)> {
        find_op(self.syntax(), |token| {
            Some(match token.kind() {
                T![-] => UnaryOp::Neg,
                T![!] => UnaryOp::Not,
                T![~] => UnaryOp::BitNot,
                _ => return None,
            })
        })
    }

    /// Returns the operator; `None` if it is missing in broken code.
    pub fn op_kind(&self) -> Option<UnaryOp> {
        self.op().map(|(_, op)| op)
    }
}

impl AssignStmt {
    /// Returns the operator and its token; `None` if the operator is missing in broken code.
    pub fn op(&self) -> Option<(SyntaxToken, AssignOp)> {
        find_op(self.syntax(), |token| {
            Some(match token.kind() {
                T![=] => AssignOp::Plain,
                T![+=] => AssignOp::Arith(ArithOp::Add),
                T![-=] => AssignOp::Arith(ArithOp::Sub),
                T![*=] => AssignOp::Arith(ArithOp::Mul),
                T![/=] => AssignOp::Arith(ArithOp::Div),
                T![%=] => AssignOp::Arith(ArithOp::Rem),
                T![&=] => AssignOp::Arith(ArithOp::BitAnd),
                T![|=] => AssignOp::Arith(ArithOp::BitOr),
                T![^=] => AssignOp::Arith(ArithOp::BitXor),
                T![<<=] => AssignOp::Arith(ArithOp::Shl),
                T![>>=] => AssignOp::Arith(ArithOp::Shr),
                _ => return None,
            })
        })
    }

    /// Returns the operator; `None` if it is missing in broken code.
    pub fn op_kind(&self) -> Option<AssignOp> {
        self.op().map(|(_, op)| op)
    }
}
