//! A relation: a union of parts, each with its dimensions and the comparisons that its points meet.

use std::fmt;

/// A relation or set: a union of parts. Two relations that differ in text can have the same points.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    pub(super) space: Space,
    pub(super) parts: Vec<Part>,
}

/// The dimensions of a relation, which an empty relation has as well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Space {
    /// The names of the inputs, then of the outputs; empty for a dimension without a name.
    pub(super) names: Vec<String>,
    /// The number of inputs; `None` for a set.
    pub(super) inputs: Option<usize>,
}

/// The reason why a text is not read, a relation is not listed, or it is not the relation of a layout.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RelationError {
    #[error("{message} at byte {at}")]
    Parse { at: usize, message: String },
    #[error("variable `{0}` has neither constant bounds nor an equation")]
    Unbounded(String),
    #[error("the relation has more than {0} candidates")]
    TooLarge(u64),
    #[error("a term of the relation has no value in 64 bits")]
    NoValue,
    /// The relation is not the one of a layout, and why.
    #[error("{0}")]
    NotALayout(String),
    /// The operation is not defined for these relations, and why.
    #[error("{0}")]
    Undefined(String),
}

/// One member of the union. The variables are the inputs, the outputs, then those that `exists` binds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) names: Vec<String>,
    /// The number of inputs; `None` for a set.
    pub(super) inputs: Option<usize>,
    /// The number of inputs and outputs.
    pub(super) dims: usize,
    /// The comparisons, all of which hold.
    pub(super) atoms: Vec<Atom>,
}

/// A chain of comparisons: `0 <= c < 8` has three terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Atom {
    pub(super) terms: Vec<Term>,
    pub(super) ops: Vec<Op>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Term {
    Number(i64),
    Variable(usize),
    Add(Box<Term>, Box<Term>),
    Subtract(Box<Term>, Box<Term>),
    Multiply(Box<Term>, Box<Term>),
    Floor(Box<Term>, Box<Term>),
    Modulo(Box<Term>, Box<Term>),
}

impl Relation {
    /// Returns the number of inputs (`None` for a set) and the number of all dimensions.
    pub fn arity(&self) -> (Option<usize>, usize) {
        (self.space.inputs, self.space.names.len())
    }

    /// Returns the reverse relation: inputs and outputs change places. A set is its own reverse.
    pub fn inverse(&self) -> Relation {
        let space = self.space.part(Vec::new()).reversed().space();
        Relation { space, parts: self.parts.iter().map(Part::reversed).collect() }
    }

    /// Returns the names of the inputs, all different.
    pub(super) fn input_names(&self) -> Vec<String> {
        self.space.part(Vec::new()).shown_names()[..self.space.inputs.unwrap_or(0)].to_vec()
    }

    /// Returns the names of the outputs, all different.
    pub(super) fn output_names(&self) -> Vec<String> {
        self.space.part(Vec::new()).shown_names()[self.space.inputs.unwrap_or(0)..].to_vec()
    }
}

impl Space {
    /// Makes a part of these dimensions, without variables of `exists`.
    pub(super) fn part(&self, atoms: Vec<Atom>) -> Part {
        Part { names: self.names.clone(), inputs: self.inputs, dims: self.names.len(), atoms }
    }
}

impl Part {
    /// Returns the dimensions without the variables of `exists`.
    pub(super) fn space(&self) -> Space {
        Space { names: self.names[..self.dims].to_vec(), inputs: self.inputs }
    }

    /// Returns the comparisons with each variable renamed.
    pub(super) fn renamed(&self, to: &dyn Fn(usize) -> usize) -> impl Iterator<Item = Atom> {
        self.atoms.iter().map(move |atom| Atom {
            terms: atom.terms.iter().map(|term| term.renamed(to)).collect(),
            ops: atom.ops.clone(),
        })
    }

    pub(super) fn reversed(&self) -> Part {
        let Some(inputs) = self.inputs else { return self.clone() };
        let outputs = self.dims - inputs;
        let moved = |v: usize| match v {
            v if v < inputs => v + outputs,
            v if v < self.dims => v - inputs,
            v => v,
        };
        let mut names = self.names.clone();
        names[..self.dims].rotate_left(inputs);
        Part { names, inputs: Some(outputs), dims: self.dims, atoms: self.renamed(&moved).collect() }
    }

    /// Reports whether variable `v` occurs in a comparison.
    pub(super) fn uses(&self, v: usize) -> bool {
        self.atoms.iter().flat_map(|atom| &atom.terms).any(|term| term.uses(v))
    }

    /// Returns a name for every variable, all different: its own if no variable before has it, else a new one.
    pub(super) fn shown_names(&self) -> Vec<String> {
        let mut shown: Vec<String> = Vec::with_capacity(self.names.len());
        for (v, name) in self.names.iter().enumerate() {
            let mut fresh = (0..).map(|n| format!("v{}", v + n));
            let own = Some(name.clone()).filter(|name| !name.is_empty() && !shown.contains(name));
            let taken = |name: &String| shown.contains(name) || self.names.contains(name);
            shown.push(own.or_else(|| fresh.find(|name| !taken(name))).unwrap_or_default());
        }
        shown
    }
}

