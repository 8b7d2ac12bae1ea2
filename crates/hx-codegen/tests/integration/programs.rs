//! The programs of the golden files.

use hx_dtype::DType;
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_thread::{Control, Convert, Leaf, Memory, Param, SharedBuffer, Stmt, ThreadProgram};
use hx_tile::{Requirement, Scope};

use crate::build::*;

const A: Memory = Memory::Global(0);
const B: Memory = Memory::Global(1);
const C: Memory = Memory::Global(2);

/// Copies eight halves a thread. The last block is not full.
pub(crate) fn vector_copy() -> ThreadProgram {
    let at = block(0).scale(1024) + thread().scale(8);
    let n = dim("n");
    let inside = lt(at.clone(), n.clone());
    let ra = || regs(0, c(0), 0..8);
    let body = vec![
        group(0, "copy a -> ra", vec![guarded(load(16, ra(), A, at.clone()), inside.clone(), 0x7e00)]),
        group(1, "copy ra -> b", vec![guarded(store(16, ra(), B, at), inside, 0)]),
    ];
    let shape = [n.clone()];
    let params =
        vec![tensor("a", DType::F16, false, &shape, &[c(1)]), tensor("b", DType::F16, true, &shape, &[c(1)])];
    let grid = vec![n.ceil_div(&c(1024), &Facts::default())];
    let mut program = kernel("vector_copy", params, &["n"], grid, vec![array("ra", DType::F16, 8)], body);
    let eight = Cond::cmp(CmpOp::Eq, rem(&n, 8), c(0), &Facts::default());
    program.requires = vec![Requirement { cond: eight, text: "n % 8 == 0".into() }];
    program
}

/// Transposes a tile of 32 × 32 floats: writes it by rows and reads it by columns.
pub(crate) fn transpose() -> ThreadProgram {
    let (m, n) = (dim("m"), dim("n"));
    let i = var("i", 0);
    let iv = Expr::symbol(i.clone());
    let (row, col) = (iv.scale(4) + div(&thread(), 32), rem(&thread(), 32));
    let smem = |row: &Expr, col: &Expr| row.scale(32) + col.clone().xor(row);
    let tile = Memory::Shared(0);
    let reg = || regs(0, iv.clone(), [0]);
    let source = &(block(1).scale(32) + row.clone()) * &n + block(0).scale(32) + col.clone();
    let target = &(block(0).scale(32) + row.clone()) * &m + block(1).scale(32) + col.clone();
    let body = vec![
        group(
            0,
            "copy a -> tile",
            vec![unrolled(
                &i,
                8,
                vec![
                    Stmt::Leaf(Leaf::Transfer(load(4, reg(), A, source))),
                    Stmt::Leaf(Leaf::Transfer(store(4, reg(), tile, smem(&row, &col)))),
                ],
            )],
        ),
        group(1, "sync", vec![Stmt::Leaf(Leaf::Barrier)]),
        group(
            2,
            "copy tile.t() -> b",
            vec![unrolled(
                &i,
                8,
                vec![
                    Stmt::Leaf(Leaf::Transfer(load(4, reg(), tile, smem(&col, &row)))),
                    Stmt::Leaf(Leaf::Transfer(store(4, reg(), B, target))),
                ],
            )],
        ),
    ];
    let params = vec![
        tensor("a", DType::F32, false, &[m.clone(), n.clone()], &[n.clone(), c(1)]),
        tensor("b", DType::F32, true, &[n.clone(), m.clone()], &[m.clone(), c(1)]),
    ];
    let grid = vec![div(&n, 32), div(&m, 32)];
    let mut program = kernel("transpose", params, &["m", "n"], grid, vec![array("r", DType::F32, 8)], body);
    program.shared = vec![SharedBuffer { name: "tile".into(), dtype: DType::F32, offset: 0, bytes: 4096 }];
    program.shared_bytes = 4096;
    program
}

