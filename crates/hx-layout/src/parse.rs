//! Reads the notation: tuples, layouts, swizzles, composed layouts.
//!
//! White space between tokens is ignored. This module knows the notation of the reference cases, not the language's source.

use std::ops::Range;
use std::str::FromStr;

use crate::{ComposedLayout, Coord, IntTuple, Layout, LayoutError, Swizzle, Tiler};

/// The deepest nesting that is read. Deeper text is refused, because it could overflow the stack.
const MAX_DEPTH: usize = 64;

/// A position in a text of the notation.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> LayoutError {
        LayoutError::Parse { at: self.at, message: message.into() }
    }

    pub(crate) fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Returns the next character after white space.
    pub(crate) fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.text[self.at..].chars().next()
    }

    /// Reports whether the rest after white space starts with `token`.
    pub(crate) fn at(&mut self, token: &str) -> bool {
        self.skip_space();
        self.text[self.at..].starts_with(token)
    }

    /// Takes `token` if it is next, and reports whether it was.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        let found = self.at(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(crate) fn expect(&mut self, token: &str) -> Result<(), LayoutError> {
        if self.eat(token) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_string(), |c| format!("`{c}`"));
        Err(self.error(format!("found {found} where `{token}` was expected")))
    }

    /// Expects the end of the text. The error names the first character left.
    pub(crate) fn finish(&mut self) -> Result<(), LayoutError> {
        match self.peek() {
            None => Ok(()),
            Some(c) => Err(self.error(format!("unexpected `{c}`"))),
        }
    }

    pub(crate) fn integer(&mut self) -> Result<i64, LayoutError> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            let found = self.peek().map_or("the end".to_string(), |c| format!("`{c}`"));
            return Err(self.error(format!("found {found} where an integer was expected")));
        }
        let number = &rest[..sign + digits];
        let value =
            number.parse().map_err(|_| self.error(format!("{number} does not fit a 64-bit integer")))?;
        self.at += number.len();
        Ok(value)
    }

    /// Reads an identifier: letters, digits and underscores, not starting with a digit. `None` if there is none.
    pub(crate) fn word(&mut self) -> Option<&'a str> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = &rest[..end];
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        Some(word)
    }

    /// Reads one character and all up to the next `end`, and returns the text with both.
    pub(crate) fn until(&mut self, end: char) -> Result<&'a str, LayoutError> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let inside = rest.chars().next().map_or(0, char::len_utf8);
        let Some(length) = rest[inside..].find(end) else {
            return Err(self.error(format!("`{end}` is missing after this")));
        };
        let read = &rest[..inside + length + end.len_utf8()];
        self.at += read.len();
        Ok(read)
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Returns the range read since `start`, without the white space around it.
    pub(crate) fn since(&self, start: usize) -> Range<usize> {
        let read = &self.text[start..self.at];
        let start = start + read.len() - read.trim_start().len();
        start..start + read.trim().len()
    }

    /// Returns the range of the character at a position; empty at the end of the text.
    pub(crate) fn character(&self, at: usize) -> Range<usize> {
        at..at + self.text[at..].chars().next().map_or(0, char::len_utf8)
    }

    pub(crate) fn rewind(&mut self, at: usize) {
        self.at = at;
    }

    /// Reads a tuple: an integer, or integers and tuples in parentheses.
    pub(crate) fn tuple(&mut self) -> Result<IntTuple, LayoutError> {
        self.tree(&mut |cursor| cursor.integer().map(IntTuple::Int), &IntTuple::Tuple, 0)
    }

    /// Reads nested parentheses around leaves of any kind. Refuses `(x)`, which could mean `x` or `(x,)`.
    pub(crate) fn tree<T>(
        &mut self,
        leaf: &mut dyn FnMut(&mut Self) -> Result<T, LayoutError>,
        node: &dyn Fn(Vec<T>) -> T,
        depth: usize,
    ) -> Result<T, LayoutError> {
        if !self.eat("(") {
            return leaf(self);
        }
        if depth >= MAX_DEPTH {
            return Err(self.error(format!("nesting deeper than {MAX_DEPTH}")));
        }
        let mut entries = Vec::new();
        let mut comma = true;
        while !self.at(")") {
            if !comma {
                return self.expect(",").map(|()| node(entries));
            }
            entries.push(self.tree(leaf, node, depth + 1)?);
            comma = self.eat(",");
        }
        if entries.is_empty() {
            return Err(self.error("a tuple needs at least one entry"));
        }
        if entries.len() == 1 && !comma {
            return Err(self.error("a tuple of one entry is written with a comma, `(8,)`"));
        }
        self.expect(")")?;
        Ok(node(entries))
    }

    pub(crate) fn layout(&mut self) -> Result<Layout, LayoutError> {
        let shape = self.tuple()?;
        self.expect(":")?;
        let stride = self.tuple()?;
        Layout::new(shape, stride)
    }

    /// Reads a tiler: a layout, an integer, `_`, or tilers in `<...>` (in the language, in parentheses).
    pub(crate) fn tiler(&mut self) -> Result<Tiler, LayoutError> {
        self.tiler_below(0)
    }

    fn tiler_below(&mut self, depth: usize) -> Result<Tiler, LayoutError> {
        if depth >= MAX_DEPTH {
            return Err(self.error(format!("nesting deeper than {MAX_DEPTH}")));
        }
        if self.eat("_") {
            return Ok(Tiler::Keep);
        }
        if self.eat("<") {
            return self.tilers_until(">", depth);
        }
        let start = self.position();
        match self.tuple() {
            Ok(shape) if self.eat(":") => {
                let stride = self.tuple()?;
                return Ok(Tiler::Layout(Layout::new(shape, stride)?));
            }
            Ok(IntTuple::Int(n)) => return Tiler::extent(n),
            Err(error) if !self.text[start..].trim_start().starts_with('(') => return Err(error),
            _ => self.rewind(start),
        }
        self.expect("(")?;
        self.tilers_until(")", depth)
    }

    fn tilers_until(&mut self, close: &str, depth: usize) -> Result<Tiler, LayoutError> {
        let mut entries = vec![self.tiler_below(depth + 1)?];
        while !self.eat(close) {
            self.expect(",")?;
            if self.eat(close) {
                break;
            }
            entries.push(self.tiler_below(depth + 1)?);
        }
        Ok(Tiler::Modes(entries))
    }

    /// Reads a coordinate, with `_` for the modes to keep.
    pub(crate) fn coord(&mut self) -> Result<Coord, LayoutError> {
        let mut leaf = |cursor: &mut Self| match cursor.eat("_") {
            true => Ok(Coord::Keep),
            false => cursor.integer().map(Coord::Int),
        };
        self.tree(&mut leaf, &Coord::Tuple, 0)
    }

    /// Reads `Sw<B,M,S>`, or `swizzle<B, M, S>` as the language writes it.
    pub(crate) fn swizzle(&mut self) -> Result<Swizzle, LayoutError> {
        if !self.eat("Sw") && !self.eat("swizzle") {
            return Err(self.error("a swizzle is written `Sw<B,M,S>`"));
        }
        self.expect("<")?;
        let bits = self.integer()?;
        self.expect(",")?;
        let base = self.integer()?;
        self.expect(",")?;
        let shift = self.integer()?;
        self.expect(">")?;
        let small =
            |n: i64| u32::try_from(n).map_err(|_| self.error(format!("{n} is out of range for a swizzle")));
        let shift =
            i32::try_from(shift).map_err(|_| self.error(format!("{shift} is out of range for a swizzle")))?;
        Swizzle::new(small(bits)?, small(base)?, shift)
    }

    /// Takes `o` or `∘` between the parts of a composed layout, and reports whether there was one.
    pub(crate) fn after(&mut self) -> bool {
        if self.eat("∘") {
            return true;
        }
        let start = self.position();
        if self.word() == Some("o") {
            return true;
        }
        self.rewind(start);
        false
    }

    pub(crate) fn composed(&mut self) -> Result<ComposedLayout, LayoutError> {
        if !self.at("S") && !self.at("s") {
            return Ok(ComposedLayout::plain(self.layout()?));
        }
        let swizzle = self.swizzle()?;
        if !self.after() {
            return Err(self.error("`o` was expected after the swizzle"));
        }
        let start = self.position();
        if let Ok(offset) = self.integer()
            && self.after()
        {
            return Ok(ComposedLayout { swizzle, offset, layout: self.layout()? });
        }
        self.rewind(start);
        Ok(ComposedLayout::swizzled(swizzle, self.layout()?))
    }
}

/// Reads all of `text` with one of the cursor's readers.
pub(crate) fn whole<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut Cursor<'a>) -> Result<T, LayoutError>,
) -> Result<T, LayoutError> {
    let mut cursor = Cursor::new(text);
    let value = read(&mut cursor)?;
    cursor.finish()?;
    Ok(value)
}

impl FromStr for IntTuple {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        whole(text, Cursor::tuple)
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        whole(text, Cursor::layout)
    }
}

impl FromStr for Swizzle {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        whole(text, Cursor::swizzle)
    }
}

impl FromStr for ComposedLayout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        whole(text, Cursor::composed)
    }
}

impl FromStr for Tiler {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        whole(text, Cursor::tiler)
    }
}

impl FromStr for Coord {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        whole(text, Cursor::coord)
    }
}
