//! The places that edits of a document have touched.

use tower_lsp::ls_types::Position;

/// The places of a document that were changed, with the numbers of the changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// Pairs of a change's number and the first place that any change since the previous entry touched. Numbers and places both
    /// increase.
    changes: Vec<(u64, Position)>,
}

/// The maximal number of entries. If there are more, the oldest two are merged.
const MOST_CHANGES: usize = 64;

impl Touched {
    /// Records a change of the text from a place on.
    pub(crate) fn touch(&mut self, number: u64, place: Position) {
        // Drop earlier changes at later places: a question that such a change affects is affected by the new change as well.
        while self.changes.last().is_some_and(|(_, later)| *later >= place) {
            self.changes.pop();
        }
        self.changes.push((number, place));
        if self.changes.len() > MOST_CHANGES {
            let (_, first) = self.changes.remove(0);
            self.changes[0].1 = first;
        }
    }

    /// Returns the first place that changes with a number above `number` touched; `None` if there is no such change.
    pub(crate) fn since(&self, number: u64) -> Option<Position> {
        self.changes.iter().find(|(change, _)| *change > number).map(|(_, place)| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_places() {
        let place = |line, character| Position { line, character };
        let mut touched = Touched::default();
        assert_eq!(touched.since(0), None);
        touched.touch(3, place(5, 1));
        touched.touch(4, place(5, 2));
        touched.touch(9, place(7, 0));
        assert_eq!(
            [0, 3, 8, 9].map(|number| touched.since(number)),
            [Some(place(5, 1)), Some(place(5, 2)), Some(place(7, 0)), None]
        );
        // A change at an earlier place replaces entries at later places.
        touched.touch(10, place(5, 2));
        assert_eq!(
            [0, 3, 9, 10].map(|number| touched.since(number)),
            [Some(place(5, 1)), Some(place(5, 2)), Some(place(5, 2)), None]
        );
    }

    /// With many changes, an untouched place may count as touched, but never the reverse.
    #[test]
    fn many_changes() {
        let place = |character| Position { line: 0, character };
        let mut touched = Touched::default();
        for i in 1..1000 {
            touched.touch(u64::from(i), place(i));
        }
        assert!(touched.changes.len() <= MOST_CHANGES);
        for after in 0..999 {
            let since = touched.since(u64::from(after)).expect("there is a later change");
            assert!(since <= place(after + 1), "{after}: {since:?}");
        }
        assert_eq!(touched.since(998), Some(place(999)));
    }
}
