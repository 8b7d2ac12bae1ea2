//! Tests arithmetic, conversions and the exchange of collective loads.

use hx_dtype::DType;
use hx_target::Target;

use super::build::*;

/// Compares one matrix instruction, on operands laid out by the documented fragments, with a plain loop.
fn check_product(row: &str) {
    let r = Target::usual().rows().gemm(row).unwrap();
    let [m, n, k] = r.shape.map(|x| x as usize);
    let sample = |dtype: DType, len: usize, seed: u64| -> Vec<f64> {
        let scale = if dtype.is_int() { 8.0 } else { 1.0 };
        noise(len, seed).into_iter().map(|x| dtype.round(x * scale)).collect()
    };
    let (a, b, start) =
        (sample(r.a.dtype(), m * k, 1), sample(r.b.dtype(), n * k, 2), sample(r.c.dtype, m * n, 3));
    let mut kernel = Kernel::new(r.threads);
    let lanes = i64::from(r.threads);
    // Fragments lie in memory in lane order: all values of lane 0, then those of lane 1.
    let held = |fragment: &hx_target::Fragment, tile: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let values = fragment.values();
        (0..lanes * values)
            .map(|i| tile(fragment.layout.eval(i / values + lanes * (i % values)) as usize))
            .collect()
    };
    let [a_fragment, b_fragment] = r.fragments().expect("both operands are in registers");
    let mut arguments = Vec::new();
    let mut operand = |name: &str, fragment: &hx_target::Fragment, tile: &dyn Fn(usize) -> f64| {
        let data = held(fragment, tile);
        let (len, values) = (data.len() as i64, fragment.values());
        let memory = kernel.output(name, fragment.dtype, &[len], &[1]);
        let array = kernel.registers(name, fragment.dtype, values as u32);
        let bits = fragment.dtype.bits();
        // Elements narrower than a byte are loaded together.
        let each = (8 / bits).max(1);
        for v in (0..values).step_by(each as usize) {
            let registers = at(array, c(v), each);
            let load = format!("ld.global.{}b{}", if bits == 64 { "v2." } else { "" }, bits.clamp(8, 32));
            kernel.push(transfer(&load, registers, memory, thread() * c(values) + c(v)));
        }
        arguments.push(vector(fragment.dtype, &data));
        (memory, first(array, values as u32))
    };
    let (_, ra) = operand("a", a_fragment, &|e| a[e % m * k + e / m]);
    let (_, rb) = operand("b", b_fragment, &|e| b[e % n * k + e / n]);
    let (mc, rc) = operand("c", &r.c, &|e| start[e % m * n + e / m]);
    kernel.push(multiply(row, rc.clone(), ra, rb));
    let (values_c, bits) = (r.c.values(), r.c.dtype.bits());
    for v in 0..values_c {
        let store = format!("st.global.{}b{}", if bits == 64 { "v2." } else { "" }, bits.min(32));
        kernel.push(transfer(&store, at(rc.array, c(v), 1), mc, thread() * c(values_c) + c(v)));
    }
    kernel.run(&mut arguments).unwrap();
    let want = held(&r.c, &|e| {
        let (i, j) = (e % m, e / m);
        r.c.dtype.round((0..k).fold(start[i * n + j], |sum, x| sum + a[i * k + x] * b[j * k + x]))
    });
    assert_eq!(values(r.c.dtype, &arguments[2]), want, "{row}");
}

#[test]
fn every_matrix_product_agrees_with_a_plain_loop() {
    for row in Target::usual().rows().gemms.iter().filter(|row| !row.is_by_descriptor()) {
        check_product(&row.name);
    }
}

#[test]
fn a_product_within_a_lane_is_fused() {
    // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: rounding the product first would lose the last term.
    let x = 1.0 + 2f64.powi(-12);
    let mut k = Kernel::new(1);
    let a = k.output("a", DType::F32, &[2], &[1]);
    let r = k.registers("r", DType::F32, 2);
    k.push(transfer("ld.global.v2.b32", first(r, 2), a, c(0)));
    k.push(multiply("fma.f32", at(r, c(1), 1), first(r, 1), first(r, 1)));
    k.push(transfer("st.global.v2.b32", first(r, 2), a, c(0)));
    let mut arguments = [vector(DType::F32, &[x, -1.0])];
    k.run(&mut arguments).unwrap();
    assert_eq!(values(DType::F32, &arguments[0])[1], 2f64.powi(-11) + 2f64.powi(-24));
}

