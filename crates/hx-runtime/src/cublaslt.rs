//! Calls the vendor's library of matrix products, cuBLASLt, directly.
//!
//! As for the compiler library, exactly the file that the search found is loaded, and only the functions needed here are looked
//! up; they are unchanged since CUDA 11. The algorithm is the first one of the library's own heuristics, which is the one that
//! frameworks run.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use cudarc::driver::sys;
use hx_worker::protocol::{Absence, Component, Element, GemmRequest, RemoteError};

use crate::fault::bad;
use crate::library::{function, load_for_good};
use crate::memory::DeviceMemory;

/// The memory in bytes that the library may use in addition to the matrices.
pub(crate) const WORKSPACE_BYTES: u64 = 64 << 20;

const SUCCESS: c_int = 0;
/// Computes and scales in f32. Operands of f32 are not rounded.
const COMPUTE_32F: c_int = 68;
/// As `COMPUTE_32F`, but operands of f32 are rounded to tf32.
const COMPUTE_32F_FAST_TF32: c_int = 77;
/// Computes and scales in i32.
const COMPUTE_32I: c_int = 72;
const DESC_TRANSA: c_int = 3;
const DESC_TRANSB: c_int = 4;
const DESC_FAST_ACCUM: c_int = 25;
const PREF_MAX_WORKSPACE_BYTES: c_int = 1;
const LAYOUT_BATCH_COUNT: c_int = 5;
const LAYOUT_BATCH_OFFSET: c_int = 6;
/// The minimal alignments of A, B, C and D, in bytes.
const PREF_ALIGNMENTS: [c_int; 4] = [5, 6, 7, 8];
/// The library does not distinguish alignments above this one.
const MOST_ALIGNMENT: u64 = 256;

type Handle = *mut c_void;
type Opaque = *mut c_void;
type Destroy = unsafe extern "C" fn(Opaque) -> c_int;
type SetAttribute = unsafe extern "C" fn(Opaque, c_int, *const c_void, usize) -> c_int;

/// A result of the library's heuristics, in the library's memory layout.
#[repr(C)]
#[derive(Clone, Copy)]
struct Heuristic {
    algorithm: [u64; 8],
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// The functions of the library. A status of 0 means success.
#[derive(Clone, Copy)]
struct Api {
    status_name: unsafe extern "C" fn(c_int) -> *const c_char,
    create: unsafe extern "C" fn(*mut Handle) -> c_int,
    destroy: Destroy,
    desc_create: unsafe extern "C" fn(*mut Opaque, c_int, c_int) -> c_int,
    desc_destroy: Destroy,
    desc_set: SetAttribute,
    layout_create: unsafe extern "C" fn(*mut Opaque, c_int, u64, u64, i64) -> c_int,
    layout_destroy: Destroy,
    layout_set: SetAttribute,
    preference_create: unsafe extern "C" fn(*mut Opaque) -> c_int,
    preference_destroy: Destroy,
    preference_set: SetAttribute,
    heuristic: unsafe extern "C" fn(
        Handle,
        Opaque,
        Opaque,
        Opaque,
        Opaque,
        Opaque,
        Opaque,
        c_int,
        *mut Heuristic,
        *mut c_int,
    ) -> c_int,
    matmul: unsafe extern "C" fn(
        Handle,
        Opaque,
        *const c_void,
        *const c_void,
        Opaque,
        *const c_void,
        Opaque,
        *const c_void,
        *const c_void,
        Opaque,
        *mut c_void,
        Opaque,
        *const [u64; 8],
        *mut c_void,
        usize,
        sys::CUstream,
    ) -> c_int,
}

/// The loaded library with its handle on one device.
pub(crate) struct Cublas {
    api: Api,
    path: PathBuf,
    handle: Handle,
    workspace: DeviceMemory,
}

/// A product that is ready to run.
pub(crate) struct Gemm {
    api: Api,
    handle: Handle,
    description: Descriptor,
    /// The layouts of the three matrices, as the library sees them.
    layouts: [Descriptor; 3],
    addresses: [sys::CUdeviceptr; 3],
    /// The bits of the scales of the product and of the former content of C: 1 and 0, as f32 or i32.
    scales: [u32; 2],
    algorithm: [u64; 8],
    workspace: sys::CUdeviceptr,
    workspace_bytes: usize,
}

/// An object of the library. It is destroyed when dropped.
struct Descriptor {
    raw: Opaque,
    destroy: Destroy,
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the object was made by the library and is destroyed only here.
        unsafe { (self.destroy)(self.raw) };
    }
}

