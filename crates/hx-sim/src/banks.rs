//! Counts bank conflicts of shared memory and sectors of global memory, for one request of a warp.
//!
//! Shared memory serves a warp in phases of 128 bytes: a quarter of the warp at a time for 16 bytes a lane, a half for 8. In one
//! cycle of a phase, each bank delivers one 4-byte word; lanes that read the same word share it.

use hx_target::{Limits, MOST_LANES};

/// Splits the addresses of threads, sorted by thread, into one slice for each group of `lanes` threads.
pub(crate) fn requests(addresses: &[(usize, i64)], lanes: usize) -> impl Iterator<Item = &[(usize, i64)]> {
    addresses.chunk_by(move |a, b| a.0 / lanes == b.0 / lanes)
}

/// Returns the cycles that a request takes, and the number of its phases. `lanes` holds the byte address of each participating
/// lane, with the lane's position in the warp (or among the lanes whose address counts). `access` is the number of bytes at each
/// address.
pub(crate) fn wavefronts(limits: &Limits, lanes: &[(usize, i64)], access: usize) -> (u64, u64) {
    // An aligned access of several words occupies as many neighbouring banks. Two such accesses therefore conflict in all their
    // banks or in none.
    let unit = access.max(limits.bank_bytes as usize);
    let units = (limits.wavefront_bytes() as usize / unit).max(1);
    let (mut total, mut phases) = (0, 0);
    let mut rest = lanes;
    while let Some(&(lane, _)) = rest.first() {
        let phase = lane / units;
        let end = rest.iter().position(|(l, _)| l / units != phase).unwrap_or(rest.len());
        total += degree(&rest[..end], unit as i64, units);
        phases += 1;
        rest = &rest[end..];
    }
    (total, phases)
}

/// Returns the largest number of distinct units that map to the same banks.
fn degree(lanes: &[(usize, i64)], unit: i64, units: usize) -> u64 {
    const NONE: u8 = u8::MAX;
    // For each group of banks, a linked list of the distinct units seen there.
    let mut head = [NONE; MOST_LANES];
    let mut next = [NONE; MOST_LANES];
    let mut depth = [0u64; MOST_LANES];
    let mut most = 1;
    for (i, &(_, address)) in lanes.iter().enumerate() {
        let word = address / unit;
        let bank = (word as usize) % units;
        let mut at = head[bank];
        while at != NONE && lanes[at as usize].1 / unit != word {
            at = next[at as usize];
        }
        if at == NONE {
            next[i] = head[bank];
            head[bank] = i as u8;
            depth[bank] += 1;
            most = most.max(depth[bank]);
        }
    }
    most
}

/// Returns the number of distinct sectors of a request, and the fewest sectors that could hold its distinct bytes. `scratch`
/// holds the byte addresses, which get sorted, and `access` is the number of bytes at each.
pub(crate) fn sectors(limits: &Limits, scratch: &mut [i64], access: usize) -> (u64, u64) {
    if !scratch.is_sorted() {
        scratch.sort_unstable();
    }
    let (access, sector) = (access as i64, i64::from(limits.sector_bytes));
    let (mut count, mut distinct) = (0, 0);
    let (mut last_sector, mut last) = (i64::MIN, None);
    for &address in scratch.iter() {
        if last == Some(address) {
            continue;
        }
        last = Some(address);
        distinct += 1;
        let (first, end) = (address / sector, (address + access - 1) / sector);
        count += end - first.max(last_sector.saturating_add(1)) + 1;
        last_sector = end;
    }
    (
        count as u64,
        (distinct * access).div_euclid(sector) as u64 + u64::from((distinct * access) % sector != 0),
    )
}

/// Returns the number of addresses that occur earlier in the list. Sorts `scratch`.
pub(crate) fn repeated(scratch: &mut [i64]) -> u64 {
    if scratch.windows(2).all(|w| w[0] < w[1]) {
        return 0;
    }
    scratch.sort_unstable();
    scratch.windows(2).filter(|w| w[0] == w[1]).count() as u64
}
