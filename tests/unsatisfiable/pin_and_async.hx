kernel pin_and_async(x: f16[m, n], y: mut f16[m, n])
    grid [1]
    threads 128
{
    // Rows of 65 elements: every second one begins between two words.
    let s = shared_tensor(f16, [64, 64], layout: (64, 64) : (65, 1));
    copy_async(tile(x, [64, 64])[.., .., 0, 0], s);
    commit();
    wait(0);
    sync();
    copy(s, tile(y, [64, 64])[.., .., 0, 0]);
}