/// Compares a collective load of 8x8 matrices, with rows at a stride of 40 elements, with its definition.
fn check_matrix_load(matrices: usize, trans: bool) {
    let mut k = Kernel::new(64);
    let a = k.input("a", DType::F16, &[2048], &[1]);
    let values_each = 2 * matrices as i64;
    let b = k.output("b", DType::F16, &[64 * values_each], &[1]);
    let s = k.shared("s", DType::F16, 2048);
    let r = k.registers("r", DType::F16, 8);
    let whole = thread() * c(32);
    for i in 0..4 {
        let offset = whole.clone() + c(8 * i);
        k.push(transfer("ld.global.v4.b32", first(r, 8), a, offset.clone()));
        k.push(transfer("st.shared.v4.b32", first(r, 8), s, offset));
    }
    k.push(hx_thread::Stmt::Leaf(hx_thread::Leaf::Barrier));
    let row = format!("ldmatrix.x{matrices}{}", if trans { ".trans" } else { "" });
    // Lanes beyond the rows of the matrices hold addresses outside; the load must ignore them.
    let (lane, warp) = (rem(thread(), 32), div(thread(), 32));
    let outside = div(lane.clone(), 8 * matrices as i64) * c(1_000_000);
    let address = lane * c(40) + warp * c(8) + outside;
    let registers = first(r, values_each as u32);
    k.op("copy(s, r)", vec![transfer(&row, registers, s, address)]);
    for v in 0..values_each {
        k.push(transfer("st.global.b16", at(r, c(v), 1), b, thread() * c(values_each) + c(v)));
    }
    let mut arguments =
        [vector(DType::F16, &counting(2048)), vector(DType::F16, &vec![0.0; 64 * values_each as usize])];
    let report = k.run(&mut arguments).unwrap();
    let mut want = Vec::new();
    for thread in 0..64 {
        let (warp, lane) = (thread / 32, thread % 32);
        for v in 0..2 * matrices {
            let (row, col) = (lane / 4, lane % 4 * 2 + v % 2);
            let (row, col) = if trans { (col, row) } else { (row, col) };
            want.push(((v / 2 * 8 + row) * 40 + warp * 8 + col) as f64);
        }
    }
    assert_eq!(values(DType::F16, &arguments[1]), want, "{row}");
    let counts = report.ops.values().next().unwrap();
    assert_eq!(counts.ideal_wavefronts, 2 * matrices as u64, "{row}");
    assert_eq!(counts.wavefronts, 2 * matrices as u64, "{row}: rows of 80 bytes fall into different banks");
    assert_eq!((counts.instructions, counts.bytes), (2, 64 * 4 * matrices as u64));
}

#[test]
fn matrix_loads_follow_their_definition() {
    for matrices in [1, 2, 4] {
        check_matrix_load(matrices, false);
        check_matrix_load(matrices, true);
    }
}

