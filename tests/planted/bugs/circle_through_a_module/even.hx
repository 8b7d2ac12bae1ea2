use odd::odd;

fn even(n: f32) -> f32 {
    odd(n - 1.0)
}
