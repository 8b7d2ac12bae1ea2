//! Strings, tuples and lists, counted by the memory limit while they are alive. Clones share one allocation.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::memory::Reservation;
use crate::value::Value;

/// A string of the host language.
#[derive(Clone)]
pub struct Text(Arc<Counted<str>>);

/// The parts of a tuple or list.
#[derive(Clone)]
pub struct Parts(Arc<Counted<[Value]>>);

struct Counted<T: ?Sized> {
    _held: Reservation,
    value: Box<T>,
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.value
    }
}

impl<T: Into<Box<str>>> From<T> for Text {
    fn from(text: T) -> Text {
        let value = text.into();
        Text(Arc::new(Counted { _held: Reservation::new(value.len()), value }))
    }
}

impl Deref for Parts {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0.value
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl From<Vec<Value>> for Parts {
    fn from(values: Vec<Value>) -> Parts {
        let value = values.into_boxed_slice();
        Parts(Arc::new(Counted { _held: Reservation::new(size_of_val(&*value)), value }))
    }
}

impl FromIterator<Value> for Parts {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Parts {
        values.into_iter().collect::<Vec<_>>().into()
    }
}