/// Compares a load of bytes across both dimensions, from rows at a stride of 48 bytes, with its definition, and stores the bytes to another
/// tensor, where they must lie as in the first.
fn check_matrix_of_bytes(matrices: i64) {
    const STRIDE: i64 = 48;
    let mut k = Kernel::new(32);
    let rows = 8 * matrices;
    let a = k.input("a", DType::U8, &[32 * STRIDE], &[1]);
    let b = k.output("b", DType::U8, &[32 * 4 * matrices], &[1]);
    let d = k.output("d", DType::U8, &[32 * STRIDE], &[1]);
    let (s, t) = (k.shared("s", DType::U8, 32 * 48), k.shared("t", DType::U8, 32 * 48));
    let (r, g) = (k.registers("r", DType::U8, 16), k.registers("g", DType::U8, 16));
    for i in 0..3 {
        let offset = thread() * c(STRIDE) + c(16 * i);
        k.push(transfer("ld.global.v4.b32", first(g, 16), a, offset.clone()));
        k.push(transfer("st.shared.v4.b32", first(g, 16), s, offset.clone()));
        k.push(transfer("st.shared.v4.b32", first(g, 16), t, offset));
    }
    k.push(hx_thread::Stmt::Leaf(hx_thread::Leaf::Barrier));
    let lane = thread();
    let row = div(rem(lane.clone(), rows), 16) * c(16)
        + div(rem(lane.clone(), 8), 2) * c(4)
        + rem(div(lane.clone(), 8), 2) * c(2)
        + rem(lane.clone(), 2);
    // Lanes beyond the rows of the matrices hold addresses outside, which the instructions must ignore.
    let address = row * c(STRIDE) + div(lane, rows) * c(1_000_000);
    let values_each = 4 * matrices;
    let registers = first(r, values_each as u32);
    let load = format!("ldmatrix.x{matrices}.trans.b8");
    k.op("copy(s, r)", vec![transfer(&load, registers.clone(), s, address.clone())]);
    for v in 0..values_each {
        k.push(transfer("st.global.b8", at(r, c(v), 1), b, thread() * c(values_each) + c(v)));
    }
    k.push(hx_thread::Stmt::Leaf(hx_thread::Leaf::Barrier));
    // The columns after those that were loaded.
    let store = format!("stmatrix.x{matrices}.trans.b8");
    k.push(transfer(&store, registers, t, address + c(16)));
    k.push(hx_thread::Stmt::Leaf(hx_thread::Leaf::Barrier));
    for i in 0..3 {
        let offset = thread() * c(STRIDE) + c(16 * i);
        k.push(transfer("ld.shared.v4.b32", first(g, 16), t, offset.clone()));
        k.push(transfer("st.global.v4.b32", first(g, 16), d, offset));
    }
    let given: Vec<f64> = (0..32 * STRIDE).map(|i| (i % 251) as f64).collect();
    let zeros = |count: i64| vec![0.0; count as usize];
    let mut arguments = [
        vector(DType::U8, &given),
        vector(DType::U8, &zeros(32 * values_each)),
        vector(DType::U8, &zeros(32 * STRIDE)),
    ];
    k.run(&mut arguments).unwrap();
    let mut want = Vec::new();
    for lane in 0..32 {
        for v in 0..values_each {
            let (row, column) = (4 * (lane % 4) + v % 4 + v / 8 * 16, 2 * (lane / 4) + v / 4 % 2);
            want.push(given[(row * STRIDE + column) as usize]);
        }
    }
    assert_eq!(values(DType::U8, &arguments[1]), want, "{load}");
    let mut want = given.clone();
    for (row, column) in (0..rows).flat_map(|row| (0..16).map(move |column| (row, column))) {
        want[(row * STRIDE + 16 + column) as usize] = given[(row * STRIDE + column) as usize];
    }
    assert_eq!(values(DType::U8, &arguments[2]), want, "{store}");
}

#[test]
fn matrices_of_bytes_follow_their_definition() {
    check_matrix_of_bytes(2);
    check_matrix_of_bytes(4);
}

#[test]
fn conversions_round_to_nearest_even_in_order() {
    let mut k = Kernel::new(1);
    let a = k.input("a", DType::F32, &[2], &[1]);
    let b = k.output("b", DType::F16, &[2], &[1]);
    let (r, h, g) =
        (k.registers("r", DType::F32, 2), k.registers("h", DType::F16, 2), k.registers("g", DType::F16, 2));
    k.push(transfer("ld.global.v2.b32", first(r, 2), a, c(0)));
    k.push(convert(Some("cvt.f16x2.f32"), first(h, 2), first(r, 2)));
    k.push(convert(None, first(g, 2), first(h, 2)));
    k.push(transfer("st.global.b32", first(g, 2), b, c(0)));
    let mut arguments = [vector(DType::F32, &[2049.0, 2051.0]), vector(DType::F16, &[0.0; 2])];
    k.run(&mut arguments).unwrap();
    assert_eq!(values(DType::F16, &arguments[1]), [2048.0, 2052.0]);
}
