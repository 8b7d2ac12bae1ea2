//! Markdown as plain text.

use crate::style::Style;

/// Converts Markdown to plain text for a terminal: code stays as it is, other text loses its markup.
pub fn plain_text(markdown: &str) -> String {
    fitted_text(markdown, Style::default())
}

/// Converts Markdown to plain text with lines that fit the terminal of a style. A broken line of code is indented.
pub(crate) fn fitted_text(markdown: &str, style: Style) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut code = false;
    for line in markdown.lines() {
        let line = line.trim_end();
        if line.starts_with("```") {
            code = !code;
            continue;
        }
        let line = match line {
            "---" => "",
            line => line.strip_prefix('*').and_then(|rest| rest.strip_suffix('*')).unwrap_or(line),
        };
        let line = if code { style.fitted(line, "    ") } else { style.fitted(&line.replace("**", ""), "") };
        if !line.is_empty() || out.last().is_some_and(|last| !last.is_empty()) {
            out.push(line);
        }
    }
    out.join("\n").trim_end().to_owned()
}
