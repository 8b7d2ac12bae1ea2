use super::*;

/// Compares the messages about circles in a crate. Each file is its path below `src` and its code.
fn check_files(files: &[(&str, &str)], expected: &[&str]) {
    let path = |file: &str| format!("crates/hx-made-up/src/{file}");
    let files = files.iter().map(|(file, text)| (path(file), (*text).to_owned())).collect();
    let found: Vec<String> = check(&files).into_iter().map(|finding| finding.message).collect();
    assert_eq!(found, expected);
}

#[test]
fn files_that_use_each_other_are_named() {
    check_files(
        &[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B; fn f() { super::c::make() }"),
            ("c.rs", "pub fn make() { let _ = crate::a::A; }"),
        ],
        &["3 files use each other: a.rs uses b.rs (B); b.rs uses c.rs (make); c.rs uses a.rs (A)"],
    );
}

#[test]
fn an_item_is_followed_to_its_file() {
    // The root re-exports items of its files, which name them by the root.
    check_files(
        &[
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::*;"),
            ("a.rs", "use crate::B; pub struct A(B);"),
            ("b.rs", "pub struct B;"),
        ],
        &[],
    );
    check_files(
        &[
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::*;"),
            ("a.rs", "use crate::B; pub struct A(B);"),
            ("b.rs", "pub struct B; impl From<crate::A> for B {}"),
        ],
        &["2 files use each other: a.rs uses b.rs (B); b.rs uses a.rs (A)"],
    );
}

#[test]
fn a_file_may_use_the_folder_that_it_lies_in() {
    let folder = ("a/mod.rs", "mod inner; mod other; pub struct A; pub fn f() { inner::g() }");
    let inner = ("a/inner.rs", "use super::A; pub fn g() -> A { super::other::h() }");
    check_files(
        &[("lib.rs", "mod a;"), folder, inner, ("a/other.rs", "pub fn h() -> super::A { todo!() }")],
        &[],
    );
    check_files(
        &[
            ("lib.rs", "mod a;"),
            folder,
            inner,
            ("a/other.rs", "pub fn h() -> super::A { super::inner::g() }"),
        ],
        &["2 files use each other: a/inner.rs uses a/other.rs (h); a/other.rs uses a/inner.rs (g)"],
    );
}

#[test]
fn tests_do_not_count() {
    check_files(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A; pub struct B(A);"),
            ("tests.rs", "use crate::a::A;"),
        ],
        &[],
    );
}
