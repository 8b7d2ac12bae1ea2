// planted: HX0415 in check
// The consumer would take numbers of its own: the tiles that the producer fills are not those that it stores.
kernel copied(x: f32[m], y: mut f32[m], c: mut i32[1])
    where m % 128 == 0
    grid [2]
{
    let stages = shared_tensor(f32, [128, 2]);
    let pipe = pipeline(2);
    let (filled, stored) = (counter(c, m / 128), counter(c, m / 128));
    warp_groups {
        producer {
            for t in filled {
                let s = pipe.acquire();
                copy_async(tile(x, [128])[.., t], stages[.., s], signal: pipe);
            }
        }
        consumer {
            for t in stored {
                let s = pipe.wait();
                copy(load(stages[.., s]), tile(y, [128])[.., t]);
                pipe.release();
            }
        }
    }
}

test "copied" {
    let x = randn(f32, [2048], seed: 1);
    let (y, c) = (empty(f32, [2048]), zeros(i32, [1]));
    copied(x, y, c);
}
