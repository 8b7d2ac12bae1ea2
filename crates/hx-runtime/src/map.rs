//! Encodes tensor maps, the descriptions of tensors that bulk copies of the device address.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::c_void;

use cudarc::driver::sys;
use hx_worker::protocol::{MapElement, RemoteError, TensorMap};

use crate::fault::{bad, fault};

/// The most maps that are kept. A map that was dropped is encoded again.
const MOST_KEPT: usize = 1024;

/// The maps encoded so far, keyed by all their fields and the address of the tensor.
#[derive(Default)]
pub(crate) struct Maps {
    kept: BTreeMap<(TensorMap, u64), Vec<u8>>,
}

impl Maps {
    /// Returns the bytes of a map of the tensor at `address`.
    pub(crate) fn encoded(&mut self, map: &TensorMap, address: u64) -> Result<Vec<u8>, RemoteError> {
        let key = (map.clone(), address);
        if self.kept.len() >= MOST_KEPT && !self.kept.contains_key(&key) {
            self.kept.clear();
        }
        Ok(match self.kept.entry(key) {
            Entry::Occupied(kept) => kept.get().clone(),
            Entry::Vacant(slot) => slot.insert(encode(map, address)?).clone(),
        })
    }
}

pub(crate) fn encode(map: &TensorMap, address: u64) -> Result<Vec<u8>, RemoteError> {
    use sys::{
        CUtensorMapFloatOOBfill_enum as Fill, CUtensorMapInterleave_enum as Interleave,
        CUtensorMapL2promotion_enum as L2, CUtensorMapSwizzle_enum as Swizzle,
    };
    let rank = map.dims.len();
    if rank == 0 || rank > 5 || map.strides.len() + 1 != rank || map.extents.len() != rank {
        return Err(bad(&format!("the tensor map of `{}` has lists of different lengths", map.name)));
    }
    let swizzle = match map.swizzle {
        0 => Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
        32 => Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        64 => Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        128 => Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        other => return Err(bad(&format!("no tensor map swizzles {other} bytes"))),
    };
    let l2 = match map.l2 {
        0 => L2::CU_TENSOR_MAP_L2_PROMOTION_NONE,
        64 => L2::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        128 => L2::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        256 => L2::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        other => return Err(bad(&format!("no tensor map promotes {other} bytes"))),
    };
    let fill = match map.nan {
        false => Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        true => Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
    };
    let steps = vec![1u32; rank];
    let mut out = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: the lists have `rank` elements, and `strides` one less, as the driver reads; `out` is a live place of the type
    // that it writes. The driver does not access the tensor's memory.
    let status = unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut out,
            element(map.element),
            rank as u32,
            address as *mut c_void,
            map.dims.as_ptr(),
            map.strides.as_ptr(),
            map.extents.as_ptr(),
            steps.as_ptr(),
            Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            l2,
            fill,
        )
    };
    let during = || {
        let TensorMap { name, element, dims, strides, extents, swizzle, .. } = map;
        format!(
            "encoding the tensor map of `{name}` ({element:?} at {address:#x}, dimensions {dims:?}, strides {strides:?} B, \
             boxes {extents:?}, swizzle {swizzle} B)"
        )
    };
    status.result().map_err(|error| fault(&during(), error))?;
    Ok(out.opaque.iter().flat_map(|word| word.to_le_bytes()).collect())
}

fn element(element: MapElement) -> sys::CUtensorMapDataType {
    use sys::CUtensorMapDataType_enum as Type;
    match element {
        MapElement::U8 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        MapElement::U16 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        MapElement::U32 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        MapElement::I32 => Type::CU_TENSOR_MAP_DATA_TYPE_INT32,
        MapElement::U64 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        MapElement::I64 => Type::CU_TENSOR_MAP_DATA_TYPE_INT64,
        MapElement::F16 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        MapElement::Bf16 => Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        MapElement::F32 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        MapElement::F64 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
    }
}
