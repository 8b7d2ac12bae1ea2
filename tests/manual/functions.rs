//! The page of all names that need no import: the table that the compiler reads.

use std::fmt::Write as _;

use expect_test::expect_file;
use hx_hir::{Place, builtins};

use crate::support::root;

const HEAD: &str = "# Functions and values

This page lists every name that needs no import; a `fn` or a local of the same name hides it.
`x?` may be left out, and so may `x: …`, which is given by name only.
[Tensors, views and tiles](tensors.md) explains the operations on tiles, [The host side](host.md) the host functions, and [What is compiled today](status.md) says which of them have no code yet.
The functions of layouts are those of [the layout algebra](../layout-algebra.md).
";

#[test]
fn the_page_of_functions_is_the_table_of_names() {
    let mut text = HEAD.to_owned();
    for (title, place) in [
        ("In kernels and tile functions", Place::Device),
        ("In kernels and on the host", Place::Both),
        ("On the host", Place::Host),
        ("Behind pipelines, turns and barriers", Place::Member),
    ] {
        let _ = write!(text, "\n## {title}\n\n| name | meaning |\n|---|---|\n");
        let mut rows: Vec<_> = builtins().filter(|b| b.place() == place).collect();
        rows.sort_by_key(|b| b.name());
        for row in rows {
            let _ = writeln!(text, "| `{}` | {} |", row.signature(), row.doc().replace('|', "\\|"));
        }
    }
    expect_file![root().join("book/src/language/functions.md")].assert_eq(&text);
}
