//! The progress line of a long command, with the time that is left. It is drawn on stderr if that is a terminal; otherwise each stage
//! is one line.

use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Output;

/// The progress line. Each stage of the command replaces the line of the stage before.
#[derive(Debug)]
pub(crate) struct Progress<'o> {
    output: &'o Output,
    /// The stage, and its line if it is drawn.
    now: Mutex<Option<(String, ProgressBar)>>,
    /// The last stage that was written as a line of its own.
    told: Mutex<Option<String>>,
}

impl<'o> Progress<'o> {
    pub(crate) fn new(output: &'o Output) -> Progress<'o> {
        Progress { output, now: Mutex::default(), told: Mutex::default() }
    }

    /// Shows that `done` of the `of` steps of a stage are done.
    pub(crate) fn show(&self, stage: &str, done: usize, of: usize) {
        let mut now = self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if now.as_ref().is_none_or(|(shown, _)| shown != stage) {
            if let Some((_, line)) = now.take() {
                line.finish_and_clear();
            }
            let mut told = self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            // Results stand between the lines of a stage, which is told once.
            if !self.output.draws() && told.as_deref() != Some(stage) {
                self.output.remark(&format!("{stage} {of}"));
                *told = Some(stage.to_owned());
            }
            let line = if self.output.draws() { ProgressBar::new(of as u64) } else { ProgressBar::hidden() };
            // The template is a constant with known names, so it always parses.
            if let Ok(style) = ProgressStyle::with_template("{msg} {bar:24} {pos}/{len}  {eta} left") {
                line.set_style(style);
            }
            line.set_message(stage.to_owned());
            *now = Some((stage.to_owned(), line));
        }
        if let Some((_, line)) = now.as_ref() {
            line.set_length(of as u64);
            line.set_position(done as u64);
        }
    }

    /// Removes the line, so that other text may follow.
    pub(crate) fn clear(&self) {
        let line = self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some((_, line)) = line {
            line.finish_and_clear();
        }
    }
}
