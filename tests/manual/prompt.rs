//! Sessions of the prompt in the manual: each entry with its output.

use std::io::{BufRead as _, BufReader, PipeReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};

use hx_syntax::{Completeness, completeness};

use super::as_shown;
use crate::support::Sandbox;

/// An unknown command that follows each entry, and its error, which marks the end of the entry's output. It is not a cell, so
/// cells have the numbers that a reader sees.
const END: (&str, &str) =
    (":end-of-answer", "error: there is no command `:end-of-answer`; `:help` lists them");

/// The session of a page.
pub(super) struct Prompt {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Results and all other output, in the order of writing.
    said: BufReader<PipeReader>,
}

impl Prompt {
    pub(super) fn start(sandbox: &Sandbox) -> Prompt {
        let (said, stdout) = std::io::pipe().expect("a pipe");
        let stderr = stdout.try_clone().expect("a pipe has two writers");
        let mut command = sandbox.command(&["repl", "--keep-going"], &[("HX_DEVICE", "sim")]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(stdout).stderr(stderr).spawn().expect("it starts");
        // The command holds the writing ends of the pipe. Drop it, or the pipe stays open.
        drop(command);
        let stdin = child.stdin.take();
        Prompt { child, stdin, said: BufReader::new(said) }
    }

    /// Returns a block with the current outputs of its entries.
    pub(super) fn session(&mut self, shown: &str) -> String {
        let mut text = String::new();
        let mut lines = shown.lines().peekable();
        while let Some(line) = lines.next() {
            let first = line.strip_prefix("hx> ").unwrap_or_else(|| panic!("`{line}` is not an entry"));
            let mut entry = first.to_owned();
            text += &format!("{line}\n");
            while !entry.starts_with(':') && completeness(&entry) == Completeness::Incomplete {
                let more = lines.next().expect("the entry ends");
                let code = more.strip_prefix("... ").unwrap_or_else(|| panic!("`{more}` has no prompt"));
                entry = format!("{entry}\n{code}");
                text += &format!("{more}\n");
            }
            let mut output = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("hx> ")) {
                output.push(line);
            }
            text += &as_shown(&self.ask(&entry), &output);
        }
        text
    }

    fn ask(&mut self, entry: &str) -> String {
        let stdin = self.stdin.as_mut().expect("it reads");
        stdin.write_all(format!("{entry}\n{}\n", END.0).as_bytes()).expect("it reads");
        let mut answer = String::new();
        loop {
            let mut line = String::new();
            let count = self.said.read_line(&mut line).expect("it answers");
            assert!(count > 0, "the session ended at `{entry}`:\n{answer}");
            if line.trim_end() == END.1 {
                return answer;
            }
            answer += &line;
        }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}
