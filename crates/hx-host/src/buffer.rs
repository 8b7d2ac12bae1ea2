//! The memory that the views of a tensor share, and the places where its contents can be: here, not made yet, or on a device.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use hx_dtype::{DType, packed_bytes};
use hx_layout::Layout;

use crate::memory::Reservation;
use crate::recipe::Recipe;

/// The contents of a buffer.
#[derive(Debug)]
enum Contents {
    /// The bytes. A write copies them first while a snapshot still shares them.
    Here(Arc<Vec<u8>>),
    /// Nobody has read the elements yet. The first read makes them; a device can make the same bytes in its own memory.
    Unmade(Arc<Recipe>),
    /// Only a device has the bytes, because a kernel wrote them there.
    Away,
}

/// The memory of a tensor.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub dtype: DType,
    /// The identity of the buffer: arguments with equal identities may overlap.
    pub id: u64,
    /// The number of elements.
    pub len: usize,
    contents: RwLock<Contents>,
    /// Counts the writes. A copy elsewhere is current as long as the count is the one at which it was made.
    version: AtomicU64,
    order: RwLock<Option<Arc<Packed>>>,
    _held: Reservation,
}

/// The order of packed elements: the shape of the whole tensor, and the block. The shape of no view stands for memory of which only parts are
/// packed.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) shape: Option<Vec<usize>>,
    pub(crate) block: Layout,
}

/// Tells whether a buffer still has a view.
#[derive(Clone, Debug)]
pub struct Life(Weak<Buffer>);

impl Life {
    /// Reports whether no view of the buffer is left.
    pub fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl Buffer {
    /// Makes a buffer of these bytes.
    pub(crate) fn new(dtype: DType, bytes: Arc<Vec<u8>>) -> Arc<Buffer> {
        let len = bytes.len() * 8 / dtype.bits() as usize;
        Buffer::with(dtype, len, bytes.len(), Contents::Here(bytes))
    }

    /// Makes a buffer whose bytes the first read makes. The memory limit counts them from now on.
    pub(crate) fn unmade(recipe: Recipe) -> Arc<Buffer> {
        let (dtype, len) = (recipe.dtype(), recipe.len());
        Buffer::with(dtype, len, packed_bytes(dtype, len), Contents::Unmade(Arc::new(recipe)))
    }

    fn with(dtype: DType, len: usize, bytes: usize, contents: Contents) -> Arc<Buffer> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Buffer {
            dtype,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            len,
            contents: RwLock::new(contents),
            version: AtomicU64::new(0),
            order: RwLock::new(None),
            _held: Reservation::new(bytes),
        })
    }

    /// Returns the order of the elements, if they were packed.
    pub(crate) fn order(&self) -> Option<Arc<Packed>> {
        self.order.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// States the order of the elements; `None` if they are not packed.
    pub(crate) fn put_in_order(&self, order: Option<Packed>) {
        *self.order.write().unwrap_or_else(PoisonError::into_inner) = order.map(Arc::new);
    }

    pub(crate) fn life(self: &Arc<Buffer>) -> Life {
        Life(Arc::downgrade(self))
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// Returns the recipe of the contents; `None` once they were made.
    pub(crate) fn recipe(&self) -> Option<Arc<Recipe>> {
        match &*self.look() {
            Contents::Unmade(recipe) => Some(Arc::clone(recipe)),
            Contents::Here(_) | Contents::Away => None,
        }
    }

    pub(crate) fn is_away(&self) -> bool {
        matches!(*self.look(), Contents::Away)
    }

    /// Drops the contents, because a device has written newer ones.
    pub(crate) fn put_away(&self) {
        *self.change() = Contents::Away;
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Receives the contents that were away. Does nothing otherwise.
    pub(crate) fn bring(&self, bytes: Vec<u8>) {
        let mut contents = self.change();
        if matches!(*contents, Contents::Away) {
            *contents = Contents::Here(Arc::new(bytes));
        }
    }

    /// Returns the bytes, and makes them if they were not made yet.
    ///
    /// # Panics
    /// If the contents are away. Whoever runs kernels on a device brings a tensor before host code reads it.
    pub(crate) fn bytes(&self) -> Arc<Vec<u8>> {
        let recipe = match &*self.look() {
            Contents::Here(bytes) => return Arc::clone(bytes),
            Contents::Unmade(recipe) => Arc::clone(recipe),
            Contents::Away => away(),
        };
        // Without the lock, because making may be interrupted. Two readers that make the same bytes at once are harmless.
        let made = Arc::new(recipe.bytes());
        let mut contents = self.change();
        match &*contents {
            Contents::Here(bytes) => Arc::clone(bytes),
            Contents::Unmade(_) => {
                *contents = Contents::Here(Arc::clone(&made));
                made
            }
            Contents::Away => away(),
        }
    }

    /// Changes the bytes.
    ///
    /// # Panics
    /// As for [`Buffer::bytes`].
    pub(crate) fn write<R>(&self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        drop(self.bytes());
        self.version.fetch_add(1, Ordering::Relaxed);
        match &mut *self.change() {
            Contents::Here(bytes) => f(Arc::make_mut(bytes).as_mut_slice()),
            Contents::Unmade(_) | Contents::Away => away(),
        }
    }

    // A panic while the lock is held cannot leave the contents invalid, so a poisoned lock is used as it is.
    fn look(&self) -> RwLockReadGuard<'_, Contents> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Contents> {
        self.contents.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a read of contents that nobody brought, which is a bug of the caller.
fn away() -> ! {
    panic!("the elements are in the memory of a device, and nobody brought them")
}
