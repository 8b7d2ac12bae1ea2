//! Removes constants that no later statement of their scope mentions: the number of a stage in a ring of one stage, or the
//! coordinate along a dimension that no address and no guard needs.
//!
//! The printed text decides, because simplification of expressions can drop the last use of a symbol.

use std::ops::Range;

/// The definition of a constant in the text.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    /// The bytes of the definition, with the line mark before it.
    pub(crate) text: Range<usize>,
    pub(crate) name: String,
}

/// Removes the definitions whose names do not occur behind them. `out` ends with the scope of the constants.
pub(crate) fn remove_unused(out: &mut String, constants: impl DoubleEndedIterator<Item = Constant>) {
    // The last one first: a constant may be used by the definition of a later constant only.
    for Constant { text, name } in constants.rev() {
        if !code(&out[text.end..]).any(|line| mentions(line, &name)) {
            out.replace_range(text, "");
        }
    }
}

/// Returns the lines without comments and line marks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.starts_with("#line"));
    lines.map(|line| line.find("//").map_or(line, |comment| &line[..comment]))
}

/// Reports whether a line contains the name as a whole word.
fn mentions(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_without_a_use_are_removed() {
        let lines = [
            "const int stage = 0;\n",
            "const int row = thread >> 3;\n",
            "const int half = row / 2;\n",
            "const int col = thread & 7;\n",
            "// copy(x[row, stage], y)\n",
            "store(y + col * 2, rows, stages);\n",
        ];
        let mut out = lines.concat();
        let mut at = 0;
        let constants: Vec<Constant> = (lines.iter().zip(["stage", "row", "half", "col"]))
            .map(|(line, name)| {
                at += line.len();
                Constant { text: at - line.len()..at, name: name.to_owned() }
            })
            .collect();
        remove_unused(&mut out, constants.into_iter());
        assert_eq!(out, [lines[3], lines[4], lines[5]].concat());
    }
}
