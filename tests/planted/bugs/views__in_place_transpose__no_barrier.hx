// planted: HX0401 in check
// The `sync()` is missing: the tiles in shared memory are read across the rows that other threads write, and the tiles in memory
// are overwritten before all threads have read them. Shows on every launch.
/// Transposes a square matrix in place: the block of a pair of tiles (i, j), i >= j, exchanges them; a tile on the diagonal is turned alone.
kernel in_place_transpose<B = 32>(x: mut f32[n, n])
    grid [cdiv(n, B), cdiv(n, B)]
    threads 64
{
    let [i, j] = block_idx;
    if i >= j {
        let (sa, sb) = (shared_tensor(f32, [B, B]), shared_tensor(f32, [B, B]));
        copy(tile(x, [B, B])[.., .., i, j], sa);
        copy(tile(x, [B, B])[.., .., j, i], sb);
        copy(sa.T, tile(x, [B, B])[.., .., j, i]);
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
