//! Parts of tensors whose ends a kernel reads from memory.

use hx_dtype::DType;

use super::super::program::{Range, exact};
use super::super::write::number;
use super::sheet::{Begin, Kernel, Lines, SENTINEL, Sheet, Tensor};

/// The path of the tiles of a part to the registers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartLoadPath {
    Load,
    Async,
    Ring,
    Roles,
}

/// The path of results to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Out {
    /// To the same rows of a tensor of the same extents.
    Copied,
    Boxes,
    Added,
    BoxesAdded,
}

pub(super) fn write(sheet: &mut Sheet) {
    sheet.part("parts with ends from memory");
    let dtype = sheet.choices.pick(&[DType::F32, DType::F16, DType::I32, DType::Bf16, DType::I8]);
    let (rows, columns) = (sheet.choices.pick(&[16, 8, 32, 5, 64]), sheet.choices.pick(&[32, 64, 16, 128]));
    let parts = sheet.choices.between(1, 4);
    let path = sheet.choices.pick(&[
        PartLoadPath::Load,
        PartLoadPath::Async,
        PartLoadPath::Ring,
        PartLoadPath::Roles,
    ]);
    let adds = matches!(dtype, DType::F32 | DType::F16 | DType::I32 | DType::Bf16);
    let is_boxed = dtype.bits() >= 16 && rows * columns * i64::from(dtype.bits()) % 1024 == 0;
    let out = match sheet.choices.below(4) {
        1 if is_boxed => Out::Boxes,
        2 if adds => Out::Added,
        3 if adds && is_boxed => Out::BoxesAdded,
        _ => Out::Copied,
    };
    // The cuts of the rows; some parts are empty, and the last rows may belong to none.
    let m = sheet.choices.between(1, 3 * rows * 2);
    let mut cuts: Vec<i64> = (0..=parts).map(|_| sheet.choices.between(0, m)).collect();
    cuts.sort_unstable();
    let n = columns * sheet.choices.between(1, 2) - 4 * sheet.choices.between(0, 3).min(columns / 8);
    let gaps = sheet.choices.percent(40).then(|| {
        let unit = 128 / i64::from(dtype.bits());
        [unit * sheet.choices.between(0, 1), unit * sheet.choices.between(1, 2)]
    });
    let added = matches!(out, Out::Added | Out::BoxesAdded);
    let factor = sheet.choices.between(1, 3);
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    let x = Tensor::new("x", dtype, &[("m", m), ("n", n)]);
    sheet.input(&mut kernel, &x, Range::new(-7, 7));
    let y = Tensor { around: gaps, ..Tensor::new("y", dtype, &[("m", m), ("n", n)]) };
    sheet.output(&mut kernel, &y, if added { Begin::Zeros } else { Begin::Kept });
    let table: Vec<String> = cuts.iter().map(i64::to_string).collect();
    sheet.test.push(format!("let starts = cast([{}], i32);", table.join(", ")));
    kernel.params.push("starts: i32[e]".to_owned());
    kernel.args.push("starts".to_owned());
    kernel.dims.insert("e".to_owned(), parts + 1);
    kernel.wheres.push("e >= 1".to_owned());
    let plan = Plan { dtype, rows, columns, path, out, factor };
    plan.body(sheet, &mut kernel);
    sheet.test.push(kernel.launch());
    let begin = if added { 0 } else { SENTINEL.min(exact(dtype)) };
    sheet.test.push(format!("let e = full(f64, [{m}, {n}], {begin}.0);"));
    let mut lines = Lines::default();
    lines.block(
        &format!("for i in 0..{parts}"),
        format!(
            "let (first, end) = (starts[i], starts[i + 1]);\ne[first..end, ..] = cast(x[first..end, ..], f64) * {factor}.0;"
        )
        .into(),
    );
    sheet.test.extend(lines);
    sheet.compare(&y, "e");
    sheet.finish(kernel);
}

struct Plan {
    dtype: DType,
    rows: i64,
    columns: i64,
    path: PartLoadPath,
    out: Out,
    factor: i64,
}

