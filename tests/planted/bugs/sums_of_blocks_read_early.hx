// planted: HX0618 in test
// Each block reads a total to which other blocks still add: a barrier orders one block only.
kernel total(x: f32[m], y: mut f32[1], z: mut f32[m])
    grid [cdiv(m, 64)]
    threads 32
{
    let i = block_idx;
    let t = load(tile(x, [64])[.., i]);
    atomic_add(y, sum(t, axis: 0));
    sync();
    copy(t / load(y), tile(z, [64])[.., i]);
}

test "total" {
    let x = uniform(f32, [256], low: 1.0, high: 2.0, seed: 1);
    let y = zeros(f32, [1]);
    let z = empty(f32, [256]);
    total(x, y, z);
}
