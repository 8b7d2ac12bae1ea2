//! Compares random expressions with a plain evaluation, thread by thread.

use hx_dtype::{DType, Operator};
use hx_index::Expr;
use hx_tile::Scalar;
use proptest::prelude::*;

use super::build::*;
use crate::cast::cast;
use crate::{Fault, SimError};

const THREADS: usize = 32;
/// The types of the inputs. The last array is never written.
const TYPES: [DType; 4] = [DType::F32, DType::I32, DType::F16, DType::F32];
const MISSING: usize = 3;

/// A pseudo-random choice from a seed.
struct Source(u64);

impl Source {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn scalar(&mut self, dtype: DType, depth: usize) -> Scalar {
        use Operator::*;
        if depth == 0 || self.below(8) == 0 {
            return self.leaf(dtype);
        }
        if dtype == DType::Bool {
            let (of, comparison) = ([DType::F32, DType::I32][self.below(2)], [Lt, Le, Eq][self.below(3)]);
            let args = [self.scalar(of, depth - 1), self.scalar(of, depth - 1)];
            return Scalar::apply(comparison, of, args);
        }
        let kinds: &[Operator] = match dtype {
            DType::I32 => &[Add, Sub, Mul, Div, Rem, Min, Max, Xor, Abs],
            _ => &[Add, Sub, Mul, Div, Min, Max, Fma, Neg, Abs, Exp2],
        };
        match self.below(10) {
            0..3 => {
                let cond = self.scalar(DType::Bool, depth - 1);
                let choices = [self.scalar(dtype, depth - 1), self.scalar(dtype, depth - 1)];
                let [x, y] = choices;
                Scalar::apply(Select, dtype, [cond, x, y])
            }
            3..5 => {
                let from = [DType::F32, DType::I32, DType::F16, DType::Bool][self.below(4)];
                self.scalar(from, depth - 1).cast(dtype)
            }
            _ => {
                let operator = kinds[self.below(kinds.len())];
                let args: Vec<Scalar> =
                    (0..operator.arity()).map(|_| self.scalar(dtype, depth - 1)).collect();
                Scalar::apply(operator, dtype, args)
            }
        }
    }

    fn leaf(&mut self, dtype: DType) -> Scalar {
        let inputs: Vec<usize> = (0..4).filter(|i| TYPES[*i] == dtype).collect();
        match self.below(4) {
            0 | 1 if !inputs.is_empty() => {
                let index = inputs[self.below(inputs.len())];
                // The missing input is chosen rarely, because otherwise few expressions would have a value.
                let index = if index == MISSING && self.below(3) > 0 { 0 } else { index };
                Scalar::Input { index: index as u32, dtype }
            }
            2 => Scalar::constant(self.below(7) as f64 - 3.0, dtype),
            _ => {
                let scale = c(self.below(9) as i64 - 4);
                let value = [thread(), block(0) + c(3), thread() + block(0)][self.below(3)].clone() * scale;
                Scalar::Integer { value, dtype }
            }
        }
    }
}

/// Returns the value in one thread; `None` if it reads a missing register or divides an integer by 0.
fn plain(value: &Scalar, inputs: &[Vec<u64>], thread: usize) -> Option<u64> {
    Some(match value {
        Scalar::Input { index, .. } if *index as usize == MISSING => return None,
        Scalar::Input { index, .. } => inputs[*index as usize][thread],
        Scalar::Const { bits, .. } => *bits,
        Scalar::Integer { value, dtype } => {
            let x = value.eval(&|s| Some(if s.to_string() == "thread" { thread as i64 } else { 0 })).ok()?;
            crate::cast::integer_bits(x, *dtype)
        }
        Scalar::Apply { operator: Operator::Select, args, .. } => {
            let taken = if plain(&args[0], inputs, thread)? != 0 { &args[1] } else { &args[2] };
            plain(taken, inputs, thread)?
        }
        Scalar::Apply { operator, dtype, args } => {
            let args: Option<Vec<u64>> = args.iter().map(|a| plain(a, inputs, thread)).collect();
            let args = args?;
            let divides = matches!(operator, Operator::Div | Operator::Rem) && dtype.is_int();
            if divides && args[1] == 0 {
                return None;
            }
            operator.eval(*dtype, &args)
        }
        Scalar::Bitcast { .. } | Scalar::Inlined(_) => unreachable!("the expressions of this test have none"),
        Scalar::Cast { to, arg } => {
            let mut out = [0];
            cast(arg.dtype(), *to, &mut out, &[plain(arg, inputs, thread)?]);
            out[0]
        }
        Scalar::Index { .. } | Scalar::Param { .. } | Scalar::Var { .. } => return None,
    })
}

fn check(seed: u64, depth: usize) -> Result<(), TestCaseError> {
    let mut source = Source(seed);
    let dtype = [DType::F32, DType::I32][source.below(2)];
    let value = source.scalar(dtype, depth);
    let mut k = Kernel::new(THREADS as u32);
    let mut inputs = Vec::new();
    let mut arguments = Vec::new();
    let mut arrays = Vec::new();
    for (i, dtype) in TYPES.into_iter().enumerate() {
        let array = k.registers(&format!("r{i}"), dtype, 1);
        arrays.push(first(array, 1));
        if i == MISSING {
            continue;
        }
        let numbers: Vec<f64> =
            (0..THREADS).map(|_| (source.below(64) as f64 - 30.0) / [1.0, 8.0][source.below(2)]).collect();
        inputs.push(numbers.iter().map(|x| dtype.encode(*x)).collect::<Vec<u64>>());
        let memory = k.input(&format!("a{i}"), dtype, &[THREADS as i64], &[1]);
        k.push(transfer(&format!("ld.global.b{}", dtype.bits()), first(array, 1), memory, thread()));
        arguments.push(vector(dtype, &numbers));
    }
    let out = k.output("z", dtype, &[THREADS as i64], &[1]);
    let z = k.registers("z", dtype, 1);
    k.op("map", vec![compute(first(z, 1), arrays, value.clone())]);
    k.push(transfer("st.global.b32", first(z, 1), out, thread()));
    arguments.push(vector(dtype, &[0.0; THREADS]));
    let want: Option<Vec<u64>> = (0..THREADS).map(|t| plain(&value, &inputs, t)).collect();
    match (k.run(&mut arguments), want) {
        (
            Err(SimError {
                fault: Fault::UninitializedRegister { .. } | Fault::DivisionByZero { .. }, ..
            }),
            None,
        ) => {}
        (Ok(_), Some(want)) => {
            let want: Vec<f64> = want.iter().map(|b| dtype.decode(*b)).collect();
            let got = values(dtype, &arguments[3]);
            let same = got.iter().zip(&want).all(|(g, w)| g == w || g.is_nan() && w.is_nan());
            prop_assert!(same, "{value}\n{got:?}\n{want:?}");
        }
        (result, want) => prop_assert!(false, "{value}\n{result:?}\n{want:?}"),
    }
    Ok(())
}

proptest! {
    #[test]
    fn expressions_agree_with_plain_evaluation(seed: u64, depth in 1..6usize) {
        check(seed, depth)?;
    }
}

#[test]
fn the_plain_evaluation_knows_the_thread() {
    let value = Scalar::Integer { value: thread() * Expr::constant(2), dtype: DType::I32 };
    assert_eq!(plain(&value, &[], 7), Some(14));
}
