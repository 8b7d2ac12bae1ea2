//! Reads a relation and lists its points.
//!
//! The reader accepts what `write` writes and a little more: `and`, `exists`, unions by `;`, chains of comparisons, and
//! quasi-affine terms. Constants must bound every variable, or an equation must determine it.

use std::collections::BTreeSet;

/// A relation or set: a union of parts.
#[derive(Clone, Debug)]
pub struct Relation {
    parts: Vec<Part>,
}

/// The reason why a text is not read or not listed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RelationError {
    #[error("{message} at byte {at}")]
    Parse { at: usize, message: String },
    #[error("variable `{0}` has neither constant bounds nor an equation")]
    Unbounded(String),
    #[error("the relation has more than {0} candidates")]
    TooLarge(u64),
}

/// The points of a relation. The inputs of a point come before its outputs.
pub type Points = BTreeSet<Vec<i64>>;

/// The largest number of candidates that listing tries.
const LIMIT: u64 = 1 << 22;

#[derive(Clone, Debug)]
struct Part {
    names: Vec<String>,
    inputs: Option<usize>,
    dims: usize,
    atoms: Vec<Atom>,
}

/// A chain of comparisons.
#[derive(Clone, Debug)]
struct Atom {
    terms: Vec<Term>,
    ops: Vec<Op>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
}

#[derive(Clone, Debug)]
enum Term {
    Number(i64),
    Variable(usize),
    Add(Box<Term>, Box<Term>),
    Subtract(Box<Term>, Box<Term>),
    Multiply(Box<Term>, Box<Term>),
    Floor(Box<Term>, Box<Term>),
    Modulo(Box<Term>, Box<Term>),
}

impl Relation {
    /// Reads a relation or set.
    ///
    /// # Errors
    /// If the text is not of the accepted form.
    pub fn parse(text: &str) -> Result<Relation, RelationError> {
        let mut reader = Reader { text, at: 0, names: Vec::new() };
        let parts = reader.union()?;
        Ok(Relation { parts })
    }

    /// Returns the number of inputs (`None` for a set) and the number of all dimensions.
    pub fn arity(&self) -> (Option<usize>, usize) {
        self.parts.first().map_or((None, 0), |p| (p.inputs, p.dims))
    }

    /// Lists all points, inputs before outputs.
    ///
    /// # Errors
    /// If a variable is not bounded or there are too many candidates.
    pub fn points(&self) -> Result<Points, RelationError> {
        let mut out = Points::new();
        for part in &self.parts {
            let mut listing = Listing { part, values: vec![None; part.names.len()], tried: 0, out: &mut out };
            listing.extend()?;
        }
        Ok(out)
    }
}

/// Assigns variables one after the other: by an equation if one determines the next variable, else by enumeration of its bounds.
struct Listing<'a> {
    part: &'a Part,
    values: Vec<Option<i64>>,
    tried: u64,
    out: &'a mut Points,
}

impl Listing<'_> {
    fn extend(&mut self) -> Result<(), RelationError> {
        self.tried += 1;
        if self.tried > LIMIT {
            return Err(RelationError::TooLarge(LIMIT));
        }
        if self.part.atoms.iter().any(|atom| atom.holds(&self.values) == Some(false)) {
            return Ok(());
        }
        let Some(next) = self.values.iter().position(Option::is_none) else {
            let point = self.values[..self.part.dims].iter().flatten().copied().collect();
            self.out.insert(point);
            return Ok(());
        };
        let open = |v: &usize| self.values[*v].is_none();
        let determined = (0..self.values.len()).filter(open).find_map(|v| Some((v, self.equation(v)?)));
        if let Some((v, value)) = determined {
            self.values[v] = Some(value);
            self.extend()?;
            self.values[v] = None;
            return Ok(());
        }
        let bounded = (0..self.values.len()).filter(open).find_map(|v| Some((v, self.bounds(v)?)));
        let Some((v, (low, high))) = bounded else {
            return Err(RelationError::Unbounded(self.part.names[next].clone()));
        };
        for value in low..=high {
            self.values[v] = Some(value);
            self.extend()?;
        }
        self.values[v] = None;
        Ok(())
    }

    /// Returns the value that an equation `v = term` determines, if all variables of the term are known.
    fn equation(&self, v: usize) -> Option<i64> {
        self.part.atoms.iter().find_map(|atom| {
            atom.links().find_map(|(left, op, right)| match (left, op, right) {
                (Term::Variable(w), Op::Equal, term) | (term, Op::Equal, Term::Variable(w)) if *w == v => {
                    term.eval(&self.values)
                }
                _ => None,
            })
        })
    }

    fn bounds(&self, v: usize) -> Option<(i64, i64)> {
        let (mut low, mut high) = (None, None);
        for (left, op, right) in self.part.atoms.iter().flat_map(Atom::links) {
            let (op, bound) = match (left, right) {
                (Term::Variable(w), term) if *w == v => (op, term),
                (term, Term::Variable(w)) if *w == v => (op.turned(), term),
                _ => continue,
            };
            let Some(bound) = bound.eval(&self.values) else { continue };
            match op {
                Op::Less => high = Some(high.map_or(bound - 1, |h: i64| h.min(bound - 1))),
                Op::LessEqual => high = Some(high.map_or(bound, |h: i64| h.min(bound))),
                Op::Greater => low = Some(low.map_or(bound + 1, |l: i64| l.max(bound + 1))),
                Op::GreaterEqual => low = Some(low.map_or(bound, |l: i64| l.max(bound))),
                Op::Equal => {}
            }
        }
        Some((low?, high?))
    }
}

