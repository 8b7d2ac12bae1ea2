//! Divides the registers of a block among roles, whose threads pass registers on to each other (PTX ISA, "setmaxnreg").

use crate::Limits;

/// The number of registers of a thread beyond which consumers gain nothing.
const ENOUGH: u32 = 240;

/// The least registers of a thread of a producer whose threads make the copies: it holds their addresses. With the 24 of a producer that
/// uses the copy unit, a product with rows of 72 bytes spilled 32 bytes.
const COPYING: u32 = 40;

/// The facts about a role by which it gets a share of the registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The number of groups of 128 threads ([`Limits::group`]).
    pub groups: u32,
    /// The role moves data and needs few registers.
    pub producer: bool,
    /// The registers that the source gives each thread; `None` if it leaves the number to this module.
    pub given: Option<u32>,
    /// The threads of the role make asynchronous copies themselves.
    pub copies: bool,
}

/// The roles ask for more registers than a launch gives their block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterError {
    /// The registers that the roles need at least: the sum over all groups of the registers of one thread of each. A role
    /// without a number counts with the least that a thread may have.
    pub wanted: u32,
    /// The registers that the launch gives, summed in the same way.
    pub given: u32,
    /// The registers of each thread when the block starts.
    pub at_entry: u32,
}

/// Returns for each role the registers of one of its threads. Roles without a number share the rest: consumers get the most
/// that leaves producers the least number, but at most 240, and producers get the remainder. Every role keeps the registers
/// that it has at entry if none has a number and there are no producers, no consumers, or at least 240 registers at entry.
///
/// # Errors
/// If the roles need more registers than the block has.
pub fn share_registers(limits: &Limits, roles: &[Share]) -> Result<Vec<u32>, RegisterError> {
    let groups: u32 = roles.iter().map(|role| role.groups).sum();
    let at_entry = limits.registers_at_entry(groups * limits.group);
    let pool = groups * at_entry;
    let least = |role: &Share| if role.copies { COPYING } else { limits.register_range[0] };
    let given: u32 = roles.iter().map(|role| role.groups * role.given.unwrap_or(0)).sum();
    let open = |producer: bool| {
        let is_open = move |role: &&Share| role.producer == producer && role.given.is_none();
        roles.iter().filter(is_open)
    };
    let count = |producer: bool| -> u32 { open(producer).map(|role| role.groups).sum() };
    let kept = |producer: bool| -> u32 { open(producer).map(|role| role.groups * least(role)).sum() };
    let (consumers, producers) = (count(false), count(true));
    let wanted = given + kept(false) + kept(true);
    if wanted > pool {
        return Err(RegisterError { wanted, given: pool, at_entry });
    }
    if given == 0 && (at_entry >= ENOUGH || producers == 0 || consumers == 0) {
        return Ok(vec![at_entry; roles.len()]);
    }
    let whole = |registers: u32| registers / limits.register_step * limits.register_step;
    let left = pool - given;
    let consumer = (left - kept(true)).checked_div(consumers).map_or(0, |each| whole(each).min(ENOUGH));
    // Producers share what they do not all need.
    let rest = left - consumer * consumers - kept(true);
    let more = rest.checked_div(producers).map_or(0, whole);
    let share = |role: &Share| match role.producer {
        _ if role.given.is_some() => role.given.unwrap_or(0),
        true => (least(role) + more).min(limits.register_range[1]),
        false => consumer,
    };
    Ok(roles.iter().map(share).collect())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::Target;

    /// Shares the registers of roles that are written as in the source: `p 24, c2 240`, `c2` for two groups, `t` for a producer whose threads
    /// copy.
    fn check(roles: &str, want: Expect) {
        let role = |text: &str| {
            let mut words = text.trim().split(' ');
            let (kind, count) = words.next().unwrap().split_at(1);
            let given = words.next().map(|number| number.parse().unwrap());
            let copies = kind == "t";
            Share { groups: count.parse().unwrap_or(1), producer: kind != "c", given, copies }
        };
        let roles: Vec<Share> = roles.split(',').map(role).collect();
        let found = match share_registers(&Target::usual().limits, &roles) {
            Ok(shares) => format!("{shares:?}"),
            Err(RegisterError { wanted, given, at_entry }) => {
                format!("{wanted} of {given}, {at_entry} at entry")
            }
        };
        want.assert_eq(&found);
    }

    #[test]
    fn consumers_get_what_producers_can_spare() {
        check("p, c2", expect!["[24, 240]"]);
        check("p, c3", expect!["[32, 160]"]);
        check("p, c", expect!["[256, 256]"]);
        check("c2, c", expect!["[168, 168]"]);
        check("p 40, c2", expect!["[40, 232]"]);
        check("p, c2 160", expect!["[184, 160]"]);
        check("t, c2", expect!["[40, 232]"]);
        check("p, c2, p", expect!["[24, 232, 24]"]);
        check("t, c2, p", expect!["[40, 224, 24]"]);
    }

    #[test]
    fn roles_share_no_more_than_the_launch_gives() {
        check("p 24, c2 240", expect!["[24, 240]"]);
        check("p 32, c2 240", expect!["512 of 504, 168 at entry"]);
        check("p, c2 248", expect!["520 of 504, 168 at entry"]);
        check("p 24, c3 168", expect!["528 of 512, 128 at entry"]);
    }
}
