//! The base of shared memory in PTX: no loop may count it up.
//!
//! The front end of the CUDA compiler may turn an address that is linear in the counter of a loop into a variable that begins at the
//! base. ptxas 13.0 then computes `base + 256`, which the text computes before the loop, in each round from the changed base.
//! `crates/hx-codegen/src/expr/running.rs` keeps such addresses from the front end.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the instructions in a text of PTX that change a register which holds the address of shared memory.
pub(crate) fn changes(ptx: &str) -> Vec<String> {
    let lines = || ptx.lines().map(str::trim);
    let operands = |line: &str| -> Option<(String, String, Vec<String>)> {
        let line = line.strip_suffix(';')?;
        let line = line.strip_prefix('@').map_or(line, |guarded| guarded.split_once(' ').map_or("", |g| g.1));
        let (opcode, rest) = line.trim_start().split_once(char::is_whitespace)?;
        let mut operands = rest.split(',').map(|operand| operand.trim().to_owned());
        let first = operands.next().filter(|first| first.starts_with('%'))?;
        Some((opcode.to_owned(), first, operands.collect()))
    };
    // `smem` is the name of dynamic shared memory in our texts.
    let mut bases: BTreeSet<String> = BTreeSet::from(["smem".to_owned()]);
    let mut writes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for line in lines() {
        let Some((opcode, to, from)) = operands(line) else { continue };
        let moves = ["mov.", "cvt.u32.u64", "cvta."].iter().any(|move_| opcode.starts_with(move_));
        if moves && from.len() == 1 && bases.contains(&from[0]) {
            bases.insert(to.clone());
        }
        writes.entry(to).or_default().push(line);
    }
    let changed = bases.iter().filter_map(|base| writes.get(base)).filter(|writes| writes.len() > 1);
    changed.flat_map(|writes| writes[1..].iter().map(|line| (*line).to_owned())).collect()
}

#[test]
fn a_loop_that_counts_the_base_up_is_found() {
    let ptx = "
        mov.u64 	%rd50, smem;
        cvt.u32.u64 	%r1006, %rd50;
        add.s32 	%r667, %r1006, 256;
    $L__BB0_12:
        add.s32 	%r269, %r678, %r667;
        ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r268}, [%r269];
        add.s32 	%r1006, %r1006, 4096;
        @%p79 bra 	$L__BB0_12;
    ";
    assert_eq!(changes(ptx), ["add.s32 \t%r1006, %r1006, 4096;"]);
    assert!(changes(&ptx.replace("%r1006, %r1006, 4096", "%r1005, %r1005, 4096")).is_empty());
}
