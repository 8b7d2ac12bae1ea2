// planted: HX0310 in check
// Zeros change no running sum, but the sums behind the last element are the total again and again.
kernel sum_of_sums(x: f32[n], y: mut f32[1])
    where n <= 64
    grid [1]
    threads 32
{
    let t = load(tile(x, [64])[.., 0]);
    copy(sum(scan(t, axis: 0, op: |a, b| a + b), axis: 0), y);
}

test "sum of sums" {
    let y = empty(f32, [1]);
    sum_of_sums(full(f32, [10], 1.0), y);
    assert_eq(y[0], 55.0);
}
