//! The times of repeated runs, as the store keeps them.

use serde::{Deserialize, Serialize};

/// The times of repeated runs of a work, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sample {
    pub median_us: f64,
    /// Quantile 0.2.
    pub low_us: f64,
    /// Quantile 0.8.
    pub high_us: f64,
    /// The number of runs.
    pub runs: usize,
}
