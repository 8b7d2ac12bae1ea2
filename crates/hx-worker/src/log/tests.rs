use expect_test::{Expect, expect};

use super::*;

const LOG: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'matmul_64x64x16' for 'sm_90a'
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'matmul_64x64x16'
ptxas info    : Function properties for matmul_64x64x16
    16 bytes stack frame, 12 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 168 registers, used 2 barriers, 16 bytes cumulative stack size, 49152 bytes smem, 376 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 21.000 ms
ptxas info    : Compiling entry function 'copy' for 'sm_90a'
ptxas info    : Function properties for copy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
";

fn check(actual: impl std::fmt::Debug, expected: &Expect) {
    expected.assert_debug_eq(&actual);
}

#[test]
fn resources_of_each_kernel() {
    check(
        kernel_resources(LOG),
        &expect![[r#"
        [
            KernelResources {
                symbol: "matmul_64x64x16",
                registers: 168,
                barriers: 2,
                stack_bytes: 16,
                spill_store_bytes: 12,
                spill_load_bytes: 24,
                shared_bytes: 49152,
                constant_bytes: 384,
            },
            KernelResources {
                symbol: "copy",
                registers: 8,
                barriers: 0,
                stack_bytes: 0,
                spill_store_bytes: 0,
                spill_load_bytes: 0,
                shared_bytes: 0,
                constant_bytes: 0,
            },
        ]
    "#]],
    );
}

#[test]
fn lost_performance_is_a_warning() {
    let found = warnings(LOG);
    assert!(found.iter().all(CompilerWarning::is_lost_performance));
    check(
        found,
        &expect![[r#"
        [
            CompilerWarning {
                code: Some(
                    "C7510",
                ),
                text: "(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'matmul_64x64x16'",
            },
        ]
    "#]],
    );
}

#[test]
fn warnings_of_the_front_end() {
    let log = "\
copy::kernel(3): warning #177-D: variable \"x\" was declared but never referenced
      int x;
          ^

ptxas warning : Registers are spilled to local memory in function 'copy', 4 bytes spill stores
";
    check(
        warnings(log),
        &expect![[r#"
        [
            CompilerWarning {
                code: None,
                text: "copy::kernel(3): warning #177-D: variable \"x\" was declared but never referenced",
            },
            CompilerWarning {
                code: None,
                text: "Registers are spilled to local memory in function 'copy', 4 bytes spill stores",
            },
        ]
    "#]],
    );
}

#[test]
fn a_strange_log_says_nothing() {
    assert!(kernel_resources("").is_empty());
    assert!(kernel_resources("ptxas info : Used registers, bytes smem\n(C) (Cx)").is_empty());
    assert!(warnings("ptxas info : (C) nothing (Cx1)").is_empty());
}
