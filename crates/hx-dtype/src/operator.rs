//! Elementwise operators: names, arity, result types and exact results on bits.
//!
//! Results follow IEEE 754 with rounding to nearest even, once for each operator. Transcendental functions are computed in `f64`
//! and rounded; a GPU's approximations differ by a few units in the last place. Integers wrap; `/` and `%` floor, and are 0 if
//! the divisor is 0.

use crate::DType;

/// An operator on elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Operator {
    Neg,
    Abs,
    Not,
    Exp,
    Exp2,
    Log,
    Log2,
    Sqrt,
    Rsqrt,
    Tanh,
    Sigmoid,
    Sin,
    Cos,
    Floor,
    Ceil,
    Round,
    Erf,
    Log10,
    Exp10,
    Expm1,
    Log1p,
    Cbrt,
    Sinh,
    Cosh,
    Tan,
    Asin,
    Acos,
    Atan,
    Erfinv,
    Lgamma,
    /// Rounds toward zero.
    Trunc,
    /// 1, -1, or the operand where it is a zero or NaN.
    Sign,
    /// Tests for NaN.
    IsNan,
    /// The number of bits that are 1.
    Popcount,
    /// The number of zeros above the highest bit that is 1.
    Clz,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    /// The upper half of the product, as wide as the operands.
    Mulhi,
    Pow,
    Atan2,
    /// The remainder with the sign of the dividend.
    Fmod,
    /// The magnitude of the first operand with the sign of the second.
    Copysign,
    Lt,
    Le,
    Eq,
    Ne,
    /// `a · b + c`, rounded once.
    Fma,
    /// `where(c, x, y)`.
    Select,
    /// [`Operator::Div`] whose result is rounded to 16 bits or fewer before anything else happens to it, apart from steps that keep relative
    /// errors. The hardware computes it, and the operators below, with a relative error that the rounding covers. See [`Operator::exact`].
    DivApprox,
    SqrtApprox,
    ExpApprox,
    LogApprox,
    Log2Approx,
    SigmoidApprox,
    TanhApprox,
    PowApprox,
}

/// The row of an operator.
struct Row {
    operator: Operator,
    /// The name as a function of the language, or the sign.
    name: &'static str,
    arity: usize,
}

const fn row(operator: Operator, name: &'static str, arity: usize) -> Row {
    Row { operator, name, arity }
}

const ROWS: &[Row] = &[
    row(Operator::Neg, "-", 1),
    row(Operator::Abs, "abs", 1),
    row(Operator::Not, "!", 1),
    row(Operator::Exp, "exp", 1),
    row(Operator::Exp2, "exp2", 1),
    row(Operator::Log, "log", 1),
    row(Operator::Log2, "log2", 1),
    row(Operator::Sqrt, "sqrt", 1),
    row(Operator::Rsqrt, "rsqrt", 1),
    row(Operator::Tanh, "tanh", 1),
    row(Operator::Sigmoid, "sigmoid", 1),
    row(Operator::Sin, "sin", 1),
    row(Operator::Cos, "cos", 1),
    row(Operator::Floor, "floor", 1),
    row(Operator::Ceil, "ceil", 1),
    row(Operator::Round, "round", 1),
    row(Operator::Erf, "erf", 1),
    row(Operator::Log10, "log10", 1),
    row(Operator::Exp10, "exp10", 1),
    row(Operator::Expm1, "expm1", 1),
    row(Operator::Log1p, "log1p", 1),
    row(Operator::Cbrt, "cbrt", 1),
    row(Operator::Sinh, "sinh", 1),
    row(Operator::Cosh, "cosh", 1),
    row(Operator::Tan, "tan", 1),
    row(Operator::Asin, "asin", 1),
    row(Operator::Acos, "acos", 1),
    row(Operator::Atan, "atan", 1),
    row(Operator::Erfinv, "erfinv", 1),
    row(Operator::Lgamma, "lgamma", 1),
    row(Operator::Trunc, "trunc", 1),
    row(Operator::Sign, "sign", 1),
    row(Operator::IsNan, "isnan", 1),
    row(Operator::Popcount, "popcount", 1),
    row(Operator::Clz, "clz", 1),
    row(Operator::Add, "+", 2),
    row(Operator::Sub, "-", 2),
    row(Operator::Mul, "*", 2),
    row(Operator::Div, "/", 2),
    row(Operator::Rem, "%", 2),
    row(Operator::Min, "min", 2),
    row(Operator::Max, "max", 2),
    row(Operator::And, "&", 2),
    row(Operator::Or, "|", 2),
    row(Operator::Xor, "^", 2),
    row(Operator::Shl, "<<", 2),
    row(Operator::Shr, ">>", 2),
    row(Operator::Mulhi, "mulhi", 2),
    row(Operator::Pow, "pow", 2),
    row(Operator::Atan2, "atan2", 2),
    row(Operator::Fmod, "fmod", 2),
    row(Operator::Copysign, "copysign", 2),
    row(Operator::Lt, "<", 2),
    row(Operator::Le, "<=", 2),
    row(Operator::Eq, "==", 2),
    row(Operator::Ne, "!=", 2),
    row(Operator::Fma, "fma", 3),
    row(Operator::Select, "where", 3),
    row(Operator::DivApprox, "div_approx", 2),
    row(Operator::SqrtApprox, "sqrt_approx", 1),
    row(Operator::ExpApprox, "exp_approx", 1),
    row(Operator::LogApprox, "log_approx", 1),
    row(Operator::Log2Approx, "log2_approx", 1),
    row(Operator::SigmoidApprox, "sigmoid_approx", 1),
    row(Operator::TanhApprox, "tanh_approx", 1),
    row(Operator::PowApprox, "pow_approx", 2),
];

