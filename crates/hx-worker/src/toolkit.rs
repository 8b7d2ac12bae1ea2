//! Finds the CUDA compiler library, the matrix library and the disassembler, without loading any of them.
//!
//! The search looks where the user or the system installs them, in the documented order: the explicit setting, beside the
//! executable, the user's data folder (which `hx setup` fills), `CUDA_HOME`, the loader's path, the `nvidia/*/lib` folders of a
//! Python environment on PATH. It never looks in a project: the found file is loaded or run, and a user who opens a project has
//! not read its files. Even a folder that a variable names is skipped if it lies in a project that the user does not
//! [trust](crate::trust). A relative folder is always skipped, because it names a folder of whatever project is current. An
//! explicit setting that names nothing usable is an error; the search does not continue. The search sees only [`SearchEnv`], so
//! that tests need not change the process.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::folders::{cuda_folder, variable};
use crate::protocol::{Absence, Component, NvrtcFiles};

/// All inputs of the search, so that the search reads no environment itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchEnv {
    /// `--nvrtc`, `HX_NVRTC` or the setting of a trusted project: the library, or a folder that contains it.
    pub nvrtc: Option<PathBuf>,
    /// `HX_CUBLASLT`: the library, or a folder that contains it.
    pub cublaslt: Option<PathBuf>,
    /// `HX_NVDISASM`: the program, or a folder that contains it.
    pub nvdisasm: Option<PathBuf>,
    /// The folder of the running executable; `None` if it is unknown.
    pub beside: Option<PathBuf>,
    /// The folder that `hx setup` fills, with `lib` and `bin`.
    pub user: Option<PathBuf>,
    /// `CUDA_HOME`, or `CUDA_PATH`.
    pub cuda_home: Option<PathBuf>,
    /// The loader's folders, in order.
    pub loader_path: Vec<PathBuf>,
    /// The folders of `PATH`, in order.
    pub path: Vec<PathBuf>,
    /// The current project, if the user does not trust it: its files are not used.
    pub untrusted: Option<PathBuf>,
}

impl SearchEnv {
    /// Reads the environment of this process.
    pub fn of_process() -> SearchEnv {
        let executable = std::env::current_exe().ok();
        SearchEnv {
            nvrtc: variable("HX_NVRTC"),
            cublaslt: variable("HX_CUBLASLT"),
            nvdisasm: variable("HX_NVDISASM"),
            beside: executable.and_then(|path| path.parent().map(Path::to_owned)),
            user: cuda_folder(),
            cuda_home: variable("CUDA_HOME").or_else(|| variable("CUDA_PATH")),
            loader_path: loader_folders(),
            path: std::env::var_os("PATH")
                .map(|path| std::env::split_paths(&path).collect())
                .unwrap_or_default(),
            untrusted: None,
        }
    }

    /// Reports whether files in a folder that a variable names may be used.
    pub(crate) fn is_usable(&self, folder: &Path) -> bool {
        folder.is_absolute() && !self.untrusted.as_deref().is_some_and(|project| lies_in(folder, project))
    }
}

/// Reports whether a folder lies in a project, by its name or after resolving links.
fn lies_in(folder: &Path, project: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    folder.starts_with(project) || real(folder).starts_with(real(project))
}

/// Returns the folders that the loader searches, as far as they are known without loading.
fn loader_folders() -> Vec<PathBuf> {
    if cfg!(windows) {
        return Vec::new();
    }
    let mut folders: Vec<PathBuf> = std::env::var_os("LD_LIBRARY_PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    folders.extend(configured_folders(Path::new("/etc/ld.so.conf.d")));
    for folder in
        ["/usr/local/cuda/lib64", "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"]
    {
        folders.push(PathBuf::from(folder));
    }
    folders
}

fn configured_folders(conf_dir: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for file in sorted_entries(conf_dir) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        folders.extend(text.lines().map(str::trim).filter(|line| line.starts_with('/')).map(PathBuf::from));
    }
    folders
}

/// Finds the compiler library. The paths are absolute: the worker runs in another folder.
///
/// # Errors
/// The reason if there is none, with the places that were searched.
pub fn find_nvrtc(env: &SearchEnv) -> Result<NvrtcFiles, Absence> {
    let help = "`hx setup` fetches it into your data folder, or set HX_NVRTC to the library";
    let library = find_library(env, Role::Compiler, env.nvrtc.as_deref(), help)?;
    let builtins = library.parent().and_then(|folder| library_named(folder, Role::Builtins));
    Ok(NvrtcFiles { library, builtins })
}

