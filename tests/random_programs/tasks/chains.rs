//! Chains of launches that may overlap, and updates of tensors in place.

use hx_dtype::DType;

use super::super::program::Range;
use super::sheet::{Kernel, Lines, Sheet, Tensor};

/// Numbers of elements of a tile.
const TILES: &[i64] = &[256, 128, 512, 96];

/// The work of a kernel of the chain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// Each block writes the tile of another block, plus a number.
    Shifted { by: i64, plus: i64 },
    /// The same as `Shifted`, through a ring of stages.
    Ring { by: i64, plus: i64, stages: i64, roles: bool },
    /// A tensor is changed where it lies.
    InPlace { times: i64, plus: i64, path: UpdatePath },
    /// A counter hands out the tiles, and a number in memory is added to them.
    Drawn { plus: i64 },
}

/// The path of a tile that is changed in place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UpdatePath {
    Registers,
    /// The tile is read through shared memory.
    FromShared,
    /// The new tile is stored in a box.
    Box,
}

pub(super) fn write(sheet: &mut Sheet) {
    sheet.part("chain of launches");
    let tile = sheet.choices.pick(TILES);
    let tiles = sheet.choices.between(1, 5);
    let m = tile * tiles;
    let count = sheet.choices.between(1, 3);
    let links: Vec<Link> = (0..count).map(|_| draw(sheet, tiles)).collect();
    let launches: Vec<usize> =
        (0..sheet.choices.between(1, 5)).map(|_| sheet.choices.below(links.len())).collect();
    let x = Tensor::new("x", DType::I32, &[("m", m)]);
    let random = sheet.random(DType::I32, &x.extents(), Range::new(-50, 50));
    sheet.test.push(format!("let x = {random};\nlet hx = cast(x, f64);"));
    if launches.iter().any(|at| !matches!(links[*at], Link::InPlace { .. })) {
        sheet.test.push(format!("let y = empty(i32, [{m}]);\nlet hy = zeros(f64, [{m}]);"));
    }
    let mut kernels = Vec::new();
    for (at, link) in links.into_iter().enumerate() {
        let kernel = kernel(sheet, link, at, (tile, m));
        let is_launched = launches.contains(&at);
        if let (Link::Drawn { plus }, true) = (link, is_launched) {
            sheet
                .test
                .push(format!("let drawn{at} = zeros(i32, [1]);\nlet number{at} = full(i32, [1], {plus});"));
        }
        kernels.push((link, kernel));
    }
    let mut from = true;
    for &at in &launches {
        let (link, kernel) = &kernels[at];
        let (source, target) = if from { ("x", "y") } else { ("y", "x") };
        let name = &kernel.name;
        match link {
            Link::InPlace { times, plus, .. } => {
                sheet.test.push(format!("{name}({source});"));
                sheet.test.push(format!("h{source} = h{source} * {times}.0 + {plus}.0;"));
                continue;
            }
            Link::Drawn { plus } => {
                sheet.test.push(format!("{name}({source}, {target}, number{at}, drawn{at});"));
                sheet.test.push(format!("assert(drawn{at}[0] == 0);\nh{target} = h{source} + {plus}.0;"));
            }
            Link::Shifted { by, plus } | Link::Ring { by, plus, .. } => {
                sheet.test.push(format!("{name}({source}, {target});"));
                let mut lines = Lines::default();
                let place = format!("i * {tile}..i * {tile} + {tile}");
                let other = format!("let q = (i + {by}) % {tiles} * {tile};");
                let mut inner = Lines::from(other);
                inner.push(format!("h{target}[{place}] = h{source}[q..q + {tile}] + {plus}.0;"));
                lines.block(&format!("for i in 0..{tiles}"), inner);
                sheet.test.extend(lines);
            }
        }
        from = !from;
    }
    sheet.test.push(if from { "assert_eq(x, hx);" } else { "assert_eq(y, hy);" });
    for (at, (_, kernel)) in kernels.into_iter().enumerate() {
        if launches.contains(&at) {
            sheet.finish(kernel);
        }
    }
}

fn draw(sheet: &mut Sheet, tiles: i64) -> Link {
    let (by, plus) = (sheet.choices.between(0, tiles.min(3)), sheet.choices.between(1, 9));
    match sheet.choices.below(5) {
        0 | 1 => Link::Shifted { by, plus },
        2 => Link::Ring { by, plus, stages: sheet.choices.between(1, 4), roles: sheet.choices.percent(60) },
        3 => {
            let path = sheet.choices.pick(&[
                UpdatePath::Registers,
                UpdatePath::FromShared,
                UpdatePath::Box,
                UpdatePath::Box,
            ]);
            Link::InPlace { times: sheet.choices.between(1, 2), plus, path }
        }
        _ => Link::Drawn { plus },
    }
}

