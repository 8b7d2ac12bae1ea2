//! Reading an expression and evaluating it on the way.

use std::collections::BTreeMap;

use super::functions::{after, apply, call, equal};
use super::{ExprError, Fault, Value};
use crate::LayoutError;
use crate::parse::Cursor;

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 64;

/// The value of an expression, after any number of `name = expression;` before it.
///
/// # Errors
/// When the text is no expression or an operation in it has no result.
pub fn eval_expr(text: &str) -> Result<Value, ExprError> {
    let mut reader = Reader::new(text);
    let value = reader.statements()?;
    match reader.sides(value)? {
        (value, None) => Ok(value),
        (left, Some(right)) => reader.placed(equal(&left, &right)).map(Value::Bool),
    }
}

/// The two sides of `left == right`.
///
/// # Errors
/// As for [`eval_expr`], and when there is no `==`.
pub fn sides(text: &str) -> Result<(Value, Value), ExprError> {
    let mut reader = Reader::new(text);
    let value = reader.statements()?;
    match reader.sides(value)? {
        (left, Some(right)) => Ok((left, right)),
        _ => Err(ExprError::new(text.len(), "`==` between two layouts was wanted")),
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

    fn placed<T>(&self, result: Result<T, Fault>) -> Result<T, ExprError> {
        result.map_err(|Fault(message)| ExprError::new(self.cursor.position(), message))
    }

    fn read<T>(&self, result: Result<T, LayoutError>) -> Result<T, ExprError> {
        result.map_err(|error| match error {
            LayoutError::Parse { at, message } => ExprError::new(at, message),
            other => ExprError::new(self.cursor.position(), other.to_string()),
        })
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, ExprError> {
        Err(ExprError::new(self.cursor.position(), message))
    }

    /// `name = value;` any number of times, then the first operand of what is asked.
    fn statements(&mut self) -> Result<Value, ExprError> {
        loop {
            let start = self.cursor.position();
            let name = self.cursor.word();
            match name {
                Some(name) if self.cursor.at("=") && !self.cursor.at("==") => {
                    self.cursor.eat("=");
                    let value = self.composition()?;
                    self.names.insert(name.to_string(), value);
                    let result = self.cursor.expect(";");
                    self.read(result)?;
                }
                _ => {
                    self.cursor.rewind(start);
                    return self.composition();
                }
            }
        }
    }

    /// What follows the first operand: nothing, or `==` and another.
    fn sides(&mut self, left: Value) -> Result<(Value, Option<Value>), ExprError> {
        let right =
            if self.cursor.eat("==") || self.cursor.eat("≡") { Some(self.composition()?) } else { None };
        self.cursor.eat(";");
        let end = self.cursor.finish();
        self.read(end)?;
        Ok((left, right))
    }

    /// Operands joined by `∘`, evaluated from the right.
    fn composition(&mut self) -> Result<Value, ExprError> {
        if self.depth >= MAX_DEPTH {
            return self.error(format!("nesting deeper than {MAX_DEPTH}"));
        }
        self.depth += 1;
        let mut operands = vec![self.operand()?];
        while self.cursor.after() {
            operands.push(self.operand()?);
        }
        self.depth -= 1;
        let Some(mut value) = operands.pop() else { return self.error("an operand was wanted") };
        while let Some(left) = operands.pop() {
            value = self.placed(after(&left, &value))?;
        }
        Ok(value)
    }

    /// A primary, `shape : stride`, and applications to coordinates.
    fn operand(&mut self) -> Result<Value, ExprError> {
        let mut value = self.primary()?;
        if self.cursor.eat(":") {
            let stride = self.primary()?;
            value = self.placed(value.with_stride(&stride))?;
        }
        while self.cursor.at("(") {
            let args = self.arguments()?;
            value = self.placed(apply(&value, &args))?;
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<Value, ExprError> {
        match self.cursor.peek() {
            Some('(') => self.parentheses(),
            Some('<') => {
                let tiler = self.cursor.tiler();
                self.read(tiler).map(Value::Tiler)
            }
            Some(c) if c.is_ascii_digit() || c == '-' => {
                let integer = self.cursor.integer();
                self.read(integer).map(Value::Int)
            }
            _ => self.named(),
        }
    }

    /// `_`, a swizzle, a call, or a name.
    fn named(&mut self) -> Result<Value, ExprError> {
        let start = self.cursor.position();
        let Some(word) = self.cursor.word() else {
            let found = self.cursor.peek().map_or("the end".to_string(), |c| format!("`{c}`"));
            return self.error(format!("found {found} where an expression was wanted"));
        };
        if word == "_" {
            return Ok(Value::Keep);
        }
        if (word == "Sw" || word == "swizzle") && self.cursor.at("<") {
            self.cursor.rewind(start);
            let swizzle = self.cursor.swizzle();
            return self.read(swizzle).map(Value::Swizzle);
        }
        if let Some(value) = self.names.get(word) {
            return Ok(value.clone());
        }
        if self.cursor.at("(") {
            let args = self.arguments()?;
            return self.placed(call(word, &args));
        }
        Err(ExprError::new(start, format!("`{word}` is not known")))
    }

    fn arguments(&mut self) -> Result<Vec<Value>, ExprError> {
        let open = self.cursor.expect("(");
        self.read(open)?;
        let mut args = Vec::new();
        while !self.cursor.eat(")") {
            args.push(self.composition()?);
            if !self.cursor.eat(",") && !self.cursor.at(")") {
                let close = self.cursor.expect(")");
                self.read(close)?;
            }
        }
        Ok(args)
    }

    /// `(x)` is `x`; with a comma it is a tuple, whose entries may have labels.
    fn parentheses(&mut self) -> Result<Value, ExprError> {
        let open = self.cursor.expect("(");
        self.read(open)?;
        let (mut entries, mut comma) = (Vec::new(), true);
        while !self.cursor.eat(")") {
            if !comma {
                let close = self.cursor.expect(")");
                self.read(close)?;
            }
            let label = self.label();
            entries.push((label, self.composition()?));
            comma = self.cursor.eat(",");
        }
        match entries.len() {
            0 => self.error("a tuple needs at least one entry"),
            1 if !comma && entries[0].0.is_none() => Ok(entries.remove(0).1),
            _ => Ok(Value::List(entries)),
        }
    }

    /// `name:` before an entry.
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
