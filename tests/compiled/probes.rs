//! Texts with a known verdict: the gate finds what it looks for. They are compiled in every run.

use super::{Verdict, asked, verdict};
use crate::ledger::Judge;

/// A product of a warp group between a bulk load and a bulk store. `%READ%` stands between the product and its wait.
const PRODUCT: &str = r#"
struct alignas(64) TensorMap { unsigned long long x[16]; };
extern "C" __global__ void __launch_bounds__(128, 1) probe(
    const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to, float *out)
{
    __shared__ alignas(1024) unsigned char shared[16384];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned int at = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
    unsigned int full = static_cast<unsigned int>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(full) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 8192;" :: "r"(full) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
            :: "r"(at), "l"(&from), "r"(0), "r"(0), "r"(full) : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred done; again%=: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0; @!done bra again%=; }"
        :: "r"(full) : "memory");
    float c[4];
    unsigned long long descriptor = 0x4000000000010000ull | ((at & 0x3ffff) >> 4);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{ wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 0, 1, 1, 0, 0; }"
        : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3]) : "l"(descriptor), "l"(descriptor));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    %READ%
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) :: "memory");
    out[threadIdx.x] = c[0] + c[1] + c[2] + c[3];
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
            :: "l"(&to), "r"(0), "r"(0), "r"(at) : "memory");
    }
}
"#;

/// A text whose only instruction of a warp group is in code that is never reached.
const UNREACHED: &str = r#"
extern "C" __global__ void probe(float *out) {
    if (0) { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); }
    out[threadIdx.x] = 1.0f;
}
"#;

/// A thread that holds 128 numbers, of which the bounds leave it 32 registers.
const SPILLING: &str = r#"
extern "C" __global__ void __launch_bounds__(1024, 2) probe(float *out) {
    float held[128];
    #pragma unroll
    for (int i = 0; i < 128; i++) { held[i] = out[i * 1024 + threadIdx.x]; }
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 128; i++) { out[(127 - i) * 1024 + threadIdx.x] = held[i]; }
}
"#;

fn judge(test: &str, text: &str) -> Option<Verdict> {
    let mut judge = Judge::new(test, None)?;
    Some(verdict(text, judge.judge(&asked(text))))
}

#[test]
fn a_product_with_bulk_copies_passes() {
    let test = "compiled::probes::a_product_with_bulk_copies_passes";
    let Some(verdict) = judge(test, &PRODUCT.replace("%READ%", "")) else { return };
    assert_eq!(verdict, Verdict { complaints: Vec::new(), spilled: 0, has_families: true });
}

#[test]
fn an_accumulator_read_before_its_wait_is_reported() {
    let test = "compiled::probes::an_accumulator_read_before_its_wait_is_reported";
    let text = PRODUCT.replace("%READ%", "out[threadIdx.x + 128] = c[0];");
    let Some(verdict) = judge(test, &text) else { return };
    assert!(verdict.complaints.iter().any(|text| text.contains("(C75")), "{verdict:?}");
}

#[test]
fn an_instruction_that_is_never_reached_is_reported() {
    let test = "compiled::probes::an_instruction_that_is_never_reached_is_reported";
    let Some(verdict) = judge(test, UNREACHED) else { return };
    let [complaint] = verdict.complaints.as_slice() else { panic!("{verdict:?}") };
    assert!(complaint.starts_with("no USETMAXREG in the machine code"), "{complaint}");
}

#[test]
fn spills_are_counted() {
    let Some(verdict) = judge("compiled::probes::spills_are_counted", SPILLING) else { return };
    assert!(verdict.complaints.is_empty() && verdict.spilled > 0, "{verdict:?}");
}