/// Finds cuBLASLt, the vendor's library of matrix products. The path is absolute.
///
/// # Errors
/// The reason if there is none, with the places that were searched.
pub fn find_cublaslt(env: &SearchEnv) -> Result<PathBuf, Absence> {
    let help = "install CUDA's libraries, or set HX_CUBLASLT to the library";
    find_library(env, Role::MatrixProducts, env.cublaslt.as_deref(), help)
}

fn find_library(
    env: &SearchEnv,
    role: Role,
    explicit: Option<&Path>,
    help: &str,
) -> Result<PathBuf, Absence> {
    if let Some(explicit) = explicit {
        let found =
            is_absolute(explicit, role.variable(), role.component()).map(|()| library_at(explicit, role))?;
        return found.ok_or_else(|| {
            let (variable, name) = (role.variable(), role.name());
            let reason = if explicit.exists() {
                format!("{variable} is `{}`, which holds no {name} library", explicit.display())
            } else {
                format!("{variable} is `{}`, which does not exist", explicit.display())
            };
            Absence::new(role.component(), reason)
        });
    }
    let places = Places::of_libraries(env);
    places.folders.iter().find_map(|folder| library_named(folder, role)).ok_or_else(|| Absence {
        component: role.component(),
        reason: "the library was not found".to_owned(),
        looked_in: places.looked_in,
        help: Some(help.to_owned()),
    })
}

/// Refuses a relative setting, which would name another file in every folder in which hx is started.
fn is_absolute(explicit: &Path, variable: &str, component: Component) -> Result<(), Absence> {
    if explicit.is_absolute() {
        return Ok(());
    }
    let reason = format!("{variable} is `{}`, expected an absolute path", explicit.display());
    Err(Absence {
        help: Some("a relative path would load a file of whatever project is at hand".to_owned()),
        ..Absence::new(component, reason)
    })
}

/// The folders to search, in order, and their names for messages.
#[derive(Debug, Default)]
struct Places {
    folders: Vec<PathBuf>,
    looked_in: Vec<String>,
    passed_over: bool,
}

impl Places {
    fn of_libraries(env: &SearchEnv) -> Places {
        let mut places = Places::of_user(env, library_folders);
        places.of_home(env, library_folders);
        places.add_variables(env, "the loader's path", env.loader_path.iter().cloned());
        places.add_variables(env, "the Python environment on PATH", python_folders(env, "lib").into_iter());
        places.with_untrusted_project(env)
    }

    fn of_programs(env: &SearchEnv) -> Places {
        let bin = |home: &Path| vec![home.join("bin")];
        let mut places = Places::of_user(env, bin);
        places.of_home(env, bin);
        places.add_variables(env, "PATH", env.path.iter().cloned());
        places.add_variables(env, "the Python environment on PATH", python_folders(env, "bin").into_iter());
        places.with_untrusted_project(env)
    }

    /// Adds the folder of the executable and the user's data folder.
    fn of_user(env: &SearchEnv, below: impl Fn(&Path) -> Vec<PathBuf>) -> Places {
        let mut places = Places::default();
        if let Some(beside) = &env.beside {
            places.folders.push(beside.clone());
            places.folders.extend(below(&beside.join("cuda")));
            places.looked_in.push("beside the executable".to_owned());
        }
        if let Some(user) = &env.user {
            places.folders.extend(below(user));
            places.looked_in.push(format!("`{}`, which `hx setup` fills", user.display()));
        }
        places
    }

    fn of_home(&mut self, env: &SearchEnv, below: impl Fn(&Path) -> Vec<PathBuf>) {
        match &env.cuda_home {
            Some(home) => {
                let place = format!("CUDA_HOME, `{}`", home.display());
                self.add_variables(env, &place, below(home).into_iter());
            }
            None => self.looked_in.push("CUDA_HOME, which is not set".to_owned()),
        }
    }

    /// Adds folders that a variable names, except relative ones and those in an untrusted project.
    fn add_variables(&mut self, env: &SearchEnv, place: &str, folders: impl Iterator<Item = PathBuf>) {
        for folder in folders {
            if env.is_usable(&folder) {
                self.folders.push(folder);
            } else {
                self.passed_over = true;
            }
        }
        self.looked_in.push(place.to_owned());
    }

    fn with_untrusted_project(mut self, env: &SearchEnv) -> Places {
        if let Some(project) = env.untrusted.as_ref().filter(|_| self.passed_over) {
            let project = project.display();
            self.looked_in.push(format!(
                "but in nothing of the project `{project}`, which is not trusted: `hx setup --trust {project}` changes that"
            ));
        }
        self
    }
}

