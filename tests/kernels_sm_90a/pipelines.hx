//! Pipelines that all threads of a block use together: every thread copies into a stage, waits for it, and gives it back.

/// Copies a vector through a ring of stages. The first stages are filled ahead, so all but one are in flight at a time.
kernel ring<T = 256, S = 3>(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [1]
    threads 64
{
    let stages = shared_tensor(f32, [T, S]);
    let (n, pipe) = (cdiv(m, T), pipeline(S));
    for i in 0..min(n, S - 1) {
        let s = pipe.acquire();
        copy_async(tile(x, [T])[.., i], stages[.., s], signal: pipe);
    }
    for i in 0..n {
        if i + S - 1 < n {
            let s = pipe.acquire();
            copy_async(tile(x, [T])[.., i + S - 1], stages[.., s], signal: pipe);
        }
        let s = pipe.wait();
        copy(load(stages[.., s]), tile(y, [T])[.., i]);
        pipe.release();
    }
}

test "a ring of stages" {
    let x = randn(f32, [256 * 7 - 12]);
    for m in [4, 256, 508, 512, 768, 1024, 256 * 7 - 12] {
        let y = empty(f32, [m]);
        ring(x[..m], y);
        assert_eq(y, x[..m]);
    }
}

/// The ring lies where the tile before it lay, whose threads read it as they read everything: a fence parts the two.
kernel used_twice<B = 64, S = 2>(x: f32[B, B], y: f32[m, B], z: mut f32[m, B])
    grid [1]
    threads 128
{
    let turned = shared_tensor(f32, [B, B]);
    copy(x, turned);
    sync();
    let added = load(turned.T);
    sync();
    let stages = shared_tensor(f32, [B, B, S]);
    let pipe = pipeline(S);
    for i in 0..cdiv(m, B) {
        let s = pipe.acquire();
        copy_async(tile(y, [B, B])[.., .., i, 0], stages[.., .., s], signal: pipe);
        let s = pipe.wait();
        copy(load(stages[.., .., s]) + added, tile(z, [B, B])[.., .., i, 0]);
        pipe.release();
    }
}

test "a ring in memory that was used before" {
    let (x, y) = (randn(f32, [64, 64], seed: 1), randn(f32, [200, 64], seed: 2));
    let z = empty(f32, [200, 64]);
    used_twice(x, y, z);
    for i in 0..4 {
        let rows = min(200, 64 * i + 64);
        let wanted = y[64 * i..rows, ..] + x.T[..rows - 64 * i, ..];
        assert_close(z[64 * i..rows, ..], wanted, rtol: 1e-6, atol: 1e-6);
    }
}

/// Seven rows of eight numbers: a box is the whole stage, because the second of two boxes would begin anywhere.
kernel seven_rows<R = 7, S = 3>(x: f64[m, 8], y: mut f64[m, 8])
    grid [1]
    threads 32
{
    let stages = shared_tensor(f64, [R, 8, S]);
    let pipe = pipeline(S);
    for i in 0..cdiv(m, R) {
        let s = pipe.acquire();
        copy_async(tile(x, [R, 8])[.., .., i, 0], stages[.., .., s], signal: pipe);
        let s = pipe.wait();
        copy(load(stages[.., .., s]), tile(y, [R, 8])[.., .., i, 0]);
        pipe.release();
    }
}

test "stages of seven rows" {
    let x = randn(f64, [45, 8], seed: 3);
    let y = empty(f64, [45, 8]);
    seven_rows(x, y);
    assert_eq(y, x);
}
