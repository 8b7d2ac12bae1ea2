//! Forty kernels whose cycles are compared with the estimates of the cost model: `hx bench tests/gpu/model.hx --estimates`.
//!
//! The data are zeros, so that the power of the GPU does not limit its clock; the cycles are the same.

use std::attention::attention;
use std::attention_hopper::attention_hopper;
use std::gemm::gemm;
use std::gemm::gemm_pingpong;
use std::matmul_pipelined::matmul_pipelined;
use std::softmax::softmax;
use std::transpose::transpose;

bench "gemm 128 × 256" for (m, n, k) in [
    (2048, 2048, 4096),
    (4096, 4096, 4096),
    (8192, 4096, 1024),
    (4096, 7168, 2048),
    (1024, 1024, 1024),
    (128, 14336, 4096),
] {
    let (a, b, c) = (zeros(bf16, [m, k]), zeros(bf16, [n, k]), empty(bf16, [m, n]));
    measure flops 2 * m * n * k { gemm(a, b, c) }
}

bench "gemm 128 × 192" for (m, n, k) in [(4096, 4096, 4096), (2048, 4096, 1024), (1024, 6144, 4096)] {
    let (a, b, c) = (zeros(bf16, [m, k]), zeros(bf16, [n, k]), empty(bf16, [m, n]));
    measure flops 2 * m * n * k { gemm<BN = 192>(a, b, c) }
}

bench "gemm 128 × 128" for (m, n, k) in [(4096, 4096, 4096), (2048, 2048, 2048), (512, 4096, 4096)] {
    let (a, b, c) = (zeros(bf16, [m, k]), zeros(bf16, [n, k]), empty(bf16, [m, n]));
    measure flops 2 * m * n * k { gemm<BN = 128>(a, b, c) }
}

bench "gemm 64 × 256, three stages" for (m, n, k) in [(2048, 4096, 4096), (1024, 4096, 1024)] {
    let (a, b, c) = (zeros(bf16, [m, k]), zeros(bf16, [n, k]), empty(bf16, [m, n]));
    measure flops 2 * m * n * k { gemm_pingpong<BM = 64, BN = 256, STAGES = 3>(a, b, c) }
}

bench "ping-pong 128 × 192" for (m, n, k) in [
    (2048, 2048, 4096),
    (4096, 4096, 4096),
    (8192, 4096, 1024),
    (4096, 7168, 2048),
] {
    let (a, b, c) = (zeros(bf16, [m, k]), zeros(bf16, [n, k]), empty(bf16, [m, n]));
    measure flops 2 * m * n * k { gemm_pingpong(a, b, c) }
}

bench "ping-pong 128 × 128" for (m, n, k) in [(4096, 4096, 4096), (1024, 4096, 2048)] {
    let (a, b, c) = (zeros(bf16, [m, k]), zeros(bf16, [n, k]), empty(bf16, [m, n]));
    measure flops 2 * m * n * k { gemm_pingpong<BN = 128>(a, b, c) }
}

bench "attention of groups, heads of 128" for (h, s) in [(16, 1024), (16, 2048), (32, 4096), (4, 16384)] {
    let (q, k, v, o) = (
        zeros(f16, [1, h, s, 128]),
        zeros(f16, [1, h, s, 128]),
        zeros(f16, [1, h, s, 128]),
        empty(f16, [1, h, s, 128]),
    );
    measure flops 4 * h * s * s * 128 { attention_hopper<CAUSAL = false>(q, k, v, o, 0.0884) }
}

bench "causal attention of groups, heads of 128" for (h, s) in [(16, 2048), (32, 4096)] {
    let (q, k, v, o) = (
        zeros(f16, [1, h, s, 128]),
        zeros(f16, [1, h, s, 128]),
        zeros(f16, [1, h, s, 128]),
        empty(f16, [1, h, s, 128]),
    );
    measure flops 2 * h * s * s * 128 { attention_hopper(q, k, v, o, 0.0884) }
}

bench "attention of groups, heads of 64" for (h, s) in [(16, 1536), (32, 3072), (8, 12288)] {
    let (q, k, v, o) = (
        zeros(f16, [1, h, s, 64]),
        zeros(f16, [1, h, s, 64]),
        zeros(f16, [1, h, s, 64]),
        empty(f16, [1, h, s, 64]),
    );
    measure flops 4 * h * s * s * 64 { attention_hopper<D = 64, CAUSAL = false>(q, k, v, o, 0.125) }
}

bench "causal attention of groups, heads of 64" for (h, s) in [(32, 3072)] {
    let (q, k, v, o) = (
        zeros(f16, [1, h, s, 64]),
        zeros(f16, [1, h, s, 64]),
        zeros(f16, [1, h, s, 64]),
        empty(f16, [1, h, s, 64]),
    );
    measure flops 2 * h * s * s * 64 { attention_hopper<D = 64>(q, k, v, o, 0.125) }
}

bench "attention" for (h, s) in [(16, 2048), (32, 4096)] {
    let (q, k, v, o) = (
        zeros(f16, [1, h, s, 128]),
        zeros(f16, [1, h, s, 128]),
        zeros(f16, [1, h, s, 128]),
        empty(f16, [1, h, s, 128]),
    );
    measure flops 4 * h * s * s * 128 { attention<CAUSAL = false>(q, k, v, o, 0.0884) }
}

bench "matmul of one stage after the other" for (m, n, k) in [
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (1024, 4096, 1024),
] {
    let (a, b, c) = (zeros(f16, [m, k]), zeros(f16, [n, k]), empty(f16, [m, n]));
    measure flops 2 * m * n * k { matmul_pipelined(a, b, c) }
}

bench "softmax" for (m, n) in [(4096, 1024), (16384, 1024)] {
    let (x, y) = (zeros(f16, [m, n]), empty(f16, [m, n]));
    measure bytes 4 * m * n { softmax(x, y) }
}

bench "transpose" for n in [2048, 4096, 8192] {
    let (x, y) = (zeros(f16, [n, n]), empty(f16, [n, n]));
    measure bytes 4 * n * n { transpose(x, y) }
}
