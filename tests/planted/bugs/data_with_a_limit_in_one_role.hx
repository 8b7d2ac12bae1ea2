// planted: HX0404 in check
// The producer stops after 1000 tiles if the data ask for more.
kernel squared(x: f32[m], y: mut f32[m], n: i32[1])
    grid [1]
{
    let s = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    let rounds = cast(n[0], i64);
    warp_groups {
        producer {
            for i in 0..min(rounds, 1000) {
                let k = pipe.acquire();
                copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
            }
        }
        consumer {
            for i in 0..rounds {
                let k = pipe.wait();
                let v = load(s[.., k]);
                copy(v * v, tile(y, [256])[.., i]);
                pipe.release();
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [260000], seed: 1);
    let y = empty(f32, [260000]);
    let n = zeros(i32, [1]);
    n[0] = 1010;
    squared(x, y, n);
}
