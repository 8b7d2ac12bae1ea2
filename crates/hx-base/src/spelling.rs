//! Suggests the name that was probably meant.

/// Returns the candidate nearest to a misspelled name, the first of equally near ones. `None` if none is within a third of the
/// name's characters, limited to 1 to 3 changes, or if as many changes as the candidate has characters are necessary.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let scored = candidates.into_iter().map(|candidate| (edit_distance(name, candidate), candidate));
    let near =
        scored.filter(|&(distance, candidate)| distance <= limit && distance < candidate.chars().count());
    near.min_by_key(|&(distance, _)| distance).map(|(_, candidate)| candidate)
}

/// Returns the edit distance of two texts: the least number of steps that turn one into the other. A step inserts, removes or
/// replaces a character, or swaps two neighbours. The case of ASCII letters is ignored.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().map(|c| c.to_ascii_lowercase()).collect();
    let b: Vec<char> = b.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = a[i - 1] == b[j - 1];
            let mut best =
                (rows[i - 1][j - 1] + usize::from(!same)).min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["target", "threads", "k", "shared_tensor", "register_tensor"];
        assert_eq!(nearest("tagret", names), Some("target"));
        assert_eq!(nearest("Threads", names), Some("threads"));
        assert_eq!(nearest("sharedtensor", names), Some("shared_tensor"));
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("tensor", names), None);
    }
}
