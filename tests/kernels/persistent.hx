//! Kernels whose blocks take several tiles each: the grid follows the device and not the data.

/// Doubles a matrix, tile by tile. A block takes every tile whose number is its own plus a multiple of the number of blocks.
kernel doubled<BM = 16, BN = 64>(x: f32[m, n], y: mut f32[m, n])
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
    threads 128
{
    let columns = cdiv(n, BN);
    let tiles = cdiv(m, BM) * columns;
    for w in 0..cdiv(tiles - block_idx, grid_dim) {
        let t = block_idx + w * grid_dim;
        let (row, column) = (t / columns, t % columns);
        let r = load(tile(x, [BM, BN])[.., .., row, column]);
        copy(r + r, tile(y, [BM, BN])[.., .., row, column]);
    }
}

test "doubled" for (m, n) in [(16, 64), (1, 1), (100, 72), (64, 256), (333, 130), (0, 8)] {
    let x = randn(f32, [m, n], seed: 1);
    let y = empty(f32, [m, n]);
    doubled(x, y);
    assert_eq(y, x + x);
    let z = empty(f32, [m, n]);
    doubled<BM = 32, BN = 32>(x, z);
    assert_eq(z, x + x);
}

/// The same through stages in shared memory, which the tiles of a block share.
kernel staged<B = 256>(x: f16[n], y: mut f16[n])
    grid [min(2 * multiprocessors, cdiv(n, B))]
    threads 64
{
    let s = shared_tensor(f16, [B, 2]);
    let tiles = cdiv(n, B);
    let rounds = cdiv(tiles - block_idx, grid_dim);
    copy_async(tile(x, [B])[.., block_idx], s[.., 0]);
    commit();
    for w in 0..rounds {
        if w + 1 < rounds {
            copy_async(tile(x, [B])[.., block_idx + (w + 1) * grid_dim], s[.., (w + 1) % 2]);
        }
        commit();
        wait(1);
        sync();
        copy(s[.., w % 2], tile(y, [B])[.., block_idx + w * grid_dim]);
        sync();
    }
}

test "staged" for n in [256, 8, 1000, 2048, 4096, 10000] {
    let x = randn(f16, [n], seed: 3);
    let y = empty(f16, [n]);
    staged(x, y);
    assert_eq(y, x);
}

/// Writes the number of each block in the order of the rows, plus the number of blocks.
kernel numbered(place: mut i32[h, w])
    grid [h, w]
    threads 32
{
    let [i, j] = block_idx;
    let [rows, columns] = grid_dim;
    let one = register_tensor(i32, [1, 1]);
    fill(one, 0);
    copy(one + (i * columns + j + rows * columns), tile(place, [1, 1])[.., .., i, j]);
}

test "numbered" for (h, w) in [(3, 5), (1, 1), (2, 7)] {
    let place = empty(i32, [h, w]);
    numbered(place);
    assert_eq(place, arange(i32, h * w).reshape([h, w]) + h * w);
}
