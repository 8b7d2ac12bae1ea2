//! The progress of a run of tests: a line with counts, the time left and the tests that run, and remarks about slow tests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hx_driver::{Case, CaseReport, Observer, Verdict};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::tell::show_time;
use crate::output::Output;

/// The time after which the line is drawn, so that short runs show none.
const DELAY: Duration = Duration::from_millis(300);
/// The time between two drawings of the line.
const TICK: Duration = Duration::from_millis(100);
/// A test is called slow after this time, and again each time that it has run for this long once more.
const SLOW: Duration = Duration::from_secs(60);

/// Draws the progress of one run of tests from a thread, until it is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    state: Arc<State>,
    ticker: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    output: Output,
    begun: Instant,
    /// The line; hidden until the delay has passed, and always if stderr is no terminal.
    line: ProgressBar,
    counts: Mutex<Running>,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct Running {
    failed: usize,
    /// The tests that run now, in the order in which they began.
    tests: Vec<Test>,
}

#[derive(Debug)]
struct Test {
    name: String,
    begun: Instant,
    /// The number of remarks that called the test slow.
    told: u32,
}

impl Progress {
    /// Begins the progress of `count` tests.
    pub(super) fn new(output: &Output, count: usize) -> Progress {
        let line = ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::hidden());
        let begun = Instant::now();
        let state =
            State { output: *output, begun, line, counts: Mutex::default(), ended: AtomicBool::new(false) };
        let state = Arc::new(state);
        let shared = Arc::clone(&state);
        let tick = move || {
            while !shared.ended.load(Ordering::Relaxed) {
                std::thread::park_timeout(TICK);
                shared.tick();
            }
        };
        // Without a thread the line stays away, and slow tests are not named.
        let ticker = std::thread::Builder::new().spawn(tick).ok();
        Progress { state, ticker }
    }

    /// Hides the line while `print` runs, so that its text does not mix with the line.
    pub(super) fn print(&self, print: impl FnOnce()) {
        self.state.line.suspend(print);
    }

    /// Removes the line. Returns the names of the tests that still run.
    pub(super) fn end(mut self) -> Vec<String> {
        self.stop();
        self.state.counts().tests.iter().map(|test| test.name.clone()).collect()
    }

    fn stop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.take() {
            ticker.thread().unpark();
            // The thread only draws, so a panic in it must not fail the run.
            let _ = ticker.join();
        }
        self.state.line.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop();
    }
}

impl State {
    fn counts(&self) -> MutexGuard<'_, Running> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) {
        let mut slow = Vec::new();
        let message = {
            let mut running = self.counts();
            for test in &mut running.tests {
                let time = test.begun.elapsed();
                if time >= SLOW * (test.told + 1) {
                    test.told += 1;
                    slow.push(format!("slow: {} has run for {}", test.name, show_time(time)));
                }
            }
            running.show()
        };
        slow.iter().for_each(|line| self.line.suspend(|| self.output.remark(line)));
        if self.output.draws() && self.begun.elapsed() >= DELAY && !self.ended.load(Ordering::Relaxed) {
            // The template is a constant with known names, so it always parses.
            if let Ok(style) = ProgressStyle::with_template("{pos}/{len} tests{wide_msg}") {
                self.line.set_style(style);
            }
            if self.line.is_hidden() {
                self.line.set_draw_target(ProgressDrawTarget::stderr());
            }
            let left = match self.line.position() {
                0 => String::new(),
                _ => format!(", about {} left", show_time(self.line.eta())),
            };
            self.line.set_message(format!("{}{left}{}", message.0, message.1));
        }
    }
}

impl Running {
    /// Returns the texts before and after the time left: `, 2 failed` and ` · k.hx::sums (2.4 s) and 3 more`. They are empty
    /// without failures or running tests.
    fn show(&self) -> (String, String) {
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        let tests = match self.tests.as_slice() {
            [] => String::new(),
            [first, rest @ ..] => {
                let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
                format!(" · {} ({}){more}", first.name, show_time(first.begun.elapsed()))
            }
        };
        (failed, tests)
    }
}

impl Observer for Progress {
    fn case_begins(&self, case: &Case) {
        self.state.counts().tests.push(Test { name: case.name.clone(), begun: Instant::now(), told: 0 });
    }

    fn case_ends(&self, report: &CaseReport) {
        {
            let mut running = self.state.counts();
            running.failed += usize::from(matches!(report.verdict, Verdict::Failed(_)));
            running.tests.retain(|test| test.name != report.case.name);
        }
        self.state.line.inc(1);
    }
}
