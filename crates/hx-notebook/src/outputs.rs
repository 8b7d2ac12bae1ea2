//! The outputs of a cell as messages: streams, results with pictures, and errors.

use hx_base::Severity;
use hx_repl::{Display, Finding, Ground, Outcome, Picture, Shown, SvgStyle};
use serde_json::{Value, json};

use crate::sockets::Port;
use crate::text::notebook_colors;

/// The style of drawings: legible on light and dark ground, because a notebook may have either, and 800 pixels wide like a usual
/// cell.
pub(crate) const SVG: SvgStyle = SvgStyle { ground: Ground::Unknown, width: Some(800) };

/// An error that a cell reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    /// The code of the first error, such as `HX0301`, or a word such as `interrupted` if it has none.
    pub name: String,
    pub message: String,
    /// The rendered errors, with colours.
    pub traceback: Vec<String>,
}

impl Failure {
    /// Returns the content of an `error` message.
    pub(crate) fn content(&self) -> Value {
        json!({ "ename": self.name, "evalue": self.message, "traceback": self.traceback })
    }
}

/// Publishes the outputs of a cell as messages.
#[derive(Debug)]
pub(crate) struct Outputs<'a> {
    /// `None` if the outputs are not published, as in a silent cell.
    port: Option<&'a Port>,
    /// The header of the request.
    parent: &'a Value,
    count: u32,
    /// Whether the entry is the last of the cell. Its value is the result of the cell; values of earlier entries are displayed.
    pub is_last: bool,
    /// Rendered errors that no other output has followed. If the cell fails, the `error` message contains them.
    held: Vec<String>,
    /// Code and message of the first error.
    first: Option<(String, String)>,
}

impl<'a> Outputs<'a> {
    pub(crate) fn new(port: Option<&'a Port>, parent: &'a Value, count: u32) -> Outputs<'a> {
        Outputs { port, parent, count, is_last: false, held: Vec::new(), first: None }
    }

    /// Ends a cell with this outcome: publishes what is held, and returns the error of the cell; `None` if it did not fail.
    /// After `:quit`, tells how a notebook is left.
    pub(crate) fn end(&mut self, outcome: Outcome) -> Option<Failure> {
        let failure = match outcome {
            Outcome::Good => {
                self.release();
                return None;
            }
            Outcome::Quit => {
                let text = "a notebook is left in its client, which can shut the kernel down; `:reset` forgets every cell";
                self.stream("stdout", format!("{text}\n"));
                return None;
            }
            Outcome::Interrupted => {
                self.release();
                let message = "the cell was stopped; every binding is as it was before".to_owned();
                let traceback = vec![format!("{}: {message}", red("interrupted"))];
                Failure { name: "interrupted".to_owned(), message, traceback }
            }
            Outcome::Failed | Outcome::Environment => {
                let first = self.first.take();
                let (name, message) =
                    first.unwrap_or_else(|| ("failed".to_owned(), "the entry failed".to_owned()));
                let mut traceback = std::mem::take(&mut self.held);
                if traceback.is_empty() {
                    // Other output followed the errors, so they are published already: name only the first of them.
                    traceback.push(format!("{}: {message}", red(&format!("error[{name}]"))));
                }
                Failure { name, message, traceback }
            }
        };
        self.publish("error", failure.content());
        Some(failure)
    }

    fn publish(&self, kind: &str, content: Value) {
        if let Some(port) = self.port {
            port.publish(self.parent, kind, content);
        }
    }

    fn print(&self, name: &str, text: &str) {
        if let Some(port) = self.port {
            port.stream(self.parent, name, text);
        }
    }

    fn stream(&mut self, name: &str, text: String) {
        self.release();
        self.print(name, &text);
    }

    /// Publishes the held errors on stderr, because other output follows them.
    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            self.print("stderr", &format!("{}\n", held.join("\n")));
        }
    }

    fn hold(&mut self, name: &str, message: &str, text: String) {
        self.first.get_or_insert_with(|| (name.to_owned(), message.to_owned()));
        self.held.push(text);
    }

    fn finding(&mut self, finding: Finding<'_>) {
        let text = notebook_colors(finding.text.trim_end());
        match finding.severity {
            Severity::Error => self.hold(finding.code.id, finding.message, text),
            _ => self.stream("stderr", format!("{text}\n")),
        }
    }
}

impl Display for Outputs<'_> {
    fn show(&mut self, shown: Shown<'_>) {
        match shown {
            Shown::Printed(text) | Shown::Text(text) | Shown::Remark(text) => {
                self.stream("stdout", format!("{text}\n"));
            }
            Shown::Drawn(pictures) => {
                self.release();
                for picture in pictures {
                    self.publish(
                        "display_data",
                        json!({ "data": bundle(picture), "metadata": {}, "transient": {} }),
                    );
                }
            }
            Shown::Value(picture) => {
                self.release();
                let data = bundle(picture);
                if self.is_last {
                    let content = json!({ "execution_count": self.count, "data": data, "metadata": {} });
                    self.publish("execute_result", content);
                } else {
                    self.publish("display_data", json!({ "data": data, "metadata": {}, "transient": {} }));
                }
            }
            Shown::Finding(finding) => self.finding(finding),
            Shown::Usage(text) => self.hold("usage", text, format!("{}: {text}", red("error"))),
            // `end` reports the interrupt.
            Shown::Interrupted => {}
        }
    }
}

/// Returns the data of a picture as text and, if it has a drawing, as SVG. The client shows the best form that it can.
pub(crate) fn bundle(picture: &Picture) -> Value {
    let text = picture.text.trim_end_matches('\n');
    match &picture.drawing {
        Some(drawing) => json!({ "image/svg+xml": drawing.svg_in(SVG), "text/plain": text }),
        None => json!({ "text/plain": text }),
    }
}

fn red(word: &str) -> String {
    format!("\x1b[31m{word}\x1b[0m")
}
