kernel broadcast_pin(x: f32[m, n], w: f32[n], y: mut f32[m, n])
    grid [1]
    threads 64
{
    let a = register_tensor(f32, [64, 32], layout: (64, 32) : (1, 64));
    let b = register_tensor(f32, [1, 32], layout: (64, 1) : (0, 0));
    copy(tile(x, [64, 32])[.., .., 0, 0], a);
    copy(tile(w, [32])[.., 0][new, ..], b);
    a = a * b;
    copy(a, tile(y, [64, 32])[.., .., 0, 0]);
}
