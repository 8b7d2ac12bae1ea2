//! HX0231 and others: errors in the family of a kernel.

use hx_base::{Diagnostic, codes};

use super::{Reporter, nearest};
use crate::{FamilyProblem, MOST_MEMBERS, Name};

pub(super) fn report(at: &Reporter<'_>, problems: &[FamilyProblem], out: &mut Vec<Diagnostic>) {
    out.extend(problems.iter().map(|problem| diagnostic(at, problem)));
}

fn diagnostic(at: &Reporter<'_>, problem: &FamilyProblem) -> Diagnostic {
    let list = |names: &[Name]| {
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        format!("`({})`", names.join(", "))
    };
    match problem {
        FamilyProblem::Empty => at
            .diagnostic(&codes::BAD_FAMILY, at.absolute(None), "the family of this kernel has no members")
            .help("list kernels with their arguments, `#[family(tiles<BN = 128>, split)]`"),
        FamilyProblem::NoKernel { expr } => at
            .diagnostic(&codes::BAD_FAMILY, at.expr(*expr), "expected a kernel, as a member of a family")
            .help("a member is a name, or a name with compile-time arguments: `tiles<BN = 128>`"),
        FamilyProblem::Params { expr, wanted, found } => at
            .diagnostic(
                &codes::BAD_FAMILY,
                at.expr(*expr),
                format!(
                    "this kernel takes {}, and the one before which it is listed {}",
                    list(found),
                    list(wanted)
                ),
            )
            .help("the members of a family take the same arguments in the same order"),
        FamilyProblem::UnknownParam { expr, name, known } => {
            let message = format!("the kernel has no compile-time parameter `{name}`");
            let found = at.diagnostic(&codes::UNKNOWN_NAME, at.expr(*expr), message);
            match nearest(name, known.iter().map(|name| name.as_str())) {
                Some(near) => found.help(format!("`{near}` is near in spelling")),
                None => {
                    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                    found.help(format!("its compile-time parameters are {}", known.join(", ")))
                }
            }
        }
        FamilyProblem::Unnamed { expr } => at
            .diagnostic(
                &codes::BAD_FAMILY,
                at.expr(*expr),
                "a compile-time argument of a member needs its name",
            )
            .help("write `NAME = VALUE`"),
        FamilyProblem::NotConstant { expr, name } => at
            .diagnostic(&codes::BAD_FAMILY, at.expr(*expr), format!("this is no constant value for `{name}`"))
            .help("members are given integers, `true` or `false`, and element types"),
        FamilyProblem::NoAxis { expr, name } => at
            .diagnostic(
                &codes::BAD_FAMILY,
                at.expr(*expr),
                format!("`auto` has no values for `{name}` to choose from"),
            )
            .help(format!("list them in the `tune` clause of the kernel: `tune {name} in […]`")),
        FamilyProblem::TooMany { expr, members } => {
            let range = expr.map_or_else(|| at.absolute(None), |expr| at.expr(expr));
            let message = format!("the family has {members} members, expected at most {MOST_MEMBERS}");
            at.diagnostic(&codes::BAD_FAMILY, range, message)
                .help("the first launch of a shape estimates each member: give `auto` fewer values in the `tune` clause")
        }
        FamilyProblem::Twice { expr, first } => at
            .diagnostic(&codes::BAD_FAMILY, at.expr(*expr), "this member is listed twice")
            .also(at.file(), at.expr(*first), "listed here first"),
    }
}
