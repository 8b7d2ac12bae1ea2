//! The reports that a launcher makes.

use hx_inspect::{FormatReport, KernelReport};

/// The use that a launcher makes of the counters of its launches.
#[derive(Debug, Default)]
pub enum Reporting<'a> {
    #[default]
    Off,
    /// Each launch has a report of its own, in this form.
    Each(&'a dyn FormatReport),
    /// Launches of the same instance add up.
    Summed(Vec<KernelReport>),
}
