//! The counts of tests.

/// The counts that the test programs reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    pub(crate) fn summary(&self) -> String {
        // The harness has counted skipped tests as passed.
        let passed = self.passed.saturating_sub(self.skipped);
        format!("{passed} passed, {} failed, {} skipped", self.failed, self.skipped)
    }
}
