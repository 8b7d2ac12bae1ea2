//! The reports that a launcher makes.

use hx_inspect::{KernelReport, ReportForm};

/// The use that a launcher makes of the counters of its launches.
#[derive(Debug, Default)]
pub enum Reporting {
    #[default]
    Off,
    /// Each launch has a report of its own, in this form.
    Each(ReportForm),
    /// Launches of the same instance add up.
    Summed(Vec<KernelReport>),
}
