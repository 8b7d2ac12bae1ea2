// planted: HX0409 in check
// The producer fills a stage for each tile drawn, and the consumer waits for every second one only: the ring is full for ever.
kernel copied(x: f32[m], y: mut f32[m], c: mut i32[1])
    where m % 128 == 0
    grid [2]
{
    let stages = shared_tensor(f32, [128, 2]);
    let (pipe, work) = (pipeline(2), counter(c, m / 128));
    warp_groups {
        producer {
            for t in work {
                let s = pipe.acquire();
                copy_async(tile(x, [128])[.., t], stages[.., s], signal: pipe);
            }
        }
        consumer {
            let round = 0;
            for t in work {
                if round % 2 == 0 {
                    let s = pipe.wait();
                    copy(load(stages[.., s]), tile(y, [128])[.., t]);
                    pipe.release();
                }
                round += 1;
            }
        }
    }
}

test "copied" {
    let x = randn(f32, [2048], seed: 1);
    let (y, c) = (empty(f32, [2048]), zeros(i32, [1]));
    copied(x, y, c);
}
