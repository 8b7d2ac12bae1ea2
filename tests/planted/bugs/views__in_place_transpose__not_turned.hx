// planted: HX0612 in test
// The second tile is moved but not turned. Shows for n > 32: tiles below the diagonal are not transposed in themselves.
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
        sync();
        copy(sa.T, tile(x, [B, B])[.., .., j, i]);
        if i != j {
            copy(sb, tile(x, [B, B])[.., .., i, j]);
        }
    }
}

test "a matrix is transposed" for n in [32, 100, 64, 5] {
    let x = randn(f32, [n, n], seed: 1);
    let old = x.copy();
    in_place_transpose(x);
    assert_eq(x, old.T);
}
