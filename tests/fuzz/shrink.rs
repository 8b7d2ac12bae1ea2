//! Shrinks a failing text by removing parts of it.

use super::generate::split;

/// Returns the smallest text found that still fails, after at most `tries` tries. It removes parts of the text, of decreasing
/// size, first along tokens and then along characters.
pub(super) fn shrink(text: &str, tries: usize, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut left = tries;
    let pieces = reduce(split(text), &mut left, &mut fails);
    let text = pieces.concat();
    if text.chars().count() > 400 {
        return text;
    }
    reduce(text.chars().map(String::from).collect(), &mut left, &mut fails).concat()
}

fn reduce(mut pieces: Vec<String>, left: &mut usize, fails: &mut impl FnMut(&str) -> bool) -> Vec<String> {
    let mut size = pieces.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let before = pieces.len();
        while at < pieces.len() {
            if *left == 0 {
                return pieces;
            }
            *left -= 1;
            let end = (at + size).min(pieces.len());
            let smaller = [&pieces[..at], &pieces[end..]].concat();
            if fails(&smaller.concat()) {
                pieces = smaller;
            } else {
                at = end;
            }
        }
        if size == 1 && pieces.len() == before {
            return pieces;
        }
        size = size.div_ceil(2).min(pieces.len().max(1));
    }
}
