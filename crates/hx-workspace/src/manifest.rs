//! `hx.toml`: its contents and their errors. An unknown key is an error, with a suggestion of the nearest known key.
//!
//! A user may open a project without having read its `hx.toml`. So the file can name a library to load only if the user trusts the
//! project, and a folder to write to only inside of the project or of the user's cache.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hx_base::{Applicability, Db, Diagnostic, SourceFile, SystemError, TextRange, codes, limits, nearest};
use hx_target::{BuiltinCosts, Costs, Target};
use hx_worker::{folders, trust::Trust};
use toml::de::{DeTable, DeValue};

use crate::paths;

/// The name of the file that makes a folder a project.
pub const MANIFEST_NAME: &str = "hx.toml";

/// The contents of a project's `hx.toml`. Flags and `HX_*` variables take precedence over it.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The file itself, for places of diagnostics.
    pub file: SourceFile,
    /// The folder of the project, an absolute path.
    pub root: String,
    /// `package.name`; `None` if the file does not state it, as for the keys below.
    pub name: Option<String>,
    /// `package.version`, as it is written.
    pub version: Option<String>,
    /// `build.target`: the architecture for which kernels are built, with the costs that it has without `build.costs`.
    pub target: Option<Target>,
    /// `build.costs`: the costs that layouts and estimates follow.
    pub costs: Option<Costs>,
    /// Whether the user trusts the project, so that libraries and programs in it may be loaded and run.
    pub trusted: bool,
    /// `build.nvrtc` of a trusted project: the absolute path of NVRTC.
    pub nvrtc: Option<PathBuf>,
    /// `build.cache`: the folder of compiled kernels, in the project or in the user's cache. An absolute path.
    pub cache: Option<PathBuf>,
    /// `run.device`: `auto`, `sim`, `cuda` or `cuda:N`, where `N` is the number of the GPU.
    pub device: Option<String>,
    /// `run.memory`: the memory limit of host tensors, in bytes.
    pub memory: Option<u64>,
    /// `test.seed`: the seed of random functions whose call names none.
    pub seed: Option<u64>,
    /// `test.cases`: the number of cases that are drawn for a test with a `forall`.
    pub cases: Option<u32>,
    /// `test.timeout`: the time limit of one test, in seconds.
    pub timeout: Option<f64>,
    /// The errors in the file. Entries without errors are usable, unless the file has a syntax error.
    pub diagnostics: Vec<Diagnostic>,
}

const TABLES: &[(&str, &[&str])] = &[
    ("package", &["name", "version"]),
    ("build", &["target", "costs", "nvrtc", "cache"]),
    ("run", &["device", "memory"]),
    ("test", &["cases", "seed", "timeout"]),
];

impl Manifest {
    /// Reads the file. `read` reads another file of the project, by its absolute path.
    pub(crate) fn read(
        db: &dyn Db,
        file: SourceFile,
        root: &str,
        trust: &Trust,
        read: &dyn Fn(&str) -> Result<String, SystemError>,
    ) -> Manifest {
        let mut manifest = Manifest {
            file,
            root: root.to_owned(),
            name: None,
            version: None,
            target: None,
            costs: None,
            trusted: trust.covers(Path::new(root)),
            nvrtc: None,
            cache: None,
            device: None,
            memory: None,
            seed: None,
            cases: None,
            timeout: None,
            diagnostics: Vec::new(),
        };
        let (table, errors) = DeTable::parse_recoverable(file.text(db));
        for error in errors {
            let at = error.span().unwrap_or_default();
            manifest.report(at, error.message().to_owned());
        }
        // After a syntax error use no entry, because the recovered ones may not be what the user meant.
        if manifest.diagnostics.is_empty() {
            manifest.read_tables(table.get_ref(), read);
        }
        manifest.diagnostics.sort_by_key(|found| found.primary.range.start());
        manifest
    }

