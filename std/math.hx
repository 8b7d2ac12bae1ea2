//! Constants.

/// log₂ e: `exp(x)` is `exp2(x * LOG2E)`.
const LOG2E: f32 = 1.4426950408889634;
/// ln 2.
const LN2: f32 = 0.6931471805599453;
/// √½.
const SQRT_HALF: f32 = 0.7071067811865476;
