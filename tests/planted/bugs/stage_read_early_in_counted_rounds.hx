// planted: HX0401 in check
// A tensor says how many rounds there are, so only the run shows that a stage is read before its wait.
kernel early(x: f32[m], count: i32[1], y: mut f32[m])
    where m % 4 == 0
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [256, 2]);
    let (pipe, rounds) = (pipeline(2), scalar(load(count)));
    for i in 0..rounds {
        let k = pipe.acquire();
        copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
        copy(load(s[.., k]), tile(y, [256])[.., i]);
        pipe.wait();
        pipe.release();
    }
}

test "early" {
    let x = randn(f32, [512], seed: 1);
    let y = empty(f32, [512]);
    early(x, full(i32, [1], 2), y);
    assert_eq(y, x);
}
