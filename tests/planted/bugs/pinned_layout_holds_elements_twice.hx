// planted: HX0303 in check
// Lanes of a group step one column while each holds four, so that a column has up to four owners and counts as often in a sum.
kernel totals(x: f32[8, 7], y: mut f32[8])
    grid [1]
    threads 32
{
    let t = register_tensor(f32, [8, 7], layout: ((8, 4), 4) : ((1, 8), 8));
    copy(x, t);
    copy(sum(t, axis: 1)[.., 0], y);
}

test "sums of ones" {
    let x = ones(f32, [8, 7]);
    let y = empty(f32, [8]);
    totals(x, y);
    assert_eq(y, full(f32, [8], 7.0));
}
