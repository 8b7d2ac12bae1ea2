//! Encodes tensor maps, the descriptions of tensors that bulk copies of the device address.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::c_void;

use cudarc::driver::sys;
use hx_tensor_map::{DriverNumbers, TensorMap};
use hx_worker::protocol::RemoteError;

use crate::fault::{bad, fault};

/// The values of the driver's enumerations that maps may have.
const TYPES: [sys::CUtensorMapDataType; 10] = {
    use sys::CUtensorMapDataType_enum as Type;
    [
        Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        Type::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        Type::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        Type::CU_TENSOR_MAP_DATA_TYPE_INT32,
        Type::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        Type::CU_TENSOR_MAP_DATA_TYPE_INT64,
        Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    ]
};

const SWIZZLES: [sys::CUtensorMapSwizzle; 4] = {
    use sys::CUtensorMapSwizzle_enum as Swizzle;
    [
        Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
        Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
    ]
};

const PROMOTIONS: [sys::CUtensorMapL2promotion; 4] = {
    use sys::CUtensorMapL2promotion_enum as L2;
    [
        L2::CU_TENSOR_MAP_L2_PROMOTION_NONE,
        L2::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        L2::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        L2::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
    ]
};

const FILLS: [sys::CUtensorMapFloatOOBfill; 2] = {
    use sys::CUtensorMapFloatOOBfill_enum as Fill;
    [Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA]
};

/// The bytes that stand for an empty tensor: more than its one element, and a multiple of the unit of strides.
pub(crate) const ZEROS: u64 = 256;
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

/// Returns the map that stands for one of an empty tensor, if the map is of one: it has a single element, of [`ZEROS`]. The driver has
/// no maps of empty tensors, and every element of a box is outside of such a tensor and so is read as zero.
pub(crate) fn instead_of_empty(map: &TensorMap) -> Option<TensorMap> {
    let (dims, strides) = (vec![1; map.dims.len()], vec![ZEROS as i64; map.strides.len()]);
    map.dims.contains(&0).then(|| TensorMap { dims, strides, ..map.clone() })
}

/// Returns the value of a driver's enumeration that has this number.
///
/// # Errors
/// If no value in `all` has it.
fn known<T: Copy>(all: &[T], number: u32, number_of: impl Fn(T) -> u32) -> Result<T, RemoteError> {
    let found = all.iter().copied().find(|value| number_of(*value) == number);
    found.ok_or_else(|| bad(&format!("the driver has no number {number} for a tensor map")))
}

/// Encodes the map of the tensor at `address`.
///
/// # Errors
/// If a list has the wrong length, or the driver refuses the map.
pub(crate) fn encode(map: &TensorMap, address: u64) -> Result<Vec<u8>, RemoteError> {
    let rank = map.dims.len();
    if rank == 0 || rank > 5 || map.strides.len() + 1 != rank || map.extents.len() != rank {
        return Err(bad(&format!("the tensor map of `{}` has lists of different lengths", map.name)));
    }
    let DriverNumbers { element, swizzle, l2, fill } = map.driver().map_err(|why| bad(&why))?;
    let data_type = known(&TYPES, element.number(), |value| value as u32)?;
    let swizzle = known(&SWIZZLES, swizzle, |value| value as u32)?;
    let l2 = known(&PROMOTIONS, l2, |value| value as u32)?;
    let fill = known(&FILLS, fill, |value| value as u32)?;
    // The driver takes no numbers below 0.
    let unsigned = |list: &[i64]| list.iter().map(|n| u64::try_from(*n).unwrap_or(0)).collect::<Vec<u64>>();
    let (dims, strides) = (unsigned(&map.dims), unsigned(&map.strides));
    let steps = vec![1u32; rank];
    let mut out = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: the lists have `rank` elements, and `strides` one less, as the driver reads; `out` is a live place of the type
    // that it writes. The driver does not access the tensor's memory.
    let status = unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut out,
            data_type,
            rank as u32,
            address as *mut c_void,
            dims.as_ptr(),
            strides.as_ptr(),
            map.extents.as_ptr(),
            steps.as_ptr(),
            sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            l2,
            fill,
        )
    };
    let during = || {
        let TensorMap { name, extents, swizzle, .. } = map;
        format!(
            "encoding the tensor map of `{name}` ({element:?} at {address:#x}, dimensions {dims:?}, strides {strides:?} B, \
             boxes {extents:?}, swizzle {swizzle} B)"
        )
    };
    status.result().map_err(|error| fault(&during(), error))?;
    Ok(out.opaque.iter().flat_map(|word| word.to_le_bytes()).collect())
}

#[cfg(test)]
mod tests {
    use hx_tensor_map::MapElement;

    use super::*;

    #[test]
    fn the_driver_has_every_element() {
        let name = |element: MapElement| {
            let found = known(&TYPES, element.number(), |value| value as u32);
            let name = found.map(|value| format!("{value:?}")).unwrap_or_default();
            format!("{element:?}: {}", name.trim_start_matches("CU_TENSOR_MAP_DATA_TYPE_"))
        };
        let expected = expect_test::expect![
            "U8: UINT8, U16: UINT16, U32: UINT32, I32: INT32, U64: UINT64, I64: INT64, F16: FLOAT16, F32: FLOAT32, F64: FLOAT64, Bf16: BFLOAT16"
        ];
        expected.assert_eq(&MapElement::ALL.map(name).join(", "));
    }
}
