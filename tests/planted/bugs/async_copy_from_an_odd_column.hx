// planted: HX0302 in check
// The columns that are copied begin at 3.
kernel part(x: f16[16, 64], y: mut f16[16, 32])
    grid [1]
    threads 32
{
    let s = shared_tensor(f16, [16, 32, 2]);
    let pipe = pipeline(2);
    let filled = pipe.acquire();
    copy_async(x[.., 3..35], s[.., .., filled], signal: pipe);
    let full = pipe.wait();
    copy(s[.., .., full], y);
}

test "part" {
    let x = randn(f16, [16, 64], seed: 1);
    let y = empty(f16, [16, 32]);
    part(x, y);
}
