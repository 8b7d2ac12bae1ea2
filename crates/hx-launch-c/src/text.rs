//! Lines of C that are not too long.

/// The most columns of a line.
pub(super) const COLUMNS: usize = 110;

/// Returns the columns of a function's declaration before its parameters.
pub(super) fn declared_columns(name: &str) -> usize {
    "enum hx_status (".len() + name.len()
}

/// Joins the parts of a list that begins after some columns, and breaks the line where it is too long.
pub(super) fn wrapped(parts: &[String], columns: usize) -> String {
    let (mut out, mut column) = (String::new(), columns);
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(',');
            if column + part.len() + 3 > COLUMNS {
                out += "\n    ";
                column = 4;
            } else {
                out.push(' ');
            }
        }
        out += part;
        column += part.len() + 2;
    }
    out
}
