//! The state of a barrier in memory, for the simulator and the static check.

use crate::Knowledge;

/// A barrier in memory. It counts the arrivals of a phase, and the bytes of bulk copies and sends; the phase is complete when
/// neither is pending, and the next one begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// The arrivals that a phase needs.
    count: u32,
    /// The arrivals that the current phase still needs.
    pending: u32,
    /// The bytes of bulk copies and sends that the current phase still needs. Less than 0 while copies are ahead of the
    /// arrival that announces their bytes.
    bytes: i64,
    /// The number of complete phases.
    complete: u64,
    /// The knowledge of the threads that arrived and of the copies that ended in the current phase.
    arriving: Knowledge,
    /// The knowledge of the threads that arrived and of the copies that ended in complete phases.
    released: Knowledge,
}

impl Phase {
    /// Returns a barrier before its first phase.
    pub fn new(count: u32) -> Phase {
        let (arriving, released) = (Knowledge::default(), Knowledge::default());
        Phase { count, pending: count, bytes: 0, complete: 0, arriving, released }
    }

    /// Counts arrivals of threads with the knowledge `known`. Returns false if the phase waits only for bytes, so that it has no room for
    /// an arrival.
    pub fn arrive(&mut self, mut arrivals: u32, known: &Knowledge) -> bool {
        while arrivals > 0 {
            let here = arrivals.min(self.pending);
            if here == 0 {
                return false;
            }
            arrivals -= here;
            self.pending -= here;
            self.arriving.join(known);
            self.close();
        }
        true
    }

    /// Makes the current phase wait for more bytes.
    pub fn expect(&mut self, bytes: u32) {
        self.bytes += i64::from(bytes);
    }

    /// Counts the bytes of a bulk copy or a send. A thread that waits for the phase learns `known`.
    pub fn receive(&mut self, bytes: u32, known: &Knowledge) {
        self.bytes -= i64::from(bytes);
        self.arriving.join(known);
        self.close();
    }

    /// Completes the phase if it needs nothing more.
    fn close(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.released.join(&std::mem::take(&mut self.arriving));
            (self.pending, self.complete) = (self.count.max(1), self.complete + 1);
        }
    }

    /// Returns the knowledge that a wait for the phase of this parity adds; `None` if the phase is not complete, so that the wait blocks.
    pub fn awaited(&self, parity: i64) -> Option<&Knowledge> {
        (self.complete % 2 != u64::from(parity % 2 != 0)).then_some(&self.released)
    }

    /// Returns the joined knowledge of all threads that arrived and all copies that ended in complete phases.
    pub fn released(&self) -> &Knowledge {
        &self.released
    }

    /// Returns how many arrivals a phase needs.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns how many arrivals the current phase still needs.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Returns how many bytes the current phase still needs; less than 0 while copies are ahead of the arrival that announces
    /// their bytes.
    pub fn bytes(&self) -> i64 {
        self.bytes
    }

    /// Returns the number of complete phases.
    pub fn complete(&self) -> u64 {
        self.complete
    }
}
