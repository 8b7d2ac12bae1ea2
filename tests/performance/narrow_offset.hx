/// The tile of `x` starts at an odd element, so no access of it is aligned.
kernel differences(x: f16[m, n], y: mut f16[m, n])
    grid [m]
    threads 128
{
    let right = load(global_view(x[block_idx, 1..], (2048) : (1)));
    let left = load(global_view(x[block_idx, ..], (2048) : (1)));
    copy(right - left, global_view(y[block_idx, ..], (2048) : (1)));
}
