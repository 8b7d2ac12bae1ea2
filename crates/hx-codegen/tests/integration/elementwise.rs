//! Programs with expressions, exchanges, asynchronous copies, and local integers that change.

use hx_dtype::{DType, Operator};
use hx_index::{CmpOp, Cond, Expr, Facts};
use hx_target::Target;
use hx_thread::{
    Address, AsyncCopy, Compute, Control, Exchange, Lane, Leaf, Memory, Param, Registers, SharedBuffer, Stmt,
    ThreadProgram,
};
use hx_tile::Scalar;

use crate::build::*;

const A: Memory = Memory::Global(0);
const B: Memory = Memory::Global(1);

fn input(index: u32, dtype: DType) -> Scalar {
    Scalar::Input { index, dtype }
}

fn compute(dst: Registers, inputs: Vec<Registers>, value: Scalar) -> Stmt {
    Stmt::Leaf(Leaf::Compute(Compute { dst, inputs, value }))
}

fn apply(operator: Operator, dtype: DType, args: impl IntoIterator<Item = Scalar>) -> Scalar {
    Scalar::apply(operator, dtype, args)
}

/// Computes the softmax of a row of halves in each warp, by exchanges between lanes, with a scale and a mask.
pub(crate) fn softmax() -> ThreadProgram {
    use DType::{F16, F32};
    let (i, iv) = (var("i", 0), Expr::symbol(var("i", 0)));
    let lane = rem(&thread(), 32);
    let at = (block(0).scale(4) + div(&thread(), 32)).scale(256) + lane.scale(8);
    let half = |base: &Expr| regs(0, base.clone(), [0]);
    let [wide, most, sum] = [1, 2, 3].map(|a| move |base: &Expr| regs(a, base.clone(), [0]));
    let zero = c(0);
    let column = lane.scale(8) + iv.clone();
    let integer = |value: Expr| Scalar::Integer { value, dtype: DType::I32 };
    let inside = apply(Operator::Lt, DType::I32, [integer(column), integer(dim("n"))]);
    let scaled = apply(
        Operator::Mul,
        F32,
        [input(0, F16).cast(F32), Scalar::Param { name: "scale".into(), dtype: F32 }],
    );
    let masked = apply(Operator::Select, F32, [inside, scaled, Scalar::constant(f64::NEG_INFINITY, F32)]);
    let reduce = |array: fn(&Expr) -> Registers, operator: Operator| {
        let row = hx_target::row("shfl.bfly.b32");
        let steps = [16, 8, 4, 2, 1].into_iter().flat_map(move |mask| {
            let (own, other) = (array(&c(0)), regs(4, c(0), [0]));
            let exchange = Exchange { row, dst: other.clone(), src: own.clone(), lane: Lane::Xor(mask) };
            let value = apply(operator, F32, [input(0, F32), input(1, F32)]);
            [Stmt::Leaf(Leaf::Exchange(exchange)), compute(own.clone(), vec![own, other], value)]
        });
        steps.collect::<Vec<_>>()
    };
    let difference = apply(Operator::Sub, F32, [input(0, F32), input(1, F32)]);
    let combine = |operator| apply(operator, F32, [input(0, F32), input(1, F32)]);
    let mut rows = vec![
        fill(most(&zero), F32.encode(f64::NEG_INFINITY)),
        unrolled(&i, 8, vec![compute(most(&zero), vec![most(&zero), wide(&iv)], combine(Operator::Max))]),
    ];
    rows.extend(reduce(|base| regs(2, base.clone(), [0]), Operator::Max));
    let mut sums = vec![
        fill(sum(&zero), 0),
        unrolled(&i, 8, vec![compute(sum(&zero), vec![sum(&zero), wide(&iv)], combine(Operator::Add))]),
    ];
    sums.extend(reduce(|base| regs(3, base.clone(), [0]), Operator::Add));
    let body = vec![
        group(
            0,
            "copy a -> h",
            vec![Stmt::Leaf(Leaf::Transfer(load(16, regs(0, c(0), 0..8), A, at.clone())))],
        ),
        group(
            1,
            "x = where(index < n, h * scale, -inf)",
            vec![unrolled(&i, 8, vec![compute(wide(&iv), vec![half(&iv)], masked)])],
        ),
        group(2, "m = max(x)", rows),
        group(
            3,
            "x = exp(x - m)",
            vec![unrolled(
                &i,
                8,
                vec![compute(
                    wide(&iv),
                    vec![wide(&iv), most(&zero)],
                    apply(Operator::Exp, F32, [difference]),
                )],
            )],
        ),
        group(4, "s = sum(x)", sums),
        group(
            5,
            "h = cast(x / s, f16)",
            vec![unrolled(
                &i,
                8,
                vec![compute(half(&iv), vec![wide(&iv), sum(&zero)], combine(Operator::Div).cast(F16))],
            )],
        ),
        group(6, "copy h -> b", vec![Stmt::Leaf(Leaf::Transfer(store(16, regs(0, c(0), 0..8), B, at)))]),
    ];
    let shape = [dim("m"), c(256)];
    let params = vec![
        tensor("a", F16, false, &shape, &[c(256), c(1)]),
        tensor("b", F16, true, &shape, &[c(256), c(1)]),
        Param::Scalar { name: "scale".into(), dtype: F32 },
    ];
    let registers = vec![
        array("h", F16, 8),
        array("exp", F32, 8),
        array("most", F32, 1),
        array("sum", F32, 1),
        array("other", F32, 1),
    ];
    kernel("softmax", params, &["m", "n"], vec![div(&dim("m"), 4)], registers, body)
}