    fn read_tables(&mut self, document: &DeTable<'_>, read: &dyn Fn(&str) -> Result<String, SystemError>) {
        for (name, value) in document.iter() {
            let Some((table, keys)) = TABLES.iter().find(|(table, _)| table == name.get_ref()) else {
                self.unknown("table", name.get_ref(), name.span(), TABLES.iter().map(|(table, _)| *table));
                continue;
            };
            let Some(entries) = value.get_ref().as_table() else {
                self.mismatch(value.span(), value.get_ref(), "a table");
                continue;
            };
            for (key, value) in entries.iter() {
                if *table == "build" && key.get_ref() == "costs" {
                    self.read_costs(value.get_ref(), value.span(), read);
                } else if keys.contains(&key.get_ref().as_ref()) {
                    self.read_key(&format!("{table}.{}", key.get_ref()), value.get_ref(), value.span());
                } else {
                    self.unknown("key", key.get_ref(), key.span(), keys.iter().copied());
                }
            }
        }
    }

    fn read_key(&mut self, key: &str, value: &DeValue<'_>, at: Range<usize>) {
        match key {
            "package.name" => self.name = self.text(value, at),
            "package.version" => self.version = self.text(value, at),
            "build.nvrtc" => {
                if let Some(text) = self.text(value, at.clone()) {
                    self.read_nvrtc(&text, at);
                }
            }
            "build.cache" => {
                if let Some(text) = self.text(value, at.clone()) {
                    match cache_place(Path::new(&self.root), &text) {
                        Ok(folder) => self.cache = Some(folder),
                        Err(message) => self.report(at, message),
                    }
                }
            }
            "build.target" => {
                let text = self.text(value, at.clone());
                match text.map(|text| text.parse::<Target>()) {
                    Some(Ok(target)) => self.target = Some(target),
                    Some(Err(message)) => {
                        self.diagnostics.push(Diagnostic::new(
                            &codes::UNKNOWN_TARGET,
                            self.file,
                            range(at),
                            message,
                        ));
                    }
                    None => {}
                }
            }
            "run.device" => match self.text(value, at.clone()) {
                Some(text) if is_device(&text) => self.device = Some(text),
                Some(text) => {
                    self.report(
                        at,
                        format!("found the device `{text}`, expected `auto`, `sim`, `cuda` or `cuda:N`"),
                    );
                }
                None => {}
            },
            "run.memory" => match self.text(value, at.clone()).map(|text| (limits::bytes(&text), text)) {
                Some((Ok(bytes), _)) => self.memory = Some(bytes),
                Some((Err(wanted), text)) => self.report(at, format!("found `{text}`, {wanted}")),
                None => {}
            },
            "test.seed" => {
                match value.as_integer().and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok()) {
                    Some(seed) => self.seed = Some(seed),
                    None => self.mismatch(at, value, "an integer that is not negative"),
                }
            }
            "test.cases" => {
                let number = value.as_integer().and_then(|n| u32::from_str_radix(n.as_str(), n.radix()).ok());
                match number.filter(|cases| *cases > 0) {
                    Some(cases) => self.cases = Some(cases),
                    None => self.mismatch(at, value, "a positive integer"),
                }
            }
            "test.timeout" => {
                let number = value.as_integer().map(|n| n.as_str()).or(value.as_float().map(|n| n.as_str()));
                match number.map(|text| (text, limits::seconds(text))) {
                    Some((_, Ok(seconds))) => self.timeout = Some(seconds),
                    Some((text, Err(wanted))) => self.report(at, format!("found `{text}`, {wanted}")),
                    None => self.mismatch(at, value, "a positive number of seconds"),
                }
            }
            _ => {}
        }
    }

    fn read_nvrtc(&mut self, text: &str, at: Range<usize>) {
        if self.trusted {
            self.nvrtc = Some(Path::new(&self.root).join(text));
            return;
        }
        let message = format!("`nvrtc` is not used, because the project `{}` is not trusted", self.root);
        let help = format!(
            "`hx setup --trust {}` says, once and outside of the project, that its libraries may be loaded",
            self.root
        );
        let found = Diagnostic::new(&codes::UNTRUSTED_PROJECT, self.file, range(at), message).help(help);
        self.diagnostics.push(found);
    }

    /// Reads `build.costs`: the name of a built-in file, or a path that starts at the folder of the project.
    fn read_costs(
        &mut self,
        value: &DeValue<'_>,
        at: Range<usize>,
        read: &dyn Fn(&str) -> Result<String, SystemError>,
    ) {
        let Some(text) = self.text(value, at.clone()) else { return };
        if let Some(file) = BuiltinCosts::named(&text) {
            self.costs = Some(file.costs.clone());
            return;
        }
        let known = || {
            let names: Vec<String> =
                BuiltinCosts::all().iter().map(|file| format!("`{}`", file.name)).collect();
            names.join(", ")
        };
        match read(&paths::absolute(&self.root, &text)) {
            Ok(file) => match Costs::read(&file) {
                Ok(costs) => self.costs = Some(costs),
                Err(error) => self.report(at, format!("`{text}` is no file of costs: {error}")),
            },
            Err(SystemError::NotFound) => {
                self.report(
                    at,
                    format!("there is no file `{text}` in the project; built in are {}", known()),
                );
            }
            Err(reason) => self.report(at, format!("cannot read `{text}`: {reason}")),
        }
    }

    fn text(&mut self, value: &DeValue<'_>, at: Range<usize>) -> Option<String> {
        let text = value.as_str().map(str::to_owned);
        if text.is_none() {
            self.mismatch(at, value, "a string");
        }
        text
    }

    fn report(&mut self, at: Range<usize>, message: String) {
        self.diagnostics.push(Diagnostic::new(&codes::BAD_PROJECT_FILE, self.file, range(at), message));
    }

    fn mismatch(&mut self, at: Range<usize>, found: &DeValue<'_>, wanted: &str) {
        self.report(at, format!("found a value of type {}, expected {wanted}", found.type_str()));
    }

    fn unknown(
        &mut self,
        what: &str,
        name: &str,
        at: Range<usize>,
        known: impl Iterator<Item = &'static str> + Clone,
    ) {
        let message = format!("found the {what} `{name}`, which means nothing");
        let mut diagnostic = Diagnostic::new(&codes::BAD_PROJECT_FILE, self.file, range(at.clone()), message);
        diagnostic = match nearest(name, known.clone()) {
            Some(near) => diagnostic.fix(format!("write `{near}`"), range(at), near, Applicability::Maybe),
            None => {
                let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
                diagnostic.help(format!("known are {}", known.join(", ")))
            }
        };
        self.diagnostics.push(diagnostic);
    }
}

