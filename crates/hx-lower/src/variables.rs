//! The variables of the program.

use std::collections::{BTreeMap, BTreeSet};

use hx_dtype::DType;
use hx_index::Symbol;

/// A variable of the program.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) symbol: Symbol,
    /// The element type; `None` for an untyped integer, which integer expressions may mention.
    pub(crate) dtype: Option<DType>,
}

/// All variables of the program.
#[derive(Default)]
pub(crate) struct Variables {
    symbols: BTreeSet<Symbol>,
    /// The element types of the variables that have one.
    types: BTreeMap<Symbol, DType>,
}

impl Variables {
    /// Adds a variable.
    pub(crate) fn add(&mut self, variable: &Variable) {
        self.symbols.insert(variable.symbol.clone());
        if let Some(dtype) = variable.dtype {
            self.types.insert(variable.symbol.clone(), dtype);
        }
    }

    /// Reports whether the symbol is a variable.
    pub(crate) fn contains(&self, symbol: &Symbol) -> bool {
        self.symbols.contains(symbol)
    }

    /// Returns the symbols of all variables.
    pub(crate) fn symbols(&self) -> &BTreeSet<Symbol> {
        &self.symbols
    }

    /// Returns all variables.
    pub(crate) fn all(&self) -> Vec<Variable> {
        let of =
            |symbol: &Symbol| Variable { symbol: symbol.clone(), dtype: self.types.get(symbol).copied() };
        self.symbols.iter().map(of).collect()
    }
}
