//! Words of other languages and their replacements: one table for the parser, which meets them where the grammar does not allow a
//! name, and for names that resolve to nothing.
//!
//! The words are those of CUDA, CUTLASS, Triton, Python and Rust programmers. None of them is reserved: if a program defines such a
//! name, its definition counts.

mod elsewhere;
mod words;

use words::WORDS;

/// The position in which a word of another language is recognized.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForeignPlace {
    /// At the start of an item.
    Item,
    /// At the start of a statement.
    Statement,
    /// As the type of a declaration, as in `int i = 0`, if the hint says more than "use `let`".
    Declaration,
    /// After a `#` that begins no attribute.
    Hash,
    /// As a name: a function, a value, a module.
    Name,
    /// Behind a dot: a method of a pipeline, of turns or of a tensor.
    Member,
    /// As a type.
    Type,
}

/// A word of another language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Foreign {
    pub word: &'static str,
    pub place: ForeignPlace,
    /// The word of the language with the same meaning, if there is one.
    pub instead: Option<&'static str>,
    /// The hint for messages: lower-case start, no final stop. Empty if `instead` suffices.
    pub hint: &'static str,
}

/// Returns the row of a word at a place; `None` if the word means nothing there in other languages.
pub fn foreign(word: &str, place: ForeignPlace) -> Option<&'static Foreign> {
    WORDS.iter().find(|row| row.place == place && row.word == word)
}

/// Reports whether a name means something in another language or library. If it does, do not suggest a similar name: `asin` is no
/// misspelling of `sin`.
pub fn is_known_elsewhere(name: &str) -> bool {
    elsewhere::NAMES.contains(&name) || WORDS.iter().any(|row| row.word == name)
}

/// Returns all rows of the table, for tests and documentation.
pub fn foreign_words() -> &'static [Foreign] {
    WORDS
}

#[cfg(test)]
mod tests {
    use super::elsewhere::NAMES;
    use super::{WORDS, foreign};

    #[test]
    fn a_word_has_one_row_at_each_place() {
        for row in WORDS {
            assert_eq!(foreign(row.word, row.place), Some(row), "{}", row.word);
            assert!(row.instead.is_some() || !row.hint.is_empty(), "{} says nothing", row.word);
        }
    }

    #[test]
    fn names_known_elsewhere_are_listed_once_in_order() {
        assert!(NAMES.is_sorted_by(|a, b| a < b), "{:?}", NAMES.windows(2).find(|pair| pair[0] >= pair[1]));
    }
}
