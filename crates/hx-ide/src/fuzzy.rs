//! Fuzzy matching of a half-typed query against a name.

/// Scores how well a query matches a name; lower is better, `None` if its letters do not occur in order. An exact match is 0, a
/// prefix 1, a substring 2, and scattered letters 3 plus the gaps between them.
pub(crate) fn score(query: &str, name: &str) -> Option<usize> {
    let (query, lower) = (query.to_lowercase(), name.to_lowercase());
    if lower == query {
        return Some(0);
    }
    if lower.starts_with(&query) {
        return Some(1);
    }
    if lower.contains(&query) {
        return Some(2);
    }
    let mut rest = lower.as_str();
    let mut gaps = 0;
    for letter in query.chars().filter(|c| !c.is_whitespace()) {
        let at = rest.find(letter)?;
        gaps += at;
        rest = &rest[at + letter.len_utf8()..];
    }
    Some(3 + gaps)
}

#[cfg(test)]
mod tests {
    use super::score;

    #[test]
    fn nearer_names_score_lower() {
        assert_eq!(score("matmul", "matmul"), Some(0));
        assert_eq!(score("mat", "matmul"), Some(1));
        assert_eq!(score("mul", "matmul"), Some(2));
        assert_eq!(score("mml", "matmul"), Some(3 + 3));
        assert_eq!(score("x", "matmul"), None);
        assert_eq!(score("", "matmul"), Some(1));
    }
}
