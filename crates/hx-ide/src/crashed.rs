//! The diagnostics of a file in which the compiler panics: one kernel must not hide the findings of the others, nor its own failure.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use hx_base::{Diagnostic, SourceFile, codes, sort_diagnostics};
use hx_compile::{Db, check_front, kernel_diagnostics, sound_kernels};
use hx_hir::{Item, Kernel, signature_source_map};

use crate::{Cancellable, Shown, catch};

/// Returns the diagnostics of a file for which [`crate::diagnostics`] panics. They are computed kernel by kernel, and each
/// kernel that panics gets an internal error at its name.
///
/// # Errors
/// If a newer text is waiting.
pub fn diagnostics_around_panics(
    db: &dyn Db,
    file: SourceFile,
    shown: &Shown,
) -> Cancellable<Vec<Diagnostic>> {
    catch(|| around_panics(db, file, |kernel| kernel_diagnostics(db, kernel, shown.target).clone()))
}

fn around_panics<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    check: impl Fn(Kernel<'db>) -> Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let mut found = check_front(db, file);
    for kernel in sound_kernels(db, file) {
        match catch_unwind(AssertUnwindSafe(|| check(kernel))) {
            Ok(own) => found.extend(own),
            Err(panic) if panic.is::<salsa::Cancelled>() => resume_unwind(panic),
            Err(panic) => found.push(internal(db, kernel, &panic_text(&*panic))),
        }
    }
    sort_diagnostics(db, &mut found);
    found
}

fn internal(db: &dyn Db, kernel: Kernel<'_>, text: &str) -> Diagnostic {
    let item = Item::Kernel(kernel);
    let name = signature_source_map(db, item).and_then(|map| map.name).unwrap_or_default();
    let message = format!("the compiler panicked on `{}`", kernel.name(db));
    Diagnostic::new(&codes::INTERNAL_ERROR, kernel.file(db), name + item.offset(db), message)
        .note(text.to_owned())
        .help("this is a bug of hx; please report it with the kernel")
}

/// Returns the message of a panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason was given".to_owned())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::tests::with_text;

    /// The other kernels before and after the one that panics keep their findings, and so do names and types.
    #[test]
    fn a_panic_is_a_finding_of_its_kernel() {
        let kernel = |name: &str| format!("kernel {name}(c: mut f32[m]) grid [1] threads 32 {{ sync(); }}\n");
        let text = ["first", "second", "third"].map(kernel).concat() + "const unused = missing;\n";
        let (db, file) = with_text(&text);
        let target = hx_target::Target::usual();
        let found = around_panics(&db, file, |kernel| {
            assert!(kernel.name(&db) != "second", "index out of bounds");
            kernel_diagnostics(&db, kernel, target).clone()
        });
        let said: String = found
            .iter()
            .map(|d| format!("{} `{}` {}\n", d.code.id, &text[d.primary.range], d.message))
            .collect();
        expect![[r#"
            HX0402 `sync()` this barrier orders nothing
            HX0628 `second` the compiler panicked on `second`
            HX0402 `sync()` this barrier orders nothing
            HX0101 `missing` nothing in scope is called `missing`
        "#]]
        .assert_eq(&said);
    }
}