impl Cublas {
    /// Loads the library and creates its handle on the device whose context is current. `workspace` is memory on that device.
    pub(crate) fn load(path: &Path, workspace: DeviceMemory) -> Result<Cublas, RemoteError> {
        let api = find_functions(path).map_err(RemoteError::Absent)?;
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: `handle` is a live place for the result; a context is current.
        let status = unsafe { (api.create)(&raw mut handle) };
        api.check(status, "starting")?;
        Ok(Cublas { api, path: path.to_owned(), handle, workspace })
    }

    /// Returns the path from which the library was loaded.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Chooses an algorithm for a product. `matrices` are the memory of a, b and c.
    pub(crate) fn prepare(
        &self,
        request: &GemmRequest,
        matrices: [&DeviceMemory; 3],
    ) -> Result<Gemm, RemoteError> {
        let problem = Problem::of(request, matrices)?;
        let api = self.api;
        let description = api.describe(&problem)?;
        let layouts = [api.layout(&problem, 0)?, api.layout(&problem, 1)?, api.layout(&problem, 2)?];
        let addresses = problem.operands.each_ref().map(|operand| operand.address);
        let preference = api.prefer(&problem)?;
        let [left, right, result] = layouts.each_ref().map(|layout| layout.raw);
        let mut found = Heuristic { algorithm: [0; 8], workspace: 0, state: 0, waves: 0.0, reserved: [0; 4] };
        let mut count: c_int = 0;
        // SAFETY: all objects are live; there is room for the one answer that is asked for.
        let status = unsafe {
            (api.heuristic)(
                self.handle,
                description.raw,
                left,
                right,
                result,
                result,
                preference.raw,
                1,
                &raw mut found,
                &raw mut count,
            )
        };
        api.check(status, "choosing an algorithm")?;
        if count == 0 {
            let status = "it knows none for these matrices".to_owned();
            return Err(failure("choosing an algorithm", status));
        }
        api.check(found.state, "choosing an algorithm")?;
        let workspace_bytes = found.workspace;
        if workspace_bytes as u64 > self.workspace.bytes() {
            return Err(failure(
                "choosing an algorithm",
                "it wants more workspace than it was given".to_owned(),
            ));
        }
        Ok(Gemm {
            api,
            handle: self.handle,
            description,
            layouts,
            addresses,
            scales: if problem.is_integer() { [1, 0] } else { [1.0f32.to_bits(), 0] },
            algorithm: found.algorithm,
            workspace: self.workspace.address(),
            workspace_bytes,
        })
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: the handle came from `load` and is destroyed only here.
        unsafe { (self.api.destroy)(self.handle) };
    }
}

impl Gemm {
    /// Enqueues the product on the stream.
    pub(crate) fn start(&self, stream: sys::CUstream) -> Result<(), RemoteError> {
        let [one, zero] = self.scales;
        let [left, right, result] = self.layouts.each_ref().map(|layout| layout.raw);
        let [a, b, c] = self.addresses.map(|address| address as *mut c_void);
        // SAFETY: the objects are live; the three matrices were checked to lie inside of live device memory, as the
        // workspace does, and their owners outlive the stream's work; the scales are read before the call returns,
        // as host pointers are; with a scale of zero the former content of C is not read.
        let status = unsafe {
            (self.api.matmul)(
                self.handle,
                self.description.raw,
                (&raw const one).cast(),
                a,
                left,
                b,
                right,
                (&raw const zero).cast(),
                c,
                result,
                c,
                result,
                &raw const self.algorithm,
                self.workspace as *mut c_void,
                self.workspace_bytes,
                stream,
            )
        };
        self.api.check(status, "multiplying")
    }
}

