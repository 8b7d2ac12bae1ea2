//! The kernels that make and compare the tensors of a bench on a GPU compile for every architecture that the compiler knows.

use hx_launch::DATA_TEXT;
use hx_target::Target;
use hx_worker::{CompileJob, Limits};

use crate::support::compiler;

#[test]
fn the_kernels_of_bench_data_compile() {
    let Some((compiler, mut worker)) = compiler("compiled::data::the_kernels_of_bench_data_compile") else {
        return;
    };
    let nvrtc = compiler.nvrtc().expect("it was found");
    for target in ["sm_80", "sm_90a", "sm_100a", "sm_120a"].map(Target::builtin) {
        let job = CompileJob::of_kernel(DATA_TEXT, "data", target.name());
        let limits = Limits::within(std::time::Duration::from_secs(120));
        let compiled = worker.compile(nvrtc, &job, &limits).expect("the compiler takes the text");
        let names: Vec<&str> = compiled.kernels.iter().map(|kernel| kernel.symbol.as_str()).collect();
        for name in
            ["make_uniform", "count_normal", "sum_counts", "make_normal", "survey", "squares", "differences"]
        {
            assert!(names.contains(&name), "{name} is not among {names:?}");
        }
        assert!(compiled.warnings.is_empty(), "{:?}", compiled.warnings);
    }
}