/// Computes one product of 16 × 8 × 16 in one warp. Each load of an operand reads two halves.
pub(crate) fn one_product() -> ThreadProgram {
    let (lane, k) = (rem(&thread(), 32), dim("k"));
    let (quad, pair) = (div(&lane, 4), rem(&lane, 4).scale(2));
    let mut body = vec![group(0, "fill acc = 0.0", vec![fill(regs(2, c(0), 0..4), 0)])];
    let mut loads = Vec::new();
    for (j, (row, col)) in [(0, 0), (8, 0), (0, 8), (8, 8)].into_iter().enumerate() {
        let at = &(quad.clone() + c(row)) * &k + pair.clone() + c(col);
        loads.push(Stmt::Leaf(Leaf::Transfer(load(4, regs(0, c(2 * j as i64), 0..2), A, at))));
    }
    body.push(group(1, "copy a -> ra", loads));
    let col = |j: i64| &quad * &k + pair.clone() + c(8 * j);
    let loads = (0..2).map(|j| Stmt::Leaf(Leaf::Transfer(load(4, regs(1, c(2 * j), 0..2), B, col(j)))));
    body.push(group(2, "copy b -> rb", loads.collect()));
    let operands = (regs(2, c(0), 0..4), regs(0, c(0), 0..8), regs(1, c(0), 0..4));
    body.push(group(
        3,
        "gemm acc += ra @ rb",
        vec![product([16, 8, 16], [DType::F16, DType::F32], operands.0, operands.1, operands.2)],
    ));
    let stores = (0..2).map(|j| {
        let at = (quad.clone() + c(8 * j)).scale(8) + pair.clone();
        Stmt::Leaf(Leaf::Transfer(store(8, regs(2, c(2 * j), 0..2), C, at)))
    });
    body.push(group(4, "copy acc -> c", stores.collect()));
    let params = vec![
        tensor("a", DType::F16, false, &[c(16), k.clone()], &[k.clone(), c(1)]),
        tensor("b", DType::F16, false, &[c(8), k.clone()], &[k.clone(), c(1)]),
        tensor("c", DType::F32, true, &[c(16), c(8)], &[c(8), c(1)]),
    ];
    let registers = vec![array("ra", DType::F16, 8), array("rb", DType::F16, 4), array("acc", DType::F32, 4)];
    let mut program = kernel("one_product", params, &["k"], vec![c(1)], registers, body);
    program.scopes = vec![Scope::block(32)];
    program
}

/// Loads one half at a time, as along a column; stores pairs, some of which cross words; and uses a parity known after unrolling.
pub(crate) fn half_words() -> ThreadProgram {
    let (s, i, j) = (dim("s"), var("i", 0), var("i", 1));
    let (iv, jv) = (Expr::symbol(i.clone()), Expr::symbol(j.clone()));
    let at = &iv * &s + thread();
    let body = vec![
        group(
            0,
            "copy a -> r",
            vec![unrolled(
                &i,
                8,
                vec![guarded(load(2, regs(0, iv.clone(), [0]), A, at), lt(iv.clone(), s.clone()), 0x3c00)],
            )],
        ),
        group(
            1,
            "copy r -> b",
            vec![
                Stmt::Leaf(Leaf::Transfer(store(16, regs(0, c(0), 0..8), B, thread().scale(16)))),
                Stmt::Leaf(Leaf::Transfer(store(
                    8,
                    regs(0, c(1), [0, 1, 2, 3]),
                    B,
                    thread().scale(16) + c(8),
                ))),
                Stmt::Leaf(Leaf::Transfer(store(4, regs(0, c(0), [6, 1]), B, thread().scale(16) + c(12)))),
                unrolled(
                    &j,
                    2,
                    vec![Stmt::Leaf(Leaf::Transfer(store(
                        2,
                        regs(0, jv.scale(3), [0]),
                        B,
                        thread().scale(16) + jv + c(14),
                    )))],
                ),
            ],
        ),
    ];
    let params = vec![
        tensor("a", DType::F16, false, &[c(8), c(128)], &[s, c(1)]),
        tensor("b", DType::F16, true, &[c(128), c(16)], &[c(16), c(1)]),
    ];
    kernel("half_words", params, &["s"], vec![c(1)], vec![array("r", DType::F16, 8)], body)
}

