//! The members of a kernel's family as instances, and those that no launch can take.

use hx_base::{Diagnostic, codes};
use hx_hir::{Expr, Item, Kernel, Member, TypeRef, family_of, family_source_map, kernel_signature};
use hx_lower::{CtArgs, CtValue, LaunchFacts, LowerError};
use hx_target::Target;
use hx_tile::Param;

use crate::{
    Db, InferredOrder, Instance, default_instance, instance_errors, orders_of, solved, tile_program,
};

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

/// Checks that an instance reads the tensors of a launch in the order in which another one does, whose parameters of the same names they are.
///
/// # Errors
/// The first parameter with another order, or that the orders of `head` are not known, as a sentence. A `member` without a program has none.
pub fn check_same_orders<'db>(db: &'db dyn Db, [head, member]: [Instance<'db>; 2]) -> Result<(), String> {
    if ![head, member].iter().any(|instance| has_layouts(db, instance.kernel(db))) {
        return Ok(());
    }
    let Ok(of_member) = tile_program(db, member) else { return Ok(()) };
    let name = head.kernel(db).name(db);
    let of_head = tile_program(db, head).as_ref();
    let of_head = of_head.map_err(|_| format!("`{name}` does not say in which order its tensors lie"))?;
    for param in &of_head.program.params {
        let Param::Tensor(wanted) = param else { continue };
        let same = of_member.program.params.iter().find_map(|param| match param {
            Param::Tensor(found) if found.name == wanted.name => Some(found),
            Param::Tensor(_) | Param::Int { .. } | Param::Float { .. } => None,
        });
        let is_same = same.is_none_or(|found| match (&wanted.block, &found.block) {
            (None, None) => true,
            (Some(wanted), Some(found)) => wanted.is_same_block(found),
            (Some(_), None) | (None, Some(_)) => false,
        });
        if !is_same {
            return Err(format!("it has `{}` in another order in memory than `{name}`", wanted.name));
        }
    }
    Ok(())
}

/// Reports whether a tensor parameter of a kernel has a layout other than strides.
fn has_layouts<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> bool {
    let signature = kernel_signature(db, kernel);
    signature.params.iter().any(|param| match &signature.store[param.ty] {
        TypeRef::Named { layout: Some(layout), .. } => !matches!(signature.store[*layout], Expr::Array(_)),
        TypeRef::Named { layout: None, .. } | TypeRef::Tuple(_) | TypeRef::Missing => false,
    })
}

/// Returns the orders that `head` infers for parameters that a member has too, as arguments of the member.
///
/// # Errors
/// If an order cannot be inferred.
pub fn shared_orders<'db>(
    db: &'db dyn Db,
    head: Instance<'db>,
    member: Kernel<'db>,
) -> Result<CtArgs, &'db Vec<LowerError>> {
    let generics = &kernel_signature(db, member).generics;
    let takes = |order: &&InferredOrder| generics.iter().any(|generic| generic.name == order.name);
    let orders = orders_of(db, head)?.into_iter().filter(takes);
    Ok(orders.map(|order| (order.name.clone(), order.value())).collect())
}
