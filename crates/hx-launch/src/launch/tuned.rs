//! Compile-time arguments that were tuned for shapes: which result of a tuned file a launch takes.
//!
//! A result fits a launch of its kernel on its device if every name in its shape has its value. Of several the one with the most
//! exact values is taken, then the first one of the file. There is no nearest shape: a result says itself for which values it holds,
//! with `"*"` or a range. An argument that the launch states wins over all results that say something else, and the rest of such a
//! result is not used either, because nobody measured the mixture. A result of a kernel with a family may name the member that runs.
//! The results that come with the standard library are last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use hx_base::{Diagnostic, codes, fnv, line_index, nearest};
use hx_compile::{Db, Instance, tile_program};
use hx_hir::{Item, ItemKey, Kernel, Name, family_of, kernel_signature, reached_tokens};
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_lower::{CtArgs, CtValue, LaunchFacts};
use hx_target::Target;
use hx_workspace::{TUNED_NAME, TunedEntry, TunedFile, path_from, shape_text};

use super::bind::Prepared;
use super::remarks::{reason, with_arguments};
use crate::machine::Machine;

/// The results of tuned files, for launches.
#[derive(Debug)]
pub struct Tuned {
    /// Results of earlier files are taken first.
    files: Vec<TunedFile>,
    /// The hash of each kernel's text, by `path::name#nth`. Computed once for each kernel.
    hashes: Mutex<BTreeMap<String, String>>,
}

/// Returns the hash of a kernel's text and of everything that it uses. Comments and blanks do not count.
pub fn text_hash<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> String {
    format!("{:016x}", fnv(reached_tokens(db, Item::Kernel(kernel)).bytes()))
}

impl Tuned {
    /// Makes the results of files usable, those of earlier files first. Results with errors are not among [`TunedFile::entries`].
    pub fn new(files: Vec<TunedFile>) -> Tuned {
        Tuned { files, hashes: Mutex::default() }
    }

    /// Returns the paths of the files as `hx.tuned.toml and std/hx.tuned.toml`.
    pub fn paths(&self, db: &dyn Db) -> String {
        let paths: Vec<&str> = self.files.iter().map(|file| file.file.path(db)).collect();
        paths.join(" and ")
    }