/// Computes `y += a x` in 64 bits, two elements a thread.
pub(crate) fn axpy_f64() -> ThreadProgram {
    let n = dim("n");
    let at = block(0).scale(256) + thread().scale(2);
    let inside = lt(at.clone(), n.clone());
    let f64 = DType::F64;
    let multiply =
        |i: u32| product([1, 1, 1], [f64, f64], regs(1, c(0), [i]), regs(0, c(0), [i]), regs(2, c(0), [0]));
    let body = vec![
        group(0, "fill s = 0.1", vec![fill(regs(2, c(0), [0]), f64.encode(0.1))]),
        group(
            1,
            "copy x -> rx",
            vec![guarded(load(16, regs(0, c(0), 0..2), A, at.clone()), inside.clone(), f64.encode(1.5))],
        ),
        group(
            2,
            "copy y -> ry",
            vec![
                Stmt::Leaf(Leaf::Transfer(load(8, regs(1, c(0), [0]), B, at.clone()))),
                Stmt::Leaf(Leaf::Transfer(load(8, regs(1, c(0), [1]), B, at.clone() + c(1)))),
            ],
        ),
        group(3, "gemm ry += rx * s", vec![multiply(0), multiply(1)]),
        group(4, "copy ry -> y", vec![guarded(store(16, regs(1, c(0), 0..2), B, at), inside, 0)]),
    ];
    let params = vec![
        tensor("x", f64, false, std::slice::from_ref(&n), &[c(1)]),
        tensor("y", f64, true, std::slice::from_ref(&n), &[c(1)]),
    ];
    let registers = vec![array("rx", f64, 2), array("ry", f64, 2), array("s", f64, 1)];
    let grid = vec![n.ceil_div(&c(256), &Facts::default())];
    kernel("axpy_f64", params, &["n"], grid, registers, body)
}

/// Converts pairs and single values to aligned and unaligned destinations, and emits moves and constants.
pub(crate) fn conversions() -> ThreadProgram {
    use DType::{Bf16, F16, F32, F64};
    let i = var("i", 3);
    let iv = Expr::symbol(i.clone());
    let moved = |dst, src| Stmt::Leaf(Leaf::Convert(Convert { row: None, dst, src }));
    let body = vec![
        group(
            0,
            "copy a -> x",
            vec![Stmt::Leaf(Leaf::Transfer(load(16, regs(0, c(0), 0..4), A, thread().scale(4))))],
        ),
        group(
            1,
            "cast x -> h",
            vec![unrolled(
                &i,
                2,
                vec![convert(F32, F16, 2, regs(1, iv.scale(2), 0..2), regs(0, iv.scale(2), 0..2))],
            )],
        ),
        group(
            2,
            "cast x -> h, out of order",
            vec![
                convert(F32, F16, 2, regs(1, c(4), [1, 2]), regs(0, c(0), 0..2)),
                convert(F32, F16, 1, regs(1, c(4), [0, 3]), regs(0, c(0), [3, 2])),
            ],
        ),
        group(3, "cast h -> g", vec![convert(F16, Bf16, 1, regs(2, c(0), 0..8), regs(1, c(0), 0..8))]),
        group(4, "cast g -> x", vec![convert(Bf16, F32, 1, regs(0, c(0), 0..4), regs(2, c(0), 0..4))]),
        group(5, "cast h -> d", vec![convert(F16, F64, 1, regs(3, c(0), [0]), regs(1, c(0), [5]))]),
        group(
            6,
            "moves",
            vec![
                moved(regs(2, c(0), 4..8), regs(2, c(0), 0..4)),
                moved(regs(2, c(0), [2, 3]), regs(2, c(0), [7, 0])),
                fill(regs(2, c(0), [1]), Bf16.encode(1.0)),
                moved(regs(0, c(0), [0, 1]), regs(0, c(0), [3, 2])),
            ],
        ),
        group(
            7,
            "copies -> b, c, d",
            vec![
                Stmt::Leaf(Leaf::Transfer(store(16, regs(2, c(0), 0..8), B, thread().scale(8)))),
                Stmt::Leaf(Leaf::Transfer(store(16, regs(0, c(0), 0..4), C, thread().scale(4)))),
                Stmt::Leaf(Leaf::Transfer(store(8, regs(3, c(0), [0]), Memory::Global(3), thread()))),
                Stmt::Leaf(Leaf::Transfer(store(
                    16,
                    regs(1, c(0), 0..8),
                    Memory::Global(4),
                    thread().scale(8),
                ))),
            ],
        ),
    ];
    let one = |name: &str, dtype, mutable| tensor(name, dtype, mutable, &[c(1024)], &[c(1)]);
    let params = vec![
        one("a", F32, false),
        one("b", Bf16, true),
        one("c", F32, true),
        one("d", F64, true),
        one("e", F16, true),
    ];
    let registers = vec![array("x", F32, 4), array("h", F16, 8), array("g", Bf16, 8), array("d", F64, 1)];
    kernel("conversions", params, &[], vec![c(1)], registers, body)
}

