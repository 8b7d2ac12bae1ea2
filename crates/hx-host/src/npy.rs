//! NumPy's `.npy` files.
//!
//! Reading accepts both byte orders, both element orders, format versions 1 to 3, and every element type that NumPy and the
//! host share. It checks the header's sizes against the bytes present before it uses them. Writing produces version 1.0, little
//! endian, row-major. `bf16`, `tf32`, the 8-bit floats and sub-byte types have no NumPy type and are refused.

use std::io::{self, Read as _};
use std::path::Path;

use hx_base::{codes, open_regular_file, replace_file};
use hx_dtype::DType;

use crate::dense::{for_each_offset, row_major, show_shape, stored_count};
use crate::error::{HostError, HostResult};
use crate::tensor::HostTensor;

const MAGIC: &[u8] = b"\x93NUMPY";
/// The header length in bytes above which a file is rejected as broken; NumPy's own limit is 10 000 characters.
const MAX_HEADER: usize = 1 << 20;

/// Reads an `.npy` file.
///
/// # Errors
/// If the file cannot be read, or as for [`decode`].
pub fn load(path: &Path) -> HostResult<HostTensor> {
    let bytes = read(path).map_err(|e| cannot("read", path, &e))?;
    decode(&bytes).map_err(|e| HostError { message: format!("`{}`: {}", path.display(), e.message), ..e })
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular_file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file, and replaces an existing one.
///
/// # Errors
/// As for [`encode`], and if the file cannot be written.
pub fn save(path: &Path, tensor: &HostTensor) -> HostResult<()> {
    let bytes = encode(tensor)
        .map_err(|e| HostError { message: format!("`{}`: {}", path.display(), e.message), ..e })?;
    replace_file(path, &bytes).map_err(|e| cannot("write", path, &e))
}

/// Converts an error of the system to a host error with the matching code. `what` is the verb of the operation, such as `read`.
pub(crate) fn cannot(what: &str, path: &Path, e: &io::Error) -> HostError {
    let (code, reason) = match e.kind() {
        io::ErrorKind::NotFound if what == "read" => (&codes::FILE_NOT_FOUND, "no such file".to_owned()),
        io::ErrorKind::NotFound => (&codes::IO_ERROR, "no such folder".to_owned()),
        io::ErrorKind::PermissionDenied => (&codes::IO_ERROR, "permission denied".to_owned()),
        io::ErrorKind::IsADirectory => (&codes::IO_ERROR, "it is a folder".to_owned()),
        _ => (&codes::IO_ERROR, e.to_string()),
    };
    HostError::new(code, format!("cannot {what} `{}`: {reason}", path.display()))
}

/// Encodes a tensor as an `.npy` file.
///
/// # Errors
/// If the format has no such element type, or the shape does not fit the header.
pub fn encode(tensor: &HostTensor) -> HostResult<Vec<u8>> {
    let dtype = tensor.dtype;
    let Some(code) = type_code(dtype) else {
        let wider = if dtype.is_float() { "f32" } else { "i8" };
        return Err(HostError::npy(format!("the .npy format has no element type for {dtype}"))
            .help(format!("save a wider one, which loses nothing: `cast(x, {wider})`")));
    };
    let order = if dtype.bits() == 8 { '|' } else { '<' };
    let dims: Vec<String> = tensor.shape.iter().map(|n| format!("{n},")).collect();
    let shape = dims.join(" ");
    let shape = if tensor.shape.len() == 1 { &shape } else { shape.trim_end_matches(',') };
    let mut header = format!("{{'descr': '{order}{code}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The format aligns the data to 64 bytes.
    while !(MAGIC.len() + 4 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let Ok(length) = u16::try_from(header.len()) else {
        return Err(HostError::npy("a shape with that many dimensions does not fit the .npy header"));
    };
    let mut out = Vec::with_capacity(MAGIC.len() + 4 + header.len() + tensor.data.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(&tensor.data);
    Ok(out)
}

/// The contents of an `.npy` header.
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

/// Decodes the bytes of an `.npy` file.
///
/// # Errors
/// If the header is not valid, its element type has no counterpart here, the size of the data differs from the header's, or the
/// machine has no room for it.
pub fn decode(bytes: &[u8]) -> HostResult<HostTensor> {
    let (header, data) = split_header(bytes)?;
    let (dtype, big_endian) = element_type(&header.descr)?;
    let width = dtype.bits() as usize / 8;
    let count = stored_count(dtype, &header.shape)?;
    let wanted = count * width;
    if data.len() != wanted {
        let what = if data.len() < wanted { "the file is truncated" } else { "the file has trailing bytes" };
        return Err(HostError::npy(format!(
            "{what}: {dtype}{} takes {wanted} bytes of data, and there are {}",
            show_shape(&header.shape),
            data.len()
        )));
    }
    let mut data = data.to_vec();
    if big_endian {
        data.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    if header.fortran && header.shape.len() > 1 {
        data = from_column_major(&data, &header.shape, width);
    }
    if dtype == DType::Bool {
        data.iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
    Ok(HostTensor { dtype, shape: header.shape, data })
}

fn from_column_major(data: &[u8], shape: &[usize], width: usize) -> Vec<u8> {
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    let strides: Vec<usize> = row_major(&reversed).into_iter().rev().collect();
    let mut out = Vec::with_capacity(data.len());
    for_each_offset(shape, &strides, 0, |i| out.extend_from_slice(&data[i * width..][..width]));
    out
}

fn split_header(bytes: &[u8]) -> HostResult<(Header, &[u8])> {
    let broken = |what: &str| HostError::npy(format!("not a valid .npy file: {what}"));
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| broken("it does not begin with the .npy magic"))?;
    let (&[major, minor], rest) =
        rest.split_first_chunk().ok_or_else(|| broken("it ends within the version"))?;
    let (length, rest) = match major {
        1 => {
            let (n, rest) =
                rest.split_first_chunk().ok_or_else(|| broken("it ends within the header length"))?;
            (usize::from(u16::from_le_bytes(*n)), rest)
        }
        2 | 3 => {
            let (n, rest) =
                rest.split_first_chunk().ok_or_else(|| broken("it ends within the header length"))?;
            (u32::from_le_bytes(*n) as usize, rest)
        }
        _ => return Err(broken(&format!("version {major}.{minor} is unknown"))),
    };
    if length > MAX_HEADER {
        return Err(broken("the header is unreasonably long"));
    }
    let (text, data) = rest.split_at_checked(length).ok_or_else(|| broken("it ends within the header"))?;
    let text = std::str::from_utf8(text).map_err(|_| broken("the header is not text"))?;
    let header = HeaderParser { rest: text }.header().map_err(|what| broken(&what))?;
    Ok((header, data))
}

/// Returns the NumPy type code of an element type, without the order of its bytes; `None` if the format lacks the type.
fn type_code(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "b1",
        DType::I8 => "i1",
        DType::U8 => "u1",
        DType::I16 => "i2",
        DType::I32 => "i4",
        DType::I64 => "i8",
        DType::U16 => "u2",
        DType::U32 => "u4",
        DType::U64 => "u8",
        DType::F16 => "f2",
        DType::F32 => "f4",
        DType::F64 => "f8",
        DType::Bf16
        | DType::Tf32
        | DType::F8E4m3
        | DType::F8E5m2
        | DType::F8E8m0
        | DType::F4E2m1
        | DType::I1
        | DType::I2
        | DType::I4
        | DType::U1
        | DType::U2
        | DType::U4 => return None,
    })
}

/// Returns the element type of a NumPy type code, and whether its bytes are big endian.
///
/// # Errors
/// If the code is none of those of NumPy, or its type has no counterpart here.
fn element_type(descr: &str) -> HostResult<(DType, bool)> {
    let (order, kind) = descr.split_at_checked(1).unwrap_or((descr, ""));
    let big_endian = order == ">";
    let known = DType::ALL.into_iter().find(|dtype| type_code(*dtype) == Some(kind));
    let Some(dtype) = known else {
        let what = match kind.chars().next() {
            Some('O') => "pickled Python objects",
            Some('c') => "complex numbers",
            Some('U' | 'S' | 'a') => "strings",
            Some('M' | 'm') => "dates",
            Some('V') => "raw bytes (as NumPy stores bf16 and fp8 types of extensions)",
            _ => "elements of another kind",
        };
        return Err(HostError::npy(format!("the element type '{descr}' is not supported: {what}"))
            .help("save it from NumPy as float16, float32 or an integer type"));
    };
    if !matches!(order, "<" | ">" | "|" | "=") || (order == "|" && dtype.bits() > 8) {
        return Err(HostError::npy(format!("the type code '{descr}' has no valid byte order")));
    }
    Ok((dtype, big_endian))
}

/// Parses `{'descr': '<f2', 'fortran_order': False, 'shape': (3, 4), }`, which is a Python literal.
struct HeaderParser<'a> {
    rest: &'a str,
}

impl<'a> HeaderParser<'a> {
    fn header(mut self) -> Result<Header, String> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.eat("}") {
            let key = self.string()?;
            self.expect(":")?;
            match key {
                "descr" if self.peek() == Some('[') => {
                    return Err("structured element types are not supported".to_owned());
                }
                "descr" => descr = Some(self.string()?.to_owned()),
                "fortran_order" => fortran = Some(self.boolean()?),
                "shape" => shape = Some(self.shape()?),
                _ => return Err(format!("the header has the unknown key '{key}'")),
            }
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        let missing = |key: &str| format!("the header lacks '{key}'");
        Ok(Header {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn eat(&mut self, token: &str) -> bool {
        self.peek();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) {
            return Ok(());
        }
        let found: String = self.rest.chars().take(10).collect();
        Err(format!("the header has '{}' where '{token}' belongs", found.trim_end()))
    }

    fn string(&mut self) -> Result<&'a str, String> {
        self.peek();
        for quote in ['\'', '"'] {
            if let Some(rest) = self.rest.strip_prefix(quote) {
                let (text, rest) = rest.split_once(quote).ok_or("the header has an open string")?;
                self.rest = rest;
                return Ok(text);
            }
        }
        Err("the header lacks a string".to_owned())
    }

    fn boolean(&mut self) -> Result<bool, String> {
        if self.eat("True") {
            return Ok(true);
        }
        self.expect("False").map(|()| false)
    }

    fn shape(&mut self) -> Result<Vec<usize>, String> {
        let mut dims = Vec::new();
        self.expect("(")?;
        while !self.eat(")") {
            self.peek();
            let digits = self.rest.chars().take_while(char::is_ascii_digit).count();
            let (number, rest) = self.rest.split_at(digits);
            dims.push(
                number.parse().map_err(|_| "the shape holds something that is not an extent".to_owned())?,
            );
            // Python 2 wrote long integers with the suffix `L`.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(dims)
    }
}
