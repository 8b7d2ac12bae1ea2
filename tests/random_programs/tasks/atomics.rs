//! Atomic accesses of every operation, type and memory, and blocks that wait for each other by them.

use hx_dtype::{AtomicOp, DType};
use hx_target::{AtomicForm, Space, Target};

use super::super::program::Range;
use super::super::write::number;
use super::sheet::{Begin, Kernel, Lines, Sheet, Tensor};

/// Accesses of a program.
const ACCESSES: usize = 16;

pub(super) fn write(sheet: &mut Sheet) {
    match sheet.choices.below(8) {
        6 => last_block(sheet),
        7 => relay(sheet),
        _ => accesses(sheet),
    }
}

/// Writes a kernel of accesses whose results do not depend on the order of blocks.
fn accesses(sheet: &mut Sheet) {
    sheet.part("atomic accesses of every operation");
    let rows: Vec<(AtomicForm, bool)> = Target::usual()
        .rows()
        .copies
        .iter()
        .filter(|row| {
            row.words == 1 && i64::from(row.bytes) * 8 == i64::from(row.atomic.map_or(0, |a| a.dtype.bits()))
        })
        .filter_map(|row| Some((row.atomic?, row.memory_space() == Space::Shared)))
        .collect();
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    let blocks = sheet.choices.between(1, 3);
    let threads = sheet.choices.pick(&[32, 64, 128, 96]);
    kernel.header.push(format!("grid [{blocks}]"));
    kernel.header.push(format!("threads {threads}"));
    kernel.body.push("let b = block_idx;");
    let count =
        1 + sheet.choices.below(ACCESSES).max(if sheet.choices.percent(90) { ACCESSES - 1 } else { 0 });
    let mut after = Lines::default();
    for at in 0..count {
        let (form, shared) = rows[(sheet.turn as usize * ACCESSES + at) % rows.len()];
        // An odd width: otherwise one instruction would add several adjacent elements.
        let width = if form.op == AtomicOp::Add { 33 } else { sheet.choices.pick(&[32, 40, 7, 65]) };
        after.extend(access(sheet, &mut kernel, at, form, (shared, width, blocks)));
    }
    sheet.test.push(kernel.launch());
    sheet.test.extend(after);
    sheet.finish(kernel);
}

/// Adds an access on `width` elements of each block, and returns the comparisons of its results.
fn access(
    sheet: &mut Sheet,
    kernel: &mut Kernel,
    at: usize,
    form: AtomicForm,
    (shared, width, blocks): (bool, i64, i64),
) -> Lines {
    let AtomicForm { op, dtype, returns } = form;
    let all = width * blocks;
    let low = if dtype == DType::U32 || dtype == DType::U64 { 0 } else { -9 };
    let range = Range::new(low, 9);
    let vector = |name: &str| Tensor::new(&format!("{name}{at}"), dtype, &[(&format!("n{at}"), all)]);
    sheet.input(kernel, &vector("x"), range);
    let returned = returns || op == AtomicOp::Load;
    let forgets = matches!(op, AtomicOp::Exchange | AtomicOp::Store);
    let random = sheet.random(dtype, &all.to_string(), range);
    sheet.test.push(format!("let m{at} = {random};"));
    if returned || !forgets {
        sheet.test.push(format!("let was{at} = m{at}.copy();"));
    }
    let mutable = if op == AtomicOp::Load && !shared { "" } else { "mut " };
    kernel.params.push(format!("m{at}: {mutable}{dtype}[n{at}]"));
    kernel.args.push(format!("m{at}"));
    let tile = |name: &str| format!("tile({name}{at}, [{width}])[.., b]");
    let mut lines = Lines::default();
    let place = if shared {
        lines.push(format!(
            "let s{at} = shared_tensor({dtype}, [{width}]);\ncopy({}, s{at});\nsync();",
            tile("m")
        ));
        format!("s{at}")
    } else {
        tile("m")
    };
    let name = match op {
        AtomicOp::Add => "add",
        AtomicOp::Min => "min",
        AtomicOp::Max => "max",
        AtomicOp::And => "and",
        AtomicOp::Or => "or",
        AtomicOp::Xor => "xor",
        AtomicOp::Exchange => "exchange",
        AtomicOp::CompareExchange => "cas",
        AtomicOp::Load => "load",
        AtomicOp::Store => "store",
    };
    let value = format!("load({})", tile("x"));
    let call = match op {
        AtomicOp::Load => format!("atomic_load({place})"),
        AtomicOp::CompareExchange => {
            sheet.input(kernel, &vector("c"), Range::new(low.max(-1), 1));
            format!("atomic_cas({place}, load({}), {value})", tile("c"))
        }
        _ => format!("atomic_{name}({place}, {value})"),
    };
    if returned {
        sheet.output(kernel, &vector("old"), Begin::Unwritten);
        lines.push(format!("let v{at} = {call};"));
        if shared {
            lines.push("sync();");
        }
        lines.push(format!("copy(v{at}, {});", tile("old")));
    } else {
        lines.push(format!("{call};"));
        if shared {
            lines.push("sync();");
        }
    }
    if shared {
        lines.push(format!("copy(load(s{at}), {});", tile("m")));
    }
    kernel.body.extend(lines);
    let expected = match op {
        AtomicOp::Add => format!("was{at} + x{at}"),
        AtomicOp::Min => format!("min(was{at}, x{at})"),
        AtomicOp::Max => format!("max(was{at}, x{at})"),
        AtomicOp::And => format!("was{at} & x{at}"),
        AtomicOp::Or => format!("was{at} | x{at}"),
        AtomicOp::Xor => format!("was{at} ^ x{at}"),
        AtomicOp::Exchange | AtomicOp::Store => format!("x{at}"),
        AtomicOp::CompareExchange => format!("where(was{at} == c{at}, x{at}, was{at})"),
        AtomicOp::Load => format!("was{at}"),
    };
    let mut after = Lines::from(format!("assert_eq(m{at}, {expected});"));
    if returned {
        after.push(format!("assert_eq(old{at}, was{at});"));
    }
    after
}

