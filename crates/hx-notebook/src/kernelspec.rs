//! The files by which Jupyter finds the kernel: a folder with `kernel.json` and logos among Jupyter's data.

use std::path::{Path, PathBuf};

use hx_base::replace_file;
use serde_json::{Value, json};

/// The place of a kernelspec.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// The data folder of the user.
    User,
    /// The virtual environment of the process.
    Environment,
    /// The data of a Python installation or environment.
    Prefix(PathBuf),
}

/// The reason why a kernelspec cannot be written or removed.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    #[error(
        "there is no home folder: set JUPYTER_DATA_DIR to an absolute path, or name a folder with `--prefix`"
    )]
    NoHome,
    #[error(
        "no virtual environment is active: activate one, or name its folder with `--prefix`; neither VIRTUAL_ENV nor \
         CONDA_PREFIX is set"
    )]
    NoEnvironment,
    #[error("found the kernel name `{0}`, expected letters, digits, `.`, `-` and `_`")]
    Name(String),
    #[error("`{}` is the kernel of another language, {language}: choose another name with `--name`", folder.display())]
    Foreign { folder: PathBuf, language: String },
    #[error("there is no kernel `{}`", .0.display())]
    Missing(PathBuf),
    #[error("cannot write `{}`: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: std::io::Error },
    #[error("cannot remove `{}`: {reason}", path.display())]
    Undeletable { path: PathBuf, reason: std::io::Error },
}

/// The logos that Jupyter's launchers show.
const LOGOS: [(&str, &[u8]); 3] = [
    ("logo-svg.svg", include_bytes!("../assets/logo-svg.svg")),
    ("logo-32x32.png", include_bytes!("../assets/logo-32x32.png")),
    ("logo-64x64.png", include_bytes!("../assets/logo-64x64.png")),
];
const SPEC: &str = "kernel.json";

/// Writes the kernelspec that starts an executable. Returns its folder.
///
/// # Errors
/// If the place does not exist, the name is invalid or belongs to another language's kernel, or a file cannot be written.
pub fn install(place: &Place, name: &str, executable: &Path) -> Result<PathBuf, SpecError> {
    install_in(&kernels_folder(place, &variable)?, name, executable)
}

/// Removes a kernelspec. Returns its folder.
///
/// # Errors
/// If the place does not exist, the name is invalid, there is no such kernelspec, it belongs to another language, or it cannot
/// be removed.
pub fn uninstall(place: &Place, name: &str) -> Result<PathBuf, SpecError> {
    let kernels = kernels_folder(place, &variable)?;
    let folder = uninstall_in(&kernels, name)?;
    // These folders may be ours alone: `kernels` and the data folder above it, in an environment also `share`.
    let own = if *place == Place::User { 2 } else { 3 };
    remove_empty(kernels.ancestors().take(own));
    Ok(folder)
}

