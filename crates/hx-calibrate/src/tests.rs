//! Fits, the file, and the texts of the probes.

use std::collections::BTreeSet;

use expect_test::expect;
use hx_target::{Costs, Target};

use crate::probe::{Probe, Results};
use crate::rows::line;
use crate::{Device, compare, probes, rows, source, written};

fn results(figures: &[(&str, f64)]) -> Results {
    Results { figures: figures.iter().map(|(name, figure)| ((*name).to_owned(), *figure)).collect() }
}

#[test]
fn names_are_unique_and_rows_read_probes_that_exist() {
    for target in Target::all() {
        let all = probes(*target).concat();
        let names: BTreeSet<&str> = all.iter().map(|probe| probe.name.as_str()).collect();
        let symbols: BTreeSet<&str> = all.iter().map(|probe| probe.symbol.as_str()).collect();
        assert_eq!((names.len(), symbols.len()), (all.len(), all.len()), "{target}");
        for row in rows(Target::usual()) {
            let missing = row.probes.iter().filter(|name| !names.contains(name.as_str()));
            assert!(*target != Target::usual() || missing.count() == 0, "{}", row.key);
        }
    }
}

#[test]
fn older_targets_have_no_text_of_newer_instructions() {
    let old = probes(Target::builtin("sm_80")).concat();
    assert!(
        old.iter()
            .all(|probe| probe.cluster == 1 && probe.map.is_none() && !probe.name.starts_with("product"))
    );
    assert!(!old.is_empty());
}

#[test]
fn a_line_through_points() {
    assert_eq!(line(&[(4.0, 21.25), (8.0, 29.25), (16.0, 45.25), (32.0, 77.25)]), Some((13.25, 2.0)));
    assert_eq!(line(&[(4.0, 21.25)]), None);
    assert_eq!(line(&[(4.0, 21.25), (4.0, 22.0)]), None);
}

#[test]
fn cycles_are_those_of_the_timed_warps() {
    let warps = |pairs: &[(i64, i64)]| {
        let mut block = vec![(0, 0); 32];
        block[..pairs.len()].copy_from_slice(pairs);
        block
            .into_iter()
            .flat_map(|(start, end)| [start, end])
            .flat_map(i64::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    // From the first start to the last end; the third warp works beside, the others are not timed.
    assert_eq!(Probe::elapsed(&warps(&[(100, 180), (90, 170), (-1, 7)])), Some([90.0, 7.0]));
    // The median of three blocks.
    let three = [warps(&[(0, 10)]), warps(&[(50, 80)]), warps(&[(5, 25)])].concat();
    assert_eq!(Probe::elapsed(&three), Some([20.0, 0.0]));
    assert_eq!(Probe::elapsed(&warps(&[])), None);
}

#[test]
fn the_clock_of_many_launches() {
    let bytes = [1_980 * 40, 40_000, 2].map(i64::to_le_bytes).concat();
    let clock = crate::Clock::read(&bytes).expect("sums");
    assert_eq!((clock.launches, clock.rate()), (2, 1980.0));
    assert_eq!(crate::Clock::read(&[0; 24]), None);
    assert_eq!(crate::Clock::read(&bytes[..16]), None);
}

#[test]
fn a_figure_is_a_slope() {
    let of =
        |name: &str| probes(Target::usual()).concat().into_iter().find(|p| p.name == name).expect("a probe");
    let barrier = of("barrier of 4 warps");
    assert_eq!((barrier.rounds, barrier.units), ([64, 192], 8.0));
    assert_eq!(barrier.value([11_000.0, 33_000.0 - 240.0]), 21.25);
    let boxes = of("boxes of 16 KiB all blocks");
    assert_eq!(boxes.value([50_000.0, 50_000.0 + 128.0 * 256.0]), 64.0);
}

#[test]
fn the_file_has_measured_numbers_and_keeps_the_others() {
    let base = "# Head.\n\n# Of the device.\nmultiprocessors = 132\n\n# Old words.\nbarrier = 13.25\nbarrier_warp = 2.0\n";
    let base = format!("{base}\n{}", rest());
    let measured = results(&[
        ("barrier of 4 warps", 30.0),
        ("barrier of 8 warps", 34.0),
        ("barrier of 16 warps", 42.0),
        ("barrier of 32 warps", 58.0),
    ]);
    let device = Device { name: "NVIDIA Small", capability: [9, 0], multiprocessors: 2 };
    let text = written(&base, &measured, Target::usual(), &device).expect("a file");
    let machine = Costs::read(&text).expect("a file");
    assert_eq!((machine.barrier, machine.barrier_warp, machine.multiprocessors), (26.0, 1.0, 2));
    assert_eq!(machine.drain, Target::usual().costs().drain);
    assert_eq!((machine.to_string().as_str(), machine.capability), ("NVIDIA Small (measured)", [9, 0]));
    let start: Vec<&str> = text.lines().take(14).collect();
    expect![[r#"
        # Costs of a multiprocessor besides its instructions, in cycles of an NVIDIA Small. `hx calibrate` wrote the numbers with measured
        # probes; the others are explained where they are.

        # Of the device.
        multiprocessors = 2

        # A barrier of the block, without the part for each warp: the line through barriers of 4, 8, 16 and 32 warps. Measured: barrier of 4
        # warps 30.00, barrier of 8 warps 34.00, barrier of 16 warps 42.00, barrier of 32 warps 58.00.
        barrier = 26.0

        # A barrier of the block for each of its warps: the slope of the same line. Measured: barrier of 4 warps 30.00, barrier of 8 warps
        # 34.00, barrier of 16 warps 42.00, barrier of 32 warps 58.00.
        barrier_warp = 1.0
"#]]
    .assert_eq(&(start.join("\n").trim_end().to_owned() + "\n"));
    // The written file is a base for the next run.
    assert_eq!(written(&text, &measured, Target::usual(), &device), Ok(text.clone()));
}

/// The built-in file without its head, the multiprocessors and the barrier.
fn rest() -> String {
    let text = hx_target::COSTS_TEXT;
    let keep =
        |paragraph: &&str| !paragraph.contains("\nmultiprocessors =") && !paragraph.contains("\nbarrier =");
    let found: Vec<&str> =
        text.split("\n\n").skip(1).filter(keep).filter(|p| !p.contains("\nbarrier_warp =")).collect();
    found.join("\n\n")
}

#[test]
fn numbers_that_differ_are_named() {
    let measured = results(&[
        ("barrier of 4 warps", 21.25),
        ("barrier of 8 warps", 29.25),
        ("barrier of 16 warps", 45.25),
        ("barrier of 32 warps", 77.25),
        ("Exp2 f32", 12.0),
    ]);
    let found = compare(hx_target::COSTS_TEXT, &measured, Target::usual()).expect("the built-in file");
    let exp2 = found.iter().find(|compared| compared.name == "Exp2 f32").expect("measured");
    assert_eq!((exp2.known, exp2.ratio(), exp2.differs()), (8.0, 1.5, true));
    assert!(compare("barrier = 'soon'", &measured, Target::usual()).is_err());
}

#[test]
fn texts_name_their_probes() {
    let first = probes(Target::builtin("sm_80")).swap_remove(0);
    let text = source(&first);
    assert!(first.iter().all(|probe| text.contains(&format!("// {}\n", probe.name))));
}
