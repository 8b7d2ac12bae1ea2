//! The members of a kernel's family as candidates beside those of its `tune` clause.

use std::sync::atomic::AtomicBool;

use hx_base::interrupt::Until;
use hx_compile::member_args;
use hx_hir::{Item, ItemKey, Kernel, Member, family_of, kernel_signature};
use hx_host::device::{LaunchError, LaunchRequest};
use hx_launch::{Launcher, Machine};
use hx_workspace::Database;

use super::{Entrant, Prepared};

/// Returns the members that fit a launch, best estimate first. None takes part if the launch states a parameter that decides between them.
///
/// # Errors
/// If a member has errors of its own.
fn fitting<'db>(
    db: &'db Database,
    kernel: Kernel<'db>,
    machine: &Machine,
    request: &LaunchRequest,
) -> Result<Vec<Entrant>, LaunchError> {
    let family = family_of(db, kernel);
    let is_decided = request.generics.iter().any(|(name, _)| family.decided.contains(name));
    if family.members.is_empty() || is_decided {
        return Ok(Vec::new());
    }
    let stop = AtomicBool::new(false);
    let launcher = Launcher::new(db, machine, Until { stop: &stop, deadline: None });
    let Some(choice) = launcher.choice(request)? else { return Ok(Vec::new()) };
    let mut found: Vec<(f64, Entrant)> = Vec::new();
    for considered in &choice.members {
        let (Some(micros), Some(member)) = (considered.estimate(), considered.of(&family.members)) else {
            continue;
        };
        let entrant = Entrant {
            name: considered.name.clone(),
            member: Some(member.kernel.clone()),
            arguments: member_args(member),
            estimate: Some(micros),
            bound: None,
            is_default: false,
        };
        found.push((micros, entrant));
    }
    found.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Ok(found.into_iter().map(|(_, entrant)| entrant).collect())
}

impl Prepared {
    /// Adds the members of the kernel's family that fit `request`, the launch with what the shape states, and keeps the `limit` best
    /// estimates of all. The defaults stay. What decides between members is no part of the shape.
    ///
    /// # Errors
    /// If a member has errors of its own.
    pub(super) fn with_members<'db>(
        mut self,
        db: &'db Database,
        kernel: Kernel<'db>,
        machine: &Machine,
        request: LaunchRequest,
        limit: usize,
    ) -> Result<Prepared, LaunchError> {
        let mut members = fitting(db, kernel, machine, &request)?;
        if members.is_empty() {
            return Ok(self);
        }
        // A member that only sets what the clause tunes may be among its candidates.
        let name = kernel.name(db);
        members.retain(|member| {
            let is_own = member.member.as_ref().is_some_and(|key| key.name == *name);
            let has = |own: &Entrant| {
                member.arguments.iter().all(|(name, value)| own.arguments.get(name) == Some(value))
            };
            !is_own || !self.entrants.iter().any(has)
        });
        self.space.summary += &format!("; {} members of its family fit", members.len());
        self.entrants.extend(members);
        let micros = |entrant: &Entrant| entrant.estimate.unwrap_or(f64::INFINITY);
        self.entrants.sort_by(|one, other| micros(one).total_cmp(&micros(other)));
        let mut place = 0;
        self.entrants.retain(|entrant| {
            place += 1;
            place <= limit || entrant.is_default
        });
        self.anchor = self.entrants.iter().position(|entrant| entrant.is_default).unwrap_or(0);
        let family = family_of(db, kernel);
        let generics = |key: &ItemKey| match key.find(db) {
            Some(Item::Kernel(member)) => kernel_signature(db, member).generics.as_slice(),
            _ => &[],
        };
        // A parameter that not all members have says how this kernel works, not what it computes.
        let is_meant = |name: &str| {
            let has = |member: &Member| generics(&member.kernel).iter().any(|generic| generic.name == name);
            !family.decided.contains(name) && family.members.iter().all(has)
        };
        let own = &kernel_signature(db, kernel).generics;
        self.shape
            .retain(|name, _| own.iter().all(|generic| generic.name != name.as_str()) || is_meant(name));
        self.of_members = Some(request);
        Ok(self)
    }
}
