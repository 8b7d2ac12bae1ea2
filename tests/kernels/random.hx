//! The random numbers of single words.

use std::random::uniform_of;

/// The random numbers of words.
kernel uniforms(words: u32[n], y: mut f32[n])
    grid [cdiv(n, 128)]
    threads 128
{
    copy(uniform_of(load(tile(words, [128])[.., block_idx])), tile(y, [128])[.., block_idx]);
}

test "random numbers are from 0 up to 1" {
    let words = cast([0, 1, 0x7fffffff, 0x7fffffc0, 0x80000000, 0x80000001, 0xffffffff], u32);
    let y = empty(f32, [7]);
    uniforms(words, y);
    assert_eq(y[0], 0.0);
    assert_eq(y[6], 0.0);
    assert(min(y) >= 0.0 && max(y) < 1.0 && max(y) > 0.9999999);
}
