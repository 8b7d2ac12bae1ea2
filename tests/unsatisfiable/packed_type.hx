kernel packed_type<T: type = u4>(x: T[48, 64], y: mut T[64, 48])
    grid [1]
    threads 96
{
    let s = shared_tensor(T, [48, 64]);
    copy(x, s);
    sync();
    copy(s.T, y);
}