/// Uses elements of 8 and of 4 bits.
pub(crate) fn narrow() -> ThreadProgram {
    let i = var("i", 0);
    let iv = Expr::symbol(i.clone());
    let body = vec![
        group(
            0,
            "copy a -> r",
            vec![unrolled(
                &i,
                4,
                vec![Stmt::Leaf(Leaf::Transfer(load(
                    1,
                    regs(0, iv.clone(), [0]),
                    A,
                    iv.scale(128) + thread(),
                )))],
            )],
        ),
        group(
            1,
            "copy r -> b",
            vec![Stmt::Leaf(Leaf::Transfer(store(4, regs(0, c(0), 0..4), B, thread().scale(4))))],
        ),
        group(
            2,
            "copy q -> r4",
            vec![
                Stmt::Leaf(Leaf::Transfer(load(4, regs(1, c(0), 0..8), C, thread().scale(16)))),
                Stmt::Leaf(Leaf::Transfer(load(1, regs(1, c(0), [8, 9]), C, thread().scale(16) + c(8)))),
                fill(regs(1, c(0), 10..16), 0xf),
            ],
        ),
        group(
            3,
            "copy r4 -> w",
            vec![
                Stmt::Leaf(Leaf::Transfer(store(
                    8,
                    regs(1, c(0), 0..16),
                    Memory::Global(3),
                    thread().scale(16),
                ))),
                Stmt::Leaf(Leaf::Transfer(store(
                    2,
                    regs(1, c(0), [9, 8, 3, 1]),
                    Memory::Global(3),
                    thread().scale(16),
                ))),
            ],
        ),
    ];
    let one = |name: &str, dtype, mutable| tensor(name, dtype, mutable, &[c(2048)], &[c(1)]);
    let params = vec![
        one("a", DType::F8E4m3, false),
        one("b", DType::F8E4m3, true),
        one("q", DType::U4, false),
        one("w", DType::U4, true),
    ];
    kernel(
        "narrow",
        params,
        &[],
        vec![c(1)],
        vec![array("r", DType::F8E4m3, 4), array("r4", DType::U4, 16)],
        body,
    )
}