impl Api {
    fn check(&self, status: c_int, during: &str) -> Result<(), RemoteError> {
        if status == SUCCESS { Ok(()) } else { Err(failure(during, self.name_of(status))) }
    }

    fn name_of(&self, status: c_int) -> String {
        // SAFETY: the function takes any status and returns null or a static string that ends in zero.
        let text = unsafe {
            let text = (self.status_name)(status);
            if text.is_null() { None } else { Some(CStr::from_ptr(text)) }
        };
        text.map_or_else(|| format!("status {status}"), |text| text.to_string_lossy().into_owned())
    }

    fn describe(&self, problem: &Problem) -> Result<Descriptor, RemoteError> {
        const DURING: &str = "describing a product";
        let mut raw: Opaque = ptr::null_mut();
        let (compute, scale) = match problem.operands[0].element {
            Element::I8 => (COMPUTE_32I, Element::I32),
            Element::Tf32 => (COMPUTE_32F_FAST_TF32, Element::F32),
            _ => (COMPUTE_32F, Element::F32),
        };
        // SAFETY: `raw` is a live place for the result.
        let status = unsafe { (self.desc_create)(&raw mut raw, compute, data_type(scale)) };
        self.check(status, DURING)?;
        let description = Descriptor { raw, destroy: self.desc_destroy };
        for (attribute, operand) in [(DESC_TRANSA, &problem.operands[0]), (DESC_TRANSB, &problem.operands[1])]
        {
            let transposed = c_int::from(operand.transposed);
            // SAFETY: the object is live, and the attribute is an integer of this size.
            let status = unsafe {
                (self.desc_set)(raw, attribute, (&raw const transposed).cast(), size_of::<c_int>())
            };
            self.check(status, DURING)?;
        }
        if matches!(problem.operands[0].element, Element::F8e4m3 | Element::F8e5m2) {
            // The tensor cores add on their own, without additions in f32 in between, as kernels of hx do.
            let fast = 1i8;
            // SAFETY: as above.
            let status =
                unsafe { (self.desc_set)(raw, DESC_FAST_ACCUM, (&raw const fast).cast(), size_of::<i8>()) };
            self.check(status, DURING)?;
        }
        Ok(description)
    }

    fn layout(&self, problem: &Problem, which: usize) -> Result<Descriptor, RemoteError> {
        const DURING: &str = "describing a matrix";
        let mut raw: Opaque = ptr::null_mut();
        let Operand { element, rows, columns, leading, apart, .. } = problem.operands[which];
        // SAFETY: `raw` is a live place for the result.
        let status =
            unsafe { (self.layout_create)(&raw mut raw, data_type(element), rows, columns, leading) };
        self.check(status, DURING)?;
        let layout = Descriptor { raw, destroy: self.layout_destroy };
        if problem.batch > 1 {
            let count = i32::try_from(problem.batch).map_err(|_| bad("a batch of too many products"))?;
            // SAFETY: the object is live, and the attribute is an integer of this size.
            let status = unsafe {
                (self.layout_set)(raw, LAYOUT_BATCH_COUNT, (&raw const count).cast(), size_of::<i32>())
            };
            self.check(status, DURING)?;
            // SAFETY: as above.
            let status = unsafe {
                (self.layout_set)(raw, LAYOUT_BATCH_OFFSET, (&raw const apart).cast(), size_of::<i64>())
            };
            self.check(status, DURING)?;
        }
        Ok(layout)
    }

    fn prefer(&self, problem: &Problem) -> Result<Descriptor, RemoteError> {
        const DURING: &str = "stating preferences";
        let mut raw: Opaque = ptr::null_mut();
        // SAFETY: `raw` is a live place for the result.
        let status = unsafe { (self.preference_create)(&raw mut raw) };
        self.check(status, DURING)?;
        let preference = Descriptor { raw, destroy: self.preference_destroy };
        let bytes = WORKSPACE_BYTES as usize;
        // SAFETY: the object is live, and the attribute is an integer of this size.
        let status = unsafe {
            (self.preference_set)(
                raw,
                PREF_MAX_WORKSPACE_BYTES,
                (&raw const bytes).cast(),
                size_of::<usize>(),
            )
        };
        self.check(status, DURING)?;
        let [a, b, c] = problem.operands.each_ref().map(Operand::alignment);
        for (attribute, alignment) in PREF_ALIGNMENTS.into_iter().zip([a, b, c, c]) {
            // SAFETY: as above.
            let status = unsafe {
                (self.preference_set)(raw, attribute, (&raw const alignment).cast(), size_of::<u32>())
            };
            self.check(status, DURING)?;
        }
        Ok(preference)
    }
}

