kernel add_one(x: f32[64], y: mut f32[64])
    grid [1]
    threads 64
{
    let v = load(x);
    v[0..32] += 1.0;
    copy(v, y);
}
