//! The member of a kernel's family that a launch runs: the one with the shortest time by the cost model, for the dimensions, strides
//! and integers of the launch.
//!
//! A launch that gives a parameter which decides between the members runs the kernel itself, as does one whose shape has a tuned result.
//! A member that the launch does not fit takes no part: its `where` clauses or types refuse it, or it lacks an argument that the launch
//! gives. The same launch takes the same member on every machine of the same costs.

use hx_compile::{Db, member_args};
use hx_hir::{Family, Kernel, Member, Name, family_of};
use hx_host::device::{LaunchError, LaunchRequest};
use hx_index::Symbol;

use super::bind::{Prepared, bind};
use super::{BoundParam, Chosen, Launcher, estimates, find_kernel, host_value, instance};
use crate::machine::Machine;

/// Adjusts the bound arguments of a launch of a kernel.
pub(super) type Adapt<'f, 'a> = &'f dyn Fn(Kernel<'a>, &mut Prepared) -> Result<(), LaunchError>;

/// A member that a launch fits.
struct Fitting {
    /// Its position in the family.
    index: usize,
    name: String,
    /// The time by the cost model, in microseconds.
    micros: f64,
}

impl<'a> Launcher<'a> {
    /// Returns the launch of the fastest member of a kernel's family; `None` if the kernel has no family, or the launch runs the kernel
    /// itself.
    ///
    /// # Errors
    /// If a member has errors of its own.
    pub(super) fn of_family(
        &self,
        kernel: Kernel<'a>,
        request: &LaunchRequest,
        (prepared, adapt): (&Prepared, Adapt<'_, 'a>),
    ) -> Result<Option<Chosen<'a>>, LaunchError> {
        let db: &'a dyn Db = self.db;
        let family: &Family = family_of(db, kernel);
        let is_decided = request.generics.iter().any(|(name, _)| family.decided.contains(name));
        if family.members.is_empty() || is_decided || request.candidate.is_some() {
            return Ok(None);
        }
        let Prepared { args, dims, params, align, .. } = prepared;
        let int = |param: &BoundParam| if let BoundParam::Int(value) = param { Some(*value) } else { None };
        let ints: Vec<i64> = params.iter().filter_map(int).collect();
        let key = format!("{:?}", (&request.kernel, args, dims, ints, align));
        let known = self.members.borrow().get(&key).cloned();
        let (index, remark) = match known {
            Some(known) => known,
            None => {
                let mut fitting = Vec::new();
                for (index, member) in family.members.iter().enumerate() {
                    fitting.extend(self.fitting(index, member, request, adapt)?);
                }
                fitting.sort_by(|a, b| a.micros.total_cmp(&b.micros));
                let Some(first) = fitting.first() else { return Ok(None) };
                let found = (first.index, remark(kernel.name(db), &fitting));
                self.members.borrow_mut().insert(key, found.clone());
                found
            }
        };
        let (member, request) = self.of_member(&family.members[index], request)?;
        let mut chosen = self.single(member, &request, adapt)?;
        chosen.remarks.push(remark);
        Ok(Some(chosen))
    }

    /// Returns the kernel of a member, and the launch of it.
    ///
    /// # Errors
    /// If the member has errors of its own.
    fn of_member(
        &self,
        member: &Member,
        request: &LaunchRequest,
    ) -> Result<(Kernel<'a>, LaunchRequest), LaunchError> {
        let own = member_args(member).into_iter().map(|(name, value)| (name, host_value(&value)));
        let request = LaunchRequest {
            kernel: member.kernel.clone(),
            generics: request.generics.iter().cloned().chain(own).collect(),
            ..request.clone()
        };
        Ok((find_kernel(self.db, &request)?, request))
    }

    /// Estimates a member; `None` if the launch does not fit it.
    fn fitting(
        &self,
        index: usize,
        member: &Member,
        request: &LaunchRequest,
        adapt: Adapt<'_, 'a>,
    ) -> Result<Option<Fitting>, LaunchError> {
        let db: &'a dyn Db = self.db;
        let (kernel, request) = self.of_member(member, request)?;
        let prepared = bind(db, kernel, &request).and_then(|mut prepared| {
            adapt(kernel, &mut prepared)?;
            Ok(prepared)
        });
        let chosen = prepared.and_then(|prepared| instance::choose(db, kernel, self.machine, prepared));
        let Ok((instance, bound)) = chosen else { return Ok(None) };
        let mut symbols = bound.symbols.clone();
        if !matches!(self.machine, Machine::Gpu(_)) {
            // The simulator has fewer multiprocessors than the device that it stands for.
            symbols.insert(Symbol::Multiprocessors, i64::from(self.target.costs().multiprocessors));
        }
        // An instance that cannot be built has no estimate.
        let forecast = estimates::of_instance(db, instance, &bound, &symbols);
        Ok(forecast.map(|forecast| Fitting { index, name: shown(member), micros: forecast.micros() }))
    }

    /// Binds the arguments of a launch of this very kernel, and chooses its instance.
    pub(super) fn single(
        &self,
        kernel: Kernel<'a>,
        request: &LaunchRequest,
        adapt: Adapt<'_, 'a>,
    ) -> Result<Chosen<'a>, LaunchError> {
        let mut prepared = bind(self.db, kernel, request)?;
        adapt(kernel, &mut prepared)?;
        self.instantiated(kernel, request, prepared, Vec::new())
    }
}

/// Formats a member as `gemm_split<BN = 128>`.
fn shown(member: &Member) -> String {
    let args = member_args(member);
    let args: Vec<String> = args.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    match args.as_slice() {
        [] => member.kernel.name.to_string(),
        args => format!("{}<{}>", member.kernel.name, args.join(", ")),
    }
}

/// Says which member a launch takes, and which one is next.
fn remark(head: &Name, fitting: &[Fitting]) -> String {
    let time = |found: &Fitting| format!("`{}`, {:.1} µs", found.name, found.micros);
    let mut of = fitting.iter().map(time);
    let (first, next) = (of.next().unwrap_or_default(), of.next());
    let next = next.map(|next| format!("; next is {next}")).unwrap_or_default();
    let among = match fitting.len() {
        1 => "the one member of its family that fits".to_owned(),
        count => format!("the fastest of {count} members of its family that fit"),
    };
    format!("`{head}` runs as {first} by the cost model, {among}{next}")
}
