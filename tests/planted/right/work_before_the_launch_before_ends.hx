// The block fills its table while the launch before still runs; a role without global memory never waits.
kernel tables(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
{
    allow_next();
    let table = shared_tensor(f32, [256]);
    let ring = shared_tensor(f32, [256, 1]);
    let pipe = pipeline(1);
    let zero = register_tensor(f32, [256]);
    fill(zero, 2.0);
    copy(zero, table);
    sync();
    warp_groups {
        producer {
            wait_for_previous();
            pipe.acquire();
            copy_async(tile(x, [256])[.., block_idx], ring[.., 0], signal: pipe);
        }
        consumer {
            pipe.wait();
            let t = load(ring[.., 0]) * load(table);
            wait_for_previous();
            copy(t, tile(y, [256])[.., block_idx]);
            pipe.release();
        }
        consumer {
            let own = shared_tensor(f32, [128]);
            fill(own, 1.0);
            sync();
            assert(scalar(max(load(own), axis: 0)) == 1.0);
        }
    }
}

test "tables" {
    let x = randn(f32, [1000], seed: 1);
    let y = empty(f32, [1000]);
    tables(x, y);
    tables(y, x);
    assert_close(x, y * 2.0, rtol: 0.0, atol: 0.0);
}