/// Writes a kernel. Before `wait_for_previous` it does work that reads no tensor; `allow_next` is at a random place.
fn kernel(sheet: &mut Sheet, link: Link, at: usize, (tile, m): (i64, i64)) -> Kernel {
    let mut kernel = Kernel { name: format!("{}_{at}", sheet.kernel_name()), ..Kernel::default() };
    let waits = sheet.choices.percent(75);
    if waits {
        sheet.part("dependent launch");
    }
    let allows = sheet.choices.below(4);
    let wait = if waits { "wait_for_previous();" } else { "" };
    let [first, middle, last] =
        [1, 2, 3].map(|place| if waits && allows == place { "allow_next();" } else { "" });
    kernel.wheres.push(format!("m % {tile} == 0 && m > 0"));
    kernel.dims.insert("m".to_owned(), m);
    let threads = sheet.choices.pick(&[64, 32, 128]);
    let persistent = sheet.choices.percent(40);
    let grid =
        if persistent { format!("[min(multiprocessors, m / {tile})]") } else { format!("[m / {tile}]") };
    kernel.header.push(format!("grid {grid}"));
    let tiles = format!("m / {tile}");
    let walked = |inner: Lines| {
        let mut lines = Lines::default();
        if persistent {
            let mut all = Lines::from("let t = block_idx + w * grid_dim;");
            all.extend(inner);
            lines.block(&format!("for w in 0..cdiv({tiles} - block_idx, grid_dim)"), all);
        } else {
            lines.push("let t = block_idx;");
            lines.extend(inner);
        }
        lines
    };
    let body = &mut kernel.body;
    let two = ["x: i32[m]".to_owned(), "y: mut i32[m]".to_owned()];
    match link {
        Link::Shifted { by, plus } => {
            kernel.params.extend(two);
            kernel.header.push(format!("threads {threads}"));
            body.push(format!(
                "{first}\nlet more = register_tensor(i32, [{tile}]);\nfill(more, {plus});\n{wait}\n{middle}"
            ));
            body.extend(walked(
                format!(
                    "let from = (t + {by}) % ({tiles});\n\
                     copy(load(tile(x, [{tile}])[.., from]) + more, tile(y, [{tile}])[.., t]);"
                )
                .into(),
            ));
            body.push(last);
        }
        Link::InPlace { times, plus, path } => {
            sheet.part("update in place");
            kernel.params.push("x: mut i32[m]".to_owned());
            kernel.header.push(format!("threads {threads}"));
            body.push(format!("{first}\n{wait}\n{middle}"));
            if path != UpdatePath::Registers {
                body.push(format!("let s = shared_tensor(i32, [{tile}]);"));
            }
            let (value, view) = (format!("v * {times} + {plus}"), format!("tile(x, [{tile}])[.., t]"));
            let inner = match path {
                UpdatePath::Registers => format!("let v = load({view});\ncopy({value}, {view});"),
                UpdatePath::FromShared => {
                    let sync = if persistent { "\nsync();" } else { "" };
                    format!("copy({view}, s);\nsync();\nlet v = load(s);\ncopy({value}, {view});{sync}")
                }
                UpdatePath::Box => {
                    sheet.part("bulk stores");
                    let free = if persistent { "wait_stores(0);\nsync();\n" } else { "" };
                    format!("let v = load({view});\n{free}copy({value}, s);\nsync();\ncopy_async(s, {view});")
                }
            };
            body.extend(walked(inner.into()));
            body.push(last);
        }
        Link::Drawn { .. } => {
            sheet.part("counter");
            kernel.params.extend(two);
            kernel.params.extend(["number: i32[1]".to_owned(), "drawn: mut i32[1]".to_owned()]);
            kernel.header.push(format!("threads {threads}"));
            body.push(format!(
                "{first}\nlet work = counter(drawn, {tiles});\n{wait}\n{middle}\nlet plus = number[0];"
            ));
            body.block(
                "for t in work",
                format!("copy(load(tile(x, [{tile}])[.., t]) + plus, tile(y, [{tile}])[.., t]);").into(),
            );
            body.push(last);
        }
        Link::Ring { by, plus, stages, roles } => {
            sheet.part("ring in a dependent launch");
            kernel.params.extend(two);
            body.push(format!(
                "let s = shared_tensor(i32, [{tile}, {stages}]);\nlet ring = pipeline({stages});"
            ));
            let fill = format!(
                "let from = (t + {by}) % ({tiles});\nlet p = ring.acquire();\n\
                 copy_async(tile(x, [{tile}])[.., from], s[.., p], signal: ring);"
            );
            let read = format!(
                "let q = ring.wait();\ncopy(load(s[.., q]) + {plus}, tile(y, [{tile}])[.., t]);\nring.release();"
            );
            if roles {
                let mut producer = Lines::from(wait);
                producer.extend(walked(fill.into()));
                producer.push(last);
                let mut consumer = Lines::from(format!("{wait}\n{middle}"));
                consumer.extend(walked(read.into()));
                let mut all = Lines::default();
                all.block("producer", producer);
                all.block("consumer", consumer);
                body.push(first);
                body.block("warp_groups", all);
            } else {
                kernel.header.push(format!("threads {threads}"));
                body.push(format!("{first}\n{wait}\n{middle}"));
                body.extend(walked(format!("{fill}\n{read}").into()));
                body.push(last);
            }
        }
    }
    kernel
}