/// Keeps two tiles in flight to shared memory; the last is ragged, and the reader waits for each.
pub(crate) fn staged() -> ThreadProgram {
    let (kt, ktv) = (var("kt", 0), Expr::symbol(var("kt", 0)));
    let n = dim("n");
    let copy = |tile: Expr, stage: Expr| {
        let offset = tile.scale(1024) + thread().scale(8);
        let row = Target::usual().rows().copies.iter().find(|r| r.is_async() && r.bytes == 16);
        Stmt::Leaf(Leaf::AsyncCopy(AsyncCopy {
            signals: None,
            row: row.expect("there is one").into(),
            src: Address { memory: A, offset: offset.clone() },
            dst: Address { memory: Memory::Shared(0), offset: stage.scale(1024) + thread().scale(8) },
            active: lt(tile, div(&n, 1000)),
            inside: lt(offset, n.clone()),
            cache: hx_target::Cache::default(),
        }))
    };
    let stage = rem(&ktv, 2);
    let body = vec![
        group(0, "copy_async a -> s", vec![copy(c(0), c(0)), Stmt::Leaf(Leaf::Commit)]),
        Stmt::Control(Control::For {
            var: kt,
            start: c(0),
            end: n.ceil_div(&c(1024), &Facts::default()),
            unroll: false,
            body: vec![
                group(
                    1,
                    "copy_async a -> s",
                    vec![copy(ktv.clone() + c(1), rem(&(ktv.clone() + c(1)), 2)), Stmt::Leaf(Leaf::Commit)],
                ),
                group(2, "wait 1", vec![Stmt::Leaf(Leaf::Wait { groups: 1 }), Stmt::Leaf(Leaf::Barrier)]),
                group(
                    3,
                    "copy s -> b",
                    vec![
                        Stmt::Leaf(Leaf::Transfer(load(
                            16,
                            regs(0, c(0), 0..8),
                            Memory::Shared(0),
                            stage.scale(1024) + (c(127) - thread()).scale(8),
                        ))),
                        Stmt::Leaf(Leaf::Transfer(store(
                            16,
                            regs(0, c(0), 0..8),
                            B,
                            ktv.scale(1024) + thread().scale(8),
                        ))),
                        Stmt::Leaf(Leaf::Barrier),
                    ],
                ),
            ],
        }),
    ];
    let params = vec![
        tensor("a", DType::F16, false, std::slice::from_ref(&n), &[c(1)]),
        tensor("b", DType::F16, true, std::slice::from_ref(&n), &[c(1)]),
    ];
    let mut program = kernel("staged", params, &["n"], vec![c(1)], vec![array("r", DType::F16, 8)], body);
    program.shared = vec![SharedBuffer { name: "s".into(), dtype: DType::F16, offset: 0, bytes: 4096 }];
    program.shared_bytes = 4096;
    program
}