/// Finds the disassembler. The path is absolute.
///
/// # Errors
/// The reason if there is none, with the places that were searched.
pub fn find_nvdisasm(env: &SearchEnv) -> Result<PathBuf, Absence> {
    let name = format!("nvdisasm{}", std::env::consts::EXE_SUFFIX);
    if let Some(explicit) = &env.nvdisasm {
        is_absolute(explicit, "HX_NVDISASM", Component::Disassembler)?;
        let found = [explicit.clone(), explicit.join(&name)].into_iter().find(|path| path.is_file());
        return found.ok_or_else(|| {
            let reason = format!("HX_NVDISASM is `{}`, where there is none", explicit.display());
            Absence::new(Component::Disassembler, reason)
        });
    }
    let places = Places::of_programs(env);
    let mut candidates = places.folders.iter().map(|folder| folder.join(&name));
    candidates.find(|path| path.is_file()).ok_or_else(|| Absence {
        component: Component::Disassembler,
        reason: "the program was not found".to_owned(),
        looked_in: places.looked_in.clone(),
        help: Some(
            "`hx setup` fetches it into your data folder, or set HX_NVDISASM to the program".to_owned(),
        ),
    })
}

/// Returns the library at a path, which is the library itself or a folder above it.
fn library_at(path: &Path, role: Role) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let folders = std::iter::once(path.to_owned()).chain(library_folders(path));
    folders.into_iter().find_map(|folder| library_named(&folder, role))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Compiler,
    Builtins,
    MatrixProducts,
}

impl Role {
    /// Returns the file's name without prefix, version and suffix.
    fn stem(self) -> &'static str {
        match self {
            Role::Compiler => "nvrtc",
            Role::Builtins => "nvrtc-builtins",
            Role::MatrixProducts => "cublasLt",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Role::Compiler | Role::Builtins => "NVRTC",
            Role::MatrixProducts => "cuBLASLt",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Role::Compiler | Role::Builtins => "HX_NVRTC",
            Role::MatrixProducts => "HX_CUBLASLT",
        }
    }

    fn component(self) -> Component {
        match self {
            Role::Compiler | Role::Builtins => Component::Nvrtc,
            Role::MatrixProducts => Component::Cublas,
        }
    }
}

/// Returns the library of this role with the highest version in its name. One without a version comes last.
fn library_named(folder: &Path, role: Role) -> Option<PathBuf> {
    sorted_entries(folder)
        .into_iter()
        .filter_map(|path| version_in_name(path.file_name()?, role).map(|version| (version, path)))
        .filter(|(_, path)| path.is_file())
        .max_by(|left, right| left.0.cmp(&right.0))
        .map(|(_, path)| path)
}

/// Returns the version numbers in a library's file name; `None` if it is not a name of this library. Names with `alt` are
/// variants for other purposes, and are not accepted.
fn version_in_name(name: &OsStr, role: Role) -> Option<Vec<u32>> {
    let name = name.to_str()?;
    let stem = role.stem();
    if let Some(rest) = name.strip_prefix("lib").and_then(|name| name.strip_prefix(stem)) {
        let rest = rest.strip_prefix(".so")?;
        return rest.split('.').skip(1).map(|part| part.parse().ok()).collect();
    }
    // Windows: `nvrtc64_130_0.dll`, `nvrtc-builtins64_130.dll`.
    let rest = name.strip_prefix(stem)?.strip_prefix("64_")?.strip_suffix(".dll")?;
    rest.split('_').map(|part| part.parse().ok()).collect()
}

/// Returns the folders of libraries below an installation's folder.
fn library_folders(home: &Path) -> Vec<PathBuf> {
    ["lib64", "lib", "bin"].map(|name| home.join(name)).to_vec()
}

/// Returns `nvidia/*/SUB` in the packages of each Python environment whose interpreter is on PATH.
fn python_folders(env: &SearchEnv, sub: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let bins = env.path.iter().filter(|bin| bin.is_absolute());
    for prefix in bins.flat_map(|bin| python_prefixes(bin)) {
        let mut packages = vec![prefix.join("Lib").join("site-packages")];
        for lib in sorted_entries(&prefix.join("lib")) {
            packages.extend(["site-packages", "dist-packages"].map(|name| lib.join(name)));
        }
        for package in packages {
            folders.extend(sorted_entries(&package.join("nvidia")).into_iter().map(|found| found.join(sub)));
        }
    }
    folders
}

