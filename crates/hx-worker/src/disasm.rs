//! Disassembles machine code by running `nvdisasm`.
//!
//! The program reads a file, so the cubin is written to a temporary one.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use tempfile::NamedTempFile;

use crate::limits::{Budget, Limits};
use crate::process::output_within;
use crate::protocol::{Absence, Component};
use crate::toolkit::{SearchEnv, find_nvdisasm};

/// The instructions of a cubin, each with the number of live registers and the source line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    pub lines: Vec<ListedLine>,
    /// The reason why register counts are missing, if they are: `nvdisasm` fails on kernels that use all registers.
    pub without_registers: Option<String>,
}

/// A line of a listing: a label, a directive or an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedLine {
    pub text: String,
    /// The number of general registers of a thread that are live after the instruction.
    pub live: Option<u32>,
    /// The line according to the `#line` marks of the CUDA text. Only instructions have one.
    pub source: Option<u32>,
}

impl Listing {
    /// Returns the listing with the live registers before the instructions: [`Listing::preface`], then the lines.
    pub fn text(&self) -> String {
        let mut text = self.preface().concat();
        self.lines.iter().for_each(|line| text.push_str(&line.with_registers()));
        text
    }

    /// Returns the lines before the instructions.
    pub fn preface(&self) -> Vec<String> {
        match &self.without_registers {
            Some(reason) => vec![format!("// without the live registers: {reason}\n")],
            None => {
                vec!["// before each instruction: the registers of a thread that are live there\n".to_owned()]
            }
        }
    }
}

impl ListedLine {
    /// Returns the line with its register count before it.
    pub fn with_registers(&self) -> String {
        let live = self.live.map_or_else(String::new, |live| live.to_string());
        match address_of(&self.text) {
            Some(_) => format!("{live:>4} {}\n", self.text),
            None => format!("{}\n", self.text),
        }
    }
}

/// Disassembles a cubin with the `nvdisasm` that `env` finds.
///
/// # Errors
/// If the program is missing, refuses the code, or does not end within the limits.
pub fn disassemble(env: &SearchEnv, cubin: &[u8], limits: &Limits<'_>) -> Result<Listing, Absence> {
    let budget = Budget::of(limits);
    let program = find_nvdisasm(env)?;
    let file = temporary(cubin).map_err(|error| failed(&program, &error.to_string()))?;
    // `nvdisasm` prints source lines or live registers, never both, so it runs twice.
    let marked = run(&program, &file, &["-c", "-g"], &budget).map_err(|reason| failed(&program, &reason))?;
    Ok(listing(&marked, run(&program, &file, &["-c", "-plr", "-lrm", "count"], &budget)))
}

/// Makes a temporary file with a random name. It is created exclusively, so a file or link that another user puts at the name is
/// not followed.
fn temporary(bytes: &[u8]) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("hx-").suffix(".cubin").tempfile()?;
    file.write_all(bytes)?;
    Ok(file)
}

fn run(
    program: &Path,
    cubin: &NamedTempFile,
    options: &[&str],
    budget: &Budget<'_>,
) -> Result<String, String> {
    let mut command = Command::new(program);
    // The current folder may be that of a project, whose files must not influence the program.
    command.args(options).arg(cubin.path()).current_dir(std::env::temp_dir());
    let output = output_within(&mut command, budget)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.lines().find(|line| line.contains("fatal") || line.contains("error"));
    let reason = reason.or_else(|| said.lines().next()).unwrap_or("it gave no reason");
    Err(reason.replace(&cubin.path().display().to_string(), "cubin").trim().to_owned())
}

/// Merges a text with `//## File "…", line N` marks and the same code with counts in a table after each instruction.
fn listing(marked: &str, counted: Result<String, String>) -> Listing {
    let (counts, without_registers) = match counted {
        Ok(text) => (live_registers(&text), None),
        Err(reason) => (BTreeMap::new(), Some(reason)),
    };
    let mut lines: Vec<ListedLine> = Vec::new();
    let (mut section, mut source) = (String::new(), None);
    for line in marked.lines() {
        if let Some(mark) = line.trim_start().strip_prefix("//## File") {
            // For inlined code, the last line in the mark is that of the call.
            let digits =
                mark.rsplit_once("line ").map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit));
            source = digits.and_then(|digits| digits.collect::<String>().parse().ok());
            continue;
        }
        if let Some(name) = section_of(line) {
            (section, source) = (name.to_owned(), None);
        }
        let address = address_of(line);
        let live = address.and_then(|address| counts.get(&(section.clone(), address)).copied());
        let source = address.and(source);
        if line.trim().is_empty() && lines.last().is_none_or(|last| last.text.trim().is_empty()) {
            continue;
        }
        lines.push(ListedLine { text: narrow(line), live, source });
    }
    Listing { lines, without_registers }
}