/// Returns the absolute folder that `build.cache` names, without `.` and `..`; its links are not resolved.
///
/// # Errors
/// If the folder, links followed, is neither in the project nor in the user's cache folder. The error is the message for the user.
fn cache_place(root: &Path, text: &str) -> Result<PathBuf, String> {
    let mut folder = PathBuf::new();
    for part in root.join(text).components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                folder.pop();
            }
            part => folder.push(part),
        }
    }
    let real = real_path(&folder);
    let allowed = [Some(root.to_owned()), folders::user_cache()];
    if allowed.iter().flatten().any(|allowed| real.starts_with(real_path(allowed))) {
        return Ok(folder);
    }
    let leads = if real == folder { String::new() } else { format!(" (it leads to `{}`)", real.display()) };
    Err(format!("found `{text}`{leads}, expected a folder in the project or in your cache folder"))
}

/// Resolves links in the part of a path that exists, and appends the rest unchanged.
fn real_path(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, std::fs::canonicalize(above).ok()?)));
    match there {
        Some((above, real)) => match path.strip_prefix(above) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            _ => real,
        },
        None => path.to_owned(),
    }
}

fn is_device(text: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    matches!(text, "auto" | "sim" | "cuda") || text.strip_prefix("cuda:").is_some_and(number)
}

fn range(at: Range<usize>) -> TextRange {
    TextRange::new((at.start as u32).into(), (at.end as u32).into())
}
