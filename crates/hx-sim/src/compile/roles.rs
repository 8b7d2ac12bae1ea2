//! Compiles the bodies of roles, each for the threads of one group.

use std::sync::Arc;

use hx_index::Symbol;

use hx_thread::{Lanes, Role, Warps};
use hx_tile::ScopeId;

use super::{Compilation, Local};
use crate::code::{RoleCode, Step};
use crate::error::SimError;
use crate::formula::Binding;

impl<'a> Compilation<'a> {
    pub(super) fn roles(&mut self, roles: &'a [Role]) -> Result<Step, SimError> {
        if self.executing != ScopeId::BLOCK || !self.parties.is_empty() {
            return self.malformed("roles stand at the end of a program, and nowhere else");
        }
        let roles = roles.iter().map(|role| self.role(role)).collect::<Result<_, _>>()?;
        Ok(Step::Roles { site: self.site, roles })
    }

    fn role(&mut self, role: &'a Role) -> Result<RoleCode, SimError> {
        let scope = *self.program.scope(role.scope);
        let threads = match role.lanes {
            Lanes::All => scope.threads as usize,
            Lanes::FirstWarp => scope.threads.min(self.program.target.limits.lanes) as usize,
        };
        if threads == 0 || scope.end() > u64::from(self.program.block_threads()) {
            return self.malformed(format!("the {scope} is not part of the block"));
        }
        // A value that differs between the threads of the block has no meaning for those of a group.
        let varies = |local: &Local| matches!(local.binding, Binding::Table(_) | Binding::Lanes(_));
        let mut symbols = self.scope.clone();
        symbols.retain(|_, local| !varies(local));
        let numbers: Arc<[i64]> = (0..threads as i64).collect();
        symbols.insert(Symbol::Thread, Local::new(Binding::Table(numbers)));
        let index = role.index.as_ref().map(|index| (index, self.new_slot(index)));
        if let Some((index, slot)) = index {
            symbols.insert(index.clone(), Local::new(Binding::Slot(slot)));
        }

        let outer = std::mem::replace(&mut self.scope, symbols);
        let own = self.own.replace(vec![false; self.program.registers.len()]);
        let all = std::mem::replace(&mut self.threads, threads);
        self.executing = role.scope;
        let body = self.body(&role.body);
        self.executing = ScopeId::BLOCK;
        self.threads = all;
        let own = self.own.replace(own);
        self.scope = outer;

        let firsts = (0..scope.groups).map(|group| scope.first + group * scope.threads);
        let lanes = self.program.target.limits.lanes;
        self.parties.extend(firsts.map(|first| Warps::of_range(first, scope.threads, lanes)));
        let (first, groups) = (scope.first as usize, scope.groups as usize);
        let index = index.map(|(_, slot)| slot);
        Ok(RoleCode { first, threads, groups, index, own, body: body? })
    }
}