impl Atom {
    pub(super) fn links(&self) -> impl Iterator<Item = (&Term, Op, &Term)> {
        self.ops.iter().enumerate().map(|(i, &op)| (&self.terms[i], op, &self.terms[i + 1]))
    }
}

impl Term {
    fn renamed(&self, to: &dyn Fn(usize) -> usize) -> Term {
        let both = |make: fn(Box<Term>, Box<Term>) -> Term, a: &Term, b: &Term| {
            make(Box::new(a.renamed(to)), Box::new(b.renamed(to)))
        };
        match self {
            Term::Number(n) => Term::Number(*n),
            Term::Variable(v) => Term::Variable(to(*v)),
            Term::Add(a, b) => both(Term::Add, a, b),
            Term::Subtract(a, b) => both(Term::Subtract, a, b),
            Term::Multiply(a, b) => both(Term::Multiply, a, b),
            Term::Floor(a, b) => both(Term::Floor, a, b),
            Term::Modulo(a, b) => both(Term::Modulo, a, b),
        }
    }

    pub(super) fn uses(&self, v: usize) -> bool {
        match self {
            Term::Number(_) => false,
            Term::Variable(w) => v == *w,
            Term::Add(a, b)
            | Term::Subtract(a, b)
            | Term::Multiply(a, b)
            | Term::Floor(a, b)
            | Term::Modulo(a, b) => a.uses(v) || b.uses(v),
        }
    }

    /// Writes the term. `tight` puts a sum, a product, a `mod` or a negative number in parentheses.
    fn write(&self, names: &[String], tight: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = !matches!(self, Term::Number(_) | Term::Variable(_) | Term::Floor(..));
        let negative = matches!(self, Term::Number(n) if *n < 0);
        if tight && (wide || negative) {
            f.write_str("(")?;
            self.write(names, false, f)?;
            return f.write_str(")");
        }
        match self {
            Term::Number(n) => write!(f, "{n}"),
            Term::Variable(v) => f.write_str(&names[*v]),
            Term::Add(a, b) => {
                a.write(names, false, f)?;
                f.write_str(" + ")?;
                b.write(names, matches!(**b, Term::Add(..) | Term::Subtract(..)), f)
            }
            Term::Subtract(a, b) => {
                match **a {
                    Term::Number(0) => f.write_str("-")?,
                    _ => {
                        a.write(names, false, f)?;
                        f.write_str(" - ")?;
                    }
                }
                b.write(names, true, f)
            }
            Term::Multiply(a, b) => {
                a.write(names, true, f)?;
                f.write_str("*")?;
                b.write(names, true, f)
            }
            Term::Floor(a, b) => {
                f.write_str("floor(")?;
                a.write(names, !matches!(**a, Term::Variable(_)), f)?;
                f.write_str("/")?;
                b.write(names, true, f)?;
                f.write_str(")")
            }
            Term::Modulo(a, b) => {
                a.write(names, true, f)?;
                f.write_str(" mod ")?;
                b.write(names, true, f)
            }
        }
    }
}

/// Writes one number alone, more in parentheses.
pub(super) fn list(values: &[i64]) -> String {
    match values {
        [only] => only.to_string(),
        _ => format!("({})", values.iter().map(i64::to_string).collect::<Vec<_>>().join(",")),
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Op::Less => "<",
            Op::LessEqual => "<=",
            Op::Greater => ">",
            Op::GreaterEqual => ">=",
            Op::Equal => "=",
            Op::NotEqual => "!=",
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.shown_names();
        let inputs = self.inputs.unwrap_or(0);
        if self.inputs.is_some() {
            write!(f, "[{}] -> ", names[..inputs].join(", "))?;
        }
        write!(f, "[{}]", names[inputs..self.dims].join(", "))?;
        if self.atoms.is_empty() {
            return Ok(());
        }
        f.write_str(" : ")?;
        let bound: Vec<&str> =
            (self.dims..names.len()).filter(|&v| self.uses(v)).map(|v| names[v].as_str()).collect();
        if !bound.is_empty() {
            write!(f, "exists ({} : ", bound.join(", "))?;
        }
        for (i, atom) in self.atoms.iter().enumerate() {
            f.write_str(if i > 0 { " and " } else { "" })?;
            for (j, term) in atom.terms.iter().enumerate() {
                if j > 0 {
                    write!(f, " {} ", atom.ops[j - 1])?;
                }
                term.write(&names, false, f)?;
            }
        }
        f.write_str(if bound.is_empty() { "" } else { ")" })
    }
}

impl fmt::Display for Relation {
    /// Writes the relation so that it reads back: `{ [c] -> [i] : 0 <= c < 8 and i = 2*c }`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{ ")?;
        if self.parts.is_empty() {
            write!(f, "{} : false", self.space.part(Vec::new()))?;
        }
        for (i, part) in self.parts.iter().enumerate() {
            write!(f, "{}{part}", if i > 0 { "; " } else { "" })?;
        }
        f.write_str(" }")
    }
}
