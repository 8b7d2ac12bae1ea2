// planted: HX0618 in test
// Several elements of a copy go to one element: which one is kept is not determined.
kernel last(x: f32[64], i: i32[64], y: mut f32[8])
    grid [1]
    threads 64
{
    copy(load(x), scatter(y, load(i)));
}

test "last" {
    let i = cast(arange(i32, [64]) % 8, i32);
    let y = zeros(f32, [8]);
    last(arange(f32, [64]), i, y);
}