impl Op {
    fn turned(self) -> Op {
        match self {
            Op::Less => Op::Greater,
            Op::LessEqual => Op::GreaterEqual,
            Op::Greater => Op::Less,
            Op::GreaterEqual => Op::LessEqual,
            Op::Equal => Op::Equal,
        }
    }
}

impl Atom {
    fn links(&self) -> impl Iterator<Item = (&Term, Op, &Term)> {
        self.ops.iter().enumerate().map(|(i, &op)| (&self.terms[i], op, &self.terms[i + 1]))
    }

    /// Reports whether the comparison holds; `None` while a variable is open.
    fn holds(&self, values: &[Option<i64>]) -> Option<bool> {
        let mut all = true;
        for (left, op, right) in self.links() {
            let (left, right) = (left.eval(values)?, right.eval(values)?);
            all &= match op {
                Op::Less => left < right,
                Op::LessEqual => left <= right,
                Op::Greater => left > right,
                Op::GreaterEqual => left >= right,
                Op::Equal => left == right,
            };
        }
        Some(all)
    }
}

impl Term {
    /// Returns the value; `None` while a variable is open or if a number does not fit.
    fn eval(&self, values: &[Option<i64>]) -> Option<i64> {
        match self {
            Term::Number(n) => Some(*n),
            Term::Variable(v) => values[*v],
            Term::Add(a, b) => a.eval(values)?.checked_add(b.eval(values)?),
            Term::Subtract(a, b) => a.eval(values)?.checked_sub(b.eval(values)?),
            Term::Multiply(a, b) => a.eval(values)?.checked_mul(b.eval(values)?),
            Term::Floor(a, b) => a.eval(values)?.checked_div_euclid(b.eval(values)?),
            Term::Modulo(a, b) => a.eval(values)?.checked_rem_euclid(b.eval(values)?),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    names: Vec<String>,
}

impl Reader<'_> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, RelationError> {
        Err(RelationError::Parse { at: self.at, message: message.into() })
    }

    fn rest(&mut self) -> &str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn eat(&mut self, token: &str) -> bool {
        let word = token.chars().all(char::is_alphabetic);
        let rest = self.rest();
        let ends = |c: char| !(c.is_alphanumeric() || c == '_');
        let found = rest.strip_prefix(token).is_some_and(|r| !word || r.chars().next().is_none_or(ends));
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), RelationError> {
        if self.eat(token) { Ok(()) } else { self.error(format!("`{token}` was wanted")) }
    }

    fn union(&mut self) -> Result<Vec<Part>, RelationError> {
        self.expect("{")?;
        let mut parts = vec![self.part()?];
        while self.eat(";") {
            parts.push(self.part()?);
        }
        self.expect("}")?;
        if !self.rest().is_empty() {
            return self.error("text after the relation");
        }
        Ok(parts)
    }

