/// A buffer is written once, and read by rows and by columns in turns: no layout lets all reads be wide.
kernel turned(x: f16[64, 64], y: mut f16[6, 64, 64])
    grid [1]
    threads 128
{
    let s = shared_tensor(f16, [64, 64]);
    copy(x, s);
    sync();
    copy(s.T, y[0, .., ..]);
    copy(s, y[1, .., ..]);
    copy(s.T, y[2, .., ..]);
    copy(s, y[3, .., ..]);
    copy(s.T, y[4, .., ..]);
    copy(s, y[5, .., ..]);
}
