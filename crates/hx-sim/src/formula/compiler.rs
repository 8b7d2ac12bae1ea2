//! Compiles expressions and conditions, and replaces what is known at compile time by its value.

use hx_index::{Atom, Cond, EvalError, Expr, Symbol};

use super::condition::Test;
use super::node::{BinOp, Node, Overflow, Product, Sum};
use super::{Binding, Env, Formula};

/// Compiles expressions for blocks of `threads` threads under a binding of the symbols.
pub(crate) struct Compiler<'a> {
    pub(crate) threads: usize,
    pub(crate) lookup: &'a dyn Fn(&Symbol) -> Option<Binding>,
}

impl Compiler<'_> {
    /// Compiles an integer expression.
    ///
    /// # Errors
    /// If a symbol has no value.
    pub(crate) fn formula(&self, expr: &Expr) -> Result<Formula, EvalError> {
        Ok(Formula { node: self.node(expr, Overflow::Fails)?, source: expr.clone() })
    }

    pub(crate) fn test(&self, cond: &Cond) -> Result<Test, EvalError> {
        let all = |v: &[Cond]| v.iter().map(|c| self.test(c)).collect::<Result<Vec<_>, _>>();
        let test = match cond {
            Cond::True => Test::Const(true),
            Cond::False => Test::Const(false),
            Cond::Cmp(op, a, b) => Test::Cmp(*op, self.formula(a)?, self.formula(b)?),
            Cond::And(v) => Test::All(all(v)?),
            Cond::Or(v) => Test::Any(all(v)?),
        };
        Ok(self.fold_test(test))
    }

    fn node(&self, expr: &Expr, overflow: Overflow) -> Result<Node, EvalError> {
        let [mut sum, mut fixed] = [(); 2].map(|()| Sum { overflow, ..Sum::default() });
        for (monomial, coefficient) in expr.terms() {
            let mut product = Product { coefficient, uniform: Vec::new(), varying: Vec::new(), overflow };
            for atom in monomial {
                let node = self.atom(atom)?;
                if node.varying() { product.varying.push(node) } else { product.uniform.push(node) }
            }
            let into = if product.is_static() { &mut fixed } else { &mut sum };
            if product.varying.is_empty() { into.uniform.push(product) } else { into.varying.push(product) }
        }
        match self.fold(Node::Sum(Box::new(fixed))) {
            Node::Const(c) => sum.constant = c,
            Node::Table(t) => sum.table = Some(t),
            Node::Sum(s) => {
                sum.uniform.extend(s.uniform);
                sum.varying.extend(s.varying);
            }
            _ => {}
        }
        Ok(sum.simplest())
    }

    fn atom(&self, atom: &Atom) -> Result<Node, EvalError> {
        let binary = |op, a: &Expr, b: &Expr| {
            let (a, b) = (self.node(a, Overflow::Fails)?, self.node(b, Overflow::Fails)?);
            let varying = a.varying() || b.varying();
            Ok(Node::Binary { op, a: Box::new(a), b: Box::new(b), varying })
        };
        let node = match atom {
            Atom::Symbol(s) => match (self.lookup)(s) {
                Some(Binding::Known(c)) => Node::Const(c),
                Some(Binding::Table(t)) => Node::Table(t),
                Some(Binding::Slot(s)) => Node::Slot(s),
                Some(Binding::Lanes(l)) => Node::Lanes(l),
                None => return Err(EvalError::Unbound(s.to_string())),
            },
            Atom::Div(a, b) => binary(BinOp::Div, a, b)?,
            Atom::Mod(a, b) => binary(BinOp::Mod, a, b)?,
            Atom::Min(a, b) => binary(BinOp::Min, a, b)?,
            Atom::Max(a, b) => binary(BinOp::Max, a, b)?,
            Atom::Xor(a, b) => binary(BinOp::Xor, a, b)?,
            Atom::And(a, mask) => Node::Mask { a: Box::new(self.node(a, Overflow::Fails)?), mask: *mask },
            Atom::Wrap(a, width) => Node::Wrap { a: Box::new(self.node(a, Overflow::Wraps)?), width: *width },
        };
        Ok(self.fold(node))
    }

    /// Replaces a node that is known at compile time by its value.
    fn fold(&self, node: Node) -> Node {
        if !node.is_static() {
            return node;
        }
        let mut env = Env::new(0, 0, self.threads);
        if !node.varying() {
            return node.scalar(&env).map_or(node, Node::Const);
        }
        let mut values = vec![0; self.threads];
        match node.lanes(&mut env, None, &mut values) {
            Ok(()) => match values.first() {
                Some(&first) if values.iter().all(|&v| v == first) => Node::Const(first),
                _ => Node::Table(values.into()),
            },
            Err(_) => node,
        }
    }

    fn fold_test(&self, test: Test) -> Test {
        if !test.is_static() || matches!(test, Test::Const(_) | Test::Table(_)) {
            return test;
        }
        let mut env = Env::new(0, 0, self.threads);
        let mut values = vec![false; self.threads];
        match test.lanes(&mut env, None, &mut values) {
            Ok(()) if values.iter().all(|&v| v) => Test::Const(true),
            Ok(()) if values.iter().all(|&v| !v) => Test::Const(false),
            Ok(()) => Test::Table(values.into()),
            Err(_) => test,
        }
    }
}