/// Returns the library's number of an element type.
fn data_type(element: Element) -> c_int {
    match element {
        Element::F32 | Element::Tf32 => 0,
        Element::F16 => 2,
        Element::I8 => 3,
        Element::I32 => 10,
        Element::Bf16 => 14,
        Element::F8e4m3 => 28,
        Element::F8e5m2 => 29,
    }
}

/// A product in the library's terms: matrices stored by columns. The first two may be transposed.
#[derive(Debug)]
struct Problem {
    operands: [Operand; 3],
    /// The number of products.
    batch: u64,
}

impl Problem {
    fn is_integer(&self) -> bool {
        self.operands[0].element == Element::I8
    }
}

/// A matrix in the library's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Operand {
    element: Element,
    address: u64,
    transposed: bool,
    /// The extents as stored.
    rows: u64,
    columns: u64,
    /// Distance in elements from a stored column to the next.
    leading: i64,
    /// Distance in elements to the next matrix of the batch.
    apart: i64,
}

/// A matrix as requested: extents and strides of rows and columns, in elements.
#[derive(Debug, Clone, Copy)]
struct View {
    element: Element,
    address: u64,
    extents: [u64; 2],
    strides: [u64; 2],
    apart: i64,
}

impl View {
    fn flipped(self) -> View {
        let ([rows, columns], [down, across]) = (self.extents, self.strides);
        View { extents: [columns, rows], strides: [across, down], ..self }
    }

    /// Returns the matrix as the library stores it: with contiguous columns, transposed if necessary.
    fn operand(self) -> Result<Operand, RemoteError> {
        let ([rows, columns], [down, across]) = (self.extents, self.strides);
        let View { element, address, apart, .. } = self;
        let leading = |stride: u64, stored_rows: u64| {
            // A single column may have any stride, but the library requires one of at least the column's length.
            i64::try_from(stride.max(stored_rows)).map_err(|_| bad("a matrix past the address space"))
        };
        if (down == 1 || rows == 1) && (across >= rows || columns == 1) {
            let leading = leading(across, rows)?;
            return Ok(Operand { element, address, transposed: false, rows, columns, leading, apart });
        }
        if (across == 1 || columns == 1) && (down >= columns || rows == 1) {
            let leading = leading(down, columns)?;
            let (rows, columns) = (columns, rows);
            return Ok(Operand { element, address, transposed: true, rows, columns, leading, apart });
        }
        Err(bad(&format!(
            "a matrix product takes matrices whose rows or columns are contiguous, the strides are {down} and {across}"
        )))
    }
}

impl Operand {
    fn alignment(&self) -> u32 {
        let low = self.address & self.address.wrapping_neg();
        if low == 0 { MOST_ALIGNMENT as u32 } else { low.min(MOST_ALIGNMENT) as u32 }
    }
}

impl Problem {
    fn of(request: &GemmRequest, memory: [&DeviceMemory; 3]) -> Result<Problem, RemoteError> {
        let GemmRequest { batch, m, n, k, .. } = *request;
        let extents = [[m, k], [k, n], [m, n]];
        let matrices = [&request.a, &request.b, &request.c];
        let mut views = Vec::with_capacity(3);
        for ((matrix, extents), memory) in matrices.into_iter().zip(extents).zip(memory) {
            let [rows, columns] = extents;
            let [down, across] = matrix.strides;
            let reach = reach([batch, rows, columns], [matrix.apart, down, across], matrix.element);
            let end = reach.and_then(|bytes| bytes.checked_add(matrix.offset));
            if end.is_none_or(|end| end > memory.bytes()) {
                return Err(bad("a matrix does not lie in its buffer"));
            }
            let address = memory.address() + matrix.offset;
            let apart = i64::try_from(matrix.apart).map_err(|_| bad("a matrix past the address space"))?;
            views.push(View { element: matrix.element, address, extents, strides: matrix.strides, apart });
        }
        let [a, b, c] = views.as_slice() else { return Err(bad("a product has three matrices")) };
        Ok(Problem { batch, ..Problem::of_views(*a, *b, *c)? })
    }

