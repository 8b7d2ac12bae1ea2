//! Texts of PTX that the source writes itself.

use expect_test::{Expect, expect};

use crate::inline_text;

/// Compares the operands, the special registers and the faults of a text.
fn check(text: &str, expected: Expect) {
    let found = inline_text(text);
    let operands: Vec<&str> = found.operands.iter().map(|(name, _)| name.as_str()).collect();
    let mut lines = vec![format!("{} of [{}]", found.instructions, operands.join(", "))];
    lines.extend(found.special.iter().map(|at| format!("special {}", &text[at.clone()])));
    for fault in found.faults {
        let help = fault.kind.help().map_or_else(String::new, |help| format!("\n  help: {help}"));
        lines.push(format!("{:?}: {}{help}", &text[fault.at.clone()], fault.kind));
    }
    expected.assert_eq(&(lines.join("\n") + "\n"));
}
