//! Tests the recorded run of a block: moving forwards and backwards, and the state at a moment.

use std::collections::BTreeMap;

use expect_test::expect;
use hx_dtype::DType;
use hx_thread::{Leaf, Stmt};

use super::build::*;
use crate::{AccessKind, AgentId, Config, Memory, Playback, Prepared, prepare};

const ALL: AgentId = AgentId { rank: 0, number: 0 };

/// Builds rounds in which the threads turn 32 numbers around through shared memory, with a barrier before the read if there is to
/// be one.
fn turning(rounds: i64, barrier: bool) -> Kernel {
    let mut k = Kernel::new(32);
    k.grid(2, 1);
    let b = k.output("b", DType::F32, &[64, 32], &[32, 1]);
    let s = k.shared("s", DType::F32, 32);
    let r = k.registers("r", DType::F32, 1);
    let offset = (block(0) * c(32) + var("i")) * c(32);
    let load = transfer("ld.global.b32", first(r, 1), b, offset.clone() + thread());
    let load = k.group("copy(b, r)", vec![load]);
    let write = transfer("st.shared.b32", first(r, 1), s, thread());
    let write = k.group("copy(r, s)", vec![write]);
    let read = transfer("ld.shared.b32", first(r, 1), s, c(31) - thread());
    let read = k.group("copy(s, r)", vec![read]);
    let store = transfer("st.global.b32", first(r, 1), b, offset + thread());
    let store = k.group("copy(r, b)", vec![store]);
    let sync = k.group("sync()", vec![Stmt::Leaf(Leaf::Barrier)]);
    let sync = || barrier.then(|| sync.clone());
    let body = [Some(load), Some(write), sync(), Some(read), Some(store), sync()];
    k.push(repeat("i", c(rounds), false, body.into_iter().flatten().collect()));
    k
}

fn ready(kernel: &Kernel) -> Prepared {
    let values = (0..2048).map(f64::from).collect::<Vec<_>>();
    let arguments = vec![tensor(DType::F32, &[64, 32], &[32, 1], &values)];
    prepare(&kernel.program, &BTreeMap::new(), arguments, [1, 0, 0]).expect("it is prepared")
}

/// Describes the moment: the step, the operation, the round, and some values of thread 3.
fn moment(prepared: &Prepared, playback: &Playback<'_>) -> String {
    let state = playback.state(ALL).expect("there is an agent");
    let title = state.site.map(|site| prepared.places()[site as usize].title.clone());
    let value = playback.registers(ALL, 0).and_then(|file| file.value(3, 0));
    let value = value.map(|bits| f32::from_bits(bits as u32));
    let integers = playback.integers(ALL).into_iter().map(|(name, value)| format!("{name} = {value}"));
    let shared = &playback.shared(0)[12..16];
    let at = (32 * 32 + 3) * 4;
    let global = playback.global(0, 0, at..at + 4).expect("inside");
    format!(
        "{} {title:?} {value:?} {:?} {shared:?} {global:?}",
        playback.step(),
        integers.collect::<Vec<_>>()
    )
}

#[test]
fn every_moment_is_the_same_however_it_is_reached() {
    let kernel = turning(30, true);
    let prepared = ready(&kernel);
    let config = Config::default();
    // A budget of no bytes leaves two copies, a large one all of them.
    for budget in [0, usize::MAX] {
        let mut playback = Playback::record(&prepared, &config, budget).expect("it is recorded");
        let length = playback.length();
        playback.seek(0);
        let mut all = vec![moment(&prepared, &playback)];
        while playback.advance() {
            all.push(moment(&prepared, &playback));
        }
        assert_eq!(all.len() as u64, length + 1);
        for step in (0..=length).map(|step| step * 37 % (length + 1)) {
            playback.seek(step);
            assert_eq!(moment(&prepared, &playback), all[step as usize]);
        }
        playback.seek(length);
        for want in all.iter().rev().skip(1) {
            assert!(playback.backward(&mut |_| true));
            assert_eq!(&moment(&prepared, &playback), want);
        }
        assert!(!playback.backward(&mut |_| true));
    }
}

#[test]
fn operations_begin_once_a_round() {
    let kernel = turning(2, true);
    let (prepared, config) = (ready(&kernel), Config::default());
    let mut playback = Playback::record(&prepared, &config, usize::MAX).expect("it is recorded");
    playback.seek(0);
    let mut found = String::new();
    while playback.forward(&mut |p| p.state(ALL).is_some_and(|state| state.begins_operation)) {
        found += &moment(&prepared, &playback);
        found.push('\n');
    }
    expect![[r#"
        1 Some("copy(b, r)") None ["i = 0"] [0, 0, 0, 0] [0, 96, 128, 68]
        2 Some("copy(r, s)") Some(1027.0) ["i = 0"] [0, 0, 0, 0] [0, 96, 128, 68]
        3 Some("sync()") Some(1027.0) ["i = 0"] [0, 96, 128, 68] [0, 96, 128, 68]
        4 Some("copy(s, r)") Some(1027.0) ["i = 0"] [0, 96, 128, 68] [0, 96, 128, 68]
        5 Some("copy(r, b)") Some(1052.0) ["i = 0"] [0, 96, 128, 68] [0, 96, 128, 68]
        6 Some("sync()") Some(1052.0) ["i = 0"] [0, 96, 128, 68] [0, 128, 131, 68]
        8 Some("copy(b, r)") Some(1052.0) ["i = 1"] [0, 96, 128, 68] [0, 128, 131, 68]
        9 Some("copy(r, s)") Some(1059.0) ["i = 1"] [0, 96, 128, 68] [0, 128, 131, 68]
        10 Some("sync()") Some(1059.0) ["i = 1"] [0, 96, 132, 68] [0, 128, 131, 68]
        11 Some("copy(s, r)") Some(1059.0) ["i = 1"] [0, 96, 132, 68] [0, 128, 131, 68]
        12 Some("copy(r, b)") Some(1084.0) ["i = 1"] [0, 96, 132, 68] [0, 128, 131, 68]
        13 Some("sync()") Some(1084.0) ["i = 1"] [0, 96, 132, 68] [0, 128, 131, 68]
    "#]]
    .assert_eq(&found);
}

#[test]
fn a_fault_ends_the_record_before_its_step() {
    let kernel = turning(2, false);
    let (prepared, config) = (ready(&kernel), Config::default());
    let mut playback = Playback::record(&prepared, &config, usize::MAX).expect("it is recorded");
    let error = playback.outcome().map(ToString::to_string);
    expect!["thread 0, block [1, 0, 0], #2 `copy(s, r)`: reads element 31 of the shared tensor `s`, which thread 31 wrote in #1 `copy(r, s)`, with no barrier in between"].assert_eq(&error.unwrap_or_default());
    expect![[r#"3 Some("copy(s, r)") Some(1027.0) ["i = 0"] [0, 96, 128, 68] [0, 96, 128, 68]"#]]
        .assert_eq(&moment(&prepared, &playback));
    // The write that the fault names is the last one to the element.
    let place = (Memory::Shared, 31 * 4..32 * 4);
    let access = playback.find_access(0, place.clone(), false, &|access| access.kind == AccessKind::Write);
    expect![[r#"Some([31, 32]) 2 Some("copy(r, s)") Some(1027.0) ["i = 0"] [0, 0, 0, 0] [0, 96, 128, 68]"#]]
        .assert_eq(&format!("{:?} {}", access.map(|a| a.threads), moment(&prepared, &playback)));
    assert_eq!(playback.find_access(0, place, false, &|_| true), None);
}
