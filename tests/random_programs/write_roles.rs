//! Writes what needs pipelines and roles as text: rings of stages, and the task of another role.

use hx_dtype::DType;

use super::draw_roles::WARP_GROUP;
use super::program::Fills;
use super::write::Writer;

/// The length of the tiles that the other role copies.
const COPIED: i64 = 256;

/// A product through the stages of a pipeline.
pub(super) struct Ring {
    pub(super) stages: i64,
    pub(super) asynchronous: bool,
    pub(super) fills: Fills,
    /// The product of the stage `s`.
    pub(super) product: String,
    /// The head of the loop over K.
    pub(super) each: String,
}

impl Writer<'_> {
    /// Writes the loop of a product through a ring. `shared` makes the stages; `copies` returns the tiles of a step, each with the part of
    /// a stage that it goes to.
    pub(super) fn ring(
        &mut self,
        at: usize,
        ring: &Ring,
        shared: String,
        copies: impl Fn(&str) -> [(String, String); 2],
    ) {
        self.parts.insert("ring of stages");
        let Ring { stages, asynchronous, product, each, .. } = ring;
        let front = format!("{shared}\nlet ring{at} = pipeline({stages});");
        // A product in flight holds its stage while the loop goes on.
        let (ahead, release, end) = if *asynchronous {
            let release = format!("    gemm_wait(1);\n    ring{at}.release_previous();");
            (stages - 2, release, format!("\ngemm_wait(0);\nring{at}.release();"))
        } else {
            (stages - 1, format!("    ring{at}.release();"), String::new())
        };
        let multiply = format!("    let s = ring{at}.wait();\n    {product}\n{release}\n}}{end}");
        let fills =
            if self.program.roles || ring.fills == Fills::Copies { ring.fills } else { Fills::Threads };
        if fills != Fills::Copies {
            self.parts.insert("publish");
        }
        let acquire = |indent: &str| format!("{indent}let s = ring{at}.acquire();");
        let copy = |(tile, stage): &(String, String), indent: &str| {
            format!("\n{indent}copy_async({tile}, {stage}, signal: ring{at});")
        };
        let write = |(tile, stage): &(String, String), indent: &str| {
            format!("\n{indent}copy(load({tile}), {stage});")
        };
        let publish = |indent: &str| format!("\n{indent}ring{at}.publish();");
        let fill = |step: &str, indent: &str| {
            let [a, b] = copies(step);
            match fills {
                Fills::Copies => acquire(indent) + &copy(&a, indent) + &copy(&b, indent),
                Fills::Threads => {
                    acquire(indent) + &write(&a, indent) + &write(&b, indent) + &publish(indent)
                }
                Fills::Both => acquire(indent) + &copy(&a, indent),
            }
        };
        if self.program.roles {
            self.front.push(front);
            self.producer.push(format!("{each}\n{}\n}}", fill("k", "    ")));
            if fills == Fills::Both {
                let [_, b] = copies("k");
                let written = acquire("    ") + &write(&b, "    ") + &publish("    ");
                self.writer.push(format!("{each}\n{written}\n}}"));
            }
            return self.emit(format!("{}\n{multiply}", each.replace("for k in", "for _ in")));
        }
        self.emit(front);
        let count = each.trim_start_matches("for k in 0..").trim_end_matches(" {").to_owned();
        if ahead > 0 {
            self.emit(format!("for k in 0..min({count}, {ahead}) {{\n{}\n}}", fill("k", "    ")));
        }
        let next = format!("k + {ahead}");
        self.emit(format!("{each}\n    if {next} < {count} {{\n{}\n    }}", fill(&next, "        ")));
        self.emit(multiply);
    }

    /// Hands a tile to the role that stores it to `view`.
    pub(super) fn handed(&mut self, at: usize, shape: &str, dtype: DType, view: &str) {
        self.parts.insert("publish");
        self.front
            .push(format!("let o{at} = shared_tensor({dtype}, [{shape}]);\nlet hand{at} = pipeline(1);"));
        self.emit(format!("hand{at}.acquire();\ncopy(v{at}, o{at});\nhand{at}.publish();"));
        self.storer.push(format!("hand{at}.wait();\ncopy(load(o{at}), {view});\nhand{at}.release();"));
    }

    /// Writes the task of the other role: it copies the tile of its block.
    pub(super) fn task(&mut self) {
        self.parts.insert("roles");
        let blocks = self.program.blocks;
        self.params.extend(["moved: i32[mm]".to_owned(), "copied: mut i32[mm]".to_owned()]);
        self.args.extend(["moved".to_owned(), "copied".to_owned()]);
        let extent = (blocks - 1) * COPIED + 100;
        self.dims.insert("mm".to_owned(), extent);
        self.before.push(format!("let moved = arange(i32, [{extent}]);"));
        self.before.push(format!("let copied = empty(i32, [{extent}]);"));
        let tile = |name: &str| format!("tile({name}, [{COPIED}])[.., b]");
        self.producer.push(format!("copy(load({}) + 1, {});", tile("moved"), tile("copied")));
        self.after.push("assert_eq(copied, moved + 1);".to_owned());
    }

    /// Returns the body of the kernel with its roles.
    pub(super) fn in_roles(&self, indent: &str) -> String {
        let lines = |lines: &[String], depth: usize| -> String {
            let indent = indent.repeat(depth);
            lines.iter().flat_map(|l| l.lines()).map(|line| format!("{indent}{line}\n")).collect()
        };
        let groups = self.program.threads / WARP_GROUP;
        let role = |head: &str, body: &[String]| match body {
            [] => String::new(),
            body => format!("{indent}{indent}{head} {{\n{}{indent}{indent}}}\n", lines(body, 3)),
        };
        let consumer = format!("consumer {groups}");
        let roles = [
            role("producer", &self.producer),
            role("producer", &self.writer),
            role(&consumer, &self.kernel),
            role("consumer", &self.storer),
        ];
        format!("{}{indent}warp_groups {{\n{}{indent}}}\n", lines(&self.front, 1), roles.concat())
    }
}
