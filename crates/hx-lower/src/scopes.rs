//! The scopes of the program, and the one that executes the statements that are lowered now.

use std::collections::BTreeMap;

use hx_index::Symbol;
use hx_tile::{Scope, ScopeId};

/// The scopes of the program: the block, then the roles.
pub(crate) struct Scopes {
    /// Indexed by [`ScopeId`]; empty until the header is evaluated.
    all: Vec<Scope>,
    /// The scope of the operations and tensors that are made now.
    here: ScopeId,
    /// The number of the group that executes the statements, if the scope has several.
    group: Option<Symbol>,
    /// The numbers of the groups of all roles entered so far that have several.
    numbers: BTreeMap<ScopeId, Symbol>,
    /// The registers of each thread that the source gives to each role.
    given_registers: Vec<Option<u32>>,
}

impl Scopes {
    /// Returns the state before the header is evaluated.
    pub(crate) fn new() -> Scopes {
        Scopes {
            all: Vec::new(),
            here: ScopeId::BLOCK,
            group: None,
            numbers: BTreeMap::new(),
            given_registers: Vec::new(),
        }
    }

    /// Sets the scopes of the program.
    pub(crate) fn set(&mut self, all: Vec<Scope>) {
        self.all = all;
    }

    /// Sets the registers of each thread that the source gives to each role.
    pub(crate) fn set_given_registers(&mut self, registers: Vec<Option<u32>>) {
        self.given_registers = registers;
    }

    /// Returns all scopes; none while the header is evaluated.
    pub(crate) fn all(&self) -> &[Scope] {
        &self.all
    }

    /// Takes all scopes, for the finished program.
    pub(crate) fn take(&mut self) -> Vec<Scope> {
        std::mem::take(&mut self.all)
    }

    /// Returns the scope of this number.
    pub(crate) fn get(&self, id: ScopeId) -> &Scope {
        &self.all[id.0 as usize]
    }

    /// Returns the number of the scope that executes the statements.
    pub(crate) fn here(&self) -> ScopeId {
        self.here
    }

    /// Returns the number of the group that executes the statements, if the scope has several.
    pub(crate) fn group(&self) -> Option<&Symbol> {
        self.group.as_ref()
    }

    /// Returns the number of the group that executes the statements of a scope, if it has several.
    pub(crate) fn number_of(&self, scope: ScopeId) -> Option<&Symbol> {
        self.numbers.get(&scope)
    }

    /// Enters a role. `group` is the number of the executing group, if the role has several.
    pub(crate) fn enter(&mut self, role: ScopeId, group: Option<Symbol>) {
        self.numbers.extend(group.clone().map(|group| (role, group)));
        (self.here, self.group) = (role, group);
    }

    /// Returns from a role to the block.
    pub(crate) fn leave(&mut self) {
        (self.here, self.group) = (ScopeId::BLOCK, None);
    }

    /// Returns the number of threads that execute the statements; 0 while the header is evaluated.
    pub(crate) fn threads_here(&self) -> u32 {
        self.all.get(self.here.0 as usize).map_or(0, |scope| scope.threads)
    }

    /// Returns the registers of each thread that the source gives to a role; `None` if it gives none.
    pub(crate) fn given_registers(&self, role: ScopeId) -> Option<u32> {
        self.given_registers[role.0 as usize - 1]
    }
}
