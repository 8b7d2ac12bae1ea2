//! Machine code to text, by running `nvdisasm`.
//!
//! The program reads a file, so the cubin passes through a temporary one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::{Absence, Component};
use crate::toolkit::{SearchEnv, find_nvdisasm};

/// Disassembles a cubin with the `nvdisasm` that `env` leads to; `options` go to it as they are (`-plr` adds the live
/// registers of each instruction, `-g` the source lines).
pub fn disassemble(env: &SearchEnv, cubin: &[u8], options: &[&str]) -> Result<String, Absence> {
    let program = find_nvdisasm(env)?;
    let file = TemporaryFile::with(cubin).map_err(|error| failed(&program, &error.to_string()))?;
    let output = Command::new(&program)
        .args(options)
        .arg(&file.path)
        .output()
        .map_err(|error| failed(&program, &error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let reason =
        said.lines().next().unwrap_or("it gave no reason").replace(&file.path.display().to_string(), "cubin");
    Err(failed(&program, reason.trim()))
}

fn failed(program: &Path, reason: &str) -> Absence {
    Absence::new(Component::Disassembler, format!("`{}` failed: {reason}", program.display()))
}

struct TemporaryFile {
    path: PathBuf,
}

impl TemporaryFile {
    fn with(bytes: &[u8]) -> std::io::Result<TemporaryFile> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hx-{}-{number}.cubin", std::process::id()));
        // A name that somebody else put there first is not followed.
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
        let file_on_disk = TemporaryFile { path };
        std::io::Write::write_all(&mut file, bytes)?;
        Ok(file_on_disk)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