/// Uses negative offsets, divisors of any sign, names that C++ reserves, and loops with run-time bounds.
pub(crate) fn signed() -> ThreadProgram {
    let facts = Facts::default();
    let (n, shift) = (dim("int"), Expr::symbol(Symbol::Scalar("shift".into())));
    let big = Expr::symbol(Symbol::Scalar("big".into()));
    let (at, t) = (var("thread", 1), var("i", 2));
    let (av, tv) = (Expr::symbol(at.clone()), Expr::symbol(t.clone()));
    let moved = thread() - shift.clone();
    let value = moved.div(&c(3), &facts) + moved.rem(&c(5), &facts).scale(2) - moved.rem(&n, &facts)
        + moved.div(&c(8), &facts).scale(4);
    let source = &(&av * &av) * &n - big.div(&c(7), &facts) + tv.minimum(&n, &facts) + c(-3_000_000_000);
    let reg = || regs(0, c(0), [0]);
    let inside = Cond::Or(vec![
        lt(av.clone(), n.clone()),
        Cond::And(vec![lt(c(0) - tv.clone(), big.clone()), Cond::Cmp(CmpOp::Ne, tv.clone(), shift)]),
    ]);
    let body = vec![group(
        0,
        "copy a -> r",
        vec![
            Stmt::Leaf(Leaf::Let { var: at, value }),
            Stmt::Control(Control::For {
                var: t.clone(),
                start: div(&n, 2),
                end: (n.clone() + c(1)).maximum(&thread(), &facts),
                unroll: false,
                body: vec![
                    Stmt::Control(Control::If {
                        cond: inside,
                        then: vec![Stmt::Leaf(Leaf::Transfer(load(4, reg(), A, source)))],
                        otherwise: vec![fill(reg(), 0xffff_ffff)],
                    }),
                    Stmt::Leaf(Leaf::Transfer(store(4, reg(), B, tv.scale(3).xor(&thread()).and(0xff)))),
                ],
            }),
        ],
    )];
    let params = vec![
        tensor("a", DType::I32, false, std::slice::from_ref(&n), &[c(1)]),
        tensor("blockIdx", DType::I32, true, std::slice::from_ref(&n), &[c(1)]),
        Param::Scalar { name: "shift".into(), dtype: DType::I32 },
        Param::Scalar { name: "big".into(), dtype: DType::I64 },
        Param::Scalar { name: "float".into(), dtype: DType::F16 },
    ];
    kernel("signed", params, &["int"], vec![c(1)], vec![array("r", DType::I32, 1)], body)
}

/// Returns the offset of a chunk of eight halves in rows of 32. Chunks are swizzled so that eight rows of a column lie in eight
/// different bank groups.
fn swizzled(row: &Expr, chunk: &Expr) -> Expr {
    row.scale(32) + chunk.xor(&rem(&div(row, 2), 4)).scale(8)
}

