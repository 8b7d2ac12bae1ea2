kernel too_many_registers(x: f32[m, n], y: mut f32[m, n])
    grid [1]
    threads 32
{
    let a = load(tile(x, [128, 256])[.., .., 0, 0]);
    copy(a * 2.0, tile(y, [128, 256])[.., .., 0, 0]);
}