impl Operator {
    /// Returns the name as a function of the language, or the sign.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the number of operands.
    pub fn arity(self) -> usize {
        self.row().arity
    }

    fn row(self) -> &'static Row {
        // Every operator has its row, which a test checks by enumeration.
        ROWS.iter().find(|r| r.operator == self).unwrap_or(&ROWS[0])
    }

    /// Returns the operator that an approximate one stands for; every other operator is its own. The simulator and all proofs compute with it.
    pub fn exact(self) -> Operator {
        match self {
            Operator::DivApprox => Operator::Div,
            Operator::SqrtApprox => Operator::Sqrt,
            Operator::ExpApprox => Operator::Exp,
            Operator::LogApprox => Operator::Log,
            Operator::Log2Approx => Operator::Log2,
            Operator::SigmoidApprox => Operator::Sigmoid,
            Operator::TanhApprox => Operator::Tanh,
            Operator::PowApprox => Operator::Pow,
            other => other,
        }
    }

    /// Returns the approximate form of the operator, if it has one.
    pub fn approximate(self) -> Option<Operator> {
        let mut forms = ROWS.iter().map(|row| row.operator).filter(|form| form.exact() == self);
        forms.find(|form| *form != self)
    }

    /// Reports whether the operator compares or tests its operands: the result is `bool`.
    pub fn is_comparison(self) -> bool {
        matches!(self, Operator::Lt | Operator::Le | Operator::Eq | Operator::Ne | Operator::IsNan)
    }

    /// Reports whether the operator is defined on floating-point operands only.
    pub fn is_transcendental(self) -> bool {
        use Operator::*;
        matches!(
            self.exact(),
            Exp | Exp2
                | Log
                | Log2
                | Sqrt
                | Rsqrt
                | Tanh
                | Sigmoid
                | Sin
                | Cos
                | Erf
                | Log10
                | Exp10
                | Expm1
                | Log1p
                | Cbrt
                | Sinh
                | Cosh
                | Tan
                | Asin
                | Acos
                | Atan
                | Erfinv
                | Lgamma
                | Pow
                | Atan2
                | Fmod
                | Copysign
                | IsNan
        )
    }

    /// Reports whether the operator works on the bits of whole registers: on integers of 32 and of 64 bits.
    pub fn is_of_words(self) -> bool {
        matches!(self, Operator::Popcount | Operator::Clz | Operator::Mulhi)
    }

    /// Returns the type of the result for operands of type `operand` (for `where`: the type of its choices).
    pub fn result(self, operand: DType) -> DType {
        if self.is_comparison() { DType::Bool } else { operand }
    }

    /// Evaluates the operator on bits of `dtype`. The condition of `where` is a `bool`.
    ///
    /// Missing operands count as 0; the language and the lowering check the arity.
    pub fn eval(self, dtype: DType, args: &[u64]) -> u64 {
        let arg = |i: usize| args.get(i).copied().unwrap_or(0);
        match self {
            Operator::Select => return if arg(0) != 0 { arg(1) } else { arg(2) },
            Operator::Not => return u64::from(arg(0) == 0),
            _ => {}
        }
        if dtype == DType::U64
            && let Some(value) = self.unsigned(arg(0), arg(1))
        {
            return value;
        }
        if dtype == DType::Bool || !dtype.is_float() {
            let operands = [0, 1, 2].map(|i| signed(dtype, arg(i)));
            return self.integer(dtype, operands);
        }
        let [x, y, z] = [0, 1, 2].map(|i| dtype.decode(arg(i)));
        if self.is_comparison() {
            return u64::from(match self {
                Operator::Lt => x < y,
                Operator::Le => x <= y,
                Operator::Eq => x == y,
                Operator::IsNan => x.is_nan(),
                _ => x != y,
            });
        }
        self.float(dtype, [x, y, z])
    }

    /// Computes in `f64`. Sums and products of two operands of at most 32 bits are exact there, or their double rounding is
    /// innocuous.
    fn float(self, dtype: DType, [x, y, z]: [f64; 3]) -> u64 {
        use Operator::*;
        let value = match self.exact() {
            Neg => -x,
            Abs => x.abs(),
            Exp => x.exp(),
            Exp2 => x.exp2(),
            Log => x.ln(),
            Log2 => x.log2(),
            Sqrt => x.sqrt(),
            Rsqrt => 1.0 / x.sqrt(),
            Tanh => x.tanh(),
            Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Sin => x.sin(),
            Cos => x.cos(),
            Floor => x.floor(),
            Ceil => x.ceil(),
            Round => x.round_ties_even(),
            Erf => erf(x),
            Log10 => x.log10(),
            Exp10 => 10f64.powf(x),
            Expm1 => x.exp_m1(),
            Log1p => x.ln_1p(),
            Cbrt => x.cbrt(),
            Sinh => x.sinh(),
            Cosh => x.cosh(),
            Tan => x.tan(),
            Asin => x.asin(),
            Acos => x.acos(),
            Atan => x.atan(),
            Erfinv => erfinv(x),
            Lgamma => libm::lgamma(x),
            Trunc => x.trunc(),
            Sign if x > 0.0 => 1.0,
            Sign if x < 0.0 => -1.0,
            Sign => x,
            Add => x + y,
            Sub => x - y,
            Mul => x * y,
            Div => x / y,
            Rem => x - (x / y).floor() * y,
            Pow => x.powf(y),
            Atan2 => x.atan2(y),
            Fmod => x % y,
            Copysign => x.copysign(y),
            // As on the hardware: -0 orders below 0, and a NaN yields the other operand.
            Min if x == y => {
                if x.is_sign_negative() {
                    x
                } else {
                    y
                }
            }
            Max if x == y => {
                if x.is_sign_negative() {
                    y
                } else {
                    x
                }
            }
            Min => x.min(y),
            Max => x.max(y),
            Fma if dtype == DType::F32 => return u64::from((x as f32).mul_add(y as f32, z as f32).to_bits()),
            Fma if dtype.bits() < 32 => fused_to_odd(x, y, z),
            Fma => x.mul_add(y, z),
            _ => f64::NAN,
        };
        dtype.encode(value)
    }

    /// Computes the operators whose result on 64 bits depends on whether the highest bit is a sign. Returns `None` for all
    /// others, and for a division by 0.
    fn unsigned(self, x: u64, y: u64) -> Option<u64> {
        Some(match self {
            Operator::Div if y != 0 => x / y,
            Operator::Rem if y != 0 => x % y,
            Operator::Min => x.min(y),
            Operator::Max => x.max(y),
            Operator::Shr if y < 64 => x >> y,
            Operator::Shr => 0,
            Operator::Mulhi => ((u128::from(x) * u128::from(y)) >> 64) as u64,
            Operator::Lt => u64::from(x < y),
            Operator::Le => u64::from(x <= y),
            Operator::Abs => x,
            Operator::Sign => u64::from(x != 0),
            _ => return None,
        })
    }

    fn integer(self, dtype: DType, [x, y, z]: [i64; 3]) -> u64 {
        use Operator::*;
        // A shift by a negative amount or by the width of the type moves every bit out.
        let inside = u32::try_from(y).ok().filter(|by| *by < dtype.bits());
        let value = match self {
            Neg => x.wrapping_neg(),
            Abs => x.wrapping_abs(),
            Sign => x.signum(),
            Add => x.wrapping_add(y),
            Sub => x.wrapping_sub(y),
            Mul => x.wrapping_mul(y),
            Div if y != 0 => floor_div(x, y),
            Rem if y != 0 => x.wrapping_sub(floor_div(x, y).wrapping_mul(y)),
            Div | Rem => 0,
            Min => x.min(y),
            Max => x.max(y),
            And => x & y,
            Or => x | y,
            Xor => x ^ y,
            Shl => inside.map_or(0, |by| x << by),
            Shr => x >> inside.unwrap_or(63),
            Mulhi => ((i128::from(x) * i128::from(y)) >> dtype.bits()) as i64,
            Popcount => i64::from((x as u64 & mask(dtype)).count_ones()),
            Clz => i64::from((x as u64 & mask(dtype)).leading_zeros() + dtype.bits()) - 64,
            Lt => i64::from(x < y),
            Le => i64::from(x <= y),
            Eq => i64::from(x == y),
            Ne => i64::from(x != y),
            IsNan => 0,
            Fma => x.wrapping_mul(y).wrapping_add(z),
            _ => x,
        };
        let result = if self.is_comparison() { DType::Bool } else { dtype };
        (value as u64) & mask(result)
    }
}

