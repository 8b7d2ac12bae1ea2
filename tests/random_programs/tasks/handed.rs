//! Tiles that roles and groups hand to each other at barriers.

use hx_dtype::DType;

use super::super::program::Range;
use super::super::write::number;
use super::sheet::{Begin, Kernel, Lines, Sheet, Tensor};

pub(super) fn write(sheet: &mut Sheet) {
    if sheet.choices.percent(60) { roles(sheet) } else { groups(sheet) }
}

/// Returns a kernel over a vector of `m` elements, in blocks of `part`.
fn kernel(sheet: &mut Sheet, dtype: DType, m: i64, part: i64) -> Kernel {
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    sheet.input(&mut kernel, &Tensor::new("x", dtype, &[("m", m)]), Range::new(-9, 9));
    sheet.output(&mut kernel, &Tensor::new("y", dtype, &[("m", m)]), Begin::Unwritten);
    kernel.wheres.push(format!("m % {part} == 0"));
    kernel.header.push("grid [1]".to_owned());
    kernel
}

/// Writes a kernel in which a role makes tiles, and another one reads them.
fn roles(sheet: &mut Sheet) {
    sheet.part("barriers of roles");
    let dtype = sheet.choices.pick(&[DType::I32, DType::F32, DType::I64]);
    let tile = sheet.choices.pick(&[128, 256, 512]);
    let rounds = sheet.choices.between(1, 5);
    let (plus, times) = (sheet.choices.between(0, 3), sheet.choices.between(1, 3));
    let each = sheet.choices.percent(40);
    let reader = if each { "consumer each 2 (g)" } else { sheet.choices.pick(&["consumer", "consumer 2"]) };
    // The words that hand a tile on, that wait for it, that give it back, and that wait for that.
    let (declared, [on, full, back, free]) = match sheet.choices.below(3) {
        0 => ("let both = barrier();", ["both.sync();", "both.sync();", "both.sync();", "both.sync();"]),
        1 => {
            sheet.part("arrivals at barriers of roles");
            let words = ["full.arrive();", "full.sync();", "free.arrive();", "free.sync();"];
            ("let (full, free) = (barrier(), barrier());", words)
        }
        _ => {
            sheet.part("arrivals at barriers of roles");
            let words = ["full.arrive();", "full.sync();", "if i + 1 < n { free.arrive(); }", ""];
            ("let (full, free) = (barrier(), barrier());", words)
        }
    };
    let waits_first = free.is_empty();
    let mut kernel = kernel(sheet, dtype, tile * rounds, tile);
    kernel.body.push(format!("let s = shared_tensor({dtype}, [{tile}]);\nlet n = m / {tile};\n{declared}"));
    let mut made = Lines::from(format!("let v = load(tile(x, [{tile}])[.., i]) + {};", number(plus, dtype)));
    if waits_first {
        made.push("if i > 0 { free.sync(); }");
    }
    made.push(format!("copy(v, s);\n{on}"));
    if !waits_first {
        made.push(free);
    }
    let (source, part, place) = match each {
        true => (format!("load(tile(s, [{}])[.., g])", tile / 2), tile / 2, "2 * i + g"),
        false => ("load(s)".to_owned(), tile, "i"),
    };
    let read = Lines::from(format!(
        "{full}\nlet w = {source};\n{back}\ncopy(w * {}, tile(y, [{part}])[.., {place}]);",
        number(times, dtype)
    ));
    let [producer, consumer] = [made, read].map(|step| {
        let mut body = Lines::default();
        body.block("for i in 0..n", step);
        body
    });
    let mut all = Lines::default();
    all.block("producer", producer);
    all.block(reader, consumer);
    kernel.body.block("warp_groups", all);
    sheet.test.push(kernel.launch());
    sheet.test.push(format!("assert_eq(y, (cast(x, f64) + {plus}.0) * {times}.0);"));
    sheet.finish(kernel);
}

/// Writes a kernel whose groups read the tiles of each other.
fn groups(sheet: &mut Sheet) {
    sheet.part("barriers of groups");
    let dtype = sheet.choices.pick(&[DType::I32, DType::F32, DType::I64]);
    let tile = sheet.choices.pick(&[128, 64, 256]);
    let groups = sheet.choices.between(2, 3);
    let rounds = sheet.choices.between(1, 4);
    let apart = sheet.choices.between(1, groups - 1);
    let all = tile * groups;
    let mut kernel = kernel(sheet, dtype, all * rounds, all);
    kernel.body.push(format!("let s = shared_tensor({dtype}, [{tile}, {groups}]);\nlet all = barrier();"));
    let step = Lines::from(format!(
        "let own = load(tile(x, [{tile}])[.., {groups} * i + g]);\ncopy(own, s[.., g]);\nall.sync();\n\
         let other = load(s[.., (g + {apart}) % {groups}]);\nall.sync();\n\
         copy(own - other, tile(y, [{tile}])[.., {groups} * i + g]);"
    ));
    let mut body = Lines::default();
    body.block(&format!("for i in 0..m / {all}"), step);
    let mut roles = Lines::default();
    roles.block(&format!("consumer each {groups} (g)"), body);
    kernel.body.block("warp_groups", roles);
    sheet.test.push(kernel.launch());
    sheet.test.push(format!("let e = zeros(f64, [{}]);", all * rounds));
    let (own, other) = ("(i * {G} + g) * {T}", "(i * {G} + (g + {A}) % {G}) * {T}");
    let place = |text: &str| {
        let at = text
            .replace("{G}", &groups.to_string())
            .replace("{T}", &tile.to_string())
            .replace("{A}", &apart.to_string());
        format!("{at}..{at} + {tile}")
    };
    let mut inner = Lines::default();
    inner.block(
        &format!("for g in 0..{groups}"),
        format!("e[{0}] = cast(x[{0}], f64) - x[{1}];", place(own), place(other)).into(),
    );
    let mut lines = Lines::default();
    lines.block(&format!("for i in 0..{rounds}"), inner);
    sheet.test.extend(lines);
    sheet.test.push("assert_eq(y, e);");
    sheet.finish(kernel);
}