    /// Returns the results of a kernel.
    pub fn of<'t, 'db>(
        &'t self,
        db: &'db dyn Db,
        kernel: Kernel<'db>,
    ) -> impl Iterator<Item = &'t TunedEntry> + use<'t, 'db> {
        self.files.iter().flat_map(move |file| {
            let name = format!("{}::{}", path_from(db, &file.folder, kernel.file(db)), kernel.name(db));
            file.entries.iter().filter(move |entry| entry.kernel == name)
        })
    }

    /// Returns the kernel that a launch with a result runs: the member that the result names, or the kernel itself.
    ///
    /// # Errors
    /// A diagnostic at the result, if the family of the kernel has no such member.
    pub fn kernel_of<'db>(
        &self,
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        entry: &TunedEntry,
    ) -> Result<Kernel<'db>, LaunchError> {
        let Some(wanted) = &entry.member else { return Ok(kernel) };
        let members = &family_of(db, kernel).members;
        let of_name = members.iter().find(|member| member.kernel.name == wanted.as_str());
        if let Some(Item::Kernel(found)) = of_name.and_then(|member| member.kernel.find(db)) {
            return Ok(found);
        }
        let message = format!("the family of `{}` has no member `{wanted}`", kernel.name(db));
        let near = nearest(wanted, members.iter().map(|member| member.kernel.name.as_str()));
        Err(Tuned::wrong(entry, message, near))
    }

    /// Returns an error at a result.
    fn wrong(entry: &TunedEntry, message: String, near: Option<&str>) -> LaunchError {
        let Some(file) = entry.file else {
            return LaunchError::call(HostError::new(&codes::BAD_PROJECT_FILE, message));
        };
        let found = Diagnostic::new(&codes::BAD_PROJECT_FILE, file, entry.range, message);
        LaunchError::Found(vec![match near {
            Some(near) => found.help(format!("perhaps `{near}` is meant")),
            None => found,
        }])
    }

    /// Reports whether the text of the kernel that runs has changed since the result was measured.
    pub fn is_stale<'db>(&self, db: &'db dyn Db, kernel: Kernel<'db>, entry: &TunedEntry) -> bool {
        let ItemKey { file, name, nth, .. } = Item::Kernel(kernel).key(db);
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        let key = format!("{}::{name}#{nth}", file.path(db));
        *hashes.entry(key).or_insert_with(|| text_hash(db, kernel)) != entry.text
    }

    /// Returns the place of a result as `hx.tuned.toml:12`.
    pub fn place(&self, db: &dyn Db, entry: &TunedEntry) -> String {
        let Some(file) = entry.file else { return TUNED_NAME.to_owned() };
        let path = file.path(db);
        match line_index(db, file).try_line_col(entry.range.start()) {
            Some(at) => format!("{path}:{}", at.line + 1),
            None => path.to_owned(),
        }
    }

    /// Gives a launch the arguments of the result that fits it, if there is one. Returns the result if it names a member of the kernel's
    /// family, whose arguments they are, and lines about the result taken and about those that fit but are not used.
    pub(super) fn apply<'t, 'db>(
        &'t self,
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        machine: &Machine,
        prepared: &mut Prepared,
    ) -> Result<(Option<&'t TunedEntry>, Vec<String>), LaunchError> {
        let runs_here = |entry: &&TunedEntry| match machine {
            Machine::Gpu(gpu) => entry.device == gpu.info.name,
            // The simulator is no device of its own: it takes what was measured on its architecture.
            other => entry.target == other.target().name(),
        };
        let own: Vec<&TunedEntry> = self.of(db, kernel).filter(runs_here).collect();
        let values = values(db, kernel, machine.target(), &prepared.dims, &prepared.args, &own);
        let (taken, remarks) = self.select(db, kernel, own, &values, &prepared.args)?;
        let (own, of_member) = match taken {
            Some(entry) if entry.member.is_some() => (None, Some(entry)),
            other => (other, None),
        };
        for (arg, value) in own.into_iter().flat_map(|entry| &entry.arguments) {
            prepared.args.insert(arg.as_str().into(), value.clone());
        }
        Ok((of_member, remarks))
    }

    /// Takes the first result, by the number of exact values in its shape, that fits `values` and is not stale. None is taken if that one
    /// contradicts `stated`, the arguments that the source writes. Also returns remarks for the user: the result that is taken, and the
    /// reasons against others.
    ///
    /// # Errors
    /// As for [`Tuned::check`] of a result that fits.
    pub fn select<'t, 'db>(
        &'t self,
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        entries: Vec<&'t TunedEntry>,
        values: &BTreeMap<String, CtValue>,
        stated: &CtArgs,
    ) -> Result<(Option<&'t TunedEntry>, Vec<String>), LaunchError> {
        let mut fitting: Vec<&TunedEntry> = entries.into_iter().filter(|entry| fits(entry, values)).collect();
        let exact = |entry: &TunedEntry| entry.shape.values().filter(|is| is.is_exact()).count();
        fitting.sort_by_key(|entry| std::cmp::Reverse(exact(entry)));
        let (name, mut remarks) = (kernel.name(db), Vec::new());
        for entry in fitting {
            let place = self.place(db, entry);
            let runs = self.kernel_of(db, kernel, entry)?;
            if self.is_stale(db, runs, entry) {
                remarks.push(format!(
                    "the result for `{name}` at {place} is stale and not used, because the kernel's text has changed: \
                     `hx tune` renews it"
                ));
                continue;
            }
            self.check(db, runs, entry)?;
            let differs = |(arg, value): &(&Name, &CtValue)| match entry.arguments.get(arg.as_str()) {
                Some(tuned) => tuned != *value,
                // A launch that states a parameter which decides between the members runs the kernel itself.
                None => entry.member.is_some() && family_of(db, kernel).decided.contains(*arg),
            };
            if let Some((arg, value)) = stated.iter().find(differs) {
                remarks.push(format!(
                    "`{name}` is given `{arg} = {value}`, so the result at {place} is not used"
                ));
                return Ok((None, remarks));
            }
            remarks.push(self.taken(db, kernel, entry));
            return Ok((Some(entry), remarks));
        }
        Ok((None, remarks))
    }

    /// Returns what each device of an architecture takes for a shape: a line for every device that has a result which fits and is not stale.
    ///
    /// # Errors
    /// As for [`Tuned::select`].
    pub fn of_devices<'db>(
        &self,
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        target: Target,
        dims: &BTreeMap<Name, i64>,
        args: &CtArgs,
    ) -> Result<Vec<String>, LaunchError> {
        let of_target: Vec<&TunedEntry> =
            self.of(db, kernel).filter(|entry| entry.target == target.name()).collect();
        let values = values(db, kernel, target, dims, args, &of_target);
        let devices: BTreeSet<&str> = of_target.iter().map(|entry| entry.device.as_str()).collect();
        let mut lines = Vec::new();
        for device in devices {
            let own = of_target.iter().copied().filter(|entry| entry.device == device).collect();
            let (taken, _) = self.select(db, kernel, own, &values, args)?;
            lines.extend(taken.map(|entry| self.taken(db, kernel, entry)));
        }
        Ok(lines)
    }

    /// Checks that the kernel has all compile-time parameters that a result sets.
    ///
    /// # Errors
    /// A diagnostic at the result in the file, if the kernel lacks one of them.
    pub fn check<'db>(
        &self,
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        entry: &TunedEntry,
    ) -> Result<(), LaunchError> {
        let generics = &kernel_signature(db, kernel).generics;
        let unknown = entry.arguments.keys().find(|arg| !generics.iter().any(|g| g.name == arg.as_str()));
        let Some(arg) = unknown else { return Ok(()) };
        let message = format!("`{}` has no compile-time parameter `{arg}`", kernel.name(db));
        let near = nearest(arg, generics.iter().map(|g| g.name.as_str()));
        Err(Tuned::wrong(entry, message, near))
    }

    /// Says why a launch does not run as a result says.
    pub(super) fn unfit<'db>(
        &self,
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        entry: &TunedEntry,
        error: LaunchError,
    ) -> String {
        let (name, place) = (kernel.name(db), self.place(db, entry));
        format!("the result for `{name}` at {place} does not fit this launch: {}", reason(error))
    }

    /// Formats `` `gemm` takes BM = 128, BN = 256 from hx.tuned.toml:3, tuned for m = 4096, … on NVIDIA H200 ``, or
    /// `` `gemm` runs as `gemm_split<SPLIT = 4>` by hx.tuned.toml:3, tuned for … ``.
    fn taken<'db>(&self, db: &'db dyn Db, kernel: Kernel<'db>, entry: &TunedEntry) -> String {
        let arguments: Vec<String> =
            entry.arguments.iter().map(|(name, is)| format!("{name} = {is}")).collect();
        let (name, arguments, place) = (kernel.name(db), arguments.join(", "), self.place(db, entry));
        let does = match &entry.member {
            Some(member) => format!("runs as `{}` by {place}", with_arguments(member, &arguments)),
            None => format!("takes {arguments} from {place}"),
        };
        format!("`{name}` {does}, tuned for {} on {}", shape_text(&entry.shape), entry.device)
    }
}