fn mask(dtype: DType) -> u64 {
    if dtype.bits() == 64 { u64::MAX } else { (1 << dtype.bits()) - 1 }
}

/// Returns the bits as a number, with the sign of a signed type.
fn signed(dtype: DType, bits: u64) -> i64 {
    if dtype.is_signed() {
        let up = 64 - dtype.bits();
        ((bits << up) as i64) >> up
    } else {
        bits as i64
    }
}

fn floor_div(x: i64, y: i64) -> i64 {
    let q = x.wrapping_div(y);
    if x.wrapping_rem(y) != 0 && (x < 0) != (y < 0) { q - 1 } else { q }
}

/// Returns the number whose error function is `x`: an infinity for 1 and -1, NaN outside of them. The first approximation is that of M. Giles,
/// "Approximating the erfinv function"; steps of Newton's method on the error function, or on its complement near 1, refine it.
pub fn erfinv(x: f64) -> f64 {
    let a = x.abs();
    if a >= 1.0 || a.is_nan() {
        return if a == 1.0 { f64::INFINITY.copysign(x) } else { f64::NAN };
    }
    let w = -((1.0 - a) * (1.0 + a)).ln();
    let horner = |at: f64, by: &[f64]| by.iter().fold(0.0, |sum, by| sum * at + by);
    let first = if w < 5.0 {
        horner(
            w - 2.5,
            &[
                2.81022636e-08,
                3.43273939e-07,
                -3.5233877e-06,
                -4.39150654e-06,
                0.00021858087,
                -0.00125372503,
                -0.00417768164,
                0.246640727,
                1.50140941,
            ],
        )
    } else {
        horner(
            w.sqrt() - 3.0,
            &[
                -0.000200214257,
                0.000100950558,
                0.00134934322,
                -0.00367342844,
                0.00573950773,
                -0.0076224613,
                0.00943887047,
                1.00167406,
                2.83297682,
            ],
        )
    };
    let refined = (0..3).fold(a * first, |root, _| {
        let slope = std::f64::consts::FRAC_2_SQRT_PI * (-root * root).exp();
        let miss = if a < 0.5 { libm::erf(root) - a } else { (1.0 - a) - libm::erfc(root) };
        if slope > 0.0 { root - miss / slope } else { root }
    });
    refined.copysign(x)
}

