//! The page about constructs that compile today. The test tries each construct, so the page is correct.

use std::fmt::Write as _;

use expect_test::expect_file;
use hx_base::codes;
use hx_compile::{check_file, cuda_source, default_instance};
use hx_hir::file_items;
use hx_target::Target;
use hx_workspace::Database;

use crate::support::root;

/// The name of a construct, and a text that uses it: statements of a kernel, or whole items if it begins with `kernel` or `fn`.
type Construct = (&'static str, &'static str);

const GROUPS: &[(&str, &[Construct])] = &[
    (
        "Views",
        &[
            (
                "`global_view` of part of a buffer",
                "copy(global_view(x[b * 64.., 8..], (64, 64) : (n, 1)), r);",
            ),
            ("`global_view(…, pad: v)`", "copy(global_view(x, (64, 64) : (n, 1), pad: 1.0), r);"),
            ("`tile`", "copy(tile(x, [64, 64])[.., .., b, 0], r);"),
            ("`.T` of shared memory", "copy(r, sh);\nsync();\ncopy(sh.T, r);"),
            ("`permute` of shared memory", "copy(r, sh);\nsync();\ncopy(permute(sh, [1, 0]), r);"),
            ("`new` in an index", "let t = register_tensor(f16, [1, 64, 64]);\ncopy(gx[new, .., ..], t);"),
            ("slices of register tensors", "let t = register_tensor(f16, [64]);\nt = r[.., 0];"),
            ("`gather`", "copy(tile(gather(x, idx), [64, 64])[.., .., b, 0], r);"),
            (
                "elements of global tensors as numbers",
                "kernel k(x: f16[m, n], y: mut f16[g, n], row: u32[g]) grid [g] threads 32 {\n    let b = block_idx;\n    let r = register_tensor(f16, [1, 64]);\n    copy(global_view(x[row[b].., ..], (1, 64) : (n, 1)), r);\n    copy(r, global_view(y[b.., ..], (1, 64) : (n, 1)));\n}",
            ),
            (
                "elements of global tensors with a guard",
                "kernel k(x: f16[m, n], y: mut f16[g, n], row: u32[g]) grid [g] threads 32 {\n    let b = block_idx;\n    let r = register_tensor(f16, [1, 64]);\n    copy(global_view(x[row[b + 1] else 0.., ..], (1, 64) : (n, 1)), r);\n    copy(r, global_view(y[b.., ..], (1, 64) : (n, 1)));\n}",
            ),
            (
                "elements of type `u64` as numbers",
                "kernel k(x: u64[m], y: mut u64[m]) where m > 0 grid [1] threads 32 {\n    let t = register_tensor(u64, [1]);\n    fill(t, x[0]);\n    copy(t, tile(y, [1])[.., 0]);\n}",
            ),
            (
                "a view that begins before its tensor",
                "copy(global_view(x[b * 64 - 1.., ..], (64, 64) : (n, 1)), r);",
            ),
            (
                "a window: two modes over one dimension",
                "let t = load(global_view(x, (16, 64, 4) : (4 * n, 1, n)));",
            ),
            (
                "a view with a mode of several parts",
                "let t = load(global_view(x, ((4, 16), 64) : ((16 * n, n), 1)));\ncopy(t, gy);",
            ),
            ("`reshape` of register tensors", "let t = reshape(r, [64, 8, 8]);"),
            (
                "`reshape` of shared tensors",
                "copy(r, sh);\nsync();\nlet t = load(reshape(sh, [4, 16, 64]));\nr = cast(cast(r, f32) + cast(reshape(t, [64, 64]), f32), f16);",
            ),
            ("`concat`, `split`", "let (p, q) = split(r, 2, axis: 1);\nr = concat(q, p, axis: 1);"),
            (
                "`bitcast` to another width",
                "r = bitcast(bitcast(r, u32) ^ 1, f16);\nr = bitcast(bitcast(r, u4, axis: 0), f16, axis: 0);",
            ),
            ("assignment of tiles to parts of register tensors", "r[.., ..32] = r[.., 32..];"),
            ("`load`", "let t = load(gx);\ncopy(t, gy);"),
        ],
    ),
    (
        "Copies",
        &[
            ("`copy` between global memory and registers", "copy(gx, r);"),
            ("`copy` between registers and shared memory", "copy(r, sh);\nsync();\ncopy(sh, r);"),
            ("`copy` from global to shared memory", "copy(gx, sh);\nsync();\ncopy(sh, r);"),
            ("`copy` from shared to global memory", "copy(r, sh);\nsync();\ncopy(sh, gy);"),
            (
                "`copy_async` from global to shared memory, `commit`, `wait`",
                "copy_async(gx, sh);\ncommit();\nwait(0);\nsync();\ncopy(sh, r);",
            ),
            (
                "`load` and `copy` with `l1:` and `l2:`",
                "let t = load(gx, l1: \"no_allocate\", l2: \"evict_first\");\ncopy(t, gy, l2: \"evict_last\");",
            ),
            (
                "`load`, `copy`, `copy_async` and `gemm` with `by:`",
                "let t = load(gx, by: \"ld.global.v2\");\ncopy(t, gy, by: \"st.global\");",
            ),
            ("`prefetch`", "prefetch(gx);"),
            (
                "`copy_async` with `l2:`",
                "copy_async(gx, sh, l2: \"evict_first\");\ncommit();\nwait(0);\nsync();\ncopy(sh, r);",
            ),
            (
                "`copy_async` from a view whose padding is not 0",
                "copy_async(tile(x, [64, 64], pad: 1.0)[.., .., b, 0], sh);\ncommit();\nwait(0);\nsync();\ncopy(sh, r);",
            ),
            (
                "`copy_async` from shared to global memory, `wait_stores`",
                "copy(r, sh);\nsync();\ncopy_async(sh, gy);\ncommit();\nwait_stores(0, read: false);\nsync();",
            ),
            (
                "`copy_async` to global memory with `add: true`",
                "copy(r, sh);\nsync();\ncopy_async(sh, gy, add: true);\nwait_stores(0, read: false);\nsync();",
            ),
            ("`atomic_add`", "atomic_add(gy, r);"),
            (
                "`atomic_min`, `atomic_max`, `atomic_and`, `atomic_or`, `atomic_xor`, `atomic_exchange`, `atomic_cas`, with the elements as they were before",
                "kernel k(x: i32[64], y: mut i32[64], z: mut i32[64]) grid [1] threads 32 {\n    let t = load(x);\n    let a = atomic_min(y, t) + atomic_max(y, t) + atomic_and(y, t) + atomic_or(y, t) + atomic_xor(y, t);\n    copy(a + atomic_exchange(y, t) + atomic_cas(y, t, a), z);\n}",
            ),
            (
                "`atomic_load`, `atomic_store` with `order:` and `scope:`",
                "kernel k(x: mut i32[64]) grid [1] threads 32 {\n    let t = atomic_load(x, order: \"acquire\", scope: \"system\");\n    atomic_store(x, t, order: \"release\");\n}",
            ),
            (
                "`gather`, `scatter` by index tensors in registers",
                "kernel k(x: f32[m], i: i32[64], y: mut f32[n]) grid [1] threads 32 {\n    let r = load(i);\n    atomic_add(scatter(y, r), load(gather(x, r)));\n}",
            ),
            (
                "index tensors that broadcast",
                "kernel k(x: f32[m, n], i: i32[16], j: i32[32], y: mut f32[16, 32]) grid [1] threads 32 {\n    copy(load(gather(x, load(i[.., new]), load(j[new, ..]))), y);\n}",
            ),
            ("`rearrange`", "let t = rearrange(r, auto);\ncopy(t, gy);"),
            (
                "`pipeline`, copies with `signal:`, `acquire`, `wait`, `release`",
                "let p = pipeline(1);\np.acquire();\ncopy_async(gx, sh, signal: p);\np.wait();\ncopy(sh, r);\np.release();",
            ),
            (
                "`release_previous`, `skip`",
                "let p = pipeline(2);\nlet t = shared_tensor(f16, [64, 64, 2]);\nlet s = p.acquire();\ncopy_async(gx, t[.., .., s], signal: p);\nlet s = p.wait();\ncopy(t[.., .., s], r);\np.release_previous();\np.release();\np.skip(2);",
            ),
            (
                "copies with `multicast:`",
                "kernel k(x: f16[m], y: mut f16[m]) grid [2] threads 32 cluster [2] {\n    let s = shared_tensor(f16, [64]);\n    let p = pipeline(1);\n    p.acquire();\n    copy_async(tile(x, [64])[.., 0], s, signal: p, multicast: 0);\n    p.wait();\n    copy(load(s), tile(y, [64])[.., block_idx]);\n    p.release();\n}",
            ),
            (
                "`sum` with `cluster:`, `to:`, `scatter:`",
                "kernel k(x: f32[2, 64], y: mut f32[2, 64]) grid [2] threads 32 cluster [2] {\n    let all = sum(load(x[block_idx]), cluster: 0);\n    let one = sum(all, cluster: 0, to: 1);\n    copy(one, y[block_idx]);\n    let part = sum(one, cluster: 0, scatter: 0);\n    copy(part, tile(y[0], [32])[.., block_idx]);\n}",
            ),
            (
                "`wait_for_previous`, `allow_next`",
                "kernel k(x: f16[m], y: mut f16[m]) grid [cdiv(m, 64)] threads 32 {\n    allow_next();\n    wait_for_previous();\n    copy(load(tile(x, [64])[.., block_idx]), tile(y, [64])[.., block_idx]);\n}",
            ),
            ("`mbarrier`", "let bar = mbarrier(2);"),
        ],
    ),
    (
        "Matrix products",
        &[
            (
                "`gemm` of register tensors",
                "let t = load(gx);\nlet c = register_tensor(f32, [64, 64]);\nfill(c, 0.0);\ngemm(c, r, t);\ncopy(cast(c, f16), gy);",
            ),
            (
                "`gemm` of shared tensors",
                "copy(r, sh);\nsync();\nlet c = register_tensor(f32, [64, 64]);\nfill(c, 0.0);\ngemm(c, sh, sh);\ncopy(cast(c, f16), gy);",
            ),
            (
                "`gemm(…, warps: [2, 2])`",
                "let t = load(gx);\nlet c = register_tensor(f32, [64, 64]);\nfill(c, 0.0);\ngemm(c, r, t, warps: [2, 2]);\ncopy(cast(c, f16), gy);",
            ),
            (
                "`gemm_async`, `gemm_wait`",
                "copy(r, sh);\nsync();\nlet c = register_tensor(f32, [64, 64]);\nfill(c, 0.0);\ngemm_async(c, sh, sh);\ngemm_wait(0);\ncopy(cast(c, f16), gy);",
            ),
        ],
    ),
    (
        "Elementwise and reductions",
        &[
            ("`fill`", "fill(r, 1.0);"),
            ("`cast`", "let t = cast(r, f32);\nr = cast(t, f16);"),
            ("arithmetic of tensors", "r = r * r + r;"),
            ("arithmetic with numbers", "r = r * 2.0;"),
            ("functions such as `exp2`", "let t = cast(r, f32);\nr = cast(exp2(t), f16);"),
            ("`where(c, x, y)`", "r = where(r > 0.0, r, r * 0.5);"),
            ("`fma`, `min`, `max` of two", "r = max(fma(r, r, r), min(r, r));"),
            ("broadcast over an extent of 1", "let t = cast(r, f32);\nr = cast(t - max(t, axis: 1), f16);"),
            (
                "`sum`, `max`, `min` with `axis:`",
                "let t = sum(cast(r, f32), axis: 1);\nr = cast(cast(r, f32) / t, f16);",
            ),
            (
                "`any`, `all`, with `axis:` or of all elements",
                "let high = cast(r, f32) > 0.0;\nif any(high) { r = where(all(high, axis: 1), r, r + r); }",
            ),
            (
                "`reduce` with a closure",
                "let t = reduce(cast(r, f32), axis: 1, op: |a, b| a + b);\nr = cast(cast(r, f32) / t, f16);",
            ),
            ("`scan`", "let t = scan(cast(r, f32), axis: 1, op: |a, b| a + b);\nr = cast(t, f16);"),
            ("`index(t, axis)`", "r = where(index(r, 1) < 8, r, r * 0.0);"),
            ("functions over tensors and numbers", "r = cast(twice(cast(r, f32)), f16);"),
            (
                "functions as arguments of kernels and functions",
                "kernel k<F: fn = half>(x: f32[m], y: mut f32[m]) grid [1] threads 32 {\n    copy(map<F = F>(load(tile(x, [64])[.., 0]), half), tile(y, [64])[.., 0]);\n}\nfn half(x: f32) -> f32 {\n    x * 0.5\n}\nfn map<F: fn>(x: f32, g: fn) -> f32 {\n    g(F(x))\n}",
            ),
        ],
    ),
    (
        "Control",
        &[
            (
                "`for` over a range",
                "for i in 0..n / 64 {\n    copy(global_view(x[b * 64.., i * 64..], (64, 64) : (n, 1)), r);\n}",
            ),
            (
                "`for` over a `counter`",
                "kernel k(x: f16[m], y: mut f16[m], c: mut i32[1]) grid [4] threads 32 {\n    let work = counter(c, cdiv(m, 64));\n    for t in work {\n        copy(load(tile(x, [64])[.., t]), tile(y, [64])[.., t]);\n    }\n}",
            ),
            ("`#[unroll]`", "#[unroll]\nfor i in 0..4 {\n    r = r + r;\n}"),
            ("`#[peel]`", "#[peel]\nfor i in 0..n {\n    if i < m {\n        r = r + r;\n    }\n}"),
            (
                "`#[exact]` before a kernel",
                "#[exact]\nkernel k(x: f16[m], y: mut f16[m]) grid [1] threads 32 {\n    let t = load(tile(x, [64])[.., 0]);\n    copy(t / (t + 3.0), tile(y, [64])[.., 0]);\n}",
            ),
            (
                "`#[ptx(\"…\")]` before a function",
                "kernel k(x: f32[m], y: mut f32[m]) grid [1] threads 32 {\n    copy(reciprocal(load(tile(x, [64])[.., 0])), tile(y, [64])[.., 0]);\n}\n#[ptx(\"rcp.approx.f32 {result}, {x};\")]\nfn reciprocal(x: f32) -> f32 {\n    1.0 / x\n}",
            ),
            (
                "`where` of a function, about its result",
                "kernel k(x: f32[m], at: i32[g], y: mut f32[64]) grid [g] threads 32 {\n    let t = register_tensor(f32, [64]);\n    fill(t, x[picked(cast(at[block_idx], i64), m)]);\n    copy(t, y);\n}\nfn picked(i: i64, n: i64) -> i64 where 0 <= result, result < n {\n    i\n}",
            ),
            ("`if` on values of the launch", "if n > 64 {\n    copy(gx, r);\n}"),
            ("`while`", "let i = 0;\nwhile i < n {\n    copy(gx, r);\n    i = i + 64;\n}"),
            ("`sync`", "copy(r, sh);\nsync();\ncopy(sh, r);"),
            ("`grid_dim`", "for i in 0..cdiv(m - b, grid_dim) {\n    copy(gx, r);\n}"),
            ("`multiprocessors`", "for i in 0..cdiv(m, multiprocessors) {\n    copy(gx, r);\n}"),
            (
                "`warp_groups`",
                "kernel k(x: f16[m], y: mut f16[m]) grid [1] {\n    warp_groups {\n        producer {\n            copy(load(tile(x, [128])[.., 0]), tile(y, [128])[.., 0]);\n        }\n        consumer each 2 (g) {\n            sync();\n            copy(load(tile(x, [128])[.., g + 1]), tile(y, [128])[.., g + 1]);\n        }\n    }\n}",
            ),
            (
                "`registers`, `pipeline` between roles, `readers:`, `turns`, `take`, `pass`",
                "kernel k(x: f16[m], y: mut f16[m]) grid [1] {\n    let s = shared_tensor(f16, [128, 2]);\n    let (p, order) = (pipeline(2, readers: 1), turns());\n    warp_groups {\n        producer registers 40 {\n            for i in 0..2 {\n                let stage = p.acquire();\n                copy_async(tile(x, [128])[.., i], s[.., stage], signal: p);\n            }\n        }\n        consumer each 2 (g) registers 232 {\n            p.skip(g);\n            order.take();\n            let stage = p.wait();\n            copy(load(s[.., stage]), tile(y, [128])[.., g]);\n            order.pass();\n            p.release();\n            p.skip(1 - g);\n        }\n    }\n}",
            ),
            (
                "`barrier` of several roles, `sync` and `arrive` behind it",
                "kernel k(x: f16[m], y: mut f16[m]) grid [1] {\n    let s = shared_tensor(f16, [128]);\n    let full = barrier();\n    warp_groups {\n        producer {\n            copy(load(tile(x, [128])[.., 0]), s);\n            full.arrive();\n        }\n        consumer {\n            full.sync();\n            copy(load(s), tile(y, [128])[.., 0]);\n        }\n    }\n}",
            ),
            (
                "`cluster`",
                "kernel k(y: mut f16[m]) grid [2] threads 32 cluster [2] {\n    let r = register_tensor(f16, [32]);\n    fill(r, 0.0);\n    copy(r, global_view(y[block_idx * 32..], (32) : (1)));\n}",
            ),
            (
                "`blocks_per_sm`",
                "kernel k(y: mut f16[m]) grid [2] threads 32 blocks_per_sm 4 {\n    let r = register_tensor(f16, [32]);\n    fill(r, 0.0);\n    copy(r, global_view(y[block_idx * 32..], (32) : (1)));\n}",
            ),
            ("`print`", "print(r);"),
            (
                "`print` in a role",
                "kernel k(x: f16[m], y: mut f16[m]) grid [1] {\n    warp_groups {\n        producer {\n            let t = load(tile(x, [128])[.., 0]);\n            print(t);\n            copy(t, tile(y, [128])[.., 0]);\n        }\n        consumer {\n            copy(load(tile(x, [128])[.., 1]), tile(y, [128])[.., 1]);\n        }\n    }\n}",
            ),
            ("`assert`", "assert(n > 0, \"some columns\");"),
        ],
    ),
    (
        "Pinned layouts",
        &[
            (
                "of a shared tensor",
                "let s = shared_tensor(f16, [64, 64], layout: (64, 64) : (72, 1));\ncopy(r, s);\nsync();\ncopy(s, r);",
            ),
            (
                "of a register tensor",
                "let t = register_tensor(f16, [64, 64], layout: ((8, 16), (8, 4)) : ((512, 1), (64, 16)));\ncopy(gx, t);\ncopy(t, gy);",
            ),
            (
                "of a parameter, by strides",
                "kernel k(x: f16[m, n] : [1, ld], y: mut f16[m, n]) grid [1] threads 128 {\n    let r = register_tensor(f16, [64, 64]);\n    copy(global_view(x, (64, 64) : (1, ld)), r);\n    copy(r, global_view(y, (64, 64) : (n, 1)));\n}",
            ),
            (
                "of a parameter, by blocks",
                "kernel k<W: layout = (64, (16, 4)) : (16, (1, 1024))>(x: u4[m, n] : W, y: mut f16[m, n]) grid [1] threads 128 {\n    copy(cast(load(tile(x, [64, 64])[.., .., 0, 0]), f16), global_view(y, (64, 64) : (n, 1)));\n}",
            ),
        ],
    ),
    (
        "Element types",
        &[
            ("f16, bf16, f32, f64", "let t = cast(cast(cast(r, bf16), f32), f64);\nr = cast(t, f16);"),
            ("integers", "let t = cast(r, i32) + 1;\nr = cast(t, f16);"),
            ("f8e4m3, f8e5m2", "let t = cast(r, f8e4m3);\nr = cast(t, f16);"),
            ("f4e2m1, f8e8m0", "let t = cast(r, f4e2m1);\nr = cast(t, f16) * cast(cast(r, f8e8m0), f16);"),
            (
                "u4, i4 and smaller",
                "kernel k(x: u4[m, n], y: mut u4[m, n]) grid [1] threads 128 {\n    let r = register_tensor(u4, [64, 64]);\n    copy(global_view(x, (64, 64) : (n, 1)), r);\n    copy(r, global_view(y, (64, 64) : (n, 1)));\n}",
            ),
        ],
    ),
];

