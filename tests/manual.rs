//! README and book are correct: their code is checked, their commands are run, and their pages about codes are the compiler's.
//!
//! Blocks: ```` ```hx ```` has no errors; ```` ```hx,fails=HX0203 ```` has that diagnostic; ```` ```console ```` has commands
//! after `$` and their outputs. `UPDATE_EXPECT=1` rewrites the outputs and the generated pages.
//!
//! A page may have its own folder: `` ```hx,file=NAME `` writes a file there, and the commands after it run there. `` ```repl ``
//! has entries after `hx>` and their outputs; the entries of a page form one session.

mod functions;
mod prompt;
mod status;
mod supported;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use hx_base::codes::{FAMILIES, Family};
use hx_compile::check_file;
use hx_target::Target;
use hx_workspace::Database;

use crate::support::{Sandbox, root, skip};

/// Returns the README and every handwritten page of the book.
pub(crate) fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("book/src")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("the book is there");
        for path in entries.map(|entry| entry.expect("it can be listed").path()) {
            if path.is_dir() && !path.ends_with("diagnostics") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// A fenced block of a page.
pub(crate) struct Block {
    pub(crate) tag: String,
    /// Number of the block's first line, from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
}

pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(tag)) => {
                open = Some(Block { tag: tag.trim().to_owned(), line: at + 2, text: String::new() });
            }
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block does not end");
    blocks
}

