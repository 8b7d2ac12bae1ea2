//! Parses the log of the CUDA compiler: the resources of each kernel, and the warnings.
//!
//! The log is text for people and changes between versions. Lines that this module does not understand are skipped; they remain
//! visible in the log itself.

use serde::{Deserialize, Serialize};

/// The resources of a kernel, as the assembler reports them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelResources {
    /// The name of the kernel in the machine code.
    pub symbol: String,
    /// Registers of each thread.
    pub registers: u32,
    /// Barriers of each block.
    pub barriers: u32,
    /// Local memory of each thread's stack frame, in bytes.
    pub stack_bytes: u32,
    /// Bytes that each thread stores for register spills.
    pub spill_store_bytes: u32,
    /// Bytes that each thread loads for register spills.
    pub spill_load_bytes: u32,
    /// Static shared memory of each block, in bytes.
    pub shared_bytes: u32,
    /// Constant memory, in bytes, over all banks.
    pub constant_bytes: u32,
}

/// A warning of the CUDA compiler or of its assembler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompilerWarning {
    /// The assembler's code, such as `C7510`. The 7500s report lost performance.
    pub code: Option<String>,
    /// The line of the log without its prefix.
    pub text: String,
}

impl CompilerWarning {
    /// Reports whether this is a note of the assembler on lost performance, with a code `C75xx`.
    pub fn is_lost_performance(&self) -> bool {
        self.code.as_deref().is_some_and(|code| code.starts_with("C75"))
    }
}

/// Returns the resources of every kernel in the log of a compile with `--ptxas-options=-v`, in order.
pub fn kernel_resources(log: &str) -> Vec<KernelResources> {
    let mut kernels: Vec<KernelResources> = Vec::new();
    for line in log.lines() {
        if let Some(symbol) = quoted_after(line, "Compiling entry function") {
            kernels.push(KernelResources { symbol: symbol.to_owned(), ..KernelResources::default() });
        } else if let Some(kernel) = kernels.last_mut() {
            read_counts(line, kernel);
        }
    }
    kernels
}

/// Returns the warnings in a log, in order.
pub fn warnings(log: &str) -> Vec<CompilerWarning> {
    log.lines().filter_map(warning).collect()
}

fn warning(line: &str) -> Option<CompilerWarning> {
    let text = match line.strip_prefix("ptxas") {
        Some(rest) => rest.split_once(':').map_or(rest, |(_, text)| text).trim(),
        None => line.trim(),
    };
    let code = code_of(text);
    if code.is_some() || line.contains("warning") {
        return Some(CompilerWarning { code: code.map(str::to_owned), text: text.to_owned() });
    }
    None
}

/// Returns `C7510` of `(C7510) Potential Performance Loss: ...`.
fn code_of(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("(C")?;
    let digits = rest.split_once(')')?.0;
    let start = text.len() - rest.len() - 1;
    let well_formed = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    well_formed.then(|| &text[start..start + 1 + digits.len()])
}

/// Returns the name in single quotes after `marker`.
fn quoted_after<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(marker)?;
    let (_, rest) = rest.split_once('\'')?;
    Some(rest.split_once('\'')?.0)
}

/// Reads the counts of `Used 40 registers, used 1 barriers, 4096 bytes smem, ...` and of the line about spills.
fn read_counts(line: &str, kernel: &mut KernelResources) {
    let text = line.split_once(':').map_or(line, |(_, text)| text);
    for part in text.split(',') {
        let mut words = part.split_whitespace().skip_while(|word| word.parse::<u32>().is_err());
        let Some(count) = words.next().and_then(|word| word.parse::<u32>().ok()) else { continue };
        let unit: Vec<&str> = words.collect();
        match unit.as_slice() {
            ["registers", ..] => kernel.registers = count,
            ["barriers", ..] => kernel.barriers = count,
            ["bytes", "stack", ..] => kernel.stack_bytes = count,
            ["bytes", "spill", "stores", ..] => kernel.spill_store_bytes = count,
            ["bytes", "spill", "loads", ..] => kernel.spill_load_bytes = count,
            ["bytes", "smem", ..] => kernel.shared_bytes = count,
            ["bytes", constant, ..] if constant.starts_with("cmem") => kernel.constant_bytes += count,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