    /// Describes a product. The library writes results by columns. A result by rows is the transposed product, (a·b)ᵀ = bᵀ·aᵀ.
    fn of_views(a: View, b: View, c: View) -> Result<Problem, RemoteError> {
        if [a, b, c].iter().any(|view| view.extents.contains(&0)) {
            return Err(bad("a matrix product without elements"));
        }
        let result = c.operand()?;
        let operands = if result.transposed {
            [b.flipped().operand()?, a.flipped().operand()?, c.flipped().operand()?]
        } else {
            [a.operand()?, b.operand()?, result]
        };
        Ok(Problem { operands, batch: 1 })
    }
}

/// Returns the bytes from the first element of a matrix to past its last; `None` if the number overflows.
fn reach(extents: [u64; 3], strides: [u64; 3], element: Element) -> Option<u64> {
    let mut last = 0u64;
    for (extent, stride) in extents.into_iter().zip(strides) {
        last = last.checked_add(extent.checked_sub(1)?.checked_mul(stride)?)?;
    }
    last.checked_add(1)?.checked_mul(element.bytes())
}

fn failure(during: &str, status: String) -> RemoteError {
    RemoteError::Library { library: "cuBLASLt".to_owned(), during: during.to_owned(), status }
}

fn find_functions(path: &Path) -> Result<Api, Absence> {
    let library = load_for_good(path, Component::Cublas)?;
    // SAFETY: each name goes with the type that the library's documentation gives it.
    let api = unsafe {
        (|| {
            Ok(Api {
                status_name: function(library, "cublasLtGetStatusName")?,
                create: function(library, "cublasLtCreate")?,
                destroy: function(library, "cublasLtDestroy")?,
                desc_create: function(library, "cublasLtMatmulDescCreate")?,
                desc_destroy: function(library, "cublasLtMatmulDescDestroy")?,
                desc_set: function(library, "cublasLtMatmulDescSetAttribute")?,
                layout_create: function(library, "cublasLtMatrixLayoutCreate")?,
                layout_destroy: function(library, "cublasLtMatrixLayoutDestroy")?,
                layout_set: function(library, "cublasLtMatrixLayoutSetAttribute")?,
                preference_create: function(library, "cublasLtMatmulPreferenceCreate")?,
                preference_destroy: function(library, "cublasLtMatmulPreferenceDestroy")?,
                preference_set: function(library, "cublasLtMatmulPreferenceSetAttribute")?,
                heuristic: function(library, "cublasLtMatmulAlgoGetHeuristic")?,
                matmul: function(library, "cublasLtMatmul")?,
            })
        })()
    };
    api.map_err(|error: String| {
        let reason = format!("`{}` is not a cuBLASLt library: {error}", path.display());
        Absence::new(Component::Cublas, reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(extents: [u64; 2], strides: [u64; 2], address: u64) -> View {
        View { element: Element::F16, address, extents, strides, apart: 0 }
    }

    /// Compares the product as the library computes it with the product as the request means it, over small integers.
    fn check(a: View, b: View, c: View) {
        let problem = Problem::of_views(a, b, c).unwrap();
        let value = |address: u64| (address * 7 % 11) as i64 - 5;
        let [m, k] = a.extents;
        let n = b.extents[1];
        let at = |view: &View, row: u64, column: u64| {
            view.address + row * view.strides[0] + column * view.strides[1]
        };
        let mut wanted = std::collections::BTreeMap::new();
        for i in 0..m {
            for j in 0..n {
                let sum: i64 = (0..k).map(|l| value(at(&a, i, l)) * value(at(&b, l, j))).sum();
                wanted.insert(at(&c, i, j), sum);
            }
        }
        let [left, right, result] = problem.operands;
        let stored = |operand: &Operand, row: u64, column: u64| {
            let (row, column) = if operand.transposed { (column, row) } else { (row, column) };
            assert!(row < operand.rows && column < operand.columns, "{operand:?}");
            assert!(operand.leading >= operand.rows as i64, "{operand:?}");
            operand.address + row + column * operand.leading as u64
        };
        assert!(!result.transposed);
        let inner = if left.transposed { left.rows } else { left.columns };
        let mut got = std::collections::BTreeMap::new();
        for i in 0..result.rows {
            for j in 0..result.columns {
                let product = |l| value(stored(&left, i, l)) * value(stored(&right, l, j));
                got.insert(stored(&result, i, j), (0..inner).map(product).sum::<i64>());
            }
        }
        assert_eq!(got, wanted);
    }

    #[test]
    fn products_by_rows_and_by_columns() {
        let (m, n, k) = (3, 4, 5);
        let by_rows = |rows: u64, columns: u64, at| view([rows, columns], [columns + 2, 1], at);
        let by_columns = |rows: u64, columns: u64, at| view([rows, columns], [1, rows + 1], at);
        for c in [by_rows(m, n, 900), by_columns(m, n, 900)] {
            for a in [by_rows(m, k, 0), by_columns(m, k, 0)] {
                for b in [by_rows(k, n, 400), by_columns(k, n, 400)] {
                    check(a, b, c);
                }
            }
        }
    }

    #[test]
    fn matrices_of_a_batch_keep_their_distance() {
        let of = |extents, strides, apart| View { apart, ..view(extents, strides, 0) };
        let (a, b) = (of([3, 5], [5, 1], 100), of([5, 4], [1, 5], 0));
        for (c, distances) in [(of([3, 4], [4, 1], 12), [0, 100, 12]), (of([3, 4], [1, 3], 12), [100, 0, 12])]
        {
            let problem = Problem::of_views(a, b, c).unwrap();
            assert_eq!(problem.operands.map(|operand| operand.apart), distances);
        }
    }

    #[test]
    fn vectors_are_matrices() {
        check(view([1, 5], [5, 1], 0), view([5, 4], [4, 1], 100), view([1, 4], [4, 1], 900));
        check(view([3, 5], [5, 1], 0), view([5, 1], [1, 1], 100), view([3, 1], [1, 1], 900));
        check(view([1, 1], [1, 1], 0), view([1, 1], [1, 1], 100), view([1, 1], [1, 1], 900));
        check(view([3, 1], [1, 1], 0), view([1, 4], [4, 1], 100), view([3, 4], [4, 1], 900));
    }

    #[test]
    fn what_the_library_cannot_take() {
        let fine = view([4, 4], [4, 1], 0);
        let scattered = view([4, 4], [8, 2], 0);
        assert!(Problem::of_views(scattered, fine, fine).is_err());
        let overlapping = view([4, 4], [2, 1], 0);
        assert!(Problem::of_views(fine, fine, overlapping).is_err());
        assert!(Problem::of_views(fine, view([4, 0], [0, 1], 0), view([4, 0], [0, 1], 0)).is_err());
        assert_eq!(reach([1, 4, 4], [0, 8, 1], Element::F32), Some((3 * 8 + 3 + 1) * 4));
        assert_eq!(reach([3, 4, 4], [100, 8, 1], Element::I8), Some(2 * 100 + 3 * 8 + 3 + 1));
        assert_eq!(reach([1, u64::MAX, 2], [0, u64::MAX, 1], Element::F32), None);
        assert_eq!(reach([1, 0, 2], [0, 2, 1], Element::F32), None);
    }

    #[test]
    fn alignment_is_that_of_the_address() {
        let alignment = |address| view([4, 4], [4, 1], address).operand().unwrap().alignment();
        assert_eq!(alignment(0x7000_0000), 256);
        assert_eq!(alignment(0x7000_0010), 16);
        assert_eq!(alignment(0x7000_0002), 2);
    }
}
