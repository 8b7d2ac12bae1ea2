//! Reads the notation of isl: what `write` writes, and what isl prints of finite relations.
//!
//! A relation is a union by `;` of tuples with a formula. A formula has `and`, `or`, `exists`, parentheses and chains of
//! comparisons. A term has sums, multiples (`2c` and `2*c`), `mod`, and `floor(x/n)` with its older forms `[x/n]` and
//! `floord(x, n)`. Relations with parameters are refused. Relations with infinitely many points are read, but cannot be listed.

use super::relation::{Atom, Op, Part, Relation, RelationError, Space, Term};

/// The deepest nesting that is read. Deeper text is refused, because it could overflow the stack.
const MAX_DEPTH: usize = 64;

/// The largest number of alternatives into which `or` and `!=` may split a part.
const MAX_ALTERNATIVES: usize = 256;

/// Alternatives, each a list of comparisons that hold together.
type Formula = Vec<Vec<Atom>>;

impl Relation {
    /// Reads a relation or set in isl's notation, such as `{ [i, j] -> [2i + j] : 0 <= i < 4 and 0 <= j < 2 }`. A relation is a union by
    /// `;`, and a formula may use `and`, `or`, `exists`, `mod` and `floor(x/n)`.
    ///
    /// # Errors
    /// If the text does not follow this notation, has parameters, nests too deeply, or splits into too many alternatives.
    pub fn parse(text: &str) -> Result<Relation, RelationError> {
        let mut reader = Reader { text, at: 0, names: Vec::new(), hidden: Vec::new(), depth: 0 };
        reader.union()
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The variables of the part that is being read.
    names: Vec<String>,
    /// For each variable, whether its `exists` has ended.
    hidden: Vec<bool>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, RelationError> {
        Err(RelationError::Parse { at: self.at, message: message.into() })
    }

    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    /// Reports whether `token` is next. A word must end there.
    fn sees(&mut self, token: &str) -> bool {
        let word = token.chars().all(char::is_alphabetic);
        let ends = |c: char| !(c.is_alphanumeric() || c == '_');
        self.rest().strip_prefix(token).is_some_and(|r| !word || r.chars().next().is_none_or(ends))
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.sees(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), RelationError> {
        if self.eat(token) { Ok(()) } else { self.error(format!("`{token}` was expected")) }
    }

    /// Reads with one more level of nesting.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, RelationError>,
    ) -> Result<T, RelationError> {
        if self.depth >= MAX_DEPTH {
            return self.error(format!("nesting deeper than {MAX_DEPTH}"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn union(&mut self) -> Result<Relation, RelationError> {
        if self.sees("[") {
            return self.error("parameters stand for any number: write their values in the relation");
        }
        self.expect("{")?;
        let (space, mut parts) = self.part()?;
        while self.eat(";") {
            let (other, more) = self.part()?;
            if (space.inputs, space.names.len()) != (other.inputs, other.names.len()) {
                return self.error("the parts of a union have the same numbers of inputs and outputs");
            }
            parts.extend(more);
        }
        self.expect("}")?;
        if !self.rest().is_empty() {
            return self.error("text after the relation");
        }
        Ok(Relation { space, parts })
    }

    /// Reads one member of the union: its dimensions, and a part for each alternative of its formula.
    fn part(&mut self) -> Result<(Space, Vec<Part>), RelationError> {
        self.names.clear();
        self.hidden.clear();
        let mut atoms = Vec::new();
        self.tuple(&mut atoms)?;
        let mut inputs = None;
        if self.eat("->") {
            inputs = Some(self.names.len());
            self.tuple(&mut atoms)?;
        }
        let dims = self.names.len();
        let space = Space { names: self.names.clone(), inputs };
        let formula = if self.eat(":") { self.formula()? } else { vec![Vec::new()] };
        let names = std::mem::take(&mut self.names);
        let part = |alternative: Vec<Atom>| {
            let atoms = atoms.iter().cloned().chain(alternative).collect();
            Part { names: names.clone(), inputs, dims, atoms }
        };
        Ok((space, formula.into_iter().map(part).collect()))
    }

    fn bind(&mut self, name: String) -> usize {
        self.names.push(name);
        self.hidden.push(false);
        self.names.len() - 1
    }

    /// Reads a tuple. A new name binds, and may have its value with it, `[i = 2c]`. Any other term is the value of a dimension
    /// without a name.
    fn tuple(&mut self, atoms: &mut Vec<Atom>) -> Result<(), RelationError> {
        self.name();
        self.expect("[")?;
        while !self.eat("]") {
            let start = self.at;
            let name = self.name().filter(|n| !self.names.contains(n));
            match name {
                Some(name) if self.rest().starts_with([',', ']']) => {
                    self.bind(name);
                }
                Some(name) if self.eat("=") => {
                    let v = self.bind(name);
                    atoms.push(equals(v, self.term()?));
                }
                _ => {
                    self.at = start;
                    let term = self.term()?;
                    let v = self.bind(String::new());
                    atoms.push(equals(v, term));
                }
            }
            if !self.eat(",") && !self.rest().starts_with(']') {
                return self.error("`,` or `]` was expected");
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

    fn formula(&mut self) -> Result<Formula, RelationError> {
        let mut all = self.conjunction()?;
        while self.eat("or") {
            all.extend(self.conjunction()?);
            self.few(all.len())?;
        }
        Ok(all)
    }

    fn few(&self, count: usize) -> Result<(), RelationError> {
        if count > MAX_ALTERNATIVES {
            return self.error(format!("the formula has more than {MAX_ALTERNATIVES} alternatives"));
        }
        Ok(())
    }

    fn conjunction(&mut self) -> Result<Formula, RelationError> {
        let mut all = self.clause()?;
        while self.eat("and") {
            let more = self.clause()?;
            self.few(all.len() * more.len())?;
            let joined = |a: &Vec<Atom>| {
                more.iter().map(|b| a.iter().chain(b).cloned().collect()).collect::<Formula>()
            };
            all = all.iter().flat_map(joined).collect();
        }
        Ok(all)
    }

    fn clause(&mut self) -> Result<Formula, RelationError> {
        for word in ["not", "implies", "forall"] {
            if self.sees(word) {
                return self.error(format!("`{word}` is not read: write comparisons, `and`, `or`, `exists`"));
            }
        }
        if self.eat("true") {
            return Ok(vec![Vec::new()]);
        }
        if self.eat("false") {
            return Ok(Vec::new());
        }
        if self.eat("exists") {
            return self.nested(Self::exists);
        }
        let start = self.at;
        let fault = match self.comparison() {
            Ok(formula) => return Ok(formula),
            Err(fault) => fault,
        };
        // The parenthesis may be one of a formula instead of one of a term.
        self.at = start;
        if !self.eat("(") {
            return Err(fault);
        }
        let inner = self.nested(Self::formula)?;
        if !self.sees(")") {
            return Err(fault);
        }
        self.expect(")")?;
        Ok(inner)
    }

    fn exists(&mut self) -> Result<Formula, RelationError> {
        let parenthesis = self.eat("(");
        let (first, mut atoms) = (self.names.len(), Vec::new());
        loop {
            let Some(name) = self.name() else { return self.error("a variable was expected") };
            let v = self.bind(name);
            if self.eat("=") {
                atoms.push(equals(v, self.term()?));
            }
            if !self.eat(",") {
                break;
            }
        }
        let last = self.names.len();
        let inner = if self.eat(":") { self.formula()? } else { vec![Vec::new()] };
        if parenthesis {
            self.expect(")")?;
        }
        self.hidden[first..last].fill(true);
        Ok(inner.into_iter().map(|more| atoms.iter().cloned().chain(more).collect()).collect())
    }

    /// Reads a chain of comparisons.
    fn comparison(&mut self) -> Result<Formula, RelationError> {
        let (mut terms, mut ops) = (vec![self.term()?], Vec::new());
        loop {
            let op = match () {
                () if self.eat("<=") => Op::LessEqual,
                () if self.eat(">=") => Op::GreaterEqual,
                () if self.eat("!=") => Op::NotEqual,
                () if self.eat("<") => Op::Less,
                () if self.eat(">") => Op::Greater,
                () if self.eat("=") => Op::Equal,
                () if ops.is_empty() => return self.error("a comparison was expected"),
                () => return Ok(vec![vec![Atom { terms, ops }]]),
            };
            ops.push(op);
            terms.push(self.term()?);
        }
    }

    fn term(&mut self) -> Result<Term, RelationError> {
        let mut left = self.product()?;
        loop {
            if self.sees("->") {
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
        self.nested(Self::factor_inside)
    }

    fn factor_inside(&mut self) -> Result<Term, RelationError> {
        if self.eat("-") {
            return Ok(Term::Subtract(Box::new(Term::Number(0)), Box::new(self.factor()?)));
        }
        if self.eat("floord") {
            self.expect("(")?;
            return self.quotient(",", ")");
        }
        if self.eat("floor") {
            self.expect("(")?;
            return self.quotient("/", ")");
        }
        if self.eat("[") {
            return self.quotient("/", "]");
        }
        if self.eat("(") {
            let term = self.term()?;
            self.expect(")")?;
            return Ok(term);
        }
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            return self.multiple(digits);
        }
        let start = self.at;
        let Some(name) = self.name() else { return self.error("a term was expected") };
        match (0..self.names.len()).rev().find(|&v| !self.hidden[v] && self.names[v] == name) {
            Some(v) => Ok(Term::Variable(v)),
            None => {
                self.at = start;
                self.error(format!("variable `{name}` is not bound"))
            }
        }
    }

    /// Reads `x/n)` after its opening, with the given separator and closing.
    fn quotient(&mut self, by: &str, close: &str) -> Result<Term, RelationError> {
        let term = self.term()?;
        self.expect(by)?;
        let divisor = self.factor()?;
        self.expect(close)?;
        Ok(Term::Floor(Box::new(term), Box::new(divisor)))
    }

    /// Reads a number of `digits` bytes, and the factor that follows it without a space: `2c`, `4(i + j)`.
    fn multiple(&mut self, digits: usize) -> Result<Term, RelationError> {
        let number = self.text[self.at..self.at + digits].parse();
        let Ok(number) = number else { return self.error("the number does not fit 64 bits") };
        self.at += digits;
        let number = Term::Number(number);
        let close = self.text[self.at..].starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '(');
        if !close || ["mod", "and", "or"].iter().any(|word| self.sees(word)) {
            return Ok(number);
        }
        Ok(Term::Multiply(Box::new(number), Box::new(self.factor()?)))
    }
}

fn equals(v: usize, term: Term) -> Atom {
    Atom { terms: vec![Term::Variable(v), term], ops: vec![Op::Equal] }
}
