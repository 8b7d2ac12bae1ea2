//! Renders the page about a code for a terminal. The page is Markdown; this module draws it as text.

use hx_base::Code;

use crate::Config;
use crate::wrap::fitted;

const INDENT: &str = "    ";

/// Returns the page about a code: its number and name, and their meaning, with blocks of code indented. The text ends with a line
/// break.
pub fn explain(code: &Code, config: Config) -> String {
    let paint = |style: &str, text: &str| match config.color && !text.is_empty() {
        true => format!("\x1b[{style}m{text}\x1b[0m"),
        false => text.to_owned(),
    };
    let mut out = paint("1", &format!("{}: {}", code.id, code.name));
    out.push_str(&format!("\n\n{} ({})\n\n", code.summary, code.severity.as_str()));
    let page = code.explanation();
    let mut in_block = false;
    for line in page.trim_end().lines() {
        match line.strip_prefix("```") {
            Some(_) if in_block => in_block = false,
            Some(tag) => {
                in_block = true;
                match tag {
                    "hx fails" => out.push_str("Wrong:\n\n"),
                    "hx" => out.push_str("Right:\n\n"),
                    _ => {}
                }
            }
            None if in_block => {
                let line = format!("{INDENT}{line}");
                out.push_str(&paint("36", line.trim_end()));
                out.push('\n');
            }
            None => {
                out.push_str(&fitted(line, config.width, ""));
                out.push('\n');
            }
        }
    }
    out
}