/// Writes a kernel in which the last block to finish adds up the parts of all.
fn last_block(sheet: &mut Sheet) {
    sheet.part("last block");
    let dtype = sheet.choices.pick(&[DType::I32, DType::F32]);
    let tile = sheet.choices.pick(&[128, 64, 96, 256]);
    let blocks = sheet.choices.between(1, 7);
    let m = tile * blocks - sheet.choices.between(0, tile / 2);
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    sheet.input(&mut kernel, &Tensor::new("x", dtype, &[("m", m)]), Range::new(-9, 9));
    let parts = Tensor::new("parts", dtype, &[("8", 8)]);
    sheet.output(&mut kernel, &parts, Begin::Zeros);
    sheet.output(&mut kernel, &Tensor::new("finished", DType::I32, &[("1", 1)]), Begin::Zeros);
    sheet.output(&mut kernel, &Tensor::new("y", dtype, &[("1", 1)]), Begin::Unwritten);
    kernel.wheres.push(format!("m <= {}", 8 * tile));
    kernel.header.push(format!("grid [cdiv(m, {tile})]"));
    kernel.header.push(format!("threads {}", sheet.choices.pick(&[32, 64, 128])));
    kernel.body.push(format!(
        "copy(sum(load(tile(x, [{tile}])[.., block_idx]), axis: 0), tile(parts, [1])[.., block_idx]);\n\
         let one = register_tensor(i32, [1]);\nfill(one, 1);"
    ));
    let zero = number(0, dtype);
    kernel.body.block(
        "if scalar(atomic_add(finished, one, order: \"acq_rel\")) == grid_dim - 1",
        format!(
            "let all = load(parts);\n\
             copy(sum(where(index(all, 0) < grid_dim, all, {zero}), axis: 0), y);"
        )
        .into(),
    );
    sheet.test.push(kernel.launch());
    sheet.test.push(format!("assert_eq(y[0], sum(cast(x, f64)));\nassert_eq(finished[0], {blocks});"));
    sheet.finish(kernel);
}

/// Writes a kernel in which each block waits for the sum of the previous block and adds its own tile to it. Tickets order the
/// blocks.
fn relay(sheet: &mut Sheet) {
    sheet.part("blocks that wait for each other");
    let dtype = sheet.choices.pick(&[DType::I32, DType::F32]);
    let tile = sheet.choices.pick(&[64, 32, 128]);
    let tiles = sheet.choices.between(1, 6);
    let m = tile * tiles;
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    let vector = Tensor::new("x", dtype, &[("m", m)]);
    sheet.input(&mut kernel, &vector, Range::new(-9, 9));
    sheet.output(&mut kernel, &Tensor::new("y", dtype, &[("m", m)]), Begin::Unwritten);
    sheet.output(&mut kernel, &Tensor::new("ticket", DType::I32, &[("1", 1)]), Begin::Zeros);
    sheet.output(&mut kernel, &Tensor::new("ready", DType::I32, &[("1", 1)]), Begin::Zeros);
    kernel.wheres.push(format!("m % {tile} == 0"));
    kernel.header.push(format!("grid [m / {tile}]"));
    kernel.header.push(format!("threads {}", sheet.choices.pick(&[32, 64])));
    kernel.body.push(format!(
        "let one = register_tensor(i32, [1]);\nfill(one, 1);\nlet t = scalar(atomic_add(ticket, one));\n\
         let own = load(tile(x, [{tile}])[.., t]);"
    ));
    let mut then = Lines::default();
    then.block("while scalar(atomic_load(ready, order: \"acquire\")) < t", Lines::default());
    then.push(format!("own = own + load(tile(y, [{tile}])[.., t - 1]);"));
    kernel.body.block("if t > 0", then);
    kernel
        .body
        .push(format!("copy(own, tile(y, [{tile}])[.., t]);\natomic_add(ready, one, order: \"release\");"));
    sheet.test.push(kernel.launch());
    sheet.test.push(format!("let (e, h) = (zeros(f64, [{m}]), zeros(f64, [{tile}]));"));
    let place = format!("i * {tile}..i * {tile} + {tile}");
    let mut lines = Lines::default();
    lines.block(&format!("for i in 0..{tiles}"), format!("h = h + x[{place}];\ne[{place}] = h;").into());
    sheet.test.extend(lines);
    sheet.test.push("assert_eq(y, e);");
    sheet.finish(kernel);
}
