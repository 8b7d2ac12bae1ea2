//! The costs that layouts and estimates follow, from the first of these places that has them: the flag `--costs`, `build.costs` of
//! `hx.toml`, a file in the user's data folder, the built-in files. The last two need the name of a device, so only a command that
//! opens a GPU looks there: other commands give the same result on every machine.

use std::fmt;
use std::path::{Path, PathBuf};

use hx_target::{BuiltinCosts, Costs, Target};
use hx_worker::{folders, own_files};

/// The largest file of costs, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The place that the costs of a target are from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CostsSource {
    /// The flag `--costs`.
    Flag,
    /// `build.costs` of `hx.toml`.
    Project,
    /// A file of the device in the user's data folder.
    DataFolder(PathBuf),
    /// The built-in file of the device.
    BuiltIn,
    /// The built-in file of another device of the same compute capability.
    SameArchitecture,
    /// The numbers that every target has until others are chosen.
    Usual,
}

impl fmt::Display for CostsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CostsSource::Flag => f.write_str("of `--costs`"),
            CostsSource::Project => f.write_str("of `build.costs`"),
            CostsSource::DataFolder(path) => write!(f, "of `{}`", path.display()),
            CostsSource::BuiltIn => f.write_str("built in"),
            CostsSource::SameArchitecture => f.write_str("built in, for a device of the same architecture"),
            CostsSource::Usual => f.write_str("built in, the usual ones"),
        }
    }
}

/// Costs that the user chose.
#[derive(Clone, PartialEq, Debug)]
pub struct ChosenCosts {
    pub costs: Costs,
    pub source: CostsSource,
}

/// The costs of the code for a device.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceCosts {
    /// The target with the costs.
    pub target: Target,
    pub source: CostsSource,
    /// The files of the data folder that cannot be used, each with the reason.
    pub warnings: Vec<String>,
}

/// Returns the costs that `--costs` names: those of a built-in file such as `a100`, or of a file that `hx calibrate` wrote.
///
/// # Errors
/// If there is neither, or the file is malformed, as text.
pub(crate) fn named(text: &str) -> Result<Costs, String> {
    if let Some(file) = BuiltinCosts::named(text) {
        return Ok(file.costs.clone());
    }
    let bytes =
        hx_base::read_regular_file(Path::new(text), MOST_BYTES).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                let known: Vec<String> =
                    BuiltinCosts::all().iter().map(|file| format!("`{}`", file.name)).collect();
                format!("there is no file `{text}`; built in are {}", known.join(", "))
            }
            _ => format!("cannot read `{text}`: {error}"),
        })?;
    let read = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned());
    read.and_then(|read| Costs::read(&read)).map_err(|error| format!("`{text}` is no file of costs: {error}"))
}

/// Returns the costs of a target's code on a device that nobody chose others for. `name` is what the driver calls the device.
pub(crate) fn of_device(target: Target, name: &str, capability: [u32; 2]) -> DeviceCosts {
    of_device_in(folders::costs_folder().as_deref(), target, name, capability)
}

/// Returns [`of_device`], for this folder of the user's files.
fn of_device_in(folder: Option<&Path>, target: Target, name: &str, capability: [u32; 2]) -> DeviceCosts {
    let mut warnings = Vec::new();
    let own = folder.and_then(|folder| in_folder(folder, name, &mut warnings));
    let (costs, source) = match own {
        Some((path, costs)) => (costs, CostsSource::DataFolder(path)),
        None => match (BuiltinCosts::of_device(name), BuiltinCosts::of_capability(capability)) {
            (Some(file), _) => (file.costs.clone(), CostsSource::BuiltIn),
            (None, Some(file)) => (file.costs.clone(), CostsSource::SameArchitecture),
            (None, None) => (target.costs().clone(), CostsSource::Usual),
        },
    };
    DeviceCosts { target: target.with_costs(&costs), source, warnings }
}

/// Finds the file of a device in a folder, by the name in the file. The first one in the order of the names counts.
fn in_folder(folder: &Path, device: &str, warnings: &mut Vec<String>) -> Option<(PathBuf, Costs)> {
    // Without the folder there is no file in it.
    for path in own_files::with_extension(folder, "toml").unwrap_or_default() {
        let text = own_files::read(&path).map_err(|error| error.to_string());
        let text =
            text.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned()));
        match text.and_then(|text| Costs::read(&text)) {
            Ok(costs) if costs.is_of(device) => return Some((path, costs)),
            Ok(_) => {}
            Err(error) => {
                warnings.push(format!("`{}` is no file of costs and is not used: {error}", path.display()));
            }
        }
    }
    None
}

/// Returns the place in the user's data folder of the file of a device: `costs/nvidia-h200.toml`. `None` without a data folder.
pub fn costs_file(device: &str) -> Option<PathBuf> {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = device.chars().map(word).collect();
    Some(folders::costs_folder()?.join(format!("{name}.toml")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_the_device_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = hx_target::COSTS_TEXT.replace("'NVIDIA H200'", "'NVIDIA Toy'");
        own_files::replace(&folder.path().join("b.toml"), text.as_bytes()).expect("writable");
        own_files::replace(&folder.path().join("a.toml"), b"barrier = 'soon'").expect("writable");
        let mut warnings = Vec::new();
        let (path, costs) = in_folder(folder.path(), "NVIDIA Toy", &mut warnings).expect("a file");
        assert_eq!((path, costs.device.as_str()), (folder.path().join("b.toml"), "NVIDIA Toy"));
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("a.toml` is no file of costs and is not used: line 1"), "{warnings:?}");
        assert_eq!(in_folder(folder.path(), "NVIDIA H200", &mut Vec::new()), None);
    }

    #[test]
    fn a_device_without_a_file_gets_the_nearest() {
        let of = |name: &str, capability: [u32; 2]| {
            let target = Target::of_capability(capability[0], capability[1]).expect("a target");
            let found = of_device_in(None, target, name, capability);
            (found.target.costs().to_string(), found.source.to_string())
        };
        let text = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(of("NVIDIA H100 80GB HBM3", [9, 0]), text("NVIDIA H100 80GB HBM3 (measured)", "built in"));
        assert_eq!(
            of("NVIDIA L4", [8, 9]),
            text(
                "NVIDIA GeForce RTX 4090 (published, not measured)",
                "built in, for a device of the same architecture"
            )
        );
        assert_eq!(
            of("NVIDIA RTX A6000", [8, 6]),
            text("NVIDIA H200 (measured)", "built in, the usual ones")
        );
    }

    #[test]
    fn a_name_that_is_neither_built_in_nor_a_file() {
        assert_eq!(named("b200").map(|costs| costs.device), Ok("NVIDIA B200".to_owned()));
        assert_eq!(
            named("h300"),
            Err("there is no file `h300`; built in are `h200`, `h100`, `a100`, `rtx4090`, `rtx5090`, `b200`"
                .to_owned())
        );
    }
}
