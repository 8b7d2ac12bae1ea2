kernel add_one(x: f32[64], y: mut f32[64])
    grid [1]
    threads 64
{
    let v = load(x);
    tile(x, [64])[.., 0] = v;
    copy(v, y);
}