/// Returns the statements inside a whole kernel.
fn text_of(construct: &str) -> String {
    if construct.starts_with("kernel") || construct.starts_with("#[exact]") {
        return construct.to_owned();
    }
    let uses_shared = construct.contains("sh)") || construct.contains("sh,") || construct.contains("sh.T");
    let last = if construct.contains(", gy)") { "" } else { "copy(r, gy);\n" };
    let shared = if uses_shared { "let sh = shared_tensor(f16, [64, 64]);\n" } else { "" };
    format!(
        "fn twice(v: f32) -> f32 {{\n    v + v\n}}\n\n\
         kernel k(x: f16[m, n], y: mut f16[m, n], idx: i32[m], v: f32) grid [cdiv(m, 64)] threads 128 {{\n\
         let b = block_idx;\n\
         let gx = global_view(x[b * 64.., ..], (64, 64) : (n, 1));\n\
         let gy = global_view(y[b * 64.., ..], (64, 64) : (n, 1));\n\
         let r = register_tensor(f16, [64, 64]);\n{shared}copy(gx, r);\n{construct}\n{last}}}\n"
    )
}

/// Reports whether a text compiles to CUDA: false if the compiler refuses a construct. Returns other errors as text.
fn is_compiled(text: &str) -> Result<bool, String> {
    let mut db = Database::default();
    let file = db.set_overlay("status.hx", text);
    let errors: Vec<_> =
        check_file(&db, file, Target::usual()).iter().filter(|found| found.is_error()).collect();
    if errors.is_empty() {
        let kernel = file_items(&db, file).kernels().next().expect("there is a kernel");
        let instance = default_instance(&db, kernel, Target::usual()).expect("it needs no arguments");
        return cuda_source(&db, instance).as_ref().map(|_| true).map_err(|stop| format!("{stop:?}"));
    }
    let yet = [&codes::UNSUPPORTED, &codes::NO_INSTRUCTION];
    if errors.iter().all(|error| yet.contains(&error.code)) {
        return Ok(false);
    }
    Err(errors.iter().map(|error| hx_report::short(&db, error)).collect())
}