/// Walks a linked list whose links are indices in memory.
pub(crate) fn walk() -> ThreadProgram {
    let (at, next) = (var("at", 0), var("next", 1));
    let (av, nv) = (Expr::symbol(at.clone()), Expr::symbol(next.clone()));
    let facts = Facts::default();
    let body = vec![
        Stmt::Leaf(Leaf::Let { var: at.clone(), value: block(0) }),
        group(0, "fill s = 0", vec![fill(regs(0, c(0), [0]), 0)]),
        Stmt::Control(Control::While {
            origin: None,
            cond: Cond::cmp(CmpOp::Le, c(0), av.clone(), &facts),
            body: vec![
                Stmt::Leaf(Leaf::LoadInteger {
                    var: next,
                    address: Address { memory: A, offset: av.clone() },
                }),
                group(
                    1,
                    "copy a -> r",
                    vec![Stmt::Leaf(Leaf::Transfer(load(
                        4,
                        regs(1, c(0), [0]),
                        B,
                        av.scale(128) + thread(),
                    )))],
                ),
                group(
                    2,
                    "s += r",
                    vec![compute(
                        regs(0, c(0), [0]),
                        vec![regs(0, c(0), [0]), regs(1, c(0), [0])],
                        apply(Operator::Add, DType::I32, [input(0, DType::I32), input(1, DType::I32)]),
                    )],
                ),
                Stmt::Leaf(Leaf::Assign { var: at, value: nv.div(&c(2), &facts) + c(-1) }),
            ],
        }),
        group(
            3,
            "copy s -> c",
            vec![Stmt::Leaf(Leaf::Transfer(store(
                4,
                regs(0, c(0), [0]),
                Memory::Global(2),
                block(0).scale(128) + thread(),
            )))],
        ),
    ];
    let params = vec![
        tensor("next", DType::I16, false, &[dim("n")], &[c(1)]),
        tensor("a", DType::I32, false, &[dim("n"), c(128)], &[c(128), c(1)]),
        tensor("c", DType::I32, true, &[dim("n"), c(128)], &[c(128), c(1)]),
    ];
    let registers = vec![array("s", DType::I32, 1), array("r", DType::I32, 1)];
    kernel("walk", params, &["n"], vec![dim("n")], registers, body)
}

/// Returns the number of elements that an expression computes at once: more than one if an operator has rows for packed elements
/// only.
fn together(value: &Scalar) -> i64 {
    let mut operators = Vec::new();
    value.operators(&mut operators);
    let packed = |(operator, dtype): &(Operator, DType)| {
        let single = Target::usual().rows().compute(*operator, *dtype);
        single.is_none().then(|| Target::usual().rows().compute_packed(*operator, *dtype)).flatten()
    };
    operators.iter().find_map(packed).map_or(1, |row| row.values.into())
}

/// Evaluates each expression on operands from registers, and stores each result in an element of its own.
fn expressions(name: &str, rows: Vec<(Vec<DType>, Scalar)>) -> ThreadProgram {
    let mut types: Vec<DType> = rows.iter().flat_map(|(t, v)| t.iter().copied().chain([v.dtype()])).collect();
    types.sort();
    types.dedup();
    let place = |dtype: DType| types.iter().position(|t| *t == dtype).unwrap_or(0);
    let mut results = vec![0; types.len()];
    let mut computes = Vec::new();
    for (types, value) in rows {
        let at = place(value.dtype());
        let values = together(&value);
        results[at] = (results[at] + values - 1) / values * values;
        let dst = regs(2 * at as u32 + 1, c(results[at]), 0..values as u32);
        results[at] += values;
        let first = |i: usize| if values == 1 { i as i64 + 1 } else { i as i64 % 2 * values };
        let source = |(i, t): (usize, &DType)| regs(2 * place(*t) as u32, c(first(i)), 0..values as u32);
        let inputs = types.iter().enumerate().map(source).collect();
        computes.push(group(1, &value.to_string(), vec![compute(dst, inputs, value)]));
    }
    let (mut registers, mut params) = (Vec::new(), Vec::new());
    let (mut loads, mut stores) = (Vec::new(), Vec::new());
    let i = var("i", 0);
    for (t, dtype) in types.iter().enumerate() {
        // A load reads four operands; one store writes sixteen bytes of results.
        let (load_bytes, bits) = ((dtype.bits() / 2).min(16), i64::from(dtype.bits()));
        let loaded = i64::from(load_bytes) * 8 / bits;
        let stored = 128 / bits;
        let count = (results[t] + stored - 1) / stored;
        for (name, out, len) in [("in", false, 4), ("out", true, count * stored)] {
            registers.push(array(&format!("{name}_{dtype}"), *dtype, len as u32));
            params.push(tensor(&format!("{name}_{dtype}_t"), *dtype, out, &[c(4096)], &[c(1)]));
        }
        let (array, iv) = (2 * t as u32, Expr::symbol(i.clone()));
        let read = regs(array, iv.scale(loaded), 0..loaded as u32);
        let at = thread().scale(4) + iv.scale(loaded);
        loads.push(unrolled(
            &i,
            4 / loaded,
            vec![Stmt::Leaf(Leaf::Transfer(load(load_bytes, read, Memory::Global(array), at)))],
        ));
        let written = regs(array + 1, iv.scale(stored), 0..stored as u32);
        let at = thread().scale(count * stored) + iv.scale(stored);
        let store = store(16, written, Memory::Global(array + 1), at);
        stores.push(unrolled(&i, count, vec![Stmt::Leaf(Leaf::Transfer(store))]));
    }
    let mut body = vec![group(0, "loads", loads)];
    body.extend(computes);
    body.push(group(2, "stores", stores));
    kernel(name, params, &[], vec![c(1)], registers, body)
}

