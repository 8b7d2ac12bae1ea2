//! Functions that are PTX: the mistakes of the attribute, the header, the text and the body.

use expect_test::expect;

use super::check;

#[test]
fn a_right_text_has_no_findings() {
    check(
        r#"
#[ptx("rcp.approx.ftz.f32 {result}, {x};")]
fn reciprocal(x: f32) -> f32 { 1.0 / x }

#[ptx("lop3.b32 {result}, {a}, {b}, {c}, {TABLE};")]
fn majority<TABLE = 0xe8>(a: u32, b: u32, c: u32) -> u32;

#[ptx("mov.u32 {result}, %smid;", volatile)]
fn multiprocessor(of: i32) -> u32;

#[ptx("{{ .reg .b32 t;\n add.f32 t, {x}, {x}; mul.f32 {result}, t, {result}; mov.f32 {result}, t; }}")]
fn odd(x: f32) -> f32 { let y = x + x; y }
"#,
        expect![[""]],
    );
}

#[test]
fn mistakes_of_the_attribute() {
    check(
        "#[ptx]\nfn f(x: f32) -> f32 { x }\n",
        expect![[r#"
        error[HX0233]: `#[ptx(…)]` takes PTX in quotes
          #[ptx]
            ^^^
          help: for example `#[ptx("rcp.approx.f32 {result}, {x};")]`
    "#]],
    );
    check(
        "#[ptx()]\nfn f(x: f32) -> f32 { x }\n",
        expect![[r#"
        error[HX0233]: `#[ptx(…)]` takes PTX in quotes
          #[ptx()]
            ^^^
          help: for example `#[ptx("rcp.approx.f32 {result}, {x};")]`
    "#]],
    );
    check(
        "#[ptx(mov)]\nfn f(x: f32) -> f32 { x }\n",
        expect![[r#"
        error[HX0233]: `#[ptx(…)]` takes PTX in quotes
          #[ptx(mov)]
            ^^^
          help: for example `#[ptx("rcp.approx.f32 {result}, {x};")]`
    "#]],
    );
    check(
        "#[ptx(\"mov.f32 {result}, {x};\", pure)]\nfn f(x: f32) -> f32 { x }\n",
        expect![[r#"
        error[HX0233]: found `pure`, expected `volatile`
          #[ptx("mov.f32 {result}, {x};", pure)]
                                          ^^^^
          help: it is the only option of `#[ptx(…)]`
    "#]],
    );
    check(
        "#[ptx(\"mov.f32 {result}, {x};\", volatile: true)]\nfn f(x: f32) -> f32 { x }\n",
        expect![[r#"
        error[HX0233]: found `volatile: true`, expected `volatile`
          #[ptx("mov.f32 {result}, {x};", volatile: true)]
                                          ^^^^^^^^^^^^^^
          help: it is the only option of `#[ptx(…)]`
    "#]],
    );
    check(
        "#[ptx(\"mov.f32 {result}, {x};\")]\n#[ptx(\"abs.f32 {result}, {x};\")]\nfn f(x: f32) -> f32 { x }\n",
        expect![[r#"
            error[HX0233]: a function has one `#[ptx(…)]`
              #[ptx("abs.f32 {result}, {x};")]
                ^^^
              help: one text may have several instructions
        "#]],
    );
    check(
        "#[ptx(\"mov.f32 {result}, {x};\")]\nconst X = 1;\n",
        expect![[r#"
        error[HX0107]: found `#[ptx(…)]` before an item that is no `fn`
          #[ptx("mov.f32 {result}, {x};")]
            ^^^
          help: a kernel calls the function that has the PTX
    "#]],
    );
    check(
        "#[ptx(\"mov.f32 {result}, {x};\")]\nkernel f() grid [1] threads 32 {}\n",
        expect![[r#"
        error[HX0107]: found `#[ptx(…)]` before an item that is no `fn`
          #[ptx("mov.f32 {result}, {x};")]
            ^^^
          help: a kernel calls the function that has the PTX
    "#]],
    );
    check(
        "fn f(x: f32) -> f32;\n",
        expect![[r#"
            error[HX0233]: found `;`, expected `{` and the body of the function
              fn f(x: f32) -> f32;
                                 ^
              help: only a function with `#[ptx("…")]` has no body
        "#]],
    );
}

#[test]
fn mistakes_of_the_header() {
    check(
        "#[ptx(\"mov.b32 {result}, {x};\")]\nfn f(x: i8) -> bool;\n",
        expect![[r#"
            error[HX0233]: found `i8`, expected a number that a register of PTX holds
              fn f(x: i8) -> bool;
                      ^^
              help: the text is applied to each element; the types are `f32`, `f64`, `f16`, `bf16`, `i32`, `u32`, `i64`, `u64`
            error[HX0233]: found `bool`, expected a number that a register of PTX holds
              fn f(x: i8) -> bool;
                             ^^^^
              help: the text is applied to each element; the types are `f32`, `f64`, `f16`, `bf16`, `i32`, `u32`, `i64`, `u64`
        "#]],
    );
    check(
        "#[ptx(\"mov.b32 {result}, {x};\")]\nfn f(x: register f32[N]) -> f32[N];\n",
        expect![[r#"
        error[HX0233]: found `register f32[N]`, expected a number that a register of PTX holds
          fn f(x: register f32[N]) -> f32[N];
                  ^^^^^^^^^^^^^^^
          help: the text is applied to each element; the types are `f32`, `f64`, `f16`, `bf16`, `i32`, `u32`, `i64`, `u64`
        error[HX0233]: found `f32[N]`, expected a number that a register of PTX holds
          fn f(x: register f32[N]) -> f32[N];
                                      ^^^^^^
          help: the text is applied to each element; the types are `f32`, `f64`, `f16`, `bf16`, `i32`, `u32`, `i64`, `u64`
    "#]],
    );
    check(
        "#[ptx(\"mov.b32 {result}, {x};\")]\nfn f<T: type>(x: T) -> T;\n",
        expect![[r#"
            error[HX0233]: `T` is no integer, and PTX is given integers only
              fn f<T: type>(x: T) -> T;
                   ^
              help: write a function for each type
            error[HX0233]: found `T`, expected a number that a register of PTX holds
              fn f<T: type>(x: T) -> T;
                               ^
              help: the text is applied to each element; the types are `f32`, `f64`, `f16`, `bf16`, `i32`, `u32`, `i64`, `u64`
            error[HX0233]: found `T`, expected a number that a register of PTX holds
              fn f<T: type>(x: T) -> T;
                                     ^
              help: the text is applied to each element; the types are `f32`, `f64`, `f16`, `bf16`, `i32`, `u32`, `i64`, `u64`
        "#]],
    );
    check(
        "#[ptx(\"mov.b32 {result}, {x};\")]\nfn f(x: f99) -> f32;\n",
        expect![[r#"
        error[HX0101]: no type is called `f99`
          fn f(x: f99) -> f32;
                  ^^^
    "#]],
    );
    check(
        "#[ptx(\"mov.b32 {result}, {x};\")]\nfn f(x: u32) { }\n",
        expect![[r#"
        error[HX0233]: a function with `#[ptx(…)]` returns a number
          fn f(x: u32) { }
             ^
          help: write its type, as in `-> f32`
    "#]],
    );
    check(
        "#[ptx(\"mov.b32 {result}, 1;\")]\nfn f() -> u32 { 1 }\n",
        expect![[r#"
        error[HX0233]: a function with `#[ptx(…)]` needs a parameter
          fn f() -> u32 { 1 }
             ^
          help: the text is applied to each element of its operands: `fn now(of: i32) -> u32` has one for each
    "#]],
    );
    check(
        "#[ptx(\"mov.b32 {result}, {result};\")]\nfn f(result: u32) -> u32 { result }\n",
        expect![[r#"
        error[HX0233]: `result` is the name of the result in PTX
          fn f(result: u32) -> u32 { result }
               ^^^^^^
          help: rename the parameter
    "#]],
    );
}

#[test]
fn mistakes_of_the_text() {
    check(
        "#[ptx(\"\")]\nfn f(x: f32) -> f32;\n",
        expect![[r#"
            error[HX0233]: found no instruction
              #[ptx("")]
                    ^^
              help: for example `"rcp.approx.f32 {result}, {x};"`
        "#]],
    );
    check(
        "#[ptx(\"mov.f32 {result}, {y};\")]\nfn f(x: f32) -> f32;\n",
        expect![[r#"
        error[HX0233]: the function has no parameter `y`
          #[ptx("mov.f32 {result}, {y};")]
                                    ^
          help: the operands are `{x}`, `{result}`
        error[HX0233]: the PTX does not use `x`
          fn f(x: f32) -> f32;
               ^
          help: its value is `{x}` in the text
    "#]],
    );
    check(
        "#[ptx(\"mov.f32 {reslt}, {operand};\")]\nfn f(operand: f32) -> f32;\n",
        expect![[r#"
        error[HX0233]: the text does not name its result
          #[ptx("mov.f32 {reslt}, {operand};")]
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: `{result}` is the register that the instruction writes
        error[HX0233]: the function has no parameter `reslt`
          #[ptx("mov.f32 {reslt}, {operand};")]
                          ^^^^^
          help: `{result}` is near in spelling
    "#]],
    );
    check(
        "#[ptx(\"add.f32 {result}, {x}, {x};\")]\nfn f<N = 1>(x: f32, y: f32) -> f32;\n",
        expect![[r#"
        error[HX0233]: the PTX does not use `N`
          fn f<N = 1>(x: f32, y: f32) -> f32;
               ^
          help: its value is `{N}` in the text
        error[HX0233]: the PTX does not use `y`
          fn f<N = 1>(x: f32, y: f32) -> f32;
                              ^
          help: its value is `{y}` in the text
    "#]],
    );
    check(
        "#[ptx(\"mov.f32 {x}, {result};\")]\nfn f(x: f32) -> f32;\n",
        expect![[r#"
        error[HX0233]: the text writes the operand `x`
          #[ptx("mov.f32 {x}, {result};")]
                          ^
          help: an instruction writes `{result}`, or a register that the text declares: `{{ .reg .b32 t; … }}`
        error[HX0233]: the text reads the result before it writes it
          #[ptx("mov.f32 {x}, {result};")]
                               ^^^^^^
          help: the first operand of an instruction is the register that it writes
    "#]],
    );
    check(
        "#[ptx(\"mov.u32 {result}, %smid; add.u32 {result}, {result}, {x};\")]\nfn f(x: u32) -> u32;\n",
        expect![[r#"
        error[HX0233]: `%smid` is a special register, which may differ between runs
          #[ptx("mov.u32 {result}, %smid; add.u32 {result}, {result}, {x};")]
                                   ^^^^^
          help: write `volatile` after the text, so that every call reads it
    "#]],
    );
    check(
        "#[ptx(\"ld.global.f32 {result}, [{x}];\")]\nfn f(x: u64) -> f32;\n",
        expect![[r#"
        error[HX0233]: `ld` accesses memory: the text may compute with registers only
          #[ptx("ld.global.f32 {result}, [{x}];")]
                 ^^
          help: the checks of bounds and races could not see the access: `load`, `copy` and `atomic_add` access memory
        error[HX0233]: found an address in memory: the text may compute with registers only
          #[ptx("ld.global.f32 {result}, [{x}];")]
                                         ^
          help: the checks of bounds and races could not see the access: `load`, `copy` and `atomic_add` access memory
    "#]],
    );
    check(
        "#[ptx(\"tahn.approx.f32 {result}, {x};\")]\nfn f(x: f32) -> f32;\n",
        expect![[r#"
        error[HX0233]: found `tahn`, which is not known to compute with registers only
          #[ptx("tahn.approx.f32 {result}, {x};")]
                 ^^^^
          help: perhaps `tanh` is meant
    "#]],
    );
    check(
        "#[ptx(\"mov.f32 {result}, {x};\\\"); evil(\\\"\")]\nfn f(x: f32) -> f32;\n",
        expect![[r#"
        error[HX0233]: found `"`, which no instruction on registers has
          #[ptx("mov.f32 {result}, {x};\"); evil(\"")]
                                       ^^
        error[HX0233]: found `)`, which no instruction on registers has
          #[ptx("mov.f32 {result}, {x};\"); evil(\"")]
                                         ^
        error[HX0233]: expected `;` after the instruction
          #[ptx("mov.f32 {result}, {x};\"); evil(\"")]
                                            ^^^^
        error[HX0233]: found `evil`, which is not known to compute with registers only
          #[ptx("mov.f32 {result}, {x};\"); evil(\"")]
                                            ^^^^
        error[HX0233]: found `(`, which no instruction on registers has
          #[ptx("mov.f32 {result}, {x};\"); evil(\"")]
                                                ^
        error[HX0233]: found `"`, which no instruction on registers has
          #[ptx("mov.f32 {result}, {x};\"); evil(\"")]
                                                 ^^
    "#]],
    );
    check(
        "#[ptx(\"\\u{6d}ov.f32\\n\\t{result}, {\\u{79}};\")]\nfn f(x: f32) -> f32;\n",
        expect![[r#"
        error[HX0233]: the function has no parameter `y`
          #[ptx("\u{6d}ov.f32\n\t{result}, {\u{79}};")]
                                            ^^^^^^
          help: the operands are `{x}`, `{result}`
        error[HX0233]: the PTX does not use `x`
          fn f(x: f32) -> f32;
               ^
          help: its value is `{x}` in the text
    "#]],
    );
}

#[test]
fn mistakes_of_the_meaning() {
    check(
        "#[ptx(\"mov.f32 {result}, {x};\")]\nfn f(x: f32) -> f32 {\n    let y = x;\n    for i in 0..2 {\n        y = y + x;\n    }\n    y\n}\n",
        expect![[r#"
            error[HX0233]: found a statement in the meaning of an instruction
                  for i in 0..2 {
                  ^^^
              help: the body is an expression of the parameters; `let` names parts of it, and `where` chooses
            warning[HX0106]: nothing uses `i`
                  for i in 0..2 {
                      ^
              fix: rename it to `_i` (`i` → `_i`)
        "#]],
    );
    check(
        "#[ptx(\"mov.f32 {result}, {x};\")]\nfn f(x: f32) -> f32 {}\n",
        expect![[r#"
        error[HX0203]: found nothing, expected a floating-point number
          fn f(x: f32) -> f32 {}
                              ^^
    "#]],
    );
    check(
        "#[ptx(\"mov.f32 {result}, {x};\")]\nfn f(x: f32) -> f32 { x > 0.0 }\n",
        expect![[r#"
        error[HX0203]: found a truth value, expected a floating-point number
          fn f(x: f32) -> f32 { x > 0.0 }
                                ^^^^^^^
    "#]],
    );
}

#[test]
fn a_result_has_the_declared_type() {
    check(
        "#[ptx(\"mul.wide.s32 {result}, {x}, {x};\")]\nfn squared(x: i32) -> i64;\n\
         kernel f(x: i32[32], y: mut i64[32], z: mut i32[32]) grid [1] threads 32 {\n    copy(squared(load(x)), y);\n    copy(squared(load(x)), z);\n}\n",
        expect![[r#"
            error[HX0204]: expected `i32`, found elements of type `i64`
                  copy(squared(load(x)), z);
                       ^^^^^^^^^^^^^^^^ this is `i64`
                  copy(squared(load(x)), z);
                                         - this is `i32`
              fix: convert it with `cast(…, i32)` (`squared(load(x))` → `cast(squared(load(x)), i32)`)
        "#]],
    );
}
