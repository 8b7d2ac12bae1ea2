//! Instructions by the names that users write: in questions about a solution, and where the source asks for one.

use std::collections::BTreeSet;

use crate::{Catalogue, Space};

/// The instructions of a target that a text names, by a whole name or by the first words of one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Instructions {
    /// The text that names them.
    pub text: String,
    /// Matrix products.
    pub products: BTreeSet<String>,
    /// Copies between two memories, without those that are atomic.
    pub copies: BTreeSet<String>,
    /// Copies of the copy unit.
    pub bulks: BTreeSet<String>,
    /// Instructions that the layouts determine: conversions, exchanges between lanes, barriers.
    pub others: BTreeSet<String>,
}

impl Instructions {
    /// Returns the instructions of a catalogue that a text names: by their names here, else by their PTX.
    pub fn named(text: &str, rows: &Catalogue) -> Instructions {
        let by_name = |name: &str, _: &str| begins(name, text);
        let found = Instructions::by(text, rows, &by_name);
        if !found.is_empty() {
            return found;
        }
        // Users of CUDA know the names of PTX.
        Instructions::by(text, rows, &|_, ptx| begins(ptx, text))
    }

    /// Returns the names of the instructions that copy or multiply, and the first word of each.
    pub fn names(rows: &Catalogue) -> Vec<&str> {
        let copies =
            rows.copies.iter().filter(|row| row.memory_space() != Space::Register).map(|row| &row.name);
        let names = copies
            .chain(rows.bulks.iter().map(|row| &row.name))
            .chain(rows.gemms.iter().map(|row| &row.name));
        names.flat_map(|name| [name.as_str(), name.split('.').next().unwrap_or(name)]).collect()
    }

    fn by(text: &str, rows: &Catalogue, is_meant: &dyn Fn(&str, &str) -> bool) -> Instructions {
        let mut named = Instructions { text: text.to_owned(), ..Instructions::default() };
        let ptx_of = |ptx: &str| ptx.trim_start_matches(['{', ' ']).to_owned();
        named.products.extend(
            rows.gemms
                .iter()
                .filter(|row| is_meant(&row.name, &ptx_of(&row.ptx)))
                .map(|row| row.name.clone()),
        );
        // Atomic instructions follow from the operation.
        let copies = rows.copies.iter().filter(|row| row.atomic.is_none());
        named
            .copies
            .extend(copies.filter(|row| is_meant(&row.name, &ptx_of(&row.ptx))).map(|row| row.name.clone()));
        named.bulks.extend(
            rows.bulks
                .iter()
                .filter(|row| is_meant(&row.name, &ptx_of(&row.ptx)))
                .map(|row| row.name.clone()),
        );
        let converts = rows.converts.iter().map(|row| (&row.name, &row.ptx));
        let exchanges = rows.exchanges.iter().map(|row| (&row.name, &row.ptx));
        let syncs = rows.syncs.iter().map(|row| (&row.name, &row.ptx));
        let others = converts.chain(exchanges).chain(syncs);
        named
            .others
            .extend(others.filter(|(name, ptx)| is_meant(name, &ptx_of(ptx))).map(|(name, _)| name.clone()));
        named
    }

    /// Reports whether the text names nothing.
    pub fn is_empty(&self) -> bool {
        self.products.is_empty() && self.copies.is_empty() && self.bulks.is_empty() && self.others.is_empty()
    }

    /// Reports whether none of the instructions copies or multiplies.
    pub fn moves_nothing(&self) -> bool {
        self.products.is_empty() && self.copies.is_empty() && self.bulks.is_empty()
    }

    /// Returns the memories between which the instructions move elements.
    pub fn ends(&self, rows: &Catalogue) -> BTreeSet<[Space; 2]> {
        let copies = rows.copies.iter().filter(|row| self.copies.contains(&row.name));
        let bulks = rows.bulks.iter().filter(|row| self.bulks.contains(&row.name));
        copies.map(|row| [row.from, row.to]).chain(bulks.map(|row| [row.from, row.to])).collect()
    }

    /// Returns the names of all instructions that move elements.
    pub fn moving(&self) -> BTreeSet<String> {
        self.copies.union(&self.bulks).cloned().collect()
    }
}

/// Reports whether a name begins with a text, whatever their case, and the text ends with a word of the name.
fn begins(name: &str, text: &str) -> bool {
    let (name, text) = (name.to_lowercase(), text.to_lowercase());
    let rest = name.strip_prefix(&text);
    !text.is_empty()
        && rest.is_some_and(|rest| {
            rest.is_empty() || text.ends_with('.') || !rest.starts_with(char::is_alphanumeric)
        })
}
