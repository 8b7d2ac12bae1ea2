use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_tile::{OpId, Origin, Scope};

use super::{LOG_DROPPED, LogEntry, LogKind, LogPlan, LogValue, assertion_word, failure_key, record_bytes};
use crate::{Address, Body, Control, Leaf, Log, Memory, Stmt, ThreadProgram};

fn entry(kind: LogKind, text: &str, value: Option<(DType, &[i64])>) -> LogEntry {
    let value = value.map(|(dtype, shape)| LogValue { dtype, shape: shape.to_vec(), uniform: false });
    LogEntry { op: OpId(0), origin: Origin(0), kind, text: text.into(), value, sides: Vec::new() }
}

/// Returns a program with these entries: print f16[3], assert bool[2, 4], print u4[5], print a text, print f32[1024, 1024].
fn program(grid: [i64; 2], body: Body) -> ThreadProgram {
    ThreadProgram {
        name: "k".into(),
        grid: grid.iter().map(|n| Expr::constant(*n)).collect(),
        scopes: vec![Scope::block(32)],
        log: vec![
            entry(LogKind::Print, "", Some((DType::F16, &[3]))),
            entry(LogKind::Assert, "", Some((DType::Bool, &[2, 4]))),
            entry(LogKind::Print, "", Some((DType::U4, &[5]))),
            entry(LogKind::Print, "here", None),
            entry(LogKind::Print, "", Some((DType::F32, &[1024, 1024]))),
        ],
        body,
        ..ThreadProgram::default()
    }
}

fn log(entry: u32) -> Stmt {
    Stmt::Leaf(Leaf::Log(Log { entry, body: Vec::new() }))
}

fn c(value: i64) -> Expr {
    Expr::constant(value)
}

fn var() -> Symbol {
    Symbol::Var("i".into(), 0)
}

fn lt(a: Expr, b: Expr) -> Cond {
    Cond::cmp(CmpOp::Lt, a, b, &Facts::default())
}

fn plan(program: &ThreadProgram) -> LogPlan {
    let grid = [0, 1].map(|axis| program.grid[axis].as_const().unwrap_or_default() as u64);
    LogPlan::new(program, [grid[0], grid[1], 1], &|s: &Symbol| (*s == Symbol::Dim("m".into())).then_some(3))
}

/// Compares the bytes of each block's area.
fn areas(grid: [i64; 2], body: Body, want: Expect) {
    let plan = plan(&program(grid, body));
    let sizes: Vec<usize> = (0..(grid[0] * grid[1]) as u64).map(|block| plan.area(block).len()).collect();
    want.assert_eq(&format!("{} bytes: {sizes:?}", plan.bytes()));
}

#[test]
fn every_block_gets_what_it_will_need() {
    areas([2, 2], vec![log(0), log(1), log(2), log(3)], expect!["232 bytes: [40, 40, 40, 40]"]);
    let block = Expr::symbol(Symbol::BlockIdx(0));
    let only =
        Stmt::Control(Control::If { cond: lt(c(0), block), then: vec![log(0)], otherwise: vec![log(3)] });
    areas([2, 2], vec![only], expect!["120 bytes: [8, 16, 8, 16]"]);
    let repeat = |body| {
        Stmt::Control(Control::For { var: var(), start: c(0), end: Expr::dim("m"), unroll: false, body })
    };
    let some = Stmt::Control(Control::If {
        cond: lt(Expr::symbol(var()), c(2)),
        then: vec![log(0)],
        otherwise: Vec::new(),
    });
    areas([1, 1], vec![repeat(vec![some, log(3)])], expect!["104 bytes: [56]"]);
    // Assertions alone need no areas.
    areas([2, 2], vec![repeat(vec![log(1)])], expect!["72 bytes: [0, 0, 0, 0]"]);
}