/// Computes `c = a · bᵀ` in blocks of 128 × 128 × 32, by four warps of 64 × 64.
pub(crate) fn gemm() -> ThreadProgram {
    let (m, n, k) = (dim("m"), dim("n"), dim("k"));
    let (kt, i, j, ks) = (var("kt", 0), var("i", 1), var("j", 2), var("ks", 3));
    let [ktv, iv, jv, ksv] = [&kt, &i, &j, &ks].map(|v| Expr::symbol(v.clone()));
    let (sa, sb) = (Memory::Shared(0), Memory::Shared(1));
    let (warp, lane) = (div(&thread(), 32), rem(&thread(), 32));
    let (warp_m, warp_n) = (div(&warp, 2), rem(&warp, 2));

    // From global to shared memory: each thread moves four chunks of eight halves of each operand.
    let (row, chunk) = (iv.scale(32) + div(&thread(), 4), rem(&thread(), 4));
    let global = |block: Expr| &(block.scale(128) + row.clone()) * &k + ktv.scale(32) + chunk.scale(8);
    let moved = |array: u32, memory, block, shared| {
        let r = || regs(array, iv.scale(8), 0..8);
        let inside = lt(
            global(Expr::default()) - global(Expr::default()) + block_row(&block, &row),
            if array == 0 { m.clone() } else { n.clone() },
        );
        (
            unrolled(&i, 4, vec![guarded(load(16, r(), memory, global(block)), inside, 0)]),
            unrolled(&i, 4, vec![Stmt::Leaf(Leaf::Transfer(store(16, r(), shared, swizzled(&row, &chunk))))]),
        )
    };
    let (load_a, store_a) = moved(0, A, block(1), sa);
    let (load_b, store_b) = moved(1, B, block(0), sb);

    // From shared memory to fragments: four matrices at once.
    let row_a = warp_m.scale(64) + iv.scale(16) + rem(&lane, 16);
    let chunk_a = ksv.scale(2) + div(&lane, 16);
    let row_b = warp_n.scale(64) + jv.scale(16) + div(&lane, 16).scale(8) + rem(&lane, 8);
    let chunk_b = ksv.scale(2) + rem(&div(&lane, 8), 2);
    let fragments_a =
        Stmt::Leaf(Leaf::Transfer(load_matrices(regs(2, iv.scale(8), 0..8), sa, swizzled(&row_a, &chunk_a))));
    let fragments_b =
        Stmt::Leaf(Leaf::Transfer(load_matrices(regs(3, jv.scale(8), 0..8), sb, swizzled(&row_b, &chunk_b))));
    let multiply = product(
        [16, 8, 16],
        [DType::F16, DType::F32],
        regs(4, iv.scale(32) + jv.scale(4), 0..4),
        regs(2, iv.scale(8), 0..8),
        regs(3, jv.scale(4), 0..4),
    );
    let step = vec![
        group(3, "copy sa -> fa", vec![unrolled(&i, 4, vec![fragments_a])]),
        group(4, "copy sb -> fb", vec![unrolled(&j, 4, vec![fragments_b])]),
        group(5, "gemm acc += fa @ fb.t()", vec![unrolled(&i, 4, vec![unrolled(&j, 8, vec![multiply])])]),
    ];
    let body = vec![
        group(0, "fill acc = 0.0", vec![fill(regs(4, c(0), 0..128), 0)]),
        Stmt::Control(Control::For {
            var: kt,
            start: c(0),
            end: div(&k, 32),
            unroll: false,
            body: vec![
                group(1, "copy a -> sa", vec![load_a, Stmt::Leaf(Leaf::Barrier), store_a]),
                group(2, "copy b -> sb", vec![load_b, store_b]),
                Stmt::Leaf(Leaf::Barrier),
                unrolled(&ks, 2, step),
            ],
        }),
        group(6, "copy acc -> c", vec![unrolled(&i, 4, vec![unrolled(&j, 8, gemm_stores(&iv, &jv))])]),
    ];
    let params = vec![
        tensor("a", DType::F16, false, &[m.clone(), k.clone()], &[k.clone(), c(1)]),
        tensor("b", DType::F16, false, &[n.clone(), k.clone()], &[k, c(1)]),
        tensor("c", DType::F32, true, &[m.clone(), n.clone()], &[n.clone(), c(1)]),
    ];
    let registers = vec![
        array("ra", DType::F16, 32),
        array("rb", DType::F16, 32),
        array("fa", DType::F16, 32),
        array("fb", DType::F16, 32),
        array("acc", DType::F32, 128),
    ];
    let blocks = |d: &Expr| d.ceil_div(&c(128), &Facts::default());
    let grid = vec![blocks(&n), blocks(&m)];
    let mut program = kernel("gemm", params, &["m", "n", "k"], grid, registers, body);
    let buffer =
        |name: &str, offset| SharedBuffer { name: name.into(), dtype: DType::F16, offset, bytes: 8192 };
    program.shared = vec![buffer("sa", 0), buffer("sb", 8192)];
    program.shared_bytes = 16384;
    program
}

fn block_row(block: &Expr, row: &Expr) -> Expr {
    block.scale(128) + row.clone()
}

/// Stores the accumulators of one 16 × 8 tile, two at a time.
fn gemm_stores(i: &Expr, j: &Expr) -> Vec<Stmt> {
    let (m, n) = (dim("m"), dim("n"));
    let (warp, lane) = (div(&thread(), 32), rem(&thread(), 32));
    let first = block(1).scale(128) + div(&warp, 2).scale(64) + i.scale(16) + div(&lane, 4);
    let col = block(0).scale(128) + rem(&warp, 2).scale(64) + j.scale(8) + rem(&lane, 4).scale(2);
    let half = |h: i64| {
        let row = first.clone() + c(8 * h);
        let inside = lt(row.clone(), m.clone()).and(lt(col.clone(), n.clone()));
        let values = regs(4, i.scale(32) + j.scale(4) + c(2 * h), 0..2);
        guarded(store(8, values, C, &row * &n + col.clone()), inside, 0)
    };
    vec![half(0), half(1)]
}
