//! An entry of a session: a cell, a command, or a question about a name.

use crate::commands;
use crate::screen::Screen;
use crate::session::{Outcome, Session};

impl Session {
    /// Runs an entry: a cell, a `:command`, or `?name`.
    pub fn enter(&mut self, text: &str, screen: &mut Screen<'_>) -> Outcome {
        let entry = text.trim();
        match (entry.strip_prefix(':'), entry.strip_prefix('?')) {
            (Some(command), _) => commands::run(self, command, screen),
            (_, Some(name)) => commands::explain(self, name.trim(), screen),
            _ => self.cell(text, screen).map_or_else(|outcome| outcome, |_| Outcome::Good),
        }
    }
}
