//! Reads tensors through the table of C functions that PyTorch offers since version 2.10: `DLPackExchangeAPI` of DLPack 1.2.
//!
//! One call gives address, shape, strides, element type and device. On one H100 machine, a launch on three tensors takes the host 4.0 µs
//! with it, and 5.4 µs with the attributes of the tensors.
//! <https://dmlc.github.io/dlpack/latest/c_api.html>

#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use hx_dtype::DType;
use pyo3::ffi;
use pyo3::prelude::*;

/// The name of the capsule with the table.
const CAPSULE: &CStr = c"dlpack_exchange_api";
/// The major version of the interface that [`Table`] describes.
const MAJOR: u32 = 1;
/// The value of `kDLCUDA` in DLPack.
const CUDA: i32 = 2;

#[repr(C)]
struct Device {
    kind: i32,
    id: i32,
}

/// The C struct `DLTensor`.
#[repr(C)]
struct RawTensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// The C struct `DLPackExchangeAPI`.
#[repr(C)]
struct Table {
    major: u32,
    minor: u32,
    previous: *const c_void,
    allocate: *const c_void,
    managed_from: *const c_void,
    managed_to: *const c_void,
    tensor_from: Option<unsafe extern "C" fn(*mut c_void, *mut RawTensor) -> c_int>,
    stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

/// The functions of PyTorch's table.
#[derive(Debug)]
pub(crate) struct Exchange {
    tensor_from: unsafe extern "C" fn(*mut c_void, *mut RawTensor) -> c_int,
    stream: unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int,
}

/// A tensor on a CUDA device. `address` is that of the first element, strides count elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) device: u32,
    pub(crate) address: u64,
    pub(crate) dtype: DType,
    pub(crate) shape: &'a [i64],
    pub(crate) strides: &'a [i64],
}

impl Exchange {
    /// Returns the table of a class of tensors; `None` if the class has no table of this major version.
    pub(crate) fn of(class: &Bound<'_, PyAny>) -> Option<Exchange> {
        let capsule = class.getattr("__dlpack_c_exchange_api__").ok()?;
        // SAFETY: the object is live. If it is not a capsule, or has another name, the result is null and an exception is set.
        let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), CAPSULE.as_ptr()) };
        let Some(table) = NonNull::new(pointer.cast::<Table>()) else {
            drop(PyErr::take(class.py()));
            return None;
        };
        // SAFETY: a capsule of this name holds a table that lives as long as the process; its version comes first in every form, and
        // tables of one major version begin with the same fields.
        let table = unsafe { table.as_ref() };
        if table.major != MAJOR {
            return None;
        }
        Some(Exchange { tensor_from: table.tensor_from?, stream: table.stream? })
    }

    /// Reads a tensor of the class to which the table belongs; `None` if it is not on a CUDA device, or hx has no such element
    /// type.
    ///
    /// # Errors
    /// The exception of PyTorch.
    pub(crate) fn read<R>(
        &self,
        tensor: &Bound<'_, PyAny>,
        use_it: impl FnOnce(Seen<'_>) -> R,
    ) -> PyResult<Option<R>> {
        let mut raw = RawTensor {
            data: std::ptr::null_mut(),
            device: Device { kind: 0, id: 0 },
            ndim: 0,
            code: 0,
            bits: 0,
            lanes: 0,
            shape: std::ptr::null(),
            strides: std::ptr::null(),
            byte_offset: 0,
        };
        // SAFETY: the object is a live tensor of the class to which the table belongs, the interpreter is held, and `raw` has the
        // type that the function fills.
        if unsafe { (self.tensor_from)(tensor.as_ptr().cast(), &raw mut raw) } != 0 {
            return Err(PyErr::fetch(tensor.py()));
        }
        let Some(dtype) = dtype(raw.code, raw.bits, raw.lanes).filter(|_| raw.device.kind == CUDA) else {
            return Ok(None);
        };
        let rank = usize::try_from(raw.ndim).unwrap_or(0);
        if rank > 0 && (raw.shape.is_null() || raw.strides.is_null()) {
            return Ok(None);
        }
        let list = |start: *const i64| match rank {
            0 => &[][..],
            // SAFETY: the tensor owns lists of `rank` numbers, which live until the interpreter runs other code.
            _ => unsafe { std::slice::from_raw_parts(start, rank) },
        };
        Ok(Some(use_it(Seen {
            device: u32::try_from(raw.device.id).unwrap_or(0),
            address: (raw.data as u64).wrapping_add(raw.byte_offset),
            dtype,
            shape: list(raw.shape),
            strides: list(raw.strides),
        })))
    }

    /// Returns the handle of the current stream of a CUDA device.
    ///
    /// # Errors
    /// The exception of PyTorch.
    pub(crate) fn stream(&self, py: Python<'_>, device: u32) -> PyResult<u64> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: the interpreter is held, and `stream` has the type that the function fills.
        match unsafe { (self.stream)(CUDA, device as i32, &raw mut stream) } {
            0 => Ok(stream as u64),
            _ => Err(PyErr::fetch(py)),
        }
    }
}

/// Returns the element type for a type code and a number of bits of DLPack; `None` for vectors and for types that hx does not
/// have.
pub(crate) fn dtype(code: u8, bits: u8, lanes: u16) -> Option<DType> {
    if lanes != 1 {
        return None;
    }
    Some(match (code, bits) {
        (0, 8) => DType::I8,
        (0, 16) => DType::I16,
        (0, 32) => DType::I32,
        (0, 64) => DType::I64,
        (1, 8) => DType::U8,
        (1, 16) => DType::U16,
        (1, 32) => DType::U32,
        (1, 64) => DType::U64,
        (2, 16) => DType::F16,
        (2, 32) => DType::F32,
        (2, 64) => DType::F64,
        (4, 16) => DType::Bf16,
        (6, 8) => DType::Bool,
        (10, 8) => DType::F8E4m3,
        (12, 8) => DType::F8E5m2,
        (14, 8) => DType::F8E8m0,
        _ => return None,
    })
}
