//! Cache hints: how an access to global memory wants the caches to treat its lines. A hint changes no value and no layout.

use serde::Deserialize;

use crate::Feature;

/// The hints of an access; none for one that leaves both caches to the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Cache {
    pub l1: Option<L1>,
    pub l2: Option<L2>,
}

/// A hint for the L1 cache (PTX ISA, "Cache Eviction Priority Hints").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum L1 {
    /// A miss brings no line into the cache.
    NoAllocate,
    EvictFirst,
    EvictLast,
}

/// A hint for the L2 cache: its lines are the first, or the last, that make room for others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum L2 {
    EvictFirst,
    EvictLast,
}

impl L1 {
    /// All hints for the L1 cache.
    pub const ALL: [L1; 3] = [L1::NoAllocate, L1::EvictFirst, L1::EvictLast];

    /// Returns the word of the language, which is that of PTX.
    pub fn name(self) -> &'static str {
        match self {
            L1::NoAllocate => "no_allocate",
            L1::EvictFirst => "evict_first",
            L1::EvictLast => "evict_last",
        }
    }
}

impl L2 {
    /// All hints for the L2 cache.
    pub const ALL: [L2; 2] = [L2::EvictFirst, L2::EvictLast];

    /// Returns the word of the language, which names the [`PolicyRow`].
    pub fn name(self) -> &'static str {
        match self {
            L2::EvictFirst => "evict_first",
            L2::EvictLast => "evict_last",
        }
    }
}

impl Cache {
    /// Reports whether there is no hint.
    pub fn is_default(self) -> bool {
        self == Cache::default()
    }

    /// Returns all combinations of hints but none at all.
    pub fn all() -> impl Iterator<Item = Cache> {
        let l1s = || std::iter::once(None).chain(L1::ALL.map(Some));
        let l2s = std::iter::once(None).chain(L2::ALL.map(Some));
        l2s.flat_map(move |l2| l1s().map(move |l1| Cache { l1, l2 })).filter(|cache| !cache.is_default())
    }

    /// Returns the hints as arguments of the language, as in `, l2: "evict_first"`; nothing without hints.
    pub fn text(self) -> String {
        let l1 = self.l1.map_or(String::new(), |hint| format!(", l1: {:?}", hint.name()));
        let l2 = self.l2.map_or(String::new(), |hint| format!(", l2: {:?}", hint.name()));
        l1 + &l2
    }

    /// Returns a PTX with the qualifiers of the hints behind the part `opcode` of its opcode, and `{p}` for the policy as its last operand.
    /// `None` if the PTX is another instruction.
    pub(crate) fn hinted(self, ptx: &str, opcode: &str) -> Option<String> {
        let operands = ptx.strip_prefix(opcode)?.strip_suffix(';')?;
        let l1 = self.l1.map_or(String::new(), |hint| format!(".L1::{}", hint.name()));
        let (l2, policy) = if self.l2.is_some() { (".L2::cache_hint", ", {p}") } else { ("", "") };
        Some(format!("{opcode}{l1}{l2}{operands}{policy};"))
    }
}

/// An instruction that fetches elements into the L2 cache and moves them nowhere else.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefetchRow {
    pub name: String,
    /// One thread fetches a box of a tensor map. Otherwise each thread fetches the line of its address.
    pub boxes: bool,
    /// The ability of a target that has the row; every target has a row without one.
    #[serde(default)]
    pub needs: Option<Feature>,
    /// PTX with `{m}`, `{c}` and `{r}` as a [`BulkRow`](crate::BulkRow) has them for a box, or `{a}` for an address in the line.
    pub ptx: String,
}

/// A policy of the L2 cache.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyRow {
    /// The word of the language: [`L2::name`].
    pub name: String,
    /// PTX with `{d}` for the 64-bit register that gets the policy.
    pub ptx: String,
}
