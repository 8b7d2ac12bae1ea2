use factors::FACTOR;

fn scaled(x: f32) -> f32 {
    x * cast(FACTOR, f32)
}
