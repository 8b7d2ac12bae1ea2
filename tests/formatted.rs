//! The project's own `.hx` files are laid out as `hx fmt` lays them out.

use crate::support::{Sandbox, root};

/// Files that stay as they are, each with the reason.
const EXEMPT: &[(&str, &str)] = &[(
    "std/matmul.hx",
    "it is the kernel of the language's first page, word for word, which puts three `let` on one line",
)];

#[test]
fn our_files_are_formatted() {
    let output = Sandbox::new()
        .command(&["fmt", "--check", "std", "book", "tests"], &[])
        .current_dir(root())
        .output()
        .expect("the command starts");
    let listed = String::from_utf8_lossy(&output.stdout);
    let wrong: Vec<&str> =
        listed.lines().filter(|file| !EXEMPT.iter().any(|(name, _)| name == file)).collect();
    assert!(wrong.is_empty(), "`hx fmt` would change {wrong:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains("error"), "{told}");
    for (name, reason) in EXEMPT {
        assert!(listed.lines().any(|file| file == *name), "`{name}` needs no exemption any more: {reason}");
    }
}
