//! The text of kernels that start before the launches before them are complete.

use expect_test::expect_file;
use hx_dtype::DType;

use hx_thread::{Address, Control, Leaf, Memory, Stmt, ThreadProgram};

use crate::build::*;
use crate::text;

/// A kernel that reads a number and a tile of `x` after its wait, and writes the tile.
fn dependent(waits: bool) -> ThreadProgram {
    let (registers, n) = (regs(0, c(0), 0..4), var("n", 0));
    let place = block(0).scale(512) + thread().scale(4);
    let read = load(16, registers.clone(), Memory::Global(0), place.clone());
    let write = store(16, registers, Memory::Global(1), place);
    let address = Address { memory: Memory::Global(2), offset: c(0) };
    let mut body = vec![group(0, "allow_next()", vec![Stmt::Leaf(Leaf::AllowNext)])];
    if waits {
        body.push(group(1, "wait_for_previous()", vec![Stmt::Leaf(Leaf::WaitPrevious)]));
    }
    body.push(Stmt::Leaf(Leaf::LoadInteger { var: n.clone(), address }));
    body.push(Stmt::Control(Control::If {
        cond: lt(c(0), hx_index::Expr::symbol(n)),
        then: vec![
            group(2, "copy(x, r)", vec![Stmt::Leaf(Leaf::Transfer(read))]),
            group(3, "copy(r, y)", vec![Stmt::Leaf(Leaf::Transfer(write))]),
        ],
        otherwise: Vec::new(),
    }));
    kernel(
        "dependent",
        vec![
            tensor("x", DType::F32, false, &[dim("m")], &[c(1)]),
            tensor("y", DType::F32, true, &[dim("m")], &[c(1)]),
            tensor("count", DType::I32, false, &[c(1)], &[c(1)]),
        ],
        &["m"],
        vec![dim("m")],
        vec![array("r", DType::F32, 4)],
        body,
    )
}

/// Loads stay behind the wait: their `asm` statements are volatile, and no pointer is `__restrict__`.
#[test]
fn loads_stay_behind_the_wait() {
    let golden = format!("{}/tests/golden_sm_90a/dependent.cu", env!("CARGO_MANIFEST_DIR"));
    expect_file![golden].assert_eq(&text(&dependent(true)));
}

/// A kernel that does not wait starts when the launches before are complete, so its code is that of any other kernel.
#[test]
fn a_kernel_that_waits_says_so_in_its_launch() {
    for waits in [true, false] {
        let source = hx_codegen::cuda(&dependent(waits)).expect("it is well formed");
        assert_eq!(source.launch.waits_for_previous, waits);
        assert_eq!(source.text.contains("__restrict__"), !waits);
    }
}
