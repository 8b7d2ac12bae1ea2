//! The counts of tests, and advice for running the skipped ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// For each variable that makes a skipped test a failure: what a machine needs to run the test, or the command that installs it.
const NEEDS: [(&str, &str); 12] = [
    ("HX_REQUIRE_CC", "a C compiler: `apt-get install build-essential`, or that of your system"),
    ("HX_REQUIRE_CMAKE", "`python3 -m pip install cmake`"),
    ("HX_REQUIRE_CUBLASLT", "a machine with an NVIDIA GPU and cuBLASLt"),
    ("HX_REQUIRE_GPU", "a machine with an NVIDIA GPU"),
    ("HX_REQUIRE_JUPYTER", "`python3 -m pip install jupyter_client nbclient nbformat ipykernel`"),
    ("HX_REQUIRE_NODE", "Node.js: `apt-get install nodejs`, or that of your system"),
    ("HX_REQUIRE_NUMPY", "`python3 -m pip install numpy`"),
    ("HX_REQUIRE_NVIM", "Neovim 0.11 or newer; `HX_NVIM` names one"),
    ("HX_REQUIRE_NVRTC", "`cargo xtask cuda`"),
    ("HX_REQUIRE_PYTHON", "Python 3: `apt-get install python3`, or that of your system"),
    ("HX_REQUIRE_SITE", "a browser, and `cargo xtask site`"),
    ("HX_REQUIRE_WHEEL", "`python3 -m pip install maturin mypy numpy pytest`"),
];

/// The sums of the counts that test programs have reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The number of passed tests, skipped ones included, because the harness of Rust counts them as passed.
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// The number of skipped tests, by the thing that they need.
    pub(crate) skipped: BTreeMap<String, usize>,
}

impl Counts {
    /// Returns the counts of `number` skipped tests. `passed` is 0, because the harness reports them as passed itself.
    ///
    /// `reason` ends with the variable that makes the skip a failure: `the driver was not found (HX_REQUIRE_GPU)`. Without a
    /// variable, the whole reason stands for the need.
    pub(crate) fn skip(reason: &str, number: usize) -> Counts {
        let need = NEEDS.iter().find(|(variable, _)| reason.ends_with(&format!("({variable})")));
        let need = need.map_or(reason, |(_, need)| need).to_owned();
        Counts { skipped: BTreeMap::from([(need, number)]), ..Counts::default() }
    }

    pub(crate) fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        for (need, number) in other.skipped {
            *self.skipped.entry(need).or_default() += number;
        }
    }

    /// Returns the counts as text. The last line has the sums; the lines before it say how to run the skipped tests.
    pub(crate) fn summary(&self) -> String {
        let skipped: usize = self.skipped.values().sum();
        let mut text = String::new();
        if skipped > 0 {
            text.push_str("skipped tests, and what brings them:\n");
        }
        for (need, number) in &self.skipped {
            let _ = writeln!(text, "{number:5}  {need}");
        }
        let passed = self.passed.saturating_sub(skipped);
        let _ = write!(text, "{passed} passed, {} failed, {skipped} skipped", self.failed);
        text
    }
}
