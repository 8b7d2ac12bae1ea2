//! The addresses of one access, which are independent of the other uses of its tensor. They are kept for all attempts.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use hx_layout::Layout;
use hx_target::CopyRow;
use hx_tile::OpId;
use rustc_hash::FxHashMap;

use super::conflicts::{Places, Requests};
use crate::access::Run;
use crate::distribution::LayoutKey;

/// A use of a register tensor's layout by one instruction. An exchange uses the whole shared tensor; `shape` distinguishes the
/// exchanges of different attempts, whose operations may have the same number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct MeasuredOf {
    pub(super) op: OpId,
    pub(super) reads: bool,
    pub(super) held: LayoutKey,
    pub(super) row: *const CopyRow,
    pub(super) run: Run,
    pub(super) shape: Vec<i64>,
}

/// The precision with which addresses under a layout are counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum How {
    /// Counts a sample of the phases. Lanes that address one word count once: [`Requests::new`].
    Sample,
    /// Counts all phases, in whole words.
    Words,
    /// Counts all phases, for any swizzle: [`Requests::exact`].
    Exact,
}

/// The addresses of an access.
#[derive(Debug)]
pub(crate) struct Measured {
    places: Places,
    are_few: OnceCell<bool>,
    sample: OnceCell<Places>,
    requests: RefCell<FxHashMap<(How, Layout), Rc<Requests>>>,
}

impl Measured {
    pub(super) fn new(places: Places) -> Measured {
        Measured { places, are_few: OnceCell::new(), sample: OnceCell::new(), requests: RefCell::default() }
    }

    fn are_few(&self) -> bool {
        *self.are_few.get_or_init(|| self.places.are_few())
    }

    /// Returns the number of phases in which some lane addresses an element.
    pub(super) fn phases(&self) -> i64 {
        self.places.count()
    }

    fn sample(&self) -> &Places {
        self.sample.get_or_init(|| self.places.sample())
    }

    /// Returns the addresses under a layout, computed once.
    pub(super) fn requests(&self, how: How, layout: &Layout, bits: u32) -> Rc<Requests> {
        // A sample that contains all phases equals the count of all phases in whole words.
        let how = if how == How::Sample && self.are_few() { How::Words } else { how };
        let entry = (how, layout.clone());
        if let Some(known) = self.requests.borrow().get(&entry) {
            return known.clone();
        }
        let made = Rc::new(match how {
            How::Sample => Requests::new(self.sample(), layout, bits),
            How::Words => Requests::new(&self.places, layout, bits),
            How::Exact => Requests::exact(&self.places, layout, bits),
        });
        self.requests.borrow_mut().insert(entry, made.clone());
        made
    }
}
