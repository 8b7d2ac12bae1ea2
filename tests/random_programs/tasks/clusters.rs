//! Sums over the blocks of a cluster: in every block, in one, or in parts; of tiles that are loaded, and of products.

use hx_dtype::DType;

use super::super::program::Range;
use super::super::write::number;
use super::sheet::{Begin, Kernel, Lines, Sheet, Tensor};

/// The blocks that receive a sum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sum {
    All,
    To(i64),
    /// Each block receives a part of the sum, cut along this axis of the tile.
    Scatter(usize),
}

impl Sum {
    fn text(self, axis: usize) -> String {
        match self {
            Sum::All => format!("cluster: {axis}"),
            Sum::To(block) => format!("cluster: {axis}, to: {block}"),
            Sum::Scatter(mode) => format!("cluster: {axis}, scatter: {mode}"),
        }
    }
}

pub(super) fn write(sheet: &mut Sheet) {
    sheet.part("sum over a cluster");
    if sheet.choices.percent(40) { products(sheet) } else { tiles(sheet) }
}

fn drawn_sum(sheet: &mut Sheet, blocks: i64, modes: usize) -> Sum {
    match sheet.choices.below(3) {
        0 => Sum::All,
        1 => Sum::To(sheet.choices.between(0, blocks - 1)),
        _ => Sum::Scatter(sheet.choices.below(modes)),
    }
}

