//! Reads from a cubin how many bytes of parameters each kernel takes.
//!
//! The driver's call for the parameters returns an error past the last one, and compute-sanitizer reports errors of calls.
//! Therefore the number is read from the file: the section `.nv.info.NAME` is a list of records, one of which holds the size of
//! the parameters. This module reads bytes only. A file that it does not understand has no answer.

use std::collections::BTreeMap;

/// The tag of the record with the size of all parameters.
const PARAMETER_BYTES: u8 = 0x19;
/// The format of a record whose value is two bytes in the record itself.
const TWO_BYTES: u8 = 3;
/// The format of a record whose value follows it, after a length of two bytes.
const SIZED: u8 = 4;

/// Returns the parameter bytes of each kernel that declares them; `None` if the image is not a complete 64-bit ELF file.
pub(crate) fn parameter_bytes(image: &[u8]) -> Option<BTreeMap<String, usize>> {
    if !image.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = usize::try_from(number::<8>(image, 40)?).ok()?;
    let entry_size = usize::try_from(number::<2>(image, 58)?).ok()?;
    let count = usize::try_from(number::<2>(image, 60)?).ok()?;
    let names = usize::try_from(number::<2>(image, 62)?).ok()?;
    let header = |index: usize| {
        let start = table.checked_add(index.checked_mul(entry_size)?)?;
        image.get(start..start.checked_add(entry_size.max(64))?)
    };
    let content = |header: &[u8]| {
        let start = usize::try_from(number::<8>(header, 24)?).ok()?;
        let size = usize::try_from(number::<8>(header, 32)?).ok()?;
        image.get(start..start.checked_add(size)?)
    };
    let names = content(header(names)?)?;
    let mut kernels = BTreeMap::new();
    for index in 0..count {
        let header = header(index)?;
        let name_at = usize::try_from(number::<4>(header, 0)?).ok()?;
        let name = names.get(name_at..)?.split(|byte| *byte == 0).next()?;
        let Some(kernel) = name.strip_prefix(b".nv.info.") else { continue };
        if let Some(bytes) = content(header).and_then(find_parameter_bytes) {
            kernels.insert(String::from_utf8_lossy(kernel).into_owned(), bytes);
        }
    }
    Some(kernels)
}

fn find_parameter_bytes(mut records: &[u8]) -> Option<usize> {
    while let Some((&[form, kind, low, high], rest)) = records.split_first_chunk::<4>() {
        let value = usize::from(u16::from_le_bytes([low, high]));
        if form == TWO_BYTES && kind == PARAMETER_BYTES {
            return Some(value);
        }
        records = if form == SIZED { rest.get(value..)? } else { rest };
    }
    None
}

/// Reads the little-endian number of `N` bytes at an offset; `None` if the bytes end before.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(N)?)?;
    Some(part.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use hx_worker::CompileJob;
    use hx_worker::toolkit::{SearchEnv, find_nvrtc};

    use super::*;
    use crate::nvrtc::Nvrtc;

    const KERNELS: &str = r#"
extern "C" __global__ void three(float *to, const float *from, int count) { to[count] = from[0]; }
extern "C" __global__ void mixed(char a, double *to, char b) { *to = a + b; }
extern "C" __global__ void none() {}
"#;

    #[test]
    fn parameters_of_compiled_kernels() {
        let files = match find_nvrtc(&SearchEnv::of_process()) {
            Ok(files) => files,
            Err(absence) => {
                use std::io::Write;
                assert!(std::env::var_os("HX_REQUIRE_NVRTC").is_none_or(|value| value != "1"), "{absence}");
                let text = format!("skipped: parameters_of_compiled_kernels: {absence} (HX_REQUIRE_NVRTC)\n");
                std::io::stderr().write_all(text.as_bytes()).unwrap();
                return;
            }
        };
        let nvrtc = Nvrtc::load(&files).unwrap();
        for arch in ["sm_80", "sm_90a"] {
            let (cubin, _) = nvrtc.compile(&CompileJob::new(KERNELS, "k", arch)).unwrap();
            let kernels = parameter_bytes(&cubin).unwrap();
            assert_eq!(kernels.get("three"), Some(&20), "{arch}");
            assert_eq!(kernels.get("mixed"), Some(&17), "{arch}");
            assert!(kernels.get("none").is_none_or(|bytes| *bytes == 0), "{arch}");
            // A truncated file is never taken for a whole one, and never causes a panic.
            for length in 0..cubin.len() {
                let cut = parameter_bytes(&cubin[..length]);
                assert!(cut.is_none_or(|kernels| kernels.len() <= 3), "cut to {length}");
            }
        }
    }

    #[test]
    fn what_is_no_cubin() {
        assert_eq!(parameter_bytes(b""), None);
        assert_eq!(parameter_bytes(b".version 9.0\n.target sm_90a\n"), None);
        assert_eq!(parameter_bytes(b"\x7fELF\x02\x01 and no more"), None);
        let mut wild = vec![0xff; 4096];
        wild[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(parameter_bytes(&wild), None);
    }
}
