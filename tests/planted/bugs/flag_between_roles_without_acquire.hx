// planted: HX0401 in check
// The role that finds the flag does not acquire what the other wrote.
kernel relay(x: f32[128], y: mut f32[128])
    grid [2]
{
    let flag = shared_tensor(i32, [1]);
    let s = shared_tensor(f32, [128]);
    let none = register_tensor(i32, [1]);
    fill(none, 0);
    copy(none, flag);
    sync();
    warp_groups {
        consumer {
            while scalar(atomic_load(flag)) == 0 {}
            if block_idx == 0 {
                copy(load(s), y);
            }
        }
        consumer {
            let one = register_tensor(i32, [1]);
            fill(one, 1);
            copy(load(x) * 2.0, s);
            atomic_store(flag, one, order: "release");
        }
    }
}

test "relay" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    relay(x, y);
    assert_eq(y, x * 2.0);
}
