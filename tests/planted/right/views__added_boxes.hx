/// The overlap-add of frames: y[i · H + j] += x[i, j] · window[j]. Frames of `L` elements begin every `H` elements; each frame goes to memory by a store that
/// adds, and frames overlap. `y` is zeros before the launch.
kernel overlap_add<L = 256, H = 64>(x: f32[frames, L], window: f32[L], y: mut f32[n])
    where n == (frames - 1) * H + L, n % 4 == 0
    grid [min(3, frames)]
    threads 64
{
    let slots = shared_tensor(f32, [L, 2]);
    let shape = load(window);
    for i in 0..cdiv(frames - block_idx, grid_dim) {
        let frame = block_idx + i * grid_dim;
        let v = load(x[frame, ..]) * shape;
        wait_stores(1);
        sync();
        copy(v, slots[.., i % 2]);
        sync();
        copy_async(slots[.., i % 2], y[frame * H..frame * H + L], add: true);
    }
}

test "frames are added" for frames in [1, 2, 5, 12] {
    let n = (frames - 1) * 64 + 256;
    let x = cast(uniform(i32, [frames, 256], seed: 1, low: -8, high: 9), f32);
    let window = cast(uniform(i32, [256], seed: 2, low: 0, high: 4), f32);
    let y = zeros(f32, [n]);
    overlap_add(x, window, y);
    let wanted = zeros(f64, [n]);
    for i in 0..frames {
        wanted[i * 64..i * 64 + 256] = wanted[i * 64..i * 64 + 256] + x[i] * window;
    }
    assert_eq(y, wanted);
}
