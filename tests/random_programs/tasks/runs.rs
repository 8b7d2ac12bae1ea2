//! Tiles that are one run of bytes: rows that no box takes, and vectors of groups that take turns or meet at barriers.

use hx_dtype::DType;

use super::super::program::Range;
use super::super::write::number;
use super::handed;
use super::sheet::{Begin, Kernel, Lines, Sheet, Tensor};

pub(super) fn write(sheet: &mut Sheet) {
    match sheet.choices.below(4) {
        0 | 1 => runs(sheet),
        2 => handed::write(sheet),
        _ => shared_sum(sheet),
    }
}

/// Writes a kernel that copies whole rows of an odd width, as runs of bytes.
fn runs(sheet: &mut Sheet) {
    sheet.part("runs of bytes");
    let dtype = sheet.choices.pick(&[DType::F32, DType::F16, DType::I32, DType::F64, DType::I8]);
    let bytes = i64::from(dtype.bits()) / 8;
    // A row is no multiple of 16 bytes, but some of them together are.
    let width = sheet.choices.pick(&[33, 31, 7, 129, 17]);
    let fewest = (1..=16).find(|rows| rows * width * bytes % 16 == 0).unwrap_or(16);
    let rows = fewest * sheet.choices.pick(&[1, 2, 4]);
    let tiles = sheet.choices.between(1, 6);
    let stages = sheet.choices.between(1, 4);
    let stored = sheet.choices.percent(60);
    let roles = sheet.choices.percent(50);
    let m = rows * tiles;
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    let literal = width.to_string();
    sheet.input(&mut kernel, &Tensor::new("x", dtype, &[("m", m), (&literal, width)]), Range::new(-9, 9));
    sheet.output(&mut kernel, &Tensor::new("y", dtype, &[("m", m), (&literal, width)]), Begin::Unwritten);
    kernel.wheres.push(format!("m % {rows} == 0"));
    let blocks = sheet.choices.between(1, 3);
    kernel.header.push(format!("grid [{blocks}]"));
    kernel.body.push(format!(
        "let s = shared_tensor({dtype}, [{rows}, {width}, {stages}]);\nlet ring = pipeline({stages});"
    ));
    let head = format!("for w in 0..cdiv(m / {rows} - block_idx, {blocks})");
    let tile = format!("let t = block_idx + w * {blocks};");
    // The hints follow from what is drawn already, so that the other numbers stay the same.
    let hints = [", l2: \"evict_first\"", "", ", l2: \"evict_last\""][(tiles % 3) as usize];
    let fill = format!(
        "let p = ring.acquire();\ncopy_async(tile(x, [{rows}, {width}])[.., .., t, 0], s[.., .., p], signal: ring{hints});"
    );
    let target = format!("tile(y, [{rows}, {width}])[.., .., t, 0]");
    let wide = dtype.bits() > 8;
    let plus = sheet.choices.between(0, 3);
    let value = if wide && plus > 0 {
        format!("load(s[.., .., q]) + {}", number(plus, dtype))
    } else {
        "load(s[.., .., q])".to_owned()
    };
    let plus = if wide { plus } else { 0 };
    let mut read = Lines::from("let q = ring.wait();");
    let mut declared = Lines::default();
    if stored {
        sheet.part("bulk stores");
        declared.push(format!("let o = shared_tensor({dtype}, [{rows}, {width}]);"));
        read.push(format!(
            "wait_stores(0);\nsync();\ncopy({value}, o);\nsync();\nring.release();\ncopy_async(o, {target}{hints});"
        ));
    } else {
        read.push(format!("copy({value}, {target});\nring.release();"));
    }
    if roles {
        sheet.part("roles");
        let mut producer = Lines::default();
        producer.block(&head, format!("{tile}\n{fill}").into());
        let mut consumer = declared;
        let mut step = Lines::from(tile);
        step.extend(read);
        consumer.block(&head, step);
        let mut all = Lines::default();
        all.block("producer", producer);
        all.block(sheet.choices.pick(&["consumer", "consumer 2"]), consumer);
        kernel.body.block("warp_groups", all);
    } else {
        kernel.header.push(format!("threads {}", sheet.choices.pick(&[64, 32, 128])));
        kernel.body.extend(declared);
        let mut step = Lines::from(format!("{tile}\n{fill}"));
        step.extend(read);
        kernel.body.block(&head, step);
    }
    sheet.test.push(kernel.launch());
    sheet.test.push(format!("assert_eq(y, cast(x, f64) + {plus}.0);"));
    sheet.finish(kernel);
}

/// Writes a kernel whose groups change a tile of shared memory in turns.
fn shared_sum(sheet: &mut Sheet) {
    sheet.part("turns");
    let dtype = sheet.choices.pick(&[DType::I32, DType::F32, DType::I64]);
    let tile = sheet.choices.pick(&[128, 64, 256, 100]);
    let groups = sheet.choices.between(2, 3);
    let rounds = sheet.choices.between(1, 4);
    let start = sheet.choices.between(0, 5);
    let m = tile * groups * rounds;
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    sheet.input(&mut kernel, &Tensor::new("x", dtype, &[("m", m)]), Range::new(-9, 9));
    sheet.output(&mut kernel, &Tensor::new("y", dtype, &[("m", m)]), Begin::Unwritten);
    kernel.wheres.push(format!("m % {} == 0", tile * groups));
    kernel.header.push("grid [1]".to_owned());
    kernel.body.push(format!(
        "let s = shared_tensor({dtype}, [{tile}]);\nlet order = turns();\nfill(s, {});\nsync();",
        number(start, dtype)
    ));
    // Several threads hold an element of a tile that is no multiple of the group.
    let all_read = if tile % 128 == 0 { "" } else { "\nsync();" };
    let mut step = Lines::from(format!(
        "let own = load(tile(x, [{tile}])[.., {groups} * i + g]);\norder.take();\n\
         let all = load(s) - own;{all_read}\ncopy(all, s);\norder.pass();\ncopy(all, tile(y, [{tile}])[.., {groups} * i + g]);"
    ));
    let mut consumer = Lines::default();
    consumer.block(&format!("for i in 0..m / {}", tile * groups), std::mem::take(&mut step));
    let mut roles = Lines::default();
    roles.block("producer", Lines::default());
    roles.block(&format!("consumer each {groups} (g)"), consumer);
    kernel.body.block("warp_groups", roles);
    sheet.test.push(kernel.launch());
    sheet.test.push(format!("let (e, h) = (zeros(f64, [{m}]), full(f64, [{tile}], {start}.0));"));
    let place = format!("i * {tile}..i * {tile} + {tile}");
    let mut lines = Lines::default();
    lines.block(
        &format!("for i in 0..{}", groups * rounds),
        format!("h = h - x[{place}];\ne[{place}] = h;").into(),
    );
    sheet.test.extend(lines);
    sheet.test.push("assert_eq(y, e);");
    sheet.finish(kernel);
}
