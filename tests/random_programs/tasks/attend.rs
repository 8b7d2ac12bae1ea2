//! Two products of which the second takes the result of the first: scores of queries and keys, and sums of values by them.

use hx_dtype::DType;

use super::super::program::Range;
use super::super::write::number;
use super::sheet::{Begin, Kernel, Lines, Sheet, Tensor};

/// The way of the queries to the product of queries and keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queries {
    /// Through a ring with one stage.
    Ring,
    /// Copied by the threads that read them.
    Threads,
    /// Copied by the same threads, without registers.
    Async,
    /// They stay in registers.
    Held,
}

/// A drawn kernel.
struct Plan {
    dtype: DType,
    /// Queries of a group, keys of a step, the extent of a key and that of a value.
    bm: i64,
    bn: i64,
    d: i64,
    dv: i64,
    groups: i64,
    each: bool,
    stages: [i64; 2],
    queries: Queries,
    causal: bool,
    /// The scores of a step are computed while the sums of the step before are in flight.
    overlapped: bool,
    blocks: i64,
    keys: i64,
    ordered: bool,
}

pub(super) fn write(sheet: &mut Sheet) {
    sheet.part("product of a product");
    let bn = sheet.choices.pick(&[16, 32, 64, 48]);
    let groups = sheet.choices.between(1, 2);
    let plan = Plan {
        dtype: sheet.choices.pick(&[DType::F16, DType::Bf16]),
        bm: 64,
        bn,
        d: sheet.choices.pick(&[16, 32, 64]),
        dv: sheet.choices.pick(&[16, 8, 32, 64]),
        groups,
        each: groups > 1 || sheet.choices.percent(30),
        stages: [(); 2].map(|()| sheet.choices.between(1, 3)),
        queries: sheet.choices.pick(&[Queries::Ring, Queries::Threads, Queries::Async, Queries::Held]),
        causal: sheet.choices.percent(50),
        overlapped: sheet.choices.percent(40),
        blocks: sheet.choices.between(1, 3),
        keys: sheet.choices.between(1, 5) * bn - sheet.choices.between(0, bn / 8),
        ordered: false,
    };
    let plan =
        Plan { ordered: plan.each && groups > 1 && !plan.overlapped && sheet.choices.percent(60), ..plan };
    plan.write(sheet);
}

impl Plan {
    fn write(&self, sheet: &mut Sheet) {
        let Plan { dtype, bm, bn, d, dv, groups, blocks, keys, causal, .. } = *self;
        let rows = bm * groups;
        let queries = blocks * rows - sheet.choices.between(0, 9);
        let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
        let literal = |n: i64| n.to_string();
        let q = Tensor::new("q", dtype, &[("m", queries), (&literal(d), d)]);
        let k = Tensor::new("k", dtype, &[("t", keys), (&literal(d), d)]);
        let v = Tensor::new("v", dtype, &[("t", keys), (&literal(dv), dv)]);
        // A score has a magnitude of at most 64, and a value one of at most 1. So the sums stay exact, and so does a score in
        // either type.
        for tensor in [&q, &k, &v] {
            sheet.input(&mut kernel, tensor, Range::new(-1, 1));
        }
        let y = Tensor::new("y", DType::F32, &[("m", queries), (&literal(dv), dv)]);
        sheet.output(&mut kernel, &y, Begin::Unwritten);
        kernel.header.push(format!("grid [cdiv(m, {rows})]"));
        let steps = if causal {
            format!("min(cdiv(t, {bn}), cdiv((bm + 1) * {rows}, {bn}))")
        } else {
            format!("cdiv(t, {bn})")
        };
        kernel.body.push(format!("let bm = block_idx;\nlet steps = {steps};"));
        let [ks, vs] = self.stages;
        kernel.body.push(format!(
            "let (sk, sv) = (shared_tensor({dtype}, [{bn}, {d}, {ks}]), shared_tensor({dtype}, [{bn}, {dv}, {vs}]));\n\
             let (keys, values) = (pipeline({ks}), pipeline({vs}));"
        ));
        if self.queries == Queries::Ring {
            kernel.body.push(format!(
                "let sq = shared_tensor({dtype}, [{rows}, {d}, 1]);\nlet queries = pipeline(1);"
            ));
        }
        if self.ordered {
            sheet.part("turns");
            kernel.body.push("let order = turns();");
        }
        let mut roles = Lines::default();
        roles.block("producer", self.producer());
        let head = match (self.each, groups) {
            (true, groups) => format!("consumer each {groups} (g)"),
            (false, _) => "consumer".to_owned(),
        };
        roles.block(&head, self.consumer());
        kernel.body.block("warp_groups", roles);
        sheet.test.push(kernel.launch());
        let seen = if causal {
            format!("min({keys}, cdiv((i + 1) * {rows}, {bn}) * {bn})")
        } else {
            keys.to_string()
        };
        sheet.test.push(format!("let e = zeros(f64, [{queries}, {dv}]);"));
        let mut lines = Lines::from(format!(
            "let seen = {seen};\nlet to = min({queries}, i * {rows} + {rows});\n\
             let p = cast(q[i * {rows}..to, ..], f64) @ cast(k[..seen, ..], f64).T;\n\
             e[i * {rows}..to, ..] = p @ cast(v[..seen, ..], f64);"
        ));
        let mut all = Lines::default();
        all.block(&format!("for i in 0..{blocks}"), std::mem::take(&mut lines));
        sheet.test.extend(all);
        sheet.test.push("assert_eq(y, e);");
        sheet.finish(kernel);
    }