/// Returns the environments of the interpreters in a folder. If an interpreter is a link, every place along the chain counts: a
/// link into a virtual environment means that environment.
fn python_prefixes(bin: &Path) -> Vec<PathBuf> {
    let mut prefixes = Vec::new();
    for name in ["python3", "python", "python.exe"] {
        let mut interpreter = bin.join(name);
        // The bound ends cyclic links.
        for _ in 0..8 {
            if !interpreter.is_file() {
                break;
            }
            let prefix = interpreter.parent().and_then(Path::parent).map(Path::to_owned);
            prefixes.extend(prefix.filter(|prefix| !prefixes.contains(prefix)));
            let Ok(target) = fs::read_link(&interpreter) else { break };
            interpreter = match interpreter.parent() {
                Some(folder) => folder.join(target),
                None => target,
            };
        }
    }
    prefixes
}

/// Returns the entries of a folder, ordered by name; none if the folder cannot be read.
fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn the_order_of_the_search() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        touch(&root.join("env/bin/python3"));
        touch(&root.join("env/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"));
        touch(&root.join("env/lib/python3.12/site-packages/nvidia/cu13/bin/nvdisasm"));
        touch(&root.join("loader/libnvrtc.so.12"));
        touch(&root.join("home/lib64/libnvrtc.so"));
        touch(&root.join("home/bin/nvdisasm"));
        touch(&root.join("cuda/lib/libnvrtc.so.13"));
        touch(&root.join("cuda/lib/libnvrtc-builtins.so.13.0"));
        touch(&root.join("beside/libnvrtc.so.14"));
        touch(&root.join("beside/cuda/bin/nvdisasm"));
        touch(&root.join("explicit/libnvrtc.so.13"));
        let mut env = SearchEnv {
            nvrtc: Some(root.join("explicit")),
            beside: Some(root.join("beside")),
            user: Some(root.join("cuda")),
            cuda_home: Some(root.join("home")),
            loader_path: vec![root.join("loader")],
            path: vec![root.join("env/bin")],
            ..SearchEnv::default()
        };
        let found = |env: &SearchEnv| {
            let library = find_nvrtc(env).unwrap().library;
            library.strip_prefix(root).unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(found(&env), "explicit/libnvrtc.so.13");
        env.nvrtc = None;
        assert_eq!(found(&env), "beside/libnvrtc.so.14");
        assert_eq!(find_nvdisasm(&env).unwrap(), root.join("beside/cuda/bin/nvdisasm"));
        env.beside = None;
        assert_eq!(found(&env), "cuda/lib/libnvrtc.so.13");
        let builtins = find_nvrtc(&env).unwrap().builtins.unwrap();
        assert!(builtins.ends_with("libnvrtc-builtins.so.13.0"));
        env.user = None;
        assert_eq!(found(&env), "home/lib64/libnvrtc.so");
        assert_eq!(find_nvdisasm(&env).unwrap(), root.join("home/bin/nvdisasm"));
        env.cuda_home = None;
        assert_eq!(found(&env), "loader/libnvrtc.so.12");
        env.loader_path.clear();
        assert_eq!(found(&env), "env/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
        assert!(find_nvdisasm(&env).unwrap().ends_with("nvidia/cu13/bin/nvdisasm"));
        env.path.clear();
        let absence = find_nvrtc(&env).unwrap_err();
        assert_eq!(absence.looked_in.len(), 3);
        assert_eq!(
            absence.to_string(),
            "the CUDA compiler (NVRTC) is not available: the library was not found"
        );
        assert_eq!(find_nvdisasm(&env).unwrap_err().component, Component::Disassembler);
    }

    #[test]
    fn nothing_of_a_project_is_found() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for at in ["project", "outside"] {
            touch(&root.join(at).join("env/bin/python3"));
            touch(&root.join(at).join("env/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"));
            touch(&root.join(at).join("bin/nvdisasm"));
        }
        let mut env = SearchEnv {
            cuda_home: Some(root.join("project")),
            loader_path: vec![PathBuf::from(""), PathBuf::from("."), root.join("project")],
            path: vec![PathBuf::from("."), root.join("project/bin"), root.join("project/env/bin")],
            untrusted: Some(root.join("project")),
            ..SearchEnv::default()
        };
        let absence = find_nvdisasm(&env).unwrap_err();
        let last = absence.looked_in.last().unwrap().replace(root.to_str().unwrap(), "$DIR");
        assert_eq!(
            last,
            "but in nothing of the project `$DIR/project`, which is not trusted: `hx setup --trust $DIR/project` changes that"
        );
        assert!(find_nvrtc(&env).is_err());
        // A link into the project does not evade the check.
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.join("project"), root.join("link")).unwrap();
            env.path.extend([root.join("link/bin"), root.join("link/env/bin")]);
            assert!(find_nvdisasm(&env).is_err() && find_nvrtc(&env).is_err());
        }
        // Files elsewhere are found, and all files if the project is trusted.
        env.path.extend([root.join("outside/bin"), root.join("outside/env/bin")]);
        assert_eq!(find_nvdisasm(&env).unwrap(), root.join("outside/bin/nvdisasm"));
        assert!(find_nvrtc(&env).unwrap().library.starts_with(root.join("outside")));
        env.untrusted = None;
        assert_eq!(find_nvdisasm(&env).unwrap(), root.join("project/bin/nvdisasm"));
        assert!(find_nvrtc(&env).unwrap().library.starts_with(root.join("project")));
    }

    #[test]
    fn a_relative_setting_is_refused() {
        let relative = || Some(PathBuf::from("lib"));
        let env = SearchEnv {
            nvrtc: relative(),
            nvdisasm: relative(),
            cublaslt: relative(),
            ..SearchEnv::default()
        };
        assert_eq!(find_nvrtc(&env).unwrap_err().reason, "HX_NVRTC is `lib`, expected an absolute path");
        assert_eq!(
            find_nvdisasm(&env).unwrap_err().reason,
            "HX_NVDISASM is `lib`, expected an absolute path"
        );
        assert_eq!(
            find_cublaslt(&env).unwrap_err().reason,
            "HX_CUBLASLT is `lib`, expected an absolute path"
        );
    }

    #[test]
    fn the_matrix_library_is_searched_alike() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        touch(&root.join("env/bin/python3.12"));
        touch(&root.join("env/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13"));
        touch(&root.join("home/lib64/libcublasLt.so.12"));
        touch(&root.join("home/lib64/libcublas.so.12"));
        fs::create_dir_all(root.join("bin")).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("python3.12", root.join("env/bin/python3")).unwrap();
            std::os::unix::fs::symlink("../env/bin/python3", root.join("bin/python3")).unwrap();
        }
        let mut env = SearchEnv {
            cuda_home: Some(root.join("home")),
            path: vec![root.join("bin")],
            ..SearchEnv::default()
        };
        assert!(find_cublaslt(&env).unwrap().ends_with("home/lib64/libcublasLt.so.12"));
        env.cuda_home = None;
        #[cfg(unix)]
        assert!(find_cublaslt(&env).unwrap().ends_with("nvidia/cu13/lib/libcublasLt.so.13"));
        env.path.clear();
        let absence = find_cublaslt(&env).unwrap_err();
        assert_eq!(absence.component, Component::Cublas);
        assert_eq!(
            absence.to_string(),
            "the matrix library (cuBLASLt) is not available: the library was not found"
        );
        env.cublaslt = Some(root.join("bin"));
        let absence = find_cublaslt(&env).unwrap_err().to_string();
        assert!(absence.starts_with("the matrix library (cuBLASLt) is not available: HX_CUBLASLT is `"));
        assert!(absence.ends_with("bin`, which holds no cuBLASLt library"), "{absence}");
    }

    #[test]
    fn a_wrong_setting_is_not_passed_over() {
        let root = tempfile::tempdir().unwrap();
        touch(&root.path().join("cuda/lib/libnvrtc.so.13"));
        let env = SearchEnv {
            nvrtc: Some(PathBuf::from("/nowhere/libnvrtc.so")),
            user: Some(root.path().join("cuda")),
            ..SearchEnv::default()
        };
        assert_eq!(
            find_nvrtc(&env).unwrap_err().to_string(),
            "the CUDA compiler (NVRTC) is not available: HX_NVRTC is `/nowhere/libnvrtc.so`, which does not exist"
        );
    }

    #[test]
    fn the_newest_library_of_a_folder() {
        let versions = |name: &str| version_in_name(OsStr::new(name), Role::Compiler);
        assert_eq!(versions("libnvrtc.so"), Some(vec![]));
        assert_eq!(versions("libnvrtc.so.13"), Some(vec![13]));
        assert_eq!(versions("libnvrtc.so.13.0.88"), Some(vec![13, 0, 88]));
        assert_eq!(versions("nvrtc64_130_0.dll"), Some(vec![130, 0]));
        assert_eq!(versions("libnvrtc.alt.so.13"), None);
        assert_eq!(versions("libnvrtc-builtins.so.13.0"), None);
        assert_eq!(versions("libnvrtc.so.13.txt"), None);
        let root = tempfile::tempdir().unwrap();
        for name in ["libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.alt.so.14"] {
            touch(&root.path().join(name));
        }
        assert!(library_named(root.path(), Role::Compiler).unwrap().ends_with("libnvrtc.so.13"));
    }
}
