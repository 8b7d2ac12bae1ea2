//! Texts of PTX that the source writes itself.

use expect_test::{Expect, expect};

use crate::{InlineOperand, inline_text};

/// Compares the operands, the special registers and the faults of a text.
fn check(text: &str, expected: Expect) {
    let found = inline_text(text);
    let operand =
        |operand: &InlineOperand| format!("{}{}", operand.name, if operand.is_written { " =" } else { "" });
    let operands: Vec<String> = found.operands.iter().map(operand).collect();
    let mut lines = vec![format!("{} of [{}]", found.instructions, operands.join(", "))];
    lines.extend(found.special.iter().map(|at| format!("special {}", &text[at.clone()])));
    for fault in found.faults {
        let help = fault.kind.help().map_or_else(String::new, |help| format!("\n  help: {help}"));
        lines.push(format!("{:?}: {}{help}", &text[fault.at.clone()], fault.kind));
    }
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn instructions_on_registers() {
    check(
        "rcp.approx.ftz.f32 {result}, {x};",
        expect![[r#"
        1 of [result =, x]
    "#]],
    );
    check(
        "lop3.b32 {result}, {a}, {b}, {c}, {TABLE};",
        expect![[r#"
        1 of [result =, a, b, c, TABLE]
    "#]],
    );
    check(
        "prmt.b32 {result}, {x}, 0x00ff, 0x5410; ",
        expect![[r#"
        1 of [result =, x]
    "#]],
    );
    check(
        "{{ .reg .b32 t, u; mov.b32 {{t, u}}, {x}; add.s32 {result}, t, u; }}",
        expect![[r#"
        2 of [x, result =]
    "#]],
    );
    check(
        "{{ .reg .pred p;\n setp.gt.f32 p, {x}, 0f00000000;\n@!p mov.f32 {result}, {x}; }}",
        expect![[r#"
        2 of [x, result =, x]
    "#]],
    );
    check(
        "mov.b64 {result}, {{{low}, {high}}};",
        expect![[r#"
        1 of [result =, low, high]
    "#]],
    );
}

#[test]
fn special_registers() {
    check(
        "mov.u32 {result}, %smid;",
        expect![[r#"
        1 of [result =]
        special %smid
    "#]],
    );
    check(
        "mov.u64 {result}, %clock64; ",
        expect![[r#"
        1 of [result =]
        special %clock64
    "#]],
    );
    check(
        "{{ .reg .b32 %t; mov.u32 %t, %tid.x; add.u32 {result}, %t, {x}; }}",
        expect![[r#"
        2 of [result =, x]
        special %tid.x
    "#]],
    );
}

#[test]
fn what_a_text_may_not_have() {
    check(
        "",
        expect![[r#"
        0 of []
        "": found no instruction
          help: for example `"rcp.approx.f32 {result}, {x};"`
    "#]],
    );
    check(
        "  \n",
        expect![[r#"
        0 of []
        "  \n": found no instruction
          help: for example `"rcp.approx.f32 {result}, {x};"`
    "#]],
    );
    check(
        "{{ }}",
        expect![[r#"
        0 of []
        "{{ }}": found no instruction
          help: for example `"rcp.approx.f32 {result}, {x};"`
    "#]],
    );
    check(
        "ld.global.f32 {result}, [{x}];",
        expect![[r#"
            0 of [result =, x]
            "ld": `ld` accesses memory: the text may compute with registers only
              help: the checks of bounds and races could not see the access: `load`, `copy` and `atomic_add` access memory
            "[": found an address in memory: the text may compute with registers only
              help: the checks of bounds and races could not see the access: `load`, `copy` and `atomic_add` access memory
        "#]],
    );
    check(
        "red.add.s32 {x}, 1; atom.cas.b32 {result}, {x}; st.shared.b32 {x}, {y};",
        expect![[r#"
        0 of [x =, result =, x, x =, y]
        "red": `red` accesses memory: the text may compute with registers only
          help: the checks of bounds and races could not see the access: `load`, `copy` and `atomic_add` access memory
        "atom": `atom` accesses memory: the text may compute with registers only
          help: the checks of bounds and races could not see the access: `load`, `copy` and `atomic_add` access memory
        "st": `st` accesses memory: the text may compute with registers only
          help: the checks of bounds and races could not see the access: `load`, `copy` and `atomic_add` access memory
    "#]],
    );
    check(
        "bar.sync 0; mbarrier.arrive.b64 {result}, {x}; membar.gl; fence.acq_rel.gpu;",
        expect![[r#"
        0 of [result =, x]
        "bar": `bar` orders accesses or waits: the text may compute with registers only
          help: the checks of races could not see the order: `sync()` and pipelines order accesses
        "mbarrier": `mbarrier` orders accesses or waits: the text may compute with registers only
          help: the checks of races could not see the order: `sync()` and pipelines order accesses
        "membar": `membar` orders accesses or waits: the text may compute with registers only
          help: the checks of races could not see the order: `sync()` and pipelines order accesses
        "fence": `fence` orders accesses or waits: the text may compute with registers only
          help: the checks of races could not see the order: `sync()` and pipelines order accesses
    "#]],
    );
    check(
        "shfl.sync.bfly.b32 {result}, {x}, 1, 31, -1; vote.ballot.b32 {result}, 1;",
        expect![[r#"
        0 of [result =, x, result =]
        "shfl": `shfl` works with other threads: the text is applied to each element by itself
          help: the layout decides which thread holds an element: `reduce`, `scan` and `gemm` combine elements
        "vote": `vote` works with other threads: the text is applied to each element by itself
          help: the layout decides which thread holds an element: `reduce`, `scan` and `gemm` combine elements
    "#]],
    );
    check(
        "again: add.f32 {result}, {x}, {x}; bra again;",
        expect![[r#"
            0 of [result, x, x]
            "again": found the label `again`: the text may not branch
              help: an instruction may have a guard, `@p`, and `selp` chooses between registers
            "bra": `bra` leaves the text: the text may compute with registers only
              help: an instruction may have a guard, `@p`, and `selp` chooses between registers
        "#]],
    );
    check(
        "ret; trap; call f; exit;",
        expect![[r#"
            0 of []
            "ret": `ret` leaves the text: the text may compute with registers only
              help: an instruction may have a guard, `@p`, and `selp` chooses between registers
            "trap": `trap` leaves the text: the text may compute with registers only
              help: an instruction may have a guard, `@p`, and `selp` chooses between registers
            "call": `call` leaves the text: the text may compute with registers only
              help: an instruction may have a guard, `@p`, and `selp` chooses between registers
            "exit": `exit` leaves the text: the text may compute with registers only
              help: an instruction may have a guard, `@p`, and `selp` chooses between registers
        "#]],
    );
    check(
        "frobnicate.f32 {result}, {x};",
        expect![[r#"
        0 of [result =, x]
        "frobnicate": found `frobnicate`, which is not known to compute with registers only
    "#]],
    );
    check(
        ".shared .b32 s; mov.b32 {result}, s;",
        expect![[r#"
        1 of [result =]
        ".shared": found the directive `.shared`, expected an instruction or `.reg`
          help: registers are declared in braces of PTX: `{{ .reg .b32 t; … }}`
        "s": found `s`, which the text does not declare
          help: operands are in braces, `{x}`, and `{{ .reg .b32 t; … }}` declares a register
    "#]],
    );
    check(
        ".reg .b32 t; mov.b32 {result}, t;",
        expect![[r#"
        1 of [result =]
        ".reg": found `.reg` outside of braces
          help: registers are declared in braces of PTX: `{{ .reg .b32 t; … }}`
    "#]],
    );
    check(
        "mov.b32 {result}, {x}",
        expect![[r#"
        1 of [result =, x]
        "x": expected `;` after the instruction
    "#]],
    );
    check(
        "mov.b32 {result}, x;",
        expect![[r#"
        1 of [result =]
        "x": found `x`, which the text does not declare
          help: operands are in braces, `{x}`, and `{{ .reg .b32 t; … }}` declares a register
    "#]],
    );
    check(
        "mov.b32 {result, {x};",
        expect![[r#"
        1 of [x]
        "{": found a brace without its partner
          help: an operand is `{x}`, and `{{` and `}}` are the braces of PTX
    "#]],
    );
    check(
        "mov.b32 {result}, {};",
        expect![[r#"
        1 of [result =]
        "{}": found `{}`, expected the name of an operand in the braces
          help: an operand is `{x}`, and `{{` and `}}` are the braces of PTX
    "#]],
    );
    check(
        "mov.b32 {result}, {1};",
        expect![[r#"
        1 of [result =]
        "{1}": found `{1}`, expected the name of an operand in the braces
          help: an operand is `{x}`, and `{{` and `}}` are the braces of PTX
    "#]],
    );
    check(
        "mov.b32 {result}, {x}; }}",
        expect![[r#"
        1 of [result =, x]
        "}}": found a brace without its partner
          help: an operand is `{x}`, and `{{` and `}}` are the braces of PTX
    "#]],
    );
    check(
        "{{ mov.b32 {result}, {x};",
        expect![[r#"
        1 of [result =, x]
        "{{": found a brace without its partner
          help: an operand is `{x}`, and `{{` and `}}` are the braces of PTX
    "#]],
    );
    check(
        "mov.b32 {result}, x}; ",
        expect![[r#"
        1 of [result =]
        "x": found `x`, which the text does not declare
          help: operands are in braces, `{x}`, and `{{ .reg .b32 t; … }}` declares a register
        "}": found a brace without its partner
          help: an operand is `{x}`, and `{{` and `}}` are the braces of PTX
    "#]],
    );
    check(
        "mov.b32 {result}, {x}; // the same",
        expect![[r#"
        1 of [result =, x]
        "//": found a comment in the text of an instruction
          help: write it before the function, as `//`
    "#]],
    );
    check(
        "mov.b32 /* the same */ {result}, {x};",
        expect![[r#"
        1 of []
        "mov.b32": expected `;` after the instruction
        "/*": found a comment in the text of an instruction
          help: write it before the function, as `//`
    "#]],
    );
    check(
        "mov.b32 {result}, {x};\"); evil(\"",
        expect![[r#"
            1 of [result =, x]
            "\"": found `"`, which no instruction on registers has
            ")": found `)`, which no instruction on registers has
            "evil": found `evil`, which is not known to compute with registers only
            "evil": expected `;` after the instruction
            "(": found `(`, which no instruction on registers has
            "\"": found `"`, which no instruction on registers has
        "#]],
    );
    check(
        "mov.b32 {result}, {x};\\n",
        expect![[r#"
            1 of [result =, x]
            "\\": found `\`, which no instruction on registers has
            "n": found `n`, which is not known to compute with registers only
            "n": expected `;` after the instruction
        "#]],
    );
    check(
        "mov.b32 {result}, {x};\0\r#é",
        expect![[r##"
            1 of [result =, x]
            "\0": found '\0', which no instruction on registers has
            "\r": found '\r', which no instruction on registers has
            "#": found `#`, which no instruction on registers has
            "é": found `é`, which no instruction on registers has
        "##]],
    );
}