/// Writes a kernel in which the blocks of a cluster load a tile each, in several rounds.
fn tiles(sheet: &mut Sheet) {
    let blocks = sheet.choices.pick(&[2, 4, 8, 3]);
    let second = sheet.choices.percent(40);
    let axis = usize::from(second);
    let dtype = sheet.choices.pick(&[DType::F32, DType::I32, DType::F64]);
    let rows = blocks * sheet.choices.pick(&[1, 2, 4]);
    let columns = blocks * sheet.choices.pick(&[8, 16, 4, 12]);
    let sum = drawn_sum(sheet, blocks, 2);
    let rounds = sheet.choices.between(1, 4);
    let clusters = sheet.choices.between(1, 2);
    let roles = sheet.choices.percent(40);
    let twice = sheet.choices.percent(30);
    let each = if roles && sheet.choices.percent(40) { 2 } else { 1 };
    let tiles = rounds * clusters * each - sheet.choices.between(0, (rounds * clusters * each - 1).min(1));
    let m = tiles * rows - sheet.choices.between(0, rows - 1);
    let n = columns - if roles { 0 } else { sheet.choices.between(0, 3) };
    let factor = sheet.choices.between(1, 3);
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    let x = Tensor::new("x", dtype, &[(&blocks.to_string(), blocks), ("m", m), (&n.to_string(), n)]);
    sheet.input(&mut kernel, &x, Range::new(-9, 9));
    let whole = sum != Sum::Scatter(0) && sum != Sum::Scatter(1);
    let y = if whole {
        Tensor::new("y", dtype, &[(&blocks.to_string(), blocks), ("m", m), (&n.to_string(), n)])
    } else {
        Tensor::new("y", dtype, &[("m", m), (&n.to_string(), n)])
    };
    sheet.output(&mut kernel, &y, Begin::Unwritten);
    let grid = if second {
        kernel.body.push("let [first, rank] = block_idx;");
        format!("[{clusters}, {blocks}]")
    } else {
        kernel.body.push(format!("let (first, rank) = (block_idx / {blocks}, block_idx % {blocks});"));
        format!("[{}]", clusters * blocks)
    };
    kernel.header.push(format!("grid {grid}"));
    kernel.header.push(if second { format!("cluster [1, {blocks}]") } else { format!("cluster [{blocks}]") });
    let times = if factor == 1 { String::new() } else { format!(" * {}", number(factor, dtype)) };
    let again = if twice { format!("sum(all + own, {})", Sum::All.text(axis)) } else { String::new() };
    let value = if twice { "again" } else { "all" };
    let store = match sum {
        Sum::Scatter(0) => {
            format!("copy({value}, tile(y, [{}, {columns}])[.., .., t * {blocks} + rank, 0]);", rows / blocks)
        }
        Sum::Scatter(_) => {
            format!("copy({value}, tile(y, [{rows}, {}])[.., .., t, rank]);", columns / blocks)
        }
        _ => format!("copy({value}, tile(y[rank], [{rows}, {columns}])[.., .., t, 0]);"),
    };
    // A second sum needs the first one with the extents of the tile, in every block: not cut, and not in a single block.
    let twice = twice && sum == Sum::All;
    let store = if twice { store } else { store.replace("again", "all") };
    let sums = |own: &str| {
        let mut lines = Lines::from(own);
        lines.push(format!("let all = sum(own{times}, {});", sum.text(axis)));
        if twice {
            lines.push(format!("let again = {again};"));
        }
        lines.push(&store);
        lines
    };
    let count = format!("cdiv(cdiv(m, {}) - first, {clusters})", rows * each);
    let head = format!("for w in 0..{count}");
    let tile = if each == 1 {
        format!("let t = first + w * {clusters};")
    } else {
        format!("let t = (first + w * {clusters}) * {each} + g;")
    };
    if roles {
        sheet.part("roles");
        let stages = sheet.choices.between(1, 3);
        let mut front = Lines::default();
        front.push(format!("let stages = shared_tensor({dtype}, [{rows}, {columns}, {}]);", stages * each));
        (0..each).for_each(|g| front.push(format!("let ring{g} = pipeline({stages});")));
        kernel.body.extend(front);
        let mut roles = Lines::default();
        if each == 1 {
            let mut step = Lines::from(tile.as_str());
            step.push("let s = ring0.acquire();");
            step.push(format!(
                "copy_async(tile(x[rank], [{rows}, {columns}])[.., .., t, 0], stages[.., .., s], signal: ring0);"
            ));
            let mut producer = Lines::default();
            producer.block(&head, step);
            roles.block("producer", producer);
            let mut step = Lines::from(tile.as_str());
            step.extend(sums("let s = ring0.wait();\nlet own = load(stages[.., .., s]);\nring0.release();"));
            let mut consumer = Lines::default();
            consumer.block(&head, step);
            let groups = sheet.choices.between(1, 2);
            roles.block(
                &if groups == 1 { "consumer".to_owned() } else { format!("consumer {groups}") },
                consumer,
            );
        } else {
            kernel.body = std::mem::take(&mut kernel.body).without("let stages").without("let ring");
            let mut step = Lines::from(tile.as_str());
            step.extend(sums(&format!("let own = load(tile(x[rank], [{rows}, {columns}])[.., .., t, 0]);")));
            let mut consumer = Lines::default();
            consumer.block(&head, step);
            roles.block(&format!("consumer each {each} (g)"), consumer);
        }
        kernel.body.block("warp_groups", roles);
    } else {
        kernel.header.push(format!("threads {}", sheet.choices.pick(&[32, 64, 128, 96])));
        let mut step = Lines::from(tile.as_str());
        step.extend(sums(&format!("let own = load(tile(x[rank], [{rows}, {columns}])[.., .., t, 0]);")));
        kernel.body.block(&head, step);
    }
    sheet.test.push(kernel.launch());
    sheet.test.push(format!("let h = cast(x, f64);\nlet e = sum(h * {factor}.0, axis: 0);"));
    if twice {
        sheet.test.push(format!("e = e * {blocks}.0 + sum(h, axis: 0);"));
    }
    match sum {
        Sum::Scatter(_) => sheet.test.push("assert_eq(y, e);"),
        _ => {
            let own = if let Sum::To(block) = sum {
                format!("if rank == {block} {{ e }} else {{ h[rank] * {factor}.0 }}")
            } else {
                "e".to_owned()
            };
            let mut lines = Lines::default();
            lines.block(
                &format!("for rank in 0..{blocks}"),
                Lines::from(format!("assert_eq(y[rank], {own});")),
            );
            sheet.test.extend(lines);
        }
    }
    sheet.finish(kernel);
}

