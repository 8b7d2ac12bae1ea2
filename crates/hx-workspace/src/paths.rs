//! Paths as text, separated by `/`.

/// Returns an absolute path without `.` and `..`. A relative `path` starts at `current_dir`. Links are not followed.
pub(crate) fn absolute(current_dir: &str, path: &str) -> String {
    let path = path.replace('\\', "/");
    let whole = if is_absolute(&path) { path } else { format!("{current_dir}/{path}") };
    let (prefix, rest) = split_prefix(&whole);
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("{prefix}/{}", parts.join("/"))
}

/// Returns a path for messages: relative if it lies below the current folder, otherwise absolute.
pub(crate) fn display(current_dir: &str, absolute_path: &str) -> String {
    let inside = match current_dir {
        "/" => absolute_path.strip_prefix('/'),
        _ => absolute_path.strip_prefix(current_dir).and_then(|rest| rest.strip_prefix('/')),
    };
    inside.filter(|rest| !rest.is_empty()).unwrap_or(absolute_path).to_owned()
}

/// Returns the folder that contains a file or folder; a root contains itself.
pub(crate) fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((folder, _)) => folder,
    }
}

/// Appends a name to a folder: `/` and `a` give `/a`, not `//a`.
pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.ends_with('/') { format!("{folder}{name}") } else { format!("{folder}/{name}") }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || !split_prefix(path).0.is_empty()
}

/// Splits off the drive of a Windows path, `C:`; it is empty for other paths.
fn split_prefix(path: &str) -> (&str, &str) {
    let bytes = path.as_bytes();
    let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    path.split_at(if drive { 2 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute_and_shown_short() {
        assert_eq!(absolute("/home/me", "a/../b.hx"), "/home/me/b.hx");
        assert_eq!(absolute("/home/me", "../../../x"), "/x");
        assert_eq!(absolute("/", "/a//./b/"), "/a/b");
        assert_eq!(absolute("C:/work", "k\\a.hx"), "C:/work/k/a.hx");
        assert_eq!(display("/home/me", "/home/me/k/a.hx"), "k/a.hx");
        assert_eq!(display("/home/me", "/home/me2/a.hx"), "/home/me2/a.hx");
        assert_eq!(display("/", "/a.hx"), "a.hx");
        assert_eq!((parent("/a/b"), parent("/a"), parent("/")), ("/a", "/", "/"));
    }
}
