//! Hints, hovers, costs, layouts, lenses.

use expect_test::{Expect, expect};
use hx_workspace::Database;

use super::{MATMUL, check_at, hints, named, place, shown, with_cursor, with_text};
use crate::{DrawingStyle, LastGood};

pub(super) fn check_hover(text: &str, expected: Expect) {
    let ask = |db: &Database, file, at| {
        let kept = LastGood::default();
        let hover = crate::hover(db, file, at, &shown(), DrawingStyle::Unicode, &|_| None, &kept)?;
        Ok(hover.map_or("nothing".to_owned(), |h| format!("{}\n{}", named(db, file, h.range), h.text)))
    };
    check_at(text, ask, expected);
}

#[test]
fn hints_stay_with_what_they_belong_to() {
    let (mut db, file) = with_text(MATMUL);
    let kept = LastGood::default();
    let whole = hints(&db, file, &kept);
    // Add a line above and a half-typed statement: the hints move with the text, and become stale.
    let broken = MATMUL.replace("    fill(rc, 0.0);", "    let half = ;\n    fill(rc, 0.0);");
    db.set_overlay("/k.hx", &broken);
    let stale = hints(&db, file, &kept);
    expect![[r#"
        10:11 ~⟨32B swizzle⟩
        11:11 ~⟨32B swizzle⟩
        12:11 ~⟨wgmma.C 1×1⟩
        17:34 ~cp.async.cg · 16 B
        18:34 ~cp.async.cg · 16 B
        19:26 ~wgmma.m64n64k16
        21:11 ~⟨128B swizzle⟩
        22:29 ~stmatrix.x4 · 16 B
        24:12 ~⟨4 × 16 B⟩
        25:19 ~ld.shared.v4 · 16 B
        26:72 ~st.global.v4 · 16 B
    "#]]
    .assert_eq(&stale);
    db.set_overlay("/k.hx", MATMUL);
    assert_eq!(hints(&db, file, &kept), whole);
    assert_eq!(kept.len(), 1);
    db.set_overlay("/k.hx", "const A = 1;\n");
    assert_eq!(hints(&db, file, &kept), "");
    assert_eq!(kept.len(), 0);
}

#[test]
fn a_register_tensor() {
    check_hover(
        &MATMUL.replace("let rc = reg", "let r$0c = reg"),
        expect![[r#"
            k.hx:12:9 rc
            ```hx
            let rc: register f32[BM, BN]
            ```

            **wgmma.C 1×1** · `f32[64, 64]`

            ```
            ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            ```

            ```
            first 16 × 8 of ((4,8,4),(2,2,8)):((128,1,16),(64,8,512)) over (64,64)
                     0     1     2     3     4     5     6     7
               ┌─────────────────────────────────────────────────┐
             0 │  T0V0  T0V1  T1V0  T1V1  T2V0  T2V1  T3V0  T3V1 │
             1 │  T4V0  T4V1  T5V0  T5V1  T6V0  T6V1  T7V0  T7V1 │
             2 │  T8V0  T8V1  T9V0  T9V1 T10V0 T10V1 T11V0 T11V1 │
             3 │ T12V0 T12V1 T13V0 T13V1 T14V0 T14V1 T15V0 T15V1 │
             4 │ T16V0 T16V1 T17V0 T17V1 T18V0 T18V1 T19V0 T19V1 │
             5 │ T20V0 T20V1 T21V0 T21V1 T22V0 T22V1 T23V0 T23V1 │
             6 │ T24V0 T24V1 T25V0 T25V1 T26V0 T26V1 T27V0 T27V1 │
             7 │ T28V0 T28V1 T29V0 T29V1 T30V0 T30V1 T31V0 T31V1 │
             8 │  T0V2  T0V3  T1V2  T1V3  T2V2  T2V3  T3V2  T3V3 │
             9 │  T4V2  T4V3  T5V2  T5V3  T6V2  T6V3  T7V2  T7V3 │
            10 │  T8V2  T8V3  T9V2  T9V3 T10V2 T10V3 T11V2 T11V3 │
            11 │ T12V2 T12V3 T13V2 T13V3 T14V2 T14V3 T15V2 T15V3 │
            12 │ T16V2 T16V3 T17V2 T17V3 T18V2 T18V3 T19V2 T19V3 │
            13 │ T20V2 T20V3 T21V2 T21V3 T22V2 T22V3 T23V2 T23V3 │
            14 │ T24V2 T24V3 T25V2 T25V3 T26V2 T26V3 T27V2 T27V3 │
            15 │ T28V2 T28V3 T29V2 T29V3 T30V2 T30V3 T31V2 T31V3 │
               └─────────────────────────────────────────────────┘
            ```

            - `fill(rc, 0.0)`
            - `gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each`  
              lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            - `rc_f16 = cast(rc, f16): cvt.f16x2.f32`  
              2 elements at once into one register

            **Because**

            - accumulator fragment of `wgmma.m64n64k16.f32.f16`
              - `gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each`  
                lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
        "#]],
    );
}

#[test]
fn a_shared_tensor() {
    check_hover(
        &MATMUL.replace("copy(sc, rc1)", "copy(s$0c, rc1)"),
        expect![[r#"
            k.hx:24:10 sc
            ```hx
            let sc: shared mut f16[BM, BN]
            ```

            **128B swizzle** · `f16[64, 64]`

            ```
            swizzle<3, 3, 3> ∘ (64,64):(64,1)
            ```

            ```
            first 16 × 8 of swizzle<3, 3, 3> ∘ (64,64):(64,1)
                    0    1    2    3    4    5    6    7
               ┌─────────────────────────────────────────┐
             0 │    0    1    2    3    4    5    6    7 │
             1 │   72   73   74   75   76   77   78   79 │
             2 │  144  145  146  147  148  149  150  151 │
             3 │  216  217  218  219  220  221  222  223 │
             4 │  288  289  290  291  292  293  294  295 │
             5 │  360  361  362  363  364  365  366  367 │
             6 │  432  433  434  435  436  437  438  439 │
             7 │  504  505  506  507  508  509  510  511 │
             8 │  512  513  514  515  516  517  518  519 │
             9 │  584  585  586  587  588  589  590  591 │
            10 │  656  657  658  659  660  661  662  663 │
            11 │  728  729  730  731  732  733  734  735 │
            12 │  800  801  802  803  804  805  806  807 │
            13 │  872  873  874  875  876  877  878  879 │
            14 │  944  945  946  947  948  949  950  951 │
            15 │ 1016 1017 1018 1019 1020 1021 1022 1023 │
               └─────────────────────────────────────────┘
            ```

            - `copy(rc_f16, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts`  
              asks for `(64,(8,8)):(D,(1,D))`; the widest access
            - `copy(sc[0..64, 0..64], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts`  
              asks for `(64,(8,8)):(D,(1,D))`; the widest access

            **Because**

            - the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles
              - `copy(rc_f16, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts`  
                asks for `(64,(8,8)):(D,(1,D))`; the widest access
                - `rc_f16: register f16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))`  
                  elementwise: as its operand
                  - `rc_f16 = cast(rc, f16): cvt.f16x2.f32`  
                    2 elements at once into one register
                    - `rc: register f32[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))`  
                      accumulator fragment of `wgmma.m64n64k16.f32.f16`
                      - `gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each`  
                        lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
              - `copy(sc[0..64, 0..64], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts`  
                asks for `(64,(8,8)):(D,(1,D))`; the widest access
                - `rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))`  
                  coalesced along dimension 1 of `c`
                  - `copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access`  
                    the widest access
        "#]],
    );
}

#[test]
fn an_operation() {
    check_hover(
        &MATMUL.replace("copy(sc, rc1)", "co$0py(sc, rc1)"),
        expect![[r#"
            k.hx:24:5 copy
            ```hx
            copy(src, dst, l1: …, l2: …, by: …)
            ```

            Moves a tile between any two memories. `l1:` and `l2:` are hints for the caches of global memory; `by:` names the instruction.

            *in `kernel` and `fn`*

            ---

            - `copy(sc[0..64, 0..64], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts`  
              asks for `(64,(8,8)):(D,(1,D))`; the widest access"#]],
    );
}

/// A product says why it has not the other kind of matrix instruction: by a rule with its numbers, or by the estimates of both.
#[test]
fn a_product_says_why_not() {
    check_hover(
        &MATMUL.replace("gemm(rc", "ge$0mm(rc"),
        expect![[r#"
            k.hx:18:9 gemm
            ```hx
            gemm(c, a, b, warps: …, by: …)
            ```

            `c[M, N] += a[M, K] · b[N, K]ᵀ`, for each index of a third mode; complete on return. `by:` names the instruction.

            *in `kernel` and `fn`*

            ---

            - `gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each`  
              lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            - `mma` fits and costs more: 26230 cycles of a block instead of 24149 (× 1.09)"#]],
    );
    let staged = "\
kernel product(a: f16[m, k], b: f16[n, k], c: mut f32[m, n]) grid [1] threads 128 {
    let (sa, sb) = (shared_tensor(f16, [64, 64]), shared_tensor(f16, [64, 64]));
    copy(tile(a, [64, 64])[.., .., 0, 0], sa);
    copy(tile(b, [64, 64])[.., .., 0, 0], sb);
    sync();
    let acc = register_tensor(f32, [64, 64]);
    fill(acc, 0.0);
    ge$0mm(acc, sa, sb);
    copy(acc, tile(c, [64, 64])[.., .., 0, 0]);
}
";
    check_hover(
        staged,
        expect![[r#"
            k.hx:8:5 gemm
            ```hx
            gemm(c, a, b, warps: …, by: …)
            ```

            `c[M, N] += a[M, K] · b[N, K]ᵀ`, for each index of a third mode; complete on return. `by:` names the instruction.

            *in `kernel` and `fn`*

            ---

            - `gemm(acc, sa[0..64, 0..64], sb[0..64, 0..64]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×4 each`  
              lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            - `mma` fits and costs more: 3235 cycles of a block instead of 2817 (× 1.15)"#]],
    );
}

#[test]
fn a_kernel_and_its_costs() {
    check_hover(
        &MATMUL.replace("kernel matmul", "kernel mat$0mul"),
        expect![[r#"
            k.hx:2:8 matmul
            ```hx
            kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
                where k % BK == 0
                grid [cdiv(m, BM), cdiv(n, BN)]
                threads 128
            ```

            c[m, n] = a[m, k] · b[n, k]ᵀ, one output tile per block (Fig. 15 of the CGO paper).

            ---

            128 threads · 12 KiB shared · about 48 registers (estimated)

            *sm_90a, assuming `BK = 16`, `BM = 64`, `BN = 64`, all dimensions and strides multiples of 16*"#]],
    );
}

#[test]
fn parameters_dimensions_types_words() {
    check_hover(
        &MATMUL.replace("<BM = 64", "<B$0M = 64"),
        expect![[r#"
        k.hx:2:15 BM
        ```hx
        BM = 64
        ```

        compile-time parameter of `matmul`; `64` in what is shown"#]],
    );
    check_hover(
        "kernel f(a: f32[m], $0n: i32, u: u32) grid [1] threads 32 {\n}\n",
        expect![[r#"
        k.hx:1:21 n
        ```hx
        n: i32
        ```

        parameter of `f`"#]],
    );
    check_hover(
        "kernel f(a: f32[m], n: i32, u: u32) grid [1] threads 32 {\n    let _v = $0u + n;\n}\n",
        expect![[r#"
            k.hx:2:14 u
            ```hx
            u: u32
            ```

            parameter of `f`"#]],
    );
    check_hover(
        &MATMUL.replace("a: f16[m, k]", "$0a: f16[m, k]"),
        expect![[r#"
        k.hx:2:42 a
        ```hx
        a: global f16[m, k]
        ```

        parameter of `matmul`; its layout is given by its strides"#]],
    );
    check_hover(
        &MATMUL.replace("a: f16[m, k]", "a: f16[m, $0k]"),
        expect![[r#"
        k.hx:2:52 k
        ```hx
        k: int
        ```

        dimension 1 of `a`, bound at launch. What is shown assumes that it is a multiple of 16."#]],
    );
    check_hover(
        "fn f(x: b$0f16) -> bf16 { x }\n",
        expect![[r#"
        k.hx:1:9 bf16
        ```hx
        bf16
        ```

        a floating-point number of 16 bits"#]],
    );
    check_hover(
        "fn f(x: f32) -> f32 { x $0* 2.0 }\n",
        expect![[r#"
        k.hx:1:23 x * 2.0
        ```hx
        f32
        ```
    "#]],
    );
    check_hover(
        "ker$0nel k(a: f16[m]) grid [1] threads 32 { }\n",
        expect![[r#"
        k.hx:1:1 kernel
        ```hx
        kernel
        ```

        A kernel: a block of threads runs its body for each element of its `grid`."#]],
    );
    check_hover(
        "use std::ma$0th::LOG2E;\n",
        expect![[r#"
            k.hx:1:10 math
            ```hx
            // std/math.hx
            ```

            Constants, and functions that are as precise as a result of 16 bits needs."#]],
    );
    check_hover(
        "use std::math::LOG$02E;\n",
        expect![[r#"
        k.hx:1:16 LOG2E
        ```hx
        const LOG2E: f32 = 1.4426950408889634;
        ```

        log₂ e: `exp(x)` is `exp2(x * LOG2E)`.


        `std/math.hx`"#]],
    );
    check_hover("fn f() { } // a com$0ment\n", expect!["nothing"]);
}

#[test]
fn a_function_as_an_argument() {
    check_hover(
        "fn id(x: f32) -> f32 { x }
kernel map<F$0: fn = id>(x: f32[m], y: mut f32[m]) grid [1] threads 128 {
    copy(F(load(tile(x, [128])[.., 0])), tile(y, [128])[.., 0]);
}",
        expect![[r#"
            k.hx:2:12 F
            ```hx
            F: fn = id
            ```

            compile-time parameter of `map`; `id` in what is shown"#]],
    );
    check_hover(
        "fn id(x: f32) -> f32 { x }
kernel map<F: f$0n = id>(x: f32[m], y: mut f32[m]) grid [1] threads 128 {
    copy(F(load(tile(x, [128])[.., 0])), tile(y, [128])[.., 0]);
}",
        expect![[r#"
            k.hx:2:15 fn
            ```hx
            fn
            ```

            a function, known at compile time"#]],
    );
}

#[test]
fn layouts_with_drawings_and_reasons() {
    let (db, file, at) = with_cursor(&MATMUL.replace("copy(rc1,", "copy(rc$01,"));
    let found =
        crate::layouts(&db, file, at, &shown()).expect("nothing is written").expect("it has a layout");
    assert_eq!((found.kernel.as_str(), found.tensors.len()), ("matmul", 1));
    let tensor = &found.tensors[0];
    expect!["4 × 16 B ((8,16),(8,4)):((512,1),(64,16)) coalesced along dimension 1 of `c`"]
        .assert_eq(&format!("{} {} {}", tensor.alias, tensor.layout, tensor.reason));
    assert_eq!(tensor.drawings.iter().map(|d| d.kind).collect::<Vec<_>>(), ["threads"]);
    let forced = tensor.forced_by.map(|at| named(&db, at.file, at.range));
    expect!["k.hx:25:5 copy(rc1, global_view(c[bm * BM.., bn * BN..], (BM, BN) : (n, 1)))"]
        .assert_eq(&forced.unwrap_or_default());
    let steps =
        crate::explain_layout(&db, file, at, &shown()).expect("nothing is written").unwrap_or_default();
    fn write(steps: &[crate::ReasonStep], depth: usize, out: &mut String) {
        for step in steps {
            out.push_str(&format!("{}{}\n", "  ".repeat(depth), step.what));
            write(&step.from, depth + 1, out);
        }
    }
    let mut text = String::new();
    write(&steps, 0, &mut text);
    expect![[r#"
        rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
          copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access
    "#]]
    .assert_eq(&text);
}

/// Costs, lenses and hovers show the registers that ptxas reported for the text, and the blocks of a multiprocessor that
/// follow. Without a report they show an estimate, from which nothing follows.
#[test]
fn registers_are_estimated_until_ptxas_has_spoken() {
    let (db, file) = with_text(MATMUL);
    let at = hx_base::TextSize::try_from(MATMUL.find("matmul<").expect("its name")).expect("it is short");
    let of = |reported: crate::Reported<'_>| {
        let kept = LastGood::default();
        let costs = crate::costs(&db, file, None, &shown(), reported).expect("nothing is written");
        let costs =
            costs.expect("there are kernels").iter().map(|c| c.resources.to_string()).collect::<Vec<_>>();
        let lenses = crate::lenses(&db, file, &shown(), true, reported, &kept).expect("nothing is written");
        let hover = crate::hover(&db, file, at, &shown(), DrawingStyle::None, reported, &kept);
        let hover = hover.expect("nothing is written").expect("a kernel has a hover").text;
        let told = hover.lines().find(|line| line.contains(" registers ")).unwrap_or_default();
        let named = crate::explain_name(&db, file, "matmul", &shown(), reported, &kept);
        let named = named.expect("nothing is written").concat();
        assert!(named.contains(told), "{named}");
        format!("{}\n{}\n{told}\n", costs.join("\n"), lenses[0].title())
    };
    expect![[r#"
        12 KiB shared · about 48 registers (estimated)
        12 KiB shared · about 48 registers (estimated)
        128 threads · 12 KiB shared · about 48 registers (estimated)
    "#]]
    .assert_eq(&of(&|_| None));
    expect![[r#"
        12 KiB shared · 80 registers (ptxas) · 6 blocks a multiprocessor (registers)
        12 KiB shared · 80 registers (ptxas) · 6 blocks a multiprocessor (registers)
        128 threads · 12 KiB shared · 80 registers (ptxas) · 6 blocks a multiprocessor (registers)
    "#]]
    .assert_eq(&of(&|cuda| {
        assert!(cuda.text.contains(&cuda.symbol) && cuda.target == "sm_90a");
        Some(80)
    }));
    let none = crate::costs(&db, file, Some("matmull"), &shown(), &|_| None).expect("nothing is written");
    assert_eq!(
        none.map(|_| ()),
        Err("`/k.hx` has no kernel `matmull`; perhaps `matmul` is meant".to_owned())
    );
}

#[test]
fn lenses_stand_above_what_they_run() {
    let text = format!(
        "{MATMUL}\nmain {{ }}\ntest \"small\" {{ matmul<BM = 32, BN = 32>(1, 2, 3); }}\n\
         fn id(x: f32) -> f32 {{ x }}\nkernel map<F: fn = id>(x: f32[m]) grid [1] threads 32 {{ F(x[0]); }}\n\
         test \"mapped\" {{ map<F = id>(1); }}\n"
    );
    let (db, file) = with_text(&text);
    let lenses = lenses(&db, file, &LastGood::default());
    expect![[r#"
        2:8 12 KiB shared · about 48 registers (estimated)
        2:8 CUDA
        2:8 PTX
        2:8 SASS
        28:6 ▶ Run test
        36:7 ▶ Bench
        40:44 Show matmul<BK = 32, BM = 128, BN = 128>
        44:1 ▶ Run
        45:6 ▶ Run test
        45:16 Show matmul<BM = 32, BN = 32>
        47:8 CUDA
        47:8 PTX
        47:8 SASS
        48:6 ▶ Run test
        48:17 Show map<F = id>
    "#]]
    .assert_eq(&lenses);
}

/// Formats the lenses of a text; `kept` holds the lenses from earlier texts.
fn lenses(db: &Database, file: hx_base::SourceFile, kept: &LastGood) -> String {
    let lenses = crate::lenses(db, file, &shown(), true, &|_| None, kept).expect("nothing is written");
    let line = |lens: &crate::Lens| format!("{} {}\n", place(db, file, lens.range.start()), lens.title());
    lenses.iter().map(line).collect()
}

/// While a line is half-typed, each item keeps its number of lenses, wherever the item moves.
#[test]
fn lenses_stay_while_a_line_is_half_typed() {
    let second = MATMUL.replace("kernel matmul", "kernel second").replace("matmul", "second");
    let text = format!("{MATMUL}\n{second}\nmain {{ }}\n");
    let (mut db, file) = with_text(&text);
    let kept = LastGood::default();
    let whole = lenses(&db, file, &kept);
    let titles = |lenses: &str| {
        let titles = lenses
            .lines()
            .filter_map(|line| Some(line.split_once(' ')?.1.trim_start_matches("~ ").to_owned()));
        titles.collect::<Vec<_>>()
    };
    let line = "    fill(rc, 0.0);";
    let halves = [
        "    fill(rc, ",
        "    fill(rc, 0.0",
        "    let x = ",
        "    let x = load(tile(a, [",
        "    for i in 0..4 {",
        "    if rc {",
        "    fill(rc, 0.0)); }",
        "    unknown(rc);",
        "    \"",
    ];
    for half in halves {
        db.set_overlay("/k.hx", &text.replacen(line, half, 1));
        let stale = lenses(&db, file, &kept);
        assert_eq!(titles(&stale), titles(&whole), "{half}\n{stale}");
        assert!(stale.contains(" ~ "), "{half}\n{stale}");
    }
    for (from, half) in
        [("grid [", "grid "), ("(a: f16[m, k], ", "(a: f16[m, k"), ("kernel matmul", "kernel  matmul<<")]
    {
        assert!(text.contains(from), "{from}");
        db.set_overlay("/k.hx", &text.replacen(from, half, 1));
        let stale = lenses(&db, file, &kept);
        assert_eq!(titles(&stale), titles(&whole), "{half}\n{stale}");
    }
    db.set_overlay("/k.hx", &text);
    assert_eq!(lenses(&db, file, &kept), whole);
    // Items that were removed from a text that parses are forgotten.
    db.set_overlay("/k.hx", "const A = 1;\n");
    assert_eq!(lenses(&db, file, &kept), "");
    db.set_overlay("/k.hx", "kernel matmul(");
    assert_eq!(lenses(&db, file, &kept), "");
}

/// Constraints without a solution are shown as far as they were built. The other stages have no text then.
#[test]
fn constraints_without_a_solution_are_shown() {
    let text = "kernel apart(x: f16[m, n]) grid [1] threads 64 {
    let s = shared_tensor(f16, [64, 64], layout: (64, 64) : (1, 64));
    copy_async(tile(x, [64, 64])[.., .., 0, 0], s);
}
";
    let (db, file) = with_text(text);
    let emit = |stage| {
        crate::emit(&db, file, &crate::Wanted::default(), stage, &shown()).expect("nothing is written")
    };
    let constraints = emit(crate::Emit::Constraints).map(|emitted| emitted.text);
    expect![[r#"
        #0 copy_async(x[0..64, 0..64], s[0..64, 0..64])
            m_s = (64,64):(1,64) (pinned)
            m_s ∘ p⁻¹ = m_x ∘ p⁻¹
            m_s = (64,(2,32)):(D,(1,D))
    "#]]
    .assert_eq(&constraints.unwrap_or_default());
    assert!(emit(crate::Emit::Layouts).is_err());
}

#[test]
fn stages_know_their_lines() {
    let (db, file) = with_text(MATMUL);
    let emitted = crate::emit(&db, file, &crate::Wanted::default(), crate::Emit::Cuda, &shown());
    let emitted = emitted.expect("nothing is written").expect("it has CUDA text");
    assert!(!emitted.text.contains("#line"));
    // Collect each source line that has an operation, with the first line of CUDA text that comes from it.
    let source: Vec<&str> = MATMUL.lines().collect();
    let text: Vec<&str> = emitted.text.lines().collect();
    let mut seen = Vec::new();
    let mut out = String::new();
    for (line, from) in emitted.lines {
        if !seen.contains(&from) {
            seen.push(from);
            out.push_str(&format!("{} <- {}\n", text[line as usize].trim(), source[from as usize].trim()));
        }
    }
    expect![[r#"
        extern "C" __global__ void __launch_bounds__(128, 1) matmul(const unsigned short* __restrict__ a, const unsigned short* __restrict__ b, unsigned short* __restrict__ c, int m, int k, int n) { <- kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
        __syncthreads(); <- copy(ga[.., .., ki], ra);
        { <- copy(gb[.., .., ki], rb);
        asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); <- gemm(rc, ra, rb);
        #pragma unroll <- fill(rc, 0.0);
        #pragma unroll <- copy(cast(rc, f16), sc);
        __syncthreads(); <- sync();
        { <- copy(sc, rc1);
        { <- copy(rc1, global_view(c[bm * BM.., bn * BN..], (BM, BN) : (n, 1)));
    "#]].assert_eq(&out);
}

#[test]
fn another_instance_can_be_shown() {
    let (db, file) = with_text(MATMUL);
    let args = [("BM".to_owned(), "128".to_owned())].into();
    let (kernel, args) = crate::instance(&db, file, "matmul", &args).expect("it is an instance");
    let mut other = shown();
    other.pick(kernel, args);
    let whole = hx_base::TextRange::up_to(hx_base::TextSize::of(MATMUL));
    let hints =
        crate::inlay_hints(&db, file, whole, &other, &LastGood::default()).expect("nothing is written");
    let first = hints[0].parts[0].tooltip.lines().nth(1).unwrap_or_default().to_owned();
    assert_eq!(first, "ra: shared f16[128, 16]");
    let wrong = |name: &str, value: &str| {
        crate::instance(&db, file, "matmul", &[(name.to_owned(), value.to_owned())].into()).map(|_| ())
    };
    assert_eq!(
        wrong("BX", "1"),
        Err("`matmul` has no compile-time parameter `BX`; perhaps `BM` is meant".to_owned())
    );
    assert!(wrong("BM", "much").is_err());
}

#[test]
fn a_function_shows_its_ptx() {
    check_hover(
        "/// 1 / x with an error of 1 ulp.\n#[ptx(\"rcp.approx.ftz.f32 {result}, {x};\")]\nfn recip$0rocal(x: f32) -> f32 {\n    1.0 / x\n}\n",
        expect![[r#"
            k.hx:3:4 reciprocal
            ```hx
            fn reciprocal(x: f32) -> f32
            ```

            1 / x with an error of 1 ulp.

            ---

            ```ptx
            rcp.approx.ftz.f32 {result}, {x};
            ```

            The GPU runs the PTX; the simulator, proofs and results that are known at compile time take the body.
        "#]],
    );
    check_hover(
        "#[ptx(\"mov.u32 {result}, %smid;\", volatile)]\nfn sm$0id(of: i32) -> u32;\n",
        expect![[r#"
            k.hx:2:4 smid
            ```hx
            fn smid(of: i32) -> u32
            ```

            ---

            ```ptx
            mov.u32 {result}, %smid;
            ```

            The function has no body, so only a GPU runs kernels that call it. Every call runs it (`volatile`).
        "#]],
    );
}
