//! Facts about the name at a place of an entry, as an editor's hover shows them.

use std::time::{Duration, Instant};

use hx_base::TextSize;
use hx_ide::{CudaText, DrawingStyle, Hover, LastGood, Shown};
use hx_syntax::{T, lex};

use crate::commands;
use crate::screen::Screen;
use crate::session::Session;
use crate::show;
use crate::style::Style;

/// Time limit of an answer, which may solve a kernel.
const LIMIT: Duration = Duration::from_secs(10);

impl Session {
    /// Describes the name or operation at a byte offset of an entry in Markdown. Within the arguments of a call, a position
    /// without a description describes the called function. `None` if nothing is known.
    pub fn inspect(&mut self, entry: &str, at: usize, drawings: DrawingStyle) -> Option<String> {
        let code_at = entry.len() - entry.trim_start().len();
        let trimmed = &entry[code_at..];
        let shift = if let Some(command) = trimmed.strip_prefix(':') {
            let end = 1 + command.find(char::is_whitespace).unwrap_or(command.len());
            if at <= code_at + end {
                return Some(format!("```\n{}\n```\n", commands::help_text(&command[..end - 1]).ok()?));
            }
            code_at + end
        } else if trimmed.starts_with('?') {
            code_at + 1
        } else {
            0
        };
        let (text, at) = (&entry[shift..], at.saturating_sub(shift).min(entry.len() - shift));
        places(text, at).into_iter().find_map(|at| self.described(text, at, drawings))
    }

    fn described(&mut self, text: &str, at: usize, drawings: DrawingStyle) -> Option<String> {
        let (file, setup) = (self.typed(text), self.setup());
        let at = TextSize::try_from(at).ok()?;
        let work = move |db: &hx_workspace::Database, _: &crate::work::Inside| {
            let reported = |cuda: &CudaText| setup.reported_registers(&cuda.text, &cuda.symbol, &cuda.target);
            let (shown, last_good) = (Shown::new(setup.target), LastGood::default());
            hx_ide::hover(db, file, at, &shown, drawings, &reported, &last_good).ok().flatten()
        };
        let found: Hover =
            self.work(&mut Screen::nowhere(), Some(Instant::now() + LIMIT), work).ok().flatten()?;
        let name = text.get(std::ops::Range::<usize>::from(found.range)).unwrap_or_default();
        match self.environment.values.get(name).filter(|_| found.is_binding) {
            Some(value) => {
                let look = self.precision.look(Style::default());
                let (kind, value) = (show::kind(value), show::value(value, Style::default(), look));
                Some(format!("```hx\n{name}: {kind}\n```\n\n```\n{value}\n```\n"))
            }
            None => Some(found.text),
        }
    }
}

/// Returns the offsets to describe, best first: the cursor, the character before it, and the end of the name before the innermost
/// open parenthesis.
fn places(text: &str, at: usize) -> Vec<usize> {
    let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = text[..at].char_indices().next_back().map(|(start, _)| start);
    let mut open: Vec<usize> = Vec::new();
    let mut offset = 0;
    for token in lex(&text[..at]) {
        match token.kind {
            T!['('] => open.push(offset),
            T![')'] => {
                open.pop();
            }
            _ => {}
        }
        offset += usize::from(token.len);
    }
    let callee = open.last().and_then(|open| open.checked_sub(1));
    [Some(at), before, callee].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callee_is_asked_last() {
        assert_eq!(places("f(g(1), x", 9), [9, 8, 0]);
        assert_eq!(places("f(1) + y", 8), [8, 7]);
        assert_eq!(places("é", 1), [0]);
    }
}