pub(crate) fn operators() -> ThreadProgram {
    let named = |name: &str| OPERATORS.iter().copied().find(|operator| format!("{operator:?}") == name);
    let rows = Target::usual().rows().computes.iter().filter_map(|row| {
        let operator = named(&row.operator)?;
        let types: Vec<DType> = (0..operator.arity())
            .map(|i| if operator == Operator::Select && i == 0 { DType::Bool } else { row.dtype })
            .collect();
        let args = types.iter().enumerate().map(|(i, t)| input(i as u32, *t));
        let value = apply(operator, row.dtype, args.collect::<Vec<_>>());
        Some((types, value))
    });
    let mut rows: Vec<_> = rows.collect();
    // Narrow integers, a shift by a literal, and an operand used twice.
    use DType::{I4, I8, U16, U32};
    let binary = |op, t: DType| (vec![t, t], apply(op, t, [input(0, t), input(1, t)]));
    rows.extend([
        binary(Operator::Mul, I8),
        binary(Operator::Sub, U16),
        binary(Operator::Rem, I8),
        binary(Operator::Shl, I4),
    ]);
    rows.push((vec![U32], apply(Operator::Shr, U32, [input(0, U32), Scalar::constant(3.0, U32)])));
    let twice = apply(
        Operator::Max,
        DType::F32,
        [input(0, DType::F16).cast(DType::F32), Scalar::constant(-0.5, DType::F32)],
    );
    let square = apply(Operator::Mul, DType::F32, [twice.clone(), twice]);
    rows.push((vec![DType::F16], square));
    // Reinterprets the bits of an element as another type of the same width.
    use DType::{F16, F32, F64, I16, I32, I64, U64};
    for (from, to) in [(F32, U32), (I32, F32), (F64, U64), (I64, F64), (F16, I16), (I16, F16), (U64, I64)] {
        rows.push((vec![from], input(0, from).bitcast(to)));
    }
    expressions("operators", rows)
}

const OPERATORS: &[Operator] = {
    use Operator::*;
    &[
        Neg, Abs, Not, Exp, Exp2, Log, Log2, Sqrt, Rsqrt, Tanh, Sigmoid, Sin, Cos, Floor, Ceil, Round, Erf,
        Log10, Exp10, Expm1, Log1p, Cbrt, Sinh, Cosh, Tan, Asin, Acos, Atan, Erfinv, Lgamma, Trunc, Sign,
        IsNan, Popcount, Clz, Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor, Shl, Shr, Mulhi, Pow, Atan2,
        Fmod, Copysign, Lt, Le, Eq, Ne, Fma, Select,
    ]
};

/// Converts between all pairs of types, one type of each kind.
pub(crate) fn casts() -> ThreadProgram {
    use DType::*;
    let types = [Bool, I4, I8, U16, I32, U32, I64, U64, F16, Bf16, Tf32, F32, F64];
    let rows = types
        .into_iter()
        .flat_map(|from| types.map(move |to| (from, to)))
        .filter(|(from, to)| from != to)
        .map(|(from, to)| (vec![from], input(0, from).cast(to)));
    expressions("casts", rows.collect())
}

/// Exchanges values of several types between lanes.
pub(crate) fn exchanges() -> ThreadProgram {
    let mut program = expressions(
        "exchanges",
        [DType::F64, DType::F16, DType::I8].map(|t| (vec![t], input(0, t))).to_vec(),
    );
    let row = hx_target::row("shfl.bfly.b32");
    for stmt in &mut program.body {
        if let Stmt::Control(Control::Group(group)) = stmt {
            for inner in &mut group.body {
                if let Stmt::Leaf(Leaf::Compute(Compute { dst, inputs, .. })) = inner {
                    *inner = Stmt::Leaf(Leaf::Exchange(Exchange {
                        row,
                        dst: dst.clone(),
                        src: inputs[0].clone(),
                        lane: Lane::Xor(4),
                    }));
                }
            }
        }
    }
    program
}
