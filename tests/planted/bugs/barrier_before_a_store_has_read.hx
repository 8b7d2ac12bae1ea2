// planted: HX0401 in check
// The copy unit may still read the tile when the other role hears that it is free.
kernel stored(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, 64)]
{
    let squares = shared_tensor(f16, [64, 64]);
    let (full, free) = (barrier(), barrier());
    warp_groups {
        producer {
            for j in 0..cdiv(n, 64) {
                full.sync();
                copy_async(squares, tile(y, [64, 64])[.., .., block_idx, j]);
                free.arrive();
            }
        }
        consumer 2 {
            for j in 0..cdiv(n, 64) {
                let v = load(tile(x, [64, 64])[.., .., block_idx, j]);
                copy(v * v, squares);
                full.arrive();
                free.sync();
            }
        }
    }
}

test "stored" {
    let x = randn(f16, [64, 256], seed: 1);
    let y = empty(f16, [64, 256]);
    stored(x, y);
    assert_close(y, x * x, ulp: 1);
}
