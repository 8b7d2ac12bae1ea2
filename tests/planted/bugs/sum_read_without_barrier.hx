// planted: HX0618 in test
// The histogram is read by other threads than those that count.
kernel counts(x: i32[64], y: mut i32[64], z: mut i32[64])
    grid [1]
    threads 32
{
    let mine = register_tensor(i32, [64], layout: (32, 2) : (2, 1));
    copy(x, mine);
    atomic_add(y, mine);
    let all = register_tensor(i32, [64], layout: (32, 2) : (1, 32));
    copy(y, all);
    copy(all, z);
}

test "counts" {
    let x = ones(i32, [64]);
    let y = zeros(i32, [64]);
    let z = empty(i32, [64]);
    counts(x, y, z);
}
