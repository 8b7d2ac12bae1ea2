// planted: HX0612 in test
// The second tile is read after the first one was stored over it. Shows for n > 32: the lower tile gets its own elements back,
// the upper ones are lost.
/// Transposes a square matrix in place: the block of a pair of tiles (i, j), i >= j, exchanges them; a tile on the diagonal is turned alone.
kernel in_place_transpose<B = 32>(x: mut f32[n, n])
    grid [cdiv(n, B), cdiv(n, B)]
    threads 64
{
    let [i, j] = block_idx;
    if i >= j {
        let (sa, sb) = (shared_tensor(f32, [B, B]), shared_tensor(f32, [B, B]));
        copy(tile(x, [B, B])[.., .., i, j], sa);
        sync();
        copy(sa.T, tile(x, [B, B])[.., .., j, i]);
        sync();
        copy(tile(x, [B, B])[.., .., j, i], sb);
        sync();
        if i != j {
            copy(sb.T, tile(x, [B, B])[.., .., i, j]);
        }
    }
}

test "a matrix is transposed" for n in [32, 100, 64, 5] {
    let x = randn(f32, [n, n], seed: 1);
    let old = x.copy();
    in_place_transpose(x);
    assert_eq(x, old.T);
}
