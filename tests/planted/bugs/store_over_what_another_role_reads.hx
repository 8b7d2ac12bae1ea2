// planted: HX0422 in check
// The roles hand tiles on in one round after the other, and the store of a round need not wait until the tile before was read.
kernel copied(x: f32[m], y: mut f32[256], z: mut f32[m])
    where m % 4 == 0
    grid [1]
{
    let s = shared_tensor(f32, [256]);
    let stored = barrier();
    warp_groups {
        producer {
            for i in 0..cdiv(m, 256) {
                copy(tile(x, [256])[.., i], s);
                sync();
                copy_async(s, y);
                wait_stores(0, read: false);
                stored.sync();
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                stored.sync();
                copy(load(y), tile(z, [256])[.., i]);
            }
        }
    }
}

test "copied" {
    let x = randn(f32, [1024], seed: 1);
    let (y, z) = (empty(f32, [256]), empty(f32, [1024]));
    copied(x, y, z);
    assert_eq(z, x);
}
