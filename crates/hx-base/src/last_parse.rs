//! The last tree of a file, from which the tree after an edit is made.

use std::sync::{Arc, Mutex, PoisonError};

use hx_syntax::Parse;

/// The text and the tree of the last parse of a file.
///
/// `parse` reads this state although no query tracks it. That is sound because the result does not depend on it: a text has the
/// same tree whether it is parsed as a whole or from the tree of another text. Debug builds compare both.
#[derive(Clone, Default, Debug)]
pub struct LastParse(Arc<Mutex<Option<Parsed>>>);

/// A text and its tree.
type Parsed = (Arc<str>, Parse);

impl LastParse {
    /// Parses a new text of the file, and keeps both for the next call. The tree shares the nodes of unchanged items with the
    /// last tree.
    pub(crate) fn parse(&self, text: &str) -> Parse {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let parse = match &last {
            Some((old, before)) => hx_syntax::reparse(before, old, text)
                .unwrap_or_else(|| hx_syntax::parse(text).sharing(before)),
            None => hx_syntax::parse(text),
        };
        debug_assert!(last.is_none() || parse == hx_syntax::parse(text), "{text}");
        let last = Some((Arc::from(text), parse.clone()));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = last;
        parse
    }
}
