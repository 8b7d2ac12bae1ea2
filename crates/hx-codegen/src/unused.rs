//! Removes constants that no later statement of their scope mentions: the number of a stage in a ring of one stage, or the
//! coordinate along a dimension that no address and no guard needs.
//!
//! Printed expressions decide, not those of the program: simplification can drop the last use of a symbol.

use std::ops::Range;

/// The variables in printed expressions, in the order of printing.
#[derive(Debug, Default)]
pub(crate) struct Mentions(Vec<Option<String>>);

impl Mentions {
    pub(crate) fn add(&mut self, name: &str) {
        self.0.push(Some(name.to_owned()));
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}

/// The definition of a constant.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) name: String,
    /// The bytes of the definition, with the line mark before it.
    pub(crate) text: Range<usize>,
    /// The mentions in the definition, a range of positions in [`Mentions`].
    pub(crate) mentions: Range<usize>,
}

/// Removes the definitions of constants that are not mentioned after them, from a text that ends with the scope of the constants.
pub(crate) fn remove_unused(
    out: &mut String,
    mentions: &mut Mentions,
    constants: impl DoubleEndedIterator<Item = Constant>,
) {
    // In reverse order, because only the definitions of later constants can mention a constant.
    for Constant { name, text, mentions: own } in constants.rev() {
        if !mentions.0[own.end..].iter().flatten().any(|mentioned| *mentioned == name) {
            out.replace_range(text, "");
            mentions.0[own].fill(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_without_a_use_are_removed() {
        let constants = [
            ("stage", "const int stage = 0;\n", vec![]),
            ("row", "const int row = thread >> 3;\n", vec![]),
            ("half", "const int half = row / 2;\n", vec!["row"]),
            ("col", "const int col = thread & 7;\n", vec![]),
        ];
        let (mut out, mut mentions) = (String::new(), Mentions::default());
        let mut defined = Vec::new();
        for (name, text, uses) in constants {
            let before = (out.len(), mentions.count());
            out.push_str(text);
            uses.into_iter().for_each(|used| mentions.add(used));
            let (text, mentions) = (before.0..out.len(), before.1..mentions.count());
            defined.push(Constant { name: name.to_owned(), text, mentions });
        }
        out.push_str("store(y + col * 2);\n");
        mentions.add("col");
        remove_unused(&mut out, &mut mentions, defined.into_iter());
        assert_eq!(out, "const int col = thread & 7;\nstore(y + col * 2);\n");
    }
}
