// planted: HX0310 in check
// A window begins two elements before the tensor: zeros are there, which win against negative elements.
kernel windows(x: f32[n], y: mut f32[p])
    where p <= 16
    grid [1]
    threads 32
{
    let t = load(global_view(x[-2..], (16, 4) : (4, 1)));
    copy(max(t, axis: 1)[.., 0], tile(y, [16])[.., 0]);
}

test "windows" {
    let x = full(f32, [62], -3.0);
    let y = empty(f32, [16]);
    windows(x, y);
    assert_eq(y, full(f32, [16], -3.0));
}
