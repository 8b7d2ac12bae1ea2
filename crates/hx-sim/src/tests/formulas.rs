//! Compares compiled expressions with the plain evaluation, and tests statements that bind integers.

use std::collections::BTreeMap;

use hx_dtype::DType;
use hx_index::{Atom, CmpOp, Cond, Expr, Symbol, Width};
use hx_thread::{Control, Leaf, Stmt};
use proptest::prelude::*;

use super::build::*;
use crate::formula::{Binding, Compiler, Env};
use crate::{Config, run};

const THREADS: usize = 7;
const KNOWN: i64 = 12;

/// Generates integers of every kind: known at launch, by thread, by block, changing, changing by thread.
fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        (-9i64..20).prop_map(c),
        Just(Expr::dim("n")),
        Just(thread()),
        Just(block(0)),
        Just(var("slot")),
        Just(var("lanes")),
    ]
}

fn expr() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(4, 24, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone().prop_map(|(a, b)| a + b),
            pair.clone().prop_map(|(a, b)| a * b),
            pair.clone().prop_map(|(a, b)| Expr::atom(Atom::Div(a, b))),
            pair.clone().prop_map(|(a, b)| Expr::atom(Atom::Mod(a, b))),
            pair.clone().prop_map(|(a, b)| Expr::atom(Atom::Min(a, b))),
            pair.clone().prop_map(|(a, b)| Expr::atom(Atom::Max(a, b))),
            pair.prop_map(|(a, b)| Expr::atom(Atom::Xor(a, b))),
            (inner.clone(), 0i64..64).prop_map(|(a, mask)| Expr::atom(Atom::And(a, mask))),
            (inner, 1u32..64, any::<bool>())
                .prop_map(|(a, bits, signed)| Expr::atom(Atom::Wrap(a, Width { bits, signed }))),
        ]
    })
}

fn cond() -> impl Strategy<Value = Cond> {
    let op = prop_oneof![Just(CmpOp::Lt), Just(CmpOp::Le), Just(CmpOp::Eq), Just(CmpOp::Ne)];
    let cmp = (op, expr(), expr()).prop_map(|(op, a, b)| Cond::Cmp(op, a, b));
    cmp.prop_recursive(2, 6, 3, |inner| {
        let some = prop::collection::vec(inner, 1..4);
        prop_oneof![some.clone().prop_map(Cond::And), some.prop_map(Cond::Or)]
    })
}

const SLOTS: [i64; 2] = [3, -5];

fn by_thread(thread: usize) -> i64 {
    thread as i64 * 4 - 9
}

/// Returns the value of each symbol in a thread, for the plain evaluation.
fn plain(thread: usize) -> impl Fn(&Symbol) -> Option<i64> {
    move |s| {
        Some(match s {
            Symbol::Dim(_) | Symbol::Multiprocessors | Symbol::GridDim(_) => KNOWN,
            Symbol::Thread => thread as i64,
            Symbol::BlockIdx(_) => SLOTS[0],
            Symbol::Var(name, _) if name == "slot" => SLOTS[1],
            Symbol::Var(..) => by_thread(thread),
            Symbol::Scalar(_) => return None,
        })
    }
}

fn lookup(symbol: &Symbol) -> Option<Binding> {
    Some(match symbol {
        Symbol::Dim(_) | Symbol::Multiprocessors | Symbol::GridDim(_) => Binding::Known(KNOWN),
        Symbol::Thread => Binding::Table((0..THREADS as i64).collect()),
        Symbol::BlockIdx(_) => Binding::Slot(0),
        Symbol::Var(name, _) if name == "slot" => Binding::Slot(1),
        Symbol::Var(..) => Binding::Lanes(0),
        Symbol::Scalar(_) => return None,
    })
}

fn env() -> Env {
    let mut env = Env::new(2, 1, THREADS);
    env.slots.copy_from_slice(&SLOTS);
    env.lanes[0] = (0..THREADS).map(by_thread).collect();
    env
}

proptest! {
    #[test]
    fn formulas_agree_with_plain_evaluation(e in expr(), mask in prop::collection::vec(any::<bool>(), THREADS)) {
        let formula = Compiler { threads: THREADS, lookup: &lookup }.formula(&e).unwrap();
        let want: Vec<_> = (0..THREADS).map(|t| e.eval(&plain(t))).collect();
        let mut out = vec![0; THREADS];
        match formula.lanes(&mut env(), Some(&mask), &mut out) {
            Ok(()) => {
                for t in (0..THREADS).filter(|t| mask[*t]) {
                    prop_assert_eq!(Ok(out[t]), want[t].clone(), "thread {} of {}", t, e);
                }
            }
            Err(failure) => {
                let failed = |t: usize| mask[t] && want[t].is_err();
                match failure.thread {
                    Some(t) => prop_assert!(failed(t), "{}", e),
                    None => prop_assert!((0..THREADS).any(failed), "{}", e),
                }
            }
        }
        if !formula.varying() {
            prop_assert_eq!(formula.scalar(&env()).ok(), want[0].clone().ok(), "{}", e);
        }
    }

    #[test]
    fn conditions_agree_with_plain_evaluation(cond in cond()) {
        let test = Compiler { threads: THREADS, lookup: &lookup }.test(&cond).unwrap();
        let want: Vec<_> = (0..THREADS).map(|t| cond.eval(&plain(t))).collect();
        let mut out = vec![false; THREADS];
        match test.lanes(&mut env(), None, &mut out) {
            Ok(()) => {
                let want: Result<Vec<_>, _> = want.into_iter().collect();
                prop_assert_eq!(Ok(out), want, "{}", cond);
            }
            Err(_) => prop_assert!(want.iter().any(Result::is_err), "{}", cond),
        }
    }
}

