// planted: HX0233 in check
// A lookup in a table, written as PTX: the checks of bounds would not see the access.
#[ptx("ld.global.nc.f32 {result}, [{at}];")]
fn looked_up(at: u64) -> f32;

kernel looks_up(at: u64[64], y: mut f32[64])
    grid [1]
    threads 32
{
    copy(looked_up(load(at)), y);
}

test "lookup" {
    let (at, y) = (zeros(u64, [64]), empty(f32, [64]));
    looks_up(at, y);
}
