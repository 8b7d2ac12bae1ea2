// planted: HX0620 in test
// The next slot is `at + 1` without the mask. Shows where a run of full slots reaches the end of the table: the slot 256 does not
// exist, is never changed and reads as 0, so the loop goes on for ever (and key 0 seems to be found there).
/// Puts the distinct keys of a vector into a table of open addresses, and tells for each element the slot of its key. Empty slots hold -1; keys are not
/// negative, and the table has more slots, a power of two, than there are distinct keys.
kernel hash_insert<B = 128, SIZE = 256>(keys: i32[n], table: mut i32[SIZE], slots: mut i32[n])
    where SIZE & SIZE - 1 == 0
    grid [cdiv(n, B)]
    threads 64
{
    let key = load(tile(keys, [B], pad: -1)[.., block_idx]);
    let at = cast((cast(key, u32) * 0x9E3779B1) >> 16 & cast(SIZE - 1, u32), i32);
    let open = key >= 0;
    let empty_slot = key * 0 - 1;
    let found = key * 0 - 1;
    while any(open) {
        let old = atomic_cas(scatter(table, where(open, at, -1)), empty_slot, key);
        let here = open && (old == -1 || old == key);
        found = where(here, at, found);
        open = open && !here;
        at = where(open, at + 1, at);
    }
    copy(found, tile(slots, [B])[.., block_idx]);
}

test "keys find their slots" for (n, distinct, step) in [
    (128, 20, 1),
    (500, 100, 1),
    (256, 250, 23),
    (3, 2, 1),
] {
    // Keys far apart fill runs of slots, some to the end of the table.
    let keys = cast(uniform(i32, [n], seed: n, low: 0, high: distinct) * step, i32);
    let table = full(i32, [256], -1);
    let slots = empty(i32, [n]);
    hash_insert(keys, table, slots);
    for i in 0..n {
        assert(slots[i] >= 0 && slots[i] < 256);
        assert_eq(table[slots[i]], keys[i]);
    }
    for i in 0..distinct {
        let key = i * step;
        let there = if sum(where(keys == key, 1, 0)) > 0 { 1 } else { 0 };
        assert_eq(sum(where(table == key, 1, 0)), there);
    }
}