/// Runs `body` and `sets` in two blocks, and returns the element that each thread then stores.
fn stored(body: Vec<Stmt>, sets: Vec<Stmt>) -> Vec<f64> {
    let mut k = Kernel::new(4);
    k.grid(2, 1);
    let b = k.output("b", DType::U32, &[8], &[1]);
    let r = k.registers("r", DType::U32, 1);
    k.push(fill(first(r, 1), 99));
    k.program.body.extend(body);
    k.program.body.extend(sets);
    k.push(transfer("st.global.b32", first(r, 1), b, block(0) * c(4) + thread()));
    let mut arguments = [vector(DType::U32, &[0.0; 8])];
    k.run(&mut arguments).unwrap();
    values(DType::U32, &arguments[0])
}

fn set(bits: u64) -> Vec<Stmt> {
    vec![fill(first(hx_thread::RegId(0), 1), bits)]
}

#[test]
fn branches_and_loops_are_uniform() {
    let by_block = Stmt::Control(Control::If { cond: lt(block(0), c(1)), then: set(1), otherwise: set(2) });
    assert_eq!(stored(vec![by_block], Vec::new()), [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
    // The last of three iterations wins; a loop from 5 to 2 does not run.
    let steps = |n: i64| {
        let cond = |i: i64| Cond::Cmp(CmpOp::Eq, var("i"), c(i));
        let pick = |i: i64| {
            Stmt::Control(Control::If { cond: cond(i), then: set(10 + i as u64), otherwise: Vec::new() })
        };
        repeat("i", block(0) * c(2) + c(n), false, vec![pick(0), pick(1), pick(2)])
    };
    assert_eq!(stored(vec![steps(1)], Vec::new()), [10.0, 10.0, 10.0, 10.0, 12.0, 12.0, 12.0, 12.0]);
    assert_eq!(stored(vec![steps(-2)], Vec::new()), [99.0; 8]);
}

#[test]
fn locals_hide_outer_ones_until_their_body_ends() {
    let mut k = Kernel::new(4);
    k.grid(2, 1);
    let a = k.input("a", DType::U32, &[64], &[1]);
    let b = k.output("b", DType::U32, &[64], &[1]);
    let r = k.registers("r", DType::U32, 1);
    let bind = |value| Stmt::Leaf(Leaf::Let { var: symbol("x"), value });
    let load = || transfer("ld.global.b32", first(r, 1), a, var("x"));
    let store = |at: i64| transfer("st.global.b32", first(r, 1), b, c(at) + block(0) * c(32) + thread());
    k.push(bind(thread() + c(8)));
    // In the loop, x differs by block, by thread and by iteration.
    let inner = vec![bind(var("x") * c(2) + block(0) + var("i")), load(), store(0)];
    k.push(repeat("i", c(3), false, inner));
    k.push(load());
    k.push(store(16));
    let mut arguments = [vector(DType::U32, &counting(64)), vector(DType::U32, &[0.0; 64])];
    k.run(&mut arguments).unwrap();
    let b = values(DType::U32, &arguments[1]);
    assert_eq!(b[0..4], [18.0, 20.0, 22.0, 24.0]);
    assert_eq!(b[32..36], [19.0, 21.0, 23.0, 25.0]);
    assert_eq!(b[16..20], [8.0, 9.0, 10.0, 11.0]);
}

#[test]
fn symbols_are_bound_at_launch() {
    let mut k = Kernel::new(4);
    let b = k.output("b", DType::U32, &[8], &[1]);
    k.program.params.push(hx_thread::Param::Scalar { name: "shift".into(), dtype: DType::I32 });
    let r = k.registers("r", DType::U32, 1);
    k.push(fill(first(r, 1), 7));
    let offset = Expr::dim("n") + Expr::symbol(Symbol::Scalar("shift".into())) + thread();
    k.push(transfer("st.global.b32", first(r, 1), b, offset));
    let mut arguments = [vector(DType::U32, &[0.0; 8]), crate::Argument::Int(-2)];
    let symbols = BTreeMap::from([(Symbol::Dim("n".into()), 5)]);
    run(&k.program, &symbols, &mut arguments, &Config::default()).unwrap();
    assert_eq!(values(DType::U32, &arguments[0]), [0.0, 0.0, 0.0, 7.0, 7.0, 7.0, 7.0, 0.0]);
}