/// Lists the matrix instructions of the catalogue by the types that they multiply.
fn instructions() -> String {
    let mut out = String::from(
        "\n## Matrix instructions\n\n\
         The table lists the matrix instructions of `gemm` by element types, with the steps along K of one instruction.\n\
         If none fits, `f16 bf16 f32 f64 i8 u8 i32 u32` and 8-bit floats are multiplied one by one.\n\n\
         | `a` and `b` | `c` | steps | from |\n|---|---|---|---|\n",
    );
    for row in by_operands(|row| row.threads > 1 && !row.is_by_descriptor()) {
        let steps: Vec<String> = row.shapes.iter().map(|shape| shape[2].to_string()).collect();
        let _ = writeln!(out, "| {} | {} | {} | sm_{} |", row.operands, row.c, steps.join(", "), row.target);
    }
    out.push_str(
        "\nThese instructions read `b` from shared memory by descriptor, and `a` from shared memory or registers.\n\
         A group of 128 threads multiplies 64 rows of `a` by `n` rows of `b`; `n` is a multiple of 8, and of 16 for integers from 32 on.\n\
         In shared memory, 16-bit operands are contiguous along K or along their rows and columns, all others along K.\n\
         A tile of bytes that is contiguous along its rows and columns goes [through registers](../hopper.md#bytes-that-lie-across).\n\n\
         | `a` and `b` | `c` | steps | `n` | from |\n|---|---|---|---|---|\n",
    );
    for row in by_operands(hx_target::GemmRow::is_by_descriptor) {
        let (least, most) = (row.shapes[0], row.shapes[row.shapes.len() - 1]);
        let n = format!("{} to {}", least[1], most[1]);
        let _ = writeln!(out, "| {} | {} | {} | {n} | sm_{}a |", row.operands, row.c, least[2], row.target);
    }
    out
}

