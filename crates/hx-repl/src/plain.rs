//! Markdown as plain text.

/// Converts Markdown to plain text for a terminal: code stays as it is, other text loses its markup.
pub fn plain_text(markdown: &str) -> String {
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
        let line = if code { line.to_owned() } else { line.replace("**", "") };
        if !line.is_empty() || out.last().is_some_and(|last| !last.is_empty()) {
            out.push(line);
        }
    }
    out.join("\n").trim_end().to_owned()
}
