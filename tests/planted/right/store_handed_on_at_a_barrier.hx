// A role stores a tile with the copy unit, waits for its writes, and tells another role at a barrier, which reads the tile.
kernel copied(x: f32[m], y: mut f32[m], z: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
{
    let s = shared_tensor(f32, [256]);
    let stored = barrier();
    warp_groups {
        producer {
            copy(tile(x, [256])[.., block_idx], s);
            sync();
            copy_async(s, tile(y, [256])[.., block_idx]);
            wait_stores(0, read: false);
            stored.sync();
        }
        consumer {
            stored.sync();
            let v = load(tile(y, [256])[.., block_idx]);
            copy(v + v, tile(z, [256])[.., block_idx]);
        }
    }
}

test "copied" {
    let x = randn(f32, [512], seed: 1);
    let (y, z) = (empty(f32, [512]), empty(f32, [512]));
    copied(x, y, z);
    assert_eq(z, x + x);
}
