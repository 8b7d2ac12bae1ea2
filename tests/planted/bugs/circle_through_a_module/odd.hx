use even::even;

fn odd(n: f32) -> f32 {
    even(n - 1.0)
}
