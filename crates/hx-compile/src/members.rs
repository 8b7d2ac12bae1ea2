//! The members of a kernel's family as instances, and those that no launch can take.

use hx_base::{Diagnostic, codes};
use hx_hir::{Item, Kernel, Member, family_of, family_source_map};
use hx_lower::{CtArgs, CtValue, LaunchFacts};
use hx_target::Target;

use crate::{Db, Instance, default_instance, instance_errors, solved, tile_program};

/// Returns the compile-time arguments of a member.
pub fn member_args(member: &Member) -> CtArgs {
    member.args.iter().map(|(name, of)| (name.clone(), CtValue::from(*of))).collect()
}

/// Returns an error for each member that cannot be built for a target, if the kernel itself can be built: no launch would take the member.
pub(crate) fn unbuildable<'db>(db: &'db dyn Db, kernel: Kernel<'db>, target: Target) -> Vec<Diagnostic> {
    let family = family_of(db, kernel);
    let builds = |instance: Instance<'db>| tile_program(db, instance).is_ok() && solved(db, instance).is_ok();
    let own = default_instance(db, kernel, target).is_some_and(builds);
    let Some(map) = family_source_map(db, kernel).filter(|_| own) else { return Vec::new() };
    let of = |member: &Member| {
        let Some(Item::Kernel(listed)) = member.kernel.find(db) else { return None };
        let instance = Instance::chosen(db, listed, member_args(member), target, LaunchFacts::all_16());
        if builds(instance) {
            return None;
        }
        let range = map.expr(member.at?)? + kernel.offset(db);
        let message = format!("this member cannot be built for {target}, so no launch takes it");
        let found = Diagnostic::new(&codes::BAD_FAMILY, kernel.file(db), range, message);
        let reason = instance_errors(db, instance).first();
        Some(match reason {
            Some(reason) => found.note(reason.message.clone()),
            None => found,
        })
    };
    family.members.iter().filter_map(of).collect()
}
