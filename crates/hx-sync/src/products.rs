//! The elements that asynchronous products read.
//!
//! An operation is many instructions, each of which reads a slice of a tile in runs of 16 bytes. All of them begin together, so
//! their reads are merged into one access for each tensor: for a whole tile this is one range of elements instead of thousands of
//! runs. Rounds of a loop, and the traces of a program, meet an instruction at few different places. Each is enumerated once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use hx_index::gcd;
use hx_thread::{Descriptor, MultiplyAsync, Runs, ThreadProgram};
use hx_tile::OpId;

use crate::event::{Access, Event};
use crate::once::Equation;

/// The first element of each group of threads, by its first thread.
type Starts = Vec<(u32, i64)>;

/// Threads in ascending order, each with a first element.
type Firsts = Rc<[(u32, i64)]>;

/// The number of elements of each range, and the ranges.
type Ranges = (i64, Firsts);

/// The reads that were enumerated. Instructions are known by their addresses: the program outlives the traces.
#[derive(Default)]
pub(crate) struct Reads<'a> {
    operands: RefCell<BTreeMap<*const MultiplyAsync, Operands<'a>>>,
    /// By descriptor, for the starts of these groups of threads.
    firsts: RefCell<BTreeMap<(*const Descriptor, Starts), Firsts>>,
    /// By the accesses that begin together.
    merged: RefCell<BTreeMap<Vec<*const (u32, i64)>, Ranges>>,
}

/// The operands of an instruction in shared memory, with the runs that it reads.
pub(crate) type Operands<'a> = Rc<[(&'a Descriptor, Runs)]>;

impl<'a> Reads<'a> {
    /// Returns the operands of an instruction.
    pub(crate) fn operands(&self, product: &'a MultiplyAsync, program: &ThreadProgram) -> Operands<'a> {
        let mut known = self.operands.borrow_mut();
        known.entry(product).or_insert_with(|| product.reads(program).into()).clone()
    }

    /// Returns the first elements of the runs that groups of threads read from these starts on.
    pub(crate) fn firsts(&self, descriptor: &Descriptor, runs: &Runs, starts: Starts) -> Firsts {
        let mut known = self.firsts.borrow_mut();
        let all = |starts: &[(u32, i64)]| -> Firsts {
            let group = |(thread, start): &(u32, i64)| {
                let (thread, start) = (*thread, *start);
                runs.at.iter().map(move |at| (thread, runs.swizzle.apply(start + at)))
            };
            starts.iter().flat_map(group).collect()
        };
        let key = (std::ptr::from_ref(descriptor), starts);
        if let Some(firsts) = known.get(&key) {
            return firsts.clone();
        }
        let firsts = all(&key.1);
        known.insert(key, firsts.clone());
        firsts
    }

    /// Merges the reads of products that begin one right after the other, from position `from` of the events on.
    pub(crate) fn merge(&self, events: &mut Vec<Event>, from: usize) {
        let is_product = |event: &Event| matches!(event, Event::Product(access) if !access.anywhere);
        if events[from..].iter().filter(|event| is_product(event)).count() < 2 {
            return;
        }
        let mut together: Vec<Access> = Vec::new();
        for event in events.split_off(from) {
            match event {
                Event::Product(access) if !access.anywhere => together.push(access),
                event => {
                    self.join(std::mem::take(&mut together), events);
                    events.push(event);
                }
            }
        }
        self.join(together, events);
    }

    /// Appends the accesses, one for each buffer, operation and equation.
    fn join(&self, together: Vec<Access>, out: &mut Vec<Event>) {
        let key = |access: &Access| -> (usize, OpId, Option<Equation>, u16) {
            (access.buffer, access.op, access.only, access.lanes)
        };
        let mut groups: Vec<Vec<Access>> = Vec::new();
        for access in together {
            match groups.iter_mut().find(|group| key(&group[0]) == key(&access)) {
                Some(group) => group.push(access),
                None => groups.push(vec![access]),
            }
        }
        out.extend(groups.into_iter().map(|mut group| {
            let (len, threads) = self.ranges(&group);
            Event::Product(Access { len, threads, ..group.swap_remove(0) })
        }));
    }

    /// Returns the elements of all these accesses as ranges of one length.
    fn ranges(&self, group: &[Access]) -> Ranges {
        let key = group.iter().map(|access| access.threads.as_ptr()).collect();
        let mut known = self.merged.borrow_mut();
        let (len, threads) = known.entry(key).or_insert_with(|| ranges(group));
        (*len, threads.clone())
    }
}

fn ranges(group: &[Access]) -> Ranges {
    let firsts = |access: &Access| {
        let len = access.len;
        access.threads.iter().map(move |&(thread, first)| (thread, first, first + len)).collect::<Vec<_>>()
    };
    let mut all: Vec<(u32, i64, i64)> = group.iter().flat_map(firsts).collect();
    all.sort_unstable();
    let mut ranges: Vec<(u32, i64, i64)> = Vec::new();
    for (thread, first, end) in all {
        match ranges.last_mut() {
            Some((by, _, last)) if *by == thread && first <= *last => *last = end.max(*last),
            _ => ranges.push((thread, first, end)),
        }
    }
    let len = ranges.iter().fold(0, |len, (_, first, end)| gcd(len, end - first)).max(1);
    let pieces = |(thread, first, end): (u32, i64, i64)| {
        (first..end).step_by(len as usize).map(move |first| (thread, first))
    };
    (len, ranges.into_iter().flat_map(pieces).collect())
}

/// Updates for each buffer the number of elements that divides the start and the length of every read by products.
pub(crate) fn units(events: &[Event], units: &mut [i64]) {
    for event in events {
        match event {
            Event::Product(access) if !access.anywhere => {
                let unit = &mut units[access.buffer];
                *unit =
                    access.threads.iter().fold(gcd(*unit, access.len), |unit, (_, first)| gcd(unit, *first));
            }
            Event::Either(then, otherwise) => {
                self::units(then, units);
                self::units(otherwise, units);
            }
            Event::Only(_, events) => self::units(events, units),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use hx_tile::Completion;

    use super::*;

    /// Four slices of 16 columns are a tile of 4 rows and 64 columns, which are consecutive. Group 1 reads two separate rows.
    #[test]
    fn the_slices_of_a_tile_are_one_range() {
        let slice = |thread: u32, firsts: Vec<i64>| Access {
            buffer: 0,
            op: OpId(1),
            lanes: 128,
            write: false,
            atomic: false,
            completion: Completion::Product,
            anywhere: false,
            only: None,
            len: 8,
            threads: firsts.into_iter().map(|first| (thread, first)).collect(),
        };
        let columns = |k: i64| (0..4).flat_map(|row| [64 * row + 16 * k, 64 * row + 16 * k + 8]).collect();
        let tile: Vec<Access> = (0..4).map(|k| slice(0, columns(k))).collect();
        let rows = [slice(128, vec![256, 264]), slice(128, vec![512, 520])];
        let all = |accesses: &[Access]| {
            let (len, firsts) = ranges(accesses);
            firsts
                .iter()
                .map(|(thread, first)| format!("{thread}: {first}+{len}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(all(&tile), "0: 0+256");
        assert_eq!(all(&rows), "128: 256+16, 128: 512+16");
    }
}
