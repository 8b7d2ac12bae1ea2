//! Merges what the blocks did to a tensor, in the order that the seed selects, and finds races between blocks.
//!
//! No atomic accesses order the blocks that are merged here; blocks that communicate check for races themselves
//! ([`crate::schedule`]). Two blocks race on an element if one stores to it and the other reads or stores it, or if one updates
//! it atomically and the other reads or stores it. One case is legal: one operation stores the same value in several blocks, as
//! in `if found { copy(one, flag); }`.

use std::collections::BTreeMap;

use crate::code::SiteId;
use crate::error::AccessMode;
use crate::global::{PAGE, Tensor};
use crate::overlay::{Overlay, Page, apply};

/// The last block that accessed a unit in one way, and the operation that did so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    pub(crate) block: u32,
    pub(crate) site: SiteId,
}

#[derive(Clone, Copy, Debug, Default)]
struct Owners {
    writer: Option<Owner>,
    reader: Option<Owner>,
    adder: Option<Owner>,
}

/// The accesses of all blocks merged so far to a page, by unit.
#[derive(Debug)]
struct Past(Vec<Owners>);

/// The history of one tensor.
#[derive(Debug, Default)]
pub(crate) struct History {
    pages: BTreeMap<usize, Past>,
}

/// An element of a tensor that two blocks access, one of them changing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clash {
    pub(crate) byte: usize,
    /// The later block's kind of access.
    pub(crate) mode: AccessMode,
    pub(crate) site: SiteId,
    pub(crate) other: Owner,
    pub(crate) other_mode: AccessMode,
}

/// Merges the accesses of block number `block` into the tensor. Blocks must come in the same order in every launch. With `check`, the first
/// clash with an earlier block is an error.
pub(crate) fn merge(
    tensor: &mut Tensor,
    history: &mut History,
    overlay: Overlay,
    block: u32,
    check: bool,
) -> Result<(), Clash> {
    let size = tensor.unit();
    for (number, page) in overlay.pages {
        let start = number * PAGE;
        let len = (tensor.bytes.len() - start).min(PAGE);
        let bytes = &mut tensor.bytes[start..start + len];
        if check {
            let past =
                history.pages.entry(number).or_insert_with(|| Past(vec![Owners::default(); PAGE / size]));
            past.pass(&page, bytes, block).map_err(|clash| Clash { byte: start + clash.byte, ..clash })?;
        }
        let units = bytes.chunks_exact_mut(size).zip(page.data.chunks_exact(size)).zip(&page.done);
        for ((now, data), _) in units.filter(|(_, done)| done.owned()) {
            now.copy_from_slice(data);
        }
        for (unit, op, bits) in page.sums {
            apply(tensor.dtype, &mut bytes[unit * size..][..size], op, bits);
        }
    }
    Ok(())
}

impl Past {
    /// Records what a block did to a page. `now` holds the page's current bytes.
    ///
    /// # Errors
    /// On a clash. Its `byte` counts from the start of the page.
    fn pass(&mut self, page: &Page, now: &[u8], block: u32) -> Result<(), Clash> {
        let size = PAGE / self.0.len();
        for (unit, (owners, done)) in self.0.iter_mut().zip(&page.done).enumerate() {
            if !done.anything() {
                continue;
            }
            let bytes = unit * size..(unit + 1) * size;
            let agrees = |other: &Owner| {
                page.site(unit, AccessMode::Write) == other.site
                    && page.data[bytes.clone()] == now[bytes.clone()]
            };
            let meets = |mode: AccessMode, holds: bool, other: Option<Owner>, other_mode: AccessMode| {
                let other = other.filter(|_| holds)?;
                Some(Clash { byte: unit * size, mode, site: page.site(unit, mode), other, other_mode })
            };
            let Owners { writer, reader, adder } = *owners;
            let clash = meets(AccessMode::Write, done.written, adder, AccessMode::Atomic)
                .or_else(|| meets(AccessMode::Read, done.read, adder, AccessMode::Atomic))
                .or_else(|| meets(AccessMode::Atomic, done.added, writer, AccessMode::Write))
                .or_else(|| meets(AccessMode::Atomic, done.added, reader, AccessMode::Read))
                .or_else(|| {
                    meets(AccessMode::Write, done.written, writer.filter(|w| !agrees(w)), AccessMode::Write)
                })
                .or_else(|| meets(AccessMode::Write, done.written, reader, AccessMode::Read))
                .or_else(|| meets(AccessMode::Read, done.read, writer, AccessMode::Write));
            if let Some(clash) = clash {
                return Err(clash);
            }
            let own = |mode: AccessMode| Some(Owner { block, site: page.site(unit, mode) });
            if done.written {
                owners.writer = own(AccessMode::Write);
            }
            if done.read {
                owners.reader = own(AccessMode::Read);
            }
            if done.added {
                owners.adder = own(AccessMode::Atomic);
            }
        }
        Ok(())
    }
}