/// The matrix instructions of one pair of operand types.
struct Kind {
    operands: String,
    c: hx_dtype::DType,
    target: u32,
    shapes: Vec<[i64; 3]>,
}

/// Groups the matrix instructions that `wanted` keeps by the types that they multiply.
fn by_operands(wanted: impl Fn(&hx_target::GemmRow) -> bool) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for row in Target::usual().rows().gemms.iter().filter(|row| !row.is_swapped && wanted(row)) {
        let (a, b) = (row.a.dtype(), row.b.dtype());
        let operands = if a == b { a.to_string() } else { format!("{a}, {b}") };
        let has = |target: &&Target| target.rows().gemm(&row.name).is_some();
        let [major, minor] = Target::all().iter().find(has).expect("some target has it").capability;
        let (c, target, shape) = (row.c.dtype, 10 * major + minor, row.shape);
        match kinds.iter_mut().find(|kind| kind.operands == operands && kind.c == c && kind.target == target)
        {
            Some(kind) => kind.shapes.push(shape),
            None => kinds.push(Kind { operands, c, target, shapes: vec![shape] }),
        }
    }
    kinds
}

#[test]
fn the_status_page_is_fresh() {
    let mut page = String::from(
        "# What is compiled today\n\n\
         A test of the compiler tries each construct for `sm_90a` and compares the result with this page.\n\
         A construct that does not compile yet is an error at its place, never a wrong program.\n",
    );
    let mut wrong = String::new();
    for (title, constructs) in GROUPS {
        let _ = write!(page, "\n## {title}\n\n| construct | |\n|---|---|\n");
        for (name, construct) in *constructs {
            let state = match is_compiled(&text_of(construct)) {
                Ok(true) => "compiled",
                Ok(false) => "not yet",
                Err(found) => {
                    let _ = writeln!(wrong, "{name}:\n{}\n{found}", text_of(construct));
                    continue;
                }
            };
            let _ = writeln!(page, "| {name} | {state} |");
        }
    }
    page.push_str(&instructions());
    assert!(wrong.is_empty(), "the page tries what is not a program:\n{wrong}");
    expect_file![root().join("book/src/language/status.md")].assert_eq(&page);
}
