//! Prints symbolic integers in the notation of the language.

use std::fmt::{Display, Formatter, Result};

use crate::{Atom, CmpOp, Cond, Expr, Symbol};

impl Display for Symbol {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Symbol::Dim(name) | Symbol::Scalar(name) | Symbol::Var(name, _) => write!(f, "{name}"),
            Symbol::Multiprocessors => write!(f, "multiprocessors"),
            Symbol::GridDim(axis) => write!(f, "grid_dim.{}", letter(*axis)),
            Symbol::BlockIdx(axis) => write!(f, "block_idx.{}", letter(*axis)),
            Symbol::Thread => write!(f, "thread"),
        }
    }
}

/// Returns the letter of a grid axis.
fn letter(axis: u8) -> &'static str {
    ["x", "y", "z"][usize::from(axis).min(2)]
}

impl Display for Atom {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Atom::Symbol(s) => write!(f, "{s}"),
            Atom::Div(a, b) => write!(f, "{} / {}", Operand(a), Operand(b)),
            Atom::Mod(a, b) => write!(f, "{} % {}", Operand(a), Operand(b)),
            Atom::Min(a, b) => write!(f, "min({a}, {b})"),
            Atom::Max(a, b) => write!(f, "max({a}, {b})"),
            Atom::Xor(a, b) => write!(f, "{} ^ {}", Operand(a), Operand(b)),
            Atom::And(a, mask) => write!(f, "{} & {mask:#x}", Operand(a)),
            Atom::Wrap(a, width) => write!(f, "cast({a}, {})", width.name()),
        }
    }
}

/// An operand of an infix operator. It is printed in parentheses unless it is a single word.
struct Operand<'a>(&'a Expr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let plain = match self.0.as_atom() {
            Some(Atom::Symbol(_) | Atom::Min(..) | Atom::Max(..) | Atom::Wrap(..)) => true,
            Some(_) => false,
            None => self.0.as_const().is_some_and(|c| c >= 0),
        };
        if plain { write!(f, "{}", self.0) } else { write!(f, "({})", self.0) }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.is_zero() {
            return write!(f, "0");
        }
        // The constant is first in the order of terms, but is more readable at the end.
        let symbolic = self.terms().filter(|(m, _)| !m.is_empty());
        let constant = self.terms().filter(|(m, _)| m.is_empty());
        let single = self.terms().count() == 1;
        for (i, (m, c)) in symbolic.chain(constant).enumerate() {
            let (sign, magnitude) = (c < 0, c.unsigned_abs());
            match (i, sign) {
                (0, true) => write!(f, "-")?,
                (0, false) => {}
                (_, true) => write!(f, " - ")?,
                (_, false) => write!(f, " + ")?,
            }
            if m.is_empty() {
                write!(f, "{magnitude}")?;
                continue;
            }
            for (j, atom) in m.iter().enumerate() {
                if j > 0 {
                    write!(f, " * ")?;
                }
                let alone = single && m.len() == 1 && magnitude == 1 && !sign;
                match atom {
                    Atom::Symbol(_) | Atom::Min(..) | Atom::Max(..) | Atom::Wrap(..) => write!(f, "{atom}")?,
                    _ if alone => write!(f, "{atom}")?,
                    _ => write!(f, "({atom})")?,
                }
            }
            if magnitude != 1 {
                write!(f, " * {magnitude}")?;
            }
        }
        Ok(())
    }
}

impl Display for CmpOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Eq => "==",
            CmpOp::Ne => "!=",
        })
    }
}

impl Display for Cond {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Cond::True => write!(f, "true"),
            Cond::False => write!(f, "false"),
            Cond::Cmp(op, a, b) => write!(f, "{a} {op} {b}"),
            Cond::And(v) => join(f, v, " && "),
            Cond::Or(v) => join(f, v, " || "),
        }
    }
}

fn join(f: &mut Formatter<'_>, conds: &[Cond], by: &str) -> Result {
    for (i, c) in conds.iter().enumerate() {
        if i > 0 {
            write!(f, "{by}")?;
        }
        match c {
            Cond::And(_) | Cond::Or(_) => write!(f, "({c})")?,
            _ => write!(f, "{c}")?,
        }
    }
    Ok(())
}
