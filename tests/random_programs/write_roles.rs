//! Writes what needs pipelines and roles as text: rings of stages, and the task of another role.

use super::draw_roles::WARP_GROUP;
use super::write::Writer;

/// The length of the tiles that the other role copies.
const COPIED: i64 = 256;

/// A product through the stages of a pipeline.
pub(super) struct Ring {
    pub(super) stages: i64,
    pub(super) asynchronous: bool,
    /// The product of the stage `s`.
    pub(super) product: String,
    /// The head of the loop over K.
    pub(super) each: String,
}

impl Writer<'_> {
    /// Writes the loop of a product through a ring. `shared` makes the stages; `copies` acquires a stage and fills it with the
    /// tiles of a step, indented by its second argument.
    pub(super) fn ring(
        &mut self,
        at: usize,
        ring: &Ring,
        shared: String,
        copies: impl Fn(&str, &str) -> String,
    ) {
        self.parts.insert("ring of stages");
        let Ring { stages, asynchronous, product, each } = ring;
        let front = format!("{shared}\nlet ring{at} = pipeline({stages});");
        // A product in flight holds its stage while the loop goes on.
        let (ahead, release, end) = if *asynchronous {
            let release = format!("    gemm_wait(1);\n    ring{at}.release_previous();");
            (stages - 2, release, format!("\ngemm_wait(0);\nring{at}.release();"))
        } else {
            (stages - 1, format!("    ring{at}.release();"), String::new())
        };
        let multiply = format!("    let s = ring{at}.wait();\n    {product}\n{release}\n}}{end}");
        if self.program.roles {
            self.front.push(front);
            self.producer.push(format!("{each}\n{}\n}}", copies("k", "    ")));
            return self.emit(format!("{}\n{multiply}", each.replace("for k in", "for _ in")));
        }
        self.emit(front);
        let count = each.trim_start_matches("for k in 0..").trim_end_matches(" {").to_owned();
        if ahead > 0 {
            self.emit(format!("for k in 0..min({count}, {ahead}) {{\n{}\n}}", copies("k", "    ")));
        }
        let next = format!("k + {ahead}");
        self.emit(format!("{each}\n    if {next} < {count} {{\n{}\n    }}", copies(&next, "        ")));
        self.emit(multiply);
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
        format!(
            "{}{indent}warp_groups {{\n{indent}{indent}producer {{\n{}{indent}{indent}}}\n\
             {indent}{indent}consumer {groups} {{\n{}{indent}{indent}}}\n{indent}}}\n",
            lines(&self.front, 1),
            lines(&self.producer, 3),
            lines(&self.kernel, 3)
        )
    }
}
