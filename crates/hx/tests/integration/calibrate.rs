//! `hx calibrate` on machines without a GPU.

use expect_test::expect;

use super::{GOOD, check};

#[test]
fn the_simulator_is_not_measured() {
    check(
        &[GOOD],
        &["calibrate", "--device", "sim"],
        expect![[r#"
            exit 3
            --
            device: simulator (sm_90a)
            error[HX0609]: `hx calibrate` measures a GPU; the simulator has no clock
              = help: run `hx calibrate` where the GPU is; `hx doctor` shows what is missing
        "#]],
    );
}

#[test]
fn a_wrong_file_is_told_before_anything_is_measured() {
    check(
        &[("numbers.toml", "barrier = 13.25\nbariers = 2.0\n")],
        &["calibrate", "--device", "sim", "--check", "--file", "numbers.toml"],
        expect![[r#"
            exit 1
            --
            error[HX0627]: `numbers.toml` is not a file of the cost model: line 2: unknown field `bariers`, expected one of `device`, `also`, `capability`, `basis`, `multiprocessors`, `clusters`, `barrier`, `barrier_warp`, `drain`, `meeting`, `meeting_value`, `further_line`, `global_bytes`, `partial_sector`, `dram_bytes`, `box_rows`, `clock`, `product_clock`, `box_bytes`, `box_latency`, `ring_latency`, `dram_latency`, `cluster_latency`, `role_start`, `box_issue`, `product_latency`, `product_least`, `stage_wait`, `stage_arrive`, `cluster_barrier`, `cluster_sum`, `hand_over`, `role_registers`, `other_registers`, `issue_slot`, `address_issue`, `address_latency`, `part_issue`, `phase_latency`, `converted_issue`, `memory_bound_threads`, `memory_bound_words`, `issue`
              = help: `hx calibrate --out FILE` writes such a file
        "#]],
    );
    check(
        &[GOOD],
        &["calibrate", "--device", "sim", "--check", "--file", "nothing.toml"],
        expect![[r#"
        exit 1
        --
        error[HX0606]: cannot open `nothing.toml`: there is no such file
    "#]],
    );
}
