//! Formats a launch's prints as lines, and its failed assertions as diagnostics, in the same words for the simulator and a GPU.

use hx_base::{Diagnostic, SourceFile, TextRange, codes};
use hx_compile::{Instance, tile_program};
use hx_host::Tensor;
use hx_host::device::LaunchError;
use hx_host::show::{show_bits, show_tensor};
use hx_host::tensor::HostTensor;
use hx_thread::{Failed, LAST_RUN, LogContents, LogEntry, Printed, ThreadProgram};
use hx_tile::Origin;

use super::Launcher;

/// The lines that a launch printed, and its failed assertions.
#[derive(Default)]
pub(super) struct LaunchLog {
    printed: Vec<String>,
    failed: Vec<Diagnostic>,
}

impl LaunchLog {
    /// Ends a launch. Failed assertions are errors, and come before the errors that ended the launch.
    pub(super) fn finish<T>(self, ended: Result<T, LaunchError>) -> Result<(T, Vec<String>), LaunchError> {
        let error = match ended {
            Ok(result) if self.failed.is_empty() => return Ok((result, self.printed)),
            Ok(_) => LaunchError::Found(self.failed),
            Err(LaunchError::Found(found)) => {
                LaunchError::Found(self.failed.into_iter().chain(found).collect())
            }
            Err(error) => error,
        };
        Err(error.after(self.printed))
    }
}

impl<'a> Launcher<'a> {
    pub(super) fn launch_log(
        &self,
        instance: Instance<'a>,
        program: &ThreadProgram,
        contents: &LogContents,
    ) -> LaunchLog {
        let axes = program.grid.len().clamp(1, 3);
        let entries = program.log.iter();
        let sources: Vec<String> = entries.map(|e| self.source(instance, e.origin)).collect();
        let line = |p: &Printed| {
            let block = block_text(p.block, axes);
            let what = printed_text(&program.log[p.entry], &sources[p.entry], &p.bytes);
            format!("{} block {block}: {what}", program.name)
        };
        let texts: Vec<String> = contents.printed.iter().map(line).collect();
        let mut printed: Vec<String> = texts.iter().flat_map(|t| t.lines()).map(str::to_owned).collect();
        if contents.dropped > 0 {
            let (s, were) = if contents.dropped == 1 { ("", "was") } else { ("s", "were") };
            printed.push(format!(
                "{}: {} more print{s} {were} dropped, for want of room; `if` around a print picks a block",
                program.name, contents.dropped
            ));
        }
        let failure = |f: &Failed| self.failure(instance, &program.log[f.entry], &sources[f.entry], f, axes);
        LaunchLog { printed, failed: contents.failed.iter().map(failure).collect() }
    }

    /// Returns the text of the printed or asserted expression, on one line; empty if the text has no place for it.
    fn source(&self, instance: Instance<'a>, origin: Origin) -> String {
        let text = self.origin(instance, origin).and_then(|(file, range)| {
            file.text(self.db).get(std::ops::Range::<usize>::from(range)).map(str::to_owned)
        });
        text.map_or_else(String::new, |text| text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn failure(
        &self,
        instance: Instance<'a>,
        entry: &LogEntry,
        source: &str,
        failed: &Failed,
        axes: usize,
    ) -> Diagnostic {
        let (file, range) = self.origin(instance, entry.origin).unwrap_or_else(|| self.kernel_name(instance));
        let broken = format!("`{source}` does not hold");
        let mut found = if entry.text.is_empty() {
            Diagnostic::new(&codes::ASSERTION_FAILED, file, range, broken)
        } else {
            Diagnostic::new(&codes::ASSERTION_FAILED, file, range, entry.text.clone()).note(broken)
        };
        for ((side, dtype), bits) in ["left", "right"].into_iter().zip(&entry.sides).zip(&failed.sides) {
            found = found.note(format!("{side}: {}", show_bits(*dtype, *bits)));
        }
        let calls = self.calls(instance, entry.origin);
        for (file, range) in calls {
            found = found.also(file, range, "called from here");
        }
        let uniform = entry.value.as_ref().is_none_or(|v| v.uniform);
        let block = block_text(failed.block, axes);
        let at = if uniform {
            format!("first in block {block}")
        } else {
            format!("first at {:?} in block {block}", failed.coordinate)
        };
        let when = match failed.run {
            0 => String::new(),
            LAST_RUN => format!(", when it was reached for the {}th time or later", LAST_RUN + 1),
            run => format!(", when it was reached for the {} time", ordinal(run + 1)),
        };
        let unit = if uniform { "time" } else { "element" };
        let s = if failed.count == 1 { "" } else { "s" };
        found.note(format!("{at}{when}; {} {unit}{s} in all", failed.count))
    }

    /// Returns the calls through which a place was inlined, innermost first.
    fn calls(&self, instance: Instance<'a>, origin: Origin) -> Vec<(SourceFile, TextRange)> {
        let Ok(lowered) = tile_program(self.db, instance).as_ref() else { return Vec::new() };
        let origins = &lowered.sources.origins;
        let mut out = Vec::new();
        let mut call = origins.get(origin.0 as usize).and_then(|o| o.call);
        while let Some(place) = call.and_then(|c| origins.get(c.0 as usize)) {
            out.extend(place.place.range(self.db));
            call = place.call;
        }
        out
    }
}

/// Formats `text name = value`, without the parts that are empty.
fn printed_text(entry: &LogEntry, source: &str, bytes: &[u8]) -> String {
    let Some(value) = &entry.value else { return entry.text.clone() };
    let shown = if value.uniform {
        show_bits(value.dtype, hx_dtype::load(value.dtype, bytes, 0))
    } else {
        let shape = value.shape.iter().map(|e| *e as usize).collect();
        show_tensor(&Tensor::from_host(HostTensor { dtype: value.dtype, shape, data: bytes.to_vec() }))
    };
    let text = if entry.text.is_empty() { String::new() } else { format!("{} ", entry.text) };
    format!("{text}{source} = {shown}")
}

/// Formats a block's index as `[0, 1]`, with one number for each axis of the grid.
fn block_text(block: [u32; 3], axes: usize) -> String {
    format!("{:?}", &block[..axes])
}

/// Formats an ordinal: `2nd`, `11th`.
fn ordinal(n: u32) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}
