//! Images of machine code or PTX: the parameter bytes of their kernels, and loading.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::CString;

use cudarc::driver::{DriverError, result, sys};

use crate::elf;

/// Returns the parameter bytes of each kernel that declares them; `None` if the image is neither a cubin nor PTX.
pub(crate) fn parameter_bytes(image: &[u8]) -> Option<BTreeMap<String, usize>> {
    match ptx(image) {
        Some(text) => Some(in_ptx(text)),
        None => elf::parameter_bytes(image),
    }
}

/// Loads an image for which [`parameter_bytes`] has an answer. The driver translates PTX.
///
/// # Errors
/// If the driver refuses the image.
pub(crate) fn load(image: &[u8]) -> Result<sys::CUmodule, DriverError> {
    match ptx(image).and_then(|text| CString::new(text).ok()) {
        // SAFETY: the image is a text that ends in zero and outlives the call, which copies it.
        Some(text) => unsafe { result::module::load_data(text.as_ptr().cast()) },
        // SAFETY: the image is an ELF file whose sections were found inside of it, and it outlives the call, which copies it.
        None => unsafe { result::module::load_data(image.as_ptr().cast()) },
    }
}

/// Returns the text of an image of PTX, which names its version before its first entry; `None` for other images.
fn ptx(image: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(image).ok()?;
    text.lines().any(|line| line.starts_with(".version ")).then_some(text)
}

/// Returns the parameter bytes of the entries of PTX, each parameter at its alignment (PTX ISA, "Kernel function parameters").
fn in_ptx(text: &str) -> BTreeMap<String, usize> {
    let mut kernels = BTreeMap::new();
    let entries = text.split(".entry ").skip(1);
    for entry in entries {
        let Some((name, rest)) = entry.split_once('(') else { continue };
        let list = rest.split_once(')').map_or(rest, |(list, _)| list);
        let bytes = list
            .split(',')
            .filter_map(parameter)
            .fold(0usize, |at, (size, align)| at.next_multiple_of(align) + size);
        kernels.insert(name.trim().to_owned(), bytes);
    }
    kernels
}

/// Returns the size and the alignment of a declaration such as `.param .align 64 .b8 name[128]`, in bytes.
fn parameter(declaration: &str) -> Option<(usize, usize)> {
    let (kind, rest) = declaration.trim().strip_prefix(".param ")?.trim().split_once(' ')?;
    let bytes = |kind: &str| {
        kind.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().ok().map(|bits| bits / 8)
    };
    match kind {
        ".align" => {
            let align = rest.split_once(' ')?.0.parse().ok()?;
            let count = rest.split_once('[')?.1.trim_end().strip_suffix(']')?.parse().ok()?;
            Some((count, align))
        }
        kind => bytes(kind).map(|size| (size, size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_ptx_lie_at_their_alignment() {
        let text = "//\n.version 9.0\n.target sm_90a\n.visible .entry one(\n\t.param .u64 .ptr .align 1 one_param_0,\n\t.param .u32 one_param_1,\n\t.param .align 64 .b8 one_param_2[128],\n\t.param .u16 one_param_3\n)\n{\n}\n.visible .entry two()\n{\n}\n";
        let found = parameter_bytes(text.as_bytes()).expect("it is PTX");
        assert_eq!(found, BTreeMap::from([("one".to_owned(), 194), ("two".to_owned(), 0)]));
        assert_eq!(parameter_bytes(b"no image"), None);
    }
}
