//! The project's own `.hx` files are formatted with `hx fmt`.

use crate::support::{Sandbox, root};

#[test]
fn our_files_are_formatted() {
    let output = Sandbox::new()
        .command(&["fmt", "--check", "std", "book", "tests"], &[])
        .current_dir(root())
        .output()
        .expect("the command starts");
    let listed = String::from_utf8_lossy(&output.stdout);
    let wrong: Vec<&str> = listed.lines().collect();
    assert!(wrong.is_empty(), "`hx fmt` would change {wrong:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains("error"), "{told}");
}