/// Computes the error function to full double precision: by its series near 0, elsewhere by the continued fraction of its
/// complement.
fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a.is_nan() {
        return x;
    }
    let value = if a < 2.5 {
        // Uses erf(x) = 2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (1·3·…·(2n+1)), whose terms are all positive.
        let (mut term, mut sum, mut n) = (a, a, 0.0);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * a * a / (2.0 * n + 1.0);
            sum += term;
        }
        std::f64::consts::FRAC_2_SQRT_PI * (-a * a).exp() * sum
    } else if a < 6.0 {
        let fraction = (1..=60).rev().fold(a, |f, n| a + f64::from(n) / 2.0 / f);
        1.0 - (-a * a).exp() / (fraction * std::f64::consts::PI.sqrt())
    } else {
        1.0
    };
    value.copysign(x)
}

/// Returns `x · y + z` of numbers whose product is exact in f64, such that a second rounding to a type of at most 24 digits gives
/// what one rounding would: an inexact sum ends in a binary digit 1 (rounding to odd; Boldo and Melquiond, 2008).
pub fn fused_to_odd(x: f64, y: f64, z: f64) -> f64 {
    let product = x * y;
    let sum = product + z;
    // The rest of the sum, which is a number of f64 again (Knuth, 2Sum).
    let second = sum - product;
    let rest = (product - (sum - second)) + (z - second);
    if rest == 0.0 || !rest.is_finite() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    if rest > 0.0 { sum.next_up() } else { sum.next_down() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_has_its_row_and_name() {
        for row in ROWS {
            let same = |r: &&Row| (r.name, r.arity) == (row.name, row.arity);
            assert_eq!(ROWS.iter().filter(same).count(), 1, "{}", row.name);
            assert_eq!((row.operator.name(), row.operator.arity()), (row.name, row.arity));
        }
    }

    fn f16(operator: Operator, args: &[f64]) -> f64 {
        let bits: Vec<u64> = args.iter().map(|x| DType::F16.encode(*x)).collect();
        DType::F16.decode(operator.eval(DType::F16, &bits))
    }

    #[test]
    fn floats_round_once() {
        assert_eq!(f16(Operator::Add, &[2048.0, 1.0]), 2048.0);
        assert_eq!(f16(Operator::Add, &[2048.0, 3.0]), 2052.0);
        assert_eq!(f16(Operator::Fma, &[3.0, 5.0, 0.5]), 15.5);
        // The product lies halfway between two numbers of the type. The sum is past the last digit of f64, and decides.
        let bf16 = |args: [f64; 3]| {
            let bits = args.map(|x| DType::Bf16.encode(x));
            DType::Bf16.decode(Operator::Fma.eval(DType::Bf16, &bits))
        };
        assert_eq!(bf16([1.0078125, 1.5, -1e-30]), 1.5078125);
        assert_eq!(bf16([1.0078125, -1.5, 1e-30]), -1.5078125);
        assert_eq!(bf16([1.0078125, 1.5, 1e-30]), 1.515625);
        assert_eq!(bf16([1.0078125, 1.5, 0.0]), 1.515625);
        assert_eq!(f16(Operator::Max, &[f64::NAN, 1.0]), 1.0);
        assert_eq!(f16(Operator::Rem, &[-1.0, 8.0]), 7.0);
        for zeros in [[0.0, -0.0], [-0.0, 0.0]] {
            assert!(f16(Operator::Min, &zeros).is_sign_negative());
            assert!(f16(Operator::Max, &zeros).is_sign_positive());
        }
    }

    #[test]
    fn integers_wrap_and_floor() {
        let i32 = |op: Operator, x: i64, y: i64| {
            let bits = [x, y].map(|v| v as u64 & u64::from(u32::MAX));
            signed(DType::I32, op.eval(DType::I32, &bits))
        };
        assert_eq!(i32(Operator::Div, -7, 2), -4);
        assert_eq!(i32(Operator::Rem, -7, 2), 1);
        assert_eq!(i32(Operator::Add, i64::from(i32::MAX), 1), i64::from(i32::MIN));
        assert_eq!(i32(Operator::Lt, -1, 0), 1);
        for (x, y, quotient, rest) in [
            (7, 0, 0, 0),
            (-7, 0, 0, 0),
            (i64::from(i32::MIN), -1, i64::from(i32::MIN), 0),
            (7, -2, -4, -1),
            (-7, -2, 3, -1),
        ] {
            assert_eq!((i32(Operator::Div, x, y), i32(Operator::Rem, x, y)), (quotient, rest), "{x} by {y}");
        }
    }

    #[test]
    fn the_highest_bit_of_u64_is_no_sign() {
        let u64 = |operator: Operator, x: u64, y: u64| operator.eval(DType::U64, &[x, y]);
        assert_eq!(u64(Operator::Min, u64::MAX, 3), 3);
        assert_eq!(u64(Operator::Max, u64::MAX, 3), u64::MAX);
        assert_eq!(u64(Operator::Lt, u64::MAX, 3), 0);
        assert_eq!(u64(Operator::Div, u64::MAX, 2), i64::MAX as u64);
        assert_eq!(u64(Operator::Rem, u64::MAX, 10), 5);
        assert_eq!(u64(Operator::Shr, u64::MAX, 63), 1);
        assert_eq!(u64(Operator::Abs, u64::MAX, 0), u64::MAX);
        assert_eq!(u64(Operator::Div, 1, 0), 0);
    }

    #[test]
    fn bits_of_integers() {
        let eval = |op: Operator, dtype: DType, x: i64, y: i64| {
            let bits = [x, y].map(|v| v as u64 & mask(dtype));
            op.eval(dtype, &bits)
        };
        assert_eq!(eval(Operator::Shl, DType::I32, 3, 31), 0x8000_0000);
        assert_eq!(eval(Operator::Shl, DType::I64, 3, 64), 0);
        assert_eq!(eval(Operator::Shl, DType::I32, 3, -1), 0);
        assert_eq!(eval(Operator::Shr, DType::I32, -8, 1), 0xffff_fffc);
        assert_eq!(eval(Operator::Shr, DType::I32, -8, 40), 0xffff_ffff);
        assert_eq!(eval(Operator::Shr, DType::U32, -8, 1), 0x7fff_fffc);
        assert_eq!(eval(Operator::Shr, DType::U64, -8, 64), 0);
        assert_eq!(eval(Operator::Popcount, DType::I32, -1, 0), 32);
        assert_eq!(eval(Operator::Popcount, DType::U64, -1, 0), 64);
        assert_eq!(eval(Operator::Clz, DType::I32, 0, 0), 32);
        assert_eq!(eval(Operator::Clz, DType::U64, 1, 0), 63);
        assert_eq!(eval(Operator::Mulhi, DType::U32, -1, -1), 0xffff_fffe);
        assert_eq!(eval(Operator::Mulhi, DType::I32, -1, 5), 0xffff_ffff);
        assert_eq!(eval(Operator::Mulhi, DType::U64, -1, 2), 1);
        assert_eq!(eval(Operator::Mulhi, DType::I64, i64::MIN, 2), u64::MAX);
    }

    #[test]
    fn erf_at_known_points() {
        // The values are those of the NIST handbook, table 7.
        for (x, want) in
            [(0.5, 0.520_499_877_813_046_5), (1.0, 0.842_700_792_949_714_9), (3.0, 0.999_977_909_503_001_4)]
        {
            assert!((erf(x) - want).abs() < 1e-15, "{x}");
            assert!((erf(-x) + want).abs() < 1e-15, "{x}");
        }
    }

    #[test]
    fn erfinv_is_the_inverse_of_erf() {
        for root in (1..=500).map(|at| f64::from(at) * 0.01) {
            // Near 1 the argument has few bits left for the root.
            let slope = std::f64::consts::FRAC_2_SQRT_PI * (-root * root).exp();
            let bound = 4.0 * f64::EPSILON * (root + 1.0 / slope);
            for sign in [1.0, -1.0] {
                let found = erfinv(libm::erf(sign * root));
                assert!((found - sign * root).abs() <= bound, "{root}: {found}");
            }
        }
        assert!(erfinv(1.0) == f64::INFINITY && erfinv(-1.0) == f64::NEG_INFINITY && erfinv(1.5).is_nan());
        assert!(erfinv(0.0) == 0.0 && erfinv(-0.0).is_sign_negative() && erfinv(f64::NAN).is_nan());
    }
}
