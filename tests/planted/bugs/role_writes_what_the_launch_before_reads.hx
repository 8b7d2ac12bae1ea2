// planted: HX0416 in check
// Only the producer waits: the consumer's stages are full after that, but its third statement needs none of them.
kernel shifted(x: f32[m], y: mut f32[m], flags: mut f32[128])
    where m % 4 == 0
    grid [1]
{
    let stages = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            wait_for_previous();
            for i in 0..cdiv(m, 256) {
                let s = pipe.acquire();
                copy_async(tile(x, [256])[.., i], stages[.., s], signal: pipe);
            }
        }
        consumer {
            let begun = register_tensor(f32, [128]);
            fill(begun, 1.0);
            copy(begun, flags);
            for i in 0..cdiv(m, 256) {
                let s = pipe.wait();
                copy(load(stages[.., s]), tile(y, [256])[.., i]);
                pipe.release();
            }
        }
    }
}

test "shifted" {
    let x = randn(f32, [1024], seed: 1);
    let (y, flags) = (empty(f32, [1024]), empty(f32, [128]));
    shifted(x, y, flags);
}
