//! Checks the registers of roles: a launch gives all threads equally many, and roles can only pass them on.

use hx_target::Feature;
use hx_tile::Role;

use crate::{Check, Checked};

impl Check<'_> {
    /// Checks that each role has the registers that the source gives it, that numbers other than that of the launch are ones that an
    /// instruction can set, and that all roles together have at most the registers of the launch.
    pub(crate) fn role_registers(&self) -> Checked {
        let (roles, target) = (self.program.roles(), self.program.target);
        let limits = &self.program.limits();
        let set = &self.solution.role_registers;
        if let Some(scope) = set.keys().find(|scope| roles.iter().all(|role| role.scope != **scope)) {
            return Err(format!("scope {} has registers of its own and is no role", scope.0));
        }
        if !set.is_empty() && !target.has(Feature::RoleRegisters) {
            return Err(format!("roles set their registers, which {target} cannot"));
        }
        let at_entry = limits.registers_at_entry(self.program.block_threads());
        let mut taken = 0;
        for role in roles {
            let registers = set.get(&role.scope).copied().unwrap_or(at_entry);
            self.role(role, registers)?;
            let [least, most] = limits.register_range;
            let can_be_set = (least..=most).contains(&registers) && registers % limits.register_step == 0;
            if set.contains_key(&role.scope) && !can_be_set {
                return Err(format!("no instruction sets {registers} registers"));
            }
            let scope = self.scope(role.scope);
            taken += u64::from(registers) * u64::from(scope.threads) * u64::from(scope.groups);
        }
        let given = u64::from(at_entry) * u64::from(self.program.block_threads());
        if taken > given {
            return Err(format!("the roles have {taken} registers, and a launch gives the block {given}"));
        }
        Ok(())
    }

    fn role(&self, role: &Role, registers: u32) -> Checked {
        match role.registers {
            Some(given) if given != registers => Err(format!(
                "the {} has {registers} registers a thread, and the source gives it {given}",
                self.scope(role.scope)
            )),
            Some(_) | None => Ok(()),
        }
    }
}
