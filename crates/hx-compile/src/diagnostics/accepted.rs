//! Performance notes that the source accepts: `#[accept("narrow-access", "the reason")]` before a statement around the note, or before
//! the `fn` or `kernel` around it. One before the kernel also accepts notes at functions that the kernel calls.

use hx_base::{Diagnostic, Severity, SourceFile, TextRange, code, parse};
use hx_syntax::ast::{AstNode as _, Attr};

use crate::{Db, Instance};

/// Reports whether the source accepts a performance note of an instance.
pub fn is_accepted(db: &dyn Db, instance: Instance<'_>, found: &Diagnostic) -> bool {
    if found.severity != Severity::Performance {
        return false;
    }
    let of_kernel = instance.kernel(db).syntax(db).is_some_and(|kernel| accepts(kernel.attrs(), found));
    of_kernel || is_accepted_around(db, found, found.primary.file, found.primary.range)
}

/// Reports whether an attribute of a statement or an item around a range accepts the note.
fn is_accepted_around(db: &dyn Db, found: &Diagnostic, file: SourceFile, range: TextRange) -> bool {
    let root = parse(db, file).syntax_node();
    if !root.text_range().contains_range(range) {
        return false;
    }
    let around = root.covering_element(range);
    around.ancestors().any(|node| accepts(node.children().filter_map(Attr::cast), found))
}

/// Reports whether one of the attributes accepts the note.
fn accepts(mut attrs: impl Iterator<Item = Attr>, found: &Diagnostic) -> bool {
    let names =
        |text: &Option<String>| text.as_deref().and_then(code).is_some_and(|code| code.id == found.code.id);
    attrs.any(|attr| {
        attr.text().is_some_and(|name| name == "accept") && attr.texts().first().is_some_and(names)
    })
}