/// Compacts a line: `/*00a0*/ @!P0 INSTRUCTION ;`, with predicates and instructions each in a column.
fn narrow(line: &str) -> String {
    let Some((address, rest)) = address_of(line).and(line.trim().split_once("*/")) else {
        return line.trim_end().to_owned();
    };
    let rest = rest.trim();
    let (predicate, instruction) = match rest.split_once(' ') {
        Some((predicate, instruction)) if predicate.starts_with('@') => (predicate, instruction.trim_start()),
        _ => ("", rest),
    };
    format!("{address}*/ {predicate:<5} {instruction}")
}

/// Returns the first column of the table after each instruction, keyed by section and address.
fn live_registers(counted: &str) -> BTreeMap<(String, u64), u32> {
    let mut section = String::new();
    let mut counts = BTreeMap::new();
    for line in counted.lines() {
        if let Some(name) = section_of(line) {
            section = name.to_owned();
        }
        let Some((address, (_, table))) = address_of(line).zip(line.rsplit_once("// |")) else { continue };
        let first = table.split('|').next().unwrap_or_default().trim();
        // An empty field means that no register is live.
        if let Some(count) = if first.is_empty() { Some(0) } else { first.parse().ok() } {
            counts.insert((section.clone(), address), count);
        }
    }
    counts
}

/// Returns `.text.name` of `.section .text.name,"ax",@progbits`.
fn section_of(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix(".section")?.trim_start().split(',').next()
}

/// Returns the number in `/*00a0*/ INSTRUCTION ;`.
fn address_of(line: &str) -> Option<u64> {
    let (digits, _) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    u64::from_str_radix(digits, 16).ok()
}

fn failed(program: &Path, reason: &str) -> Absence {
    Absence::new(Component::Disassembler, format!("`{}` failed: {reason}", program.display()))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    /// A program that is stopped, or that never ends, is killed at the deadline.
    #[cfg(unix)]
    #[test]
    fn a_disassembler_that_hangs_is_given_up() {
        let file = temporary(b"code").expect("the folder for temporary files can be written");
        let start = std::time::Instant::now();
        let run = |script: &str, limits: &Limits<'_>| {
            run(Path::new("/bin/sh"), &file, &["-c", script], &Budget::of(limits))
                .unwrap_or_else(|reason| reason)
        };
        let short = Limits::within(std::time::Duration::from_millis(200));
        expect!["it did not end within 0.2 s"].assert_eq(&run("kill -STOP $$", &short));
        expect!["it did not end within 0.2 s"].assert_eq(&run("sleep 60", &short));
        let cancelled = Limits { deadline: std::time::Duration::from_secs(60), cancelled: &|| true };
        expect!["it was given up"].assert_eq(&run("sleep 60", &cancelled));
        expect!["done"].assert_eq(&run("printf done", &Limits::within(std::time::Duration::from_secs(60))));
        assert!(start.elapsed() < std::time::Duration::from_secs(30));
    }

    const MARKED: &str = "\
\t.section\t.text.k,\"ax\",@progbits
k:
\t//## File \"/k.hx::k\", line 1
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File \"/k.hx::f\", line 9 inlined at \"/k.hx::k\", line 4
        /*0010*/                   MOV R2, R1 ;
.L_x_0:
        /*0020*/                   EXIT ;
";

    #[test]
    fn lines_and_registers_meet_at_the_address() {
        let counted = "\
\t.section\t.text.k,\"ax\",@progbits
                                  // | GPR   | PRED   |
k:                                // |       |        |
 /*0000*/  LDC R1, c[0x0][0x28] ; // |   1   |   2    |
 /*0010*/  MOV R2, R1 ;           // |  12   |        |
 /*0020*/  EXIT ;                 // |       |        |
";
        let found = listing(MARKED, Ok(counted.to_owned()));
        expect![[r#"
            // before each instruction: the registers of a thread that are live there
            	.section	.text.k,"ax",@progbits
            k:
               1 /*0000*/       LDC R1, c[0x0][0x28] ;
              12 /*0010*/       MOV R2, R1 ;
            .L_x_0:
               0 /*0020*/       EXIT ;
        "#]]
        .assert_eq(&found.text());
        let sources: Vec<_> = found.lines.iter().map(|line| line.source).collect();
        assert_eq!(sources, [None, None, Some(1), Some(4), None, Some(4)]);
    }

    #[test]
    fn registers_that_cannot_be_told_are_said_to_be_missing() {
        let found = listing(MARKED, Err("nvdisasm fatal   : Invalid register count : '255'".to_owned()));
        expect![[r#"
            // without the live registers: nvdisasm fatal   : Invalid register count : '255'
            	.section	.text.k,"ax",@progbits
            k:
                 /*0000*/       LDC R1, c[0x0][0x28] ;
                 /*0010*/       MOV R2, R1 ;
            .L_x_0:
                 /*0020*/       EXIT ;
        "#]]
        .assert_eq(&found.text());
    }
}