/// Returns the values that a launch has for the names in the shapes of `entries`: its dimensions and strides, its compile-time
/// arguments and, if a shape names others, the defaults of the compile-time parameters.
pub fn values<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    target: Target,
    dims: &BTreeMap<Name, i64>,
    args: &CtArgs,
    entries: &[&TunedEntry],
) -> BTreeMap<String, CtValue> {
    let dims = dims.iter().map(|(name, value)| (name.to_string(), CtValue::Int(*value)));
    let known = args.iter().map(|(name, value)| (name.to_string(), value.clone()));
    let mut out: BTreeMap<String, CtValue> = dims.chain(known).collect();
    if entries.iter().all(|entry| entry.shape.keys().all(|name| out.contains_key(name))) {
        return out;
    }
    // Some name is a compile-time parameter with its default, which may depend on other arguments.
    let instance = Instance::chosen(db, kernel, args.clone(), target, LaunchFacts::all_16());
    if let Ok(lowered) = tile_program(db, instance).as_ref() {
        for (name, value) in &lowered.sources.args {
            out.entry(name.to_string()).or_insert_with(|| value.clone());
        }
    }
    out
}

/// Reports whether every name in the result's shape has one of its values.
pub fn fits(entry: &TunedEntry, values: &BTreeMap<String, CtValue>) -> bool {
    entry.shape.iter().all(|(name, extent)| values.get(name).is_some_and(|value| extent.holds(value)))
}
