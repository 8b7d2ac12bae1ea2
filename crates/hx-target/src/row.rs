//! References to rows, compared by identity.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// A reference to a row of a target's catalogue, which needs no look-up by name.
///
/// Two references are equal if they refer to the same row of the same target. They are ordered and printed by name.
pub struct Row<T: Named + 'static>(&'static T);

/// A row with the name under which messages and reports show it.
pub trait Named {
    /// Returns the name in the catalogue, unique among the rows of the same table.
    fn name(&self) -> &str;
}

impl<T: Named> Clone for Row<T> {
    fn clone(&self) -> Row<T> {
        *self
    }
}

impl<T: Named> Copy for Row<T> {}

impl<T: Named> From<&'static T> for Row<T> {
    fn from(row: &'static T) -> Row<T> {
        Row(row)
    }
}

impl<T: Named> Row<T> {
    /// Reports whether the reference is to an element of this very slice. An equal row of another target does not count.
    pub fn is_of(self, rows: &[T]) -> bool {
        rows.iter().any(|row| std::ptr::eq(row, self.0))
    }

    /// Returns the name in the catalogue.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns the row for as long as the program runs.
    pub fn get(self) -> &'static T {
        self.0
    }
}

impl<T: Named> Deref for Row<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<T: Named> PartialEq for Row<T> {
    fn eq(&self, other: &Row<T>) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl<T: Named> Eq for Row<T> {}

impl<T: Named> PartialOrd for Row<T> {
    fn partial_cmp(&self, other: &Row<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Named> Ord for Row<T> {
    fn cmp(&self, other: &Row<T>) -> Ordering {
        let address = |row: &Row<T>| std::ptr::from_ref(row.0).addr();
        self.0.name().cmp(other.0.name()).then_with(|| address(self).cmp(&address(other)))
    }
}

impl<T: Named> Hash for Row<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

impl<T: Named> fmt::Debug for Row<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.name())
    }
}

impl<T: Named> fmt::Display for Row<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}
