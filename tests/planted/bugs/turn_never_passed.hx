// planted: HX0404 in check
// No group passes its turn on, so the second waits for ever.
kernel in_turns(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [128]);
    let order = turns();
    fill(s, 1.0);
    sync();
    warp_groups {
        producer {}
        consumer each 2 (g) {
            for i in 0..3 {
                let v = load(tile(x, [128])[.., 2 * i + g]);
                order.take();
                let sum = load(s) * 0.5 + v;
                copy(sum, s);
                copy(sum, tile(y, [128])[.., 2 * i + g]);
            }
        }
    }
}

test "groups take turns" {
    in_turns(randn(f32, [768], seed: 4), empty(f32, [768]));
}
