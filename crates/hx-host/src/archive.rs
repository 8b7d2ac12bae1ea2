//! `.safetensors` files: many named tensors in one file.
//!
//! Opening reads and checks only the header. A tensor's bytes are read on request, so one weight of a large model costs no more
//! than that weight. The sizes in the header are checked against the file's size before anything is allocated. Element types of
//! fewer than 8 bits, `tf32` and complex numbers have no counterpart and are refused.

#![allow(clippy::disallowed_methods, reason = "tensors are read from files")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use ::safetensors::SafeTensorError;
use ::safetensors::tensor::{Dtype, Metadata, TensorInfo, TensorView, serialize};
use hx_base::{codes, nearest, open_regular_file, replace_file};
use hx_dtype::DType;

use crate::dense::{show_shape, stored_count};
use crate::error::{HostError, HostResult};
use crate::npy::cannot;
use crate::tensor::HostTensor;

/// The size of the header's length field in bytes.
const LENGTH: u64 = 8;
/// The header length in bytes above which a file is rejected as broken; the reference implementation has the same limit.
const MAX_HEADER: u64 = 100_000_000;
/// The only entry of a header that is not a tensor: text about the file.
const METADATA: &str = "__metadata__";
/// The largest number of names that a message lists.
const SHOWN: usize = 8;

/// A `.safetensors` file whose header is valid.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    metadata: Metadata,
    /// The names of the tensors, in the order of the file's data.
    names: Vec<String>,
    /// The offset of the data in the file, in bytes: the tensors' offsets count from here.
    start: u64,
}

impl Archive {
    /// Reads and checks the header of a file.
    ///
    /// # Errors
    /// If the file cannot be read, its header is not valid, or the size of its data differs from the header's.
    pub fn open(path: &Path) -> HostResult<Archive> {
        let mut file = open_regular_file(path).map_err(|e| cannot("read", path, &e))?;
        let about = file.metadata().map_err(|e| cannot("read", path, &e))?;
        let size = about.len();
        let broken = |what: &str| broken(path, what);
        if size < LENGTH {
            return Err(broken("it ends within the header length"));
        }
        let mut length = [0; LENGTH as usize];
        file.read_exact(&mut length).map_err(|e| cannot("read", path, &e))?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER {
            return Err(broken("the header is unreasonably long"));
        }
        let start = LENGTH + length;
        if size < start {
            return Err(broken("it ends within the header"));
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(|e| cannot("read", path, &e))?;
        let (names, metadata) = parse(&header).map_err(|what| broken(&what))?;
        let (wanted, found) = (metadata.data_len() as u64, size - start);
        if wanted != found {
            let what = if found < wanted { "it is truncated" } else { "it has trailing bytes" };
            return Err(broken(&format!(
                "{what}: the header promises {wanted} bytes of data, and there are {found}"
            )));
        }
        Ok(Archive { path: path.to_owned(), metadata, names, start })
    }

    /// Returns the names of the tensors, in the order of the file's data.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Reads one tensor.
    ///
    /// # Errors
    /// If the archive has no such tensor, its element type has no counterpart here, the machine has no room for it, or the file cannot be
    /// read.
    pub fn tensor(&self, name: &str) -> HostResult<HostTensor> {
        let Some(info) = self.metadata.info(name) else { return Err(self.no_such(name)) };
        let dtype = self.dtype(name, info)?;
        stored_count(dtype, &info.shape)?;
        let (from, to) = info.data_offsets;
        let mut data = vec![0; to - from];
        let mut read = || {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(self.start + from as u64))?;
            file.read_exact(&mut data)
        };
        read().map_err(|e| cannot("read", &self.path, &e))?;
        if dtype == DType::Bool {
            data.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        Ok(HostTensor { dtype, shape: info.shape.clone(), data })
    }

    fn dtype(&self, name: &str, info: &TensorInfo) -> HostResult<DType> {
        of_file(info.dtype).ok_or_else(|| {
            HostError::new(
                &codes::MALFORMED_SAFETENSORS,
                format!(
                    "`{}`: the element type {} of `{name}` has no counterpart here",
                    self.path.display(),
                    info.dtype
                ),
            )
        })
    }

    fn no_such(&self, name: &str) -> HostError {
        let mut error = HostError::new(
            &codes::MALFORMED_SAFETENSORS,
            format!("`{}` has no tensor `{name}`", self.path.display()),
        );
        if self.names.is_empty() {
            return error.note("it has none at all");
        }
        let shown: Vec<String> = self.names.iter().take(SHOWN).map(|n| format!("`{n}`")).collect();
        let more = self.names.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        error = error.note(format!("it has {}{more}", shown.join(", ")));
        match nearest(name, self.names.iter().map(String::as_str)) {
            Some(near) => error.help(format!("perhaps `{near}` is meant")),
            None => error,
        }
    }
}

/// Parses a header. Returns the tensors in the order of their data.
///
/// # Errors
/// Returns the reason why the header is invalid.
fn parse(header: &[u8]) -> Result<(Vec<String>, Metadata), String> {
    let text = std::str::from_utf8(header).map_err(|_| "the header is not text".to_owned())?;
    let entries: BTreeMap<String, serde_json::Value> = serde_json::from_str(text).map_err(|e| {
        if e.is_data() {
            "the header is not JSON object".to_owned()
        } else {
            format!("the header is not JSON: {e}")
        }
    })?;
    let mut tensors: Vec<(String, TensorInfo)> = Vec::with_capacity(entries.len());
    for (name, entry) in entries {
        if name == METADATA {
            continue;
        }
        let info: TensorInfo =
            serde_json::from_value(entry).map_err(|e| format!("in the entry of `{name}`, {e}"))?;
        let (from, to) = info.data_offsets;
        let count = info.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let bits = count.and_then(|n| n.checked_mul(info.dtype.bitsize()));
        if to < from || bits != (to - from).checked_mul(8) {
            let shape = show_shape(&info.shape);
            return Err(format!("`{name}` is {}{shape}, and its bytes are {from} to {to}", info.dtype));
        }
        tensors.push((name, info));
    }
    // A tensor without elements has the same offset as another. The sort is stable, so their names decide the order.
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    let names = tensors.iter().map(|(name, _)| name.clone()).collect();
    Metadata::new(None, tensors).map(|metadata| (names, metadata)).map_err(|e| match e {
        SafeTensorError::InvalidOffset(name) => {
            format!("the bytes of `{name}` do not begin where those of the tensor before end")
        }
        other => other.to_string(),
    })
}

/// Formats the archive as `print` shows it: a line with the number of tensors and the path, then `w: f16[4096, 4096]` for each.
impl std::fmt::Display for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.names.len();
        write!(f, "{count} tensor{} in {}", if count == 1 { "" } else { "s" }, self.path.display())?;
        for name in &self.names {
            if let Some(info) = self.metadata.info(name) {
                let dtype =
                    of_file(info.dtype).map_or_else(|| info.dtype.to_string(), |dtype| dtype.to_string());
                write!(f, "\n{name}: {dtype}{}", show_shape(&info.shape))?;
            }
        }
        Ok(())
    }
}

