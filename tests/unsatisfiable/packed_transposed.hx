kernel packed_transposed(x: u4[48, 64], y: mut u4[64, 48])
    grid [1]
    threads 96
{
    let s = shared_tensor(u4, [48, 64]);
    copy(x, s);
    sync();
    copy(s.T, y);
}
