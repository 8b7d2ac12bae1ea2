// planted: HX0233 in check
// The lane decides for the block: lanes of one warp would go different ways to the barrier.
#[ptx("mov.u32 {result}, %laneid;", volatile)]
fn lane(of: i32) -> u32;

kernel decides(x: i32[64], y: mut i32[64])
    grid [1]
    threads 64
{
    let t = load(x);
    let most = reduce(lane(t), axis: 0, op: |a, b| max(a, b));
    let s = shared_tensor(i32, [64]);
    if scalar(most) > 15 {
        copy(t, s);
        sync();
        copy(s, y);
    }
}

test "decides" {
    let (x, y) = (zeros(i32, [64]), zeros(i32, [64]));
    decides(x, y);
    assert_eq(y, x);
}