impl Plan {
    fn body(&self, sheet: &mut Sheet, kernel: &mut Kernel) {
        let Plan { dtype, rows, columns, path, .. } = *self;
        let across = format!("cdiv(n, {columns})");
        kernel.header.push(format!("grid [e - 1, {across}]"));
        let clamped = sheet.choices.percent(60);
        let first = if clamped { "max(0, starts[i])" } else { "starts[i]" };
        kernel.body.push(format!("let [i, j] = block_idx;\nlet (first, end) = ({first}, starts[i + 1]);"));
        let head = format!("for r in 0..cdiv(end - first, {rows})");
        let hints = self.hints();
        let source = format!("tile(x[first..end], [{rows}, {columns}])[.., .., r, j]");
        let threads = sheet.choices.pick(&[128, 64, 32, 256]);
        let stages = sheet.choices.between(1, 4);
        let factor =
            if self.factor == 1 { String::new() } else { format!(" * {}", number(self.factor, dtype)) };
        let (declared, stored) = self.stored(&format!("v{factor}"));
        match path {
            PartLoadPath::Load => {
                kernel.header.push(format!("threads {threads}"));
                kernel.body.extend(declared);
                let mut lines = Lines::from(self.loaded(&source));
                lines.extend(stored);
                kernel.body.block(&head, lines);
            }
            PartLoadPath::Async => {
                kernel.header.push(format!("threads {threads}"));
                kernel.body.push(format!("let s = shared_tensor({dtype}, [{rows}, {columns}]);"));
                kernel.body.extend(declared);
                let mut lines =
                    Lines::from(format!("copy_async({source}, s{hints});\ncommit();\nwait(0);\nsync();"));
                lines.push(self.loaded("s"));
                let meets = stored.mention("sync()");
                lines.extend(stored);
                if !meets {
                    lines.push("sync();");
                }
                kernel.body.block(&head, lines);
            }
            PartLoadPath::Ring | PartLoadPath::Roles => {
                kernel.body.push(format!(
                    "let s = shared_tensor({dtype}, [{rows}, {columns}, {stages}]);\nlet ring = pipeline({stages});"
                ));
                let fill = Lines::from(format!(
                    "let p = ring.acquire();\ncopy_async({source}, s[.., .., p], signal: ring{hints});"
                ));
                let mut read = Lines::from("let q = ring.wait();");
                read.push(self.loaded("s[.., .., q]"));
                read.push("ring.release();");
                read.extend(stored);
                if path == PartLoadPath::Ring {
                    kernel.header.push(format!("threads {threads}"));
                    kernel.body.extend(declared);
                    let mut lines = fill;
                    lines.extend(read);
                    kernel.body.block(&head, lines);
                } else {
                    sheet.part("roles");
                    let [mut producer, mut consumer] = [Lines::default(), declared];
                    producer.block(&head, fill);
                    consumer.block(&head, read);
                    let mut roles = Lines::default();
                    roles.block(sheet.choices.pick(&["producer", "producer registers 40"]), producer);
                    roles.block(sheet.choices.pick(&["consumer", "consumer 2"]), consumer);
                    kernel.body.block("warp_groups", roles);
                }
            }
        }
    }

    /// Returns hints for the caches. They follow from what is drawn already, so that the other numbers stay the same.
    fn hints(&self) -> &'static str {
        [", l2: \"evict_first\"", "", ", l2: \"evict_last\""][((self.rows + self.columns) / 8 % 3) as usize]
    }

    /// Returns the load of a tile. Types without arithmetic are widened.
    fn loaded(&self, source: &str) -> String {
        if self.dtype == DType::I8 && self.factor > 1 {
            format!("let v = cast(load({source}), i32);")
        } else {
            format!("let v = load({source});")
        }
    }

    fn stored(&self, value: &str) -> (Lines, Lines) {
        let Plan { dtype, rows, columns, out, .. } = *self;
        let hints = self.hints();
        let target = format!("tile(y[first..end], [{rows}, {columns}])[.., .., r, j]");
        let value = if dtype == DType::I8 && self.factor > 1 {
            let plain = value.replace(&number(self.factor, dtype), &self.factor.to_string());
            format!("cast({plain}, i8)")
        } else {
            value.to_owned()
        };
        match out {
            Out::Copied => (Lines::default(), format!("copy({value}, {target});").into()),
            Out::Added => (Lines::default(), format!("atomic_add({target}, {value});").into()),
            Out::Boxes | Out::BoxesAdded => {
                // A sum may go through registers, and then takes no hint.
                let (add, hints) = if out == Out::BoxesAdded { (", add: true", "") } else { ("", hints) };
                (
                    format!("let o = shared_tensor({dtype}, [{rows}, {columns}]);").into(),
                    format!(
                        "wait_stores(0);\nsync();\ncopy({value}, o);\nsync();\ncopy_async(o, {target}{add}{hints});"
                    )
                    .into(),
                )
            }
        }
    }
}
