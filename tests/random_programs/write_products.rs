//! Writes products as text: of tiles, and with a loop over K.

use hx_dtype::DType;

use super::program::{Feed, Input, Op, Step, Value};
use super::write::{Writer, list, number};
use super::write_roles::Ring;

impl Writer<'_> {
    pub(super) fn gemm(&mut self, at: usize, step: &Step) {
        let Op::Gemm { init, staged, places, walk, warps, tf32 } = step.op else { return };
        self.parts.insert("gemm");
        let Value { shape, dtype, .. } = step.value;
        let operands = [step.from[0], step.from[1]];
        if operands.iter().any(|&from| self.follows_gemm(from)) {
            self.parts.insert("chained gemm");
        }
        let mut names = operands.map(|from| format!("v{from}"));
        let mut slices = [String::new(), String::new()];
        for (i, from) in operands.into_iter().enumerate() {
            let Value { shape, dtype, .. } = self.program.steps[from].value;
            let kind = if tf32 { DType::Tf32 } else { dtype };
            if tf32 {
                names[i] = format!("cast({}, tf32)", names[i]);
            }
            if staged[i] {
                self.parts.insert("gemm from shared memory");
                let shared = format!("{}{at}", ["p", "q"][i]);
                let (whole, slice) = self.within(&shared, places[i], shape);
                self.emit(format!("let {shared} = shared_tensor({kind}, [{}]);", list(whole)));
                self.emit(format!("copy({}, {shared}{slice});", names[i]));
                (names[i], slices[i]) = (shared, slice);
            }
        }
        if staged != [false; 2] {
            let sync = self.sync();
            self.emit(sync);
        }
        let begin = match (init, step.from.get(2)) {
            (None, Some(&from)) => {
                self.parts.insert("gemm onto a tile");
                self.emit(format!("let v{at} = v{from};"));
                format!("v{from}")
            }
            (init, _) => {
                let init = init.unwrap_or(0);
                self.emit(format!("let v{at} = register_tensor({dtype}, [{}]);", list(shape)));
                self.emit(format!("fill(v{at}, {});", number(init, dtype)));
                format!("{init}.0")
            }
        };
        let pinned = warps.map_or(String::new(), |[m, n]| format!(", warps: [{m}, {n}]"));
        match walk {
            Some(walk) => {
                let k = self.program.steps[operands[0]].value.shape[1];
                self.walked(at, walk, k, [0, 1].map(|i| (names[i].clone(), places[i], shape[i])), &pinned);
            }
            None => {
                let [a, b] = [0, 1].map(|i| format!("{}{}", names[i], slices[i]));
                self.emit(format!("gemm(v{at}, {a}, {b}{pinned});"));
            }
        }
        self.expect(at, &format!("v{} @ v{}.T + {begin}", operands[0], operands[1]));
    }

    /// Reports whether a product reaches the tile without a path through memory.
    fn follows_gemm(&self, at: usize) -> bool {
        let step = &self.program.steps[at];
        match step.op {
            Op::Gemm { .. } | Op::Product { .. } | Op::Batch { .. } => true,
            Op::Load { .. }
            | Op::Fill { .. }
            | Op::Stage { .. }
            | Op::Window { .. }
            | Op::Rearrange { .. } => false,
            _ => step.from.iter().any(|&from| self.follows_gemm(from)),
        }
    }

    pub(super) fn product(&mut self, at: usize, step: &Step) {
        let Op::Product { a, b, steps, feed, asynchronous, init, scale } = &step.op else { return };
        self.parts.insert("loop over K");
        let Value { shape: [m, n], dtype: out, .. } = step.value;
        let (dtype, bk) = (a.dtype, a.tile[1]);
        let k = (steps - 1) * bk + a.extent[1];
        let kd = format!("k{at}");
        let extents = [[self.rows(a), k], [self.rows(b), k]];
        self.input(&format!("x{at}"), at, a, extents[0], [format!("m{at}"), kd.clone()]);
        self.input(&format!("w{at}"), at, b, extents[1], [format!("n{at}"), kd.clone()]);
        let view = |name: &str, input: &Input, step: &str| {
            let turned = if input.transposed { format!("{name}{at}.T") } else { format!("{name}{at}") };
            let block = if input.per_block { "b" } else { "0" };
            format!("tile({turned}, [{}])[.., .., {block}, {step}]", list(input.tile))
        };
        let (va, vb) = (view("x", a, "k"), view("w", b, "k"));
        self.emit(format!("let v{at} = register_tensor({out}, [{m}, {n}]);"));
        self.emit(format!("fill(v{at}, {});", number(*init, out)));
        let [(pw, ps), (qw, qs)] = [("p", a), ("q", b)].map(|(name, input)| {
            let place = if *feed == Feed::Registers { None } else { input.place };
            let (whole, slice) = self.within(&format!("{name}{at}"), place, input.tile);
            (whole, if slice.is_empty() { ".., ..".to_owned() } else { slice.replace(['[', ']'], "") })
        });
        let shared = |stages: &str| {
            format!(
                "let p{at} = shared_tensor({dtype}, [{}{stages}]);\n\
                 let q{at} = shared_tensor({}, [{}{stages}]);",
                list(pw),
                b.dtype,
                list(qw)
            )
        };
        let each = format!("for k in 0..cdiv({kd}, {bk}) {{");
        let gemm = if *asynchronous { "gemm_async" } else { "gemm" };
        if *asynchronous {
            self.parts.insert("gemm_async");
        }
        match feed {
            Feed::Registers => {
                let twice = if *scale { " * 2.0" } else { "" };
                // Half of these loops read ahead. No draw decides it, so that the programs of a seed stay the same otherwise.
                let each = if (*steps + at as i64) % 2 == 0 {
                    self.parts.insert("pipelined loop");
                    each.replace(" {", &format!(" pipelined({}) {{", 2 + *steps % 3))
                } else {
                    each
                };
                self.emit(format!("{each}\n    gemm(v{at}, load({va}){twice}, load({vb}));\n}}"));
            }
            Feed::Shared => {
                self.parts.insert("gemm from shared memory");
                self.emit(shared(""));
                let copies =
                    format!("    copy({va}, p{at}[{ps}]);\n    copy({vb}, q{at}[{qs}]);\n    sync();");
                let wait = if *asynchronous { "\n    gemm_wait(0);" } else { "" };
                let product = format!("    {gemm}(v{at}, p{at}[{ps}], q{at}[{qs}]);{wait}\n    sync();");
                self.emit(format!("{each}\n{copies}\n{product}\n}}"));
            }
            Feed::Pipeline { stages } => {
                self.parts.insert("pipeline");
                self.emit(shared(&format!(", {stages}")));
                let copies = |step: &str, stage: &str, indent: &str| {
                    let (va, vb) = (view("x", a, step), view("w", b, step));
                    format!(
                        "{indent}copy_async({va}, p{at}[{ps}, {stage}]);\n\
                         {indent}copy_async({vb}, q{at}[{qs}, {stage}]);\n{indent}commit();"
                    )
                };
                self.emit(format!("for k in 0..{} {{\n{}\n}}", stages - 1, copies("k", "k", "    ")));
                // A product in flight ends before its stage is filled again.
                let wait = if *asynchronous { "gemm_wait(0);\n    " } else { "" };
                self.emit(format!("{each}\n    wait({});\n    {wait}sync();", stages - 2));
                self.emit(format!("    let next = k + {};", stages - 1));
                self.emit(copies("next", &format!("next % {stages}"), "    "));
                let stage = format!("k % {stages}");
                let wait = if *asynchronous { "gemm_wait(0);\n" } else { "" };
                self.emit(format!(
                    "    {gemm}(v{at}, p{at}[{ps}, {stage}], q{at}[{qs}, {stage}]);\n}}\n{wait}wait(0);"
                ));
            }
            Feed::Ring { stages, fills } => {
                let copies = |step: &str| {
                    let (va, vb) = (view("x", a, step), view("w", b, step));
                    [(va, format!("p{at}[{ps}, s]")), (vb, format!("q{at}[{qs}, s]"))]
                };
                let product = format!("{gemm}(v{at}, p{at}[{ps}, s], q{at}[{qs}, s]);");
                let (stages, asynchronous, fills) = (*stages, *asynchronous, *fills);
                let ring = Ring { stages, asynchronous, fills, product, each };
                self.ring(at, &ring, shared(&format!(", {stages}")), copies);
            }
        }
        let tile = |writer: &mut Self, name: &str, input: &Input, rows: i64| {
            let selector = writer.selector(input.tile[0], rows, input.per_block);
            let turned = if input.transposed { ".T" } else { "" };
            format!("({selector} @ cast({name}{at}, f64){turned})")
        };
        let left = tile(self, "x", a, extents[0][0]);
        let right = tile(self, "w", b, extents[1][0]);
        let twice = if *scale { " * 2.0" } else { "" };
        self.expect(at, &format!("{left} @ {right}.T{twice} + {init}.0"));
    }
}
