//! A slice of packed elements that begins in the middle of a byte.

kernel shifted(x: u4[m, n], y: mut u4[m, n])
    where m == 16, n == 64
    grid [1]
    threads 32
{
    let s = shared_tensor(u4, [16, 64]);
    copy(x[0..16, 0..64], s);
    sync();
    copy(s[.., 1..33], y[0..16, 0..32]);
}
