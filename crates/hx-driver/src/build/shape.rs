//! The kernel that a build for one shape builds: what tuning found for it, else the member of its family with the shortest estimate.

use std::collections::{BTreeMap, BTreeSet};

use hx_base::interrupt::Until;
use hx_compile::{Instance, member_args, shared_orders};
use hx_hir::{Item, Kernel, Name, family_of};
use hx_host::device::LaunchError;
use hx_inspect::{EmitError, Overrides};
use hx_launch::{Tuned, fits, values};
use hx_lower::{CtArgs, LaunchFacts, WrittenArg};
use hx_target::Target;
use hx_workspace::{Database, TunedEntry};

use crate::choice::choice_for;
use crate::tune::{FixedInputs, TuneError};

/// A kernel for one shape.
#[derive(Debug)]
pub struct Shaped<'db> {
    /// The kernel itself, or a member of its family.
    pub kernel: Kernel<'db>,
    pub args: CtArgs,
    /// The dimensions of the shape that are no multiples of 16.
    pub odd: Vec<(Name, i64)>,
    /// Lines that say what chose it.
    pub remarks: Vec<String>,
}

impl Shaped<'_> {
    /// Returns the arguments as a request of a build states them.
    pub fn overrides(&self) -> Overrides {
        let written =
            |(name, value): (&Name, &hx_lower::CtValue)| (name.clone(), WrittenArg::Value(value.clone()));
        self.args.iter().map(written).collect()
    }
}

/// Returns what is built of a kernel for a shape. Arguments in `stated` win over those of a result. Without a `device`, all fitting results
/// for the architecture must be of one device. Without a result, the cost model chooses between the members of a family.
///
/// # Errors
/// If the shape does not fit the kernel, or several devices have results, as text; or if a result or a member has errors.
pub fn kernel_for_shape<'db>(
    tuned: Option<&Tuned>,
    db: &'db Database,
    kernel: Kernel<'db>,
    target: Target,
    (shape, stated): (&Overrides, &Overrides),
    device: Option<&str>,
    until: Until<'_>,
) -> Result<Shaped<'db>, EmitError> {
    let given = FixedInputs::of_shape(db, kernel, shape).map_err(EmitError::Usage)?;
    let file = kernel.file(db);
    let resolved = stated.iter().map(|(name, value)| Ok((name.clone(), value.resolve(db, file)?)));
    let mut args: CtArgs = resolved.collect::<Result<_, _>>().map_err(EmitError::Usage)?;
    args.extend(given.args);
    let max = i64::from(LaunchFacts::MAX);
    let odd: Vec<(Name, i64)> =
        given.dims.clone().into_iter().filter(|(_, extent)| extent % max != 0).collect();
    let mut remarks = Vec::new();
    if let Some(tuned) = tuned {
        let of_shape = (&given.dims, &args);
        let (taken, lines) = taken(tuned, db, kernel, target, of_shape, device)?;
        remarks = lines;
        if let Some(entry) = taken {
            let runs = tuned.kernel_of(db, kernel, entry).map_err(found_in)?;
            let own = entry.arguments.iter().map(|(name, value)| (Name::from(name.as_str()), value.clone()));
            let args = args_of(db, (kernel, args), (runs, own.collect()), target)?;
            return Ok(Shaped { kernel: runs, args, odd, remarks });
        }
    }
    let all: Overrides = stated.iter().chain(shape).cloned().collect();
    let choice = match family_of(db, kernel).members.is_empty() {
        true => None,
        false => choice_for(db, kernel, target, &all, None, until).map_err(refused)?,
    };
    let Some(choice) = choice else { return Ok(Shaped { kernel, args, odd, remarks }) };
    remarks.push(choice.by_model.remark(kernel.name(db)));
    let first = choice.by_model.first().and_then(|first| first.of(&family_of(db, kernel).members));
    let found = first.and_then(|member| Some((member, member.kernel.find(db)?)));
    let Some((member, Item::Kernel(runs))) = found else { return Ok(Shaped { kernel, args, odd, remarks }) };
    let args = args_of(db, (kernel, args), (runs, member_args(member)), target)?;
    Ok(Shaped { kernel: runs, args, odd, remarks })
}

/// Returns the result that fits a shape, and lines about it and those that are not taken.
///
/// # Errors
/// If several devices have results that fit, as text, or a result has errors.
fn taken<'t, 'db>(
    tuned: &'t Tuned,
    db: &'db Database,
    kernel: Kernel<'db>,
    target: Target,
    (dims, args): (&BTreeMap<Name, i64>, &CtArgs),
    device: Option<&str>,
) -> Result<(Option<&'t TunedEntry>, Vec<String>), EmitError> {
    let is_meant = |entry: &&TunedEntry| {
        entry.target == target.name() && device.is_none_or(|device| entry.device == device)
    };
    let own: Vec<&TunedEntry> = tuned.of(db, kernel).filter(is_meant).collect();
    let values = values(db, kernel, target, dims, args, &own);
    let fitting = own.iter().filter(|entry| fits(entry, &values));
    let devices: BTreeSet<&str> = fitting.map(|entry| entry.device.as_str()).collect();
    if devices.len() > 1 {
        let devices: Vec<String> = devices.iter().map(|device| format!("`{device}`")).collect();
        let text = format!(
            "there are results for {}: `--tuned-for DEVICE` says which to take",
            devices.join(" and ")
        );
        return Err(EmitError::Usage(text));
    }
    let (taken, mut remarks) = tuned.select(db, kernel, own, &values, args).map_err(found_in)?;
    if remarks.is_empty() {
        let (name, paths) = (kernel.name(db), tuned.paths(db));
        remarks.push(format!("no result of `{name}` in {paths} fits this shape"));
    }
    Ok((taken, remarks))
}

/// Returns the arguments of a member: its own, those that the build states, and the orders of packed tensors that `head` infers.
fn args_of<'db>(
    db: &'db Database,
    (head, stated): (Kernel<'db>, CtArgs),
    (member, own): (Kernel<'db>, CtArgs),
    target: Target,
) -> Result<CtArgs, EmitError> {
    let mut all = stated.clone();
    if head != member {
        let head = Instance::chosen(db, head, stated, target, LaunchFacts::all_16());
        let orders = shared_orders(db, head, member).map_err(|errors| {
            EmitError::Found(errors.iter().filter_map(|error| error.to_diagnostic(db)).collect())
        })?;
        all.extend(orders);
    }
    all.extend(own);
    Ok(all)
}

fn found_in(error: LaunchError) -> EmitError {
    match error.into_parts() {
        (error, found) if found.is_empty() => EmitError::Host(error),
        (_, found) => EmitError::Found(found),
    }
}

fn refused(error: TuneError) -> EmitError {
    match error {
        TuneError::Usage(text) => EmitError::Usage(text),
        TuneError::Launch(error) => found_in(error),
        TuneError::Wrong(wrong) => EmitError::Usage(wrong.into_iter().map(|(name, _)| name).collect()),
    }
}