/// Writes a product whose steps the blocks of a cluster share.
fn products(sheet: &mut Sheet) {
    sheet.part("product that a cluster shares");
    let blocks = sheet.choices.pick(&[2, 4]);
    let dtype = sheet.choices.pick(&[DType::F16, DType::Bf16, DType::I8]);
    let sums = if dtype == DType::I8 { DType::I32 } else { DType::F32 };
    let bn = blocks * sheet.choices.pick(&[8, 16, 24, 32]);
    let bk = 256 / i64::from(dtype.bits()) * sheet.choices.pick(&[1, 2, 4]);
    let [rows, columns] = [(); 2].map(|()| sheet.choices.between(1, 2));
    let steps = sheet.choices.between(1, 3 * blocks);
    let stages = sheet.choices.between(2, 4);
    let sum = match sheet.choices.below(3) {
        0 => Sum::Scatter(1),
        1 => Sum::Scatter(0),
        _ => Sum::To(sheet.choices.between(0, blocks - 1)),
    };
    let m = rows * 64 - sheet.choices.between(0, 5);
    let n = columns * bn - 4 * sheet.choices.between(0, 1);
    let k = steps * bk - 16 * sheet.choices.between(0, 1);
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    for (name, dim, extent) in [("a", "m", m), ("b", "n", n)] {
        let tensor = Tensor::new(name, dtype, &[(dim, extent), ("k", k)]);
        sheet.input(&mut kernel, &tensor, Range::new(-3, 3));
    }
    let c = Tensor::new("c", sums, &[("m", m), ("n", n)]);
    sheet.output(&mut kernel, &c, Begin::Unwritten);
    kernel.header.push(format!("grid [{blocks} * cdiv(m, 64), cdiv(n, {bn})]"));
    kernel.header.push(format!("cluster [{blocks}, 1]"));
    kernel.body.push(format!(
        "let [bx, bn] = block_idx;\nlet (bm, rank) = (bx / {blocks}, bx % {blocks});\n\
         let sa = shared_tensor({dtype}, [64, {bk}, {stages}]);\n\
         let sb = shared_tensor({dtype}, [{bn}, {bk}, {stages}]);\nlet ring = pipeline({stages});"
    ));
    let head = format!("cdiv(cdiv(k, {bk}) - rank, {blocks})");
    let mut filling = Lines::default();
    filling.block(
        &format!("for i in 0..{head}"),
        Lines::from(format!(
            "let s = ring.acquire();\n\
             copy_async(tile(a, [64, {bk}])[.., .., bm, rank + i * {blocks}], sa[.., .., s], signal: ring);\n\
             copy_async(tile(b, [{bn}, {bk}])[.., .., bn, rank + i * {blocks}], sb[.., .., s], signal: ring);"
        )),
    );
    let mut work = Lines::from(format!(
        "let acc = register_tensor({sums}, [64, {bn}]);\nfill(acc, {});",
        number(0, sums)
    ));
    work.block(
        &format!("for _ in 0..{head}"),
        "let s = ring.wait();\ngemm_async(acc, sa[.., .., s], sb[.., .., s]);\ngemm_wait(1);\n\
         ring.release_previous();"
            .into(),
    );
    work.push("gemm_wait(0);\nring.release();");
    work.push(format!("let all = sum(acc, {});", sum.text(0)));
    match sum {
        Sum::Scatter(1) => {
            work.push(format!(
                "copy(all, tile(c, [64, {}])[.., .., bm, bn * {blocks} + rank]);",
                bn / blocks
            ));
        }
        Sum::Scatter(_) => {
            work.push(format!(
                "copy(all, tile(c, [{}, {bn}])[.., .., bm * {blocks} + rank, bn]);",
                64 / blocks
            ));
        }
        Sum::To(block) => {
            let store = format!("copy(all, tile(c, [64, {bn}])[.., .., bm, bn]);");
            work.block(&format!("if rank == {block}"), store.into());
        }
        Sum::All => {}
    }
    let mut roles = Lines::default();
    roles.block("producer", filling);
    roles.block("consumer", work);
    kernel.body.block("warp_groups", roles);
    sheet.test.push(kernel.launch());
    sheet.test.push("assert_eq(c, cast(a, f64) @ cast(b, f64).T);");
    sheet.finish(kernel);
}