/// Returns the text of an `hx` block, with mdBook's file inclusion resolved.
pub(crate) fn source(page: &Path, block: &Block) -> String {
    let included = block.text.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
    included.map_or_else(|| block.text.clone(), |path| read(&page.with_file_name(path)))
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn code_is_checked() {
    let (mut count, mut wrong) = (0, String::new());
    for page in pages() {
        for block in blocks(&read(&page)) {
            let mut words = block.tag.split(',');
            if words.next() != Some("hx") {
                continue;
            }
            let mut fails = None;
            for word in words {
                match word.split_once('=') {
                    Some(("fails", code)) => fails = Some(code),
                    Some(("file", _)) => {}
                    _ => panic!("{}: the tag `{}`", page.display(), block.tag),
                }
            }
            count += 1;
            let mut db = Database::default();
            let file = db.set_overlay("page.hx", &source(&page, &block));
            let found = check_file(&db, file, Target::usual());
            let good = match fails {
                None => !found.iter().any(hx_base::Diagnostic::is_error),
                Some(code) => found.iter().any(|found| found.code.id == code),
            };
            if !good {
                let _ = writeln!(wrong, "{}:{} ({}):", page.display(), block.line, block.tag);
                found.iter().for_each(|found| wrong.push_str(&hx_report::short(&db, found)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 10, "only {count} blocks were found");
}

/// Runs the commands after `$` in the project's root. Differences between machines (times, the device that was found) are not
/// compared.
#[test]
fn commands_print_what_the_manual_shows() {
    for page in pages() {
        let old = read(&page);
        let all = blocks(&old);
        let has_files = |block: &Block| block.tag.contains(",file=") || block.tag == "repl";
        let own = all.iter().any(has_files).then(Sandbox::new);
        let mut prompt = None;
        // The text up to the next block stays as it is.
        let (mut new, mut rest) = (String::new(), old.as_str());
        for block in &all {
            let at =
                rest.find(&format!("```{}\n", block.tag)).expect("the block is there") + block.tag.len() + 4;
            new.push_str(&rest[..at]);
            rest = rest[at..].strip_prefix(block.text.as_str()).expect("its text follows");
            match (block.tag.as_str(), &own) {
                ("console", _) => new.push_str(&session(&page, &block.text, own.as_ref())),
                ("repl", Some(sandbox)) => {
                    let prompt = prompt.get_or_insert_with(|| prompt::Prompt::start(sandbox));
                    new.push_str(&prompt.session(&block.text));
                }
                (tag, Some(sandbox)) => {
                    if let Some(file) = tag.split(',').find_map(|word| word.strip_prefix("file=")) {
                        sandbox.write(file, source(&page, block).as_bytes());
                    }
                    new.push_str(&block.text);
                }
                _ => new.push_str(&block.text),
            }
        }
        new.push_str(rest);
        expect_file![&page].assert_eq(&new);
    }
}

fn session(page: &Path, shown: &str, own: Option<&Sandbox>) -> String {
    let mut text = String::new();
    let mut lines = shown.lines().peekable();
    while let Some(line) = lines.next() {
        let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("{}: `{line}`", page.display()));
        let mut output = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            output.push(line);
        }
        let _ = writeln!(text, "$ {command}");
        text.push_str(&printed(command, &output, own));
    }
    text
}

/// Returns the output of a command. A line that matches the shown one keeps its shown form.
fn printed(command: &str, shown: &[&str], own: Option<&Sandbox>) -> String {
    let args = command.strip_prefix("cargo run -q -- ").or_else(|| command.strip_prefix("hx "));
    let args = args.unwrap_or_else(|| panic!("`{command}` is not a command of hx"));
    // Every second part is quoted.
    let parts = args.split('\'').enumerate();
    let args: Vec<&str> = parts
        .flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
        .collect();
    let fresh = Sandbox::new();
    let (sandbox, folder) = own.map_or_else(|| (&fresh, root()), |own| (own, own.path(".")));
    let mut process = sandbox.command(&args, &[("HX_DEVICE", "sim")]);
    let output = process.current_dir(folder).output().expect("the command starts");
    if output.status.code() == Some(3) {
        // Without the CUDA compiler there is no machine code.
        skip(
            "commands_print_what_the_manual_shows",
            &format!("`{command}` does not run here"),
            "HX_REQUIRE_NVRTC",
        );
        return shown.iter().flat_map(|line| [line, "\n"]).collect();
    }
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8(said).expect("the command prints UTF-8");
    as_shown(&said, shown)
}

/// Returns the lines of a text, each in its shown form if both match.
fn as_shown(said: &str, shown: &[&str]) -> String {
    let mut text = String::new();
    for (at, line) in said.lines().enumerate() {
        let line = match shown.get(at) {
            Some(shown) if stable(shown) == stable(line) => shown,
            _ => line,
        };
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Returns the part of a line that is the same on every machine.
fn stable(line: &str) -> &str {
    if line.starts_with("device: ") {
        return "device: ";
    }
    match line.rsplit_once(" (") {
        Some((before, time)) if time.ends_with(" ms)") || time.ends_with(" s)") => before,
        _ => line,
    }
}

#[test]
fn the_readme_shows_the_kernel_as_it_is_shipped() {
    let shipped = read(&root().join("std/matmul.hx"));
    let end = shipped.find("\nbench").expect("the bench comes last");
    let readme = read(&root().join("README.md"));
    assert!(readme.contains(shipped[..end].trim_end()), "README.md shows another kernel than std/matmul.hx");
}

/// The compiler generates the pages about codes; `cargo xtask book` writes them.
#[test]
fn pages_about_codes_are_fresh() {
    let folder = root().join("book/src/diagnostics");
    let mut index = String::from(
        "# Diagnostics\n\n\
         Every finding has a code that never changes its meaning.\n\
         `hx explain HX0301` prints the page of a code, `hx explain shape-mismatch` finds a code by its name.\n\
         The tables show the default severity of each code.\n",
    );
    for family in FAMILIES {
        let (prefix, page, title) = (family.prefix, family.page, family.title);
        let _ =
            write!(index, "\n## {title}\n\n| code | name | severity | what was found |\n|---|---|---|---|\n");
        let mut text = format!("# {title}: {prefix}xx\n");
        for code in family.codes {
            let severity = code.severity.as_str();
            let explanation = code.explanation();
            let apart = code.status.aside();
            let _ = writeln!(
                index,
                "| [{id}]({page}.md#{anchor}) | {} | {severity} | {}{apart} |",
                code.name,
                code.summary,
                id = code.id,
                anchor = slug(&heading(code)),
            );
            let explanation = explanation.replace("```hx fails", &format!("```hx,fails={}", code.id));
            let _ =
                write!(text, "\n## {}\n\n*{severity}: {}.*\n\n{explanation}", heading(code), code.summary,);
        }
        expect_file![folder.join(format!("{page}.md"))].assert_eq(&text);
    }
    expect_file![folder.join("index.md")].assert_eq(&index);
}

/// The checklist of a new code names the file of each family.
#[test]
fn the_checklist_names_the_file_of_each_family() {
    let page = read(&root().join("book/src/contributing/checklists.md"));
    for Family { prefix, file, .. } in FAMILIES {
        let row = format!("| {prefix} | `{file}` |");
        assert!(page.contains(&row), "checklists.md lacks the row `{row}`");
    }
}

fn heading(code: &hx_base::Code) -> String {
    format!("{}: {}", code.id, code.name)
}

/// Returns the link target of a heading, as mdBook and others make it.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Every page is reachable, and every link has a target.
#[test]
fn links_lead_somewhere() {
    let source = root().join("book/src");
    let mut linked = BTreeSet::new();
    let diagnostics = FAMILIES.iter().map(|family| source.join(format!("diagnostics/{}.md", family.page)));
    let all: BTreeSet<PathBuf> = pages().into_iter().chain(diagnostics).collect();
    for page in all.iter().chain([&source.join("diagnostics/index.md")]) {
        let text = read(page);
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap_or_default();
            if target.starts_with("http") || target.starts_with('#') {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = page.with_file_name(file);
            assert!(path.exists(), "{} links to `{target}`", page.display());
            let has_anchor = anchor.is_empty() || {
                let text = read(&path);
                text.lines().any(|line| line.starts_with('#') && slug(line.trim_start_matches('#')) == anchor)
            };
            assert!(has_anchor, "{} links to `{target}`, which has no such heading", page.display());
            if page.ends_with("SUMMARY.md") {
                linked.insert(path);
            }
        }
    }
    let missing: Vec<_> = all
        .iter()
        .filter(|page| page.starts_with(&source) && !page.ends_with("SUMMARY.md") && !linked.contains(*page))
        .collect();
    assert!(missing.is_empty(), "SUMMARY.md leaves out {missing:?}");
}

/// The architecture page lists every crate.
#[test]
fn the_architecture_page_maps_every_crate() {
    let page = read(&root().join("book/src/contributing/architecture.md"));
    let crates = std::fs::read_dir(root().join("crates")).expect("there are crates");
    for entry in crates {
        let name = entry.expect("it can be listed").file_name();
        let name = name.to_string_lossy();
        assert!(page.contains(&format!("| `{name}` |")), "the architecture page leaves out `{name}`");
    }
}

/// The page of the standard library lists every kernel.
#[test]
fn the_page_of_the_standard_library_has_every_kernel() {
    let page = read(&root().join("book/src/standard-library.md"));
    for entry in std::fs::read_dir(root().join("std")).expect("there is a standard library") {
        let path = entry.expect("it can be listed").path();
        if path.extension().is_none_or(|extension| extension != "hx") {
            continue;
        }
        let module = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let text = read(&path);
        for line in text.lines().filter_map(|line| line.strip_prefix("kernel ")) {
            let name: String = line.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            assert!(
                page.contains(&format!("`std::{module}::{name}`")),
                "the page leaves out `{module}::{name}`"
            );
        }
    }
}

/// The page of the command line lists every flag.
#[test]
fn the_command_line_page_has_every_flag() {
    let page = read(&root().join("book/src/cli.md"));
    let mut verbs = vec![Vec::new()];
    while let Some(verb) = verbs.pop() {
        let args: Vec<&str> = verb.iter().map(String::as_str).chain(["--help"]).collect();
        let help = Sandbox::new().run(&args).stdout;
        // A verb may have subcommands.
        let listed =
            help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        for name in listed.filter_map(|line| line.split_whitespace().next()) {
            verbs.push([&verb[..], &[name.to_owned()]].concat());
        }
        assert!(
            verb.last().is_none_or(|name| page.contains(name)),
            "the page leaves out `hx {}`",
            verb.join(" ")
        );
        let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        for flag in words.filter(|word| word.starts_with("--") && word.len() > 2) {
            assert!(
                page.contains(&format!("`{flag}")),
                "the page leaves out `{flag}` of `hx {}`",
                verb.join(" ")
            );
        }
    }
}
