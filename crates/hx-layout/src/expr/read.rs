//! Reads and evaluates an expression in one pass.

use std::collections::BTreeMap;

use super::functions::{after, apply, call, equal, intersection, is_function, union, unknown};
use super::{ExprError, Fault, Value};
use crate::LayoutError;
use crate::isl::Relation;
use crate::parse::Cursor;

/// The end of the message about a name without a value.
pub(crate) const UNKNOWN: &str = " is not known";

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 64;

/// Evaluates an expression, which any number of `name = expression;` may precede.
///
/// # Errors
/// If the text is no expression or an operation in it has no result.
pub fn eval_expr(text: &str) -> Result<Value, ExprError> {
    let mut reader = Reader::new(text);
    let (start, value) = reader.statements()?;
    match reader.sides(value)? {
        (value, None) => Ok(value),
        (left, Some(right)) => reader.placed(start, equal(&left, &right)).map(Value::Bool),
    }
}

/// Evaluates the two sides of `left == right`.
///
/// # Errors
/// As for [`eval_expr`], and when there is no `==`.
pub fn sides(text: &str) -> Result<(Value, Value), ExprError> {
    let mut reader = Reader::new(text);
    let (start, value) = reader.statements()?;
    match reader.sides(value)? {
        (left, Some(right)) => Ok((left, right)),
        _ => Err(ExprError::new(reader.cursor.since(start), "`==` between two layouts was expected")),
    }
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    names: BTreeMap<String, Value>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        Reader { cursor: Cursor::new(text), names: BTreeMap::new(), depth: 0 }
    }

    /// Places a fault at the text read since `start`.
    fn placed<T>(&self, start: usize, result: Result<T, Fault>) -> Result<T, ExprError> {
        result.map_err(|Fault(message)| ExprError::new(self.cursor.since(start), message))
    }

    /// Places an error: an error of the notation has its own place, any other is placed at the text read since `start`.
    fn read<T>(&self, start: usize, result: Result<T, LayoutError>) -> Result<T, ExprError> {
        result.map_err(|error| match error {
            LayoutError::Parse { at, message } => ExprError::new(self.cursor.character(at), message),
            other => ExprError::new(self.cursor.since(start), other.to_string()),
        })
    }

    /// Makes an error at the next character.
    fn error<T>(&self, message: impl Into<String>) -> Result<T, ExprError> {
        Err(ExprError::new(self.cursor.character(self.cursor.position()), message))
    }

    fn expect(&mut self, token: &str) -> Result<(), ExprError> {
        let start = self.cursor.position();
        let result = self.cursor.expect(token);
        self.read(start, result)
    }

    /// Reads `name = value;` any number of times. Returns the start of the expression after them, and its first operand.
    fn statements(&mut self) -> Result<(usize, Value), ExprError> {
        loop {
            let start = self.cursor.position();
            let name = self.cursor.word();
            match name {
                Some(name) if self.cursor.at("=") && !self.cursor.at("==") => {
                    self.cursor.eat("=");
                    let value = self.expression()?;
                    self.names.insert(name.to_string(), value);
                    self.expect(";")?;
                }
                _ => {
                    self.cursor.rewind(start);
                    return Ok((start, self.expression()?));
                }
            }
        }
    }

    /// Reads the rest after the first operand: nothing, or `==` and a second operand.
    fn sides(&mut self, left: Value) -> Result<(Value, Option<Value>), ExprError> {
        let right =
            if self.cursor.eat("==") || self.cursor.eat("≡") { Some(self.expression()?) } else { None };
        self.cursor.eat(";");
        let start = self.cursor.position();
        let end = self.cursor.finish();
        self.read(start, end)?;
        Ok((left, right))
    }

    /// Reads relations joined by `+` or `∪`, and within them those joined by `∩`.
    fn expression(&mut self) -> Result<Value, ExprError> {
        let start = self.cursor.position();
        let mut all = self.intersection()?;
        while self.cursor.eat("+") || self.cursor.eat("∪") {
            let next = self.intersection()?;
            all = self.placed(start, union(&all, &next))?;
        }
        Ok(all)
    }

    fn intersection(&mut self) -> Result<Value, ExprError> {
        let start = self.cursor.position();
        let mut all = self.composition()?;
        while self.cursor.eat("∩") {
            let next = self.composition()?;
            all = self.placed(start, intersection(&all, &next))?;
        }
        Ok(all)
    }

    /// Reads operands joined by `∘`, and evaluates them from the right.
    fn composition(&mut self) -> Result<Value, ExprError> {
        if self.depth >= MAX_DEPTH {
            return self.error(format!("nesting deeper than {MAX_DEPTH}"));
        }
        self.depth += 1;
        let mut operands = vec![(self.cursor.position(), self.operand()?)];
        while self.cursor.after() {
            operands.push((self.cursor.position(), self.operand()?));
        }
        self.depth -= 1;
        let Some((_, mut value)) = operands.pop() else { return self.error("an operand was expected") };
        while let Some((start, left)) = operands.pop() {
            value = self.placed(start, after(&left, &value))?;
        }
        Ok(value)
    }

    /// Reads a primary, `shape : stride`, and applications to coordinates.
    fn operand(&mut self) -> Result<Value, ExprError> {
        let start = self.cursor.position();
        let mut value = self.primary()?;
        if self.cursor.eat(":") {
            let stride = self.primary()?;
            value = self.placed(start, value.with_stride(&stride))?;
        }
        while self.cursor.at("(") {
            let args = self.arguments()?;
            value = self.placed(start, apply(&value, &args))?;
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<Value, ExprError> {
        let start = self.cursor.position();
        match self.cursor.peek() {
            Some('(') => self.parentheses(),
            Some('[') => self.list(),
            Some('{') => {
                let braces = self.cursor.until('}');
                let text = self.read(start, braces)?;
                self.placed(start, Relation::parse(text).map_err(Fault::from)).map(Value::Relation)
            }
            Some('"') => {
                let quoted = self.cursor.until('"');
                self.read(start, quoted).map(|text| Value::Text(text[1..text.len() - 1].to_string()))
            }
            Some('<') => {
                let tiler = self.cursor.tiler();
                self.read(start, tiler).map(Value::Tiler)
            }
            Some(c) if c.is_ascii_digit() || c == '-' => {
                let integer = self.cursor.integer();
                self.read(start, integer).map(Value::Int)
            }
            _ => self.named(),
        }
    }

    /// Reads `_`, a swizzle, a call, or a name.
    fn named(&mut self) -> Result<Value, ExprError> {
        let start = self.cursor.position();
        let Some(word) = self.cursor.word() else {
            let found = self.cursor.peek().map_or("the end".to_string(), |c| format!("`{c}`"));
            return self.error(format!("found {found} where an expression was expected"));
        };
        let name = self.cursor.since(start);
        if word == "_" {
            return Ok(Value::Keep);
        }
        if (word == "Sw" || word == "swizzle") && self.cursor.at("<") {
            self.cursor.rewind(start);
            let swizzle = self.cursor.swizzle();
            return self.read(start, swizzle).map(Value::Swizzle);
        }
        if let Some(value) = self.names.get(word) {
            return Ok(value.clone());
        }
        if self.cursor.at("(") {
            let args = self.arguments()?;
            if !is_function(word) {
                return Err(ExprError::new(name, unknown(word)));
            }
            return self.placed(start, call(word, &args));
        }
        Err(ExprError::new(name, format!("`{word}`{UNKNOWN}")))
    }

    fn arguments(&mut self) -> Result<Vec<Value>, ExprError> {
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.cursor.eat(")") {
            args.push(self.expression()?);
            if !self.cursor.eat(",") && !self.cursor.at(")") {
                self.expect(")")?;
            }
        }
        Ok(args)
    }

    /// Reads `(x)`, which is `x`, or a tuple with a comma, whose entries may have labels.
    fn parentheses(&mut self) -> Result<Value, ExprError> {
        let start = self.cursor.position();
        self.expect("(")?;
        let (mut entries, mut comma) = (Vec::new(), true);
        while !self.cursor.eat(")") {
            if !comma {
                self.expect(")")?;
            }
            let label = self.label();
            entries.push((label, self.expression()?));
            comma = self.cursor.eat(",");
        }
        match entries.len() {
            0 => Err(ExprError::new(self.cursor.since(start), "a tuple needs at least one entry")),
            1 if !comma && entries[0].0.is_none() => Ok(entries.remove(0).1),
            _ => Ok(Value::List(entries)),
        }
    }

    /// Reads `[x, y]`: a tuple with any number of entries.
    fn list(&mut self) -> Result<Value, ExprError> {
        self.expect("[")?;
        let (mut entries, mut comma) = (Vec::new(), true);
        while !self.cursor.eat("]") {
            if !comma {
                self.expect("]")?;
            }
            entries.push((None, self.expression()?));
            comma = self.cursor.eat(",");
        }
        Ok(Value::List(entries))
    }

    /// Reads `name:` before an entry; `None`, with nothing read, if there is none.
    fn label(&mut self) -> Option<String> {
        let start = self.cursor.position();
        let word = self.cursor.word().filter(|w| *w != "_");
        match word {
            Some(word) if self.cursor.eat(":") => Some(word.to_string()),
            _ => {
                self.cursor.rewind(start);
                None
            }
        }
    }
}