    fn producer(&self) -> Lines {
        let Plan { bm, bn, d, dv, groups, .. } = *self;
        let mut lines = Lines::default();
        if self.queries == Queries::Ring {
            lines.push(format!(
                "let p = queries.acquire();\n\
                 copy_async(tile(q, [{}, {d}])[.., .., bm, 0], sq[.., .., p], signal: queries);",
                bm * groups
            ));
        }
        lines.block(
            "for i in 0..steps",
            format!(
                "let p = keys.acquire();\n\
                 copy_async(tile(k, [{bn}, {d}])[.., .., i, 0], sk[.., .., p], signal: keys);\n\
                 let p = values.acquire();\n\
                 copy_async(tile(v, [{bn}, {dv}])[.., .., i, 0], sv[.., .., p], signal: values);"
            )
            .into(),
        );
        lines
    }

    /// Returns the lines of the role that computes: each group has rows of its own.
    fn consumer(&self) -> Lines {
        let Plan { dtype, bm, bn, d, dv, groups, .. } = *self;
        let row = if self.each { format!("bm * {groups} + g") } else { "bm".to_owned() };
        let mut lines =
            Lines::from(format!("let acc = register_tensor(f32, [{bm}, {dv}]);\nfill(acc, 0.0);"));
        let source = format!("tile(q, [{bm}, {d}])[.., .., {row}, 0]");
        let left = match self.queries {
            Queries::Ring => {
                lines.push("let own = queries.wait();");
                if self.each {
                    format!("sq[g * {bm}..g * {bm} + {bm}, .., own]")
                } else {
                    "sq[.., .., own]".to_owned()
                }
            }
            Queries::Threads => {
                lines.push(format!(
                    "let sq = shared_tensor({dtype}, [{bm}, {d}]);\ncopy({source}, sq);\nsync();"
                ));
                "sq".to_owned()
            }
            Queries::Async => {
                lines.push(format!(
                    "let sq = shared_tensor({dtype}, [{bm}, {d}]);\ncopy_async({source}, sq);\ncommit();\nwait(0);\nsync();"
                ));
                "sq".to_owned()
            }
            Queries::Held => {
                lines.push(format!("let held = load({source});"));
                "held".to_owned()
            }
        };
        let zero = number(0, DType::F32);
        let scores = format!("let s = register_tensor(f32, [{bm}, {bn}]);\nfill(s, {zero});");
        let (take, pass) = if self.ordered { ("order.take();", "order.pass();") } else { ("", "") };
        let mut step = Lines::default();
        if self.overlapped {
            // Products of the same threads complete in order: the scores may complete while the sums still run.
            lines.push(&scores);
            let mut first = Lines::from("let a = keys.wait();");
            first.push(format!("gemm_async(s, {left}, sk[.., .., a]);\ngemm_wait(0);\nkeys.release();"));
            lines.block("if steps > 0", first);
            step.push("let p = cast(s, WIDE);".replace("WIDE", &dtype.to_string()));
            step.push("let b = values.wait();");
            step.push("gemm_async(acc, p, sv[.., .., b].T);");
            let mut next = Lines::from("let a = keys.wait();");
            next.push(format!(
                "fill(s, {zero});\ngemm_async(s, {left}, sk[.., .., a]);\ngemm_wait(0);\nkeys.release();"
            ));
            step.block("if i + 1 < steps", next);
            step.push("gemm_wait(0);\nvalues.release();");
            lines.block("for i in 0..steps", step);
        } else {
            step.push(take);
            step.push("let a = keys.wait();");
            step.push(&scores);
            step.push(format!("gemm_async(s, {left}, sk[.., .., a]);\ngemm_wait(0);\nkeys.release();"));
            step.push(pass);
            step.push(format!("let p = cast(s, {dtype});\nlet b = values.wait();"));
            step.push("gemm(acc, p, sv[.., .., b].T);\nvalues.release();");
            lines.block("for _ in 0..steps", step);
        }
        if self.queries == Queries::Ring {
            lines.push("queries.release();");
        }
        lines.push(format!("copy(acc, tile(y, [{bm}, {dv}])[.., .., {row}, 0]);"));
        lines
    }
}