/// Removes folders that an installation may have made, innermost first, up to the first that is not empty.
fn remove_empty<'a>(folders: impl Iterator<Item = &'a Path>) {
    for folder in folders {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

fn install_in(kernels: &Path, name: &str, executable: &Path) -> Result<PathBuf, SpecError> {
    let folder = checked(kernels, name)?;
    let unwritable = |path: &Path| {
        let path = path.to_owned();
        move |reason| SpecError::Unwritable { path, reason }
    };
    std::fs::create_dir_all(&folder).map_err(unwritable(&folder))?;
    // Write `kernel.json` last, because Jupyter lists a folder as a kernel once that file exists.
    let spec = format!("{:#}\n", spec(name, executable));
    for (file, bytes) in LOGOS.into_iter().chain([(SPEC, spec.as_bytes())]) {
        let path = folder.join(file);
        replace_file(&path, bytes).map_err(unwritable(&path))?;
    }
    Ok(folder)
}

fn uninstall_in(kernels: &Path, name: &str) -> Result<PathBuf, SpecError> {
    let folder = checked(kernels, name)?;
    if !folder.join(SPEC).exists() {
        return Err(SpecError::Missing(folder));
    }
    let undeletable = |reason| SpecError::Undeletable { path: folder.clone(), reason };
    // Remove only the files that `install` writes. Any other file stays, and with it the folder.
    for file in LOGOS.iter().map(|(file, _)| *file).chain([SPEC]) {
        match std::fs::remove_file(folder.join(file)) {
            Err(reason) if reason.kind() != std::io::ErrorKind::NotFound => return Err(undeletable(reason)),
            _ => {}
        }
    }
    match std::fs::remove_dir(&folder) {
        Err(reason) if reason.kind() != std::io::ErrorKind::DirectoryNotEmpty => Err(undeletable(reason)),
        _ => Ok(folder),
    }
}

/// Returns the contents of `kernel.json`.
fn spec(name: &str, executable: &Path) -> Value {
    let display = if name == "hx" { "hx".to_owned() } else { format!("hx ({name})") };
    json!({
        "argv": [executable.display().to_string(), "notebook", "kernel", "{connection_file}"],
        "display_name": display,
        "language": "hx",
        "interrupt_mode": "message",
        "metadata": { "debugger": false },
    })
}

/// Returns the folder of a kernel in `kernels`; it need not exist.
///
/// # Errors
/// If the name is invalid, or the folder has the kernel of another language.
fn checked(kernels: &Path, name: &str) -> Result<PathBuf, SpecError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if name.is_empty() || !name.chars().all(fits) || name.chars().all(|c| c == '.') {
        return Err(SpecError::Name(name.to_owned()));
    }
    let folder = kernels.join(name);
    if let Ok(bytes) = std::fs::read(folder.join(SPEC)) {
        let spec: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        match spec["language"].as_str() {
            Some("hx") | None => {}
            Some(language) => return Err(SpecError::Foreign { folder, language: language.to_owned() }),
        }
    }
    Ok(folder)
}

/// Returns the value of an environment variable; `None` if it is unset or empty.
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the folder where Jupyter looks for kernels, as `jupyter --paths` names it.
///
/// # Errors
/// [`SpecError::NoHome`] and [`SpecError::NoEnvironment`], if the place does not exist.
fn kernels_folder(place: &Place, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, SpecError> {
    let data = match place {
        Place::User => user_data(variable).ok_or(SpecError::NoHome)?,
        Place::Environment => {
            let prefix = variable("VIRTUAL_ENV").or_else(|| variable("CONDA_PREFIX"));
            prefix.ok_or(SpecError::NoEnvironment)?.join("share").join("jupyter")
        }
        Place::Prefix(prefix) => prefix.join("share").join("jupyter"),
    };
    Ok(data.join("kernels"))
}

fn user_data(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(data) = variable("JUPYTER_DATA_DIR") {
        return Some(data);
    }
    if cfg!(windows) {
        return variable("APPDATA").map(|data| data.join("jupyter"));
    }
    let home = variable("HOME");
    if cfg!(target_os = "macos") {
        return home.map(|home| home.join("Library").join("Jupyter"));
    }
    let data = variable("XDG_DATA_HOME").or_else(|| home.map(|home| home.join(".local").join("share")));
    data.map(|data| data.join("jupyter"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn folder_of(place: &Place, variables: &[(&str, &str)]) -> String {
        let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| PathBuf::from(v));
        let found = kernels_folder(place, &variable);
        found.map_or_else(|error| error.to_string(), |folder| folder.display().to_string())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_folders_are_those_of_jupyter() {
        let of = |variables| folder_of(&Place::User, variables);
        assert_eq!(of(&[("HOME", "/h")]), "/h/.local/share/jupyter/kernels");
        assert_eq!(of(&[("HOME", "/h"), ("XDG_DATA_HOME", "/x")]), "/x/jupyter/kernels");
        assert_eq!(of(&[("HOME", "/h"), ("JUPYTER_DATA_DIR", "/j")]), "/j/kernels");
        assert!(of(&[]).starts_with("there is no home folder: "));
        let environment = |variables| folder_of(&Place::Environment, variables);
        assert_eq!(environment(&[("VIRTUAL_ENV", "/v")]), "/v/share/jupyter/kernels");
        assert_eq!(environment(&[("CONDA_PREFIX", "/c")]), "/c/share/jupyter/kernels");
        assert!(environment(&[]).starts_with("no virtual environment is active: "));
        assert_eq!(folder_of(&Place::Prefix("/p".into()), &[]), "/p/share/jupyter/kernels");
    }

    #[test]
    fn a_kernel_is_written_and_removed() {
        let kernels = tempfile::tempdir().expect("a folder");
        let folder = install_in(kernels.path(), "hx", Path::new("/bin/hx")).expect("it is written");
        let text = std::fs::read_to_string(folder.join("kernel.json")).expect("it is there");
        expect![[r#"
            {
              "argv": [
                "/bin/hx",
                "notebook",
                "kernel",
                "{connection_file}"
              ],
              "display_name": "hx",
              "language": "hx",
              "interrupt_mode": "message",
              "metadata": {
                "debugger": false
              }
            }
        "#]]
        .assert_eq(&text);
        let mut files: Vec<_> =
            std::fs::read_dir(&folder).expect("a folder").flatten().map(|e| e.file_name()).collect();
        files.sort();
        assert_eq!(files, ["kernel.json", "logo-32x32.png", "logo-64x64.png", "logo-svg.svg"]);
        install_in(kernels.path(), "hx", Path::new("/bin/hx")).expect("it is replaced");
        uninstall_in(kernels.path(), "hx").expect("it is removed");
        assert!(!folder.exists());
        assert!(matches!(uninstall_in(kernels.path(), "hx"), Err(SpecError::Missing(_))));
    }

    #[test]
    fn other_kernels_and_files_stay() {
        let kernels = tempfile::tempdir().expect("a folder");
        let python = kernels.path().join("python3");
        std::fs::create_dir_all(&python).expect("a folder");
        std::fs::write(python.join("kernel.json"), r#"{"language": "python"}"#).expect("a file");
        let refused =
            [install_in(kernels.path(), "python3", Path::new("hx")), uninstall_in(kernels.path(), "python3")];
        assert!(
            refused
                .iter()
                .all(|r| matches!(r, Err(SpecError::Foreign { language, .. }) if language == "python"))
        );
        for name in ["", "..", "a/b", "ü"] {
            assert!(matches!(install_in(kernels.path(), name, Path::new("hx")), Err(SpecError::Name(_))));
        }
        let folder = install_in(kernels.path(), "hx", Path::new("hx")).expect("it is written");
        std::fs::write(folder.join("notes"), "mine").expect("a file");
        uninstall_in(kernels.path(), "hx").expect("it is removed");
        assert!(folder.join("notes").exists() && !folder.join("kernel.json").exists());
    }
}
