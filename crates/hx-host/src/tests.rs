//! Tests of tensors, arithmetic, files and comparison, without the evaluator.

mod archives;
mod arithmetic;
mod benches;
mod comparison;
mod domains;
mod edges;
mod evaluation;
mod files;
mod layouts;
mod recipes;
mod tensors;

use hx_dtype::DType;

use crate::dense::{Dense, Numbers};
use crate::tensor::{Tensor, encode};

fn floats(shape: &[usize], values: &[f64]) -> Dense {
    Dense { shape: shape.to_vec(), data: Numbers::Float(values.to_vec()) }
}

fn ints(shape: &[usize], values: &[i64]) -> Dense {
    Dense { shape: shape.to_vec(), data: Numbers::Int(values.to_vec()) }
}

fn tensor(dtype: DType, shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::from_host(encode(dtype, floats(shape, values)))
}

/// Makes the tensor `0, 1, 2, …` in row-major order.
fn counting(dtype: DType, shape: &[usize]) -> Tensor {
    let values: Vec<f64> = (0..shape.iter().product::<usize>()).map(|i| i as f64).collect();
    tensor(dtype, shape, &values)
}
