// planted: HX0510 in check
// Two groups with 240 registers leave less than 32 to the third.
kernel tasks(x: f32[m], y: mut f32[m])
    grid [1]
{
    warp_groups {
        producer registers 32 {}
        consumer each 2 (g) registers 240 {
            copy(load(tile(x, [128])[.., g]) * 2.0, tile(y, [128])[.., g]);
        }
    }
}

test "tasks" {
    tasks(randn(f32, [256], seed: 1), empty(f32, [256]));
}