/// Writes named tensors to a file, and replaces an existing file.
///
/// # Errors
/// As for [`encode`], and if the file cannot be written.
pub fn save(path: &Path, tensors: &[(String, HostTensor)]) -> HostResult<()> {
    let bytes = encode(tensors)
        .map_err(|e| HostError { message: format!("`{}`: {}", path.display(), e.message), ..e })?;
    replace_file(path, &bytes).map_err(|e| cannot("write", path, &e))
}

/// Encodes named tensors as a `.safetensors` file.
///
/// # Errors
/// If two tensors have the same name, a name is reserved by the format, or the format has no such element type.
pub fn encode(tensors: &[(String, HostTensor)]) -> HostResult<Vec<u8>> {
    let mut views: Vec<(&str, TensorView<'_>)> = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let refuse = |what: String| HostError::new(&codes::MALFORMED_SAFETENSORS, what);
        if name == METADATA {
            return Err(refuse(format!("a tensor cannot be called `{METADATA}` in a .safetensors file")));
        }
        if views.iter().any(|(other, _)| other == name) {
            return Err(refuse(format!("two tensors are called `{name}`")));
        }
        let Some(dtype) = in_file(tensor.dtype) else {
            let wider = if tensor.dtype.is_float() { "f32" } else { "i8" };
            let error = refuse(format!("the .safetensors format has no element type for {}", tensor.dtype));
            return Err(error.help(format!("save a wider one, which loses nothing: `cast(x, {wider})`")));
        };
        let view = TensorView::new(dtype, tensor.shape.clone(), &tensor.data)
            .map_err(|e| refuse(format!("`{name}` cannot be written: {e}")))?;
        views.push((name, view));
    }
    serialize(views, None)
        .map_err(|e| HostError::new(&codes::MALFORMED_SAFETENSORS, format!("it cannot be written: {e}")))
}

fn broken(path: &Path, what: &str) -> HostError {
    HostError::new(
        &codes::MALFORMED_SAFETENSORS,
        format!("`{}`: not a valid .safetensors file: {what}", path.display()),
    )
}

fn of_file(dtype: Dtype) -> Option<DType> {
    DType::ALL.into_iter().find(|own| in_file(*own) == Some(dtype))
}

fn in_file(dtype: DType) -> Option<Dtype> {
    Some(match dtype {
        DType::Bool => Dtype::BOOL,
        DType::I8 => Dtype::I8,
        DType::I16 => Dtype::I16,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::U8 => Dtype::U8,
        DType::U16 => Dtype::U16,
        DType::U32 => Dtype::U32,
        DType::U64 => Dtype::U64,
        DType::F16 => Dtype::F16,
        DType::Bf16 => Dtype::BF16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
        DType::F8E4m3 => Dtype::F8_E4M3,
        DType::F8E5m2 => Dtype::F8_E5M2,
        DType::F4E2m1 => Dtype::F4,
        DType::F8E8m0 => Dtype::F8_E8M0,
        DType::Tf32 | DType::I1 | DType::I2 | DType::I4 | DType::U1 | DType::U2 | DType::U4 => return None,
    })
}
