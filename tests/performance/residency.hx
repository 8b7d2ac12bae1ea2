/// Stages of shared memory that leave no room for a second block.
kernel staged<STAGES = 12>(x: f16[m, n], y: mut f16[m]) grid [cdiv(m, 128)] threads 128 {
    let s = shared_tensor(f16, [128, 64, STAGES]);
    let top = register_tensor(f16, [128, 64]);
    fill(top, 0.0);
    for j in 0..STAGES - 1 {
        copy_async(tile(x, [128, 64])[.., .., block_idx, j], s[.., .., j]);
        commit();
    }
    for j in 0..cdiv(n, 64) {
        wait(STAGES - 2);
        sync();
        top = max(top, load(s[.., .., j % STAGES]));
        let next = j + STAGES - 1;
        copy_async(tile(x, [128, 64])[.., .., block_idx, next], s[.., .., next % STAGES]);
        commit();
    }
    copy(max(top, axis: 1)[.., 0], tile(y, [128])[.., block_idx]);
}
