kernel too_much_shared<STAGES = 16>(x: f16[m, n], y: mut f16[m, n])
    grid [1]
    threads 128
{
    let s = shared_tensor(f16, [128, 64, STAGES]);
    let t = shared_tensor(f16, [128, 64]);
    for i in 0..STAGES {
        copy(tile(x, [128, 64])[.., .., 0, i], s[.., .., i]);
    }
    sync();
    copy(s[.., .., STAGES - 1], t);
    sync();
    copy(t, tile(y, [128, 64])[.., .., 0, 0]);
}
