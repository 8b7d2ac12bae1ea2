//! Runs a softmax over rows of 8192 elements, as the compiler would lower it.

use hx_dtype::{DType, Operator};
use hx_index::CmpOp;
use hx_index::Cond;
use hx_thread::{Leaf, RegId, Stmt};
use hx_tile::Scalar;

use super::build::*;

const F: DType = DType::F32;
const COLUMNS: i64 = 8192;
const THREADS: i64 = 256;
const HELD: i64 = COLUMNS / THREADS;

/// Reduces `x` into `y`: within threads, then between lanes, then between warps through shared memory.
fn reduce(
    k: &mut Kernel,
    operator: Operator,
    start: f64,
    [y, x, other]: [RegId; 3],
    parts: hx_thread::Memory,
) {
    let combine = |from: hx_thread::Registers| {
        let value = Scalar::apply(operator, F, [input(0, F), input(1, F)]);
        compute(first(y, 1), vec![first(y, 1), from], value)
    };
    let mut body = vec![
        fill(first(y, 1), F.encode(start)),
        repeat("i", c(HELD), true, vec![combine(at(x, var("i"), 1))]),
    ];
    for mask in [16, 8, 4, 2, 1] {
        body.push(exchange(first(other, 1), first(y, 1), mask));
        body.push(combine(first(other, 1)));
    }
    let lowest = Cond::Cmp(CmpOp::Eq, rem(thread(), 32), c(0));
    body.push(Stmt::Leaf(Leaf::Barrier));
    body.push(guarded("st.shared.b32", first(y, 1), parts, div(thread(), 32), lowest, 0));
    body.push(Stmt::Leaf(Leaf::Barrier));
    body.push(fill(first(y, 1), F.encode(start)));
    let gather = vec![transfer("ld.shared.b32", first(other, 1), parts, var("p")), combine(first(other, 1))];
    body.push(repeat("p", c(THREADS / 32), true, gather));
    k.op("reduce", body);
}

fn softmax(rows: i64) -> Kernel {
    let mut k = Kernel::new(THREADS as u32);
    k.grid(rows, 1);
    let a = k.input("a", DType::F16, &[rows, COLUMNS], &[COLUMNS, 1]);
    let b = k.output("b", DType::F16, &[rows, COLUMNS], &[COLUMNS, 1]);
    let parts = k.shared("parts", F, THREADS as u32 / 32);
    let h = k.registers("h", DType::F16, HELD as u32);
    let x = k.registers("x", F, HELD as u32);
    let [y, other] = ["y", "other"].map(|name| k.registers(name, F, 1));
    let place = || block(0) * c(COLUMNS) + (var("i") * c(THREADS) + thread()) * c(8);
    let move_all = |row: &str, memory| {
        vec![repeat("i", c(HELD / 8), true, vec![transfer(row, at(h, var("i") * c(8), 8), memory, place())])]
    };
    let all = |statement| vec![repeat("i", c(HELD), true, vec![statement])];
    let own = |array| at(array, var("i"), 1);
    k.op("copy(a, h)", move_all("ld.global.v4.b32", a));
    k.op("x = cast(h, f32)", all(compute(own(x), vec![own(h)], input(0, DType::F16).cast(F))));
    reduce(&mut k, Operator::Max, f64::NEG_INFINITY, [y, x, other], parts);
    let difference = Scalar::apply(Operator::Sub, F, [input(0, F), input(1, F)]);
    let e = Scalar::apply(Operator::Exp, F, [difference]);
    k.op("x = exp(x - y)", all(compute(own(x), vec![own(x), first(y, 1)], e)));
    reduce(&mut k, Operator::Add, 0.0, [y, x, other], parts);
    let quotient = Scalar::apply(Operator::Div, F, [input(0, F), input(1, F)]).cast(DType::F16);
    k.op("h = cast(x / y, f16)", all(compute(own(h), vec![own(x), first(y, 1)], quotient)));
    k.op("copy(h, b)", move_all("st.global.v4.b32", b));
    k
}

#[test]
fn softmax_of_long_rows_is_right() {
    const ROWS: usize = 4;
    let columns = COLUMNS as usize;
    let input = noise(ROWS * columns, 5);
    let shape = [ROWS as i64, COLUMNS];
    let stride = [COLUMNS, 1];
    let mut arguments = [
        tensor(DType::F16, &shape, &stride, &input),
        tensor(DType::F16, &shape, &stride, &vec![0.0; input.len()]),
    ];
    let kernel = softmax(ROWS as i64);
    let report = kernel.run(&mut arguments).unwrap();
    let got = values(DType::F16, &arguments[1]);
    for (row, got) in input.chunks(columns).zip(got.chunks(columns)) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - top).exp()).sum();
        for (x, got) in row.iter().zip(got) {
            let want = (x - top).exp() / sum;
            assert!((got - want).abs() <= DType::F16.ulp(want), "{got}, not {want}");
        }
    }
    let copy = report.ops.values().next().unwrap();
    assert_eq!((copy.sectors, copy.ideal_sectors), (2048, 2048));
}
