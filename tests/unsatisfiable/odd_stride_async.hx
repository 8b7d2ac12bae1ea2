kernel odd_stride_async(x: f16[m, 33], y: mut f16[m, 32])
    grid [1]
    threads 64
{
    let s = shared_tensor(f16, [16, 32, 2]);
    let pipe = pipeline(2);
    let filled = pipe.acquire();
    copy_async(tile(x, [16, 32])[.., .., 0, 0], s[.., .., filled], signal: pipe);
    let full = pipe.wait();
    copy(s[.., .., full], tile(y, [16, 32])[.., .., 0, 0]);
}
