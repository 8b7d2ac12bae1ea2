//! A program that only prints tensors of every width and counts failed assertions.

use hx_dtype::DType;
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_thread::{Compute, Control, Leaf, Log, LogEntry, LogKind, LogValue, Memory, Put, Stmt, ThreadProgram};
use hx_tile::{OpId, Origin, Scalar};

use super::build::*;

/// Holds two elements of each type in every thread, and prints a text in some blocks only.
pub(crate) fn prints() -> ThreadProgram {
    let dtypes = [DType::F32, DType::F16, DType::I8, DType::F64, DType::I64, DType::U4, DType::Tf32];
    let (i, iv) = (var("i", 0), Expr::symbol(var("i", 0)));
    let facts = Facts::default();
    let mut registers = Vec::new();
    let mut entries = Vec::new();
    let mut body = Vec::new();
    let entry = |kind, text: &str, value: Option<LogValue>, op: usize| LogEntry {
        op: OpId(op as u32),
        origin: Origin(op as u32),
        kind,
        text: text.into(),
        value,
        sides: Vec::new(),
    };
    let value = |dtype, shape: &[i64]| Some(LogValue { dtype, shape: shape.to_vec(), uniform: false });
    for (n, dtype) in dtypes.into_iter().enumerate() {
        let name = format!("r_{dtype}");
        registers.push(array(&name, dtype, 2));
        entries.push(entry(LogKind::Print, "", value(dtype, &[100, 2]), n));
        let integer = Scalar::Integer { value: thread() + iv.clone(), dtype: DType::I32 };
        let set = Stmt::Leaf(Leaf::Compute(Compute {
            dst: regs(n as u32, iv.clone(), [0]),
            inputs: vec![],
            value: if matches!(dtype, DType::F16 | DType::U4 | DType::Tf32) {
                Scalar::Const { bits: 5, dtype }
            } else {
                integer.cast(dtype)
            },
        }));
        body.push(group(n as u32, &format!("{name} = …"), vec![unrolled(&i, 2, vec![set])]));
        let put = Stmt::Leaf(Leaf::Put(Put {
            entry: n as u32,
            value: regs(n as u32, iv.clone(), [0]),
            position: thread().scale(2) + iv.clone(),
            guard: lt(thread(), c(100)),
            sides: vec![],
        }));
        let log = Stmt::Leaf(Leaf::Log(Log { entry: n as u32, body: vec![unrolled(&i, 2, vec![put])] }));
        body.push(group(n as u32, &format!("print({name})"), vec![log]));
    }
    let count = entries.len();
    entries.push(entry(LogKind::Print, "some block", None, count));
    let text = Stmt::Leaf(Leaf::Log(Log { entry: count as u32, body: vec![] }));
    let first = Cond::cmp(CmpOp::Eq, block(0), c(0), &facts);
    body.push(Stmt::Control(Control::If {
        cond: first,
        then: vec![group(9, "print(\"some block\")", vec![text])],
        otherwise: vec![],
    }));

    registers.push(array("holds", DType::Bool, 1));
    let holds = registers.len() as u32 - 1;
    entries.push(entry(LogKind::Assert, "too far", value(DType::Bool, &[128]), count + 1));
    entries.push(entry(LogKind::Assert, "", value(DType::Bool, &[1]), count + 2));
    let (j, jv) = (var("j", 1), Expr::symbol(var("j", 1)));
    let integer = |value: Expr| Scalar::Integer { value, dtype: DType::I64 };
    let far = [integer(thread() * jv), integer(dim("m"))];
    let set = Stmt::Leaf(Leaf::Compute(Compute {
        dst: regs(holds, c(0), [0]),
        inputs: vec![],
        value: Scalar::apply(hx_dtype::Operator::Lt, DType::I64, far),
    }));
    let assert = |entry: usize, position: Expr, guard: Cond| {
        let value = regs(holds, c(0), [0]);
        Stmt::Leaf(Leaf::Log(Log {
            entry: entry as u32,
            body: vec![Stmt::Leaf(Leaf::Put(Put {
                entry: entry as u32,
                value,
                position,
                guard,
                sides: vec![],
            }))],
        }))
    };
    let checked = vec![
        group(10, "holds = …", vec![set]),
        group(11, "assert(holds, \"too far\")", vec![assert(count + 1, thread(), Cond::True)]),
        group(12, "assert(holds)", vec![assert(count + 2, c(0), lt(thread(), c(1)))]),
    ];
    body.push(Stmt::Control(Control::For {
        var: j,
        start: c(0),
        end: dim("m"),
        unroll: false,
        body: checked,
    }));
    body.push(group(
        13,
        "copy r_f32 -> x",
        vec![Stmt::Leaf(Leaf::Transfer(store(
            4,
            regs(0, c(0), 0..1),
            Memory::Global(0),
            Expr::symbol(Symbol::Thread),
        )))],
    ));
    let params = vec![tensor("x", DType::F32, true, &[dim("m")], &[c(1)])];
    let mut program = kernel("prints", params, &["m"], vec![dim("m"), c(2), c(3)], registers, body);
    program.log = entries;
    program
}
