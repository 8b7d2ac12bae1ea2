// planted: HX0401 in check
// The role that sets the flag does not release what it wrote.
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
            while scalar(atomic_load(flag, order: "acquire")) == 0 {}
            if block_idx == 0 {
                copy(load(s), y);
            }
        }
        consumer {
            let one = register_tensor(i32, [1]);
            fill(one, 1);
            copy(load(x) * 2.0, s);
            atomic_store(flag, one);
        }
    }
}

test "relay" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    relay(x, y);
    assert_eq(y, x * 2.0);
}
