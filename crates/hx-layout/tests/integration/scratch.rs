//! scratch
use hx_layout::{eval_expr, prove};
#[test]
fn scratch() {
    let text = std::fs::read_to_string("/tmp/t/exprs.txt").unwrap_or_default();
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let answer = match line.strip_prefix("prove ") {
            Some(line) => prove::prove(line).map_or_else(|e| format!("ERROR {e}"), |v| v.to_string()),
            None => eval_expr(line).map_or_else(|e| format!("ERROR {e}"), |v| v.to_string()),
        };
        println!("{line}\n    {answer}");
    }
}
