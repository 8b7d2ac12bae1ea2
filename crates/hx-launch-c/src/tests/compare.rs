//! Random expressions have the same value in C as in [`Expr::eval`], or fail in both.

#![allow(clippy::disallowed_methods, reason = "the test compiles and runs a program in C")]

use std::fmt::Write as _;
use std::process::Command;

use hx_index::{Atom, Expr, Symbol, Width};

use crate::expr::Printer;
use crate::source::runtime;

const EXPRESSIONS: usize = 400;
const DIMS: [&str; 2] = ["m", "n"];
/// The values of both dimensions and of the scalar. The least number is left out: [`Expr::eval`] lets its quotient by -1 wrap, and
/// `hx_div` refuses it.
const BINDINGS: [[i64; 3]; 10] = [
    [0, 0, 0],
    [1, 2, -1],
    [7, 16, -5],
    [64, 3, 100],
    [2147483647, 2147483647, i64::MAX],
    [2147483647, 1, i64::MIN + 3],
    [5, 2147483647, -8],
    [100, 0, 7],
    [33, 1024, i64::MIN + 2],
    [2147483646, 2, 1 << 40],
];

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn constant(&mut self) -> Expr {
        let all = [0, 1, 2, 3, 16, 127, -1, -7, 1 << 31, i64::MAX, i64::MIN + 3];
        Expr::constant(all[self.below(all.len() as u64) as usize])
    }

    fn expr(&mut self, depth: u32) -> Expr {
        if depth == 0 {
            return match self.below(4) {
                0 => self.constant(),
                1 => Expr::symbol(Symbol::Scalar("s".into())),
                at => Expr::dim(DIMS[at as usize - 2]),
            };
        }
        let a = self.expr(depth - 1);
        let width = Width { bits: [8, 16, 32, 64][self.below(4) as usize], signed: self.below(2) == 0 };
        match self.below(10) {
            0 => a + self.expr(depth - 1),
            1 => a - self.expr(depth - 1),
            2 => &a * &self.expr(depth - 1),
            3 | 4 => Expr::atom(Atom::Div(a, self.expr(depth - 1))),
            5 => Expr::atom(Atom::Mod(a, self.expr(depth - 1))),
            6 => Expr::atom(Atom::Min(a, self.expr(depth - 1))) + self.constant(),
            7 => Expr::atom(Atom::Max(a, self.expr(depth - 1))).scale(3),
            8 => Expr::atom(Atom::Wrap(a, width)),
            _ if self.below(2) == 0 => Expr::atom(Atom::And(a, 0xff)),
            _ => Expr::atom(Atom::Xor(a, self.expr(depth - 1))),
        }
    }
}

/// Returns a program that prints the value of every expression under every binding, or `bad`.
fn program(exprs: &[Expr]) -> String {
    let mut printer = Printer::default();
    for name in DIMS {
        printer.name(Symbol::Dim(name.into()), name.to_owned(), 0, i64::from(i32::MAX));
    }
    printer.name(Symbol::Scalar("s".into()), "s".to_owned(), i64::MIN, i64::MAX);
    let mut text = String::new();
    for (at, expr) in exprs.iter().enumerate() {
        let value = printer.int(expr).expect("every symbol has a value");
        let _ = writeln!(
            text,
            "void f{at}(int64_t m, int64_t n, int64_t s) {{\n    int hx_bad = 0;\n    int64_t value = {value};\n    \
             if (hx_bad) puts(\"bad\");\n    else printf(\"%lld\\n\", (long long)value);\n    (void)m, (void)n, (void)s;\n}}"
        );
    }
    text += "int main(void) {\n";
    for at in 0..exprs.len() {
        for [m, n, s] in BINDINGS {
            let _ = writeln!(text, "    f{at}({m}, {n}, {s});");
        }
    }
    text += "    return 0;\n}\n";
    let common: Vec<String> = runtime(&text)
        .split("\n\n")
        .filter(|paragraph| paragraph.contains("static int64_t hx_"))
        .map(|paragraph| format!("{paragraph}\n"))
        .collect();
    format!("#include <stdint.h>\n#include <stdio.h>\n{}{text}", common.concat())
}

#[test]
fn random_expressions_have_the_same_value_in_c() {
    let mut random = Random(7);
    let exprs: Vec<Expr> = (0..EXPRESSIONS).map(|at| random.expr(1 + at as u32 % 4)).collect();
    let folder = std::env::temp_dir().join(format!("hx-expressions-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    std::fs::write(folder.join("main.c"), program(&exprs)).expect("writable");
    let flags =
        ["-std=c11", "-w", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-o", "main", "main.c"];
    let compiled = Command::new("cc").args(flags).current_dir(&folder).output();
    let Ok(compiled) = compiled else {
        assert!(std::env::var_os("HX_REQUIRE_CC").is_none_or(|v| v != "1"), "there is no C compiler");
        use std::io::Write as _;
        let name = "random_expressions_have_the_same_value_in_c";
        writeln!(std::io::stderr(), "skipped: {name}: there is no C compiler").expect("stderr is open");
        return;
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(folder.join("main")).output().expect("it starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    let said = String::from_utf8(ran.stdout).expect("UTF-8");
    let mut lines = said.lines();
    let (mut good, mut bad) = (0, 0);
    for expr in &exprs {
        for [m, n, s] in BINDINGS {
            let wanted = expr.eval(&|symbol| match symbol {
                Symbol::Dim(name) if name == "m" => Some(m),
                Symbol::Dim(_) => Some(n),
                _ => Some(s),
            });
            *if wanted.is_ok() { &mut good } else { &mut bad } += 1;
            let wanted = wanted.map_or("bad".to_owned(), |value| value.to_string());
            assert_eq!(lines.next(), Some(wanted.as_str()), "`{expr}` with m = {m}, n = {n}, s = {s}");
        }
    }
    assert!(good > 1000 && bad > 500, "{good} values, {bad} failures");
}