    fn part(&mut self) -> Result<Part, RelationError> {
        self.names.clear();
        let mut atoms = Vec::new();
        self.tuple(&mut atoms)?;
        let mut inputs = None;
        if self.eat("->") {
            inputs = Some(self.names.len());
            self.tuple(&mut atoms)?;
        }
        let dims = self.names.len();
        if self.eat(":") {
            self.formula(&mut atoms)?;
        }
        Ok(Part { names: std::mem::take(&mut self.names), inputs, dims, atoms })
    }

    /// Reads a tuple. Names bind; any other term becomes a fresh name with an equation.
    fn tuple(&mut self, atoms: &mut Vec<Atom>) -> Result<(), RelationError> {
        self.name();
        self.expect("[")?;
        while !self.eat("]") {
            let start = self.at;
            let name = self.name().filter(|n| !self.names.contains(n));
            match name {
                Some(name) if self.rest().starts_with([',', ']']) => self.names.push(name),
                _ => {
                    self.at = start;
                    let term = self.term()?;
                    let v = self.names.len();
                    self.names.push(format!("#{v}"));
                    atoms.push(Atom { terms: vec![Term::Variable(v), term], ops: vec![Op::Equal] });
                }
            }
            if !self.eat(",") && !self.rest().starts_with(']') {
                return self.error("`,` or `]` was wanted");
            }
        }
        Ok(())
    }

    fn name(&mut self) -> Option<String> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).unwrap_or(rest.len());
        let name = rest[..end].to_string();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        Some(name)
    }

    fn formula(&mut self, atoms: &mut Vec<Atom>) -> Result<(), RelationError> {
        loop {
            if self.eat("exists") {
                let parenthesis = self.eat("(");
                loop {
                    match self.name() {
                        Some(name) => self.names.push(name),
                        None => return self.error("a variable was wanted"),
                    }
                    if !self.eat(",") {
                        break;
                    }
                }
                self.expect(":")?;
                self.formula(atoms)?;
                if parenthesis {
                    self.expect(")")?;
                }
            } else {
                atoms.push(self.atom()?);
            }
            if !self.eat("and") {
                return Ok(());
            }
        }
    }

    fn atom(&mut self) -> Result<Atom, RelationError> {
        let (mut terms, mut ops) = (vec![self.term()?], Vec::new());
        loop {
            let op = match () {
                () if self.eat("<=") => Op::LessEqual,
                () if self.eat(">=") => Op::GreaterEqual,
                () if self.eat("<") => Op::Less,
                () if self.eat(">") => Op::Greater,
                () if self.eat("=") => Op::Equal,
                () if ops.is_empty() => return self.error("a comparison was wanted"),
                () => return Ok(Atom { terms, ops }),
            };
            ops.push(op);
            terms.push(self.term()?);
        }
    }

    fn term(&mut self) -> Result<Term, RelationError> {
        let mut left = self.product()?;
        loop {
            if self.rest().starts_with("->") {
                return Ok(left);
            } else if self.eat("+") {
                left = Term::Add(Box::new(left), Box::new(self.product()?));
            } else if self.eat("-") {
                left = Term::Subtract(Box::new(left), Box::new(self.product()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Result<Term, RelationError> {
        let mut left = self.factor()?;
        loop {
            if self.eat("*") {
                left = Term::Multiply(Box::new(left), Box::new(self.factor()?));
            } else if self.eat("mod") || self.eat("%") {
                left = Term::Modulo(Box::new(left), Box::new(self.factor()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn factor(&mut self) -> Result<Term, RelationError> {
        if self.eat("-") {
            return Ok(Term::Subtract(Box::new(Term::Number(0)), Box::new(self.factor()?)));
        }
        if self.eat("floor") {
            self.expect("(")?;
            let term = self.term()?;
            self.expect("/")?;
            let by = self.factor()?;
            self.expect(")")?;
            return Ok(Term::Floor(Box::new(term), Box::new(by)));
        }
        if self.eat("(") {
            let term = self.term()?;
            self.expect(")")?;
            return Ok(term);
        }
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let number = self.text[self.at..self.at + digits].parse();
            let Ok(number) = number else { return self.error("the number does not fit 64 bits") };
            self.at += digits;
            return Ok(Term::Number(number));
        }
        let start = self.at;
        let Some(name) = self.name() else { return self.error("a term was wanted") };
        match self.names.iter().position(|n| *n == name) {
            Some(v) => Ok(Term::Variable(v)),
            None => {
                self.at = start;
                self.error(format!("variable `{name}` is not bound"))
            }
        }
    }
}
