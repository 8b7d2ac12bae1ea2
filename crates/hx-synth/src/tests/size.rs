//! Checks that tensors too large for any device are rejected.

use hx_dtype::DType;
use hx_tile::Tensor;

use super::build::{self, Matmul};
use crate::checks::size;

#[test]
fn only_absurd_sizes_are_refused() {
    let check = |tensor: Tensor| {
        let mut program = build::matmul(&Matmul::default());
        program.tensors.push(tensor);
        size::check(&program).map_err(|failure| failure.message)
    };
    assert_eq!(check(build::register("r", DType::F32, &[256, 256])), Ok(()));
    assert_eq!(check(build::shared("s", DType::F16, &[512, 512])), Ok(()));
    assert!(check(build::register("r", DType::F32, &[256, 257])).is_err());
    let message = check(build::register("r", DType::F32, &[4096, 4096]));
    let wanted = "`r` takes 131072 registers of each thread, which has 255 on sm_90a";
    assert_eq!(message, Err(wanted.to_owned()));
    assert!(check(build::register("r", DType::F32, &[i64::MAX, 2])).is_err());
    assert!(check(build::shared("s", DType::U4, &[i64::MAX])).is_err());
}