#[test]
fn what_data_decide_shares_the_rest() {
    let address = Address { memory: Memory::Global(0), offset: c(0) };
    let unknown = |body| {
        vec![
            Stmt::Leaf(Leaf::LoadInteger { var: var(), address: address.clone() }),
            Stmt::Control(Control::While { cond: lt(Expr::symbol(var()), c(7)), body, origin: None }),
        ]
    };
    areas([2, 1], unknown(vec![log(0)]), expect!["8388680 bytes: [4194312, 4194312]"]);
    // A loop that prints nothing needs no share, even if it changes the number that decides its length.
    let change = Stmt::Leaf(Leaf::Assign { var: var(), value: c(1) });
    let mut body = unknown(vec![change]);
    body.push(log(0));
    areas([2, 1], body, expect!["88 bytes: [16, 16]"]);
}

#[test]
fn room_ends_with_the_budget() {
    areas(
        [5, 2],
        vec![log(4)],
        expect![
            "33554552 bytes: [4194312, 4194312, 4194312, 4194312, 4194312, 4194312, 4194312, 4194248, 0, 0]"
        ],
    );
    areas([0, 2], vec![log(4)], expect!["40 bytes: []"]);
}

fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    buffer[at..at + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn a_buffer_is_read_back() {
    let program = program([2, 2], vec![log(0), log(2), log(3), log(1)]);
    let plan = plan(&program);
    let mut buffer = plan.buffer();
    assert_eq!(plan.read(&program, &buffer), super::LogContents::default());

    let start = plan.area(2).start;
    put(&mut buffer, start, &3u64.to_le_bytes());
    put(&mut buffer, start + 8, &[1, 2, 3, 4, 5]);
    let next = start + record_bytes(&program.log[2]) as usize;
    put(&mut buffer, next, &4u64.to_le_bytes());
    put(&mut buffer, plan.area(1).start, &1u64.to_le_bytes());
    put(&mut buffer, plan.area(1).start + 8, &[0, 0x3c, 0, 0x40, 0, 0x42]);
    put(&mut buffer, LOG_DROPPED * 8, &7u64.to_le_bytes());
    let word = assertion_word(&program.log, 1);
    put(&mut buffer, word * 8, &2u64.to_le_bytes());
    put(&mut buffer, word * 8 + 8, &(!failure_key(3, 5, 6)).to_le_bytes());
    expect![[r#"
        LogContents {
            printed: [
                Printed {
                    block: [
                        1,
                        0,
                        0,
                    ],
                    entry: 0,
                    bytes: [
                        0,
                        60,
                        0,
                        64,
                        0,
                        66,
                    ],
                },
                Printed {
                    block: [
                        0,
                        1,
                        0,
                    ],
                    entry: 2,
                    bytes: [
                        33,
                        67,
                        5,
                    ],
                },
                Printed {
                    block: [
                        0,
                        1,
                        0,
                    ],
                    entry: 3,
                    bytes: [],
                },
            ],
            failed: [
                Failed {
                    entry: 1,
                    count: 2,
                    block: [
                        1,
                        1,
                        0,
                    ],
                    run: 5,
                    coordinate: [
                        1,
                        2,
                    ],
                    sides: [],
                },
            ],
            dropped: 7,
        }
    "#]]
    .assert_debug_eq(&plan.read(&program, &buffer));

    // Reading terminates, whatever the buffer contains.
    for byte in [1, 2, 0x80, 0xff] {
        let contents = plan.read(&program, &vec![byte; buffer.len()]);
        assert!(contents.printed.len() <= buffer.len());
        plan.read(&program, &[byte; 3]);
    }
}

#[test]
fn failures_are_ordered_by_block_then_time_then_position() {
    let keys = [(0, 0, 7), (0, 1, 3), (0, 9000, 0), (1, 0, 0), (2, 0, 1)];
    let keys: Vec<u64> = keys.iter().map(|(block, run, at)| failure_key(*block, *run, *at)).collect();
    assert!(keys.is_sorted());
}
